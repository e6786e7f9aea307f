import type { Event, RaisedNotice } from '../../model.ts';
import type { Claimed, ClaimQuery } from '../store.ts';
import type { Tallies } from '../tallies.ts';
import { apply, change } from './deliveries.ts';
import { holds } from './leases.ts';
import { all, get, lock, query, together, type Operation } from './operation.ts';
import { sql as reading } from './reading.ts';
import {
  deliveries,
  deliveryColumns,
  eventColumns,
  toDelivery,
  toEvent,
  toNotice,
  waits,
  type DeliveryRow,
  type EventRow,
} from './rows.ts';

/** The event's columns are null for a notice's delivery. */
type DueRow = DeliveryRow & EventRow;

const dueInLane = (rest: string) =>
  query<DueRow>(`
  select ${deliveryColumns}, ${eventColumns} from ${deliveries}
  where ${waits} and d.lane = $1 and d.due_at <= $2 and (d.due_at, d.seq) >= ($4, $5) ${rest} limit $3`);

const beginAttempt = (now: string) => `
  state = 'sending', attempts = attempts + 1, started_at = ${now}, first_attempt_at = coalesce(first_attempt_at, ${now})`;

export const sql = {
  dueFirst: dueInLane('order by d.due_at, d.seq'),
  untriedLast: dueInLane('and d.attempts = 0 order by d.due_at desc, d.seq desc'),
  /** The carrier of a digest. */
  firstOfGroup: query<DueRow>(`
  select ${deliveryColumns}, ${eventColumns} from ${deliveries}
  where d.state = 'pending' and d.group_key is not null and d.carrier is null
    and d.lane = $1 and d.group_key = $2 and d.sink = $3 and d.due_at <= $4 order by d.due_at, d.seq limit 1`),
  claim: change(beginAttempt('$3')),
  /**
   * $1: the first due delivery of the group, which becomes the carrier. It is named, since on PostgreSQL earlier ones may
   * have come since it was read. $6: the digest's maximum.
   */
  beginDigest: query<{ readonly seq: number }>(`
  update deliveries set carrier = $1, ${beginAttempt('$2')} where seq in (
    select cast($1 as bigint)
    union all
    select * from (
      select d.seq from deliveries d
      where d.state = 'pending' and d.group_key is not null and d.carrier is null
        and d.lane = $3 and d.group_key = $4 and d.sink = $5 and d.due_at <= $2 and d.seq <> $1
      order by d.due_at, d.seq limit $6 - 1
    ) as others
  ) returning seq`),
  eventsOfDigest: query<EventRow>(`
  select ${eventColumns} from ${deliveries} where d.carrier = $1 order by d.seq`),
};

/** A claim stops at this many deliveries, because no request is answered while its transaction runs. */
const mostDeliveries = 1000;

/** See Store.claim. */
export function* claim(tallies: Tallies, asked: ClaimQuery, most = mostDeliveries): Operation<Claimed[]> {
  const { limit, lease } = asked;
  if (lease && !(yield* holds(lease))) return [];
  // So that no two claims at once see the same deliveries, and what a person discards is not begun.
  yield* lock(`lane ${asked.lane}`);
  const rows = yield* dueRows(asked);
  const claimed = yield* claimRows(tallies, rows, asked.now, most);
  const left = limit - claimed.length;
  const mostLeft = most - claimed.reduce((sum, one) => sum + deliveriesIn(one), 0);
  if (rows.length < limit || left === 0 || mostLeft <= 0) return claimed;
  // Rows that joined an earlier row's digest do not count for the limit.
  return [...claimed, ...(yield* claim(tallies, { ...asked, limit: left }, mostLeft))];
}

function* dueRows({ lane, now, limit, untriedFirst = false, from }: ClaimQuery): Operation<DueRow[]> {
  const asked = [lane, now, limit, from?.dueAt ?? 0, from?.seq ?? 0] as const;
  const untried = untriedFirst ? yield* all(sql.untriedLast, ...asked) : [];
  return untried.length > 0 ? untried : yield* all(sql.dueFirst, ...asked);
}

function* claimRows(
  tallies: Tallies,
  rows: readonly DueRow[],
  now: number,
  most: number,
): Operation<Claimed[]> {
  const begun: DueRow[] = [];
  const single: DueRow[] = [];
  const wentAlong = new Set<number>();
  let taken = 0;
  for (const row of rows) {
    if (taken >= most) break;
    if (wentAlong.has(row.seq)) continue;
    let count = 1;
    if (row.group_key === null) {
      single.push(row);
      begun.push(row);
    } else if (row.carrier === null) {
      const { carrier, members } = yield* beginDigest(row, now);
      for (const { seq } of members) wentAlong.add(seq);
      begun.push(carrier);
      count = members.length;
    } else {
      count = yield* apply(sql.claim, row, now);
      begun.push(row);
    }
    tallies.moved(row.sink, 'pending', 'sending', count);
    taken += count;
  }
  yield* together(single.map((row) => apply(sql.claim, row, now)));
  return yield* together(begun.map((row) => toClaimed(row, now)));
}

/** A notice's delivery has no event. */
const deliveriesIn = ({ events }: Claimed): number => Math.max(1, events.length);

function* beginDigest(
  row: DueRow,
  now: number,
): Operation<{ readonly carrier: DueRow; readonly members: readonly { readonly seq: number }[] }> {
  const { lane, group_key: group, sink } = row;
  const first = (yield* get(sql.firstOfGroup, lane, group, sink, now)) ?? row;
  const members = yield* all(sql.beginDigest, first.seq, now, lane, group, sink, first.group_max);
  return { carrier: { ...first, carrier: first.seq, carrier_event_id: first.event_id }, members };
}

function* toClaimed(row: DueRow, now: number): Operation<Claimed> {
  const delivery = toDelivery(row);
  // Not the row: copying SQLite's rows is slow.
  return {
    delivery: {
      ...delivery,
      state: 'sending',
      attempts: delivery.attempts + 1,
      firstAttemptAt: delivery.firstAttemptAt ?? now,
    },
    events: yield* eventsOf(row),
    notice: yield* noticeOf(row),
    claimedAt: now,
  };
}

function* eventsOf(row: DueRow): Operation<Event[]> {
  if (row.carrier !== null) return (yield* all(sql.eventsOfDigest, row.carrier)).map(toEvent);
  return row.event_id === null ? [] : [toEvent(row)];
}

function* noticeOf(row: DueRow): Operation<RaisedNotice | null> {
  const notice = row.notice_id === null ? undefined : yield* get(reading.noticeById, row.notice_id);
  return notice ? toNotice(notice) : null;
}
