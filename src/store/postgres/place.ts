import { Client, type ClientConfig, DatabaseError } from 'pg';
import type { Statement } from '../operation.ts';
import { replacedCode } from './failures.ts';
import { send } from './pipeline.ts';

/**
 * The SQL of the place of the store, which changes with a promotion or a restored base backup (the timeline), with a restored
 * dump (the cluster's identifier, the table's oid), and with a copy of the database (the database's oid). The timeline is from
 * the name of a WAL file, as the control file has it later.
 */
export const placeOf = (schema: string | null): string => `
  case when not pg_is_in_recovery() then concat_ws(' ', ${timelineHex},
    ${clusterId},
    (select oid from pg_database where datname = current_database()), to_regclass('${schema === null ? '' : `"${schema}".`}deliveries')::oid) end`;

const timelineHex = 'left(pg_walfile_name(pg_current_wal_lsn()), 8)';
const clusterId = '(select system_identifier from pg_control_system())';

/** What a server goes on with: each promotion of a standby begins another timeline of its cluster. */
interface History {
  readonly cluster: string;
  /** Eight hexadecimal digits. */
  readonly timeline: string;
}

const history: Statement = {
  sql: `select ${clusterId}::text as cluster, ${timelineHex} as timeline`,
  values: [],
  wants: 'row',
};

/** One of several servers of a store. `name`: host:port. */
export interface NamedServer {
  readonly name: string;
  readonly config: ClientConfig;
}

/** How long a server may take to say whether it is a former primary. */
const lookMs = 1000;

/**
 * Knows former primaries of several servers. One that comes back after a standby was promoted can be written, too. But it has
 * what was delivered since as waiting, and whoever makes it a standby throws away what it has stored by then.
 */
export class FormerPrimaries {
  readonly #servers: readonly NamedServer[];
  readonly #lookAgainMs: number;
  /** The newest timeline that was seen of each cluster. */
  readonly #newest = new Map<string, string>();
  /** The histories of connections. A server that is made a standby ends them. */
  readonly #known = new WeakMap<object, History | null>();
  /** By performance.now(). */
  #lookedAt = -Infinity;

  constructor(servers: readonly NamedServer[], lookAgainMs: number) {
    this.#servers = servers;
    this.#lookAgainMs = lookAgainMs;
  }

  /** Asks all servers at once, as the URL may name a former primary before the one that was promoted. */
  async look(): Promise<void> {
    this.#lookedAt = performance.now();
    const ask = async ({ config }: NamedServer) => {
      const client = new Client({ ...config, connectionTimeoutMillis: lookMs });
      client.on('error', () => {});
      try {
        await client.connect();
        this.#see(await historyOf(client, lookMs));
      } finally {
        await client.end();
      }
    };
    // One that is off says nothing, nor does a standby.
    await Promise.allSettled(this.#servers.map(ask));
  }

  /**
   * Throws an error with the code `replacedCode` if a connection is to a former primary. Has the others asked again from time to
   * time, as the one that was promoted may have been off before.
   */
  async refuse(client: Client, name: string, timeoutMs: number): Promise<void> {
    if (performance.now() - this.#lookedAt >= this.#lookAgainMs) void this.look();
    let known = this.#known.get(client);
    if (known === undefined) {
      known = await historyOf(client, timeoutMs);
      this.#known.set(client, known);
    }
    if (!this.#see(known)) throw Object.assign(new Error(`PostgreSQL at ${name}`), { code: replacedCode });
  }

  /** Whether none of its cluster was seen that is newer. */
  #see(seen: History | null): boolean {
    if (seen === null) return true;
    const { cluster, timeline } = seen;
    if (timeline < (this.#newest.get(cluster) ?? '')) return false;
    this.#newest.set(cluster, timeline);
    return true;
  }
}

/** Null if the server cannot tell. */
async function historyOf(client: Client, timeoutMs: number): Promise<History | null> {
  try {
    const [found] = await send(client, [history], timeoutMs);
    return found as History;
  } catch (error) {
    if (cannotTell(error)) return null;
    throw error;
  }
}

/** Whether a server only looks like PostgreSQL, or does not let the user ask for its timeline. */
export const cannotTell = (error: unknown): boolean =>
  error instanceof DatabaseError && /^(?:0A|42|XX)/.test(error.code ?? '');
