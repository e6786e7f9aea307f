import { type DeliveryState, type Json, lookupConnector, lookupOf } from '../../model.ts';
import { type Attempt, mayHaveArrived, type Outcome, type Receipt } from '../../model/outcomes.ts';
import { storable } from '../../support/text.ts';
import type { Tallies } from '../tallies.ts';
import {
  apply,
  change,
  changeAtOnce,
  type ClaimedRow,
  find,
  foundColumns,
  type FoundRow,
  isUnlocked,
  unlocked,
} from './deliveries.ts';
import { lookupEnded } from './deciding.ts';
import { holdsAlone, type Lease } from './leases.ts';
import { all, get, insertInto, insertRow, query, run, together, type Operation } from '../operation.ts';
import { deliveries, jsonOrNull, leads, pendingLanes, rareState, seqsPerEvent, waits } from '../rows.ts';

export interface LaneHead {
  readonly lane: string;
  readonly sink: string;
  readonly dueAt: number;
  /** Of the first delivery that is due at `dueAt`. */
  readonly seq: number;
}

/** The sink to rescue. Nothing is rescued if another replica has taken over the lease. */
export interface RescueQuery {
  readonly sink: string;
  readonly lease?: Lease;
}

/** How an attempt ended and what becomes of its delivery. */
export interface AttemptResult {
  readonly row: ClaimedRow;
  /** See Deferral. */
  readonly claimedAt: number;
  readonly attempt: Attempt;
  /** A look-up that has ended without an answer is `discarded`: nobody has to see to it. */
  readonly state: Exclude<DeliveryState, 'sending'>;
  /** The tool was not called, so this says nothing about the sink. */
  readonly unsent?: boolean;
  /** When the outcome was recorded (ms). Retention counts from here. */
  readonly settledAt: number;
  /** From the event to its delivery, if that is known. */
  readonly delayMs?: number;
  /** When to try again, if `pending`. */
  readonly dueAt: number | null;
  readonly uncertain: boolean;
  readonly progress: Json | null;
  readonly lastError: string | null;
  /** What was sent, as JSON, with secrets masked. Null: keep the earlier one. */
  readonly message: string | null;
  readonly thread: string | null;
  /** For a look-up: the API answered, but not yet with what the look-up asks for. */
  readonly answered?: true;
  /** For a look-up: when its personal fields are to be erased (ms). */
  readonly personalUntil?: number;
}

export interface Deferral {
  readonly deliveryId: string;
  /**
   * The attempt that the claim began, and when it was claimed (ms). Nothing is undone if the delivery is in another attempt.
   * The number alone does not tell: the claim after one that was undone has the same.
   */
  readonly attempt: number;
  readonly claimedAt: number;
  readonly until: number;
  /** The lane to wait in, if it is another one. */
  readonly lane?: string;
}

interface PutOffRow extends Pick<FoundRow, 'seq' | 'carrier' | 'state' | 'attempts'> {
  readonly group_key: string | null;
  readonly due_at: number;
  readonly since: number;
  readonly came_at: number;
  readonly tried_at: number | null;
}

interface SendingRow extends FoundRow {
  readonly started_at: number;
}

