import type { Document } from './document.ts';
import { boxOf, type Grid } from './grid.ts';
import type { Cell, CellFormat } from './grid.ts';
import { invalid, SheetsRefusal } from './refusal.ts';

/** A value of a cell. None of its kinds, or no value at all, empties the cell. */
interface CellData {
  readonly userEnteredValue?: {
    readonly stringValue?: string;
    readonly numberValue?: number;
    readonly boolValue?: boolean;
    readonly formulaValue?: string;
  };
  readonly userEnteredFormat?: CellFormat;
}

type Rows = readonly { readonly values?: readonly CellData[] }[];

interface DimensionRange {
  readonly sheetId?: number;
  readonly dimension?: string;
  readonly startIndex?: number;
  readonly endIndex?: number;
}

interface ClearedRange {
  readonly sheetId?: number;
  readonly startRowIndex: number;
  readonly startColumnIndex: number;
  readonly endColumnIndex: number;
}

/** The requests that the sandbox knows, with the fields that it reads. */
interface Request {
  readonly addSheet?: {
    readonly properties: {
      readonly sheetId: number;
      readonly title: string;
      readonly gridProperties?: { readonly rowCount?: number; readonly columnCount?: number };
    };
  };
  readonly insertDimension?: { readonly range: DimensionRange; readonly inheritFromBefore?: boolean };
  readonly updateCells?: {
    /** Columns to clear, from a row on. */
    readonly range?: ClearedRange;
    readonly start?: {
      readonly sheetId?: number;
      readonly rowIndex?: number;
      readonly columnIndex?: number;
    };
    readonly rows?: Rows;
    readonly fields?: string;
  };
  readonly appendCells?: {
    readonly sheetId?: number;
    readonly tableId?: string;
    readonly rows: Rows;
    readonly fields?: string;
  };
  readonly appendDimension?: {
    readonly sheetId: number;
    readonly dimension: string;
    readonly length: number;
  };
  readonly findReplace?: {
    readonly find: string;
    readonly replacement: string;
    readonly range: { readonly sheetId: number };
  };
}

type Reply = { readonly [kind: string]: unknown };

const maxCellLength = 50_000;

/** spreadsheets.batchUpdate: all requests take effect, or none. A refusal names the request that it is about. */
export function batchUpdate(document: Document, requests: readonly Request[] | undefined) {
  if (!requests?.length) throw invalid('Must specify at least one request.');
  const replies = document.wholly(() =>
    requests.map((request, index) => {
      try {
        const reply = carryOut(document, request);
        document.demandRoom();
        return reply;
      } catch (error) {
        if (!(error instanceof SheetsRefusal)) throw error;
        const kind = Object.keys(request).join();
        throw invalid(`Invalid requests[${index}].${kind}: ${error.message}`);
      }
    }),
  );
  return { spreadsheetId: document.id, replies };
}

function carryOut(document: Document, request: Request): Reply {
  if (request.addSheet) {
    const { sheetId, title, gridProperties } = request.addSheet.properties;
    document.addTab(sheetId, title, gridProperties ?? {});
    return { addSheet: { properties: { sheetId, title } } };
  }
  if (request.insertDimension) return insertDimension(document, request.insertDimension);
  if (request.updateCells) {
    const { range, start = {}, rows = [], fields } = request.updateCells;
    if (range) return clear(document, range, fieldsOf(fields));
    const [top, left] = [start.rowIndex ?? 0, start.columnIndex ?? 0];
    const tab = document.tabById(start.sheetId);
    const values = rows.map(({ values: cells = [] }) => cells);
    document.demandUnprotected(tab, boxOf(top, left, values));
    if (fieldsOf(fields).has(numberFormat)) tab.demandNoTypes(boxOf(top, left, values));
    updateCells(tab, { top, left, values }, fieldsOf(fields));
    return {};
  }
  if (request.appendCells) {
    const { sheetId, tableId, rows, fields } = request.appendCells;
    const values = entered(rows, fields);
    // Google looks for the grid also where a table is named; without an id it is the one with 0, and many sheets have none.
    const tab = document.tabById(sheetId);
    if (tableId !== undefined) {
      document.tabWithTable(tableId).appendToTable(tableId, values);
      return {};
    }
    const top = tab.lastRowWithData() + 1;
    document.demandUnprotected(tab, boxOf(top, 0, values));
    tab.rowCount = Math.max(tab.rowCount, top + rows.length);
    tab.update(top, 0, values);
    return {};
  }
  if (request.appendDimension) {
    const { sheetId, dimension, length } = request.appendDimension;
    const tab = document.tabById(sheetId);
    if (dimension === 'COLUMNS') tab.columnCount += length;
    else tab.rowCount += length;
    return {};
  }
  if (request.findReplace) {
    const { find, replacement, range } = request.findReplace;
    const tab = document.tabById(range.sheetId);
    document.demandUnprotected(tab, { top: 0, left: 0, bottom: 0, right: 0 });
    if (find !== replacement && tab.at(0, 0) === find) tab.write(0, 0, [[replacement]]);
    return { findReplace: {} };
  }
  throw invalid('Invalid JSON payload received. Unknown name.');
}

