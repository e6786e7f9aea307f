import type { Document } from './document.ts';
import type { Cell } from './grid.ts';
import { invalid } from './refusal.ts';

/** The kinds of request that the sandbox knows, with what it reads of them. */
interface Request {
  readonly addSheet?: {
    readonly properties: {
      readonly sheetId: number;
      readonly title: string;
      readonly gridProperties?: { readonly rowCount?: number; readonly columnCount?: number };
    };
  };
  readonly updateCells?: {
    readonly start: { readonly sheetId: number; readonly rowIndex: number; readonly columnIndex: number };
    readonly rows: readonly {
      readonly values: readonly { readonly userEnteredValue: { readonly stringValue: string } }[];
    }[];
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

/** spreadsheets.batchUpdate: all requests take effect, or none. */
export function batchUpdate(document: Document, requests: readonly Request[] | undefined) {
  if (!requests?.length) throw invalid('Must specify at least one request.');
  const replies = document.wholly(() => requests.map((request) => carryOut(document, request)));
  return { spreadsheetId: document.id, replies };
}

function carryOut(document: Document, request: Request): Reply {
  if (request.addSheet) {
    const { sheetId, title, gridProperties } = request.addSheet.properties;
    document.addTab(sheetId, title, gridProperties ?? {});
    return { addSheet: { properties: { sheetId, title } } };
  }
  if (request.updateCells) {
    const { start, rows } = request.updateCells;
    const tab = document.tabById(start.sheetId);
    document.demandUnprotected(tab);
    tab.write(
      start.rowIndex,
      start.columnIndex,
      rows.map(({ values }) => values.map(({ userEnteredValue }): Cell => userEnteredValue.stringValue)),
    );
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
    if (find !== replacement && tab.at(0, 0) === find) tab.write(0, 0, [[replacement]]);
    return { findReplace: {} };
  }
  throw invalid(
    `Invalid JSON payload received. Unknown name "${Object.keys(request).join()}" at 'requests[0]'`,
  );
}
