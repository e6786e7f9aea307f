import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import type { Receipt } from '../../src/model/outcomes.ts';
import { foreign, readRanges } from './client.ts';
import type { Answer, Call } from './client.ts';
import { knownZone, ulidOf } from './message.ts';
import type { Cell, Format, Row } from './message.ts';
import { isOutdated } from './outcomes.ts';

/** A spreadsheet that can be called. Rows and columns count from 0 everywhere; only A1 notation counts from 1. */
export interface Spreadsheet {
  readonly spreadsheetId: string;
  /** The service account's address. */
  readonly account: string;
  /** The row of the header in each tab. */
  readonly headerRow: number;
  readonly call: Call;
  /** The tabs as they were last seen, by title in lower case. They only say where to look. */
  readonly tabs: Map<string, Tab>;
  /** The tabs as rows were last written to them, by title in lower case. They tell what somebody has changed since. */
  readonly written: Map<string, { readonly sheetId: number; readonly header: readonly string[] }>;
  /** Sentences about what was made anew, which the next delivery tells, by the tab's title in lower case. */
  readonly madeAnew: Map<string, string>;
  /** The time zone when the tabs were last read. */
  timeZone: string;
  /** When the tabs were last read, on the monotonic clock (ms). */
  describedAt: number;
}

export interface Tab {
  readonly sheetId: number;
  readonly title: string;
  /** Null for a tab without cells, such as a chart. */
  readonly rowCount: number | null;
  readonly headerRow: number;
  /** The merged cells, but for those above the header. Only the first cell of a merge keeps what is written to it. */
  readonly merges: readonly Box[];
  /** The tables (menu Format, "Convert to table") that have this header. */
  readonly tables: readonly (Box & { readonly id: string; readonly hasFooter: boolean })[];
  /** The columns that have a type in a table of any header. It decides their format, and Google takes no other. */
  readonly typed: readonly { readonly column: number; readonly box: Box }[];
  /** The number of columns of its header; null while that is not known. */
  width: number | null;
  /** The column of the deliveries' ids, and the last row with one. */
  deliveryColumn: number;
  lastRow: number | null;
}

/** `right`, `bottom`: the first column to the right of it, and the first row below it. */
interface Box {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
}

export type Request = sheets_v4.Schema$Request;

/** A range of a tab, both ends included: `'Results'!A2:C2`. */
export const a1 = (title: string, from: string | number, to: string | number): string =>
  `${placeOf(title)}${from}:${to}`;

/** The beginning of all ranges of a tab. */
export const placeOf = (title: string): string => `'${title.replaceAll("'", "''")}'!`;

/** 0 is A, 26 is AA. */
export function columnName(index: number): string {
  const letter = String.fromCodePoint(65 + (index % 26));
  return index < 26 ? letter : columnName(Math.floor(index / 26) - 1) + letter;
}

/** The range of all columns with a header. */
export const tableRange = ({ title, width }: Tab): string => a1(title, 'A', columnName((width ?? 1) - 1));

/** To make a tab and to find its end takes several looks, and people may change it meanwhile. */
const maxLooks = 8;

/** Looks again as long as a look gives null, or finds that the sheet was changed since it was last read. */
export async function lookUntilDone<Data>(
  { tabs }: Spreadsheet,
  look: (isFirst: boolean) => Promise<Answer<Data> | null>,
): Promise<Answer<Data>> {
  for (let looks = 0; looks < maxLooks; looks += 1) {
    const answer = await look(looks === 0);
    if (answer?.ok || (answer && !isOutdated(answer.failure))) return answer;
    if (answer) tabs.clear();
  }
  // As the API would say it.
  const message = 'The tab was changed by somebody else meanwhile';
  const error = { status: 'ABORTED', message, reason: '' };
  return { ok: false, failure: { kind: 'http', status: 409, retryAfterMs: null, error } };
}

export const tabWith = ({ tabs }: Spreadsheet, sheetId: number): Tab | undefined =>
  [...tabs.values()].find((tab) => tab.sheetId === sheetId);

/** Makes changes. All of them take effect, or none. */
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

/** A cell to put right. */
export interface Fix {
  readonly row: number;
  readonly column: number;
  readonly value: Cell;
  readonly format?: Format | undefined;
}

/** The cells of a tab at one moment. Cells that were not read look empty. */
export class Grid {
  readonly rows: readonly Row[];
  readonly headerRow: number;
  readonly header: readonly string[];
  readonly #indexes = new Map<string, ReadonlyMap<string, readonly number[]>>();

  constructor(rows: readonly Row[], headerRow = 0) {
    this.rows = rows;
    this.headerRow = headerRow;
    this.header = (rows[headerRow] ?? []).map((name) => String(name).trim());
  }

  at(row: number, column: number): Cell {
    return this.rows[row]?.[column] ?? '';
  }

