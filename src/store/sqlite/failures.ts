import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs';
import { Damaged, StoreUnavailable } from '../driver.ts';
import { cannotOpen, codeOf, diskFull } from './files.ts';

/** What an error of SQLite means. busy: wait for another process. unavailable: refuse for now. fault: a bug to fix. */
export type FailureKind = 'busy' | 'unavailable' | 'fault';

// Result codes: https://www.sqlite.org/rescode.html. The low byte is the primary one.
const busyCodes = new Set([5, 6]);

const readOnly = 8;
const diskFailed = 10;
const corrupt = 11;
const full = 13;

const explanations: ReadonlyMap<number, (path: string) => string> = new Map([
  [3, (path: string) => `The system does not permit access to ${path}.`],
  [7, () => 'There is not enough memory.'],
  [readOnly, cannotWrite],
  [diskFailed, (path: string) => `The disk reported an error on ${path}: it may be full, or broken.`],
  [corrupt, damaged],
  [full, diskFull],
  [14, cannotOpen],
  [15, (path: string) => `${path} cannot be locked. It must be on a local disk, not on a network share.`],
  [22, (path: string) => `${path} is larger than its file system allows.`],
  [26, (path: string) => `${path} is not a SQLite database.`],
]);

export function failureKind(error: unknown): FailureKind {
  if (error instanceof StoreUnavailable) return 'unavailable';
  const code = primaryCode(error);
  if (busyCodes.has(code)) return 'busy';
  return explanations.has(code) ? 'unavailable' : 'fault';
}

/** The failure in plain words. Call it only if failureKind is busy or unavailable. */
export function unavailable(error: unknown, path: string): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  const code = primaryCode(error);
  // The system makes a file system with faults read-only.
  const found = code === diskFailed && isOnReadOnlyDisk(path) ? readOnly : code;
  const explain = explanations.get(found) ?? (() => `Another process keeps ${path} locked.`);
  const Failure = code === corrupt ? Damaged : StoreUnavailable;
  return new Failure(explain(path), { cause: error });
}

/** Says that a store is damaged, and what to do. */
export function damaged(path: string): string {
  return `${path} is damaged. Stop the connector, move it with ${path}-wal and ${path}-shm to another folder, as the rest of it can still be read there, and put a backup in its place. If you have just put one there beside these two, they damaged it: do it again without them. A copy that was made of the files one after the other while the connector ran is damaged likewise.`;
}

export const isFull = (error: unknown): boolean => primaryCode(error) === full;

export const isReadOnly = (error: unknown): boolean => primaryCode(error) === readOnly;

/** Names the one of the store's files that may not be written: SQLite gives the mode of the store to those beside it. */
function cannotWrite(path: string): string {
  const file = ['', '-wal', '-shm'].map((suffix) => path + suffix).find(isReadOnlyFile) ?? path;
  return `${file} cannot be written: the file, its folder or its file system is read-only.`;
}

function isReadOnlyFile(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch {
    return existsSync(path);
  }
}

/** The error for a WAL that cannot be opened. */
export const unopened = (error: unknown, path: string): StoreUnavailable =>
  ['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error))
    ? new StoreUnavailable(cannotWrite(path), { cause: error })
    : unsynced(error, path);

/** Tries the file beside it: closing one that SQLite has open would drop this process's locks. */
function isOnReadOnlyDisk(path: string): boolean {
  try {
    closeSync(openSync(`${path}.serving-by`, 'r+'));
    return false;
  } catch (error) {
    return codeOf(error) === 'EROFS';
  }
}

/** The error for a sync of the WAL that failed. */
export function unsynced(error: unknown, path: string): StoreUnavailable {
  const code = codeOf(error);
  const why = code === 'EROFS' ? `${code}: its file system is read-only` : code;
  return new StoreUnavailable(
    `The disk could not write ${path}-wal (${why}). Whether the last changes were stored is not known. Nothing more is stored until all that is in it is in ${path}, which is tried each second.`,
    { cause: error },
  );
}

function primaryCode(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : null;
  return typeof code === 'number' ? code & 0xff : -1;
}
