import { isDeepStrictEqual } from 'node:util';
import { delivered } from '../../src/connector.ts';
import { rowsRange, tableRange } from './a1.ts';
import type { Failure } from './client.ts';
import { Grid, readParts } from './grid.ts';
import type { Fix, View } from './grid.ts';
import { deliveryHeader } from './message.ts';
import type { RowRequest, WrittenRow } from './message.ts';
import {
  asProgress,
  failedRead,
  goneSince,
  notPutRight,
  notesOf,
  notesOfAbsent,
  progressOf,
} from './outcomes.ts';
import type { Result } from './outcomes.ts';
import { addition } from './plan.ts';
import type { Plan } from './plan.ts';
import { landings } from './repair.ts';
import type { Before, Landing } from './repair.ts';
import { writeFix } from './requests.ts';
import { batchUpdate, describe, isOutdated, isRefusal, tabWith, unread } from './spreadsheet.ts';
import type { Spreadsheet, Tab } from './spreadsheet.ts';
import { readWhole } from './tabs.ts';

/** Reads back what was written, with its header, and puts right what landed wrongly. */
export async function readBack(
  sheet: Spreadsheet,
  all: readonly Plan[],
  signal: AbortSignal,
): Promise<Result[]> {
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
      Object.keys(row).every((name) => grid.column(name) === header!.indexOf(name)),
  );
}

/** People may go on editing: after so many repairs the delivery only tells what is wrong. */
const maxRepairs = 5;

/** How deliveries end that were written: with what became of their rows. `view`: their tab, read since. */
export async function settle(
  sheet: Spreadsheet,
  plan: Plan,
  view: View | null,
  signal: AbortSignal,
): Promise<Result[]> {
  let { rows } = plan;
  const { sheetId } = plan.tab;
  let before: Before | null = plan.before && { seen: plan.before, meant: plan.before };
  let tried: readonly Fix[] = [];
  for (let repairs = 0; ; repairs += 1) {
    const width = Math.max(...rows.map(({ header }) => header?.length ?? 0));
    const read = view
      ? ({ ok: true, data: view } as const)
      : await readWhole(sheet, { sheetId, width }, signal);
    if (!read.ok) return readBackLater(sheet, rows, read.failure);
    if (read.data === null) return rows.flatMap((row) => goneRow(sheet, plan.tab, row));
    let { tab, grid } = read.data;
    let compared = landings(rows, before, grid);
    const isWhole = compared.every(({ row, absent }) => row !== null && absent.length === 0);
    // What is not there may have been kept out by cells that are merged now.
    const described = isWhole ? null : await describe(sheet, signal);
    if (described?.ok) {
      tab = tabWith(sheet, sheetId) ?? tab;
      grid = grid.merged(tab.merges);
      compared = landings(rows, before, grid);
    }
    rows = rows.map((row, index) => {
      return { ...row, notes: [...new Set([...row.notes, ...notesOf(compared[index]!)])] };
    });
    const deleted = rows.filter((_, index) => compared[index]!.isDeleted);
    const fixes = compared.flatMap((one) => one.fixes);
    const isInVain = fixes.length > 0 && isDeepStrictEqual(fixes, tried);
    if (fixes.length + deleted.length === 0 || isInVain || repairs === maxRepairs) {
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
    tried = fixes;
    if (fixed.ok) {
      // People may have moved rows and columns before that, too: it is held against what was read, like any other write.
      before = { seen: grid, meant: grid.with(fixes) };
      rows = rows.map((row, index) => {
        return anew.rows[deleted.indexOf(row)] ?? writtenAt(row, compared[index]!.row, grid);
      });
    }
    view = null;
  }
}

/** A row as a repair writes it. */
function writtenAt(row: WrittenRow, at: number | null, { header, rows }: Grid): WrittenRow {
  return at === null ? row : { ...row, at, header, before: rows[at] ?? [] };
}

function settledRow(
  sheet: Spreadsheet,
  { tab, grid }: View,
  written: WrittenRow,
  { row, fixes, absent, merged }: Landing,
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
export function readBackLater(sheet: Spreadsheet, rows: readonly WrittenRow[], failure: Failure): Result[] {
  const outcome = failedRead(failure, sheet);
  const detail = `The row was written and has still to be read back. ${outcome.detail}`;
  return rows.flatMap((row) => {
    const result = { ...outcome, detail, progress: asProgress(row) };
    return row.requests.map((request): Result => [request, result]);
  });
}

/** Rows that earlier attempts wrote and could not read back, by their tabs. */
export function writtenEarlier(sheet: Spreadsheet, requests: readonly RowRequest[]): Plan[] {
  const found = new Map<string, WrittenRow>();
  for (const request of requests) {
    const { written } = progressOf(request);
    if (!written) continue;
    const name = `${written.sheetId} ${written.id}`;
    found.set(name, { ...written, requests: [...(found.get(name)?.requests ?? []), request] });
  }
  return [...Map.groupBy(found.values(), ({ sheetId }) => sheetId)].map(([sheetId, rows]) => {
    const title = rows[0]!.requests[0]!.message.tab;
    const place = { sheetId, title, headerRow: sheet.headerRow, rowCount: null };
    const tab = tabWith(sheet, sheetId) ?? { ...unread, ...place, merges: [], tables: [] };
    return { tab, before: null, rows };
  });
}
