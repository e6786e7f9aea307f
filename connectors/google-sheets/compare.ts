import type { Cell } from './format.ts';
import { Grid } from './grid.ts';
import type { Fix } from './grid.ts';
import { deliveryHeader } from './message.ts';
import type { SheetMessage, WrittenRow } from './message.ts';
import { beforeOf, isSame, plainText, repair, valueOf } from './repair.ts';
import type { Place } from './repair.ts';

/** What became of a written row. */
export interface Comparison {
  /** Where it has to be; null where it is not there any more. */
  readonly row: number | null;
  /** Its row was deleted before the write, which landed in another one: it has to be added anew. */
  readonly isDeleted: boolean;
  /** Nothing shows whether it is the row that was meant, and what was read before is not known any more. */
  readonly isUnclear: boolean;
  readonly fixes: readonly Fix[];
  /** Names of columns in which somebody's values were written over that are known from nowhere. */
  readonly lost: readonly string[];
  /** Names of its columns that the header lacks now. */
  readonly missing: readonly string[];
  /** Names of columns whose values are not there. */
  readonly absent: readonly string[];
  /** Those of them whose cells keep no value, as they are merged with others. */
  readonly merged: readonly string[];
  /** Ids of rows that are gone: somebody deleted them, or this one was written over them. */
  readonly gone: readonly string[];
}

/**
 * Looks at what was written, as the tab is now. People move rows and columns between a read and a write, which goes by
 * position: what landed wrongly is to be put where it belongs, and what it displaced to be put back from what was read
 * before. Pure. `before`: all of the tab as it was read before the write; null where not all of it was. `wrong`: where the
 * write was to put rows right, the tab as it was read before that; `before` then has the rows as they were to become.
 */
export function compare(
  all: readonly WrittenRow[],
  before: Grid | null,
  after: Grid,
  wrong: Grid | null = null,
): Comparison[] {
  const places = placesOf(
    all.map(({ id }) => id),
    after,
  );
  for (const written of all) {
    const place = places.get(written.id) ?? placeWithoutId(written, after);
    if (place) places.set(written.id, place);
  }
  const found = all.filter(({ id }) => places.has(id));
  const meant = new Map(
    found.map((written) => [written, targetOf(written, all, places, { before, after, wrong })]),
  );
  const owners = new Map<number | null, WrittenRow>(found.map((one) => [meant.get(one) ?? null, one]));
  owners.delete(null);
  const copies = wrong ? copiesOf(found, places, after) : [];
  const misplaced = [
    ...found.map((written) => ({ written, row: places.get(written.id)!.row })),
    ...copies,
  ].filter(({ written, row }) => meant.get(written) !== row && !owners.has(row));
  const vanished = before === null ? [] : absentRows(before, after, all);
  const displaced =
    before === null ? new Map<number, number>() : displacedBy(misplaced, vanished, before, after);
  const unaccounted = vanished.filter((row) => ![...displaced.values()].includes(row));
  const gone = unaccounted.map((row) => String(before!.cell(row, deliveryHeader) || before!.at(row, 0)));
  return all.map((written) => {
    const place = places.get(written.id);
    if (!place && wrong && placesOf([written.id], wrong).size > 0)
      return { ...nowhere, isDeleted: true, gone: [] };
    if (!place) return { ...nowhere, gone: written.before === null ? [] : gone };
    const isDeleted = meant.get(written) === null && (owners.has(place.row) || displaced.has(place.row));
    const target = isDeleted ? null : (meant.get(written) ?? place.row);
    const repairAt = (at: Place) => {
      const owner = target === at.row ? written : owners.get(at.row);
      const from = displaced.get(at.row);
      const source = (name: string) => {
        if (owner) return owner.before === null ? '' : valueOf(beforeOf(owner), 1, name);
        return from === undefined ? null : valueOf(before!, from, name);
      };
      return repair(written, at, target, { after, owner, source });
    };
    const repairs = [place, ...copies.filter((one) => one.written === written)].map(repairAt);
    const others = otherCells(written, after);
    const isKnown = !others.isEmpty && others.areAt(place.row);
    const isSure = written.before === null || (target === place.row && isKnown);
    const absent = target === null ? [] : absentNames(written.row, target, after);
    return {
      row: target,
      isDeleted,
      isUnclear: !isSure && target === place.row && before === null,
      missing: Object.keys(written.row).filter((name) => after.column(name) === -1),
      absent,
      merged: absent.filter((name) => after.isCovered(target!, after.column(name))),
      gone: isSure ? [] : gone,
      fixes: repairs.flatMap(({ fixes }) => fixes),
      lost: [...new Set(repairs.flatMap(({ lost }) => lost))],
    };
  });
}

