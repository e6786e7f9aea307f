import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Query } from '../sql/query.ts';

export type Value = string | number | null;

interface Statement {
  readonly prepared: StatementSync;
  readonly parameters: number;
}

/** How long SQLite itself may wait for a lock. It blocks the whole process meanwhile, so longer waits are ours. */
const lockTimeoutMs = 5;

/**
 * A connection to a SQLite file, and the one place where values are bound. Statements are written with `$1`, `$2`, …,
 * as PostgreSQL has them, and are prepared once.
 */
export class Database {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, Statement>();

  constructor(path: string) {
    if (path !== ':memory:') makeOwn(path);
    this.#db = new DatabaseSync(path, { timeout: lockTimeoutMs, enableForeignKeyConstraints: true });
  }

  get<Row>(sql: Query<Row>, ...values: Value[]): Row | undefined {
    return this.#statement(sql, values).get(...values) as Row | undefined;
  }

  all<Row>(sql: Query<Row>, ...values: Value[]): Row[] {
    return this.#statement(sql, values).all(...values) as Row[];
  }

  /** Returns how many rows changed, and the rowid of the last one inserted. */
  run(sql: string, ...values: Value[]): { changes: number; seq: number } {
    const { changes, lastInsertRowid } = this.#statement(sql, values).run(...values);
    return { changes: Number(changes), seq: Number(lastInsertRowid) };
  }

  /** Several statements, without parameters. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** SQLite ends some failed transactions by itself. */
  rollback(): void {
    if (this.#db.isTransaction) this.#db.exec('rollback');
  }

  /** Idempotent. */
  close(): void {
    this.#statements.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  /** Bound by position: a missing value would silently be NULL, and a Date or Map would shift all the others. */
  #statement(sql: string, values: readonly Value[]): StatementSync {
    const { prepared, parameters } = this.#statements.get(sql) ?? this.#prepare(sql);
    if (values.length !== parameters) {
      throw new TypeError(`${values.length} values for ${parameters} parameters: ${sql}`);
    }
    for (const value of values) {
      if (typeof value === 'object' && value !== null) throw new TypeError(`An object as value: ${sql}`);
    }
    return prepared;
  }

  #prepare(sql: string): Statement {
    // `$1` is a name to SQLite; `?1` is the place that we mean, and binds at half the cost.
    const prepared = this.#db.prepare(sql.replaceAll(/\$(?=\d)/g, '?'));
    const places = Array.from(sql.matchAll(/\$(\d+)/g), ([, place]) => Number(place));
    const statement = { prepared, parameters: Math.max(0, ...places) };
    this.#statements.set(sql, statement);
    return statement;
  }
}

/**
 * Makes a file that only its owner may read, for candidates' data is in it; SQLite gives the files beside it the same
 * mode. One that is there is not touched: closing it would take away the locks that this process has on it.
 */
function makeOwn(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // It is there, or SQLite says what is wrong with its place.
  }
}
