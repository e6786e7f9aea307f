import type { AttemptRequest } from '../../src/connector.ts';
import { deliveryHeader } from './message.ts';
import type { SheetMessage } from './message.ts';
import { isNewer } from './newer.ts';

/** One delivery's part in a call. */
export type RowRequest = AttemptRequest<SheetMessage>;

/** A row as one call leaves it. */
export interface PlannedRow {
  /** Where it is (from 0), or null for one that is added. */
  readonly rowIndex: number | null;
  readonly row: SheetMessage['row'];
  /** The deliveries that it carries out: several where they have the same key. */
  readonly requests: readonly RowRequest[];
}

/** A row that the tab has already. */
export type RowThere = PlannedRow & { readonly rowIndex: number };

export function isThere(planned: PlannedRow): planned is RowThere {
  return planned.rowIndex !== null;
}

export function requestsOf(planned: readonly PlannedRow[]): RowRequest[] {
  return planned.flatMap(({ requests }) => requests);
}

/** By the header of a key: the values of its column, each with the first row (from 0) that has it. */
export type KeyColumns = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** What a tab has, as far as keys need it. */
export interface TabContent {
  readonly keys: KeyColumns;
  /** The Delivery column, by row (from 0). */
  readonly deliveries: readonly string[];
}

/**
 * The deliveries that come too late: a newer one has updated the row of the same key meanwhile, so it stays as it is. Pure.
 */
export function overtaken(requests: readonly RowRequest[], { keys, deliveries }: TabContent): RowThere[] {
  return requests.flatMap((request) => {
    const { key, row } = request.message;
    const rowIndex = key === undefined ? undefined : keys.get(key)?.get(String(row[key]));
    const isLate = rowIndex !== undefined && isNewer(deliveries[rowIndex], request.deliveryId);
    return isLate ? [{ rowIndex, row, requests: [request] }] : [];
  });
}

/**
 * What one tab's deliveries come to when they are carried out in this order: rows to update and rows to add, the added
 * ones in order of arrival. A delivery may update the row that one before it adds. Pure.
 */
export function planRows(requests: readonly RowRequest[], columns: KeyColumns): PlannedRow[] {
  const planned: PlannedRow[] = [];
  for (const request of requests) {
    const place = placeOf(request.message, planned, columns);
    if (typeof place === 'object' && place !== null) planned[planned.indexOf(place)] = merged(place, request);
    else planned.push({ rowIndex: place, row: request.message.row, requests: [request] });
  }
  return planned;
}

/** The planned row that a message joins, or the index of the one that it updates, or null where it adds one. */
function placeOf(
  { key, row }: SheetMessage,
  planned: readonly PlannedRow[],
  columns: KeyColumns,
): PlannedRow | number | null {
  if (key === undefined) return null;
  const value = String(row[key]);
  const rowIndex = columns.get(key)?.get(value) ?? null;
  const there = planned.find((one) => one.rowIndex !== null && one.rowIndex === rowIndex);
  if (rowIndex !== null && there === undefined) return rowIndex;
  // A row that was looked up by this value may get another one from a delivery before.
  if (there && (valueIn(there, key) ?? value) === value) return there;
  return planned.find((one) => valueIn(one, key) === value) ?? null;
}

function valueIn({ row }: PlannedRow, header: string): string | undefined {
  return Object.hasOwn(row, header) ? String(row[header]) : undefined;
}

/**
 * The newer values win, under the newer id. If the answer is lost, the newest is found by it, and the others leave the row
 * alone when they see it there.
 */
function merged({ rowIndex, row, requests }: PlannedRow, request: RowRequest): PlannedRow {
  const isLate = isNewer(row[deliveryHeader], request.deliveryId);
  const values = isLate ? { ...request.message.row, ...row } : { ...row, ...request.message.row };
  return { rowIndex, row: values, requests: [...requests, request] };
}
