/** A range. Rows and columns count from 0; the ends are the last ones inside, Infinity where the range is open. */
export interface CellRange {
  readonly tab: string | null;
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
}

/** Understands `Tab!A1:B2`, `'My tab'!A1`, `Tab!1:1`, `Tab!C:C` and a bare tab. Null for anything else. */
export function parseRange(range: string): CellRange | null {
  const parts = /^(?:'((?:[^']|'')*)'|([^'!]+?))(?:!(.*))?$/s.exec(range);
  if (!parts) return null;
  const [, quoted, bare, cells] = parts;
  if (cells === undefined && quoted === undefined) return parseCells(null, bare!) ?? everything(bare!);
  const tab = quoted?.replaceAll("''", "'") ?? bare!;
  return cells === undefined ? everything(tab) : parseCells(tab, cells);
}

function everything(tab: string): CellRange {
  return { tab, top: 0, left: 0, bottom: Infinity, right: Infinity };
}

function parseCells(tab: string | null, cells: string): CellRange | null {
  const ends = /^([A-Z]{0,3})(\d*)(?::([A-Z]{0,3})(\d*))?$/.exec(cells);
  if (!ends || cells === '') return null;
  const [, left = '', top = '', right = left, bottom = top] = ends;
  return {
    tab,
    top: top === '' ? 0 : Number(top) - 1,
    left: left === '' ? 0 : columnIndex(left),
    bottom: bottom === '' ? Infinity : Number(bottom) - 1,
    right: right === '' ? Infinity : columnIndex(right),
  };
}

function columnIndex(letters: string): number {
  let index = 0;
  for (const letter of letters) index = index * 26 + letter.codePointAt(0)! - 64;
  return index - 1;
}

function columnLetters(index: number): string {
  return (
    (index < 26 ? '' : columnLetters(Math.floor(index / 26) - 1)) + String.fromCodePoint(65 + (index % 26))
  );
}

/** A range as the API writes it: with quotes only where the tab's name needs them. */
export function printRange(tab: string, top: number, left: number, bottom: number, right: number): string {
  const name = /^[A-Za-z_]\w*$/.test(tab) ? tab : `'${tab.replaceAll("'", "''")}'`;
  const start = `${columnLetters(left)}${top + 1}`;
  const end = `${columnLetters(right)}${bottom + 1}`;
  return `${name}!${start === end ? start : `${start}:${end}`}`;
}
