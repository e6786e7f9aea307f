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

/** Where a range begins, or null for one that names no cell. */
export function startOf(range: string): { readonly row: number; readonly column: number } | null {
  const cell = /(?:^|!)\$?([A-Z]+)\$?(\d+)(?::[^!']*)?$/.exec(range);
  return cell && { row: Number(cell[2]) - 1, column: columnIndex(cell[1]!) };
}

function columnIndex(name: string): number {
  return name.split('').reduce((index, letter) => index * 26 + letter.codePointAt(0)! - 64, 0) - 1;
}
