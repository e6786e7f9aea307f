import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { type ClientBase, DatabaseError, Pool, type PoolClient, type PoolConfig } from 'pg';
import { postgresSteps } from '../schema/steps.ts';
import type { Statement } from '../operation.ts';
import { storeClosed, StoreUnavailable } from '../driver.ts';
import { optionsFault, parseHostUrl, urlsOfHosts } from '../../support/store-url.ts';
import {
  explained,
  failureKind,
  ofConnecting,
  readOnlyCode,
  replacedCode,
  type StoreAddress,
  weightOf,
} from './failures.ts';
import { type Keeping, send } from './pipeline.ts';
import { cannotTell, FormerPrimaries, type NamedServer, placeOf } from './place.ts';

export interface ConnectionLimits {
  readonly connectMs: number;
  /** How long the server may take for a statement. */
  readonly statementMs: number;
  /** How long the server waits for a row or lock that another transaction holds. Longer than `standstillMs`. */
  readonly lockMs: number;
  /** When the server ends a transaction whose process stands still: its locks stop all other replicas. */
  readonly standstillMs: number;
  /** How long to wait for an answer, where the server or the network is silent. */
  readonly answerMs: number;
  /** How long to wait for a server that restarts, before reads and writes are refused. */
  readonly patientForMs: number;
  /** Which statements a direct connection keeps prepared. */
  readonly keeps: Keeping;
  /** How often several servers are asked which of them was replaced. */
  readonly lookAgainMs: number;
}

const defaultLimits: ConnectionLimits = {
  connectMs: 5000,
  statementMs: 10_000,
  lockMs: 8000,
  standstillMs: 5000,
  answerMs: 15_000,
  patientForMs: 5000,
  keeps: 'inserts',
  lookAgainMs: 10_000,
};

/** Two transactions at a time, of events and of other writes, as writes share them; see GroupCommit. */
const mostWriters = 2;
const mostReaders = 3;
const firstRetryMs = 10;
const maxRetryMs = 250;

/**
 * The connection pools of one server: one for transactions, one for reads, so that no page that reads much delays an
 * event.
 */
interface Server extends NamedServer {
  readonly writers: Pool;
  readonly readers: Pool;
}

/**
 * The connections to one database. If the URL names several servers, one of them is the primary; it is looked for when the
 * server in use fails.
 */
export class Connections {
  readonly place: StoreAddress;
  readonly limits: ConnectionLimits;
  readonly #servers: readonly Server[];
  /** The index of the server in use. */
  #current = 0;
  /** Errors that another server may not have. */
  readonly #ofServer = new WeakSet<object>();
  /** Connections to the server itself, and not to a pooler, which tells another process id and may change it. */
  readonly #direct = new WeakSet<object>();
  /** Null if there is one server. */
  readonly #formerPrimaries: FormerPrimaries | null;
  readonly #settings: Statement;
  /** The settings of transactions. */
  #ownSettings: Statement;
  #closed: StoreUnavailable | null = null;

