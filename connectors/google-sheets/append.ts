import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import { delivered } from '../../src/connector.ts';
import { cellRange, rowRange, spanOf } from './a1.ts';
import { endApart, endTogether } from './endings.ts';
import type { Ending } from './endings.ts';
import type { Answer } from './failure.ts';
import type { Cell } from './message.ts';
import { outcomeOf } from './outcomes.ts';
import { requestsOf } from './plan.ts';
import type { PlannedRow } from './plan.ts';
import type { Spreadsheet } from './spreadsheet.ts';
import { cellsOf } from './table.ts';
import type { Table } from './table.ts';

type Appended = sheets_v4.Schema$AppendValuesResponse;

/** Adds rows in this order with one call. All of them arrive, or none does, or nobody knows. */
export async function appendRows(
  sheet: Spreadsheet,
  table: Table,
  planned: readonly PlannedRow[],
  signal: AbortSignal,
): Promise<Ending[]> {
  if (planned.length === 0) return [];
  const cells = planned.map(({ row }) => cellsOf(row, table));
  const start = landed(await append(sheet, table, cells, signal), cells.length);
  if (!start.ok) return endTogether(requestsOf(planned), outcomeOf(start.failure, sheet));
  const { row: top, column } = start.data;
  const note = column === table.first ? undefined : astray;
  return endApart(planned, (_, index) => {
    const range = rowRange(table.tab, top + index, column, column + cells[index]!.length - 1);
    return delivered({ spreadsheetId: table.spreadsheetId, range }, note);
  });
}

/** Cells without a header in reach of the table make the API take it for wider than its header. */
const astray =
  'The row did not land under its headers: look for filled cells beside the table, and move them away.';

function append(
  { call, spreadsheetId }: Spreadsheet,
  { tab, first }: Table,
  values: Cell[][],
  signal: AbortSignal,
): Promise<Answer<Appended>> {
  return call<Appended>(
    (api, options) =>
      api.values.append(
        {
          spreadsheetId,
          // Rows go below the table that has this cell. Given the whole header, the API would take the last of several
          // tables there, and an empty cell in a header makes several of one.
          range: cellRange(tab, 0, first),
          valueInputOption: 'RAW',
          insertDataOption: 'INSERT_ROWS',
          requestBody: { majorDimension: 'ROWS', values },
        },
        options,
      ),
    signal,
  );
}

/** Where the rows begin, if as many were written as were sent. */
function landed(
  answer: Answer<Appended>,
  sent: number,
): Answer<{ readonly row: number; readonly column: number }> {
  if (!answer.ok) return answer;
  const span = spanOf(answer.data.updates?.updatedRange ?? '');
  if (span === null) return { ok: false, failure: { kind: 'foreign' } };
  if (span.rows !== sent) return { ok: false, failure: { kind: 'miscounted', sent, written: span.rows } };
  return { ok: true, data: span };
}
