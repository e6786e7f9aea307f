import { delivered } from '../../src/connector.ts';
import { compare, placesOf } from './compare.ts';
import { Grid, lastFilled } from './grid.ts';
import type { View } from './grid.ts';
import { twiceInHeader } from './header.ts';
import { rowAfter } from './merges.ts';
import { deliveryHeader, newerAt, planRows } from './message.ts';
import type { KeyColumns, PlannedRow, RowRequest, SheetMessage, WrittenRow } from './message.ts';
import { notReadBack, notesOf, progressOf } from './outcomes.ts';
import type { Result, Write } from './outcomes.ts';
import { isMisplaced } from './repair.ts';
import { appendToTable, insert, writeFix, writeRow } from './requests.ts';
import type { Spreadsheet, Tab } from './spreadsheet.ts';

/** What was written in a tab. */
export interface Plan {
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

export function planTab(sheet: Spreadsheet, view: View, all: readonly RowRequest[]): TabPlan {
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
export function addition(
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
  const whole = (request: Write['request']): Write => {
    return { request, requests: added.flatMap(({ requests }) => requests), isNew: true };
  };
  const insertion = whole(insert(tab.sheetId, 'ROWS', at, added.length, inheritFromBefore));
  const values = added.map(({ row }) => row);
  const joins = tab.tables
    .filter(({ bottom }) => bottom === at)
    .map((table) => whole(appendToTable(table, grid, values)));
  return { rows, writes: [insertion, ...joins, ...writesOf(tab, grid, rows)] };
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
function endOf({ tab: { merges, tables }, grid }: View, added: readonly Pick<PlannedRow, 'row'>[]): number {
  const names = new Set(added.flatMap(({ row }) => Object.keys(row)));
  const columns = [...names].map((name) => grid.column(name));
  const isFilled = (row: number) =>
    columns.some((column) => grid.at(row, column) !== '' && grid.at(row, column) !== false);
  const below = (row: number) => rowAfter(merges, row, grid.header.length);
  let end = below(Math.max(grid.headerRow, lastFilled(grid, grid.column(deliveryHeader))) + 1);
  while (isFilled(end)) end = below(end + 1);
  // A table's last row may be its footer, which stays below.
  return tables.some(({ bottom, hasFooter }) => hasFooter && bottom === end) ? end - 1 : end;
}
