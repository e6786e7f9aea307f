import { printRange } from './a1.ts';
import type { Document } from './document.ts';
import { boxOf } from './grid.ts';
import type { Cell, Grid } from './grid.ts';
import { invalid } from './refusal.ts';

export interface ValueRange {
  readonly range?: string;
  readonly majorDimension?: string;
  readonly values?: readonly (readonly unknown[])[];
}

const maxCellLength = 50_000;

/** spreadsheets.values.get */
export function getValues(document: Document, text: string, query: URLSearchParams) {
  const { tab, range } = document.locate(text);
  const rows = tab
    .read(range)
    .map((row) =>
      row.map((cell) => (query.get('valueRenderOption') === 'UNFORMATTED_VALUE' ? cell : shownCell(cell))),
    );
  const byColumn = query.get('majorDimension') === 'COLUMNS';
  const values = byColumn ? transposed(rows) : rows;
  const bottom = Math.min(range.bottom, tab.rowCount - 1);
  const right = Math.min(range.right, tab.columnCount - 1);
  return {
    range: printRange(tab.title, range.top, range.left, bottom, right),
    majorDimension: byColumn ? 'COLUMNS' : 'ROWS',
    ...(values.length > 0 && { values }),
  };
}

/** spreadsheets.values.update */
export function updateValues(document: Document, text: string, option: string | null, body: ValueRange) {
  const { tab, range } = document.locate(text);
  const values = entered(body.values ?? [], option);
  document.demandUnprotected(tab, boxOf(range.top, range.left, values));
  tab.write(range.top, range.left, values);
  return updated(document, tab, range.top, range.left, values);
}

/** spreadsheets.values.append */
export function appendValues(document: Document, text: string, query: URLSearchParams, body: ValueRange) {
  const { tab, range } = document.locate(text);
  const values = entered(body.values ?? [], query.get('valueInputOption'));
  const { row, column } = tab.appendStart(range);
  document.demandUnprotected(tab, boxOf(row, column, values));
  if (query.get('insertDataOption') === 'INSERT_ROWS') tab.insertRows(row, values.length);
  tab.write(row, column, values);
  return { spreadsheetId: document.id, updates: updated(document, tab, row, column, values) };
}

function updated(document: Document, tab: Grid, top: number, left: number, values: readonly unknown[][]) {
  const width = Math.max(...values.map((row) => row.length));
  return {
    spreadsheetId: document.id,
    updatedRange: printRange(tab.title, top, left, top + values.length - 1, left + width - 1),
    updatedRows: values.length,
    updatedColumns: width,
    updatedCells: values.reduce((sum, row) => sum + row.length, 0),
  };
}

/** The cell of a value. RAW keeps it; USER_ENTERED reads it as if it was typed, and that is how formulas get in. */
function entered(values: readonly (readonly unknown[])[], option: string | null): (Cell | null)[][] {
  if (option !== 'RAW' && option !== 'USER_ENTERED')
    throw invalid("'valueInputOption' is required but not specified");
  return values.map((row) => row.map((cell) => enteredCell(cell, option)));
}

function enteredCell(value: unknown, option: string): Cell | null {
  if (value === null) return null;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    throw invalid(`Invalid values[0][0]: ${Array.isArray(value) ? 'list_value' : 'struct_value'}`);
  }
  if (typeof value === 'string' && value.length > maxCellLength) {
    throw invalid('Your input contains more than the maximum of 50000 characters in a single cell.');
  }
  if (option === 'RAW' || typeof value !== 'string') return value;
  return /^[=+]/.test(value) ? '#FORMULA!' : value;
}

function shownCell(cell: Cell): string {
  return typeof cell === 'boolean' ? String(cell).toUpperCase() : String(cell);
}

function transposed<Item>(rows: readonly (readonly Item[])[]): (Item | '')[][] {
  const width = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: width }, (_, column) => rows.map((row) => row[column] ?? ''));
}
