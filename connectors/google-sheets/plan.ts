import type { AttemptRequest } from '../../src/connector.ts';
import { deliveryHeader } from './message.ts';
import type { Cell, SheetMessage } from './message.ts';

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

/**
 * What one tab's deliveries come to when they are carried out in this order: rows to update and rows to add, the added
 * ones in order of arrival. A delivery may update the row that one before it adds. Pure.
 */
export function planRows(requests: readonly RowRequest[], columns: KeyColumns): PlannedRow[] {
  const planned: PlannedRow[] = [];
  for (const request of requests) {
    const { key, row } = request.message;
    const rowIndex = key === undefined ? null : (columns.get(key)?.get(String(row[key])) ?? null);
    const same = key === undefined ? -1 : planned.findIndex((one) => holds(one, key, row[key], rowIndex));
    if (same !== -1) {
      planned[same] = merged(planned[same]!, request);
    } else {
      const isTaken = planned.some((one) => one.rowIndex !== null && one.rowIndex === rowIndex);
      // A row that has this value no more by now is another one's.
      planned.push({ rowIndex: isTaken ? null : rowIndex, row, requests: [request] });
    }
  }
  return planned;
}

/** Whether a planned row will have the value; `rowIndex`: the row that has it so far. */
function holds(planned: PlannedRow, key: string, value: Cell | undefined, rowIndex: number | null): boolean {
  if (Object.hasOwn(planned.row, key)) return String(planned.row[key]) === String(value);
  return planned.rowIndex !== null && planned.rowIndex === rowIndex;
}

/**
 * The later values win, under the id of the first. If the answer is lost, the first is found by it, and the others write
 * their values once more, which changes nothing; had the last its id there, the first would put old values back.
 */
function merged({ rowIndex, row, requests }: PlannedRow, request: RowRequest): PlannedRow {
  const values = { ...row, ...request.message.row, [deliveryHeader]: row[deliveryHeader]! };
  return { rowIndex, row: values, requests: [...requests, request] };
}
