import { randomInt } from 'node:crypto';
import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import type { Answer, Failure } from './failure.ts';
import { isMissingTab } from './outcomes.ts';
import { batchUpdate, describe, readFirstRow } from './spreadsheet.ts';
import type { Spreadsheet, Tab } from './spreadsheet.ts';

/** The names in a tab's first row, in order; an empty string where a cell is empty. */
export type Header = readonly string[];

/** People move columns, and a row is written by position: an older header is read again before it is relied on. */
const maxAgeMs = 30_000;
const defaultColumns = 26;

/** The header rows of a spreadsheet's tabs. Makes tabs and headers that are missing; existing ones stay where they are. */
export class Headers {
  readonly #sheet: Spreadsheet;
  readonly #known = new Map<string, { readonly header: Header; readonly readAt: number }>();

  constructor(sheet: Spreadsheet) {
    this.#sheet = sheet;
  }

  /** The header of a tab, with a column for each of these names. */
  async ensure(
    tab: string,
    names: readonly string[],
    now: number,
    signal: AbortSignal,
  ): Promise<Answer<Header>> {
    const known = this.#known.get(tab);
    if (known && now - known.readAt < maxAgeMs && has(known.header, names)) {
      return { ok: true, data: known.header };
    }
    const before = await this.read(tab, now, signal);
    if (!before.ok) return before;
    if (before.data !== null && has(before.data, names)) return { ok: true, data: before.data };
    const added = await this.#add(tab, before.data, names, signal);
    if (!added.ok && !isOvertaken(added.failure)) return added;
    // Another copy may have written at the same moment: what counts is what is there now.
    const after = await this.read(tab, now, signal);
    if (!after.ok) return after;
    if (after.data !== null && has(after.data, names)) return { ok: true, data: after.data };
    return { ok: false, failure: overtaken };
  }

  /** The header as it is now; null where there is no such tab. */
  async read(tab: string, now: number, signal: AbortSignal): Promise<Answer<Header | null>> {
    this.#known.delete(tab);
    const answer = await readFirstRow(this.#sheet, tab, signal);
    if (!answer.ok) return saysMissingTab(answer.failure) ? { ok: true, data: null } : answer;
    const header = answer.data.map((name) => String(name).trim());
    this.#known.set(tab, { header, readAt: now });
    return { ok: true, data: header };
  }

  /** To be called when a write shows that a tab is not what it was. */
  forget(tab: string): void {
    this.#known.delete(tab);
  }

  async #add(
    title: string,
    header: Header | null,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<Answer<unknown>> {
    if (header === null) return batchUpdate(this.#sheet, newTab(title, names), signal);
    const description = await describe(this.#sheet, signal);
    if (!description.ok) return description;
    const tab = description.data.tabs.find((known) => known.title.toLowerCase() === title.toLowerCase());
    if (!tab) return { ok: false, failure: overtaken };
    return batchUpdate(this.#sheet, newColumns(tab, header, names), signal);
  }
}

function newTab(title: string, names: readonly string[]): sheets_v4.Schema$Request[] {
  // Named by us, so that the header can be written in the same call: a tab is never there without it.
  const sheetId = randomInt(1, 2 ** 31 - 1);
  const columnCount = Math.max(defaultColumns, names.length);
  const gridProperties = { columnCount, rowCount: 1000, frozenRowCount: 1 };
  return [{ addSheet: { properties: { sheetId, title, gridProperties } } }, writeNames(sheetId, 0, names)];
}

/** New columns go behind all others, so that a header that another copy has read before stays true. */
function newColumns(
  { sheetId, columnCount }: Tab,
  header: Header,
  names: readonly string[],
): sheets_v4.Schema$Request[] {
  const added = names.filter((name) => !header.includes(name));
  const missing = header.length + added.length - (columnCount ?? defaultColumns);
  const widen = { appendDimension: { sheetId, dimension: 'COLUMNS', length: missing } };
  return [...(missing > 0 ? [widen] : []), writeNames(sheetId, header.length, added)];
}

/** A `stringValue` is literal: a name that begins with = stays text. */
function writeNames(
  sheetId: number,
  columnIndex: number,
  names: readonly string[],
): sheets_v4.Schema$Request {
  const values = names.map((name) => ({ userEnteredValue: { stringValue: name } }));
  const start = { sheetId, rowIndex: 0, columnIndex };
  return { updateCells: { start, rows: [{ values }], fields: 'userEnteredValue' } };
}

function has(header: Header, names: readonly string[]): boolean {
  return names.every((name) => header.includes(name));
}

function saysMissingTab(failure: Failure): boolean {
  return failure.kind === 'http' && failure.status === 400 && isMissingTab(failure.error.message);
}

/** Somebody else made the tab between our look and our call. */
function isOvertaken(failure: Failure): boolean {
  return (
    failure.kind === 'http' && failure.status === 400 && failure.error.message.includes('already exists')
  );
}

/** As the API would say it. */
const overtaken: Failure = {
  kind: 'http',
  status: 409,
  retryAfterMs: null,
  error: { status: 'ABORTED', message: 'The tab was changed by somebody else meanwhile', reason: '' },
};
