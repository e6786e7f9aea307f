import { audit } from './operations/audit.ts';
import { apply, discard, replay, resend } from './operations/by-hand.ts';
import * as carrying from './operations/carrying-out.ts';
import { claim } from './operations/claiming.ts';
import { eraseMentions, findMentions, forget } from './operations/forgetting.ts';
import * as housekeeping from './operations/housekeeping.ts';
import { configsOfCopies, leaveLeases, releaseLease, renewLeases } from './operations/leases.ts';
import * as reading from './operations/reading.ts';
import type { Operation } from './operations/operation.ts';
import { candidatesMeant, search } from './operations/searching.ts';
import * as refusing from './operations/refusing.ts';
import * as sinks from './operations/sinks.ts';
import * as status from './operations/status.ts';
import { accept, keepRejected, loadCorrelations, raise } from './operations/receiving.ts';
import type { RecentCorrelations } from './recent-correlations.ts';
import type { Acceptance, Arrival, LeaseStore, Store } from './store.ts';
import type { Tallies } from './tallies.ts';

/** Where a store is, of what a copy of it has another one. */
export interface Home {
  /** Whether it is where it was when this was kept. */
  readonly isAt: (place: string) => boolean;
  /** To be kept. */
  readonly next: () => string;
  /** Called when it is. */
  readonly kept: () => void;
}

/** What runs the store's operations on a database. */
export interface Driver {
  /** Transactions committed by this process. Fewer than writes, which share transactions. */
  readonly commits: number;
  /** Writes that wait for their commit. */
  readonly queued: number;
  /** Whether several processes may serve the store at the same time. */
  readonly shared: boolean;
  /**
   * Runs an operation in a transaction, which others may share, and resolves after its commit is on disk. An operation
   * may run again after a failed transaction, so it changes only the store.
   */
  readonly write: <T>(work: (tallies: Tallies) => Operation<T>) => Promise<T>;
  /** Runs an operation that only reads. */
  readonly read: <T>(work: () => Operation<T>) => Promise<T>;
  /** Null where something else notices that the store was restored. */
  readonly home: Home | null;
  /** What the store takes on its disk. */
  bytes(): Promise<number>;
  /** See Vitals. */
  oldestTransactionMs(): Promise<number | null>;
  /** See Store.traces. */
  traces(texts: readonly string[], rewrite: boolean): ReturnType<Store['traces']>;
  /** Lets go of what was deleted and is still in a file; now and then. */
  tidy(): Promise<void>;
  /** Finishes the current writes. Idempotent. */
  close(): Promise<void>;
}

const rescueBatch = 500;
const pullInBatch = 500;

