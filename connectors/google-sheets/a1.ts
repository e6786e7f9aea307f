import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import type { Tab } from './spreadsheet.ts';

export const headerRange = ({ title, headerRow }: Pick<Tab, 'title' | 'headerRow'>) =>
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
export function quoteTab(tab: string): string {
  return `'${tab.replaceAll("'", "''")}'`;
}

/** 0 is A, 26 is AA. */
export function columnName(index: number): string {
  const letter = String.fromCodePoint(65 + (index % 26));
  return index < 26 ? letter : columnName(Math.floor(index / 26) - 1) + letter;
}

export function rowRange(tab: string, row: number, first: number, last: number): string {
  return `${quoteTab(tab)}!${columnName(first)}${row + 1}:${columnName(Math.max(first, last))}${row + 1}`;
}
