import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import type { Cell, Format } from './format.ts';
import { Grid } from './grid.ts';
import type { Fix } from './grid.ts';
import { formatOf } from './message.ts';
import type { Row, SheetMessage, WrittenRow } from './message.ts';
import type { Request, Table } from './spreadsheet.ts';

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
export function writeCells(sheetId: number, row: number, column: number, values: Row): Request {
  const start = { sheetId, rowIndex: row, columnIndex: column };
  return { updateCells: { start, rows: [{ values: values.map(cellData) }], fields: 'userEnteredValue' } };
}

/** Rows below a table's edge do not belong to it, but for those that are appended to the table itself. */
export function appendToTable(
  { id, left, right }: Table,
  { header }: Grid,
  rows: readonly SheetMessage['row'][],
): Request {
  const names = header.slice(left, right);
  const values = rows.map((row) => ({
    values: names.map((name, index) => cellData(isNamed(row, header, left + index) ? row[name]! : '')),
  }));
  return { appendCells: { tableId: id, rows: values, fields: 'userEnteredValue' } };
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
