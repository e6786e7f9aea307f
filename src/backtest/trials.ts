import type { BacktestReport } from './backtest.ts';
import { ConfigError, type Problem } from '../config/config.ts';
import { type EditableText, hiddenMark, withMarksOf } from '../config/secrets/editable.ts';
import { foundBy } from '../lookups/kept-facts.ts';
import type { EventWithFacts, Json } from '../model.ts';
import { askThread } from '../config/live/reload.ts';
import type { Reads } from '../store/store.ts';

/** A config that somebody writes in a page: what `check` and `backtest` say of it, without a file or a value from outside. */

/** The question to the thread. */
export interface TrialQuestion {
  readonly text: string;
  /** A name for messages. */
  readonly name: string;
  /** The catalog of the config in force. A table that the text names is not read. */
  readonly catalogInForce: Json;
  readonly events: readonly TrialEvent[];
  /** The sources of the plans that decided the events, by id. */
  readonly plans: ReadonlyMap<string, Json>;
}

interface TrialEvent extends EventWithFacts {
  readonly configId: string;
}

export interface Trial {
  /** Problems in the order of the text. */
  readonly problems: readonly Problem[];
  /** The verdict of `check`; null if there are errors. */
  readonly summary: string | null;
  /** What was not checked, in sentences. */
  readonly left: readonly string[];
  /** How deliveries would differ from those that were decided; null if there are errors or no events. */
  readonly backtest: BacktestReport | null;
}

const name = 'This config';
const deadlineMs = 15_000;
const backtestedForMs = 30 * 86_400_000;
const mostEvents = 1000;
/** Events are copied into the thread. */
const mostEventBytes = 4_000_000;

/** One at a time, since each takes a processor and up to 256 MB. */
export class Trials {
  readonly #reads: Pick<Reads, 'events' | 'config'>;
  readonly #thread: URL;
  readonly #catalog: () => Json;
  readonly #closing: AbortSignal;
  #running: { readonly isCheck: boolean; readonly end: AbortController } | null = null;

  /** `closing`: ends the trial under way, which would keep the process alive. */
  constructor(
    reads: Pick<Reads, 'events' | 'config'>,
    thread: URL,
    catalog: () => Json,
    closing: AbortSignal,
  ) {
    this.#reads = reads;
    this.#thread = thread;
    this.#catalog = catalog;
    this.#closing = closing;
  }

  /** Tries a config with recent events. `shown`: the text that the person began with. Null while another trial runs, and if this one was ended. */
  async try(text: string, shown: EditableText | null, now: number): Promise<Trial | null> {
    return this.#inTurn(text, false, async () => this.#recent(text.includes(hiddenMark) ? shown : null, now));
  }

  /** Checks a config without events, as while somebody types. A trial ends it. */
  async check(text: string): Promise<Trial | null> {
    return this.#inTurn(text, true, async () => ({ events: [], plans: new Map() }));
  }

  async #inTurn(
    text: string,
    isCheck: boolean,
    recent: () => Promise<Pick<TrialQuestion, 'events' | 'plans'>>,
  ): Promise<Trial | null> {
    if (this.#running && (isCheck || !this.#running.isCheck)) return null;
    this.#running?.end.abort();
    const mine = { isCheck, end: new AbortController() };
    this.#running = mine;
    const signal = AbortSignal.any([this.#closing, mine.end.signal]);
    try {
      const question: TrialQuestion = { text, name, catalogInForce: this.#catalog(), ...(await recent()) };
      return await askThread<Trial>(this.#thread, question, { file: name, deadlineMs, signal });
    } catch (error) {
      if (signal.aborted) return null;
      if (!(error instanceof ConfigError)) throw error;
      return { problems: error.problems, summary: null, left: [], backtest: null };
    } finally {
      if (this.#running === mine) this.#running = null;
    }
  }

  /** The newest events within the limits, and the plans that decided them. */
  async #recent(shown: EditableText | null, now: number): Promise<Pick<TrialQuestion, 'events' | 'plans'>> {
    const stories = await this.#reads.events({ since: now - backtestedForMs, limit: mostEvents });
    const events: TrialEvent[] = [];
    const plans = new Map<string, Json>();
    let bytes = 0;
    for (const { event, lookups, configId } of stories) {
      const facts = foundBy(lookups);
      bytes += JSON.stringify([event.raw, facts]).length;
      if (bytes > mostEventBytes) break;
      events.push({ event, facts, configId });
      if (plans.has(configId)) continue;
      const plan = await this.#reads.config(configId);
      plans.set(configId, shown ? withMarksOf(shown, plan) : plan);
    }
    return { events, plans };
  }
}
