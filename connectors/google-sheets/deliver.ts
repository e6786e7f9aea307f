import { delivered } from '../../src/connector.ts';
import type { Outcome, Retry } from '../../src/model.ts';
import type { Failure } from './client.ts';
import { compare, isMisplaced, placesOf } from './find.ts';
import type { Comparison } from './find.ts';
import { rowAfter } from './merges.ts';
import { deliveryHeader, newerAt, planRows } from './message.ts';
import type { KeyColumns, PlannedRow, RowRequest, SheetMessage, WrittenRow } from './message.ts';
import {
  asProgress,
  failedRead,
  goneSince,
  notesOf,
  notesOfAbsent,
  notPutRight,
  notReadBack,
  progressOf,
  refusedRows,
  unwrittenRows,
} from './outcomes.ts';
import type { Result, Write } from './outcomes.ts';
import {
  batchUpdate,
  describe,
  Grid,
  insert,
  isOutdated,
  lastFilled,
  readParts,
  readTabs,
  readWhole,
  rowsRange,
  tableRange,
  tabWith,
  twiceInHeader,
  withDates,
  writeFix,
  writeRow,
} from './table.ts';
import type { Spreadsheet, Tab, View, Wanted } from './table.ts';

/** What was written in a tab. */
interface Plan {
  readonly tab: Tab;
  /** The tab as it was read before; null where that is not needed, or not known any more. */
  readonly before: Grid | null;
  readonly rows: readonly WrittenRow[];
}

/** What one call does in a tab. */
interface TabPlan extends Plan {
  readonly writes: readonly Write[];
  /** How deliveries end for which nothing has to be written. */
  readonly results: readonly Result[];
}

/**
 * Writes many rows with two reads and one write, in order of arrival: all tabs are read at the same moment, written to,
 * and read back. What Google refused for one row goes apart from the others.
 */
export async function deliverRows(sheet: Spreadsheet, given: readonly RowRequest[]): Promise<Outcome[]> {
  const read = await withDates(sheet, given);
  const requests = read.ok ? read.data : given;
  const outcomes = new Map(read.ok ? [] : unreadRows(sheet, read.failure, given));
  if (!read.ok) return requests.map((request) => outcomes.get(request)!);
  let failure: Retry | undefined;
  for (const group of Map.groupBy(requests, (request) => progressOf(request).group).values()) {
    const results = failure ? [] : await oneCall(sheet, group);
    for (const [request, outcome] of results) outcomes.set(request, outcome);
    failure ??= results.map(([, outcome]) => outcome).find(isSinkWide);
  }
  return requests.map((request) => outcomes.get(request) ?? unsent(failure!));
}

function isSinkWide(outcome: Outcome): outcome is Retry {
  return outcome.outcome === 'retry' && outcome.sinkWide === true;
}

/** What another delivery achieved in part is not this one's. */
function unsent({ progress: _, ...failure }: Retry): Retry {
  return failure;
}

async function oneCall(sheet: Spreadsheet, requests: readonly RowRequest[]): Promise<Result[]> {
  const { signal } = requests[0]!;
  const begun = writtenEarlier(sheet, requests);
  const begunFailed = (failure: Failure) => begun.flatMap(({ rows }) => readBackLater(sheet, rows, failure));
  const fresh = requests.filter((request) => !progressOf(request).written);
  const views = await readTabs(sheet, wantedOf(fresh), signal);
  if (!views.ok) return unreadRows(sheet, views.failure, requests);
  const plans = views.data.map((view) => planTab(sheet, view, fresh));
  const results = plans.flatMap((plan) => plan.results);
  const writes = plans.flatMap((plan) => plan.writes);
  const changes = writes.map(({ request }) => request);
  const answer = changes.length === 0 ? null : await batchUpdate(sheet, changes, signal);
  if (answer === null || answer.ok) {
    return [...results, ...(await readBack(sheet, [...plans, ...begun], signal))];
  }
  if (isRefusal(answer.failure)) sheet.tabs.clear();
  const rows = plans.flatMap((plan) => plan.rows);
  return [...results, ...begunFailed(answer.failure), ...refusedRows(sheet, answer.failure, rows, writes)];
}

