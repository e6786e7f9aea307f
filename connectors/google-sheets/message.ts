import { rejected } from '../../src/connector.ts';
import type { AttemptRequest, ComposeResult, DeliveryContext } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import { formatted, serialOf } from './format.ts';
import type { Cell, Format, Kind } from './format.ts';

/** The column that keeps which delivery wrote a row. */
export const deliveryHeader = 'Delivery';

export type Row = readonly Cell[];

/** One row to write. `row`: header to value, the delivery id included. */
export type SheetMessage = {
  readonly tab: string;
  readonly row: { readonly [header: string]: Cell };
  /** The header whose value tells which row to update; without it a row is added. */
  readonly key?: string;
  /** By header, how cells show their values; the ones named `date` are ISO times in the row. */
  readonly formats?: { readonly [header: string]: Format };
};

/** One delivery's part in a call. */
export type RowRequest = AttemptRequest<SheetMessage>;

/** An action's keys, rendered. */
export interface SheetFields {
  readonly tab: string;
  readonly row: { readonly [header: string]: Json };
  readonly key?: string | undefined;
  readonly as?: { readonly [header: string]: Kind } | undefined;
}

const maxCellLength = 50_000;
const maxTabLength = 100;
const notice = ' … (shortened)';

/** Pure: the row that will be written. What does not fit into a cell is shortened with a notice in its place. */
export function compose(
  { tab, row, key: keyHeader, as = {} }: SheetFields,
  { deliveryId }: DeliveryContext,
): ComposeResult<SheetMessage> {
  const title = tab.toWellFormed().replace(/\s+/g, ' ').trim();
  if (title === '')
    return refuse('The tab of this row is empty.', 'Give the action a tab for this case too, then replay.');
  if (title.length > maxTabLength) {
    return refuse(
      `The name of the tab is longer than ${maxTabLength} characters.`,
      'Shorten it, then replay.',
    );
  }
  const key = keyHeader?.trim();
  const kinds = new Map(Object.entries(as).map(([header, kind]) => [header.trim(), kind]));
  const cells = Object.entries(row).map(([name, value]) => {
    const header = name.trim();
    return [header, formatted(header, cellOf(value), kinds.get(header))] as const;
  });
  const fitted = Object.fromEntries(cells.map(([header, { cell }]) => [header, fit(cell)]));
  const formats = cells.flatMap(([header, { format }]) => (format ? [[header, format] as const] : []));
  if (key !== undefined && (!Object.hasOwn(fitted, key) || fitted[key] === '')) {
    return refuse(
      `The row has no value for its key ${key}.`,
      'Give the key a value in this case too, then replay.',
    );
  }
  const message = {
    tab: title,
    row: { ...fitted, [deliveryHeader]: deliveryId },
    ...(key !== undefined && { key }),
    ...(formats.length > 0 && { formats: Object.fromEntries(formats) }),
  };
  const shortened = cells.some(([header, { cell }]) => fitted[header] !== cell);
  const notes = [
    ...(shortened ? ['A value was too long for a cell and was shortened.'] : []),
    ...cells.flatMap(([, { note = [] }]) => note),
  ];
  return notes.length > 0 ? { message, note: notes.join(' ') } : { message };
}

function refuse(detail: string, advice: string) {
  return { rejected: rejected('invalid', detail, advice) };
}

/** Absent values leave the cell empty; lists and objects become their JSON. */
function cellOf(value: Json): Cell {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') return JSON.stringify(value);
  return typeof value === 'string' ? value.toWellFormed() : value;
}

function fit(cell: Cell): Cell {
  if (typeof cell !== 'string' || cell.length <= maxCellLength) return cell;
  // Half of a surrogate pair, where the cut falls into one, cannot be sent.
  return cell.slice(0, maxCellLength - notice.length).replace(/[\uD800-\uDBFF]$/, '') + notice;
}

/** A row that was written, or may have been, as the next attempt needs to know it. */
export interface WrittenRow {
  /** What its column Delivery was given. */
  readonly id: string;
  readonly sheetId: number;
  readonly row: SheetMessage['row'];
  /** The row (from 0) that it was written to. */
  readonly at: number;
  /** The header that it was written by; null where that is not known any more. */
  readonly header: readonly string[] | null;
  /** What stood in that row, empty where that is not known; null for a row of its own, which was inserted. */
  readonly before: Row | null;
  /** What people have to know of it. */
  readonly notes: readonly string[];
  readonly requests: readonly RowRequest[];
}

/** A row as one call leaves it. */
export interface PlannedRow {
  /** Where it is (from 0), or null for one that is added. */
  readonly rowIndex: number | null;
  readonly row: SheetMessage['row'];
  /** The deliveries that it carries out: several where they have the same key. */
  readonly requests: readonly RowRequest[];
}

/** By the header of a key: the values of its column, each with the first row (from 0) that has it. */
export type KeyColumns = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Where a newer delivery has updated the row of the same key meanwhile, which then stays as it is. */
export function newerAt(
  { deliveryId, message: { key, row } }: RowRequest,
  grid: { cell(row: number, name: string): Cell },
  keys: KeyColumns,
): number | null {
  if (key === undefined) return null;
  const at = keys.get(key)?.get(String(row[key]));
  return at !== undefined && isNewer(grid.cell(at, deliveryHeader), deliveryId) ? at : null;
}

/** Whether a Delivery cell names a later event than an id does. Two deliveries of one event are of the same age. */
function isNewer(cell: unknown, deliveryId: string): boolean {
  const [there, ours] = [timeOf(cell), timeOf(deliveryId)];
  return there !== null && ours !== null && there > ours;
}

/** The ULID of a delivery's id, which sorts by time; null for what people wrote into the cell. */
function timeOf(id: unknown): string | null {
  return /^dlv_([0-9a-z]{26})_\d+$/.exec(String(id))?.[1] ?? null;
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

/** The request with its times as numbers of the sheet's time zone. */
export function dated<Request extends RowRequest>(request: Request, timeZone: string): Request {
  const { row, formats = {} } = request.message;
  const cells = Object.entries(row).map(([header, cell]) => {
    const serial = formats[header] === 'date' ? serialOf(String(cell), timeZone) : null;
    return [header, serial ?? cell] as const;
  });
  return { ...request, message: { ...request.message, row: Object.fromEntries(cells) } };
}

export const hasDates = ({ message }: RowRequest): boolean =>
  Object.values(message.formats ?? {}).includes('date');

/** The format of a row's value: that of the last delivery that gave it. */
export function formatOf(
  { row, requests }: Pick<WrittenRow, 'row' | 'requests'>,
  name: string,
): Format | undefined {
  const giver = requests.findLast(
    ({ message }) => Object.hasOwn(message.row, name) && message.row[name] === row[name],
  );
  const formats = giver?.message.formats;
  return formats && Object.hasOwn(formats, name) ? formats[name] : undefined;
}
