/** What is known of a `fetch` that failed without an answer. */
export interface FetchFailure {
  /** False only where it is certain that the tool never saw the request. */
  readonly left: boolean;
  /** In plain words, with the system's code. Names no host, path or header, so no secret either. */
  readonly words: string;
}

/** Faults of opening a connection: at that point nothing of the request was written. */
const beforeSending: { readonly [code: string]: string } = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name does not resolve',
  EAI_AGAIN: 'its name cannot be resolved just now',
  EHOSTUNREACH: 'there is no way to its host',
  ENETUNREACH: 'there is no way to its network',
  ETIMEDOUT: 'connecting took too long',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
};

/** These also end connections that are open, so the code alone does not tell; the system call does. */
const onlyWhileConnecting = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Of TLS, what ends the handshake; a record that goes wrong later may follow a request. */
const handshakeFailed =
  /CERT|SELF_SIGNED|UNABLE_TO_|^ERR_TLS_|^ERR_SSL_(WRONG_VERSION|UNSUPPORTED_PROTOCOL|.*(HANDSHAKE_FAILURE|PROTOCOL_VERSION))/;

/** Tells from a rejected `fetch` whether the request may have reached the tool. */
export function fetchFailure(error: unknown): FetchFailure {
  const causes = causesOf(error);
  const known = causes.map(connecting).find((words) => words !== null);
  if (known !== undefined) return { left: false, words: known };
  const code = causes.map(codeOf).find((found) => found !== null);
  return { left: true, words: `the connection broke off${code === undefined ? '' : ` (${code})`}` };
}

function connecting(cause: Fault): string | null {
  const code = codeOf(cause);
  if (code === null) return null;
  if (handshakeFailed.test(code)) return `no trusted TLS connection (${code})`;
  if (onlyWhileConnecting.has(code) && cause.syscall !== 'connect') return null;
  const words = beforeSending[code];
  return words === undefined ? null : `${words} (${code})`;
}

interface Fault {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

/** The error and what lies beneath it; several where a host has several addresses. */
function causesOf(error: unknown, depth = 0): Fault[] {
  if (typeof error !== 'object' || error === null || depth > 5) return [];
  const fault: Fault = error;
  const inner = Array.isArray(fault.errors) ? [...(fault.errors as unknown[]), fault.cause] : [fault.cause];
  return [fault, ...inner.flatMap((cause) => causesOf(cause, depth + 1))];
}

function codeOf({ code }: Fault): string | null {
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code) ? code : null;
}
