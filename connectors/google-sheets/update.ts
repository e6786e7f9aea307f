import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import { delivered } from '../../src/connector.ts';
import { cellRange } from './a1.ts';
import { endApart, endTogether } from './endings.ts';
import type { Ending } from './endings.ts';
import type { Answer } from './failure.ts';
import { outcomeOf } from './outcomes.ts';
import { requestsOf } from './plan.ts';
import type { RowThere } from './plan.ts';
import type { Spreadsheet } from './spreadsheet.ts';
import { receiptOf } from './table.ts';
import type { Table } from './table.ts';

/** Writes the cells that the actions name into rows that are there, and leaves the others, with one call. */
export async function updateRows(
  sheet: Spreadsheet,
  table: Table,
  planned: readonly RowThere[],
  signal: AbortSignal,
): Promise<Ending[]> {
  if (planned.length === 0) return [];
  const { spreadsheetId } = sheet;
  const data = planned.flatMap((row) => cellsToWrite(row, table));
  const answer = await sheet.call<sheets_v4.Schema$BatchUpdateValuesResponse>(
    (api, options) =>
      api.values.batchUpdate({ spreadsheetId, requestBody: { valueInputOption: 'RAW', data } }, options),
    signal,
  );
  const written = counted(answer);
  if (!written.ok) return endTogether(requestsOf(planned), outcomeOf(written.failure, sheet));
  return endApart(planned, ({ rowIndex }) => delivered(receiptOf(table, rowIndex)));
}

function cellsToWrite({ rowIndex, row }: RowThere, { tab, header }: Table): sheets_v4.Schema$ValueRange[] {
  return Object.entries(row).map(([name, cell]) => ({
    range: cellRange(tab, rowIndex, header.indexOf(name)),
    values: [[cell]],
  }));
}

/** Only an answer that counts cells is one of Google's. */
function counted(answer: Answer<sheets_v4.Schema$BatchUpdateValuesResponse>): Answer<unknown> {
  if (!answer.ok || answer.data.totalUpdatedCells) return answer;
  return { ok: false, failure: { kind: 'foreign' } };
}
