import type { Event, RaisedNotice } from '../../model.ts';
import { toDelivery, toEvent, toNotice } from '../rows.ts';
import * as sql from '../sql/carrying-out.ts';
import { noticeById } from '../sql/reading.ts';
import type { Claimed, ClaimQuery } from '../store.ts';
import type { Database } from './database.ts';
import { apply } from './deliveries.ts';
import type { Transaction } from './transaction.ts';

/** A claim stops at this many deliveries, because no request is answered while its transaction runs. */
const mostDeliveries = 1000;

/** See Store.claim. */
export function claim(transaction: Transaction, query: ClaimQuery, most = mostDeliveries): Claimed[] {
  const { limit } = query;
  const rows = dueRows(transaction.db, query);
  const claimed = claimRows(transaction, rows, query.now, most);
  const left = limit - claimed.length;
  const mostLeft = most - claimed.reduce((sum, one) => sum + deliveriesIn(one), 0);
  if (rows.length < limit || left === 0 || mostLeft <= 0) return claimed;
  // Rows that joined an earlier row's digest do not count for the limit.
  return [...claimed, ...claim(transaction, { ...query, limit: left }, mostLeft)];
}

function dueRows(db: Database, { lane, now, limit, untriedFirst = false }: ClaimQuery): sql.DueRow[] {
  const untried = untriedFirst ? db.all(sql.untriedLast, lane, now, limit) : [];
  return untried.length > 0 ? untried : db.all(sql.dueFirst, lane, now, limit);
}

function claimRows(
  { db, tallies }: Transaction,
  rows: readonly sql.DueRow[],
  now: number,
  most: number,
): Claimed[] {
  const claimed: Claimed[] = [];
  const wentAlong = new Set<number>();
  let taken = 0;
  for (const row of rows) {
    if (taken >= most) break;
    if (wentAlong.has(row.seq)) continue;
    if (row.group_key !== null && row.carrier === null) {
      const first = db.get(sql.firstOfGroup, row.lane, row.group_key, row.sink, now) ?? row;
      const members = beginDigest(db, first, now);
      for (const { seq } of members) wentAlong.add(seq);
      tallies.moved(row.sink, 'pending', 'sending', members.length);
      claimed.push(toClaimed(db, { ...first, carrier: first.seq, carrier_event_id: first.event_id }, now));
    } else {
      tallies.moved(row.sink, 'pending', 'sending', apply(db, sql.claim, row, now));
      claimed.push(toClaimed(db, row, now));
    }
    taken += deliveriesIn(claimed.at(-1)!);
  }
  return claimed;
}

/** A notice's delivery has no event. */
const deliveriesIn = ({ events }: Claimed): number => Math.max(1, events.length);

function beginDigest(db: Database, row: sql.DueRow, now: number): { readonly seq: number }[] {
  return db.all(sql.beginDigest, row.seq, now, row.lane, row.group_key, row.sink, row.group_max);
}

function toClaimed(db: Database, row: sql.DueRow, now: number): Claimed {
  const delivery = toDelivery({
    ...row,
    state: 'sending',
    attempts: row.attempts + 1,
    first_attempt_at: row.first_attempt_at ?? now,
  });
  return { delivery, events: eventsOf(db, row), notice: noticeOf(db, row) };
}

function eventsOf(db: Database, row: sql.DueRow): Event[] {
  if (row.carrier !== null) return db.all(sql.eventsOfDigest, row.carrier).map(toEvent);
  return row.event_id === null ? [] : [toEvent(row)];
}

function noticeOf(db: Database, row: sql.DueRow): RaisedNotice | null {
  const notice = row.notice_id === null ? undefined : db.get(noticeById, row.notice_id);
  return notice ? toNotice(notice) : null;
}
