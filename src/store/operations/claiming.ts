import type { Delivery, Event, PlannedDelivery } from '../../model.ts';
import type { RaisedNotice } from '../../model/notices.ts';
import { deliveryId } from '../../support/ids.ts';
import type { Tallies } from '../tallies.ts';
import { apply, change, type ClaimedRow, isUnlocked, lockLane, seqOfNew, unlocked } from './deliveries.ts';
import type { LaneHead } from './carrying-out.ts';
import { holds, type Lease } from './leases.ts';
import { all, get, query, together, type Operation } from '../operation.ts';
import { sql as reading } from './reading.ts';
import { deliveries, delivery, event, notice, type RowOf, waits } from '../rows.ts';

export interface ClaimQuery {
  readonly lane: string;
  readonly now: number;
  readonly limit: number;
  /**
   * Takes the newest deliveries that were never attempted, if there are any: what failed before may itself be at fault.
   */
  readonly untriedFirst?: boolean;
  /** Looks only at deliveries that are not before this one. */
  readonly from?: Pick<LaneHead, 'dueAt' | 'seq'>;
  /** Claims nothing if another replica has taken over this lease. */
  readonly lease?: Lease;
}

export interface Claim {
  /** For a digest, its carrier. */
  readonly delivery: Delivery;
  /** What the message is about, in order of acceptance: one event, or all of a digest. Empty for a notice. */
  readonly events: readonly Event[];
  readonly notice: RaisedNotice | null;
  /** The `now` of the claim. */
  readonly claimedAt: number;
  readonly row: ClaimedRow;
}

/** The event's columns are null for a notice's delivery. */
interface DueRow extends RowOf<Delivery & Event> {
  readonly seq: number;
  /** The seq of the digest's carrier. */
  readonly carrier: number | null;
}

interface Due {
  readonly row: DueRow;
  /** The seq of the digest's carrier, also for a digest that this claim makes. */
  readonly carrier: number | null;
  /** The delivery as the row has it. */
  readonly found: Delivery;
}

const dueRows = `select ${delivery.columns}, ${event.columns}, d.seq, d.carrier from ${deliveries}`;

const dueInLane = (rest: string) =>
  query<DueRow>(`${dueRows}
  where ${waits} and d.lane = $1 and d.due_at <= $2 and (d.due_at, d.seq) >= ($4, $5) ${rest} limit $3 ${unlocked}`);

const beginAttempt = (now: string) => `
  state = 'sending', attempts = attempts + 1, started_at = ${now}, first_attempt_at = coalesce(first_attempt_at, ${now})`;

export const sql = {
  dueFirst: dueInLane('order by d.due_at, d.seq'),
  untriedLast: dueInLane('and d.attempts = 0 order by d.due_at desc, d.seq desc'),
  /** The delivery that becomes the carrier of a new digest. */
  firstOfGroup: query<DueRow>(`${dueRows}
  where d.state = 'pending' and d.group_key is not null and d.carrier is null
    and d.lane = $1 and d.group_key = $2 and d.sink = $3 and d.due_at <= $4
  order by d.due_at, d.seq limit 1 ${unlocked}`),
  claim: change(beginAttempt('$3')),
  /**
   * The carrier is given, as on PostgreSQL earlier ones may have come since it was read. $6: how many deliveries may join. $7:
   * the carrier's `uncertain`; others do not join, as the tool's answer about a digest counts for all of it.
   */
  beginDigest: query<{ readonly seq: number }>(`
  with joining as materialized (
    select d.seq from deliveries d
    where d.state = 'pending' and d.group_key is not null and d.carrier is null
      and d.lane = $3 and d.group_key = $4 and d.sink = $5 and d.due_at <= $2 and d.seq <> $1 and d.uncertain = $7
    order by d.due_at, d.seq limit $6 - 1 ${unlocked}
  )
  update deliveries set carrier = $1, ${beginAttempt('$2')}
  where seq in (select cast($1 as bigint) union all select seq from joining) returning seq`),
  eventsOfDigest: query<RowOf<Event>>(`
  select ${event.columns} from ${deliveries} where d.carrier = $1 order by d.seq`),
};

/** A claim takes no more deliveries than this, because no request is answered while its transaction runs. */
const mostDeliveries = 1000;

/**
 * Moves up to `limit` due pending deliveries of a lane to `sending`, earliest due first, then in order of acceptance. The
 * intent to send is on disk when the claim resolves. Adds one to `attempts`, and sets `firstAttemptAt` once.
 *
 * A delivery with a group takes along all other due deliveries of its sink, lane and group, up to `groupMax` in all; those
 * that are uncertain after a restore go apart. They are one digest from then on, and the first is its carrier. A digest
 * counts once for `limit`, is claimed as a whole under the carrier's id, and every change is made to all of its deliveries.
 * What somebody else has locked is left for a later claim: of a new digest, those deliveries, which then go apart; a digest
 * that was tried, as a whole.
 */
