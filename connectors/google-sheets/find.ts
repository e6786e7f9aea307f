import type { Finding } from '../../src/connector.ts';
import { columnRange, rowsRange } from './a1.ts';
import type { Answer } from './client.ts';
import { Grid, readParts } from './grid.ts';
import { lostHeader, missingHeaderRow } from './header.ts';
import { deliveryHeader } from './message.ts';
import type { RowRequest } from './message.ts';
import { failedRead, notReadBack } from './outcomes.ts';
import { isMisplaced } from './repair.ts';
import { describe, lookUntilDone, readRanges, withDates } from './spreadsheet.ts';
import type { Spreadsheet, Tab } from './spreadsheet.ts';

/**
 * Looks for deliveries' ids in the Delivery columns of their tabs, all read at the same moment. An id is gone where a
 * later delivery has updated the row by its key: an earlier one that is still unresolved then leaves the row alone. It
 * doubles no row, unless the earlier one has no key.
 */
export async function findRows(sheet: Spreadsheet, given: readonly RowRequest[]): Promise<Finding[]> {
  const dated = await withDates(sheet, given);
  if (!dated.ok) return given.map(() => ({ found: 'failed', failure: failedRead(dated.failure, sheet) }));
  const requests = dated.data;
  const byTab = Map.groupBy(requests, ({ message }) => message.tab.toLowerCase());
  const names = new Map(
    [...byTab].map(([tab, all]) => [tab, all.flatMap(({ message }) => Object.keys(message.row))]),
  );
  const tabs = await readDeliveries(sheet, names, requests[0]!.signal);
  if (!tabs.ok) {
    const failure = failedRead(tabs.failure, sheet);
    return requests.map(() => ({ found: 'failed', failure }));
  }
  const wrong = await misplacedOf(sheet, tabs.data, requests);
  return requests.map((request) => (wrong.has(request) ? notThere : find(sheet, tabs.data, request)));
}

const notThere: Finding = { found: null };

function find(sheet: Spreadsheet, tabs: ReadonlyMap<string, Deliveries>, request: RowRequest): Finding {
  const { deliveryId, message } = request;
  const there = tabs.get(message.tab.toLowerCase());
  if (!there || there.header.header.every((name) => name === '')) return notThere;
  if (there.rows === null) return { found: 'impossible', detail: noColumn(message.tab) };
  const row = there.rows.get(deliveryId);
  if (row === undefined) return notThere;
  const found = there.header.receiptOf(sheet, there.tab, row);
  return message.key === undefined ? { found } : { found, note: notReadBack };
}

/** So many rows of a tab at most are read to see whether they stand under their headers. */
const maxRows = 5000;

/** Rows of their own, with their values under other headers, count as absent: the next attempt puts them right. */
async function misplacedOf(
  sheet: Spreadsheet,
  tabs: ReadonlyMap<string, Deliveries>,
  requests: readonly RowRequest[],
): Promise<ReadonlySet<RowRequest>> {
  const added = requests.filter(({ message }) => message.key === undefined);
  const parts = [...tabs].flatMap(([title, { tab, rows }]) => {
    const found = added.flatMap((request) => {
      const row = request.message.tab.toLowerCase() === title ? rows?.get(request.deliveryId) : undefined;
      return row === undefined ? [] : [{ request, row }];
    });
    const [first, last] = [
      Math.min(...found.map(({ row }) => row)),
      Math.max(...found.map(({ row }) => row)),
    ];
    const isSmall = found.length > 0 && last - first < maxRows;
    return isSmall ? [{ tab, first, range: rowsRange(tab, first, last), found }] : [];
  });
  const read = await readParts(sheet, parts, requests[0]!.signal);
  // They are there for certain: what more can be said of them is not worth a failure.
  if (!read.ok) return new Set();
  const wrong = parts.flatMap(({ found }, index) =>
    found.filter(({ request, row }) => isMisplaced(request.message, row, read.data[index]!)),
  );
  return new Set(wrong.map(({ request }) => request));
}

interface Deliveries {
  readonly tab: Tab;
  readonly header: Grid;
  /** By the id of a delivery, its first row; null where the tab has no such column. */
  readonly rows: ReadonlyMap<string, number> | null;
}

/** The columns of deliveries may move between the headers' read and theirs, which are then read again. */
async function readDeliveries(
  sheet: Spreadsheet,
  names: ReadonlyMap<string, readonly string[]>,
  signal: AbortSignal,
): Promise<Answer<Map<string, Deliveries>>> {
  return lookUntilDone<Map<string, Deliveries>>(sheet, async () => {
    const described = await describe(sheet, signal);
    if (!described.ok) return described;
    const tabs = described.data.tabs.filter(({ title }) => names.has(title.toLowerCase()));
    const failure = missingHeaderRow(tabs);
    if (failure) return { ok: false, failure };
    const parts = tabs.map((tab) => ({ tab, first: 0, range: null }));
    const headers = await readParts(sheet, parts, signal);
    if (!headers.ok) return headers;
    const found = tabs.map((tab, index) => ({ tab, header: headers.data[index]! }));
    const views = found.map(({ tab, header }) => ({ tab, grid: header }));
    const lost = await lostHeader(
      sheet,
      views,
      views.map(({ tab }) => ({ names: names.get(tab.title.toLowerCase()) ?? [] })),
      signal,
    );
    if (lost) return { ok: false, failure: lost };
    const withColumn = found.filter(({ header }) => header.column(deliveryHeader) !== -1);
    const ranges = withColumn.map(({ tab, header }) => columnRange(tab, header.column(deliveryHeader)));
    const columns = await readRanges(sheet, ranges, signal);
    if (!columns.ok) return columns;
    const read = columns.data.map((rows) => new Grid(rows, sheet.headerRow));
    if (!read.every(({ header }) => header[0] === deliveryHeader)) return null;
    const data = found.map((one): [string, Deliveries] => {
      const column = read[withColumn.indexOf(one)];
      return [one.tab.title.toLowerCase(), { ...one, rows: column?.firstRows(deliveryHeader) ?? null }];
    });
    return { ok: true, data: new Map(data) };
  });
}

/** Somebody may have renamed it after rows were written. */
const noColumn = (tab: string) =>
  `The tab ${tab} has no column ${deliveryHeader}, so nobody can tell which rows are there.`;
