import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { leaveHome } from '../operations/housekeeping.ts';
import { query } from '../operation.ts';
import { StoreUnavailable } from '../driver.ts';
import { Database, runOn } from './database.ts';
import { unavailable } from './failures.ts';
import { foundAt, inodeOf, refuseOtherWal, refuseOthers, resolveLinks } from './files.ts';

/** Called now and then, with bytes. */
export type Progress = (copied: number, total: number) => void;

export interface BackupResult {
  /** What was accepted before is in the copy. */
  readonly takenAt: number;
  readonly bytes: number;
  /** Another file is at its path where a second copy was begun there meanwhile. */
  readonly inode: number | undefined;
}

const lockTimeoutMs = 10_000;
const pagesAtOnce = 1000;
/** What has to stay free for the events that come meanwhile, where the store is on the same disk. */
const spareBytes = 100_000_000;

/**
 * Copies a store to a file of its own, while it may be served, and checks the copy. It is on the disk when this resolves;
 * when this rejects, nothing is left. What is at `to` is overwritten. Throws StoreUnavailable.
 */
export async function copySqlite(path: string, to: string, progress: Progress): Promise<BackupResult> {
  const from = resolveLinks(path);
  if (foundAt(from) === undefined) throw new StoreUnavailable(`There is no store at ${resolve(path)}.`);
  refuseOthers(from);
  refuseOtherWal(from);
  remove(to);
  // It holds candidates' data.
  closeSync(openSync(to, 'wx', 0o600));
  const inode = inodeOf(to);
  try {
    const takenAt = await copy(from, to, progress);
    finish(to);
    return { takenAt, bytes: statSync(to).size, inode };
  } catch (error) {
    remove(to);
    throw unavailable(error, to);
  }
}

/** Tells the store when its last backup was taken. False where it cannot be written: the backup is as good without. */
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

/** With what SQLite leaves beside it when it is killed, and would take for a part of the next file. */
function remove(path: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
}

async function copy(from: string, to: string, progress: Progress): Promise<number> {
  const db = new DatabaseSync(from, { timeout: lockTimeoutMs });
  try {
    const takenAt = Date.now();
    // Reading holds on to this moment. Otherwise each event that is stored meanwhile would begin the copy anew.
    db.exec('begin; select count(*) from sqlite_schema');
    const pageSize = numberOf(db, 'page_size');
    const bytes = numberOf(db, 'page_count') * pageSize;
    // Here, since a full disk would also refuse new events.
    const { bavail, bsize } = statfsSync(dirname(to));
    if (bavail * bsize < bytes + spareBytes) {
      const mb = (count: number) => `${Math.ceil(count / 1_000_000)} MB`;
      throw new StoreUnavailable(
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
 * One file, without a WAL, that is ready to take the store's place. It is marked as a copy, since whoever writes it
 * over the store's file makes no other file of that.
 */
function finish(path: string): void {
  const db = new Database(path);
  try {
    db.exec('pragma journal_mode = delete');
    runOn(db, leaveHome());
    const fault = db.get(integrity)?.integrity_check;
    if (fault !== 'ok')
      throw new StoreUnavailable(`The copy is damaged, and so the store is, most likely: ${fault}`);
  } finally {
    db.close();
  }
  sync(path);
}

/** To be called for a folder as well, once a name in it has changed. */
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

const integrity = query<{ readonly integrity_check: string }>('pragma integrity_check(1)');

const numberOf = (db: DatabaseSync, pragma: 'page_count' | 'page_size'): number =>
  Number(db.prepare(`pragma ${pragma}`).get()?.[pragma]);
