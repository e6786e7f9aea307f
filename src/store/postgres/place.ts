import { Client, type ClientConfig } from 'pg';
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

/** How long a server may take at the start to say whether it is a former primary. */
const lookMs = 1000;

/**
 * Knows former primaries. One that comes back after a standby was promoted can be written, too. But it has what was delivered
 * since as waiting, and whoever makes it a standby throws away what it has stored by then.
 */
export class FormerPrimaries {
  /** The newest timeline that was seen of each cluster. */
  readonly #newest = new Map<string, string>();
  /** The histories of connections. A server that is made a standby ends them. */
  readonly #known = new WeakMap<object, History>();
  #hasLooked = false;

  /** Asks all servers at once, as the URL may name a former primary before the one that was promoted. */
  async look(servers: readonly NamedServer[]): Promise<void> {
    const ask = async ({ name, config }: NamedServer) => {
      const client = new Client({ ...config, connectionTimeoutMillis: lookMs });
      client.on('error', () => {});
      try {
        await client.connect();
        this.#refuse(await historyOf(client, lookMs), name);
      } finally {
        await client.end();
      }
    };
    // One that is off says nothing, nor does a standby.
    await Promise.allSettled(servers.map(ask));
    this.#hasLooked = true;
  }

  /** Throws an error with the code `replacedCode` if a connection is to a former primary. Does nothing before `look`. */
  async refuse(client: Client, name: string, timeoutMs: number): Promise<void> {
    if (!this.#hasLooked) return;
    const known = this.#known.get(client) ?? (await historyOf(client, timeoutMs));
    this.#known.set(client, known);
    this.#refuse(known, name);
  }

  #refuse({ cluster, timeline }: History, name: string): void {
    const newest = this.#newest.get(cluster) ?? '';
    if (timeline < newest) throw Object.assign(new Error(`PostgreSQL at ${name}`), { code: replacedCode });
    this.#newest.set(cluster, timeline);
  }
}

async function historyOf(client: Client, timeoutMs: number): Promise<History> {
  const [found] = await send(client, [history], timeoutMs);
  return found as History;
}
