import {
  type ChangeKind,
  type DeliveryState,
  discardableStates,
  lookupOf,
  type PlannedDelivery,
  stuckStates,
} from '../../model.ts';
import { parseDeliveryId } from '../../support/ids.ts';
import type { Tallies } from '../tallies.ts';
import { type By, note } from './audit.ts';
import { apply as applyChange, changeAtOnce, find, type FoundRow, withLanesLocked } from './deliveries.ts';
import { all, get, lock, query, run, together, type Operation } from '../operation.ts';
import { deliveryIdAt, isLookup, of, places, planned as ofPlan, seqsPerEvent } from '../rows.ts';

export interface Replay {
  readonly deliveryId: string;
  /** Today's config, which has the action. */
  readonly configId: string;
  readonly planned: PlannedDelivery;
}

/** Deliveries for an event that came earlier, by one rule or by the look-ups of today's config. */
export interface Late {
  readonly eventId: string;
  readonly configId: string;
  /** At least one; all of the same rule. */
  readonly deliveries: readonly PlannedDelivery[];
  /** How many deliveries of the rule the event had when this was planned; by default none. */
  readonly had?: number;
}

export type ManualResult =
  | {
      readonly deliveryId: string;
      readonly done: true;
      /** For a resend: the id of the new delivery. */
      readonly madeId?: string;
    }
  | {
      readonly deliveryId: string;
      readonly done: false;
      /** The state of the delivery, or of `madeId` if it is there; null if the delivery does not exist. */
      readonly state: DeliveryState | null;
      /** For a resend: the id of an earlier resend that has not ended, or was delivered less than a minute ago. */
      readonly madeId?: string;
    };

/** A second resend within this time is most likely two people doing the same, so it is refused. */
const resentAgainMs = 60_000;

export const sql = {
  /** $10: 1 to keep `progress`. Another connector could not read it. */
  replay: changeAtOnce(`
  state = 'pending', ended_at = null, config_id = $3, rule = $4, action = $5, sink = $6, connector = $7, lane = $8,
  due_at = $9, since = $9, replayed = 1, composed_at = null, progress = case when $10 = 1 then progress else null end`),
  discard: changeAtOnce(`state = 'discarded', ended_at = null, discarded_at = $3`),
  /** By which configs the deliveries of a digest were planned, apart from those of its events. */
  plannedBy: query<{ readonly config_id: string; readonly n: number }>(`
  select config_id, count(*) as n from deliveries d where d.carrier = $1 and config_id is not null group by config_id`),
  eventSeq: query<{ readonly seq: number }>(`select seq from events where id = $1`),
  decidedSeq: query<{ readonly seq: number }>(`
  select e.seq from events e where e.id = $1 and e.seq not in (select event_seq from undecided)`),
  /** The look-ups of the event that have not ended. */
  lookedUp: query<{ readonly sink: string }>(`
  select d.sink from deliveries d where d.seq ${of('$1')} and ${isLookup} and d.state in ('pending', 'sending')`),
  lastOf: query<{ readonly seq: number | null }>(
    `select max(d.seq) as seq from deliveries d where d.seq ${of('$1')}`,
  ),
  ofRule: query<{ readonly n: number }>(`
  select count(*) as n from deliveries d where d.seq ${of('$1')} and d.rule = $2`),
  /**
   * Another resend of the same message, of the first one or of a copy. $5: now. A delivered one counts for a minute; `abs`, as
   * the clock may have been set back since.
   */
  earlierResend: query<{ readonly seq: number; readonly state: DeliveryState }>(`
  select d.seq, d.state from deliveries d where d.seq ${of('$1')} and d.resend_of is not null
    and d.rule = $2 and d.action = $3 and d.sink = $4
    and (d.state in ('pending', 'sending') or (d.state = 'delivered' and abs(d.ended_at - $5) < ${resentAgainMs})) limit 1`),
  add: `
  insert into deliveries (seq, config_id, since, replayed, resend_of, ${ofPlan.written.join(', ')})
  values ($1, $2, $3, $4, $5, ${places(ofPlan.written, 6)})`,
};

/**
 * Makes dead or held deliveries pending and due at `now`, as `planned` says. The time for giving up starts at `now`. Keeps
 * `attempts` and `uncertain`, and `progress` if the connector is the same. `planned.group` is ignored: deliveries of a
 * digest stay in it, and others do not join one.
 */
