import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { run } from '../operation.ts';
import { StoreUnavailable } from '../driver.ts';
import { sync } from './backup.ts';
import { type Database, runOn } from './database.ts';
import { foundAt, tryTo } from './files.ts';

const rescuedAs = (path: string) => `${path}.rescued-`;

/** Writes all that an open store has to a new file beside its path, and returns its name. Throws what the system throws. */
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

/** Where the store is gone and was rescued, an empty one would hide that. Throws StoreUnavailable. */
export function refuseBesideRescued(path: string): void {
  if (foundAt(path) !== undefined) return;
  const [folder, begin] = [dirname(path), basename(rescuedAs(path))];
  let names: readonly string[] = [];
  // Of a folder that is missing, or may not be listed, nothing is known.
  tryTo(() => (names = readdirSync(folder)));
  const newest = names
    .filter((name) => name.startsWith(begin))
    .toSorted()
    .at(-1);
  if (newest === undefined) return;
  const rescued = join(folder, newest);
  throw new StoreUnavailable(
    `There is no store at ${path}, and all that the one before had is in ${rescued}. Rename that to ${path}, or move it to another folder to begin with an empty store.`,
  );
}
