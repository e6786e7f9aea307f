import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import type { Answer, Call, Failure } from './client.ts';
import { knownZone } from './format.ts';
import { mergesOf } from './merges.ts';
import type { Merge } from './merges.ts';
import { dated, hasDates } from './message.ts';
import type { Row, RowRequest } from './message.ts';
import { missingTab } from './outcomes.ts';

/** A spreadsheet that can be called. Rows and columns count from 0 everywhere; only A1 notation counts from 1. */
export interface Spreadsheet {
  readonly spreadsheetId: string;
  /** The service account's address. */
  readonly account: string;
  /** The row of the header in each tab. */
  readonly headerRow: number;
  readonly call: Call;
  /** What is remembered of its tabs, by title in lower case. Only where to look: what counts is what is read. */
  readonly tabs: Map<string, Tab>;
  /** The tabs as rows were last written to them, by title in lower case: what is not there any more, somebody changed. */
  readonly written: Map<string, { readonly sheetId: number; readonly header: readonly string[] }>;
  /** What was made anew and has still to be told of, by the tab's title in lower case. */
  readonly madeAnew: Map<string, string>;
  /** As it was when its tabs were last read. */
  timeZone?: string;
}

export interface Tab {
  readonly sheetId: number;
  readonly title: string;
  /** null for a tab without cells, such as a chart. */
  readonly rowCount: number | null;
  readonly headerRow: number;
  readonly merges: readonly Merge[];
  /** The tables (menu Format, "Convert to table") that have this header. */
  readonly tables: readonly Table[];
  /** How many columns its header had. */
  width: number | null;
  /** The column of the deliveries' ids, and the last row that had one. */
  deliveryColumn: number;
  lastRow: number | null;
}

export interface Table {
  readonly id: string;
  readonly left: number;
  /** The first column to the right of it, and the first row below it. */
  readonly right: number;
  readonly bottom: number;
  readonly hasFooter: boolean;
}

export type Request = sheets_v4.Schema$Request;

/** Making a tab and finding where it ends takes some looks, and people may change it meanwhile. */
const maxLooks = 8;

/** Looks again where a look gives null, or the sheet was changed since it was last read. */
export async function lookUntilDone<Data>(
  { tabs }: Spreadsheet,
  look: (isFirst: boolean) => Promise<Answer<Data> | null>,
): Promise<Answer<Data>> {
  for (let looks = 0; looks < maxLooks; looks += 1) {
    const answer = await look(looks === 0);
    if (answer?.ok || (answer && !isOutdated(answer.failure))) return answer;
    if (answer) tabs.clear();
  }
  return { ok: false, failure: changedMeanwhile };
}

export const tabWith = ({ tabs }: Spreadsheet, sheetId: number): Tab | undefined =>
  [...tabs.values()].find((tab) => tab.sheetId === sheetId);

/** Ranges as rows of what their cells hold, all read at the same moment. */
export async function readRanges(
  { call, spreadsheetId }: Spreadsheet,
  ranges: readonly string[],
  signal: AbortSignal,
): Promise<Answer<readonly (readonly Row[])[]>> {
  if (ranges.length === 0) return { ok: true, data: [] };
  // As people see it, a number may have separators or a currency.
  const query = { spreadsheetId, ranges: [...ranges], valueRenderOption: 'UNFORMATTED_VALUE' };
  const answer = await call<sheets_v4.Schema$BatchGetValuesResponse>(
    'read',
    (api, options) => api.values.batchGet(query, options),
    signal,
  );
  if (!answer.ok) return answer;
  const { valueRanges } = answer.data;
  // Empty cells leave no values, so only the ranges tell them from an answer that is not Google's.
  if (!Array.isArray(valueRanges) || valueRanges.length !== ranges.length) return foreign;
  if (!valueRanges.every(({ range }) => typeof range === 'string')) return foreign;
  return { ok: true, data: valueRanges.map(({ values }) => (values ?? []) as Row[]) };
}

const foreign = { ok: false, failure: { kind: 'foreign' } } as const;

/** All of these take effect, or none. */
export async function batchUpdate(
  { call, spreadsheetId }: Spreadsheet,
  requests: Request[],
  signal: AbortSignal,
): Promise<Answer<unknown>> {
  const answer = await call<sheets_v4.Schema$BatchUpdateSpreadsheetResponse>(
    'write',
    (api, options) => api.batchUpdate({ spreadsheetId, requestBody: { requests } }, options),
    signal,
  );
  return answer.ok && !Array.isArray(answer.data.replies) ? foreign : answer;
}

