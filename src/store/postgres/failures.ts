import { DatabaseError } from 'pg';
import { StoreUnavailable } from '../store.ts';

/**
 * What a failure means for a transaction. `again`: another one was in the way, and this one was undone; `lost`: the
 * server went away, and whatever was not committed was undone; `unavailable`: it cannot be done for now; `fault`: a bug to
 * fix, in one of its operations.
 */
export type FailureKind = 'again' | 'lost' | 'unavailable' | 'fault';

/** Where a store is, to say so. Without the password. */
export interface StoreAddress {
  /** host:port, or a socket's folder */
  readonly server: string;
  readonly user: string;
  readonly database: string;
  readonly schema: string | null;
}

type Explain = (place: StoreAddress, message: string) => string;

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const againCodes = new Set(['40001', '40P01']);

const lostExplained = ({ server }: StoreAddress, message: string) =>
  `The connection to PostgreSQL at ${server} broke: ${message}.`;

/** Of a standby. */
export const readOnlyCode = '25006';

/** Codes of the server, of the system and of TLS. */
const explanations: ReadonlyMap<string, Explain> = new Map<string, Explain>([
  ['28P01', ({ server, user }) => `PostgreSQL at ${server} refused the password of the user ${user}.`],
  ['28000', refused],
  [
    '3D000',
    ({ server, database }) => `There is no database ${database} on PostgreSQL at ${server}. Create it first.`,
  ],
  [
    '3F000',
    ({ database, schema }) =>
      `The schema ${schema ?? 'of this store'} is missing in the database ${database}.`,
  ],
  [
    '42501',
    ({ user, database }, message) =>
      `The user ${user} lacks a right in the database ${database}: ${message}. It must be allowed to create and to use tables there.`,
  ],
  [
    '42P01',
    ({ database }, message) =>
      `A table of the store is missing in the database ${database}: ${message}. Restore a backup.`,
  ],
  ['53100', ({ server }) => `The disk of PostgreSQL at ${server} is full.`],
  ['53200', ({ server }, message) => `PostgreSQL at ${server} has not enough memory: ${message}.`],
  [
    '53300',
    ({ server, user }) =>
      `PostgreSQL at ${server} takes no more connections of the user ${user}. Raise its limit, or close others.`,
  ],
  [
    readOnlyCode,
    ({ server }) =>
      `PostgreSQL at ${server} is read-only, perhaps a standby. The store needs the primary server.`,
  ],
  [
    '25P03',
    ({ server }) => `PostgreSQL at ${server} ended a transaction because this process stood still in it.`,
  ],
  ['55P03', ({ database }) => `Another process keeps rows of the database ${database} locked.`],
  ['57014', ({ server }) => `PostgreSQL at ${server} took too long over a statement.`],
  ['57P01', ({ server }) => `PostgreSQL at ${server} is shutting down.`],
  ['57P02', ({ server }) => `PostgreSQL at ${server} crashed and starts again.`],
  ['57P03', ({ server }, message) => `PostgreSQL at ${server} is not ready: ${message}.`],
  ['58030', ({ server }) => `The disk of PostgreSQL at ${server} reported an error.`],
  ['XX001', ({ database }, message) => `The database ${database} is damaged: ${message}. Restore a backup.`],
  ['XX002', ({ database }, message) => `The database ${database} is damaged: ${message}. Restore a backup.`],

  ['ECONNREFUSED', ({ server }) => `No PostgreSQL listens at ${server}.`],
  ['ENOENT', ({ server }) => `No PostgreSQL listens at ${server}.`],
  ['ENOTFOUND', ({ server }) => `The host of ${server} was not found.`],
  ['EAI_AGAIN', ({ server }) => `The host of ${server} cannot be looked up for now.`],
  ['ETIMEDOUT', noAnswer],
  ['EHOSTUNREACH', ({ server }) => `The network has no way to ${server}.`],
  ['ENETUNREACH', ({ server }) => `The network has no way to ${server}.`],
  ['ECONNRESET', lostExplained],
  ['EPIPE', lostExplained],

  ['CERT_HAS_EXPIRED', ({ server }) => `The certificate of PostgreSQL at ${server} has expired.`],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    ({ server }) => `The certificate of PostgreSQL at ${server} is for another host.`,
  ],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', untrusted],
  ['SELF_SIGNED_CERT_IN_CHAIN', untrusted],
  ['UNABLE_TO_GET_ISSUER_CERT', untrusted],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', untrusted],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', untrusted],
]);

