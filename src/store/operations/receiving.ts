import type { CandidateEvent, ChangeKind, Event, PlannedDelivery } from '../../model.ts';
import type { RaisedNotice } from '../../model/notices.ts';
import { RecentCorrelations } from '../recent-correlations.ts';
import type { Tallies } from '../tallies.ts';
import { type By, noteMade } from './audit.ts';
import { type Claim, claimOfNew } from './claiming.ts';
import { lockCandidate, type Lookups, waitFor } from './deciding.ts';
import { doubt, insertDeliveries, insertDelivery } from './deliveries.ts';
import { holds, type Lease } from './leases.ts';
import {
  all,
  both,
  get,
  insert,
  insertIf,
  insertInto,
  insertRow,
  lock,
  query,
  run,
  together,
  type Operation,
} from '../operation.ts';
import {
  candidateKey,
  event as ofEvent,
  firstNoticeSeq,
  notice as ofNotice,
  places,
  rejectedRequest as ofRejected,
  type RejectedRequest,
  type RowOf,
} from '../rows.ts';
import { patternsOf } from './searching.ts';

/** An event that came, and what today's config makes of it. */
export interface Arrival {
  /** Stored under its id, unless it is a duplicate. */
  readonly event: Event;
  readonly configId: string;
  readonly deliveries: readonly PlannedDelivery[];
  /**
   * For each delivery, or each look-up if the event has any: how to claim it in the same commit, or null. Default: claim none.
   */
  readonly begins?: readonly (Begin | null)[] | undefined;
  readonly windowMs: number;
  /** Absent if the config has no look-ups. */
  readonly lookups?: Lookups | undefined;
  /** The person who takes it in, for the audit. A duplicate is then not counted on its event. */
  readonly byHand?: { readonly action: ChangeKind; readonly by: By } | undefined;
}

/** A delivery that is claimed by the transaction that stores it. */
export interface Begin {
  /** As in ClaimQuery. */
  readonly now: number;
  /** The delivery is not claimed if another replica has taken over this lease. */
  readonly lease?: Lease;
}

export interface NoticeArrival {
  readonly notice: RaisedNotice;
  readonly configId: string;
  readonly deliveries: readonly PlannedDelivery[];
  readonly quietMs: number;
  /** From when on it may have been sent without this store knowing (ms), as by the one that this was restored from. */
  readonly perhapsSince?: number | undefined;
}

export interface Acceptance {
  /** For a duplicate, the id of the event that it repeats. */
  readonly eventId: string;
  /** The event is decided later: its look-ups were stored, and not its deliveries. */
  readonly undecided?: true;
  readonly duplicate: boolean;
  /**
   * The event is new, but among the last thousands of arrivals its correlation id came with another content: a sign of a bug
   * at the sender.
   */
  readonly correlationReused: boolean;
}

export interface AcceptedArrival extends Acceptance {
  /** The claims, by place as in `Arrival.begins`; null for what was not claimed. */
  readonly claims: readonly (Claim | null)[];
}

export interface KeptRequest extends RejectedRequest {
  readonly seq: number;
}

export interface RejectedFilter {
  /** The seq of a request: only those after it in the list. */
  readonly after?: number;
  /** Default: 100. */
  readonly limit?: number;
  /** A candidate's id, number or beginning of an id: only requests whose bodies may name such a candidate. */
  readonly about?: string;
}

/** What an event says: two events with the same content are one, or duplicates. */
export type Content = Pick<CandidateEvent, 'candidateId' | 'testId' | 'status'>;

interface StoredEvent {
  readonly seq: number;
  readonly id: string;
}

interface StoredContent extends StoredEvent {
  /** The seq of the first event of this content. */
  readonly content: number;
  readonly received_at: number;
}

