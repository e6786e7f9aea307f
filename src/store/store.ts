import type {
  Attempt,
  Delivery,
  DeliveryState,
  Event,
  Json,
  PlannedDelivery,
  RaisedNotice,
  Receipt,
} from '../model.ts';

/**
 * What the connector needs of a database, in lifecycle words, so that a second backend can follow; one suite holds any.
 * Times are parameters (ms): a store has no clock. Every write resolves only after its commit is on disk.
 * A store that cannot write throws StoreUnavailable; nothing of that call was kept.
 */
export interface Store {
  /**
   * Keeps the event with its deliveries, or counts it as a duplicate of an earlier one. Two levels: the same
   * correlation id with the same content (candidateId, testId, status) is a duplicate whenever it comes, also where
   * that correlation id was itself seen on a duplicate; the same content under another correlation id, or none, is one
   * until `windowMs` after the last event of that content. The event, its place in the idempotency index and its
   * deliveries land in one transaction.
   */
  accept(arrival: Arrival): Promise<Acceptance>;
  /**
   * Keeps a notice with its deliveries, unless one with the same cause was raised within `quietMs` before it. Resolves
   * to whether it was kept. Its deliveries are carried out like an event's, but never in a digest, whatever their group.
   */
  raise(arrival: NoticeArrival): Promise<boolean>;
  /** Keeps a request that was refused for its content; only the newest `keep` stay. */
  keepRejected(request: RejectedRequest, keep: number): Promise<void>;

  /**
   * The lanes with something pending, each with its earliest due time and sink. Costs the same however many
   * deliveries are stored. A digest that was begun counts by the delivery that it goes out under.
   */
  lanes(): Promise<LaneHead[]>;
  /**
   * Takes up to `limit` pending deliveries of a lane that are due into `sending`, earliest due first, then in order of
   * acceptance: the intent to send is on disk when this resolves. Adds one to `attempts`, sets `firstAttemptAt` once.
   *
   * A delivery with a group takes all others of its sink, lane and group that are due along, up to `groupMax` in all.
   * From then on these are one digest, under the id of the first: it is claimed as one, always the same, and whatever
   * is done to one of its deliveries is done to all.
   */
  claim(query: ClaimQuery): Promise<Claimed[]>;
  /** Records how attempts ended. A delivery that is no longer in this attempt (by its number) is left as it is. */
  record(results: readonly AttemptResult[]): Promise<void>;
  /**
   * Deliveries left in `sending` by a process that is gone become pending and uncertain, with an unknown attempt
   * recorded. They are due when `settlingMs` have passed since that attempt began: the tool may still be at work on it.
   * To be called once the caller is the only one to serve this store. Returns how many.
   */
  rescue(now: number, settlingMs: number): Promise<number>;
  /**
   * Takes back claims that nothing was done about: pending again and due at `until`, the attempt not counted; a digest
   * that was never attempted is none any more. The time until then is not counted for giving up.
   */
  defer(items: readonly Deferral[], now: number): Promise<void>;
  /** Keeps that a sink is paused, in place of what was kept of it before. */
  keepPause(pause: SinkPause): Promise<void>;
  /** Forgets a sink's pause, if there is one. */
  endPause(sink: string): Promise<void>;
  pauses(): Promise<SinkPause[]>;
  /** The receipt of the earliest delivered message with this thread key on this sink. */
  threadOf(sink: string, thread: string): Promise<Receipt | null>;
  /** The receipt of the newest delivered message in this lane, if it is among the store's newest deliveries. */
  newestReceipt(lane: string): Promise<Receipt | null>;

  /**
   * Sends again what is dead or held: pending and due at `now` as newly planned, giving up counted from then. Keeps the
   * attempts and `uncertain`; `progress` too, unless the connector is another one.
   * What went out in a digest does so again, and nothing else joins one: `planned.group` is not looked at.
   */
  replay(items: readonly Replay[], now: number): Promise<ManualResult[]>;
  /** Gives up on purpose what is pending, dead or held. A digest that was not begun yet only loses the delivery named. */
  discard(deliveryIds: readonly string[], now: number): Promise<ManualResult[]>;

