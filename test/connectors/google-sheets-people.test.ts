import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RowRequest } from '../../connectors/google-sheets/message.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import type { Grid } from '../../sandbox/sheets/grid.ts';
import { SheetPerson } from '../faults/person.ts';
import { seeded } from '../faults/random.ts';
import { runs } from '../fixtures/runs.ts';
import {
  add,
  calls,
  connect,
  connected,
  given,
  noteOf,
  requestFor,
  sandbox,
  sink,
  update,
  withSheets,
} from './google-sheets-fixtures.ts';

withSheets();

const people = [
  ['Candidate', 'Status', 'Notes', 'Delivery'],
  ['a', 'old', 'about a', 'dlv_00000000000000000000000000_1'],
  ['b', 'old', 'about b', 'dlv_00000000000000000000000000_2'],
  ['c', 'old', 'about c', 'typed by hand'],
] as const;

/** A sheet that people work in, with a sink that has written there before. */
async function inUse() {
  given('Results', people);
  await sink.deliver(requestFor({ row: { Candidate: 'first', Status: 'old' } }));
  const tab = sandbox.document.tab('Results')!;
  calls();
  return { tab, byName: byCandidate };
}

const byCandidate = () =>
  Object.fromEntries(sandbox.rows('Results').map((row) => [String(row['Candidate']), row]));

/** Puts a column of a person's before another one, with what they typed into it. */
function insertColumn(tab: Grid, before: number, values: readonly string[]): void {
  tab.insertColumns(before, 1);
  tab.write(
    0,
    before,
    values.map((value) => [value]),
  );
}

const scores = ['Score', '97', '98', '99', '100'];