/** How deliveries end where nothing could be read before they were written. */
function unreadRows(sheet: Spreadsheet, failure: Failure, requests: readonly RowRequest[]): Result[] {
  const fresh = requests.filter((request) => !progressOf(request).written);
  const begun = writtenEarlier(sheet, requests).flatMap(({ rows }) => readBackLater(sheet, rows, failure));
  return [...begun, ...unwrittenRows(sheet, failure, fresh)];
}

/** What has to be known of each tab: of one with keyed rows everything, as they may stand anywhere in it. */
function wantedOf(requests: readonly RowRequest[]): Wanted[] {
  const byTab = Map.groupBy(requests, ({ message }) => message.tab.toLowerCase());
  return [...byTab.values()].map((all) => {
    const names = new Set(all.flatMap(({ message }) => Object.keys(message.row)));
    names.delete(deliveryHeader);
    const whole = all.some(({ message }) => message.key !== undefined);
    return { title: all[0]!.message.tab, names: [...names, deliveryHeader], whole };
  });
}

function planTab(sheet: Spreadsheet, view: View, all: readonly RowRequest[]): TabPlan {
  const { tab } = view;
  const requests = all.filter(({ message }) => message.tab.toLowerCase() === tab.title.toLowerCase());
  const { grid, fixes, seen } = earlierRows(view, requests);
  const keys = keyColumns(requests, grid);
  const results = requests.flatMap((request): Result[] => {
    const { row = null, isRight = false, notes = [] } = seen.get(request) ?? {};
    const newer = newerAt(request, grid, keys);
    const at = newer ?? (isRight ? row : null);
    const note = [newer === null ? alreadyThere : newerThere, ...notes].join(' ');
    return at === null ? [] : [[request, delivered(grid.receiptOf(sheet, tab, at), note)]];
  });
  const done = new Set(results.map(([request]) => request));
  const own = requests.flatMap((request): [RowRequest, number][] => {
    const row = request.message.key === undefined ? seen.get(request)?.row : undefined;
    return typeof row === 'number' ? [[request, row]] : [];
  });
  const toWrite = requests.filter((request) => !done.has(request));
  const planned = planRows(toWrite, keys, new Map(own));
  const updated = planned.flatMap(({ row, requests: of, rowIndex }): WrittenRow[] => {
    if (rowIndex === null) return [];
    const earlier = of.flatMap((request) => seen.get(request)?.notes ?? []);
    const notes = [...new Set([...earlier, ...twiceInHeader(grid, Object.keys(row))])];
    const before = grid.rows[rowIndex] ?? [];
    return [{ ...rowOf(tab, row, of), at: rowIndex, header: grid.header, before, notes }];
  });
  const added = addition(
    { tab, grid },
    planned.filter(({ rowIndex }) => rowIndex === null),
  );
  // Inserted rows move what is below them, so those that are there come first.
  const writes = [...fixes, ...writesOf(tab, grid, updated), ...added.writes];
  const before = updated.length > 0 ? grid : null;
  return { tab, before, rows: [...updated, ...added.rows], writes, results };
}

const newerThere = 'A newer update of this row was there already, so the row was left as it is.';
const alreadyThere = 'The row was there already.';

/** What is there of a delivery that was tried before. */
interface Seen {
  readonly row: number | null;
  readonly isRight: boolean;
  readonly notes: readonly string[];
}

/**
 * What earlier attempts have written. What of it stands in wrong places is put right first, and the row is written again
 * where it is then, as others may be about the same one.
 */
