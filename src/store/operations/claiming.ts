import type { Delivery, Event, RaisedNotice } from '../../model.ts';
import type { Tallies } from '../tallies.ts';
import { apply, change } from './deliveries.ts';
import type { LaneHead } from './carrying-out.ts';
import { holds, type Lease } from './leases.ts';
import { all, get, lock, query, together, type Operation } from '../operation.ts';
import { sql as reading } from './reading.ts';
import { deliveries, delivery, event, notice, type RowOf, waits } from './rows.ts';

export interface ClaimQuery {
  readonly lane: string;
  readonly now: number;
  readonly limit: number;
  /** Takes only deliveries that were never attempted, newest first: to try another one than what has failed before. */
  readonly untriedFirst?: boolean;
  /** Takes only what comes as late as this one. */
  readonly from?: Pick<LaneHead, 'dueAt' | 'seq'>;
  /** Nothing is claimed if another replica has taken it over. */
  readonly lease?: Lease;
}

export interface Claim {
  /** In a digest: the carrier. */
  readonly delivery: Delivery;
  /**
   * What the message is about, in order of acceptance: one event, or all events of a digest, whose deliveries share the
   * outcome. Empty for a notice.
   */
  readonly events: readonly Event[];
  readonly notice: RaisedNotice | null;
  /** What ClaimQuery.now was. */
  readonly claimedAt: number;
}

/** The event's columns are null for a notice's delivery. */
interface DueRow extends RowOf<Delivery & Event> {
  readonly seq: number;
  /** The seq of the digest's carrier. */
  readonly carrier: number | null;
}

interface DueDelivery extends Pick<DueRow, 'seq' | 'carrier'> {
  readonly found: Delivery;
  readonly row: RowOf<Event>;
}

const toDue = (row: DueRow): DueDelivery => {
  const { seq, carrier } = row;
  return { seq, carrier, found: delivery.read(row), row };
};

const dueRows = `select ${delivery.columns}, ${event.columns}, d.seq, d.carrier from ${deliveries}`;

const dueInLane = (rest: string) =>
  query<DueRow>(`${dueRows}
  where ${waits} and d.lane = $1 and d.due_at <= $2 and (d.due_at, d.seq) >= ($4, $5) ${rest} limit $3`);

const beginAttempt = (now: string) => `
  state = 'sending', attempts = attempts + 1, started_at = ${now}, first_attempt_at = coalesce(first_attempt_at, ${now})`;

export const sql = {
  dueFirst: dueInLane('order by d.due_at, d.seq'),
  untriedLast: dueInLane('and d.attempts = 0 order by d.due_at desc, d.seq desc'),
  /** The carrier of a digest. */
  firstOfGroup: query<DueRow>(`${dueRows}
  where d.state = 'pending' and d.group_key is not null and d.carrier is null
    and d.lane = $1 and d.group_key = $2 and d.sink = $3 and d.due_at <= $4 order by d.due_at, d.seq limit 1`),
  claim: change(beginAttempt('$3')),
  /**
   * $1: the first due delivery of the group, which becomes the carrier. It is named, since on PostgreSQL earlier ones may
   * have come since it was read. $6: the digest's maximum. $7: where the first may have been sent before a restore, all
   * may, as the tool's answer about it counts for all.
   */
  beginDigest: query<{ readonly seq: number }>(`
  update deliveries set carrier = $1, ${beginAttempt('$2')} where seq in (
    select cast($1 as bigint)
    union all
    select * from (
      select d.seq from deliveries d
      where d.state = 'pending' and d.group_key is not null and d.carrier is null
        and d.lane = $3 and d.group_key = $4 and d.sink = $5 and d.due_at <= $2 and d.seq <> $1 and d.uncertain = $7
      order by d.due_at, d.seq limit $6 - 1
    ) as others
  ) returning seq`),
  eventsOfDigest: query<RowOf<Event>>(`
  select ${event.columns} from ${deliveries} where d.carrier = $1 order by d.seq`),
};

/** A claim stops at this many deliveries, because no request is answered while its transaction runs. */
const mostDeliveries = 1000;

