import { delivered } from '../../src/connector.ts';
import { deliveryHeader, formatOf, ulidOf } from './message.ts';
import type { RowRequest, SheetMessage, WrittenRow } from './message.ts';
import { notReadBack } from './outcomes.ts';
import type { Result, Write } from './outcomes.ts';
import { isMisplaced, rowsWithIds } from './repair.ts';
import { formatCell, insert, rowAfter, writeCells } from './spreadsheet.ts';
import type { Grid, Request, Spreadsheet, Tab, View } from './spreadsheet.ts';
import { twiceInHeader } from './tabs.ts';

/** The rows to write, or that were written, in a tab. */
export interface Plan {
  readonly tab: Tab;
  /** The tab before the write; null where it is not needed, or not known any more. */
  readonly before: Grid | null;
  readonly rows: readonly WrittenRow[];
}

/** The group of a row, from the progress of the attempt before. Rows of a group share a call. */
export const groupOf = ({ progress }: RowRequest): string | undefined =>
  (Object(progress) as { readonly group?: string }).group;

const inTab = ({ title }: Tab, all: readonly RowRequest[]) =>
  all.filter(({ message }) => message.tab.toLowerCase() === title.toLowerCase());

const alreadyThere = 'The row was there already.';

/** Rows that earlier attempts have written, and that stand in the wrong place. */
export function earlierRows({ tab, grid }: View, all: readonly RowRequest[]): WrittenRow[] {
  const tried = inTab(tab, all).filter(({ attempt }) => attempt > 1);
  const keys = keyColumns(tried, grid);
  const found = rowsWithIds(
    tried.map(({ deliveryId }) => deliveryId),
    grid,
  );
  return tried.flatMap((request) => {
    const { deliveryId: id, message } = request;
    const hits = found.get(id) ?? [];
    const [at] = hits;
    if (at === undefined || newerAt(request, grid, keys) !== null) return [];
    const isOwn = message.key === undefined;
    // Rows were moved just before a repair, which landed in the wrong row.
    const isAtHome = hits.every((row) => grid.cell(row, deliveryHeader) === id);
    // People may have worked since with a row that was updated.
    if (isAtHome && !(isOwn && hits.some((row) => isMisplaced(message, row, grid)))) return [];
    // Of a row of its own all cells are known to be ours.
    const [before, notes] = isOwn ? [null, [alreadyThere]] : [[], [alreadyThere, notReadBack]];
    return [{ id, row: message.row, requests: [request], at, header: null, before, notes }];
  });
}

