import type { Finding } from '../../src/connector.ts';
import type { Answer } from './client.ts';
import type { Cell } from './format.ts';
import { deliveryHeader, formatOf } from './message.ts';
import type { RowRequest, SheetMessage, WrittenRow } from './message.ts';
import { failedRead, notReadBack, progressOf } from './outcomes.ts';
import {
  columnRange,
  describe,
  Grid,
  lookUntilDone,
  lostHeader,
  missingHeaderRow,
  readParts,
  readRanges,
  rowsRange,
  withDates,
} from './table.ts';
import type { Fix, Spreadsheet, Tab } from './table.ts';

/**
 * Looks for deliveries' ids in the Delivery columns of their tabs, all read at the same moment. An id is gone where a
 * later delivery has updated the row by its key: an earlier one that is still unresolved then leaves the row alone. It
 * doubles no row, unless the earlier one has no key.
 */
export async function findRows(sheet: Spreadsheet, given: readonly RowRequest[]): Promise<Finding[]> {
  const dated = await withDates(sheet, given);
  if (!dated.ok) return given.map(() => ({ found: 'failed', failure: failedRead(dated.failure, sheet) }));
  const requests = dated.data;
  const byTab = Map.groupBy(requests, ({ message }) => message.tab.toLowerCase());
  const names = new Map(
    [...byTab].map(([tab, all]) => [tab, all.flatMap(({ message }) => Object.keys(message.row))]),
  );
  const tabs = await readDeliveries(sheet, names, requests[0]!.signal);
  if (!tabs.ok) {
    const failure = failedRead(tabs.failure, sheet);
    return requests.map(() => ({ found: 'failed', failure }));
  }
  const wrong = await readMisplaced(sheet, tabs.data, requests);
  return requests.map((request) => (wrong.has(request) ? notThere : find(sheet, tabs.data, request)));
}

const notThere: Finding = { found: null };

function find(sheet: Spreadsheet, tabs: ReadonlyMap<string, Deliveries>, request: RowRequest): Finding {
  const { deliveryId, message } = request;
  const there = tabs.get(message.tab.toLowerCase());
  if (!there || there.header.header.every((name) => name === '')) return notThere;
  if (there.rows === null) return { found: 'impossible', detail: noColumn(message.tab) };
  const row = there.rows.get(deliveryId);
  // What it wrote over is known, so the next attempt reads it back and puts that right.
  if (row === undefined || progressOf(request).tried) return notThere;
  const found = there.header.receiptOf(sheet, there.tab, row);
  return message.key === undefined ? { found } : { found, note: notReadBack };
}

/** So many rows of a tab at most are read to see whether they stand under their headers. */
const maxRows = 5000;

/**
 * The rows of their own whose id is in its column, and whose other values are not: somebody moved columns when they were
 * written. They count as absent, and the next attempt puts them right.
 */
async function readMisplaced(
  sheet: Spreadsheet,
  tabs: ReadonlyMap<string, Deliveries>,
  requests: readonly RowRequest[],
): Promise<ReadonlySet<RowRequest>> {
  const found = requests.flatMap((request) => {
    const there = tabs.get(request.message.tab.toLowerCase());
    const row = there?.rows?.get(request.deliveryId);
    return there && row !== undefined && request.message.key === undefined ? [{ request, there, row }] : [];
  });
  const blocks = [...Map.groupBy(found, ({ there }) => there)].flatMap(([{ tab }, rows]) => {
    const [first, last] = [Math.min(...rows.map(({ row }) => row)), Math.max(...rows.map(({ row }) => row))];
    return last - first < maxRows ? [{ rows, part: { tab, first, range: rowsRange(tab, first, last) } }] : [];
  });
  const read = await readParts(
    sheet,
    blocks.map(({ part }) => part),
    requests[0]!.signal,
  );
  // They are there for certain: what more can be said of them is not worth a failure.
  if (!read.ok) return new Set();
  const misplaced = blocks.flatMap(({ rows }, index) =>
    rows.filter(({ request, row }) => isMisplaced(request.message.row, row, read.data[index]!)),
  );
  return new Set(misplaced.map(({ request }) => request));
}

