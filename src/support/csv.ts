import { trimmed } from './text.ts';

/** A place in a table's text. Lines and columns count from 1. */
export interface TablePlace {
  readonly line: number;
  readonly column: number;
}

export interface TableCell extends TablePlace {
  /** Without blanks around it, or what looks like some. */
  readonly text: string;
}

export interface TableFault extends TablePlace {
  readonly message: string;
}

/** A table: its first row names the columns, and no other row has more cells. */
export interface Table {
  readonly header: readonly TableCell[];
  readonly rows: readonly (readonly TableCell[])[];
  readonly faults: readonly TableFault[];
}

/** A row as it was read, with some text. Rows without text are left out. */
interface TableRow {
  readonly cells: readonly TableCell[];
  readonly faults: readonly TableFault[];
  /** Whether nothing after it can be read. */
  readonly isLast?: true;
}

/**
 * Reads CSV as office programs write it (RFC 4180): with commas, semicolons or tabs, with or without a byte order mark and
 * `sep=`, quotes around cells that have these or line breaks in them. Rows without any text do not count.
 */
export function parseTable(text: string): Table {
  const read = new TableReader().read(text, true).toArray();
  const [header = [], ...rows] = read.filter(({ isLast }) => !isLast).map(({ cells }) => cells);
  return { header, rows, faults: read.flatMap(({ faults }) => faults) };
}

/** Reads CSV row by row, from the header on. Keeps no more in memory than a row and its chunk. */
export async function* streamTable(chunks: AsyncIterable<string>): AsyncGenerator<TableRow> {
  const reader = new TableReader();
  for await (const chunk of chunks)
    for (const row of reader.read(chunk, false)) {
      yield row;
      if (row.isLast) return;
    }
  yield* reader.read('', true);
}

const faultAt = ({ line, column }: TablePlace, message: string): TableFault => ({ line, column, message });

const separators = [',', ';', '\t'] as const;

/** Finds the separator: by `sep=`, or the one that is most frequent in the first line outside of quotes. */
function separatorOf(firstLine: string): string {
  const stated = statedSeparator.exec(firstLine)?.[1];
  const plain = firstLine.replaceAll(/"[^"]*"/g, '');
  const counts = separators.map((one) => plain.split(one).length);
  return stated ?? separators[counts.indexOf(Math.max(...counts))]!;
}

/** How many characters a row may have. A file that is no table, or has an unfinished quote, is read no further. */
const longestRow = 1_000_000;

/** Reads rows from chunks of text. The rest of a chunk waits for the next one. */
class TableReader {
  #text = '';
  #line = 1;
  #isBegun = false;
  #columns: number | null = null;
  #separator = '';
  #unquoted = / /y;

  *read(chunk: string, isEnd: boolean): Generator<TableRow> {
    this.#text += chunk;
    const isAll = isEnd || this.#text.length > longestRow;
    if (!this.#isBegun && !this.#begin(isAll)) return;
    let at = 0;
    while (at < this.#text.length) {
      const row = this.#row(at);
      if (row.end === this.#text.length && !isEnd) {
        const isTooLong = this.#text.length - at > longestRow;
        if (!isTooLong) break;
        const place = { line: this.#line, column: 1 };
        const message = `this row has more than ${longestRow} characters`;
        yield {
          ...row,
          faults: row.faults.length > 0 ? row.faults : [faultAt(place, message)],
          isLast: true,
        };
        return;
      }
      const broken = this.#text.slice(at, row.end).indexOf('\uFFFD');
      if (broken >= 0) {
        const before = this.#text.slice(at, at + broken).split(lineBreak);
        const place = { line: this.#line + before.length - 1, column: before.at(-1)!.length + 1 };
        const message = 'the table is not UTF-8 text; save it as "CSV UTF-8"';
        yield { cells: row.cells, faults: [faultAt(place, message)], isLast: true };
        return;
      }
      at = row.end;
      this.#line = row.line;
      if (row.cells.every((cell) => cell.text === '')) continue;
      this.#columns ??= row.cells.length;
      const extra = row.cells.slice(this.#columns).find((cell) => cell.text !== '');
      if (extra) row.faults.push(faultAt(extra, `the header has only ${this.#columns} columns`));
      yield row;
    }
    this.#text = this.#text.slice(at);
  }

  /** Finds the separator. Returns false if the first line is not there yet. */
  #begin(isAll: boolean): boolean {
    const [firstLine = ''] = this.#text.replace(/^\uFEFF/, '').split(lineBreak, 1);
    // A line feed may be about to follow.
    if (!isAll && firstLine.length + 2 >= this.#text.length) return false;
    this.#isBegun = true;
    this.#text = this.#text.replace(/^\uFEFF/, '');
    this.#separator = separatorOf(firstLine);
    this.#unquoted = new RegExp(`[^${RegExp.escape(this.#separator)}\\r\\n]*`, 'y');
    if (!statedSeparator.test(firstLine)) return true;
    this.#text = this.#text.slice(firstLine.length + breakAt(this.#text, firstLine.length).length);
    this.#line = 2;
    return true;
  }

  /** Reads the row that begins at `start`; `end` and `line` are where the next one begins. */
  #row(start: number) {
    const text = this.#text;
    const cells: TableCell[] = [];
    const faults: TableFault[] = [];
    let isOpen = false;
    let line = this.#line;
    let lineStart = start;
    const restFrom = (from: number): string => {
      this.#unquoted.lastIndex = from;
      return this.#unquoted.exec(text)![0];
    };
    for (let at = start; ;) {
      const place = { line, column: at - lineStart + 1 };
      const plain = restFrom(at);
      const quote = /^ *"/.test(plain) ? at + plain.indexOf('"') : -1;
      if (quote < 0) {
        cells.push({ ...place, text: trimmed(plain) });
        at += plain.length;
      } else {
        const end = endOfQuote(text, quote);
        const rest = end < 0 ? '' : restFrom(end + 1);
        isOpen = end < 0;
        if (isOpen) faults.push(faultAt(place, 'the quote that begins here does not end'));
        if (rest.trim() !== '')
          faults.push(
            faultAt(place, 'this cell goes on after its quotes; within them a quote is written twice'),
          );
        const quoted = text.slice(quote + 1, end < 0 ? undefined : end);
        cells.push({ ...place, text: trimmed(quoted.replaceAll('""', '"')) });
        for (const found of quoted.matchAll(lineBreaks)) {
          line += 1;
          lineStart = quote + 1 + found.index + found[0].length;
        }
        at = end < 0 ? text.length : end + 1 + rest.length;
      }
      if (text[at] === this.#separator && at < text.length) at += 1;
      else {
        const ends = { end: at + breakAt(text, at).length, line: line + 1 };
        return { cells, faults, ...ends, ...(isOpen && { isLast: true as const }) };
      }
    }
  }
}

const lineBreak = /\r\n?|\n/;
const lineBreaks = /\r\n?|\n/g;
const statedSeparator = /^sep=(.)$/i;

const breakAt = (text: string, at: number): string => /^(?:\r\n?|\n)?/.exec(text.slice(at, at + 2))![0];

/** The index of the quote that ends a quoted text; below 0 if there is none. */
function endOfQuote(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end;
}
