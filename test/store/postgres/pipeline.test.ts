import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { insertInto, type Statement, type Value } from '../../../src/store/operation.ts';
import { failureKind } from '../../../src/store/postgres/failures.ts';
import { send } from '../../../src/store/postgres/pipeline.ts';
import { sharedPostgres } from '../../fixtures/postgres.ts';

const timeoutMs = 30_000;

const rows = (sql: string, ...values: Value[]): Statement => ({ sql, values, wants: 'rows' });
const row = (sql: string, ...values: Value[]): Statement => ({ sql, values, wants: 'row' });
const changes = (sql: string, ...values: Value[]): Statement => ({ sql, values, wants: 'changes' });

describe('a pipeline', () => {
  let client: Client;

  beforeEach(async () => {
    client = new Client({ connectionString: await sharedPostgres() });
    client.on('error', () => {});
    await client.connect();
    await client.query('create temp table notes (n bigint, text text unique, details json)');
  });

  afterEach(() => client.end());

  const ask = (...statements: Statement[]) => send(client, statements, timeoutMs);
  const insert = 'insert into notes (n, text) values ($1, $2)';

  test('gives each statement what it wants, in the order given', async () => {
    const answers = await ask(
      changes(insert, 1, 'one'),
      rows('select n, text from notes order by n'),
      changes(insert, 2, 'two'),
      row('select max(n) as n from notes where n > $1', 0),
      row('select n from notes where n > $1', 5),
      changes('update notes set n = n + $1', 10),
    );
    expect(answers).toEqual([
      1,
      // Statements with one text run together.
      [
        { n: 1, text: 'one' },
        { n: 2, text: 'two' },
      ],
      1,
      { n: 2 },
      undefined,
      2,
    ]);
  });

  test('parses a text once for all its values', async () => {
    await ask(changes(insert, 1, 'one'));
    const parsed: unknown[] = [];
    // oxlint-disable-next-line no-explicit-any -- pg's types do not know its events
    (client.connection as any).on('parseComplete', (message: unknown) => parsed.push(message));
    await ask(...Array.from({ length: 50 }, (_, n) => changes(insert, n, `note ${n}`)));
    expect(parsed).toHaveLength(1);
  });

  test('runs inserts into one table as one, and tells each its seq, or that its condition did not hold', async () => {
    await client.query('create temp table items (seq serial, id text unique, n bigint, details json)');
    const of = insertInto(
      'items',
      { id: 'text', n: 'bigint', details: 'json' },
      { key: 'id', when: (given) => `${given('n')} > 0` },
    );
    const executed: unknown[] = [];
    // oxlint-disable-next-line no-explicit-any -- pg's types do not know its events
    (client.connection as any).on('commandComplete', (message: unknown) => executed.push(message));
    const hostile = ['{"a"', 'b,\\', 'null', 'NULL', ''];
    const answers = await ask(
      ...hostile.map((id, n): Statement => ({ sql: of.sql, values: [id, n, null], wants: 'seq', of })),
      { sql: of.sql, values: ['la\0st', 9, '{"a": "\\""}'], wants: 'nothing', of },
    );
    expect(executed).toHaveLength(1);
    expect(answers.slice(0, 5)).toEqual([undefined, 1, 2, 3, 4]);
    expect(await ask(rows('select id, n, details from items order by seq'))).toEqual([
      [
        ...['b,\\', 'null', 'NULL', ''].map((id, n) => ({ id, n: n + 1, details: null })),
        { id: 'la\uFFFDst', n: 9, details: '{"a": "\\""}' },
      ],
    ]);
  });

  test('reads what is asked alike once', async () => {
    const asked = [1, 2, 1, 1].map((n) =>
      row('select nextval($2::text) as place, $1::bigint as n', n, 'places'),
    );
    await client.query('create temp sequence places');
    const [first, other] = [
      { place: 1, n: 1 },
      { place: 2, n: 2 },
    ];
    expect(await ask(...asked)).toEqual([first, other, first, first]);
  });

  test('keeps inserts prepared, until something fails: also where the server lost them', async () => {
    const keeping = (...statements: Statement[]) => send(client, statements, timeoutMs, 'inserts');
    const note = (n: number, text: string): Statement => ({ ...changes(insert, n, text), wants: 'nothing' });
    const notes = rows('select n from notes order by n');
    await keeping(note(1, 'one'), notes, changes('update notes set n = $1 where n = $1', 1));
    const { rows: kept } = await client.query('select statement from pg_prepared_statements');
    expect(kept).toEqual([{ statement: insert }]);
    const parsed: unknown[] = [];
    // oxlint-disable-next-line no-explicit-any -- pg's types do not know its events
    (client.connection as any).on('parseComplete', (message: unknown) => parsed.push(message));
    await keeping(note(2, 'two'));
    expect(parsed).toEqual([]);
    await client.query('deallocate all');
    const lost = keeping(note(3, 'three'));
    await expect(lost).rejects.toSatisfy((error) => failureKind(error) === 'again');
    await keeping(note(3, 'three'));
    const failing = keeping(note(4, 'three'), {
      ...note(5, 'five'),
      sql: `${insert} on conflict do nothing`,
    });
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    await keeping(note(4, 'four'));
    expect(await ask(notes)).toEqual([[1, 2, 3, 4].map((n) => ({ n }))]);
  });

  test('keeps also what reads prepared where it is told to', async () => {
    const notes = rows('select n from notes where n = $1', 1);
    for (const kept of [[], [{ statement: notes.sql }]]) {
      const asked = client.query('select statement from pg_prepared_statements');
      expect((await asked).rows).toEqual(kept);
      expect(await send(client, [notes], timeoutMs, 'all')).toEqual([[]]);
    }
  });

  test('undoes all of a pipeline in which one statement fails, and the connection goes on', async () => {
    const failing = ask(
      changes(insert, 1, 'one'),
      changes(insert, 2, 'one'),
      changes(insert, 3, 'three'),
      row('select 1 as n'),
    );
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    expect(await ask(row('select count(*) as n from notes'))).toEqual([{ n: 0 }]);
  });

  test('takes numbers of eight bytes, numbers or null, texts with U+0000 and JSON as text', async () => {
    const big = 2 ** 52;
    const product = row('select $1 * 65536 as n', 2 ** 30);
    const insertAll = 'insert into notes (n, text, details) values ($1, $2, $3)';
    await ask(changes(insertAll, null, 'a\0b', '{"a": 1}'), changes(insertAll, big, null, null));
    expect(await ask(product, rows('select * from notes order by n'))).toEqual([
      { n: 2 ** 46 },
      [
        { n: big, text: null, details: null },
        { n: null, text: 'a\uFFFDb', details: '{"a": 1}' },
      ],
    ]);
  });

  test('carries more than the buffers of both sides hold', async () => {
    const text = 'x'.repeat(2000);
    const statements = Array.from({ length: 5000 }, (_, n) =>
      row('select $1::bigint as n, $2::text as text', n, text),
    );
    const answers = await send(client, statements, timeoutMs);
    expect(answers).toHaveLength(5000);
    expect(answers.at(-1)).toEqual({ n: 4999, text });
  });

  test('gives up a connection that does not answer in time', async () => {
    await expect(send(client, [row('select pg_sleep(600)')], 100)).rejects.toThrow('no answer in time');
    await expect(ask(row('select 1'))).rejects.toThrow('not queryable');
  });
});
