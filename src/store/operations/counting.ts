import { deliveryStates, type DeliveryState, type Status } from '../../model.ts';
import { missedCause, type NotTakenIn } from '../../model/notices.ts';
import type { CountedState } from '../tallies.ts';
import { all, get, query, together, type Operation } from '../operation.ts';
import {
  causeOfDeath,
  firstNoticeSeq,
  isLastAttempt,
  isLookup,
  missedAfter,
  of,
  ofEvents,
  pendingLanes,
  rareState,
  seqsPerEvent,
  waits,
} from '../rows.ts';

export interface SinkCount {
  readonly sink: string;
  /**
   * The sink's stored deliveries, counted when they were planned. Equal to the sum of `states`, or some are missing.
   */
  readonly planned: number;
  readonly states: Readonly<Record<DeliveryState, number>>;
}

export interface DayCount {
  /** From 0 on. */
  readonly day: number;
  /** Null for events. */
  readonly sink: string | null;
  /** The status of events, or the final state of deliveries. */
  readonly what: string;
  /** An upper bound of the time from event to delivery (ms), a power of two. 0 if that is not known. */
  readonly delayMs: number;
  readonly count: number;
}

export interface Tally {
  readonly events: readonly { readonly testId: number; readonly status: Status; readonly count: number }[];
  readonly deliveries: readonly {
    readonly sink: string;
    readonly state: DeliveryState;
    readonly count: number;
  }[];
}

export interface StuckCount {
  readonly sink: string;
  /** `delivered` where they went out, but not as meant; see Delivered.missed. */
  readonly state: Exclude<DeliveryState, 'sending' | 'discarded'>;
  /**
   * The same for all deliveries that one fix may help: the reason of the last outcome, with rule and action if the tool
   * rejected the message. `missed in`, with rule and action, if they did not reach everybody. Empty for held deliveries.
   */
  readonly cause: string;
  readonly count: number;
  /** How many of them may have arrived. */
  readonly doubtful: number;
  /** When the first of them reached that state (ms). */
  readonly firstAt: number;
  /** The reason for the latest one, in plain words, and that the tool refused others for other reasons. */
  readonly reason: string;
}

/** A lane that waits because the tool asked for it. */
export interface AskedToWait {
  readonly sink: string;
  readonly lane: string;
  /** Until when the tool last asked the lane to wait (ms). */
  readonly until: number;
  /** How many messages the tool put off, and how many more are due behind them. */
  readonly refused: number;
  readonly behind: number;
  /** What the tool said, in plain words. */
  readonly reason: string;
}

/**
 * `causes`: a select of counts, with `latest`: the seq of the delivery that gives the reason, and `reasons`: how many the tool
 * gave for refusing messages.
 */
const stuckOf = (causes: string) =>
  query<StuckCount & { readonly reasons: number }>(`
  select sink, state, cause, stuck as count, doubtful, first_at as "firstAt", reasons,
    coalesce((select last_error from deliveries where seq = latest), '') as reason
  from (${causes}) as causes order by sink, cause, latest`);

const doubtful = 'cast(sum(d.uncertain) as bigint) as doubtful';
const lastAttempt = `deliveries d join attempts a on ${isLastAttempt}`;
const noticesFrom = firstNoticeSeq * seqsPerEvent;

/** Since when a delivery is tried: its first attempt, or the last replay. */
const triedSince = 'case when d.since > d.first_attempt_at then d.since else d.first_attempt_at end';

/** The seq of the event or notice of the first pending delivery in a range. The plus: see deliveriesIn. */
const firstPending = (range: string) =>
  `(select min(+d.seq) from deliveries d where ${waits} and ${range}) / ${seqsPerEvent}`;

