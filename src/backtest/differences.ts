import { aboutEvent, actionOf, dataOf } from '../deliveries/prepare.ts';
import { cannotBeUsed, type PlanFault } from '../config/live/stored-plans.ts';
import type { Audience } from '../connector.ts';
import { decidedFields, eventFields } from '../printed/json.ts';
import { type ActionRef, type Event, isMap, type Json, noFacts } from '../model.ts';
import { agreedIn, decide, subjectOf } from '../rules/decide.ts';
import { allActions, type Plan } from '../rules/plan.ts';
import type { EventStory } from '../store/store.ts';
import { templateData } from '../templates/data.ts';
import { type Mask, maskTexts } from '../support/secret.ts';

/** Compares what two plans make of one event. Pure: it is decided as of when it came, its messages are those of when they go. */

/** A delivery as a plan decides it, with what it says. */
export interface PlannedMessage extends ActionRef {
  readonly sink: string;
  readonly connector: string;
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
  /** The action's keys, rendered. */
  readonly fields: { readonly [key: string]: Json };
  /** Why the message cannot be made; its fields are empty then. */
  readonly fault: string | null;
  /** Null if it goes alone. */
  readonly digest: DigestPart | null;
  /** Who gets it. */
  readonly audience: () => Audience | null;
}

/** The digest that an event comes in: a key, which the events of a window have in common, and the most that one message holds. */
export interface DigestPart {
  readonly key: string;
  readonly max: number;
}

/** What a message says, and when. */
export type MessageContent = Pick<PlannedMessage, 'dueAt' | 'fields' | 'fault'>;

/** A key inside a message, such as `text` or `row.Status`, before and after; null: it is not there. */
export interface Edit {
  readonly key: string;
  readonly before: Json;
  readonly after: Json;
}

/** A delivery that differs. Of a changed one, `was` is the old one, `planned` the new one, and `edits` what differs. */
export interface Difference {
  readonly kind: 'removed' | 'added' | 'changed';
  readonly planned: PlannedMessage;
  readonly was: PlannedMessage | null;
  readonly edits: readonly Edit[];
}

/** The plan if it can be used as a whole, else why not. Only such a plan can be compared. */
export function wholly(plan: Plan | PlanFault): Plan | PlanFault {
  if ('fault' in plan) return plan;
  const why = allActions(plan).find(({ unusable }) => unusable !== undefined)?.unusable;
  return why === undefined ? plan : { fault: cannotBeUsed(why) };
}

export function plannedFor(plan: Plan, event: Event, facts = noFacts): PlannedMessage[] {
  const subject = subjectOf(plan, event, facts);
  return decide(plan, event, facts, event.receivedAt).map((delivery) => {
    const { rule, action, sink, connector, dueAt } = delivery;
    const decided = actionOf(plan, delivery);
    const said = decided?.render(dataOf(decided, aboutEvent(event, facts), plan, dueAt)) ?? {
      fields: {},
    };
    const [fields, fault] = 'fault' in said ? [{}, said.fault] : [said.fields, null];
    const collects = decided?.digest ?? null;
    const digest = collects && {
      key: JSON.stringify([sink, ...agreedIn(collects, delivery, event, subject, dueAt)]),
      max: collects.max,
    };
    const audience = () =>
      decided?.audience(templateData(event, plan.test(event.testId), facts, rule, dueAt)) ?? null;
    return { rule, action, sink, connector, dueAt, fields, fault, digest, audience };
  });
}

type Comparing = (was: PlannedMessage, planned: PlannedMessage) => readonly Edit[];

/**
 * Compares deliveries: those removed, added and changed, in this order. The same message to the same sink is no difference,
 * whichever rule asks for it. A message without an equal is compared with that of the same action, else with another one to
 * its sink. `besides` says what else differs where a message itself is the same.
 */
export function compare(
  before: readonly PlannedMessage[],
  after: readonly PlannedMessage[],
  besides: Comparing = () => [],
): Difference[] {
  const [old, fresh] = [[...before], [...after]];
  const pairs: [PlannedMessage, PlannedMessage][] = [];
  /** Moves what belongs together from both lists to `pairs`, first come, first served. */
  const take = (belong: (a: PlannedMessage, b: PlannedMessage) => boolean) => {
    for (const a of old.splice(0)) {
      const at = fresh.findIndex((b) => a.sink === b.sink && a.connector === b.connector && belong(a, b));
      if (at === -1) old.push(a);
      else pairs.push([a, fresh.splice(at, 1)[0]!]);
    }
  };
  const isOneAction = (a: PlannedMessage, b: PlannedMessage) => a.rule === b.rule && a.action === b.action;
  const isEqual = (a: PlannedMessage, b: PlannedMessage) => editsOf(a, b).length === 0;
  // Of messages that are alike, each is taken for that of its own action, whose digest it comes in.
  take((a, b) => isOneAction(a, b) && isEqual(a, b));
  take(isEqual);
  take(isOneAction);
  take((a, b) => a.rule === b.rule);
  take(() => true);
  return [
    ...old.map((planned) => ({ kind: 'removed' as const, planned, was: null, edits: [] })),
    ...fresh.map((planned) => ({ kind: 'added' as const, planned, was: null, edits: [] })),
    ...pairs
      .map(([a, b]) => {
        const [own, others] = [editsOf(a, b), besides(a, b)];
        return { kind: 'changed' as const, planned: b, was: a, edits: own.length > 0 ? own : others };
      })
      .filter(({ edits }) => edits.length > 0),
  ];
}

/** The differences between two messages that a recipient could notice. */
export function editsOf(before: MessageContent, after: MessageContent): Edit[] {
  const [old, fresh] = [leavesOf(before), leavesOf(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .map((key) => ({ key, before: old.get(key) ?? null, after: fresh.get(key) ?? null }))
    .filter((edit) => JSON.stringify(edit.before) !== JSON.stringify(edit.after));
}

/** The values of a message by key. A list is one value: readers of `to.2` would have to count. */
function leavesOf({ fields, fault, dueAt }: MessageContent): Map<string, Json> {
  const leaves = new Map<string, Json>([['dueAt', new Date(dueAt).toISOString()]]);
  if (fault !== null) leaves.set('fault', fault);
  const open: [string, Json][] = [['', fields]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [path, value] = next;
    if (!isMap(value)) leaves.set(path, value);
    else
      for (const [key, inner] of Object.entries(value).toReversed())
        open.push([path === '' ? key : `${path}.${key}`, inner]);
  }
  return leaves;
}

/** The differences as JSON of `backtest --json`. Only what messages say is masked: the rest has no secrets. */
export function differencesJson(story: EventStory, found: readonly Difference[], mask: Mask) {
  const whole = ({ rule, action, sink, connector, dueAt, fields, fault }: PlannedMessage) => {
    const said = { dueAt: new Date(dueAt).toISOString(), fields: maskTexts(fields, mask) };
    return { rule, action, sink, connector, ...said, ...(fault !== null && { fault: mask(fault) }) };
  };
  const all = (kind: Difference['kind']) =>
    found.filter((one) => one.kind === kind).map(({ planned }) => whole(planned));
  const changed = found
    .filter(({ kind }) => kind === 'changed')
    .map(({ planned: { rule, action, sink, connector }, edits }) => {
      const fields = Object.fromEntries(edits.map(({ key, before, after }) => [key, { before, after }]));
      return { rule, action, sink, connector, fields: maskTexts(fields, mask) };
    });
  const about = { ...eventFields(story.event), ...decidedFields(story, 'public') };
  return { ...about, added: all('added'), removed: all('removed'), changed };
}
