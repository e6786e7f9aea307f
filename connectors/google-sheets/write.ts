import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import { delivered } from '../../src/connector.ts';
import type { AttemptRequest } from '../../src/connector.ts';
import type { Outcome, Receipt } from '../../src/model.ts';
import { cellRange, rowRange, startOf } from './a1.ts';
import type { Failure } from './failure.ts';
import type { Header, Headers } from './headers.ts';
import type { Cell, SheetMessage } from './message.ts';
import { beforeWriting, outcomeOf } from './outcomes.ts';
import { findInColumn } from './spreadsheet.ts';
import type { Spreadsheet } from './spreadsheet.ts';

type Row = SheetMessage['row'];

/** A tab with the header that a write relies on. */
interface Table {
  readonly tab: string;
  readonly header: Header;
  /** The column of the first header: where a new row begins. */
  readonly first: number;
}

/** One attempt: the header first, then one call that writes. */
export async function writeRow(
  sheet: Spreadsheet,
  headers: Headers,
  { message: { tab, row, key }, now, signal }: AttemptRequest<SheetMessage>,
): Promise<Outcome> {
  const header = await headers.ensure(tab, Object.keys(row), now, signal);
  if (!header.ok) return beforeWriting(header.failure, sheet);
  const table = tableOf(tab, header.data);
  const existing =
    key === undefined
      ? ({ ok: true, data: null } as const)
      : await findInColumn(sheet, tab, table.header.indexOf(key), String(row[key]), signal);
  if (!existing.ok) return beforeWriting(existing.failure, sheet);
  const outcomes =
    existing.data === null
      ? await appendRows(sheet, table, [row], signal)
      : [await updateRow(sheet, table, existing.data, row, signal)];
  if (outcomes.some(isSurprise)) headers.forget(tab);
  return outcomes[0]!;
}

/** Appends rows in this order with one call. All of them arrive, or none does, or nobody knows: an outcome for each. */
async function appendRows(
  sheet: Spreadsheet,
  table: Table,
  rows: readonly Row[],
  signal: AbortSignal,
): Promise<Outcome[]> {
  const { spreadsheetId } = sheet;
  const cells = rows.map((row) => cellsOf(row, table));
  const answer = await sheet.call<sheets_v4.Schema$AppendValuesResponse>(
    (api, options) =>
      api.values.append(
        {
          spreadsheetId,
          // Rows go below the table that has this cell. Given the whole header, the API would take the last of several
          // tables there, and an empty cell in a header makes several of one.
          range: cellRange(table.tab, 0, table.first),
          valueInputOption: 'RAW',
          insertDataOption: 'INSERT_ROWS',
          requestBody: { majorDimension: 'ROWS', values: cells },
        },
        options,
      ),
    signal,
  );
  const start = answer.ok ? startOf(answer.data.updates?.updatedRange ?? '') : null;
  if (start === null) {
    const failure: Failure = answer.ok ? { kind: 'foreign' } : answer.failure;
    return rows.map(() => outcomeOf(failure, sheet));
  }
  const note = start.column === table.first ? undefined : astray;
  return cells.map(({ length }, index) => {
    const range = rowRange(table.tab, start.row + index, start.column, start.column + length - 1);
    return delivered({ spreadsheetId, range }, note);
  });
}

/** Cells without a header in reach of the table make the API take it for wider than its header. */
const astray =
  'The row did not land under its headers: look for filled cells beside the table, and move them away.';

/** Writes the cells of one row that the action names and leaves the others. */
async function updateRow(
  sheet: Spreadsheet,
  table: Table,
  rowIndex: number,
  row: Row,
  signal: AbortSignal,
): Promise<Outcome> {
  const { spreadsheetId } = sheet;
  const data = Object.entries(row).map(([name, cell]) => ({
    range: cellRange(table.tab, rowIndex, table.header.indexOf(name)),
    values: [[cell]],
  }));
  const answer = await sheet.call<sheets_v4.Schema$BatchUpdateValuesResponse>(
    (api, options) =>
      api.values.batchUpdate({ spreadsheetId, requestBody: { valueInputOption: 'RAW', data } }, options),
    signal,
  );
  if (!answer.ok) return outcomeOf(answer.failure, sheet);
  if (!answer.data.totalUpdatedCells) return outcomeOf({ kind: 'foreign' }, sheet);
  return delivered(receiptOf(sheet, table.tab, table.header, rowIndex));
}

/** What proves a row: its place under the header. */
export function receiptOf(sheet: Spreadsheet, tab: string, header: Header, rowIndex: number): Receipt {
  const { first } = tableOf(tab, header);
  return {
    spreadsheetId: sheet.spreadsheetId,
    range: rowRange(tab, rowIndex, first, header.length - 1),
  };
}

function tableOf(tab: string, header: Header): Table {
  return { tab, header, first: header.findIndex((name) => name !== '') };
}

/** The cells from the header's first column to the last one that the row has a value for. */
function cellsOf(row: Row, { header, first }: Table): Cell[] {
  const byColumn = new Map(Object.entries(row).map(([name, cell]) => [header.indexOf(name), cell]));
  const last = Math.max(...byColumn.keys());
  return Array.from({ length: last - first + 1 }, (_, index) => byColumn.get(first + index) ?? '');
}

/** Outcomes that an outdated header may have caused. */
function isSurprise(outcome: Outcome): boolean {
  if (outcome.outcome === 'delivered') return outcome.note !== undefined;
  return outcome.reason === 'invalid' || outcome.reason === 'not_found';
}
