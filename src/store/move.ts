import { createHash } from 'node:crypto';
import { storable } from '../support/text.ts';
import { liveReplicas } from './operations/leases.ts';
import { all, get, lock, query, run, together, type Operation, type Value } from './operation.ts';
import { type Driver, StoreUnavailable } from './store.ts';

interface Table {
  readonly name: string;
  /** The columns of its primary key. */
  readonly key: readonly string[];
}

type Row = Readonly<Record<string, Value>>;
type Key = readonly Value[] | null;

/** All that is moved. What refers to rows comes after what has them. */
export const tables: readonly Table[] = [
  { name: 'configs', key: ['id'] },
  { name: 'events', key: ['seq'] },
  { name: 'correlations', key: ['content', 'correlation_id'] },
  { name: 'duplicates', key: ['seq'] },
  { name: 'notices', key: ['seq'] },
  { name: 'deliveries', key: ['seq'] },
  { name: 'attempts', key: ['delivery_seq', 'number'] },
  { name: 'audit', key: ['seq'] },
  { name: 'audit_deliveries', key: ['delivery_seq', 'audit_seq'] },
  { name: 'rejected_requests', key: ['seq'] },
  { name: 'refused', key: ['reason', 'origin'] },
  { name: 'delivery_counts', key: ['sink', 'state'] },
  { name: 'hourly', key: ['hour', 'sink', 'what', 'delay_ms'] },
  { name: 'pauses', key: ['sink'] },
  { name: 'tokens', key: ['id'] },
  { name: 'sink_figures', key: ['sink'] },
  { name: 'sink_attempts', key: ['sink', 'place'] },
  { name: 'life', key: ['id'] },
];

/** With events of the largest size, these are some tens of MB. */
const pageRows = 500;

interface UnfinishedMove {
  readonly source: string;
  readonly begun_at: number;
}

const sql = {
  unfinished: query<UnfinishedMove>('select source, begun_at from unfinished_copy limit 1'),
  begin: 'insert into unfinished_copy (source, begun_at) values ($1, $2)',
  end: 'delete from unfinished_copy',
  count: ({ name }: Table) => query<{ readonly n: number }>(`select count(*) as n from ${name}`),
  page: ({ name, key }: Table, after: Key) =>
    query<Row>(`select * from ${name} ${after ? `where (${list(key)}) > (${places(key)})` : ''}
      order by ${list(key)} limit ${pageRows}`),
  last: ({ name, key }: Table) =>
    query<Row>(`
      select ${list(key)} from ${name} order by ${list(key.map((column) => `${column} desc`))} limit 1`),
  insert: ({ name }: Table, columns: readonly string[]) =>
    `insert into ${name} (${list(columns)}) values (${places(columns)})`,
  continueSeqs: ({ name }: Table) =>
    query<Row>(`select setval(pg_get_serial_sequence('${name}', 'seq'), max(seq)) from ${name}`),
  analyze: ({ name }: Table) => `analyze ${name}`,
};

function list(columns: readonly string[]): string {
  return columns.join(', ');
}

function places(columns: readonly string[]): string {
  return list(columns.map((_, place) => `$${place + 1}`));
}

