import type { Cell } from './format.ts';
import { Grid } from './grid.ts';
import type { Fix } from './grid.ts';
import { deliveryHeader, formatOf } from './message.ts';
import type { WrittenRow } from './message.ts';

/** What became of a written row. */
export interface Landing {
  /** Where it has to be; null where it is not there any more. */
  readonly row: number | null;
  /** Its row was deleted before the write, which landed in another one: it has to be added anew. */
  readonly isDeleted: boolean;
  /** Nothing shows whether it is the row that was meant, and what was read before is not known any more. */
  readonly isUnclear: boolean;
  readonly fixes: readonly Fix[];
  /** Names of columns in which somebody's values were written over that are known from nowhere. */
  readonly lost: readonly string[];
  /** Names of its columns that the header lacks now. */
  readonly missing: readonly string[];
  /** Names of columns whose values are not there. */
  readonly absent: readonly string[];
  /** Those of them whose cells keep no value, as they are merged with others. */
  readonly merged: readonly string[];
  /** Ids of rows that are gone: somebody deleted them, or this one was written over them. */
  readonly gone: readonly string[];
}

/** A whole tab before a write. */
export interface Before {
  readonly seen: Grid;
  /** As a repair was to leave it; the first write has to change nothing but its own cells. */
  readonly meant: Grid;
}

const nowhere = {
  row: null,
  isDeleted: false,
  isUnclear: false,
  fixes: [],
  lost: [],
  missing: [],
  absent: [],
  merged: [],
};

/**
 * Looks at what was written, as the tab is now. People move rows and columns between a read and a write, which goes by
 * position. The rule: a written row is where its id is, and belongs where the cells stand that it was to leave alone; a
 * value of its that stands elsewhere goes, and what was there before comes back. Pure. `before`: null where all of the tab
 * was not read, or is not known any more.
 */
export function landings(all: readonly WrittenRow[], before: Before | null, after: Grid): Landing[] {
  const hits = hitsOf(all, after);
  const targets = new Map(all.map((one) => [one, targetOf(one, hits, before, after)]));
  const owners = new Map(all.map((one) => [targets.get(one), one]));
  const strays = all.flatMap((one) =>
    hits.get(one)!.flatMap((row) => (owners.has(row) ? [] : [{ written: one, row }])),
  );
  const vanished = before === null ? [] : vanishedRows(before.seen, after, all);
  const origins = originsOf(strays, vanished, before, after);
  const found = new Set(origins.values());
  const gone = vanished
    .filter((row) => !found.has(row))
    .map((row) => String(before!.seen.cell(row, deliveryHeader) || before!.seen.at(row, 0)));
  return all.map((written) => {
    const [first] = hits.get(written)!;
    if (first === undefined) return { ...nowhere, gone: written.before === null ? [] : gone };
    const isDeleted = targets.get(written) === null && (owners.has(first) || origins.has(first));
    const target = isDeleted ? null : (targets.get(written) ?? first);
    /** What stood in a row that was written to; null where that is not known. */
    const stood = (row: number, name: string): Cell | null => {
      const owner = row === target ? written : owners.get(row);
      if (owner) return owner.before === null ? '' : valueOf(...meantRow(owner, before), name);
      return origins.has(row) ? valueOf(before!.meant, origins.get(row)!, name) : null;
    };
    const wrong = hits.get(written)!.map((row) => {
      const owner = row === target ? written : owners.get(row);
      return { row, columns: wrongColumns(written, row, owner, (name) => stood(row, name), after) };
    });
    const isRight = first === target && wrong.every(({ row, columns }) => row === target && columns === null);
    const displaced = isRight ? [] : wrong.flatMap(({ row, columns }) => cellsAt(row, columns ?? []));
    const fixes = displaced.map(({ row, column }): Fix => {
      const value = stood(row, after.header[column] ?? '') ?? '';
      return { row, column, value, format: hasFormat(written, after.at(row, column)) ? 'plain' : undefined };
    });
    const lost = displaced.flatMap(({ row, column }) => {
      const name = after.header[column] ?? '';
      return stood(row, name) === null ? [name] : [];
    });
    const others = cellsLeftAlone(written, before, after);
    const isKnown = !others.isEmpty && others.areAt(first);
    const isSure = written.before === null || (target === first && isKnown);
    const absent = target === null ? [] : absentNames(written, target, after);
    return {
      row: target,
      isDeleted,
      isUnclear: !isSure && target === first && before === null,
      missing: Object.keys(written.row).filter((name) => after.column(name) === -1),
      absent,
      merged: absent.filter((name) => after.isCovered(target!, after.column(name))),
      gone: isSure ? [] : gone,
      // With what is right already: whichever row a repair lands in has all of them then.
      fixes: isRight ? [] : [...fixes, ...ownCells(written, target, after)],
      lost: [...new Set(lost)],
    };
  });
}

