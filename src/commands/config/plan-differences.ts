import { actionOf, dataOf } from '../../deliveries/prepare.ts';
import { cannotBeUsed, type PlanFault } from '../../config/live/stored-plans.ts';
import { eventFields } from '../../ops/printed.ts';
import { type ActionRef, type Event, type Facts, isMap, type Json, noFacts } from '../../model.ts';
import { decide, subjectOf } from '../../rules/decide.ts';
import { allActions, type Plan } from '../../rules/plan.ts';
import { type Mask, maskTexts } from '../../support/secret.ts';
import { count, printable } from '../../support/text.ts';
import { eventLine, type Io, paint } from '../output.ts';

/** What two plans make of one event, held against each other. Pure: an event is decided as of when it came. */

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
}

/** A key inside of a message, as `text` or `row.Status`, before and after; null: it is not there. */
export interface Edit {
  readonly key: string;
  readonly before: Json;
  readonly after: Json;
}

/** One delivery that becomes other; of a changed one, `planned` is how it would be, and `edits` says what changes. */
export interface Difference {
  readonly kind: 'removed' | 'added' | 'changed';
  readonly planned: PlannedMessage;
  readonly edits: readonly Edit[];
}

/** Only a plan that can be used as a whole can be compared. */
export function wholly(plan: Plan | PlanFault): Plan | PlanFault {
  if ('fault' in plan) return plan;
  const why = allActions(plan).find(({ unusable }) => unusable !== undefined)?.unusable;
  return why === undefined ? plan : { fault: cannotBeUsed(why) };
}

export function plannedFor(plan: Plan, event: Event, facts = noFacts): PlannedMessage[] {
  return decide(plan, event, facts, event.receivedAt).map((delivery) => {
    const { rule, action, sink, connector, dueAt } = delivery;
    const decided = actionOf(plan, delivery);
    const about = { events: [event], facts: new Map([[event.id, facts]]), notice: null };
    const said = decided?.render(dataOf(decided, about, plan, event.receivedAt)) ?? { fields: {} };
    const [fields, fault] = 'fault' in said ? [{}, said.fault] : [said.fields, null];
    return { rule, action, sink, connector, dueAt, fields, fault };
  });
}

/**
 * What becomes other: what is removed, added and changed, in this order. The same message to the same sink is the same,
 * whichever rule asks for it; a message that has no equal is held against the one of the same action, else against
 * another one to its sink.
 */
export function compare(before: readonly PlannedMessage[], after: readonly PlannedMessage[]): Difference[] {
  const [old, fresh] = [[...before], [...after]];
  const pairs: [PlannedMessage, PlannedMessage][] = [];
  /** Takes out of both lists what belongs together, first come, first served. */
  const take = (belong: (a: PlannedMessage, b: PlannedMessage) => boolean) => {
    for (const a of old.splice(0)) {
      const at = fresh.findIndex((b) => a.sink === b.sink && a.connector === b.connector && belong(a, b));
      if (at === -1) old.push(a);
      else pairs.push([a, fresh.splice(at, 1)[0]!]);
    }
  };
  take((a, b) => editsOf(a, b).length === 0);
  take((a, b) => a.rule === b.rule && a.action === b.action);
  take((a, b) => a.rule === b.rule);
  take(() => true);
  return [
    ...old.map((planned) => ({ kind: 'removed' as const, planned, edits: [] })),
    ...fresh.map((planned) => ({ kind: 'added' as const, planned, edits: [] })),
    ...pairs
      .map(([a, b]) => ({ kind: 'changed' as const, planned: b, edits: editsOf(a, b) }))
      .filter(({ edits }) => edits.length > 0),
  ];
}

