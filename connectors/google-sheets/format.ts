import { z } from 'zod';

/** What a column's values become; see `as` of the action. */
export const kind = z.enum(['date', 'number', 'link']);
export type Kind = z.infer<typeof kind>;

export type Cell = string | number | boolean;

/** How a cell shows its value. `uri`: what it links to, none where that is null; `plain`: as a cell of no kind does. */
export type Format = 'date' | 'plain' | { readonly uri: string | null };

/** A value as its cell is to hold it. A time stays text here: what it is in the sheet depends on the sheet's time zone. */
export interface Formatted {
  readonly cell: Cell;
  readonly format?: Format;
  /** What the delivery tells of it. */
  readonly note?: string;
}

/** A value as its kind. What is not of it stays as it is. Pure. */
export function formatted(header: string, cell: Cell, as: Kind | undefined): Formatted {
  if (as === 'link') return linked(String(cell)) ?? { cell, format: { uri: null } };
  if (as === undefined || typeof cell !== 'string' || cell === '') return { cell };
  if (as === 'number') return { cell: isNumber(cell.trim()) ? Number(cell) : cell };
  if (serialOf(cell, 'UTC') !== null) return { cell, format: 'date' };
  return { cell, note: `${header} has a value that is no ISO time, and was written as it is.` };
}

/** Sheets keeps 15 digits. Zeros in front show that it is a code. */
const isNumber = (text: string): boolean =>
  /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) && text.replace(/\D/g, '').length <= 15;

/**
 * A URL, `text <url>` or `[text](url)`, and no more than one: where the text has a link of its own, nobody can tell which
 * of them was meant.
 */
function linked(value: string): Formatted | null {
  const text = value.trim();
  const found =
    /^(?<uri>https?:\/\/[^\s<>]+)$/i.exec(text) ??
    /^(?<shown>[^<>]*\S)\s*<(?<uri>https?:\/\/[^\s<>]+)>$/i.exec(text) ??
    /^\[(?<shown>[^[\]]*)\]\((?<uri>https?:\/\/[^\s()<>]+)\)$/i.exec(text);
  const { uri, shown = uri } = found?.groups ?? {};
  return uri && shown?.trim() && URL.canParse(uri) ? { cell: shown, format: { uri } } : null;
}

/** Sheets counts days from here. */
const firstDay = Temporal.PlainDateTime.from('1899-12-30');

/** An ISO time as Sheets counts it, in whole seconds; one without an offset is of the time zone. Null for other text. */
export function serialOf(text: string, timeZone: string): number | null {
  const time = text.trim();
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i.test(time)) return null;
  try {
    const local = /(Z|[+-]\d\d:?\d\d)$/i.test(time) ? inZone(time, timeZone) : time;
    const until = firstDay.until(Temporal.PlainDateTime.from(local), { smallestUnit: 'second' });
    return until.total('days');
  } catch {
    return null;
  }
}

function inZone(time: string, timeZone: string): Temporal.PlainDateTime {
  return Temporal.Instant.from(time).toZonedDateTimeISO(timeZone).toPlainDateTime();
}

/** Google's words for a time zone, as `GMT-07:00`, are not all names; UTC where it is none that is known here. */
export function knownZone(timeZone: string | null | undefined): string {
  const name = (timeZone ?? 'UTC').replace(/^GMT(?=[+-])/, '');
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId;
  } catch {
    return 'UTC';
  }
}
