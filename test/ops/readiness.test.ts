import { execFileSync } from 'node:child_process';
import { closeSync, openSync, watch, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import {
  base,
  endpoint,
  loud,
  nothing,
  post,
  run,
  serve,
  serving,
  settled,
  tellAll,
  workplace,
} from '../commands/tools.ts';
import { eventually } from '../fixtures/eventually.ts';

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
  await eventually(() => expect(saying('not ready')).toHaveLength(1));
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
  await eventually(() => expect(saying('ready again')).toHaveLength(1));
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

test('a store that takes events, and of which what waits cannot be read, is told, and served all the same', async () => {
  const { folder, write } = await workplace();
  const tool = await endpoint();
  const config = (
    url: string,
    log = loud(folder),
  ) => `${log}sinks: { ats: { connector: webhook, url: "${url}", allowPrivate: true, retry: { minDelay: 1s } } }
${tellAll}`;
  const file = await write('config.yaml', config('http://127.0.0.1:1', base(folder)));
  const before = await serving(file);
  for (let n = 0; n < 100; n += 1) await post(before, { candidateId: `candidate-${n}` });
  await before.stop();
  damage(join(folder, 'connector.db'), 'deliveries');

  await write('config.yaml', config(tool.url));
  const { app, lines } = await serve(file);
  await eventually(() => expect(lines().map(({ msg }) => msg)).toContain('not ready'));
  expect(lines().find(({ msg }) => msg === 'not ready')).toMatchObject({
    part: 'store',
    cause: expect.stringMatching(/connector\.db is damaged\. Stop the connector, move it with/),
  });
  const admin = lines().find(({ msg }) => msg === 'ready')!['admin'] as string;
  const ready = await fetch(`${admin}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    {
      status: 'ready',
      parts: [
        {
          part: 'store',
          ok: false,
          detail: 'Events are stored, but what waits cannot be sent just now; the log says why.',
        },
        { part: 'config', ok: true },
      ],
    },
  ]);
  expect(await (await fetch(`${admin}/metrics`)).text()).toContain(
    'candidate_connector_ready{part="store"} 0',
  );
  expect((await post(app, { candidateId: 'later' })).status).toBe(202);
});

/** Overwrites a page in the middle of a table, as a broken disk does. */
function damage(path: string, table: string): void {
  using db = new DatabaseSync(path, { readOnly: true });
  const pages = db
    .prepare(`select pageno from dbstat where name = ? and pagetype = 'leaf' order by path`)
    .all(table);
  const page = Number(pages[Math.floor(pages.length / 2)]!['pageno']);
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.alloc(4096, 0xff), 0, 4096, (page - 1) * 4096);
  closeSync(fd);
}