export function replay(
  tallies: Tallies,
  items: readonly Replay[],
  now: number,
  by: By,
): Operation<ManualResult[]> {
  return changeAll('replay', items, stuckStates, now, by, function* again(item, found) {
    const { configId, planned } = item;
    const { rule, action, sink, connector, lane } = planned;
    const keepsProgress = connector === found.connector ? 1 : 0;
    const values = [configId, rule, action, sink, connector, lane, now, keepsProgress];
    const before = found.carrier === null ? [{ ...found, n: 1 }] : yield* all(sql.plannedBy, found.carrier);
    const count = yield* applyChange(sql.replay, found, ...values);
    if (count === 0) return;
    tallies.used(configId, count);
    for (const { config_id, n } of before) if (config_id !== null) tallies.used(config_id, -n);
    tallies.planned(found.sink, found.state, -count);
    tallies.planned(sink, 'pending', count);
  });
}

/** Discards pending, dead or held deliveries. Of a digest, all are discarded, unless it was never claimed. */
export function discard(
  tallies: Tallies,
  deliveryIds: readonly string[],
  now: number,
  by: By,
): Operation<ManualResult[]> {
  const items = deliveryIds.map((deliveryId) => ({ deliveryId }));
  return changeAll('discard', items, discardableStates, now, by, function* away(_, found) {
    tallies.moved(found.sink, found.state, 'discarded', yield* applyChange(sql.discard, found, now));
  });
}

/** Finds a message. Look-ups cannot be changed: the event of a discarded one would never be decided. */
function* findMessage({ deliveryId }: { readonly deliveryId: string }): Operation<FoundRow | undefined> {
  const found = yield* find(deliveryId);
  return found && lookupOf(found.sink) === null ? found : undefined;
}

/**
 * Changes each delivery that is in one of the states `from`, and writes one audit line. Takes the locks of claims, so that
 * no replica begins these deliveries meanwhile. Claims wait for it, so it takes few round trips.
 */
function* changeAll<Item extends { readonly deliveryId: string }>(
  action: ChangeKind,
  items: readonly Item[],
  from: readonly DeliveryState[],
  now: number,
  by: By,
  make: (item: Item, found: FoundRow) => Operation<void>,
): Operation<ManualResult[]> {
  const found = yield* withLanesLocked(() => together(items.map(findMessage)));
  /** By the carrier's seq, so that a digest is changed once. */
  const changed = new Map<number, FoundRow>();
  const changes: Operation<void>[] = [];
  const results = items.map((item, place): ManualResult => {
    const { deliveryId } = item;
    const row = found[place];
    if (!row) return { deliveryId, done: false, state: null };
    if (!from.includes(row.state)) return { deliveryId, done: false, state: row.state };
    const key = row.carrier ?? row.seq;
    if (!changed.has(key)) changes.push(make(item, row));
    changed.set(key, row);
    return { deliveryId, done: true };
  });
  yield* together([note(action, [...changed.values()], now, by), ...changes]);
  return results;
}

/**
 * Holds off retention, which may be deleting the event, and others that add to the event: they would take the same
 * seqs.
 */
const addingLock = 'prune';

/**
 * Sends delivered messages again: each as a new delivery of the same event or notice, due at `now` and in no digest. Refused
 * while an earlier resend of the same delivery has not ended, and for a minute after it.
 */
export function* resend(
  tallies: Tallies,
  items: readonly Replay[],
  now: number,
  by: By,
): Operation<ManualResult[]> {
  yield* lock(addingLock);
  const results: ManualResult[] = [];
  const made: { readonly seq: number }[] = [];
  for (const item of items) {
    const { deliveryId, configId, planned } = item;
    const found = yield* findMessage(item);
    if (found?.state !== 'delivered') {
      results.push({ deliveryId, done: false, state: found?.state ?? null });
      continue;
    }
    const earlier = yield* earlierResend(item, found.seq, now);
    if (earlier) {
      results.push(earlier);
      continue;
    }
    const subject = Math.floor(found.seq / seqsPerEvent);
    const again = { ...planned, dueAt: now, group: null, groupMax: null };
    const [seq = 0] = yield* add(tallies, subject, configId, [again], found.seq);
    made.push({ seq });
    results.push({ deliveryId, done: true, madeId: besides(deliveryId, seq) });
  }
  yield* note('resend', made, now, by);
  return results;
}

