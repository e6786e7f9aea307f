import { type Delivery, type Event, isUnderWay, type PlannedDelivery } from '../../model.ts';
import type { Tallies } from '../tallies.ts';
import { apply, changeAtOnce, doubt, insertDeliveries } from './deliveries.ts';
import { all, get, lock, query, run, type Operation } from '../operation.ts';
import { delivery as ofDelivery, deliveries, event as ofEvent, isLookup, of, type RowOf } from '../rows.ts';

/** What has to be known before an event is decided. */
export interface Lookups {
  /**
   * The look-ups to make, as deliveries. If there are none, the event waits only for earlier events of its candidate.
   */
  readonly asked: readonly PlannedDelivery[];
  /** When the first of them is given up (ms). */
  readonly until: number | null;
}

/** An event whose look-ups have all ended, or that has one to give up. */
export interface DueEvent {
  readonly event: Event;
  readonly configId: string;
}

/** What is kept of a look-up that is given up: `progress` has what was found by then, or why nothing was. */
export interface GivenUp extends Pick<Delivery, 'progress'> {
  /** See AttemptResult. */
  readonly personalUntil: number | null;
}

/** How to decide an event. Its functions are pure, as they may be called again. */
export interface Decider {
  /** The config whose rules apply: the event's, or another one where that cannot be used any more. */
  readonly configId: string;
  /** When a look-up is given up (ms). */
  readonly until: (lookup: Delivery) => number;
  readonly givenUp: (lookup: Delivery) => GivenUp;
  /** The deliveries to make, by what the look-ups have found. */
  readonly decide: (lookups: readonly Delivery[]) => readonly PlannedDelivery[];
}

export type Decided = 'decided' | 'waits' | 'gone';

interface UndecidedRow {
  readonly seq: number;
  readonly key: number;
  readonly configId: string;
  readonly receivedAt: number;
}

type LookupRow = RowOf<Delivery> & { readonly seq: number };

/** No look-up waits longer, so one that is to end later was put off by a clock that was ahead. */
const longestWaitMs = 8 * 86_400_000;

export const sql = {
  earlier: query<{ readonly seq: number }>(`
  select event_seq as seq from undecided where candidate_key = $1 limit 1`),
  wait: `insert into undecided (event_seq, candidate_key, waits, until) values ($1, $2, $3, $4)`,
  due: query<RowOf<Event> & { readonly configId: string }>(`
  select ${ofEvent.columns}, e.config_id as "configId" from (
    select * from (select event_seq, until from undecided where until <= $1 order by until, event_seq limit $3) as over
    union all
    select * from (select event_seq, until from undecided where until > $2 order by until limit $3) as ahead
  ) as u join events e on e.seq = u.event_seq order by u.until, u.event_seq`),
  next: query<{ readonly at: number | null }>(`select min(until) as at from undecided`),
  count: query<EventCounts>(`
  select u.n as undecided, (select count(*) from events) - u.n as decided
  from (select count(*) as n from undecided) as u`),
  undecided: query<UndecidedRow>(`
  select u.event_seq as seq, u.candidate_key as "key", e.config_id as "configId", e.received_at as "receivedAt"
  from events e join undecided u on u.event_seq = e.seq where e.id = $1`),
  lookups: query<LookupRow>(`
  select ${ofDelivery.columns}, d.seq from ${deliveries} where d.seq ${of('$1')} and ${isLookup} order by d.seq`),
  giveUp: changeAtOnce(
    `state = 'discarded', started_at = null, discarded_at = $3, progress = $4, personal_until = $5`,
  ),
  /** $2: how many look-ups have ended. $3: when the next one is given up. */
  left: query<{ readonly uncertain: number }>(`
  update undecided set waits = waits - $2, until = case when waits = $2 then 0 else cast($3 as bigint) end
  where event_seq = $1 returning uncertain`),
  oneLess: `update undecided set waits = waits - 1, until = case when waits = 1 then 0 else until end where event_seq = $1`,
  first: query<{ readonly seq: number }>(`
  select event_seq as seq from undecided where candidate_key = $1 order by event_seq limit 2`),
  end: `delete from undecided where event_seq = $1`,
  decidedBy: `update events set config_id = $2 where seq = $1`,
  candidateOf: query<{ readonly key: number }>(
    `select candidate_key as "key" from undecided where event_seq = $1`,
  ),
};