/** One of the two stores of a move. */
interface Side {
  /** Without a password. */
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
 * Copies all rows as they are, with their seqs, and compares the two stores. The target is marked until that has ended
 * well. If it is interrupted, the next one goes on after the last row that the target has. A target with data and without a
 * mark is only compared: an earlier one may have ended without learning that it did. Throws StoreUnavailable.
 */
export async function move(source: Side, target: Side, progress: MoveProgress): Promise<MovedTable[]> {
  await source.driver.read(refuseUnfinished);
  for (const side of [source, target]) await refuseServed(side);
  const isMarked = await target.driver.write(() => begin(source.name, target.name));
  if (isMarked) for (const table of tables) await copy(table, source, target, progress);
  const moved: MovedTable[] = [];
  for (const table of tables) {
    const { rows, difference } = await compare(table, source, target, progress);
    if (difference !== null) throw new StoreUnavailable(refusal(isMarked, source, target, difference));
    moved.push({ table: table.name, rows });
  }
  await refuseServed(source);
  if (isMarked) await finish(target);
  return moved;
}

function refusal(isMarked: boolean, source: Side, target: Side, difference: string): string {
  return isMarked
    ? `${target.name} has ${difference}: one of the two stores was changed meanwhile. Delete the target and begin anew; until then nothing serves it.`
    : `${target.name} has data that is not that of ${source.name}: ${difference}. Name an empty target: a move replaces and merges nothing.`;
}

/** To be called before a store is used: it would tell of half the events, and take repeats of the others for new. */
export function* refuseUnfinished(): Operation<void> {
  const found = yield* get(sql.unfinished);
  if (found === undefined) return;
  const begunAt = new Date(found.begun_at).toISOString().slice(0, 19).replace('T', ' ');
  throw new StoreUnavailable(
    `This store is an unfinished copy of ${found.source}, begun ${begunAt} UTC. Run the same \`migrate-store\` again: it goes on where it stopped.`,
  );
}

/** SQLite's lock says this before. */
async function refuseServed({ name, driver }: Side): Promise<void> {
  const replicas = driver.shared ? await driver.read(liveReplicas) : [];
  if (replicas.length === 0) return;
  throw new StoreUnavailable(
    `${name} is being served (${replicas.join(', ')}). Stop every replica first; one that was killed counts for some seconds more.`,
  );
}

/** Marks the target, unless it has data and no mark: then it returns false. */
function* begin(source: string, target: string): Operation<boolean> {
  yield* lock('unfinished_copy');
  const found = yield* get(sql.unfinished);
  if (found?.source === source) return true;
  if (found !== undefined) {
    throw new StoreUnavailable(
      `${target} is an unfinished copy of ${found.source}. Finish that one with --from ${found.source}, or name an empty target.`,
    );
  }
  for (const table of tables) {
    if ((yield* get(sql.last(table))) !== undefined) return false;
  }
  yield* run(sql.begin, source, Date.now());
  return true;
}

async function copy(table: Table, source: Side, target: Side, progress: MoveProgress): Promise<void> {
  const of = await count(table, source);
  const last = await target.driver.read(() => get(sql.last(table)));
  let after = last === undefined ? null : keyOf(table, last);
  let rows = after === null ? 0 : await count(table, target);
  for await (const page of pages(table, source, after)) {
    const from = after;
    await target.driver.write(() => append(table, target.name, from, page));
    after = keyOf(table, page.at(-1)!);
    rows += page.length;
    progress('copied', table.name, rows, of);
  }
}

async function count(table: Table, { driver }: Side): Promise<number> {
  return (await driver.read(() => get(sql.count(table))))!.n;
}

async function* pages(table: Table, { driver }: Side, from: Key = null): AsyncGenerator<Row[]> {
  for (let after = from; ;) {
    const key: Key = after;
    const page = await driver.read(() => all(sql.page(table, key), ...(key ?? [])));
    if (page.length > 0) yield page;
    if (page.length < pageRows) return;
    after = keyOf(table, page.at(-1)!);
  }
}

/** Only if the target has nothing newer: two processes may have been started. */
function* append(table: Table, target: string, after: Key, rows: readonly Row[]): Operation<void> {
  yield* lock('unfinished_copy');
  const unfinished = yield* get(sql.unfinished);
  const last = yield* get(sql.last(table));
  if (unfinished === undefined || textOf(last ? keyOf(table, last) : null) !== textOf(after)) {
    throw new StoreUnavailable(
      `Another process writes to ${target}. Let it end, or end it, and run this again.`,
    );
  }
  yield* together(rows.map((row) => run(sql.insert(table, Object.keys(row)), ...Object.values(row))));
}

function keyOf({ key }: Table, row: Row): Value[] {
  return key.map((column) => row[column]!);
}

/** The difference: what the target has instead of the same rows. */
async function compare(
  table: Table,
  source: Side,
  target: Side,
  progress: MoveProgress,
): Promise<{ rows: number; difference: string | null }> {
  const [rows, found] = await Promise.all([count(table, source), count(table, target)]);
  const told = (difference: string | null) => ({ rows, difference });
  if (found !== rows) return told(`${found} rows instead of ${rows} in the table ${table.name}`);
  const tell = (checked: number) => progress('checked', table.name, checked, rows);
  const [expected, sum] = await Promise.all([digest(table, source, tell), digest(table, target, () => {})]);
  return told(sum === expected ? null : `other content in the table ${table.name}`);
}

async function digest(table: Table, side: Side, tell: (rows: number) => void): Promise<string> {
  const hash = createHash('sha256');
  let rows = 0;
  for await (const page of pages(table, side)) {
    for (const row of page) hash.update(textOf(Object.entries(row).toSorted(byColumn)));
    rows += page.length;
    tell(rows);
  }
  return hash.digest('hex');
}

type Column = readonly [string, Value];

const byColumn = ([a]: Column, [b]: Column): number => (a < b ? -1 : 1);

/** As PostgreSQL has it, which does not keep every text. */
function textOf(values: readonly (Value | Column)[] | null): string {
  return JSON.stringify(values, (_, value: unknown) => (typeof value === 'string' ? storable(value) : value));
}

async function finish({ driver }: Side): Promise<void> {
  try {
    await driver.write(() => unmark(driver.shared));
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const help = 'Run the same `migrate-store` again: it says whether the target has everything.';
    throw new StoreUnavailable(`${error.message} ${help}`, { cause: error });
  }
}

function* unmark(isPostgres: boolean): Operation<void> {
  yield* run(sql.end);
  if (!isPostgres) return;
  for (const table of tables) {
    // Its sequences know only of what they numbered themselves, and its planner would learn of the rows in a minute.
    if (table.key[0] === 'seq') yield* get(sql.continueSeqs(table));
    yield* run(sql.analyze(table));
  }
}