  constructor(url: string, limits: Partial<ConnectionLimits> = {}) {
    const { place, servers } = parseUrls(url);
    this.place = place;
    this.limits = { ...defaultLimits, ...limits };
    this.#settings = settingsOf(place.schema, this.limits);
    this.#ownSettings = this.#settings;
    const { connectMs } = this.limits;
    const onConnect = async (client: ClientBase) => {
      const [row] = await send(client as PoolClient, [nature], connectMs);
      const { pid, standby } = row as { readonly pid: number; readonly standby: string };
      // Its reads would lack the last commits.
      if (standby === 'on' && servers.length > 1)
        throw Object.assign(new Error('a standby'), { code: readOnlyCode });
      if (pid === (client as PoolClient & { readonly processID: number }).processID) this.#direct.add(client);
    };
    this.#servers = servers.map(({ name, config }) => ({
      name,
      config,
      writers: poolOf({ ...config, onConnect, max: mostWriters }, this.limits),
      readers: poolOf({ ...config, onConnect, max: mostReaders }, this.limits),
    }));
    this.#formerPrimaries = servers.length > 1 ? new FormerPrimaries(servers, this.limits.lookAgainMs) : null;
  }

  /** Learns which of several servers are former primaries. Call it before the first use, which may write. */
  async look(): Promise<void> {
    await this.#formerPrimaries?.look();
  }

  /** Has each transaction know from now on which server it is on; see placeOf. Some compatible servers cannot tell. */
  async learnPlace(): Promise<void> {
    const settings = settingsOf(this.place.schema, this.limits, placeOf(this.place.schema));
    try {
      await this.outside([settings]);
      this.#ownSettings = settings;
    } catch (error) {
      if (!cannotTell((error as Error).cause ?? error)) throw error;
    }
  }

  /** Runs statements in one round trip and a transaction of their own. Returns their answers. */
  async outside(statements: readonly Statement[]): Promise<readonly unknown[]> {
    return this.patiently(() =>
      this.#using('readers', async (client) =>
        (await this.#send(client, [this.#settings, ...statements])).slice(1),
      ),
    );
  }

  /**
   * Runs a transaction, which begins with its first statements and commits with its last. Throws PostgreSQL's errors.
   */
  transaction<T>(run: (transaction: Transaction) => Promise<T>, answerMs = this.limits.answerMs): Promise<T> {
    return this.#using('writers', (client) => {
      let isBegun = false;
      const sendNext = async (statements: readonly Statement[]) => {
        const first = isBegun ? [] : [begin, this.#ownSettings];
        isBegun = true;
        return (await this.#send(client, [...first, ...statements], answerMs)).slice(first.length);
      };
      const end = async (last: readonly Statement[] = []) => {
        if (isBegun || last.length > 0) await sendNext([...last, commit]);
      };
      return run({ send: sendNext, commit: end });
    });
  }

  #send(client: PoolClient, statements: readonly Statement[], answerMs = this.limits.answerMs) {
    return send(client, statements, answerMs, this.#direct.has(client) ? this.limits.keeps : 'none');
  }

  /**
   * Repeats work that another transaction was in the way of, or during which the server went away, for as long as that can
   * help. Throws StoreUnavailable, and faults as they are.
   */
  async patiently<T>(run: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.limits.patientForMs;
    let waitMs = firstRetryMs;
    let reason: unknown;
    for (let tries = 1; ; tries += 1) {
      try {
        return await run();
      } catch (error) {
        if (reason === undefined || weightOf(error) > weightOf(reason)) reason = error;
        const kind = failureKind(error);
        const isElsewhere = this.#ofServer.has(error as object);
        if (isElsewhere && tries < this.#servers.length) continue;
        const canHelp = kind === 'again' || kind === 'lost' || isElsewhere;
        if (!canHelp || performance.now() + waitMs > deadline) throw await this.#told(reason);
      }
      await sleep(waitMs);
      waitMs = Math.min(waitMs * 2, maxRetryMs);
    }
  }

  /**
   * A failure in plain words. What looks like a bug may be a schema that a newer version has changed since the start.
   */
  async #told(failure: unknown): Promise<unknown> {
    if (!(failure instanceof DatabaseError) || !/^(?:42|23502)/.test(failure.code ?? ''))
      return explained(failure, this.place);
    const isNewer = await this.#isSchemaNewer().catch(() => false);
    return isNewer ? new StoreUnavailable(outdated, { cause: failure }) : explained(failure, this.place);
  }

  async #isSchemaNewer(): Promise<boolean> {
    const ask = [this.#settings, newer];
    const answers = await this.#using('readers', async (client) => send(client, ask, this.limits.answerMs));
    return answers[1] !== undefined;
  }

  /** Closes all connections. Every later use fails. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = storeClosed();
    await Promise.all(this.#servers.flatMap(({ writers, readers }) => [writers.end(), readers.end()]));
  }

  async #using<T>(kind: 'writers' | 'readers', run: (client: PoolClient) => Promise<T>): Promise<T> {
    if (this.#closed) throw this.#closed;
    const place = this.#current;
    const client = await this.#servers[place]![kind].connect().catch((error: unknown) => {
      this.#leave(place, error);
      throw ofConnecting(error);
    });
    try {
      const { name } = this.#servers[place]!;
      // What is behind a pooler may be another server at any time.
      if (this.#direct.has(client)) await this.#formerPrimaries?.refuse(client, name, this.limits.connectMs);
      const result = await run(client);
      client.release();
      return result;
    } catch (error) {
      client.release(!(await this.#undone(client, error)));
      if (failureKind(error) === 'lost' || isNoPrimary(error)) this.#leave(place, error);
      throw error;
    }
  }

  /** Goes on with the next server, unless another call has done so. */
  #leave(place: number, error: unknown): void {
    if (this.#servers.length === 1) return;
    this.#ofServer.add(error as object);
    if (this.#current === place) this.#current = (place + 1) % this.#servers.length;
  }

  /**
   * Rolls back. Returns whether the connection can be used again; not if the server failed, as another may be primary
   * now.
   */
  async #undone(client: PoolClient, error: unknown): Promise<boolean> {
    const kind = failureKind(error);
    if (kind !== 'fault' && kind !== 'again') return false;
    return send(client, [rollback], this.limits.answerMs).then(
      () => true,
      () => false,
    );
  }
}

const newer: Statement = {
  sql: 'select 1 from schema_version where candidate_connector > $1',
  values: [postgresSteps.length],
  wants: 'row',
};
const outdated =
  'A newer version of the connector has changed the tables since this one started, and this one cannot use them. Update this replica.';

const isNoPrimary = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && [readOnlyCode, replacedCode].includes(String(error.code));

const nature: Statement = {
  sql: `select pg_backend_pid() as pid, current_setting('transaction_read_only') as standby`,
  values: [],
  wants: 'row',
};