describe('a row that is added', () => {
  test('follows a column that somebody inserted since the last one', async () => {
    const { tab } = await inUse();
    insertColumn(tab, 1, scores);
    const request = add('d');
    expect(noteOf(await sink.deliver(request))).toBe('');
    expect(sandbox.cells('Results')[5]).toEqual(['d', '', 'new', '', request.deliveryId]);
    expect(sandbox.rows('Results').map(({ Score }) => Score)).toEqual(['97', '98', '99', '100', '']);
  });

  test.for<[string, (tab: Grid) => void]>([
    ['inserts a column', (tab) => insertColumn(tab, 1, scores)],
    ['inserts two columns', (tab) => tab.insertColumns(0, 2)],
    ['moves the columns', (tab) => tab.moveColumn(3, 0)],
    ['swaps two columns', (tab) => tab.moveColumn(1, 0)],
    ['inserts a row', (tab) => tab.insertRows(2, 1)],
    ['inserts a row above the header', (tab) => tab.insertRows(0, 1)],
    ['deletes a row', (tab) => tab.deleteRow(2)],
    ['sorts the rows', (tab) => tab.sortBy(0, true)],
    ['types into the row below', (tab) => tab.write(5, 0, [['mine', 'typed', 'below', '']])],
  ])('stands under its headers, and writes nothing over, where somebody %s meanwhile', async ([, edit]) => {
    const { tab } = await inUse();
    sandbox.person.before('a write', () => edit(tab));
    const requests = [add('x', 'one'), add('y', 'two')];
    const outcomes = await sink.deliverMany!(requests);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered']);
    const cells = sandbox.cells('Results');
    const header = cells.find((row) => row.includes('Delivery'))!;
    const rows = cells.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at] ?? ''])));
    for (const [index, [Candidate, Status]] of [
      ['x', 'one'],
      ['y', 'two'],
    ].entries()) {
      const ours = rows.filter(({ Delivery }) => Delivery === requests[index]!.deliveryId);
      expect(ours).toMatchObject([{ Candidate, Status, Notes: '' }]);
      expect(Object.values(ours[0] ?? {}).filter((cell) => cell !== '')).toHaveLength(3);
    }
    const typed = ['about a', 'about c', 'old', 'typed by hand', 'Notes'];
    expect(typed.filter((text) => !cells.flat().includes(text))).toEqual([]);
  });

  test('says that it was moved, and that its tab was renamed', async () => {
    const { tab } = await inUse();
    sandbox.person.before('a write', () => {
      insertColumn(tab, 1, scores);
      tab.title = 'Old results';
    });
    const outcome = await sink.deliver(add('d'));
    expect(outcome).toMatchObject({ receipt: { range: "'Old results'!A6:E6" } });
    expect(noteOf(outcome)).toMatch(/put where it belongs.*renamed to Old results/);
    expect(sandbox.cells('Old results')[5]).toMatchObject(['d', '', 'new', '', expect.any(String)]);
  });

  describe('where somebody has just given the name of its tab to another one', () => {
    const archive = (cells: readonly (readonly (string | number | boolean)[])[]) => {
      sandbox.document.tab('Results')!.title = 'Results 2025';
      given('Results', cells);
    };

    test('says in which tab it stands, and the next one stands in the new tab', async () => {
      await inUse();
      archive([people[0]]);
      const request = add('d');
      const outcome = await sink.deliver(request);
      expect(outcome).toMatchObject({
        outcome: 'delivered',
        receipt: { range: expect.stringContaining("'Results 2025'!") },
        note: expect.stringContaining('renamed to Results 2025'),
        missed: true,
      });
      expect(noteOf(await sink.deliver(add('e')))).toBe('');
      const names = (tab: string) => sandbox.rows(tab).map(({ Candidate }) => Candidate);
      expect(names('Results')).toEqual(['e']);
      expect(new Set(names('Results 2025'))).toEqual(new Set(['a', 'b', 'c', 'd', 'first']));
    });

    test('puts no value of the one into the other, and says what may be lost', async () => {
      await inUse();
      const [header, a, b, c] = people;
      archive([header, c, b, a]);
      const outcome = await sink.deliver(update('c', 'new'));
      expect(noteOf(outcome)).toMatch(/may be lost.*renamed to Results 2025/);
      expect(sandbox.cells('Results')).toEqual([header, c, b, a]);
      expect(sandbox.rows('Results 2025').map(({ Notes }) => Notes)).toEqual([
        'about a',
        'about b',
        'about c',
        '',
      ]);
    });
  });

  test('goes below the table and not below boxes that are filled down in advance, and moves them', async () => {
    const empty = Array.from({ length: 900 }, () => ['', false, '']);
    given('Results', [['Candidate', 'Checked', 'Delivery'], ['a', true, 'dlv_a_1'], ...empty]);
    await sink.deliver(requestFor({ row: { Candidate: 'b', Checked: false } }));
    await sink.deliver(add('c'));
    expect(sandbox.rows('Results').slice(0, 3)).toMatchObject([
      { Candidate: 'a', Checked: true },
      { Candidate: 'b', Checked: false },
      { Candidate: 'c', Status: 'new' },
    ]);
    const checked = sandbox.cells('Results').map((row) => row[1]);
    expect(checked.filter((cell) => cell === false)).toHaveLength(901);
  });

  test.for<[string, string | number | boolean, number]>([
    ['boxes', false, 1000],
    ['boxes in a large tab', false, 8000],
    // A formula shows as its value. A validation alone shows as nothing, like a formula that gives "".
    ['formulas', 0, 1000],
    ['formulas in a large tab', 0, 8000],
    ['validations', '', 1000],
  ])('stands right under the header of a tab prefilled with %s', async ([, value, rowCount]) => {
    const prefilled = Array.from({ length: rowCount - 1 }, () => ['', value, '']);
    sandbox.document
      .addTab(5, 'Results', { rowCount })
      .write(0, 0, [['Candidate', 'Done', 'Notes'], ...prefilled]);
    for (const name of ['a', 'b']) await sink.deliver(requestFor({ row: { Candidate: name } }));
    await sink.deliver(update('b', 'changed'));
    await sink.deliver(update('c', 'added'));
    expect(sandbox.rows('Results').slice(0, 3)).toMatchObject([
      { Candidate: 'a', Done: '' },
      { Candidate: 'b', Status: 'changed' },
      { Candidate: 'c', Status: 'added' },
    ]);
    const below = sandbox.rows('Results').slice(3);
    expect(below.every(({ Done, Candidate }) => Done === value && Candidate === '')).toBe(true);
  });

  test('finds room where the table fills the tab to its last row', async () => {
    given('Results', people);
    const tab = sandbox.document.tab('Results')!;
    tab.rowCount = 4;
    expect(noteOf(await sink.deliver(add('d')))).toBe('');
    expect(sandbox.cells('Results')).toHaveLength(5);
  });

  test('goes below the last row of a large tab, of which only the end is read', async () => {
    given('Results', people);
    const tab = sandbox.document.tab('Results')!;
    tab.rowCount = 20_000;
    await sink.deliver(add('d'));
    // Below the last row with an id is one by hand.
    tab.write(5, 0, [['by hand']]);
    await sink.deliver(add('e'));
    tab.deleteRow(4);
    await sink.deliver(add('f'));
    // The last id that is remembered.
    tab.write(6, tab.rows[0]!.indexOf('Delivery'), [['seen']]);
    await sink.deliver(add('g'));
    const names = sandbox.rows('Results').map((row) => row['Candidate']);
    expect(names).toEqual(['a', 'b', 'c', 'by hand', 'e', 'f', 'g']);
  });

  test.for<[string, (tab: Grid) => void, string]>([
    ['inserted a column', (tab) => insertColumn(tab, 1, scores), 'd,,new,,'],
    ['swapped two', (tab) => tab.moveColumn(1, 0), 'new,d,,'],
  ])(
    'that landed wrongly just before a crash, as somebody %s, is put right and not added again',
    async ([, change, cells]) => {
      const { tab } = await inUse();
      sandbox.person.before('a write', () => change(tab));
      sandbox.faults.only = ['values.append', 'spreadsheets.batchUpdate'];
      sandbox.faults.once({ kind: 'drop', commit: true });
      const request = add('d');
      expect(await sink.deliver(request)).toMatchObject({ outcome: 'unknown' });
      const restarted = await connect();
      expect(await restarted.find!(request)).toEqual({ found: null });
      expect(noteOf(await restarted.deliver({ ...request, attempt: 2 }))).toContain('put where it belongs');
      expect(String(sandbox.cells('Results')[5])).toBe(`${cells}${request.deliveryId}`);
      expect(sandbox.cells('Results')).toHaveLength(6);
    },
  );

  test('that landed wrongly, with an answer that was lost, is not added again below others that came since', async () => {
    const { tab } = await inUse();
    sandbox.person.before('a write', () => tab.moveColumn(3, 0));
    sandbox.faults.only = ['spreadsheets.batchUpdate'];
    sandbox.faults.once({ kind: 'status', status: 503, commit: true });
    const request = add('d');
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'unknown' });
    for (const name of ['e', 'f']) await sink.deliver(add(name));
    expect(await sink.find!(request)).toEqual({ found: null });
    expect(noteOf(await sink.deliver({ ...request, attempt: 2 }))).toContain('put where it belongs');
    expect(sandbox.rows('Results').map((row) => row['Candidate'])).toEqual([
      'a',
      'b',
      'c',
      'first',
      'd',
      'e',
      'f',
    ]);
  });
});

