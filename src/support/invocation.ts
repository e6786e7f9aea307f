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

/** The config of a command that names none. */
export const configWithoutName = (env: NodeJS.ProcessEnv): string =>
  env['CONNECTOR_CONFIG'] || './config.yaml';

/** Has `program` name this config, where a command would find another one without that; null: no config is meant. */
export function meanConfig(file: string | null, env: NodeJS.ProcessEnv = {}): void {
  const isFound = file === null || resolve(file) === resolve(configWithoutName(env));
  program = isFound ? installed : `${installed} --config ${shellWord(file)}`;
}

/** How `check` is called on the machine of a replica, whose config may not be that of this process. */
export const checkOf = (file: string): string => `${installed} check --config ${shellWord(file)}`;

/** As a shell takes it for one word. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** What a changed variable or password takes, which the process reads when it starts. */
export const takesRestart =
  'takes a restart of each replica. Make a container anew: one that is restarted keeps the old variables.';
