import { randomInt } from 'node:crypto';
import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import type { Receipt } from '../../src/model.ts';
import type { Answer, Call, Failure } from './client.ts';
import { knownZone } from './format.ts';
import type { Cell, Format } from './format.ts';
import { columnAfter, isCovered, mergesOf } from './merges.ts';
import type { Merge } from './merges.ts';
import { dated, deliveryHeader, formatOf, hasDates } from './message.ts';
import type { Row, RowRequest, SheetMessage, WrittenRow } from './message.ts';
import { missingTab } from './outcomes.ts';

/** A spreadsheet that can be called. Rows and columns count from 0 everywhere; only A1 notation counts from 1. */
export interface Spreadsheet {
  readonly spreadsheetId: string;
  /** The service account's address. */
  readonly account: string;
  /** The row of the header in each tab. */
  readonly headerRow: number;
  readonly call: Call;
  /** What is remembered of its tabs, by title in lower case. Only where to look: what counts is what is read. */
  readonly tabs: Map<string, Tab>;
  /** As it was when its tabs were last read. */
  timeZone?: string;
}

export interface Tab {
  readonly sheetId: number;
  readonly title: string;
  /** null for a tab without cells, such as a chart. */
  readonly rowCount: number | null;
  readonly headerRow: number;
  readonly merges: readonly Merge[];
  /** How many columns its header had. */
  width: number | null;
  /** The column of the deliveries' ids, and the last row that had one. */
  deliveryColumn: number;
  lastRow: number | null;
}

/** A cell to set right. */
export interface Fix {
  readonly row: number;
  readonly column: number;
  readonly value: Cell;
  readonly format?: Format | undefined;
}

export type Request = sheets_v4.Schema$Request;

/** The cells of a tab as they were at one moment, its header above its rows. What was not read looks empty. */
export class Grid {
  readonly rows: readonly Row[];
  readonly headerRow: number;
  readonly header: readonly string[];
  readonly #merges: readonly Merge[];
  readonly #indexes = new Map<string, ReadonlyMap<string, readonly number[]>>();

  constructor(rows: readonly Row[], headerRow = 0, merges: readonly Merge[] = []) {
    this.rows = rows;
    this.headerRow = headerRow;
    this.#merges = merges;
    this.header = (rows[headerRow] ?? []).map((name) => String(name).trim());
  }

  at(row: number, column: number): Cell {
    return this.rows[row]?.[column] ?? '';
  }

  /** An empty cell where there is no such column. */
  cell(row: number, name: string): Cell {
    return this.at(row, this.column(name));
  }

  /** A cell that keeps no value, as it is merged with others; where merges are known. */
  isCovered(row: number, column: number): boolean {
    return isCovered(this.#merges, row, column);
  }

  column(name: string): number {
    return name === '' ? -1 : this.header.indexOf(name);
  }

  /** By the values of a column, the first row that has each. */
  firstRows(name: string): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    for (let row = this.headerRow + 1; row < this.rows.length; row += 1) {
      const value = String(this.cell(row, name));
      if (!found.has(value)) found.set(value, row);
    }
    return found;
  }

  /** The rows that have these values in these columns. */
  rowsWith(names: readonly string[], values: Row): readonly number[] {
    const columns = JSON.stringify(names);
    let index = this.#indexes.get(columns);
    if (!index) {
      const printed = (row: number) => JSON.stringify(names.map((name) => this.cell(row, name)));
      index = Map.groupBy(this.rows.keys(), printed);
      this.#indexes.set(columns, index);
    }
    return index.get(JSON.stringify(values)) ?? [];
  }

  /** The same with some cells changed. */
  with(cells: readonly Fix[]): Grid {
    const rows = this.rows.map((row) => [...row]);
    for (const { row, column, value } of cells) {
      while (rows[row]!.length < column) rows[row]!.push('');
      rows[row]![column] = value;
    }
    return new Grid(rows, this.headerRow);
  }

  /** The same with the merges that were read since. */
  merged(merges: readonly Merge[]): Grid {
    return new Grid(this.rows, this.headerRow, merges);
  }

  /** What proves a row: its place under the header. */
  receiptOf({ spreadsheetId }: Spreadsheet, { title }: Tab, row: number): Receipt {
    const first = this.header.findIndex((name) => name !== '');
    return { spreadsheetId, range: rowRange(title, row, Math.max(0, first), this.header.length - 1) };
  }
}

