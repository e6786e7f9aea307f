import { z } from 'zod';
import { rejected } from '../../src/connector.ts';
import type { AttemptRequest, ComposeResult, DeliveryContext } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';

/** The column that keeps which delivery wrote a row. */
export const deliveryHeader = 'Delivery';

/** The part of a delivery's id that sorts by the event's time; undefined for what is no such id, as people write other things there. */
export const ulidOf = (cell: unknown): string | undefined =>
  /^dlv_([0-9a-z]{26})_\d+$/.exec(String(cell))?.[1];

/** The kinds of a column's values; see `as` of the action. */
export const kind = z.enum(['date', 'number', 'link']);

export type Cell = string | number | boolean;

export type Row = readonly Cell[];

/** The format of a cell. `uri`: the address that it links to, null for none; `plain`: the format of a cell without a kind. */
export type Format = 'date' | 'plain' | { readonly uri: string | null };

/** One row to write. `row`: header to value, the delivery id included. */
export type SheetMessage = {
  readonly tab: string;
  readonly row: { readonly [header: string]: Cell };
  /** The header by whose value a row is found and updated; without it, or such a row, one is added. */
  readonly key?: string;
  /** The formats of cells, by header. A cell of the format `date` has an ISO time in `row`. */
  readonly formats?: { readonly [header: string]: Format };
};

/** A delivery's part of a call. */
export type RowRequest = AttemptRequest<SheetMessage>;

/** An action's keys, rendered. */
export interface SheetFields {
  readonly tab: string;
  readonly row: { readonly [header: string]: Json };
  readonly key?: string | undefined;
  readonly as?: { readonly [header: string]: z.infer<typeof kind> } | undefined;
}

const maxCellLength = 50_000;
const maxTabLength = 100;
const notice = ' … (shortened)';

/** The name of a tab, normalized. */
export const titleOf = (tab: string): string => tab.toWellFormed().replace(/\s+/g, ' ').trim();

/** Builds the row. A value that does not fit into a cell is shortened, with a notice. Pure. */
export function compose(
  { tab, row, key: keyHeader, as = {} }: SheetFields,
  { deliveryId }: DeliveryContext,
): ComposeResult<SheetMessage> {
  const refuse = (detail: string, advice: string) => ({ rejected: rejected('invalid', detail, advice) });
  const title = titleOf(tab);
  if (title === '')
    return refuse('The tab of this row is empty.', 'Give the action a tab for this case too, then replay.');
  if (title.length > maxTabLength)
    return refuse(
      `The name of the tab is longer than ${maxTabLength} characters.`,
      'Shorten it, then replay.',
    );
  const key = keyHeader?.trim();
  const kinds = new Map(Object.entries(as).map(([header, one]) => [header.trim(), one]));
  const cells: { [header: string]: Cell } = {};
  const formats: [string, Format][] = [];
  const notes = new Set<string>();
  for (const [name, value] of Object.entries(row)) {
    const header = name.trim();
    const { cell, format, note } = formatted(header, value, kinds.get(header));
    const fits = typeof cell !== 'string' || cell.length <= maxCellLength;
    // Half of a surrogate pair, where the cut falls into one, cannot be sent.
    const fitted = fits
      ? cell
      : cell.slice(0, maxCellLength - notice.length).replace(/[\uD800-\uDBFF]$/, '') + notice;
    // Assigning `__proto__` would set no key.
    Object.defineProperty(cells, header, { value: fitted, enumerable: true, configurable: true });
    if (format) formats.push([header, format]);
    if (!fits) notes.add('A value was too long for a cell and was shortened.');
    if (note !== undefined) notes.add(note);
  }
  if (key !== undefined && (!Object.hasOwn(cells, key) || cells[key] === ''))
    return refuse(
      `The row has no value for its key ${key}.`,
      'Give the key a value in this case too, then replay.',
    );
  const message = {
    tab: title,
    row: { ...cells, [deliveryHeader]: deliveryId },
    ...(key !== undefined && { key }),
    ...(formats.length > 0 && { formats: Object.fromEntries(formats) }),
  };
  return notes.size > 0 ? { message, note: [...notes].join(' ') } : { message };
}