export const sql = {
  laneHeads: query<LaneHead>(`
  with ${pendingLanes}
  select head.lane, head.sink, head.due_at as "dueAt", head.seq from heads join deliveries head on head.seq = (
    select d.seq from deliveries d where ${waits} and d.lane = heads.lane order by d.due_at, d.seq limit 1
  )`),
  laneHead: query<LaneHead>(`
  select d.lane, d.sink, d.due_at as "dueAt", d.seq from deliveries d
  where ${waits} and d.lane = $1 and (d.due_at, d.seq) >= ($2, $3) order by d.due_at, d.seq limit 1`),
  /** The message and the thread of a digest are stored only with its carrier. */
  record: changeAtOnce(
    `
  state = $3, started_at = null, due_at = coalesce($4, due_at), uncertain = $5, progress = $6, last_error = $7,
  receipt = $8, ended_at = $9, replayed = case when $12 = 1 then 0 else replayed end,
  composed_at = case when $5 = 1 and $12 = 1 then coalesce(composed_at, $14) when $5 = 1 then composed_at end,
  message = case when seq = $1 then coalesce($10, message) end, thread = case when seq = $1 then coalesce($11, thread) end`,
    'and started_at = $13',
  ),
  keepPersonal: `update deliveries set personal_until = $2 where seq = $1`,
  insertAttempt: insertInto('attempts', {
    delivery_seq: 'bigint',
    number: 'bigint',
    started_at: 'bigint',
    ended_at: 'bigint',
    outcome: 'json',
  }),
  leftSending: query<SendingRow>(`
  select ${foundColumns}, d.started_at from deliveries d
  where ${rareState} and d.state = 'sending' and ${leads}
      and (cast($1 as text) is null or d.sink = $1) order by d.seq limit $2 ${unlocked}`),
  rescue: change(`
  state = 'pending', due_at = $3, uncertain = 1, replayed = 0, last_error = $4,
  composed_at = coalesce(composed_at, started_at), started_at = null`),
  defer: changeAtOnce(
    `
  state = 'pending', started_at = null, attempts = attempts - 1, due_at = $3,
  since = case when attempts = 1 then since else since + $4 end,
  first_attempt_at = case when attempts = 1 then null else first_attempt_at end,
  carrier = case when attempts = 1 then null else carrier end, lane = coalesce($6, lane)`,
    'and started_at = $5',
  ),
  /** Pending deliveries that are due after $1, with the times when they came and were last tried. */
  putOff: query<PutOffRow>(`
  select d.seq, d.carrier, d.state, d.group_key, d.attempts, d.due_at, d.since,
    coalesce(e.received_at, n.raised_at) as came_at,
    (select a.ended_at from attempts a where a.delivery_seq = d.seq and a.number = d.attempts) as tried_at
  from ${deliveries} where ${waits} and d.due_at > $1 and d.seq > $2 order by d.seq limit $3`),
  /** $4: now. No attempt can have been made later. */
  pullIn: changeAtOnce(`
  due_at = $3, since = case when since > $3 then $3 else since end,
  first_attempt_at = case when first_attempt_at > $4 then $4 else first_attempt_at end`),
  receiptOfThread: query<{ readonly receipt: string; readonly seq: number }>(`
  select receipt, seq from deliveries where sink = $1 and thread = $2 and state = 'delivered'
  order by seq desc limit 1`),
  uncertainBeside: query<{ readonly due_at: number }>(`
  select due_at from deliveries where lane = $1 and uncertain = 1 and state = 'pending' and seq <> $2
    and (thread is null or thread = $3) order by due_at desc limit 1`),
  /** No index serves this, so only the newest $2 deliveries are looked at. */
  newestReceipt: query<{ readonly receipt: string }>(`
  select receipt from (select lane, state, receipt from deliveries order by seq desc limit $2) as newest
  where lane = $1 and state = 'delivered' and ($3 = '' or replace(receipt, $3, '') <> receipt) limit 1`),
};

/**
 * Finds the lanes with pending deliveries, each with its sink and earliest due time. A claimed digest counts as its carrier.
 * The cost does not depend on how many deliveries are stored. `from`: looks only at these lanes, and in each only at
 * deliveries that are not before the given one.
 */
export function* lanes(from?: readonly LaneHead[]): Operation<LaneHead[]> {
  if (from === undefined) return yield* all(sql.laneHeads);
  const heads = yield* together(from.map(({ lane, dueAt, seq }) => get(sql.laneHead, lane, dueAt, seq)));
  return heads.filter((head) => head !== undefined);
}

const works = { outcome: 'delivered', receipt: {} } satisfies Outcome;

/** Records how attempts ended. Leaves deliveries alone that are no longer in that attempt. */
export function record(tallies: Tallies, results: readonly AttemptResult[]): Operation<unknown> {
  const [first] = results;
  return first && results.length === 1
    ? recordOne(tallies, first)
    : together(results.map((result) => recordOne(tallies, result)));
}

