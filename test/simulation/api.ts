import { lookup } from '../../connectors/webhook/lookup/index.ts';
import { type AnyConnector, type AttemptRequest, rejected, retry, sinkWide } from '../../src/connector.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import type { Clock } from '../../src/support/clock.ts';

type Question = AttemptRequest<{ readonly path: string }>;

/** What the API says of an event, always the same. */
export const scoreOf = (name: string): number =>
  Buffer.from(name).reduce((sum, byte) => sum + byte * 7, 0) % 100;

/** The model of an API that look-ups ask: it answers late, or not yet, or never, and is down now and then. */
export class ModelApi {
  down = false;
  readonly #clock: Clock;
  readonly #random: () => number;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  connector(outside: <T>(run: () => Promise<T>) => Promise<T>): AnyConnector {
    const api = {
      deliver: (question: Question) => outside(() => this.#answer(question)),
      check: async () => [],
      close: async () => {},
    };
    return { ...lookup, connect: async () => api };
  }

  async #answer({ message, signal }: Question): Promise<Outcome> {
    const name = message.path.slice(1);
    await new Promise<void>((resolve) => this.#clock.after(1 + this.#random() * 300, resolve));
    const facts = { state: 'answered', at: null, reason: null, fields: { score: scoreOf(name) } };
    const roll = this.#random();
    if (this.down) return sinkWide('network', 'Refused.');
    if (roll < 0.1) return sinkWide('server', 'It answered 503.');
    if (roll < 0.3)
      return { ...retry('not_found', 'Not yet.'), progress: { ...facts, fields: { score: null } } };
    if (roll < 0.35) return rejected('invalid', 'It answered 422.', 'Look at the url.');
    if (roll < 0.4 && !signal.aborted) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      return sinkWide('timeout', 'No answer in time.');
    }
    return { outcome: 'delivered', receipt: { status: 200, facts } };
  }
}
