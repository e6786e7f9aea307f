import { DatabaseError } from 'pg';
import { takesRestart } from '../../support/invocation.ts';
import { PartUnavailable, StoreUnavailable } from '../driver.ts';

/**
 * What a failure means for a transaction. again: another transaction was in the way, and this one was rolled back. lost: there
 * is no connection, and what was not committed is undone. unavailable: it cannot be done for now. fault: one of its operations
 * has a bug.
 */
export type FailureKind = 'again' | 'lost' | 'unavailable' | 'fault';

/** Where a store is, for messages, without the password. */
export interface StoreAddress {
  /** host:port, or a socket's folder */
  readonly server: string;
  readonly user: string;
  readonly database: string;
  readonly schema: string | null;
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const againCodes = new Set(['40001', '40P01']);
/** A prepared statement is not there any more. The next try prepares it. */
const notKept = '26000';
/** The server is a standby. */
export const readOnlyCode = '25006';
/** The server is a former primary; see FormerPrimaries. PostgreSQL has no such code. */
export const replacedCode = 'replaced';

const connectionBroke = 'The connection to {server} broke: {message}.';
const untrusted =
  "The certificate of {server} is not from a known authority. Name the authority's file in store.url: ?sslmode=verify-full&sslrootcert=/path/ca.pem.";
const noAnswer = '{server} did not answer in time.';
const notListening = 'No PostgreSQL listens at {address}.';
const ended = '{address} refused or ended the connection: {message}.';
const failed = '{server} failed: {message}.';
const trigger = 'A trigger or function in the database {database} refuses what the store needs: {message}.';
const damaged = 'The database {database} is damaged: {message}. Restore a backup.';

/** Messages by the codes of the server, the system and TLS. */
const explanations: Readonly<Record<string, string>> = {
  '28P01': `{server} refused the password of the user {user}. A changed password ${takesRestart}`,
  '28000': '{server} does not admit the user {user} to the database {database}: {message}.',
  '3D000': 'There is no database {database} on {server}. Create it first.',
  '3F000': 'The schema {schema} is missing in the database {database}.',
  '42501':
    'The user {user} lacks a right in the database {database}: {message}. It must be allowed to create and to use tables there.',
  '42P01': 'A table of the store is missing in the database {database}: {message}. Restore a backup.',
  '53100': 'The disk of {server} is full.',
  '53200': '{server} has not enough memory: {message}.',
  '53300': '{server} takes no more connections of the user {user}. Raise its limit, or close others.',
  [readOnlyCode]:
    '{server} is read-only: a standby, or a primary that was made so, as services do where its disk is nearly full. The store needs a primary that can be written.',
  [replacedCode]:
    '{message} was replaced by a standby that was promoted, and lacks what was stored since. Keep it off, or make it a standby of that one. Where you went back to it on purpose, as with a backup, restart the connector.',
  '25P03': '{server} ended a transaction because this process stood still in it.',
  '55P03':
    'Rows of the database {database} stay locked: by another process, or by a commit that waits for a synchronous standby.',
  '57014': '{server} took too long over a statement.',
  '57P01': '{server} is shutting down.',
  '57P02': '{server} crashed and starts again.',
  '57P03': '{server} is not ready: {message}.',
  '58030': 'The disk of {server} reported an error.',
  '23514': 'A constraint in the database {database} refuses what the store needs: {message}.',
  XX001: damaged,
  XX002: damaged,

  ECONNREFUSED: notListening,
  ENOENT: notListening,
  ENOTFOUND: 'The host of {address} was not found.',
  EAI_AGAIN: 'The host of {address} cannot be looked up for now.',
  ETIMEDOUT: noAnswer,
  EHOSTUNREACH: 'The network has no way to {address}.',
  ENETUNREACH: 'The network has no way to {address}.',
  ECONNRESET: connectionBroke,
  EPIPE: connectionBroke,

  CERT_HAS_EXPIRED: 'The certificate of {server} has expired.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of {server} is for another host.',
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
};

/** Messages for errors of pg itself, which have no code. */
const byMessage: readonly (readonly [RegExp, string])[] = [
  [
    /does not support SSL/,
    '{server} offers no TLS, which store.url demands. Turn it on there, or set sslmode=disable.',
  ],
  [/establishing an SSL/, '{address} does not answer as a PostgreSQL with TLS does.'],
  [
    /password must be a string|empty string/,
    '{server} wants a password of the user {user}, and store.url has none.',
  ],
  [/connection timeout$|^timeout e|no answer in time/, noAnswer],
  [/^Connection terminated|not queryable/, 'The connection to {server} was closed.'],
];

const unanswered = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
const lost = /^(?:53300|57P0[1-5]|08(?!P01)...|25P03|ECONNRESET|EPIPE)$/;
/**
 * Classes of codes by which the server says that it lacks something, was disturbed, or failed itself, as where the quota of
 * its disk is used up (XX000): no statement is wrong.
 */
const ofServer = /^(?:53|57|58|XX)/;
/** By these the server refuses one statement for what it touches. */
const ofPart = new Set(['42501', '42P01', '23514', '55P03', 'XX001', 'XX002']);
/** What of the server ends a wait for a lock that took too long. A lock that a statement does not wait for is refused elsewhere. */
const endsWaits = 'ProcessInterrupts';
/** A trigger's error tells where in its function it was, in every language of the server. The store has no functions. */
const inFunction = /\bPL\/\w/;
/** A missing right, a read-only server and a lock are explained as elsewhere. */
const ownInFunction = /^(?:42501|25|55)/;
const lostMessage = /^Connection terminated(?! due)|not queryable|no answer in time/;

export function failureKind(error: unknown): FailureKind {
  if (error instanceof StoreUnavailable) return 'unavailable';
  const parts = partsOf(error);
  const { code, message } = parts;
  if (againCodes.has(code) || code === notKept) return 'again';
  // It may have lost a connection of its own.
  if (isOfTrigger(parts)) return 'unavailable';
  if (lost.test(code) || unanswered.has(code) || lostMessage.test(message)) return 'lost';
  const sentence = explain(parts);
  if (sentence === undefined) return 'fault';
  return sentence === ended ? 'lost' : 'unavailable';
}

/**
 * A failure to connect, as one that ends the connection. A pooler says it with any severity, and with the code of a bug of
 * the server: no statement of ours is at fault.
 */
export function ofConnecting(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? Object.assign(error, { severity: 'FATAL' }) : error;
}

/** How much a failure explains beside those of other servers: one that answered says more than one that is off. */
export function weightOf(error: unknown): number {
  const parts = partsOf(error);
  if (parts.code === readOnlyCode) return 0;
  return unanswered.has(parts.code) || explain(parts) === noAnswer ? 1 : 2;
}

/** The failure in plain words, as a StoreUnavailable, or PartUnavailable. A fault is returned as it is. */
export function explained(error: unknown, place: StoreAddress): unknown {
  if (error instanceof StoreUnavailable) return error;
  const parts = partsOf(error);
  const sentence = explain(parts);
  if (sentence === undefined) return error;
  const names: Readonly<Record<string, string>> = {
    ...place,
    server: `PostgreSQL at ${place.server}`,
    address: place.server,
    schema: place.schema ?? 'of this store',
    message: parts.message.replace(/\.$/, ''),
  };
  const text = sentence.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name]!);
  const isOfPart = sentence === trigger || (ofPart.has(parts.code) && !hasWaited(error));
  const Failure = isOfPart ? PartUnavailable : StoreUnavailable;
  return new Failure(text, { cause: error });
}

