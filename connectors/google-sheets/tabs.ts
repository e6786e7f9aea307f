import { randomInt } from 'node:crypto';
import { columnName, columnRange, quoteTab, tableRange } from './a1.ts';
import type { Answer } from './client.ts';
import { Grid, lastFilled, readParts } from './grid.ts';
import type { Part, View } from './grid.ts';
import { lostHeader, mergedHeader, missingHeaderRow } from './header.ts';
import { columnAfter } from './merges.ts';
import { deliveryHeader } from './message.ts';
import { columnsInWords } from './outcomes.ts';
import { insert, writeCells } from './requests.ts';
import { batchUpdate, describe, lookUntilDone, says, tabWith } from './spreadsheet.ts';
import type { Request, Spreadsheet, Tab } from './spreadsheet.ts';

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
    const columns = read.data.map((view, index) => newColumns(sheet, view, wanted[index]!));
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

/** Reads again what tabs there are; null where that worked. */
async function refresh(sheet: Spreadsheet, signal: AbortSignal) {
  const described = await describe(sheet, signal);
  return described.ok ? null : described;
}

/** The tabs in the order in which they are wanted; null where some were made just now. */
async function findTabs(
  sheet: Spreadsheet,
  wanted: readonly Wanted[],
  isFirst: boolean,
  signal: AbortSignal,
): Promise<Answer<Tab[]> | null> {
  const tabs = () => wanted.flatMap(({ title }) => known(sheet, title) ?? []);
  // Merged cells and tables move with rows and columns, and where they are is not read with the values.
  const mayHaveMoved = isFirst && tabs().some(({ merges, tables }) => merges.length + tables.length > 0);
  if (tabs().length < wanted.length || missingHeaderRow(tabs()) || mayHaveMoved) {
    const described = await describe(sheet, signal);
    if (!described.ok) return described;
  }
  const failure = missingHeaderRow(tabs());
  if (failure) return { ok: false, failure };
  const missing = wanted.filter(({ title }) => !known(sheet, title));
  if (missing.length === 0) return { ok: true, data: tabs() };
  for (const { title } of missing) noteMissingTab(sheet, title);
  const made = missing.map((one) => newTab(one, sheet.headerRow));
  const requests = made.flatMap((one) => one.requests);
  const answer = await batchUpdate(sheet, requests, signal);
  if (answer.ok) for (const { tab } of made) sheet.tabs.set(tab.title.toLowerCase(), tab);
  // Another replica may have made it at the same moment.
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
    tab: { sheetId, title, rowCount: defaultRows, headerRow, merges: [], tables: [], ...header },
    requests: [{ addSheet }, writeCells(sheetId, headerRow, 0, names)],
  };
}

/** Columns of our own behind all others: whatever somebody types meanwhile is not written over. */
function newColumns(sheet: Spreadsheet, { tab, grid }: View, wanted: Wanted): Request[] {
  const { sheetId, headerRow, merges } = tab;
  const names = wanted.names.filter((name) => grid.column(name) === -1);
  noteMissingColumns(sheet, tab, names);
  const at = columnAfter(merges, grid.header.length, headerRow);
  if (names.length === 0) return [];
  return [insert(sheetId, 'COLUMNS', at, names.length, at > 0), writeCells(sheetId, headerRow, at, names)];
}

function noteMissingTab({ written, madeAnew, tabs }: Spreadsheet, title: string): void {
  const before = written.get(title.toLowerCase());
  if (!before) return;
  const renamed = [...tabs.values()].find(({ sheetId }) => sheetId === before.sheetId);
  const words = renamed
    ? `Somebody renamed the tab ${title} to ${renamed.title}, and a new one was made. Rename it back and move the rows of the new one, or give the action its new name.`
    : `Somebody deleted the tab ${title}, and a new one was made.`;
  madeAnew.set(title.toLowerCase(), words);
}

function noteMissingColumns({ written, madeAnew }: Spreadsheet, tab: Tab, names: readonly string[]): void {
  const title = tab.title.toLowerCase();
  const before = written.get(title);
  const gone = before?.sheetId === tab.sheetId ? names.filter((name) => before.header.includes(name)) : [];
  if (gone.length === 0) return;
  const words = `Somebody renamed or deleted ${columnsInWords(gone)} of the tab ${tab.title}, and it was added anew behind the others. Rename it back, or give the action its new name.`;
  madeAnew.set(title, words);
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

/** Somebody may have put rows above the header. */
function headerRowOf({ rows, headerRow }: Grid): number {
  const found = rows.findIndex((cells) => cells.some((cell) => String(cell).trim() === deliveryHeader));
  return found === -1 ? headerRow : found;
}