  /** Newest first. */
  events(filter: EventFilter): Promise<EventStory[]>;
  event(id: string): Promise<EventDetail | null>;
  /** Newest first. */
  notices(filter: NoticeFilter): Promise<NoticeStory[]>;
  notice(id: string): Promise<NoticeDetail | null>;
  /** When the newest notice of each cause was raised (ms). */
  lastRaised(): Promise<Map<string, number>>;
  delivery(id: string): Promise<Delivery | null>;
  /** Deliveries in these states, oldest first, those of notices last. */
  deliveries(filter: DeliveryFilter): Promise<Delivery[]>;
  rejectedRequests(limit: number): Promise<RejectedRequest[]>;
  /** How many stored deliveries each sink has, in each state and as planned. Kept up to date, so cheap to read. */
  counts(): Promise<SinkCount[]>;
  /**
   * What went dead after `time`, notices apart, by sink and cause: also where no config has the sink any more. Costs as
   * much as that is, however much is stored.
   */
  deadSince(time: number): Promise<StuckCount[]>;
  /** The same for what was held, by sink: its cause is always that nobody can tell. */
  heldSince(time: number): Promise<StuckCount[]>;
  /** When the newest event came (ms), null if none did. */
  lastEventAt(): Promise<number | null>;

  /**
   * Keeps the part of a config that deliveries are carried out by; keeping it again only renews `savedAt`. To be
   * called before the first `accept` or `replay` under it, which fail otherwise.
   */
  saveConfig(config: SavedConfig): Promise<void>;
  config(id: string): Promise<Json | null>;
  /** The one that was saved last, which is the one in force where a connector serves. */
  latestConfig(): Promise<SavedConfig | null>;

  /**
   * Looks at the next `limit` events or notices, oldest first, and deletes those whose deliveries were all delivered or
   * discarded before `before`, with all that belongs to them; one without deliveries counts from when it came. A digest
   * that goes out under one of them is kept under the last of its others. At the end of a round, configs saved before
   * `before` that nothing uses any more go too, except for those that this process saved.
   */
  prune(query: Prune): Promise<Pruned>;
  /** Null as long as none was kept and no event came before there was one. */
  signOfLife(): Promise<SignOfLife | null>;
  keepSignOfLife(sign: SignOfLife): Promise<void>;
  /** Resolves when a write can be made; throws StoreUnavailable with the reason otherwise. */
  probe(): Promise<void>;
  /** Finishes the writes under way. Idempotent. */
  close(): Promise<void>;
}

export interface SavedConfig {
  readonly id: string;
  readonly source: Json;
  readonly savedAt: number;
}

export interface Arrival {
  /** The id that the event gets unless it is a duplicate. */
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
  /** The first one's id where `duplicate`. */
  readonly eventId: string;
  readonly duplicate: boolean;
  /**
   * The event, new, came under a correlation id that another content had used lately (among the last thousands of
   * arrivals): a sign of a fault at the sender.
   */
  readonly correlationReused: boolean;
}

export interface ClaimQuery {
  readonly lane: string;
  readonly now: number;
  readonly limit: number;
  /** The newest that were never attempted come first, and alone: to try something else than what has failed before. */
  readonly untriedFirst?: boolean;
}

export interface LaneHead {
  readonly lane: string;
  readonly sink: string;
  readonly dueAt: number;
}

export interface Claimed {
  /** In a digest: the delivery that its message goes out under. */
  readonly delivery: Delivery;
  /**
   * What the message tells of, in order of acceptance: one event, or all events of a digest, whose deliveries share the
   * outcome; none where it is a notice.
   */
  readonly events: readonly Event[];
  readonly notice: RaisedNotice | null;
}

