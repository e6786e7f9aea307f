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

type Values = readonly (readonly unknown[])[];

/** The first row of a tab; empty where nothing is in it. */
export async function readFirstRow(
  sheet: Spreadsheet,
  tab: string,
  signal: AbortSignal,
): Promise<Answer<readonly unknown[]>> {
  const answer = await readValues(sheet, { range: `${quoteTab(tab)}!1:1` }, signal);
  return answer.ok ? { ok: true, data: answer.data[0] ?? [] } : answer;
}

/** The values below the header of a column, as text, each with the first row (from 0) that has it. */
export async function readColumn(
  sheet: Spreadsheet,
  tab: string,
  column: number,
  signal: AbortSignal,
): Promise<Answer<ReadonlyMap<string, number>>> {
  const name = columnName(column);
  const answer = await readValues(
    sheet,
    {
      range: `${quoteTab(tab)}!${name}:${name}`,
      majorDimension: 'COLUMNS',
      // As people see it, a number may have separators or a currency.
      valueRenderOption: 'UNFORMATTED_VALUE',
    },
    signal,
  );
  if (!answer.ok) return answer;
  const cells = answer.data[0] ?? [];
  const rows = cells.map((cell, index) => [String(cell), index] as const).slice(1);
  // Of equal values the last one set stays, which has to be the first of the rows.
  return { ok: true, data: new Map(rows.toReversed()) };
}

async function readValues(
  { call, spreadsheetId }: Spreadsheet,
  query: { readonly range: string; readonly majorDimension?: string; readonly valueRenderOption?: string },
  signal: AbortSignal,
): Promise<Answer<Values>> {
  const answer = await call<sheets_v4.Schema$ValueRange>(
    (api, options) => api.values.get({ spreadsheetId, ...query }, options),
    signal,
  );
  if (!answer.ok) return answer;
  // Empty cells leave no values, so only the range tells them from an answer that is not Google's.
  if (typeof answer.data.range !== 'string') return { ok: false, failure: { kind: 'foreign' } };
  return { ok: true, data: answer.data.values ?? [] };
}

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
  if (!Array.isArray(sheets)) return { ok: false, failure: { kind: 'foreign' } };
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