describe('a row that is updated', () => {
  test('leaves a column alone that somebody inserted since the last one, and what they typed', async () => {
    const { tab, byName } = await inUse();
    insertColumn(tab, 1, scores);
    expect(noteOf(await sink.deliver(update('b', 'new')))).toBe('');
    expect(byName()).toMatchObject({
      a: { Score: '97', Status: 'old' },
      b: { Score: '98', Status: 'new', Notes: 'about b' },
    });
    expect(sandbox.cells('Results')).toHaveLength(5);
  });

  const unharmed = {
    a: { Status: 'old', Notes: 'about a' },
    b: { Status: 'new', Notes: 'about b' },
    c: { Status: 'old', Notes: 'about c', Delivery: 'typed by hand' },
    first: { Status: 'old', Notes: '' },
  };

  test.for<[string, (tab: Grid) => void]>([
    ['sorts the rows', (tab) => tab.sortBy(0, true)],
    ['inserts a row above it', (tab) => tab.insertRows(1, 1)],
    ['sorts by another column', (tab) => tab.sortBy(2)],
    ['moves the columns', (tab) => tab.moveColumn(3, 0)],
    ['moves a column of their own between', (tab) => tab.moveColumn(2, 1)],
    ['swaps columns of ours', (tab) => tab.moveColumn(1, 0)],
    ['inserts a row above the header', (tab) => tab.insertRows(0, 1)],
  ])(
    'is the right one, and what it wrote over is put back, where somebody %s meanwhile',
    async ([, edit]) => {
      const { tab } = await inUse();
      sandbox.person.before('a write', () => edit(tab));
      const request = update('b', 'new');
      const outcome = await sink.deliver(request);
      expect(outcome).toMatchObject({ outcome: 'delivered' });
      expect(noteOf(outcome)).not.toContain('lost');
      const cells = sandbox.cells('Results').filter((row) => row.some((cell) => cell !== ''));
      const [header = [], ...rows] = cells;
      const at = (name: string) => header.indexOf(name);
      const found = rows.map((row) => [
        row[at('Candidate')],
        { Status: row[at('Status')], Notes: row[at('Notes')] ?? '', Delivery: row[at('Delivery')] },
      ]);
      expect(found).toHaveLength(4);
      expect(Object.fromEntries(found)).toMatchObject({
        ...unharmed,
        b: { ...unharmed.b, Delivery: request.deliveryId },
      });
    },
  );

  test.for([
    ['', 'new'],
    [', and types over ours', 'typed over'],
  ])(
    'leaves no value of its own in a column that somebody moves before the write, and another after it%s',
    async ([, status]) => {
      const tab = given('Results', [
        ['Mine', 'Candidate', 'Status', 'Delivery'],
        ['typed', 'a', 'old'],
      ]);
      await sink.deliver(add('first'));
      sandbox.person.before('a write', () => tab.moveColumn(0, 1));
      sandbox.person.before('values.batchGet', () => {
        insertColumn(tab, 0, ['Score', '1', '2']);
        tab.write(1, 3, [[status!]]);
      });
      const request = update('a', 'new');
      expect(noteOf(await sink.deliver(request))).toContain('put where it belongs');
      expect(tab.rows[1]!.toSpliced(3, 1)).toEqual(['1', 'a', 'typed', request.deliveryId]);
    },
  );

  test.for<[string, (tab: Grid) => void]>([
    ['renames their column', (tab) => tab.write(0, 2, [['Remarks']])],
    ['types over ours', (tab) => tab.write(2, 1, [['typed over']])],
  ])(
    'leaves a value of theirs alone that is the same as one of its own, where somebody %s',
    async ([, edit]) => {
      const { tab } = await inUse();
      tab.write(2, 2, [['new']]);
      sandbox.person.before('a write', () => tab.insertColumns(4, 1));
      sandbox.person.before('values.batchGet', () => edit(tab));
      await sink.deliver(update('b', 'new'));
      const expected = tab.rows[0]!.includes('Remarks') ? 'new' : 'typed over';
      expect(tab.rows[2]!.slice(0, 3)).toEqual(['b', expected, 'new']);
    },
  );

  test('takes no row of theirs for its own, where somebody deletes its row and renames a column at once', async () => {
    const { tab } = await inUse();
    sandbox.person.before('values.batchGet', () => {});
    sandbox.person.before('values.batchGet', () => {
      tab.deleteRow(2);
      tab.write(0, 2, [['Remarks']]);
      tab.write(2, 1, [['new']]);
    });
    expect(noteOf(await sink.deliver(update('b', 'new')))).toContain('is not there any more');
    expect(tab.rows[2]).toEqual(['c', 'new', 'about c', 'typed by hand']);
  });

  test('leaves the format of a cell alone that it hit by mistake, where its own value has none', async () => {
    const { tab, byName } = await inUse();
    sandbox.person.before('a write', () => {
      insertColumn(tab, 1, scores);
      tab.format(2, 1, { numberFormat: { type: 'CURRENCY' } });
    });
    expect(noteOf(await sink.deliver(update('b', 'new')))).toContain('put where it belongs');
    expect(tab.formatAt(2, 1)).toEqual({ numberFormat: { type: 'CURRENCY' } });
    expect(byName()['b']).toMatchObject({ Status: 'new' });
  });

  test.for(['added', 'updated'])(
    'leaves no untick of its own in another column, where it is %s',
    async (way) => {
      const tab = given('Results', [
        ['Candidate', 'Passed', 'Delivery'],
        ['b', true],
      ]);
      await sink.deliver(requestFor({ row: { Candidate: 'first', Passed: true } }));
      sandbox.person.before('a write', () => insertColumn(tab, 1, ['Seen']));
      const row = { Candidate: way === 'added' ? 'd' : 'b', Passed: false };
      const request = requestFor(way === 'added' ? { row } : { row, key: 'Candidate' });
      expect(noteOf(await sink.deliver(request))).toContain('put where it belongs');
      const found = tab.rows.find(([name]) => name === row.Candidate);
      expect(found).toEqual([row.Candidate, '', false, request.deliveryId]);
    },
  );

  test('leaves no id in a row that it hit by mistake, where somebody types into that row at once', async () => {
    const { tab, byName } = await inUse();
    sandbox.person.before('a write', () => tab.insertRows(1, 1));
    sandbox.person.before('values.batchGet', () => tab.write(2, 1, [['typed']]));
    const request = update('b', 'new');
    expect(noteOf(await sink.deliver(request))).toContain('put where it belongs');
    expect(byName()).toMatchObject({
      a: { Status: 'typed', Notes: 'about a', Delivery: 'dlv_00000000000000000000000000_1' },
      b: { Status: 'new', Notes: 'about b', Delivery: request.deliveryId },
    });
  });

  test.for<[string, string, (tab: Grid) => void, boolean]>([
    ['deletes another one, which this one may be written over', '', (tab) => tab.deleteRow(3), true],
    ['deletes another one', 'about b', (tab) => tab.deleteRow(3), false],
    ['types into another one', '', (tab) => tab.write(1, 2, [['typed']]), false],
  ])('says which one is gone since, where somebody %s: %j', async ([, notes, edit, isTold]) => {
    const { tab } = await inUse();
    tab.write(2, 2, [[notes]]);
    sandbox.person.before('a write', () => edit(tab));
    const note = noteOf(await sink.deliver(update('b', 'new')));
    expect(note.includes('typed by hand: gone since')).toBe(isTold);
    expect(note.includes('gone since')).toBe(isTold);
  });

  test('is written where it was found, though somebody has a copy of it', async () => {
    const { tab } = await inUse();
    tab.write(4, 0, [people[2]]);
    const request = update('b', 'new');
    expect(noteOf(await sink.deliver(request))).toBe('');
    expect(tab.rows[2]).toEqual(['b', 'new', 'about b', request.deliveryId]);
    expect(tab.rows[4]).toEqual([...people[2]]);
  });

  test('does not hide that it wrote over what nobody had read', async () => {
    const { tab, byName } = await inUse();
    sandbox.person.before('a write', () => insertColumn(tab, 1, scores));
    const request = update('b', 'new');
    const outcome = await sink.deliver(request);
    expect(noteOf(outcome)).toMatch(/column Score .* may be lost.*version history/);
    expect(byName()).toMatchObject({
      a: { Score: '97' },
      b: { Score: '', Status: 'new', Notes: 'about b', Delivery: request.deliveryId },
    });
  });

  test.for<[string, (tab: Grid) => void]>([
    ['the last row', (tab) => tab.deleteRow(4)],
    ['a column', (tab) => tab.deleteColumn(2)],
  ])(
    'in a grid without empty cells, of which somebody deletes %s just before, goes again',
    async ([, edit]) => {
      const { tab, byName } = await inUse();
      [tab.rowCount, tab.columnCount] = [5, 4];
      sandbox.person.before('a write', () => edit(tab));
      const request = update('first', 'new');
      expect(await sink.deliver(request)).toMatchObject({ outcome: 'retry', reason: 'not_found' });
      expect(await sink.deliver({ ...request, attempt: 2 })).toMatchObject({ outcome: 'delivered' });
      expect(byName()).toMatchObject({ first: { Status: 'new', Delivery: request.deliveryId } });
    },
  );

  test('in a tab whose name somebody has given to another one says what may be lost', async () => {
    const { tab } = await inUse();
    tab.title = 'Old';
    const theirs = [people[0], ['b', 'open', 'another b', 'd-9'], ['x', 'open', 'about x', '']];
    given('Results', theirs);
    const note = noteOf(await sink.deliver(update('b', 'new')));
    expect(note).toMatch(/what it wrote over is not known, and may be lost.*renamed to Old/);
    expect(sandbox.cells('Results')).toEqual(theirs);
    // Nothing of the one is put back into the other.
    expect(sandbox.cells('Old').flat()).not.toContain('another b');
  });

  test('and others that somebody swapped meanwhile end with what is theirs', async () => {
    const { tab, byName } = await inUse();
    sandbox.person.before('a write', () => tab.rows.splice(1, 2, tab.rows[2]!, tab.rows[1]!));
    await sink.deliverMany!([update('a', 'one'), update('b', 'two')]);
    expect(byName()).toMatchObject({
      a: { Status: 'one', Notes: 'about a' },
      b: { Status: 'two', Notes: 'about b' },
    });
  });

  test('and found after its answer was lost was not read back, and says so', async () => {
    await inUse();
    sandbox.faults.only = ['values.batchUpdate', 'spreadsheets.batchUpdate'];
    sandbox.faults.once({ kind: 'drop', commit: true });
    const request = update('b', 'new');
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'unknown' });
    expect(await sink.find!(request)).toMatchObject({
      found: { range: "'Results'!A3:D3" },
      note: expect.stringContaining('could not be read back'),
    });
  });

  /** Updates b, with an answer that is lost, where somebody edits the tab just before. */
  async function loseAnswer(edit: (tab: Grid) => void) {
    const { tab, byName } = await inUse();
    sandbox.person.before('a write', () => edit(tab));
    sandbox.faults.only = ['spreadsheets.batchUpdate'];
    sandbox.faults.once({ kind: 'drop', commit: true });
    const request = update('b', 'new');
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'unknown' });
    return { tab, byName, request: { ...request, attempt: 2 } };
  }

  test('and whose answer was lost is written once more only where it did not arrive', async () => {
    const { tab, byName, request } = await loseAnswer(() => {});
    calls();
    expect(noteOf(await sink.deliver(request))).toBe('The row was there already.');
    expect(calls()).not.toContain('batchUpdate');
    tab.write(2, 1, [['old', 'about b', 'd-0']]);
    expect(noteOf(await sink.deliver(request))).toBe('');
    expect(byName()).toMatchObject({ b: { Status: 'new', Delivery: request.deliveryId } });
  });

  test('and whose answer was lost leaves a newer update alone', async () => {
    const { byName, request } = await loseAnswer((tab) => insertColumn(tab, 1, scores));
    const newer = update('b', 'newer');
    await sink.deliver(newer);
    expect(noteOf(await sink.deliver(request))).toContain('newer update');
    expect(byName()).toMatchObject({ b: { Status: 'newer', Delivery: newer.deliveryId } });
  });

  test('and that was not read back, and landed wrongly, says which values it wrote over', async () => {
    const { byName, request } = await loseAnswer((tab) => insertColumn(tab, 1, scores));
    expect(await sink.find!(request)).toEqual({ found: null });
    const note = noteOf(await sink.deliver(request));
    expect(note).toMatch(/columns Score, Notes .* may be lost.*version history/);
    expect(byName()).toMatchObject({
      a: { Score: '97', Notes: 'about a' },
      b: { Score: '', Status: 'new', Notes: '', Delivery: request.deliveryId },
    });
  });

  test.for<[string, readonly string[], number]>([
    ['one row', ['b'], 2],
    ['the first of two', ['b', 'c'], 2],
    ['the last of two', ['a', 'b'], 2],
  ])(
    'and that somebody deletes just before is added anew, and what it wrote over is put back: %s',
    async ([, names, row]) => {
      const { tab, byName } = await inUse();
      sandbox.person.before('a write', () => tab.deleteRow(row));
      const requests = names.map((name) => update(name, 'new'));
      const outcomes = await sink.deliverMany!(requests);
      for (const outcome of outcomes) expect(outcome).toMatchObject({ outcome: 'delivered' });
      expect(outcomes.map(noteOf).join()).toContain('put where it belongs');
      expect(outcomes.map(noteOf).join()).not.toMatch(/lost|gone/);
      const rows = sandbox.rows('Results');
      expect(rows.map(({ Candidate }) => Candidate)).toEqual(['a', 'c', 'first', 'b']);
      const updated = requests.map(({ deliveryId }, index) => [
        names[index],
        { ...unharmed[names[index] as 'a'], Status: 'new', Delivery: deliveryId },
      ]);
      const expected = { ...unharmed, ...Object.fromEntries(updated) } as typeof unharmed;
      expect(byName()).toMatchObject({ ...expected, b: { ...expected.b, Notes: '' } });
    },
  );

  test('stays where it is when somebody types beside it, though another row looks like it did', async () => {
    const { tab, byName } = await inUse();
    for (const row of [1, 2]) tab.write(row, 2, [['']]);
    sandbox.person.before('a write', () => {});
    sandbox.person.before('values.batchGet', () => tab.write(1, 2, [['a note']]));
    const outcomes = await sink.deliverMany!([update('a', 'new'), update('b', 'new')]);
    expect(outcomes.map(noteOf)).toEqual(['', '']);
    expect(byName()).toMatchObject({
      a: { Status: 'new', Notes: 'a note' },
      b: { Status: 'new', Notes: '' },
      c: unharmed.c,
    });
  });

  test('keeps what somebody typed into it right after', async () => {
    const { tab, byName } = await inUse();
    sandbox.person.before('a write', () => {});
    sandbox.person.before('values.batchGet', () => tab.write(2, 1, [['by hand']]));
    expect(noteOf(await sink.deliver(update('b', 'new')))).toBe('');
    expect(byName()).toMatchObject({ b: { Status: 'by hand' } });
  });

  test('whose column was renamed meanwhile says so', async () => {
    const { tab } = await inUse();
    sandbox.person.before('a write', () => tab.write(0, 1, [['State']]));
    expect(noteOf(await sink.deliver(update('b', 'new')))).toContain('renamed or removed the column Status');
    expect(sandbox.cells('Results')[2]!.slice(0, 3)).toEqual(['b', 'new', 'about b']);
  });
});