const cellsAt = (row: number, columns: readonly number[]) => columns.map((column) => ({ row, column }));

const hasFormat = (written: WrittenRow, cell: Cell): boolean =>
  Object.entries(written.row).some(
    ([name, value]) => formatOf(written, name) !== undefined && isSame(cell, value),
  );

function ownCells(written: WrittenRow, target: number | null, after: Grid): Fix[] {
  if (target === null) return [];
  return Object.entries(written.row).flatMap(([name, value]) => {
    const column = after.column(name);
    const isKept = column !== -1 && !after.isCovered(target, column);
    return isKept ? [{ row: target, column, value, format: formatOf(written, name) }] : [];
  });
}

function absentNames({ row }: WrittenRow, at: number, after: Grid): string[] {
  return Object.keys(row).filter((name) => {
    return after.column(name) !== -1 && plainText(row[name]!) !== '' && after.cell(at, name) === '';
  });
}

/**
 * The columns of a row that was written to whose values have to go; null where all is right there. What people typed over
 * a value of ours since is right.
 */
function wrongColumns(
  { row, header, before }: WrittenRow,
  at: number,
  owner: WrittenRow | undefined,
  stood: (name: string) => Cell | null,
  after: Grid,
): number[] | null {
  const isOwn = owner?.row === row;
  // Where a column was renamed, its value is left in it.
  const values = Object.entries(row).filter(([name]) => !isOwn || after.column(name) !== -1);
  const isElsewhere = (cell: Cell) =>
    (before ?? []).some((one, column) => !Object.hasOwn(row, header?.[column] ?? '') && isSame(one, cell));
  const columns = (after.rows[at] ?? []).flatMap((cell, column) => {
    const name = after.header[column] ?? '';
    if (owner && Object.hasOwn(owner.row, name) && after.column(name) === column) return [];
    if (!values.some(([, value]) => isSame(cell, value))) return [];
    const known = stood(name);
    const isOurs = known === null ? cell !== '' && !(isOwn && isElsewhere(cell)) : !isSame(known, cell);
    return isOurs ? [column] : [];
  });
  const isMoved = String(header) !== String(after.header);
  const hasArrived = values.every(([name, value]) => {
    const cell = after.cell(at, name);
    const isAnother = () => values.some(([, other]) => isSame(cell, other));
    return isSame(cell, value) || !(isSame(cell, stood(name) ?? '') || isAnother());
  });
  const isRight = columns.every((column) => after.at(at, column) === '') && (hasArrived || !isMoved);
  return isOwn && isRight ? null : columns;
}

/** The rows that have the id of each, or where that is nowhere, the one that shows the rest of what was written. */
function hitsOf(all: readonly WrittenRow[], after: Grid): Map<WrittenRow, readonly number[]> {
  const rows = rowsWithIds(
    all.map(({ id }) => id),
    after,
  );
  return new Map(
    all.map((written) => [written, rows.get(written.id) ?? (isThere(written, after) ? [written.at] : [])]),
  );
}

/** Where the id's cell keeps no value, as it is merged with others, or was typed over in a column that moved. */
function isThere({ row, at, header }: WrittenRow, after: Grid): boolean {
  if (header === null) return false;
  const isMerged = after.isCovered(at, header.indexOf(deliveryHeader));
  const values = Object.entries(row).filter(([name, value]) => {
    return name !== deliveryHeader && value !== '' && !after.isCovered(at, header.indexOf(name));
  });
  const hasMoved = values.length > 0 && String(header) !== String(after.header);
  const areSame = values.every(([name, value]) => isSame(after.at(at, header.indexOf(name)), value));
  return (isMerged || hasMoved) && areSame;
}

/** By id, the rows that have it: in the column Delivery, or in whichever it landed. */
export function rowsWithIds(ids: readonly string[], grid: Grid): Map<string, readonly number[]> {
  const home = grid.column(deliveryHeader);
  const rows = new Map<Cell, number[]>(ids.map((id) => [id, []]));
  for (const row of grid.rows.keys()) rows.get(grid.at(row, home))?.push(row);
  for (const [row, cells] of grid.rows.entries()) {
    for (const cell of cells) if (rows.get(cell)?.includes(row) === false) rows.get(cell)!.push(row);
  }
  return new Map(ids.flatMap((id) => (rows.get(id)!.length > 0 ? [[id, rows.get(id)!]] : [])));
}

/** The row that was meant: somebody may have moved another one to where it was. Null where nothing tells. */
function targetOf(
  written: WrittenRow,
  hits: ReadonlyMap<WrittenRow, readonly number[]>,
  before: Before | null,
  after: Grid,
): number | null {
  const [first] = hits.get(written)!;
  if (first === undefined) return null;
  if (written.before === null || written.header === null) return first;
  const untouched = untouchedRow(written, [...hits.keys()], first, before, after);
  if (untouched !== null) return untouched;
  const others = cellsLeftAlone(written, before, after);
  if (others.areAt(first)) return first;
  // Where rows changed places, another one of them does not know its place again either: people type into cells, too.
  const swapped = [...hits].find(([one, [row]]) => {
    if (one === written || row === undefined || one.before === null || !others.areAt(row)) return false;
    return !cellsLeftAlone(one, before, after).areAt(row);
  });
  return swapped?.[1][0] ?? null;
}

