import type { Driver, Home } from './driver.ts';
import { audit, type By } from './operations/audit.ts';
import { apply, discard, lookUp, replay, resend, resentAlready } from './operations/by-hand.ts';
import * as carrying from './operations/carrying-out.ts';
import { claim } from './operations/claiming.ts';
import * as counting from './operations/counting.ts';
import * as deciding from './operations/deciding.ts';
import * as forgetting from './operations/forgetting.ts';
import * as housekeeping from './operations/housekeeping.ts';
import {
  continueSeqs,
  replicaStates,
  type ReplicaState,
  keepReplicaState,
  endTurn,
  leave,
  release,
  renew,
  takeTurn,
} from './operations/leases.ts';
import type { Operation } from './operation.ts';
import * as reading from './operations/reading.ts';
import * as receiving from './operations/receiving.ts';
import * as refusedEvents from './operations/refused/events.ts';
import * as refusedFigures from './operations/refused/figures.ts';
import {
  candidatesMeant,
  candidatesNumbered,
  events,
  matches,
  neighbours,
  search,
} from './operations/searching.ts';
import * as sinks from './operations/sink-health.ts';
import type { RecentCorrelations } from './recent-correlations.ts';
import type { Tallies } from './tallies.ts';

export type { By, Change } from './operations/audit.ts';
export type { Replay, Late, ManualResult } from './operations/by-hand.ts';
export type { LaneHead, AttemptResult, Deferral } from './operations/carrying-out.ts';
export type { Claim } from './operations/claiming.ts';
export type { AskedToWait, SinkCount, DayCount, Tally, StuckCount } from './operations/counting.ts';
export type { Decided, Decider, DueEvent, GivenUp, Lookups } from './operations/deciding.ts';
export type { Forgotten } from './operations/forgetting.ts';
export type { PruneMark, SignOfLife } from './operations/housekeeping.ts';
export type {
  Absence,
  Lease,
  LeaseRequest,
  LeaseState,
  RefusedFile,
  ReplicaState,
} from './operations/leases.ts';
export type {
  EventStory,
  EventDetail,
  DeliveryStory,
  NoticeStory,
  NoticeDetail,
  DeliveryFilter,
  SinkAttempt,
} from './operations/reading.ts';
export type {
  AcceptedArrival,
  Arrival,
  NoticeArrival,
  Acceptance,
  Content,
  KeptRequest,
} from './operations/receiving.ts';
export type { RejectedRequest } from './rows.ts';
export type { Candidates, EventSearch, FoundEvents } from './operations/searching.ts';
export type { PersonPause, SinkPause, SinkFigures } from './operations/sink-health.ts';
export { Damaged, NoRoom, ServedByOlder, StoreUnavailable } from './driver.ts';
export { contentName, keptRejected } from './operations/receiving.ts';
export { inForce } from './operations/sink-health.ts';
export { isFound, meansCandidate, unansweredOf } from './operations/searching.ts';

/** The operations that only read. For SQLite, ThreadReads runs them in a thread of their own, too. */
export const reads = {
  askedToWait: counting.askedToWait,
  attemptsOfSink: reading.attemptsOfSink,
  audit,
  candidatesMeant,
  candidatesNumbered,
  config: housekeeping.config,
  replicaStates,
  areRepeats: receiving.areRepeats,
  counts: counting.counts,
  daily: counting.daily,
  deadSince: counting.deadSince,
  deliveries: reading.deliveries,
  missed: reading.missed,
  stuckNotices: reading.stuckNotices,
  delivery: reading.delivery,
  digestEvents: reading.digestEvents,
  dueEvents: deciding.dueEvents,
  event: reading.event,
  eventCounts: deciding.eventCounts,
  events,
  haveCome: receiving.haveCome,
  haveFollowers: receiving.haveFollowers,
  failingSince: counting.failingSince,
  heldSince: counting.heldSince,
  lanes: carrying.lanes,
  lastEventAt: counting.lastEventAt,
  lastRaised: reading.lastRaised,
  latestConfig: housekeeping.latestConfig,
  newestReceipt: carrying.newestReceipt,
  lookupsOf: reading.lookupsOf,
  matches,
  neighbours,
  nextGiveUp: deciding.nextGiveUp,
  notice: reading.notice,
  notices: reading.notices,
  openTroubles: reading.openTroubles,
  pauses: sinks.pauses,
  refused: refusedFigures.refused,
  resentAlready,
  refusedEvent: refusedEvents.refusedEvent,
  refusedEvents: refusedEvents.refusedEvents,
  personPauses: sinks.personPauses,
  rejectedRequests: receiving.rejectedRequests,
  rejectedSince: counting.rejectedSince,
  retriesAsked: sinks.retriesAsked,
  search,
  signOfLife: housekeeping.signOfLife,
  sinkFigures: sinks.sinkFigures,
  tally: counting.tally,
  threadOf: carrying.threadOf,
  unreadSince: counting.unreadSince,
  uncertainBeside: carrying.uncertainBeside,
  token: housekeeping.token,
  waiting: counting.waiting,
};