/** The last row that has a value in a column; -1 where none has. */
export const lastFilled = ({ rows }: Grid, column: number): number =>
  rows.findLastIndex((row) => (row[column] ?? '') !== '');

/** Rows that were read from `first` on, under their header. */
function gridOf({ tab: { headerRow }, first }: Part, header: Row, read: readonly Row[]): Grid {
  const rows = Array.from(
    { length: Math.max(first + read.length, headerRow + 1) },
    (_, row) => read[row - first] ?? [],
  );
  return new Grid(rows.with(headerRow, header), headerRow);
}

/** What has to be known of a tab before it is written to. */
export interface Wanted {
  readonly title: string;
  /** Its header needs a column for each. */
  readonly names: readonly string[];
  /** All of its rows; otherwise only those from the last one with a delivery's id. */
  readonly whole: boolean;
  /** How many columns of all of its rows at least, where something may stand beside the header. */
  readonly minWidth?: number;
}

export interface View {
  readonly tab: Tab;
  readonly grid: Grid;
}

/** Making a tab and finding where it ends takes some looks, and people may change it meanwhile. */
const maxLooks = 8;

/** Looks again where a look gives null, or the sheet was changed since it was last read. */
export async function lookUntilDone<Data>(
  { tabs }: Spreadsheet,
  look: (isFirst: boolean) => Promise<Answer<Data> | null>,
): Promise<Answer<Data>> {
  for (let looks = 0; looks < maxLooks; looks += 1) {
    const answer = await look(looks === 0);
    if (answer?.ok || (answer && !isOutdated(answer.failure))) return answer;
    if (answer) tabs.clear();
  }
  return { ok: false, failure: changedMeanwhile };
}

/** Reads tabs with their headers, all at the same moment, and makes those that are missing. */
export async function readTabs(
  sheet: Spreadsheet,
  wanted: readonly Wanted[],
  signal: AbortSignal,
): Promise<Answer<View[]>> {
  let additions = 0;
  return lookUntilDone(sheet, async (isFirst) => {
    const tabs = await findTabs(sheet, wanted, isFirst, signal);
    if (!tabs?.ok) return tabs;
    const read = await readOnce(sheet, wanted, tabs.data, signal);
    if (!read.ok) return read;
    const lost = await lostHeader(sheet, read.data, wanted, signal);
    if (lost) return { ok: false, failure: lost };
    const columns = read.data.map((view, index) => newColumns(view, wanted[index]!));
    const lacking = columns.findIndex((requests) => requests.length > 0);
    if (lacking !== -1 && additions === maxAdditions) {
      return { ok: false, failure: mergedHeader(tabs.data[lacking]!) };
    }
    if (lacking !== -1) {
      additions += 1;
      const added = await batchUpdate(sheet, columns.flat(), signal);
      // Cells that somebody has merged meanwhile keep no names.
      return added.ok ? refresh(sheet, signal) : added;
    }
    return read.data.every(({ isEnough }) => isEnough) ? read : null;
  });
}

/** Columns that are added and not there have landed in merged cells; for the second time these are known. */
const maxAdditions = 2;

function mergedHeader({ title, headerRow }: Tab): Failure {
  const words = `The tab ${title}: its header in row ${headerRow + 1} takes no new columns, as cells are merged there. Unmerge them.`;
  return { kind: 'header', tab: title, words };
}

/** Reads again what tabs there are; null where that worked. */
async function refresh(sheet: Spreadsheet, signal: AbortSignal) {
  const described = await describe(sheet, signal);
  return described.ok ? null : described;
}

/** What people have to know of columns that a header has more than once. */
export function twiceInHeader({ header }: Grid, names: readonly string[]): string[] {
  const twice = [...new Set(names)].filter((name) => header.indexOf(name) !== header.lastIndexOf(name));
  return twice.map((name) => `The header has more than one column ${name}: the first of them is written.`);
}

/** Why there cannot be a header in one of these tabs: it is a chart, or ends above the header's row. */
export function missingHeaderRow(tabs: readonly Tab[]): Failure | null {
  const short = tabs.find((tab) => !hasHeaderRow(tab));
  if (!short) return null;
  const { title, rowCount, headerRow } = short;
  const words =
    rowCount === null
      ? 'has no cells: it is a chart. Rename it, or give the action another tab.'
      : `has only ${rowCount} ${rowCount === 1 ? 'row' : 'rows'}, and its header should be in row ${headerRow + 1}. Add rows to it, or set headerRow.`;
  return { kind: 'header', tab: title, words: `The tab ${title} ${words}` };
}

