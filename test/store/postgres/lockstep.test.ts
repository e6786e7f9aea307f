import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  all,
  get,
  insertInto,
  insertRow,
  lock,
  type Operation,
  query,
  run,
  type Statement,
  together,
} from '../../../src/store/operation.ts';
import { keepRefused } from '../../../src/store/operations/refused/figures.ts';
import { inLockstep } from '../../../src/store/postgres/lockstep.ts';
import { send } from '../../../src/store/postgres/pipeline.ts';
import { freshSchema, sql } from '../../fixtures/postgres.ts';

const insert = 'insert into notes (text) values ($1)';
const count = query<{ readonly n: number }>('select count(*) as n from notes where text = $1');
const notes = query<{ readonly text: string }>('select text from notes order by n');

describe('operations in lockstep', () => {
  let url: string;
  let clients: Client[];
  /** The texts of each round, of all clients. */
  let rounds: string[][];

  beforeEach(async () => {
    url = await freshSchema();
    const schema = new URL(url).searchParams.get('schema')!;
    await sql(url, `create schema ${schema}; create table ${schema}.notes (n serial, text text)`);
    clients = [];
    rounds = [];
    while (clients.length < 2) {
      const client = new Client({ connectionString: url.replace(/\?.*/, '') });
      await client.connect();
      await client.query(`set search_path to ${schema}`);
      clients.push(client);
    }
  });

  afterEach(() => Promise.all(clients.map((client) => client.end())));

  const sendAll = (client: Client) => (statements: readonly Statement[]) => {
    rounds.push(statements.map((statement) => statement.sql));
    return send(client, statements, 30_000);
  };

  async function transaction(client: Client, operations: readonly Operation<unknown>[]): Promise<unknown[]> {
    await client.query('begin');
    const results = await inLockstep(operations, sendAll(client));
    await client.query('commit');
    return results;
  }

  const batch = (...operations: Operation<unknown>[]) => transaction(clients[0]!, operations);

  function* write(text: string): Operation<string> {
    yield* run(insert, text);
    const found = yield* get(count, text);
    return `${text}: ${found?.n}`;
  }

  test('send the next statements of all in one round trip', async () => {
    const texts = Array.from({ length: 20 }, (_, n) => `note ${n}`);
    expect(await batch(...texts.map(write))).toEqual(texts.map((text) => `${text}: 1`));
    expect(rounds.map((round) => round.length)).toEqual([20, 20]);
  });

  test('do not wait for what nobody asks about: it goes before what comes next, or last', async () => {
    const noted = insertInto('notes', { text: 'text' });
    function* note(text: string): Operation<number> {
      yield* insertRow(noted, [text]);
      const found = yield* get(count, text);
      yield* insertRow(noted, [`${text}, seen`]);
      return found!.n;
    }
    expect(await batch(note('one'), note('two'))).toEqual([1, 1]);
    expect(rounds.map((round) => round.length)).toEqual([4, 2]);
    const texts = (await sql(url, 'select text from notes order by n')).map(({ text }) => text);
    expect(texts).toEqual(['one', 'two', 'one, seen', 'two, seen']);
  });

  test('may end without a statement, or early', async () => {
    function* none(): Operation<string> {
      yield* together([]);
      return 'nothing';
    }
    expect(await batch(none(), write('one'), none())).toEqual(['nothing', 'one: 1', 'nothing']);
    expect(await batch()).toEqual([]);
  });

  test('run others together, and go on with their results in the order given', async () => {
    function* nested(name: string): Operation<string[]> {
      return yield* together([write(`${name} 1`), write(`${name} 2`)]);
    }
    function* parent(): Operation<unknown> {
      const first = yield* together<unknown>([nested('a'), write('b'), together([]), nested('c')]);
      const rest = yield* all(notes);
      return [first, rest.length];
    }
    const [result] = await batch(parent());
    expect(result).toEqual([[['a 1: 1', 'a 2: 1'], 'b: 1', [], ['c 1: 1', 'c 2: 1']], 5]);
    expect(rounds.map((round) => round.length)).toEqual([5, 5, 1]);
  });

  function* writeOnce(text: string, ...names: string[]): Operation<boolean> {
    for (const name of names) yield* lock(name);
    const found = yield* get(count, text);
    if (found!.n > 0) return false;
    yield* run(insert, text);
    return true;
  }

  test('take their locks in the same order, in the round trip of what follows', async () => {
    await batch(writeOnce('b', 'lock b'), writeOnce('a', 'lock a'), writeOnce('c', 'lock c', 'lock d'));
    expect(rounds).toHaveLength(2);
    expect(rounds[0]!.map((text) => text.includes('advisory'))).toEqual([true, false, false, false]);
  });

  test('with one lock run one after the other, also within a batch', async () => {
    const results = await batch(...Array.from({ length: 10 }, () => writeOnce('same', 'lock')));
    expect(results).toEqual([true, ...Array.from({ length: 9 }, () => false)]);
  });

  test('may name a lock by what PostgreSQL cannot store', async () => {
    expect(await batch(writeOnce('a', 'a\0'), writeOnce('b', 'b\uD800'))).toEqual([true, true]);
  });

  test('may take a lock twice, and give it to those that they run together', async () => {
    function* parent(): Operation<unknown> {
      yield* lock('lock');
      return yield* together([writeOnce('a', 'lock'), writeOnce('b', 'lock', 'other')]);
    }
    expect(await batch(parent(), writeOnce('a', 'lock'))).toEqual([[true, true], false]);
  });

  test('that wait for locks of each other fail, instead of waiting for ever', async () => {
    function* inOrder(first: string, then: string): Operation<void> {
      yield* lock(first);
      yield* run(insert, first);
      yield* lock(then);
    }
    await expect(batch(inOrder('a', 'b'), inOrder('b', 'a'))).rejects.toThrow(/wait for locks/);
  });

  test('of twins on two connections make one, and the second sees what the first committed', async () => {
    const twins = () => Array.from({ length: 30 }, (_, n) => writeOnce(`note ${n}`, `lock ${n}`));
    const [one, other] = await Promise.all([
      transaction(clients[0]!, twins()),
      transaction(clients[1]!, twins().toReversed()),
    ]);
    expect([...one, ...other].filter(Boolean)).toHaveLength(30);
    expect(await sql(url, 'select text from notes group by text having count(*) > 1')).toEqual([]);
  });
});

test('keeping figures of refused events writes what changed, in one round trip: events share the transaction', async () => {
  const one = { reason: 'address', from: 'new', count: 1, first: 1, last: 2 } as const;
  const known = Array.from({ length: 40 }, (_, n) => ({ ...one, from: `198.51.100.${n}` }));
  const sent: number[] = [];
  await inLockstep([keepRefused([known[3]!, one, known[7]!])], async (statements) => {
    sent.push(statements.length);
    return statements.map(({ wants }) => (wants === 'rows' ? known : undefined));
  });
  expect(sent).toEqual([2, 3]);
});
