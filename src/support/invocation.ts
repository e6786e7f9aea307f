import { existsSync } from 'node:fs';
import { basename, delimiter, join, relative, sep } from 'node:path';

/** How people call this program here: in a clone, nothing is installed under its name. */
export const program = ((called = ''): string => {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const isInstalled = folders.some((folder) => existsSync(join(folder, 'candidate-connector')));
  if (isInstalled || basename(called) !== 'main.ts') return 'candidate-connector';
  const here = relative(process.cwd(), called).replaceAll(sep, '/');
  // In a clone, its own Node is meant.
  return here.startsWith('..') ? `node ${shellWord(called)}` : `npx node ${shellWord(here)}`;
})(process.argv[1]);

/** As a shell takes it for one word. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
