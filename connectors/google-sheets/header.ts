import { rowsRange } from './a1.ts';
import type { Failure } from './client.ts';
import { Grid } from './grid.ts';
import type { View } from './grid.ts';
import { deliveryHeader } from './message.ts';
import type { Row } from './message.ts';
import { readRanges } from './spreadsheet.ts';
import type { Spreadsheet, Tab } from './spreadsheet.ts';

/** What people have to know of columns that a header has more than once. */
export function twiceInHeader({ header }: Grid, names: readonly string[]): string[] {
  const twice = [...new Set(names)].filter((name) => header.indexOf(name) !== header.lastIndexOf(name));
  return twice.map((name) => `The header has more than one column ${name}: the first of them is written.`);
}

/** Why there cannot be a header in one of these tabs: it is a chart, or ends above the header's row. */
export function missingHeaderRow(tabs: readonly Tab[]): Failure | null {
  const short = tabs.find((tab) => !hasHeaderRow(tab));
  if (!short) return null;
  const { title, rowCount, headerRow } = short;
  const words =
    rowCount === null
      ? 'has no cells: it is a chart. Rename it, or give the action another tab.'
      : `has only ${rowCount} ${rowCount === 1 ? 'row' : 'rows'}, and its header should be in row ${headerRow + 1}. Add rows to it, or set headerRow.`;
  return { kind: 'header', tab: title, words: `The tab ${title} ${words}` };
}

const hasHeaderRow = ({ rowCount, headerRow }: Tab): boolean => rowCount !== null && rowCount > headerRow;

export function mergedHeader({ title, headerRow }: Tab): Failure {
  const words = `The tab ${title}: its header in row ${headerRow + 1} takes no new columns, as cells are merged there. Unmerge them.`;
  return { kind: 'header', tab: title, words };
}

/** So many rows at the top show whether the header stands elsewhere. */
const rowsAtTop = 200;

/**
 * Why a tab's header cannot be what stands in its row. A tab without the column Delivery may be one that was never written
 * to; or people moved, removed or emptied its header, and a new one would stand above the wrong values.
 */
export async function lostHeader(
  sheet: Spreadsheet,
  views: readonly View[],
  wanted: readonly { readonly names: readonly string[] }[],
  signal: AbortSignal,
): Promise<Failure | null> {
  const suspects = views.flatMap(({ tab, grid }, index) =>
    grid.column(deliveryHeader) === -1 ? [{ tab, names: wanted[index]!.names }] : [],
  );
  const ranges = suspects.map(({ tab }) => rowsRange(tab, 0, Math.min(rowsAtTop, tab.rowCount ?? 1) - 1));
  const read = await readRanges(sheet, ranges, signal);
  if (!read.ok) return read.failure;
  for (const [index, { tab, names }] of suspects.entries()) {
    const words = headerFault(new Grid(read.data[index]!, tab.headerRow), names);
    if (words) return { kind: 'header', tab: tab.title, words: `The tab ${tab.title}: ${words}` };
  }
  return null;
}

/** What is wrong, and what to do; null where it may be a tab that was never written to. Pure. */
function headerFault({ rows, header, headerRow }: Grid, names: readonly string[]): string | null {
  const own = `row ${headerRow + 1}`;
  const isHeader = (cells: Row) => {
    const there = new Set(cells.map((cell) => String(cell).trim()));
    return there.has(deliveryHeader) && names.some((name) => name !== deliveryHeader && there.has(name));
  };
  const at = rows.findIndex(isHeader);
  if (at !== -1) {
    return `its header stands in row ${at + 1}, and should in ${own}. Move it there, or set headerRow to ${at + 1} if all tabs of the sink are so.`;
  }
  if (header.some((name) => deliveryId.test(name))) {
    return `${own} has no header but values. Insert a row there with the names of the columns, ${deliveryHeader} among them.`;
  }
  const isEmpty = header.every((name) => name === '');
  const isFilledBelow = rows.some((cells, row) => row > headerRow && cells.some((cell) => cell !== ''));
  if (!isEmpty || !isFilledBelow) return null;
  return `${own}, where its header should be, is empty, and there are values below it. Fill in the names of the columns there, or set headerRow.`;
}

const deliveryId = /^dlv_[0-9a-z]{26}_\d+$/;
