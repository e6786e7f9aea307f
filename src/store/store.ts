import type {
  AlertKind,
  Attempt,
  ChangeKind,
  Delivery,
  DeliveryState,
  Event,
  Failure,
  Json,
  PlannedDelivery,
  RaisedNotice,
  Receipt,
  RefusedEvents,
  Status,
} from '../model.ts';
import type { Mentions } from '../support/mentions.ts';

/**
 * What the connector needs of a database, in terms of a delivery's life, so that a second backend can follow. One test
 * suite checks every backend. Times are parameters (ms), because a store has no clock. Every write resolves after its
 * commit is on disk. If a store cannot write, it throws StoreUnavailable, and nothing of that call was stored.
 */
export interface Store {
  /** Null where only one process may serve the store. */
  readonly leases: LeaseStore | null;
  /** Transactions committed by this process. Fewer than writes, which share transactions. */
  readonly commits: number;
  /** Writes of this process that wait for their commit. */
  readonly queued: number;

  /**
   * Stores the event with its deliveries, or counts it as a duplicate of an earlier one. The same content (candidateId,
   * testId, status) under the same correlation id is a duplicate at any time, even if only a duplicate had that id. The
   * same content under another correlation id, or none, is a duplicate within `windowMs` of the last event with that
   * content. The event, its entry in the idempotency index and its deliveries are written in one transaction.
   */
  accept(arrival: Arrival): Promise<Acceptance>;
  /**
   * Stores a notice with its deliveries, unless one with the same cause was raised within `quietMs` before it. Resolves
   * to whether it was stored. Its deliveries are carried out like an event's, but never in a digest.
   */
  raise(arrival: NoticeArrival): Promise<boolean>;
  /** Stores a request that was refused for its content. Only the newest `keep` stay. */
  keepRejected(request: RejectedRequest, keep: number): Promise<void>;
  /** Adds to the figures of refused events. Those of more sources than are kept are summed. */
  keepRefused(refused: readonly RefusedEvents[]): Promise<void>;

  /**
   * The lanes with pending deliveries, each with its earliest due time and sink. The cost does not depend on how many
   * deliveries are stored. A claimed digest counts as its carrier. `from`: looks at these lanes alone, and only at what
   * comes as late as the given one.
   */
  lanes(from?: readonly LaneHead[]): Promise<LaneHead[]>;
  /**
   * Moves up to `limit` due pending deliveries of a lane to `sending`, earliest due first, then in order of acceptance.
   * The intent to send is on disk when this resolves. Adds one to `attempts`, and sets `firstAttemptAt` once.
   *
   * A delivery with a group brings all other due deliveries of its sink, lane and group, up to `groupMax` in all. From
   * then on they are one digest, and the first is its carrier: the digest is claimed as a whole under the carrier's id,
   * and every change to one of its deliveries is made to all.
   */
  claim(query: ClaimQuery): Promise<Claimed[]>;
  /** Records how attempts ended. Does not change a delivery that is no longer in this attempt (by its number). */
  record(results: readonly AttemptResult[]): Promise<void>;
  /**
   * Deliveries that an ended process left in `sending` become pending and uncertain, with an unknown attempt recorded.
   * They are due `settlingMs` after that attempt began, because the tool may still be working on it. To be called when
   * the caller is the only process that serves this store; or for one sink, while none of its attempts is under way here.
   * Returns how many there were.
   */
  rescue(now: number, settlingMs: number, of?: Rescued): Promise<number>;
  /**
   * Undoes claims of deliveries that were not attempted: they are pending again and due at `until`, and the attempt is
   * not counted. A digest that was never attempted is dissolved. The time until `until` does not count for giving up.
   */
  defer(items: readonly Deferral[], now: number): Promise<void>;
  /**
   * For a clock that was ahead by `aheadMs` and says `now` since it was set right: what it put off becomes due as much
   * sooner, or at once where hours decide anew. What was put off by a right clock stays as it is. Returns how many.
   */
  pullIn(now: number, aheadMs: number): Promise<number>;
  /** Stores a sink's pause, replacing an earlier one. */
  keepPause(pause: SinkPause): Promise<void>;
  /** Deletes a sink's pause, if there is one. */
  endPause(sink: string): Promise<void>;
  pauses(): Promise<SinkPause[]>;
  /** How the calls to each sink fare that was ever called. Cheap: every record updates it. */
  sinkFigures(now: number): Promise<SinkFigures[]>;
  /** The tool was asked, and works: its failures until now count no more. */
  forgetFailures(sink: string): Promise<void>;
  /** For whoever serves the store: a sink is to be tried at once. */
  askRetry(sink: string, now: number): Promise<void>;
  /** The sinks for which that was asked and not done. */
  retriesAsked(): Promise<string[]>;
  /**
   * Does it: what failed before and waits is due now. What may have arrived is due `settlingMs` after its last attempt, as
   * the tool may still be working on it. The first 1000, if there are more.
   */
  takeRetry(sink: string, now: number, settlingMs: number): Promise<void>;
  /** The receipt of the earliest delivered message with this thread key on this sink. */
  threadOf(sink: string, thread: string): Promise<Receipt | null>;
  /** The receipt of the newest delivered message in this lane, if it is among the store's newest deliveries. */
  newestReceipt(lane: string): Promise<Receipt | null>;

