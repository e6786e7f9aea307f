import { delivered } from '../../src/connector.ts';
import { Grid, lastFilled } from './grid.ts';
import type { View } from './grid.ts';
import { twiceInHeader } from './header.ts';
import { rowAfter } from './merges.ts';
import { deliveryHeader, newerAt, planRows } from './message.ts';
import type { KeyColumns, PlannedRow, RowRequest, SheetMessage, WrittenRow } from './message.ts';
import type { Result, Write } from './outcomes.ts';
import { isMisplaced, rowsWithIds } from './repair.ts';
import { appendToTable, insert, writeRow } from './requests.ts';
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

export function planTab(sheet: Spreadsheet, { tab, grid }: View, all: readonly RowRequest[]): TabPlan {
  const requests = inTab(tab, all);
  const keys = keyColumns(requests, grid);
  const own = grid.firstRows(deliveryHeader);
  const results = requests.flatMap((request): Result[] => {
    const newer = newerAt(request, grid, keys);
    const at = newer ?? (request.attempt > 1 ? own.get(request.deliveryId) : undefined);
    const note = newer === null ? alreadyThere : newerThere;
    return at === undefined ? [] : [[request, delivered(grid.receiptOf(sheet, tab, at), note)]];
  });
  const done = new Set(results.map(([request]) => request));
  const planned = planRows(
    requests.filter((request) => !done.has(request)),
    keys,
  );
  const updated = planned.flatMap(({ row, requests: of, rowIndex }): WrittenRow[] => {
    if (rowIndex === null) return [];
    const notes = twiceInHeader(grid, Object.keys(row));
    const before = grid.rows[rowIndex] ?? [];
    return [{ ...rowOf(tab, row, of), at: rowIndex, header: grid.header, before, notes }];
  });
  const added = addition(
    { tab, grid },
    planned.filter(({ rowIndex }) => rowIndex === null),
  );
  // Inserted rows move what is below them, so those that are there come first.
  const writes = [...writesOf(tab, grid, updated), ...added.writes];
  const before = updated.length > 0 ? grid : null;
  return { tab, before, rows: [...updated, ...added.rows], writes, results };
}

const inTab = ({ title }: Tab, all: readonly RowRequest[]) =>
  all.filter(({ message }) => message.tab.toLowerCase() === title.toLowerCase());

const newerThere = 'A newer update of this row was there already, so the row was left as it is.';

const alreadyThere = 'The row was there already.';

/** Rows that earlier attempts have written and that stand wrongly: they are put right before anything else is done. */
export function earlierRows({ tab, grid }: View, all: readonly RowRequest[]): WrittenRow[] {
  const tried = inTab(tab, all).filter(({ attempt }) => attempt > 1);
  const keys = keyColumns(tried, grid);
  const found = rowsWithIds(
    tried.map(({ deliveryId }) => deliveryId),
    grid,
  );
  return tried.flatMap((request) => {
    const { deliveryId: id, message } = request;
    const [at] = found.get(id) ?? [];
    if (at === undefined || newerAt(request, grid, keys) !== null) return [];
    const isOwn = message.key === undefined;
    // People may have worked since with a row that was updated.
    if (grid.cell(at, deliveryHeader) === id && !(isOwn && isMisplaced(message, at, grid))) return [];
    // Of a row of its own all cells are known to be ours.
    return [{ ...rowOf(tab, message.row, [request]), at, before: isOwn ? null : [], notes: [alreadyThere] }];
  });
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
