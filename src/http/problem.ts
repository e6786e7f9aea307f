import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** What is wrong with one field of a request's body; `field` is `body` where it concerns the whole. */
export interface Fault {
  readonly field: string;
  readonly detail: string;
}

/** Why a request is not served, as its sender is told: no stack, no path, no version. */
export interface Refusal {
  readonly status: number;
  readonly detail: string;
  /** One for each fault of the body. */
  readonly faults?: readonly Fault[];
  readonly headers?: Readonly<Record<string, string>>;
}

export function faultLines(faults: readonly Fault[]): string[] {
  return faults.map(({ field, detail }) => `${field}: ${detail}`);
}

const contentType = 'application/problem+json';

/** Answers with an error as RFC 9457 has it. */
export function answerProblem(res: ServerResponse, refusal: Refusal): void {
  const text = writeProblemHead(res, refusal);
  res.end(text);
}

/** Writes the head alone; returns the body that has to follow. */
function writeProblemHead(res: ServerResponse, refusal: Refusal): string {
  const text = problemText(refusal);
  const content = { 'content-type': contentType, 'content-length': Buffer.byteLength(text) };
  res.writeHead(refusal.status, { ...content, ...refusal.headers });
  return text;
}

/** The same answer as bytes, for a connection on which no request could be read. */
function rawProblem(refusal: Refusal): string {
  const text = problemText(refusal);
  return [
    `HTTP/1.1 ${refusal.status} ${titleOf(refusal.status)}`,
    `Content-Type: ${contentType}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
    '',
    text,
  ].join('\r\n');
}

function problemText({ status, detail, faults = [] }: Refusal): string {
  const errors = faults.map((fault) => ({
    field: fault.field,
    pointer: pointerTo(fault),
    detail: fault.detail,
  }));
  const problem = { type: 'about:blank', title: titleOf(status), status, detail };
  return JSON.stringify(errors.length > 0 ? { ...problem, errors } : problem);
}

/** A JSON Pointer as a URI fragment; the body as a whole is the empty one. */
function pointerTo({ field }: Fault): string {
  return field === 'body' ? '#' : `#/${field}`;
}

function titleOf(status: number): string {
  return STATUS_CODES[status] ?? 'Error';
}

/**
 * Ends connections on which more may still arrive. Closing at once would reset them under it, and a reset can take the
 * answer along. So the answer goes out whole, and for this long what arrives is read and let go.
 */
const lingerMs = 2_000;

/** Answers a request whose body is not whole, and ends its connection. */
export function hangUp(req: IncomingMessage, res: ServerResponse, refusal: Refusal): void {
  const headers = { ...refusal.headers, connection: 'close' };
  res.write(writeProblemHead(res, { ...refusal, headers }));
  const timer = setTimeout(() => res.end(), lingerMs);
  req.once('close', () => {
    clearTimeout(timer);
    res.end();
  });
  req.resume();
}

/** Ends a connection on which no further request can be read, with an answer where one is due. */
export function hangUpSocket(socket: Duplex, refusal?: Refusal): void {
  socket.on('error', () => {});
  socket.end(refusal && rawProblem(refusal));
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