const writes = {
  askRetry: sinks.askRetry,
  endPause: sinks.endPause,
  ignoreRefused: refusedEvents.ignoreRefused,
  keepConfig: housekeeping.keepConfig,
  keepPause: sinks.keepPause,
  keepRefused: refusedFigures.keepRefused,
  keepRefusedEvents: refusedEvents.keepRefusedEvents,
  keepRejected: receiving.keepRejected,
  keepSignOfLife: housekeeping.keepSignOfLife,
  keepToken: housekeeping.keepToken,
  pruneRefused: refusedEvents.pruneRefused,
  putAwayRefused: refusedEvents.putAwayRefused,
  pauseByPerson: sinks.pauseByPerson,
  resumeByPerson: sinks.resumeByPerson,
  takePause: sinks.takePause,
  takeRetry: sinks.takeRetry,
};

/** Writes that change what is counted. Their first parameter is the transaction's tallies. */
const countedWrites = {
  apply,
  claim,
  decide: deciding.decide,
  discard,
  lookUp,
  raise: receiving.raise,
  replay,
  resend,
};

const leaseWrites = { endTurn, leave, release, renew, takeTurn };

/** The methods of a store for these operations. `First`: leading parameters that the store fills in. */
export type Calls<Operations, First extends unknown[] = []> = {
  readonly [name in keyof Operations]: Operations[name] extends (
    ...given: [...First, ...infer Given]
  ) => Operation<infer Result>
    ? (...given: Given) => Promise<Result>
    : never;
};

type AnyOperation = (...given: unknown[]) => Operation<unknown>;

/** Makes a method of each operation. `call` runs what `make` makes of the given parameters. */
export function callsOf(
  operations: object,
  call: (make: AnyOperation, given: unknown[], name: string) => Promise<unknown>,
): unknown {
  return Object.fromEntries(
    Object.entries(operations as Record<string, AnyOperation>).map(([name, make]) => [
      name,
      async (...given: unknown[]) => call(make, given, name),
    ]),
  );
}

/** The reading half of a store. */
export type Reads = Calls<typeof reads>;

/** The operations on leases. */
export type LeaseStore = Calls<typeof leaseWrites>;

const keepHomeEveryMs = 60_000;
const batch = 500;
/** Smaller, as each look-up rewrites what was sent for its event. */
const personalBatch = 25;

/**
 * What the connector keeps in a database, in terms of a delivery's life. One test suite checks both backends. Times are
 * parameters (ms), because a store has no clock. A write resolves when its commit is on disk. If the store cannot be written,
 * it rejects with StoreUnavailable, and nothing was stored, unless the message says that this is not known.
 */
export type Store = ReturnType<typeof storeOn>;