interface Deliveries {
  readonly tab: Tab;
  readonly header: Grid;
  /** By the id of a delivery, its first row; null where the tab has no such column. */
  readonly rows: ReadonlyMap<string, number> | null;
}

/** The columns of deliveries may move between the headers' read and theirs, which are then read again. */
async function readDeliveries(
  sheet: Spreadsheet,
  names: ReadonlyMap<string, readonly string[]>,
  signal: AbortSignal,
): Promise<Answer<Map<string, Deliveries>>> {
  return lookUntilDone<Map<string, Deliveries>>(sheet, async () => {
    const described = await describe(sheet, signal);
    if (!described.ok) return described;
    const tabs = described.data.tabs.filter(({ title }) => names.has(title.toLowerCase()));
    const failure = missingHeaderRow(tabs);
    if (failure) return { ok: false, failure };
    const parts = tabs.map((tab) => ({ tab, first: 0, range: null }));
    const headers = await readParts(sheet, parts, signal);
    if (!headers.ok) return headers;
    const found = tabs.map((tab, index) => ({ tab, header: headers.data[index]! }));
    const views = found.map(({ tab, header }) => ({ tab, grid: header }));
    const lost = await lostHeader(
      sheet,
      views,
      views.map(({ tab }) => ({ names: names.get(tab.title.toLowerCase()) ?? [] })),
      signal,
    );
    if (lost) return { ok: false, failure: lost };
    const withColumn = found.filter(({ header }) => header.column(deliveryHeader) !== -1);
    const ranges = withColumn.map(({ tab, header }) => columnRange(tab, header.column(deliveryHeader)));
    const columns = await readRanges(sheet, ranges, signal);
    if (!columns.ok) return columns;
    const read = columns.data.map((rows) => new Grid(rows, sheet.headerRow));
    if (!read.every(({ header }) => header[0] === deliveryHeader)) return null;
    const data = found.map((one): [string, Deliveries] => {
      const column = read[withColumn.indexOf(one)];
      return [one.tab.title.toLowerCase(), { ...one, rows: column?.firstRows(deliveryHeader) ?? null }];
    });
    return { ok: true, data: new Map(data) };
  });
}

/** Somebody may have renamed it after rows were written. */
const noColumn = (tab: string) =>
  `The tab ${tab} has no column ${deliveryHeader}, so nobody can tell which rows are there.`;

