import { mkdtemp, rm, stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { Client } from 'pg';
import { PostgresServer } from '../test/fixtures/postgres.ts';
import { burst, type Burst } from './burst.ts';
import { dataFolder } from './data-folder.ts';
import { median, type BenchResult } from './result.ts';

const eventsPerRound = 5000;
const rounds = 5;
const targetRatio = 0.8;

/**
 * What many past events cost the rates of accepting and delivering, on SQLite and on PostgreSQL: a store that is full of them against
 * an empty one, one after the other in each round.
 */
export async function benchHistory({ events }: { readonly events: number }): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(await dataFolder(), 'bench-history-'));
  try {
    return [...(await onSqlite(events, folder)), ...(await onPostgres(events, folder))];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function onSqlite(events: number, folder: string): Promise<BenchResult[]> {
  const file = join(folder, 'full.db');
  const measured = await measure(
    folder,
    (name) => `sqlite:${join(folder, `${name}.db`)}`,
    () => fillSqlite(file, events),
  );
  const { size } = await stat(file);
  return judge('SQLite', events, measured, size);
}

async function onPostgres(events: number, folder: string): Promise<BenchResult[]> {
  // The defaults of PostgreSQL, but for how much is written between two checkpoints.
  const server = await PostgresServer.start({ shared_buffers: '128MB', max_wal_size: '8GB' });
  try {
    const measured = await measure(
      folder,
      (name) => `${server.url()}?schema=${name}`,
      () => fillPostgres(server.url(), events),
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
): Promise<Round[]> {
  const run = (name: string, events: number) =>
    burst('connector-server.ts', [folder, urlOf(name)], { folder, events });
  await run('full', 1);
  await fill();
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({
      empty: await run(`empty_${round}`, eventsPerRound),
      full: await run('full', eventsPerRound),
    });
  }
  return measured;
}

function judge(store: string, events: number, measured: readonly Round[], bytes: number): BenchResult[] {
  const stored = events + rounds * eventsPerRound;
  return (['accepted', 'delivered'] as const).map((which) => {
    const ratio = median(measured.map(({ empty, full }) => full[which] / empty[which]));
    const perSecond = (of: keyof Round) => Math.round(median(measured.map((round) => round[of][which])));
    return {
      name: `${which} with ${events} past events on ${store}, against none`,
      ratio,
      detail: `${perSecond('full')} events/s, ${perSecond('empty')}/s in an empty store; ${Math.round(bytes / stored)} bytes an event`,
      target: `at least ${targetRatio}`,
      met: ratio >= targetRatio,
    };
  });
}

/** Its store has one event, delivered, and nobody has it open. */
export function fillSqlite(file: string, events: number): void {
  const db = new DatabaseSync(file);
  try {
    db.exec('pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -200000');
    const columnsOf = (table: string) =>
      db
        .prepare(`select name from pragma_table_info('${table}')`)
        .all()
        .map(({ name }) => String(name));
    const { sql: index } = db
      .prepare(`select sql from sqlite_schema where name = '${randomIndex}'`)
      .get() as { sql: string };
    const series = `with recursive series (n) as (select 2 union all select n + 1 from series where n <= ${events})`;
    db.exec(history(events, columnsOf, index, (rest) => `${series} ${rest}`).join(';'));
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
    const found = await client.query<{ indexdef: string }>(
      `select indexdef from pg_indexes where indexname = '${randomIndex}'`,
    );
    const series = `with series as (select generate_series(2::bigint, ${events + 1}) as n)`;
    const statements = history(events, columnsOf, found.rows[0]!.indexdef, (rest) =>
      rest.replace(/(?=select)/, `${series} `),
    );
    for (const statement of statements) await client.query(statement);
    await client.query(`select setval(pg_get_serial_sequence('events', 'seq'), ${events + 1})`);
    // As autovacuum would have done by then.
    await client.query('vacuum analyze');
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
}

/** Its keys come in no order, so it is made when all rows are there. */
const randomIndex = 'events_content';

/**
 * The statements that make many events of the one that the connector has accepted and delivered, with two deliveries each, at even
 * distances over 30 days. `withSeries` adds the table `series` to a statement, with n from 2 on.
 */
function history(
  events: number,
  columnsOf: (table: string) => string[],
  index: string,
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
    `drop index ${randomIndex}`,
    copy('events', 'series cross join model_events o', {
      seq: 'n',
      id: `'evt_000000000000000000' || (10000000 + n)`,
      candidate_id: candidate,
      // As far apart from each other as hashes.
      candidate_key: 'n * 339754600000 % 140737488355328',
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
    index,
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