function* recordOne(tallies: Tallies, result: AttemptResult): Operation<void> {
  const { attempt, row, state, settledAt } = result;
  const { outcome, startedAt, endedAt } = attempt;
  // So a late result does not end a later attempt.
  const found = { seq: row.seq, carrier: row.carrier, state: 'sending', attempts: attempt.number } as const;
  const count = yield* apply(
    sql.record,
    found,
    state,
    result.dueAt,
    result.uncertain ? 1 : 0,
    jsonOrNull(result.progress),
    result.lastError,
    outcome.outcome === 'delivered' ? JSON.stringify(outcome.receipt) : null,
    state === 'delivered' || state === 'dead' ? settledAt : null,
    result.message,
    result.thread,
    mayHaveArrived(outcome) ? 1 : 0,
    result.claimedAt,
    startedAt,
  );
  if (count === 0) return;
  tallies.moved(row.sink, 'sending', state, count);
  if (!result.unsent) tallies.tried(row.sink, endedAt, result.answered ? works : outcome);
  const delayMs = state === 'delivered' ? (result.delayMs ?? null) : null;
  const isLookup = lookupOf(row.sink) !== null;
  if (state !== 'pending' && !isLookup) tallies.ended(row.sink, state, settledAt, delayMs, count);
  if (state !== 'pending' && isLookup) yield* lookupEnded(Math.floor(row.seq / seqsPerEvent));
  if (result.personalUntil !== undefined) yield* run(sql.keepPersonal, row.seq, result.personalUntil);
  yield* insertAttempt(found, startedAt, endedAt, outcome);
}

/** Stores an attempt; for a digest, with its carrier. */
function insertAttempt(
  { seq, carrier, attempts }: Pick<FoundRow, 'seq' | 'carrier' | 'attempts'>,
  startedAt: number,
  endedAt: number,
  outcome: Outcome,
): Operation<void> {
  const json = JSON.stringify(outcome);
  // PostgreSQL searches in outcomes, and does not take some characters. In JSON, those are escaped.
  const taken = json.includes('\\u')
    ? JSON.stringify(outcome, (_, value: unknown) => (typeof value === 'string' ? storable(value) : value))
    : json;
  return insertRow(sql.insertAttempt, [carrier ?? seq, attempts, startedAt, endedAt, taken]);
}

/** Reading so many deliveries takes a few ms. */
const receiptsSearched = 2000;

const interrupted = {
  outcome: 'unknown',
  reason: 'unexpected',
  detail: 'The connector stopped during this attempt, so it may have arrived.',
} satisfies Outcome;

/**
 * Makes deliveries that an ended process left in `sending` pending and uncertain, and records an unknown attempt for each.
 * They are due `settlingMs` after that attempt began, because the tool may still be working on it. Call it where no other
 * process serves the store; or for one sink, while none of its attempts is under way. Rescues at most `limit` messages, to
 * keep the transaction small, and returns how many deliveries they were. What somebody else has locked stays `sending`.
 */
