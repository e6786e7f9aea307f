import { randomBytes } from 'node:crypto';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const entropyBytes = 10;

/** The id of the n-th delivery (from 1) that was planned for an event or a notice. */
export function deliveryId(plannedFor: string, n: number): string {
  return `dlv_${plannedFor.slice('evt_'.length)}_${n}`;
}

/** Null if it is not a delivery's id. The id does not say whether it was planned for an event or a notice. */
export function parseDeliveryId(id: string): { eventId: string; noticeId: string; n: number } | null {
  const parts = /^dlv_(.+)_([1-9]\d{0,4})$/.exec(id);
  return parts ? { eventId: `evt_${parts[1]}`, noticeId: `ntc_${parts[1]}`, n: Number(parts[2]) } : null;
}

export interface IdsFrom {
  /** The newest id from before this process. All new ones are greater, whatever the clock says. */
  readonly after?: string | undefined;
  readonly random?: (bytes: number) => Uint8Array;
}

/**
 * A source of event ids: `evt_` and 26 characters, a ULID in lower case, so that ids sort by time. They always grow,
 * also within a millisecond and when the clock is set back.
 */
export function eventIds(from: IdsFrom = {}): (now: number) => string {
  const next = ulids(from);
  return (now) => `evt_${next(now)}`;
}

/** A source of notice ids: `ntc_` and 26 characters, otherwise as `eventIds`. */
export function noticeIds(from: IdsFrom = {}): (now: number) => string {
  const next = ulids(from);
  return (now) => `ntc_${next(now)}`;
}

function ulids({ after, random = pooledRandom() }: IdsFrom): (now: number) => string {
  let [lastMs, entropy] = parseUlid(after ?? '') ?? [-1, new Uint8Array(entropyBytes)];
  return (now) => {
    if (now > lastMs) {
      lastMs = now;
      entropy = random(entropyBytes);
      // Leaves room to count up: a value close to the end could overflow within its millisecond.
      entropy[0] = entropy[0]! & 0x7f;
    } else {
      increment(entropy);
    }
    return ulid(lastMs, entropy);
  };
}

const pooledBytes = 4096;

/** To ask the system for a few bytes costs more than the rest of an id, so it is asked for many at once. */
function pooledRandom(): (bytes: number) => Uint8Array {
  let pool = new Uint8Array(0);
  let used = 0;
  return (bytes) => {
    if (used + bytes > pool.length) {
      pool = randomBytes(pooledBytes);
      used = 0;
    }
    used += bytes;
    return pool.slice(used - bytes, used);
  };
}

function ulid(now: number, entropy: Uint8Array): string {
  return `${timePart(now)}${fiveBytes(entropy, 0)}${fiveBytes(entropy, 5)}`;
}

function increment(bytes: Uint8Array): void {
  for (let index = bytes.length - 1; index >= 0; index -= 1) {
    bytes[index] = (bytes[index]! + 1) & 0xff;
    if (bytes[index] !== 0) return;
  }
}

function timePart(now: number): string {
  let text = '';
  let rest = now;
  for (let digit = 0; digit < 10; digit += 1) {
    text = alphabet[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** The time and the entropy of an id; null if it is not one of ours. */
function parseUlid(id: string): [number, Uint8Array] | null {
  const text = /^[a-z]{3}_([0-9a-hjkmnp-tv-z]{26})$/.exec(id)?.[1];
  if (text === undefined) return null;
  const bits = text.split('').reduce((sum, letter) => sum * 32n + BigInt(alphabet.indexOf(letter)), 0n);
  const entropy = Array.from({ length: entropyBytes }, (_, index) =>
    Number((bits >> BigInt(8 * (entropyBytes - 1 - index))) & 0xffn),
  );
  return [Number(bits >> BigInt(8 * entropyBytes)), Uint8Array.from(entropy)];
}

/** Eight characters of five bits each. */
function fiveBytes(bytes: Uint8Array, at: number): string {
  const high = (bytes[at]! << 12) | (bytes[at + 1]! << 4) | (bytes[at + 2]! >> 4);
  const low = ((bytes[at + 2]! & 0x0f) << 16) | (bytes[at + 3]! << 8) | bytes[at + 4]!;
  return twentyBits(high) + twentyBits(low);
}

function twentyBits(bits: number): string {
  return (
    alphabet.charAt(bits >> 15) +
    alphabet.charAt((bits >> 10) & 31) +
    alphabet.charAt((bits >> 5) & 31) +
    alphabet.charAt(bits & 31)
  );
}

/** In characters, not in UTF-16 units. */
export const maxCandidateIdLength = 256;

/**
 * A candidate id as it is kept, whether it came from the sender, a rule or a scenario; or what was expected instead.
 * Runs for every request.
 */
export function readCandidateId(text: string): { readonly value: string } | { readonly fault: string } {
  if (keptGuid.test(text)) return { value: text };
  const id = text.trim();
  if (id === '') return { fault: 'at least one character that is not a space' };
  if (id.length > maxCandidateIdLength && Array.from(id).length > maxCandidateIdLength) {
    return { fault: `at most ${maxCandidateIdLength} characters` };
  }
  // They would end a line in a log, a mail's header or a terminal. Text in any script is allowed.
  if (/\p{Cc}/u.test(id)) return { fault: 'no control characters' };
  if (!id.isWellFormed()) return { fault: 'no half of a surrogate pair' };
  return { value: normalizeGuid(id) };
}

/** As the service sends them, so that most are done at once. */
const keptGuid = /^[0-9a-f]{32}$/;

/** A GUID in any of its usual spellings becomes 32 lowercase hex digits; any other id stays as it is. */
function normalizeGuid(id: string): string {
  if (id.length < 32 || id.length > 45) return id;
  const bare = /^(?:urn:uuid:(.+)|\{(.+)\}|\((.+)\)|(.+))$/i.exec(id)?.slice(1).find(Boolean) ?? id;
  const isGuid = /^[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}$/i.test(bare);
  return isGuid ? bare.replaceAll('-', '').toLowerCase() : id;
}
