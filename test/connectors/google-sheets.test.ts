import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { googleSheets } from '../../connectors/google-sheets/index.ts';
import type { SheetMessage } from '../../connectors/google-sheets/message.ts';
import type { Receipt } from '../../src/model/outcomes.ts';
import type { Grid } from '../../sandbox/sheets/grid.ts';
import type { SheetsSandbox } from '../../sandbox/sheets.ts';
import { elsewhere, endlessJson, serve } from './raw-server.ts';
import {
  calls,
  compose,
  connect,
  connected,
  given,
  noteOf,
  reconnect,
  refuse,
  requestFor,
  sandbox,
  sink,
  update,
  withSheets,
  written,
} from './google-sheets-fixtures.ts';
import { eventually } from '../fixtures/eventually.ts';

withSheets();

describe('as', () => {
  const as = { Received: 'date', Score: 'number', Link: 'link' } as const;
  const received = '2026-07-01T10:00:00Z';

  test('is seen in a preview also of an action that nothing was sent for', () => {
    const row = { Id: 'a', Received: received, Score: '7.50', Link: 'Ada <https://ats.example/1>' };
    const shown = (fields: object) =>
      [...googleSheets.describe!.preview({ ...fields }, null).body.text.matchAll(/<td\s?[^>]*>([^<]*)</g)]
        .map(([, cell]) => cell)
        .slice(0, 6);
    const message = { ...compose({ row, as }, 'dlv_1') };
    const cells = ['', '', 'a', '2026-07-01 10:00:00 UTC', '7.5', 'Ada'];
    expect('message' in message && shown(message.message as object)).toEqual(cells);
    expect(shown({ tab: 'Results', row, as })).toEqual(cells);
  });

  test('writes times of the sheet, numbers and links, in rows added and updated', async () => {
    sandbox.document.timeZone = 'Europe/Berlin';
    const row = { Id: 'a', Received: received, Score: '7.50', Link: '=Ada <https://ats.example/1>' };
    await written(requestFor({ row, key: 'Id', as }));
    expect(sandbox.rows('Results')).toMatchObject([{ Received: 46_204.5, Score: 7.5, Link: '=Ada' }]);
    const tab = sandbox.document.tab('Results')!;
    expect(tab.formatAt(1, 1)).toEqual({ numberFormat: { type: 'DATE_TIME' } });
    expect(tab.formatAt(1, 3).textFormat).toEqual({ link: { uri: 'https://ats.example/1' } });
    const later = { Id: 'a', Received: '2026-07-02T10:00:00Z', Score: 'none', Link: 'gone' };
    await written(requestFor({ row: later, key: 'Id', as }));
    expect(sandbox.rows('Results')).toMatchObject([{ Received: 46_205.5, Score: 'none', Link: 'gone' }]);
    expect(tab.formatAt(1, 3).textFormat).toBeUndefined();
  });

  test('reads the time zone with the tabs, and finds a row by what it wrote', async () => {
    sandbox.document.timeZone = 'GMT-07:00';
    given('Results', [['Received', 'As text', 'Delivery']]);
    const request = requestFor({
      row: { Received: received, 'As text': received },
      as: { Received: 'date' },
    });
    const receipt = await written(request);
    expect(calls().match(/spreadsheets\.get/g)).toHaveLength(1);
    expect(sandbox.rows('Results')).toMatchObject([{ Received: 46_204.125, 'As text': received }]);
    expect(await sink.find!(request)).toEqual({ found: receipt });
    const again = await sink.deliver({ ...request, attempt: 2 });
    expect(again).toMatchObject({ outcome: 'delivered', note: expect.stringContaining('already') });
    expect(sandbox.rows('Results')).toHaveLength(1);
  });

  test('follows a time zone that somebody changed meanwhile, with the first row that comes a minute later', async () => {
    const request = () => requestFor({ row: { At: received }, as: { At: 'date' } });
    await written(request());
    sandbox.document.timeZone = 'GMT-07:00';
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000);
    onTestFinished(() => clock.mockRestore());
    await written(request());
    expect(sandbox.rows('Results').map(({ At }) => At)).toEqual([expect.closeTo(46_204.4167, 3), 46_204.125]);
  });

  test.for([
    ['2026-07-01', 46_204],
    ['2026-07-01T06:00', 46_204.25],
    ['2026-07-01T06:00:00.5+02:00', 46_204 + 4 / 24],
  ] as const)('takes %s for a time', async ([value, serial]) => {
    await written(requestFor({ row: { At: value }, as: { At: 'date' } }));
    expect(sandbox.rows('Results')[0]!['At']).toBeCloseTo(serial, 4);
  });

  test.for(['soon', '20260701', '2026-13-01', '2026-07-01T10:00Z[x=y]'])('leaves %s a text', (value) => {
    expect(compose({ row: { At: value }, as: { At: 'date' } }, 'd')).toMatchObject({
      message: { row: { At: value } },
      note: 'At has a value that is no ISO time, and was written as it is.',
    });
  });

  test.for(['007', '1e5', '=1', '1,5', '1234567890123456', ' '])('leaves %s no number', (value) => {
    const composed = compose({ row: { N: value }, as: { N: 'number' } }, 'd');
    expect(composed).toMatchObject({ message: { row: { N: value } } });
  });

  test.for([
    ['https://a.example/x', 'https://a.example/x', 'https://a.example/x'],
    ['[Ada](https://a.example/x)', 'Ada', 'https://a.example/x'],
    ['Ada <http://a.example>', 'Ada', 'http://a.example'],
    ['javascript:alert(1)', 'javascript:alert(1)', null],
    [
      '[x](https://evil.example)[y](https://a.example)',
      '[x](https://evil.example)[y](https://a.example)',
      null,
    ],
    ['x <https://evil.example> <https://a.example>', 'x <https://evil.example> <https://a.example>', null],
  ] as const)('links %s', ([value, shown, uri]) => {
    const composed = compose({ row: { L: value }, as: { L: 'link' } }, 'd');
    expect(composed).toMatchObject({ message: { row: { L: shown }, formats: { L: { uri } } } });
  });

  test.for(['[', '[x](', ' <https://'])('looks for a link in time linear to what follows %s', (start) => {
    const composed = compose({ row: { L: start + 'a'.repeat(200_000) }, as: { L: 'link' } }, 'd');
    expect(composed).toMatchObject({ message: { formats: { L: { uri: null } } } });
  });

  test('comes of the delivery whose value a row with several has', async () => {
    const first = requestFor({
      row: { Id: 'a', Link: 'https://a.example' },
      key: 'Id',
      as: { Link: 'link' },
    });
    const second = requestFor({ row: { Id: 'a', Link: 'none' }, key: 'Id', as: { Link: 'link' } });
    const outcomes = await sink.deliverMany!([first, second]);
    expect(outcomes).toMatchObject([{ outcome: 'delivered' }, { outcome: 'delivered' }]);
    expect(sandbox.rows('Results')).toMatchObject([{ Id: 'a', Link: 'none' }]);
    expect(sandbox.document.tab('Results')!.formatAt(1, 1).textFormat).toBeUndefined();
  });

  test('is gone from cells that a row landed in by mistake', async () => {
    const tab = given('Results', [
      ['Id', 'Received', 'Mine', 'Delivery'],
      ['a', '', 87, 'dlv_old'],
    ]);
    sandbox.person.before('a write', () => tab.moveColumn(2, 1));
    const row = { Id: 'a', Received: received };
    await written(requestFor({ row, key: 'Id', as: { Received: 'date' } }));
    expect(sandbox.rows('Results')).toMatchObject([{ Mine: 87, Received: expect.closeTo(46_204.4167, 3) }]);
    expect(tab.formatAt(1, 1).numberFormat).toBeUndefined();
    expect(tab.formatAt(1, 2).numberFormat).toEqual({ type: 'DATE_TIME' });
  });

  test('writes nothing while the time zone cannot be read', async () => {
    refuse('spreadsheets.get', 503, { status: 'UNAVAILABLE', message: 'Later.' });
    const request = requestFor({ row: { Received: received }, as: { Received: 'date' } });
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'retry' });
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'delivered' });
  });

  test('names headers of the row, and no date for the key', () => {
    const read = googleSheets.action.safeParse({
      tab: 'T',
      row: { Id: 'x' },
      key: 'Id',
      as: { Id: 'date', Other: 'link' },
    });
    expect(read.error?.issues.map(({ path, message }) => [path.join('.'), message])).toEqual([
      ['as.Id', 'expected no date, as it is the key'],
      ['as.Other', 'expected one of the headers of row'],
    ]);
  });
});

