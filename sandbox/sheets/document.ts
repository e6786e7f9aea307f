import type { CellRange } from './a1.ts';
import { parseRange } from './a1.ts';
import { Grid } from './grid.ts';
import type { Box } from './grid.ts';
import { invalid, SheetsRefusal } from './refusal.ts';

const maxCells = 10_000_000;

export type Role = 'writer' | 'reader' | 'none';

/** https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets/other#GridRange: an index that is missing leaves that side open. */
interface GridRange {
  readonly startRowIndex?: number;
  readonly endRowIndex?: number;
  readonly startColumnIndex?: number;
  readonly endColumnIndex?: number;
}

interface Protection {
  readonly tab: string;
  /** The protected part; without bounds, all of the tab. */
  readonly range: GridRange;
}

function covers(range: GridRange, { top, left, bottom, right }: Box): boolean {
  const {
    startRowIndex = 0,
    endRowIndex = Infinity,
    startColumnIndex = 0,
    endColumnIndex = Infinity,
  } = range;
  return startRowIndex <= bottom && top < endRowIndex && startColumnIndex <= right && left < endColumnIndex;
}

/** A spreadsheet with its tabs, and the rights of the service account. */
export class Document {
  readonly id: string;
  readonly title = 'Sandbox';
  /** The time zone, as the menu sets it; the API's default is `Etc/GMT`. */
  timeZone = 'Etc/GMT';
  readonly tabs: Grid[];
  role: Role;
  /** It is an .xlsx in Drive: people see it like any other spreadsheet, and the API refuses it. */
  isExcelFile = false;
  /** The ranges that the account may read but not edit. */
  readonly protections: Protection[] = [];

  constructor(id: string, role: Role) {
    this.id = id;
    this.role = role;
    this.tabs = [new Grid(0, 'Sheet1')];
  }

  /** Its words are the API's, as tidyverse/googlesheets4#275 on GitHub quotes them. */
  demandNative(): void {
    if (!this.isExcelFile) return;
    throw new SheetsRefusal(400, 'FAILED_PRECONDITION', 'This operation is not supported for this document');
  }

  demandMayRead(): void {
    if (this.role === 'none')
      throw new SheetsRefusal(403, 'PERMISSION_DENIED', 'The caller does not have permission');
  }

  demandMayWrite(): void {
    if (this.role !== 'writer') {
      throw new SheetsRefusal(403, 'PERMISSION_DENIED', 'The caller does not have permission');
    }
  }

  /** Protects a tab against the account, or a range of it. */
  protect(tab: string, range: GridRange = {}): void {
    this.protections.push({ tab, range });
  }

  /** Its words are the API's, as theoephraim/node-google-spreadsheet#20 on GitHub quotes them. */
  demandUnprotected({ title }: Grid, box: Box): void {
    if (!this.protections.some(({ tab, range }) => tab === title && covers(range, box))) return;
    throw invalid(
      'You are trying to edit a protected cell or object. Please contact the spreadsheet owner to remove protection if you need to edit.',
    );
  }

  /** https://support.google.com/drive/answer/37603: cells count whether they are filled or not. */
  demandRoom(): void {
    const cells = this.tabs.reduce((sum, { rowCount, columnCount }) => sum + rowCount * columnCount, 0);
    if (cells <= maxCells) return;
    throw invalid(
      `This action would increase the number of cells in the workbook above the limit of ${maxCells} cells.`,
    );
  }

  /** The tab with a title, whatever its case. */
  tab(title: string | null): Grid | undefined {
    return title === null ? this.tabs[0] : this.tabs.find((tab) => sameTitle(tab.title, title));
  }

  tabById(sheetId: unknown): Grid {
    const tab = this.tabs.find((candidate) => candidate.sheetId === (sheetId ?? 0));
    if (!tab) throw invalid(`No grid with id: ${String(sheetId)}`);
    return tab;
  }

  tabWithTable(tableId: string): Grid {
    const tab = this.tabs.find(({ tables }) => tables.some(({ id }) => id === tableId));
    if (!tab) throw invalid(`No table with id: ${tableId}`);
    return tab;
  }

  /** The cells that a range names. */
  locate(text: string): { readonly tab: Grid; readonly range: CellRange } {
    const range = parseRange(text);
    const tab = range && this.tab(range.tab);
    if (!tab || tab.isChart) throw invalid(`Unable to parse range: ${text}`);
    return { tab, range };
  }

  /** Carries out all of a change, or leaves everything as it was. */
  wholly<Result>(change: () => Result): Result {
    const before = this.tabs.map((tab) => ({ tab, rows: tab.copyRows(), ...sizeOf(tab) }));
    try {
      return change();
    } catch (error) {
      this.tabs.splice(0, Infinity, ...before.map(({ tab }) => tab));
      for (const { tab, rows, ...size } of before) {
        tab.rows.splice(0, Infinity, ...rows);
        Object.assign(tab, size);
      }
      throw error;
    }
  }

  addTab(sheetId: number, title: string, size: { rowCount?: number; columnCount?: number }): Grid {
    if (this.tab(title)) {
      throw invalid(`A sheet with the name "${title}" already exists. Please enter another name.`);
    }
    const tab = new Grid(sheetId, title, size);
    this.tabs.push(tab);
    return tab;
  }
}

function sizeOf({ rowCount, columnCount, merges, tables }: Grid) {
  return { rowCount, columnCount, merges, tables };
}

function sameTitle(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