function earlierRows({ tab, grid }: View, requests: readonly RowRequest[]) {
  const tried = requests.filter(({ attempt }) => attempt > 1);
  const ids = new Map(tried.map((request) => [request, progressOf(request).tried?.id ?? request.deliveryId]));
  const places = placesOf([...ids.values()], grid);
  const keys = keyColumns(tried, grid);
  const seen = new Map<RowRequest, Seen>();
  const unclear = new Map<string, WrittenRow>();
  for (const [request, id] of ids) {
    const place = places.get(id);
    if (!place) continue;
    const { key, row } = request.message;
    const newer = newerAt(request, grid, keys);
    const kept = progressOf(request).tried;
    const isHome = place.column === grid.column(deliveryHeader);
    if (newer !== null && grid.cell(newer, deliveryHeader) !== id) {
      seen.set(request, { row: null, isRight: false, notes: [notReadBack] });
    } else if (!kept && isHome && (key !== undefined || !isMisplaced(row, place.row, grid))) {
      seen.set(request, { row: place.row, isRight: true, notes: [] });
    } else {
      const before = key === undefined ? null : [];
      const written = kept ?? { ...rowOf(tab, row, []), at: place.row, before };
      unclear.set(id, { ...written, requests: [...(unclear.get(id)?.requests ?? []), request] });
    }
  }
  const rows = [...unclear.values()];
  const compared = compare(rows, null, grid);
  const fixes = rows.flatMap(({ requests: of }, index) =>
    compared[index]!.fixes.flatMap((fix) =>
      writeFix(tab.sheetId, fix).map((request) => ({ request, requests: of, isNew: false })),
    ),
  );
  for (const [index, one] of compared.entries()) {
    // Of a row of its own all cells are known to be ours.
    const notes = rows[index]!.before === null ? [] : notesOf(one);
    const isRight = one.row !== null && one.fixes.length === 0;
    for (const request of rows[index]!.requests) seen.set(request, { row: one.row, isRight, notes });
  }
  return { seen, fixes, grid: grid.with(compared.flatMap((one) => one.fixes)) };
}

/** A row that is not written yet. */
function rowOf({ sheetId }: Tab, row: SheetMessage['row'], requests: readonly RowRequest[]): WrittenRow {
  const id = String(row[deliveryHeader]);
  return { id, sheetId, row, requests, at: -1, header: null, before: null, notes: [] };
}

function writesOf(tab: Tab, grid: Grid, rows: readonly WrittenRow[]): Write[] {
  return rows.flatMap((written) => {
    const { requests, before } = written;
    const isNew = before === null;
    return writeRow(tab.sheetId, written, grid).map((request) => ({ request, requests, isNew }));
  });
}

/** Rows of their own, inserted below the table. */
function addition(
  { tab, grid }: View,
  added: readonly (Pick<PlannedRow, 'row' | 'requests'> & Partial<Pick<WrittenRow, 'notes'>>)[],
) {
  if (added.length === 0) return { rows: [], writes: [] };
  const at = endOf({ tab, grid }, added);
  const rows = added.map(({ row, requests, notes = twiceInHeader(grid, Object.keys(row)) }, index) => {
    return { ...rowOf(tab, row, requests), at: at + index, header: grid.header, notes };
  });
  // Right below the header they would look like it. At the end of the grid nothing else is there to be like.
  const first = rowAfter(tab.merges, grid.headerRow + 1, grid.header.length);
  const inheritFromBefore = at > first || (tab.rowCount ?? 0) <= at;
  const insertion = {
    request: insert(tab.sheetId, 'ROWS', at, added.length, inheritFromBefore),
    requests: added.flatMap(({ requests }) => requests),
    isNew: true,
  };
  return { rows, writes: [insertion, ...writesOf(tab, grid, rows)] };
}

/** By the header of a key: the values of its column, each with the first row (from 0) that has it. */
function keyColumns(requests: readonly RowRequest[], grid: Grid): KeyColumns {
  const names = new Set(requests.flatMap(({ message: { key } }) => (key === undefined ? [] : [key])));
  return new Map([...names].map((name) => [name, grid.firstRows(name)]));
}

/**
 * Where the table ends: below the last row with a delivery's id, what follows it without a gap, and cells that are merged
 * with those. Columns that are not written to do not count, nor do unticked boxes: people fill them down in advance.
 */
