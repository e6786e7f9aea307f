import type { Failure, Reason } from '../../model/outcomes.ts';
import { storable } from '../../support/text.ts';
import type { Tallies } from '../tallies.ts';
import { type By, noteChange } from './audit.ts';
import { apply, change, type FoundRow, foundColumns, unlocked } from './deliveries.ts';
import { all, lock, query, run, type Statement, together, type Operation, type Value } from '../operation.ts';
import { isLastAttempt, waits } from '../rows.ts';

/** The pause of a sink that fails for all deliveries: it is only probed. */
export interface SinkPause {
  readonly sink: string;
  /** When it was paused (ms). */
  readonly since: number;
  /** When to probe it next (ms). */
  readonly probeAt: number;
  /** How many probes were scheduled. */
  readonly probes: number;
  /**
   * Why its last attempt failed, with secrets masked; null if an earlier version paused it, which did not keep that.
   */
  readonly because: Failure | null;
}

/** A pause of a sink by a person: no delivery is begun. */
export interface PersonPause {
  readonly sink: string;
  readonly since: number;
  /** When it ends or ended (ms); null if a person has to end it. */
  readonly until: number | null;
  /** taken: the process that carries out the sink's deliveries knows of it. ended: by a person, before its time. */
  readonly phase: 'asked' | 'taken' | 'ended';
  readonly who: string;
  readonly note: string | null;
}

/** The pauses that are in force at `now`, by sink. */
export function inForce(ofPeople: readonly PersonPause[], now: number): ReadonlyMap<string, PersonPause> {
  // An ended one stays ended, also where the clock was set back.
  const found = ofPeople.filter(({ phase, until }) => phase !== 'ended' && (until === null || until > now));
  return new Map(found.map((one) => [one.sink, one]));
}

/** The results of the calls to a sink, of all replicas. */
export interface SinkFigures {
  readonly sink: string;
  /** When an attempt last succeeded (ms); null if none has since this is kept. */
  readonly lastSuccessAt: number | null;
  /**
   * How many attempts since the last success ended `retry` or `unknown`, and when the first and last of them did (ms).
   */
  readonly failures: number;
  readonly firstFailedAt: number | null;
  readonly lastFailedAt: number | null;
  /** Until when the tool asked to wait, for long (ms); null if it has not since the last success. */
  readonly askedUntil: number | null;
  /** Why the last attempt failed; also of a rejected message. */
  readonly because: Failure | null;
  /** Attempts in the last hour, to five minutes. */
  readonly lately: { readonly attempts: number; readonly failures: number };
}

interface FailureRow {
  readonly reason: Reason | null;
  readonly detail: string | null;
}

const failureOf = ({ reason, detail }: FailureRow): Failure | null =>
  reason === null ? null : { reason, detail: detail ?? '' };

interface FiguresRow extends Omit<SinkFigures, 'because' | 'lately'>, FailureRow {
  readonly attempts: number;
  readonly failed: number;
}

interface TriedRow extends FoundRow {
  readonly uncertain: number;
  readonly ended_at: number;
}

const fiveMinutes = 300_000;
/** The slots of an hour. Each takes the place of the one an hour before. */
const slots = 12;

/**
 * Sets a column that counts since the last success: to what this transaction has after a success of its own, else
 * `ifNone`.
 */
const sinceSuccess = (column: string, ifNone: string) =>
  `${column} = case when excluded.succeeded_at is null then ${ifNone} else excluded.${column} end`;

