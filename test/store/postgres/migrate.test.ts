import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { beforeEach, describe, expect, test } from 'vitest';
import { get, query, run } from '../../../src/store/operation.ts';
import { postgresDriver } from '../../../src/store/postgres.ts';
import { Database } from '../../../src/store/sqlite/database.ts';
import { postgresSteps, sqliteSteps } from '../../../src/store/schema/steps.ts';
import { freshDatabase, freshName, freshSchema, sql } from '../../fixtures/postgres.ts';

const tables = `select table_name as name from information_schema.tables where table_schema = current_schema() order by 1`;

/** The schema as it was after so many steps. */
async function createAtStep(count: number, at: string): Promise<void> {
  await sql(
    at,
    `create schema ${new URL(at).searchParams.get('schema')};
     create table schema_version (candidate_connector bigint not null);
     insert into schema_version values (${count}); ${postgresSteps.slice(0, count).join('')}`,
  );
}

describe('the schema on PostgreSQL', () => {
  let url: string;

  beforeEach(async () => {
    url = await freshSchema();
  });

  const create = async (at = url) => (await postgresDriver(at)).close();
  const names = async (at = url) => (await sql(at, tables)).map(({ name }) => name);

  test("has SQLite's tables with the same columns, keys and indexes, and more for leases and numbers", async () => {
    await create();
    const onPostgres = await sql(
      url,
      `select table_name || '.' || column_name || case is_nullable when 'NO' then ' not null' else '' end as name
         from information_schema.columns where table_schema = current_schema()
       union all
       select tablename || ' ' || indexname from pg_indexes
         where schemaname = current_schema() and indexname !~ '_(pkey|key)$'`,
    );
    const db = new Database(':memory:');
    for (const step of sqliteSteps) db.exec(step);
    const onSqlite = db.all(
      query<{ name: string }>(
        `select t.name || '.' || c.name || case when c."notnull" or c.pk then ' not null' else '' end as name
           from sqlite_schema t join pragma_table_info(t.name) c where t.type = 'table'
         union all select tbl_name || ' ' || name from sqlite_schema where type = 'index' and sql is not null`,
      ),
    );
    db.close();
    const own = /^(leases|copies|schema_version)\.|^events events_number$/;
    const shared = onPostgres.map(({ name }) => String(name)).filter((name) => !own.test(name));
    expect(shared.toSorted()).toEqual(onSqlite.map(({ name }) => name).toSorted());
    expect(postgresSteps).toHaveLength(sqliteSteps.length);
    expect(await sql(url, 'select candidate_connector::int as n from schema_version')).toEqual([
      { n: postgresSteps.length },
    ]);
  });

  test('is in the public schema of a database of its own, unless the URL names another', async () => {
    const own = await freshDatabase();
    await create(own);
    expect(await names(own)).toContain('events');
    const beside = `${own}?schema=${freshName()}`;
    await create(beside);
    expect(await names(beside)).toContain('events');
  });

  test('has whole numbers of eight bytes, texts in the order of their bytes, and notices from 2^36 on', async () => {
    await create();
    const columns = await sql(
      url,
      `select distinct data_type as type, collation_name as collation, is_identity as identity, identity_start as start
       from information_schema.columns where table_schema = current_schema() order by 1, 2, 3, 4`,
    );
    expect(columns).toEqual([
      { type: 'bigint', collation: null, identity: 'NO', start: null },
      { type: 'bigint', collation: null, identity: 'YES', start: '1' },
      { type: 'bigint', collation: null, identity: 'YES', start: String(2 ** 36) },
      { type: 'json', collation: null, identity: 'NO', start: null },
      { type: 'text', collation: 'C', identity: 'NO', start: null },
    ]);
    // The server itself would say otherwise.
    expect(await sql(url, `select 'a' < 'B' as words, 'a' < 'B' collate "C" as bytes`)).toEqual([
      { words: true, bytes: false },
    ]);
  });

  test('is brought up to date from every earlier one', async () => {
    await create();
    const whole = await names();
    for (const step of postgresSteps.keys()) {
      const earlier = await freshSchema();
      await createAtStep(step, earlier);
      await create(earlier);
      expect(await names(earlier)).toEqual(whole);
    }
  });

  test('of 0.2.0 may have its large indexes before, by the statements of docs/deploy.md, while it is served', async () => {
    const indexes = async (of: string) => {
      const found = await sql(
        of,
        `select indexdef from pg_indexes where schemaname = current_schema() order by 1`,
      );
      return found.map(({ indexdef }) =>
        String(indexdef).replaceAll(new URL(of).searchParams.get('schema')!, 'it'),
      );
    };
    // Its own database: such a statement waits for each open transaction of the database, also for those of other tests.
    const at = `${await freshDatabase()}?schema=${freshName()}`;
    await createAtStep(10, at);
    const without = (await indexes(at)).length;
    const page = readFileSync(join(import.meta.dirname, '../../../docs/deploy.md'), 'utf8');
    const statements = page.match(/^create index concurrently [^;]+;/gm) ?? [];
    for (const statement of statements) await sql(at, statement);
    expect(await indexes(at)).toHaveLength(without + 6);
    await create(at);
    const fresh = await freshSchema();
    await create(fresh);
    expect(await indexes(at)).toEqual(await indexes(fresh));
  });

  test('is created once, however many start at the same time', async () => {
    const drivers = await Promise.all(Array.from({ length: 6 }, () => postgresDriver(url)));
    await Promise.all(drivers.map((driver) => driver.close()));
    expect(await sql(url, 'select count(*)::int as n from schema_version')).toEqual([{ n: 1 }]);
  });

  test('also where the default of the database has transactions not see what others commit meanwhile', async () => {
    const own = await freshDatabase();
    const isolation = `default_transaction_isolation = 'repeatable read'`;
    await sql(own, `alter database ${new URL(own).pathname.slice(1)} set ${isolation}`);
    await Promise.all(Array.from({ length: 4 }, () => create(own)));
    expect(await names(own)).toContain('events');
  });

  test('is waited for while another process brings it up to date, however long that takes', async () => {
    const other = new Client({ connectionString: url.replace(/\?.*/, '') });
    await other.connect();
    await other.query('begin; select pg_advisory_xact_lock(4748375210)');
    const opened = postgresDriver(url, { limits: { answerMs: 200, patientForMs: 0 } });
    const early = await Promise.race([opened.catch(String), sleep(1000).then(() => 'waits')]);
    await other.end();
    expect(early).toBe('waits');
    await (await opened).close();
  });

  test('is not changed while another program reads it for long, and keeps nobody waiting for that', async () => {
    await createAtStep(5, url);
    const schema = new URL(url).searchParams.get('schema');
    const dump = new Client({ connectionString: url.replace(/\?.*/, '') });
    await dump.connect();
    await dump.query(`begin; set search_path to ${schema}; select count(*) from pauses`);
    const refused = postgresDriver(url, { limits: { patientForMs: 0 } });
    await expect(refused).rejects.toThrow(/^Rows of the database \w+ stay locked: by another process, or/);
    await sql(url, 'delete from pauses');
    await dump.end();
    await create();
  });

  test('may be created by another copy while this one looks', async () => {
    const { hostname, port } = new URL(url);
    const between = createServer((client) => {
      const server = connect(Number(port), hostname);
      server.pipe(client);
      client.on('data', (data) => {
        const looksForOthers = data.includes('pg_depend') && !data.includes('create table');
        void (looksForOthers ? create() : Promise.resolve()).then(() => server.write(data));
      });
      for (const [one, other] of [
        [client, server],
        [server, client],
      ] as const) {
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
      }
    });
    between.listen(0, '127.0.0.1');
    await once(between, 'listening');
    const through = new URL(url);
    through.host = `127.0.0.1:${(between.address() as AddressInfo).port}`;
    await create(through.href);
    between.close();
    expect(await sql(url, 'select count(*)::int as n from schema_version')).toEqual([{ n: 1 }]);
  });

  test('is not created where one must exist', async () => {
    const refused = postgresDriver(url, { mustExist: true });
    await expect(refused).rejects.toThrow(
      /^There is no store in the schema test_\w+ of the database postgres\. `serve`/,
    );
    expect(await names()).toEqual([]);
    await create();
    await (await postgresDriver(url, { mustExist: true })).close();
  });

  test('of an older version is changed by no command while a replica of that serves it', async () => {
    await createAtStep(4, url);
    const asCommand = () => postgresDriver(url, { mustExist: true, serve: false });
    const sign = (until: string) =>
      sql(url, `delete from copies; insert into copies values ('one', 'config', '[]', ${until})`);
    await sign('9999999999999');
    await expect(asCommand()).rejects.toThrow(
      /^A connector of an older version serves this store \(schema 4, this one knows \d+\)/,
    );
    expect(await sql(url, 'select candidate_connector::int as n from schema_version')).toEqual([{ n: 4 }]);
    await sign('1');
    await (await asCommand()).close();
  });

  test('of a newer version is refused, and stays as it is', async () => {
    await create();
    await sql(url, 'update schema_version set candidate_connector = 1000');
    await expect(create()).rejects.toThrow(
      /^A newer version of the connector wrote the schema test_\w+ of the database postgres \(schema 1000, this one/,
    );
    expect(await sql(url, 'select candidate_connector::int as n from schema_version')).toEqual([{ n: 1000 }]);
  });

  test('that a newer version changes while this one runs goes on being used, or is said to be too new', async () => {
    const driver = await postgresDriver(url);
    const first = query<{ readonly id: string }>('select id from configs order by id limit 1');
    const look = () => driver.read(() => get(first));
    const write = () => driver.write(() => run('update configs set uses = uses'));
    await sql(url, 'alter table configs add column colour text; create table more (n int)');
    await sql(url, 'update schema_version set candidate_connector = 1000');
    await Promise.all([look(), write()]);
    await sql(
      url,
      'alter table configs rename column uses to used; alter table configs rename column id to name',
    );
    const tooNew = /^A newer version of the connector has changed the tables since this one started/;
    await expect(look()).rejects.toThrow(tooNew);
    await expect(write()).rejects.toThrow(tooNew);
    await sql(url, 'update schema_version set candidate_connector = 1');
    await expect(write()).rejects.toThrow('column "uses" does not exist');
    await driver.close();
  });

  test('of another program is refused, and stays as it is', async () => {
    const foreign = await freshDatabase();
    await sql(foreign, 'create table schema_version (version text); create table invoices (id int)');
    await expect(create(foreign)).rejects.toThrow(
      /^Another program uses the database test_\w+: it has the table invoices\. Name a schema of its own: \?schema=/,
    );
    expect(await names(foreign)).toEqual(['invoices', 'schema_version']);
    await create(`${foreign}?schema=candidate_connector`);
  });

  test('is not made anew beside the one that was the default until the search path was changed', async () => {
    const at = await freshDatabase();
    await create(at);
    const { pathname } = new URL(at);
    await sql(at, `create schema later; alter database ${pathname.slice(1)} set search_path = later`);
    await expect(create(at)).rejects.toThrow(
      /^The schema public of the database test_\w+ has a store, and what this user makes is in the schema later now\. Name one: \?schema=public for that store, \?schema=later for a new one\.$/,
    );
    expect(await names(at)).toEqual([]);
    await create(`${at}?schema=public`);
    await create(`${at}?schema=later`);
    await create(at);
    await sql(at, `alter database ${pathname.slice(1)} set search_path = nowhere`);
    await expect(create(at)).rejects.toThrow(
      / and what this user makes is in no schema now\. Name one: \?schema=public for that store, \?schema=candidate_connector for a new one\.$/,
    );
  });

  test('is made in the schema of a user who may not look into public, where another one has a store', async () => {
    const at = await freshDatabase();
    await create(at);
    const user = `migrate_${freshName()}`;
    await sql(
      at,
      `revoke all on schema public from public; create role ${user} login password 'x'; create schema ${user} authorization ${user}`,
    );
    const theirs = new URL(at);
    theirs.username = user;
    theirs.password = 'x';
    await create(theirs.href);
    expect(await names(theirs.href)).toContain('events');
  });

  test('needs UTF8', async () => {
    const latin = await freshDatabase(`template template0 encoding 'LATIN1' locale 'C'`);
    await expect(create(latin)).rejects.toThrow(
      /^The database test_\w+ has the encoding LATIN1; the store needs UTF8\./,
    );
  });
});
