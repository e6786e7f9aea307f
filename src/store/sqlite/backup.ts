import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { leaveHome } from '../operations/housekeeping.ts';
import { StoreUnavailable } from '../driver.ts';
import { Database, runOn } from './database.ts';
import { isFull, unavailable } from './failures.ts';
import { codeOf, foundAt, inodeOf, refuseOtherWal, refuseOthers, resolveLinks } from './files.ts';
import { faultIn, keepsHome } from './integrity.ts';
import { isLocked } from './serving-lock.ts';

/** Thrown when a copy cannot be made where it was to be. The store is as it was. `message` says why in plain words. */
export class CopyFailed extends StoreUnavailable {}

/** Called now and then, with numbers of bytes. */
export type Progress = (copied: number, total: number) => void;

export interface BackupResult {
  /** When the copy was begun (ms). It has all that was accepted before. */
  readonly takenAt: number;
  readonly bytes: number;
  /** The file's inode. If another file is at the path later, a second copy was begun there meanwhile. */
  readonly inode: number | undefined;
}

const lockTimeoutMs = 10_000;
const pagesAtOnce = 1000;
/** How much of the disk a copy leaves free: the store may be on the same disk, and events come meanwhile. */
const spareBytes = 100_000_000;

/**
 * Copies a store, which may be served meanwhile, to a file of its own, and checks the copy. Overwrites what is at `to`. Leaves
 * nothing there if it fails. The copy is on the disk when this resolves. Throws StoreUnavailable.
 */
export async function copySqlite(path: string, to: string, progress: Progress): Promise<BackupResult> {
  const from = resolveLinks(path);
  if (foundAt(from) === undefined) throw new StoreUnavailable(`There is no store at ${resolve(path)}.`);
  refuseOthers(from);
  refuseOtherWal(from);
  // One that was interrupted has no lock.
  if (isLocked(to)) throw new CopyFailed(`Another copy to ${to} is being made.`);
  try {
    remove(to);
    // It holds candidates' data.
    closeSync(openSync(to, 'wx', 0o600));
  } catch (error) {
    throw failed(error, to);
  }
  const inode = inodeOf(to);
  try {
    const takenAt = await copy(from, to, progress);
    finish(to);
    return { takenAt, bytes: statSync(to).size, inode };
  } catch (error) {
    remove(to);
    throw failed(error, to);
  }
}

function failed(error: unknown, to: string): unknown {
  if (isFull(error) || codeOf(error) === 'ENOSPC')
    return new CopyFailed(`The disk of ${dirname(to)} is full.`, { cause: error });
  // Of the system, not of SQLite.
  if (error instanceof Error && 'syscall' in error)
    return new CopyFailed(`${to} cannot be written (${codeOf(error)}).`, { cause: error });
  return unavailable(error, to);
}

/** Stores when the last backup was taken. Returns false if that cannot be written: the backup is as good without. */
export function noteBackup(path: string, takenAt: number): boolean {
  try {
    const db = new DatabaseSync(resolveLinks(path), { timeout: lockTimeoutMs });
    try {
      db.prepare('update home set backed_up_at = ?').run(takenAt);
    } finally {
      db.close();
    }
    return true;
  } catch {
    return false;
  }
}

/** Removes a file, and what SQLite leaves beside it when it is killed and would take for a part of the next file. */
function remove(path: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
}

/** In a read transaction: otherwise each event that is stored meanwhile would begin the copy anew. */
function openToRead(from: string): DatabaseSync {
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(from, { timeout: lockTimeoutMs });
    db.exec('begin; select count(*) from sqlite_schema');
    return db;
  } catch (error) {
    db?.close();
    throw unavailable(error, from);
  }
}

async function copy(from: string, to: string, progress: Progress): Promise<number> {
  const takenAt = Date.now();
  const db = openToRead(from);
  try {
    const pageSize = numberOf(db, 'page_size');
    const bytes = numberOf(db, 'page_count') * pageSize;
    // A full disk would refuse new events, too.
    const { bavail, bsize } = statfsSync(dirname(to));
    if (bavail * bsize < bytes + spareBytes) {
      const mb = (count: number) => `${Math.ceil(count / 1_000_000)} MB`;
      throw new CopyFailed(
        `A copy takes ${mb(bytes)}, and the disk of ${dirname(to)} has ${mb(bavail * bsize)} left, of which ${mb(spareBytes)} stay free.`,
      );
    }
    await backup(db, to, {
      rate: pagesAtOnce,
      progress: ({ totalPages, remainingPages }) =>
        progress((totalPages - remainingPages) * pageSize, totalPages * pageSize),
    });
    return takenAt;
  } finally {
    db.close();
  }
}

/**
 * Makes a copy ready to take the store's place: one file without a WAL, checked and synced. Marks it as a copy: written over
 * the store's file, it would have the inode of the store.
 */
function finish(path: string): void {
  const db = new Database(path);
  try {
    db.exec('pragma journal_mode = delete');
    if (keepsHome(db)) runOn(db, leaveHome());
    const fault = faultIn(db);
    if (fault !== null)
      throw new StoreUnavailable(`The copy is damaged, and so the store is, most likely: ${fault}`);
  } finally {
    db.close();
  }
  sync(path);
}

/** Syncs a file; or a folder, once a name in it has changed. */
export function sync(path: string): void {
  const isWindows = process.platform === 'win32';
  // Windows syncs no folders, and files only where they may be written.
  if (isWindows && statSync(path).isDirectory()) return;
  const fd = openSync(path, isWindows ? 'r+' : 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const numberOf = (db: DatabaseSync, pragma: 'page_count' | 'page_size'): number =>
  Number(db.prepare(`pragma ${pragma}`).get()?.[pragma]);
