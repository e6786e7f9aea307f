import { deliveryHeader } from './message.ts';
import type { Cell, SheetMessage } from './message.ts';
import type { Fix, Grid, Row } from './table.ts';

/** A row as it was written. */
export interface Written {
  /** What its column Delivery was given. */
  readonly id: string;
  readonly row: SheetMessage['row'];
  /** The row (from 0) that it was written to. */
  readonly at: number;
  /** The header that it was written by; null where that is not known any more. */
  readonly header: readonly string[] | null;
  /** What stood in that row, empty where that is not known; null for a row of its own, which was inserted. */
  readonly before: Row | null;
}

/** What became of a written row. */
export interface Judged {
  /** Where it has to be; null where it is not there any more. */
  readonly row: number | null;
  /** Its row was deleted before the write, which landed in another one: it has to be added anew. */
  readonly isDeleted: boolean;
  /** Its other cells show that it is the row that was meant. */
  readonly isSure: boolean;
  readonly fixes: readonly Fix[];
  /** Names of columns in which somebody's values were written over that are known from nowhere. */
  readonly lost: readonly string[];
  /** Names of its columns that the header lacks now. */
  readonly missing: readonly string[];
  /** Ids of rows that are gone: somebody deleted them, or this one was written over them. */
  readonly gone: readonly string[];
}

/**
 * Looks at what was written, as the tab is now. People move rows and columns between a read and a write, which goes by
 * position: what landed wrongly is to be put where it belongs, and what it displaced to be put back from what was read
 * before. Pure. `before`: all of the tab as it was read before the write; null where not all of it was.
 */
export function judge(all: readonly Written[], before: Grid | null, after: Grid): Judged[] {
  const places = placesOf(
    all.map(({ id }) => id),
    after,
  );
  const found = all.filter(({ id }) => places.has(id));
  const meant = new Map(found.map((written) => [written, targetOf(written, all, places, before, after)]));
  const owners = new Map<number | null, Written>(found.map((one) => [meant.get(one) ?? null, one]));
  owners.delete(null);
  const astray = found.flatMap((written) => {
    const { row } = places.get(written.id)!;
    return meant.get(written) !== row && !owners.has(row) ? [{ written, row }] : [];
  });
  const absent = before === null ? [] : absentRows(before, after, all);
  const displaced = before === null ? new Map<number, number>() : displacedBy(astray, absent, before, after);
  const unaccounted = absent.filter((row) => ![...displaced.values()].includes(row));
  const gone = unaccounted.map((row) => String(before!.cell(row, deliveryHeader) || before!.at(row, 0)));
  return all.map((written) => {
    const place = places.get(written.id);
    if (!place) {
      return { ...nowhere, gone: written.before === null ? [] : gone };
    }
    const isDeleted = meant.get(written) === null && (owners.has(place.row) || displaced.has(place.row));
    const target = isDeleted ? null : (meant.get(written) ?? place.row);
    const owner = target === place.row ? written : owners.get(place.row);
    const from = displaced.get(place.row);
    const source = (name: string) => {
      if (owner) return owner.before === null ? '' : valueIn(owner.before, owner.header ?? [], name);
      return from === undefined ? null : valueIn(before!.rows[from]!, before!.header, name);
    };
    const isSure = written.before === null || target !== place.row || isKnownAgain(written, place.row, after);
    return {
      row: target,
      isDeleted,
      isSure,
      missing: Object.keys(written.row).filter((name) => after.column(name) === -1),
      gone: isSure ? [] : gone,
      ...putRight(written, place, target, { after, owner, source }),
    };
  });
}

const nowhere: Judged = {
  row: null,
  isDeleted: false,
  isSure: true,
  fixes: [],
  lost: [],
  missing: [],
  gone: [],
};

interface Place {
  readonly row: number;
  readonly column: number;
}

/** Where ids stand: in their column, or in whichever they landed. */
export function placesOf(ids: readonly string[], after: Grid): Map<string, Place> {
  const wanted = new Set<Cell>(ids);
  const found = new Map<string, Place>();
  const note = (value: Cell, row: number, column: number) => {
    if (wanted.has(value) && !found.has(String(value))) found.set(String(value), { row, column });
  };
  const home = after.column(deliveryHeader);
  after.rows.forEach((_, row) => note(after.at(row, home), row, home));
  if (found.size < wanted.size) {
    after.rows.forEach((cells, row) => cells.forEach((value, column) => note(value, row, column)));
  }
  return found;
}

