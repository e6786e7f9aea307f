import type { Receipt } from '../../src/model.ts';
import { rowRange } from './a1.ts';
import type { Header } from './headers.ts';
import type { Cell, SheetMessage } from './message.ts';

/** A tab with the header that a write relies on. */
export interface Table {
  readonly spreadsheetId: string;
  readonly tab: string;
  readonly header: Header;
  /** The column of the first header: where a new row begins. */
  readonly first: number;
}

export function tableOf(spreadsheetId: string, tab: string, header: Header): Table {
  return { spreadsheetId, tab, header, first: header.findIndex((name) => name !== '') };
}

/** The cells from the header's first column to the last one that the row has a value for. */
export function cellsOf(row: SheetMessage['row'], { header, first }: Table): Cell[] {
  const byColumn = new Map(Object.entries(row).map(([name, cell]) => [header.indexOf(name), cell]));
  const last = Math.max(...byColumn.keys());
  return Array.from({ length: last - first + 1 }, (_, index) => byColumn.get(first + index) ?? '');
}

/** What proves a row: its place under the header. */
export function receiptOf({ spreadsheetId, tab, header, first }: Table, rowIndex: number): Receipt {
  return { spreadsheetId, range: rowRange(tab, rowIndex, first, header.length - 1) };
}
