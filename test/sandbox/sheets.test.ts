import { expect, test } from 'vitest';
import { parseRange, printRange } from '../../sandbox/sheets/a1.ts';
import { Grid } from '../../sandbox/sheets/grid.ts';

/** The example of Google's guide to appending: one table at A1:C2, another at B4:D6. */
function guide(): Grid {
  const grid = new Grid(0, 'Sheet1');
  grid.write(0, 0, [
    ['x', 'y', 'z'],
    ['x', 'y', 'z'],
  ]);
  grid.write(3, 1, [
    ['x', 'y', 'z'],
    ['x', 'y', 'z'],
    ['x', 'y', 'z'],
  ]);
  return grid;
}

test.for([
  ['Sheet1', 'B7'],
  ['C4', 'B7'],
  ['C5:D5', 'B7'],
  ['B2:D4', 'B7'],
  ['A3:G10', 'B7'],
  ['A1', 'A3'],
  ['E4', 'E4'],
  ['A4', 'A4'],
])('an append to %s begins at %s, as in the guide', ([range, start]) => {
  const { row, column } = guide().appendStart(parseRange(range!)!);
  expect(printRange('Sheet1', row, column, row, column)).toBe(`Sheet1!${start}`);
});

test.for(["'Bob''s tab'!A1:C3", 'Results!AA10', "'Σ'!B2"])('the range %s reads as it prints', (range) => {
  const { tab, top, left, bottom, right } = parseRange(range)!;
  expect(printRange(tab!, top, left, bottom, right)).toBe(range);
});

test('merged cells keep one value, grow with what is inserted between them, and cannot be torn apart', () => {
  const grid = guide();
  grid.merge({ top: 3, bottom: 4, left: 1, right: 2 });
  grid.write(3, 1, [['new', 'swallowed']]);
  expect(grid.rows.slice(3)).toEqual([
    ['', 'new', '', 'z'],
    ['', '', '', 'z'],
    ['', 'x', 'y', 'z'],
  ]);
  grid.insertRows(4, 1);
  grid.insertColumns(0, 1);
  const merged = { top: 3, bottom: 5, left: 2, right: 3 };
  expect(grid.merges).toEqual([merged]);
  grid.sortBy(1);
  grid.moveColumn(2, 0);
  expect(grid.at(3, 2)).toBe('new');
  grid.moveColumn(0, 4);
  expect(grid.merges).toEqual([{ ...merged, left: 1, right: 2 }]);
  for (const row of [4, 4]) grid.deleteRow(row);
  grid.deleteColumn(2);
  expect(grid.merges).toEqual([]);
});
