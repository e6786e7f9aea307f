import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { all, get, query, run, together, type Operation } from '../../../src/store/operation.ts';
import { postgresDriver, type PostgresOptions } from '../../../src/store/postgres.ts';
import type { Driver } from '../../../src/store/driver.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import type { Tallies } from '../../../src/store/tallies.ts';
import { freshName, freshSchema, PostgresProxy, PostgresServer, sql } from '../../fixtures/postgres.ts';

const save = (id: string) =>
  function* saving(): Operation<string> {
    yield* run('insert into configs (id, source, saved_at) values ($1, $2, $3)', id, '{}', 0);
    return id;
  };

const ids = query<{ readonly id: string }>('select id from configs order by id');

describe('the driver of PostgreSQL', () => {
  let url: string;
  let drivers: Driver[];

  beforeEach(async () => {
    url = await freshSchema();
    drivers = [];
  });

  afterEach(() => Promise.all(drivers.map((driver) => driver.close())));

  async function open(limits: PostgresOptions['limits'] = {}, at = url): Promise<Driver> {
    const driver = await postgresDriver(at, { limits });
    drivers.push(driver);
    return driver;
  }

  const saved = (driver: Driver) =>
    driver
      .read(() => all(ids))
      .then((rows) => rows.map(({ id }) => id))
      .catch((error: Error) => error.message);

  const counts = (at = url) =>
    sql(at, 'select sink, state, n::int from delivery_counts order by sink, state');

  describe('commits', () => {
    test('together what comes while a transaction runs, in order, at most maxBatch at once', async () => {
      const driver = await open({ maxBatch: 10 });
      const names = Array.from({ length: 26 }, (_, n) => `config ${100 + n}`);
      const first = driver.write(save(names[0]!));
      await new Promise((resolve) => setImmediate(resolve));
      const others = names.slice(1).map((name) => driver.write(save(name)));
      expect(await Promise.all([first, ...others])).toEqual(names);
      expect(await saved(driver)).toEqual(names);
      expect(driver.commits).toBe(4);
    });

    test('the tallies of all of them once, by a statement that stays prepared', async () => {
      const driver = await open();
      await driver.write(save('config'));
      await Promise.all(
        ['slack', 'email', 'slack'].map((sink) =>
          driver.write(function* plan(tallies: Tallies): Operation<void> {
            tallies.planned(sink, 'pending');
            tallies.used('config');
            yield* together([]);
          }),
        ),
      );
      expect(await counts()).toEqual([
        { sink: 'email', state: 'pending', n: 1 },
        { sink: 'email', state: 'planned', n: 1 },
        { sink: 'slack', state: 'pending', n: 2 },
        { sink: 'slack', state: 'planned', n: 2 },
      ]);
      expect(await sql(url, 'select uses::int from configs')).toEqual([{ uses: 3 }]);
      const kept = query<{ readonly statement: string }>('select statement from pg_prepared_statements');
      const texts = (await driver.write(() => all(kept))).map(({ statement }) => statement);
      expect(texts).toContainEqual(expect.stringContaining('insert into delivery_counts'));
    });
  });

  describe('undoes alone', () => {
    const others = ['after', 'before'];

    test.each<[string, (tallies: Tallies) => Operation<unknown>, RegExp]>([
      [
        'a write that breaks a constraint',
        function* failing(tallies) {
          yield* save('half of it')();
          tallies.planned('slack', 'pending');
          yield* save('half of it')();
        },
        /duplicate key/,
      ],
      [
        'a write with a bug of its own',
        function* failing(tallies) {
          yield* save('half of it')();
          tallies.planned('slack', 'pending');
          throw new Error('a bug');
        },
        /a bug/,
      ],
      [
        'a write that cannot even begin',
        () => {
          throw new Error('a bug');
        },
        /a bug/,
      ],
      [
        'a write for which a right is missing',
        function* failing(tallies) {
          tallies.planned('slack', 'pending');
          yield* run(`do $$ begin raise exception 'no' using errcode = '42501'; end $$`);
        },
        /lacks a right in the database .*: no\./,
      ],
      [
        'a write that a trigger refuses',
        function* failing(tallies) {
          tallies.planned('slack', 'pending');
          yield* run(`do $$ begin raise exception 'no'; end $$`);
        },
        /^A trigger or function in the database postgres refuses what the store needs: no\.$/,
      ],
      [
        'a write whose trigger has a fault of its own',
        function* failing(tallies) {
          tallies.planned('slack', 'pending');
          yield* run(`do $$ begin insert into no_such_table values (1); end $$`);
        },
        /^A trigger or function .* refuses what the store needs: relation "no_such_table" does not exist\.$/,
      ],
      [
        'a write that a check of a table refuses',
        function* failing(tallies) {
          tallies.planned('slack', 'pending');
          yield* run('create temp table checked (n bigint check (n > 1)) on commit drop');
          yield* run('insert into checked values (1)');
        },
        /^A constraint in the database postgres refuses what the store needs: new row for relation "checked"/,
      ],
    ])('%s', async (_, failing, message) => {
      const driver = await open();
      const results = await Promise.allSettled([
        driver.write(save('before')),
        driver.write(failing),
        driver.write(save('after')),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(results[1]).toMatchObject({ reason: { message: expect.stringMatching(message) } });
      expect(await saved(driver)).toEqual(others);
      expect(await counts()).toEqual([]);
    });
  });

  test('runs again what two processes blocked each other with', async () => {
    const [one, other] = [await open(), await open()];
    await one.write(save('a'));
    await one.write(save('b'));
    const use = (first: string, then: string) =>
      function* using(): Operation<void> {
        yield* run('update configs set uses = uses + 1 where id = $1', first);
        yield* get(query('select pg_sleep(0.1)'));
        yield* run('update configs set uses = uses + 1 where id = $1', then);
      };
    await Promise.all([one.write(use('a', 'b')), other.write(use('b', 'a'))]);
    expect(await sql(url, 'select uses::int from configs')).toEqual([{ uses: 2 }, { uses: 2 }]);
  });

  test('writes while more is read than there are connections for it', async () => {
    const driver = await open();
    let read = 0;
    const sleeping = query('select pg_sleep(1)');
    const reads = Array.from({ length: 6 }, () => driver.read(() => get(sleeping)).then(() => (read += 1)));
    await driver.write(save('a'));
    expect(read).toBeLessThan(6);
    await Promise.all(reads);
  });

  describe('with a server of its own', () => {
    let server: PostgresServer;

    beforeAll(async () => {
      server = await PostgresServer.start({ synchronous_commit: 'off' });
    });

    afterAll(() => server.remove());

    beforeEach(() => {
      url = `${server.url()}?schema=${freshName()}`;
    });

    test('commits to the disk also where the server is set up not to', async () => {
      const driver = await open();
      const setting = query<{ readonly synchronous_commit: string }>('show synchronous_commit');
      expect(await driver.write(() => get(setting))).toEqual({ synchronous_commit: 'on' });
    });

    test('has five connections at most, however much is to be done', async () => {
      const driver = await open();
      const sleeping = query('select pg_sleep(0.3)');
      const sleep = () => get(sleeping);
      const busy = Promise.all(
        Array.from({ length: 8 }, () => [
          driver.read(sleep),
          driver.write(sleep),
          driver.receive(sleep),
        ]).flat(),
      );
      const connections = `select count(*)::int as n from pg_stat_activity
        where backend_type = 'client backend' and pid <> pg_backend_pid()`;
      await expect.poll(() => sql(url, connections)).toEqual([{ n: 5 }]);
      await busy;
      expect(await sql(url, connections)).toEqual([{ n: 5 }]);
    });

    test('bridges a restart, and loses nothing that it said was stored', async () => {
      const driver = await open({ patientForMs: 30_000 });
      const stored: string[] = [];
      const faults: unknown[] = [];
      const isFault = (error: unknown) => !(error instanceof StoreUnavailable);
      const over = new AbortController();
      const writing = (async () => {
        for (let n = 0; !over.signal.aborted; n += 1) {
          const writes = ['a', 'b', 'c'].map((name) => driver.write(save(`${name} ${n}`)));
          for (const result of await Promise.allSettled(writes)) {
            if (result.status === 'fulfilled') stored.push(result.value);
            else if (isFault(result.reason)) faults.push(result.reason);
          }
        }
      })();
      const goesOn = async () => {
        const before = stored.length;
        await expect.poll(() => stored.length, { timeout: 30_000 }).toBeGreaterThan(before + 10);
      };
      await goesOn();
      await server.restart();
      await goesOn();
      await server.crash();
      await server.start();
      await goesOn();
      over.abort();
      await writing;
      expect(faults).toEqual([]);
      const kept = new Set(await saved(driver));
      expect(stored.filter((id) => !kept.has(id))).toEqual([]);
    });

    test('refuses what a server that stays away cannot take, and goes on when it is back', async () => {
      const driver = await open({ patientForMs: 200 });
      await server.stop();
      await expect(driver.write(save('early'))).rejects.toThrow(
        /^No PostgreSQL listens at 127\.0\.0\.1:\d+\.$/,
      );
      await expect(driver.read(() => all(ids))).rejects.toThrow(StoreUnavailable);
      await server.start();
      await driver.write(save('later'));
      expect(await saved(driver)).toEqual(['later']);
    });

    describe('behind a proxy', () => {
      let proxy: PostgresProxy;

      beforeEach(async () => {
        proxy = await PostgresProxy.start(url);
        url = proxy.url;
      });

      afterEach(() => proxy.close());

      const breakOnceAt = (text: string) => {
        let broken = 0;
        proxy.breakAfter = (data) => data.includes(text) && (broken += 1) === 1;
        return () => broken;
      };

      test('runs again what broke before its commit', async () => {
        const driver = await open();
        const broken = breakOnceAt('insert into configs');
        expect(await Promise.all([driver.write(save('a')), driver.write(save('b'))])).toEqual(['a', 'b']);
        expect(broken()).toBe(2);
        expect(await saved(driver)).toEqual(['a', 'b']);
      });

      test('never runs again what may have been committed, and says so', async () => {
        const driver = await open();
        breakOnceAt('\0commit\0');
        await expect(driver.write(save('a'))).rejects.toThrow(
          /Whether the last writes were stored is not known\.$/,
        );
        // It was.
        expect(await saved(driver)).toEqual(['a']);
      });

      test('nor where the answer is none of PostgreSQL', async () => {
        const driver = await open();
        proxy.breakAfter = (data) => {
          const [client, upstream] = proxy.sockets;
          if (data.includes('\0commit\0')) upstream!.removeAllListeners('data').on('data', () => {});
          if (data.includes('\0commit\0')) client!.write(Buffer.from([0x3f, 0, 0, 0, 4]));
          return false;
        };
        const writes = await Promise.allSettled([driver.write(save('a')), driver.write(save('b'))]);
        const refused = writes.filter((write) => write.status === 'rejected');
        expect(refused.map(({ reason }) => String(reason))).toEqual(
          Array.from({ length: 2 }, () =>
            expect.stringMatching(
              /^StoreUnavailable: .* Whether the last writes were stored is not known\.$/,
            ),
          ),
        );
        proxy.breakAfter = () => false;
        // The server may be at it still.
        await expect.poll(() => saved(driver)).toEqual(['a', 'b']);
      });

      test('refuses what a silent server does not answer, and goes on when it does', async () => {
        const driver = await open({ answerMs: 200, patientForMs: 100 });
        const silent = proxy.sockets.at(-1)!;
        silent.pause();
        const results = await Promise.allSettled([driver.write(save('a')), driver.read(() => all(ids))]);
        const refused = results.filter((result) => result.status === 'rejected');
        expect(refused.map(({ reason }) => String(reason))).toContainEqual(
          expect.stringMatching(/did not answer in time\./),
        );
        await driver.write(save('b'));
        expect(await saved(driver)).toContain('b');
      });
    });
  });
});
