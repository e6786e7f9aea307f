import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Client, Connection, FieldDef, Submittable } from 'pg';
import { storable } from '../../support/text.ts';
import type { Statement, Value } from '../operation.ts';

type Row = Record<string, Value>;

type Fields = readonly { readonly name: string; readonly isNumber: boolean }[];

/** Statements with the same text. */
interface Group {
  readonly text: string;
  /** The indexes of its statements, in the order given. */
  readonly places: readonly number[];
  /** Its first statement. All have the same `sql`, `of` and `wants`. */
  readonly first: Statement;
  /** `places`, grouped by what the server runs as one. */
  readonly runs: readonly (readonly number[])[];
  fields: Fields;
}

/** What the server runs as one: a statement, or all inserts of a group. */
interface Execution {
  readonly group: Group;
  readonly places: readonly number[];
  readonly rows: Row[];
  changes: number;
}

/** A statement that a connection keeps prepared. */
interface Kept {
  readonly name: string;
  fields: Fields;
}

/** The methods of pg's connection that are used here. pg's types lack them. */
interface Wire {
  readonly stream: Duplex;
  close(what: { readonly type: 'S'; readonly name: string }): void;
  parse(statement: { readonly name: string; readonly text: string; readonly types: readonly number[] }): void;
  describe(what: { readonly type: 'S'; readonly name: string }): void;
  bind(portal: { readonly statement: string; readonly values: readonly (string | null)[] }): void;
  execute(portal: null): void;
  sync(): void;
}

const unspecified = 0;
const int8 = 20;
// int2, int4, int8, float8, numeric
const numeric = new Set([21, 23, int8, 701, 1700]);

/**
 * Which statements stay prepared. `inserts`: inserts and statements without an answer, whose plan is the same for all values.
 * `all`: also those whose plan may be bad once the tables have grown.
 */
export type Keeping = 'none' | 'inserts' | 'all';

/**
 * Sends statements in one round trip. Those with the same text run together, in the order given; texts run in the order of
 * their first statement. Resolves to the answers. If a statement fails, those after it do not run, and `send` rejects with
 * PostgreSQL's error. Breaks the connection if there is no answer in time.
 */
export function send(
  client: Client,
  statements: readonly Statement[],
  timeoutMs: number,
  keeps: Keeping = 'none',
): Promise<readonly unknown[]> {
  const pipeline = new Pipeline(statements, keeps);
  // All queries on the connection then fail.
  const timer = setTimeout(() => client.connection.stream.destroy(new Error('no answer in time')), timeoutMs);
  client.query(pipeline);
  return pipeline.done.finally(() => clearTimeout(timer));
}

/**
 * Prepared statements by their types and text. Forgotten after a failure, since PostgreSQL may not have prepared all.
 */
const keptOf = new WeakMap<Connection, Map<string, Kept>>();

/**
 * A query of several statements. pg's own pipeline sends the text of each statement, and waits for the server after each. This
 * one sends a text once for all its values, and runs inserts into one table as one.
 */
class Pipeline implements Submittable {
  readonly #statements: readonly Statement[];
  readonly #keeps: Keeping;
  readonly #groups: readonly Group[];
  /** In the order in which the server answers. */
  readonly #executions: readonly Execution[];
  readonly #done = Promise.withResolvers<readonly unknown[]>();
  #connection: Connection | null = null;
  /** Statements that this query prepares, kept if nothing fails. */
  readonly #prepared = new Map<string, { readonly name: string; readonly group: Group }>();
  #answered = 0;

