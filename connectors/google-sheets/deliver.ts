import { isDeepStrictEqual } from 'node:util';
import { delivered } from '../../src/connector.ts';
import type { Outcome, Retry } from '../../src/model/outcomes.ts';
import type { Failure } from './client.ts';
import { dated, deliveryHeader } from './message.ts';
import type { RowRequest, WrittenRow } from './message.ts';
import {
  columnsInWords,
  failedRead,
  isOutdated,
  isRefusal,
  refusedRows,
  renamedTo,
  unwrittenRows,
} from './outcomes.ts';
import type { Result } from './outcomes.ts';
import { addition, earlierRows, groupOf, planTab } from './plan.ts';
import type { Plan } from './plan.ts';
import { landings } from './repair.ts';
import type { Before, Landing } from './repair.ts';
import { a1, batchUpdate, formatCell, Grid, readParts, tableRange, writeCells } from './spreadsheet.ts';
import type { Fix, Spreadsheet, Tab, View } from './spreadsheet.ts';
import { readTabs, readWhole } from './tabs.ts';
import type { Wanted } from './tabs.ts';

/**
 * Writes many rows with two reads and one write, in order of arrival: all tabs are read, written to, and read back. Only the
 * names of very many take more reads. Rows of different groups, such as one that Google has refused, go in calls of their own.
 */
export async function deliverRows(sheet: Spreadsheet, requests: readonly RowRequest[]): Promise<Outcome[]> {
  const outcomes = new Map<string, Outcome>();
  let failure: Outcome | undefined;
  for (const all of Map.groupBy(requests, groupOf).values()) {
    const results = failure ? [] : await oneCall(sheet, all);
    for (const [{ deliveryId }, outcome] of results) outcomes.set(deliveryId, outcome);
    failure ??= results
      .map(([, outcome]) => outcome)
      .find((outcome) => outcome.outcome === 'retry' && outcome.sinkWide === true);
  }
  // Deliveries that were not tried share the outcome of the one that failed, but not what it did.
  const { progress: _, perhapsDone: __, ...unsent } = (failure ?? {}) as Retry;
  return requests.map(
    ({ deliveryId }) =>
      outcomes.get(deliveryId) ?? { ...unsent, detail: unsent.detail.replace(writtenForCertain, '') },
  );
}

const writtenForCertain = 'The row was written and has still to be read back. ';

/** Writes the rows of a group. */
async function oneCall(sheet: Spreadsheet, given: readonly RowRequest[]): Promise<Result[]> {
  const { signal } = given[0]!;
  const byTab = Map.groupBy(given, ({ message }) => message.tab.toLowerCase());
  const wanted = [...byTab.values()].map((all): Wanted => {
    const names = new Set(all.flatMap(({ message }) => Object.keys(message.row)));
    names.delete(deliveryHeader);
    // Rows with a key may stand anywhere in it, and so may those of an earlier attempt, under other headers, too.
    const whole = all.some(({ attempt, message }) => attempt > 1 || message.key !== undefined);
    return { title: all[0]!.message.tab, names: [...names, deliveryHeader], whole };
  });
  const views = await readTabs(sheet, wanted, given[0]!);
  if (!views.ok) return unwrittenRows(sheet, views.failure, given);
  // The time zone is read with the tabs.
  const requests = given.map((request) => dated(request, sheet.timeZone));
  // Rows that earlier attempts have written and that stand wrongly are put right before anything else is done.
  const settled: Result[] = [];
  for (const view of views.data) {
    const rows = earlierRows(view, requests);
    if (rows.length > 0)
      settled.push(...(await settle(sheet, { tab: view.tab, before: null, rows }, view, signal)));
  }
  if (settled.length > 0) {
    const done = new Set(settled.map(([request]) => request));
    const rest = requests.filter((request) => !done.has(request));
    return [...settled, ...(rest.length > 0 ? await oneCall(sheet, rest) : [])];
  }
  const plans = views.data.map((view) => planTab(sheet, view, requests));
  const results = plans.flatMap((plan) => plan.results);
  const writes = plans.flatMap((plan) => plan.writes);
  const changes = writes.map(({ request }) => request);
  const answer = changes.length === 0 ? null : await batchUpdate(sheet, changes, signal);
  if (answer?.ok === false) {
    if (isRefusal(answer.failure)) sheet.tabs.clear();
    const rows = plans.flatMap((plan) => plan.rows);
    return [...results, ...refusedRows(sheet, answer.failure, rows, writes)];
  }
  for (const { tab, grid } of views.data)
    sheet.written.set(tab.title.toLowerCase(), { sheetId: tab.sheetId, header: grid.header });
  results.push(...(await readBack(sheet, plans, signal)));
  // The first row that was written to a new tab or column tells that somebody had removed the one before.
  return results.map(([request, outcome]) => {
    const tab = request.message.tab.toLowerCase();
    const words = sheet.madeAnew.get(tab);
    if (words === undefined || outcome.outcome !== 'delivered') return [request, outcome];
    sheet.madeAnew.delete(tab);
    const note = [words, ...(outcome.note === undefined ? [] : [outcome.note])].join(' ');
    return [request, { ...outcome, note, missed: true }];
  });
}