describe('a row', () => {
  test('makes its tab with a header that ends in Delivery', async () => {
    const receipt = await written(requestFor({ row: { Candidate: 'c', Status: 'Completed' } }));
    expect(sandbox.cells('Results')).toEqual([
      ['Candidate', 'Status', 'Delivery'],
      ['c', 'Completed', expect.stringMatching(/^dlv_/)],
    ]);
    expect(receipt).toEqual({ spreadsheetId: sandbox.spreadsheetId, range: "'Results'!A2:C2" });
  });

  test('stands under its headers, whatever their order, and leaves other columns alone', async () => {
    given('Results', [['Notes', 'Status', ' Candidate ', 'Delivery', 'Reviewed by']]);
    await written(requestFor({ row: { Candidate: 'c', Status: 'Completed' } }, { deliveryId: 'd' }));
    expect(sandbox.cells('Results')[1]).toEqual(['', 'Completed', 'c', 'd']);
  });

  test('gets the columns that are missing behind the ones that are there', async () => {
    given('Results', [
      ['Candidate', 'Delivery', 'Mine'],
      ['old', 'd-0', 'note'],
    ]);
    await written(requestFor({ row: { Candidate: 'c', Score: 7 } }, { deliveryId: 'd' }));
    expect(sandbox.cells('Results')).toEqual([
      ['Candidate', 'Delivery', 'Mine', 'Score'],
      ['old', 'd-0', 'note'],
      ['c', 'd', '', 7],
    ]);
  });

  test('gets a header in a tab that is empty', async () => {
    await written(requestFor({ tab: 'Sheet1' }));
    expect(sandbox.cells('Sheet1')[0]).toEqual(['Candidate', 'Delivery']);
  });

  test('finds room beyond the last column of the tab', async () => {
    const names = Array.from({ length: 26 }, (_, index) => `H${index}`);
    given('Results', [names]);
    const row = Object.fromEntries([...names, 'Extra'].map((name) => [name, name]));
    expect(await written(requestFor({ row }))).toMatchObject({ range: "'Results'!A2:AB2" });
    expect(sandbox.rows('Results')[0]).toMatchObject({ H0: 'H0', H25: 'H25', Extra: 'Extra' });
  });

  test.for(["Bob's results", 'A1', 'Ergebnisse 2026 (März)!', 'Σ:B'])(
    'goes to the tab named %s',
    async (tab) => {
      const request = requestFor({ tab });
      const receipt = await written(request);
      await written(requestFor({ tab }));
      expect(sandbox.rows(tab)).toHaveLength(2);
      expect(await sink.find!(request)).toEqual({ found: receipt });
    },
  );

  test('keeps numbers and truth values as they are, and text as text', async () => {
    const row = { Number: 42, Truth: true, Formula: '=1+1', Text: '007', Nothing: null, Json: { a: [1] } };
    await written(requestFor({ row }));
    expect(sandbox.rows('Results')[0]).toMatchObject({ ...row, Nothing: '', Json: '{"a":[1]}' });
  });

  test('may have headers that look like formulas or code', async () => {
    await written(requestFor({ row: { '=A1': 'x', ['__proto__']: 'y' } }, { deliveryId: 'd' }));
    expect(sandbox.cells('Results')).toEqual([
      ['=A1', '__proto__', 'Delivery'],
      ['x', 'y', 'd'],
    ]);
  });

  test('goes below its table and not into another one on the same tab', async () => {
    given('Results', [
      ['Candidate', 'Delivery'],
      ['old', 'd-0'],
      [],
      ['', '', '', 'Another', 'table'],
      ['', '', '', 'with', 'more'],
    ]);
    const receipt = await written(requestFor());
    expect(receipt).toMatchObject({ range: "'Results'!A3:B3" });
    expect(sandbox.cells('Results').at(-1)).toEqual(['', '', '', 'with', 'more']);
  });

  test('stands under its headers even where the header row has a gap', async () => {
    given('Results', [['Candidate', '', 'Status', 'Delivery']]);
    await written(requestFor({ row: { Candidate: 'a', Status: 'x' } }));
    await written(requestFor({ row: { Candidate: 'b', Status: 'y' } }));
    expect(sandbox.rows('Results')).toMatchObject([
      { Candidate: 'a', Status: 'x' },
      { Candidate: 'b', Status: 'y' },
    ]);
  });

  test('stands under its headers where cells beside the table are filled', async () => {
    given('Results', [
      ['', 'Candidate', 'Delivery'],
      ['note', 'old', 'd-0'],
    ]);
    expect(await written(requestFor())).toMatchObject({ range: "'Results'!B3:C3" });
    expect(sandbox.cells('Results')[2]).toMatchObject(['', '42', expect.any(String)]);
  });

  test('is shortened where a cell cannot hold it, and the delivery says so', async () => {
    const composed = compose({ row: { Candidate: `${'x'.repeat(49_985)}${'👩'.repeat(20)}` } }, 'd');
    expect(composed).toMatchObject({ note: expect.stringContaining('shortened') });
    const { message } = composed as { message: SheetMessage };
    expect(String(message.row['Candidate'])).toMatch(/x… \(shortened\)$|x👩* … \(shortened\)$/u);
    await written(requestFor({}, { message }));
    expect(String(sandbox.rows('Results')[0]!['Candidate']).length).toBeLessThanOrEqual(50_000);
  });

  test.for([
    [{ tab: ' ' }, 'tab'],
    [{ tab: 'x'.repeat(101) }, 'tab'],
    [{ row: { Candidate: '' }, key: 'Candidate' }, 'key'],
    [{ row: { Candidate: 'a' }, key: 'constructor' }, 'key'],
  ] as const)('is refused for %j', ([fields, word]) => {
    expect(compose(fields, 'd')).toMatchObject({
      rejected: { outcome: 'rejected', reason: 'invalid', detail: expect.stringContaining(word) },
    });
  });
});

function deleteColumns(tab: Grid): void {
  while (tab.columnCount > 1) tab.deleteColumn(1);
}

test('a spreadsheet that is full holds its sink back, and loses nothing', async () => {
  const tab = given('Results', [['Candidate', 'Delivery']]);
  const others = sandbox.document.tabs[0]!;
  tab.rowCount = Math.floor(10_000_000 / 26) - others.rowCount;
  const request = requestFor();
  expect(await sink.deliver(request)).toMatchObject({
    outcome: 'retry',
    sinkWide: true,
    detail: expect.stringMatching(/limit of 10000000 cells.*Delete old rows/),
  });
  tab.rowCount = 1000;
  await written(request);
  expect(sandbox.rows('Results')).toHaveLength(1);
});