  /**
   * Makes dead or held deliveries pending and due at `now`, as newly planned. The time for giving up starts at `now`.
   * Keeps the attempts and `uncertain`, and `progress` if the connector is the same. Deliveries of a digest stay in it,
   * and no other delivery joins one: `planned.group` is ignored.
   */
  replay(items: readonly Replay[], now: number, by: By): Promise<ManualResult[]>;
  /** Discards pending, dead or held deliveries. A digest that was not claimed yet only loses the given delivery. */
  discard(deliveryIds: readonly string[], now: number, by: By): Promise<ManualResult[]>;
  /**
   * Sends delivered messages again: each as a new delivery of the same event or notice, newly planned and due at `now`,
   * and never in a digest. Not while an earlier one of the same is still on its way, nor within a minute of one.
   */
  resend(items: readonly Replay[], now: number, by: By): Promise<ManualResult[]>;
  /**
   * Adds to stored events what a rule asks for that they came before. Not to an event that has deliveries of that rule.
   * Resolves to the ids of the new deliveries.
   */
  apply(items: readonly Late[], now: number, by: By): Promise<string[]>;
  /**
   * Erases a candidate: events with their deliveries, attempts and repeats, refused requests that name them, and where
   * others' deliveries, notices and notes name them. Pending deliveries are given up with that. Does nothing where a
   * delivery is under way, or where there is an event that the caller does not know of. The audit gets a line that does
   * not say who it was.
   */
  forget(forgetting: Forgetting, now: number, by: By): Promise<Forgotten>;
  /**
   * Looks in the store's files for texts that were erased, once nothing is left of them in the WAL. Resolves to how often
   * they are there, or null where the files cannot be looked at. `being read`: another process reads, which keeps the old
   * pages in the WAL; the next round of `prune` after that lets go of them. `rewrite`: first writes the whole file anew;
   * writes wait.
   */
  traces(texts: readonly string[], rewrite: boolean): Promise<number | 'being read' | null>;
  /** What people changed by hand, newest first; written with the change itself. */
  audit(filter: AuditFilter): Promise<Change[]>;
  /** Puts figures of refused events away, and resolves to them. */
  ignoreRefused(which: RefusedFilter, now: number, by: By): Promise<RefusedEvents[]>;

