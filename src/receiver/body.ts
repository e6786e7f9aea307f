import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Refusal } from '../http/problem.ts';
import type { Json } from '../model.ts';
import { parseCandidateEvent, type ParsedEvent } from './candidate-event.ts';

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

export interface BodyLimits {
  readonly maxBytes: number;
  /** From the end of the headers to the end of the body. */
  readonly timeoutMs: number;
}

/** `gone`: the connection ended first, so there is nobody to answer. */
export type BodyFault = 'too large' | 'too slow' | 'gone';

export interface Body {
  /** What came; only its start where there is a fault. */
  readonly bytes: Buffer;
  readonly fault: BodyFault | null;
}

const nothing = Buffer.alloc(0);

/**
 * Reads the body itself instead of through a body parser: those answer no slow sender, and stop reading a large one
 * in a way that lets the answer get lost.
 */
export function readBody(req: IncomingMessage, res: ServerResponse, limits: BodyLimits): Promise<Body> {
  if (Number(req.headers['content-length'] ?? 0) > limits.maxBytes) {
    return Promise.resolve({ bytes: nothing, fault: 'too large' });
  }
  if (expectsContinue(req)) res.writeContinue();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (fault: BodyFault | null) => {
      clearTimeout(timer);
      resolve({ bytes: joined(chunks), fault });
    };
    const timer = setTimeout(settle, limits.timeoutMs, 'too slow');
    req.on('data', (chunk: Buffer) => {
      // What comes beyond the limit is read, so that the sender gets to see the answer, and let go.
      if (length > limits.maxBytes) return;
      length += chunk.length;
      chunks.push(chunk);
      if (length > limits.maxBytes) settle('too large');
    });
    req.on('end', () => settle(null));
    req.on('close', () => settle('gone'));
  });
}

function expectsContinue(req: IncomingMessage): boolean {
  return req.headers.expect?.toLowerCase() === '100-continue';
}

function joined(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? (chunks[0] ?? nothing) : Buffer.concat(chunks);
}

export type ParsedJson = { readonly json: Json } | { readonly fault: string };

const byteOrderMark = '\uFEFF';

/**
 * Bytes to JSON. The bytes alone decide whether it is UTF-8: JSON knows no other encoding and a `charset` has no
 * meaning for it (RFC 8259, section 11), so one that says otherwise neither saves a body nor condemns it.
 */
function parseJson(bytes: Buffer): ParsedJson {
  if (bytes.length === 0) return { fault: 'The body is empty; expected a JSON object.' };
  if (!isUtf8(bytes)) return { fault: 'The body is not UTF-8, the only encoding that JSON has.' };
  const text = bytes.toString('utf8');
  try {
    return { json: JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text) as Json };
  } catch (error) {
    return { fault: `The body is not JSON: ${reason(error)}.` };
  }
}

/** The parser quotes the body in its message; only what it says of the place is kept. */
function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const position = /at position (\d+)/.exec(message)?.[1];
  return position === undefined
    ? 'it ends too early or has a wrong character'
    : `wrong at character ${position}`;
}