test('a row with the value false beside a box to tick has nothing to be put right', async () => {
  const tab = given('Results', [
    ['Seen', 'Candidate', 'Passed', 'Delivery'],
    [true, '1', true, 'x'],
  ]);
  tab.format(1, 0, { dataValidation: { condition: { type: 'BOOLEAN' } } });
  const outcome = await sink.deliver(requestFor({ row: { Candidate: '2', Passed: false } }));
  expect(noteOf(outcome)).toBe('');
  expect(tab.rows[2]?.slice(0, 3)).toEqual([false, '2', false]);
});

test('columns that are added have nothing of the one before them, such as boxes to tick', async () => {
  const boxes = Array.from({ length: 8 }, () => ['', false]);
  const tab = given('Results', [['Candidate', 'Seen'], ['1', true], ...boxes]);
  const dataValidation = { condition: { type: 'BOOLEAN' } };
  for (let row = 1; row < tab.rows.length; row += 1)
    tab.format(row, 1, { dataValidation, numberFormat: { type: 'DATE' } });
  const request = requestFor({ row: { Candidate: '2', Number: 20_970 } });
  await written(request);
  expect(tab.rows.slice(0, 4)).toEqual([
    ['Candidate', 'Seen', 'Number', 'Delivery'],
    ['1', true, '', ''],
    ['2', false, 20_970, request.deliveryId],
    ['', false, '', ''],
  ]);
  expect(tab.formatAt(1, 1)).toEqual({ dataValidation, numberFormat: { type: 'DATE' } });
  expect(tab.formatAt(1, 2)).toEqual({});
});

describe('a table that people made of the rows', () => {
  const cells = [
    ['Candidate', 'Status', 'Delivery', 'Notes'],
    ['1', 'Completed', '', ''],
  ];
  const box = { top: 0, left: 0, right: 1 };

  test('has the rows that are added, and what stands below it stays below', async () => {
    const tab = given('Results', [...cells, [], ['', '', '', 'below']]);
    const beside = { top: 1, left: 3, right: 3, bottom: 1 };
    tab.tables = [
      { id: 't1', box: { ...box, bottom: 1 }, hasFooter: false },
      { id: 't2', box: { ...beside }, hasFooter: false },
    ];
    for (const Candidate of ['2', '3']) await written(requestFor({ row: { Candidate, Status: 'x' } }));
    expect(tab.tables[0]!.box.bottom).toBe(3);
    expect(tab.rows.map(([candidate = '']) => candidate)).toEqual(['Candidate', '1', '2', '3', '', '']);
    expect(tab.at(5, 3)).toBe('below');
  });

  test('has them where a list below it is as wide', async () => {
    const tab = given('Results', cells);
    tab.tables = [{ id: 't1', box: { ...box, right: 3, bottom: 1 }, hasFooter: false }];
    await written(requestFor({ row: { Candidate: '2', Status: 'x' } }));
    tab.update(4, 0, [
      ['Test', 'Owner', 'Since'],
      ['Backend', 'Dana', '2026'],
    ]);
    for (const Candidate of ['3', '4']) await written(requestFor({ row: { Candidate, Status: 'x' } }));
    expect(tab.tables[0]!.box.bottom).toBe(4);
    const first = tab.rows.map(([cell = '']) => cell);
    expect(first).toEqual(['Candidate', '1', '2', '3', '4', '', 'Test', 'Backend']);
  });

  test('has the columns that are added at its end', async () => {
    const tab = given('Results', [['Candidate', 'When'], ['1']]);
    tab.tables = [{ id: 't1', box: { ...box, bottom: 1 }, hasFooter: false, types: { 1: 'DATE' } }];
    await written(requestFor({ row: { Candidate: '2', Number: 7 } }));
    expect(tab.rows[2]).toEqual(['2', '', 7, expect.stringMatching(/^dlv_/)]);
    expect(tab.tables[0]).toMatchObject({ box: { right: 3, bottom: 2 }, types: { 1: 'DATE' } });
  });

  test('has them in a spreadsheet whose first tab is gone, too', async () => {
    const tab = given('Results', cells);
    tab.tables = [{ id: 't1', box: { ...box, bottom: 1 }, hasFooter: false }];
    sandbox.document.tabs.shift();
    await written(requestFor({ row: { Candidate: '2', Status: 'x' } }));
    expect(tab.tables[0]!.box.bottom).toBe(2);
  });

  test('and unmade just before a row is added has that row a little later', async () => {
    const tab = given('Results', cells);
    tab.tables = [{ id: 't1', box: { ...box, bottom: 1 }, hasFooter: false }];
    sandbox.person.before('a write', () => (tab.tables = []));
    const request = requestFor({ row: { Candidate: '2', Status: 'x' } });
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'retry', reason: 'not_found' });
    await written({ ...request, attempt: 2 });
    expect(tab.rows.map(([candidate]) => candidate)).toEqual(['Candidate', '1', '2']);
  });

  test('while the connector ran has them, too, from a minute after that at the latest', async () => {
    const row = (Candidate: string) => written(requestFor({ row: { Candidate, Status: 'x' } }));
    await row('1');
    const tab = sandbox.document.tab('Results')!;
    tab.tables = [{ id: 't1', box: { top: 0, left: 0, right: 2, bottom: 1 }, hasFooter: false }];
    const later = performance.now() + 60_000;
    const clock = vi.spyOn(performance, 'now').mockReturnValue(later);
    onTestFinished(() => clock.mockRestore());
    for (const candidate of ['2', '3']) await row(candidate);
    expect(tab.tables[0]!.box.bottom).toBe(3);
    expect(sandbox.rows('Results').map((each) => each['Candidate'])).toEqual(['1', '2', '3']);
  });

  test('and emptied a row of has each row once, at its end', async () => {
    const tab = given('Results', [...cells, [], ['', '', '', 'below']]);
    tab.tables = [{ id: 't1', box: { ...box, bottom: 1 }, hasFooter: false }];
    for (const Candidate of ['2', '3']) await written(requestFor({ row: { Candidate, Status: 'x' } }));
    tab.write(2, 0, [['', '', '']]);
    for (const Candidate of ['4', '5']) await written(requestFor({ row: { Candidate, Status: 'x' } }));
    const candidates = tab.rows.map(([candidate = '']) => candidate);
    expect(candidates).toEqual(['Candidate', '1', '', '3', '4', '5', '', '']);
    expect(tab.tables[0]!.box.bottom).toBe(5);
    expect(tab.at(7, 3)).toBe('below');
  });

  test('decides the format of its columns that have a type', async () => {
    const as = { When: 'date', Since: 'date' } as const;
    const row = (Candidate: string) =>
      requestFor({ row: { Candidate, When: '2026-03-01T12:00:00Z', Since: '2026-03-01' }, as });
    await written(row('1'));
    const tab = sandbox.document.tab('Results')!;
    const whole = { top: 0, left: 0, right: 2, bottom: 1 };
    tab.tables = [{ id: 't1', box: whole, hasFooter: false, types: { 1: 'DATE' } }];
    // The sheet was read a moment ago, when there was no table.
    const request = row('2');
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'retry' });
    for (const one of [request, row('3')]) await written({ ...one, attempt: 2 });
    expect(sandbox.rows('Results').map((each) => each['When'])).toEqual([46082.5, 46082.5, 46082.5]);
    expect(tab.formatAt(3, 2).numberFormat).toEqual({ type: 'DATE_TIME' });
    // One that is updated stands in the table already.
    await written(
      requestFor({ key: 'Candidate', row: { Candidate: '2', When: '2026-03-02' }, as: { When: 'date' } }),
    );
    expect(sandbox.rows('Results')[1]).toMatchObject({ Candidate: '2', When: 46083 });
  });

  test('below the rows decides the format of no cell above it', async () => {
    const tab = given('Results', [['Candidate', 'When', 'Delivery'], [], [], ['Who', 'Due'], ['x', 1]]);
    tab.tables = [
      { id: 't1', box: { top: 3, left: 0, right: 1, bottom: 4 }, hasFooter: false, types: { 1: 'DATE' } },
    ];
    const row = { Candidate: '1', When: '2026-03-01' };
    for (const key of [undefined, 'Candidate'])
      await written(requestFor({ row, ...(key && { key }), as: { When: 'date' } }));
    expect(tab.formatAt(1, 1).numberFormat).toEqual({ type: 'DATE_TIME' });
    // Sorted into it, a row is one of that table.
    tab.write(tab.tables[0]!.box.top + 1, 0, [['1', '', 'dlv_x']]);
    tab.write(1, 0, [['', '', '']]);
    await written(requestFor({ row, key: 'Candidate', as: { When: 'date' } }));
    expect(tab.at(5, 1)).toBe(46_082);
  });

  test('keeps its footer below them', async () => {
    const tab = given('Results', [...cells, ['Sum', '1']]);
    tab.tables = [{ id: 't1', box: { ...box, bottom: 2 }, hasFooter: true }];
    await written(requestFor({ row: { Candidate: '2' } }));
    expect(tab.rows.map(([candidate]) => candidate)).toEqual(['Candidate', '1', '2', 'Sum']);
    expect(tab.tables[0]!.box.bottom).toBe(3);
  });
});