function endOf({ tab: { merges }, grid }: View, added: readonly Pick<PlannedRow, 'row'>[]): number {
  const names = new Set(added.flatMap(({ row }) => Object.keys(row)));
  const columns = [...names].map((name) => grid.column(name));
  const isFilled = (row: number) =>
    columns.some((column) => grid.at(row, column) !== '' && grid.at(row, column) !== false);
  const below = (row: number) => rowAfter(merges, row, grid.header.length);
  let end = below(Math.max(grid.headerRow, lastFilled(grid, grid.column(deliveryHeader))) + 1);
  while (isFilled(end)) end = below(end + 1);
  return end;
}

/** Reads back what was written, with its header, and puts right what landed wrongly. */
async function readBack(sheet: Spreadsheet, all: readonly Plan[], signal: AbortSignal): Promise<Result[]> {
  const plans = all.filter(({ rows }) => rows.length > 0);
  const parts = plans.map((plan) => ({ tab: plan.tab, ...rangeOf(plan) }));
  const read = await readParts(sheet, parts, signal);
  if (!read.ok && !isOutdated(read.failure)) {
    return plans.flatMap(({ rows }) => readBackLater(sheet, rows, read.failure));
  }
  const results: Result[] = [];
  for (const [index, plan] of plans.entries()) {
    const grid = read.ok ? read.data[index]! : null;
    const isEnough = grid !== null && (isBlock(plan) ? isAsWritten(plan, grid) : isAllRead(plan, grid));
    results.push(...(await settle(sheet, plan, isEnough ? { tab: plan.tab, grid } : null, signal)));
  }
  return results;
}

/** Rows of their own are looked for where they were inserted; any other may have been moved before it was written. */
function isBlock({ rows }: Plan): boolean {
  return rows.every(({ before }) => before === null);
}

function rangeOf(plan: Plan): { readonly first: number; readonly range: string } {
  if (!isBlock(plan)) return { first: 0, range: tableRange(plan.tab) };
  const [first, last] = [plan.rows[0]!.at, plan.rows.at(-1)!.at];
  return { first, range: rowsRange(plan.tab, first, last) };
}

const isAllRead = ({ tab }: Plan, { header }: Grid): boolean => header.length === tab.width;

function isAsWritten({ rows }: Plan, grid: Grid): boolean {
  return rows.every(
    ({ id, at, row, header }) =>
      grid.cell(at, deliveryHeader) === id &&
      !isMisplaced(row, at, grid) &&
      Object.keys(row).every((name) => grid.column(name) === header!.indexOf(name)),
  );
}

/** People may go on editing: after so many repairs the delivery only tells what is wrong. */
const maxRepairs = 2;

/** How deliveries end that were written: with what became of their rows. `view`: their tab, read since. */
async function settle(
  sheet: Spreadsheet,
  plan: Plan,
  view: View | null,
  signal: AbortSignal,
): Promise<Result[]> {
  let { rows } = plan;
  const { sheetId } = plan.tab;
  const width = Math.max(...rows.map(({ header }) => header?.length ?? 0));
  for (let repairs = 0; ; repairs += 1) {
    const read = view
      ? ({ ok: true, data: view } as const)
      : await readWhole(sheet, { sheetId, width }, signal);
    if (!read.ok) return readBackLater(sheet, rows, read.failure);
    if (read.data === null) return rows.flatMap((row) => goneRow(sheet, plan.tab, row));
    const { tab, grid, compared } = await withMerges(sheet, read.data, signal, (seen) =>
      compare(rows, plan.before, seen),
    );
    rows = rows.map((row, index) => {
      return { ...row, notes: [...new Set([...row.notes, ...notesOf(compared[index]!)])] };
    });
    const deleted = rows.filter((_, index) => compared[index]!.isDeleted);
    const fixes = compared.flatMap((one) => one.fixes);
    if (fixes.length + deleted.length === 0 || repairs === maxRepairs) {
      const found = compared.map(({ row }) => row ?? 0);
      // The next rows are looked for from the last ones on.
      if (tab.lastRow !== null) tab.lastRow = Math.max(tab.lastRow, ...found);
      return rows.flatMap((row, index) => settledRow(sheet, { tab, grid }, row, compared[index]!));
    }
    // Deleted just before they were updated, they are added as if they had not been there.
    const anew = addition({ tab, grid }, deleted);
    const changes = [
      ...fixes.flatMap((fix) => writeFix(tab.sheetId, fix)),
      ...anew.writes.map(({ request }) => request),
    ];
    const fixed = await batchUpdate(sheet, changes, signal);
    if (!fixed.ok && !isRefusal(fixed.failure)) return readBackLater(sheet, rows, fixed.failure);
    if (!fixed.ok) repairs = maxRepairs - 1;
    else rows = rows.map((row) => anew.rows[deleted.indexOf(row)] ?? row);
    view = null;
  }
}