/** Errors of pg itself, which have no code. */
const byMessage: readonly (readonly [RegExp, Explain])[] = [
  [
    /does not support SSL/,
    ({ server }) =>
      `PostgreSQL at ${server} offers no TLS, which store.url demands. Turn it on there, or set sslmode=disable.`,
  ],
  [/establishing an SSL/, ({ server }) => `${server} does not answer as a PostgreSQL with TLS does.`],
  [
    /password must be a string|empty string/,
    ({ server, user }) =>
      `PostgreSQL at ${server} wants a password of the user ${user}, and store.url has none.`,
  ],
  [/connection timeout$|^timeout e|no answer in time/, noAnswer],
  [
    /^Connection terminated|not queryable/,
    ({ server }) => `The connection to PostgreSQL at ${server} was closed.`,
  ],
];

const lost = /^(?:57P0[1-5]|08(?!P01)...|25P03|ECONNREFUSED|ECONNRESET|EPIPE)$/;
const lostMessage = /^Connection terminated(?! due)|not queryable|no answer in time/;

/** A duplicate's event, deleted by another replica since it was found. Now it is no duplicate. */
const isOfDeleted = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  error.code === '23503' &&
  ['duplicates', 'correlations'].includes(error.table ?? '');

export function failureKind(error: unknown): FailureKind {
  if (error instanceof StoreUnavailable) return 'unavailable';
  if (isOfDeleted(error)) return 'again';
  const { code, message } = partsOf(error);
  if (againCodes.has(code)) return 'again';
  if (lost.test(code) || lostMessage.test(message)) return 'lost';
  return explain(code, message) ? 'unavailable' : 'fault';
}

/** The failure in plain words. A fault stays as it is. */
export function explained(error: unknown, place: StoreAddress): unknown {
  if (error instanceof StoreUnavailable) return error;
  const { code, message } = partsOf(error);
  const sentence = explain(code, message)?.(place, message.replace(/\.$/, ''));
  return sentence === undefined ? error : new StoreUnavailable(sentence, { cause: error });
}

function explain(code: string, message: string): Explain | undefined {
  // PgBouncer's own refusals have this code, and so does a statement with too few values.
  if (code === '08P01' && !message.startsWith('bind message')) return refusedByPooler;
  if (lost.test(code) && !explanations.has(code)) return lostExplained;
  if (againCodes.has(code)) return explanations.get('55P03');
  return explanations.get(code) ?? byMessage.find(([pattern]) => pattern.test(message))?.[1];
}

function partsOf(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: '', message: '' };
  return { code: 'code' in error ? String(error.code) : '', message: error.message };
}

function refused({ server, user, database }: StoreAddress, message: string): string {
  if (message.includes('no encryption')) {
    return `PostgreSQL at ${server} does not admit the user ${user} to the database ${database} without TLS. Add ?sslmode=verify-full to store.url.`;
  }
  return `PostgreSQL at ${server} does not admit the user ${user} to the database ${database}: ${message}.`;
}

function refusedByPooler({ server }: StoreAddress, message: string): string {
  return `${server} refused the connection: ${message}.`;
}

function noAnswer({ server }: StoreAddress): string {
  return `PostgreSQL at ${server} did not answer in time.`;
}

function untrusted({ server }: StoreAddress): string {
  return `The certificate of PostgreSQL at ${server} is not from a known authority. Name the authority's file in store.url: ?sslmode=verify-full&sslrootcert=/path/ca.pem.`;
}
