import { hash, timingSafeEqual } from 'node:crypto';
import type { Store } from '../../store/store.ts';
import type { Secret } from '../../support/secret.ts';

/** How long a token that was taken out of the config stays valid, unless the new one is used before. */
const formerForMs = 24 * 3_600_000;

/** The id under which the store keeps them. Ids of other tokens there are hashes. */
const keptAs = 'receiver.token';

/** Whether a caller's token is valid, wrong, or one from before a change that is still accepted until then (ms). */
export type TokenVerdict = 'valid' | 'wrong' | { readonly formerUntil: number };

interface CallerToken {
  /** Null for a token that only an earlier process has seen. */
  readonly token: Secret | null;
  readonly digest: Buffer;
  /** Until when it is accepted (ms); Infinity for tokens of the config. */
  until: number;
  used: boolean;
}

const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer');

/**
 * The tokens that callers may send: those of the config, and former ones until a new one is first used. Nobody can change
 * the service and the connector at the same moment.
 */
export class CallerTokens {
  #known: readonly CallerToken[];
  #kept = '[]';
  #keep: (kept: string) => void = () => {};

  constructor(tokens: readonly Secret[]) {
    this.#known = tokens.map(asKnown);
  }

  /** The tokens from before a reload that are still accepted. */
  get former(): readonly Secret[] {
    return this.#known.flatMap(({ token, until }) => (token !== null && until < Infinity ? [token] : []));
  }

  /** Takes over what an earlier process has kept in the store: hashes, not tokens. Called before the config is adopted. */
  async resume(store: Pick<Store, 'keepToken' | 'token'>, failed: (error: unknown) => void): Promise<void> {
    this.#keep = (sealed) => void store.keepToken({ id: keptAs, sealed, keptAt: Date.now() }).catch(failed);
    const kept = await store.token(keptAs);
    if (kept !== null)
      this.#known = (JSON.parse(kept) as StoredToken[]).map(({ sha256, until, used }) => ({
        token: null,
        digest: Buffer.from(sha256, 'hex'),
        until: until ?? Infinity,
        used,
      }));
    this.#kept = kept ?? this.#kept;
  }

  /** Adopts the tokens of a new config. Returns until when former ones stay valid at most (ms); null if none does. */
  adopt(tokens: readonly Secret[], now: number): number | null {
    const before = this.#known;
    const next = tokens.map((token) => {
      const one = asKnown(token);
      const same = before.find(({ until, digest }) => until === Infinity && digest.equals(one.digest));
      return { ...one, used: same?.used ?? false };
    });
    const isOver = next.length === 0 || next.some(({ used }) => used);
    const isFormer = ({ digest, until }: CallerToken) =>
      !isOver && until > now && !next.some((one) => one.digest.equals(digest));
    const former = before.filter(isFormer);
    for (const one of former) one.until = Math.min(one.until, now + formerForMs);
    this.#know([...next, ...former]);
    return former.length === 0 ? null : Math.max(...former.map(({ until }) => until));
  }

  /** Judges all that a caller sent as tokens. The time it takes does not depend on which of them is right. */
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
      this.#know(this.#known.filter(({ until }) => until === Infinity));
    }
    return 'valid';
  }

  #know(known: readonly CallerToken[]): void {
    this.#known = known;
    const kept = JSON.stringify(
      known.map(({ digest, until, used }): StoredToken => ({
        sha256: digest.toString('hex'),
        until: until === Infinity ? null : until,
        used,
      })),
    );
    if (kept === this.#kept) return;
    this.#kept = kept;
    this.#keep(kept);
  }
}

interface StoredToken {
  readonly sha256: string;
  readonly until: number | null;
  readonly used: boolean;
}

const asKnown = (token: Secret): CallerToken => ({
  token,
  digest: digestOf(token.reveal()),
  until: Infinity,
  used: false,
});
