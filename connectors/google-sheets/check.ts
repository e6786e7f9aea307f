import { failedCheck, passed } from '../../src/connector.ts';
import type { LiveCheck } from '../../src/connector.ts';
import type { Failure } from './client.ts';
import type { SheetMessage } from './message.ts';
import { nothingWritten, unlock } from './outcomes.ts';
import { rangeName } from './a1.ts';
import { readParts } from './grid.ts';
import { lostHeader, missingHeaderRow, twiceInHeader } from './header.ts';
import { batchUpdate, describe } from './spreadsheet.ts';
import type { Description, Spreadsheet, Tab } from './spreadsheet.ts';

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
    ...(await checkTabs(sheet, described.data, messages, signal)),
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
  sheet: Spreadsheet,
  description: Description,
  messages: readonly SheetMessage[],
  signal: AbortSignal,
): Promise<LiveCheck[]> {
  const byTitle = new Map(description.tabs.map((tab) => [tab.title.toLowerCase(), tab]));
  const names = Map.groupBy(messages, ({ tab }) => tab);
  return Promise.all(
    [...names].map(async ([title, all]) => {
      const tab = byTitle.get(title.toLowerCase());
      if (!tab) return passed(`tab ${title}`, 'will be made with its first row');
      const columns = all.flatMap(({ row }) => Object.keys(row));
      return checkProtection(sheet, description, tab) ?? (await checkHeader(sheet, tab, columns, signal));
    }),
  );
}

function checkProtection({ account }: Spreadsheet, { protections }: Description, tab: Tab): LiveCheck | null {
  const ranges = (protections.get(tab.sheetId) ?? []).filter((range) => isWhereRowsGo(range, tab));
  if (ranges.length === 0) return null;
  const names = ranges.map((range) => rangeName(range, tab.rowCount ?? 0) ?? 'all of it').join(', ');
  const detail = `${account} may not edit ${names}: protected.`;
  return { ok: false, what: `tab ${tab.title}`, detail, advice: unlock(account) };
}

async function checkHeader(
  sheet: Spreadsheet,
  tab: Tab,
  names: readonly string[],
  signal: AbortSignal,
): Promise<LiveCheck> {
  const what = `tab ${tab.title}`;
  const missing = missingHeaderRow([tab]);
  if (missing) return failed(sheet, what, missing);
  const read = await readParts(sheet, [{ tab, first: 0, range: null }], signal);
  if (!read.ok) return failed(sheet, what, read.failure);
  const [grid] = read.data;
  const lost = await lostHeader(sheet, [{ tab, grid: grid! }], [{ names }], signal);
  if (lost) return failed(sheet, what, lost);
  return passed(what, ['is there', ...twiceInHeader(grid!, names)].join('. '));
}

/** Rows that are inserted go through every range that reaches to the end; others are of rows that are there. */
const isWhereRowsGo = ({ endRowIndex }: { endRowIndex?: number | null }, { rowCount }: Tab) =>
  (endRowIndex ?? Infinity) >= (rowCount ?? 0);

const failed = (sheet: Spreadsheet, what: string, failure: Failure): LiveCheck =>
  failedCheck(what, nothingWritten(failure, sheet));