/** Its words are the API's, as nithinmurali/pygsheets#46 and #361 on GitHub quote them. */
function insertDimension(
  document: Document,
  { range, inheritFromBefore = false }: NonNullable<Request['insertDimension']>,
): Reply {
  const tab = document.tabById(range.sheetId);
  const { startIndex: start = 0, endIndex: end } = range;
  if (start < 0) throw invalid('DimensionRange indexes must be >= 0');
  if (end === undefined || end <= start) throw invalid('range.endIndex must be greater than startIndex');
  const size = range.dimension === 'COLUMNS' ? tab.columnCount : tab.rowCount;
  if (inheritFromBefore && start === 0) {
    throw invalid('inheritFromBefore cannot be true if range.startIndex is 0');
  }
  if (start > size) throw invalid(`range.startIndex is larger than current grid size (${size})`);
  if (start === size && !inheritFromBefore) {
    throw invalid(
      `range.startIndex must be less than the grid size (${size}) if inheritFromBefore is false.`,
    );
  }
  // Rows that are inserted into a protected range belong to it.
  document.demandUnprotected(
    tab,
    range.dimension === 'COLUMNS'
      ? { top: 0, bottom: tab.rowCount - 1, left: start, right: start }
      : { top: start, bottom: start, left: 0, right: tab.columnCount - 1 },
  );
  if (range.dimension === 'COLUMNS') tab.insertColumns(start, end - start, inheritFromBefore);
  else tab.insertRows(start, end - start, inheritFromBefore);
  return {};
}

const numberFormat = 'userEnteredFormat.numberFormat';
const link = 'userEnteredFormat.textFormat.link';
const validation = 'dataValidation';

/** Writes cells. `fields`: the parts of a cell that are written. */
function fieldsOf(fields: string | undefined): ReadonlySet<string> {
  if (!fields)
    throw invalid("At least one field must be listed in 'fields'. (Use '*' to indicate all fields.)");
  const names = fields.split(',');
  if (!names.every((name) => ['userEnteredValue', numberFormat, link, validation].includes(name))) {
    throw invalid(`The sandbox has no such fields: ${fields}`);
  }
  return new Set(names);
}

function entered(rows: Rows, fields: string | undefined): Cell[][] {
  if (String([...fieldsOf(fields)]) !== 'userEnteredValue') {
    throw invalid(`The sandbox appends no such fields: ${fields}`);
  }
  return rows.map(({ values = [] }) => values.map(enteredCell));
}

/** Formats a cell. A field that is named and has no value is cleared; other fields stay. */
function updateCells(
  tab: Grid,
  { top, left, values }: { top: number; left: number; values: readonly (readonly CellData[])[] },
  fields: ReadonlySet<string>,
): void {
  const cells = values.map((row, y) =>
    row.map((cell, x) => (fields.has('userEnteredValue') ? enteredCell(cell) : tab.at(top + y, left + x))),
  );
  tab.update(top, left, cells);
  for (const [y, row] of values.entries()) {
    for (const [x, { userEnteredFormat = {} }] of row.entries()) {
      demandFormat(userEnteredFormat);
      const { numberFormat: number, textFormat } = userEnteredFormat;
      const format = { ...tab.formatAt(top + y, left + x) };
      if (fields.has(numberFormat)) format.numberFormat = number;
      if (fields.has(link)) format.textFormat = textFormat;
      tab.format(top + y, left + x, format);
    }
  }
}

/** Clears the fields of a range's cells, as updateCells does where it has no rows. */
function clear(document: Document, range: ClearedRange, fields: ReadonlySet<string>): Reply {
  const { sheetId, startRowIndex: top, startColumnIndex: left, endColumnIndex: right } = range;
  const tab = document.tabById(sheetId);
  const { rowCount, columnCount } = tab;
  // Its words are the API's, as socialpoint-labs/sheetfu#53 on GitHub quotes them.
  if (top >= rowCount) {
    const limits = `Max rows: ${rowCount}, max columns: ${columnCount}`;
    throw invalid(`Range (${tab.title}!A${top + 1}) exceeds grid limits. ${limits}`);
  }
  const box = { top, left, bottom: rowCount - 1, right: right - 1 };
  document.demandUnprotected(tab, box);
  if (fields.has(numberFormat)) tab.demandNoTypes(box);
  for (let row = top; row < tab.rows.length; row += 1) {
    for (let column = left; column < right; column += 1) {
      if (fields.has('userEnteredValue') && tab.at(row, column) !== '') tab.write(row, column, [['']]);
      const format = { ...tab.formatAt(row, column) };
      if (fields.has(numberFormat)) delete format.numberFormat;
      if (fields.has(validation)) delete format.dataValidation;
      tab.format(row, column, format);
    }
  }
  return {};
}

/** https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets/cells#NumberFormatType */
const numberTypes = 'TEXT NUMBER PERCENT CURRENCY DATE TIME DATE_TIME SCIENTIFIC'.split(' ');

function demandFormat({ numberFormat: number, textFormat }: CellFormat): void {
  if (number && !numberTypes.includes(number.type)) {
    throw invalid(`Invalid value at 'number_format.type', "${number.type}"`);
  }
  const uri = textFormat?.link?.uri;
  if (uri !== undefined && !URL.canParse(uri)) throw invalid(`Invalid link uri: ${uri}`);
}

function enteredCell({ userEnteredValue = {} }: CellData): Cell {
  const kinds = Object.keys(userEnteredValue);
  if (kinds.length > 1) throw invalid(`Only one of ${kinds.join(', ')} can be set.`);
  const { stringValue, numberValue, boolValue, formulaValue } = userEnteredValue;
  if (formulaValue !== undefined) return '#FORMULA!';
  if (stringValue !== undefined && typeof stringValue !== 'string') throw invalid('stringValue is no text.');
  if ((stringValue?.length ?? 0) > maxCellLength) {
    throw invalid('Your input contains more than the maximum of 50000 characters in a single cell.');
  }
  return stringValue ?? numberValue ?? boolValue ?? '';
}
