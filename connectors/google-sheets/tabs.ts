import { randomInt } from 'node:crypto';
import { readRanges } from './client.ts';
import type { Answer, Failure } from './client.ts';
import {
  a1,
  batchUpdate,
  columnAfter,
  columnName,
  describe,
  emptyColumns,
  Grid,
  insert,
  lookUntilDone,
  placeOf,
  readParts,
  tableRange,
  tabWith,
  writeCells,
} from './spreadsheet.ts';
import type { Part, Request, Spreadsheet, Tab, View } from './spreadsheet.ts';
import { deliveryHeader, ulidOf } from './message.ts';
import type { Row, RowRequest } from './message.ts';
import { columnsInWords, says } from './outcomes.ts';

/** What has to be read of a tab before rows are written to it. */
export interface Wanted {
  readonly title: string;
  /** The columns that its header has to have. */
  readonly names: readonly string[];
  /** All rows are needed; otherwise only those from the last one with a delivery's id. */
  readonly whole: boolean;
  /** The least number of columns to read, where values may stand beside the header. */
  readonly minWidth?: number;
}

/** Columns are added so often. Columns that are still not there landed in merged cells, which the second time are known. */
const maxAdditions = 2;

/** Reads tabs, each with its header at the same moment, and makes those that are missing. `request`: one of the call's. */
export async function readTabs(
  sheet: Spreadsheet,
  wanted: readonly Wanted[],
  request: RowRequest,
): Promise<Answer<View[]>> {
  const { signal } = request;
  let additions = 0;
  return lookUntilDone(sheet, async (isFirst) => {
    const tabs = await findTabs(sheet, wanted, isFirst, request);
    if (!tabs?.ok) return tabs;
    const read = await readOnce(sheet, wanted, tabs.data, signal);
    if (!read.ok) return read;
    const lost = await lostHeader(sheet, read.data, wanted, signal);
    if (lost) return { ok: false, failure: lost };
    const columns = read.data.map((view, index) => newColumns(sheet, view, wanted[index]!.names));
    const lacking = tabs.data[columns.findIndex((requests) => requests.length > 0)];
    if (!lacking) return read.data.every(({ isEnough }) => isEnough) ? read : null;
    if (additions === maxAdditions) {
      const { title, headerRow } = lacking;
      const words = `The tab ${title}: its header in row ${headerRow + 1} takes no new columns, as cells are merged there. Unmerge them.`;
      return { ok: false, failure: { kind: 'header', tab: title, words } };
    }
    additions += 1;
    const added = await batchUpdate(sheet, columns.flat(), signal);
    if (!added.ok) return added;
    // Cells that somebody has merged meanwhile keep no names.
    const described = await describe(sheet, signal);
    return described.ok ? null : described;
  });
}

/** So long it is believed that a sheet without merged cells and tables has none yet. */
const trustedMs = 60_000;

/** The tabs, in the order in which they are wanted; null where some were made just now. */
async function findTabs(
  sheet: Spreadsheet,
  wanted: readonly Wanted[],
  isFirst: boolean,
  { earlier, signal }: RowRequest,
): Promise<Answer<Tab[]> | null> {
  const { tabs, written, madeAnew, headerRow } = sheet;
  const known = (title: string) => tabs.get(title.toLowerCase());
  const found = () => wanted.flatMap(({ title }) => known(title) ?? []);
  // Merged cells and tables move with rows and columns, and where they are is not read with the values.
  const isOld = performance.now() >= sheet.describedAt + trustedMs;
  const mayHaveMoved =
    isFirst &&
    (isOld || found().some(({ merges, tables, typed }) => merges.length + tables.length + typed.length > 0));
  if (found().length < wanted.length || missingHeaderRow(found()) || mayHaveMoved) {
    const described = await describe(sheet, signal);
    if (!described.ok) return described;
  }
  const failure = missingHeaderRow(found());
  if (failure) return { ok: false, failure };
  const missing = wanted.filter(({ title }) => !known(title));
  if (missing.length === 0) return { ok: true, data: found() };
  for (const { title } of missing) {
    const before = written.get(title.toLowerCase());
    if (before || (await wasThere(sheet, title, earlier))) {
      const words = whatBecame(title, before && (tabWith(sheet, before.sheetId) ?? null));
      madeAnew.set(title.toLowerCase(), words);
    }
  }
  const made = missing.map(({ title, names }): { tab: Tab; requests: Request[] } => {
    // Named by us, so that the header can be written in the same call: a tab is never there without it.
    const sheetId = randomInt(1, 2 ** 31 - 1);
    const [rowCount, columnCount] = [1000, Math.max(26, names.length)];
    const gridProperties = { columnCount, rowCount, frozenRowCount: headerRow + 1 };
    const [width, deliveryColumn] = [names.length, names.indexOf(deliveryHeader)];
    const place = { sheetId, title, rowCount, headerRow, merges: [], tables: [], typed: [] };
    return {
      tab: { ...place, width, deliveryColumn, lastRow: headerRow },
      requests: [
        { addSheet: { properties: { sheetId, title, gridProperties } } },
        writeCells(sheetId, headerRow, 0, names),
      ],
    };
  });
  const requests = made.flatMap((one) => one.requests);
  const answer = await batchUpdate(sheet, requests, signal);
  if (answer.ok) for (const { tab } of made) tabs.set(tab.title.toLowerCase(), tab);
  // Another replica may have made it at the same moment.
  return answer.ok || says(answer.failure, /already exists/) ? null : answer;
}

