import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { all, get, lock, query, run, type Operation } from '../../src/store/operation.ts';
import { postgresDriver } from '../../src/store/postgres.ts';
import type { Driver } from '../../src/store/driver.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { freePort } from '../fixtures/free-port.ts';
import { freshName, nobody, PostgresServer } from '../fixtures/postgres.ts';
import { librariesIn, remove, unpackDebian } from './mail-servers.ts';

const ids = query<{ readonly id: string }>('select id from configs order by id');

const saveOnce = (id: string) =>
  function* saving(): Operation<boolean> {
    yield* lock(id);
    if (yield* get(query('select 1 from configs where id = $1'), id)) return false;
    yield* run(`insert into configs (id, source, saved_at) values ($1, '{}', 0)`, id);
    return true;
  };

let folder: string;

beforeAll(async () => {
  folder = await unpackDebian(['pgbouncer']);
}, 300_000);

afterAll(() => remove(folder));

describe.each(['transaction', 'session'])('behind PgBouncer with pool_mode=%s', (mode) => {
  let server: PostgresServer;
  let bouncer: ChildProcess;
  let port: number;
  let drivers: Driver[] = [];

  beforeAll(async () => {
    [server, port] = await Promise.all([PostgresServer.start(), freePort()]);
    const { hostname, port: upstream, username, password } = new URL(server.url());
    const to = `host=${hostname} port=${upstream} user=${username} password='${decodeURIComponent(password)}'`;
    const settings = [
      `[databases]\nevents = ${to} dbname=postgres`,
      `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
      // Fewer than the replicas open.
      `auth_type = any\npool_mode = ${mode}\ndefault_pool_size = ${mode === 'session' ? 12 : 2}`,
    ];
    const file = join(folder, 'pgbouncer.ini');
    writeFileSync(file, settings.join('\n'));
    bouncer = await startBouncer(file);
    for await (const line of createInterface(bouncer.stderr!)) if (line.includes('process up')) break;
    bouncer.stderr!.resume();
  });

  afterEach(async () => {
    await Promise.all(drivers.map((driver) => driver.close()));
    drivers = [];
  });

  afterAll(async () => {
    bouncer.kill('SIGKILL');
    await once(bouncer, 'exit');
    await server.remove();
  });

  const url = (database = 'events') => `postgres://somebody@127.0.0.1:${port}/${database}`;

  test('several replicas start at once, write once and read', async () => {
    const schema = `${url()}?schema=${freshName()}`;
    drivers = await Promise.all([1, 2, 3].map(() => postgresDriver(schema, { limits: { maxBatch: 20 } })));
    const names = Array.from({ length: 100 }, (_, n) => `config ${100 + n}`);
    const results = await Promise.all(
      drivers.flatMap((driver) => names.map((name) => driver.write(saveOnce(name)))),
    );
    expect(results.filter(Boolean)).toHaveLength(100);
    // They would stay with a connection that others get next.
    const kept = drivers.map((driver) =>
      driver.write(() => all(query('select from pg_prepared_statements'))),
    );
    expect((await Promise.all(kept)).flat()).toEqual([]);
    const found = await Promise.all(drivers.map((driver) => driver.read(() => all(ids))));
    for (const rows of found) expect(rows.map(({ id }) => id)).toEqual(names);
  });

  test('says what it refuses', async () => {
    const opening = postgresDriver(url('nowhere'), { limits: { patientForMs: 0 } });
    await expect(opening).rejects.toThrow(
      new StoreUnavailable(`127.0.0.1:${port} refused or ended the connection: bouncer config error.`),
    );
  });

  test('goes on after PostgreSQL was away', async () => {
    const driver = await postgresDriver(url(), { limits: { patientForMs: 30_000 } });
    drivers = [driver];
    await driver.write(saveOnce('before'));
    await server.restart();
    await driver.write(saveOnce('after'));
    expect(await driver.read(() => all(ids))).toEqual([{ id: 'after' }, { id: 'before' }]);
  });
});

/** It refuses to run as root. */
async function startBouncer(file: string): Promise<ChildProcess> {
  return spawn(join(folder, 'root/usr/sbin/pgbouncer'), [file], {
    ...(nobody === undefined ? {} : { uid: nobody, gid: nobody }),
    env: { LD_LIBRARY_PATH: await librariesIn(folder) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}