describe('a header below a title', () => {
  const titled = () => connected({}, { headerRow: 3 });
  const people = [
    ['Candidate', 'Status', 'Delivery'],
    ['a', 'old', 'd-0'],
  ];

  test('has new rows and updates below it, and new columns beside it', async () => {
    await titled();
    const tab = given('Results', people, 3);
    const requests = [
      requestFor({ row: { Candidate: 'b', Score: 7 } }),
      update('a', 'new'),
      update('c', 'x'),
    ];
    const outcomes = await sink.deliverMany!(requests);
    expect(outcomes).toMatchObject(
      ["'Results'!A5:D5", "'Results'!A4:D4", "'Results'!A6:D6"].map((range) => ({ receipt: { range } })),
    );
    const [added, updated, third] = requests.map(({ deliveryId }) => deliveryId);
    expect(tab.rows).toEqual([
      ['Title 0'],
      ['Title 1'],
      ['Candidate', 'Status', 'Delivery', 'Score'],
      ['a', 'new', updated],
      ['b', '', added, 7],
      ['c', 'x', third],
    ]);
    calls();
    await written(requestFor());
    expect(calls()).toBe('values.batchGet spreadsheets.batchUpdate values.batchGet');
  });

  test('is made in its row in a new tab', async () => {
    await titled();
    expect(await written(requestFor())).toMatchObject({ range: "'Results'!A4:B4" });
    expect(sandbox.cells('Results').slice(0, 3)).toEqual([[], [], ['Candidate', 'Delivery']]);
    expect(await written(requestFor())).toMatchObject({ range: "'Results'!A5:B5" });
  });

  test('is where a lost row is looked for', async () => {
    await titled();
    given('Results', people, 3);
    sandbox.faults.only = ['spreadsheets.batchUpdate'];
    const request = update('a', 'new');
    sandbox.faults.once({ kind: 'drop', commit: true });
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'unknown' });
    expect(await sink.find!(request)).toMatchObject({ found: { range: "'Results'!A4:C4" } });
    expect(await sink.find!(requestFor())).toEqual({ found: null });
  });

  test('is right in a tab that has more rows than are read at once', async () => {
    await titled();
    const tab = given('Results', people, 3);
    tab.rowCount = 8000;
    expect(await written(requestFor())).toMatchObject({ range: "'Results'!A5:C5" });
    expect(await written(requestFor())).toMatchObject({ range: "'Results'!A6:C6" });
  });
});

describe('a header', () => {
  test('is read with each row, since people move columns', async () => {
    await written(requestFor());
    calls();
    await written(requestFor());
    expect(calls()).toBe('values.batchGet spreadsheets.batchUpdate values.batchGet');
  });

  test('that people changed is followed', async () => {
    await written(requestFor({ row: { A: 'a', B: 'b' } }));
    sandbox.document.tab('Results')!.write(0, 0, [['B', 'A']]);
    await written(requestFor({ row: { A: 'a', B: 'b' } }, { now: 2_000_000 }));
    expect(sandbox.cells('Results')[2]).toMatchObject(['b', 'a', expect.any(String)]);
  });

  test.for<[string, (document: SheetsSandbox['document']) => void, string]>([
    ['deleted its tab', (document) => void document.tabs.pop(), 'deleted the tab Results'],
    [
      'renamed its tab',
      (document) => void (document.tab('Results')!.title = 'Old'),
      'renamed the tab Results to Old, and a new one was made. Move the rows of the new one into the old one, delete the new one, and then give the old one its name back',
    ],
    [
      'renamed a column',
      (document) => document.tab('Results')!.write(0, 0, [['Person']]),
      'added anew behind the others. Move the cells of the new one into the old one, delete the new one, and then give the old one its name back',
    ],
  ])('is made anew where somebody %s between two rows, which is told once', async ([, edit, words]) => {
    const deliver = () => sink.deliver(requestFor());
    expect(await deliver()).not.toHaveProperty('missed');
    edit(sandbox.document);
    // As a reload of the config does, whatever was changed in it.
    await sink.close();
    await reconnect({});
    expect(await deliver()).toMatchObject({ missed: true, note: expect.stringContaining(words) });
    expect(sandbox.rows('Results').at(-1)).toMatchObject({ Candidate: '42' });
    expect(await deliver()).not.toHaveProperty('note');
  });

  test('remembers the spreadsheets that were connected last', async () => {
    const deliver = () => sink.deliver(requestFor());
    await deliver();
    sandbox.document.tab('Results')!.title = 'Old';
    await forgetWritten();
    expect(await deliver()).not.toHaveProperty('note');
  });

  test('is made anew where a tab with rows is gone after a restart, which is told once', async () => {
    const receipts: Receipt[] = [];
    for (const tab of ['Jo "1"', "Ana's"]) receipts.unshift(await written(requestFor({ tab })));
    for (const tab of sandbox.document.tabs) tab.title = `Old ${tab.title}`;
    await forgetWritten();
    const earlier = async (part = '') =>
      receipts.find((receipt) => JSON.stringify(receipt).includes(part)) ?? null;
    const deliver = (tab: string) => sink.deliver(requestFor({ tab }, { earlier }));
    expect(await deliver('Another')).not.toHaveProperty('note');
    for (const tab of ["Ana's", 'Jo "1"']) {
      expect(await deliver(tab)).toMatchObject({
        missed: true,
        note: expect.stringContaining(`Somebody renamed or deleted the tab ${tab}, and a new one was made.`),
      });
      expect(await deliver(tab)).not.toHaveProperty('note');
    }
  });

  test('is made anew without a word in another spreadsheet than that of the newest row', async () => {
    const range = "'Results'!A2:C2";
    for (const earlier of [
      async () => ({ spreadsheetId: 'another', range }),
      () => Promise.reject(new Error('the store is away')),
    ]) {
      expect(await sink.deliver(requestFor({}, { earlier }))).not.toHaveProperty('note');
      await connected();
    }
  });

  /** As a restart does. */
  async function forgetWritten() {
    for (let other = 0; other < 100; other += 1)
      await (await connect({ spreadsheetId: `s${other}` })).close();
    await reconnect({});
  }

  test.for<[string, (document: SheetsSandbox['document']) => void]>([
    ['deletes the tab', (document) => void document.tabs.pop()],
    ['deletes the rows', (document) => void (document.tab('Results')!.rowCount = 1)],
    ['deletes most columns', (document) => deleteColumns(document.tab('Results')!)],
  ])('is looked for again where somebody %s just then', async ([, edit]) => {
    await written(requestFor());
    await written(requestFor());
    sandbox.person.before('a write', () => {
      sandbox.document.tab('Results')!.rows.length = 1;
      edit(sandbox.document);
    });
    const request = requestFor();
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'retry', reason: 'not_found' });
    await written({ ...request, attempt: 2 });
    expect(sandbox.rows('Results').map((row) => row['Delivery'])).toEqual([request.deliveryId]);
  });

  test('is shared with another copy of the connector that makes it at the same moment', async () => {
    const other = await connect();
    const both = [requestFor({ row: { A: 1 } }), requestFor({ row: { B: 2 } })];
    const outcomes = await Promise.all([sink.deliver(both[0]!), other.deliver(both[1]!)]);
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.outcome !== 'delivered') await written({ ...both[index]!, now: 2_000_000 });
    }
    expect(sandbox.tabs().filter((title) => title === 'Results')).toHaveLength(1);
    const rows = sandbox.rows('Results');
    expect(rows.map(({ A }) => A).filter(Boolean)).toEqual([1]);
    expect(rows.map(({ B }) => B).filter(Boolean)).toEqual([2]);
  });

  test('is written under when another copy made the tab a moment before', async () => {
    sandbox.person.before('spreadsheets.batchUpdate', () => given('Results', [['Candidate', 'Delivery']]));
    await written(requestFor());
    expect(sandbox.rows('Results')).toHaveLength(1);
  });

  test('whose making was cut off is there once all the same', async () => {
    sandbox.faults.only = ['spreadsheets.batchUpdate'];
    sandbox.faults.once({ kind: 'drop', commit: true });
    const request = requestFor();
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'retry', reason: 'network' });
    await written(request);
    expect(sandbox.cells('Results')).toHaveLength(2);
  });

  test.for(['{}', '<html>', '[]'])(
    'is not taken for empty because something else answered: %s',
    async (body) => {
      given('Results', [['Candidate', 'Delivery']]);
      sandbox.faults.only = ['values.batchGet'];
      const headers = body === '<html>' ? {} : { 'content-type': 'application/json' };
      sandbox.faults.once({ kind: 'status', status: 200, body, headers });
      expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'retry', reason: 'server' });
      expect(sandbox.cells('Results')).toEqual([['Candidate', 'Delivery']]);
    },
  );
});