/** How an attempt ended and what becomes of its delivery. */
export interface AttemptResult {
  readonly deliveryId: string;
  readonly attempt: Attempt;
  readonly state: Exclude<DeliveryState, 'sending' | 'discarded'>;
  /** When this is put down: what is final is so from then on (ms). */
  readonly settledAt: number;
  /** When to try again; only with `pending`. */
  readonly dueAt: number | null;
  readonly uncertain: boolean;
  readonly progress: Json | null;
  readonly lastError: string | null;
  /** What was sent, secrets masked. Kept when not null. */
  readonly message: Json | null;
  readonly thread: string | null;
}

export interface Deferral {
  readonly deliveryId: string;
  readonly until: number;
}

/** A sink that fails for everyone, and so is only probed. */
export interface SinkPause {
  readonly sink: string;
  /** When it was paused (ms). */
  readonly since: number;
  /** When it is to be probed next (ms). */
  readonly probeAt: number;
  /** How often the time until the next probe was set. */
  readonly probes: number;
}

export interface Replay {
  readonly deliveryId: string;
  /** Where today's config has the action. */
  readonly configId: string;
  readonly planned: PlannedDelivery;
}

export type ManualResult =
  | { readonly deliveryId: string; readonly done: true }
  | {
      readonly deliveryId: string;
      readonly done: false;
      /** null: no such delivery */ readonly state: DeliveryState | null;
    };

export interface EventFilter {
  readonly since?: number;
  readonly status?: string;
  readonly candidateId?: string;
  /** Only those that come after this event in the list: the last one of the page before. */
  readonly after?: string;
  /** 100 unless told. */
  readonly limit?: number;
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

/** In a digest: with the message and the attempts of the delivery that it goes out under. */
export interface DeliveryStory extends Delivery {
  /** What was sent last, secrets masked; null before the first attempt ended. */
  readonly message: Json | null;
  readonly history: readonly Attempt[];
}

export interface NoticeFilter {
  /** Raised at or after (ms). */
  readonly since?: number;
  /** 100 unless told. */
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
  /** Created at or after (ms). */
  readonly since?: number;
  /** Instead of oldest first; only those of events then. */
  readonly newestFirst?: boolean;
  /** Only those after this delivery in the list: the last one of the page before. */
  readonly after?: string;
  /** 1000 unless told. */
  readonly limit?: number;
}

/** A request refused for its content (400, 413, 415, 422), kept so that a change at the sender is seen. */
export interface RejectedRequest {
  readonly receivedAt: number;
  readonly address: string;
  readonly correlationId: string | null;
  readonly status: number;
  /** One line for each fault. */
  readonly faults: readonly string[];
  /** The start of the body, as text. */
  readonly body: string;
}

export interface Prune {
  readonly before: number;
  readonly limit: number;
  /** Where the step before left off; a round begins without. */
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
  /** Null: all that is old was looked at. */
  readonly after: PruneMark | null;
}

/** What is known of the time, so that a clock that is wrong deletes nothing. */
export interface SignOfLife {
  /** When the store was last served, by a clock that was believed (ms). */
  readonly seenAt: number;
  /** What a clock says that is far from it: when last, and for how long it has gone like a clock while it was looked at. */
  readonly doubt: { readonly seenAt: number; readonly agreedMs: number } | null;
}

export interface SinkCount {
  readonly sink: string;
  /** The sink's stored deliveries as counted when they were planned: the sum of `states`, or something got lost. */
  readonly planned: number;
  readonly states: Readonly<Record<DeliveryState, number>>;
}

export interface StuckCount {
  readonly sink: string;
  /**
   * The same for all that one remedy may help: the last outcome's reason, with the rule and action where the tool
   * refused what they send; empty for what was held.
   */
  readonly cause: string;
  readonly count: number;
  /** When the first of them got there (ms). */
  readonly firstAt: number;
  /** Why, for one of them, in plain words. */
  readonly reason: string;
}

export interface OpenOptions {
  /** Takes the right to be the only process that serves this store. Others may read and write without it. */
  readonly serve: boolean;
  /** Refuses to make a store where there is none. */
  readonly mustExist?: boolean;
  /** Told of what somebody did to the store while it was open, and it got over. */
  readonly warn?: (message: string) => void;
}

/** The store cannot be written or read just now. `message` says why in plain words. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
