import type { Finding } from '../../src/connector.ts';
import type { Answer, Failure } from './client.ts';
import { dated, deliveryHeader } from './message.ts';
import type { RowRequest } from './message.ts';
import { failedRead, isRefusal, notReadBack, renamedTo } from './outcomes.ts';
import { isMisplaced, rowsWithIds } from './repair.ts';
import { a1, columnName, describe, lookUntilDone, readParts } from './spreadsheet.ts';
import type { Spreadsheet, Tab, View } from './spreadsheet.ts';
import { lostHeader, missingHeaderRow, readOnce } from './tabs.ts';

/**
 * Looks for the ids of deliveries in their tabs, each read whole and at one moment: a row that was written while somebody
 * moved columns may stand anywhere. An id is gone where a later delivery has updated the row by its key; the delivery is
 * tried again then, and leaves the row alone. Only a delivery without a key would add its row a second time: its id is looked for
 * in the other tabs, too.
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
  const findings = given.map((request): Finding => {
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
  const isInTab = ({ deliveryId, message }: RowRequest) =>
    views.get(message.tab.toLowerCase())?.rows.has(deliveryId) ?? false;
  const lost = given.filter((request, index) => findings[index]!.found === null && !isInTab(request));
  if (lost.length === 0) return findings;
  const elsewhere = await findInAnyTab(sheet, new Set(lost.map(({ deliveryId }) => deliveryId)), signal);
  return given.map((request, index) =>
    lost.includes(request) ? elsewhere(request.deliveryId) : findings[index]!,
  );
}

/**
 * Looks for the ids of deliveries in all tabs, as somebody may have renamed the one that a row was written to, and have made
 * another one with its name. Reads the headers and the columns of ids alone.
 */
async function findInAnyTab(
  sheet: Spreadsheet,
  ids: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<(deliveryId: string) => Finding> {
  const read = (some: readonly Tab[], rangeOf: (tab: Tab, index: number) => string | null) => {
    const parts = some.map((tab, index) => ({ tab, first: 0, range: rangeOf(tab, index) }));
    return readParts(sheet, parts, signal);
  };
  const answer = await lookUntilDone<Map<string, Finding>>(sheet, async (isFirst) => {
    if (!isFirst) {
      const described = await describe(sheet, signal);
      if (!described.ok) return described;
    }
    const tabs = [...sheet.tabs.values()].filter(({ rowCount, headerRow }) => (rowCount ?? 0) > headerRow);
    const headers = await read(tabs, () => null);
    if (!headers.ok) return headers;
    const withIds = tabs.flatMap((tab, index) => {
      const column = headers.data[index]!.column(deliveryHeader);
      return column === -1 ? [] : [{ tab, column }];
    });
    const columns = await read(
      withIds.map(({ tab }) => tab),
      ({ title }, index) => {
        const name = columnName(withIds[index]!.column);
        return a1(title, name, name);
      },
    );
    if (!columns.ok) return columns;
    // Somebody may have moved columns since the headers were read.
    const grids = columns.data;
    if (withIds.some(({ column }, index) => grids[index]!.column(deliveryHeader) !== column)) return null;
    const found = new Map<string, Finding>();
    for (const [index, { tab }] of withIds.entries()) {
      const grid = grids[index]!;
      for (const [row, [id]] of grid.rows.entries()) {
        if (row <= tab.headerRow || !ids.has(String(id)) || found.has(String(id))) continue;
        found.set(String(id), { found: grid.receiptOf(sheet, tab, row), note: renamedTo(tab.title) });
      }
    }
    return { ok: true, data: found };
  });
  if (!answer.ok) return unreadable(sheet, answer.failure);
  return (deliveryId) => answer.data.get(deliveryId) ?? { found: null };
}

/** What is found where the tabs cannot be read. One that Google gives no values of keeps no row from being written. */
function unreadable(sheet: Spreadsheet, failure: Failure): () => Finding {
  return () =>
    isRefusal(failure) ? { found: null } : { found: 'failed', failure: failedRead(failure, sheet) };
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