/** Whether rows were written to this tab, perhaps before a restart or by another replica. */
async function wasThere(
  { spreadsheetId }: Spreadsheet,
  title: string,
  earlier: RowRequest['earlier'],
): Promise<boolean> {
  const range = JSON.stringify(placeOf(title)).slice(0, -1);
  const receipt = await earlier(`"range":${range}`).catch(() => null);
  return receipt?.['spreadsheetId'] === spreadsheetId;
}

/** Says what became of a tab that was written to. `now`: the tab as it is now; null where it is gone; undefined where nobody knows. */
function whatBecame(title: string, now: Tab | null | undefined): string {
  if (now === null) return `Somebody deleted the tab ${title}, and a new one was made.`;
  return now
    ? `Somebody renamed the tab ${title} to ${now.title}, and a new one was made. ${howToUndo('rows')}`
    : `Somebody renamed or deleted the tab ${title}, and a new one was made. Look whether it has another name now. ${howToUndo('rows')}`;
}

/** Why one of these tabs can have no header: it is a chart, or ends above the header's row. Null if all can. */
export function missingHeaderRow(tabs: readonly Tab[]): Failure | null {
  const short = tabs.find(({ rowCount, headerRow }) => rowCount === null || rowCount <= headerRow);
  if (!short) return null;
  const { title, rowCount, headerRow } = short;
  const words =
    rowCount === null
      ? 'has no cells: it is a chart. Rename it, or give the action another tab.'
      : `has only ${rowCount} ${rowCount === 1 ? 'row' : 'rows'}, and its header should be in row ${headerRow + 1}. Add rows to it, or set headerRow.`;
  return { kind: 'header', tab: title, words: `The tab ${title} ${words}` };
}

/** A tab of so many rows or fewer is read whole where nothing is known of it yet. */
const smallTabRows = 5000;

/**
 * Reads each tab once: its header alone while that is not known, its Delivery column while its end is not, and else what is
 * wanted. `isEnough`: the tab was as remembered, so that the wanted rows were read.
 */
export async function readOnce(
  sheet: Spreadsheet,
  wanted: readonly Wanted[],
  tabs: readonly Tab[],
  signal: AbortSignal,
): Promise<Answer<(View & { readonly isEnough: boolean })[]>> {
  const isWhole = ({ lastRow, rowCount }: Tab, { whole }: Wanted) =>
    whole || (lastRow === null && rowCount !== null && rowCount <= smallTabRows);
  const parts = wanted.map((want, index): Part => {
    const tab = tabs[index]!;
    const { title, width, deliveryColumn, lastRow } = tab;
    if (width === null) return { tab, first: 0, range: null };
    if (isWhole(tab, want))
      return { tab, first: 0, range: tableRange({ ...tab, width: Math.max(width, want.minWidth ?? 0) }) };
    if (lastRow !== null)
      return { tab, first: lastRow, range: a1(title, `A${lastRow + 1}`, columnName(width - 1)) };
    const column = columnName(deliveryColumn);
    return { tab, first: 0, range: deliveryColumn === -1 ? null : a1(title, column, column) };
  });
  const read = await readParts(sheet, parts, signal);
  if (!read.ok) return read;
  const views = parts.map(({ tab, range, first }, index) => {
    const grid = read.data[index]!;
    const wasWhole = isWhole(tab, wanted[index]!);
    const before = { ...tab };
    const { headerRow } = tab;
    // Where a row is put above it, the header is not found; the width stays as it was then.
    tab.width = grid.header.length || before.width;
    tab.deliveryColumn = grid.column(deliveryHeader);
    const top = { tab, grid: new Grid(grid.rows.slice(0, headerRow + 1), headerRow), isEnough: false };
    if (range === null || before.width !== tab.width) return top;
    if (wasWhole) {
      tab.lastRow = Math.max(headerRow, grid.lastDelivery(tab.deliveryColumn));
      return { tab, grid, isEnough: true };
    }
    if (before.lastRow === null) {
      const isThatColumn = before.deliveryColumn === tab.deliveryColumn;
      tab.lastRow = isThatColumn ? Math.max(headerRow, grid.lastDelivery(0)) : null;
      return top;
    }
    // Somebody deleted rows, or moved them: the last one has to be found again.
    const isLast = first === headerRow || ulidOf(grid.at(first, tab.deliveryColumn)) !== undefined;
    if (!isLast) tab.lastRow = null;
    return { tab, grid, isEnough: isLast };
  });
  return { ok: true, data: views };
}

