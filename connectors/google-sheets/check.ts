import { failedCheck, passed } from '../../src/connector.ts';
import type { LiveCheck } from '../../src/connector.ts';
import type { Failure } from './client.ts';
import type { SheetMessage } from './message.ts';
import { nothingWritten } from './outcomes.ts';
import { batchUpdate, describe } from './table.ts';
import type { Spreadsheet, Tab } from './table.ts';

/** Replaced by itself, so that the edit changes nothing even where the text is there. */
const nothing = 'candidate-connector live check';

/** Asks whether the account signs in, sees the spreadsheet and may write to it, and which tabs are there. */
export async function checkSheet(
  sheet: Spreadsheet,
  messages: readonly SheetMessage[],
  signal: AbortSignal,
): Promise<LiveCheck[]> {
  const described = await describe(sheet, signal);
  if (!described.ok) {
    return [...signsIn(sheet, described.failure), failed(sheet, 'sees the spreadsheet', described.failure)];
  }
  const { title, tabs } = described.data;
  return [
    ...signsIn(sheet, null),
    passed('sees the spreadsheet', title),
    await checkWrite(sheet, tabs, signal),
    ...checkTabs(tabs, messages),
  ];
}

/** An answer of the API proves the token, whatever it says, unless it says that the token is wrong. */
function signsIn({ account }: Spreadsheet, failure: Failure | null): LiveCheck[] {
  const proven = failure === null || (failure.kind === 'http' && failure.status !== 401);
  return proven ? [passed('signs in', account)] : [];
}

async function checkWrite(sheet: Spreadsheet, tabs: readonly Tab[], signal: AbortSignal): Promise<LiveCheck> {
  const what = 'may write to it';
  const withCells = tabs.find(({ rowCount }) => rowCount !== null);
  if (!withCells) return passed(what, 'not tried: no tab has cells yet');
  const oneCell = { startRowIndex: 0, endRowIndex: 1, startColumnIndex: 0, endColumnIndex: 1 };
  const range = { sheetId: withCells.sheetId, ...oneCell };
  const findReplace = { find: nothing, replacement: nothing, matchEntireCell: true, range };
  const answer = await batchUpdate(sheet, [{ findReplace }], signal);
  return answer.ok ? passed(what, 'an edit without effect was taken') : failed(sheet, what, answer.failure);
}

function checkTabs(tabs: readonly Tab[], messages: readonly SheetMessage[]): LiveCheck[] {
  const titles = new Set(tabs.map(({ title }) => title));
  return [...new Set(messages.map(({ tab }) => tab))].map((tab) =>
    passed(`tab ${tab}`, titles.has(tab) ? 'is there' : 'will be made with its first row'),
  );
}

const failed = (sheet: Spreadsheet, what: string, failure: Failure): LiveCheck =>
  failedCheck(what, nothingWritten(failure, sheet));
