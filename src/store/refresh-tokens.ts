import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { RefreshTokens } from '../connector.ts';
import type { Secret } from '../support/secret.ts';
import type { Store } from './store.ts';

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Refresh tokens in the store, encrypted, so that they survive a restart and reach other replicas. Null without a key.
 * `failed`: a token that cannot be read is as if it were not there; one that cannot be stored is stored later.
 */
export function keptRefreshTokens(
  store: Pick<Store, 'keepToken' | 'token'>,
  secretKey: Secret | null,
  failed: (message: string, error: unknown) => void,
): RefreshTokens | undefined {
  if (secretKey === null) return undefined;
  const key = Buffer.from(secretKey.reveal(), 'base64');
  const unsaved = new Map<string, string>();

  async function save(id: string, token: string): Promise<void> {
    unsaved.set(id, token);
    try {
      await store.keepToken({ id, sealed: seal(key, id, token), keptAt: Date.now() });
      if (unsaved.get(id) === token) unsaved.delete(id);
    } catch (error) {
      failed('a new refresh token could not be stored; it is tried again with the next', error);
    }
  }

  return {
    async newest(consent) {
      const id = idOf(consent);
      const newer = unsaved.get(id);
      if (newer !== undefined) {
        await save(id, newer);
        return newer;
      }
      const sealed = await store.token(id);
      try {
        return sealed === null ? undefined : open(key, id, sealed);
      } catch (error) {
        failed(
          'a refresh token in the store is not of this store.secretKey: that of the config is used',
          error,
        );
        return undefined;
      }
    },
    keep: (consent, token) => save(idOf(consent), token),
  };
}

/** A consent holds the refresh token of the config. */
const idOf = (consent: string): string => createHash('sha256').update(consent).digest('hex');

/** IV, tag and text, in base64. Bound to the id, so that no row can stand in for another. */
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
