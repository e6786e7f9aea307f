import type { ToolRequest } from '../http-tool.ts';
import { batchUpdate } from './batch-update.ts';
import type { Document } from './document.ts';
import type { Box } from './grid.ts';
import { appendValues, getValues, updateValues } from './values.ts';
import type { ValueRange } from './values.ts';

/** A call of the API. */
export interface Route {
  readonly name: string;
  readonly writes: boolean;
  readonly spreadsheetId: string;
  readonly carryOut: (document: Document, request: ToolRequest) => unknown;
}

interface Endpoint {
  readonly name: string;
  readonly method: string;
  readonly path: RegExp;
  readonly writes: boolean;
  readonly carryOut: (document: Document, request: ToolRequest, range: string) => unknown;
}

/** spreadsheets.get, with those of a sheet's lists that `fields` names. */
function describe({ id, title, timeZone, tabs, protections }: Document, { url }: ToolRequest) {
  const fields = url.searchParams.get('fields');
  const isWanted = (name: string) => fields === null || fields.includes(name);
  // https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets/sheets#SheetProperties: the grid's
  // properties are left out for a sheet that is an object, such as a chart.
  const sheets = tabs.map(
    ({ sheetId, title: name, rowCount, columnCount, isChart, merges, tables }, index) => ({
      properties: {
        sheetId,
        title: name,
        index,
        sheetType: isChart ? 'OBJECT' : 'GRID',
        ...(!isChart && { gridProperties: { rowCount, columnCount } }),
      },
      // https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets/sheets#ProtectedRange: whoever may
      // not edit the range does not see its editors, and what is false is left out.
      ...(isWanted('protectedRanges') && {
        protectedRanges: protections.flatMap(({ tab, range }, protectedRangeId) =>
          tab === name ? [{ protectedRangeId, range: { sheetId, ...range } }] : [],
        ),
      }),
      // Lists that are empty are left out, too.
      ...(isWanted('tables') &&
        tables.length > 0 && {
          tables: tables.map(({ id: tableId, box, hasFooter, types = {} }) => ({
            tableId,
            range: gridRange(sheetId, box),
            // https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets/sheets#TableColumnProperties
            columnProperties: Array.from({ length: box.right - box.left + 1 }, (_, columnIndex) => {
              const columnType = types[box.left + columnIndex];
              return { ...(columnIndex > 0 && { columnIndex }), ...(columnType && { columnType }) };
            }),
            rowsProperties: hasFooter ? { footerColorStyle: {} } : {},
          })),
        }),
      ...(isWanted('merges') &&
        merges.length > 0 && { merges: merges.map((box) => gridRange(sheetId, box)) }),
    }),
  );
  return { spreadsheetId: id, properties: { title, timeZone }, sheets };
}

const gridRange = (sheetId: number, { top, left, bottom, right }: Box) => ({
  sheetId,
  startRowIndex: top,
  endRowIndex: bottom + 1,
  startColumnIndex: left,
  endColumnIndex: right + 1,
});

const endpoints: readonly Endpoint[] = [
  { name: 'token', method: 'POST', path: /^\/token$/, writes: false, carryOut: () => null },
  { name: 'sts', method: 'POST', path: /^\/v1\/token$/, writes: false, carryOut: () => null },
  {
    name: 'metadata',
    method: 'GET',
    path: /^\/computeMetadata\/v1\/instance\/service-accounts\/default\/token$/,
    writes: false,
    carryOut: () => null,
  },
  {
    name: 'generateAccessToken',
    method: 'POST',
    path: /^\/v1\/projects\/-\/serviceAccounts\/[^/]+:generateAccessToken$/,
    writes: false,
    carryOut: () => null,
  },
  {
    name: 'spreadsheets.get',
    method: 'GET',
    path: /^\/v4\/spreadsheets\/([^/:]+)$/,
    writes: false,
    carryOut: describe,
  },
  {
    name: 'spreadsheets.batchUpdate',
    method: 'POST',
    path: /^\/v4\/spreadsheets\/([^/:]+):batchUpdate$/,
    writes: true,
    carryOut: (document, { body }) =>
      batchUpdate(document, (JSON.parse(body) as { requests?: Parameters<typeof batchUpdate>[1] }).requests),
  },
  {
    name: 'values.append',
    method: 'POST',
    path: /^\/v4\/spreadsheets\/([^/:]+)\/values\/([^/]+):append$/,
    writes: true,
    carryOut: (document, { url, body }, range) =>
      appendValues(document, range, url.searchParams, JSON.parse(body) as ValueRange),
  },
  {
    name: 'values.batchUpdate',
    method: 'POST',
    path: /^\/v4\/spreadsheets\/([^/:]+)\/values:batchUpdate$/,
    writes: true,
    carryOut: (document, { body }) => {
      const { valueInputOption = null, data } = JSON.parse(body) as {
        valueInputOption?: string;
        data: readonly (ValueRange & { readonly range: string })[];
      };
      const responses = document.wholly(() =>
        data.map((part) => updateValues(document, part.range, valueInputOption, part)),
      );
      const totalUpdatedCells = responses.reduce((sum, { updatedCells }) => sum + updatedCells, 0);
      return { spreadsheetId: document.id, totalUpdatedCells, responses };
    },
  },
  {
    name: 'values.update',
    method: 'PUT',
    path: /^\/v4\/spreadsheets\/([^/:]+)\/values\/([^/]+)$/,
    writes: true,
    carryOut: (document, { url, body }, range) =>
      updateValues(document, range, url.searchParams.get('valueInputOption'), JSON.parse(body) as ValueRange),
  },
  {
    name: 'values.batchGet',
    method: 'GET',
    path: /^\/v4\/spreadsheets\/([^/:]+)\/values:batchGet$/,
    writes: false,
    carryOut: (document, { url: { searchParams } }) => ({
      spreadsheetId: document.id,
      valueRanges: searchParams.getAll('ranges').map((range) => getValues(document, range, searchParams)),
    }),
  },
  {
    name: 'values.get',
    method: 'GET',
    path: /^\/v4\/spreadsheets\/([^/:]+)\/values\/([^/]+)$/,
    writes: false,
    carryOut: (document, { url }, range) => getValues(document, range, url.searchParams),
  },
];

/** The call of a request; null for one that the sandbox does not have. */
export function routeOf({ method, url }: ToolRequest): Route | null {
  for (const endpoint of endpoints) {
    const match = endpoint.method === method ? endpoint.path.exec(url.pathname) : null;
    if (!match) continue;
    const range = decodeURIComponent(match[2] ?? '');
    return {
      name: endpoint.name,
      writes: endpoint.writes,
      spreadsheetId: match[1] ?? '',
      carryOut: (document, request) => endpoint.carryOut(document, request, range),
    };
  }
  return null;
}
