import { existsSync } from 'node:fs';
import { basename, delimiter, join, relative, resolve, sep } from 'node:path';

const installed = ((called = ''): string => {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const isInstalled = folders.some((folder) => existsSync(join(folder, 'candidate-connector')));
  if (isInstalled || basename(called) !== 'main.ts') return 'candidate-connector';
  const here = relative(process.cwd(), called).replaceAll(sep, '/');
  // In a clone, its own Node is meant.
  return here.startsWith('..') ? `node ${shellWord(called)}` : `npx node ${shellWord(here)}`;
})(process.argv[1]);

/**
 * How people call this program here: in a clone, nothing is installed under its name. What the command line said of the
 * config is part of it, so that what this process advises means the same config. To be read when it is shown.
 */
export let program = installed;

/** Has `program` name a config; null: what is found without being named, as by CONNECTOR_CONFIG. */
export function meanConfig(file: string | null): void {
  const isDefault = file === null || resolve(file) === resolve('config.yaml');
  program = isDefault ? installed : `${installed} --config ${shellWord(file)}`;
}

/** As a shell takes it for one word. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