const hasHeaderRow = ({ rowCount, headerRow }: Tab): boolean => rowCount !== null && rowCount > headerRow;

/** So many rows at the top show whether the header stands elsewhere. */
const rowsAtTop = 200;

/**
 * Why a tab's header cannot be what stands in its row. A tab without the column Delivery may be one that was never written
 * to; or people moved, removed or emptied its header, and a new one would stand above the wrong values.
 */
export async function lostHeader(
  sheet: Spreadsheet,
  views: readonly View[],
  wanted: readonly Pick<Wanted, 'names'>[],
  signal: AbortSignal,
): Promise<Failure | null> {
  const suspects = views.flatMap(({ tab, grid }, index) =>
    grid.column(deliveryHeader) === -1 ? [{ tab, names: wanted[index]!.names }] : [],
  );
  const ranges = suspects.map(({ tab }) => rowsRange(tab, 0, Math.min(rowsAtTop, tab.rowCount ?? 1) - 1));
  const read = await readRanges(sheet, ranges, signal);
  if (!read.ok) return read.failure;
  for (const [index, { tab, names }] of suspects.entries()) {
    const words = headerFault(new Grid(read.data[index]!, tab.headerRow), names);
    if (words) return { kind: 'header', tab: tab.title, words: `The tab ${tab.title}: ${words}` };
  }
  return null;
}

/** What is wrong, and what to do; null where it may be a tab that was never written to. Pure. */
function headerFault({ rows, header, headerRow }: Grid, names: readonly string[]): string | null {
  const own = `row ${headerRow + 1}`;
  const isHeader = (cells: Row) => {
    const there = new Set(cells.map((cell) => String(cell).trim()));
    return there.has(deliveryHeader) && names.some((name) => name !== deliveryHeader && there.has(name));
  };
  const at = rows.findIndex(isHeader);
  if (at !== -1) {
    return `its header stands in row ${at + 1}, and should in ${own}. Move it there, or set headerRow to ${at + 1} if all tabs of the sink are so.`;
  }
  if (header.some((name) => deliveryId.test(name))) {
    return `${own} has no header but values. Insert a row there with the names of the columns, ${deliveryHeader} among them.`;
  }
  const isEmpty = header.every((name) => name === '');
  const isFilledBelow = rows.some((cells, row) => row > headerRow && cells.some((cell) => cell !== ''));
  if (!isEmpty || !isFilledBelow) return null;
  return `${own}, where its header should be, is empty, and there are values below it. Fill in the names of the columns there, or set headerRow.`;
}

const deliveryId = /^dlv_[0-9a-z]{26}_\d+$/;

/** The tabs in the order in which they are wanted; null where some were made just now. */
async function findTabs(
  sheet: Spreadsheet,
  wanted: readonly Wanted[],
  isFirst: boolean,
  signal: AbortSignal,
): Promise<Answer<Tab[]> | null> {
  const tabs = () => wanted.flatMap(({ title }) => known(sheet, title) ?? []);
  // Merged cells move with rows and columns, and where they are is not read with the values.
  const isMerged = isFirst && tabs().some(({ merges }) => merges.length > 0);
  if (tabs().length < wanted.length || missingHeaderRow(tabs()) || isMerged) {
    const described = await describe(sheet, signal);
    if (!described.ok) return described;
  }
  const failure = missingHeaderRow(tabs());
  if (failure) return { ok: false, failure };
  const missing = wanted.filter(({ title }) => !known(sheet, title));
  if (missing.length === 0) return { ok: true, data: tabs() };
  const made = missing.map((one) => newTab(one, sheet.headerRow));
  const requests = made.flatMap((one) => one.requests);
  const answer = await batchUpdate(sheet, requests, signal);
  if (answer.ok) for (const { tab } of made) sheet.tabs.set(tab.title.toLowerCase(), tab);
  // Another copy may have made it at the same moment.
  return answer.ok || says(answer.failure, /already exists/) ? null : answer;
}

const known = (sheet: Spreadsheet, title: string) => sheet.tabs.get(title.toLowerCase());