const score = { row: { Candidate: 'a', Score: 7 }, key: 'Candidate' };

describe('an action with a key', () => {
  test('updates the row with that value and leaves its other columns', async () => {
    given('Results', [
      ['Candidate', 'Notes', 'Status', 'Delivery'],
      ['a', 'keep', 'old', 'd-0'],
      ['b', 'keep', 'old', 'd-00'],
    ]);
    const request = update('b', '=new');
    const receipt = await written(request);
    expect(receipt).toMatchObject({ range: "'Results'!A3:D3" });
    expect(sandbox.cells('Results').slice(1)).toEqual([
      ['a', 'keep', 'old', 'd-0'],
      ['b', 'keep', '=new', request.deliveryId],
    ]);
    expect(await sink.find!(request)).toMatchObject({ found: receipt });
  });

  test('adds a row where none has the value, and then updates that one', async () => {
    await written(update('a', 'Completed'));
    await written(update('b', 'Completed'));
    await written(update('a', 'Canceled'));
    expect(sandbox.rows('Results')).toMatchObject([
      { Candidate: 'a', Status: 'Canceled' },
      { Candidate: 'b', Status: 'Completed' },
    ]);
  });

  test('compares what cells hold and not how they look, and takes the header for no row', async () => {
    given('Results', [
      ['Candidate', 'Status', 'Delivery'],
      [1234567, 'old'],
      [true, 'old'],
    ]);
    await written(update('1234567', 'new'));
    await written(update(true, 'newer'));
    await written(update('Candidate', 'x'));
    expect(sandbox.rows('Results').map(({ Status }) => Status)).toEqual(['new', 'newer', 'x']);
  });

  test('leaves a row alone that a newer delivery has updated meanwhile, and says so', async () => {
    const [first, late, newer] = [update('a', 'Sent'), update('a', 'Completed'), update('a', 'Canceled')];
    await written(first);
    await written(newer);
    const before = sandbox.cells('Results');
    expect(await sink.deliver(late)).toEqual({
      outcome: 'delivered',
      receipt: { spreadsheetId: sandbox.spreadsheetId, range: "'Results'!A2:C2" },
      note: expect.stringContaining('newer update'),
    });
    expect(sandbox.cells('Results')).toEqual(before);
  });

  test('writes all that the deliveries of one event say of a row, in any order', async () => {
    const event = 'dlv_01jd3v5m8k2q4r6t8w0y1z3a5c';
    await written(requestFor(score, { deliveryId: `${event}_2` }));
    const status = { row: { Candidate: 'a', Status: 'Completed' }, key: 'Candidate' };
    await written(requestFor(status, { deliveryId: `${event}_1` }));
    expect(sandbox.rows('Results')).toMatchObject([{ Candidate: 'a', Score: 7, Status: 'Completed' }]);
  });

  test('ends unknown when the answer to the update is lost, and is found', async () => {
    await written(update('a', 'Completed'));
    sandbox.faults.only = ['spreadsheets.batchUpdate'];
    sandbox.faults.once({ kind: 'drop', commit: true });
    const request = update('a', 'Canceled');
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'unknown', reason: 'network' });
    expect(await sink.find!(request)).toMatchObject({ found: { range: "'Results'!A2:C2" } });
  });
});

