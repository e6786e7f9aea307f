import { failedCheck, passed } from '../../src/connector.ts';
import type { LiveCheck } from '../../src/connector.ts';
import type { Failure } from './client.ts';
import { batchUpdate, describe, readParts } from './spreadsheet.ts';
import type { SheetMessage } from './message.ts';
import { nothingWritten, unlock } from './outcomes.ts';
import type { Spreadsheet } from './spreadsheet.ts';
import { lostHeader, missingHeaderRow, twiceInHeader } from './tabs.ts';

/** A text that is replaced by itself: the edit changes nothing, even where the text is there. */
const nothing = 'candidate-connector live check';

/** Asks whether the account signs in, sees the spreadsheet and may write to it, and which tabs are there. */
export async function checkSheet(
  sheet: Spreadsheet,
  messages: readonly SheetMessage[],
  signal: AbortSignal,
): Promise<LiveCheck[]> {
  const { account } = sheet;
  const failed = (what: string, failure: Failure): LiveCheck =>
    failedCheck(what, nothingWritten(failure, sheet));
  const described = await describe(sheet, signal);
  // An answer of the API proves the token, whatever it says, unless it says that the token is wrong.
  const isProven = described.ok || (described.failure.kind === 'http' && described.failure.status !== 401);
  const lines = isProven ? [passed('signs in', account)] : [];
  if (!described.ok) return [...lines, failed('sees the spreadsheet', described.failure)];
  const { title, tabs, protections } = described.data;
  lines.push(passed('sees the spreadsheet', title));

  const open = tabs.find(({ sheetId, rowCount }) => rowCount !== null && !protections.get(sheetId)?.length);
  if (open) {
    const oneCell = { startRowIndex: 0, endRowIndex: 1, startColumnIndex: 0, endColumnIndex: 1 };
    const range = { sheetId: open.sheetId, ...oneCell };
    const findReplace = { find: nothing, replacement: nothing, matchEntireCell: true, range };
    const answer = await batchUpdate(sheet, [{ findReplace }], signal);
    lines.push(
      answer.ok
        ? passed('may write to it', 'an edit without effect was taken')
        : failed('may write to it', answer.failure),
    );
  } else lines.push(passed('may write to it', 'not tried: no tab has cells that are not protected'));

  const checkTab = async (name: string, all: readonly SheetMessage[]): Promise<LiveCheck> => {
    const tab = tabs.find((one) => one.title.toLowerCase() === name.toLowerCase());
    if (!tab) return passed(`tab ${name}`, 'will be made with its first row');
    const what = `tab ${tab.title}`;
    // Rows that are inserted go through every range that reaches to the end; others are of rows that are there.
    const isLocked = protections
      .get(tab.sheetId)
      ?.some(({ endRowIndex }) => (endRowIndex ?? Infinity) >= (tab.rowCount ?? 0));
    if (isLocked)
      return {
        ok: false,
        what,
        detail: `${account} may not edit all of it: protected.`,
        advice: unlock(account),
      };
    const missing = missingHeaderRow([tab]);
    if (missing) return failed(what, missing);
    const read = await readParts(sheet, [{ tab, first: 0, range: null }], signal);
    if (!read.ok) return failed(what, read.failure);
    const grid = read.data[0]!;
    const names = all.flatMap(({ row }) => Object.keys(row));
    const lost = await lostHeader(sheet, [{ tab, grid }], [{ names }], signal);
    return lost ? failed(what, lost) : passed(what, ['is there', ...twiceInHeader(grid, names)].join('. '));
  };
  const byTab = Map.groupBy(messages, ({ tab }) => tab);
  return [...lines, ...(await Promise.all([...byTab].map(([name, all]) => checkTab(name, all))))];
}