export const sql = {
  addFigures: `
  insert into sink_figures (sink, succeeded_at, failures, first_failed_at, last_failed_at, asked_until, reason, detail)
  values ($1, $2, $3, $4, $5, $6, $7, $8)
  on conflict (sink) do update set
    succeeded_at = coalesce(excluded.succeeded_at, sink_figures.succeeded_at),
    ${sinceSuccess('failures', 'sink_figures.failures + excluded.failures')},
    ${sinceSuccess('first_failed_at', 'case when excluded.first_failed_at < sink_figures.first_failed_at then excluded.first_failed_at else coalesce(sink_figures.first_failed_at, excluded.first_failed_at) end')},
    ${sinceSuccess('last_failed_at', 'coalesce(excluded.last_failed_at, sink_figures.last_failed_at)')},
    ${sinceSuccess('asked_until', 'coalesce(excluded.asked_until, sink_figures.asked_until)')},
    ${sinceSuccess('reason', 'coalesce(excluded.reason, sink_figures.reason)')},
    ${sinceSuccess('detail', 'coalesce(excluded.detail, sink_figures.detail)')}`,
  addLately: `
  insert into sink_attempts (sink, place, slot, attempts, failures) values ($1, $2, $3, $4, $5)
  on conflict (sink, place) do update set slot = $3,
    attempts = case when sink_attempts.slot = $3 then sink_attempts.attempts else 0 end + $4,
    failures = case when sink_attempts.slot = $3 then sink_attempts.failures else 0 end + $5`,
  /** The slots of the last hour are those after $1 up to $2. */
  figures: query<FiguresRow>(`
  select f.sink, f.succeeded_at as "lastSuccessAt", f.failures, f.first_failed_at as "firstFailedAt",
    f.last_failed_at as "lastFailedAt", f.asked_until as "askedUntil", f.reason, f.detail, cast(coalesce(sum(a.attempts), 0) as bigint) as attempts,
    cast(coalesce(sum(a.failures), 0) as bigint) as failed
  from sink_figures f left join sink_attempts a on a.sink = f.sink and a.slot > $1 and a.slot <= $2
  group by f.sink order by f.sink`),
  keepPause: `
  insert into pauses (sink, since, probe_at, probes, reason, detail) values ($1, $2, $3, $4, $5, $6)
  on conflict (sink) do update set since = $2, probe_at = $3, probes = $4, reason = $5, detail = $6`,
  endPause: `delete from pauses where sink = $1`,
  pauses: query<Omit<SinkPause, 'because'> & FailureRow>(`
  select sink, since, probe_at as "probeAt", probes, reason, detail from pauses order by sink`),
  personPauses: query<PersonPause>(`
  select sink, since, until, phase, who, note from person_pauses order by since`),
  /** A pause that lasts is changed. */
  pause: `
  insert into person_pauses (sink, since, until, phase, who, note) values ($1, $2, $3, 'asked', $4, $5)
  on conflict (sink, since) do update set until = $3, who = $4, note = $5,
    phase = case when person_pauses.phase = 'ended' then 'asked' else person_pauses.phase end`,
  takePause: `update person_pauses set phase = 'taken' where sink = $1 and since = $2 and phase = 'asked'`,
  resume: `update person_pauses set phase = 'ended', until = $3 where sink = $1 and since = $2`,
  askRetry: `
  insert into sink_figures (sink, failures, retry_asked_at) values ($1, 0, $2)
  on conflict (sink) do update set retry_asked_at = $2`,
  retriesAsked: query<{ readonly sink: string }>(`
  select sink from sink_figures where retry_asked_at is not null order by sink`),
  retryTaken: `update sink_figures set retry_asked_at = null where sink = $1`,
  /** Deliveries that were tried and wait, those first that are due next. */
  triedBefore: query<TriedRow>(`
  select ${foundColumns}, d.uncertain, a.ended_at from deliveries d
    join attempts a on ${isLastAttempt}
  where ${waits} and d.sink = $1 and d.attempts > 0 and d.due_at > $2 order by d.due_at, d.seq limit $3 ${unlocked}`),
  tryNow: change('due_at = case when due_at > $3 then $3 else due_at end'),
};

const slotOf = (at: number): number => Math.floor(at / fiveMinutes);

