import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../commands/tools.ts';
import { main } from '../fixtures/program.ts';
import { unpackDebian } from './mail-servers.ts';

const exec = promisify(execFile);
let debian: string;
let folder: string;

beforeAll(async () => {
  debian = await unpackDebian(['zsh', 'zsh-common', 'fish', 'fish-common']);
  folder = await mkdtemp(join(tmpdir(), 'shells-'));
  const program = join(folder, 'candidate-connector');
  await writeFile(program, `#!/bin/sh\nexec ${process.execPath} ${main} "$@"\n`);
  await chmod(program, 0o755);
}, 300_000);

afterAll(async () => {
  for (const one of [debian, folder]) await rm(one, { recursive: true, force: true });
});

/** Runs a line in a shell that knows our completion. */
async function inShell(shell: 'zsh' | 'fish', line: string): Promise<string[]> {
  const script = join(folder, `completion.${shell}`);
  await writeFile(script, (await run(['completion', shell])).out);
  const at = join(debian, 'root');
  const env = {
    ...process.env,
    HOME: folder,
    PATH: `${folder}:${process.env['PATH']}`,
    LD_LIBRARY_PATH: join(at, 'usr/lib/x86_64-linux-gnu'),
  };
  const path = join(at, shell === 'zsh' ? 'bin/zsh' : 'usr/bin/fish');
  const { stdout } = await exec(path, ['-c', line.replace('SCRIPT', script)], { env });
  return stdout
    .trim()
    .split('\n')
    .map((offer) => offer.trim());
}

test('fish completes commands, and values of options', async () => {
  expect(await inShell('fish', 'source SCRIPT; complete -C "candidate-connector even"')).toEqual([
    'event',
    'events',
  ]);
  expect(await inShell('fish', 'source SCRIPT; complete -C "candidate-connector events --status D"')).toEqual(
    ['DidNotTake'],
  );
  expect(await inShell('fish', 'source SCRIPT; complete -C "candidate-connector completion "')).toEqual(
    expect.arrayContaining(['bash', 'zsh', 'fish']),
  );
});

/** Its completion runs only at a terminal, so what it would offer is printed. */
test('zsh completes commands, and values of options', async () => {
  const offered = (words: string) =>
    `compdef() { :; }; compadd() { print -l -- $offers; }; _files() { print files; }; source SCRIPT; words=(${words}); CURRENT=$#words; _candidate_connector`;
  expect(await inShell('zsh', offered('candidate-connector even'))).toEqual(['events', 'event']);
  expect(await inShell('zsh', offered('candidate-connector events --status D'))).toEqual(['DidNotTake']);
  expect(await inShell('zsh', offered('candidate-connector completion ""'))).toEqual(['bash', 'zsh', 'fish']);
  expect(await inShell('zsh', offered('candidate-connector check ""'))).toEqual(['files']);
});
