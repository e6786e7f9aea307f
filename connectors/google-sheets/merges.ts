import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';

/** Cells that are merged: the one at the top left has a value, and what is written to the others is not kept. */
export interface Merge {
  readonly top: number;
  readonly left: number;
  /** The first row below it, and the first column to the right of it. */
  readonly bottom: number;
  readonly right: number;
}

/** A tab's merges, without those above its header, such as a title's. */
export function mergesOf({ merges }: sheets_v4.Schema$Sheet, headerRow: number): Merge[] {
  const all = (merges ?? []).map(({ startRowIndex, startColumnIndex, endRowIndex, endColumnIndex }) => ({
    top: startRowIndex ?? 0,
    left: startColumnIndex ?? 0,
    bottom: endRowIndex ?? 0,
    right: endColumnIndex ?? 0,
  }));
  return all.filter(({ bottom }) => bottom > headerRow);
}

/** Merged with a cell above it or to its left. */
export const isCovered = (merges: readonly Merge[], row: number, column: number): boolean =>
  merges.some(
    ({ top, left, bottom, right }) =>
      top <= row && row < bottom && left <= column && column < right && (top < row || left < column),
  );

/** A row before which one can be inserted: from this one on, below what is merged across it in a table so wide. */
export function rowAfter(merges: readonly Merge[], row: number, width: number): number {
  const across = merges.find(({ top, bottom, left }) => top < row && row < bottom && left < width);
  return across ? rowAfter(merges, across.bottom, width) : row;
}

/** The same for columns, by what is merged in the header. */
export function columnAfter(merges: readonly Merge[], column: number, headerRow: number): number {
  const across = merges.find(
    ({ top, bottom, left, right }) =>
      top <= headerRow && headerRow < bottom && left < column && column < right,
  );
  return across ? columnAfter(merges, across.right, headerRow) : column;
}