const nowhere = {
  row: null,
  isDeleted: false,
  isUnclear: false,
  fixes: [],
  lost: [],
  missing: [],
  absent: [],
  merged: [],
};

function absentNames(row: SheetMessage['row'], at: number, after: Grid): string[] {
  return Object.keys(row).filter((name) => {
    return after.column(name) !== -1 && plainText(row[name]!) !== '' && after.cell(at, name) === '';
  });
}

/** The other rows that have an id: a row that was to be put right moved before that, and was written once more. */
function copiesOf(found: readonly WrittenRow[], places: ReadonlyMap<string, Place>, after: Grid) {
  const byId = new Map<Cell, WrittenRow>(found.map((written) => [written.id, written]));
  return after.rows.flatMap((cells, row) =>
    cells.flatMap((cell, column) => {
      const written = byId.get(cell);
      const isOther = written && places.get(written.id)!.row !== row;
      return isOther ? [{ written, row, column }] : [];
    }),
  );
}

/** Where ids stand: in their column, or in whichever they landed. */
export function placesOf(ids: readonly string[], after: Grid): Map<string, Place> {
  const wanted = new Set<Cell>(ids);
  const found = new Map<string, Place>();
  const note = (value: Cell, row: number, column: number) => {
    if (wanted.has(value) && !found.has(String(value))) found.set(String(value), { row, column });
  };
  const home = after.column(deliveryHeader);
  after.rows.forEach((_, row) => note(after.at(row, home), row, home));
  if (found.size < wanted.size) {
    after.rows.forEach((cells, row) => cells.forEach((value, column) => note(value, row, column)));
  }
  return found;
}

/**
 * Where the id's cell was typed over, in a column that moved, or keeps no value, as it is merged with others: what else
 * was written tells the row.
 */
function placeWithoutId({ row, at, header }: WrittenRow, after: Grid): Place | null {
  if (header === null) return null;
  const column = header.indexOf(deliveryHeader);
  const isMerged = after.isCovered(at, column);
  if (String(header) === String(after.header) && !isMerged) return null;
  const values = Object.entries(row).filter(([name, value]) => {
    return name !== deliveryHeader && value !== '' && !after.isCovered(at, header.indexOf(name));
  });
  const isThere = values.every(([name, value]) => isSame(after.at(at, header.indexOf(name)), value));
  return isThere && (isMerged || values.length > 0) ? { row: at, column } : null;
}

/** A tab as it was read: see compare. */
interface Seen {
  readonly before: Grid | null;
  readonly after: Grid;
  readonly wrong: Grid | null;
}

/** The row that was meant: somebody may have moved another one to where it was. Null where nothing tells. */
function targetOf(
  written: WrittenRow,
  all: readonly WrittenRow[],
  places: ReadonlyMap<string, Place>,
  { before, after, wrong }: Seen,
): number | null {
  const { row } = places.get(written.id)!;
  if (written.before === null || written.header === null) return row;
  const wrongRow = wrong?.rows[written.at] ?? [];
  const isOthers = all.some((one) => one !== written && wrongRow.includes(one.id));
  const stood = wrong && !isOthers ? new Grid([wrong.header, wrongRow]) : beforeOf(written);
  const meant = untouchedRow(stood, row, wrong ?? before, after);
  if (meant !== null) return meant;
  const others = otherCells(written, after);
  if (others.areAt(row)) return row;
  // Where rows changed places, another one of them does not know its place again either: people type into cells, too.
  const isForeign = (one: WrittenRow, at: number) => one.before !== null && !otherCells(one, after).areAt(at);
  const rows = all.flatMap((one) => {
    const at = places.get(one.id)?.row;
    return one !== written && at !== undefined && others.areAt(at) && isForeign(one, at) ? [at] : [];
  });
  return rows[0] ?? null;
}

