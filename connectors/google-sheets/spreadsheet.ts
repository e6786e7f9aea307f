import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import { columnName, quoteTab } from './a1.ts';
import type { Call } from './client.ts';
import type { Answer } from './failure.ts';

/** A spreadsheet that can be called. */
export interface Spreadsheet {
  readonly spreadsheetId: string;
  /** The service account's address. */
  readonly account: string;
  readonly call: Call;
}

/** The first row of a tab; empty where nothing is in it. */
export async function readFirstRow(
  { call, spreadsheetId }: Spreadsheet,
  tab: string,
  signal: AbortSignal,
): Promise<Answer<readonly unknown[]>> {
  const range = `${quoteTab(tab)}!1:1`;
  const answer = await call<sheets_v4.Schema$ValueRange>(
    (api, options) => api.values.get({ spreadsheetId, range }, options),
    signal,
  );
  if (!answer.ok) return answer;
  // Empty cells leave no values, so only the range tells them from an answer that is not Google's.
  if (typeof answer.data.range !== 'string') return foreign;
  return { ok: true, data: answer.data.values?.[0] ?? [] };
}

/** Columns with their headers, as text by row (from 0), all read at the same moment. */
export async function readColumns(
  { call, spreadsheetId }: Spreadsheet,
  tab: string,
  columns: readonly number[],
  signal: AbortSignal,
): Promise<Answer<readonly Column[]>> {
  const names = columns.map(columnName);
  const query = {
    spreadsheetId,
    ranges: names.map((name) => `${quoteTab(tab)}!${name}:${name}`),
    majorDimension: 'COLUMNS',
    // As people see it, a number may have separators or a currency.
    valueRenderOption: 'UNFORMATTED_VALUE',
  };
  const answer = await call<sheets_v4.Schema$BatchGetValuesResponse>(
    (api, options) => api.values.batchGet(query, options),
    signal,
  );
  if (!answer.ok) return answer;
  const { valueRanges } = answer.data;
  if (!Array.isArray(valueRanges) || valueRanges.length !== columns.length) return foreign;
  return { ok: true, data: valueRanges.map(({ values }) => (values?.[0] ?? []).map(String)) };
}

export type Column = readonly string[];

/** The values below a column's header, each with the first row (from 0) that has it. */
export function firstRows(column: Column): ReadonlyMap<string, number> {
  const rows = column.map((value, index) => [value, index] as const).slice(1);
  // Of equal values the last one set stays, which has to be the first of the rows.
  return new Map(rows.toReversed());
}

const foreign = { ok: false, failure: { kind: 'foreign' } } as const;

/** Changes that are not about values. All of them take effect, or none. */
export function batchUpdate(
  { call, spreadsheetId }: Spreadsheet,
  requests: sheets_v4.Schema$Request[],
  signal: AbortSignal,
): Promise<Answer<unknown>> {
  return call(
    (api, options) => api.batchUpdate({ spreadsheetId, requestBody: { requests } }, options),
    signal,
  );
}

/** What a live check and a new header need to know of the tabs. */
export async function describe(
  { call, spreadsheetId }: Spreadsheet,
  signal: AbortSignal,
): Promise<Answer<Description>> {
  const fields = 'properties.title,sheets.properties(sheetId,title,gridProperties.columnCount)';
  const answer = await call<sheets_v4.Schema$Spreadsheet>(
    (api, options) => api.get({ spreadsheetId, fields }, options),
    signal,
  );
  if (!answer.ok) return answer;
  const { properties, sheets } = answer.data;
  if (!Array.isArray(sheets)) return foreign;
  return { ok: true, data: { title: properties?.title ?? spreadsheetId, tabs: sheets.flatMap(tabOf) } };
}

export interface Description {
  readonly title: string;
  readonly tabs: readonly Tab[];
}

export interface Tab {
  readonly sheetId: number;
  readonly title: string;
  /** null for a tab without cells, such as a chart. */
  readonly columnCount: number | null;
}

function tabOf({ properties }: sheets_v4.Schema$Sheet): Tab[] {
  const { sheetId, title, gridProperties } = properties ?? {};
  // Protobuf leaves out what is 0 in some renderings, and the first tab's id is 0.
  return title ? [{ sheetId: sheetId ?? 0, title, columnCount: gridProperties?.columnCount ?? null }] : [];
}
