import { randomInt } from 'node:crypto';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
/** An id ends with two halves of 40 random bits. */
const halfEnd = 2 ** 40;

/** The id of the n-th delivery (from 1) that was planned for an event or a notice. */
export function deliveryId(plannedFor: string, n: number): string {
  return `dlv_${plannedFor.slice('evt_'.length)}_${n}`;
}

/** Reads a delivery's id; null if it is none. It does not tell whether it is for an event or a notice. */
export function parseDeliveryId(id: string): { eventId: string; noticeId: string; n: number } | null {
  const parts = /^dlv_(.+)_([1-9]\d{0,4})$/.exec(id);
  return parts ? { eventId: `evt_${parts[1]}`, noticeId: `ntc_${parts[1]}`, n: Number(parts[2]) } : null;
}

export interface IdsFrom {
  /** The newest id from before this process. New ones are greater, whatever the clock says. */
  readonly after?: string | undefined;
  /** Gives a whole number from 0 to below `end`. */
  readonly random?: (end: number) => number;
}

/**
 * A source of event ids: `evt_` and 26 characters, a ULID in lower case, so that ids sort by time. They always grow,
 * also within a millisecond and when the clock is set back.
 */
export const eventIds = (from: IdsFrom = {}): ((now: number) => string) => ulids('evt_', from);

/** A source of notice ids: `ntc_` and 26 characters, otherwise as `eventIds`. */
export const noticeIds = (from: IdsFrom = {}): ((now: number) => string) => ulids('ntc_', from);

/**
 * The id of a notice that is raised once for a time, as that of a week: the same in a store that was restored from before it
 * was raised, so that a tool knows it.
 */
export function noticeIdOf(time: number): string {
  const id = Buffer.from('ntc_'.padEnd(30, '0'));
  writeDigits(id, time, 4, 14);
  return id.toString('latin1');
}

/** A source of ids for refused events: `rej_` and 26 characters, otherwise as `eventIds`. */
export const refusedIds = (): ((now: number) => string) => ulids('rej_', {});

function ulids(prefix: string, { after = '', random = randomInt }: IdsFrom): (now: number) => string {
  const [, before] = /^[a-z]{3}_([0-9a-hjkmnp-tv-z]{10}).{16}$/.exec(after) ?? [];
  let [ms, high, low] = [before === undefined ? -1 : readDigits(before), 0, 0];
  let isFirst = true;
  // One buffer for all ids: a text that grows by characters would make many.
  const id = Buffer.from(prefix.padEnd(30));
  return (now) => {
    // Random anew in each millisecond: other processes may have counted up from the same id.
    if (now > ms || isFirst) {
      ms = Math.max(now, ms + 1);
      isFirst = false;
      // Leaves room to count up: a value close to the end could overflow within its millisecond.
      [high, low] = [random(halfEnd / 2), random(halfEnd)];
    } else {
      low = (low + 1) % halfEnd;
      if (low === 0) high += 1;
    }
    writeDigits(id, ms, 4, 14);
    writeDigits(id, high, 14, 22);
    writeDigits(id, low, 22, 30);
    return id.toString('latin1');
  };
}

/** Writes a number in base 32. */
function writeDigits(bytes: Buffer, value: number, from: number, to: number): void {
  let rest = value;
  for (let at = to - 1; at >= from; at -= 1) {
    bytes[at] = alphabet.charCodeAt(rest % 32);
    rest = Math.floor(rest / 32);
  }
}

/** The values of digits in base 32, by their character codes. */
const digitValues = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, alphabet.indexOf(String.fromCharCode(code))),
);

function readDigits(text: string): number {
  let value = 0;
  for (let index = 0; index < text.length; index += 1)
    value = value * 32 + digitValues[text.charCodeAt(index)]!;
  return value;
}

/** The 128 bits of an event's or a notice's id, as 32 hex digits. Runs several times for every request. */
export function bitsOf(id: string): string {
  // Of the 130 bits of 26 digits, the first two are always 0.
  let [bits, have] = [0, -2];
  for (let index = 4, at = 0; at < bitsBytes.length; index += 1) {
    bits = ((bits << 5) | digitValues[id.charCodeAt(index)]!) & 0xffff;
    have += 5;
    if (have < 8) continue;
    have -= 8;
    bitsBytes[at] = bits >> have;
    at += 1;
  }
  return bitsBytes.toString('hex');
}

/** One buffer for all calls. */
const bitsBytes = Buffer.alloc(16);

/** In characters, not in UTF-16 units. */
export const maxCandidateIdLength = 256;

/**
 * Normalizes a candidate id from the sender, a rule or a scenario; or says what was expected instead. Runs for every request.
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

/** An id as the service sends it, so that most need no more work. */
const keptGuid = /^[0-9a-f]{32}$/;

/** A GUID in any of its usual spellings becomes 32 lowercase hex digits; any other id stays as it is. */
function normalizeGuid(id: string): string {
  if (id.length < 32 || id.length > 45) return id;
  const bare = /^(?:urn:uuid:(.+)|\{(.+)\}|\((.+)\)|(.+))$/i.exec(id)?.slice(1).find(Boolean) ?? id;
  const isGuid = /^[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}$/i.test(bare);
  return isGuid ? bare.replaceAll('-', '').toLowerCase() : id;
}
