import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Refusal } from '../http/problem.ts';
import { continueIfExpected } from '../http/server.ts';
import type { Json } from '../model.ts';
import { parseCandidateEvent, type ParsedEvent } from './candidate-event.ts';

interface BodyLimits {
  readonly maxBytes: number;
  /** From the end of the headers to the end of the body. */
  readonly timeoutMs: number;
}

/** `gone`: the connection ended, so nobody can be answered. */
type BodyFault = 'too large' | 'too slow' | 'gone';

interface Body {
  /** The body, or only its start if there is a fault. */
  readonly bytes: Buffer;
  readonly fault: BodyFault | null;
}

/** Not a body parser: those leave a slow sender unanswered, and can lose the answer to a body that is too large. */
export function readBody(req: IncomingMessage, res: ServerResponse, limits: BodyLimits): Promise<Body> {
  if (Number(req.headers['content-length'] ?? 0) > limits.maxBytes) {
    return Promise.resolve({ bytes: Buffer.alloc(0), fault: 'too large' });
  }
  continueIfExpected(req, res);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (fault: BodyFault | null) => {
      clearTimeout(timer);
      resolve({ bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), fault });
    };
    const timer = setTimeout(settle, limits.timeoutMs, 'too slow');
    req.on('data', (chunk: Buffer) => {
      // Beyond the limit, read and drop: only a sender that has finished gets the answer.
      if (length > limits.maxBytes) return;
      length += chunk.length;
      chunks.push(chunk);
      if (length > limits.maxBytes) settle('too large');
    });
    req.on('end', () => settle(null));
    req.on('close', () => settle('gone'));
  });
}

type Content = Exclude<ParsedEvent, { faults: unknown }> | { readonly refusal: Refusal };

/** The event in a body, or why it is refused. */
export function readContent(headers: IncomingHttpHeaders, body: Body, maxBytes: number): Content {
  const refusal = refuseType(headers) ?? refuseIncomplete(body, maxBytes);
  if (refusal) return { refusal };
  const parsed = parseJson(body.bytes);
  if ('fault' in parsed) return { refusal: { status: 400, detail: parsed.fault } };
  const content = parseCandidateEvent(parsed.json);
  if ('event' in content) return content;
  return {
    refusal: { status: 422, detail: 'The body is JSON but not a CandidateEvent.', faults: content.faults },
  };
}

const jsonType = /^(?:application|text)\/(?:[^\s;/]+\+)?json\s*(?:;|$)/i;

function refuseType(headers: IncomingHttpHeaders): Refusal | null {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    const detail = 'A body with a Content-Encoding is not supported; send it uncompressed.';
    return { status: 415, detail, headers: { 'accept-encoding': 'identity' } };
  }
  if (jsonType.test(headers['content-type'] ?? '')) return null;
  return { status: 415, detail: 'Expected the Content-Type application/json.' };
}

function refuseIncomplete({ fault }: Body, maxBytes: number): Refusal | null {
  if (fault === null) return null;
  if (fault === 'too large') return { status: 413, detail: `The body is larger than ${maxBytes} bytes.` };
  const what =
    fault === 'too slow'
      ? 'The body did not arrive in time.'
      : 'The connection ended before the end of the body.';
  return { status: 408, detail: what };
}

type ParsedJson = { readonly json: Json } | { readonly fault: string };

const byteOrderMark = '\uFEFF';

/** JSON is always UTF-8, and a `charset` has no meaning for it (RFC 8259, section 11). */
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

/** The parser's message quotes the body, so only its position is used. */
function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const position = /at position (\d+)/.exec(message)?.[1];
  return position === undefined
    ? 'it ends too early or has a wrong character'
    : `wrong at character ${position}`;
}
