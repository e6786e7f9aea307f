import type { Finding } from '../../src/connector.ts';
import type { Answer } from './client.ts';
import { deliveryHeader } from './message.ts';
import type { RowRequest } from './message.ts';
import { askedInVain, keptOf, notReadBack } from './outcomes.ts';
import { isMisplaced } from './repair.ts';
import {
  changedMeanwhile,
  columnRange,
  describe,
  Grid,
  headerRange,
  isOutdated,
  readRanges,
  rowsRange,
} from './table.ts';
import type { Row, Spreadsheet, Tab } from './table.ts';

/**
 * Looks for deliveries' ids in the Delivery columns of their tabs, all read at the same moment. An id is gone where a
 * later delivery has updated the row by its key: an earlier one that is still unresolved then leaves the row alone. It
 * doubles no row, unless the earlier one has no key.
 */
export async function findRows(sheet: Spreadsheet, requests: readonly RowRequest[]): Promise<Finding[]> {
  const titles = new Set(requests.map(({ message }) => message.tab.toLowerCase()));
  const tabs = await readDeliveries(sheet, titles, requests[0]!.signal);
  if (!tabs.ok) {
    const failure = askedInVain(tabs.failure, sheet);
    return requests.map(() => ({ found: 'failed', failure }));
  }
  const wrong = await readMisplaced(sheet, tabs.data, requests);
  return requests.map((request) => (wrong.has(request) ? absent : find(sheet, tabs.data, request)));
}

const absent: Finding = { found: null };

function find(sheet: Spreadsheet, tabs: ReadonlyMap<string, Deliveries>, request: RowRequest): Finding {
  const { deliveryId, message } = request;
  const there = tabs.get(message.tab.toLowerCase());
  if (!there || there.header.header.every((name) => name === '')) return absent;
  if (there.rows === null) return { found: 'impossible', detail: noColumn(message.tab) };
  const row = there.rows.get(deliveryId);
  // What it wrote over is known, so the next attempt reads it back and puts that right.
  if (row === undefined || keptOf(request, 'tried') !== null) return absent;
  const found = there.header.receiptOf(sheet, there.tab, row);
  return message.key === undefined ? { found } : { found, note: notReadBack };
}

/** So many rows of a tab at most are read to see whether they stand under their headers. */
const maxRows = 5000;

/**
 * The rows of their own whose id is in its column, and whose other values are not: somebody moved columns when they were
 * written. They count as absent, and the next attempt puts them right.
 */
async function readMisplaced(
  sheet: Spreadsheet,
  tabs: ReadonlyMap<string, Deliveries>,
  requests: readonly RowRequest[],
): Promise<ReadonlySet<RowRequest>> {
  const found = requests.flatMap((request) => {
    const there = tabs.get(request.message.tab.toLowerCase());
    const row = there?.rows?.get(request.deliveryId);
    return there && row !== undefined && request.message.key === undefined ? [{ request, there, row }] : [];
  });
  const blocks = [...Map.groupBy(found, ({ there }) => there)].flatMap(([{ tab }, rows]) => {
    const [first, last] = [Math.min(...rows.map(({ row }) => row)), Math.max(...rows.map(({ row }) => row))];
    return last - first < maxRows
      ? [{ rows, first, ranges: [headerRange(tab), rowsRange(tab, first, last)] }]
      : [];
  });
  if (blocks.length === 0) return new Set();
  const ranges = blocks.flatMap((block) => block.ranges);
  const answer = await readRanges(sheet, ranges, requests[0]!.signal);
  // They are there for certain: what more can be said of them is not worth a failure.
  if (!answer.ok) return new Set();
  const misplaced = blocks.flatMap(({ rows, first }, index) => {
    const [header = [], cells = []] = answer.data.slice(2 * index, 2 * index + 2);
    const above = Array.from({ length: first - 1 }, (): Row => []);
    const grid = new Grid([header[0] ?? [], ...above].concat(cells));
    return rows.filter(({ request, row }) => isMisplaced(request.message.row, row, grid));
  });
  return new Set(misplaced.map(({ request }) => request));
}

interface Deliveries {
  readonly tab: Tab;
  readonly header: Grid;
  /** By the id of a delivery, its first row; null where the tab has no such column. */
  readonly rows: ReadonlyMap<string, number> | null;
}

/** The columns of deliveries may move between the headers' read and theirs. */
const maxLooks = 3;

async function readDeliveries(
  sheet: Spreadsheet,
  titles: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Answer<Map<string, Deliveries>>> {
  for (let looks = 0; looks < maxLooks; looks += 1) {
    const described = await describe(sheet, signal);
    if (!described.ok) return described;
    const tabs = described.data.tabs.filter(({ title }) => titles.has(title.toLowerCase()));
    if (tabs.length === 0) return { ok: true, data: new Map() };
    const headers = await readRanges(sheet, tabs.map(headerRange), signal);
    if (!headers.ok && isOutdated(headers.failure)) continue;
    if (!headers.ok) return headers;
    const found = tabs.map((tab, index) => ({ tab, header: new Grid(headers.data[index]!) }));
    const withColumn = found.filter(({ header }) => header.column(deliveryHeader) !== -1);
    const ranges = withColumn.map(({ tab, header }) => columnRange(tab, header.column(deliveryHeader)));
    const columns = ranges.length === 0 ? null : await readRanges(sheet, ranges, signal);
    if (columns?.ok === false && !isOutdated(columns.failure)) return columns;
    const read = columns?.ok ? columns.data.map((rows) => new Grid(rows)) : [];
    const isTheirs =
      read.length === withColumn.length && read.every(({ header }) => header[0] === deliveryHeader);
    if (!isTheirs) continue;
    const data = found.map((one): [string, Deliveries] => {
      const column = read[withColumn.indexOf(one)];
      return [one.tab.title.toLowerCase(), { ...one, rows: column?.firstRows(deliveryHeader) ?? null }];
    });
    return { ok: true, data: new Map(data) };
  }
  return { ok: false, failure: changedMeanwhile };
}

/** Somebody may have renamed it after rows were written. */
const noColumn = (tab: string) =>
  `The tab ${tab} has no column ${deliveryHeader}, so nobody can tell which rows are there.`;