async function readOnce(
  sheet: Spreadsheet,
  wanted: readonly Wanted[],
  tabs: readonly Tab[],
  signal: AbortSignal,
): Promise<Answer<(View & { readonly isEnough: boolean })[]>> {
  const parts = wanted.map((want, index) => partOf(tabs[index]!, want));
  const read = await readParts(sheet, parts, signal);
  if (!read.ok) return read;
  const views = parts.map((part, index) => remember(part, wanted[index]!, read.data[index]!));
  return { ok: true, data: views };
}

/** A small tab is read at once where nothing is known of it yet. */
function isReadWhole({ lastRow, rowCount }: Tab, { whole }: Wanted): boolean {
  return whole || (lastRow === null && rowCount !== null && rowCount <= smallTabRows);
}

const smallTabRows = 5000;

/** What to read of a tab: the header alone while that is not known, and the Delivery column while its end is not. */
function partOf(tab: Tab, want: Wanted): Part {
  const { title, width, deliveryColumn, lastRow } = tab;
  if (width === null) return { tab, first: 0, range: null };
  if (isReadWhole(tab, want)) {
    return { tab, first: 0, range: tableRange({ title, width: Math.max(width, want.minWidth ?? 0) }) };
  }
  if (lastRow !== null) {
    return { tab, first: lastRow, range: `${quoteTab(title)}!A${lastRow + 1}:${columnName(width - 1)}` };
  }
  return { tab, first: 0, range: deliveryColumn === -1 ? null : columnRange(tab, deliveryColumn) };
}

/** Keeps what was read of a tab, and tells whether it was enough: it was not where the tab was not as remembered. */
function remember({ tab, range, first }: Part, want: Wanted, grid: Grid) {
  const isWhole = isReadWhole(tab, want);
  const before = { ...tab };
  // A row above the header hides it, and how wide the table is.
  tab.width = grid.header.length || before.width;
  tab.deliveryColumn = grid.column(deliveryHeader);
  const { headerRow } = tab;
  const top = { tab, grid: new Grid(grid.rows.slice(0, headerRow + 1), headerRow), isEnough: false };
  if (range === null || before.width !== tab.width) return top;
  if (isWhole) {
    tab.lastRow = Math.max(headerRow, lastFilled(grid, tab.deliveryColumn));
    return { tab, grid, isEnough: true };
  }
  if (before.lastRow === null) {
    const isThatColumn = before.deliveryColumn === tab.deliveryColumn;
    tab.lastRow = isThatColumn ? Math.max(headerRow, lastFilled(grid, 0)) : null;
    return top;
  }
  // Somebody deleted rows, or moved them: the last one has to be found again.
  const isLast = first === headerRow || grid.at(first, tab.deliveryColumn) !== '';
  if (!isLast) tab.lastRow = null;
  return { tab, grid, isEnough: isLast };
}

const defaultColumns = 26;

const defaultRows = 1000;

function newTab(
  { title, names }: Wanted,
  headerRow: number,
): { readonly tab: Tab; readonly requests: Request[] } {
  // Named by us, so that the header can be written in the same call: a tab is never there without it.
  const sheetId = randomInt(1, 2 ** 31 - 1);
  const columnCount = Math.max(defaultColumns, names.length);
  const gridProperties = { columnCount, rowCount: defaultRows, frozenRowCount: headerRow + 1 };
  const addSheet = { properties: { sheetId, title, gridProperties } };
  const header = { width: names.length, deliveryColumn: names.indexOf(deliveryHeader), lastRow: headerRow };
  return {
    tab: { sheetId, title, rowCount: defaultRows, headerRow, merges: [], ...header },
    requests: [{ addSheet }, writeCells(sheetId, headerRow, 0, names)],
  };
}

/** Columns of our own behind all others: whatever somebody types meanwhile is not written over. */
function newColumns({ tab: { sheetId, headerRow, merges }, grid }: View, wanted: Wanted): Request[] {
  const names = wanted.names.filter((name) => grid.column(name) === -1);
  const at = columnAfter(merges, grid.header.length, headerRow);
  if (names.length === 0) return [];
  return [insert(sheetId, 'COLUMNS', at, names.length, at > 0), writeCells(sheetId, headerRow, at, names)];
}

/** At the very end of a grid there is nothing behind to be like. */
export function insert(
  sheetId: number,
  dimension: 'ROWS' | 'COLUMNS',
  at: number,
  count: number,
  inheritFromBefore: boolean,
): Request {
  const range = { sheetId, dimension, startIndex: at, endIndex: at + count };
  return { insertDimension: { range, inheritFromBefore } };
}

