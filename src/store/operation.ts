/** A value for a parameter of a statement. */
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
   * The answer. `rows`: all rows; `row`: the first one or undefined; `changes`: how many rows were changed; `seq`: that of the
   * inserted row or undefined. With `nothing` it may run later: with the operation's next statement, or with the commit.
   */
  readonly wants: 'rows' | 'row' | 'changes' | 'seq' | 'nothing';
  /** The insert that `sql` is from, if it is from one. */
  readonly of?: Insert;
}

/**
 * An insert of one row. On PostgreSQL, a statement costs more than a row. There `many` runs instead, once for the rows of all
 * operations that ask for it at the same time, with an array for each parameter.
 */
export interface Insert {
  readonly sql: string;
  readonly many: string;
  /** The index of the parameter with a unique value, by which an operation finds its row's seq among the others. */
  readonly key: number;
}

/**
 * Makes an insert. `columns`: their types on PostgreSQL. `key`: see Insert. `when`: the SQL of a condition for inserting;
 * `given` is the SQL of a column's value.
 */
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
  // On SQLite, `values` is much cheaper than `select`.
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

/**
 * A step with operations that do not depend on each other's changes. A driver may run them in any order or interleaved.
 */
export interface Together {
  readonly together: readonly Operation<unknown>[];
}

/** A step that takes the lock with this name. Others that take it wait until the transaction has ended. */
export interface Lock {
  readonly lock: string;
}

export type Step = Statement | Together | Lock;

/**
 * Something that the store does, without any I/O: it yields steps and gets their answers. SQLite's driver runs it
 * synchronously, PostgreSQL's with one round trip for the statements of many operations.
 */
export interface Operation<T> extends Iterable<Step, T, unknown> {
  next(answer?: unknown): IteratorResult<Step, T>;
}

/**
 * An operation of one step. An event takes a dozen of these, so it is a single object: its own iterator, and the result of
 * its `next`.
 */
class Ask<T> implements Operation<T> {
  /** Undefined until the step was given out, then false, then true. */
  done: boolean | undefined = undefined;
  /** The step, then the answer. */
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

/** Inserts one row if its condition holds. Returns its seq, or undefined. */
export function insertIf(of: Insert, values: readonly Value[]): Operation<number | undefined> {
  return new Ask<number | undefined>({ sql: of.sql, values, wants: 'seq', of });
}

/** Inserts a row without an answer. */
export function insertRow(of: Insert, values: readonly Value[]): Operation<void> {
  return new Ask<void>({ sql: of.sql, values, wants: 'nothing', of });
}

/** Runs operations of one kind. Returns their results in the order given. */
export function together<T>(operations: readonly Operation<T>[]): Operation<T[]> {
  return new Ask<T[]>({ together: operations });
}

/** Runs two operations of different kinds. */
export function both<A, B>(one: Operation<A>, other: Operation<B>): Operation<[A, B]> {
  return new Ask<[A, B]>({ together: [one, other] });
}

export function lock(name: string): Operation<void> {
  return new Ask<void>({ lock: name });
}
