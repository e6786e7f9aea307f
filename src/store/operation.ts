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
  /** `rows`: all of them; `row`: the first or undefined; `changes`: how many rows it changed; `seq`: the inserted row's. */
  readonly wants: 'rows' | 'row' | 'changes' | 'seq';
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

/** The smallest operation: one step. Not a generator: accepting an event takes half a dozen of these, and they cost less. */
class Ask<T> implements Operation<T> {
  readonly #step: Step;
  #asked = false;

  constructor(step: Step) {
    this.#step = step;
  }

  next(answer?: unknown): IteratorResult<Step, T> {
    if (this.#asked) return { done: true, value: answer as T };
    this.#asked = true;
    return { done: false, value: this.#step };
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

/** Returns their results in the order given. */
export function together<T>(operations: readonly Operation<T>[]): Operation<T[]> {
  return new Ask<T[]>({ together: operations });
}

export function lock(name: string): Operation<void> {
  return new Ask<void>({ lock: name });
}
