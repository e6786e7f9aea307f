import { once } from 'node:events';
import { z } from 'zod';
import { Secret } from '../support/secret.ts';

/** The schema of a credential: a non-empty string that prints masked. */
export const secret = () =>
  z
    .string()
    .min(1, { abort: true })
    .transform((text) => new Secret(text))
    .meta({ secret: true });

/** A token is renewed so long before it expires. */
const marginMs = 60_000;
/** The life of a token without `expires_in`, which RFC 6749 lets a server leave out. */
const assumedLifeS = 300;

/** Until when a token that lives so long (s) is used, on the monotonic clock (ms). */
export function usableUntil(lifeS: unknown): number {
  const life = Number(lifeS ?? assumedLifeS);
  return performance.now() + (life > 0 ? life : assumedLifeS) * 1000 - marginMs;
}

export interface Token {
  readonly token: string;
  /** When to use it no more, on the monotonic clock (ms). */
  readonly untilMs: number;
}

/** One access token for all calls of a sink: used until shortly before it expires, and fetched once at a time. */
export class SharedToken<Fault extends object> {
  readonly #fetch: () => Promise<Token | Fault>;
  #kept: Token | null = null;
  #coming: Promise<Token | Fault> | null = null;

  constructor(fetch: () => Promise<Token | Fault>) {
    this.#fetch = fetch;
  }

  /**
   * The token, or why there is none. The fetch goes on where the signal ends the wait: others may wait for it, and its answer
   * may have the only refresh token that still works. `stopped`: why there is none then. `isAsked`: the fetch had begun.
   */
  async get(signal: AbortSignal, stopped: (isAsked: boolean) => Fault): Promise<string | Fault> {
    if (this.#kept && performance.now() < this.#kept.untilMs) return this.#kept.token;
    if (signal.aborted) return stopped(false);
    this.#coming ??= this.#fetchOnce();
    const found = await Promise.race([this.#coming, once(signal, 'abort').then(() => stopped(true))]);
    return 'token' in found ? found.token : found;
  }

  async #fetchOnce(): Promise<Token | Fault> {
    try {
      const found = await this.#fetch();
      if ('token' in found) this.#kept = found;
      return found;
    } finally {
      this.#coming = null;
    }
  }

  /** Forgets a token that the tool refused before its time. */
  refused(token: string): void {
    if (this.#kept?.token === token) this.#kept = null;
  }
}