/**
 * The content and format of a cell. A value that is not of the kind stays as it is. A time stays text here: its number in the
 * sheet depends on the sheet's time zone. `note`: a sentence for the delivery.
 */
export function formatted(
  header: string,
  value: Json,
  as: z.infer<typeof kind> | undefined,
): { readonly cell: Cell; readonly format?: Format; readonly note?: string } {
  const plain = typeof value === 'string' ? value.toWellFormed() : (value ?? '');
  const cell = typeof plain === 'object' ? JSON.stringify(plain) : plain;
  if (as === 'link') {
    const text = String(cell).trim();
    // One and no more: where the text has a link of its own, nobody can tell which of them was meant.
    const found =
      /^(?<uri>https?:\/\/[^\s<>]+)$/i.exec(text) ??
      /^(?<shown>[^<>]*\S)\s*<(?<uri>https?:\/\/[^\s<>]+)>$/i.exec(text) ??
      /^\[(?<shown>[^[\]]*)\]\((?<uri>https?:\/\/[^\s()<>]+)\)$/i.exec(text);
    const { uri, shown = uri } = found?.groups ?? {};
    const isLink = uri && shown?.trim() && URL.canParse(uri);
    return isLink ? { cell: shown!, format: { uri } } : { cell, format: { uri: null } };
  }
  if (as === undefined || typeof cell !== 'string' || cell === '') return { cell };
  if (as === 'number') {
    // Sheets keeps 15 digits. Zeros in front show that it is a code.
    const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(cell.trim()) && cell.replace(/\D/g, '').length <= 15;
    return { cell: isNumber ? Number(cell) : cell };
  }
  if (serialOf(cell, 'UTC') !== null) return { cell, format: 'date' };
  return { cell, note: `${header} has a value that is no ISO time, and was written as it is.` };
}

/** The day from which Sheets counts days. */
const firstDay = Temporal.PlainDateTime.from('1899-12-30');

/** An ISO time as days since `firstDay`, in whole seconds; one without an offset is in the time zone. Null for other text. */
function serialOf(text: string, timeZone: string): number | null {
  const time = text.trim();
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i.test(time)) return null;
  try {
    const local = /(Z|[+-]\d\d:?\d\d)$/i.test(time)
      ? Temporal.Instant.from(time).toZonedDateTimeISO(timeZone).toPlainDateTime()
      : time;
    const until = firstDay.until(Temporal.PlainDateTime.from(local), { smallestUnit: 'second' });
    return until.total('days');
  } catch {
    return null;
  }
}

/** The name of a sheet's time zone. Google also has `GMT-07:00`; UTC stands for any that is not known here. */
export function knownZone(timeZone: string | null | undefined): string {
  try {
    return new Temporal.ZonedDateTime(0n, (timeZone ?? 'UTC').replace(/^GMT(?=[+-])/, '')).timeZoneId;
  } catch {
    return 'UTC';
  }
}

/** The request, with times as numbers of the sheet's time zone. */
export function dated(request: RowRequest, timeZone: string): RowRequest {
  const { row, formats = {} } = request.message;
  const cells = Object.entries(row).map(([header, cell]) => {
    const serial = formats[header] === 'date' ? serialOf(String(cell), timeZone) : null;
    return [header, serial ?? cell] as const;
  });
  return { ...request, message: { ...request.message, row: Object.fromEntries(cells) } };
}

/** A row that was written, or is to be. */
export interface WrittenRow {
  /** The id in its column Delivery. */
  readonly id: string;
  readonly row: SheetMessage['row'];
  /** The row (from 0) that it is written to. */
  readonly at: number;
  /** The tab's header when it was written; null where that is not known any more. */
  readonly header: readonly string[] | null;
  /** The row before the write, empty where that is not known; null for a row that was inserted. */
  readonly before: Row | null;
  /** Sentences that people have to read. */
  readonly notes: readonly string[];
  /** The deliveries that this row carries out: several where they have the same key. */
  readonly requests: readonly RowRequest[];
}

/** The format of a row's value, by the last delivery that gave it. */
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
