import { Grid } from './spreadsheet.ts';
import type { Fix } from './spreadsheet.ts';
import { deliveryHeader, formatOf } from './message.ts';
import type { Cell, WrittenRow } from './message.ts';

/** Where a written row has landed, and what to do about it. */
export interface Landing {
  /** The row where it belongs; null where it is gone. */
  readonly row: number | null;
  /** Its row was deleted before the write, which landed in another one: it has to be added anew. */
  readonly isDeleted: boolean;
  readonly fixes: readonly Fix[];
  /** Columns in which values of people were written over and are not known any more. */
  readonly lost: readonly string[];
  /** Columns of the row that the header lacks now. */
  readonly missing: readonly string[];
  /** Columns whose values are not there: people emptied the cells, or merged them. */
  readonly absent: readonly string[];
  /** The ids of rows that are gone: somebody deleted them, or this row was written over them. */
  readonly gone: readonly string[];
}

/** A whole tab before a write. */
export interface Before {
  readonly seen: Grid;
  /** The tab as a repair was to leave it. The first write changes nothing but its own cells. */
  readonly meant: Grid;
}

/**
 * Compares what was written with the tab as it is now. People move rows and columns between a read and a write, and a write
 * goes by position. The rule: a written row is where its id is. It belongs where the cells are that it was to leave alone.
 * Values of the row that stand elsewhere are removed, and the values before them put back. `before`: null where not all of
 * the tab was read, or is known any more. Pure.
 */
export const landings = (all: readonly WrittenRow[], before: Before | null, after: Grid): Landing[] =>
  new Comparison(all, before, after).landings();

class Comparison {
  readonly #all: readonly WrittenRow[];
  readonly #before: Before | null;
  readonly #after: Grid;
  /** The rows that have the id of each written row; where none has, the one that has its other values. */
  readonly #hits: ReadonlyMap<WrittenRow, readonly number[]>;