/**
 * The lock to take before adding or removing an undecided event of a candidate. An arrival takes it before it gets its seq,
 * so that a candidate's events wait in the order of their seqs.
 */
export const lockCandidate = (key: number): Operation<void> => lock(`candidate ${key}`);

/** Makes an event that has just been stored undecided, if it has to wait for anything. Returns whether it has. */
export function* waitFor(seq: number, key: number, { asked, until }: Lookups): Operation<boolean> {
  const waits = asked.length + ((yield* get(sql.earlier, key)) ? 1 : 0);
  if (waits > 0) yield* run(sql.wait, seq, key, waits, until);
  return waits > 0;
}

/** Counts a look-up as ended. Changes nothing for a decided event, whose look-ups a person asked for. */
export const lookupEnded = (eventSeq: number): Operation<number> => run(sql.oneLess, eventSeq);

/** Lists events for which `decide` has something to do. Those whose look-ups have all ended come first. */
export function* dueEvents(now: number, limit: number): Operation<DueEvent[]> {
  const rows = yield* all(sql.due, now, now + longestWaitMs, limit);
  return rows.map((row) => ({ event: ofEvent.read(row), configId: row.configId }));
}

/** When the next look-up is to be given up (ms); null if no event waits for one. */
export function* nextGiveUp(): Operation<number | null> {
  return (yield* get(sql.next))?.at ?? null;
}

/** How many of the stored events are decided. */
export interface EventCounts {
  readonly decided: number;
  readonly undecided: number;
}

/** Counts the stored events by an index: a million take some 10 ms. */
export function* eventCounts(): Operation<EventCounts> {
  return (yield* get(sql.count))!;
}

/**
 * Gives up the look-ups of an event whose time is over. If none is left, and no earlier event of the candidate waits, decides
 * the event: stores its deliveries, once, and lets the candidate's next event go on. Returns `gone` if another replica has
 * decided it.
 */
export function* decide(
  tallies: Tallies,
  eventId: string,
  { configId, until, givenUp, decide: deliveriesFor }: Decider,
  now: number,
): Operation<Decided> {
  const seen = yield* get(sql.undecided, eventId);
  if (!seen) return 'gone';
  const { seq, key } = seen;
  yield* lockCandidate(key);
  const [first] = yield* all(sql.first, key);
  const isOver = (one: Delivery) => until(one) <= now || until(one) > now + longestWaitMs;
  let open = 0;
  let ended = 0;
  let next: number | null = null;
  for (const row of yield* all(sql.lookups, seq)) {
    const one = ofDelivery.read(row);
    if (!isUnderWay(one.state)) continue;
    if (isOver(one)) {
      const { state, attempts } = one;
      const found = { seq: row.seq, carrier: null, state, attempts };
      const { progress, personalUntil } = givenUp(one);
      const count = yield* apply(sql.giveUp, found, now, JSON.stringify(progress), personalUntil);
      tallies.moved(one.sink, state, 'discarded', count);
      ended += count;
      open += 1 - count;
    } else {
      open += 1;
      next = Math.min(next ?? Infinity, until(one));
    }
  }
  const left = yield* get(sql.left, seq, ended, next);
  // Another replica was quicker.
  if (!left) return 'gone';
  if (open > 0 || first?.seq !== seq) return 'waits';
  const lookups = (yield* all(sql.lookups, seq)).map(ofDelivery.read);
  if (configId !== seen.configId) {
    yield* run(sql.decidedBy, seq, configId);
    tallies.used(seen.configId, -1);
    tallies.used(configId);
  }
  yield* insertDeliveries(tallies, seq, deliveriesFor(lookups), lookups.length);
  if (left.uncertain === 1) yield* doubt(seq, seen.receivedAt);
  yield* leave(seq, key);
  return 'decided';
}

/** Removes an event that is being erased from the undecided ones, so that no other event waits for it. */
export function* leaveUndecided(seq: number): Operation<void> {
  const found = yield* get(sql.candidateOf, seq);
  if (!found) return;
  yield* lockCandidate(found.key);
  yield* leave(seq, found.key);
}

/**
 * Removes an undecided event. Each waits for the one before, so the second has one less to wait for if the first goes.
 */
function* leave(seq: number, key: number): Operation<void> {
  const [first, second] = yield* all(sql.first, key);
  yield* run(sql.end, seq);
  if (first?.seq === seq && second) yield* lookupEnded(second.seq);
}