describe('many rows', () => {
  const kinds = ['insert', 'type', 'move', 'row', 'rename', 'sort', 'delete', 'remove'] as const;
  const edit = fc.record({ kind: fc.constantFrom(...kinds), at: fc.nat({ max: 5 }), to: fc.nat({ max: 5 }) });
  const message = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), isKeyed: fc.boolean() });
  const round = fc.record({
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    // After the write nothing is deleted: what had landed there would be gone with it.
    edits: fc
      .tuple(fc.option(edit), fc.option(edit.filter(({ kind }) => !/delete|remove/.test(kind))))
      .filter(([first, second]) => first?.kind !== 'delete' || !/insert|move/.test(second?.kind ?? ''))
      // Moved back after it, a column does not show that it was elsewhere: formulas copy values, too.
      .filter(([first, second]) => first?.kind !== 'move' || second?.kind !== 'move'),
  });

  /** Edits as a person does; what they type is of one kind that nobody else writes. */
  function carryOut(tab: Grid, { kind, at, to }: { kind: string; at: number; to: number }, mark: string) {
    const { headerRow } = tab;
    const header = tab.rows[headerRow]!;
    const width = header.length;
    const own = header.findIndex((name) => String(name).startsWith('mine'));
    if (kind === 'insert') {
      tab.insertColumns(Math.min(at, width), 1);
      tab.write(headerRow, Math.min(at, width), [[`mine ${mark}`]]);
    }
    const below = tab.rows.length - headerRow - 1;
    const row = headerRow + 1 + (at % below);
    if (kind === 'type' && own !== -1 && below > 0) {
      tab.write(row, own, [[`typed ${mark}`]]);
    }
    if (kind === 'move') tab.moveColumn(at % width, to % width);
    if (kind === 'row') tab.insertRows(headerRow + 1 + at, 1);
    if (kind === 'rename' && own !== -1) tab.write(headerRow, own, [[`mine ${mark}`]]);
    if (kind === 'sort') tab.sortBy(at % width, to % 2 === 0);
    if (kind === 'delete' && own !== -1) tab.deleteColumn(own);
    if (kind !== 'remove' || below < 1) return '';
    const [Candidate = ''] = tab.rows[row]!.slice(header.indexOf('Candidate'));
    tab.deleteRow(row);
    return String(Candidate);
  }

  test.for([1, 3])(
    'stand once each under their headers in row %i, whatever people do between a read and a write',
    async (headerRow) => {
      await connected({}, { headerRow });
      let run = 0;
      const property = fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 5 }), async (rounds) => {
        const title = `Run ${(run += 1)}`;
        const tab = given(title, [['Candidate', 'Status', 'Delivery']], headerRow);
        const added = new Map<string, string>();
        const keyed = new Map<string, string>();
        const removed = new Set<string>();
        let notes = '';
        for (const [index, { messages, edits }] of rounds.entries()) {
          // One before the write, and one before it is read back.
          for (const [n, change] of edits.entries()) {
            sandbox.person.before(n === 0 ? 'a write' : 'values.batchGet', () => {
              if (change) removed.add(carryOut(tab, change, `${run}-${index}-${n}`));
            });
          }
          const requests = messages.map(({ name, isKeyed }, n) => {
            const Candidate = isKeyed ? `key ${name}` : `row ${index}-${n}`;
            const row = { Candidate, Status: `status ${run}-${index}-${n}` };
            const request = requestFor({ tab: title, row, ...(isKeyed && { key: 'Candidate' }) });
            (isKeyed ? keyed : added).set(Candidate, request.deliveryId);
            return request;
          });
          for (const [n, outcome] of (await sink.deliverMany!(requests)).entries()) {
            expect(outcome).toMatchObject({ outcome: 'delivered' });
            const note = noteOf(outcome);
            notes += note.includes('not there any more') ? requests[n]!.deliveryId + note : note;
          }
        }
        for (let row = 0; row < tab.headerRow; row += 1) expect(tab.rows[row]!.join('')).toBe(`Title ${row}`);
        const rows = sandbox.rows(title).filter((row) => Object.values(row).some((cell) => cell !== ''));
        for (const [Candidate, Delivery] of [...added, ...keyed]) {
          const ours = rows.filter((row) => row['Delivery'] === Delivery);
          const isGone = removed.has(Candidate) || notes.includes(Delivery);
          expect(ours).toMatchObject(isGone && ours.length === 0 ? [] : [{ Candidate }]);
          const theirs = rows.filter((row) => row['Candidate'] === Candidate);
          expect(isGone ? ours : theirs).toEqual(ours);
        }
        const statuses = rows.map(({ Status }) => Status).filter((cell) => cell !== '');
        expect(statuses).toHaveLength(rows.filter(({ Candidate }) => Candidate !== '').length);
        expect(statuses.every((cell) => String(cell).startsWith('status'))).toBe(true);
        const mine = rows.flatMap((row) =>
          Object.entries(row).flatMap(([name, cell]) => (name.startsWith('mine') ? [cell] : [])),
        );
        expect(mine.filter((cell) => cell !== '' && !String(cell).startsWith('typed'))).toEqual([]);
      });
      await fc.assert(property, runs(10));
    },
  );

  // Seeds that found something once: rows and columns that were moved just before they were put right, too.
  test.for([
    1080,
    125,
    194,
    927,
    1026,
    3396,
    3455,
    4165,
    4519,
    5058,
    20_118,
    ...Array.from({ length: 5 }, (_, seed) => seed),
  ])(
    'stand once each under their headers, whatever people do between any two calls: seed %i',
    async (seed) => {
      const random = seeded(seed);
      const person = new SheetPerson(sandbox, seeded(seed + 1_000_000));
      person.isCareful = false;
      const made: { readonly request: RowRequest; readonly values: object }[] = [];
      const newest = new Map<string, object>();
      let notes = '';
      for (let batch = 0; batch < 12; batch += 1) {
        const requests = Array.from({ length: 1 + Math.floor(random() * 8) }, (_, index) => {
          const n = made.length + index + 1;
          return { n, team: `team ${n % 4}`, eventId: String(n).padStart(26, '0') };
        }).flatMap(({ n, team, eventId }) => {
          const Candidate = `candidate ${n}`;
          const added = requestFor(
            { tab: `Test ${n % 4}`, row: { Candidate } },
            { deliveryId: `dlv_${eventId}_0` },
          );
          const row = { Team: team, Last: Candidate };
          const updated = requestFor({ tab: 'Board', row, key: 'Team' }, { deliveryId: `dlv_${eventId}_1` });
          made.push({ request: added, values: { Candidate, Delivery: added.deliveryId } });
          newest.set(team, { ...row, Delivery: updated.deliveryId });
          return [added, updated];
        });
        for (const outcome of await sink.deliverMany!(requests)) notes += noteOf(outcome);
      }
      expect(notes).not.toContain('not delivered');
      for (const { request, values } of made) {
        const rows = sandbox.rows(request.message.tab);
        expect(rows.filter((row) => Object.values(row).includes(request.deliveryId))).toMatchObject([values]);
      }
      for (const [Team, values] of newest) {
        expect(sandbox.rows('Board').filter((row) => row['Team'] === Team)).toMatchObject([values]);
      }
      const isTold = /may be lost|gone since/.test(notes);
      expect(person.missing().filter(({ tab }) => tab !== 'Board' || !isTold)).toEqual([]);
    },
  );
});

