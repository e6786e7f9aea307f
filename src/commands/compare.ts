import { actionOf, dataOf } from '../deliveries/prepare.ts';
import { isMap, type ActionRef, type Event, type Json, type PlannedDelivery } from '../model.ts';
import { decide } from '../rules/decide.ts';
import type { Plan } from '../rules/plan.ts';

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

export function planned(plan: Plan, event: Event): Planned[] {
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
