import type { IncomingHttpHeaders } from 'node:http';

export interface Correlation {
  readonly id: string | null;
  /** Why a header that was there is not used. */
  readonly unusable: string | null;
}

const generic = ['x-correlation-id', 'x-correlationid'];
const usable = /^[\x20-\x7e]{1,200}$/;
const none: Correlation = { id: null, unusable: null };

/** `setting`: a header's name in lower case, or `auto` for any X-…-CorrelationId, as the real one carries the sender's brand. */
export function correlationOf(headers: IncomingHttpHeaders, setting: string): Correlation {
  const name = setting === 'auto' ? findHeader(headers) : setting;
  const value = name !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined || value === '') return none;
  if (typeof value === 'string' && usable.test(value)) return { id: value, unusable: null };
  return { id: null, unusable: `${name} is not 1 to 200 printable ASCII characters, so it was not used` };
}

function findHeader(headers: IncomingHttpHeaders): string | undefined {
  for (const name in headers) {
    if (!name.startsWith('x-') || generic.includes(name)) continue;
    if (name.endsWith('-correlationid') || name.endsWith('-correlation-id')) return name;
  }
  return generic.find((name) => headers[name] !== undefined);
}
