import type { Outcome } from '../../src/model.ts';
import { appendRows } from './append.ts';
import { endTogether } from './endings.ts';
import type { Ending } from './endings.ts';
import type { Answer } from './failure.ts';
import type { Headers } from './headers.ts';
import { deliveryHeader } from './message.ts';
import { beforeWriting } from './outcomes.ts';
import { isThere, planRows } from './plan.ts';
import type { KeyColumns, RowRequest } from './plan.ts';
import { readColumn } from './spreadsheet.ts';
import type { Spreadsheet } from './spreadsheet.ts';
import { tableOf } from './table.ts';
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
  const columns = await readKeyColumns(sheet, table, requests, signal);
  if (!columns.ok) return endTogether(requests, beforeWriting(columns.failure, sheet));
  const planned = planRows(requests, columns.data);
  const added = planned.filter((row) => !isThere(row));
  // Added rows move what is below them, so the rows that were looked up come first.
  const updated = await updateRows(sheet, table, planned.filter(isThere), signal);
  const endings = [...updated, ...(await appendRows(sheet, table, added, signal))];
  if (endings.some(([, outcome]) => isSurprise(outcome))) headers.forget(message.tab);
  return endings;
}

/** Every header of the rows once, that of the deliveries last. */
function namesOf(requests: readonly RowRequest[]): string[] {
  const names = new Set(requests.flatMap(({ message }) => Object.keys(message.row)));
  names.delete(deliveryHeader);
  return [...names, deliveryHeader];
}

async function readKeyColumns(
  sheet: Spreadsheet,
  { tab, header }: Table,
  requests: readonly RowRequest[],
  signal: AbortSignal,
): Promise<Answer<KeyColumns>> {
  const columns = new Map<string, ReadonlyMap<string, number>>();
  for (const key of new Set(requests.map(({ message }) => message.key))) {
    if (key === undefined) continue;
    const column = await readColumn(sheet, tab, header.indexOf(key), signal);
    if (!column.ok) return column;
    columns.set(key, column.data);
  }
  return { ok: true, data: columns };
}

/** Outcomes that an outdated header may have caused. */
function isSurprise(outcome: Outcome): boolean {
  if (outcome.outcome === 'delivered') return outcome.note !== undefined;
  return outcome.reason === 'invalid' || outcome.reason === 'not_found';
}
