import { randomFillSync } from 'node:crypto';
import { bitsOf } from './ids.ts';

/** Version, trace id, parent id and flags; a version to come may have more after them. */
const form = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32}-(?!0{16})[\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** The flags that have a meaning: the trace is sampled, and its id is random. Others must not be passed on. */
const knownFlags = 0b11;

/**
 * Reads the header of W3C Trace Context. Returns it in today's version; null if it is missing or not valid. Runs for every
 * request.
 */
export function readTraceparent(header: string | undefined): string | null {
  if (header === undefined || header.length < 55) return null;
  const [, version, ids, flags = '', more] = form.exec(header) ?? [];
  if (ids === undefined || (version === '00' && more !== undefined)) return null;
  return `00-${ids}-0${Number.parseInt(flags, 16) & knownFlags}`;
}

/** What gives the trace id: the header of the request, or else the id of the event or notice. */
interface Traced {
  readonly id: string;
  readonly traceparent?: string | null;
}

/** 32 hex digits. */
export const traceIdOf = ({ id, traceparent }: Traced): string => traceparent?.slice(3, 35) ?? bitsOf(id);

/** The header for one call. A trace that began here is sampled: the log has it. */
export function traceparentFor(of: Traced): string {
  return `00-${traceIdOf(of)}-${randomParent()}-${of.traceparent?.slice(-2) ?? '01'}`;
}

/** Random bytes in advance, as getting them for each call costs more. */
const random = Buffer.alloc(4096);
let used = random.length;

function randomParent(): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  // Not all digits of a parent id may be 0.
  random[used]! |= 1;
  used += 8;
  return random.toString('hex', used - 8, used);
}