describe('a header that people', () => {
  test.for<[string, (tab: Grid) => void, (tab: Grid) => void, RegExp]>([
    [
      'emptied',
      (tab) => tab.write(0, 0, [['', '', '', '']]),
      (tab) => tab.write(0, 0, [people[0]]),
      /row 1, where its header should be, is empty/,
    ],
    [
      'deleted',
      (tab) => tab.deleteRow(0),
      (tab) => {
        tab.insertRows(0, 1);
        tab.write(0, 0, [people[0]]);
      },
      /row 1 has no header but values/,
    ],
    [
      'put a title above',
      (tab) => {
        tab.insertRows(0, 1);
        tab.write(0, 0, [['Results of this year']]);
      },
      (tab) => tab.deleteRow(0),
      /header stands in row 2, and should in row 1.*headerRow to 2/,
    ],
  ])('%s makes rows wait, and nothing is written until it is back', async ([, spoil, repair, words]) => {
    const { tab } = await inUse();
    sandbox.faults.only = ['spreadsheets.batchUpdate'];
    sandbox.faults.once({ kind: 'drop', commit: true });
    const lost = add('lost');
    expect(await sink.deliver(lost)).toMatchObject({ outcome: 'unknown' });
    spoil(tab);
    const before = structuredClone(tab.rows);
    const waits = { outcome: 'retry', retryAfterMs: 300_000, detail: expect.stringMatching(words) };
    const requests = [add('d'), update('b', 'new')];
    const elsewhere = requestFor({ tab: 'Another' });
    const outcomes = await sink.deliverMany!([...requests, elsewhere]);
    expect(outcomes).toMatchObject([waits, waits, { outcome: 'retry', retryAfterMs: 0 }]);
    expect(await sink.deliver({ ...elsewhere, progress: progressOf(outcomes[2]) })).toMatchObject({
      outcome: 'delivered',
    });
    expect(await sink.find!(lost)).toMatchObject({ found: 'failed', failure: waits });
    expect(tab.rows).toEqual(before);
    repair(tab);
    expect(await sink.find!(lost)).toMatchObject({ found: { range: expect.any(String) } });
    for (const [index, request] of requests.entries()) {
      const again = { ...request, progress: progressOf(outcomes[index]) };
      expect(await sink.deliver(again)).toMatchObject({ outcome: 'delivered' });
    }
    expect(byCandidate()).toMatchObject({
      b: { Status: 'new', Notes: 'about b' },
      d: { Status: 'new' },
    });
    expect(tab.rows[0]).toEqual([...people[0]]);
  });

  test('left no row for makes rows wait while other tabs go on, and is there once rows are added', async () => {
    await connected({}, { headerRow: 3 });
    const tab = given('Results', [people[0]], 3);
    const lost = add('lost');
    await sink.deliver(lost);
    tab.rows.length = 1;
    tab.rowCount = 2;
    const words = 'The tab Results has only 2 rows, and its header should be in row 3.*Add rows.*headerRow';
    const waits = { outcome: 'retry', retryAfterMs: 300_000, detail: expect.stringMatching(words) };
    const [short, elsewhere] = [add('d'), requestFor({ tab: 'Another' })];
    const outcomes = await sink.deliverMany!([short, elsewhere]);
    expect(outcomes).toMatchObject([waits, { outcome: 'retry', retryAfterMs: 0 }]);
    expect(await sink.deliver({ ...elsewhere, progress: progressOf(outcomes[1]) })).toMatchObject({
      outcome: 'delivered',
    });
    expect(await sink.find!(lost)).toMatchObject({ found: 'failed', failure: waits });
    tab.insertRows(2, 1);
    const again = { ...short, progress: progressOf(outcomes[0]) };
    expect(await sink.deliver(again)).toMatchObject({ receipt: { range: "'Results'!A4:C4" } });
    expect(tab.rows[2]).toEqual(['Candidate', 'Status', 'Delivery']);
  });

  test('cannot have in a chart makes rows wait', async () => {
    sandbox.document.addTab(5, 'Results', {}).isChart = true;
    expect(await sink.deliver(add('d'))).toMatchObject({
      retryAfterMs: 300_000,
      detail: expect.stringMatching(/tab Results has no cells: it is a chart/),
    });
  });

  test('wrote twice has its first column written, and the delivery says so', async () => {
    given('Results', [['Candidate', 'Status', 'Status', 'Delivery']]);
    expect(noteOf(await sink.deliver(add('d')))).toContain('more than one column Status');
    expect(sandbox.cells('Results')[1]!.slice(0, 3)).toEqual(['d', 'new', '']);
  });
});

