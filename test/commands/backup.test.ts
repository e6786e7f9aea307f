import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { copySqlite } from '../../src/store/sqlite/backup.ts';
import { openStore } from '../../src/store/open.ts';
import { arrival, configId, t0 } from '../contract/store-fixtures.ts';
import { ConnectorProcess } from '../faults/connector-process.ts';
import { startTools } from '../../sandbox/tools.ts';
import { theProgram } from '../fixtures/program.ts';
import { base, jsonLines, post, run, settled, workplace } from './tools.ts';

/** Test 1 goes to Slack and to the sheet; all others to the ATS. */
const config = (folder: string) => `${base(folder).replace('fatal', 'info')}
sinks:
  slack: { connector: slack, token: '\${SLACK_BOT_TOKEN}', apiUrl: '\${SLACK_API_URL}', rate: 100/s, timeout: 2s, retry: { minDelay: 50ms, maxDelay: 100ms } }
  sheet: { connector: google-sheets, spreadsheetId: '\${SHEET_ID}', credentials: '\${GOOGLE_CREDENTIALS}', apiUrl: '\${SHEETS_API_URL}', rate: 100/s, timeout: 2s }
  ats: { connector: webhook, url: '\${ATS_URL}', secret: '\${ATS_SECRET}', allowPrivate: true, rate: 1000/s, timeout: 2s }
rules:
  - name: people
    when: { testId: 1 }
    then:
      - { sink: slack, channel: '#hiring', text: '{{ event.candidateId }}' }
      - { sink: sheet, tab: Results, row: { Candidate: '{{ event.candidateId }}' } }
  - { name: others, when: { testId: { not: [1] } }, then: [{ sink: ats }] }
`;

test(
  'a backup under load has all that was accepted before, and restored it tells nobody again',
  {
    timeout: 180_000,
  },
  async () => {
    const { folder, write } = await workplace();
    const tools = await startTools();
    onTestFinished(async () => void (await tools.close()));
    const file = await write('config.yaml', config(folder));
    const connector = new ConnectorProcess(file, tools.env);
    onTestFinished(() => connector.kill());
    let app = { receiverUrl: `${await connector.start()}/hook` };
    const others: string[] = [];
    const load = new AbortController();
    const sending = (async () => {
      while (!load.signal.aborted) {
        const candidateId = `other-${others.length}`;
        expect(await post(app, { candidateId, testId: 2 })).toMatchObject({ status: 202 });
        others.push(candidateId);
      }
    })();
    // No message goes out before the backup, and none is in doubt.
    tools.slack.faults.decide = () => ({ kind: 'rate-limit', retryAfterS: 1 });
    const people = Array.from({ length: 8 }, (_, n) => `person-${n}`);
    await Promise.all(people.map((candidateId) => post(app, { candidateId, testId: 1 })));
    const accepted = [...people, ...others];

    const command = [await theProgram(), 'backup', `${folder}/backup.db`, '--config', file];
    const { stdout } = await promisify(execFile)(process.execPath, command, {
      env: { ...process.env, ...tools.env },
    });
    expect(stdout).toMatch(/backup\.db has everything that was accepted before .* UTC: .* MB, checked\.\n$/);
    {
      using backup = new DatabaseSync(`${folder}/backup.db`, { readOnly: true });
      const waiting = "select 1 from deliveries where state in ('pending', 'sending') and sink = 'slack'";
      expect(backup.prepare(waiting).all()).toHaveLength(people.length);
    }
    tools.slack.faults.clear();
    expect(others.length).toBeGreaterThan(accepted.length - people.length);
    load.abort();
    await sending;
    await settled(file);

    expect(await connector.stop()).toBe(0);
    const told = { slack: tools.received.slack(), sheet: tools.received.sheet() };
    for (const ids of Object.values(told)) expect(ids).toHaveLength(people.length);
    for (const suffix of ['-wal', '-shm']) rmSync(`${folder}/connector.db${suffix}`, { force: true });
    copyFileSync(`${folder}/backup.db`, `${folder}/connector.db`);
    app = { receiverUrl: `${await connector.start()}/hook` };
    await settled(file);
    const events = jsonLines<{ candidateId: string }>(
      await run(['events', '--json', '--config', file], tools.env),
    );
    const there = new Set(events.map(({ candidateId }) => candidateId));
    expect(accepted.filter((candidateId) => !there.has(candidateId))).toEqual([]);
    expect({ slack: tools.received.slack(), sheet: tools.received.sheet() }).toEqual(told);
    for (const ids of Object.values(told)) expect(new Set(ids).size).toBe(people.length);
    expect(await post(app, { candidateId: 'person-0', testId: 1 })).toMatchObject({
      status: 200,
      duplicate: true,
    });
  },
);

/** A store with an event whose message has not gone out. */
async function stored() {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', `${base(folder)}sinks: {}\nrules: []\n`);
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: true });
  onTestFinished(() => store.close());
  await store.saveConfig({ id: configId, source: { rules: [] }, savedAt: t0 });
  await store.accept(arrival());
  return {
    folder,
    store,
    backup: (...argv: string[]) => run(['backup', ...argv, '--config', file]),
    made: () => readdirSync(folder).filter((name) => name.startsWith('backup')),
  };
}

function eventsIn(path: string): unknown {
  using db = new DatabaseSync(path, { readOnly: true });
  return db.prepare('select count(*) as n from events').get()?.['n'];
}