/** How people put right what was renamed and made anew: a name can stand there only once. */
const howToUndo = (what: 'rows' | 'cells'): string =>
  `Move the ${what} of the new one into the old one, delete the new one, and then give the old one its name back; or give the action its new name.`;

/** The requests that add missing columns, behind all others: there they write over nothing that somebody types meanwhile. */
function newColumns(
  { written, madeAnew }: Spreadsheet,
  { tab, grid }: View,
  wanted: readonly string[],
): Request[] {
  const { sheetId, headerRow, title } = tab;
  const names = wanted.filter((name) => grid.column(name) === -1);
  if (names.length === 0) return [];
  const before = written.get(title.toLowerCase());
  const gone = before?.sheetId === sheetId ? names.filter((name) => before.header.includes(name)) : [];
  if (gone.length > 0) {
    const words = `Somebody renamed or deleted ${columnsInWords(gone)} of the tab ${title}, and it was added anew behind the others. ${howToUndo('cells')}`;
    madeAnew.set(title.toLowerCase(), words);
  }
  const at = columnAfter(tab, grid.header.length);
  // A header in the tab's last row has nothing below it.
  const hasRows = at > 0 && tab.rowCount! > headerRow + 1;
  return [
    insert(sheetId, 'COLUMNS', at, names.length, at > 0),
    ...(hasRows ? [emptyColumns(tab, at, names.length)] : []),
    writeCells(sheetId, headerRow, at, names),
  ];
}

/** So many columns beside the header are read, where values land if columns were deleted before a write. */
const columnsBeside = 4;

/** Reads all of a tab, whatever its name is now; null where it is gone. `width`: the number of columns that it had. */
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
    if (!read.ok) {
      minWidth = 0;
      return read;
    }
    const [{ grid, isEnough }] = read.data as [View & { isEnough: boolean }];
    if (!isEnough && tab.width !== null) return null;
    // Somebody may have put rows above the header.
    const found = grid.rows.findIndex((cells) =>
      cells.some((cell) => String(cell).trim() === deliveryHeader),
    );
    return { ok: true, data: { tab, grid: new Grid(grid.rows, found === -1 ? grid.headerRow : found) } };
  });
}

/** A sentence for each of these columns that a header has more than once. */
export function twiceInHeader({ header }: Grid, names: readonly string[]): string[] {
  const twice = [...new Set(names)].filter((name) => header.indexOf(name) !== header.lastIndexOf(name));
  return twice.map((name) => `The header has more than one column ${name}: the first of them is written.`);
}

/** So many rows at the top are searched for a header that stands elsewhere. */
const rowsAtTop = 200;

/**
 * Why a tab without the column Delivery cannot be given a header; null where it can. Either it was never written to; or
 * people moved, removed or emptied its header, and a new one would stand above the wrong values.
 */
export async function lostHeader(
  sheet: Spreadsheet,
  views: readonly View[],
  wanted: readonly { readonly names: readonly string[] }[],
  signal: AbortSignal,
): Promise<Failure | null> {
  const suspects = views.flatMap(({ tab, grid }, index) =>
    grid.column(deliveryHeader) === -1 ? [{ tab, names: wanted[index]!.names }] : [],
  );
  const ranges = suspects.map(({ tab }) => [a1(tab.title, 1, Math.min(rowsAtTop, tab.rowCount ?? 1))]);
  const read = await readRanges(sheet, ranges, signal);
  if (!read.ok) return read.failure;
  for (const [index, { tab, names }] of suspects.entries()) {
    const { rows, header, headerRow } = new Grid(read.data[index]!, tab.headerRow);
    const fail = (words: string): Failure => {
      return { kind: 'header', tab: tab.title, words: `The tab ${tab.title}: ${words}` };
    };
    const own = `row ${headerRow + 1}`;
    const at = rows.findIndex((cells: Row) => {
      const there = new Set(cells.map((cell) => String(cell).trim()));
      return there.has(deliveryHeader) && names.some((name) => name !== deliveryHeader && there.has(name));
    });
    if (at !== -1)
      return fail(
        `its header stands in row ${at + 1}, and should in ${own}. Move it there, or set headerRow to ${at + 1} if all tabs of the sink are so.`,
      );
    if (header.some((name) => ulidOf(name) !== undefined))
      return fail(
        `${own} has no header but values. Insert a row there with the names of the columns, ${deliveryHeader} among them.`,
      );
    const isEmpty = header.every((name) => name === '');
    if (isEmpty && rows.some((cells, row) => row > headerRow && cells.some((cell) => cell !== '')))
      return fail(
        `${own}, where its header should be, is empty, and there are values below it. Fill in the names of the columns there, or set headerRow.`,
      );
  }
  return null;
}
