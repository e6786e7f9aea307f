import type { CellRange } from './a1.ts';
import { parseRange } from './a1.ts';
import { Grid } from './grid.ts';
import { invalid, SheetsRefusal } from './refusal.ts';

export type Role = 'writer' | 'reader' | 'none';

/** A spreadsheet with its tabs, and what the service account may do with it. */
export class Document {
  readonly id: string;
  readonly title = 'Sandbox';
  readonly tabs: Grid[];
  role: Role;
  /** Tabs that the account may read and not edit. */
  protectedTabs: readonly string[] = [];

  constructor(id: string, role: Role) {
    this.id = id;
    this.role = role;
    this.tabs = [new Grid(0, 'Sheet1')];
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

  demandUnprotected({ title }: Grid): void {
    if (!this.protectedTabs.includes(title)) return;
    throw invalid(
      'You are trying to edit a protected cell or object. Please contact the spreadsheet owner to remove protection if you need to edit.',
    );
  }

  /** By title, whatever its case. */
  tab(title: string | null): Grid | undefined {
    return title === null ? this.tabs[0] : this.tabs.find((tab) => sameTitle(tab.title, title));
  }

  tabById(sheetId: unknown): Grid {
    const tab = this.tabs.find((candidate) => candidate.sheetId === (sheetId ?? 0));
    if (!tab) throw invalid(`No grid with id: ${String(sheetId)}`);
    return tab;
  }

  /** The cells that a range names. */
  locate(text: string): { readonly tab: Grid; readonly range: CellRange } {
    const range = parseRange(text);
    const tab = range && this.tab(range.tab);
    if (!tab) throw invalid(`Unable to parse range: ${text}`);
    return { tab, range };
  }

  /** Carries out all of a change, or leaves everything as it was. */
  wholly<Result>(change: () => Result): Result {
    const before = this.tabs.map((tab) => ({ tab, rows: structuredClone(tab.rows), ...sizeOf(tab) }));
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

function sizeOf({ rowCount, columnCount }: Grid) {
  return { rowCount, columnCount };
}

function sameTitle(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
