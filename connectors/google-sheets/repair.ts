import type { Cell } from './format.ts';
import { Grid } from './grid.ts';
import type { Fix } from './grid.ts';
import { deliveryHeader, formatOf } from './message.ts';
import type { SheetMessage, WrittenRow } from './message.ts';

/** Where the id of a row stands. */
export interface Place {
  readonly row: number;
  readonly column: number;
}

interface Context {
  readonly after: Grid;
  /** What the row that was written to belongs to, where that was written, too: its own values go there. */
  readonly owner: WrittenRow | undefined;
  /** By the name of a column, what stood in the row that was written to; null where that is not known. */
  readonly source: (name: string) => Cell | null;
}

/** The cells to set right, where a row landed and where it has to be; see Comparison for `lost`. */
export function repair(
  written: WrittenRow,
  place: Place,
  target: number | null,
  { after, owner, source }: Context,
): { readonly fixes: Fix[]; readonly lost: string[] } {
  const { isWrong, columns } = landed(written, place, after);
  if (target === place.row && !isWrong) return { fixes: [], lost: [] };
  const own = Object.entries(written.row).flatMap(([name, value]) => {
    const column = after.column(name);
    return column === -1 || target === null
      ? []
      : [{ row: target, column, value, format: formatOf(written, name) }];
  });
  const misplaced = columns.filter((column) => {
    return column !== -1 && !(owner && Object.hasOwn(owner.row, after.header[column] ?? ''));
  });
  const displaced = misplaced.map((column) => {
    const name = after.header[column] ?? '';
    const isFormatted = Object.entries(written.row).some(
      ([header, value]) =>
        formatOf(written, header) !== undefined && isSame(after.at(place.row, column), value),
    );
    const format = isFormatted ? ('plain' as const) : undefined;
    return { name, fix: { row: place.row, column, value: source(name), format } };
  });
  const fixes = [
    ...displaced.map(({ fix }) => ({ ...fix, value: fix.value ?? '' })),
    // With what is right already: whichever row this lands in has all of them then.
    ...own.filter(({ row, column }) => !after.isCovered(row, column)),
  ];
  const lost = displaced.flatMap(({ name, fix }) => (fix.value === null ? [name] : []));
  return { fixes, lost: [...new Set(lost)] };
}

/** Whether the values of a row that was found by its id stand under other headers than theirs. */
export function isMisplaced(row: SheetMessage['row'], at: number, grid: Grid): boolean {
  return wrongColumns(row, at, grid).length > 0;
}

/**
 * The columns that a row was written to, as they are now: they may have been moved before the write and after it. Wrong
 * are values that stand under other headers than theirs; what people typed over them since is not.
 */
function landed(written: WrittenRow, place: Place, after: Grid) {
  const { row, header } = written;
  const values = Object.entries(row);
  const homes = values.map(([name]) => after.column(name));
  const positions = values.map(([name]) => header?.indexOf(name) ?? -1);
  const isTheirs = (column: number, value: Cell) => isSame(after.at(place.row, column), value);
  const areTheirs = (columns: readonly number[]) =>
    values.every(([, value], index) => isTheirs(columns[index]!, value));
  const isElsewhere = positions.some(
    (column, index) =>
      homes[index] !== -1 &&
      column !== homes[index] &&
      !stoodThere(written, values[index]![1], column, after),
  );
  if (header !== null && isElsewhere && areTheirs(positions)) return { isWrong: true, columns: positions };
  const left = strays(written, homes, place.row, after);
  if (areTheirs(homes)) return { isWrong: left.length > 0, columns: [...homes, ...left] };
  const columns = wrongColumns(row, place.row, after).filter(
    (column) => !stoodAnywhere(written, after.at(place.row, column)),
  );
  const home = after.column(deliveryHeader);
  // A column that a value landed in may be deleted again; in a row of its own the value is missing then.
  const isMissing = values.some(
    ([, value], index) => homes[index] !== -1 && value !== '' && after.at(place.row, homes[index]!) === '',
  );
  const isChanged = String(header) !== String(after.header);
  const isMoved = columns.length + left.length > 0 || (isChanged && written.before === null && isMissing);
  // Somebody may have typed over the others; in another row than its own these have to go.
  const shown = homes.filter((column, index) => column !== -1 && isTheirs(column, values[index]![1]));
  const isWrong = isMoved || (home !== -1 && place.column !== home);
  return { isWrong, columns: [...new Set([...columns, ...left, ...shown])] };
}

/**
 * Columns that a row's values are in besides their own: they landed there, and what stood in their own was the same. Only
 * where columns were moved, and where it is known what people had in the row.
 */
function strays(written: WrittenRow, homes: readonly number[], at: number, after: Grid): number[] {
  const { row, header, before } = written;
  if (header === null || before?.length === 0 || String(header) === String(after.header)) return [];
  // Where a column was renamed, its value is left in it.
  const values = Object.entries(row).flatMap(([name, value]) =>
    value !== '' && after.column(name) !== -1 ? [value] : [],
  );
  return (after.rows[at] ?? []).flatMap((cell, column) => {
    const isOurs = !homes.includes(column) && values.some((value) => isSame(cell, value));
    return isOurs && !stoodAnywhere(written, cell) ? [column] : [];
  });
}

/** Whether people had this value in the row, in any column: they may have renamed it. */
const stoodAnywhere = ({ row, header, before }: WrittenRow, value: Cell): boolean =>
  (before ?? []).some((cell, column) => !Object.hasOwn(row, header?.[column] ?? '') && isSame(cell, value));

/** Whether a cell had this value before. */
function stoodThere(written: WrittenRow, value: Cell, column: number, after: Grid): boolean {
  const name = after.header[column] ?? '';
  const cell = written.before === null ? '' : valueOf(beforeOf(written), 1, name);
  return cell !== null && isSame(cell, value);
}

/** The columns that show a row's values where these do not belong, and are not where they do. */
function wrongColumns(row: SheetMessage['row'], at: number, grid: Grid): number[] {
  const values = Object.entries(row).filter(([name, value]) => value !== '' && grid.column(name) !== -1);
  const isHome = ([name, value]: [string, Cell]) => isSame(grid.cell(at, name), value);
  const away = values.filter((one) => !isHome(one));
  return (grid.rows[at] ?? []).flatMap((cell, column) => {
    const name = grid.header[column] ?? '';
    // In a column of ours whose own value is not there, any other value of ours does not belong.
    const suspects = away.some(([own]) => own === name) ? values : away;
    return suspects.some(([own, value]) => own !== name && isSame(cell, value)) ? [column] : [];
  });
}

/** What stood in the row that was written to, in row 1 under the header of that time. */
export const beforeOf = ({ header, before }: WrittenRow) => new Grid([header ?? [], before ?? []]);

export function valueOf(grid: Grid, row: number, name: string): Cell | null {
  return grid.column(name) === -1 ? null : grid.cell(row, name);
}

/** Sheets keeps neither control characters nor every kind of line break, and of a number 15 digits. */
export function isSame(cell: Cell, value: Cell): boolean {
  if (typeof cell === 'number' && typeof value === 'number')
    return cell.toPrecision(14) === value.toPrecision(14);
  return cell === value || plainText(cell) === plainText(value);
}

export function plainText(value: Cell): string {
  return String(value)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
}
