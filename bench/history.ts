import { mkdtemp, rm, stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { Client } from 'pg';
import { PostgresServer } from '../test/fixtures/postgres.ts';
import { burst, type Burst } from './burst.ts';
import { dataFolder } from './data-folder.ts';
import { type BenchResult, historyStores, median } from './result.ts';

const eventsPerRound = 10_000;
const targetRatio = 0.8;

/**
 * What many past events cost the rates of accepting and delivering, on SQLite and on PostgreSQL: a store that is full of them against
 * an empty one, one after the other in each round, and each after a burst that is not counted.
 */
export async function benchHistory({ events, store, rounds = 5 }: History): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const name of historyStores.filter((one) => store === undefined || one === store)) {
    const folder = await mkdtemp(join(await dataFolder(), 'bench-history-'));
    try {
      results.push(...(await onStore[name](events, folder, rounds)));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  return results;
}

interface History {
  readonly events: number;
  /** Both if it is not given. */
  readonly store: string | undefined;
  readonly rounds: number | undefined;
}

const onStore = { sqlite: onSqlite, postgres: onPostgres };

async function onSqlite(events: number, folder: string, rounds: number): Promise<BenchResult[]> {
  const file = join(folder, 'full.db');
  const measured = await measure(
    folder,
    (name) => `sqlite:${join(folder, `${name}.db`)}`,
    () => fillSqlite(file, events),
    rounds,
  );
  const { size } = await stat(file);
  return judge('SQLite', events, measured, size);
}

async function onPostgres(events: number, folder: string, rounds: number): Promise<BenchResult[]> {
  // The defaults of PostgreSQL, but for how much is written between two checkpoints.
  const server = await PostgresServer.start({ shared_buffers: '128MB', max_wal_size: '8GB' });
  try {
    const measured = await measure(
      folder,
      (name) => `${server.url()}?schema=${name}`,
      () => fillPostgres(server.url(), events),
      rounds,
    );
    return judge('PostgreSQL', events, measured, await sizeOnPostgres(server.url()));
  } finally {
    await server.remove();
  }
}

interface Round {
  readonly empty: Burst;
  readonly full: Burst;
}

async function measure(
  folder: string,
  urlOf: (name: string) => string,
  fill: () => void | Promise<void>,
  rounds: number,
): Promise<Round[]> {
  const run = async (name: string) => {
    const bursts = [eventsPerRound, eventsPerRound];
    return (await burst('connector-server.ts', [folder, urlOf(name)], { folder, bursts })).at(-1)!;
  };
  await burst('connector-server.ts', [folder, urlOf('full')], { folder, bursts: [1] });
  await fill();
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({
      empty: await run(`empty_${round}`),
      full: await run('full'),
    });
  }
  return measured;
}

function judge(store: string, events: number, measured: readonly Round[], bytes: number): BenchResult[] {
  const stored = events + measured.length * 2 * eventsPerRound;
  return (['accepted', 'delivered'] as const).map((which) => {
    const ratio = median(measured.map(({ empty, full }) => full[which] / empty[which]));
    const typical = (of: keyof Round, figure: keyof Burst) =>
      Math.round(median(measured.map((round) => round[of][figure])));
    return {
      name: `${which} with ${events} past events on ${store}, against none`,
      ratio,
      detail: `${typical('full', which)} events/s, ${typical('empty', which)}/s in an empty store; ${typical('full', 'cpuUs')} µs of the connector's CPU time an event, against ${typical('empty', 'cpuUs')} µs; ${Math.round(bytes / stored)} bytes an event`,
      target: `at least ${targetRatio}`,
      met: ratio >= targetRatio,
    };
  });
}