/** The statements that add the attempts of one transaction to the figures. */
export function triedStatements(tried: ReturnType<Tallies['drain']>['tried']): Statement[] {
  const add = (text: string, ...values: Value[]): Statement => ({ sql: text, values, wants: 'nothing' });
  return tried.flatMap(([sink, one]) => {
    const { succeededAt, failures, firstFailedAt, lastFailedAt, askedUntil, because } = one;
    const why = [because?.reason ?? null, because && storable(because.detail)];
    const slot = slotOf(one.at);
    return [
      add(sql.addFigures, sink, succeededAt, failures, firstFailedAt, lastFailedAt, askedUntil, ...why),
      add(sql.addLately, sink, slot % slots, slot, one.attempts, one.failed),
    ];
  });
}

/** Lists the figures of every sink that was ever called. Cheap: every record updates them. */
export function* sinkFigures(now: number): Operation<SinkFigures[]> {
  const rows = yield* all(sql.figures, slotOf(now) - slots, slotOf(now));
  return rows.map(({ reason, detail, attempts, failed, ...row }) =>
    Object.assign(row, { because: failureOf({ reason, detail }), lately: { attempts, failures: failed } }),
  );
}

/** Stores a sink's pause, replacing an earlier one. */
export function* keepPause({ sink, since, probeAt, probes, because }: SinkPause): Operation<void> {
  const detail = because && storable(because.detail);
  yield* run(sql.keepPause, sink, since, probeAt, probes, because?.reason ?? null, detail);
}

/** Deletes a sink's pause, if there is one. */
export function endPause(sink: string): Operation<unknown> {
  return run(sql.endPause, sink);
}

export function* pauses(): Operation<SinkPause[]> {
  const rows = yield* all(sql.pauses);
  return rows.map(({ reason, detail, ...row }) =>
    Object.assign(row, { because: failureOf({ reason, detail }) }),
  );
}

/** Lists the pauses by people, with those that are over, in the order in which they began. */
export function personPauses(): Operation<PersonPause[]> {
  return all(sql.personPauses);
}

/**
 * Pauses a sink for a person. `until`: when it ends (ms); null if a person has to end it. If the sink is paused by a person
 * already, that pause gets the new end, and the new note if there is one.
 */
export function* pauseByPerson(sink: string, until: number | null, now: number, by: By): Operation<void> {
  yield* lock(`pause ${sink}`);
  const known = inForce(yield* personPauses(), now).get(sink);
  yield* run(sql.pause, sink, known?.since ?? now, until, by.who, by.note ?? known?.note ?? null);
  yield* noteChange('pause', now, by, sink);
}

/** Notes that the process that carries out the sink's deliveries begins no more. */
export function takePause({ sink, since }: Pick<PersonPause, 'sink' | 'since'>): Operation<unknown> {
  return run(sql.takePause, sink, since);
}

/** Ends the pause of a sink by a person. Returns whether there was one. */
export function* resumeByPerson(sink: string, now: number, by: By): Operation<boolean> {
  yield* lock(`pause ${sink}`);
  const known = inForce(yield* personPauses(), now).get(sink);
  if (!known) return false;
  yield* run(sql.resume, sink, known.since, now);
  yield* noteChange('resume', now, by, sink);
  return true;
}

/** Asks the process that serves the store to try a sink at once. */
export function* askRetry(sink: string, now: number, by: By): Operation<void> {
  yield* run(sql.askRetry, sink, now);
  yield* noteChange('retry', now, by, sink);
}

/** Lists the sinks that are to be tried at once. */
export function* retriesAsked(): Operation<string[]> {
  return (yield* all(sql.retriesAsked)).map(({ sink }) => sink);
}

const mostRetried = 1000;

/**
 * Makes the deliveries of a sink that failed before due now, at most 1000. Those that may have arrived are due `settlingMs`
 * after their last attempt, as the tool may still be working on them.
 */
export function* takeRetry(sink: string, now: number, settlingMs: number): Operation<void> {
  const rows = yield* all(sql.triedBefore, sink, now, mostRetried);
  yield* together(
    rows.map((row) =>
      apply(sql.tryNow, row, row.uncertain === 1 ? Math.max(now, row.ended_at + settlingMs) : now),
    ),
  );
  yield* run(sql.retryTaken, sink);
}
