import { createHash } from 'node:crypto';
import { storable } from '../support/text.ts';
import { leaveHome, settleIn } from './operations/housekeeping.ts';
import { continueSeqs, liveReplicas, settleHere } from './operations/leases.ts';
import { all, get, lock, query, run, together, type Operation, type Value } from './operation.ts';
import { places } from './rows.ts';
import { type Driver, StoreUnavailable } from './driver.ts';

interface Table {
  readonly name: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
}

type Row = Readonly<Record<string, Value>>;

/** The tables that are moved. Those that refer to rows come after the tables of these rows. */
export const tables: readonly Table[] = [
  { name: 'configs', key: ['id'] },
  { name: 'events', key: ['seq'] },
  { name: 'correlations', key: ['content', 'correlation_id'] },
  { name: 'duplicates', key: ['seq'] },
  { name: 'notices', key: ['seq'] },
  { name: 'deliveries', key: ['seq'] },
  { name: 'undecided', key: ['event_seq'] },
  { name: 'attempts', key: ['delivery_seq', 'number'] },
  { name: 'audit', key: ['seq'] },
  { name: 'audit_deliveries', key: ['delivery_seq', 'audit_seq'] },
  { name: 'rejected_requests', key: ['seq'] },
  { name: 'refused', key: ['reason', 'origin'] },
  { name: 'refused_events', key: ['id'] },
  { name: 'delivery_counts', key: ['sink', 'state'] },
  { name: 'hourly', key: ['hour', 'sink', 'what', 'delay_ms'] },
  { name: 'pauses', key: ['sink'] },
  { name: 'person_pauses', key: ['sink', 'since'] },
  { name: 'tokens', key: ['id'] },
  { name: 'sink_figures', key: ['sink'] },
  { name: 'sink_attempts', key: ['sink', 'place'] },
  { name: 'life', key: ['id'] },
];

/** How many rows are read at once: some tens of MB, if all are events of the largest size. */
const pageRows = 500;

const list = (columns: readonly string[]): string => columns.join(', ');

const sql = {
  unfinished: query<{ readonly source: string; readonly begun_at: number }>(
    'select source, begun_at from unfinished_copy limit 1',
  ),
  begin: 'insert into unfinished_copy (source, begun_at) values ($1, $2)',
  end: 'delete from unfinished_copy',
  count: ({ name }: Table) => query<{ readonly n: number }>(`select count(*) as n from ${name}`),
  page: ({ name, key }: Table, isFirst: boolean) =>
    query<Row>(`select * from ${name} ${isFirst ? '' : `where (${list(key)}) > (${places(key)})`}
      order by ${list(key)} limit ${pageRows}`),
  any: ({ name }: Table) => query<object>(`select 1 as found from ${name} limit 1`),
  empty: ({ name }: Table) => `delete from ${name}`,
  insert: ({ name }: Table, columns: readonly string[]) =>
    `insert into ${name} (${list(columns)}) values (${places(columns)})`,
  analyze: ({ name }: Table) => `analyze ${name}`,
};

/** One of the two stores of a move. */
interface Side {
  /** Its URL, without a password. */
  readonly name: string;
  readonly driver: Driver;
}

/** Called after each page. */
export type MoveProgress = (done: 'copied' | 'checked', table: string, rows: number, of: number) => void;

export interface MovedTable {
  readonly table: string;
  readonly rows: number;
}

/**
 * Copies all rows as they are, with their seqs, then compares the two stores. Until that has succeeded, the target is marked
 * as unfinished. After an interruption, the next move from the same source empties the target and begins anew. Throws
 * StoreUnavailable.
 */
export async function move(source: Side, target: Side, progress: MoveProgress): Promise<MovedTable[]> {
  await source.driver.read(refuseUnfinished);
  for (const side of [source, target]) await refuseServed(side);
  await settle(source.driver);
  const begunAt = await target.driver.write(() => begin(source.name, target.name));
  for (const table of tables) {
    const of = await count(table, source);
    let rows = 0;
    for await (const page of pages(table, source)) {
      await target.driver.write(() => append(table, target.name, begunAt, page));
      rows += page.length;
      progress('copied', table.name, rows, of);
    }
  }
  const moved: MovedTable[] = [];
  for (const table of tables) {
    const [rows, found] = await Promise.all([count(table, source), count(table, target)]);
    const tell = (checked: number) => progress('checked', table.name, checked, rows);
    const sums = await Promise.all([digest(table, source, tell), digest(table, target, () => {})]);
    if (found !== rows || sums[0] !== sums[1]) {
      // Who has begun the same move since has emptied the target.
      await target.driver.write(() => refuseOther(target.name, begunAt));
      const difference = found === rows ? 'other content' : `${found} rows instead of ${rows}`;
      throw new StoreUnavailable(
        `${target.name} has ${difference} in the table ${table.name}: one of the two stores was changed meanwhile. Run the same \`migrate-store\` again, while nothing else uses them; until then nothing serves the target.`,
      );
    }
    moved.push({ table: table.name, rows });
  }
  await refuseServed(source);
  // People may go back to it once the target has sent what waits.
  await source.driver.write(leaveHome);
  try {
    await target.driver.write(() => unmark(target, begunAt));
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const help =
      'All is there and was compared: if `status` can read the target, it is whole; else run the same `migrate-store` again.';
    throw new StoreUnavailable(`${error.message} ${help}`, { cause: error });
  }
  return moved;
}

