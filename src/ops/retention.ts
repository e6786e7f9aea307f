import type { Clock } from '../support/clock.ts';
import type { PruneMark, SignOfLife, Store } from '../store/store.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The first requests after a start take precedence. */
const firstRoundAfterMs = 60_000;
const betweenRoundsMs = 10 * 60_000;
/** So often a replica looks whether the one that does this has ended. */
const notMineMs = 60_000;
/** A request waits no longer than one step takes. */
const eventsPerStep = 25;
const betweenStepsMs = 10;
/** While events arrive. Deletes faster than they arrive in the long run. */
const betweenStepsWhenBusyMs = 100;
const busyForMs = 1000;
/** Refused events are kept for a person so long at most. */
const refusedMs = 30 * dayMs;

export interface Retention {
  readonly store: Store;
  readonly clock: Clock;
  /** Whether this replica is the one that deletes. */
  readonly mine: () => boolean;
  readonly retentionMs: () => number;
  /** Called after each round that deleted any. */
  readonly pruned: (events: number) => void;
  /** Called when the clock is doubted. `aheadMs`: how far it is from the store's last sign of life. */
  readonly doubted: (aheadMs: number) => void;
  readonly failed: (error: unknown) => void;
}

export interface RunningRetention {
  readonly stop: () => void;
  /** Whether the clock may be wrong by days. */
  readonly isClockDoubted: () => boolean;
}

/** Deletes events older than the retention, in small steps, and personal facts after the `keep` of their look-ups. */
export function keepRetention(parts: Retention): RunningRetention {
  const { clock, pruned, failed } = parts;
  const believed = new BelievedClock(parts);
  let round: Round | null = null;
  let stopped = false;
  let cancel = () => {};
  // At once, before an event can come that says what this clock says.
  void run(() => believed.now().then(() => firstRoundAfterMs));

  async function run(step: () => Promise<number>): Promise<void> {
    const delayMs = await step().catch((error: unknown) => {
      // At a stop the store may close during the last step.
      if (!stopped) failed(error);
      endRound();
      return betweenRoundsMs;
    });
    if (!stopped) cancel = clock.after(delayMs, () => void run(next));
  }

  async function next(): Promise<number> {
    if (!parts.mine()) {
      endRound();
      return notMineMs;
    }
    const now = round === null ? await believed.now() : null;
    if (now !== null) await parts.store.forgetPersonal(now);
    if (now !== null) await parts.store.pruneRefused(now - Math.min(parts.retentionMs(), refusedMs));
    if (now !== null) round = { before: now - parts.retentionMs(), after: null, count: 0 };
    const current = round;
    if (current === null) return betweenRoundsMs;
    const { before, after } = current;
    const step = await parts.store.prune({ before, limit: eventsPerStep, ...(after && { after }) });
    current.count += step.count;
    current.after = step.after;
    if (step.after === null) {
      endRound();
      return betweenRoundsMs;
    }
    const lastEventAt = await parts.store.lastEventAt();
    const isBusy = lastEventAt !== null && Math.abs(clock.now() - lastEventAt) < busyForMs;
    return isBusy ? betweenStepsWhenBusyMs : betweenStepsMs;
  }

  function endRound(): void {
    if (round !== null && round.count > 0) pruned(round.count);
    round = null;
  }

  function stop(): void {
    stopped = true;
    cancel();
    endRound();
  }
  return { stop, isClockDoubted: () => believed.isDoubted };
}

/** The time of the clock (ms) when the store was last in use, right or wrong. */
export async function lastSeenAt(store: Store): Promise<number> {
  const sign = await store.signOfLife();
  const times = [sign?.seenAt, sign?.doubt?.seenAt, await store.lastEventAt()];
  return Math.max(...times.map((time) => time ?? -Infinity));
}

interface Round {
  readonly before: number;
  after: PruneMark | null;
  count: number;
}

/**
 * The time to delete by. A clock that is more than a day away from the store's last sign of life is not believed until
 * it went like one for 24 hours of uptime, over restarts too: one start with a wrong clock would delete everything.
 */
class BelievedClock {
  readonly #parts: Retention;
  #sign: SignOfLife | null = null;
  #lookedAt: number;

  constructor(parts: Retention) {
    this.#parts = parts;
    this.#lookedAt = parts.clock.elapsed();
  }

  /** Whether the clock is doubted, also where it was set since the last step. */
  get isDoubted(): boolean {
    const { clock } = this.#parts;
    const passedMs = clock.elapsed() - this.#lookedAt;
    return this.#sign === null || judge(this.#sign, clock.now(), passedMs).doubt !== null;
  }

  /** The time to delete by (ms); null while the clock is doubted. Stores a sign of life. */
  async now(): Promise<number | null> {
    const { store, clock, doubted } = this.#parts;
    const now = clock.now();
    const elapsed = clock.elapsed();
    const before = this.#sign ?? (await firstSign(store, now));
    const sign = judge(before, now, elapsed - this.#lookedAt);
    await store.keepSignOfLife(sign);
    this.#sign = sign;
    this.#lookedAt = elapsed;
    if (sign.doubt?.agreedMs === 0) doubted(now - sign.seenAt);
    return sign.doubt === null ? now : null;
  }
}

/**
 * The sign of life that the last process stored. Where there is none, as before an upgrade, only the newest event tells of a
 * time, which may be that of the same wrong clock.
 */
async function firstSign(store: Store, now: number): Promise<SignOfLife> {
  const kept = await store.signOfLife();
  const lastEventAt = await store.lastEventAt();
  if (lastEventAt === null) return kept ?? { seenAt: now, doubt: null };
  if (kept !== null && kept.seenAt !== lastEventAt) return kept;
  return { seenAt: lastEventAt, doubt: kept?.doubt ?? { seenAt: now, agreedMs: 0 } };
}

function judge({ seenAt, doubt }: SignOfLife, now: number, passedMs: number): SignOfLife {
  const passed = Math.round(passedMs);
  const believed = { seenAt: now, doubt: null };
  const isNear = (time: number) => Math.abs(now - time) <= dayMs;
  const isAsDoubted = doubt !== null && isNear(doubt.seenAt + passed);
  if (isNear(seenAt + passed) && !isAsDoubted) return believed;
  const agreedMs = isAsDoubted ? doubt.agreedMs + passed : 0;
  return agreedMs >= dayMs ? believed : { seenAt: seenAt + passed, doubt: { seenAt: now, agreedMs } };
}
