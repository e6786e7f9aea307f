import type { CellRange } from './a1.ts';
import { invalid } from './refusal.ts';

export type Cell = string | number | boolean;

export interface CellFormat {
  numberFormat?: { readonly type: string; readonly pattern?: string } | undefined;
  textFormat?: { readonly link?: { readonly uri: string } } | undefined;
  /** The rule of the cell, as `BOOLEAN` of a box to tick. */
  dataValidation?: { readonly condition: { readonly type: string } } | undefined;
}

export interface Box {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
}

/** A table. Rows that are written right below it do not belong to it: theoephraim/node-google-spreadsheet#709. */
export interface Table {
  readonly id: string;
  /** The rows of the table, with its header and footer. */
  readonly box: Box;
  readonly hasFooter: boolean;
  /** The columns of the tab that have a type, as `DATE`, which people set in the header's menu. */
  readonly types?: { readonly [column: number]: string };
}

/** The range of values that are written from a cell on. */
export const boxOf = (top: number, left: number, values: readonly (readonly unknown[])[]): Box => ({
  top,
  left,
  bottom: top + values.length - 1,
  right: left + Math.max(0, ...values.map((row) => row.length)) - 1,
});

/**
 * One tab: its cells, and the quirks of Sheets in how a table is found among them. Of merged cells only the one at the top
 * left has a value: merging clears the others, a write to them is taken and has no effect, and what was cleared does not
 * come back when they are unmerged. So `merge and unmerge operations` of theoephraim/node-google-spreadsheet (4cfc776,
 * test/rows.test.js) found it in the real API, and tanaikech's gist a03b0bb4218a19b41d507a5b649e3802 says it.
 */
export class Grid {
  readonly sheetId: number;
  title: string;
  rowCount: number;
  columnCount: number;
  readonly rows: Cell[][] = [];
  /** The formats of each row's cells, by the row, so that they move with it. */
  readonly #formats = new WeakMap<readonly Cell[], CellFormat[]>();
  /** The row of the header, which Google does not know of. */
  headerRow = 0;
  /** It is a sheet for a chart, without cells. */
  isChart = false;
  /** The merged ranges. No two share a cell. */
  merges: readonly Box[] = [];
  /** The tables that people made by "Convert to table". */
  tables: readonly Table[] = [];

  constructor(sheetId: number, title: string, size: { rowCount?: number; columnCount?: number } = {}) {
    this.sheetId = sheetId;
    this.title = title;
    this.rowCount = size.rowCount ?? 1000;
    this.columnCount = size.columnCount ?? 26;
  }

  at(row: number, column: number): Cell {
    return this.rows[row]?.[column] ?? '';
  }