/** Values side by side. They are literal: text that begins with = stays text. An empty one empties its cell. */
function writeCells(sheetId: number, row: number, column: number, values: Row): Request {
  const start = { sheetId, rowIndex: row, columnIndex: column };
  return { updateCells: { start, rows: [{ values: values.map(cellData) }], fields: 'userEnteredValue' } };
}

function cellData(value: Cell): sheets_v4.Schema$CellData {
  if (value === '') return {};
  if (typeof value === 'number') return { userEnteredValue: { numberValue: value } };
  if (typeof value === 'boolean') return { userEnteredValue: { boolValue: value } };
  return { userEnteredValue: { stringValue: value } };
}

export const writeFix = (sheetId: number, { row, column, value, format }: Fix): Request[] => [
  writeCells(sheetId, row, column, [value]),
  ...(format === undefined ? [] : [formatCell(sheetId, row, column, format)]),
];

const numberFormat = 'userEnteredFormat.numberFormat';
const link = 'userEnteredFormat.textFormat.link';

/** A field that is named and has no value is cleared. */
function formatCell(sheetId: number, rowIndex: number, columnIndex: number, format: Format): Request {
  const start = { sheetId, rowIndex, columnIndex };
  const [userEnteredFormat, fields] =
    format === 'plain'
      ? [{}, `${numberFormat},${link}`]
      : format === 'date'
        ? [{ numberFormat: { type: 'DATE_TIME' } }, numberFormat]
        : [format.uri === null ? {} : { textFormat: { link: { uri: format.uri } } }, link];
  return { updateCells: { start, rows: [{ values: [{ userEnteredFormat }] }], fields } };
}

/** The cells of a row that a message names, and no others, wherever the header has them. */
export function writeRow(
  sheetId: number,
  written: Pick<WrittenRow, 'at' | 'row' | 'requests'>,
  { header }: Pick<Grid, 'header'>,
): Request[] {
  const { at, row } = written;
  const requests: Request[] = [];
  for (let column = 0; column < header.length; column += 1) {
    const from = column;
    while (column < header.length && isNamed(row, header, column)) column += 1;
    const values = header.slice(from, column).map((name) => row[name]!);
    if (values.length > 0) requests.push(writeCells(sheetId, at, from, values));
  }
  for (const [column, name] of header.entries()) {
    const format = isNamed(row, header, column) ? formatOf(written, name) : undefined;
    if (format !== undefined) requests.push(formatCell(sheetId, at, column, format));
  }
  return requests;
}

/** Where a name stands twice, its first column is the one. */
function isNamed(row: SheetMessage['row'], header: readonly string[], column: number): boolean {
  const name = header[column]!;
  return Object.hasOwn(row, name) && header.indexOf(name) === column;
}

/** Where columns were deleted before a write, some of it landed beside the header. */
const columnsBeside = 4;

/** All of a tab as it is now, whatever it is called now; null where it is gone. `width`: how wide it was. */
export async function readWhole(
  sheet: Spreadsheet,
  { sheetId, width }: Pick<Tab, 'sheetId' | 'width'>,
  signal: AbortSignal,
): Promise<Answer<View | null>> {
  let minWidth = (width ?? 0) + columnsBeside;
  return lookUntilDone<View | null>(sheet, async () => {
    if (!tabWith(sheet, sheetId)) {
      const described = await describe(sheet, signal);
      if (!described.ok) return described;
    }
    const tab = tabWith(sheet, sheetId);
    if (!tab) return { ok: true, data: null };
    const failure = missingHeaderRow([tab]);
    if (failure) return { ok: false, failure };
    const want = { title: tab.title, names: [], whole: true, minWidth };
    const read = await readOnce(sheet, [want], [tab], signal);
    if (!read.ok) minWidth = 0;
    if (!read.ok) return read;
    const [{ grid, isEnough }] = read.data as [View & { isEnough: boolean }];
    if (!isEnough && tab.width !== null) return null;
    return { ok: true, data: { tab, grid: new Grid(grid.rows, headerRowOf(grid)) } };
  });
}

export const tabWith = ({ tabs }: Spreadsheet, sheetId: number): Tab | undefined =>
  [...tabs.values()].find((tab) => tab.sheetId === sheetId);