describe('asking for an earlier row', () => {
  test('works after people moved columns and rows', async () => {
    const request = requestFor();
    await written(request);
    const { deliveryId } = request;
    sandbox.document
      .tab('Results')!
      .rows.splice(0, 2, ['Delivery', 'Candidate'], [], ['other', 'x'], [deliveryId, 'c']);
    expect(await sink.find!(request)).toMatchObject({ found: { range: "'Results'!A4:B4" } });
  });

  test.for<[string, readonly (readonly string[])[] | null]>([
    ['there is no tab', null],
    ['the tab is empty', []],
  ])('finds nothing where %s', async ([, cells]) => {
    if (cells) given('Results', cells);
    expect(await sink.find!(requestFor())).toEqual({ found: null });
  });

  test('finds the row where its tab was renamed since, also after a restart', async () => {
    const [first, request] = [requestFor(), requestFor({ tab: 'results' })];
    await written(first);
    refuse('spreadsheets.batchUpdate', 503, {}, true);
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'unknown' });
    const tab = sandbox.document.tab('Results')!;
    tab.title = 'November';
    tab.moveColumn(1, 0);
    tab.insertRows(2, 1);
    await reconnect({});
    const found = { found: { range: "'November'!A4:B4" }, note: expect.stringContaining('to November') };
    expect(await sink.find!(request)).toMatchObject(found);
    expect(await sink.findMany!([requestFor(), first])).toMatchObject([
      { found: null },
      { found: { range: "'November'!A2:B2" } },
    ]);
  });

  test('finds it in the renamed tab where somebody made another one with the name', async () => {
    const request = requestFor();
    await written(request);
    sandbox.document.tab('Results')!.title = 'November';
    given('Results', [['Candidate', 'Delivery']]);
    expect(await sink.find!(request)).toMatchObject({ found: { range: "'November'!A2:B2" } });
  });

  test.for<[string, number, string, (tab: Grid) => void]>([
    ['the renamed tab is renamed again', 3, "'Archive'!A2:B2", (tab) => (tab.title = 'Archive')],
    ['its columns are moved', 4, "'November'!A2:B2", (tab) => tab.moveColumn(1, 0)],
  ])('finds it where %s between two looks', async ([, look, range, edit]) => {
    const request = requestFor();
    await written(request);
    const tab = sandbox.document.tab('Results')!;
    tab.title = 'November';
    given('Results', [['Candidate', 'Delivery']]);
    let looks = 0;
    sandbox.person.meanwhile = (call) => {
      if (call === 'values.batchGet' && (looks += 1) === look) edit(tab);
    };
    expect(await sink.find!(request)).toMatchObject({ found: { range } });
  });

  test('looks into other tabs only where the row is not in its own, and into none that has no header', async () => {
    const low = sandbox.document.addTab(77, 'Low', { rowCount: 1 });
    const chart = sandbox.document.addTab(78, 'Chart', {});
    chart.isChart = true;
    await reconnect({ headerRow: 2 });
    const there = requestFor({ tab: 'Other' });
    await written(there);
    calls();
    expect(await sink.find!(there)).toMatchObject({ found: { range: "'Other'!A3:B3" } });
    const own = calls();
    expect(await sink.find!(requestFor({ tab: 'Other' }))).toEqual({ found: null });
    expect(calls()).toBe(`${own} values.batchGet values.batchGet`);
    expect(await sink.find!(requestFor())).toEqual({ found: null });
    expect(calls()).toBe('spreadsheets.get values.batchGet values.batchGet');
    expect([low.rows, chart.rows]).toEqual([[], []]);
  });

  test('is put off where the other tabs cannot be read', async () => {
    await written(requestFor({ tab: 'Other' }));
    refuse('values.batchGet', 503, {});
    expect(await sink.find!(requestFor())).toMatchObject({ found: 'failed', failure: { outcome: 'retry' } });
  });

  test('is impossible where the column of deliveries was renamed', async () => {
    given('Results', [
      ['Candidate', 'Sent by'],
      ['c', 'd-1'],
    ]);
    const impossible = { found: 'impossible', detail: expect.stringContaining('no column Delivery') };
    expect(await sink.find!(requestFor())).toEqual(impossible);
  });

  test.for([
    [{ role: 'none' }, 'auth'],
    [{ perMinute: 0 }, 'rate_limited'],
  ] as const)('is put off with %j', async ([options, reason]) => {
    await connected(options);
    expect(await sink.find!(requestFor())).toMatchObject({
      found: 'failed',
      failure: { outcome: 'retry', reason, sinkWide: true },
    });
  });
});

describe('what Google counts', () => {
  /** The calls that came since the last time, the more of reads and writes, as far as Google counts them. */
  const counted = () => {
    const all = sandbox.calls.splice(0).filter((call) => call !== 'token');
    const writes = all.filter((call) => call === 'spreadsheets.batchUpdate').length;
    return {
      account: 'connector@sandbox.iam.gserviceaccount.com',
      calls: Math.max(writes, all.length - writes),
    };
  };

  test.for<[string, () => Promise<unknown>, number]>([
    ['making a tab', () => sink.deliver(requestFor({ tab: 'New' })), 3],
    ['a row', () => sink.deliver(requestFor()), 2],
    ['many rows', () => sink.deliverMany!([requestFor(), requestFor()]), 2],
    ['asking', () => sink.find!(requestFor()), 4],
    ['a refusal', () => ((sandbox.document.role = 'reader'), sink.deliver(requestFor())), 1],
    [
      'a repair',
      () => {
        sandbox.person.before('a write', () => sandbox.document.tab('Results')!.moveColumn(1, 0));
        return sink.deliver(requestFor());
      },
      4,
    ],
  ])('is told of %s', async ([, use, expected]) => {
    await written(requestFor());
    expect(sink.usage!()).toEqual(counted());
    await use();
    const usage = sink.usage!();
    expect(usage).toEqual(counted());
    expect(usage.calls).toBe(expected);
    expect(sink.usage!().calls).toBe(0);
  });

  test('is nothing without a token', async () => {
    sandbox.faults.only = ['token'];
    sandbox.faults.once({ kind: 'status', status: 503 });
    await sink.deliver(requestFor());
    expect(sink.usage!().calls).toBe(0);
  });
});

describe('a refusal by Google', () => {
  test.for<[string, () => Promise<void>, string, string]>([
    ['for the quota', () => connected({ perMinute: 1 }), 'rate_limited', 'Read requests per minute'],
    [
      'of the account',
      () => connected({ role: 'reader' }),
      'auth',
      'Share the spreadsheet with connector@sandbox.iam.gserviceaccount.com',
    ],
    ['of a wrong id', () => reconnect({ spreadsheetId: 'another' }), 'not_found', 'spreadsheetId'],
  ])('%s holds the sink back, and says what to do', async ([, prepare, reason, words]) => {
    await prepare();
    expect(await sink.deliver(requestFor())).toMatchObject({
      outcome: 'retry',
      reason,
      sinkWide: true,
      detail: expect.stringContaining(words),
    });
  });

  test('of an Excel file holds the sink back after one call, and says what to do', async () => {
    sandbox.document.isExcelFile = true;
    const as = { Received: 'date' } as const;
    const requests = [1, 2, 3].map((n) => requestFor({ row: { Received: `2026-11-2${n}` }, as }));
    const outcomes = await sink.deliverMany!(requests);
    expect(outcomes).toEqual(
      requests.map(() => ({
        outcome: 'retry',
        reason: 'invalid',
        sinkWide: true,
        detail: expect.stringContaining('File > Save as Google Sheets'),
      })),
    );
    expect(calls()).toBe('token spreadsheets.get');
  });

  test.each([400, 401, 402, 403, 404, 405, 451])('by a proxy (%i) kills no row', async (status) => {
    sandbox.faults.decide = () => ({ kind: 'status', status, body: '<html>not by this way</html>' });
    sandbox.faults.only = ['spreadsheets.get', 'spreadsheets.batchUpdate'];
    expect(await sink.deliver(requestFor({ row: { A: '1' } }))).toMatchObject({
      outcome: 'retry',
      sinkWide: true,
      detail: expect.stringContaining('any proxy on the way'),
    });
  });

  test('to read the time zone makes calls smaller, and ends', async () => {
    refuse('spreadsheets.get', 400, { message: 'Request contains an invalid argument.' });
    const told = sandbox.faults.take({ name: 'spreadsheets.get' });
    sandbox.faults.decide = () => told;
    const row = { Received: '2026-11-23' };
    let requests = [1, 2, 3].map(() => requestFor({ row, as: { Received: 'date' } }));
    for (let attempt = 2; requests.length > 0 && attempt < 6; attempt += 1) {
      const outcomes = await sink.deliverMany!(requests);
      requests = requests.flatMap((request, index) => {
        const outcome = outcomes[index]!;
        return outcome.outcome === 'retry' ? [{ ...request, attempt, progress: outcome.progress! }] : [];
      });
    }
    expect(requests).toEqual([]);
  });

  test.for([
    // Without details, as googleapis/google-api-php-client#1391 on GitHub has it.
    [401, { status: 'UNAUTHENTICATED' }, 'auth', 'about the login'],
    [
      403,
      { status: 'PERMISSION_DENIED', details: [{ reason: 'ACCESS_TOKEN_SCOPE_INSUFFICIENT' }] },
      'auth',
      'https://www.googleapis.com/auth/spreadsheets',
    ],
    // Without details, as googleworkspace/java-samples#110 on GitHub has it.
    [
      403,
      { status: 'PERMISSION_DENIED', message: 'Request had insufficient authentication scopes.' },
      'auth',
      'https://www.googleapis.com/auth/spreadsheets',
    ],
    [
      403,
      { status: 'PERMISSION_DENIED', details: [{ reason: 'USER_PROJECT_DENIED' }] },
      'auth',
      'Google Cloud project',
    ],
    [
      403,
      { status: 'RESOURCE_EXHAUSTED', details: [{ reason: 'RATE_LIMIT_EXCEEDED' }] },
      'rate_limited',
      'quota',
    ],
    [
      403,
      { status: 'PERMISSION_DENIED', details: [{ reason: 'SERVICE_DISABLED' }] },
      'auth',
      'Enable the Google Sheets API',
    ],
    // In the list that Google's APIs gave before ErrorInfo, and some answers have alone: googleapis/google-api-ruby-client#697.
    [
      403,
      { errors: [{ domain: 'usageLimits', reason: 'rateLimitExceeded' }], message: 'Rate Limit Exceeded' },
      'rate_limited',
      'quota',
    ],
    [
      403,
      { errors: [{ domain: 'usageLimits', reason: 'dailyLimitExceeded' }], message: 'Daily Limit Exceeded' },
      'rate_limited',
      'quota',
    ],
    [
      403,
      { errors: [{ domain: 'usageLimits', reason: 'accessNotConfigured' }], message: 'Not Configured' },
      'auth',
      'Enable the Google Sheets API',
    ],
    [
      403,
      { errors: [{ domain: 'global', reason: 'forbidden' }], message: 'The caller does not have permission' },
      'auth',
      'Share the spreadsheet with',
    ],
    [
      400,
      {
        message:
          'This action would increase the number of cells in the workbook above the limit of 10000000 cells.',
      },
      'invalid',
      'Delete old rows',
    ],
    [
      400,
      {
        message:
          'Invalid requests[1].appendCells: This action would increase the number of cells in the workbook above the limit of 10000000 cells.',
      },
      'invalid',
      'Delete old rows',
    ],
    [
      404,
      { status: 'NOT_FOUND', message: 'Requested entity was not found.' },
      'not_found',
      'deleted for good',
    ],
    [409, { status: 'ABORTED' }, 'server', '409'],
  ] as const)(
    'with %i and %j holds the deliveries of the sink back',
    async ([status, error, reason, words]) => {
      await written(requestFor());
      refuse('spreadsheets.batchUpdate', status, error);
      expect(await sink.deliver(requestFor())).toMatchObject({
        outcome: 'retry',
        reason,
        sinkWide: true,
        detail: expect.stringContaining(words),
      });
    },
  );

  test('of a table that is protected holds its row back, and says whom to let edit it', async () => {
    await written(requestFor());
    const message =
      'Invalid requests[1].appendCells: You are trying to edit a protected cell or object. Please contact the spreadsheet owner to remove protection if you need to edit.';
    refuse('spreadsheets.batchUpdate', 400, { message });
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'retry', reason: 'auth' });
  });

  test.for(['{}', '<html>Sign in</html>'])(
    'and an answer from elsewhere are told apart: %s',
    async (body) => {
      await written(requestFor());
      sandbox.faults.only = ['spreadsheets.batchUpdate'];
      sandbox.faults.once({
        kind: 'status',
        status: 200,
        body,
        headers: { 'content-type': 'application/json' },
      });
      expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'unknown', reason: 'server' });
    },
  );
});