  formatAt(row: number, column: number): CellFormat {
    const cells = this.rows[row];
    return (cells && this.#formats.get(cells)?.[column]) ?? {};
  }

  format(row: number, column: number, format: CellFormat): void {
    if (this.#isCovered(row, column)) return;
    const cells = this.rows[row]!;
    const formats = this.#formats.get(cells) ?? [];
    formats[column] = format;
    this.#formats.set(cells, formats);
  }

  /** Writes values. A null leaves a cell as it is. */
  write(top: number, left: number, values: readonly (readonly (Cell | null)[])[]): void {
    const right = left + Math.max(0, ...values.map((row) => row.length));
    if (top + values.length > this.rowCount || right > this.columnCount) {
      throw invalid(
        `Range exceeds grid limits. Max rows: ${this.rowCount}, max columns: ${this.columnCount}`,
      );
    }
    values.forEach((row, rowOffset) =>
      row.forEach((cell, columnOffset) => {
        if (cell !== null) this.#set(top + rowOffset, left + columnOffset, cell);
      }),
    );
  }

  /** Writes a row as updateCells does: an empty value empties the cell. */
  update(top: number, left: number, values: readonly (readonly Cell[])[]): void {
    const right = left + Math.max(0, ...values.map((row) => row.length));
    if (top >= this.rowCount)
      throw invalid(`GridCoordinate.rowIndex[${top}] is after last row in grid[${this.rowCount - 1}]`);
    if (left >= this.columnCount) {
      throw invalid(
        `GridCoordinate.columnIndex[${left}] is after last column in grid[${this.columnCount - 1}]`,
      );
    }
    if (top + values.length > this.rowCount) {
      throw invalid(
        `Attempting to write row: ${this.rowCount}, beyond the last requested row of: ${this.rowCount - 1}`,
      );
    }
    if (right > this.columnCount) {
      throw invalid(
        `Attempting to write column: ${this.columnCount}, beyond the last requested column of: ${this.columnCount - 1}`,
      );
    }
    this.write(top, left, values);
  }

  /** The values of a range as a read gives them: without the empty cells and rows at its ends. */
  read({ top, left, bottom, right }: CellRange): Cell[][] {
    const outside = [top, bottom === Infinity ? 0 : bottom].some((row) => row >= this.rowCount);
    if (outside || [left, right === Infinity ? 0 : right].some((column) => column >= this.columnCount)) {
      throw invalid(
        `Range exceeds grid limits. Max rows: ${this.rowCount}, max columns: ${this.columnCount}`,
      );
    }
    const rows = [];
    for (let row = top; row <= Math.min(bottom, this.rows.length - 1); row += 1) {
      const last = Math.min(right, (this.rows[row]?.length ?? 0) - 1);
      const cells = Array.from({ length: Math.max(0, last - left + 1) }, (_, index) =>
        this.at(row, left + index),
      );
      rows.push(withoutEmptyEnd(cells, (cell) => cell === ''));
    }
    return withoutEmptyEnd(rows, (cells) => cells.length === 0);
  }

  /** The state of the tab, to go back to. */
  copyRows(): Cell[][] {
    return this.rows.map((cells) => {
      const copy = [...cells];
      this.#formats.set(copy, [...(this.#formats.get(cells) ?? [])]);
      return copy;
    });
  }

  /** Merges cells. Only the one at the top left keeps its value. Merges that it overlaps become part of it, as with the menu. */
  merge(box: Box): void {
    const overlapped = this.merges.find((other) => overlap(other, box, 0));
    this.merges = this.merges.filter((other) => other !== overlapped);
    if (overlapped) return this.merge(union(overlapped, box));
    for (let row = box.top; row <= box.bottom; row += 1) {
      for (let column = box.left; column <= box.right; column += 1) {
        if ((row > box.top || column > box.left) && this.at(row, column) !== '') this.rows[row]![column] = '';
      }
    }
    this.merges = [...this.merges, box];
  }

  /**
   * Inserts rows or columns. Between merged cells, they are merged with them. At the end of a table, they belong to it where they
   * are like those before (measured: byronbroughten/sheets-framework on GitHub, fakeGrid.ts).
   */
  insertRows(before: number, count: number, inheritFromBefore = false): void {
    const above = (inheritFromBefore && this.rows[before - 1]) || [];
    const inherited = this.#formats.get(above) ?? [];
    const isBox = (column: number) => inherited[column]?.dataValidation?.condition.type === 'BOOLEAN';
    const boxes = withoutEmptyEnd(
      above.map((_, column) => (isBox(column) ? false : '')),
      (cell) => cell === '',
    );
    if (before < this.rows.length || boxes.length > 0) {
      const inserted = Array.from({ length: count }, (): Cell[] => [...boxes]);
      for (const cells of inserted) this.#formats.set(cells, structuredClone(inherited));
      this.rows.splice(before, 0, ...inserted);
    }
    this.merges = this.merges.map((box) => stretch(box, 'top', 'bottom', before, count));
    this.tables = this.tables.map((table) => {
      const isGrown = inheritFromBefore && table.box.bottom + 1 === before;
      const box = isGrown
        ? { ...table.box, bottom: table.box.bottom + count }
        : stretch(table.box, 'top', 'bottom', before, count);
      return { ...table, box };
    });
    this.rowCount += count;
  }

  /**
   * Inserts columns. They have the formats and rules of the column before where they are like it, and its boxes unticked; a table that
   * ends there has them, too (measured: byronbroughten/sheets-framework on GitHub, docs/testing.md).
   */
  insertColumns(before: number, count: number, inheritFromBefore = false): void {
    for (const cells of this.rows) {
      const formats = this.#formats.get(cells) ?? [];
      const inherited = inheritFromBefore ? { ...formats[before - 1] } : {};
      const isBox = inherited.dataValidation?.condition.type === 'BOOLEAN';
      if (before < cells.length || isBox)
        cells.splice(before, 0, ...Array.from({ length: count }, () => (isBox ? false : '')));
      formats.splice(before, 0, ...Array.from({ length: count }, () => ({ ...inherited })));
      this.#formats.set(cells, formats);
    }
    this.merges = this.merges.map((box) => stretch(box, 'left', 'right', before, count));
    this.tables = this.tables.map((table) => {
      const isGrown = inheritFromBefore && table.box.right + 1 === before;
      const box = isGrown
        ? { ...table.box, right: table.box.right + count }
        : stretch(table.box, 'left', 'right', before, count);
      const types = Object.entries(table.types ?? {}).map(([column, type]) => {
        return [Number(column) + (Number(column) >= before ? count : 0), type] as const;
      });
      return { ...table, box, types: Object.fromEntries(types) };
    });
    this.columnCount += count;
  }

  /** Moves a column before the one that is `to` without it. Sheets tears no merged cells apart. */
  moveColumn(from: number, to: number): void {
    const gap = to > from ? to + 1 : to;
    const isTorn = ({ left, right }: Box) =>
      left < right && ((left <= from && from <= right) || (left < gap && gap <= right));
    if (this.merges.some(isTorn)) return;
    for (const cells of this.rows) {
      while (cells.length <= Math.max(from, to)) cells.push('');
      cells.splice(to, 0, ...cells.splice(from, 1));
      const formats = Array.from(cells, (_, column) => this.#formats.get(cells)?.[column] ?? {});
      formats.splice(to, 0, ...formats.splice(from, 1));
      this.#formats.set(cells, formats);
    }
    const order = Array.from({ length: this.columnCount }, (_, column) => column);
    order.splice(to, 0, ...order.splice(from, 1));
    this.merges = this.merges.map((box) => {
      const left = order.indexOf(box.left);
      return { ...box, left, right: left + box.right - box.left };
    });
  }

  deleteRow(row: number): void {
    this.rows.splice(row, 1);
    this.merges = this.merges.flatMap((box) => shrunk(box, 'top', 'bottom', row));
    this.rowCount -= 1;
  }

  deleteColumn(column: number): void {
    for (const cells of this.rows) {
      cells.splice(column, 1);
      this.#formats.get(cells)?.splice(column, 1);
    }
    this.merges = this.merges.flatMap((box) => shrunk(box, 'left', 'right', column));
    this.columnCount -= 1;
  }

  /** Sorts the rows under the header by a column, as the menu does, which refuses where cells of several rows are merged. */
  sortBy(column: number, descending = false): void {
    const first = this.headerRow + 1;
    if (this.merges.some(({ top, bottom }) => top < bottom && bottom >= first)) return;
    const rows = this.rows.slice(first);
    const sorted = rows.toSorted((a, b) => String(a[column] ?? '').localeCompare(String(b[column] ?? '')));
    if (descending) sorted.reverse();
    this.merges = this.merges.map((box) => {
      const cells = this.rows[box.top];
      const row = box.top < first || !cells ? box.top : first + sorted.indexOf(cells);
      return { ...box, top: row, bottom: row + box.bottom - box.top };
    });
    this.rows.splice(first, Infinity, ...sorted);
  }

  /**
   * Appends as `appendCells` does with a table's id: to the first free row of its body; without one, rows are inserted at its end,
   * above its footer (https://developers.google.com/workspace/sheets/api/guides/tables#append_values_to_a_table).
   */
  appendToTable(id: string, values: readonly (readonly Cell[])[]): void {
    const { box, hasFooter } = this.tables.find((one) => one.id === id)!;
    const { top, left, right } = box;
    const bottom = hasFooter ? box.bottom - 1 : box.bottom;
    const isFree = (row: number) => !this.rows[row]?.slice(left, right + 1).some((cell) => cell !== '');
    const body = Array.from({ length: bottom - top }, (_, index) => top + 1 + index);
    const at = body.find(isFree) ?? bottom + 1;
    const missing = at + values.length - 1 - bottom;
    if (missing > 0) this.insertRows(bottom + 1, missing, !hasFooter);
    if (values.some((row) => row.length > right - left + 1))
      throw invalid('The sandbox does not know what becomes of values beside a table.');
    if (!values.every((row, index) => row.length === 0 || isFree(at + index)))
      throw invalid('The sandbox does not know what becomes of rows behind a free one.');
    this.update(at, left, values);
  }

  /**
   * The type of a table's column decides its number format. The words are those that many repositories on GitHub quote, as
   * "You can't set the number format of cells in a typed column".
   */
  demandNoTypes(cells: Box): void {
    const isTyped = ({ box, types = {} }: Table) =>
      overlap(box, cells, 0) &&
      Object.keys(types).some((column) => cells.left <= Number(column) && Number(column) <= cells.right);
    if (this.tables.some(isTyped))
      throw invalid("You can't set the number format of cells in a typed column.");
  }

  lastRowWithData(): number {
    return this.rows.findLastIndex((cells) => cells.some((cell) => cell !== ''));
  }

  /**
   * The cell where an append to this range begins: below the last table that the range touches, at that table's
   * first column; where it touches none, at its own first cell.
   */
  appendStart(range: CellRange): { row: number; column: number } {
    const table = this.#tables()
      .filter((box) => overlap(box, range, 0))
      .toSorted((a, b) => a.bottom - b.bottom || a.right - b.right)
      .at(-1);
    return table ? { row: table.bottom + 1, column: table.left } : { row: range.top, column: range.left };
  }

  /** Tables are islands of filled cells; touching, even at a corner, makes two of them one. */
  #tables(): Box[] {
    const boxes: Box[] = [];
    this.rows.forEach((cells, row) =>
      cells.forEach((cell, column) => {
        if (cell === '') return;
        let box: Box = { top: row, left: column, bottom: row, right: column };
        for (let index = boxes.length - 1; index >= 0; index -= 1) {
          const other = boxes[index]!;
          if (!overlap(box, other, 1)) continue;
          box = union(box, other);
          boxes.splice(index, 1);
          index = boxes.length;
        }
        boxes.push(box);
      }),
    );
    return boxes;
  }

  /** Whether a cell is merged with one above it or to its left. */
  #isCovered(row: number, column: number): boolean {
    const cell = { top: row, bottom: row, left: column, right: column };
    return this.merges.some((box) => overlap(box, cell, 0) && (row > box.top || column > box.left));
  }

  #set(row: number, column: number, cell: Cell): void {
    if (this.#isCovered(row, column)) return;
    while (this.rows.length <= row) this.rows.push([]);
    const cells = this.rows[row]!;
    while (cells.length < column) cells.push('');
    cells[column] = cell;
  }
}

/** A box after rows or columns were inserted before one: it moves, or grows where that is within it. */
function stretch(box: Box, start: keyof Box, end: keyof Box, before: number, count: number): Box {
  const moved = (index: number, by: boolean) => index + (by ? count : 0);
  return {
    ...box,
    [start]: moved(box[start], box[start] >= before),
    [end]: moved(box[end], box[end] >= before),
  };
}

/** A box after a row or column was deleted; none where one cell at most is left. */
function shrunk(box: Box, start: keyof Box, end: keyof Box, index: number): Box[] {
  const [from, to] = [box[start] - (box[start] > index ? 1 : 0), box[end] - (box[end] >= index ? 1 : 0)];
  const rest = { ...box, [start]: from, [end]: to };
  const isOne = rest.top === rest.bottom && rest.left === rest.right;
  return from > to || isOne ? [] : [rest];
}

function overlap(a: Box, b: Box, reach: number): boolean {
  return (
    a.top - reach <= b.bottom &&
    b.top - reach <= a.bottom &&
    a.left - reach <= b.right &&
    b.left - reach <= a.right
  );
}

function union(a: Box, b: Box): Box {
  return {
    top: Math.min(a.top, b.top),
    left: Math.min(a.left, b.left),
    bottom: Math.max(a.bottom, b.bottom),
    right: Math.max(a.right, b.right),
  };
}

function withoutEmptyEnd<Item>(items: Item[], isEmpty: (item: Item) => boolean): Item[] {
  return items.slice(0, items.findLastIndex((item) => !isEmpty(item)) + 1);
}