export const sql = {
  latestWithContent: query<StoredContent>(`
  select seq, id, coalesce(content, seq) as content, received_at from events
  where candidate_key = $1 and candidate_id = $2 and test_id = $3 and status = $4 order by seq desc limit 1`),
  followed: query<object>(`
  select 1 from events where candidate_key = $1 and candidate_id = $2 and test_id = $3 and status <> $4
    and received_at > $5 limit 1`),
  /** The event of this content that came with the correlation id, or whose duplicate did. */
  eventOfCorrelation: query<StoredEvent>(`
  select seq, id from events where seq = $1 and correlation_id = $2
  union all
  select e.seq, e.id from correlations c join events e on e.seq = c.event_seq
  where c.content = $1 and c.correlation_id = $2`),
  newestCorrelations: query<Pick<Event, 'correlationId' | keyof CandidateEvent>>(`
  select correlation_id as "correlationId", candidate_id as "candidateId", test_id as "testId", status
  from events order by seq desc limit $1`),
  /** Inserts nothing if `content` is null and there is an event of this content. */
  insertEvent: insertInto(
    'events',
    { candidate_key: 'bigint', content: 'bigint', config_id: 'text', ...ofEvent.types },
    {
      key: 'id',
      // Not `not exists`: PostgreSQL might read all events for that. And not `=` for the status: where the statement is
      // prepared while the table is empty, it might be the index of statuses that is read, for each event.
      when: (given) => `${given('content')} is not null or (
        select 1 from events where candidate_key = ${given('candidate_key')} and candidate_id = ${given('candidate_id')}
          and test_id = ${given('test_id')} and status is not distinct from ${given('status')} limit 1) is null`,
    },
  ),
  insertCorrelation: `
  insert into correlations (content, correlation_id, event_seq) values ($1, $2, $3)
  on conflict (content, correlation_id) do nothing`,
  /**
   * Fails at once where somebody else deletes the event, as a session that was left open. To wait, as the insert of a duplicate
   * would, keeps all events waiting.
   */
  undeleted: query<object>(`select 1 from events where seq = $1 for key share nowait`),
  insertDuplicate: insertInto('duplicates', {
    event_seq: 'bigint',
    received_at: 'bigint',
    correlation_id: 'text',
  }),
  /** The number that people know the candidate by may come with a repeat alone. */
  learnNumber: `
  update events set candidate_numerical_id = $2 where seq = (
    select seq from events where seq = $1 and candidate_numerical_id is null for no key update nowait)`,
  /** A notice of the cause $1, raised after $3 and up to $2. */
  noticeWithin: query<{ readonly seq: number }>(`
  select seq from notices where cause = $1 and raised_at <= $2 and raised_at > $3 limit 1`),
  insertNotice: `
  insert into notices (seq, config_id, ${ofNotice.written.join(', ')})
  select coalesce(max(seq) + 1, ${firstNoticeSeq}), $1, ${places(ofNotice.written, 2)} from notices`,
  insertRejectedRequest: `
  insert into rejected_requests (${ofRejected.written.join(', ')}) values (${places(ofRejected.written)})`,
  trimRejectedRequests: `
  delete from rejected_requests where seq <= (select max(seq) from rejected_requests) - $1`,
  rejectedRequests: query<RowOf<RejectedRequest> & { readonly seq: number }>(`
  select r.seq, ${ofRejected.columns} from rejected_requests r where r.seq < $1 order by r.seq desc limit $2`),
  rejectedAbout: query<RowOf<RejectedRequest> & { readonly seq: number }>(`
  select r.seq, ${ofRejected.columns} from rejected_requests r
  where r.seq < $1 and (r.body like $3 or r.body like $4 or r.body like $5) order by r.seq desc limit $2`),
};

const recentCorrelations = 10_000;
/** Fewer than are remembered while it runs, because reading them delays the first event after a start. */
const loadedCorrelations = 1000;

/**
 * Stores an event with its deliveries, or counts it as a duplicate of an earlier one. The same content under the same
 * correlation id is a duplicate at any time, even if only a duplicate came with that id. The same content under another
 * correlation id, or none, is a duplicate within `windowMs` of the last event with that content. An event that waits for
 * look-ups, or for an earlier event of its candidate, is stored with the look-ups; `decide` stores its deliveries later.
 * Simultaneous duplicates wait for each other, also across processes.
 */
