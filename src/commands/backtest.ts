import { actionOf, dataOf } from '../deliveries/prepare.ts';
import { type ActionRef, type Event, isMap, type Json, type PlannedDelivery } from '../model.ts';
import { decide } from '../rules/decide.ts';
import { allActions, type Plan } from '../rules/plan.ts';
import { cannotBeUsed, type PlanFault } from '../config/live/stored-plans.ts';
import { storiesOf } from '../store/pages.ts';
import { type Mask, maskTexts } from '../support/secret.ts';
import { jsonLine, printable } from '../support/text.ts';
import { eventFields } from '../json.ts';
import { exit, type Io, paint, when } from './output.ts';
import { type ConfigOption, planningConfig, storedPlans, withStoreAndConfig } from './with-store.ts';

interface BacktestOptions extends ConfigOption {
  /** In milliseconds since the epoch. */
  readonly since?: number;
  readonly json?: boolean;
}

/** Decides the stored events again by the config in `file`, and shows what differs from what was decided. Writes nothing. */
export async function backtest(file: string, options: BacktestOptions, io: Io): Promise<number> {
  const next = await planningConfig({ config: file }, io);
  return withStoreAndConfig(options, io, async (store, config) => {
    const mask: Mask = (text) => next.mask(config.mask(text));
    const plans = storedPlans(store, io);
    const summary = new BacktestSummary();
    for await (const { event, configId } of storiesOf(store, sinceOf(options))) {
      const then = wholly(await plans.get(configId));
      if ('fault' in then) {
        summary.couldNotCompare(then.fault);
        continue;
      }
      const difference = compare(plannedFor(then, event), plannedFor(next.plan, event));
      summary.add(event, difference);
      if (options.json && !isSame(difference)) io.out(jsonLine(differenceJson(event, difference, mask)));
      if (!(await io.drained())) break;
    }
    if (!options.json) io.out(mask(summary.text(io)));
    for (const [why, count] of summary.lost) {
      io.err(mask(printable(`${count} ${count === 1 ? 'event' : 'events'} could not be compared: ${why}`)));
    }
    return summary.lost.size > 0 ? exit.problems : summary.differing > 0 ? exit.differs : exit.ok;
  });
}

/** Only a plan that can be used as a whole can be compared. */
export function wholly(plan: Plan | PlanFault): Plan | PlanFault {
  if ('fault' in plan) return plan;
  const why =
    plan.unusable?.deciding ?? allActions(plan).find(({ unusable }) => unusable !== undefined)?.unusable;
  return why === undefined || why === null ? plan : { fault: cannotBeUsed(why) };
}

const sinceOf = ({ since }: BacktestOptions) => (since === undefined ? {} : { since });

/** Only what messages say is masked: the rest is words of ours. */
function differenceJson(event: Event, { added, removed, changed }: Difference, mask: Mask) {
  return {
    ...eventFields(event),
    added: added.map((one) => plannedJson(one, mask)),
    removed: removed.map((one) => plannedJson(one, mask)),
    changed: changed.map(({ after: { rule, action, sink, connector }, edits }) => {
      const fields = Object.fromEntries(edits.map(({ key, before, after }) => [key, { before, after }]));
      return { rule, action, sink, connector, fields: maskTexts(fields, mask) };
    }),
  };
}

function plannedJson({ fault, fields, dueAt, ...rest }: Planned, mask: Mask) {
  return {
    ...rest,
    dueAt: new Date(dueAt).toISOString(),
    fields: maskTexts(fields, mask),
    ...(fault !== null && { fault: mask(fault) }),
  };
}

/** What two plans make of one event, held against each other. Pure: an event is decided as of when it came. */