describe('backup', () => {
  test('makes one file, for its owner only, and replaces one only when asked', async () => {
    const { folder, store, backup, made } = await stored();
    const name = `${folder}/backup.db`;
    expect(await backup(name)).toMatchObject({ code: 0, err: '' });
    expect([made(), statSync(name).mode & 0o777, eventsIn(name)]).toEqual([['backup.db'], 0o600, 1]);
    await store.accept(arrival());
    const refused = await backup(name);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain(`${name} is there already; name another file, or add --overwrite`);
    expect(eventsIn(name)).toBe(1);
    expect((await backup(name, '--overwrite')).code).toBe(0);
    expect([made(), eventsIn(name)]).toEqual([['backup.db'], 2]);
  });

  test('that was interrupted leaves no backup, and the next one begins anew', async () => {
    const { folder, backup, made } = await stored();
    for (const name of ['backup.db.part', 'backup.db.part-journal'])
      writeFileSync(join(folder, name), 'half');
    expect((await backup(`${folder}/backup.db`)).code).toBe(0);
    expect([made(), eventsIn(`${folder}/backup.db`)]).toEqual([['backup.db'], 1]);
  });

  test.each([
    ['the store itself', 'connector.db', /is the store itself/],
    ["a file of the store's", 'connector.db-wal', /belongs to the store itself/],
    ['one that it may get', 'connector.db-journal', /belongs to the store itself/],
    ['a folder', 'folder', /is no file/],
    ['a link to what is no file', 'to-a-device', /is no file/],
    // As /dev/stdout, where it goes to a file.
    ['a link', 'to-a-file', /to-a-file is a link to /],
    ['a link to nothing', 'to-nothing', /to-nothing is a link to nowhere/],
    // As `backup config.yaml`, by who takes it for the argument of `serve` and `check`.
    ['what is no backup', 'config.yaml', /config\.yaml is no database; name another file for the backup/],
    ['a file in no folder', 'none/backup.db', /there is no folder/],
    [
      'what the system refuses',
      'x'.repeat(252),
      /^candidate-connector: no backup was made: \S+ cannot be written \(ENAMETOOLONG\)/,
    ],
  ])('is not written to %s', async (_what, name, message) => {
    const { folder, store, backup } = await stored();
    mkdirSync(join(folder, 'folder'));
    writeFileSync(join(folder, 'file'), '');
    symlinkSync('/dev/null', join(folder, 'to-a-device'));
    symlinkSync(join(folder, 'file'), join(folder, 'to-a-file'));
    symlinkSync('nowhere', join(folder, 'to-nothing'));
    const { code, err } = await backup(join(folder, name), '--overwrite');
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(message) });
    expect(await store.events({ limit: 9 })).toHaveLength(1);
  });

  test('of a store that is damaged is none', async () => {
    const { folder, store, backup, made } = await stored();
    await store.close();
    const path = `${folder}/connector.db`;
    const db = await open(path, 'r+');
    // Behind the schema, which has to stay readable.
    await db.write(Buffer.alloc(4096, 7), 0, 4096, 4 * 4096);
    await db.close();
    expect(await backup(`${folder}/backup.db`)).toMatchObject({
      code: 1,
      err: expect.stringContaining('damaged'),
    });
    expect(made()).toEqual([]);
  });

  test('of no store is none, and makes no store', async () => {
    const { folder } = await workplace();
    const { code, err } = await run(['backup', `${folder}/backup.db`, '--store', `sqlite:${folder}/none.db`]);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining(`There is no store at ${folder}/none.db`),
    });
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('a copy goes on to its end while events are stored, and has those of its beginning', async () => {
  const { folder, store } = await stored();
  const filler = { filler: 'x'.repeat(10_000) };
  await Promise.all(Array.from({ length: 1500 }, () => store.accept(arrival({ raw: filler }))));
  const beside = new DatabaseSync(`${folder}/connector.db`, { timeout: 5000 });
  const steps: number[] = [];
  const { bytes } = await copySqlite(`${folder}/connector.db`, `${folder}/copy.db`, (copied, total) => {
    steps.push(copied / total);
    beside.exec('update probe set written = written + 1');
  });
  beside.close();
  expect(steps.length).toBeGreaterThan(2);
  expect(steps).toEqual(steps.toSorted((one, other) => one - other));
  expect(bytes).toBeGreaterThan(15_000_000);
  expect(eventsIn(`${folder}/copy.db`)).toBe(1501);
  expect(existsSync(`${folder}/copy.db-journal`)).toBe(false);
});

test('while a copy is made, as where timers overlap, no other one is begun at its place, and it is whole', async () => {
  const { folder, store } = await stored();
  const filler = { filler: 'x'.repeat(10_000) };
  await Promise.all(Array.from({ length: 1500 }, () => store.accept(arrival({ raw: filler }))));
  const copied = (progress: () => void) =>
    copySqlite(`${folder}/connector.db`, `${folder}/copy.db`, progress);
  const others: Promise<unknown>[] = [];
  await copied(() => others.push(copied(() => {}).catch(String)));
  const told = `StoreUnavailable: Another copy to ${folder}/copy.db is being made.`;
  expect(new Set(await Promise.all(others))).toEqual(new Set([told]));
  expect(eventsIn(`${folder}/copy.db`)).toBe(1501);
});