export function* accept(
  tallies: Tallies,
  arrival: Arrival,
  correlations: RecentCorrelations,
): Operation<AcceptedArrival> {
  const { event, configId, byHand, lookups, begins = [] } = arrival;
  const { status, correlationId, receivedAt } = event;
  const key = candidateKey(event.candidateId);
  const content = contentName(event);
  yield* lock(content);
  if (lookups) yield* lockCandidate(key);
  // Nearly every event is the first of its content, which takes one statement.
  const insertFirst = insertEvent(event, key, null, configId);
  let seq: number | undefined;
  let held = begins;
  if (begins.some(isLeased)) [seq, held] = yield* both(insertFirst, stillHeld(begins));
  else seq = yield* insertFirst;
  const correlationReused = correlationId !== null && correlations.note(correlationId, content);
  if (seq === undefined) {
    const again = yield* acceptAgain(arrival, key);
    if (typeof again !== 'number') return again;
    seq = again;
  }
  tallies.used(configId);
  tallies.came(status, receivedAt);
  const waits = lookups !== undefined && (yield* waitFor(seq, key, lookups));
  const made = waits ? lookups.asked : arrival.deliveries;
  const claims: (Claim | null)[] = [];
  for (let index = 0; index < made.length; index += 1) {
    const one = made[index]!;
    const now = held[index]?.now ?? null;
    yield* insertDelivery(tallies, seq, index, one, now);
    if (index < held.length)
      claims.push(now === null ? null : claimOfNew(event, seq, one, index, { now, configId }));
  }
  if (byHand) yield* noteMade(byHand.action, seq, made.length, receivedAt, byHand.by);
  const accepted = { eventId: event.id, duplicate: false, correlationReused, claims };
  return waits ? { ...accepted, undecided: true } : accepted;
}

/**
 * Stores an event whose content came before, and returns its seq; or counts it as a duplicate, and returns the answer.
 */
function* acceptAgain(arrival: Arrival, key: number): Operation<number | AcceptedArrival> {
  const { event, configId, windowMs, byHand } = arrival;
  const { candidateNumericalId, correlationId, receivedAt } = event;
  const { latest, repeated } = yield* earlierOf(event, key, windowMs);
  if (latest && repeated) {
    if (!byHand) {
      // Another replica has deleted it since it was found.
      if (!(yield* get(sql.undeleted, repeated.seq))) return yield* acceptAgain(arrival, key);
      yield* insertRow(sql.insertDuplicate, [repeated.seq, receivedAt, correlationId]);
      yield* insertCorrelation(event, latest.content, repeated.seq);
      if (candidateNumericalId !== null) yield* run(sql.learnNumber, repeated.seq, candidateNumericalId);
    }
    return { eventId: repeated.id, duplicate: true, correlationReused: false, claims: [] };
  }
  const seq = (yield* insertEvent(event, key, latest?.content ?? null, configId))!;
  if (latest) yield* insertCorrelation(event, latest.content, seq);
  return seq;
}

/** When and how a content comes. */
type Coming = Content & Pick<Event, 'correlationId' | 'receivedAt'>;

/** Finds the latest event of a content, and the one that this repeats. */
function* earlierOf(
  { candidateId, testId, status, correlationId, receivedAt }: Coming,
  key: number,
  windowMs: number,
): Operation<{ latest?: StoredContent; repeated?: StoredEvent }> {
  const latest = yield* get(sql.latestWithContent, key, candidateId, testId, status);
  if (!latest) return {};
  const ofCorrelation =
    correlationId === null ? undefined : yield* get(sql.eventOfCorrelation, latest.content, correlationId);
  // `abs`: an event that came while the clock was far ahead must not repel all others until that time.
  const repeated =
    ofCorrelation ?? (Math.abs(receivedAt - latest.received_at) < windowMs ? latest : undefined);
  return { latest, ...(repeated && { repeated }) };
}

const insertEvent = (event: Event, key: number, content: number | null, configId: string) =>
  insertIf(sql.insertEvent, ofEvent.values(event, [key, content, configId]));

/** The name of a content. Arrivals of a content hold the lock of this name. */
export const contentName = ({ candidateId, testId, status }: Content): string =>
  `${testId} ${status} ${candidateId}`;

const isLeased = (begin: Begin | null): boolean => begin?.lease !== undefined;

