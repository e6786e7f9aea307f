import type { Outcome } from '../../src/model.ts';
import { delivered } from '../../src/connector.ts';
import { appendRows } from './append.ts';
import { endApart, endTogether } from './endings.ts';
import type { Ending } from './endings.ts';
import type { Answer } from './failure.ts';
import type { Headers } from './headers.ts';
import { deliveryHeader } from './message.ts';
import { beforeWriting } from './outcomes.ts';
import { isThere, overtaken, planRows, requestsOf } from './plan.ts';
import type { RowRequest, TabContent } from './plan.ts';
import { firstRows, readColumns } from './spreadsheet.ts';
import type { Spreadsheet } from './spreadsheet.ts';
import { receiptOf, tableOf } from './table.ts';
import type { Table } from './table.ts';
import { updateRows } from './update.ts';

/**
 * One attempt at rows of the same tab: the header first, then one call that updates the rows that are there already, and
 * one that adds the others.
 */
export async function writeRows(
  sheet: Spreadsheet,
  headers: Headers,
  requests: readonly RowRequest[],
): Promise<Ending[]> {
  const { now, signal, message } = requests[0]!;
  const header = await headers.ensure(message.tab, namesOf(requests), now, signal);
  if (!header.ok) return endTogether(requests, beforeWriting(header.failure, sheet));
  const table = tableOf(sheet.spreadsheetId, message.tab, header.data);
  const content = await readContent(sheet, table, requests, signal);
  if (!content.ok) return endTogether(requests, beforeWriting(content.failure, sheet));
  const late = overtaken(requests, content.data);
  const inTime = requests.filter(notIn(requestsOf(late)));
  const planned = planRows(inTime, content.data.keys);
  const added = planned.filter((row) => !isThere(row));
  // Added rows move what is below them, so the rows that were looked up come first.
  const updated = await updateRows(sheet, table, planned.filter(isThere), signal);
  const endings = [...updated, ...(await appendRows(sheet, table, added, signal))];
  if (endings.some(([, outcome]) => isSurprise(outcome))) headers.forget(message.tab);
  return [...endings, ...endApart(late, ({ rowIndex }) => delivered(receiptOf(table, rowIndex), newerThere))];
}

const newerThere = 'A newer update of this row was there already, so the row was left as it is.';

function notIn(requests: readonly RowRequest[]): (request: RowRequest) => boolean {
  const set = new Set(requests);
  return (request) => !set.has(request);
}

/** Every header of the rows once, that of the deliveries last. */
function namesOf(requests: readonly RowRequest[]): string[] {
  const names = new Set(requests.flatMap(({ message }) => Object.keys(message.row)));
  names.delete(deliveryHeader);
  return [...names, deliveryHeader];
}

/** Reads the columns of the keys and, with them, which delivery wrote each row last. Without keys nothing is read. */
async function readContent(
  sheet: Spreadsheet,
  { tab, header }: Table,
  requests: readonly RowRequest[],
  signal: AbortSignal,
): Promise<Answer<TabContent>> {
  const names = new Set(requests.flatMap(({ message: { key } }) => (key === undefined ? [] : [key])));
  if (names.size === 0) return { ok: true, data: { keys: new Map(), deliveries: [] } };
  const wanted = [deliveryHeader, ...names].map((name) => header.indexOf(name));
  const columns = await readColumns(sheet, tab, wanted, signal);
  if (!columns.ok) return columns;
  const [deliveries = [], ...ofKeys] = columns.data;
  const keys = new Map([...names].map((name, index) => [name, firstRows(ofKeys[index] ?? [])]));
  return { ok: true, data: { keys, deliveries } };
}

/** Outcomes that an outdated header may have caused. */
function isSurprise(outcome: Outcome): boolean {
  if (outcome.outcome === 'delivered') return outcome.note !== undefined;
  return outcome.reason === 'invalid' || outcome.reason === 'not_found';
}