test('an answer without end is no answer of Google’s', async () => {
  const endless = await serve(endlessJson);
  await reconnect({ apiUrl: endless.url });
  const words = { reason: 'server', detail: expect.stringContaining('other than Google') };
  expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'retry', ...words });
  expect(await sink.find!(requestFor())).toMatchObject({ found: 'failed', failure: words });
});

test.for(['token', 'spreadsheets.get', 'values.batchGet', 'spreadsheets.batchUpdate'])(
  '%s is called once an attempt, whatever comes of it',
  async (call) => {
    given('Results', [['Candidate', 'Delivery']]);
    sandbox.faults.only = [call];
    sandbox.faults.decide = () => ({ kind: 'status', status: 503 });
    await sink.deliver(requestFor());
    expect(sandbox.calls.filter((name) => name === call)).toHaveLength(1);
  },
);

describe('signing in', () => {
  test('happens once for many rows, and again when the token ends', async () => {
    for (let index = 0; index < 3; index += 1) await written(requestFor());
    expect(sandbox.calls.filter((call) => call === 'token')).toHaveLength(1);
    sandbox.tokens.revokeAll();
    const request = requestFor();
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'retry', reason: 'auth' });
    await written(request);
    expect(sandbox.rows('Results')).toHaveLength(4);
  });

  test('with a key that Google does not know holds the deliveries back and shows no key', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const account = { ...(JSON.parse(sandbox.credentials) as object), private_key };
    await reconnect({ credentials: JSON.stringify(account) });
    const outcome = await sink.deliver(requestFor());
    expect(outcome).toMatchObject({
      outcome: 'retry',
      reason: 'auth',
      sinkWide: true,
      detail: expect.stringMatching(/connector@sandbox.*invalid_grant: Invalid JWT Signature\..*key/),
    });
    expect(JSON.stringify(outcome)).not.toContain('PRIVATE');
  });

  test('that hangs ends with the attempt and sent nothing', async () => {
    const controller = new AbortController();
    sandbox.faults.decide = () => {
      setImmediate(() => controller.abort());
      return { kind: 'hang', commit: false };
    };
    const outcome = await sink.deliver(requestFor({}, { signal: controller.signal }));
    expect(outcome).toMatchObject({ outcome: 'retry', reason: 'timeout' });
    expect(sandbox.calls).toEqual(['token']);
  });

  test('that hangs keeps nothing open once the sink is closed', async () => {
    const tokens = await serve(() => {});
    const account = { ...(JSON.parse(sandbox.credentials) as object), token_uri: tokens.url };
    await reconnect({ credentials: JSON.stringify(account) });
    const controller = new AbortController();
    const outcome = sink.deliver(requestFor({}, { signal: controller.signal }));
    const [, response] = (await once(tokens.server, 'request')) as [unknown, ServerResponse];
    controller.abort();
    await outcome;
    expect(response.destroyed).toBe(false);
    await sink.close();
    // Its own time-out is longer than this waits.
    await eventually(() => expect(response.destroyed).toBe(true));
  });

  test('uses the credentials as text, as keys in the config, or from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sheets-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'key.json'), sandbox.credentials);
    const inline = JSON.parse(sandbox.credentials) as { private_key: string };
    const escaped = { ...inline, private_key: inline.private_key.replaceAll('\n', String.raw`\n`) };
    for (const credentials of [sandbox.credentials, inline, escaped, join(folder, 'key.json')]) {
      await written(requestFor(), await connect({ credentials }));
    }
    expect(sandbox.rows('Results')).toHaveLength(4);
  });

  const pem = '-----BEGIN PRIVATE KEY-----\nMIIEvSECRET\n-----END PRIVATE KEY-----\n';
  test.for([
    ['/nowhere/key.json', 'ENOENT'],
    [pem, 'cannot be read'],
    ['{"client_email": "a@b", "private_key": "SECRET', 'no valid JSON'],
    ['{"client_email": "a@b"}', 'it lacks private_key'],
    [
      JSON.stringify({ type: 'authorized_user', refresh_token: 'SECRET' }),
      'its type authorized_user is not supported',
    ],
    [JSON.stringify({ client_email: 'a@b', private_key: pem }), 'no PEM key of RSA'],
  ])('with %j fails when the sink connects, and says why without a secret', async ([credentials, why]) => {
    const options = googleSheets.options.parse({ spreadsheetId: 'x', credentials });
    const message = await googleSheets.connect(options).then(
      () => '',
      (error: unknown) => String(error),
    );
    expect(message).toContain(why);
    expect(message).not.toContain('SECRET');
  });
});

