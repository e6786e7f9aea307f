import type { Finding } from '../../src/connector.ts';
import type { Answer } from './client.ts';
import { deliveryHeader } from './message.ts';
import type { RowRequest } from './message.ts';
import { failedRead, notReadBack } from './outcomes.ts';
import { isMisplaced } from './repair.ts';
import {
  a1,
  columnName,
  describe,
  Grid,
  lookUntilDone,
  readParts,
  readRanges,
  withDates,
} from './spreadsheet.ts';
import type { Spreadsheet, Tab } from './spreadsheet.ts';
import { lostHeader, missingHeaderRow } from './tabs.ts';

/** So many rows of a tab at most are read to see whether they stand under their headers. */
const maxRows = 5000;

/**
 * Looks for deliveries' ids in the Delivery columns of their tabs, all read at the same moment. An id is gone where a
 * later delivery has updated the row by its key: an earlier one that is still unresolved then leaves the row alone. It
 * doubles no row, unless the earlier one has no key.
 */
export async function findRows(sheet: Spreadsheet, given: readonly RowRequest[]): Promise<Finding[]> {
  const { signal } = given[0]!;
  const dated = await withDates(sheet, given);
  const read = dated.ok ? await readDeliveries(sheet, dated.data, signal) : dated;
  if (!dated.ok || !read.ok) {
    const failure = failedRead((read as { ok: false } & typeof read).failure, sheet);
    return given.map(() => ({ found: 'failed', failure }));
  }
  const places = dated.data.map((request) => {
    const there = read.data.get(request.message.tab.toLowerCase());
    return { request, there, row: there?.rows?.get(request.deliveryId) };
  });
  // Rows of their own, with their values under other headers, count as absent: the next attempt puts them right.
  const parts = [...read.data.values()].flatMap((there) => {
    const own = places.filter((one) => one.there === there && one.request.message.key === undefined);
    const rows = own.flatMap(({ row }) => row ?? []);
    const [first, last] = [Math.min(...rows), Math.max(...rows)];
    const range = a1(there.tab.title, first + 1, last + 1);
    return rows.length > 0 && last - first < maxRows ? [{ tab: there.tab, first, range, own }] : [];
  });
  const cells = await readParts(sheet, parts, signal);
  const wrong = new Set(
    (cells.ok ? cells.data : []).flatMap((grid, index) =>
      parts[index]!.own.filter(
        ({ request, row }) => row !== undefined && isMisplaced(request.message, row, grid),
      ),
    ),
  );
  return places.map((place): Finding => {
    const { request, there, row } = place;
    if (!there || there.header.header.every((name) => name === '')) return { found: null };
    // Somebody may have renamed it after rows were written.
    const detail = `The tab ${request.message.tab} has no column ${deliveryHeader}, so nobody can tell which rows are there.`;
    if (there.rows === null) return { found: 'impossible', detail };
    if (row === undefined || wrong.has(place)) return { found: null };
    // It is there for certain, but nobody would put right what stands under other headers.
    if (!cells.ok && parts.some(({ own }) => own.includes(place)))
      return { found: 'failed', failure: failedRead(cells.failure, sheet) };
    const found = there.header.receiptOf(sheet, there.tab, row);
    return request.message.key === undefined ? { found } : { found, note: notReadBack };
  });
}

interface Deliveries {
  readonly tab: Tab;
  readonly header: Grid;
  /** By the id of a delivery, its first row; null where the tab has no such column. */
  readonly rows: ReadonlyMap<string, number> | null;
}

/** By tab. The columns of deliveries may move between the headers' read and theirs, which are then read again. */
async function readDeliveries(
  sheet: Spreadsheet,
  requests: readonly RowRequest[],
  signal: AbortSignal,
): Promise<Answer<Map<string, Deliveries>>> {
  const byTab = Map.groupBy(requests, ({ message }) => message.tab.toLowerCase());
  return lookUntilDone<Map<string, Deliveries>>(sheet, async () => {
    const described = await describe(sheet, signal);
    if (!described.ok) return described;
    const tabs = described.data.tabs.filter(({ title }) => byTab.has(title.toLowerCase()));
    const failure = missingHeaderRow(tabs);
    if (failure) return { ok: false, failure };
    const parts = tabs.map((tab) => ({ tab, first: 0, range: null }));
    const headers = await readParts(sheet, parts, signal);
    if (!headers.ok) return headers;
    const views = tabs.map((tab, index) => ({ tab, grid: headers.data[index]! }));
    const wanted = tabs.map(({ title }) => {
      return { names: byTab.get(title.toLowerCase())!.flatMap(({ message }) => Object.keys(message.row)) };
    });
    const lost = await lostHeader(sheet, views, wanted, signal);
    if (lost) return { ok: false, failure: lost };
    const withColumn = views.filter(({ grid }) => grid.column(deliveryHeader) !== -1);
    const ranges = withColumn.map(({ tab, grid }) => {
      const column = columnName(grid.column(deliveryHeader));
      return a1(tab.title, column, column);
    });
    const columns = await readRanges(sheet, ranges, signal);
    if (!columns.ok) return columns;
    const read = columns.data.map((rows) => new Grid(rows, sheet.headerRow));
    if (!read.every(({ header }) => header[0] === deliveryHeader)) return null;
    const data = views.map((view): [string, Deliveries] => {
      const column = read[withColumn.indexOf(view)];
      const rows = column?.firstRows(deliveryHeader) ?? null;
      return [view.tab.title.toLowerCase(), { tab: view.tab, header: view.grid, rows }];
    });
    return { ok: true, data: new Map(data) };
  });
}