export const sql = {
  deliveryCounts: query<{ readonly sink: string; readonly state: CountedState; readonly n: number }>(`
  select sink, state, n from delivery_counts order by sink, state`),
  /** What went dead after $1, and what was delivered after $2 but missed somebody. */
  deadSince: stuckOf(`
    select d.sink, 'dead' as state, ${causeOfDeath} as cause, count(*) as stuck, ${doubtful}, min(d.ended_at) as first_at,
      max(d.seq) as latest,
      count(distinct case when a.outcome ->> 'outcome' = 'rejected' then d.last_error end) as reasons
    from ${lastAttempt} where d.state = 'dead' and d.ended_at > $1 and ${ofEvents} group by d.sink, cause
    union all
    select d.sink, 'delivered' as state, '${missedCause} ' || d.rule || ' ' || d.action as cause, count(*) as stuck, 0 as doubtful,
      min(d.ended_at) as first_at, max(d.seq) as latest, 1 as reasons
    from deliveries d where ${missedAfter('$2')} group by d.sink, d.rule, d.action, d.last_error`),
  /** Held deliveries are few: only sinks with `onUnknown: hold` have them. */
  heldSince: stuckOf(`
    select d.sink, 'held' as state, '' as cause, count(*) as stuck, count(*) as doubtful, min(a.ended_at) as first_at,
      max(d.seq) as latest, 0 as reasons
    from ${lastAttempt} where d.state = 'held' and ${rareState} and a.ended_at > $1 and ${ofEvents} group by d.sink`),
  /** Pending deliveries of the sink $1 that are tried since $2 or longer, at least $3 times. */
  failingSince: stuckOf(`
    select d.sink, 'pending' as state, '' as cause, count(*) as stuck, ${doubtful}, min(${triedSince}) as first_at,
      max(d.seq) as latest, 0 as reasons
    from deliveries d where ${waits} and d.lane >= '' and d.sink = $1 and ${triedSince} <= $2 and d.attempts >= $3
    group by d.sink`),
  /**
   * By the outcomes, as only the process that calls the tool knows which lanes it holds back. Only for these reasons the
   * delay is the tool's: connectors choose one themselves for others, such as a protected tab.
   */
  askedToWait: query<AskedToWait>(`
  with ${pendingLanes},
    asked as (
      select d.sink, d.lane, max(d.due_at) as until, count(*) as refused, max(d.seq) as latest
      from heads join deliveries d on ${waits} and d.lane = heads.lane and d.due_at > $1 and d.attempts > 0
        join attempts a on ${isLastAttempt}
      where a.outcome ->> 'retryAfterMs' is not null and a.outcome ->> 'reason' in ('rate_limited', 'server')
      group by d.sink, d.lane)
  select sink, lane, until, refused,
    (select count(*) from deliveries d where ${waits} and d.lane = asked.lane and d.due_at <= $1) as behind,
    coalesce((select last_error from deliveries where seq = latest), '') as reason
  from asked order by sink, lane`),
  eventsBetween: query<Tally['events'][number]>(`
    select test_id as "testId", status, count(*) as count from events where received_at >= $1 and received_at < $2
    group by test_id, status order by test_id, status`),
  deliveriesBetween: query<Tally['deliveries'][number]>(`
    select d.sink, d.state, count(*) as count from events e join deliveries d on d.seq ${of('e.seq')}
    where e.received_at >= $1 and e.received_at < $2 and not ${isLookup}
    group by d.sink, d.state order by d.sink, d.state`),
  daily: query<DayCount>(`
    select (h.hour - cast($1 as bigint)) / 24 as day, nullif(h.sink, '') as sink, h.what, h.delay_ms as "delayMs",
      cast(sum(h.n) as bigint) as count
    from hourly h where h.hour >= $1 and h.hour < $2
    group by 1, h.sink, h.what, h.delay_ms order by 1, h.sink, h.what, h.delay_ms`),
  newestReceipt: query<{ readonly at: number | null }>(
    `select max(received_at) as at from events where received_at <= $1`,
  ),
  undecided: query<{ readonly n: number }>(`select count(*) as n from undecided`),
  eventsSince: query<{ readonly n: number }>(`select count(*) as n from events where received_at >= $1`),
  countRejected: query<{ readonly n: number }>(
    `select count(*) as n from rejected_requests where received_at >= $1`,
  ),
  rejectedSince: query<NotTakenIn>(`
  select 'content' as reason, r.address as "from", count(*) as count, min(r.received_at) as first, max(r.received_at) as last
  from rejected_requests r where r.received_at >= $1 and r.correlation_id is not null
  group by r.address order by count(*) desc, r.address`),
  unread: query<{ readonly n: number }>(`
  select count(distinct case when r.correlation_id = '' then 'request ' || r.seq else r.correlation_id end) as n
  from rejected_requests r
  where r.received_at <= $2 and r.received_at > coalesce((
    select e.received_at from events e
    where e.received_at > $1 and e.received_at <= $2 and e.correlation_id is not null and e.received_at not in (
      select a.changed_at from audit a where a.action = 'accept' and a.changed_at > $1)
    order by e.received_at desc limit 1), $1)`),
  /** For each sink, when its first delivery is due, and when its oldest waiting event and notice came. */
  pendingBySink: query<{
    readonly sink: string;
    readonly dueAt: number;
    readonly eventAt: number | null;
    readonly noticeAt: number | null;
  }>(`
  with in_lanes as (
      select min(d.due_at) as due_at, min(+d.seq) as first,
        min(case when +d.seq < ${noticesFrom} then d.seq end) as event,
        min(case when +d.seq >= ${noticesFrom} then d.seq end) as notice
      from deliveries d where ${waits} group by d.lane),
    of_sinks as (
      select d.sink, min(p.due_at) as due_at, min(p.event) as event, min(p.notice) as notice
      from in_lanes p join deliveries d on d.seq = p.first group by d.sink)
  select s.sink, s.due_at as "dueAt",
    (select received_at from events where seq = s.event / ${seqsPerEvent}) as "eventAt",
    (select raised_at from notices where seq = s.notice / ${seqsPerEvent}) as "noticeAt"
  from of_sinks s order by s.sink`),
  lastBackup: query<{ readonly at: number | null }>(`select backed_up_at as at from home where id = 1`),
  oldestPending: query<{ readonly at: number | null }>(`
  select min(came_at) as at from (
    select received_at as came_at from events where seq = ${firstPending(`+d.seq < ${noticesFrom}`)}
    union all
    select raised_at as came_at from notices where seq = ${firstPending(`+d.seq >= ${noticesFrom}`)}
  ) as came`),
};