/** Plans the writes of one call in a tab. `results`: those of deliveries for which nothing has to be written. */
export function planTab(
  sheet: Spreadsheet,
  { tab, grid }: View,
  all: readonly RowRequest[],
): Plan & { readonly writes: readonly Write[]; readonly results: readonly Result[] } {
  const requests = inTab(tab, all);
  const keys = keyColumns(requests, grid);
  const own = grid.firstRows(deliveryHeader);
  const results = requests.flatMap((request): Result[] => {
    const newer = newerAt(request, grid, keys);
    const at = newer ?? (request.attempt > 1 ? own.get(request.deliveryId) : undefined);
    const note =
      newer === null
        ? alreadyThere
        : 'A newer update of this row was there already, so the row was left as it is.';
    return at === undefined ? [] : [[request, delivered(grid.receiptOf(sheet, tab, at), note)]];
  });
  const done = new Set(results.map(([request]) => request));
  const planned = planRows(
    requests.filter((request) => !done.has(request)),
    keys,
  );
  const updated = planned.flatMap(({ row, requests: of, rowIndex: at }): WrittenRow[] => {
    if (at === null) return [];
    const notes = twiceInHeader(grid, Object.keys(row));
    const before = grid.rows[at] ?? [];
    return [{ id: idOf(row), row, requests: of, at, header: grid.header, before, notes }];
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

const idOf = (row: SheetMessage['row']): string => String(row[deliveryHeader]);

/** The columns of keys, by header: the values of each, with the first row (from 0) that has it. */
type KeyColumns = ReadonlyMap<string, ReadonlyMap<string, number>>;

const keyColumns = (requests: readonly RowRequest[], grid: Grid): KeyColumns =>
  new Map(
    requests.flatMap(({ message: { key } }) => (key === undefined ? [] : [[key, grid.firstRows(key)]])),
  );

/** The row of the same key, where a newer delivery has updated it meanwhile, so that it stays as it is; else null. */
function newerAt(
  { deliveryId, message: { key, row } }: RowRequest,
  grid: Grid,
  keys: KeyColumns,
): number | null {
  const at = key === undefined ? undefined : keys.get(key)?.get(String(row[key]));
  return at !== undefined && isNewer(grid.cell(at, deliveryHeader), deliveryId) ? at : null;
}

/** Whether a Delivery cell names a later event than an id does. Two deliveries of one event are of the same age. */
function isNewer(cell: unknown, deliveryId: string): boolean {
  const [there, ours] = [cell, deliveryId].map(ulidOf);
  return there !== undefined && ours !== undefined && there > ours;
}

/** A row to write. */
interface PlannedRow {
  /** Its place (from 0); null for one that is added. */
  readonly rowIndex: number | null;
  readonly row: SheetMessage['row'];
  /** The deliveries that the row carries out: several where they have the same key. */
  readonly requests: readonly RowRequest[];
}

/**
 * The rows to update and to add for the deliveries of a tab, carried out in this order. A delivery may update the row that
 * one before it adds. Pure.
 */
function planRows(requests: readonly RowRequest[], columns: KeyColumns): PlannedRow[] {
  const planned: PlannedRow[] = [];
  for (const request of requests) {
    const { deliveryId, message } = request;
    const { key, row } = message;
    const value = key === undefined ? '' : String(row[key]);
    const valueIn = (one: PlannedRow) =>
      key !== undefined && Object.hasOwn(one.row, key) ? String(one.row[key]) : undefined;
    const rowIndex = (key === undefined ? undefined : columns.get(key)?.get(value)) ?? null;
    const there = planned.find((one) => rowIndex !== null && one.rowIndex === rowIndex);
    // A row that was looked up by this value may get another one from a delivery before.
    const joined =
      there && (valueIn(there) ?? value) === value
        ? there
        : planned.find((one) => (rowIndex === null || there) && valueIn(one) === value);
    if (!joined) {
      planned.push({ rowIndex: there ? null : rowIndex, row, requests: [request] });
      continue;
    }
    // The newer values win, under the newer id. If the answer is lost, the newest is found by it, and the others leave the
    // row alone when they see it there.
    const isLate = isNewer(joined.row[deliveryHeader], deliveryId);
    const values = isLate ? { ...row, ...joined.row } : { ...joined.row, ...row };
    planned[planned.indexOf(joined)] = { ...joined, row: values, requests: [...joined.requests, request] };
  }
  return planned;
}

/** Plans rows to add: they are inserted below the table. */
export function addition(
  { tab, grid }: View,
  added: readonly (Pick<WrittenRow, 'row' | 'requests'> & Partial<Pick<WrittenRow, 'notes'>>)[],
): { readonly rows: readonly WrittenRow[]; readonly writes: readonly Write[] } {
  if (added.length === 0) return { rows: [], writes: [] };
  const { sheetId, tables } = tab;
  const { header, headerRow } = grid;
  // The table ends below the last row with a delivery's id, what follows it without a gap, and cells that are merged with
  // those. Columns that are not written to do not count, nor do unticked boxes: people fill them down in advance.
  const names = new Set(added.flatMap(({ row }) => Object.keys(row)));
  const columns = [...names].map((name) => grid.column(name));
  const below = (row: number) => rowAfter(tab, row, header.length);
  let end = below(Math.max(headerRow, grid.lastDelivery(grid.column(deliveryHeader))) + 1);
  while (columns.some((column) => grid.at(end, column) !== '' && grid.at(end, column) !== false))
    end = below(end + 1);
  // A table's last row may be its footer, which stays below.
  const at = tables.some(({ bottom, hasFooter }) => hasFooter && bottom === end) ? end - 1 : end;
  const rows = added.map(({ row, requests, notes = twiceInHeader(grid, Object.keys(row)) }, index) => {
    return { id: idOf(row), row, requests, at: at + index, header, before: null, notes };
  });
  // Right below the header they would look like it. At the end of the grid nothing else is there to be like.
  const inheritFromBefore = at > below(headerRow + 1) || (tab.rowCount ?? 0) <= at;
  const requests = added.flatMap((one) => one.requests);
  // A table that the inserted rows are not part of grows by rows that are appended to it. These are empty: Google puts them into
  // its first free row, which may stand in the middle. Without `sheetId` Google looks for the tab with the id 0, and refuses
  // the call where there is none.
  const joins = tables.flatMap(({ bottom, id: tableId }): Request[] =>
    bottom === at
      ? [{ appendCells: { sheetId, tableId, rows: added.map(() => ({})), fields: 'userEnteredValue' } }]
      : [],
  );
  const whole = [insert(sheetId, 'ROWS', at, added.length, inheritFromBefore), ...joins];
  const writes = whole.map((request): Write => ({ request, requests, isNew: true }));
  return { rows, writes: [...writes, ...writesOf(tab, grid, rows)] };
}

/** The writes of the cells that messages name, and of no others, wherever the header has them. */
function writesOf(tab: Tab, { header }: Grid, rows: readonly WrittenRow[]): Write[] {
  return rows.flatMap((written) => {
    const { at, row, requests, before } = written;
    const place = before === null ? rows[0]!.at : at;
    const changes: Request[] = [];
    for (let column = 0; column < header.length; column += 1) {
      const from = column;
      while (column < header.length && isNamed(row, header, column)) column += 1;
      const values = header.slice(from, column).map((name) => row[name]!);
      if (values.length > 0) changes.push(writeCells(tab.sheetId, at, from, values));
    }
    for (const [column, name] of header.entries())
      if (isNamed(row, header, column))
        changes.push(...formatCell(tab, at, column, formatOf(written, name), place));
    return changes.map((request) => ({ request, requests, isNew: before === null }));
  });
}

/** Whether a row has a value for a column. Of two columns with one name, the first is meant. */
const isNamed = (row: SheetMessage['row'], header: readonly string[], column: number): boolean =>
  Object.hasOwn(row, header[column]!) && header.indexOf(header[column]!) === column;
