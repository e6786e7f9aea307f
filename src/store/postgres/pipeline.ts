import type { Duplex } from 'node:stream';
import type { Client, Connection, FieldDef, Submittable } from 'pg';
import { storable } from '../../support/text.ts';
import type { Statement, Value } from '../operation.ts';

type Row = Record<string, Value>;

/** What the server runs, for one statement, or for all of an insert. */
interface Execution {
  /** Of its statements, in the order given. */
  readonly places: readonly number[];
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
 * its values, and runs inserts into one table as one. The statements have no names, so that PgBouncer may give every
 * transaction another connection.
 */
class Pipeline implements Submittable {
  readonly #statements: readonly Statement[];
  /** Places in `#statements`, by text. */
  readonly #groups: ReadonlyMap<string, readonly number[]>;
  /** In the order of their answers. */
  readonly #executions: readonly Execution[];
  readonly #done = Promise.withResolvers<readonly unknown[]>();
  #fields: readonly { readonly name: string; readonly isNumber: boolean }[] = [];
  #answered = 0;

  constructor(statements: readonly Statement[]) {
    this.#statements = statements;
    this.#groups = Map.groupBy(statements.keys(), (place) => {
      const { sql, wants, of } = statements[place]!;
      if (of) return of.many;
      return wants === 'seq' ? `${sql} returning seq` : sql;
    });
    this.#executions = [...this.#groups.values()].flatMap((places) => {
      const isOne = statements[places[0]!]!.of !== undefined;
      return (isOne ? [places] : places.map((place) => [place])).map(executionOf);
    });
  }

  get done(): Promise<readonly unknown[]> {
    return this.#done.promise;
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as Wire;
    wire.stream.cork();
    for (const [text, places] of this.#groups) {
      const values = places.map((place) => this.#statements[place]!.values);
      const columns = values[0]!.map((_, place) => values.map((bound) => bound[place]!));
      const isOne = this.#statements[places[0]!]!.of !== undefined;
      // Otherwise PostgreSQL takes `$1 * 65536` for four bytes. Other values get their type from where they stand.
      const types = columns.map((column) =>
        !isOne && column.some((value) => typeof value === 'number') ? int8 : unspecified,
      );
      wire.parse({ text, types });
      wire.describe({ type: 'S' });
      const all = isOne ? [columns.map(arrayOf)] : values.map((bound) => bound.map(textOf));
      for (const texts of all) {
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
    this.#executions[this.#answered]!.rows.push(row);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    // "UPDATE 3", "INSERT 0 1", "COMMIT"
    this.#executions[this.#answered]!.changes = Number(/\d+$/.exec(text)?.[0] ?? 0);
    this.#answered += 1;
  }

  handleEmptyQuery(): void {
    this.#answered += 1;
  }

  handleReadyForQuery(): void {
    const answers: unknown[] = [];
    for (const { places, rows, changes } of this.#executions) {
      const { wants, of } = this.#statements[places[0]!]!;
      if (of && wants === 'seq') {
        const seqs = new Map(rows.map(({ key, seq }) => [key, seq]));
        for (const place of places) answers[place] = seqs.get(this.#statements[place]!.values[of.key]);
      } else if (wants === 'changes') answers[places[0]!] = changes;
      else if (wants === 'seq') answers[places[0]!] = rows[0]?.['seq'];
      else answers[places[0]!] = wants === 'row' ? rows[0] : rows;
    }
    this.#done.resolve(answers);
  }

  handleError(error: unknown): void {
    this.#done.reject(error);
  }
}

const executionOf = (places: readonly number[]): Execution => ({ places, rows: [], changes: 0 });

const textOf = (value: Value): string | null =>
  typeof value === 'string' ? storable(value) : (value?.toString() ?? null);

const arrayOf = (values: readonly Value[]): string => `{${values.map(itemOf).join(',')}}`;

const itemOf = (value: Value): string =>
  typeof value === 'string'
    ? `"${storable(value).replaceAll(/["\\]/g, '\\$&')}"`
    : (value?.toString() ?? 'null');
