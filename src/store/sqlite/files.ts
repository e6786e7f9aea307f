import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { mkdir, statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { NoRoom, StoreUnavailable } from '../driver.ts';

/** The inode of the file at a path, or undefined; see foundAt. No other file can get it while the file is open. */
export function inodeOf(path: string): number | undefined {
  return foundAt(path)?.ino;
}

/**
 * Identifies a file among all that were ever made. The inode alone does not: it is used again, and is often the same on a
 * new disk. The device is left out, as its number may change with each boot.
 */
export function identityOf(path: string): string {
  const { ino, birthtimeNs } = statSync(path, { bigint: true });
  return `${ino} ${birthtimeNs}`;
}

/** The size of a file, 0 if there is none; see foundAt. */
export const bytesOf = (path: string): number => foundAt(path)?.size ?? 0;

const leastRoomBytes = 2 ** 20;

export async function seeRoom(path: string): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(dirname(path));
  // Some file systems say that they have no blocks.
  if (blocks > 0 && bavail * bsize < leastRoomBytes) throw new NoRoom(diskFull(path));
}

/** Says that the disk is full. Names the store, also for its lock, so that nobody makes room by removing its WAL. */
export const diskFull = (path: string): string =>
  `The disk that holds ${path.replace(/\.serving$/, '')} is full. Make room, but leave each file whose name begins so: together they are the store.`;

/**
 * Files that this process may have open. To open and close one of them here would drop all locks of this process on it.
 */
const lookedInto = new Set<string>();

/**
 * Refuses a file whose WAL is of another file. Beside an empty file, SQLite would remove the WAL with the newest events; into
 * a backup that was put in the store's place, it would write parts of the former store. A file that was used with a WAL says
 * so in its header, and one that `backup` has made does not.
 */
export function refuseOtherWal(path: string): void {
  const isNew = !lookedInto.has(path);
  lookedInto.add(path);
  if (!existsSync(path) || bytesOf(`${path}-wal`) === 0) return;
  if (bytesOf(path) === 0)
    throw new StoreUnavailable(
      `${path} was emptied. Copy ${path}-wal to another folder, since only that has the newest events. Then restore a backup.`,
    );
  if (isNew && isFileWithoutWal(path))
    throw new StoreUnavailable(
      `${path}-wal is not of this ${path}, which was put there since, as a backup: together they would be damaged. Move ${path}-wal and ${path}-shm to another folder, then start the connector. A ${path}.rescued-TIME, if there is one, has all that the store had: rename it to ${path} before that.`,
    );
}

/** Whether the header of a file of SQLite's says that it is written without a WAL, as `backup` makes it. */
export function isWithoutWal(fd: number): boolean {
  const header = Buffer.alloc(19);
  try {
    readSync(fd, header, 0, header.length, 0);
  } catch {
    // The next use of it reports what is wrong.
  }
  // 2 with a WAL.
  return header[18] === 1;
}

function isFileWithoutWal(path: string): boolean {
  let is = false;
  // Opening it reports what is wrong.
  tryTo(() => {
    const fd = openSync(path, 'r');
    is = isWithoutWal(fd);
    closeSync(fd);
  });
  return is;
}

/**
 * Resolves the links of a path, which may not exist yet. SQLite puts the WAL beside the real file; so do we with ours.
 */
export function resolveLinks(path: string): string {
  if (path === ':memory:') return path;
  try {
    return realpathSync(path);
  } catch (error) {
    // Opening it reports what else is wrong.
    if (codeOf(error) !== 'ENOENT') return resolve(path);
  }
  const folder = dirname(resolve(path));
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
    return resolveLinks(resolve(realpathSync(folder), readlinkSync(path)));
  }
  return join(resolveLinks(folder), basename(path));
}

/** What is at a path, if anything. Throws StoreUnavailable if the system does not tell. */
export function foundAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    const code = codeOf(error);
    const unknown = `The system does not say what is at ${path} (${code}).`;
    throw new StoreUnavailable(code === 'EACCES' ? cannotOpen(path) : unknown, { cause: error });
  }
}

/**
 * Why this process cannot open a store, and what to do. In a container the folder is often another user's than the image's,
 * and nobody sees there who is who.
 */
export function cannotOpen(path: string): string {
  const store = path.replace(/\.serving$/, '');
  const why = [dirname(store), store, path].map(closedTo).find((found) => found !== null);
  return `${store} cannot be opened${why ?? '. Its folder must exist, this process must be allowed to write there, and it must not have too many files open.'}`;
}

function closedTo(place: string): string | null {
  try {
    accessSync(place, constants.W_OK);
    return null;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EROFS')
      return `: ${place} is on a file system that is read-only. Mount it with write access.`;
    return code === 'EACCES' ? ownerOf(place) : null;
  }
}

function ownerOf(place: string): string | null {
  try {
    const { uid, gid, mode } = statSync(place);
    const rights = (mode & 0o777).toString(8);
    return `: ${place} belongs to user ${uid} and group ${gid} (mode ${rights}), and this process is user ${process.getuid?.()} with group ${process.getgid?.()}. Let it belong to this user, or run this as that one.`;
  } catch {
    // A folder further up is closed.
    return null;
  }
}

/**
 * Refuses all but a file with one name. Under each name a file gets its own WAL and lock, and two processes would
 * destroy it.
 */
export function refuseOthers(path: string): void {
  const found = foundAt(path);
  if (found === undefined) return;
  if (found.isDirectory())
    throw new StoreUnavailable(
      `${path} is a folder, and a store is a file. Name one in it: sqlite:${join(path, 'connector.db')}`,
    );
  if (!found.isFile()) throw new StoreUnavailable(`${path} is no file, and a store is one.`);
  const links = found.nlink;
  if (links <= 1) return;
  throw new StoreUnavailable(
    `${path} has ${links} names (hard links), and a store must have one: under another name it is written to ` +
      `without regard to this one. \`find -samefile ${path}\` shows them; remove the others, or make copies of them.`,
  );
}

/** Takes the rights of other users off the store's files, which version 0.1 left. Those of the group stay. */
export function keepFromOthers(path: string): void {
  for (const name of ['', '-wal', '-shm', '.serving', '.serving-by'].map((suffix) => path + suffix)) {
    const mode = statSync(name, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o007) === 0) continue;
    // If it belongs to somebody else, they decide.
    tryTo(() => chmodSync(name, 0o600));
  }
}

export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const code = codeOf(error);
    const why = ['EEXIST', 'ENOTDIR'].includes(code) ? 'a part of its path is a file' : code;
    throw new StoreUnavailable(`The folder ${path} cannot be made (${why}).`, { cause: error });
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

export function tryTo(work: () => void): void {
  try {
    work();
  } catch {
    // It is not needed, or what comes next reports the failure.
  }
}
