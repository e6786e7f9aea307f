import { randomFillSync } from 'node:crypto';
import { bitsOf } from './ids.ts';

/** W3C Trace Context: which trace an event belongs to, and so the calls that are made for it. */

/** Version, trace id, parent id and flags; a version to come may have more after them. */
const form = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32}-(?!0{16})[\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** The flags that have a meaning: the trace is sampled, and its id is random. Others must not be passed on. */
const knownFlags = 0b11;

/** The header in today's version; null where there is none, or none that is valid. Runs for every request. */
export function readTraceparent(header: string | undefined): string | null {
  if (header === undefined || header.length < 55) return null;
  const [, version, ids, flags = '', more] = form.exec(header) ?? [];
  if (ids === undefined || (version === '00' && more !== undefined)) return null;
  return `00-${ids}-0${Number.parseInt(flags, 16) & knownFlags}`;
}

/** What a trace is known by: the header that came, or else the id of the event or notice. */
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

/** Kept at hand, as drawing them one by one costs more. */
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
