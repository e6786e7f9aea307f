import type { Receipt } from '../../src/model.ts';
import { headerRange, rowRange } from './a1.ts';
import type { Answer } from './client.ts';
import type { Cell, Format } from './format.ts';
import { isCovered } from './merges.ts';
import type { Merge } from './merges.ts';
import type { Row } from './message.ts';
import { readRanges } from './spreadsheet.ts';
import type { Spreadsheet, Tab } from './spreadsheet.ts';

/** A cell to set right. */
export interface Fix {
  readonly row: number;
  readonly column: number;
  readonly value: Cell;
  readonly format?: Format | undefined;
}

/** The cells of a tab as they were at one moment, its header above its rows. What was not read looks empty. */
export class Grid {
  readonly rows: readonly Row[];
  readonly headerRow: number;
  readonly header: readonly string[];
  readonly #merges: readonly Merge[];
  readonly #indexes = new Map<string, ReadonlyMap<string, readonly number[]>>();

  constructor(rows: readonly Row[], headerRow = 0, merges: readonly Merge[] = []) {
    this.rows = rows;
    this.headerRow = headerRow;
    this.#merges = merges;
    this.header = (rows[headerRow] ?? []).map((name) => String(name).trim());
  }

  at(row: number, column: number): Cell {
    return this.rows[row]?.[column] ?? '';
  }

  /** An empty cell where there is no such column. */
  cell(row: number, name: string): Cell {
    return this.at(row, this.column(name));
  }

  /** A cell that keeps no value, as it is merged with others; where merges are known. */
  isCovered(row: number, column: number): boolean {
    return isCovered(this.#merges, row, column);
  }

  column(name: string): number {
    return name === '' ? -1 : this.header.indexOf(name);
  }

  /** By the values of a column, the first row that has each. */
  firstRows(name: string): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    for (let row = this.headerRow + 1; row < this.rows.length; row += 1) {
      const value = String(this.cell(row, name));
      if (!found.has(value)) found.set(value, row);
    }
    return found;
  }

  /** The rows that have these values in these columns. */
  rowsWith(names: readonly string[], values: Row): readonly number[] {
    const columns = JSON.stringify(names);
    let index = this.#indexes.get(columns);
    if (!index) {
      const printed = (row: number) => JSON.stringify(names.map((name) => this.cell(row, name)));
      index = Map.groupBy(this.rows.keys(), printed);
      this.#indexes.set(columns, index);
    }
    return index.get(JSON.stringify(values)) ?? [];
  }

  /** The same with some cells changed. */
  with(cells: readonly Fix[]): Grid {
    const rows = this.rows.map((row) => [...row]);
    for (const { row, column, value } of cells) {
      while (rows[row]!.length < column) rows[row]!.push('');
      rows[row]![column] = value;
    }
    return new Grid(rows, this.headerRow);
  }

  /** The same with the merges that were read since. */
  merged(merges: readonly Merge[]): Grid {
    return new Grid(this.rows, this.headerRow, merges);
  }

  /** What proves a row: its place under the header. */
  receiptOf({ spreadsheetId }: Spreadsheet, { title }: Tab, row: number): Receipt {
    const first = this.header.findIndex((name) => name !== '');
    return { spreadsheetId, range: rowRange(title, row, Math.max(0, first), this.header.length - 1) };
  }
}

/** The last row that has a value in a column; -1 where none has. */
export const lastFilled = ({ rows }: Grid, column: number): number =>
  rows.findLastIndex((row) => (row[column] ?? '') !== '');

export interface View {
  readonly tab: Tab;
  readonly grid: Grid;
}

/** A part of a tab: its header, and the rows from `first` on that a range has; the header alone without one. */
export interface Part {
  readonly tab: Tab;
  readonly first: number;
  readonly range: string | null;
}

/** Parts of tabs under their headers, all read at the same moment. */
export async function readParts(
  sheet: Spreadsheet,
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<Answer<Grid[]>> {
  const ranges = parts.flatMap(({ tab, range }) => [headerRange(tab), ...(range === null ? [] : [range])]);
  const answer = await readRanges(sheet, ranges, signal);
  if (!answer.ok) return answer;
  const values = answer.data.values();
  const grids = parts.map((part) => {
    const [header = []] = values.next().value!;
    return gridOf(part, header, part.range === null ? [] : values.next().value!);
  });
  return { ok: true, data: grids };
}

/** Rows that were read from `first` on, under their header. */
function gridOf({ tab: { headerRow }, first }: Part, header: Row, read: readonly Row[]): Grid {
  const rows = Array.from(
    { length: Math.max(first + read.length, headerRow + 1) },
    (_, row) => read[row - first] ?? [],
  );
  return new Grid(rows.with(headerRow, header), headerRow);
}