  /** An empty cell where there is no such column. */
  cell(row: number, name: string): Cell {
    return this.at(row, this.column(name));
  }

  column(name: string): number {
    return name === '' ? -1 : this.header.indexOf(name);
  }

  /** The last row with a delivery's id in a column; -1 where none has. What people have below the table may stand in it, too. */
  lastDelivery(column: number): number {
    return this.rows.findLastIndex((row) => ulidOf(row[column]) !== undefined);
  }

  /** The first row of each value of a column. */
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

  /** A copy with some cells changed. */
  with(cells: readonly Fix[]): Grid {
    const rows = this.rows.map((row) => [...row]);
    for (const { row, column, value } of cells) {
      while (rows[row]!.length < column) rows[row]!.push('');
      rows[row]![column] = value;
    }
    return new Grid(rows, this.headerRow);
  }

  /** The receipt of a row: its place. */
  receiptOf({ spreadsheetId }: Spreadsheet, { title }: Tab, row: number): Receipt {
    const first = Math.max(
      0,
      this.header.findIndex((name) => name !== ''),
    );
    const last = Math.max(first, this.header.length - 1);
    const range = a1(title, `${columnName(first)}${row + 1}`, `${columnName(last)}${row + 1}`);
    return { spreadsheetId, range };
  }
}

export interface View {
  readonly tab: Tab;
  readonly grid: Grid;
}

/** A part of a tab to read: its header, and a range, whose first row is `first`. */
export interface Part {
  readonly tab: Tab;
  readonly first: number;
  readonly range: string | null;
}