function editsOf(before: PlannedMessage, after: PlannedMessage): Edit[] {
  const [old, fresh] = [leavesOf(before), leavesOf(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .map((key) => ({ key, before: old.get(key) ?? null, after: fresh.get(key) ?? null }))
    .filter((edit) => JSON.stringify(edit.before) !== JSON.stringify(edit.after));
}

/** What a recipient could notice. A list is one leaf: who reads `to.2` has to count. */
function leavesOf({ fields, fault, dueAt }: PlannedMessage): Map<string, Json> {
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

/** As `backtest --json` has it. Only what messages say is masked: the rest is words of ours. */
export function differencesJson(event: Event, found: readonly Difference[], mask: Mask) {
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
  return { ...eventFields(event), added: all('added'), removed: all('removed'), changed };
}

const mostExamples = 5;

const kinds = {
  removed: { sign: '-', style: 'red' },
  added: { sign: '+', style: 'green' },
  changed: { sign: '~', style: 'yellow' },
} as const;

/** Adds up what becomes other with the plan `next`: how often each kind of it happens, with a few events as examples. */
export class Backtest {
  /** Why events could not be compared, with how many. */
  readonly #lost = new Map<string, number>();
  /** Look-ups of the new plan, with how many events nothing was looked up for. */
  readonly #withoutFacts = new Map<string, number>();
  differing = 0;
  #compared = 0;
  readonly #next: Plan;
  readonly #groups = new Map<string, Difference & { count: number }>();
  readonly #examples: { readonly event: Event; readonly found: readonly Difference[] }[] = [];

  constructor(next: Plan) {
    this.#next = next;
  }

  /** Compares what becomes of an event with what its own plan, `then`, made of it. `facts`: those that were kept. */
  add(event: Event, facts: Facts, then: Plan | PlanFault): readonly Difference[] {
    const before = wholly(then);
    if ('fault' in before) {
      this.#lost.set(before.fault, (this.#lost.get(before.fault) ?? 0) + 1);
      return [];
    }
    const found = compare(plannedFor(before, event, facts), plannedFor(this.#next, event, facts));
    this.#compared += 1;
    this.#noteMissing(event, facts);
    if (found.length === 0) return found;
    this.differing += 1;
    const known = this.#groups.size;
    for (const { kind, planned, edits } of found) {
      const key = JSON.stringify([kind, planned.sink, planned.rule, edits.map((edit) => edit.key)]);
      const group = this.#groups.getOrInsertComputed(key, () => ({ kind, planned, edits, count: 0 }));
      group.count += 1;
    }
    const isNews = this.#groups.size > known;
    if (isNews && this.#examples.length < mostExamples) this.#examples.push({ event, found });
    return found;
  }

  #noteMissing(event: Event, facts: Facts): void {
    const { lookups } = this.#next;
    if (lookups.size === 0) return;
    const subject = subjectOf(this.#next, event, noFacts);
    for (const [name, { applies }] of lookups)
      if (applies(subject) && (facts[name]?.state ?? 'waiting') === 'waiting')
        this.#withoutFacts.set(name, (this.#withoutFacts.get(name) ?? 0) + 1);
  }

  /** What the new plan would have looked up, and was not. */
  missing(): string[] {
    return Array.from(
      this.#withoutFacts,
      ([name, many]) => `${count(many, 'event')} without facts of ${name}: compared as if these were unknown`,
    );
  }

  /** Which events could not be compared, and why. */
  lost(): string[] {
    return Array.from(this.#lost, ([why, many]) => `${count(many, 'event')} could not be compared: ${why}`);
  }

  text(io: Pick<Io, 'color'>): string {
    const total = `${count(this.#compared, 'event')} compared`;
    if (this.differing === 0) return `${total}: everything would be delivered as it was decided.`;
    const groups = [...this.#groups.values()].toSorted((a, b) => b.count - a.count);
    const width = String(groups[0]?.count).length;
    return [
      `${total}: ${this.differing} would be delivered differently.`,
      ...groups.map((group) => {
        const keys = printable(group.edits.map(({ key }) => key).join(', '));
        const head = `  ${String(group.count).padStart(width)} × ${headText(group, io)}`;
        return keys === '' ? head : `${head}: ${keys}`;
      }),
      '',
      paint(io, 'bold', 'Examples'),
      ...this.#examples.flatMap(({ event, found }) => [
        eventLine(event),
        ...found.flatMap((one) => exampleLines(one, io)),
      ]),
    ].join('\n');
  }
}

function headText({ kind, planned: { sink, rule } }: Difference, io: Pick<Io, 'color'>): string {
  const { sign, style } = kinds[kind];
  return `${paint(io, style, `${sign} ${kind}`)}  ${sink} (rule ${printable(rule)})`;
}

function exampleLines(one: Difference, io: Pick<Io, 'color'>): string[] {
  const { fields, fault } = one.planned;
  const lines =
    one.kind === 'changed'
      ? one.edits.map(({ key, before, after }) => `${key}: ${shown(before)} → ${shown(after)}`)
      : Object.entries(fields).map(([key, value]) => `${key}: ${shown(value)}`);
  if (fault !== null && one.kind !== 'changed') lines.push(`cannot be made: ${fault}`);
  return [`    ${headText(one, io)}`, ...lines.map((line) => `      ${printable(line)}`)];
}

const shown = (value: unknown): string => (value === null ? 'nothing' : JSON.stringify(value));
