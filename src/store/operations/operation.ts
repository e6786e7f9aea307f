/** What is bound to a statement's parameters. */
export type Value = string | number | null;

declare const row: unique symbol;

/** A statement that returns rows of this shape. Its parameters are `$1`, `$2`, … */
export type Query<Row> = string & { readonly [row]: Row };

export function query<Row>(text: string): Query<Row> {
  return text as Query<Row>;
}

/** `rows`: all of them; `row`: the first or undefined; `changes`: how many rows it changed; `seq`: the inserted row's. */
type Wanted = 'rows' | 'row' | 'changes' | 'seq';

/**
 * What the store does, without any I/O: it yields statements and gets what they return. A driver runs it: SQLite's
 * synchronously, PostgreSQL's with a round trip for the statements of many operations.
 */
export interface Operation<T> extends Iterable<Step, T, unknown> {
  next(answer?: unknown): IteratorResult<Step, T>;
}

/**
 * What an operation asks of a driver, and by itself the smallest operation. Not a generator, since accepting an event
 * would cost a fifth more.
 */
abstract class Asked<T> implements Operation<T> {
  #asked = false;

  next(answer?: unknown): IteratorResult<Step, T> {
    if (this.#asked) return { done: true, value: answer as T };
    this.#asked = true;
    return { done: false, value: this as unknown as Step };
  }

  [Symbol.iterator](): this {
    return this;
  }
}

export class Statement<T = unknown> extends Asked<T> {
  readonly sql: string;
  readonly values: readonly Value[];
  readonly wants: Wanted;

  constructor(sql: string, values: readonly Value[], wants: Wanted) {
    super();
    this.sql = sql;
    this.values = values;
    this.wants = wants;
  }
}

/** Operations that do not depend on each other's changes. A driver may run them in any order or interleaved. */
export class Together<T = unknown> extends Asked<T[]> {
  readonly operations: readonly Operation<T>[];

  constructor(operations: readonly Operation<T>[]) {
    super();
    this.operations = operations;
  }
}

/** Nobody else who takes the lock with this name goes on before the transaction has ended. */
export class Lock extends Asked<void> {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }
}

export type Step = Statement | Together | Lock;

export function all<Row>(sql: Query<Row>, ...values: Value[]): Operation<Row[]> {
  return new Statement<Row[]>(sql, values, 'rows');
}

export function get<Row>(sql: Query<Row>, ...values: Value[]): Operation<Row | undefined> {
  return new Statement<Row | undefined>(sql, values, 'row');
}

/** Returns the number of changed rows. */
export function run(sql: string, ...values: Value[]): Operation<number> {
  return new Statement<number>(sql, values, 'changes');
}

/** Inserts one row and returns its seq. */
export function insert(sql: string, ...values: Value[]): Operation<number> {
  return new Statement<number>(sql, values, 'seq');
}

/** Returns their results in the order given. */
export function together<T>(operations: readonly Operation<T>[]): Operation<T[]> {
  return new Together(operations);
}

export function lock(name: string): Operation<void> {
  return new Lock(name);
}