  /** Newest first. */
  events(filter: EventFilter): Promise<EventStory[]>;
  /**
   * Newest first. Looks at a bounded number of events where no index serves the search, so it may find fewer than there
   * are; `after` then says where to go on.
   */
  search(asked: EventSearch): Promise<FoundEvents>;
  /**
   * Whom a person means by a text: the candidate with this id; else those with this number; else those whose ids begin
   * so, from 6 characters on, if `orBegins`.
   */
  candidatesMeant(text: string, orBegins?: boolean): Promise<Candidates>;
  event(id: string): Promise<EventDetail | null>;
  /** Newest first. */
  notices(filter: NoticeFilter): Promise<NoticeStory[]>;
  notice(id: string): Promise<NoticeDetail | null>;
  /** The newest notice of each alert of these and sink, unless it says that the trouble is over. */
  openTroubles(alerts: readonly AlertKind[]): Promise<RaisedNotice[]>;
  /** When the newest notice of each cause was raised (ms). */
  lastRaised(): Promise<Map<string, number>>;
  delivery(id: string): Promise<Delivery | null>;
  /** Deliveries in these states, oldest first. Those of notices come last. */
  deliveries(filter: DeliveryFilter): Promise<Delivery[]>;
  /** Newest first. */
  rejectedRequests(filter: RejectedFilter): Promise<KeptRequest[]>;
  /** How many events were refused, by reason and source, until a person puts that away. */
  refused(): Promise<RefusedEvents[]>;
  /** How many stored deliveries each sink has, in each state and as planned. Cheap: every write updates the counts. */
  counts(): Promise<SinkCount[]>;
  /**
   * The deliveries of events that went dead after `time`, or were delivered after `missedSince` and not to all, by sink and
   * cause. Without it, that is `time`. Includes sinks that no config has any more. The cost depends on their number, not on
   * how much is stored.
   */
  deadSince(time: number, missedSince?: number): Promise<StuckCount[]>;
  /** The same for held deliveries, by sink. They have no other cause than that nobody can tell whether they arrived. */
  heldSince(time: number): Promise<StuckCount[]>;
  /** The stored events from `from` up to `to` (ms), and their deliveries. The cost depends on how many there are. */
  tally(from: number, to: number): Promise<Tally>;
  /**
   * How many events came, and how many deliveries ended, on each day from `from` up to `to` (ms). A day begins at `from`'s
   * time of day. Cheap: every write updates the counts.
   */
  daily(from: number, to: number): Promise<DayCount[]>;
  /** When the newest event arrived (ms), or null. `until`: of those before, where a clock may have been ahead. */
  lastEventAt(until?: number): Promise<number | null>;

  /**
   * Stores the part of a config that deliveries need. Storing it again only renews `savedAt`. To be called before the
   * first `accept` or `replay` with it, which would fail otherwise.
   */
  saveConfig(config: SavedConfig): Promise<void>;
  config(id: string): Promise<Json | null>;
  /** The config that was saved last. While a connector serves the store, it is the one in force. */
  latestConfig(): Promise<SavedConfig | null>;

  /**
   * Looks at the next `limit` events or notices, oldest first. Deletes those whose deliveries were all delivered or
   * discarded before `before`, or that have no deliveries and arrived before it. If a digest loses its carrier, its
   * last remaining delivery becomes the carrier. At the end of a round, also deletes unused configs saved before `before`,
   * except those that this process saved, and those of copies that are alive; and from the audit, what was before
   * `before` and has nothing left that it is about.
   */
  prune(query: Prune): Promise<Pruned>;
  /**
   * To be called before anything is delivered. Where the store is not where it was last served, it was restored or
   * moved, and what was due by `now` may have been sent from where it was: it becomes uncertain. Resolves to how many
   * deliveries did; null where the store is in its old place, or was never served.
   */
  settleIn(now: number): Promise<number | null>;
  /** Null if none was stored and there is no event. */
  signOfLife(): Promise<SignOfLife | null>;
  keepSignOfLife(sign: SignOfLife): Promise<void>;
  /** Replaces what the copy said before. Where only one process may serve the store, also what others said. */
  keepCopyState(state: CopyState): Promise<void>;
  /** What the copies said last, newest first; those that ended among them. */
  copyStates(): Promise<CopyState[]>;
  /** `today`: when the day began (ms). */
  waiting(today: number): Promise<Waiting>;
  /** What monitoring asks for all the time. The cost depends on what is pending, not on how much is stored. */
  vitals(now: number): Promise<Vitals>;
  /** An encrypted refresh token; null where none is kept under this id. */
  token(id: string): Promise<string | null>;
  /** In place of the one before. */
  keepToken(token: KeptToken): Promise<void>;
  /** Resolves if the store can write. Otherwise throws StoreUnavailable with the reason. */
  probe(): Promise<void>;
  /** Finishes the current writes. Idempotent. */
  close(): Promise<void>;
}