const progressOf = (outcome: Outcome | undefined) =>
  (outcome?.outcome === 'retry' ? outcome.progress : null) ?? null;

describe('reading back', () => {
  /** Lets the call after the next write fail. */
  function failAfterWriting(): void {
    sandbox.person.before('a write', () => {
      sandbox.faults.only = ['values.batchGet'];
      sandbox.faults.once({ kind: 'rate-limit', retryAfterS: 7 });
    });
  }

  test.for([
    ['added', () => add('d'), undefined],
    ['updated', () => update('b', 'new'), expect.stringContaining('It could not be read back')],
  ] as const)(
    'is done later where it failed, by asking for the row that was %s',
    async ([, request, note]) => {
      const { tab } = await inUse();
      // Of a tab so large only the end is read.
      tab.rowCount = 20_000;
      failAfterWriting();
      const made = request();
      const outcome = await sink.deliver(made);
      const expected = { outcome: 'retry', reason: 'rate_limited', retryAfterMs: 7000, perhapsDone: true };
      expect(outcome).toMatchObject(expected);
      const another = await connect();
      await another.deliver(add('later'));
      calls();
      const again = { ...made, attempt: 2 };
      const found = { found: { range: expect.stringContaining("'Results'!") }, ...(note && { note }) };
      expect(await another.find!(again)).toMatchObject(found);
      expect(noteOf(await another.deliver(again))).toBe('The row was there already.');
      expect(calls()).not.toContain('batchUpdate');
      const ids = sandbox.rows('Results').map((row) => row['Delivery']);
      expect(ids.filter((id) => id === made.deliveryId)).toHaveLength(1);
    },
  );

  test('later still puts a row right that landed wrongly', async () => {
    const { tab, byName } = await inUse();
    sandbox.person.before('a write', () => {
      tab.moveColumn(2, 1);
      sandbox.faults.only = ['values.batchGet'];
      sandbox.faults.once({ kind: 'rate-limit', retryAfterS: 7 });
    });
    const made = add('d');
    await sink.deliver(made);
    const again = { ...made, attempt: 2 };
    expect(await sink.find!(again)).toEqual({ found: null });
    expect(noteOf(await sink.deliver(again))).toContain('put where it belongs');
    expect(byName()).toMatchObject({ d: { Status: 'new', Notes: '', Delivery: made.deliveryId } });
  });

  test('puts right what a repair left, too, where rows were moved just before that and it was not read', async () => {
    const { tab } = await inUse();
    sandbox.person.before('a write', () => {
      tab.moveColumn(3, 0);
      sandbox.person.before('a write', () => {
        tab.insertRows(5, 1);
        sandbox.faults.only = ['values.batchGet'];
        sandbox.faults.once({ kind: 'rate-limit', retryAfterS: 7 });
      });
    });
    const made = add('d');
    await sink.deliver(made);
    expect(await sink.find!(made)).toEqual({ found: null });
    await sink.deliver({ ...made, attempt: 2 });
    const ours = sandbox.rows('Results').filter((row) => Object.values(row).includes(made.deliveryId));
    expect(ours).toMatchObject([{ Candidate: 'd', Status: 'new', Notes: '', Delivery: made.deliveryId }]);
  });

  test('says that a row is gone which somebody deleted at once', async () => {
    const { tab } = await inUse();
    sandbox.person.before('a write', () => {});
    sandbox.person.before('values.batchGet', () => tab.deleteRow(5));
    expect(noteOf(await sink.deliver(add('d')))).toContain('not there any more');
  });

  test('tries once to put right what somebody protects meanwhile, and says so', async () => {
    const { tab } = await inUse();
    sandbox.person.before('a write', () => tab.moveColumn(1, 0));
    sandbox.person.before('values.batchGet', () => sandbox.document.protect('Results'));
    expect(noteOf(await sink.deliver(add('d')))).toContain('or it may not be edited there');
    expect(calls().match(/batchUpdate/g)).toHaveLength(2);
  });

  test('ends where somebody goes on changing the sheet, and says so', async () => {
    const { tab } = await inUse();
    sandbox.person.meanwhile = (call) => {
      if (call === 'spreadsheets.batchUpdate') tab.insertColumns(0, 1);
    };
    expect(noteOf(await sink.deliver(add('d')))).toContain('goes on changing the sheet');
    expect(sandbox.calls.length).toBeLessThan(30);
  });
});
