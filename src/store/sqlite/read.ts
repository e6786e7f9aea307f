import { parseDeliveryId } from '../../support/ids.ts';
import { deliveryStates, type Delivery } from '../../model.ts';
import { candidateKey } from '../candidate-key.ts';
import {
  firstNoticeSeq,
  seqsPerEvent,
  toDelivery,
  toDuplicate,
  toEvent,
  toNotice,
  toKeptRequest,
  toStory,
} from '../rows.ts';
import * as sql from '../sql/reading.ts';
import type {
  StuckCount,
  DeliveryFilter,
  DeliveryStory,
  EventDetail,
  EventFilter,
  EventStory,
  KeptRequest,
  NoticeDetail,
  NoticeFilter,
  NoticeStory,
  RejectedFilter,
  SinkCount,
} from '../store.ts';
import type { Database } from './database.ts';
import { find } from './deliveries.ts';

/** Reads share the connection and the thread with writes, so every read is bounded. */
const defaultStories = 100;
const defaultDeliveries = 1000;
const maxDuplicates = 1000;

export function events(db: Database, filter: EventFilter): EventStory[] {
  const { since, status, candidateId, after, limit = defaultStories } = filter;
  const statement = sql.eventsWhere({
    since: since !== undefined,
    status: status !== undefined,
    candidateId: candidateId !== undefined,
    after: after !== undefined,
  });
  const candidate = candidateId === undefined ? [] : [candidateKey(candidateId), candidateId];
  const values = [since, status, ...candidate, after, limit].filter((value) => value !== undefined);
  return db.all(statement, ...values).map((row) => ({
    event: toEvent(row),
    configId: row.event_config_id,
    duplicates: row.duplicates,
    deliveries: db.all(sql.deliveriesOf, row.event_seq).map(toDelivery),
  }));
}

export function event(db: Database, id: string): EventDetail | null {
  const row = db.get(sql.eventById, id);
  if (!row) return null;
  return {
    event: toEvent(row),
    configId: row.event_config_id,
    duplicates: db.all(sql.duplicatesOfEvent, row.event_seq, maxDuplicates).map(toDuplicate),
    deliveries: stories(db, row.event_seq),
  };
}

export function notices(db: Database, filter: NoticeFilter): NoticeStory[] {
  const { since = 0, after, limit = defaultStories } = filter;
  const rows =
    after === undefined
      ? db.all(sql.noticesSince(false), since, limit)
      : db.all(sql.noticesSince(true), since, limit, after);
  return rows.map((row) => ({
    notice: toNotice(row),
    configId: row.config_id,
    deliveries: db.all(sql.deliveriesOf, row.notice_seq).map(toDelivery),
  }));
}

export function notice(db: Database, id: string): NoticeDetail | null {
  const row = db.get(sql.noticeById, id);
  if (!row) return null;
  return { notice: toNotice(row), configId: row.config_id, deliveries: stories(db, row.notice_seq) };
}

/** Of all deliveries of the event or notice with this seq. */
function stories(db: Database, seq: number): DeliveryStory[] {
  const attempts = db.all(sql.attemptsOf, seq);
  return db.all(sql.storiesOf, seq).map((row) => toStory(row, attempts));
}

export function delivery(db: Database, id: string): Delivery | null {
  const place = parseDeliveryId(id);
  const row = place && db.get(sql.deliveryById, place.eventId, place.noticeId, place.n);
  return row ? toDelivery(row) : null;
}

/** One query for each state, because most states have their own index. */
export function deliveries(db: Database, filter: DeliveryFilter): Delivery[] {
  const { sink = null, since = null, limit = defaultDeliveries, newestFirst = false } = filter;
  // Nothing comes after a deleted delivery.
  const gone = newestFirst ? 0 : Infinity;
  const start = newestFirst ? firstNoticeSeq * seqsPerEvent : 0;
  const after = filter.after === undefined ? start : (find(db, filter.after)?.seq ?? gone);
  const rows = filter.states.flatMap((state) =>
    newestFirst
      ? db.all(sql.newestIn(state, since !== null), sink, since ?? 0, after, limit)
      : db.all(sql.deliveriesIn(state), sink, since, after, limit),
  );
  return rows
    .toSorted((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq))
    .slice(0, limit)
    .map(toDelivery);
}

export function rejectedRequests(db: Database, filter: RejectedFilter): KeptRequest[] {
  const { after = Number.MAX_SAFE_INTEGER, limit = defaultStories } = filter;
  return db.all(sql.rejectedRequests, after, limit).map(toKeptRequest);
}

export function counts(db: Database): SinkCount[] {
  const bySink = new Map<string, Map<string, number>>();
  for (const { sink, state, n } of db.all(sql.deliveryCounts)) {
    const states = bySink.get(sink) ?? new Map<string, number>();
    bySink.set(sink, states.set(state, n));
  }
  return Array.from(bySink, ([sink, states]) => ({
    sink,
    planned: states.get('planned') ?? 0,
    states: Object.fromEntries(
      deliveryStates.map((state) => [state, states.get(state) ?? 0]),
    ) as SinkCount['states'],
  }));
}

export function lastRaised(db: Database): Map<string, number> {
  return new Map(db.all(sql.newestNotices).map(({ cause, raised_at }) => [cause, raised_at]));
}

export function deadSince(db: Database, time: number): StuckCount[] {
  return db.all(sql.deadSince, time).map(toStuckCount);
}

export function heldSince(db: Database, time: number): StuckCount[] {
  return db.all(sql.heldSince, time).map(toStuckCount);
}

function toStuckCount({ sink, cause, stuck, first_at, reason }: sql.StuckRow): StuckCount {
  return { sink, cause, count: stuck, firstAt: first_at, reason: reason ?? '' };
}

export function lastEventAt(db: Database): number | null {
  return db.get(sql.newestReceipt)?.received_at ?? null;
}
