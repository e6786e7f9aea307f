import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseError } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { explained, failureKind } from '../../../src/store/postgres/failures.ts';
import { postgresDriver, type PostgresOptions } from '../../../src/store/postgres.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { freshDatabase, freshName, PostgresServer, sharedPostgres, sql } from '../../fixtures/postgres.ts';
import { selfSigned } from '../../../sandbox/certificate.ts';

const secret = 'b@d:p/a?s#s%w';

/** What a person reads. Never with the password. */
async function refusal(url: string, limits: PostgresOptions['limits'] = {}): Promise<string> {
  const opening = postgresDriver(url, { limits: { patientForMs: 0, ...limits } });
  const error: unknown = await opening.then(
    (driver) => driver.close(),
    (reason: unknown) => reason,
  );
  if (error === undefined) return 'opened';
  if (!(error instanceof StoreUnavailable)) throw error;
  expect(`${error.message}${error.stack}`).not.toContain(secret);
  expect(`${error.message}${error.stack}`).not.toContain(encodeURIComponent(secret));
  return error.message;
}

describe('a clear sentence says', () => {
  let url: string;
  let server: string;

  beforeAll(async () => {
    url = await freshDatabase();
    server = `127.0.0.1:${new URL(url).port}`;
  });

  const as = (name: string, password = secret) =>
    url.replace(/\/\/.*@/, `//${name}:${encodeURIComponent(password)}@`);

  /** A user with that password, and whatever else is said of it. */
  async function user(more = ''): Promise<string> {
    const name = freshName();
    await sql(url, `create role ${name} login password '${secret}' ${more}`);
    return name;
  }

  const database = () => new URL(url).pathname.slice(1);

  test('that the password is wrong', async () => {
    expect(await refusal(as('postgres'))).toBe(
      `PostgreSQL at ${server} refused the password of the user postgres. A changed password takes a restart of each replica. Make a container anew: one that is restarted keeps the old variables.`,
    );
  });

  test('that there is no password', async () => {
    expect(await refusal(url.replace(/\/\/.*@/, '//postgres@'))).toBe(
      `PostgreSQL at ${server} wants a password of the user postgres, and store.url has none.`,
    );
  });

  test('that the database is missing', async () => {
    expect(await refusal(url.replace(/\w+$/, 'nowhere'))).toBe(
      `There is no database nowhere on PostgreSQL at ${server}. Create it first.`,
    );
  });

  test('that the user lacks a right', async () => {
    const limited = await user();
    // As PostgreSQL 15 and later have it.
    await sql(url, 'revoke create on schema public from public');
    expect(await refusal(as(limited))).toBe(
      `The user ${limited} lacks a right in the database ${database()}: permission denied for schema public. It must be allowed to create and to use tables there.`,
    );
    expect(await refusal(`${as(limited)}?schema=own`)).toBe(
      `The user ${limited} lacks a right in the database ${database()}: permission denied for database ${database()}. It must be allowed to create and to use tables there.`,
    );
  });

  test('that the user has too many connections', async () => {
    const limited = await user('connection limit 0');
    expect(await refusal(as(limited))).toBe(
      `PostgreSQL at ${server} takes no more connections of the user ${limited}. Raise its limit, or close others.`,
    );
  });

  test('that the server is read-only', async () => {
    const reader = await user('superuser');
    await sql(url, `alter role ${reader} set default_transaction_read_only = on`);
    expect(await refusal(as(reader))).toBe(
      `PostgreSQL at ${server} is read-only: a standby, or a primary that was made so, as services do where its disk is nearly full. The store needs a primary that can be written.`,
    );
  });

  test('that somebody else keeps a lock', async () => {
    const driver = await postgresDriver(url, { limits: { lockMs: 50 } });
    const holding = sql(url, 'begin; lock table configs; select pg_sleep(1); commit');
    await expect
      .poll(() =>
        sql(
          url,
          `select 1 from pg_locks where mode = 'AccessExclusiveLock' and relation = 'configs'::regclass`,
        ),
      )
      .toHaveLength(1);
    await expect(
      driver.write(function* writing() {
        yield { sql: 'update configs set uses = 0', values: [], wants: 'changes' };
      }),
    ).rejects.toThrow(
      `Rows of the database ${database()} stay locked: by another process, or by a commit that waits for a synchronous standby.`,
    );
    await holding;
    await driver.close();
  });

  test('that a statement took too long', async () => {
    const driver = await postgresDriver(url, { limits: { statementMs: 500 } });
    await expect(
      driver.read(function* reading() {
        yield { sql: 'select pg_sleep(600)', values: [], wants: 'rows' };
      }),
    ).rejects.toThrow(`PostgreSQL at ${server} took too long over a statement.`);
    await driver.close();
  });

  test('that the server offers no TLS', async () => {
    expect(await refusal(`${url}?sslmode=require`)).toBe(
      `PostgreSQL at ${server} offers no TLS, which store.url demands. Turn it on there, or set sslmode=disable.`,
    );
  });

  describe('of TLS', () => {
    let secure: PostgresServer;
    let folder: string;
    const { key, cert } = selfSigned();

    beforeAll(async () => {
      secure = await PostgresServer.start();
      folder = mkdtempSync(join(tmpdir(), 'postgres-tls-'));
      writeFileSync(join(folder, 'ca.pem'), cert);
      writeFileSync(join(folder, 'other.pem'), selfSigned().cert);
      secure.write('server.key', key);
      secure.write('server.crt', cert);
      await sql(secure.url(), 'alter system set ssl = on');
      secure.write('pg_hba.conf', 'hostssl all all all scram-sha-256');
      await secure.restart();
    });

    afterAll(async () => {
      await secure.remove();
      rmSync(folder, { recursive: true });
    });

    const place = () => `127.0.0.1:${secure.port}`;
    const withCa = (file: string) => `sslrootcert=${encodeURIComponent(join(folder, file))}`;

    test('that the server demands it', async () => {
      expect(await refusal(secure.url())).toBe(
        `PostgreSQL at ${place()} does not admit the user postgres to the database postgres without TLS. Add ?sslmode=verify-full to store.url.`,
      );
    });

    test.each(['require', 'verify-ca', 'verify-full'])(
      'that nobody known vouches for it with sslmode=%s',
      async (mode) => {
        const untrusted = `The certificate of PostgreSQL at ${place()} is not from a known authority. Name the authority's file in store.url: ?sslmode=verify-full&sslrootcert=/path/ca.pem.`;
        expect(await refusal(`${secure.url()}?sslmode=${mode}`)).toBe(untrusted);
        expect(await refusal(`${secure.url()}?sslmode=${mode}&${withCa('other.pem')}`)).toBe(untrusted);
      },
    );

    test('nothing where the authority is given, or nobody need vouch', async () => {
      expect(await refusal(`${secure.url()}?${withCa('ca.pem')}`)).toBe('opened');
      expect(await refusal(`${secure.url()}?sslmode=verify-full&${withCa('ca.pem')}`)).toBe('opened');
      expect(await refusal(`${secure.url()}?sslmode=no-verify`)).toBe('opened');
    });

    test('nothing where certificates are renewed in their files, the authority and its own', async () => {
      const file = (name: string) => join(folder, name);
      const [own, next] = [selfSigned(), selfSigned()];
      const keep = (ca: string, one: typeof own) => {
        for (const [name, text] of Object.entries({ 'its.pem': ca, 'own.pem': one.cert, 'own.key': one.key }))
          writeFileSync(file(name), text);
      };
      const serve = async (one: typeof own) => {
        secure.write('server.key', one.key);
        secure.write('server.crt', one.cert);
        secure.write('clients.crt', one.cert);
        await secure.restart();
      };
      secure.write('postgresql.auto.conf', "ssl = on\nssl_ca_file = 'clients.crt'\n");
      secure.write('pg_hba.conf', 'hostssl all all all scram-sha-256 clientcert=verify-ca');
      keep(own.cert, own);
      await serve(own);
      const files = `${withCa('its.pem')}&sslcert=${file('own.pem')}&sslkey=${file('own.key')}`;
      const driver = await postgresDriver(`${secure.url()}?${files}`);
      try {
        await driver.now();
        keep(next.cert, next);
        await serve(next);
        expect(await driver.now()).toBeTypeOf('number');
        // Halfway through: a new certificate beside the key before, and a file that is not written yet.
        writeFileSync(file('own.pem'), own.cert);
        await secure.restart();
        expect(await driver.now()).toBeTypeOf('number');
        writeFileSync(file('own.pem'), '');
        await secure.restart();
        expect(await driver.now()).toBeTypeOf('number');
        rmSync(file('own.pem'));
        await secure.restart();
        expect(await driver.now()).toBeTypeOf('number');
      } finally {
        await driver.close();
      }
    });

    test('that a certificate and a key do not belong together', async () => {
      writeFileSync(join(folder, 'other.key'), key);
      const files = `sslcert=${join(folder, 'other.pem')}&sslkey=${join(folder, 'other.key')}`;
      expect(await refusal(`${secure.url()}?${withCa('ca.pem')}&${files}`)).toMatch(
        /^store\.url: the files of sslrootcert, sslcert, sslkey cannot be used: .*key values mismatch/,
      );
    });

    test('that the authority has no such file', async () => {
      const missing = join(folder, 'none.pem');
      expect(await refusal(`${secure.url()}?sslrootcert=${missing}`)).toBe(
        `store.url: the file of sslrootcert, ${missing}, cannot be read.`,
      );
    });
  });

  describe('of what is no PostgreSQL', () => {
    let other: Server;
    let answer: (socket: Socket) => void;
    const sockets: Socket[] = [];

    beforeEach(async () => {
      other = createServer((socket) => {
        sockets.push(socket);
        socket.on('error', () => {});
        socket.once('data', () => answer(socket));
      });
      other.listen(0, '127.0.0.1');
      await once(other, 'listening');
    });

    afterEach(() => {
      for (const socket of sockets) socket.destroy();
      other.close();
    });

    const port = () => (other.address() as AddressInfo).port;
    const there = (options = '') =>
      `postgres://postgres:${encodeURIComponent(secret)}@127.0.0.1:${port()}/x${options}`;

    test('that nobody listens', async () => {
      const free = there();
      other.close();
      await once(other, 'close');
      expect(await refusal(free)).toMatch(/^No PostgreSQL listens at 127\.0\.0\.1:\d+\.$/);
    });

    test('that nobody answers', async () => {
      answer = () => {};
      expect(await refusal(there(), { connectMs: 100 })).toBe(
        `PostgreSQL at 127.0.0.1:${port()} did not answer in time.`,
      );
    });

    test('that somebody hangs up', async () => {
      answer = (socket) => socket.end();
      expect(await refusal(there())).toBe(`The connection to PostgreSQL at 127.0.0.1:${port()} was closed.`);
    });

    test('that it speaks something else', async () => {
      answer = (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      expect(await refusal(there('?sslmode=require'))).toBe(
        `127.0.0.1:${port()} does not answer as a PostgreSQL with TLS does.`,
      );
    });

    // Supabase's pooler says FATAL, the proxy of Neon ERROR, and both give every refusal the code of a bug of the server.
    test.each(['FATAL', 'ERROR'])(
      'that a pooler refuses for a reason of its own, with %s',
      async (severity) => {
        const fields = [`S${severity}`, 'CXX000', 'M(EMAXCONN) max client connections reached', '', ''];
        const body = Buffer.from(fields.join('\0'));
        const head = Buffer.from('E....');
        head.writeInt32BE(body.length + 4, 1);
        answer = (socket) => socket.end(Buffer.concat([head, body]));
        expect(await refusal(there())).toBe(
          `127.0.0.1:${port()} refused or ended the connection: (EMAXCONN) max client connections reached.`,
        );
      },
    );

    test('that the host is unknown', async () => {
      expect(await refusal('postgres://a@nowhere.invalid/b')).toMatch(
        /^The host of nowhere\.invalid:5432 (was not found|cannot be looked up for now)\.$/,
      );
    });
  });

  // These need a server that crashes or has no disk left.
  test.each([
    ['57P01', 'terminating connection due to administrator command', 'lost', /is shutting down\.$/],
    ['57P02', 'terminating connection because of crash', 'lost', /crashed and starts again\.$/],
    [
      '57P03',
      'the database system is starting up',
      'lost',
      /is not ready: the database system is starting up\.$/,
    ],
    ['53100', 'could not extend file', 'unavailable', /^The disk of PostgreSQL at db:5432 is full\.$/],
    ['53200', 'out of shared memory', 'unavailable', /has not enough memory: out of shared memory\.$/],
    ['08006', 'server closed the connection', 'lost', /broke: server closed the connection\.$/],
    ['53000', 'too many open files', 'unavailable', /^PostgreSQL at db:5432 failed: too many open files\.$/],
    ['53400', 'too large for temp_file_limit', 'unavailable', /failed: too large for temp_file_limit\.$/],
    ['58P01', 'could not open file', 'unavailable', /failed: could not open file\.$/],
    ['XX000', 'could not extend file', 'unavailable', /failed: could not extend file\.$/],
    ['53300', 'sorry, too many clients already', 'lost', /takes no more connections of the user u\./],
    ['ENOTFOUND', 'getaddrinfo ENOTFOUND db', 'lost', /^The host of db:5432 was not found\.$/],
    ['EHOSTUNREACH', 'connect EHOSTUNREACH', 'lost', /^The network has no way to db:5432\.$/],
    // PgBouncer, where PostgreSQL is away.
    [
      '08P01',
      'server login has been failing',
      'lost',
      /^db:5432 refused or ended the connection: server login has been failing\.$/,
    ],
    ['40P01', 'deadlock detected', 'again', /stay locked: .* standby\.$/],
  ])('what %s means: %s', (code, message, kind, sentence) => {
    const error = new DatabaseError(message, 0, 'error');
    error.code = code;
    expect(failureKind(error)).toBe(kind);
    const place = { server: 'db:5432', user: 'u', database: 'd', schema: null };
    expect((explained(error, place) as Error).message).toMatch(sentence);
  });

  test('a session that is ended for a reason that nobody knows is lost, and was no bug', () => {
    const error = new DatabaseError('unable to check out a connection', 0, 'error');
    Object.assign(error, { code: 'XX000', severity: 'ERROR' });
    expect(failureKind(error)).toBe('unavailable');
    error.severity = 'FATAL';
    expect(failureKind(error)).toBe('lost');
  });

  test('a connection that a trigger lost is its own, unless the session ended in it', () => {
    const error = new DatabaseError('could not establish connection', 0, 'error');
    Object.assign(error, { code: '08001', severity: 'ERROR', where: 'PL/pgSQL function audit() line 3' });
    expect(failureKind(error)).toBe('unavailable');
    error.severity = 'FATAL';
    expect(failureKind(error)).toBe('lost');
  });

  test('of a statement that is wrong nothing: it is a bug', async () => {
    const driver = await postgresDriver(await sharedSchema());
    for (const values of [[], ['text']]) {
      await expect(
        driver.write(function* wrong() {
          yield { sql: 'update configs set uses = $1', values, wants: 'changes' };
        }),
      ).rejects.not.toBeInstanceOf(StoreUnavailable);
    }
    await driver.close();
  });
});

async function sharedSchema(): Promise<string> {
  return `${await sharedPostgres()}?schema=${freshName()}`;
}

describe('store.url', () => {
  test.each([
    [
      `postgres://u:${secret}@h/d`,
      /^store\.url is not a valid URL\. Expected postgres:\/\/user:password@host:5432\/database; in a pa/,
    ],
    ['postgres://u:%zz@h/d', /^store\.url is not a valid URL/],
    [
      'postgres://u@h/d?scheme=x',
      /^store\.url: scheme is not an option of a postgres URL here\. Expected schema, /,
    ],
    ['postgres://u@h/d?schema=Mine', /^store\.url: schema=Mine is not a name that is taken here/],
    [
      'postgres://u@h/d?sslmode=prefer',
      /^store\.url: sslmode=prefer is not supported\. Expected disable, no-verify, /,
    ],
  ])('%s is refused', async (url, message) => {
    expect(await refusal(url)).toMatch(message);
  });
});
