import type { Finding } from '../../src/connector.ts';
import type { Answer } from './client.ts';
import { dated, deliveryHeader } from './message.ts';
import type { RowRequest } from './message.ts';
import { failedRead, notReadBack } from './outcomes.ts';
import { isMisplaced, rowsWithIds } from './repair.ts';
import { describe, lookUntilDone } from './spreadsheet.ts';
import type { Spreadsheet, View } from './spreadsheet.ts';
import { lostHeader, missingHeaderRow, readOnce } from './tabs.ts';

/**
 * Looks for the ids of deliveries in their tabs, each read whole and at one moment: a row that was written while somebody
 * moved columns may stand anywhere. An id is gone where a later delivery has updated the row by its key; the delivery is
 * tried again then, and leaves the row alone. Only a delivery without a key would add its row a second time.
 */
export async function findRows(sheet: Spreadsheet, given: readonly RowRequest[]): Promise<Finding[]> {
  const { signal } = given[0]!;
  const read = await readAll(sheet, given, signal);
  if (!read.ok) {
    const failure = failedRead(read.failure, sheet);
    return given.map(() => ({ found: 'failed', failure }));
  }
  const ids = given.map(({ deliveryId }) => deliveryId);
  const views = new Map(
    read.data.map((view) => [view.tab.title.toLowerCase(), { ...view, rows: rowsWithIds(ids, view.grid) }]),
  );
  return given.map((request): Finding => {
    const { deliveryId, message } = dated(request, sheet.timeZone);
    const view = views.get(message.tab.toLowerCase());
    if (!view || view.grid.header.every((name) => name === '')) return { found: null };
    const { tab, grid } = view;
    // Somebody may have renamed it after rows were written.
    const detail = `The tab ${message.tab} has no column ${deliveryHeader}, so nobody can tell which rows are there.`;
    if (grid.column(deliveryHeader) === -1) return { found: 'impossible', detail };
    const rows = view.rows.get(deliveryId) ?? [];
    const isOwn = message.key === undefined;
    const isRight = (row: number) =>
      grid.cell(row, deliveryHeader) === deliveryId && !(isOwn && isMisplaced(message, row, grid));
    // A row under other headers counts as absent: the next attempt puts it right.
    if (rows.length === 0 || !rows.every(isRight)) return { found: null };
    const found = grid.receiptOf(sheet, tab, rows[0]!);
    return isOwn ? { found } : { found, note: notReadBack };
  });
}

/** Reads the tabs of the requests, as far as they exist. */
async function readAll(
  sheet: Spreadsheet,
  requests: readonly RowRequest[],
  signal: AbortSignal,
): Promise<Answer<View[]>> {
  const byTab = Map.groupBy(requests, ({ message }) => message.tab.toLowerCase());
  return lookUntilDone<View[]>(sheet, async () => {
    const described = await describe(sheet, signal);
    if (!described.ok) return described;
    const tabs = described.data.tabs.filter(({ title }) => byTab.has(title.toLowerCase()));
    const failure = missingHeaderRow(tabs);
    if (failure) return { ok: false, failure };
    const wanted = tabs.map(({ title }) => {
      const all = byTab.get(title.toLowerCase())!;
      return { title, names: all.flatMap(({ message }) => Object.keys(message.row)), whole: true };
    });
    // The first look tells how wide they are.
    for (let looks = 0; looks < 2; looks += 1) {
      const read = await readOnce(sheet, wanted, tabs, signal);
      if (!read.ok) return read;
      const lost = await lostHeader(sheet, read.data, wanted, signal);
      if (lost) return { ok: false, failure: lost };
      if (read.data.every(({ isEnough, grid }) => isEnough || grid.header.length === 0)) return read;
    }
    return null;
  });
}
