import { expect, test } from 'vitest';
import { parseRange, printRange } from './sheets/a1.ts';
import { Grid } from './sheets/grid.ts';

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