function poolOf(config: PoolConfig, { connectMs }: ConnectionLimits): Pool {
  const pool = new Pool({
    ...config,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    allowExitOnIdle: true,
  });
  // A connection that broke while idle is not in the pool any more. One that broke in use has failed its query.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** By any other default, what was committed during the wait for a lock would not be seen after it. */
const begin: Statement = { sql: 'begin isolation level read committed', values: [], wants: 'changes' };
const commit: Statement = { sql: 'commit', values: [], wants: 'changes' };
const rollback: Statement = { sql: 'rollback', values: [], wants: 'changes' };

interface Transaction {
  readonly send: (statements: readonly Statement[]) => Promise<readonly unknown[]>;
  /** Commits after these last statements. If there is no answer, it is not known whether it happened. */
  readonly commit: (last?: readonly Statement[]) => Promise<void>;
}

/**
 * The settings of one transaction: PgBouncer gives the next one another connection, and refuses most settings of connections.
 * A commit has to be on disk, also if the server is set up otherwise.
 */
function settingsOf(schema: string | null, limits: ConnectionLimits, place?: string): Statement {
  const settings = [
    ...(place === undefined ? [] : [`set_config('candidate_connector.place', ${place}, true)`]),
    ...(schema === null ? [] : [`set_config('search_path', '"${schema}"', true)`]),
    `set_config('statement_timeout', '${limits.statementMs}', true)`,
    `set_config('lock_timeout', '${limits.lockMs}', true)`,
    `set_config('idle_in_transaction_session_timeout', '${limits.standstillMs}', true)`,
    `case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'on', true) end`,
  ];
  return { sql: `select ${settings.join(', ')}`, values: [], wants: 'nothing' };
}

/** Reads a URL with one or several hosts. Throws StoreUnavailable, never with the password. */
function parseUrls(text: string): { place: StoreAddress; servers: readonly NamedServer[] } {
  const parsed = urlsOfHosts(text).map((one) => {
    const url = parseHostUrl(one);
    if (url === null) {
      // Without the cause, which has the password.
      throw new StoreUnavailable(
        'store.url is not a valid URL. Expected postgres://user:password@host:5432/database; in a password, write @ : / ? # % as %40 %3A %2F %3F %23 %25.',
      );
    }
    const options = url.searchParams;
    const fault = optionsFault(options);
    if (fault !== null) throw new StoreUnavailable(`store.url: ${fault}`);
    // Where these are empty, pg takes PGHOST and the like from the environment.
    const host = options.get('host') ?? url.hostname.replaceAll(/^\[|\]$/g, '');
    const port = url.port || process.env.PGPORT || '5432';
    const given = {
      host,
      port: Number(port),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database: decodeURIComponent(url.pathname.slice(1)),
      application_name: options.get('application_name') ?? 'candidate-connector',
      ssl: tlsOf(options),
      enableChannelBinding: options.has('channel_binding') && options.get('channel_binding') !== 'disable',
    };
    const config: PoolConfig = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
    const server = `${host || process.env.PGHOST || 'localhost'}:${port}`;
    const user = config.user ?? process.env.PGUSER ?? 'of this process';
    const database = config.database ?? process.env.PGDATABASE ?? user;
    return { config, place: { server, user, database, schema: options.get('schema') } };
  });
  const server = parsed.map(({ place }) => place.server).join(' or ');
  return {
    place: { ...parsed[0]!.place, server },
    servers: parsed.map(({ config, place }) => ({ name: place.server, config })),
  };
}

/** The TLS options. As in pg, every mode but `no-verify` checks the certificate and the host. */
function tlsOf(options: URLSearchParams): ConnectionOptions | boolean {
  const files = Object.entries({ ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey' }).flatMap(
    ([key, name]) => {
      const path = options.get(name);
      return path === null ? [] : [{ key, name, path }];
    },
  );
  const mode = options.get('sslmode') ?? (files.length > 0 ? 'verify-full' : 'disable');
  if (mode === 'disable') return false;
  const rejectUnauthorized = mode !== 'no-verify';
  if (files.length === 0) return { rejectUnauthorized };
  const read = () => {
    const contents = Object.fromEntries(files.map((file) => [file.key, contentOf(file)]));
    try {
      return createSecureContext(contents);
    } catch (cause) {
      const names = files.map(({ name }) => name).join(', ');
      const { message } = cause as Error;
      throw new StoreUnavailable(`store.url: the files of ${names} cannot be used: ${message}.`, { cause });
    }
  };
  let kept = read();
  return {
    rejectUnauthorized,
    /** Of the files as they are at each connection, as certificates are renewed while the connector runs. */
    get secureContext() {
      try {
        kept = read();
      } catch {
        // They are being replaced, one after the other. The ones before may be good for longer.
      }
      return kept;
    },
  };
}

function contentOf({ name, path }: { readonly name: string; readonly path: string }): string {
  const fault = (what: string, cause?: unknown) =>
    new StoreUnavailable(`store.url: the file of ${name}, ${path}, ${what}.`, { cause });
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (cause) {
    throw fault('cannot be read', cause);
  }
  // The authorities that Node knows would count then, or no certificate be sent.
  if (content.trim() === '') throw fault('is empty');
  return content;
}