export function* claim(tallies: Tallies, asked: ClaimQuery): Operation<Claim[]> {
  const { lane, now, limit, untriedFirst = false, lease } = asked;
  if (lease && !(yield* holds(lease))) return [];
  // So no other claim sees these deliveries, and none is begun that a person is discarding.
  yield* lockLane(lane);
  const begun: Due[] = [];
  let from = asked.from ?? { dueAt: 0, seq: 0 };
  for (let taken = 0, isMore = true; isMore;) {
    const left = limit - begun.length;
    const place = [lane, now, left, from.dueAt, from.seq] as const;
    const untried = untriedFirst ? yield* all(sql.untriedLast, ...place) : [];
    const rows = untried.length > 0 ? untried : yield* all(sql.dueFirst, ...place);
    const wentAlong = new Set<number>();
    const single: Due[] = [];
    for (const row of rows) {
      if (taken >= mostDeliveries) break;
      if (wentAlong.has(row.seq)) continue;
      const due: Due = { row, carrier: row.carrier, found: delivery.read(row) };
      const { group, sink } = due.found;
      let count = 1;
      if (group === null) {
        single.push(due);
        begun.push(due);
      } else if (row.carrier === null) {
        const first = (yield* get(sql.firstOfGroup, lane, group, sink, now)) ?? row;
        const found = delivery.read(first);
        const joining = [lane, group, sink, found.groupMax, found.uncertain ? 1 : 0] as const;
        const members = yield* all(sql.beginDigest, first.seq, now, ...joining);
        for (const { seq } of members) wentAlong.add(seq);
        begun.push({ row: first, carrier: first.seq, found });
        count = members.length;
      } else if (yield* isUnlocked(row.carrier)) {
        count = yield* begin(due, now);
        begun.push(due);
      } else continue;
      tallies.moved(sink, 'pending', 'sending', count);
      taken += count;
    }
    yield* together(single.map((due) => begin(due, now)));
    // Rows that joined an earlier row's digest did not count for the limit.
    isMore = rows.length === left && begun.length < limit && taken < mostDeliveries;
    const last = rows.at(-1);
    // A digest that was left is due still.
    if (last && untried.length === 0) from = { dueAt: delivery.read(last).dueAt, seq: last.seq + 1 };
  }
  return yield* together(begun.map((due) => toClaim(due, now)));
}

function begin({ row, carrier, found: { state, attempts } }: Due, now: number): Operation<number> {
  return apply(sql.claim, { seq: row.seq, carrier, state, attempts }, now);
}

function* toClaim({ row, carrier, found }: Due, now: number): Operation<Claim> {
  const { noticeId, eventId, attempts } = found;
  const ofDigest = carrier === null ? null : yield* all(sql.eventsOfDigest, carrier);
  const raised = noticeId === null ? undefined : yield* get(reading.noticeById, noticeId);
  return {
    delivery: {
      ...found,
      state: 'sending',
      attempts: attempts + 1,
      firstAttemptAt: found.firstAttemptAt ?? now,
      // The claimed delivery of a digest is its carrier.
      carrier: carrier === null ? null : found.id,
    },
    events: (ofDigest ?? (eventId === null ? [] : [row])).map(event.read),
    notice: raised ? notice.read(raised) : null,
    claimedAt: now,
    row: { seq: row.seq, carrier, sink: found.sink },
  };
}

/** The claim of a delivery whose event is being stored under `seq`, equal to one that is claimed and read later. */
export function claimOfNew(
  came: Event,
  seq: number,
  one: PlannedDelivery,
  index: number,
  { now, configId }: { readonly now: number; readonly configId: string },
): Claim {
  return {
    delivery: {
      id: deliveryId(came.id, index + 1),
      eventId: came.id,
      noticeId: null,
      configId,
      rule: one.rule,
      action: one.action,
      sink: one.sink,
      connector: one.connector,
      lane: one.lane,
      group: one.group,
      groupMax: one.groupMax,
      state: 'sending',
      dueAt: one.dueAt,
      createdAt: came.receivedAt,
      since: one.dueAt,
      attempts: 1,
      firstAttemptAt: now,
      replayed: false,
      receipt: null,
      lastError: null,
      carrier: null,
      resendOf: null,
      uncertain: false,
      composedAt: null,
      progress: null,
    },
    events: [came],
    notice: null,
    claimedAt: now,
    row: { seq: seqOfNew(seq, index), carrier: null, sink: one.sink },
  };
}