export interface Description {
  readonly title: string;
  readonly tabs: readonly Tab[];
  /** What the account may not edit, by the tab's sheetId. */
  readonly protections: ReadonlyMap<number, readonly sheets_v4.Schema$GridRange[]>;
}

/** The spreadsheet's title, and its tabs, which are remembered from then on. */
export async function describe(sheet: Spreadsheet, signal: AbortSignal): Promise<Answer<Description>> {
  const { call, spreadsheetId, headerRow, tabs: remembered } = sheet;
  const ofTab = 'properties(sheetId,title,gridProperties.rowCount)';
  const ofRange = 'protectedRanges(range,requestingUserCanEdit,warningOnly)';
  const ofTable = 'tables(tableId,range,rowsProperties.footerColorStyle)';
  const fields = `properties(title,timeZone),sheets(${ofTab},${ofRange},merges,${ofTable})`;
  const answer = await call<sheets_v4.Schema$Spreadsheet>(
    'read',
    (api, options) => api.get({ spreadsheetId, fields }, options),
    signal,
  );
  if (!answer.ok) return answer;
  const { properties, sheets } = answer.data;
  if (!Array.isArray(sheets)) return foreign;
  const before = new Map([...remembered.values()].map((tab) => [tab.sheetId, tab]));
  const tabs = sheets.flatMap((one) => tabOf(one, before, headerRow));
  sheet.timeZone = knownZone(properties?.timeZone);
  remembered.clear();
  for (const tab of tabs) remembered.set(tab.title.toLowerCase(), tab);
  const protections = new Map(sheets.map((one) => [one.properties?.sheetId ?? 0, protectionsOf(one)]));
  return { ok: true, data: { title: properties?.title ?? spreadsheetId, tabs, protections } };
}

/** The requests with their times as the sheet counts them. Its time zone is read with its tabs, which are needed anyway. */
export async function withDates(
  sheet: Spreadsheet,
  requests: readonly RowRequest[],
): Promise<Answer<readonly RowRequest[]>> {
  if (!requests.some(hasDates)) return { ok: true, data: requests };
  const described = sheet.timeZone === undefined ? await describe(sheet, requests[0]!.signal) : null;
  if (described?.ok === false) return described;
  return { ok: true, data: requests.map((request) => dated(request, sheet.timeZone!)) };
}

const protectionsOf = ({ protectedRanges }: sheets_v4.Schema$Sheet) =>
  (protectedRanges ?? []).flatMap(({ range, requestingUserCanEdit, warningOnly }) =>
    requestingUserCanEdit || warningOnly ? [] : [range ?? {}],
  );

function tabOf(one: sheets_v4.Schema$Sheet, before: ReadonlyMap<number, Tab>, headerRow: number): Tab[] {
  // Protobuf leaves out what is 0 in some renderings, and the first tab's id is 0.
  const { sheetId = 0, title, gridProperties } = one.properties ?? {};
  if (!title) return [];
  const read = before.get(sheetId!) ?? unread;
  const rowCount = gridProperties?.rowCount ?? null;
  const [merges, tables] = [mergesOf(one, headerRow), tablesOf(one, headerRow)];
  return [{ ...read, sheetId: sheetId!, title, headerRow, rowCount, merges, tables }];
}

const tablesOf = ({ tables }: sheets_v4.Schema$Sheet, headerRow: number): Table[] =>
  (tables ?? []).flatMap(({ tableId, range, rowsProperties }) => {
    const {
      startRowIndex = 0,
      startColumnIndex: left,
      endColumnIndex: right,
      endRowIndex: bottom,
    } = range ?? {};
    const hasFooter = rowsProperties?.footerColorStyle !== undefined;
    return startRowIndex === headerRow && tableId && bottom && right
      ? [{ id: tableId, left: left ?? 0, right, bottom, hasFooter }]
      : [];
  });

export const unread = { width: null, deliveryColumn: -1, lastRow: null };

/** The sheet is not as it was when it was last read: a tab, a row or a column is gone. */
export const isOutdated = (failure: Failure): boolean =>
  says(failure, /exceeds grid limits/) || says(failure, missingTab);

export const isRefusal = (failure: Failure) => failure.kind === 'http' && failure.status === 400;

export const says = (failure: Failure, words: RegExp): boolean =>
  failure.kind === 'http' && failure.status === 400 && words.test(failure.error.message);

/** As the API would say it. */
const changedMeanwhile: Failure = {
  kind: 'http',
  status: 409,
  retryAfterMs: null,
  error: { status: 'ABORTED', message: 'The tab was changed by somebody else meanwhile', reason: '' },
};