describe('a live check', () => {
  const signal = new AbortController().signal;

  test('writes nothing and says which tabs will be made', async () => {
    sandbox.document.tabs[0]!.write(0, 0, [['candidate-connector live check']]);
    const before = JSON.stringify(sandbox.document);
    const lines = await sink.check([requestFor().message, requestFor({ tab: 'Sheet1' }).message], signal);
    expect(lines.map(({ ok, what }) => `${ok} ${what}`)).toEqual([
      'true signs in',
      'true sees the spreadsheet',
      'true may write to it',
      'true tab Results',
      'true tab Sheet1',
    ]);
    expect(lines.slice(-2).map(({ detail }) => detail)).toEqual([
      'will be made with its first row',
      'is there',
    ]);
    expect(JSON.stringify(sandbox.document)).toBe(before);
  });

  test.for([
    ['reader', 'may write to it', 'Share the spreadsheet with'],
    ['none', 'sees the spreadsheet', 'Share the spreadsheet with'],
  ] as const)('as %s fails at "%s"', async ([role, what, words]) => {
    await connected({ role });
    const failed = (await sink.check([], signal)).filter(({ ok }) => !ok);
    expect(failed).toMatchObject([{ what, detail: expect.stringContaining(words) }]);
  });

  test('finds a header that is not in its row', async () => {
    given('Results', [['Candidate', 'Delivery']], 2);
    given('Another', [['Candidate', 'Delivery']]);
    const messages = ['Results', 'Another'].map((tab) => requestFor({ tab }).message);
    const lines = await sink.check(messages, signal);
    expect(lines.filter(({ ok }) => !ok)).toMatchObject([
      { what: 'tab Results', detail: expect.stringContaining('header stands in row 2') },
    ]);
    const below = await connect({ headerRow: 2 });
    expect((await below.check(messages.slice(0, 1), signal)).every(({ ok }) => ok)).toBe(true);
  });

  test.for<[string, boolean, (tab: Grid) => void, RegExp]>([
    ['an empty row', false, (tab) => tab.write(2, 0, [['', '']]), /row 3, where.* is empty/],
    ['values', false, (tab) => tab.deleteRow(2), /row 3 has no header but values/],
    ['a row above', false, (tab) => tab.deleteRow(0), /header stands in row 2, and should in row 3/],
    ['no row', false, (tab) => (tab.rowCount = 2), /has only 2 rows, and its header should be in row 3/],
    ['a chart', false, (tab) => (tab.isChart = true), /has no cells: it is a chart/],
    ['a column twice', true, (tab) => tab.write(2, 2, [['Candidate']]), /more than one column Candidate/],
  ])('says it where there is %s in place of the header', async ([, ok, spoil, words]) => {
    await connected({}, { headerRow: 3 });
    spoil(
      given(
        'Results',
        [
          ['Candidate', 'Delivery'],
          ['a', `dlv_${'0'.repeat(26)}_1`],
        ],
        3,
      ),
    );
    const lines = await sink.check([requestFor().message], signal);
    expect(lines.at(-1)).toMatchObject({ ok, what: 'tab Results', detail: expect.stringMatching(words) });
    expect(lines.slice(0, -1).every((line) => line.ok)).toBe(true);
  });

  test.for<[string, object, readonly string[]]>([
    ['all of the tab', {}, ['Results']],
    ['a column', { startColumnIndex: 1, endColumnIndex: 2 }, ['Results']],
    ['the rows to come', { startRowIndex: 1 }, ['Results']],
    ['the header', { startRowIndex: 0, endRowIndex: 1 }, []],
  ])('finds a protection of %s', async ([, range, tabs]) => {
    given('Results', [['Candidate', 'Delivery']]);
    given('Another', [['Candidate', 'Delivery']]);
    sandbox.document.protect('Results', range);
    sandbox.document.protect('Sheet1');
    const lines = await sink.check([requestFor().message, requestFor({ tab: 'Another' }).message], signal);
    const failed = lines
      .filter(({ ok }) => !ok)
      .map(({ what, detail, advice }) => `${what}: ${detail} ${advice}`);
    expect(failed).toEqual(
      tabs.map((tab) =>
        expect.stringMatching(`^tab ${tab}: .*may not edit all of it.*Let connector@sandbox`),
      ),
    );
  });
});

test.for([
  [{ tab: 'a', row: {} }, 'at least one column'],
  [{ tab: 'a', row: { Delivery: 'x' } }, 'keeps its delivery id'],
  [{ tab: 'a', row: { ' ': 'x' } }, 'name of a column'],
  [{ tab: 'a', row: { A: 'x' }, key: 'B' }, 'one of the headers'],
] as const)('the action %j is found wrong when the config is read', ([action, expected]) => {
  const { error } = googleSheets.action.safeParse(action);
  expect(JSON.stringify(error!.issues)).toContain(expected);
});

test.for<[over: object, expected: string]>([
  [{ spreadsheetId: 'https://docs.google.com/spreadsheets/d/1AbC/edit' }, 'after /d/'],
  [{ apiUrl: 'https://proxy.example.com/google/' }, 'without a path'],
])('the options %j are found wrong when the config is read', ([over, expected]) => {
  const { error } = googleSheets.options.safeParse({
    spreadsheetId: '1AbC',
    credentials: '/key.json',
    ...over,
  });
  expect(error!.issues.map(({ message }) => message).join()).toContain(expected);
});

test('asks nothing of the real Google but a token, the tabs, the header and the row', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const id = '1AbC-_d';
  const header = { range: 'Results!A1:B1', values: [['Candidate', 'Delivery']] };
  const read = (last?: string) => (query: { ranges?: string | string[] }) =>
    JSON.stringify([query.ranges].flat()) === JSON.stringify(["'Results'!1:1", ...(last ? [last] : [])]);
  const start = { sheetId: 7, rowIndex: 1, columnIndex: 0 };
  const values = ['42', 'd-nock'].map((stringValue) => ({ userEnteredValue: { stringValue } }));
  const token = elsewhere('https://oauth2.googleapis.com')
    .post('/token')
    .reply(200, { access_token: 'ya29.x', expires_in: 3600 });
  const sheets = elsewhere('https://sheets.googleapis.com')
    .matchHeader('authorization', 'Bearer ya29.x')
    .get(`/v4/spreadsheets/${id}`)
    .query(true)
    .reply(200, {
      sheets: [{ properties: { sheetId: 7, title: 'Results', gridProperties: { rowCount: 1000 } } }],
    })
    .get(`/v4/spreadsheets/${id}/values:batchGet`)
    .query(read())
    .reply(200, { valueRanges: [header] })
    .get(`/v4/spreadsheets/${id}/values:batchGet`)
    .query(read("'Results'!A:B"))
    .reply(200, { valueRanges: [header, header] })
    .post(`/v4/spreadsheets/${id}:batchUpdate`, {
      requests: [
        {
          insertDimension: {
            range: { sheetId: 7, dimension: 'ROWS', startIndex: 1, endIndex: 2 },
            inheritFromBefore: false,
          },
        },
        { updateCells: { start, rows: [{ values }], fields: 'userEnteredValue' } },
      ],
    })
    .reply(200, { replies: [{}, {}] })
    .get(`/v4/spreadsheets/${id}/values:batchGet`)
    .query(read("'Results'!2:2"))
    .reply(200, { valueRanges: [header, { range: 'Results!A2:Z2', values: [['42', 'd-nock']] }] });
  const credentials = JSON.stringify({ client_email: 'a@b.iam.gserviceaccount.com', private_key });
  const options = googleSheets.options.parse({ spreadsheetId: id, credentials });
  const real = await googleSheets.connect(options);
  expect(await real.deliver(requestFor({}, { deliveryId: 'd-nock' }))).toEqual({
    outcome: 'delivered',
    receipt: { spreadsheetId: id, range: "'Results'!A2:B2" },
  });
  expect([...token.pendingMocks(), ...sheets.pendingMocks()]).toEqual([]);
});
