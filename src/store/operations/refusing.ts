import type { RefusedEvents } from '../../model.ts';
import type { By, RefusedFilter } from '../store.ts';
import { sql as auditSql } from './audit.ts';
import { all, insert, lock, query, run, type Operation } from './operation.ts';

interface RefusedRow {
  readonly reason: RefusedEvents['reason'];
  readonly origin: string;
  readonly n: number;
  readonly first_at: number;
  readonly last_at: number;
}

const sql = {
  refused: query<RefusedRow>(`
  select reason, origin, n, first_at, last_at from refused order by reason, n desc, origin`),
  setRefused: `
  insert into refused (reason, origin, n, first_at, last_at) values ($1, $2, $3, $4, $5)
  on conflict (reason, origin) do update set n = $3, first_at = $4, last_at = $5`,
  deleteRefused: `delete from refused where reason = $1 and origin = $2`,
};

/** Of each reason. Anybody may send from many addresses. */
const keptSources = 50;
const otherSources = 'others';

const keyOf = ({ reason, from }: RefusedEvents): string => `${reason} ${from}`;

/** The sums of both. Pure. */
export function addRefused(
  totals: readonly RefusedEvents[],
  more: readonly RefusedEvents[],
): RefusedEvents[] {
  const sums = new Map(totals.map((one) => [keyOf(one), one]));
  for (const one of more) {
    const sources = sums.values().filter(({ reason }) => reason === one.reason);
    const isKept = sums.has(keyOf(one)) || sources.toArray().length < keptSources;
    const added = isKept ? one : { ...one, from: otherSources };
    const { count, first, last } = sums.get(keyOf(added)) ?? { ...added, count: 0 };
    sums.set(keyOf(added), {
      ...added,
      count: count + added.count,
      first: Math.min(first, added.first),
      last: Math.max(last, added.last),
    });
  }
  return [...sums.values()];
}

export function* refused(): Operation<RefusedEvents[]> {
  const rows = yield* all(sql.refused);
  return rows.map(({ reason, origin: from, n, first_at, last_at }) => ({
    reason,
    from,
    count: n,
    first: first_at,
    last: last_at,
  }));
}

/** See Store.keepRefused. */
export function* keepRefused(more: readonly RefusedEvents[]): Operation<void> {
  yield* lock('refused');
  for (const { reason, from, count, first, last } of addRefused(yield* refused(), more))
    yield* run(sql.setRefused, reason, from, count, first, last);
}

/** See Store.ignoreRefused. */
export function* ignoreRefused(
  { reason, from, until = Number.MAX_SAFE_INTEGER }: RefusedFilter,
  now: number,
  by: By,
): Operation<RefusedEvents[]> {
  yield* lock('refused');
  const meant = (yield* refused()).filter(
    (one) => one.reason === (reason ?? one.reason) && one.from === (from ?? one.from) && one.last <= until,
  );
  for (const one of meant) yield* run(sql.deleteRefused, one.reason, one.from);
  if (meant.length > 0) yield* insert(auditSql.insertChange, now, by.who, by.from, 'ignore', by.note);
  return meant;
}