/** Counts the stored deliveries of each sink, by state and as planned. Cheap: every write updates the counts. */
export function* counts(): Operation<SinkCount[]> {
  const bySink = Map.groupBy(yield* all(sql.deliveryCounts), ({ sink }) => sink);
  return Array.from(bySink, ([sink, rows]) => {
    const inState = (state: CountedState) => rows.find((row) => row.state === state)?.n ?? 0;
    const states = Object.fromEntries(deliveryStates.map((state) => [state, inState(state)]));
    return { sink, planned: inState('planned'), states: states as SinkCount['states'] };
  });
}

/**
 * Counts, by sink and cause, the deliveries of events that went dead after `time`, or were delivered after `missedSince` and
 * missed somebody. Has sinks that are in no config any more. The cost depends on how many such deliveries there are.
 */
export function* deadSince(time: number, missedSince = time): Operation<StuckCount[]> {
  return (yield* all(sql.deadSince, time, missedSince)).map(worded);
}

/** Counts the deliveries of events that were held after `time`, by sink. Their cause is empty. */
export function* heldSince(time: number): Operation<StuckCount[]> {
  return (yield* all(sql.heldSince, time)).map(worded);
}

/**
 * Counts the pending deliveries of these sinks with at least so many attempts, the first one before `time`. The cost depends
 * on how much is pending.
 */
export function* failingSince(
  sinks: readonly string[],
  time: number,
  attempts: number,
): Operation<StuckCount[]> {
  return (yield* together(sinks.map((sink) => all(sql.failingSince, sink, time, attempts))))
    .flat()
    .map(worded);
}

/** Whoever reads one reason replays, or discards, what was refused for another, such as that of another channel. */
const worded = ({ reasons, ...stuck }: StuckCount & { readonly reasons: number }): StuckCount =>
  reasons > 1
    ? {
        ...stuck,
        reason: `${stuck.reason} That is the newest of ${reasons} reasons: look at the others, too.`,
      }
    : stuck;

