/** What is bound to a statement's parameters. */
export type Value = string | number | null;

declare const row: unique symbol;

/** A statement that returns rows of this shape. Its parameters are `$1`, `$2`, … */
export type Query<Row> = string & { readonly [row]: Row };

export function query<Row>(text: string): Query<Row> {
  return text as Query<Row>;
}

export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
  /**
   * `rows`: all of them; `row`: the first or undefined; `changes`: how many rows it changed; `seq`: the inserted row's, or
   * undefined. `nothing`: it may run later, before the statements that its operation yields after it, or with the commit.
   */
  readonly wants: 'rows' | 'row' | 'changes' | 'seq' | 'nothing';
  /** The insert whose `sql` this is. */
  readonly of?: Insert;
}

/**
 * An insert of one row. To PostgreSQL a statement costs more than a row: there it runs once, as `many`, for the rows of all
 * operations that ask for it at the same time, with an array for each parameter.
 */
export interface Insert {
  readonly sql: string;
  readonly many: string;
  /** The place of the unique value by which an operation that wants its row's seq finds it among the others. */
  readonly key: number;
}

/** `columns`: with their types on PostgreSQL. `when`: inserts only if that holds, of the values that it is given. */
export function insertInto(
  table: string,
  columns: Readonly<Record<string, 'bigint' | 'text' | 'json'>>,
  { key, when }: { key?: string; when?: (given: (column: string) => string) => string } = {},
): Insert {
  const names = Object.keys(columns);
  const into = `insert into ${table} (${names.join(', ')})`;
  const values = names.map((_, place) => `$${place + 1}`);
  const arrays = names.map((column, place) => `${values[place]}::${columns[column]}[]`);
  const where = (given: (column: string) => string) => (when ? `where ${when(given)}` : '');
  // For SQLite, a `select` is dearer than what it selects here.
  const one = when
    ? `select ${values.join(', ')} ${where((column) => values[names.indexOf(column)]!)}`
    : `values (${values.join(', ')})`;
  const returning = key === undefined ? '' : `returning seq, ${key} as key`;
  return {
    sql: `${into} ${one}`,
    many: `${into} select * from unnest(${arrays.join(', ')}) as given (${names.join(', ')})
      ${where((column) => `given.${column}`)} ${returning}`,
    key: names.indexOf(key ?? ''),
  };
}

/** Operations that do not depend on each other's changes. A driver may run them in any order or interleaved. */
export interface Together {
  readonly together: readonly Operation<unknown>[];
}

/** Nobody else who takes the lock with this name goes on before the transaction has ended. */
export interface Lock {
  readonly lock: string;
}

export type Step = Statement | Together | Lock;

/**
 * What the store does, without any I/O: it yields statements and gets what they return. A driver runs it: SQLite's
 * synchronously, PostgreSQL's with a round trip for the statements of many operations.
 */
export interface Operation<T> extends Iterable<Step, T, unknown> {
  next(answer?: unknown): IteratorResult<Step, T>;
}

/**
 * The smallest operation: one step. It is its own iterator and what that returns, so that it is a single object: an event takes
 * a dozen of these.
 */
class Ask<T> implements Operation<T> {
  /** Undefined until it has asked. */
  done: boolean | undefined = undefined;
  /** What it asks for, then the answer. */
  value: Step | T;

  constructor(step: Step) {
    this.value = step;
  }

  next(answer?: unknown): IteratorResult<Step, T> {
    if (this.done === undefined) this.done = false;
    else {
      this.done = true;
      this.value = answer as T;
    }
    return this as IteratorResult<Step, T>;
  }

  [Symbol.iterator](): this {
    return this;
  }
}

export function all<Row>(sql: Query<Row>, ...values: Value[]): Operation<Row[]> {
  return new Ask<Row[]>({ sql, values, wants: 'rows' });
}

export function get<Row>(sql: Query<Row>, ...values: Value[]): Operation<Row | undefined> {
  return new Ask<Row | undefined>({ sql, values, wants: 'row' });
}

/** Returns the number of changed rows. */
export function run(sql: string, ...values: Value[]): Operation<number> {
  return new Ask<number>({ sql, values, wants: 'changes' });
}

/** Inserts one row and returns its seq. */
export function insert(sql: string, ...values: Value[]): Operation<number> {
  return new Ask<number>({ sql, values, wants: 'seq' });
}

/** The same, unless its condition does not hold. */
export function insertIf(of: Insert, values: readonly Value[]): Operation<number | undefined> {
  return new Ask<number | undefined>({ sql: of.sql, values, wants: 'seq', of });
}

/** Inserts a row of which nothing has to be known. */
export function insertRow(of: Insert, values: readonly Value[]): Operation<void> {
  return new Ask<void>({ sql: of.sql, values, wants: 'nothing', of });
}

/** Returns their results in the order given. */
export function together<T>(operations: readonly Operation<T>[]): Operation<T[]> {
  return new Ask<T[]>({ together: operations });
}

/** Two of different kinds. */
export function both<A, B>(one: Operation<A>, other: Operation<B>): Operation<[A, B]> {
  return new Ask<[A, B]>({ together: [one, other] });
}

export function lock(name: string): Operation<void> {
  return new Ask<void>({ lock: name });
}
