import type { RefusedEvents } from '../../../model/notices.ts';
import { all, lock, query, run, together, type Operation } from '../../operation.ts';

const sql = {
  refused: query<RefusedEvents>(`
  select reason, origin as "from", n as count, first_at as "first", last_at as "last" from refused
  order by reason, n desc, origin`),
  setRefused: `
  insert into refused (reason, origin, n, first_at, last_at) values ($1, $2, $3, $4, $5)
  on conflict (reason, origin) do update set n = $3, first_at = $4, last_at = $5`,
  deleteRefused: `delete from refused where reason = $1 and origin = $2`,
};

/** How many sources have figures of their own, for each reason. Anybody may send from many addresses. */
const keptSources = 50;
export const otherSources = 'others';

const keyOf = ({ reason, from }: RefusedEvents): string => `${reason} ${from}`;

/** Adds figures to others. Those of further sources than are kept go to `others`. Pure. */
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

/** Lists how many events were refused, by reason and source, since a person last put the figures away. */
export function refused(): Operation<RefusedEvents[]> {
  return all(sql.refused);
}

/** Adds to the figures of refused events. Arrivals may share the transaction, so it takes only two round trips. */
export function* keepRefused(more: readonly RefusedEvents[]): Operation<void> {
  yield* lock('refused');
  const totals = new Set(yield* refused());
  yield* together(
    addRefused([...totals], more)
      .filter((one) => !totals.has(one))
      .map(setRefused),
  );
}

/** Sets the figures of a reason and source; deletes them if the count is 0. */
export const setRefused = ({ reason, from, count, first, last }: RefusedEvents): Operation<number> =>
  count > 0 ? run(sql.setRefused, reason, from, count, first, last) : run(sql.deleteRefused, reason, from);
