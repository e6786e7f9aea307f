import type { SheetsSandbox } from '../../sandbox/sheets.ts';
import type { Grid } from '../../sandbox/sheets/grid.ts';

/** How often somebody edits the sheet between two calls. */
const share = 0.3;
const mostColumns = 20;

/**
 * Somebody who works in the sheet while the connector writes: inserts and moves columns and rows, renames columns of their
 * own and types into them, between any two calls. Sorts, and edits where rows are updated, only once the connector lives on:
 * what a killed one wrote over is known to nobody.
 */
export class SheetPerson {
  readonly #sheets: SheetsSandbox;
  readonly #random: () => number;
  /** What was typed, and has to be there still. */
  readonly typed: { readonly tab: string; readonly text: string }[] = [];
  isCareful = true;
  edits = 0;

  constructor(sheets: SheetsSandbox, random: () => number) {
    this.#sheets = sheets;
    this.#random = random;
    sheets.person.meanwhile = () => {
      if (this.#random() < share) this.#edit();
    };
  }

  /** What they typed and cannot see any more, in any column. */
  missing(): { readonly tab: string; readonly text: string }[] {
    return this.typed.filter(({ tab, text }) => !this.#sheets.cells(tab).some((row) => row.includes(text)));
  }

  #edit(): void {
    const titles = this.#sheets.tabs().filter((title) => !this.isCareful || title.startsWith('Test'));
    const tab = this.#sheets.document.tab(titles[this.#below(titles.length)] ?? null);
    const width = tab?.rows[0]?.length ?? 0;
    if (!tab || width === 0) return;
    this.edits += 1;
    const roll = this.#random();
    if (roll < 0.2 && width < mostColumns) this.#insertColumn(tab, this.#below(width + 1));
    else if (roll < 0.4) tab.moveColumn(this.#below(width), this.#below(width));
    else if (roll < 0.5) tab.insertRows(1 + this.#below(tab.rows.length), 1);
    else if (roll < 0.6 && !this.isCareful) tab.sortBy(this.#below(width), this.#random() < 0.5);
    else this.#type(tab);
  }

  #insertColumn(tab: Grid, at: number): void {
    tab.insertColumns(at, 1);
    tab.write(0, at, [[`mine ${this.edits}`]]);
  }

  /** Into a row of the connector's that has nothing there yet; or another name for the column. */
  #type(tab: Grid): void {
    const columns = tab.rows[0]!.flatMap((name, column) => (String(name).startsWith('mine') ? [column] : []));
    const column = columns[this.#below(columns.length)];
    const row = 1 + this.#below(tab.rows.length - 1);
    if (column === undefined) return;
    if (this.#random() < 0.2) return tab.write(0, column, [[`mine ${this.edits}, renamed`]]);
    if (tab.at(row, column) !== '' || row >= tab.rows.length) return;
    const text = `typed ${this.edits}`;
    tab.write(row, column, [[text]]);
    this.typed.push({ tab: tab.title, text });
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}