/** Where the row that was meant still stands as it was read, so that another one was written over. */
function untouchedRow(
  written: WrittenRow,
  all: readonly WrittenRow[],
  notAt: number,
  before: Before | null,
  after: Grid,
): number | null {
  const stood = rowBefore(written);
  const id = stood.cell(1, deliveryHeader);
  const isOurs = all.some((one) => one.id === id);
  const names = id === '' || isOurs ? shared(stood, after) : [deliveryHeader];
  const cells = names.map((name) => stood.cell(1, name));
  if (cells.every((cell) => cell === '')) return null;
  const found = after.rowsWith(names, cells).filter((row) => row !== notAt);
  // People copy rows: only where there are as many as before, the one that was meant is among them.
  const copies = before === null ? 1 : before.seen.rowsWith(names, cells).length;
  return found.length >= copies ? (found[0] ?? null) : null;
}

/** The cells of a row that were not written, by which it is known again. */
function cellsLeftAlone(written: WrittenRow, before: Before | null, after: Grid) {
  const [grid, row] = meantRow(written, before);
  const names = shared(grid, after).filter((name) => !Object.hasOwn(written.row, name));
  return {
    isEmpty: names.every((name) => grid.cell(row, name) === ''),
    areAt: (at: number) => names.every((name) => after.cell(at, name) === grid.cell(row, name)),
  };
}

/** What stood in the row that was written to, in row 1 under the header of that time. */
const rowBefore = ({ header, before }: WrittenRow) => new Grid([header ?? [], before ?? []]);

/** The same as it was to become but for what was written. */
const meantRow = (written: WrittenRow, before: Before | null): [Grid, number] =>
  before === null || written.before === null ? [rowBefore(written), 1] : [before.meant, written.at];

/** Rows of before, other than those that were written, that are nowhere to be seen now. */
function vanishedRows(seen: Grid, after: Grid, all: readonly WrittenRow[]): number[] {
  const written = new Set(all.map(({ at, before }) => (before === null ? -1 : at)));
  const names = shared(seen, after);
  return seen.rows.flatMap((cells, row) => {
    if (row <= seen.headerRow || written.has(row) || cells.every((cell) => cell === '')) return [];
    const by = seen.cell(row, deliveryHeader) === '' ? names : [deliveryHeader];
    const values = by.map((name) => seen.cell(row, name));
    return after.rowsWith(by, values).length > 0 ? [] : [row];
  });
}

/** By the row that was written to by mistake, the one that stood there: alike in the cells that were left alone. */
function originsOf(
  strays: readonly { readonly written: WrittenRow; readonly row: number }[],
  vanished: readonly number[],
  before: Before | null,
  after: Grid,
): Map<number, number> {
  const origins = new Map<number, number>();
  if (before === null) return origins;
  for (const [index, { written, row }] of strays.entries()) {
    const names = shared(before.seen, after).filter((name) => !Object.hasOwn(written.row, name));
    const taken = new Set(origins.values());
    const may = vanished.filter((one) => {
      const isAlike = names.every((name) => after.cell(row, name) === before.seen.cell(one, name));
      return isAlike && !taken.has(one);
    });
    if (may.length > 0 && may.length <= strays.length - index) origins.set(row, may[0]!);
  }
  return origins;
}

/** Whether a value of a row that was found by its id stands under another header, and not under its own. */
export function isMisplaced({ row }: Pick<WrittenRow, 'row'>, at: number, grid: Grid): boolean {
  const isAt = (column: number, value: Cell) => isSame(grid.at(at, column), value);
  return Object.entries(row).some(([name, value]) => {
    const home = grid.column(name);
    if (home === -1 || value === '' || isAt(home, value)) return false;
    return grid.rows[at]?.some((_, column) => isAt(column, value)) ?? false;
  });
}

/** Names that a header shares with a tab's as it is now. */
function shared({ header }: Grid, { header: now }: Grid): string[] {
  return header.filter((name, index) => name !== '' && header.indexOf(name) === index && now.includes(name));
}

function valueOf(grid: Grid, row: number, name: string): Cell | null {
  return grid.column(name) === -1 ? null : grid.cell(row, name);
}

/** Sheets keeps neither control characters nor every kind of line break, and of a number 15 digits. */
function isSame(cell: Cell, value: Cell): boolean {
  if (typeof cell === 'number' && typeof value === 'number')
    return cell.toPrecision(14) === value.toPrecision(14);
  return cell === value || plainText(cell) === plainText(value);
}

function plainText(value: Cell): string {
  return String(value)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
}