/** Refuses an unfinished copy: it would show half of the events, and take duplicates of the others for new events. */
export function* refuseUnfinished(): Operation<void> {
  const found = yield* get(sql.unfinished);
  if (found === undefined) return;
  const begunAt = new Date(found.begun_at).toISOString().slice(0, 19).replace('T', ' ');
  throw new StoreUnavailable(
    `This store is an unfinished copy of ${found.source}, begun ${begunAt} UTC. Run the same \`migrate-store\` again: it begins anew.`,
  );
}

/** Refuses a store that is served. For SQLite, its lock has refused it before. */
async function refuseServed({ name, driver }: Side): Promise<void> {
  const replicas = driver.shared ? await driver.read(liveReplicas) : [];
  if (replicas.length === 0) return;
  throw new StoreUnavailable(
    `${name} is being served (${replicas.join(', ')}). Stop every replica first; one that was killed counts for some seconds more.`,
  );
}

/** What is moved is in its right place afterwards, so a restored store would not be noticed any more. */
async function settle({ home, shared, write }: Driver): Promise<void> {
  if (shared) await write(() => settleHere(0));
  if (home === null) return;
  await write(() => settleIn(home, Date.now()));
  await home.kept();
}

/**
 * Marks the target as unfinished, and empties it of what an interrupted move from the same source has left. Returns when it
 * was marked (ms), by which its mark is known.
 */
function* begin(source: string, target: string): Operation<number> {
  yield* lock('unfinished_copy');
  const found = yield* get(sql.unfinished);
  if (found !== undefined && found.source !== source) {
    throw new StoreUnavailable(
      `${target} is an unfinished copy of ${found.source}. Finish that one with --from ${found.source}, or name an empty target.`,
    );
  }
  for (const table of tables.toReversed()) {
    if (found !== undefined) yield* run(sql.empty(table));
    else if ((yield* get(sql.any(table))) !== undefined)
      throw new StoreUnavailable(
        `${target} has data, in the table ${table.name}. Name an empty target: a move replaces and merges nothing.`,
      );
  }
  if (found !== undefined) yield* run(sql.end);
  const begunAt = Math.max(Date.now(), (found?.begun_at ?? 0) + 1);
  yield* run(sql.begin, source, begunAt);
  return begunAt;
}

async function count(table: Table, { driver }: Side): Promise<number> {
  return (await driver.read(() => get(sql.count(table))))!.n;
}

async function* pages(table: Table, { driver }: Side): AsyncGenerator<Row[]> {
  for (let after: Row | undefined; ;) {
    const from = after === undefined ? [] : table.key.map((column) => after![column]!);
    const page = await driver.read(() => all(sql.page(table, from.length === 0), ...from));
    if (page.length > 0) yield page;
    if (page.length < pageRows) return;
    after = page.at(-1);
  }
}

/** Refuses to go on if another process has begun the same move since, and emptied the target. */
function* refuseOther(target: string, begunAt: number): Operation<void> {
  yield* lock('unfinished_copy');
  if ((yield* get(sql.unfinished))?.begun_at !== begunAt)
    throw new StoreUnavailable(
      `Another process writes to ${target}. Let it end, or end it, and run this again.`,
    );
}

function* append(table: Table, target: string, begunAt: number, rows: readonly Row[]): Operation<void> {
  yield* refuseOther(target, begunAt);
  yield* together(rows.map((row) => run(sql.insert(table, Object.keys(row)), ...Object.values(row))));
}

/** Hashes a table's rows, with texts as PostgreSQL stores them, which does not take all characters. */
async function digest(table: Table, side: Side, tell: (rows: number) => void): Promise<string> {
  const asStored = (_: string, value: unknown) => (typeof value === 'string' ? storable(value) : value);
  const hash = createHash('sha256');
  let rows = 0;
  for await (const page of pages(table, side)) {
    for (const row of page) {
      const columns = Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1));
      hash.update(JSON.stringify(columns, asStored));
    }
    rows += page.length;
    tell(rows);
  }
  return hash.digest('hex');
}

function* unmark({ name, driver }: Side, begunAt: number): Operation<void> {
  yield* refuseOther(name, begunAt);
  yield* run(sql.end);
  if (!driver.shared) return;
  yield* continueSeqs();
  // PostgreSQL's planner would see the rows a minute later.
  for (const table of tables) yield* run(sql.analyze(table));
}
