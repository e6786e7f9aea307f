import { hash, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../../support/secret.ts';

/** How long a token that a reload took out of the config stays valid, unless the new one is used before. */
const formerForMs = 24 * 3_600_000;

/** What a caller's token is: one of the config, one from before a reload, or neither. */
export type TokenVerdict = 'valid' | 'wrong' | { readonly formerUntil: number };

interface Known {
  readonly token: Secret;
  readonly digest: Buffer;
  /** Infinity for those of the config. */
  until: number;
  used: boolean;
}

const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer');

/**
 * The tokens that callers may send: any of the config; and what a reload took out of it until one of those that stand there
 * now was used, since nobody can change the service and the connector at the same time. In memory: a restart forgets them.
 */
export class CallerTokens {
  #known: readonly Known[];

  constructor(tokens: readonly Secret[]) {
    this.#known = tokens.map(asKnown);
  }

  /** Those from before a reload. */
  get former(): readonly Secret[] {
    return this.#known.filter(({ until }) => until < Infinity).map(({ token }) => token);
  }

  /** Those of a config that was loaded. Returns until when others stay valid at most; null if none does. */
  adopt(tokens: readonly Secret[], now: number): number | null {
    const before = this.#known;
    const next = tokens.map((token) => {
      const one = asKnown(token);
      return before.find(({ until, digest }) => until === Infinity && digest.equals(one.digest)) ?? one;
    });
    const isOver = next.length === 0 || next.some(({ used }) => used);
    const isFormer = ({ digest, until }: Known) =>
      !isOver && until > now && !next.some((one) => one.digest.equals(digest));
    const former = before.filter(isFormer);
    for (const one of former) one.until = Math.min(one.until, now + formerForMs);
    this.#known = [...next, ...former];
    return former.length === 0 ? null : Math.max(...former.map(({ until }) => until));
  }

  /** `given`: all that a caller sent as a token. Takes as long whichever of them is right. */
  judge(given: () => readonly string[], now: number): TokenVerdict {
    if (!this.#known.some(({ until }) => until === Infinity)) return 'valid';
    const digests = given().map(digestOf);
    const right = this.#known.filter(
      ({ digest }) => digests.filter((one) => timingSafeEqual(one, digest)).length > 0,
    );
    const valid = right.filter(({ until }) => until > now);
    if (valid.length === 0) return 'wrong';
    const current = valid.find(({ until }) => until === Infinity);
    if (current === undefined) return { formerUntil: valid[0]!.until };
    if (!current.used) {
      current.used = true;
      this.#known = this.#known.filter(({ until }) => until === Infinity);
    }
    return 'valid';
  }
}

const asKnown = (token: Secret): Known => ({
  token,
  digest: digestOf(token.reveal()),
  until: Infinity,
  used: false,
});
