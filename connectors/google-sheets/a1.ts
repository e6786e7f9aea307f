/** A1 notation. Columns and rows count from 0 in the code; A1 itself counts rows from 1. */

/** `Results` or `Bob's tab` as ranges name it. */
export function quoteTab(tab: string): string {
  return `'${tab.replaceAll("'", "''")}'`;
}

/** 0 is A, 26 is AA. */
export function columnName(index: number): string {
  const letter = String.fromCodePoint(65 + (index % 26));
  return index < 26 ? letter : columnName(Math.floor(index / 26) - 1) + letter;
}

export function cellRange(tab: string, row: number, column: number): string {
  return `${quoteTab(tab)}!${columnName(column)}${row + 1}`;
}

/** The cells of one row from the first column to the last one named. */
export function rowRange(tab: string, row: number, first: number, last: number): string {
  return `${cellRange(tab, row, first)}:${columnName(last)}${row + 1}`;
}

/** Where a range begins and how many rows it has, or null for one that does not say. */
export function spanOf(
  range: string,
): { readonly row: number; readonly column: number; readonly rows: number } | null {
  const cells = /(?:^|!)\$?([A-Z]+)\$?(\d+)(?::\$?[A-Z]+\$?(\d+))?$/.exec(range);
  if (!cells) return null;
  const [, column = '', top = '', bottom = top] = cells;
  return { row: Number(top) - 1, column: columnIndex(column), rows: Number(bottom) - Number(top) + 1 };
}

function columnIndex(name: string): number {
  return name.split('').reduce((index, letter) => index * 26 + letter.codePointAt(0)! - 64, 0) - 1;
}
