import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Operation, Query, Statement, Value } from '../operation.ts';
import { tryTo } from './files.ts';

interface PreparedStatement {
  readonly prepared: StatementSync;
  readonly parameters: number;
  readonly rowOf: (values: unknown) => unknown;
}

/** What a select says of rows that somebody else has locked. SQLite locks no rows, and has one writer at a time. */
const rowLock = / for (?:no key update|key share|update)(?: of d)? (?:nowait|skip locked)/g;

/** How long SQLite itself may wait for a lock. It blocks the process meanwhile, so longer waits are ours. */
const lockTimeoutMs = 5;

/** A connection to a SQLite file. Statements have parameters `$1`, `$2`, … as in PostgreSQL, and are prepared once. */
export class Database {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, PreparedStatement>();

  constructor(path: string, { readOnly = false } = {}) {
    // Only its owner may read it, as it has candidates' data. SQLite gives the files beside it the same mode. An
    // existing file is not opened here: closing it would drop the locks that this process has on it.
    if (path !== ':memory:' && !readOnly && !existsSync(path))
      tryTo(() => closeSync(openSync(path, 'wx', 0o600)));
    this.#db = new DatabaseSync(path, {
      readOnly,
      timeout: lockTimeoutMs,
      enableForeignKeyConstraints: true,
    });
  }

  answer({ sql, values, wants }: Statement): unknown {
    const { prepared, rowOf } = this.#statement(sql, values);
    if (wants === 'row') {
      const row = prepared.get(...values);
      return row && rowOf(row);
    }
    if (wants === 'rows') return prepared.all(...values).map(rowOf);
    const { changes, lastInsertRowid } = prepared.run(...values);
    if (wants === 'seq') return changes === 0 ? undefined : Number(lastInsertRowid);
    return Number(changes);
  }

  get<Row>(sql: Query<Row>, ...values: Value[]): Row | undefined {
    return this.answer({ sql, values, wants: 'row' }) as Row | undefined;
  }

  all<Row>(sql: Query<Row>, ...values: Value[]): Row[] {
    return this.answer({ sql, values, wants: 'rows' }) as Row[];
  }

  /** Runs several statements without parameters. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Ends a failed transaction, unless SQLite has ended it. */
  rollback(): void {
    if (this.#db.isTransaction) this.#db.exec('rollback');
  }

  /** Idempotent. */
  close(): void {
    this.#statements.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  /**
   * Checks the values, as they are bound by position: a missing one would become NULL, an object would shift the
   * others.
   */
  #statement(sql: string, values: readonly Value[]): PreparedStatement {
    const statement = this.#statements.get(sql) ?? this.#prepare(sql);
    if (values.length !== statement.parameters) {
      throw new TypeError(`${values.length} values for ${statement.parameters} parameters: ${sql}`);
    }
    for (const value of values) {
      if (typeof value === 'object' && value !== null) throw new TypeError(`An object as value: ${sql}`);
    }
    return statement;
  }

  #prepare(sql: string): PreparedStatement {
    // In SQLite, `$1` is a name and `?1` a position, which binds at half the cost.
    const prepared = this.#db.prepare(sql.replaceAll(/\$(?=\d)/g, '?').replaceAll(rowLock, ''));
    const places = Array.from(sql.matchAll(/\$(\d+)/g), ([, place]) => Number(place));
    prepared.setReturnArrays(true);
    const statement = { prepared, parameters: Math.max(0, ...places), rowOf: rowsOf(prepared) };
    this.#statements.set(sql, statement);
    return statement;
  }
}

/**
 * Makes objects of rows that came as arrays, all of one shape. The objects that node:sqlite makes are several times as large
 * and slow to read.
 */
function rowsOf(prepared: StatementSync): (values: unknown) => unknown {
  const names = prepared.columns().map(({ name }) => name);
  const blank: Readonly<Record<string, unknown>> = Object.fromEntries(names.map((name) => [name, null]));
  return (values) => {
    // Not a spread: see recordIn.
    const row: Record<string, unknown> = Object.assign({}, blank);
    (values as unknown[]).forEach((value, place) => (row[names[place]!] = value));
    return row;
  };
}

/** Runs an operation to its end. */
export function runOn<T>(db: Database, operation: Operation<T>): T {
  let step = operation.next();
  while (!step.done) {
    const { value } = step;
    if ('sql' in value) step = operation.next(db.answer(value));
    else if ('together' in value) step = operation.next(value.together.map((one) => runOn(db, one)));
    // A transaction has the whole database to itself, so nobody else can hold a lock.
    else step = operation.next();
  }
  return step.value;
}