/** See keptRefreshTokens. */
export interface KeptToken {
  readonly id: string;
  readonly sealed: string;
  readonly keptAt: number;
}

/**
 * Who of several copies does what. A lease runs by the database's clock. Its epoch counts how often it was taken, so that
 * a copy that stood still cannot go on with one that was taken over.
 */
export interface LeaseStore {
  /** Says that the copy is alive, renews all leases that it holds, and takes what nobody holds, up to its share. */
  renew(asked: LeaseRequest): Promise<LeaseState>;
  /** Gives a lease back, if the copy still holds it. */
  release(lease: Lease): Promise<void>;
  /** Gives back all, at the end of a copy. */
  leave(copy: string): Promise<void>;
}

export interface Lease {
  readonly name: string;
  readonly copy: string;
  readonly epoch: number;
}

export interface LeaseRequest {
  readonly copy: string;
  readonly configId: string;
  /** What the copy can do by its config. */
  readonly names: readonly string[];
  /** What has to be done although it is not in this copy's config. */
  readonly extra: readonly string[];
  /** Of these, what this copy takes if no copy has it in its config. */
  readonly orphans: readonly string[];
  /** False: it only renews what it has. */
  readonly takes: boolean;
  /** For how long the leases run (ms). Without a sign for so long, a copy is taken for ended. */
  readonly forMs: number;
  /** How long (ms) a tool may be at work on what was begun with a lease. */
  readonly quietMs?: (name: string) => number;
}

export interface LeaseState {
  /** The epochs of the leases that the copy holds, by name. */
  readonly held: ReadonlyMap<string, number>;
  /** What it should give back when it is idle, because other copies have less. */
  readonly surplus: readonly string[];
  /** Of `extra`, what no copy has in its config, and no other holds. */
  readonly unknown: readonly string[];
  /** The copies that are alive, this one among them. */
  readonly copies: readonly { readonly id: string; readonly configId: string }[];
  /** What the database's clock says (ms). */
  readonly now: number;
  /** See Store.settleIn. Where the database is in another place, all leases have ended. */
  readonly distrusted: number | null;
}

export interface SavedConfig {
  readonly id: string;
  readonly source: Json;
  readonly savedAt: number;
}

export interface Arrival {
  /** Its id is used unless it is a duplicate. */
  readonly event: Event;
  readonly configId: string;
  readonly deliveries: readonly PlannedDelivery[];
  readonly windowMs: number;
}

export interface NoticeArrival {
  readonly notice: RaisedNotice;
  readonly configId: string;
  readonly deliveries: readonly PlannedDelivery[];
  readonly quietMs: number;
}

export interface Acceptance {
  /** For a duplicate, the id of the first event. */
  readonly eventId: string;
  readonly duplicate: boolean;
  /**
   * The event is new, but its correlation id was recently used for another content (among the last thousands of
   * arrivals). A sign of a bug at the sender.
   */
  readonly correlationReused: boolean;
}

export interface ClaimQuery {
  readonly lane: string;
  readonly now: number;
  readonly limit: number;
  /** Takes only deliveries that were never attempted, newest first: to try another one than what has failed before. */
  readonly untriedFirst?: boolean;
  /** Takes only what comes as late as this one. */
  readonly from?: Pick<LaneHead, 'dueAt' | 'seq'>;
  /** Nothing is claimed if another copy has taken it over. */
  readonly lease?: Lease;
}

/** What is rescued: a sink's. Nothing if another copy has taken over the lease. */
export interface Rescued {
  readonly sink: string;
  readonly lease?: Lease;
}

export interface LaneHead {
  readonly lane: string;
  readonly sink: string;
  readonly dueAt: number;
  /** Of those that are due at the same time, the first one's. */
  readonly seq: number;
}

