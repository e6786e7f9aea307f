import { execFileSync } from 'node:child_process';
import { watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { endpoint, loud, nothing, post, run, serve, settled, workplace } from '../commands/tools.ts';

test('a disk that takes nothing is told within 15 s with no event coming, and so is its end', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', loud(folder) + nothing);
  const { connector, lines } = await serve(file);
  // As on a full disk; Linux also lets it be undone.
  const limit = (bytes: string) =>
    execFileSync('prlimit', ['--pid', `${connector.pid}`, `--fsize=${bytes}:`]);
  const saying = (msg: string) => lines().filter((line) => line.msg === msg);
  const shown = async () => {
    const admin = saying('ready')[0]!['admin'] as string;
    const texts = ['/metrics', '/', '/readyz'].map(async (path) => (await fetch(`${admin}${path}`)).text());
    return (await Promise.all(texts)).join('\n');
  };

  // Room for no more than the index of the WAL.
  limit('32768');
  await vi.waitFor(() => expect(saying('not ready')).toHaveLength(1), 15_000);
  expect(saying('not ready')).toEqual([
    expect.objectContaining({
      level: 'error',
      part: 'store',
      cause: expect.stringContaining('connector.db'),
    }),
  ]);
  const all = await shown();
  expect(all).toContain('candidate_connector_ready{part="store"} 0');
  expect(all).toContain('The store cannot be written');
  // It is public.
  expect(all).toContain(
    '"part":"store","ok":false,"detail":"It cannot be written just now; the log says why."}',
  );

  limit('unlimited');
  await vi.waitFor(() => expect(saying('ready again')).toHaveLength(1), 15_000);
  expect(saying('ready again')[0]).toMatchObject({ part: 'store', lastedSeconds: expect.any(Number) });
  expect(saying('not ready')).toHaveLength(1);
  expect(await shown()).toContain('candidate_connector_ready{part="store"} 1');
  expect((await run(['status', '--config', file])).code).toBe(0);
});

test('a large digest needs no room in the folder for temporary files, which may be on another disk', async () => {
  const tool = await endpoint();
  const { folder, write } = await workplace();
  const temporary = join(folder, 'temporary');
  await mkdir(temporary);
  const made: unknown[] = [];
  const watcher = watch(temporary, (_, name) => made.push(name));
  onTestFinished(() => watcher.close());
  const file = await write(
    'config.yaml',
    `${loud(folder)}sinks: { ats: { connector: webhook, url: "${tool.url}", allowPrivate: true } }
rules: [ { name: told, when: {}, then: [ { sink: ats, digest: { every: 2s, max: 500 } } ] } ]
`,
  );
  const { app } = await serve(file, { SQLITE_TMPDIR: temporary });
  await Promise.all(Array.from({ length: 500 }, (_, n) => post(app, { candidateId: `candidate-${n}` })));
  await settled(file);
  expect(tool.calls).not.toEqual([]);
  expect(made).toEqual([]);
});