/**
 * Moves up to `limit` due pending deliveries of a lane to `sending`, earliest due first, then in order of acceptance. The
 * intent to send is on disk when this resolves. Adds one to `attempts`, and sets `firstAttemptAt` once.
 *
 * A delivery with a group brings all other due deliveries of its sink, lane and group, up to `groupMax` in all; those in
 * doubt after a restore go apart. From then on they are one digest, and the first is its carrier: the digest is claimed as a
 * whole under the carrier's id, and every change to one of its deliveries is made to all.
 */
export function* claim(tallies: Tallies, asked: ClaimQuery, most = mostDeliveries): Operation<Claim[]> {
  const { limit, lease } = asked;
  if (lease && !(yield* holds(lease))) return [];
  // So that no two claims at once see the same deliveries, and what a person discards is not begun.
  yield* lock(`lane ${asked.lane}`);
  const rows = yield* due(asked);
  const claimed = yield* claimRows(tallies, rows, asked.now, most);
  const left = limit - claimed.length;
  const mostLeft = most - claimed.reduce((sum, one) => sum + deliveriesIn(one), 0);
  if (rows.length < limit || left === 0 || mostLeft <= 0) return claimed;
  // Rows that joined an earlier row's digest do not count for the limit.
  return [...claimed, ...(yield* claim(tallies, { ...asked, limit: left }, mostLeft))];
}

function* due({ lane, now, limit, untriedFirst = false, from }: ClaimQuery): Operation<DueDelivery[]> {
  const asked = [lane, now, limit, from?.dueAt ?? 0, from?.seq ?? 0] as const;
  const untried = untriedFirst ? yield* all(sql.untriedLast, ...asked) : [];
  return (untried.length > 0 ? untried : yield* all(sql.dueFirst, ...asked)).map(toDue);
}

function* claimRows(
  tallies: Tallies,
  rows: readonly DueDelivery[],
  now: number,
  most: number,
): Operation<Claim[]> {
  const begun: DueDelivery[] = [];
  const single: DueDelivery[] = [];
  const wentAlong = new Set<number>();
  let taken = 0;
  for (const one of rows) {
    if (taken >= most) break;
    if (wentAlong.has(one.seq)) continue;
    const { lane, group, sink } = one.found;
    let count = 1;
    if (group === null) {
      single.push(one);
      begun.push(one);
    } else if (one.carrier === null) {
      const row = yield* get(sql.firstOfGroup, lane, group, sink, now);
      const first = row ? toDue(row) : one;
      const { groupMax, uncertain } = first.found;
      const members = yield* all(
        sql.beginDigest,
        first.seq,
        now,
        lane,
        group,
        sink,
        groupMax,
        uncertain ? 1 : 0,
      );
      for (const { seq } of members) wentAlong.add(seq);
      begun.push({ ...first, carrier: first.seq, found: { ...first.found, carrier: first.found.id } });
      count = members.length;
    } else {
      count = yield* begin(one, now);
      begun.push(one);
    }
    tallies.moved(sink, 'pending', 'sending', count);
    taken += count;
  }
  yield* together(single.map((one) => begin(one, now)));
  return yield* together(begun.map((one) => toClaimed(one, now)));
}

const begin = ({ seq, carrier, found: { state, attempts } }: DueDelivery, now: number): Operation<number> =>
  apply(sql.claim, { seq, carrier, state, attempts }, now);

/** A notice's delivery has no event. */
const deliveriesIn = ({ events }: Claim): number => Math.max(1, events.length);

function* toClaimed({ found, carrier, row }: DueDelivery, now: number): Operation<Claim> {
  const ofDigest = carrier === null ? null : yield* all(sql.eventsOfDigest, carrier);
  const raised = found.noticeId === null ? undefined : yield* get(reading.noticeById, found.noticeId);
  return {
    delivery: {
      ...found,
      state: 'sending',
      attempts: found.attempts + 1,
      firstAttemptAt: found.firstAttemptAt ?? now,
    },
    events: (ofDigest ?? (found.eventId === null ? [] : [row])).map(event.read),
    notice: raised ? notice.read(raised) : null,
    claimedAt: now,
  };
}
