import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { theProgram } from '../fixtures/program.ts';
import { run, workplace } from './tools.ts';

const exec = promisify(execFile);

async function withConfig() {
  const { folder, write } = await workplace();
  const file = await write(
    'config.yaml',
    `
sinks: { slack: { connector: slack, token: '\${TOKEN}' }, sheet: {} }
rules: [ { name: told by mail }, { name: told, then: oops } ]
`,
  );
  return { folder, write, file };
}

/** The completions of the last of these words. */
const offers = async (...words: string[]): Promise<string[]> =>
  (await run(['complete', '--', ...words])).out.split('\n').filter((line) => line !== '');

test('commands, options and their values are offered, as far as they are typed', async () => {
  expect(await offers('')).toEqual(
    expect.arrayContaining(['init', 'serve', 'check', 'events', 'completion']),
  );
  expect(await offers('')).not.toContain('complete');
  expect(await offers('eve')).toEqual(['events', 'event']);
  expect(await offers('events', '--st')).toEqual(['--store', '--status', '--state']);
  expect(await offers('events', '--status', 'Completed', '--status', '')).toEqual([
    'Completed',
    'DidNotTake',
    'Canceled',
  ]);
  expect(await offers('events', '--json', '--js')).toEqual([]);
  expect(await offers('events', '--state', 'd')).toEqual(['delivered', 'dead', 'discarded']);
  expect(await offers('events', '--state', 'dead,h')).toEqual(['dead,held']);
  expect(await offers('init', '--tools', 'slack,e')).toEqual(['slack,email']);
  expect(await offers('completion', 'z')).toEqual(['zsh']);
  expect(await offers('nothing', 'x')).toEqual([]);
});

test('names of sinks and rules are those of the config, even with faults', async () => {
  const { file } = await withConfig();
  expect(await offers('replay', '-c', file, '--sink', '')).toEqual(['slack', 'sheet']);
  expect(await offers('retry', '-c', file, '')).toEqual(['slack', 'sheet']);
  expect(await offers('events', '--config', file, '--rule', 'told')).toEqual(['told by mail', 'told']);
  expect((await run(['complete', '--', 'events', '--rule', ''], { CONNECTOR_CONFIG: file })).out).toContain(
    'told\n',
  );
  expect(await offers('events', '--config', `${file}.not`, '--sink', '')).toEqual([]);
  // The shell offers files.
  for (const before of [['events', '--config'], ['--config'], ['-c']])
    expect(await offers(...before, '')).toEqual([]);
});

test('all of it is offered behind a config that stands before the command', async () => {
  const { file } = await withConfig();
  for (const option of ['--config', '-c']) {
    expect(await offers(option, file, 'eve')).toEqual(['events', 'event']);
    expect(await offers(option, file, 'events', '--st')).toEqual(['--store', '--status', '--state']);
    expect(await offers(option, file, 'retry', '')).toEqual(['slack', 'sheet']);
    expect(await offers(option, file, 'replay', '--sink', 'sh')).toEqual(['sheet']);
  }
});

test('bash completes by it, and quotes what has spaces', async () => {
  const { folder, write, file } = await withConfig();
  await chmod(
    await write('candidate-connector', `#!/bin/sh\nexec ${process.execPath} ${await theProgram()} "$@"\n`),
    0o755,
  );
  const { out } = await run(['completion', 'bash']);
  const script = await write('completion.bash', out);
  const complete = async (...words: string[]): Promise<string[]> => {
    const line = `source ${script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _candidate_connector; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p candidate-connector`;
    const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
    const { stdout } = await exec('bash', ['-c', line, 'bash', 'candidate-connector', ...words], { env });
    return stdout.trim().split('\n');
  };
  const registered = 'complete -o default -F _candidate_connector candidate-connector';
  expect(await complete('even')).toEqual(['events', 'event', registered]);
  expect(await complete('events', '-c', file, '--rule', '')).toEqual([
    'told\\ by\\ mail',
    'told',
    registered,
  ]);
});