/** Reads back what was written, with its header, and puts right what landed wrongly. */
async function readBack(sheet: Spreadsheet, all: readonly Plan[], signal: AbortSignal): Promise<Result[]> {
  const plans = all.filter(({ rows }) => rows.length > 0);
  // Rows of their own are looked for where they were inserted; any other may have been moved before it was written.
  const isBlock = ({ rows }: Plan) => rows.every(({ before }) => before === null);
  const parts = plans.map((plan) => {
    const { tab, rows } = plan;
    if (!isBlock(plan)) return { tab, first: 0, range: tableRange(tab) };
    const [first, last] = [rows[0]!.at, rows.at(-1)!.at];
    return { tab, first, range: a1(tab.title, first + 1, last + 1) };
  });
  const read = await readParts(sheet, parts, signal);
  if (!read.ok && !isOutdated(read.failure))
    return plans.flatMap(({ rows }) => readBackLater(sheet, read.failure, requestsOf(rows)));
  const results: Result[] = [];
  for (const [index, plan] of plans.entries()) {
    const { tab, rows } = plan;
    const grid = read.ok ? read.data[index]! : null;
    const isAsWritten = ({ id, at, row, header }: WrittenRow) =>
      grid?.cell(at, deliveryHeader) === id &&
      Object.keys(row).every((name) => grid.column(name) === header!.indexOf(name));
    const isEnough = isBlock(plan) ? rows.every(isAsWritten) : grid?.header.length === tab.width;
    results.push(...(await settle(sheet, plan, grid && isEnough ? { tab, grid } : null, signal)));
  }
  return results;
}

const requestsOf = (rows: readonly WrittenRow[]) => rows.flatMap(({ requests }) => requests);

const overwritten =
  'Its place was read in the tab that has the name now: what it wrote over is not known, and may be lost. The version history of the sheet has it.';

/** So many repairs are tried, as people may go on editing. Then the delivery only tells what is wrong. */
const maxRepairs = 5;

/** The results of deliveries that were written, after repairs where these are needed. `view`: their tab, read since. */
async function settle(
  sheet: Spreadsheet,
  plan: Plan,
  view: View | null,
  signal: AbortSignal,
): Promise<Result[]> {
  let { rows } = plan;
  const { sheetId } = plan.tab;
  let before: Before | null = plan.before && { seen: plan.before, meant: plan.before };
  let tried: readonly Fix[] = [];
  let isReadAnew = false;
  // What was read before the write is of another tab, which has the name now.
  let isOfAnother = false;
  for (let repairs = 0; ; repairs += 1) {
    const width = Math.max(...rows.map(({ header }) => header?.length ?? 0));
    const read = view
      ? ({ ok: true, data: view } as const)
      : await readWhole(sheet, { sheetId, width }, signal);
    if (!read.ok) return readBackLater(sheet, read.failure, requestsOf(rows));
    if (read.data === null) return rows.flatMap((row) => resultsOf(sheet, plan, row, null));
    const { tab, grid } = read.data;
    if (!isOfAnother && isRenamed(plan.tab, tab) && sheet.tabs.has(plan.tab.title.toLowerCase())) {
      isOfAnother = true;
      before = null;
      rows = rows.map((row) => {
        return row.before ? { ...row, before: [], notes: [...row.notes, overwritten] } : row;
      });
    }
    const compared = landings(rows, before, grid);
    const isAbsent = compared.some(({ row }) => row === null);
    // What is not there may be merged with others: where they are is read before the next rows.
    if (isAbsent || compared.some(({ absent }) => absent.length > 0)) sheet.tabs.clear();
    // A tab is read by its name, and written to by its id. The name may be another one's by now.
    if (isAbsent && !isReadAnew) {
      isReadAnew = true;
      view = null;
      continue;
    }
    rows = rows.map((row, index) => {
      return { ...row, notes: [...new Set([...row.notes, ...notesOf(compared[index]!)])] };
    });
    const deleted = rows.filter((_, index) => compared[index]!.isDeleted);
    const fixes = compared.flatMap((one) => one.fixes);
    const isInVain = fixes.length > 0 && isDeepStrictEqual(fixes, tried);
    if (fixes.length + deleted.length === 0 || isInVain || repairs === maxRepairs) {
      // The next rows are looked for from the last ones on.
      if (tab.lastRow !== null) tab.lastRow = Math.max(tab.lastRow, ...compared.map(({ row }) => row ?? 0));
      return rows.flatMap((row, index) => resultsOf(sheet, { tab, grid }, row, compared[index]!));
    }
    // Deleted just before they were updated, they are added as if they had not been there.
    const anew = addition({ tab, grid }, deleted);
    const changes = fixes.flatMap(({ row, column, value, format }) => [
      writeCells(sheetId, row, column, [value]),
      ...formatCell(tab, row, column, format, row),
    ]);
    changes.push(...anew.writes.map(({ request }) => request));
    const fixed = await batchUpdate(sheet, changes, signal);
    if (!fixed.ok && !isRefusal(fixed.failure)) return readBackLater(sheet, fixed.failure, requestsOf(rows));
    tried = fixes;
    if (fixed.ok) {
      // People may have moved rows and columns before that, too: it is held against what was read, like any other write.
      before = { seen: grid, meant: grid.with(fixes) };
      rows = Array.from(rows, (row, index) => {
        const again = anew.rows[deleted.indexOf(row)];
        const at = compared[index]!.row;
        if (again || at === null) return again ?? row;
        return { ...row, at, header: grid.header, before: grid.rows[at] ?? [] };
      });
    }
    view = null;
  }
}

