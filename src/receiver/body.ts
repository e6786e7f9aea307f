import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Refusal } from '../http/problem.ts';
import { continueIfExpected } from '../http/server.ts';
import type { Json } from '../model.ts';
import { whyNoJson } from '../support/json.ts';
import { parseCandidateEvent, type ParsedEvent } from './candidate-event.ts';

/** Why a body is not whole. `gone`: the connection ended, so nobody can be answered. */
type BodyFault = 'too large' | 'too slow' | 'gone';

interface Body {
  /** The body, or only its start if there is a fault. */
  readonly bytes: Buffer;
  readonly fault: BodyFault | null;
}

/**
 * Reads a body. A body parser of express would leave a slow sender unanswered, and could lose the answer to a body that is
 * too large. `timeoutMs`: from the end of the headers to the end of the body.
 */
export function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  maxBytes: number,
  timeoutMs: number,
): Promise<Body> {
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) {
    return Promise.resolve({ bytes: Buffer.alloc(0), fault: 'too large' });
  }
  continueIfExpected(req, res);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (fault: BodyFault | null = req.readableEnded ? null : 'gone') => {
      clearTimeout(timer);
      resolve({ bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), fault });
    };
    const timer = setTimeout(settle, timeoutMs, 'too slow');
    req.on('data', (chunk: Buffer) => {
      // Beyond the limit, read and drop: only a sender that has finished gets the answer.
      if (length > maxBytes) return;
      length += chunk.length;
      chunks.push(chunk);
      if (length > maxBytes) settle('too large');
    });
    req.on('end', settle);
    req.on('close', settle);
  });
}

/** The event in a body, or why there is none, with the body as far as it came. */
type Content =
  | Exclude<ParsedEvent, { faults: unknown }>
  | { readonly refusal: Refusal; readonly body: Buffer };

const jsonType = /^(?:application|text)\/(?:[^\s;/]+\+)?json\s*(?:;|$)/i;
const byteOrderMark = '\uFEFF';

/** The event in a body, or why it is refused. JSON is always UTF-8, and a `charset` has no meaning for it (RFC 8259, 11). */
export function readContent(headers: IncomingHttpHeaders, { bytes, fault }: Body, maxBytes: number): Content {
  const refuse = (status: number, detail: string, more?: Partial<Refusal>) => ({
    refusal: { status, detail, ...more },
    body: bytes,
  });
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    const detail = 'A body with a Content-Encoding is not supported; send it uncompressed.';
    return refuse(415, detail, { headers: { 'accept-encoding': 'identity' } });
  }
  if (!jsonType.test(headers['content-type'] ?? ''))
    return refuse(415, 'Expected the Content-Type application/json.');
  if (fault === 'too large') return refuse(413, `The body is larger than ${maxBytes} bytes.`);
  if (fault === 'too slow') return refuse(408, 'The body did not arrive in time.');
  if (fault === 'gone') return refuse(408, 'The connection ended before the end of the body.');
  if (bytes.length === 0) return refuse(400, 'The body is empty; expected a JSON object.');
  if (!isUtf8(bytes)) return refuse(400, 'The body is not UTF-8, the only encoding that JSON has.');
  const text = bytes.toString('utf8');
  let json: Json;
  try {
    json = JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text) as Json;
  } catch (error) {
    return refuse(400, `The body is not JSON: ${whyNoJson(error)}.`);
  }
  const content = parseCandidateEvent(json);
  if ('event' in content) return content;
  return refuse(422, 'The body is JSON but not a CandidateEvent.', { faults: content.faults });
}
