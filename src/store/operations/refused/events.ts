import type { ChangeKind } from '../../../model.ts';
import type { RefusedEvent, RefusedEvents, WholeRefusedEvent } from '../../../model/notices.ts';
import { type By, noteChange } from '../audit.ts';
import { all, get, lock, query, run, together, type Operation } from '../../operation.ts';
import { places, refusedEvent as ofListed, type RowOf, wholeRefusedEvent as ofWhole } from '../../rows.ts';
import { otherSources, refused, setRefused } from './figures.ts';

/** Which refused events are meant. Absent: any. */
export interface RefusedFilter {
  readonly reason?: RefusedEvents['reason'];
  readonly from?: string;
  /** Those that came last at this time or before (ms). */
  readonly until?: number;
}

/** What a person does with refused events, for the audit. */
interface Doing {
  readonly action: ChangeKind;
  readonly at: number;
  readonly by: By;
}

interface Source {
  readonly id: string;
  readonly from: string;
}

const sql = {
  keep: `
  insert into refused_events (${ofWhole.written.join(', ')}) values (${places(ofWhole.written)})
  on conflict (origin, candidate_id, test_id, status)
    do update set attempts = refused_events.attempts + excluded.attempts, reason = excluded.reason,
      came_at = case when excluded.came_at > refused_events.came_at then excluded.came_at else refused_events.came_at end`,
  whole: query<RowOf<WholeRefusedEvent>>(`select ${ofWhole.columns} from refused_events f where f.id = $1`),
  one: query<RowOf<RefusedEvent>>(`select ${ofListed.columns} from refused_events f where f.id = $1`),
  delete: `delete from refused_events where id = $1`,
  // The statements below read all rows, which are few.
  sources: query<Source>(`select id, origin as "from" from refused_events order by id`),
  newestFirst: query<RowOf<RefusedEvent>>(
    `select ${ofListed.columns} from refused_events f order by f.id desc`,
  ),
  deleteOld: `delete from refused_events where came_at < $1`,
};

/** How many refused events are kept, in all and from one source. Anybody may send them. */
export const mostKept = 1000;
const mostOfSource = 50;

/**
 * Chooses which events to keep, from a list with the oldest first. The first to go are those that are followed by the most
 * newer ones from their source: the oldest of the busiest source. Pure.
 */
export function keptOf<One extends Pick<Source, 'from'>>(listed: readonly One[]): Set<One> {
  const ofSource = new Map<string, number>();
  const ranked = listed.toReversed().map((one) => {
    const newer = ofSource.get(one.from) ?? 0;
    ofSource.set(one.from, newer + 1);
    return { one, newer };
  });
  const kept = ranked.filter(({ newer }) => newer < mostOfSource).toSorted((a, b) => a.newer - b.newer);
  return new Set(kept.slice(0, mostKept).map(({ one }) => one));
}

/**
 * Keeps refused events. One with the same source and content adds to `attempts` of the kept one, which gets the later
 * time.
 */
export function* keepRefusedEvents(events: readonly WholeRefusedEvent[]): Operation<void> {
  yield* lock('refused');
  yield* together(events.map((one) => run(sql.keep, ...ofWhole.values(one))));
  const found = yield* all(sql.sources);
  const kept = keptOf(found);
  yield* together(found.filter((one) => !kept.has(one)).map(({ id }) => run(sql.delete, id)));
}

/** Lists refused events, newest first, without their payloads. */
export function* refusedEvents({ reason, from, until = Infinity }: RefusedFilter): Operation<RefusedEvent[]> {
  const listed = (yield* all(sql.newestFirst)).map(ofListed.read);
  return listed.filter(
    (one) => one.reason === (reason ?? one.reason) && one.from === (from ?? one.from) && one.at <= until,
  );
}

export function* refusedEvent(id: string): Operation<WholeRefusedEvent | null> {
  const row = yield* get(sql.whole, id);
  return row ? ofWhole.read(row) : null;
}

/**
 * Deletes refused events that were taken in or are not wanted, and takes them off the figures. Returns those it found.
 */
export function* putAwayRefused(ids: readonly string[], doing: Doing | null): Operation<RefusedEvent[]> {
  yield* lock('refused');
  const rows = yield* together(ids.map((id) => get(sql.one, id)));
  const there = rows.flatMap((row) => (row ? [ofListed.read(row)] : []));
  yield* remove(there);
  if (doing && there.length > 0) yield* noteChange(doing.action, doing.at, doing.by);
  return there;
}

/** Deletes the figures of refused events, which it returns, and the kept events with the number of these. */
export function* ignoreRefused(
  filter: RefusedFilter,
  at: number,
  by: By,
): Operation<{ readonly totals: RefusedEvents[]; readonly events: number }> {
  yield* lock('refused');
  const { reason, from, until = Infinity } = filter;
  const totals = (yield* refused()).filter(
    (one) => one.reason === (reason ?? one.reason) && one.from === (from ?? one.from) && one.last <= until,
  );
  const events = yield* refusedEvents(filter);
  yield* remove(events);
  yield* together(totals.map((one) => setRefused({ ...one, count: 0 })));
  if (totals.length + events.length > 0) yield* noteChange('ignore', at, by);
  return { totals, events: events.length };
}

/** Deletes refused events that came last before this time (ms). */
export function* pruneRefused(before: number): Operation<void> {
  yield* run(sql.deleteOld, before);
}

/** Deletes events and takes them off the figures of their source, or of `others` if their source has none. */
function* remove(events: readonly RefusedEvent[]): Operation<void> {
  yield* together(events.map(({ id }) => run(sql.delete, id)));
  const totals = yield* refused();
  const lowered = new Map<RefusedEvents, number>();
  for (const { reason, from, attempts } of events) {
    const ofReason = totals.filter((one) => one.reason === reason);
    const total = [from, otherSources]
      .map((source) => ofReason.find((one) => one.from === source))
      .find(Boolean);
    if (total) lowered.set(total, (lowered.get(total) ?? total.count) - attempts);
  }
  yield* together(Array.from(lowered, ([total, count]) => setRefused({ ...total, count })));
}