/** Lists the lanes that wait because the tool asked for it. The cost depends on their number. */
export function askedToWait(now: number): Operation<AskedToWait[]> {
  return all(sql.askedToWait, now);
}

/** Counts the events from `from` up to `to` (ms), and their deliveries. The cost depends on how many there are. */
export function* tally(from: number, to: number): Operation<Tally> {
  return {
    events: yield* all(sql.eventsBetween, from, to),
    deliveries: yield* all(sql.deliveriesBetween, from, to),
  };
}

const hourMs = 3_600_000;

/**
 * Counts the events that came and the deliveries that ended on each day from `from` up to `to` (ms). A day begins at the time
 * of day of `from`. Cheap: every write updates the counts.
 */
export function daily(from: number, to: number): Operation<DayCount[]> {
  return all(sql.daily, Math.floor(from / hourMs), Math.floor(to / hourMs));
}

/**
 * When the newest event came (ms), or null. `until`: leaves out later ones, which a clock that was ahead may have
 * stored.
 */
export function* lastEventAt(until = Number.MAX_SAFE_INTEGER): Operation<number | null> {
  return (yield* get(sql.newestReceipt, until))?.at ?? null;
}

/**
 * How many requests were not valid events since a time (ms), by source. Those without a correlation id are left out: the
 * service always sends one, and nobody else does.
 */
export function rejectedSince(since: number): Operation<NotTakenIn[]> {
  return all(sql.rejectedSince, since);
}

/**
 * How many events were rejected after a time (ms) and after the last valid one, up to `now`: later ones are of a clock that was
 * ahead. The service sends each twice, under one correlation id. What a person takes in does not show that the service's events
 * can be read again: from an export it has no such id, and of what was refused the audit has a line of that moment.
 */
export function* unreadSince(time: number, now: number): Operation<number> {
  return (yield* get(sql.unread, time, now))?.n ?? 0;
}

/** What a page shows of today and of what waits. `today`: when the day began (ms). */
export function* waiting(
  today: number,
  weekAgo: number,
): Operation<{
  readonly eventsToday: number;
  /** Requests that were refused for their content. */
  readonly rejectedToday: number;
  readonly rejectedThisWeek: number;
  /** When the oldest event or notice with a pending delivery came (ms). */
  readonly oldestPendingAt: number | null;
  /** Events that wait for look-ups. */
  readonly undecided: number;
}> {
  return {
    eventsToday: (yield* get(sql.eventsSince, today))?.n ?? 0,
    rejectedToday: (yield* get(sql.countRejected, today))?.n ?? 0,
    rejectedThisWeek: (yield* get(sql.countRejected, weekAgo))?.n ?? 0,
    oldestPendingAt: (yield* get(sql.oldestPending))?.at ?? null,
    undecided: (yield* get(sql.undecided))?.n ?? 0,
  };
}

/** What monitoring asks for all the time. The cost depends on how much is pending. */
export function* vitals(now: number): Operation<{
  readonly lastEventAt: number | null;
  readonly oldestPendingAt: number | null;
  /** When the first pending delivery is due (ms). */
  readonly firstDueAt: number | null;
  /** The same for each sink that has any. */
  readonly pending: readonly PendingOf[];
  /** When the last backup was taken (ms), if the store knows of one. */
  readonly lastBackupAt: number | null;
}> {
  const pending = (yield* all(sql.pendingBySink)).map(({ sink, dueAt, eventAt, noticeAt }): PendingOf => ({
    sink,
    firstDueAt: dueAt,
    oldestPendingAt: earliest([eventAt, noticeAt]),
  }));
  return {
    lastEventAt: yield* lastEventAt(now),
    oldestPendingAt: earliest(pending.map((one) => one.oldestPendingAt)),
    firstDueAt: earliest(pending.map((one) => one.firstDueAt)),
    pending,
    lastBackupAt: (yield* get(sql.lastBackup))?.at ?? null,
  };
}

interface PendingOf {
  readonly sink: string;
  readonly firstDueAt: number;
  readonly oldestPendingAt: number | null;
}

function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
