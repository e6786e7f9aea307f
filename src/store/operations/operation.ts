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
  /** `rows`: all of them; `row`: the first or undefined; `changes`: how many rows it changed. */
  readonly wants: 'rows' | 'row' | 'changes';
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
export type Operation<T> = Generator<Step, T, unknown>;

export function* all<Row>(sql: Query<Row>, ...values: Value[]): Operation<Row[]> {
  return (yield { sql, values, wants: 'rows' }) as Row[];
}

export function* get<Row>(sql: Query<Row>, ...values: Value[]): Operation<Row | undefined> {
  return (yield { sql, values, wants: 'row' }) as Row | undefined;
}

/** Returns the number of changed rows. */
export function* run(sql: string, ...values: Value[]): Operation<number> {
  return (yield { sql, values, wants: 'changes' }) as number;
}

/** Returns their results in the order given. */
export function* together<T>(operations: readonly Operation<T>[]): Operation<T[]> {
  return (yield { together: operations }) as T[];
}

export function* lock(name: string): Operation<void> {
  yield { lock: name };
}