/** Whether a lock was waited for in vain. Other writes may need it, too, and each alone would wait as long again. */
const hasWaited = (error: unknown): boolean => error instanceof DatabaseError && error.routine === endsWaits;

function explain(parts: Parts): string | undefined {
  const { code, message, isFatal } = parts;
  // PgBouncer refuses with this code. A statement with too few values, which is a bug, has it, too.
  if (code === '08P01' && !message.startsWith('bind message')) return ended;
  if (code === '28000' && message.includes('no encryption'))
    return '{server} does not admit the user {user} to the database {database} without TLS. Add ?sslmode=verify-full to store.url.';
  if (againCodes.has(code)) return explanations['55P03'];
  const ofLost = lost.test(code) ? connectionBroke : undefined;
  const byWords = byMessage.find(([pattern]) => pattern.test(message))?.[1];
  const byClass = isFatal ? ended : ofServer.test(code) ? failed : undefined;
  // Before the others: the table that a trigger misses is none of the store.
  if (isOfTrigger(parts)) return trigger;
  return explanations[code] ?? ofLost ?? byWords ?? byClass;
}

const isOfTrigger = ({ code, isFatal, isOfFunction }: Parts): boolean =>
  isOfFunction && !isFatal && !ofServer.test(code) && !ownInFunction.test(code);

interface Parts {
  readonly code: string;
  readonly message: string;
  /** The other side ended the connection, which it does for no fault of a statement. */
  readonly isFatal: boolean;
  /** It happened in a function of the server. */
  readonly isOfFunction: boolean;
}

function partsOf(error: unknown): Parts {
  if (!(error instanceof Error)) return { code: '', message: '', isFatal: false, isOfFunction: false };
  const { message, code = '', severity, where } = error as Error & Partial<Record<string, unknown>>;
  return {
    code: String(code),
    message,
    isFatal: severity === 'FATAL' || severity === 'PANIC',
    isOfFunction: typeof where === 'string' && inFunction.test(where),
  };
}