/** The id of a delivery of the same event or notice. */
const besides = (deliveryId: string, seq: number) => deliveryIdAt(parseDeliveryId(deliveryId)!.eventId, seq);

/** Why a resend of a delivery with this seq is refused, or null: an earlier one has not ended, or just has. */
function* earlierResend(
  { deliveryId, planned }: Replay,
  seq: number,
  now: number,
): Operation<ManualResult | null> {
  const { rule, action, sink } = planned;
  const subject = Math.floor(seq / seqsPerEvent);
  const found = yield* get(sql.earlierResend, subject, rule, action, sink, now);
  return found
    ? { deliveryId, done: false, state: found.state, madeId: besides(deliveryId, found.seq) }
    : null;
}

/** Those of some resends that would be refused for an earlier one, by the delivery's id. */
export function* resentAlready(items: readonly Replay[], now: number): Operation<Map<string, ManualResult>> {
  const found = yield* together(
    items.map(function* earlier(item) {
      const row = yield* find(item.deliveryId);
      return row ? yield* earlierResend(item, row.seq, now) : null;
    }),
  );
  return new Map(found.flatMap((one) => (one ? [[one.deliveryId, one] as const] : [])));
}

/**
 * Adds the deliveries of a rule to events that came before the rule was written. Skips events that have got deliveries of
 * that rule since this was planned. Returns the ids of the new deliveries.
 */
export function* apply(tallies: Tallies, items: readonly Late[], now: number, by: By): Operation<string[]> {
  yield* lock(addingLock);
  const added = yield* together(
    items.map(function* late({ eventId, configId, deliveries, had = 0 }) {
      const event = yield* get(sql.eventSeq, eventId);
      const [first] = deliveries;
      const has = event && first ? (yield* get(sql.ofRule, event.seq, first.rule))!.n : had;
      const seqs = !event || has !== had ? [] : yield* add(tallies, event.seq, configId, deliveries, null);
      return seqs.map((seq) => ({ seq, id: deliveryIdAt(eventId, seq) }));
    }),
  );
  const made = added.flat();
  yield* note('apply', made, now, by);
  return made.map(({ id }) => id);
}

/**
 * Makes the look-ups of decided events again, apart from those under way. Sends no message. Returns the ids of the new
 * deliveries.
 */
export function* lookUp(tallies: Tallies, items: readonly Late[], now: number, by: By): Operation<string[]> {
  yield* lock(addingLock);
  const made: { readonly seq: number; readonly id: string }[] = [];
  for (const { eventId, configId, deliveries } of items) {
    const event = yield* get(sql.decidedSeq, eventId);
    if (!event) continue;
    const underWay = new Set((yield* all(sql.lookedUp, event.seq)).map(({ sink }) => sink));
    const asked = deliveries.filter(({ sink }) => !underWay.has(sink));
    const seqs = yield* add(tallies, event.seq, configId, asked, null);
    made.push(...seqs.map((seq) => ({ seq, id: deliveryIdAt(eventId, seq) })));
  }
  yield* note('lookup', made, now, by);
  return made.map(({ id }) => id);
}

/**
 * Adds deliveries to an event or notice, by its seq. `resendOf`: the seq of the delivery that they send again. Returns their
 * seqs.
 */
function* add(
  tallies: Tallies,
  subject: number,
  configId: string,
  deliveries: readonly PlannedDelivery[],
  resendOf: number | null,
): Operation<number[]> {
  const first = ((yield* get(sql.lastOf, subject))?.seq ?? subject * seqsPerEvent) + 1;
  const seqs = deliveries.map((_, index) => first + index);
  if (seqs.some((seq) => Math.floor(seq / seqsPerEvent) !== subject))
    throw new RangeError(`An event has at most ${seqsPerEvent - 1} deliveries.`);
  const replayed = resendOf === null ? 0 : 1;
  yield* together(
    deliveries.map((one, index) =>
      run(sql.add, seqs[index]!, configId, one.dueAt, replayed, resendOf, ...ofPlan.values(one)),
    ),
  );
  for (const { sink } of deliveries) tallies.planned(sink, 'pending');
  tallies.used(configId, deliveries.length);
  return seqs;
}
