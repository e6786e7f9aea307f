import { type DeliveryState, lookupOf } from '../model.ts';
import type { Failure, Outcome } from '../model/outcomes.ts';
import { addTo } from '../support/lists.ts';

/** A count of a sink's deliveries: those in a state, or `planned`, all that were planned. The two can be compared. */
export type CountedState = DeliveryState | 'planned';

type HourChange = [hour: number, sink: string, what: string, delayMs: number, change: number];

/** A sink's attempts in one transaction. */
interface AttemptFigures {
  /** When the last one ended (ms). */
  at: number;
  attempts: number;
  failed: number;
  succeededAt: number | null;
  /** Since the last success. */
  failures: number;
  firstFailedAt: number | null;
  lastFailedAt: number | null;
  askedUntil: number | null;
  because: Failure | null;
}

const hourMs = 3_600_000;

/** A tool that asks to wait for so long, as until tomorrow, is hardly called until then. What asks for less is called again first. */
export const longWaitMs = 15 * 60_000;

/**
 * The changes of one transaction to the stored counts. They are written once, at its end, and not for every delivery.
 */
export class Tallies {
  readonly #counts = new Map<string, Map<CountedState, number>>();
  readonly #uses = new Map<string, number>();
  /** By sink, which has few. */
  readonly #hours = new Map<string, HourChange[]>();
  readonly #tried = new Map<string, AttemptFigures>();

  planned(sink: string, state: DeliveryState, count = 1): void {
    this.#count(sink, 'planned', count);
    this.#count(sink, state, count);
  }

  moved(sink: string, from: DeliveryState, to: DeliveryState, count = 1): void {
    this.#count(sink, from, -count);
    this.#count(sink, to, count);
  }

  /** Counts an event. */
  came(status: string, at: number): void {
    this.#inHour(at, '', status, 0, 1);
  }

  /** Counts ended deliveries. `delayMs`: since the event came; null if it is not known, or nothing was delivered. */
  ended(sink: string, state: DeliveryState, at: number, delayMs: number | null, count: number): void {
    const upTo = delayMs === null ? 0 : 2 ** Math.ceil(Math.log2(Math.max(1, delayMs)));
    this.#inHour(at, sink, state, upTo, count);
  }

  /**
   * Counts an attempt that called the sink. A rejection is a failed attempt, but no failure of the sink: it needs a person as a
   * dead delivery. That of a look-up does not, so it is one, and so is an answer of which something could not be read.
   */
  tried(sink: string, at: number, outcome: Outcome): void {
    const tried = this.#tried.getOrInsertComputed(sink, newFigures);
    tried.attempts += 1;
    tried.at = Math.max(tried.at, at);
    const isLookup = lookupOf(sink) !== null;
    const failure = failureOf(outcome, isLookup);
    if (failure === null) {
      tried.succeededAt = Math.max(tried.succeededAt ?? at, at);
      if (tried.because !== null) Object.assign(tried, noFailure);
    } else {
      tried.failed += 1;
      // In one call, a success says more than a failure.
      if (at <= (tried.succeededAt ?? -Infinity)) return;
      tried.because = failure;
      if (outcome.outcome === 'rejected' && !isLookup) return;
      tried.failures += 1;
      tried.firstFailedAt ??= at;
      tried.lastFailedAt = at;
      const askedMs = outcome.outcome === 'retry' ? (outcome.retryAfterMs ?? 0) : 0;
      if (askedMs >= longWaitMs) tried.askedUntil = at + askedMs;
    }
  }

  used(configId: string, count = 1): void {
    addTo(this.#uses, configId, count);
  }

  /** Returns every change, in a fixed order, and clears them. */
  drain() {
    const counts = [...this.#counts].flatMap(([sink, states]) =>
      Array.from(states, ([state, change]) => [sink, state, change] as const),
    );
    const changed = {
      counts: counts.filter(([, , change]) => change !== 0).toSorted(byNames),
      uses: [...this.#uses].filter(([, change]) => change !== 0).toSorted(byNames),
      hours: [...this.#hours.values()].flat().toSorted(byHour),
      tried: [...this.#tried].toSorted(byNames),
    };
    for (const map of [this.#counts, this.#uses, this.#hours, this.#tried]) map.clear();
    return changed;
  }

  #inHour(at: number, sink: string, what: string, delayMs: number, count: number): void {
    const hour = Math.floor(at / hourMs);
    const ofSink = this.#hours.getOrInsertComputed(sink, newList);
    for (const known of ofSink)
      if (known[0] === hour && known[2] === what && known[3] === delayMs) {
        known[4] += count;
        return;
      }
    ofSink.push([hour, sink, what, delayMs, count]);
  }

  #count(sink: string, state: CountedState, change: number): void {
    const states = this.#counts.getOrInsertComputed(sink, newCounts);
    addTo(states, state, change);
  }
}

/** Why an attempt failed; null where it worked. */
function failureOf(outcome: Outcome, isLookup: boolean): Failure | null {
  if (outcome.outcome !== 'delivered') return { reason: outcome.reason, detail: outcome.detail };
  return isLookup && outcome.note !== undefined ? { reason: 'invalid', detail: outcome.note } : null;
}

const noFailure = { failures: 0, firstFailedAt: null, lastFailedAt: null, askedUntil: null, because: null };
const untried: AttemptFigures = {
  at: -Infinity,
  attempts: 0,
  failed: 0,
  succeededAt: null,
  ...noFailure,
};

const newFigures = (): AttemptFigures => ({ ...untried });
const newCounts = () => new Map<CountedState, number>();
const newList = (): HourChange[] => [];

function byHour(a: HourChange, b: HourChange): number {
  return a[0] - b[0] || compare(a[1], b[1]) || compare(a[2], b[2]) || a[3] - b[3];
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Orders by the sink's name and the state, or by the key of a map. */
function byNames(a: readonly [string, unknown, ...unknown[]], b: typeof a): number {
  const nameOf = ([first, second]: typeof a) => (typeof second === 'string' ? `${first} ${second}` : first);
  return compare(nameOf(a), nameOf(b));
}