/** The row that was meant: somebody may have moved another one to where it was. Null where nothing tells. */
function targetOf(
  written: Written,
  all: readonly Written[],
  places: ReadonlyMap<string, Place>,
  before: Grid | null,
  after: Grid,
): number | null {
  const place = places.get(written.id)!;
  if (written.before === null || written.header === null) return place.row;
  const meant = intactRow(written.before, written.header, place.row, before, after);
  if (meant !== null) return meant;
  const company = companyOf(written, written.before, written.header, after);
  if (company.at(place.row)) return place.row;
  const other = all.find(
    (one) =>
      one !== written && one.before !== null && places.has(one.id) && company.at(places.get(one.id)!.row),
  );
  return other ? places.get(other.id)!.row : null;
}

/** Where the row that was meant still stands as it was read, so that another one was written over. */
function intactRow(
  row: Row,
  header: readonly string[],
  notAt: number,
  before: Grid | null,
  after: Grid,
): number | null {
  const id = row[header.indexOf(deliveryHeader)] ?? '';
  const names = id === '' ? shared(header, after) : [deliveryHeader];
  const cells = names.map((name) => row[header.indexOf(name)] ?? '');
  if (cells.every((cell) => cell === '')) return null;
  const found = after.rowsWith(names, cells).filter((index) => index !== notAt);
  // People copy rows: only where there are as many as before, the one that was meant is among them.
  const copies = before === null ? 1 : before.rowsWith(names, cells).length;
  return found.length >= copies ? (found[0] ?? null) : null;
}

/** The cells of a row that were not written, by which it is known again. */
function companyOf({ row }: Written, cells: Row, header: readonly string[], after: Grid) {
  const names = shared(header, after).filter((name) => !Object.hasOwn(row, name));
  return {
    isEmpty: names.every((name) => (cells[header.indexOf(name)] ?? '') === ''),
    at: (index: number) =>
      names.every((name) => after.cell(index, name) === (cells[header.indexOf(name)] ?? '')),
  };
}

/** Names that a header shares with a tab's as it is now. */
function shared(header: readonly string[], { header: now }: Grid): string[] {
  return header.filter((name, index) => name !== '' && header.indexOf(name) === index && now.includes(name));
}

/** Whether a row is by its other cells the one that was meant. */
function isKnownAgain(written: Written, row: number, after: Grid): boolean {
  if (written.header === null) return false;
  const company = companyOf(written, written.before!, written.header, after);
  return !company.isEmpty && company.at(row);
}

/** Rows of before, other than those that were written, that are nowhere to be seen now. */
function absentRows(before: Grid, after: Grid, all: readonly Written[]): number[] {
  const written = new Set(all.map(({ at }) => at));
  const names = shared(before.header, after);
  return before.rows.flatMap((cells, row) => {
    if (row === 0 || written.has(row) || cells.every((cell) => cell === '')) return [];
    const by = before.cell(row, deliveryHeader) === '' ? names : [deliveryHeader];
    return after.rowsWith(by, cellsOf(before, row, by)).length > 0 ? [] : [row];
  });
}

const cellsOf = (grid: Grid, row: number, names: readonly string[]) =>
  names.map((name) => grid.cell(row, name));

/**
 * By the row that was written to by mistake, the row of before that stood there: alike in the cells that were left alone,
 * and known by the rows above or below it where that leaves several.
 */
