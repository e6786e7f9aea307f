import { createCipheriv, createDecipheriv, createHash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RefreshTokens } from '../connector.ts';
import type { Secret } from '../support/secret.ts';
import type { Store } from './store.ts';

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Keeps refresh tokens in the store, encrypted, so that they survive a restart and reach other replicas. Undefined without a
 * key. If a token cannot be stored, `failed` is called and it is stored later. `newest` rejects if the token cannot be read.
 */
export function keptRefreshTokens(
  store: Pick<Store, 'keepToken' | 'leases' | 'token'>,
  secretKey: Secret | null,
  failed: (message: string, error: unknown) => void,
): RefreshTokens | undefined {
  if (secretKey === null) return undefined;
  const key = Buffer.from(secretKey.reveal(), 'base64');
  const consents = new Map<string, Known>();
  const knownOf = (id: string): Known =>
    consents.getOrInsertComputed(id, () => ({ newest: undefined, before: [], isSaved: true, again: null }));

  async function read(id: string): Promise<string | undefined> {
    const sealed = await store.token(id);
    try {
      return sealed === null ? undefined : open(key, id, sealed);
    } catch (cause) {
      throw new Error(otherKey, { cause });
    }
  }

  async function save(id: string, known: Known): Promise<void> {
    const token = known.newest!;
    const isFirstTry = known.isSaved;
    known.isSaved = false;
    try {
      await store.keepToken({ id, sealed: seal(key, id, token), keptAt: Date.now() });
      if (known.newest === token) known.isSaved = true;
    } catch (error) {
      if (isFirstTry) failed('a new refresh token could not be stored; it is tried again', error);
      // Another replica or the next start may need it before this process asks for it again.
      known.again ??= setTimeout(() => {
        known.again = null;
        if (!known.isSaved) void save(id, known);
      }, savedAgainMs).unref();
    }
  }

  return {
    async newest(consent) {
      const id = idOf(consent);
      const known = knownOf(id);
      const stored = known.isSaved ? await read(id) : undefined;
      if (!known.isSaved || known.before.includes(stored)) await save(id, known);
      else replace(known, stored);
      return known.newest;
    },
    async keep(consent, token) {
      const id = idOf(consent);
      replace(knownOf(id), token);
      await save(id, knownOf(id));
    },
    async turn(consent, signal) {
      const { leases } = store;
      if (leases === null) return async () => {};
      const [name, holder] = [`consent ${idOf(consent)}`, randomUUID()];
      try {
        while (!signal.aborted && !(await leases.takeTurn(name, holder, turnMs))) await sleep(turnPollMs);
      } catch (error) {
        failed('whether another replica asks for an access token just now could not be seen', error);
      }
      return () => leases.endTurn(name, holder).catch(() => {});
    },
  };
}

/**
 * The config's own token is not tried instead: it is used up, and some servers end a consent when a used-up token
 * comes.
 */
const otherKey =
  'it is in the store, encrypted with another store.secretKey. Give that key back, or put a new consent into refreshToken.';

/** Nearly all attempts are over by then; else the process that took the turn may have ended. */
const turnMs = 30_000;
const turnPollMs = 200;

/** What this process knows of the tokens of a consent. */
interface Known {
  /** Undefined for the config's own token. */
  newest: string | undefined;
  /** Tokens before `newest`, which are used up. A standby that took over, or a restored dump, may have one of these. */
  before: readonly (string | undefined)[];
  isSaved: boolean;
  again: NodeJS.Timeout | null;
}

const savedAgainMs = 1000;

const beforeKept = 20;

function replace(known: Known, token: string | undefined): void {
  if (token === known.newest) return;
  known.before = [...known.before, known.newest].slice(-beforeKept);
  known.newest = token;
}

/** A hash, as a consent holds the config's refresh token. */
const idOf = (consent: string): string => createHash('sha256').update(consent).digest('hex');

/** Encrypts a text: IV, tag and text, in base64. It is bound to the id, so that no row can stand in for another. */
function seal(key: Buffer, id: string, text: string): string {
  const iv = randomBytes(ivBytes);
  const sealing = createCipheriv(cipher, key, iv).setAAD(Buffer.from(id));
  const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()]);
  return Buffer.concat([iv, sealing.getAuthTag(), sealed]).toString('base64');
}

function open(key: Buffer, id: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  const [iv, tag] = [bytes.subarray(0, ivBytes), bytes.subarray(ivBytes, ivBytes + tagBytes)];
  const opening = createDecipheriv(cipher, key, iv, { authTagLength: tagBytes })
    .setAAD(Buffer.from(id))
    .setAuthTag(tag);
  const text = Buffer.concat([opening.update(bytes.subarray(ivBytes + tagBytes)), opening.final()]);
  return text.toString('utf8');
}