/** What became of a written row. */
export interface Comparison {
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

/**
 * Looks at what was written, as the tab is now. People move rows and columns between a read and a write, which goes by
 * position: what landed wrongly is to be put where it belongs, and what it displaced to be put back from what was read
 * before. Pure. `before`: all of the tab as it was read before the write; null where not all of it was.
 */
export function compare(all: readonly WrittenRow[], before: Grid | null, after: Grid): Comparison[] {
  const places = placesOf(
    all.map(({ id }) => id),
    after,
  );
  for (const written of all) {
    const place = places.get(written.id) ?? placeWithoutId(written, after);
    if (place) places.set(written.id, place);
  }
  const found = all.filter(({ id }) => places.has(id));
  const meant = new Map(found.map((written) => [written, targetOf(written, all, places, before, after)]));
  const owners = new Map<number | null, WrittenRow>(found.map((one) => [meant.get(one) ?? null, one]));
  owners.delete(null);
  const misplaced = found.flatMap((written) => {
    const { row } = places.get(written.id)!;
    return meant.get(written) !== row && !owners.has(row) ? [{ written, row }] : [];
  });
  const vanished = before === null ? [] : absentRows(before, after, all);
  const displaced =
    before === null ? new Map<number, number>() : displacedBy(misplaced, vanished, before, after);
  const unaccounted = vanished.filter((row) => ![...displaced.values()].includes(row));
  const gone = unaccounted.map((row) => String(before!.cell(row, deliveryHeader) || before!.at(row, 0)));
  return all.map((written) => {
    const place = places.get(written.id);
    if (!place) return { ...nowhere, gone: written.before === null ? [] : gone };
    const isDeleted = meant.get(written) === null && (owners.has(place.row) || displaced.has(place.row));
    const target = isDeleted ? null : (meant.get(written) ?? place.row);
    const owner = target === place.row ? written : owners.get(place.row);
    const from = displaced.get(place.row);
    const source = (name: string) => {
      if (owner) return owner.before === null ? '' : valueOf(beforeOf(owner), 1, name);
      return from === undefined ? null : valueOf(before!, from, name);
    };
    const others = otherCells(written, after);
    const isKnown = !others.isEmpty && others.areAt(place.row);
    const isSure = written.before === null || target !== place.row || isKnown;
    const absent = target === null ? [] : absentNames(written.row, target, after);
    return {
      row: target,
      isDeleted,
      isUnclear: !isSure && before === null,
      missing: Object.keys(written.row).filter((name) => after.column(name) === -1),
      absent,
      merged: absent.filter((name) => after.isCovered(target!, after.column(name))),
      gone: isSure ? [] : gone,
      ...repair(written, place, target, { after, owner, source }),
    };
  });
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

function absentNames(row: SheetMessage['row'], at: number, after: Grid): string[] {
  return Object.keys(row).filter((name) => {
    return after.column(name) !== -1 && plainText(row[name]!) !== '' && after.cell(at, name) === '';
  });
}

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

/**
 * Where the id's cell was typed over, in a column that moved, or keeps no value, as it is merged with others: what else
 * was written tells the row.
 */
function placeWithoutId({ row, at, header }: WrittenRow, after: Grid): Place | null {
  if (header === null) return null;
  const column = header.indexOf(deliveryHeader);
  const isMerged = after.isCovered(at, column);
  if (String(header) === String(after.header) && !isMerged) return null;
  const values = Object.entries(row).filter(([name, value]) => {
    return name !== deliveryHeader && value !== '' && !after.isCovered(at, header.indexOf(name));
  });
  const isThere = values.every(([name, value]) => isSame(after.at(at, header.indexOf(name)), value));
  return isThere && (isMerged || values.length > 0) ? { row: at, column } : null;
}

/** The row that was meant: somebody may have moved another one to where it was. Null where nothing tells. */
function targetOf(
  written: WrittenRow,
  all: readonly WrittenRow[],
  places: ReadonlyMap<string, Place>,
  before: Grid | null,
  after: Grid,
): number | null {
  const { row } = places.get(written.id)!;
  if (written.before === null || written.header === null) return row;
  const meant = untouchedRow(beforeOf(written), row, before, after);
  if (meant !== null) return meant;
  const others = otherCells(written, after);
  if (others.areAt(row)) return row;
  const rows = all.flatMap((one) =>
    one === written || one.before === null ? [] : [places.get(one.id)?.row],
  );
  return rows.find((other) => other !== undefined && others.areAt(other)) ?? null;
}

/** What stood in the row that was written to, in row 1 under the header of that time. */
const beforeOf = ({ header, before }: WrittenRow) => new Grid([header ?? [], before ?? []]);

/** Where the row that was meant still stands as it was read, so that another one was written over. */
function untouchedRow(row: Grid, notAt: number, before: Grid | null, after: Grid): number | null {
  const names = row.cell(1, deliveryHeader) === '' ? shared(row, after) : [deliveryHeader];
  const cells = cellsOf(row, 1, names);
  if (cells.every((cell) => cell === '')) return null;
  const found = after.rowsWith(names, cells).filter((index) => index !== notAt);
  // People copy rows: only where there are as many as before, the one that was meant is among them.
  const copies = before === null ? 1 : before.rowsWith(names, cells).length;
  return found.length >= copies ? (found[0] ?? null) : null;
}

/** The cells of a row that were not written, by which it is known again. */
function otherCells(written: WrittenRow, after: Grid) {
  const before = beforeOf(written);
  const names = shared(before, after).filter((name) => !Object.hasOwn(written.row, name));
  return {
    isEmpty: cellsOf(before, 1, names).every((cell) => cell === ''),
    areAt: (row: number) => isAlike(after, row, before, 1, names),
  };
}

/** Names that a header shares with a tab's as it is now. */
function shared({ header }: Grid, { header: now }: Grid): string[] {
  return header.filter((name, index) => name !== '' && header.indexOf(name) === index && now.includes(name));
}

const cellsOf = (grid: Grid, row: number, names: readonly string[]) =>
  names.map((name) => grid.cell(row, name));

const isAlike = (a: Grid, rowOfA: number, b: Grid, rowOfB: number, names: readonly string[]) =>
  names.every((name) => a.cell(rowOfA, name) === b.cell(rowOfB, name));

/** Rows of before, other than those that were written, that are nowhere to be seen now. */
function absentRows(before: Grid, after: Grid, all: readonly WrittenRow[]): number[] {
  const written = new Set(all.map(({ at }) => at));
  const names = shared(before, after);
  return before.rows.flatMap((cells, row) => {
    if (row <= before.headerRow || written.has(row) || cells.every((cell) => cell === '')) return [];
    const by = before.cell(row, deliveryHeader) === '' ? names : [deliveryHeader];
    return after.rowsWith(by, cellsOf(before, row, by)).length > 0 ? [] : [row];
  });
}

/**
 * By the row that was written to by mistake, the row of before that stood there: alike in the cells that were left alone,
 * and known by the rows above or below it where that leaves several.
 */
function displacedBy(
  misplaced: readonly { readonly written: WrittenRow; readonly row: number }[],
  absent: readonly number[],
  before: Grid,
  after: Grid,
): Map<number, number> {
  const names = shared(before, after);
  const alike = (a: number, b: number, by = names) => isAlike(after, a, before, b, by);
  const found = new Map<number, number>();
  const isFree = (row: number) => ![...found.values()].includes(row);
  for (const byNeighbours of [true, false]) {
    for (const { written, row } of misplaced.filter((one) => !found.has(one.row))) {
      const left = names.filter((name) => !Object.hasOwn(written.row, name));
      const may = absent.filter((one) => isFree(one) && alike(row, one, left));
      const places = misplaced.filter((one) => !found.has(one.row)).length;
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
  readonly owner: WrittenRow | undefined;
  /** By the name of a column, what stood in the row that was written to; null where that is not known. */
  readonly source: (name: string) => Cell | null;
}

function repair(
  written: WrittenRow,
  place: Place,
  target: number | null,
  { after, owner, source }: Context,
): Pick<Comparison, 'fixes' | 'lost'> {
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
    ...own.filter(
      ({ row, column, value }) => !isSame(after.at(row, column), value) && !after.isCovered(row, column),
    ),
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
  const isMoved = columns.length > 0 || (isChanged && written.before === null && isMissing);
  // Somebody may have typed over the others; in another row than its own these have to go.
  const shown = homes.filter((column, index) => column !== -1 && isTheirs(column, values[index]![1]));
  const isWrong = isMoved || (home !== -1 && place.column !== home);
  return { isWrong, columns: [...columns, ...shown] };
}

/**
 * Columns that a row's values are in besides their own: they landed there, and what stood in their own was the same. Only
 * where columns were moved, and where it is known what people had in the row.
 */
function strays(written: WrittenRow, homes: readonly number[], at: number, after: Grid): number[] {
  const { row, header, before } = written;
  if (header === null || before?.length === 0 || String(header) === String(after.header)) return [];
  const values = Object.values(row).filter((value) => value !== '');
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
