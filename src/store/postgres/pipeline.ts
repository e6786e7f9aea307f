import type { Duplex } from 'node:stream';
import type { Client, Connection, FieldDef, Submittable } from 'pg';
import { storable } from '../../support/text.ts';
import type { Statement, Value } from '../operation.ts';

type Row = Record<string, Value>;

interface ResultSet {
  readonly rows: Row[];
  changes: number;
}

/** The part of pg's connection that is used here, since its types do not say what it takes. */
interface Wire {
  readonly stream: Duplex;
  parse(statement: { readonly text: string; readonly types: readonly number[] }): void;
  describe(what: { readonly type: 'S' }): void;
  bind(portal: { readonly values: readonly (string | null)[] }): void;
  execute(portal: null): void;
  sync(): void;
}

const unspecified = 0;
const int8 = 20;
// int2, int4, int8, float8, numeric
const numeric = new Set([21, 23, int8, 701, 1700]);

/**
 * Sends statements in one round trip. Those with the same text are run together, in the order given, and texts in the
 * order of their first statement. Resolves to what each statement wants. If one fails, those after it do not run, and it
 * rejects with PostgreSQL's error. Gives up the connection if there is no answer in time.
 */
export function send(
  client: Client,
  statements: readonly Statement[],
  timeoutMs: number,
): Promise<readonly unknown[]> {
  const pipeline = new Pipeline(statements);
  // Whatever waits for an answer then fails.
  const timer = setTimeout(() => client.connection.stream.destroy(new Error('no answer in time')), timeoutMs);
  client.query(pipeline);
  return pipeline.done.finally(() => clearTimeout(timer));
}

/**
 * pg's own pipelines send each statement's text, and wait for the server after each. This one sends a text once for all
 * its values. The statements have no names, so that PgBouncer may give every transaction another connection.
 */
class Pipeline implements Submittable {
  readonly #statements: readonly Statement[];
  /** Places in `#statements`, by text. */
  readonly #groups: ReadonlyMap<string, readonly number[]>;
  /** The same places, in the order of the answers. */
  readonly #order: readonly number[];
  readonly #answers: ResultSet[];
  readonly #done = Promise.withResolvers<readonly unknown[]>();
  #fields: readonly { readonly name: string; readonly isNumber: boolean }[] = [];
  #answered = 0;

  constructor(statements: readonly Statement[]) {
    this.#statements = statements;
    this.#groups = Map.groupBy(statements.keys(), (place) => {
      const { sql, wants } = statements[place]!;
      return wants === 'seq' ? `${sql} returning seq` : sql;
    });
    this.#order = [...this.#groups.values()].flat();
    this.#answers = statements.map(() => ({ rows: [], changes: 0 }));
  }

  get done(): Promise<readonly unknown[]> {
    return this.#done.promise;
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as Wire;
    wire.stream.cork();
    for (const [text, places] of this.#groups) {
      const values = places.map((place) => this.#statements[place]!.values);
      // Otherwise PostgreSQL takes `$1 * 65536` for four bytes. Other values get their type from where they stand.
      const types = (values[0] ?? []).map((_, place) =>
        values.some((bound) => typeof bound[place] === 'number') ? int8 : unspecified,
      );
      wire.parse({ text, types });
      wire.describe({ type: 'S' });
      for (const bound of values) {
        const texts = bound.map((value) =>
          typeof value === 'string' ? storable(value) : (value?.toString() ?? null),
        );
        wire.bind({ values: texts });
        wire.execute(null);
      }
    }
    wire.sync();
    wire.stream.uncork();
  }

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    this.#fields = fields.map(({ name, dataTypeID }) => ({ name, isNumber: numeric.has(dataTypeID) }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: Row = {};
    for (const [place, { name, isNumber }] of this.#fields.entries()) {
      const text = fields[place] ?? null;
      row[name] = isNumber && text !== null ? Number(text) : text;
    }
    this.#current.rows.push(row);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    // "UPDATE 3", "INSERT 0 1", "COMMIT"
    this.#current.changes = Number(/\d+$/.exec(text)?.[0] ?? 0);
    this.#answered += 1;
  }

  handleEmptyQuery(): void {
    this.#answered += 1;
  }

  handleReadyForQuery(): void {
    const results = this.#answers.map(({ rows, changes }, place) => {
      const { wants } = this.#statements[place]!;
      if (wants === 'changes') return changes;
      if (wants === 'seq') return rows[0]?.seq;
      return wants === 'row' ? rows[0] : rows;
    });
    this.#done.resolve(results);
  }

  handleError(error: unknown): void {
    this.#done.reject(error);
  }

  get #current(): ResultSet {
    return this.#answers[this.#order[this.#answered]!]!;
  }
}