/** Where the row that was meant still stands as it was read, so that another one was written over. */
function untouchedRow(row: Grid, notAt: number, before: Grid | null, after: Grid): number | null {
  const names = row.cell(1, deliveryHeader) === '' ? shared(row, after) : [deliveryHeader];
  const cells = cellsOf(row, 1, names);
  if (cells.every((cell) => cell === '')) return null;
  const found = after.rowsWith(names, cells).filter((index) => index !== notAt);
  // People copy rows: only where there are as many as before, the one that was meant is among them.
  const copies = before === null ? 1 : before.rowsWith(names, cells).length;
  return found.length >= copies ? (found[0] ?? null) : null;
}

/** The cells of a row that were not written, by which it is known again. */
function otherCells(written: WrittenRow, after: Grid) {
  const before = beforeOf(written);
  const names = shared(before, after).filter((name) => !Object.hasOwn(written.row, name));
  return {
    isEmpty: cellsOf(before, 1, names).every((cell) => cell === ''),
    areAt: (row: number) => isAlike(after, row, before, 1, names),
  };
}

/** Names that a header shares with a tab's as it is now. */
function shared({ header }: Grid, { header: now }: Grid): string[] {
  return header.filter((name, index) => name !== '' && header.indexOf(name) === index && now.includes(name));
}

const cellsOf = (grid: Grid, row: number, names: readonly string[]) =>
  names.map((name) => grid.cell(row, name));

const isAlike = (a: Grid, rowOfA: number, b: Grid, rowOfB: number, names: readonly string[]) =>
  names.every((name) => a.cell(rowOfA, name) === b.cell(rowOfB, name));

/** Rows of before, other than those that were written, that are nowhere to be seen now. */
function absentRows(before: Grid, after: Grid, all: readonly WrittenRow[]): number[] {
  const written = new Set(all.map(({ at }) => at));
  const names = shared(before, after);
  return before.rows.flatMap((cells, row) => {
    if (row <= before.headerRow || written.has(row) || cells.every((cell) => cell === '')) return [];
    const by = before.cell(row, deliveryHeader) === '' ? names : [deliveryHeader];
    return after.rowsWith(by, cellsOf(before, row, by)).length > 0 ? [] : [row];
  });
}

/**
 * By the row that was written to by mistake, the row of before that stood there: alike in the cells that were left alone,
 * and known by the rows above or below it where that leaves several.
 */
function displacedBy(
  misplaced: readonly { readonly written: WrittenRow; readonly row: number }[],
  absent: readonly number[],
  before: Grid,
  after: Grid,
): Map<number, number> {
  const names = shared(before, after);
  const alike = (a: number, b: number, by = names) => isAlike(after, a, before, b, by);
  const isBeside = (a: number, b: number) => alike(a, b) && names.some((name) => after.cell(a, name) !== '');
  const found = new Map<number, number>();
  const isFree = (row: number) => ![...found.values()].includes(row);
  for (const byNeighbours of [true, false]) {
    for (const { written, row } of misplaced.filter((one) => !found.has(one.row))) {
      const left = names.filter((name) => !Object.hasOwn(written.row, name));
      const may = absent.filter((one) => isFree(one) && alike(row, one, left));
      const places = misplaced.filter((one) => !found.has(one.row)).length;
      const [first] = byNeighbours
        ? may.filter((one) => isBeside(row - 1, one - 1) || isBeside(row + 1, one + 1))
        : may.slice(0, may.length > places ? 0 : 1);
      if (first !== undefined) found.set(row, first);
    }
  }
  return found;
}
