import { afterEach, beforeEach, expect, test } from 'vitest';
import { query, run, type Value } from '../../../src/store/operation.ts';
import { Database, runOn } from '../../../src/store/sqlite/database.ts';

let db: Database;

beforeEach(() => {
  db = new Database(':memory:');
  db.exec('create table pairs (a, b)');
});

afterEach(() => {
  db.close();
});

const insert = 'insert into pairs values ($1, $2)';
const pairs = query<{ a: Value; b: Value }>('select a, b from pairs');

test('binds by place, also where a value is used twice or out of order', () => {
  runOn(db, run(insert, 'x', null));
  runOn(db, run('insert into pairs values ($2, $1)', 1, 2));
  runOn(db, run('insert into pairs values ($1, $1)', 10));
  expect(db.all(pairs)).toEqual([
    { a: 'x', b: null },
    { a: 2, b: 1 },
    { a: 10, b: 10 },
  ]);
});

test.each([[['x']], [['x', 'y', 'z']], [[]]])('refuses %j for two parameters', (values) => {
  expect(() => runOn(db, run(insert, ...values))).toThrow(/values for 2 parameters/);
  expect(db.all(pairs)).toEqual([]);
});

test.each([new Date(0), new Map([['$1', 1]]), { $1: 1 }, [1]])('refuses %o as a value', (value) => {
  // oxlint-disable-next-line no-unsafe-type-assertion -- what a cast elsewhere could let through
  expect(() => runOn(db, run(insert, value as unknown as Value, 'y'))).toThrow(TypeError);
  expect(() => runOn(db, run(insert, value as unknown as Value))).toThrow(TypeError);
});

test.each([0, -1, 1_767_225_600_000, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])(
  'keeps the integer %d exactly',
  (value) => {
    db.exec('create table numbers (n integer not null) strict');
    runOn(db, run('insert into numbers values ($1)', value));
    expect(db.get(query<{ n: number; type: string }>('select n, typeof(n) as type from numbers'))).toEqual({
      n: value,
      type: 'integer',
    });
  },
);