function displacedBy(
  astray: readonly { readonly written: Written; readonly row: number }[],
  absent: readonly number[],
  before: Grid,
  after: Grid,
): Map<number, number> {
  const names = shared(before.header, after);
  const alike = (a: number, b: number, by = names) =>
    JSON.stringify(cellsOf(after, a, by)) === JSON.stringify(cellsOf(before, b, by));
  const found = new Map<number, number>();
  const isFree = (row: number) => ![...found.values()].includes(row);
  for (const byNeighbours of [true, false]) {
    for (const { written, row } of astray.filter((one) => !found.has(one.row))) {
      const left = names.filter((name) => !Object.hasOwn(written.row, name));
      const may = absent.filter((one) => isFree(one) && alike(row, one, left));
      const places = astray.filter((one) => !found.has(one.row)).length;
      const [first] = byNeighbours
        ? may.filter((one) => alike(row - 1, one - 1) || alike(row + 1, one + 1))
        : may.slice(0, may.length > places ? 0 : 1);
      if (first !== undefined) found.set(row, first);
    }
  }
  return found;
}

interface Context {
  readonly after: Grid;
  /** What the row that was written to belongs to, where that was written, too: its own values go there. */
  readonly owner: Written | undefined;
  /** By the name of a column, what stood in the row that was written to; null where that is not known. */
  readonly source: (name: string) => Cell | null;
}

function putRight(
  written: Written,
  place: Place,
  target: number | null,
  { after, owner, source }: Context,
): Pick<Judged, 'fixes' | 'lost'> {
  const { isAstray, columns } = landing(written, place, after);
  if (target === place.row && !isAstray) return { fixes: [], lost: [] };
  const own = Object.entries(written.row).flatMap(([name, value]) => {
    const column = after.column(name);
    return column === -1 || target === null ? [] : [{ row: target, column, value }];
  });
  const astray = columns.filter((column) => {
    return column !== -1 && !(owner && Object.hasOwn(owner.row, after.header[column] ?? ''));
  });
  const displaced = astray.map((column) => {
    const name = after.header[column] ?? '';
    return { name, fix: { row: place.row, column, value: source(name) } };
  });
  const fixes = [
    ...displaced.map(({ fix }) => ({ ...fix, value: fix.value ?? '' })),
    ...own.filter(({ row, column, value }) => !isSame(after.at(row, column), value)),
  ];
  const lost = displaced.flatMap(({ name, fix }) => (fix.value === null ? [name] : []));
  return { fixes, lost: [...new Set(lost)] };
}

/** Whether the values of a row that was found by its id stand under other headers than theirs. */
export function isMisplaced(row: SheetMessage['row'], at: number, grid: Grid): boolean {
  return strayColumns(row, at, grid).length > 0;
}

/**
 * The columns that a row was written to, as they are now: they may have been moved before the write and after it. Astray
 * are values that stand under other headers than theirs; what people typed over them since is not.
 */
function landing(written: Written, place: Place, after: Grid) {
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
  if (header !== null && isElsewhere && areTheirs(positions)) return { isAstray: true, columns: positions };
  if (areTheirs(homes)) return { isAstray: false, columns: homes };
  const columns = strayColumns(row, place.row, after);
  const home = after.column(deliveryHeader);
  // A column that a value landed in may be deleted again; in a row of its own the value is missing then.
  const isMissing = values.some(
    ([, value], index) => homes[index] !== -1 && value !== '' && after.at(place.row, homes[index]!) === '',
  );
  const isChanged = String(header) !== String(after.header);
  const isMoved = columns.length > 0 || (isChanged && written.before === null && isMissing);
  return { isAstray: isMoved || (home !== -1 && place.column !== home), columns };
}

/** Whether a cell had this value before. */
function stoodThere({ before, header }: Written, value: Cell, column: number, after: Grid): boolean {
  const cell = before === null ? '' : valueIn(before, header ?? [], after.header[column] ?? '');
  return cell !== null && isSame(cell, value);
}

/** The columns that show a row's values where these do not belong, and are not where they do. */
function strayColumns(row: SheetMessage['row'], at: number, grid: Grid): number[] {
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

function valueIn(cells: Row | null, header: readonly string[], name: string): Cell | null {
  const column = name === '' ? -1 : header.indexOf(name);
  return column === -1 || cells === null ? null : (cells[column] ?? '');
}

/** Sheets keeps neither control characters nor every kind of line break. */
function isSame(cell: Cell, value: Cell): boolean {
  return cell === value || plainText(cell) === plainText(value);
}

function plainText(value: Cell): string {
  return String(value)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
}
