import { failedCheck, passed } from '../../src/connector.ts';
import type { LiveCheck } from '../../src/connector.ts';
import type { Failure } from './client.ts';
import type { SheetMessage } from './message.ts';
import { nothingWritten, unlock } from './outcomes.ts';
import { batchUpdate, describe, rangeName } from './table.ts';
import type { Description, Spreadsheet, Tab } from './table.ts';

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
  return [
    ...signsIn(sheet, null),
    passed('sees the spreadsheet', described.data.title),
    await checkWrite(sheet, described.data, signal),
    ...checkTabs(sheet, described.data, messages),
  ];
}

/** An answer of the API proves the token, whatever it says, unless it says that the token is wrong. */
function signsIn({ account }: Spreadsheet, failure: Failure | null): LiveCheck[] {
  const proven = failure === null || (failure.kind === 'http' && failure.status !== 401);
  return proven ? [passed('signs in', account)] : [];
}

async function checkWrite(
  sheet: Spreadsheet,
  { tabs, protections }: Description,
  signal: AbortSignal,
): Promise<LiveCheck> {
  const what = 'may write to it';
  const tab = tabs.find(({ sheetId, rowCount }) => rowCount !== null && !protections.get(sheetId)?.length);
  if (!tab) return passed(what, 'not tried: no tab has cells that are not protected');
  const oneCell = { startRowIndex: 0, endRowIndex: 1, startColumnIndex: 0, endColumnIndex: 1 };
  const range = { sheetId: tab.sheetId, ...oneCell };
  const findReplace = { find: nothing, replacement: nothing, matchEntireCell: true, range };
  const answer = await batchUpdate(sheet, [{ findReplace }], signal);
  return answer.ok ? passed(what, 'an edit without effect was taken') : failed(sheet, what, answer.failure);
}

function checkTabs(
  { account }: Spreadsheet,
  { tabs, protections }: Description,
  messages: readonly SheetMessage[],
): LiveCheck[] {
  const byTitle = new Map(tabs.map((tab) => [tab.title.toLowerCase(), tab]));
  return [...new Set(messages.map(({ tab }) => tab))].map((title) => {
    const tab = byTitle.get(title.toLowerCase());
    const what = `tab ${title}`;
    if (!tab) return passed(what, 'will be made with its first row');
    const ranges = (protections.get(tab.sheetId) ?? []).filter((range) => isWhereRowsGo(range, tab));
    if (ranges.length === 0) return passed(what, 'is there');
    const names = ranges.map((range) => rangeName(range, tab.rowCount ?? 0) ?? 'all of it').join(', ');
    return {
      ok: false,
      what,
      detail: `${account} may not edit ${names}: protected.`,
      advice: unlock(account),
    };
  });
}

/** Rows that are inserted go through every range that reaches to the end; others are of rows that are there. */
const isWhereRowsGo = ({ endRowIndex }: { endRowIndex?: number | null }, { rowCount }: Tab) =>
  (endRowIndex ?? Infinity) >= (rowCount ?? 0);

const failed = (sheet: Spreadsheet, what: string, failure: Failure): LiveCheck =>
  failedCheck(what, nothingWritten(failure, sheet));
