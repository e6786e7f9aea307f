import type { Finding } from '../../src/connector.ts';
import type { Headers } from './headers.ts';
import { deliveryHeader } from './message.ts';
import { askedInVain } from './outcomes.ts';
import type { RowRequest } from './plan.ts';
import { firstRows, readColumns } from './spreadsheet.ts';
import type { Spreadsheet } from './spreadsheet.ts';
import { receiptOf, tableOf } from './table.ts';

/**
 * Looks for deliveries' ids in the Delivery columns of their tabs, each read once. An id is gone where a later delivery
 * has updated the row by its key: an earlier one that is still unresolved then leaves the row alone. It doubles no row,
 * unless the earlier one has no key.
 */
export async function findRows(
  sheet: Spreadsheet,
  headers: Headers,
  requests: readonly RowRequest[],
): Promise<Finding[]> {
  const findings = new Map<RowRequest, Finding>();
  for (const asked of Map.groupBy(requests, ({ message }) => message.tab).values()) {
    const find = await lookInTab(sheet, headers, asked[0]!);
    for (const request of asked) findings.set(request, find(request.deliveryId));
  }
  return requests.map((request) => findings.get(request)!);
}

async function lookInTab(
  sheet: Spreadsheet,
  headers: Headers,
  { message: { tab }, now, signal }: RowRequest,
): Promise<(deliveryId: string) => Finding> {
  const header = await headers.read(tab, now, signal);
  if (!header.ok) return always({ found: 'failed', failure: askedInVain(header.failure, sheet) });
  if (header.data === null || header.data.every((name) => name === '')) return always({ found: null });
  const column = header.data.indexOf(deliveryHeader);
  if (column === -1) return always({ found: 'impossible', detail: noColumn(tab) });
  const columns = await readColumns(sheet, tab, [column], signal);
  if (!columns.ok) return always({ found: 'failed', failure: askedInVain(columns.failure, sheet) });
  const rows = firstRows(columns.data[0] ?? []);
  const table = tableOf(sheet.spreadsheetId, tab, header.data);
  return (deliveryId) => {
    const rowIndex = rows.get(deliveryId);
    return { found: rowIndex === undefined ? null : receiptOf(table, rowIndex) };
  };
}

/** Somebody may have renamed it after rows were written. */
const noColumn = (tab: string) =>
  `The tab ${tab} has no column ${deliveryHeader}, so nobody can tell which rows are there.`;

const always = (finding: Finding) => () => finding;