export interface Claimed {
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

/** How an attempt ended and what becomes of its delivery. */
export interface AttemptResult {
  readonly deliveryId: string;
  readonly attempt: Attempt;
  readonly state: Exclude<DeliveryState, 'sending' | 'discarded'>;
  /** The tool was not called, so this says nothing about the sink. */
  readonly unsent?: boolean;
  /** When this was recorded (ms). A final state counts from then. */
  readonly settledAt: number;
  /** How long after the event came it was delivered, if that is known. */
  readonly delayMs?: number;
  /** When to try again. Only if `pending`. */
  readonly dueAt: number | null;
  readonly uncertain: boolean;
  readonly progress: Json | null;
  readonly lastError: string | null;
  /** What was sent, with secrets masked. Null: keep the earlier one. */
  readonly message: Json | null;
  readonly thread: string | null;
}

export interface Deferral {
  readonly deliveryId: string;
  /**
   * The attempt that the claim began, and when. Nothing is undone if it is no longer this one: whoever undoes it twice, as
   * an answer was lost, must not undo the next claim, which has the same number.
   */
  readonly attempt: number;
  readonly claimedAt: number;
  readonly until: number;
}

/** A sink that fails for all deliveries, and is only probed. */
export interface SinkPause {
  readonly sink: string;
  /** When it was paused (ms). */
  readonly since: number;
  /** When to probe it next (ms). */
  readonly probeAt: number;
  /** How often the time until the next probe was set. */
  readonly probes: number;
  /** Why its last attempt failed, with secrets masked; null if a version wrote it that did not keep that. */
  readonly because: Failure | null;
}

/** How the calls to a sink fare: the same for all replicas, and after a restart. */
export interface SinkFigures {
  readonly sink: string;
  /** Null if there was none yet, or only by a version that did not keep it. */
  readonly lastSuccessAt: number | null;
  /** Attempts since the last success that ended `retry` or `unknown`; when the first and the last one ended (ms). */
  readonly failures: number;
  readonly firstFailedAt: number | null;
  readonly lastFailedAt: number | null;
  /** Why the last one did. */
  readonly because: Failure | null;
  /** Of the last hour, to five minutes. */
  readonly lately: { readonly attempts: number; readonly failures: number };
}

export interface Replay {
  readonly deliveryId: string;
  /** Today's config, which has the action. */
  readonly configId: string;
  readonly planned: PlannedDelivery;
}

/** Who changes something by hand, from where, and why. */
export interface By {
  readonly who: string;
  /** A machine's name or address, and the way in: a command or a page. */
  readonly from: string;
  readonly note: string | null;
}

/** What a person did. It is kept as long as an event that it is about, and at least as long as one that came then. */
export interface Change extends By {
  readonly id: number;
  readonly at: number;
  readonly action: ChangeKind;
  /** Those that it changed or made: of the event or notice that was asked for, else at most 1000. */
  readonly deliveries: readonly string[];
}

export interface AuditFilter {
  /** Only what is about this event or notice. */
  readonly about?: string;
  /** Only what came before the one with this id. For paging. */
  readonly after?: number;
  /** Default: 100. */
  readonly limit?: number;
}

/** What one rule of today's config asks for an event that came before. */
export interface Late {
  readonly eventId: string;
  readonly configId: string;
  /** One or more, of the same rule. */
  readonly deliveries: readonly PlannedDelivery[];
}

export interface Forgetting {
  readonly candidateId: string;
  /** All events of the candidate that the caller knows of. */
  readonly eventIds: readonly string[];
  readonly mentions: Mentions;
}

export type Forgotten =
  | {
      readonly done: true;
      readonly events: number;
      readonly rejected: number;
      /** As they were at last. */
      readonly deliveries: readonly Delivery[];
    }
  | {
      readonly done: false;
      /** An event that the caller does not know of. */
      readonly unexpected: string | null;
      /** Deliveries that are being sent, or tried again in a digest with others. */
      readonly underWay: readonly string[];
    };

export type ManualResult =
  | {
      readonly deliveryId: string;
      readonly done: true;
      /** Of a resend: the delivery that it made. */
      readonly madeId?: string;
    }
  | {
      readonly deliveryId: string;
      readonly done: false;
      /** Null if the delivery does not exist; that of `madeId` where there is one. */
      readonly state: DeliveryState | null;
      /** Of a resend: an earlier one that is still on its way, or has just arrived. */
      readonly madeId?: string;
    };

export interface EventFilter {
  readonly since?: number;
  readonly status?: string;
  readonly candidateId?: string;
  /** Only events after this one in the list. For paging: the last one of the page before. */
  readonly after?: string;
  /** Default: 100. */
  readonly limit?: number;
}

/** Those with one of these ids; or, where there are too many to name them, those whose ids begin so. */
export type Candidates = { readonly ids: readonly string[] } | { readonly beginning: string };

/** Whether a candidate is of one of them. */
export const isOf = (candidates: Candidates, candidateId: string): boolean =>
  'beginning' in candidates
    ? candidateId.startsWith(candidates.beginning)
    : candidates.ids.includes(candidateId);

/** Events that have all of these; and with a delivery that has all that is asked of one. */
export interface EventSearch {
  readonly candidates?: Candidates | undefined;
  readonly testId?: number | undefined;
  readonly status?: string | undefined;
  /** Received at or after (ms). */
  readonly since?: number | undefined;
  /** Received before (ms). */
  readonly until?: number | undefined;
  /** Of a delivery. */
  readonly rule?: string | undefined;
  readonly sink?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** Only events after the one with this id in the list. */
  readonly after?: string | undefined;
  /** Default: 50. */
  readonly limit?: number | undefined;
}

export interface FoundEvents {
  readonly stories: readonly EventStory[];
  /** Where to go on. Null: there are no more. */
  readonly after: string | null;
}

export interface Duplicate {
  readonly receivedAt: number;
  readonly correlationId: string | null;
}

export interface EventStory {
  readonly event: Event;
  readonly configId: string;
  readonly duplicates: number;
  readonly deliveries: readonly Delivery[];
}

export interface EventDetail extends Omit<EventStory, 'duplicates' | 'deliveries'> {
  /** The first 1000, in order of arrival. */
  readonly duplicates: readonly Duplicate[];
  readonly deliveries: readonly DeliveryStory[];
}

/** In a digest, the message and the attempts are the carrier's. */
export interface DeliveryStory extends Delivery {
  /** What was sent last, with secrets masked. Null before the first attempt ended. */
  readonly message: Json | null;
  readonly history: readonly Attempt[];
}

export interface NoticeFilter {
  /** Raised at or after (ms). */
  readonly since?: number;
  /** Only notices after this one in the list, as for events. */
  readonly after?: string;
  /** Default: 100. */
  readonly limit?: number;
}

export interface NoticeStory {
  readonly notice: RaisedNotice;
  readonly configId: string;
  readonly deliveries: readonly Delivery[];
}

export interface NoticeDetail extends Omit<NoticeStory, 'deliveries'> {
  readonly deliveries: readonly DeliveryStory[];
}

export interface DeliveryFilter {
  readonly states: readonly DeliveryState[];
  readonly sink?: string;
  /** Only dead ones of events, with this cause as `deadSince` has it. Not with `newestFirst`. */
  readonly cause?: string;
  /** Created at or after (ms). */
  readonly since?: number;
  /** Instead of oldest first. Leaves out deliveries of notices. */
  readonly newestFirst?: boolean;
  /** Only deliveries after this one in the list. For paging: the last one of the page before. */
  readonly after?: string;
  /** Default: 1000. */
  readonly limit?: number;
}

/**
 * A request that was refused for its content (400, 413, 415, 422). Stored so that people notice a change at the sender.
 */
export interface RejectedRequest {
  readonly receivedAt: number;
  readonly address: string;
  readonly correlationId: string | null;
  readonly status: number;
  /** One line for each fault. */
  readonly faults: readonly string[];
  /** The start of the body. */
  readonly body: string;
}

export interface KeptRequest extends RejectedRequest {
  readonly seq: number;
}

export interface RejectedFilter {
  /** Only requests after the one with this seq in the list, as for events. */
  readonly after?: number;
  /** Default: 100. */
  readonly limit?: number;
}

/** Of refused events: those that have all of these. */
export interface RefusedFilter {
  readonly reason?: RefusedEvents['reason'];
  readonly from?: string;
  /** The last of them came no later (ms). */
  readonly until?: number;
}

export interface Prune {
  readonly before: number;
  readonly limit: number;
  /** Where the step before ended. A round starts without. */
  readonly after?: PruneMark;
}

export interface PruneMark {
  readonly of: 'events' | 'notices';
  readonly at: number;
  readonly seq: number;
}

export interface Pruned {
  /** How many events and notices were deleted. */
  readonly count: number;
  /** Null at the end of a round. */
  readonly after: PruneMark | null;
}

/** What is known about the time, so that nothing is deleted because a clock is wrong. */
export interface SignOfLife {
  /** When the store was last served, by a trusted clock (ms). */
  readonly seenAt: number;
  /** A clock that is far from it: its last time, and for how long it has kept going at a clock's pace. */
  readonly doubt: { readonly seenAt: number; readonly agreedMs: number } | null;
}

/** What a process that serves the store says of itself every few seconds, so that whoever reads the store knows. */
export interface CopyState {
  readonly id: string;
  /** By its clock (ms). */
  readonly saidAt: number;
  /** It was stopped, and did not die. */
  readonly stopped: boolean;
  readonly config: {
    readonly id: string;
    readonly file: string;
    /** When it was loaded (ms). */
    readonly since: number;
    /** Null if the file is in force as it is; see Refusal. */
    readonly refused: {
      readonly since: number;
      readonly problem: string;
      readonly others: number;
    } | null;
    /** The changed keys that take effect at the next start. */
    readonly waiting: readonly string[];
    /** Why nobody is let in on the admin port. */
    readonly closed?: string | null;
  };
  readonly sinks: readonly { readonly name: string; readonly connector: string }[];
}

export interface Waiting {
  readonly eventsToday: number;
  /** When that came which a pending delivery has waited longest for (ms); null without any. */
  readonly oldestPendingAt: number | null;
}

export interface Vitals {
  /** As `lastEventAt` until now. */
  readonly lastEventAt: number | null;
  /** As in `Waiting`. */
  readonly oldestPendingAt: number | null;
  /** When the first of the pending deliveries is due (ms); null without any. */
  readonly firstDueAt: number | null;
  /** What the store takes on its disk. */
  readonly bytes: number;
  /** For how long the oldest transaction in its database has been open (ms); null where it has no such thing. */
  readonly oldestTransactionMs: number | null;
}

export interface SinkCount {
  readonly sink: string;
  /**
   * The sink's stored deliveries, counted when they were planned. If it is not the sum of `states`, some are missing.
   */
  readonly planned: number;
  readonly states: Readonly<Record<DeliveryState, number>>;
}

export interface DayCount {
  /** 0 is the first one. */
  readonly day: number;
  /** Null for events. */
  readonly sink: string | null;
  /** An event's status; or what became of deliveries. */
  readonly what: string;
  /** They were delivered no later than so long after their events came (ms): a power of two. 0 if that is not known. */
  readonly delayMs: number;
  readonly count: number;
}

export interface Tally {
  readonly events: readonly { readonly testId: number; readonly status: Status; readonly count: number }[];
  readonly deliveries: readonly {
    readonly sink: string;
    readonly state: DeliveryState;
    readonly count: number;
  }[];
}

export interface StuckCount {
  readonly sink: string;
  /**
   * The same for all deliveries that one fix may help: the reason of the last outcome, and also rule and action if the
   * tool rejected their message. `missed`, with rule and action, if they were delivered and not to all whom they were
   * for. Empty for held deliveries.
   */
  readonly cause: string;
  readonly count: number;
  /** When the first of them reached that state (ms). */
  readonly firstAt: number;
  /** The reason for one of them, in plain words. */
  readonly reason: string;
}

export interface OpenOptions {
  /** Takes the exclusive right to serve this store. Other processes may still read and write. */
  readonly serve: boolean;
  /** Do not create a missing store. */
  readonly mustExist?: boolean;
  /** Do not bring one of an older version up to date, either: others may serve it. */
  readonly asItIs?: boolean;
  /**
   * Called when somebody removed, replaced or cut short one of the store's files while it was open. From then on nothing is
   * stored. `over`: all was saved that could be, and the process has to end; otherwise that is tried each second.
   */
  readonly damaged?: (error: StoreUnavailable, over: boolean) => void;
}

/** The store cannot be read or written at the moment. `message` says why in plain words. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
