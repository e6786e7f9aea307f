import type { BacktestReport } from '../../backtest/backtest.ts';
import { ConfigError, type Problem } from '../config.ts';
import { type EditableText, hiddenMark, withMarksOf } from '../text/editable.ts';
import { foundBy } from '../../lookups/kept-facts.ts';
import type { EventWithFacts, Json } from '../../model.ts';
import { askThread } from './reload.ts';
import type { Reads } from '../../store/store.ts';

/** A config that somebody writes in a page: what `check` and `backtest` say of it, without a file or a value from outside. */

/** What is asked of the other thread. */
export interface TrialQuestion {
  readonly text: string;
  /** For messages. */
  readonly name: string;
  /** Of the config in force: a table that the text names is not read. */
  readonly catalogInForce: Json;
  readonly events: readonly TrialEvent[];
  /** The sources of the plans that decided them, by id. */
  readonly plans: ReadonlyMap<string, Json>;
}

interface TrialEvent extends EventWithFacts {
  readonly configId: string;
}

export interface Trial {
  /** In the order of the text. */
  readonly problems: readonly Problem[];
  /** Null if there are errors. */
  readonly summary: string | null;
  /** What was not looked at, in sentences. */
  readonly left: readonly string[];
  /** How its deliveries would differ from those that were decided; null if it has errors, or there is no event. */
  readonly backtest: BacktestReport | null;
}

const name = 'This config';
const deadlineMs = 15_000;
const backtestedForMs = 30 * 86_400_000;
const mostEvents = 1000;
/** All of them are copied into the other thread. */
const mostEventBytes = 4_000_000;

/** One at a time, since each takes a processor and up to 256 MB. */
export class Trials {
  readonly #reads: Pick<Reads, 'events' | 'config'>;
  readonly #thread: URL;
  readonly #catalog: () => Json;
  readonly #closing: AbortSignal;
  #running: { readonly isCheck: boolean; readonly end: AbortController } | null = null;

  /** `closing`: ends the one under way, which would keep the process from its end. */
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

  /** `shown`: what somebody began with. Null while another one is tried, and when it was ended. */
  async try(text: string, shown: EditableText | null, now: number): Promise<Trial | null> {
    return this.#inTurn(text, false, async () => this.#recent(text.includes(hiddenMark) ? shown : null, now));
  }

  /** As `try`, without events. It ends when somebody tries a config: it is asked for again and again, while one writes. */
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

  /** The newest events, as many as are shown to be enough and no more. */
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