  constructor(all: readonly WrittenRow[], before: Before | null, after: Grid) {
    [this.#all, this.#before, this.#after] = [all, before, after];
    const ids = all.map(({ id }) => id);
    const rows = rowsWithIds(ids, after);
    const hitsOf = ({ id, row, at, header }: WrittenRow): readonly number[] => {
      const found = rows.get(id);
      if (found) return found;
      // Its id was typed over in a column that moved.
      const values = Object.entries(row).filter(([name, value]) => name !== deliveryHeader && value !== '');
      const hasMoved = header !== null && values.length > 0 && String(header) !== String(after.header);
      const isThere = ([name, value]: [string, Cell]) => isSame(after.at(at, header!.indexOf(name)), value);
      return hasMoved && values.every(isThere) ? [at] : [];
    };
    this.#hits = new Map(all.map((written) => [written, hitsOf(written)]));
  }

  landings(): Landing[] {
    const [all, before, after] = [this.#all, this.#before, this.#after];
    const targets = new Map(all.map((one) => [one, this.#targetOf(one)]));
    const owners = new Map(all.map((one) => [targets.get(one), one]));
    const vanished = this.#vanishedRows();
    const origins = this.#originsOf(vanished, owners);
    const found = new Set(origins.values());
    const gone = vanished
      .filter((row) => !found.has(row))
      .map((row) => String(before!.seen.cell(row, deliveryHeader) || before!.seen.at(row, 0)));
    return all.map((written): Landing => {
      const hits = this.#hits.get(written)!;
      const [first] = hits;
      if (first === undefined) {
        const none = written.before === null ? [] : gone;
        return {
          row: null,
          isDeleted: false,
          fixes: [],
          lost: [],
          missing: [],
          absent: [],
          gone: none,
        };
      }
      const isDeleted = targets.get(written) === null && (owners.has(first) || origins.has(first));
      const row = isDeleted ? null : (targets.get(written) ?? first);
      const ownerOf = (at: number) => (at === row ? written : owners.get(at));
      /** The value before the write, of a row that was written to; null where that is not known. */
      const stood = (at: number, name: string): Cell | null => {
        const owner = ownerOf(at);
        if (owner?.before === null) return '';
        const [grid, index] = owner ? this.#meantRow(owner) : [before?.meant, origins.get(at)];
        return !grid || index === undefined || grid.column(name) === -1 ? null : grid.cell(index, name);
      };
      const wrong = hits.map((at) => {
        return { at, columns: this.#wrongColumns(written, at, ownerOf(at), (name) => stood(at, name)) };
      });
      const isRight = first === row && wrong.every(({ at, columns }) => at === row && columns === null);
      const displaced = isRight
        ? []
        : wrong.flatMap(({ at, columns }) => (columns ?? []).map((column) => ({ at, column })));
      const values = Object.entries(written.row);
      const fixes = displaced.map(({ at, column }): Fix => {
        const value = stood(at, after.header[column] ?? '') ?? '';
        const isFormatted = values.some(
          ([name, one]) => formatOf(written, name) !== undefined && isSame(after.at(at, column), one),
        );
        return { row: at, column, value, format: isFormatted ? 'plain' : undefined };
      });
      // All values, also those that are right: a repair may land in another row, too.
      if (!isRight && row !== null)
        for (const [name, value] of values) {
          const column = after.column(name);
          if (column !== -1) fixes.push({ row, column, value, format: formatOf(written, name) });
        }
      const lost = displaced.flatMap(({ at, column }) => {
        const name = after.header[column] ?? '';
        return stood(at, name) === null ? [name] : [];
      });
      const absent = values.flatMap(([name, value]) => {
        const isEmpty = row !== null && after.column(name) !== -1 && after.cell(row, name) === '';
        return isEmpty && plainText(value) !== '' ? [name] : [];
      });
      const others = this.#cellsLeftAlone(written);
      const isSure = written.before === null || (row === first && !others.isEmpty && others.areAt(first));
      return {
        row,
        isDeleted,
        missing: Object.keys(written.row).filter((name) => after.column(name) === -1),
        absent,
        gone: isSure ? [] : gone,
        fixes,
        lost: [...new Set(lost)],
      };
    });
  }

  /**
   * The columns whose values have to be removed from a row that was written to; null where the row is right. A value that
   * people have typed over one of ours since is right.
   */
  #wrongColumns(
    { row, header, before }: WrittenRow,
    at: number,
    owner: WrittenRow | undefined,
    stood: (name: string) => Cell | null,
  ): number[] | null {
    const after = this.#after;
    const isOwn = owner?.row === row;
    // Where a column was renamed, its value is left in it.
    const values = Object.entries(row).filter(([name]) => !isOwn || after.column(name) !== -1);
    const isElsewhere = (cell: Cell) =>
      (before ?? []).some((one, column) => !Object.hasOwn(row, header?.[column] ?? '') && isSame(one, cell));
    // An inserted row has the boxes of the one above, unticked, and in a table no stars: these are no values of ours that stray.
    const isDefault = (cell: Cell) =>
      isOwn &&
      before === null &&
      (cell === false || cell === 0) &&
      values.every(([name, value]) => value !== cell || after.cell(at, name) === cell);
    const columns = (after.rows[at] ?? []).flatMap((cell, column) => {
      const name = after.header[column] ?? '';
      if (owner && Object.hasOwn(owner.row, name) && after.column(name) === column) return [];
      if (isDefault(cell) || !values.some(([, value]) => isSame(cell, value))) return [];
      const known = stood(name);
      const isOurs = known === null ? cell !== '' && !(isOwn && isElsewhere(cell)) : !isSame(known, cell);
      return isOurs ? [column] : [];
    });
    const isMoved = String(header) !== String(after.header);
    const hasArrived = values.every(([name, value]) => {
      const cell = after.cell(at, name);
      const isAnother = () => values.some(([, other]) => isSame(cell, other));
      return isSame(cell, value) || !(isSame(cell, stood(name) ?? '') || isAnother());
    });
    const isRight = columns.every((column) => after.at(at, column) === '') && (hasArrived || !isMoved);
    return isOwn && isRight ? null : columns;
  }

  /** The row that was meant to be written to, wherever it is now; null where nothing tells. */
  #targetOf(written: WrittenRow): number | null {
    const [first] = this.#hits.get(written)!;
    if (first === undefined) return null;
    if (written.before === null || written.header === null) return first;
    const untouched = this.#untouchedRow(written, first);
    if (untouched !== null) return untouched;
    const others = this.#cellsLeftAlone(written);
    if (others.areAt(first)) return first;
    // Where two rows changed places, neither is where it was. Else the cells differ because people typed into them.
    const swapped = [...this.#hits].find(([one, [row]]) => {
      if (one === written || row === undefined || one.before === null || !others.areAt(row)) return false;
      return !this.#cellsLeftAlone(one).areAt(row);
    });
    return swapped?.[1][0] ?? null;
  }

  /** The row that was meant, where it still stands as it was read: another one was written over then. Null where none does. */
  #untouchedRow(written: WrittenRow, notAt: number): number | null {
    const stood = rowBefore(written);
    const id = stood.cell(1, deliveryHeader);
    const isOurs = this.#all.some((one) => one.id === id);
    const names = id === '' || isOurs ? shared(stood, this.#after) : [deliveryHeader];
    const cells = names.map((name) => stood.cell(1, name));
    if (cells.every((cell) => cell === '')) return null;
    const found = this.#after.rowsWith(names, cells).filter((row) => row !== notAt);
    // People copy rows: the one that was meant is among them only if there are as many as before.
    const copies = this.#before?.seen.rowsWith(names, cells).length ?? 1;
    return found.length >= copies ? (found[0] ?? null) : null;
  }

  /** The cells of a row that were not written, by which the row is recognized. */
  #cellsLeftAlone(written: WrittenRow) {
    const [grid, row] = this.#meantRow(written);
    const names = shared(grid, this.#after).filter((name) => !Object.hasOwn(written.row, name));
    return {
      isEmpty: names.every((name) => grid.cell(row, name) === ''),
      areAt: (at: number) => names.every((name) => this.#after.cell(at, name) === grid.cell(row, name)),
    };
  }

  /** The grid and the row with the values before the write. */
  #meantRow(written: WrittenRow): readonly [Grid, number] {
    const isKnown = this.#before !== null && written.before !== null;
    return isKnown ? [this.#before.meant, written.at] : [rowBefore(written), 1];
  }

  /** The rows of before, without those that were written to, that are gone now. */
  #vanishedRows(): number[] {
    if (this.#before === null) return [];
    const { seen } = this.#before;
    const written = new Set(this.#all.map(({ at, before }) => (before === null ? -1 : at)));
    const names = shared(seen, this.#after);
    return seen.rows.flatMap((cells, row) => {
      if (row <= seen.headerRow || written.has(row) || cells.every((cell) => cell === '')) return [];
      const by = seen.cell(row, deliveryHeader) === '' ? names : [deliveryHeader];
      const values = by.map((name) => seen.cell(row, name));
      return this.#after.rowsWith(by, values).length > 0 ? [] : [row];
    });
  }

  /** The vanished row behind each row that was written to by mistake. The two are alike in the cells that were left alone. */
  #originsOf(
    vanished: readonly number[],
    owners: ReadonlyMap<number | null | undefined, WrittenRow>,
  ): Map<number, number> {
    const origins = new Map<number, number>();
    if (this.#before === null) return origins;
    const { seen } = this.#before;
    const strays = this.#all.flatMap((written) =>
      this.#hits.get(written)!.flatMap((row) => (owners.has(row) ? [] : [{ written, row }])),
    );
    for (const [index, { written, row }] of strays.entries()) {
      const names = shared(seen, this.#after).filter((name) => !Object.hasOwn(written.row, name));
      const taken = new Set(origins.values());
      const may = vanished.filter((one) => {
        const isAlike = names.every((name) => this.#after.cell(row, name) === seen.cell(one, name));
        return isAlike && !taken.has(one);
      });
      if (may.length > 0 && may.length <= strays.length - index) origins.set(row, may[0]!);
    }
    return origins;
  }
}

/** A grid with the row before the write, as row 1, under the header of that time. */
const rowBefore = ({ header, before }: WrittenRow) => new Grid([header ?? [], before ?? []]);

/** The rows that have each id, in the column Delivery first, then in any other. */
export function rowsWithIds(ids: readonly string[], grid: Grid): Map<string, readonly number[]> {
  const home = grid.column(deliveryHeader);
  const rows = new Map<Cell, number[]>(ids.map((id) => [id, []]));
  for (const row of grid.rows.keys()) rows.get(grid.at(row, home))?.push(row);
  for (const [row, cells] of grid.rows.entries()) {
    for (const cell of cells) if (rows.get(cell)?.includes(row) === false) rows.get(cell)!.push(row);
  }
  return new Map(ids.flatMap((id) => (rows.get(id)!.length > 0 ? [[id, rows.get(id)!]] : [])));
}

/** Whether a value of a row, which was found by its id, stands under another header and not under its own. */
export function isMisplaced({ row }: Pick<WrittenRow, 'row'>, at: number, grid: Grid): boolean {
  const isAt = (column: number, value: Cell) => isSame(grid.at(at, column), value);
  return Object.entries(row).some(([name, value]) => {
    const home = grid.column(name);
    if (home === -1 || value === '' || isAt(home, value)) return false;
    return grid.rows[at]?.some((_, column) => isAt(column, value)) ?? false;
  });
}

/** Names that a header shares with a tab's as it is now. */
function shared({ header }: Grid, { header: now }: Grid): string[] {
  return header.filter((name, index) => name !== '' && header.indexOf(name) === index && now.includes(name));
}

/** Whether a cell has a value. Sheets keeps no control characters, not all line breaks, and 15 digits of a number. */
function isSame(cell: Cell, value: Cell): boolean {
  if (typeof cell === 'number' && typeof value === 'number')
    return cell.toPrecision(14) === value.toPrecision(14);
  return cell === value || plainText(cell) === plainText(value);
}

function plainText(value: Cell): string {
  return String(value)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
}
