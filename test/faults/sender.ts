import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const defaultBetweenMs = 5;
const retryAfterMs = 150;
/** On a busy machine what waits would otherwise grow until nothing else gets its turn. */
const mostUnderWay = 100;

export interface SentEvent {
  readonly candidateId: string;
  readonly testId: number;
}

/** Tells the events of a round apart. */
export const nameOf = ({ candidateId, testId }: SentEvent): string => `${candidateId} ${testId}`;

/** Plays the testing service: it tries each event twice, and then the event is gone. */
export class Sender {
  readonly #url: () => string;
  readonly #betweenMs: number;
  /** The names of the events that were answered 2xx. */
  readonly accepted: string[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #stopped = false;
  #sent = 0;

  constructor(url: () => string, betweenMs = defaultBetweenMs) {
    this.#url = url;
    this.#betweenMs = betweenMs;
  }

  get sent(): number {
    return this.#sent;
  }

  /** Sends an event each 5 ms, or as told, until it is stopped, whether they are answered or not. */
  async run(eventOf: (n: number) => SentEvent): Promise<void> {
    const began = performance.now();
    while (!this.#stopped) {
      // By the clock and not by the naps, which take longer when the machine is busy.
      while (this.#sent * this.#betweenMs < performance.now() - began && this.#underWay.size < mostUnderWay) {
        const sending = this.#send(eventOf(this.#sent++)).finally(() => this.#underWay.delete(sending));
        this.#underWay.add(sending);
      }
      await sleep(this.#betweenMs);
    }
    await Promise.all(this.#underWay);
  }

  stop(): void {
    this.#stopped = true;
  }

  async #send(event: SentEvent): Promise<void> {
    const correlationId = randomUUID();
    if (await this.#post(event, correlationId)) return;
    await sleep(retryAfterMs);
    await this.#post(event, correlationId);
  }

  async #post(event: SentEvent, correlationId: string): Promise<boolean> {
    try {
      const response = await fetch(this.#url(), {
        method: 'POST',
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'x-service-correlationid': correlationId,
        },
        body: JSON.stringify({ ...event, status: 'Completed' }),
      });
      await response.arrayBuffer();
      if (response.ok) this.accepted.push(nameOf(event));
      return response.ok;
    } catch {
      return false;
    }
  }
}