/** What was compared; where values are not there, with the merges as they are now, which may have kept them out. */
async function withMerges(
  sheet: Spreadsheet,
  view: View,
  signal: AbortSignal,
  compareWith: (grid: Grid) => Comparison[],
): Promise<View & { readonly compared: Comparison[] }> {
  const compared = compareWith(view.grid);
  const isWhole = compared.every(({ row, absent }) => row !== null && absent.length === 0);
  const described = isWhole ? null : await describe(sheet, signal);
  const tab = described?.ok ? tabWith(sheet, view.tab.sheetId) : undefined;
  if (!tab) return { ...view, compared };
  const grid = view.grid.merged(tab.merges);
  return { tab, grid, compared: compareWith(grid) };
}

const isRefusal = (failure: Failure) => failure.kind === 'http' && failure.status === 400;

function settledRow(
  sheet: Spreadsheet,
  { tab, grid }: View,
  written: WrittenRow,
  { row, fixes, absent, merged }: Comparison,
): Result[] {
  if (row === null) return goneRow(sheet, tab, written);
  return written.requests.map((request) => {
    const isRenamed = request.message.tab.toLowerCase() !== tab.title.toLowerCase();
    const notes = [
      ...written.notes,
      ...notesOfAbsent(absent, merged),
      ...(fixes.length > 0 ? [notPutRight] : []),
      ...(isRenamed ? [`The tab was renamed to ${tab.title} while the row was written.`] : []),
    ];
    return [request, delivered(grid.receiptOf(sheet, tab, row), notes.join(' ') || undefined)];
  });
}

function goneRow(sheet: Spreadsheet, tab: Tab, { at, header, requests, notes }: WrittenRow): Result[] {
  const receipt = new Grid([header ?? []]).receiptOf(sheet, tab, at);
  const note = [...notes, goneSince].join(' ');
  return requests.map((request) => [request, delivered(receipt, note)]);
}

/** Written for certain, so that it is not written again; the next attempt goes on with reading it back. */
function readBackLater(sheet: Spreadsheet, rows: readonly WrittenRow[], failure: Failure): Result[] {
  const outcome = failedRead(failure, sheet);
  const detail = `The row was written and has still to be read back. ${outcome.detail}`;
  return rows.flatMap((row) => {
    const result = { ...outcome, detail, progress: asProgress('written', row) };
    return row.requests.map((request): Result => [request, result]);
  });
}

/** Rows that earlier attempts wrote and could not read back, by their tabs. */
function writtenEarlier(sheet: Spreadsheet, requests: readonly RowRequest[]): Plan[] {
  const found = new Map<string, WrittenRow>();
  for (const request of requests) {
    const { written } = progressOf(request);
    if (!written) continue;
    const name = `${written.sheetId} ${written.id}`;
    found.set(name, { ...written, requests: [...(found.get(name)?.requests ?? []), request] });
  }
  return [...Map.groupBy(found.values(), ({ sheetId }) => sheetId)].map(([sheetId, rows]) => {
    const title = rows[0]!.requests[0]!.message.tab;
    const { headerRow } = sheet;
    const unread = {
      sheetId,
      title,
      headerRow,
      rowCount: null,
      merges: [],
      width: null,
      deliveryColumn: -1,
      lastRow: null,
    };
    const tab = tabWith(sheet, sheetId) ?? unread;
    return { tab, before: null, rows };
  });
}
