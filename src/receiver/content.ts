import type { IncomingHttpHeaders } from 'node:http';
import type { Refusal } from '../http/problem.ts';
import type { Body } from './body.ts';
import { parseCandidateEvent, type ParsedEvent } from './candidate-event.ts';
import { parseJson } from './json-body.ts';

export type Content = Exclude<ParsedEvent, { faults: unknown }> | { readonly refusal: Refusal };

/** What a body holds, or the first thing that is wrong with it: its type, its size, its JSON, its shape. */
export function readContent(headers: IncomingHttpHeaders, body: Body, maxBytes: number): Content {
  const refusal = refuseType(headers) ?? refuseIncomplete(body, maxBytes);
  if (refusal) return { refusal };
  const parsed = parseJson(body.bytes);
  if ('fault' in parsed) return { refusal: { status: 400, detail: parsed.fault } };
  const content = parseCandidateEvent(parsed.json);
  if ('event' in content) return content;
  return {
    refusal: { status: 422, detail: 'The body is JSON but no CandidateEvent.', faults: content.faults },
  };
}

const jsonType = /^(?:application|text)\/(?:[^\s;/]+\+)?json\s*(?:;|$)/i;

function refuseType(headers: IncomingHttpHeaders): Refusal | null {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    const detail = 'The body has a Content-Encoding; send it as it is.';
    return { status: 415, detail, headers: { 'accept-encoding': 'identity' } };
  }
  if (jsonType.test(headers['content-type'] ?? '')) return null;
  return { status: 415, detail: 'Expected the Content-Type application/json.' };
}

function refuseIncomplete({ fault }: Body, maxBytes: number): Refusal | null {
  if (fault === null) return null;
  if (fault === 'too large') return { status: 413, detail: `The body is larger than ${maxBytes} bytes.` };
  const what =
    fault === 'too slow' ? 'The body did not arrive in time.' : 'The connection ended within the body.';
  return { status: 408, detail: what };
}
