import { afterAll, beforeAll, expect, test } from 'vitest';
import { numbered } from '../../../src/store/operations/leases.ts';
import { openPostgres } from '../../../src/store/postgres.ts';
import type { Store } from '../../../src/store/store.ts';
import { arrival, configId, leaseRequest, t0 } from '../../contract/store-fixtures.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { freshDatabase, freshName, PostgresServer, sql } from '../../fixtures/postgres.ts';

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start({ wal_level: 'logical' });
});

afterAll(() => server.remove());

async function using<T>(url: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openPostgres(url);
  return use(store).finally(() => store.close());
}

const request = leaseRequest();

test('a publication of all tables stands beside the connector, as tools that follow changes make one', async () => {
  const url = await freshDatabase();
  await using(url, async (store) => {
    await sql(url, 'create publication everything for all tables');
    await store.probe();
  });
  const keyless = `select relname as name from pg_class c where relkind = 'r' and relnamespace = 'public'::regnamespace
    and not exists (select 1 from pg_index i where i.indrelid = c.oid and i.indisprimary)`;
  expect(await sql(url, keyless)).toEqual([]);
});

test('each table whose rows PostgreSQL numbers is one whose numbers are continued', async () => {
  const url = await freshDatabase();
  await using(url, async () => {});
  const identities = `select table_name as name from information_schema.columns
    where table_schema = 'public' and is_identity = 'YES' order by 1`;
  // A delivery's number is made of its event's.
  const tables = (await sql(url, identities)).map(({ name }) => name).filter((name) => name !== 'deliveries');
  expect(tables).toEqual(numbered.toSorted());
});

test('a user who may only read and write the tables, and not see their sequences, goes on as before', async () => {
  const url = await freshDatabase();
  await using(url, async (store) => {
    await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
    await store.accept(arrival({ candidateId: 'a' }));
  });
  const user = freshName();
  await sql(url, `create role ${user} login password 'secret'`);
  await sql(url, `grant select, insert, update, delete on all tables in schema public to ${user}`);
  await using(url.replace(/\/\/.*@/, `//${user}:secret@`), async (store) => {
    await store.settleIn(t0);
    expect(await store.accept(arrival({ candidateId: 'b' }))).toMatchObject({ duplicate: false });
  });
});

test('a store that was moved by logical replication, which moves no sequences, goes on with the numbers', async () => {
  const [from, to] = [server.url(freshName()), server.url(freshName())];
  for (const url of [from, to]) await sql(server.url(), `create database ${new URL(url).pathname.slice(1)}`);
  await using(from, async (store) => {
    await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
    for (const candidateId of ['a', 'b', 'c']) await store.accept(arrival({ candidateId }));
    await store.leases!.renew(request);
  });
  await sql(from, 'create publication everything for all tables');
  await sql(from, `select pg_create_logical_replication_slot('moving', 'pgoutput')`);

  await using(to, async (store) => {
    // As where `pg_dump --schema-only` had made them.
    await sql(to, 'truncate probe, schema_version');
    const connection = `host=127.0.0.1 port=${server.port} user=postgres password=''correct horse'' dbname=${new URL(from).pathname.slice(1)}`;
    await sql(
      to,
      `create subscription moving connection '${connection}' publication everything with (create_slot = false, slot_name = 'moving')`,
    );
    const unready = `select 1 from pg_subscription_rel where srsubstate <> 'r'`;
    await eventually(async () => expect(await sql(to, unready)).toEqual([]), 30_000);
    await sql(to, 'drop subscription moving');

    // A start settles in before its port opens, and renews later; a replica that goes on only renews.
    await store.settleIn(t0);
    expect(await store.accept(arrival({ candidateId: 'd' }))).toMatchObject({ duplicate: false });
    await sql(to, `select setval('events_seq_seq', 1)`);
    expect((await store.leases!.renew(request)).distrusted).toBe(4);
    expect(await store.accept(arrival({ candidateId: 'e' }))).toMatchObject({ duplicate: false });
    expect((await store.leases!.renew(request)).distrusted).toBeNull();
  });
});