/** Somebody may have put rows above the header. */
function headerRowOf({ rows, headerRow }: Grid): number {
  const found = rows.findIndex((cells) => cells.some((cell) => String(cell).trim() === deliveryHeader));
  return found === -1 ? headerRow : found;
}

/** A part of a tab: its header, and the rows from `first` on that a range has; the header alone without one. */
export interface Part {
  readonly tab: Tab;
  readonly first: number;
  readonly range: string | null;
}

/** Parts of tabs under their headers, all read at the same moment. */
export async function readParts(
  sheet: Spreadsheet,
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<Answer<Grid[]>> {
  const ranges = parts.flatMap(({ tab, range }) => [headerRange(tab), ...(range === null ? [] : [range])]);
  const answer = await readRanges(sheet, ranges, signal);
  if (!answer.ok) return answer;
  const values = answer.data.values();
  const grids = parts.map((part) => {
    const [header = []] = values.next().value!;
    return gridOf(part, header, part.range === null ? [] : values.next().value!);
  });
  return { ok: true, data: grids };
}

/** Ranges as rows of what their cells hold, all read at the same moment. */
export async function readRanges(
  { call, spreadsheetId }: Spreadsheet,
  ranges: readonly string[],
  signal: AbortSignal,
): Promise<Answer<readonly (readonly Row[])[]>> {
  if (ranges.length === 0) return { ok: true, data: [] };
  // As people see it, a number may have separators or a currency.
  const query = { spreadsheetId, ranges: [...ranges], valueRenderOption: 'UNFORMATTED_VALUE' };
  const answer = await call<sheets_v4.Schema$BatchGetValuesResponse>(
    'read',
    (api, options) => api.values.batchGet(query, options),
    signal,
  );
  if (!answer.ok) return answer;
  const { valueRanges } = answer.data;
  // Empty cells leave no values, so only the ranges tell them from an answer that is not Google's.
  if (!Array.isArray(valueRanges) || valueRanges.length !== ranges.length) return foreign;
  if (!valueRanges.every(({ range }) => typeof range === 'string')) return foreign;
  return { ok: true, data: valueRanges.map(({ values }) => (values ?? []) as Row[]) };
}

const foreign = { ok: false, failure: { kind: 'foreign' } } as const;

/** All of these take effect, or none. */
export async function batchUpdate(
  { call, spreadsheetId }: Spreadsheet,
  requests: Request[],
  signal: AbortSignal,
): Promise<Answer<unknown>> {
  const answer = await call<sheets_v4.Schema$BatchUpdateSpreadsheetResponse>(
    'write',
    (api, options) => api.batchUpdate({ spreadsheetId, requestBody: { requests } }, options),
    signal,
  );
  return answer.ok && !Array.isArray(answer.data.replies) ? foreign : answer;
}

export interface Description {
  readonly title: string;
  readonly tabs: readonly Tab[];
  /** What the account may not edit, by the tab's sheetId. */
  readonly protections: ReadonlyMap<number, readonly sheets_v4.Schema$GridRange[]>;
}

/** The spreadsheet's title, and its tabs, which are remembered from then on. */
export async function describe(sheet: Spreadsheet, signal: AbortSignal): Promise<Answer<Description>> {
  const { call, spreadsheetId, headerRow, tabs: remembered } = sheet;
  const ofTab = 'properties(sheetId,title,gridProperties.rowCount)';
  const ofRange = 'protectedRanges(range,requestingUserCanEdit,warningOnly)';
  const fields = `properties(title,timeZone),sheets(${ofTab},${ofRange},merges)`;
  const answer = await call<sheets_v4.Schema$Spreadsheet>(
    'read',
    (api, options) => api.get({ spreadsheetId, fields }, options),
    signal,
  );
  if (!answer.ok) return answer;
  const { properties, sheets } = answer.data;
  if (!Array.isArray(sheets)) return foreign;
  const before = new Map([...remembered.values()].map((tab) => [tab.sheetId, tab]));
  const tabs = sheets.flatMap((one) => tabOf(one, before, headerRow));
  sheet.timeZone = knownZone(properties?.timeZone);
  remembered.clear();
  for (const tab of tabs) remembered.set(tab.title.toLowerCase(), tab);
  const protections = new Map(sheets.map((one) => [one.properties?.sheetId ?? 0, protectionsOf(one)]));
  return { ok: true, data: { title: properties?.title ?? spreadsheetId, tabs, protections } };
}

/** The requests with their times as the sheet counts them. Its time zone is read with its tabs, which are needed anyway. */
export async function withDates(
  sheet: Spreadsheet,
  requests: readonly RowRequest[],
): Promise<Answer<readonly RowRequest[]>> {
  if (!requests.some(hasDates)) return { ok: true, data: requests };
  const described = sheet.timeZone === undefined ? await describe(sheet, requests[0]!.signal) : null;
  if (described?.ok === false) return described;
  return { ok: true, data: requests.map((request) => dated(request, sheet.timeZone!)) };
}

const protectionsOf = ({ protectedRanges }: sheets_v4.Schema$Sheet) =>
  (protectedRanges ?? []).flatMap(({ range, requestingUserCanEdit, warningOnly }) =>
    requestingUserCanEdit || warningOnly ? [] : [range ?? {}],
  );

function tabOf(one: sheets_v4.Schema$Sheet, before: ReadonlyMap<number, Tab>, headerRow: number): Tab[] {
  // Protobuf leaves out what is 0 in some renderings, and the first tab's id is 0.
  const { sheetId = 0, title, gridProperties } = one.properties ?? {};
  if (!title) return [];
  const read = before.get(sheetId!) ?? unread;
  const rowCount = gridProperties?.rowCount ?? null;
  return [{ ...read, sheetId: sheetId!, title, headerRow, rowCount, merges: mergesOf(one, headerRow) }];
}

const unread = { width: null, deliveryColumn: -1, lastRow: null };

/** The sheet is not as it was when it was last read: a tab, a row or a column is gone. */
export const isOutdated = (failure: Failure): boolean =>
  says(failure, /exceeds grid limits/) || says(failure, missingTab);

const says = (failure: Failure, words: RegExp): boolean =>
  failure.kind === 'http' && failure.status === 400 && words.test(failure.error.message);

/** As the API would say it. */
const changedMeanwhile: Failure = {
  kind: 'http',
  status: 409,
  retryAfterMs: null,
  error: { status: 'ABORTED', message: 'The tab was changed by somebody else meanwhile', reason: '' },
};

const headerRange = ({ title, headerRow }: Pick<Tab, 'title' | 'headerRow'>) =>
  `${quoteTab(title)}!${headerRow + 1}:${headerRow + 1}`;

export const columnRange = ({ title }: Pick<Tab, 'title'>, column: number) =>
  `${quoteTab(title)}!${columnName(column)}:${columnName(column)}`;

/** All columns that had a header. */
export const tableRange = ({ title, width }: Pick<Tab, 'title' | 'width'>) =>
  `${quoteTab(title)}!A:${columnName((width ?? 1) - 1)}`;

/** Whole rows, both ends included. */
export const rowsRange = ({ title }: Pick<Tab, 'title'>, first: number, last: number) =>
  `${quoteTab(title)}!${first + 1}:${last + 1}`;

/** `A1:B2`, `A:B` or `1:2`; null for all of a tab. */
export function rangeName(range: sheets_v4.Schema$GridRange, rowCount: number): string | null {
  const { startColumnIndex, endColumnIndex, startRowIndex, endRowIndex } = range;
  const hasRows = typeof startRowIndex === 'number' || typeof endRowIndex === 'number';
  const hasColumns = typeof startColumnIndex === 'number' || typeof endColumnIndex === 'number';
  if (!hasRows && !hasColumns) return null;
  const column = (index: number) => (hasColumns ? columnName(index) : '');
  const row = (index: number) => (hasRows ? String(index) : '');
  const start = column(startColumnIndex ?? 0) + row((startRowIndex ?? 0) + 1);
  return `${start}:${column((endColumnIndex ?? maxColumns) - 1)}${row(endRowIndex ?? rowCount)}`;
}

/** As many as a tab may have. */
const maxColumns = 18_278;

/** `Results` or `Bob's tab` as ranges name it. */
function quoteTab(tab: string): string {
  return `'${tab.replaceAll("'", "''")}'`;
}

/** 0 is A, 26 is AA. */
function columnName(index: number): string {
  const letter = String.fromCodePoint(65 + (index % 26));
  return index < 26 ? letter : columnName(Math.floor(index / 26) - 1) + letter;
}

function rowRange(tab: string, row: number, first: number, last: number): string {
  return `${quoteTab(tab)}!${columnName(first)}${row + 1}:${columnName(Math.max(first, last))}${row + 1}`;
}