  constructor(statements: readonly Statement[], keeps: Keeping) {
    this.#statements = statements;
    this.#keeps = keeps;
    const places = Map.groupBy(statements.keys(), (place) => {
      const { sql, wants, of } = statements[place]!;
      return of?.many ?? (wants === 'seq' ? `${sql} returning seq` : sql);
    });
    this.#groups = Array.from(places, ([text, ofText]) => ({
      text,
      places: ofText,
      first: statements[ofText[0]!]!,
      runs: this.#runs(ofText),
      fields: [],
    }));
    this.#executions = this.#groups.flatMap((group) =>
      group.runs.map((ofOne) => ({ group, places: ofOne, rows: [], changes: 0 })),
    );
  }

  /** Reads with the same values, as of one lease by many operations, run once. */
  #runs(places: readonly number[]): readonly (readonly number[])[] {
    const { sql, wants, of } = this.#statements[places[0]!]!;
    if (of) return [places];
    if (wants !== 'row' || !/^\s*select/.test(sql)) return places.map((place) => [place]);
    return [...Map.groupBy(places, (place) => JSON.stringify(this.#statements[place]!.values)).values()];
  }

  get done(): Promise<readonly unknown[]> {
    return this.#done.promise;
  }

  submit(connection: Connection): void {
    this.#connection = connection;
    const wire = connection as unknown as Wire;
    wire.stream.cork();
    for (const group of this.#groups) {
      const { places, first, runs } = group;
      const values = places.map((place) => this.#statements[place]!.values);
      const columns = first.values.map((_, place) => values.map((bound) => bound[place]!));
      // Otherwise PostgreSQL takes `$1 * 65536` for an int4. It finds the types of other values itself.
      const types = columns.map((column) =>
        !first.of && column.some((value) => typeof value === 'number') ? int8 : unspecified,
      );
      const statement = this.#prepare(wire, group, types);
      for (const [place] of runs) {
        const params = first.of ? columns.map(arrayOf) : this.#statements[place!]!.values.map(paramOf);
        wire.bind({ statement, values: params });
        wire.execute(null);
      }
    }
    wire.sync();
    wire.stream.uncork();
  }

  /** Prepares a statement, unless it is prepared. Returns its name; empty for one that is not kept. */
  #prepare(wire: Wire, group: Group, types: readonly number[]): string {
    const { text, first } = group;
    const isInsert = first.wants === 'nothing' || first.wants === 'seq';
    const keeps = this.#keeps === 'all' || (this.#keeps === 'inserts' && isInsert);
    const all = keptOf.getOrInsertComputed(this.#connection!, () => new Map<string, Kept>());
    const key = `${types.join(' ')} ${text}`;
    const kept = keeps ? all.get(key) : undefined;
    if (kept) {
      group.fields = kept.fields;
      return kept.name;
    }
    // Named by its text, so that no name means two statements, not even behind a pooler that looks like a server.
    const name = keeps ? createHash('sha256').update(key).digest('base64url') : '';
    if (keeps) this.#prepared.set(key, { name, group });
    // It may be left from a query that failed.
    if (keeps) wire.close({ type: 'S', name });
    wire.parse({ name, text, types });
    wire.describe({ type: 'S', name });
    return name;
  }

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    this.#current.group.fields = fields.map(({ name, dataTypeID }) => ({
      name,
      isNumber: numeric.has(dataTypeID),
    }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: Row = {};
    for (const [place, { name, isNumber }] of this.#current.group.fields.entries()) {
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
    const answers: unknown[] = [];
    for (const { group, places, rows, changes } of this.#executions) {
      const { wants, of } = group.first;
      if (of && wants === 'seq') {
        const seqs = new Map(rows.map(({ key, seq }) => [key, seq]));
        for (const place of places) answers[place] = seqs.get(this.#statements[place]!.values[of.key]);
      } else if (wants === 'row') for (const place of places) answers[place] = rows[0];
      else if (wants === 'changes') answers[places[0]!] = changes;
      else answers[places[0]!] = wants === 'seq' ? rows[0]?.['seq'] : rows;
    }
    for (const [key, { name, group }] of this.#prepared)
      keptOf.get(this.#connection!)?.set(key, { name, fields: group.fields });
    this.#done.resolve(answers);
  }

  handleError(error: unknown): void {
    if (this.#connection) keptOf.delete(this.#connection);
    this.#done.reject(error);
  }

  get #current(): Execution {
    return this.#executions[this.#answered]!;
  }
}

const paramOf = (value: Value): string | null =>
  typeof value === 'string' ? storable(value) : (value?.toString() ?? null);

function arrayOf(values: readonly Value[]): string {
  const items = values.map((value) =>
    typeof value === 'string'
      ? `"${storable(value).replaceAll(/["\\]/g, '\\$&')}"`
      : (value?.toString() ?? 'null'),
  );
  return `{${items.join(',')}}`;
}
