import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Node's `http`. An `import` of it would load `fetch` as well: 16 MB and a tenth of the start. */
export const http = process.getBuiltinModule('node:http');

/** A fault of one field of a request's body. `field` is `body` where it concerns all of it. */
export interface FieldProblem {
  readonly field: string;
  readonly detail: string;
}

/** Why a request is not served. It is sent to the client, so it has no stack, no path and no version. */
export interface Refusal {
  readonly status: number;
  readonly detail: string;
  /** The faults of the body. */
  readonly faults?: readonly FieldProblem[];
  readonly headers?: Readonly<Record<string, string>>;
}

export function faultLines(faults: readonly FieldProblem[]): string[] {
  return faults.map(({ field, detail }) => `${field}: ${detail}`);
}

const contentType = 'application/problem+json';

/** Answers with an error in JSON, as RFC 9457 has it. */
export function answerProblem(res: ServerResponse, refusal: Refusal): void {
  const text = writeProblemHead(res, refusal);
  res.end(text);
}

/** Writes the head of the answer. Returns the body that has to follow. */
function writeProblemHead(res: ServerResponse, refusal: Refusal): string {
  const text = problemText(refusal);
  const content = { 'content-type': contentType, 'content-length': Buffer.byteLength(text) };
  res.writeHead(refusal.status, { ...content, ...refusal.headers });
  return text;
}

function problemText({ status, detail, faults = [] }: Refusal): string {
  const errors = faults.map((fault) => ({
    field: fault.field,
    // A JSON Pointer as a URI fragment; the body as a whole is the empty one.
    pointer: fault.field === 'body' ? '#' : `#/${fault.field}`,
    detail: fault.detail,
  }));
  const problem = { type: 'about:blank', title: titleOf(status), status, detail };
  return JSON.stringify(errors.length > 0 ? { ...problem, errors } : problem);
}

function titleOf(status: number): string {
  return http.STATUS_CODES[status] ?? 'Error';
}

/**
 * How long a connection is read on after its last answer. More of the request may still arrive; closing at once would
 * reset the connection, and a reset can destroy the answer.
 */
const lingerMs = 2_000;

/** Answers a request whose body is incomplete, and closes its connection. */
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

/** Closes a connection on which no further request can be read, with an answer if one is due. */
export function hangUpSocket(socket: Duplex, refusal?: Refusal): void {
  socket.on('error', () => {});
  const text = refusal && problemText(refusal);
  socket.end(
    refusal &&
      [
        `HTTP/1.1 ${refusal.status} ${titleOf(refusal.status)}`,
        `Content-Type: ${contentType}`,
        `Content-Length: ${Buffer.byteLength(text!)}`,
        'Connection: close',
        '',
        text,
      ].join('\r\n'),
  );
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