/** Reads parts of tabs, each with its header at the same moment. */
export async function readParts(
  sheet: Spreadsheet,
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<Answer<Grid[]>> {
  const ranges = parts.map(({ tab: { title, headerRow }, range }) => [
    a1(title, headerRow + 1, headerRow + 1),
    ...(range === null ? [] : [range]),
  ]);
  const answer = await readRanges(sheet, ranges, signal);
  if (!answer.ok) return answer;
  const values = answer.data.values();
  const grids = parts.map(({ tab: { headerRow }, first, range }) => {
    const [header = []] = values.next().value!;
    const read = range === null ? [] : values.next().value!;
    const length = Math.max(first + read.length, headerRow + 1);
    const rows = Array.from({ length }, (_, row) => read[row - first] ?? []);
    return new Grid(rows.with(headerRow, header), headerRow);
  });
  return { ok: true, data: grids };
}

export interface Description {
  readonly title: string;
  readonly tabs: readonly Tab[];
  /** The ranges that the account may not edit, by the tab's sheetId. */
  readonly protections: ReadonlyMap<number, readonly sheets_v4.Schema$GridRange[]>;
}

/** Reads the spreadsheet's title and tabs. The tabs are remembered. */
export async function describe(sheet: Spreadsheet, signal: AbortSignal): Promise<Answer<Description>> {
  const { call, spreadsheetId, headerRow, tabs: remembered } = sheet;
  const ofTab = 'properties(sheetId,title,gridProperties.rowCount)';
  const ofRange = 'protectedRanges(range,requestingUserCanEdit,warningOnly)';
  const ofTable =
    'tables(tableId,range,rowsProperties.footerColorStyle,columnProperties(columnIndex,columnType))';
  const fields = `properties(title,timeZone),sheets(${ofTab},${ofRange},merges,${ofTable})`;
  const answer = await call<sheets_v4.Schema$Spreadsheet>(
    'read',
    (api, options) => api.get({ spreadsheetId, fields }, options),
    signal,
  );
  if (!answer.ok) return answer;
  const { properties, sheets } = answer.data;
  if (!Array.isArray(sheets)) return foreign;
  const before = new Map([...remembered.values()].map((tab) => [tab.sheetId, tab]));
  const protections = new Map<number, sheets_v4.Schema$GridRange[]>();
  const tabs = sheets.flatMap((one): Tab[] => {
    // Protobuf leaves out what is 0 in some renderings, and the first tab's id is 0.
    const sheetId = one.properties?.sheetId ?? 0;
    const { title, gridProperties } = one.properties ?? {};
    const locked = one.protectedRanges?.filter((each) => !each.requestingUserCanEdit && !each.warningOnly);
    protections.set(sheetId, locked?.map(({ range }) => range ?? {}) ?? []);
    if (!title) return [];
    const merges = (one.merges ?? []).map(boxOf).filter(({ bottom }) => bottom > headerRow);
    const tables = (one.tables ?? []).flatMap(({ tableId: id, range = {}, rowsProperties }) => {
      const box = boxOf(range);
      const hasFooter = rowsProperties?.footerColorStyle !== undefined;
      return id && box.top === headerRow && box.bottom > 0 && box.right > 0
        ? [{ id, ...box, hasFooter }]
        : [];
    });
    const typed = (one.tables ?? []).flatMap(({ range = {}, columnProperties = [] }) => {
      const box = boxOf(range);
      return columnProperties
        .filter(({ columnType: type }) => type && type !== 'COLUMN_TYPE_UNSPECIFIED')
        .map(({ columnIndex }) => ({ column: box.left + (columnIndex ?? 0), box }));
    });
    const rowCount = gridProperties?.rowCount ?? null;
    const known = before.get(sheetId) ?? unread;
    return [{ ...known, sheetId, title, headerRow, rowCount, merges, tables, typed }];
  });
  sheet.timeZone = knownZone(properties?.timeZone);
  sheet.describedAt = performance.now();
  remembered.clear();
  for (const tab of tabs) remembered.set(tab.title.toLowerCase(), tab);
  return { ok: true, data: { title: properties?.title ?? spreadsheetId, tabs, protections } };
}

const boxOf = (range: sheets_v4.Schema$GridRange): Box => ({
  top: range.startRowIndex ?? 0,
  left: range.startColumnIndex ?? 0,
  bottom: range.endRowIndex ?? 0,
  right: range.endColumnIndex ?? 0,
});

const unread = { width: null, deliveryColumn: -1, lastRow: null };

/** The first row from `row` on before which one can be inserted: not between merged cells of a table so wide. */
export const rowAfter = ({ merges }: Tab, row: number, width: number): number =>
  firstAfter(
    merges.flatMap(({ top, bottom, left }) => (left < width ? [[top, bottom]] : [])),
    row,
  );

/** The first column from `column` on before which one can be inserted: not between merged cells of the header. */
export const columnAfter = ({ merges, headerRow }: Tab, column: number): number =>
  firstAfter(
    merges.flatMap(({ top, bottom, left, right }) =>
      top <= headerRow && headerRow < bottom ? [[left, right]] : [],
    ),
    column,
  );

function firstAfter(stretches: readonly (readonly number[])[], index: number): number {
  const across = stretches.find(([from, to]) => from! < index && index < to!);
  return across ? firstAfter(stretches, across[1]!) : index;
}

/** The request that inserts rows or columns, like those before or behind. At the end of a grid there is nothing behind. */
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

/**
 * The request that empties inserted columns below the header: they have the number formats and the rules of the column before
 * them, and its boxes, unticked (measured: byronbroughten/sheets-framework on GitHub, docs/testing.md). Values would be shown as
 * dates, or as not allowed, and rows would go below all boxes.
 */
export function emptyColumns({ sheetId, headerRow }: Tab, at: number, count: number): Request {
  const range = {
    sheetId,
    startRowIndex: headerRow + 1,
    startColumnIndex: at,
    endColumnIndex: at + count,
  };
  const fields = 'userEnteredValue,dataValidation,userEnteredFormat.numberFormat';
  return { updateCells: { range, fields } };
}

/** The request that writes values side by side. They are literal: text that begins with = stays text. '' empties a cell. */
export function writeCells(sheetId: number, rowIndex: number, columnIndex: number, values: Row): Request {
  const start = { sheetId, rowIndex, columnIndex };
  return { updateCells: { start, rows: [{ values: values.map(cellData) }], fields: 'userEnteredValue' } };
}

function cellData(value: Cell): sheets_v4.Schema$CellData {
  if (value === '') return {};
  if (typeof value === 'number') return { userEnteredValue: { numberValue: value } };
  if (typeof value === 'boolean') return { userEnteredValue: { boolValue: value } };
  return { userEnteredValue: { stringValue: value } };
}

/**
 * The requests that format a cell. A field that is named in `fields` and has no value is cleared. `place`: its row before the
 * call, or where rows are inserted for it.
 */
export function formatCell(
  { sheetId, headerRow, typed }: Tab,
  rowIndex: number,
  columnIndex: number,
  format: Format | undefined,
  place: number,
): Request[] {
  if (format === undefined) return [];
  const isTyped = typed.some(({ column, box: { top, bottom } }) => {
    return column === columnIndex && (top <= headerRow || (top < place && place < bottom));
  });
  const number = isTyped ? [] : ['userEnteredFormat.numberFormat'];
  const link = ['userEnteredFormat.textFormat.link'];
  const [userEnteredFormat, named] =
    format === 'plain'
      ? [{}, [...number, ...link]]
      : format === 'date'
        ? [{ numberFormat: { type: 'DATE_TIME' } }, number]
        : [format.uri === null ? {} : { textFormat: { link: { uri: format.uri } } }, link];
  if (named.length === 0) return [];
  const fields = named.join(',');
  const start = { sheetId, rowIndex, columnIndex };
  return [{ updateCells: { start, rows: [{ values: [{ userEnteredFormat }] }], fields } }];
}
