import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { catalogName } from '../../src/config/catalog.ts';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { markOf, reloadConfig, watchConfig } from '../../src/config/live/reload.ts';
import { readText } from '../../src/config/text/files.ts';
import { connectors } from '../../connectors/index.ts';
import { failure, load } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const withTable = (
  table: string,
  rules = 'rules: [ { name: all, when: {}, then: [ { sink: page, text: hello } ] } ]',
) => load(`catalog: { file: tests.csv }\n${rules}`, { HOME: 'sweet' }, { 'tests.csv': table });

test('a table is a catalog: texts as written, and numbers where a column has only these', () => {
  const table = [
    '\uFEFFtest;name;owner;level;code;Hiring manager;',
    '1234567;"Backend; senior";dana@example.com;3;007;Eva;',
    '2345678;42;${HOME} and $${x};;A1;;',
  ].join('\r\n');
  const { plan, warnings, files } = withTable(table);
  expect(plan.testIds).toEqual([1234567, 2345678]);
  expect(plan.test(1234567)).toMatchObject({
    id: 1234567,
    name: 'Backend; senior',
    level: 3,
    code: '007',
    channel: null,
  });
  expect(plan.test(2345678)).toMatchObject({
    name: '42',
    owner: '${HOME} and $${x}',
    level: null,
    code: 'A1',
  });
  expect(warnings.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`)).toEqual([
    'tests.csv:1:28 no rule can name "Hiring manager": use letters, digits, "_" and "-" only',
  ]);
  expect([...files.keys()]).toEqual(['tests.csv']);
});

test('lists name a test as its cell does', () => {
  for (const name of ['${HOME}', 'a $${x} b $ {'])
    expect(catalogName(withTable(`test,name\n1,${name}\n`).planSource, 1)).toBe(name);
});

test('a slip in a cell is told with its test and column', () => {
  const { warnings } = withTable('test,owner\n1,a@example.com\n2,dana@exam\u200Bple.com\n');
  expect(warnings.map(({ line, message }) => `${line} ${message}`)).toContain(
    '1 test 2, owner: an invisible character (U+200B) is in this; type a plain space, or nothing',
  );
});

test.each(['/services/T024BE7LD1/aBcDeFgHiJkL12', '%HOOK_KEY%'])(
  'a credential in a cell is told without advice that holds for the config alone: %s',
  (cell) => {
    const { warnings } = withTable(`test,token\n1,${cell}\n`);
    expect(warnings.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^test 1, token: .* in the table, where no variable can stand/),
    );
  },
);

test('where one cell makes text of a column that is compared with a number, the cell is told', () => {
  const rules = (key: string) =>
    `rules: [{ name: a, when: { test.min: { ${key}: 60 } }, then: [{ sink: page, text: hi }] }]`;
  const told = (table: string, key = 'gte') =>
    withTable(table, rules(key)).warnings.map(({ message }) => message);
  expect(told('test;min\n1;62,5\n2;70\n3;80\n')).toContain(
    'min of test 1 is "62,5", which is no number, and in a table that makes text of all its column: this never holds; write 62.5',
  );
  expect(told('test;min\n1;\n2;70\n3;80 %\n', 'lt')).toContain(
    'min of test 3 is "80 %", which is no number, and in a table that makes text of all its column: this never holds',
  );
  expect(told('test;min\n1;62.5\n2;70\n')).toEqual([]);
  const entries = `catalog: { 1: { min: '62,5' }, 2: { min: 70 } }\n${rules('gte')}`;
  expect(load(entries).warnings.map(({ message }) => message)).toEqual([
    'min of test 1 is "62,5", which is no number: this never holds for it; write 62.5',
  ]);
});

test('a table changes the plan as entries do, and the stored plan needs it no more', () => {
  const table = 'test,name,team\n1,Backend,core\n';
  const same = load('catalog: { 1: { name: Backend, team: core } }');
  expect(withTable(table).plan.id).toBe(same.plan.id);
  expect(withTable(table).planSource).toEqual(same.planSource);
  expect(withTable(table.replace('core', 'web')).plan.id).not.toBe(same.plan.id);
  const rules =
    'rules: [ { name: all, when: { test.team: core }, then: [ { sink: page, text: "{{ test.team }}" } ] } ]';
  expect(withTable(table, rules).warnings).toEqual([]);
  // A key that is text in every config is text in a table, too.
  expect(withTable('test,name\n1,42\n').plan.test(1)['name']).toBe('42');
});

test.for<[string, string]>([
  ['id,name\n1,a\n', 'tests.csv:1:1: error: expected a column "test" with the tests\' ids'],
  ['', 'tests.csv:1:1: error: expected a column "test"'],
  ['Test,name\n1,a\n', 'did you mean "Test"?'],
  [
    'test,name\n1,a\n\n12x,b\n',
    'tests.csv:4:1: error: expected a test id: a whole number, got "12x"\n  4 | 12x,b\n      ^',
  ],
  ['test,name\n1,a\n1,b\n', 'tests.csv:3:1: error: there is a row for the test 1 already'],
  ['name,test\na\n', 'tests.csv:2:1: error: expected a test id: a whole number, got ""'],
  ['test,name,name\n1,a,b\n', 'tests.csv:1:11: error: there is a column "name" already'],
  [
    'test\tname\tname\n1\ta\tb\n',
    'there is a column "name" already\n  1 | test\tname\tname\n          \t    \t^',
  ],
  ['test,name\n1,"a\n', 'tests.csv:2:3: error: the quote that begins here does not end'],
  ['test,name', 'tests.csv:1:1: error: the table has no tests: nothing stands below this'],
  ['name;test\r\n\r\n', 'tests.csv:1:6: error: the table has no tests: nothing stands below this'],
])('a mistake in a table is told at its place: %j', ([table, message]) => {
  const error = failure(() => withTable(table));
  expect(error.message).toContain(message);
  expect(error.mayPass).toBe(true);
});

test('of what follows from a mistake in a table, nothing is told before it', () => {
  const rules =
    'rules: [ { name: all, when: {}, then: [ { sink: page, text: "{{ test.team }} {{ test.gone }}" } ] } ]';
  const of = (table: string) =>
    failure(() => withTable(table, rules)).problems.map(({ file, line, column, message }) => {
      return `${file ?? 'config'}:${line}:${column} ${message}`;
    });
  const unknown = expect.stringContaining('config:2:');
  expect(of('test,team\n1,core\n2,"web\n')).toEqual([
    'tests.csv:3:3 the quote that begins here does not end',
    unknown,
  ]);
  expect(of('test,team\n1,core\nx,web\n')).toEqual([
    'tests.csv:3:1 expected a test id: a whole number, got "x"',
    unknown,
  ]);
});

test('of a table without tests, nothing is told of the conditions by them', () => {
  const rules =
    'rules: [ { name: all, when: { test.team: { not: core } }, then: [ { sink: page, text: hi } ] } ]';
  const empty = failure(() => withTable('test,team\n', rules));
  const bad = failure(() => withTable('id,team\n1,core\n', rules));
  const missing = failure(() => load(`catalog: { file: tests.csv }\n${rules}`));
  expect([empty, bad, missing].map(({ problems }) => problems.map(({ message }) => message))).toEqual([
    [expect.stringContaining('has no tests')],
    [expect.stringContaining('expected a column')],
    [expect.stringContaining('cannot be read')],
  ]);
});

test('a table that is not there, has no name, or stands beside entries is a fault of the config', () => {
  const of = (text: string) =>
    failure(() => load(text)).problems.map(({ file, line, column, message }) => [
      file,
      line,
      column,
      message,
    ]);
  expect(of('catalog: { file: tests.csv }')).toEqual([
    [undefined, 1, 18, 'the table tests.csv cannot be read: there is no such file'],
  ]);
  expect(of('catalog: { file: [1] }')).toEqual([
    [undefined, 1, 18, 'expected the name of a table, such as tests.csv'],
  ]);
  expect(of('catalog: { file: x.csv, 1: { name: a } }')[1]).toEqual([
    undefined,
    1,
    25,
    'a catalog has a file, or entries of its own',
  ]);
});

test('a changed table is loaded, a broken one is told with its place while the old one stays, and a better one is loaded again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'table-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [file, table] = [join(folder, 'config.yaml'), join(folder, 'tests.csv')];
  const text =
    'catalog: { file: tests.csv }\nsinks: { ats: { connector: webhook, url: "https://a.example.com" } }\nrules: [ { name: all, when: {}, then: [ { sink: ats } ] } ]\n';
  await Promise.all([writeFile(file, text), writeFile(table, 'test,name\n1,One\n')]);
  let config: Config = await loadConfig(file, { env: {}, connectors });
  const failed: string[] = [];
  const watching = watchConfig(file, {
    inForce: markOf(await readText(file)),
    files: () => config.files,
    load: (changed) =>
      reloadConfig(changed, file, {
        env: {},
        connectors,
        thread: new URL('../../src/config/live/reload-worker.ts', import.meta.url),
      }),
    onLoaded: (next) => void ({ config } = next),
    onFailed: ({ message }) => void failed.push(message),
    settleMs: 20,
    retryMs: 60_000,
  });
  onTestFinished(() => watching.close());
  const name = () => config.plan.test(1)['name'];
  await writeFile(table, 'test,name\n1,Uno\n');
  await eventually(() => expect(name()).toBe('Uno'));
  await writeFile(table, 'test,name\nx,Due\n');
  await eventually(() =>
    expect(failed).toEqual([expect.stringContaining(`${table}:2:1: error: expected a test id`)]),
  );
  expect(name()).toBe('Uno');
  await writeFile(table, 'test,name\n1,Due\n');
  await eventually(() => expect(name()).toBe('Due'));
});