/** A delivery as a plan decides it, with what it says. */
export interface Planned extends ActionRef {
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

export interface Changed {
  readonly before: Planned;
  readonly after: Planned;
  readonly edits: readonly Edit[];
}

export interface Difference {
  readonly added: readonly Planned[];
  readonly removed: readonly Planned[];
  readonly changed: readonly Changed[];
}

export function plannedFor(plan: Plan, event: Event): Planned[] {
  return decide(plan, event, event.receivedAt).map((delivery) => rendered(plan, event, delivery));
}

function rendered(plan: Plan, event: Event, delivery: PlannedDelivery): Planned {
  const { rule, action, sink, connector, dueAt } = delivery;
  const decided = actionOf(plan, delivery);
  const about = { events: [event], notice: null };
  const said = decided?.render(dataOf(decided, about, plan, event.receivedAt)) ?? { fields: {} };
  const [fields, fault] = 'fault' in said ? [{}, said.fault] : [said.fields, null];
  return { rule, action, sink, connector, dueAt, fields, fault };
}

/**
 * What becomes other. The same message to the same sink is the same, whichever rule asks for it; a message that has no
 * equal is held against the one of the same action, else against another one to its sink.
 */
export function compare(before: readonly Planned[], after: readonly Planned[]): Difference {
  const [old, fresh] = [[...before], [...after]];
  takePairs(old, fresh, (a, b) => sameSink(a, b) && editsOf(a, b).length === 0);
  const pairs = [
    ...takePairs(old, fresh, (a, b) => sameSink(a, b) && a.rule === b.rule && a.action === b.action),
    ...takePairs(old, fresh, (a, b) => sameSink(a, b) && a.rule === b.rule),
    ...takePairs(old, fresh, sameSink),
  ];
  const changed = pairs.map(([a, b]) => ({ before: a, after: b, edits: editsOf(a, b) }));
  return { added: fresh, removed: old, changed };
}

export function isSame({ added, removed, changed }: Difference): boolean {
  return added.length + removed.length + changed.length === 0;
}

/** Takes out of both lists what belongs together, first come, first served. */
function takePairs(
  old: Planned[],
  fresh: Planned[],
  belong: (a: Planned, b: Planned) => boolean,
): [Planned, Planned][] {
  const pairs: [Planned, Planned][] = [];
  for (const one of old.splice(0)) {
    const place = fresh.findIndex((other) => belong(one, other));
    const [other] = place === -1 ? [] : fresh.splice(place, 1);
    if (other) pairs.push([one, other]);
    else old.push(one);
  }
  return pairs;
}

const sameSink = (a: Planned, b: Planned): boolean => a.sink === b.sink && a.connector === b.connector;

function editsOf(before: Planned, after: Planned): Edit[] {
  const [old, fresh] = [leavesOf(before), leavesOf(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .map((key) => ({ key, before: old.get(key) ?? null, after: fresh.get(key) ?? null }))
    .filter((edit) => JSON.stringify(edit.before) !== JSON.stringify(edit.after));
}

/** What a recipient could notice. A list is one leaf: who reads `to.2` has to count. */
function leavesOf({ fields, fault, dueAt }: Planned): Map<string, Json> {
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

const mostExamples = 5;

type Sign = '+' | '-' | '~';

/** One thing that becomes other for an event. */
interface Item {
  readonly sign: Sign;
  readonly planned: Planned;
  readonly edits: readonly Edit[];
}

interface Group extends Item {
  count: number;
}

/** Adds up what becomes other: how often each kind of it happens, with a few events as examples. */
export class BacktestSummary {
  /** Why events could not be compared, with how many. */
  readonly lost = new Map<string, number>();
  differing = 0;
  #compared = 0;
  readonly #groups = new Map<string, Group>();
  readonly #examples: { readonly event: Event; readonly items: readonly Item[] }[] = [];

  couldNotCompare(why: string): void {
    this.lost.set(why, (this.lost.get(why) ?? 0) + 1);
  }

  add(event: Event, difference: Difference): void {
    this.#compared += 1;
    if (isSame(difference)) return;
    this.differing += 1;
    const items = itemsOf(difference);
    const isNews = items.map((item) => this.#count(item)).includes(true);
    if (isNews && this.#examples.length < mostExamples) this.#examples.push({ event, items });
  }

  text(io: Pick<Io, 'color'>): string {
    const total = `${this.#compared} ${this.#compared === 1 ? 'event' : 'events'} compared`;
    if (this.differing === 0) return `${total}: everything would be delivered as it was decided.`;
    const groups = [...this.#groups.values()].toSorted((a, b) => b.count - a.count);
    const width = String(groups[0]?.count).length;
    return [
      `${total}: ${this.differing} would be delivered differently.`,
      ...groups.map(
        (group) => `  ${String(group.count).padStart(width)} × ${headText(group, io)}${keysText(group)}`,
      ),
      '',
      paint(io, 'bold', 'Examples'),
      ...this.#examples.flatMap(({ event, items }) => [
        eventText(event),
        ...items.flatMap((item) => itemText(item, io)),
      ]),
    ].join('\n');
  }

  /** True where it is the first of its kind. */
  #count(item: Item): boolean {
    const {
      sign,
      planned: { sink, rule },
      edits,
    } = item;
    const key = JSON.stringify([sign, sink, rule, sign === '~' ? edits.map((edit) => edit.key) : []]);
    const group = this.#groups.get(key);
    if (group) group.count += 1;
    else this.#groups.set(key, { ...item, count: 1 });
    return group === undefined;
  }
}

function itemsOf({ added, removed, changed }: Difference): Item[] {
  return [
    ...removed.map((planned): Item => ({ sign: '-', planned, edits: [] })),
    ...added.map((planned): Item => ({ sign: '+', planned, edits: [] })),
    ...changed.map(({ after: planned, edits }): Item => ({ sign: '~', planned, edits })),
  ];
}

const words = { '+': 'added', '-': 'removed', '~': 'changed' } as const;
const styles = { '+': 'green', '-': 'red', '~': 'yellow' } as const;

function headText({ sign, planned: { sink, rule } }: Item, io: Pick<Io, 'color'>): string {
  return `${paint(io, styles[sign], `${sign} ${words[sign]}`)}  ${sink} (rule ${printable(rule)})`;
}

function keysText({ edits }: Item): string {
  return edits.length === 0 ? '' : `: ${printable(edits.map(({ key }) => key).join(', '))}`;
}

function eventText({ id, status, testId, candidateId, receivedAt }: Event): string {
  return `  ${id}  ${when(receivedAt)}  ${status}  test ${testId}  candidate ${printable(candidateId)}`;
}

function itemText(item: Item, io: Pick<Io, 'color'>): string[] {
  const {
    sign,
    planned: { fields, fault },
    edits,
  } = item;
  const lines =
    sign === '~'
      ? edits.map(({ key, before, after }) => `${key}: ${shown(before)} → ${shown(after)}`)
      : Object.entries(fields).map(([key, value]) => `${key}: ${shown(value)}`);
  const faultLine = fault !== null && sign !== '~' ? [`cannot be made: ${fault}`] : [];
  return [`    ${headText(item, io)}`, ...[...lines, ...faultLine].map((line) => `      ${printable(line)}`)];
}

const shown = (value: unknown): string => (value === null ? 'nothing' : JSON.stringify(value));