export function* rescue(
  tallies: Tallies,
  { now, settlingMs, of }: { now: number; settlingMs: number; of: RescueQuery | undefined },
  limit: number,
): Operation<number> {
  if (of?.lease && !(yield* holdsAlone(of.lease))) return 0;
  const left = yield* all(sql.leftSending, of?.sink ?? null, limit);
  const counts = yield* together(
    left.map(function* rescueOne(row) {
      if (row.carrier !== null && !(yield* isUnlocked(row.carrier))) return 0;
      // The clock may have been set back since.
      const quietMs = row.connector === lookupConnector ? 0 : settlingMs;
      const dueAt = Math.max(now, Math.min(now, row.started_at) + quietMs);
      const count = yield* apply(sql.rescue, row, dueAt, interrupted.detail);
      if (count > 0) yield* insertAttempt(row, row.started_at, now, interrupted);
      if (count > 0) tallies.moved(row.sink, 'sending', 'pending', count);
      return count;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * Undoes claims of deliveries that were not attempted: they are pending and due at `until`, and the attempt is not counted.
 * A digest that was never attempted is dissolved. The time until `until` does not count for giving up.
 */
export function* defer(tallies: Tallies, items: readonly Deferral[], now: number): Operation<void> {
  yield* together(
    items.map(function* deferOne({ deliveryId, attempt, claimedAt, until, lane = null }) {
      const found = yield* find(deliveryId);
      if (found?.state !== 'sending' || found.attempts !== attempt) return;
      const undone = yield* apply(sql.defer, found, until, until - now, claimedAt, lane);
      if (undone > 0) tallies.moved(found.sink, 'sending', 'pending', undone);
    }),
  );
}

/**
 * Corrects due times after the clock, which was ahead by `aheadMs`, was set back to `now`. What the wrong clock put off
 * becomes due as much sooner, or at once where opening hours are looked at again. What a right clock put off is not changed.
 * Looks at the next `limit` deliveries after the seq `after`; returns the seq to go on from, null at the end.
 */
export function* pullIn(
  { now, aheadMs }: { now: number; aheadMs: number },
  after: number,
  limit: number,
): Operation<{ count: number; after: number | null }> {
  const rows = yield* all(sql.putOff, now, after, limit);
  let count = 0;
  for (const row of rows) {
    const dueAt = dueByRightClock(row, now, aheadMs);
    if (dueAt !== null) count += yield* apply(sql.pullIn, row, dueAt, now);
  }
  return { count, after: rows.length < limit ? null : rows.at(-1)!.seq };
}

const dayMs = 86_400_000;
/** A month, and the closed hours of a long weekend. */
const longestDigestMs = 40 * dayMs;

/**
 * When a delivery is to be due by the clock that was set right (ms); null where a right clock put it off. A delivery that is
 * due too soon does no harm: a claim looks at opening hours again. The comparisons leave room for a day, as the wrong clock
 * may itself have been set meanwhile.
 */
function dueByRightClock(row: PutOffRow, now: number, aheadMs: number): number | null {
  const { attempts, due_at: dueAt, since, came_at: cameAt, tried_at: triedAt, group_key: group } = row;
  if (attempts === 0) {
    // It was claimed outside of its hours, and put off again.
    if (dueAt !== since) return now;
    if (cameAt <= now) {
      // Its event may have been decided later, by the wrong clock. A right clock puts nothing off for so long.
      if (dueAt + dayMs < cameAt + aheadMs || dueAt <= now + (group === null ? dayMs : longestDigestMs))
        return null;
    }
    return group === null ? now : dueAt - aheadMs;
  }
  // It was replayed.
  if (dueAt === since) return now;
  if (triedAt !== null && triedAt > now) return dueAt - aheadMs;
  // It was tried by a right clock, then put off for its hours by the wrong one. Nothing else puts off for so long.
  return dueAt > now + dayMs && dueAt + dayMs >= (triedAt ?? cameAt) + aheadMs ? now : null;
}

/** The receipt of a delivered message, and its delivery's seq. */
export interface Told {
  readonly receipt: Receipt;
  readonly seq: number;
}

/** Finds the newest message that was delivered with this thread key on this sink. */
export function* threadOf(sink: string, thread: string): Operation<Told | null> {
  const row = yield* get(sql.receiptOfThread, sink, thread);
  return row ? { receipt: JSON.parse(row.receipt) as Receipt, seq: row.seq } : null;
}

/**
 * When the last other delivery of this lane is due that may have arrived with this thread key (ms): the tool is asked about
 * it then. Null if there is none.
 */
export function* uncertainBeside(lane: string, seq: number, thread: string): Operation<number | null> {
  const row = yield* get(sql.uncertainBeside, lane, seq, thread);
  return row?.due_at ?? null;
}

/**
 * Finds the receipt of the newest delivered message in this lane, or of the newest whose JSON has a `part`, if it is among the
 * store's 2000 newest deliveries.
 */
export function* newestReceipt(lane: string, part = ''): Operation<Receipt | null> {
  const row = yield* get(sql.newestReceipt, lane, receiptsSearched, part);
  return row ? (JSON.parse(row.receipt) as Receipt) : null;
}