/** Its store has one event, delivered, and nobody has it open. */
export function fillSqlite(file: string, events: number): void {
  const db = new DatabaseSync(file);
  try {
    // Not `off`, which Node's SQLite refuses. The cache holds the one index that is not appended to.
    db.exec('pragma journal_mode = memory; pragma synchronous = off; pragma cache_size = -600000');
    const columnsOf = (table: string) =>
      db
        .prepare(`select name from pragma_table_info('${table}')`)
        .all()
        .map(({ name }) => String(name));
    const series = `with recursive series (n) as (select 2 union all select n + 1 from series where n <= ${events})`;
    db.exec(history(events, columnsOf, (rest) => `${series} ${rest}`).join(';'));
    db.exec('pragma journal_mode = wal');
  } finally {
    db.close();
  }
}

async function fillPostgres(url: string, events: number): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('set search_path to "full"');
    const { rows } = await client.query<{ table_name: string; column_name: string }>(
      `select table_name, column_name from information_schema.columns where table_schema = 'full'`,
    );
    const columnsOf = (table: string) =>
      rows.filter((row) => row.table_name === table).map((row) => row.column_name);
    const index = await client.query<{ indexdef: string }>(
      `select indexdef from pg_indexes where indexname = '${randomIndex}'`,
    );
    const series = `with series as (select generate_series(2::bigint, ${events + 1}) as n)`;
    const statements = history(events, columnsOf, (rest) => rest.replace(/(?=select)/, `${series} `));
    // What is copied refers to what is copied.
    await client.query(`set session_replication_role = replica; drop index ${randomIndex}`);
    for (const statement of statements) await client.query(statement);
    await client.query(`select setval(pg_get_serial_sequence('events', 'seq'), ${events + 1})`);
    // As autovacuum would have done by then.
    await client.query('vacuum analyze');
    // Last, so that the system still has it in memory, as where each event uses it.
    await client.query(`${index.rows[0]!.indexdef} with (fillfactor = ${filledPercent})`);
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
}

/** Its keys come in no order, so on PostgreSQL it is made when all rows are there; with the room that keys in no order leave in its pages. */
const randomIndex = 'events_content';
const filledPercent = 70;

/**
 * The statements that make many events of the one that the connector has accepted and delivered, with two deliveries each, at even
 * distances over 30 days. `withSeries` adds the table `series` to a statement, with n from 2 on.
 */
function history(
  events: number,
  columnsOf: (table: string) => string[],
  withSeries: (rest: string) => string,
): string[] {
  const copy = (table: string, from: string, changed: { readonly [column: string]: string }) => {
    const columns = columnsOf(table);
    const values = columns.map((column) => changed[column] ?? `o.${column}`);
    return withSeries(
      `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ${from}`,
    );
  };
  const stepMs = Math.max(1, Math.floor((30 * 86_400_000) / events));
  // Of the length that they have.
  const candidate = `'000000000000000000000000' || (10000000 + n)`;
  const twice = `series cross join (select 1 as place union all select 2) as places`;
  const seq = `n * 65536 + place`;
  return [
    ...['events', 'deliveries', 'attempts'].map(
      (table) => `create temporary table model_${table} as select * from ${table}`,
    ),
    copy('events', 'series cross join model_events o', {
      seq: 'n',
      id: `'evt_000000000000000000' || (10000000 + n)`,
      candidate_id: candidate,
      // In as little order as hashes.
      candidate_key: 'n * n % 1000000007 * 140737',
      correlation_id: candidate,
      received_at: `o.received_at - (${events + 2} - n) * ${stepMs}`,
    }),
    copy('deliveries', `${twice} cross join model_deliveries o`, { seq }),
    copy('attempts', `${twice} cross join model_attempts o`, { delivery_seq: seq }),
    // As if all had been counted when they came.
    `insert into hourly select received_at / 3600000, '', status, 0, count(*) from events where seq > 1 group by 1, 3
      on conflict do nothing`,
    `update delivery_counts set n = n + n * ${2 * events}`,
    `update configs set uses = uses + uses * ${events}`,
  ];
}

async function sizeOnPostgres(url: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(oid)) as bytes from pg_class where relnamespace = 'full'::regnamespace and relkind = 'r'`,
  );
  await client.end();
  return Number(rows[0]!.bytes);
}