/** The store in the database that a driver is connected to. */
export function storeOn(driver: Driver) {
  const { read, write, shared } = driver;
  /**
   * The ids of configs that this process uses or is about to use. They are kept even if no event refers to them yet.
   */
  const savedConfigs = new Set<string>();
  let correlations: RecentCorrelations | null = null;
  let settledIn: Home | null = null;
  let keptHomeAt = 0;

  function* acceptFirst(tallies: Tallies, arrival: receiving.Arrival): Operation<receiving.AcceptedArrival> {
    correlations ??= yield* receiving.loadCorrelations();
    return yield* receiving.accept(tallies, arrival, correlations);
  }

  const written = (operations: object) => callsOf(operations, (make, given) => write(() => make(...given)));

  /** Writes in transactions until one does less than `size`. Returns how much they did in all. */
  async function inSteps(size: number, step: (tallies: Tallies) => Operation<number>): Promise<number> {
    for (let total = 0; ;) {
      const count = await write(step);
      total += count;
      if (count < size) return total;
    }
  }

  return {
    get commits(): number {
      return driver.commits;
    },
    get queued(): number {
      return driver.queued;
    },
    /** Null if only one process may serve the store. */
    leases: shared ? (written(leaseWrites) as LeaseStore) : null,
    ...(callsOf(reads, (make, given) => read(() => make(...given))) as Reads),
    ...(written(writes) as Calls<typeof writes>),
    ...(callsOf(countedWrites, (make, given) => write((tallies) => make(tallies, ...given))) as Calls<
      typeof countedWrites,
      [Tallies]
    >),

    accept: (arrival: receiving.Arrival) =>
      driver.receive((tallies) =>
        correlations ? receiving.accept(tallies, arrival, correlations) : acceptFirst(tallies, arrival),
      ),

    /** `mayWait`: see Driver.write. */
    async record(results: readonly carrying.AttemptResult[], mayWait = false): Promise<void> {
      await write((tallies) => carrying.record(tallies, results), mayWait);
    },

    defer: (items: readonly carrying.Deferral[], now: number): Promise<void> =>
      write((tallies) => carrying.defer(tallies, items, now)),

    /** Rescues all, step by step. A digest counts once for a step, so only a step with nothing is the last. */
    rescue: (now: number, settlingMs: number, of?: carrying.RescueQuery): Promise<number> =>
      inSteps(1, (tallies) => carrying.rescue(tallies, { now, settlingMs, of }, batch)),

    /** Pulls in all, step by step. Returns how many became due sooner. */
    async pullIn(now: number, aheadMs: number): Promise<number> {
      let total = 0;
      for (let after: number | null = 0; after !== null;) {
        const from: number = after;
        const step = await write(() => carrying.pullIn({ now, aheadMs }, from, batch));
        total += step.count;
        after = step.after;
      }
      return total;
    },

    /** Erases a candidate: their events, refused requests that name them, and their mentions in texts about others. */
    async forget(asked: forgetting.Forgetting, now: number, by: By): Promise<forgetting.Forgotten> {
      const forgotten = await write((tallies) => forgetting.forget(tallies, asked, now, by));
      if (!forgotten.done) return forgotten;
      const { mentions } = asked;
      // This reads all texts, which must not hold up writes.
      const found = await read(() => forgetting.findMentions(mentions));
      const noted = forgotten.events > 0;
      const others = await write(() => forgetting.eraseMentions(found, mentions, noted, now, by));
      return { ...forgotten, ...others };
    },

    requestsNaming: (mentions: forgetting.Forgetting['mentions']) =>
      read(() => forgetting.requestsNaming(mentions)),

    /** Erases all, step by step. Returns for how many look-ups. */
    forgetPersonal: (now: number): Promise<number> =>
      inSteps(personalBatch, () => forgetting.forgetPersonal(now, personalBatch)),

    async saveConfig(config: housekeeping.SavedConfig): Promise<void> {
      await write(() => housekeeping.saveConfig(config));
      savedConfigs.add(config.id);
    },

    /** Makes a step of retention, and after the last one ends the round. */
    async prune(query: housekeeping.Prune): Promise<housekeeping.PruneResult> {
      const pruned = await write((tallies) => housekeeping.prune(tallies, query));
      if (pruned.after !== null) return pruned;
      await write(() => housekeeping.endRound(query.before, savedConfigs, shared));
      await driver.tidy();
      return pruned;
    },

    async settleIn(now: number): Promise<number | null> {
      const { home } = driver;
      // The first event may come before the first renewal.
      if (shared) await write(continueSeqs);
      if (home === null) return null;
      const count = await write(() => housekeeping.settleIn(home, now));
      await home.kept();
      settledIn = home;
      keptHomeAt = now;
      return count;
    },

    /** Now and then it also keeps where the store is; see keepHome. */
    async keepReplicaState(state: ReplicaState): Promise<void> {
      const home = Math.abs(state.saidAt - keptHomeAt) < keepHomeEveryMs ? null : settledIn;
      await write(function* keep() {
        yield* keepReplicaState(state, shared);
        if (home) yield* housekeeping.keepHome(home.next);
      });
      if (home === null) return;
      await home.kept();
      keptHomeAt = state.saidAt;
    },

    /** Resolves if the store can take events and has room. Otherwise rejects with StoreUnavailable. */
    async probe(): Promise<void> {
      await driver.receive(housekeeping.writeProbe);
      await driver.seeRoom();
    },

    /** With `bytes` and `oldestTransactionMs` of the driver. */
    vitals: async (now: number) => ({
      ...(await read(() => counting.vitals(now))),
      bytes: await driver.bytes(),
      oldestTransactionMs: await driver.oldestTransactionMs(),
    }),

    now: driver.now,
    /** See Driver. */
    rescued: driver.rescued,
    traces: driver.traces,
    async close() {
      const home = settledIn;
      // If the store cannot be written, what was kept before stays.
      if (home) await write(() => housekeeping.keepHome(home.next)).then(home.kept, () => {});
      await driver.close();
    },
  };
}
