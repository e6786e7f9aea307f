import type { CopyState, Vitals, Waiting } from '../store.ts';
import { lanes } from './carrying-out.ts';
import { all, get, query, run, type Operation } from './operation.ts';
import { lastEventAt } from './reading.ts';
import { firstNoticeSeq, seqsPerEvent, waits } from './rows.ts';

const noticesFrom = firstNoticeSeq * seqsPerEvent;

/** When what the first pending delivery in a range is for came. The plus: see deliveriesIn. */
const firstPending = (range: string) =>
  `(select min(+d.seq) from deliveries d where ${waits} and ${range}) / ${seqsPerEvent}`;

export const sql = {
  keepCopyState: `
  insert into copy_states (id, said_at, state) values ($1, $2, $3)
  on conflict (id) do update set said_at = $2, state = $3`,
  forgetOthers: `delete from copy_states where id <> $1 and said_at < $2`,
  copyStates: query<{ readonly state: string }>(`select state from copy_states order by said_at desc`),
  eventsSince: query<{ readonly n: number }>(`select count(*) as n from events where received_at >= $1`),
  oldestPending: query<{ readonly at: number | null }>(`
  select min(came_at) as at from (
    select received_at as came_at from events where seq = ${firstPending(`+d.seq < ${noticesFrom}`)}
    union all
    select raised_at as came_at from notices where seq = ${firstPending(`+d.seq >= ${noticesFrom}`)}
  ) as came`),
};

/** Those of ended copies tell when the last one was there. */
const keptForMs = 86_400_000;

/** Where only one process may serve the store, nothing is kept of those before it. */
export function* keepCopyState(state: CopyState, shared: boolean): Operation<void> {
  yield* run(sql.keepCopyState, state.id, state.saidAt, JSON.stringify(state));
  yield* run(sql.forgetOthers, state.id, shared ? state.saidAt - keptForMs : Number.MAX_SAFE_INTEGER);
}

export function* copyStates(): Operation<CopyState[]> {
  return (yield* all(sql.copyStates)).map(({ state }) => JSON.parse(state) as CopyState);
}

export function* waiting(today: number): Operation<Waiting> {
  return {
    eventsToday: (yield* get(sql.eventsSince, today))?.n ?? 0,
    oldestPendingAt: (yield* get(sql.oldestPending))?.at ?? null,
  };
}

export function* vitals(now: number): Operation<Omit<Vitals, 'bytes' | 'oldestTransactionMs'>> {
  const due = (yield* lanes()).map(({ dueAt }) => dueAt);
  return {
    lastEventAt: yield* lastEventAt(now),
    oldestPendingAt: (yield* get(sql.oldestPending))?.at ?? null,
    firstDueAt: due.length === 0 ? null : due.reduce((first, at) => Math.min(first, at)),
  };
}
