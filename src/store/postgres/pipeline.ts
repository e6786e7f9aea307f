import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Client, Connection, FieldDef, Submittable } from 'pg';
import { storable } from '../../support/text.ts';
import type { Statement, Value } from '../operation.ts';

type Row = Record<string, Value>;

type Fields = readonly { readonly name: string; readonly isNumber: boolean }[];

/** Statements with one text. */
interface Group {
  readonly text: string;
  /** Of its statements, in the order given. */
  readonly places: readonly number[];
  /** One of them: all have the same `sql`, `of` and `wants`. */
  readonly first: Statement;
  /** The same places, by what the server runs at once. */
  readonly runs: readonly (readonly number[])[];
  fields: Fields;
}

/** What the server runs: a statement, or all inserts of a group. */
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

/** The part of pg's connection that is used here, since its types do not say what it takes. */
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
 * `inserts`, and others that are asked for nothing: PostgreSQL goes about them in one way whatever their values. `all`: also
 * those that it may go about in a way that is wrong once the tables have grown.
 */
export type Keeping = 'none' | 'inserts' | 'all';

/**
 * Sends statements in one round trip. Those with the same text are run together, in the order given, and texts in the
 * order of their first statement. Resolves to what each statement wants. If one fails, those after it do not run, and it
 * rejects with PostgreSQL's error. Gives up the connection if there is no answer in time. `keeps`: what stays
 * prepared on this connection.
 */
export function send(
  client: Client,
  statements: readonly Statement[],
  timeoutMs: number,
  keeps: Keeping = 'none',
): Promise<readonly unknown[]> {
  const pipeline = new Pipeline(statements, keeps);
  // Whatever waits for an answer then fails.
  const timer = setTimeout(() => client.connection.stream.destroy(new Error('no answer in time')), timeoutMs);
  client.query(pipeline);
  return pipeline.done.finally(() => clearTimeout(timer));
}

/** By their types and texts. All are forgotten after a failure, since PostgreSQL did not get to some. */
const keptOf = new WeakMap<Connection, Map<string, Kept>>();

/**
 * pg's own pipelines send each statement's text, and wait for the server after each. This one sends a text once for all
 * its values, and runs inserts into one table as one.
 */
class Pipeline implements Submittable {
  readonly #statements: readonly Statement[];
  readonly #keeps: Keeping;
  readonly #groups: readonly Group[];
  /** In the order of their answers. */
  readonly #executions: readonly Execution[];
  readonly #done = Promise.withResolvers<readonly unknown[]>();
  #connection: Connection | null = null;
  /** Kept from now on, if nothing fails. */
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

  /** What many ask alike, as whether a lease is held, is read once. */
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
      // Otherwise PostgreSQL takes `$1 * 65536` for four bytes. Other values get their type from where they stand.
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

  /** Returns its name, which is empty for one that is not kept. */
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
    // Of one name nothing else can be prepared anywhere, not even behind a pooler that is taken for a server.
    const name = keeps ? createHash('sha256').update(key).digest('base64url') : '';
    if (keeps) this.#prepared.set(key, { name, group });
    // It may be left of what failed.
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