const isRenamed = (before: Pick<Tab, 'title'>, now: Tab): boolean =>
  before.title.toLowerCase() !== now.title.toLowerCase();

/** The results of a row's deliveries. `landing`: null where the tab is gone. */
function resultsOf(
  sheet: Spreadsheet,
  { tab, grid }: { readonly tab: Tab; readonly grid?: Grid },
  { at, header, requests, notes }: WrittenRow,
  landing: Landing | null,
): Result[] {
  if (!grid || landing?.row == null) {
    const receipt = new Grid([header ?? []]).receiptOf(sheet, tab, at);
    const gone =
      'The row was written, but is not there any more: somebody removed, merged or changed it right after that.';
    return requests.map((request) => [request, delivered(receipt, [...notes, gone].join(' '))]);
  }
  const { row, absent, fixes } = landing;
  const said: [boolean, string][] = [
    [
      absent.length > 0,
      `What belongs in ${columnsInWords(absent)} is not there: somebody emptied the cell at that moment, or it is merged with others. Unmerge them, and fill it in by hand.`,
    ],
    [
      fixes.length > 0,
      'Somebody goes on changing the sheet, or it may not be edited there: look whether the row stands under its headers.',
    ],
  ];
  return requests.map((request) => {
    const hasMoved = isRenamed({ title: request.message.tab }, tab);
    const all = [
      ...notes,
      ...[...said, [hasMoved, renamedTo(tab.title)] as const].flatMap(([is, text]) => (is ? [text] : [])),
    ];
    const outcome = delivered(grid.receiptOf(sheet, tab, row), all.join(' ') || undefined);
    return [request, hasMoved ? { ...outcome, missed: true } : outcome];
  });
}

/** Sentences about a row, where somebody changed the sheet while it was written. */
function notesOf({ fixes, isDeleted, lost, missing, gone }: Landing): string[] {
  const said: [boolean, string][] = [
    [
      fixes.length > 0 || isDeleted,
      'Somebody changed the sheet while the row was written: it landed wrongly, and was put where it belongs. What it had written over was put back as far as it was known, a formula as its value.',
    ],
    [
      lost.length > 0,
      `What stood in ${columnsInWords(lost)} of the row that it landed in is not known, and may be lost.`,
    ],
    [missing.length > 0, `Somebody renamed or removed ${columnsInWords(missing)} while the row was written.`],
    [
      gone.length > 0,
      `${gone.join(', ')}: gone since. Somebody deleted such a row, or this one was written over it.`,
    ],
    [lost.length > 0 || gone.length > 0, 'The version history of the sheet has it.'],
  ];
  return said.flatMap(([isSo, text]) => (isSo ? [text] : []));
}

/** The results of rows that were certainly written: the next attempt looks for them where they were written, and does not write those it finds. */
function readBackLater(sheet: Spreadsheet, failure: Failure, requests: readonly RowRequest[]): Result[] {
  const outcome = failedRead(failure, sheet);
  const detail = writtenForCertain + outcome.detail;
  return requests.map((request) => [request, { ...outcome, detail, perhapsDone: true }]);
}