/** Tells for each content whether an event has come with it. */
export function* haveCome(contents: readonly Content[]): Operation<boolean[]> {
  const found = yield* together(
    contents.map(({ candidateId, testId, status }) =>
      get(sql.latestWithContent, candidateKey(candidateId), candidateId, testId, status),
    ),
  );
  return found.map((one) => one !== undefined);
}

/** Tells for each of these whether it would repeat an event, if it came so. */
export function* areRepeats(coming: readonly (Coming & Pick<Arrival, 'windowMs'>)[]): Operation<boolean[]> {
  const found = yield* together(
    coming.map((one) => earlierOf(one, candidateKey(one.candidateId), one.windowMs)),
  );
  return found.map(({ repeated }) => repeated !== undefined);
}

/** Tells for each content whether the same candidate and test came with another status after `at` (ms). */
export function* haveFollowers(
  contents: readonly (Content & { readonly at: number })[],
): Operation<boolean[]> {
  const found = yield* together(
    contents.map(({ candidateId, testId, status, at }) =>
      get(sql.followed, candidateKey(candidateId), candidateId, testId, status, at),
    ),
  );
  return found.map((one) => one !== undefined);
}

/** Replaces by null what must not begin here, because another replica has taken over the lease. */
function* stillHeld(begins: readonly (Begin | null)[]): Operation<readonly (Begin | null)[]> {
  const leases = new Map(begins.flatMap((begin) => (begin?.lease ? [[begin.lease.name, begin.lease]] : [])));
  const names = [...leases.keys()];
  const answers = yield* together(Array.from(leases.values(), holds));
  const isLost = ({ name }: Lease) => !answers[names.indexOf(name)];
  return begins.map((begin) => (begin?.lease && isLost(begin.lease) ? null : begin));
}

/** Keeps the correlation id of an arrival that is not the first of its content. The first has it in its own row. */
function* insertCorrelation({ correlationId }: Event, content: number, eventSeq: number): Operation<void> {
  if (correlationId !== null) yield* run(sql.insertCorrelation, content, correlationId, eventSeq);
}

/** Reads the correlation ids of the last arrivals before this process started. */
export function* loadCorrelations(): Operation<RecentCorrelations> {
  const correlations = new RecentCorrelations(recentCorrelations);
  const rows = yield* all(sql.newestCorrelations, loadedCorrelations);
  for (const row of rows.toReversed())
    if (row.correlationId !== null) correlations.note(row.correlationId, contentName(row));
  return correlations;
}

/**
 * Stores a notice with its deliveries, which never go into a digest. Stores nothing if a notice with the same cause was
 * raised within `quietMs` before. Returns whether it was stored.
 */
export function* raise(
  tallies: Tallies,
  { notice, configId, deliveries, quietMs, perhapsSince }: NoticeArrival,
): Operation<boolean> {
  const { cause, raisedAt } = notice;
  yield* lock('notices');
  if (yield* get(sql.noticeWithin, cause, raisedAt, raisedAt - quietMs)) return false;
  const seq = yield* insert(sql.insertNotice, configId, ...ofNotice.values(notice));
  tallies.used(configId);
  const alone = deliveries.map((planned) => ({ ...planned, group: null, groupMax: null }));
  yield* insertDeliveries(tallies, seq, alone);
  if (perhapsSince !== undefined) yield* doubt(seq, perhapsSince);
  return true;
}

/** How many rejected requests are kept for people to look at. */
export const keptRejected = 1000;

/** Stores a request that was refused for its content. Deletes all but the newest `keep`. */
export function* keepRejected(request: RejectedRequest, keep: number): Operation<void> {
  yield* run(sql.insertRejectedRequest, ...ofRejected.values(request));
  yield* run(sql.trimRejectedRequests, keep);
}

/** Lists requests that were refused for their content, newest first. What was not read of one is null. */
export function* rejectedRequests(filter: RejectedFilter): Operation<KeptRequest[]> {
  const { after = Number.MAX_SAFE_INTEGER, limit = 100, about } = filter;
  const rows = yield* about === undefined
    ? all(sql.rejectedRequests, after, limit)
    : all(sql.rejectedAbout, after, limit, ...patternsOf(about));
  return rows.map((row) => {
    const request = ofRejected.read(row);
    return Object.assign(request, { correlationId: request.correlationId || null, seq: row.seq });
  });
}
