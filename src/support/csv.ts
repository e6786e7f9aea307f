/** A place in a table's text. Lines and columns count from 1. */
export interface TablePlace {
  readonly line: number;
  readonly column: number;
}

export interface TableCell extends TablePlace {
  /** Without blanks around it. */
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

/**
 * Reads CSV as office programs write it (RFC 4180): with commas, semicolons or tabs, with or without a byte order mark and
 * `sep=`, quotes around cells that have these or line breaks in them. Rows without any text do not count.
 */
export function parseTable(written: string): Table {
  const text = written.replace(/^\uFEFF/, '');
  const broken = text.indexOf('\uFFFD');
  if (broken >= 0) {
    const before = text.slice(0, broken).split(lineBreak);
    const place = { line: before.length, column: before.at(-1)!.length + 1 };
    const message = 'the table is not UTF-8 text; save it as "CSV UTF-8"';
    return { header: [], rows: [], faults: [{ ...place, message }] };
  }
  const { rows, faults } = rowsOf(text);
  const [header = [], ...others] = rows;
  const tooLong = others.flatMap((row) => {
    const extra = row.slice(header.length).find((cell) => cell.text !== '');
    return extra ? [faultAt(extra, `the header has only ${header.length} columns`)] : [];
  });
  return { header, rows: others, faults: [...faults, ...tooLong] };
}

const faultAt = ({ line, column }: TablePlace, message: string): TableFault => ({ line, column, message });

const separators = [',', ';', '\t'] as const;

/** By `sep=`, or the one that the first line has most of, outside of quotes. */
function separatorOf(firstLine: string): string {
  const stated = statedSeparator.exec(firstLine)?.[1];
  const plain = firstLine.replaceAll(/"[^"]*"/g, '');
  const counts = separators.map((one) => plain.split(one).length);
  return stated ?? separators[counts.indexOf(Math.max(...counts))]!;
}

function rowsOf(text: string): { rows: TableCell[][]; faults: TableFault[] } {
  const [firstLine = ''] = text.split(lineBreak, 1);
  const separator = separatorOf(firstLine);
  const unquoted = new RegExp(`[^${RegExp.escape(separator)}\\r\\n]*`, 'y');
  const rows: TableCell[][] = [];
  const faults: TableFault[] = [];
  let row: TableCell[] = [];
  let line = 1;
  let lineStart = 0;
  let at = 0;
  /** Moves on, over line breaks inside of quotes, too. */
  const goTo = (end: number): void => {
    for (const found of text.slice(at, end).matchAll(lineBreaks)) {
      line += 1;
      lineStart = at + found.index + found[0].length;
    }
    at = end;
  };
  const restFrom = (start: number): string => {
    unquoted.lastIndex = start;
    return unquoted.exec(text)![0];
  };
  if (statedSeparator.test(firstLine)) goTo(firstLine.length + breakAt(text, firstLine.length).length);
  while (at < text.length) {
    const place = { line, column: at - lineStart + 1 };
    const plain = restFrom(at);
    const quote = /^ *"/.test(plain) ? at + plain.indexOf('"') : -1;
    if (quote < 0) {
      row.push({ ...place, text: plain.trim() });
      goTo(at + plain.length);
    } else {
      const end = endOfQuote(text, quote);
      const rest = end < 0 ? '' : restFrom(end + 1);
      if (end < 0) faults.push(faultAt(place, 'the quote that begins here does not end'));
      if (rest.trim() !== '')
        faults.push(
          faultAt(place, 'this cell goes on after its quotes; within them a quote is written twice'),
        );
      row.push({
        ...place,
        text: text
          .slice(quote + 1, end < 0 ? undefined : end)
          .replaceAll('""', '"')
          .trim(),
      });
      goTo(end < 0 ? text.length : end + 1 + rest.length);
    }
    if (text[at] === separator) at += 1;
    else {
      goTo(at + breakAt(text, at).length);
      rows.push(row);
      row = [];
    }
  }
  rows.push(row);
  return { rows: rows.filter((cells) => cells.some((cell) => cell.text !== '')), faults };
}

const lineBreak = /\r\n?|\n/;
const lineBreaks = /\r\n?|\n/g;
const statedSeparator = /^sep=(.)$/i;

const breakAt = (text: string, at: number): string => /^(?:\r\n?|\n)?/.exec(text.slice(at, at + 2))![0];

/** Where a quoted text ends; below 0 if it does not. */
function endOfQuote(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end;
}
