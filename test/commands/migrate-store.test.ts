import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sqliteSteps } from '../../src/store/schema/steps.ts';
import { tables } from '../../src/store/move.ts';
import { moveStore, openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { storable } from '../../src/support/text.ts';
import {
  arrival,
  claimDue,
  configId,
  day,
  delivered,
  leaseRequest,
  notice,
  person,
  planned,
  rejected,
  resultOf,
  t0,
  unknown,
} from '../contract/store-fixtures.ts';
import { freshDatabase, freshSchema, PostgresProxy, sql } from '../fixtures/postgres.ts';
import { theProgram } from '../fixtures/program.ts';
import { base, run, stack, workplace } from './tools.ts';

const hostile = `'; drop table events; -- <!channel> =1+1 \r\n \u202E 𝒜 "$1" ?1 \\u0000`;

/** Opens a store until the test ends. */
async function open(url: string, serve = false): Promise<Store> {
  const store = await openStore(url, { serve });
  onTestFinished(() => store.close());
  return store;
}

/** Fills every table, with deliveries in every state. */
async function fill(url: string, events = 20): Promise<void> {
  const store = await openStore(url, { serve: false });
  await store.saveConfig({ id: configId, source: { rules: [hostile] }, savedAt: t0 });
  const deliveries = [planned(), planned({ lane: 'digest', group: 'daily', groupMax: 9 })];
  const known = { candidateId: hostile, correlationId: 'first' };
  await store.accept(arrival(known, { deliveries }));
  await store.accept(arrival({ ...known, correlationId: 'second' }));
  await store.accept(arrival({ ...known, correlationId: 'later', receivedAt: t0 + 2 * day }));
  await Promise.all(Array.from({ length: events }, () => store.accept(arrival({}, { deliveries }))));
  const asked = [
    planned({ rule: 'lookup:score', sink: 'lookup:score', connector: 'lookup', lane: 'lookup:score' }),
  ];
  const lookups = { asked, until: t0 + day };
  await store.accept(arrival({ candidateId: 'undecided' }, { lookups }));
  const { deliveries: _, ...rest } = arrival();
  await store.raise({ ...rest, notice: notice({ detail: hostile }), deliveries: [planned()], quietMs: 0 });
  const outcomes = [delivered, rejected, unknown];
  const claimed = await claimDue(store, t0, 'slack #hiring', events - 5);
  // The last two are still being sent.
  const ended = claimed.slice(0, -2);
  await store.record(ended.map((one, n) => resultOf(one, outcomes[n % 3]!, { progress: { hostile } })));
  const [digest] = await claimDue(store, t0, 'digest', 1);
  await store.record([resultOf(digest!, delivered)]);
  await store.discard([ended[1]!.delivery.id], t0, person);
  await store.replay([{ deliveryId: ended[2]!.delivery.id, configId, planned: planned() }], t0, person);
  const request = { receivedAt: t0, address: '127.0.0.1', correlationId: null, status: 422 };
  await store.keepRejected({ ...request, faults: [hostile], body: 'null \0 and half \uD800' }, 10);
  await store.keepPause({ sink: 'slack', since: t0, probeAt: t0 + 1, probes: 3, because: null });
  await store.pauseByPerson('slack', t0 + 1, t0, person);
  await store.keepToken({ id: 'a', sealed: 'b', keptAt: t0 });
  await store.keepRefused([{ reason: 'address', from: hostile, count: 2, first: t0, last: t0 + 1 }]);
  const event = { candidateId: hostile, candidateNumericalId: null, testId: 1, status: 'Completed' } as const;
  const refused = {
    ...event,
    at: t0,
    from: hostile,
    reason: 'token',
    correlationId: null,
    attempts: 2,
  } as const;
  await store.keepRefusedEvents([{ ...refused, id: 'rej_1', raw: JSON.stringify({ hostile }) }]);
  await store.keepSignOfLife({ seenAt: t0, doubt: { seenAt: t0 + 9 * day, agreedMs: 5 } });
  await store.close();
}

type Rows = Record<string, Record<string, unknown>[]>;

const ordered = ({ name, key }: (typeof tables)[number]) =>
  `select * from ${name} order by ${key.join(', ')}`;

function rowsOfFile(path: string): Rows {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = tables.map((table) => [table.name, db.prepare(ordered(table)).all()]);
  db.close();
  return Object.fromEntries(rows) as Rows;
}

/** Rows as PostgreSQL keeps them. */
function asStored(rows: Rows): Rows {
  return JSON.parse(
    JSON.stringify(rows, (_, value: unknown) => (typeof value === 'string' ? storable(value) : value)),
  ) as Rows;
}

const move = (from: string, to: string) => run(['migrate-store', '--from', from, '--to', to]);

/** Files for two stores, and a schema. */
async function places() {
  const { folder, write } = await workplace();
  const path = (name: string) => join(folder, `${name}.db`);
  const file = (name: string) => `sqlite:${path(name)}`;
  return { folder, write, path, file, schema: await freshSchema() };
}

describe('migrate-store', () => {
  test('moves every table there is', () => {
    const names = new Set(tables.map(({ name }) => name));
    expect(allTables().filter((name) => !names.has(name))).toEqual([
      'copy_states',
      'home',
      'probe',
      'unfinished_copy',
    ]);
  });

  test(
    'takes 600 events with all that belongs to them to PostgreSQL and back',
    { timeout: 120_000 },
    async () => {
      const { path, file, schema } = await places();
      await fill(file('old'), 600);
      const before = rowsOfFile(path('old'));
      for (const { name } of tables) expect([name, before[name]!.length]).not.toEqual([name, 0]);

      const there = await move(file('old'), schema);
      expect(there).toMatchObject({
        code: 0,
        err: expect.stringMatching(/copied events: 60[123] of 60[123] rows\n/),
      });
      expect(there.out).toMatch(
        /^postgres:.* has every row of sqlite:.*old\.db, compared by counts and checksums:/,
      );
      expect(there.out + there.err).not.toContain('correct');
      for (const { name } of tables) {
        const [counted] = await sql(schema, `select count(*)::int as n from ${name}`);
        expect([name, counted]).toEqual([name, { n: before[name]!.length }]);
      }
      expect(await move(schema, file('new'))).toMatchObject({ code: 0 });
      expect(rowsOfFile(path('new'))).toEqual(asStored(before));
      expect(rowsOfFile(path('new'))['rejected_requests']).toMatchObject([
        { body: 'null \uFFFD and half \uFFFD' },
      ]);
      expect(rowsOfFile(path('old'))).toEqual(before);
    },
  );

  test.each(['PostgreSQL', 'SQLite'])(
    'leaves %s ready to go on: duplicates, new events, notices, rescue',
    async (kind) => {
      const { file, schema } = await places();
      const [from, to] = kind === 'SQLite' ? [schema, file('new')] : [file('old'), schema];
      await fill(from);
      expect(await move(from, to)).toMatchObject({ code: 0 });

      const store = await open(to, true);
      const [later, first] = (await store.events({ candidates: { ids: [hostile] } })).map(
        ({ event }) => event.id,
      );
      const again = (correlationId: string, receivedAt: number) =>
        store.accept(arrival({ candidateId: hostile, correlationId, receivedAt }));
      // A retry counts however late, a repeat within the window.
      expect(await again('second', t0 + 400 * day)).toMatchObject({ duplicate: true, eventId: first });
      expect(await again('new', t0 + 3 * day - 1)).toMatchObject({ duplicate: true, eventId: later });
      await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
      const fresh = arrival({ receivedAt: t0 + 4 * day });
      expect(await store.accept(fresh)).toMatchObject({ duplicate: false });
      expect((await store.events({ limit: 1 }))[0]?.event).toEqual(fresh.event);
      const raised = { ...arrival(), notice: notice(), quietMs: 0 };
      expect(await store.raise(raised)).toBe(true);
      const request = { receivedAt: t0, address: '', correlationId: null, status: 422, faults: [], body: '' };
      await store.keepRejected(request, 10);
      expect(await store.rejectedRequests({})).toHaveLength(2);
      expect(await store.rescue(t0, 0)).toBe(2);
      expect(await store.deliveries({ states: ['sending'] })).toEqual([]);
      for (const { planned: all, states } of await store.counts())
        expect(Object.values(states).reduce((sum, n) => sum + n)).toBe(all);
    },
  );

  test.each(['PostgreSQL', 'SQLite'])(
    'that is killed on its way to %s is not served, and begins anew',
    { timeout: 60_000 },
    async (kind) => {
      const { folder, write, path, file, schema } = await places();
      const [from, to] = kind === 'SQLite' ? [schema, file('new')] : [file('old'), schema];
      await fill(file('old'), 200);
      if (kind === 'SQLite') await move(file('old'), schema);
      await killedAtAttempts(from, to, schema);

      const config = await write(
        'config.yaml',
        `${base(folder).replace(/sqlite:[^"]+/, to)}sinks: {}\nrules: []\n`,
      );
      const unfinished =
        /the store cannot be used: This store is an unfinished copy of .* Run the same `migrate-store` again/;
      for (const argv of [
        ['serve', config],
        ['events', '--store', to],
        ['migrate-store', '--from', to, '--to', file('third')],
      ])
        expect(await run(argv)).toMatchObject({ code: 1, err: expect.stringMatching(unfinished) });
      await fill(file('other'));
      const mixed = await move(file('other'), to);
      expect(mixed).toMatchObject({ code: 1, err: expect.stringContaining('Finish that one with --from') });

      expect(await move(from, to)).toMatchObject({ code: 0 });
      expect(await run(['events', '--store', to, '--limit', '1'])).toMatchObject({ code: 0 });
      expect(await move(to, file('back'))).toMatchObject({ code: 0 });
      expect(rowsOfFile(path('back'))).toEqual(asStored(rowsOfFile(path('old'))));
    },
  );

  test('that never learns of its last commit says what helps', async () => {
    const { file, schema } = await places();
    await fill(file('old'));
    const proxy = await PostgresProxy.start(schema);
    onTestFinished(() => proxy.close());
    let ends = false;
    proxy.breakAfter = (data) => {
      ends ||= data.includes('delete from unfinished_copy');
      return ends && data.includes('\0commit\0');
    };
    const { code, err } = await move(file('old'), proxy.url);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /last writes were stored is not known\. All is there and was compared: if `status` can read the target, it is whole/,
      ),
    ]);
    expect(await run(['events', '--store', schema, '--limit', '1'])).toMatchObject({ code: 0 });
  });

  test('says where the source was changed meanwhile, and serves nothing then', async () => {
    const { file, schema } = await places();
    await fill(file('old'));
    const proxy = await PostgresProxy.start(schema);
    onTestFinished(() => proxy.close());
    const source = new DatabaseSync(file('old').slice('sqlite:'.length));
    proxy.breakAfter = (data) => {
      if (data.includes('insert into attempts')) source.exec("update deliveries set lane = 'elsewhere'");
      return false;
    };
    const { code, err } = await move(file('old'), proxy.url);
    source.close();
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/has other content in the table deliveries: one of the two/),
    ]);
    expect((await run(['events', '--store', schema])).err).toContain('unfinished copy');
  });

  test('started twice, writes nothing twice', async () => {
    const { path, file, schema } = await places();
    await fill(file('old'), 200);
    await move(file('old'), schema);
    const to = await freshSchema();
    const ran = await Promise.all([move(schema, to), move(schema, to)]);
    expect(ran.some(({ code }) => code === 0)).toBe(true);
    for (const { err } of ran.filter(({ code }) => code !== 0))
      expect(err).toMatch(/Another process writes to/);
    expect(await move(to, file('back'))).toMatchObject({ code: 0 });
    expect(rowsOfFile(path('back'))).toEqual(asStored(rowsOfFile(path('old'))));
  });

  test('that another one has begun anew by its end leaves the mark to that', async () => {
    const { path, file } = await places();
    await fill(file('old'));
    const moved = moveStore(file('old'), file('new'), (done, table) => {
      if (done !== 'checked' || table !== tables.at(-1)!.name) return;
      const other = new DatabaseSync(path('new'));
      other.exec('update unfinished_copy set begun_at = begun_at + 1; delete from attempts');
      other.close();
    });
    await expect(moved).rejects.toThrow('Another process writes to');
    expect((await run(['events', '--store', file('new')])).err).toContain('unfinished copy');
  });

  test('refuses a source that is served', async () => {
    const { file, schema } = await places();
    const sqlite = await open(file('old'), true);
    expect(await move(file('old'), schema)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Another connector serves this store .* Stop it first/),
    });
    await sqlite.close();
    const postgres = await open(schema, true);
    await postgres.leases!.renew(leaseRequest({ replica: 'copy-1' }));
    const served = expect.stringMatching(/is being served \(copy-1\)\. Stop every replica first/);
    expect(await move(schema, file('new'))).toMatchObject({ code: 1, err: served });
    expect(await move(file('old'), schema)).toMatchObject({ code: 1, err: served });
    await postgres.leases!.leave('copy-1');
    expect(await move(schema, file('new'))).toMatchObject({ code: 0 });
  });

  test('of a restored PostgreSQL asks before what was due is sent, as the restore is not seen any more afterwards', async () => {
    const { file, schema } = await places();
    await fill(schema);
    const source = await open(schema);
    const asked = leaseRequest();
    await source.leases!.renew(asked);
    await source.leases!.leave('a');
    await sql(schema, `update home set place = 'of the server before'`);
    expect(await move(schema, file('new'))).toMatchObject({ code: 0 });
    const target = await open(file('new'));
    const waiting = await target.deliveries({ states: ['pending'] });
    expect(new Set(waiting.map(({ uncertain }) => uncertain))).toEqual(new Set([true]));
  });

  test('has the old store ask before what was due is sent, where people go back to it', async () => {
    const { file, schema } = await places();
    await fill(file('old'));
    const before = await open(file('old'), true);
    expect(await before.settleIn(t0)).toBeNull();
    await before.close();
    expect(await move(file('old'), schema)).toMatchObject({ code: 0 });
    const old = await open(file('old'), true);
    expect(await old.settleIn(t0 + 3 * day)).toBeGreaterThan(0);
    const waiting = await old.deliveries({ states: ['pending'] });
    expect(new Set(waiting.map(({ uncertain }) => uncertain))).toEqual(new Set([true]));
    await old.close();

    expect(await move(schema, file('new'))).toMatchObject({ code: 0 });
    const there = await open(schema);
    const asked = leaseRequest();
    expect(await there.leases!.renew(asked)).toMatchObject({ distrusted: expect.any(Number) });
  });

  test('refuses a target that has anything, and leaves it as it is', async () => {
    const { path, file, schema } = await places();
    for (const url of [file('old'), file('full'), schema]) await fill(url);
    const before = rowsOfFile(path('full'));
    for (const to of [file('full'), schema])
      expect(await move(file('old'), to)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/has data, in the table \w+\. Name an empty target/),
      });
    expect(rowsOfFile(path('full'))).toEqual(before);
    expect(await run(['events', '--store', schema, '--limit', '1'])).toMatchObject({ code: 0 });

    const foreign = await freshDatabase();
    await sql(foreign, 'create table invoices (id int)');
    expect((await move(file('old'), foreign)).err).toContain('Another program uses the database');
    new DatabaseSync(path('foreign')).exec('create table invoices (id int)');
    expect((await move(file('old'), file('foreign'))).err).toContain('is the database of another program');
    writeFileSync(path('text'), 'no database at all, but a text of some length');
    expect((await move(file('old'), file('text'))).err).toContain('is not a SQLite database');
  });

  test('says what is wrong with its stores, in one sentence and without a password', async () => {
    const { file, schema } = await places();
    await fill(file('old'));
    const wrong = [
      [file('none'), schema, 'There is no store at'],
      [file('old'), file('old'), 'is both the source and the target'],
      [file('old'), 'mysql://root@host/db', 'mysql: is not a supported store'],
      [file('old'), 'postgres://someone:secret@127.0.0.1:1/none', 'No PostgreSQL listens at 127.0.0.1:1'],
    ] as const;
    for (const [from, to, says] of wrong) {
      const { code, err } = await move(from, to);
      expect([code, err]).toEqual([1, expect.stringContaining(says)]);
      expect(err).not.toMatch(/secret|\n.*\n/);
      expect(err).not.toMatch(stack);
    }
    expect(await run(['migrate-store', '--from', file('old')])).toMatchObject({
      code: 2,
      err: expect.stringContaining("required option '--to <url>'"),
    });
  });
});

function allTables(): string[] {
  const db = new DatabaseSync(':memory:');
  for (const step of sqliteSteps) db.exec(step);
  const names = db.prepare("select name from sqlite_schema where type = 'table' order by 1").all();
  return names.map(({ name }) => String(name));
}

/** Kills a process while it waits to read, or to write, a table of PostgreSQL. */
async function killedAtAttempts(from: string, to: string, schema: string): Promise<void> {
  // The target's tables have to be there before one can be locked.
  await (await openStore(schema, { serve: false })).close();
  const holder = new Client({ connectionString: schema.replace(/\?.*/, '') });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query(`set search_path to ${new URL(schema).searchParams.get('schema')}`);
  const mode = from === schema ? 'access exclusive' : 'exclusive';
  await holder.query(`begin; lock table attempts in ${mode} mode`);
  const child = spawn(process.execPath, [await theProgram(), 'migrate-store', '--from', from, '--to', to], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const err = text(child.stderr);
  const waits = `select count(*)::int as n from pg_locks where not granted and relation = 'attempts'::regclass`;
  await expect.poll(() => sql(schema, waits), { timeout: 30_000 }).not.toEqual([{ n: 0 }]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await err).toContain('copied deliveries');
  await holder.query('rollback');
}