/** The store in the database that a driver is connected to. */
export function storeOn(driver: Driver): Store {
  const { read, write } = driver;
  /** Configs that this process uses or is about to use. They are kept even if no event refers to them yet. */
  const savedConfigs = new Set<string>();
  let correlations: RecentCorrelations | null = null;

  function* acceptFirst(tallies: Tallies, arrival: Arrival): Operation<Acceptance> {
    correlations ??= yield* loadCorrelations();
    return yield* accept(tallies, arrival, correlations);
  }

  function* pruneConfigs(before: number): Operation<void> {
    const ofCopies = driver.shared ? yield* configsOfCopies() : [];
    yield* housekeeping.pruneConfigs(before, [...savedConfigs, ...ofCopies]);
  }

  return {
    get commits() {
      return driver.commits;
    },
    get queued() {
      return driver.queued;
    },
    leases: driver.shared ? leasesOn(driver) : null,

    accept: (arrival) =>
      write((tallies) =>
        correlations ? accept(tallies, arrival, correlations) : acceptFirst(tallies, arrival),
      ),
    raise: (arrival) => write((tallies) => raise(tallies, arrival)),
    keepRejected: (request, keep) => write(() => keepRejected(request, keep)),
    keepRefused: (refused) => write(() => refusing.keepRefused(refused)),

    lanes: (from) => read(() => (from ? carrying.lanesFrom(from) : carrying.lanes())),
    claim: (query) => write((tallies) => claim(tallies, query)),
    record: (results) => write((tallies) => carrying.record(tallies, results)),
    async rescue(now, settlingMs, of) {
      let total = 0;
      for (;;) {
        const count = await write((tallies) =>
          carrying.rescue(tallies, { now, settlingMs, of: of ?? null }, rescueBatch),
        );
        if (count === 0) return total;
        total += count;
      }
    },
    defer: (items, now) => write((tallies) => carrying.defer(tallies, items, now)),
    async pullIn(now, aheadMs) {
      let total = 0;
      for (let after: number | null = 0; after !== null;) {
        const from: number = after;
        const step = await write(() => carrying.pullIn({ now, aheadMs }, from, pullInBatch));
        total += step.count;
        after = step.after;
      }
      return total;
    },
    async keepPause(pause) {
      await write(() => carrying.keepPause(pause));
    },
    async endPause(sink) {
      await write(() => carrying.endPause(sink));
    },
    pauses: () => read(carrying.pauses),
    sinkFigures: (now) => read(() => sinks.sinkFigures(now)),
    async forgetFailures(sink) {
      await write(() => sinks.forgetFailures(sink));
    },
    async askRetry(sink, now) {
      await write(() => sinks.askRetry(sink, now));
    },
    retriesAsked: () => read(sinks.retriesAsked),
    takeRetry: (sink, now, settlingMs) => write(() => sinks.takeRetry(sink, now, settlingMs)),
    threadOf: (sink, thread) => read(() => carrying.threadOf(sink, thread)),
    newestReceipt: (lane) => read(() => carrying.newestReceipt(lane)),

    replay: (items, now, by) => write((tallies) => replay(tallies, items, now, by)),
    discard: (deliveryIds, now, by) => write((tallies) => discard(tallies, deliveryIds, now, by)),
    resend: (items, now, by) => write((tallies) => resend(tallies, items, now, by)),
    apply: (items, now, by) => write((tallies) => apply(tallies, items, now, by)),
    async forget(forgetting, now, by) {
      const forgotten = await write((tallies) => forget(tallies, forgetting, now, by));
      if (!forgotten.done) return forgotten;
      const { mentions } = forgetting;
      // Reads all texts, which must not hold up those who write.
      const found = await read(() => findMentions(mentions));
      const noted = forgotten.events > 0;
      const rejected = await write(() => eraseMentions(found, mentions, noted, now, by));
      return { ...forgotten, rejected };
    },
    traces: (texts, rewrite) => driver.traces(texts, rewrite),
    audit: (filter) => read(() => audit(filter)),
    ignoreRefused: (which, now, by) => write(() => refusing.ignoreRefused(which, now, by)),

    events: (filter) => read(() => reading.events(filter)),
    search: (asked) => read(() => search(asked)),
    candidatesMeant: (text, orBegins) => read(() => candidatesMeant(text, orBegins)),
    event: (id) => read(() => reading.event(id)),
    notices: (filter) => read(() => reading.notices(filter)),
    notice: (id) => read(() => reading.notice(id)),
    openTroubles: (alerts) => read(() => reading.openTroubles(alerts)),
    lastRaised: () => read(reading.lastRaised),
    delivery: (id) => read(() => reading.delivery(id)),
    deliveries: (filter) => read(() => reading.deliveries(filter)),
    rejectedRequests: (filter) => read(() => reading.rejectedRequests(filter)),
    refused: () => read(refusing.refused),
    counts: () => read(reading.counts),
    deadSince: (time, missedSince = time) => read(() => reading.deadSince(time, missedSince)),
    heldSince: (time) => read(() => reading.heldSince(time)),
    tally: (from, to) => read(() => reading.tally(from, to)),
    daily: (from, to) => read(() => reading.daily(from, to)),
    lastEventAt: (until) => read(() => reading.lastEventAt(until)),

    async saveConfig(config) {
      await write(() => housekeeping.saveConfig(config));
      savedConfigs.add(config.id);
    },
    config: (id) => read(() => housekeeping.configSource(id)),
    latestConfig: () => read(housekeeping.latestConfig),

    async prune(query) {
      const pruned = await write((tallies) => housekeeping.pruneOld(tallies, query));
      if (pruned.after !== null) return pruned;
      await write(() => pruneConfigs(query.before));
      await write(() => housekeeping.pruneAudit(query.before));
      await write(() => housekeeping.pruneHours(query.before));
      await driver.tidy();
      return pruned;
    },
    async settleIn(now) {
      const { home } = driver;
      if (home === null) return null;
      const count = await write(() => housekeeping.settleIn(home, now));
      home.kept();
      return count;
    },
    signOfLife: () => read(housekeeping.signOfLife),
    async keepSignOfLife(sign) {
      await write(() => housekeeping.keepSignOfLife(sign));
    },
    async keepCopyState(state) {
      await write(() => status.keepCopyState(state, driver.shared));
    },
    copyStates: () => read(status.copyStates),
    waiting: (today) => read(() => status.waiting(today)),
    vitals: async (now) => ({
      ...(await read(() => status.vitals(now))),
      bytes: await driver.bytes(),
      oldestTransactionMs: await driver.oldestTransactionMs(),
    }),
    token: (id) => read(() => housekeeping.token(id)),
    async keepToken(token) {
      await write(() => housekeeping.keepToken(token));
    },
    async probe() {
      await write(housekeeping.writeProbe);
    },
    close: () => driver.close(),
  };
}

function leasesOn({ write }: Driver): LeaseStore {
  return {
    renew: (asked) => write(() => renewLeases(asked)),
    release: (lease) => write(() => releaseLease(lease)),
    leave: (copy) => write(() => leaveLeases(copy)),
  };
}
