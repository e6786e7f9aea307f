import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { run } from '../operation.ts';
import { StoreUnavailable } from '../driver.ts';
import { sync } from './backup.ts';
import { type Database, runOn } from './database.ts';
import { foundAt, tryTo } from './files.ts';

const rescuedAs = (path: string) => `${path}.rescued-`;

/**
 * Writes all that an open store has to a new file beside its path. Returns the file's path. Throws the system's errors.
 */
export function rescue(db: Database, path: string): string {
  const file = rescuedAs(path) + new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  // It holds candidates' data.
  closeSync(openSync(file, 'wx', 0o600));
  try {
    runOn(db, run('vacuum into $1', file));
    sync(file);
    sync(dirname(file));
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }
  return file;
}

/** The newest file beside a store's path with what one before had; null if there is none, or the folder cannot be listed. */
export function rescuedBeside(path: string): string | null {
  const [folder, begin] = [dirname(path), basename(rescuedAs(path))];
  let names: readonly string[] = [];
  tryTo(() => (names = readdirSync(folder)));
  const newest = names
    .filter((name) => name.startsWith(begin) && /^\d+T\d+Z$/.test(name.slice(begin.length)))
    .toSorted()
    .at(-1);
  return newest === undefined ? null : join(folder, newest);
}

/** Refuses to create a store beside a rescued one, as an empty store would hide that. Throws StoreUnavailable. */
export function refuseBesideRescued(path: string): void {
  const rescued = foundAt(path) === undefined ? rescuedBeside(path) : null;
  if (rescued === null) return;
  throw new StoreUnavailable(
    `There is no store at ${path}, and all that the one before had is in ${rescued}. Rename that to ${path}, or move it to another folder to begin with an empty store.`,
  );
}
