import { delivered } from '../../src/connector.ts';
import type { Json, Outcome, Retry } from '../../src/model.ts';
import type { Failure } from './client.ts';
import { deliveryHeader, merged, overtakenAt, planRows } from './message.ts';
import type { KeyColumns, PlannedRow, RowRequest, SheetMessage } from './message.ts';
import {
  askedInVain,
  beforeWriting,
  companyOf,
  endRefused,
  endTogether,
  goneSince,
  notesOf,
  notPutRight,
} from './outcomes.ts';
import type { Ending, Write } from './outcomes.ts';
import { isMisplaced, judge, placesOf } from './repair.ts';
import type { Judged, Written } from './repair.ts';
import {
  batchUpdate,
  Grid,
  headerRange,
  insert,
  isOutdated,
  look,
  readRanges,
  readWhole,
  rowsRange,
  tableRange,
  writeCells,
  writeRow,
} from './table.ts';
import type { Row, Spreadsheet, Tab, View, Wanted } from './table.ts';

/** A row that was written, or was by an earlier attempt, and has to be read back. */
interface Sent extends Written {
  readonly sheetId: number;
  readonly requests: readonly RowRequest[];
  /** What is to be told of it. */
  readonly notes: readonly string[];
}

/** What was written in a tab. */
interface Plan {
  readonly tab: Tab;
  /** All of the tab as it was read before; null where not all of it was. */
  readonly before: Grid | null;
  readonly sent: readonly Sent[];
}

/** What one call does in a tab. */
interface TabPlan extends Plan {
  readonly writes: readonly Write[];
  readonly endings: readonly Ending[];
}

/**
 * Writes many rows with two reads and one write, in order of arrival: all tabs are read at the same moment, written to,
 * and read back. What Google refused for one row goes apart from the others.
 */
export async function deliverRows(sheet: Spreadsheet, requests: readonly RowRequest[]): Promise<Outcome[]> {
  const outcomes = new Map<RowRequest, Outcome>();
  let failure: Retry | undefined;
  for (const company of Map.groupBy(requests, companyOf).values()) {
    const endings = failure ? [] : await oneCall(sheet, company);
    for (const [request, outcome] of endings) outcomes.set(request, outcome);
    failure ??= endings.map(([, outcome]) => outcome).find(isSinkWide);
  }
  return requests.map((request) => outcomes.get(request) ?? unsent(failure!));
}

function isSinkWide(outcome: Outcome): outcome is Retry {
  return outcome.outcome === 'retry' && outcome.sinkWide === true;
}

/** What another delivery achieved in part is not this one's. */
function unsent({ progress: _, ...failure }: Retry): Retry {
  return failure;
}

async function oneCall(sheet: Spreadsheet, requests: readonly RowRequest[]): Promise<Ending[]> {
  const { signal } = requests[0]!;
  const begun = resumed(
    sheet,
    requests.filter((request) => writtenBefore(request) !== null),
  );
  const fresh = requests.filter((request) => writtenBefore(request) === null);
  const views = await look(sheet, wantedOf(fresh), signal);
  if (!views.ok) {
    const unread = begun.flatMap(({ sent }) => putOff(sheet, sent, views.failure));
    return [...unread, ...endTogether(fresh, beforeWriting(views.failure, sheet))];
  }
  const plans = views.data.map((view) => planTab(sheet, view, fresh));
  const endings = plans.flatMap((plan) => plan.endings);
  const failure = await write(sheet, plans, signal);
  if (failure === null) return [...endings, ...(await readBack(sheet, [...plans, ...begun], signal))];
  if (isRefusal(failure)) sheet.tabs.clear();
  const unread = begun.flatMap(({ sent }) => putOff(sheet, sent, failure));
  const unwritten = plans.flatMap(({ sent }) => sent.flatMap((row) => row.requests));
  const writes = plans.flatMap((plan) => plan.writes);
  return [...endings, ...unread, ...endRefused(sheet, failure, unwritten, writes)];
}

async function write(
  sheet: Spreadsheet,
  plans: readonly TabPlan[],
  signal: AbortSignal,
): Promise<Failure | null> {
  const requests = plans.flatMap(({ writes }) => writes.map(({ request }) => request));
  if (requests.length === 0) return null;
  const answer = await batchUpdate(sheet, requests, signal);
  return answer.ok ? null : answer.failure;
}

/** What has to be known of each tab: of one with keyed rows everything, as they may stand anywhere in it. */
function wantedOf(requests: readonly RowRequest[]): Wanted[] {
  const byTab = Map.groupBy(requests, ({ message }) => message.tab.toLowerCase());
  return [...byTab.values()].map((all) => {
    const names = new Set(all.flatMap(({ message }) => Object.keys(message.row)));
    names.delete(deliveryHeader);
    const whole = all.some(({ message }) => message.key !== undefined);
    return { title: all[0]!.message.tab, names: [...names, deliveryHeader], whole };
  });
}

function planTab(sheet: Spreadsheet, { tab, grid }: View, all: readonly RowRequest[]): TabPlan {
  const requests = all.filter(({ message }) => message.tab.toLowerCase() === tab.title.toLowerCase());
  const keys = keyColumns(requests, grid);
  const there = whatIsThere(sheet, { tab, grid }, requests, keys);
  const planned = planRows(
    requests.filter((request) => !there.requests.has(request)),
    keys,
  );
  const updated = planned.flatMap(({ row, requests: of, rowIndex }) =>
    rowIndex === null ? [] : [sentOf(tab, row, of, rowIndex, grid.header, grid.rows[rowIndex] ?? [])],
  );
  const added = planned.filter(({ rowIndex }) => rowIndex === null);
  const end = endOf(tab, grid, added);
  const inserted = added.map(({ row, requests: of }, index) =>
    sentOf(tab, row, of, end + index, grid.header, null),
  );
  // Inserted rows move what is below them, so those that are there come first.
  const writes = [
    ...there.moves,
    ...writesOf(tab, grid, updated),
    ...(added.length === 0 ? [] : [insertion(tab, end, added)]),
    ...writesOf(tab, grid, inserted),
  ];
  const sent = [...there.astray, ...updated, ...inserted];
  return { tab, before: keys.size > 0 ? grid : null, sent, writes, endings: there.endings };
}

/** What earlier attempts or newer deliveries have written: that is not written again. */
function whatIsThere(
  sheet: Spreadsheet,
  { tab, grid }: View,
  requests: readonly RowRequest[],
  keys: KeyColumns,
) {
  const tried = requests.filter(({ attempt }) => attempt > 1);
  const places = placesOf(
    tried.map(({ deliveryId }) => deliveryId),
    grid,
  );
  const home = grid.column(deliveryHeader);
  const endings = requests.flatMap((request): Ending[] => {
    const late = overtakenAt(request, grid, keys);
    const place = places.get(request.deliveryId);
    const isRight = place?.column === home && !isWrong(request, place.row, grid);
    const row = late ?? (isRight ? place.row : null);
    if (row === null) return [];
    const note = late === null ? alreadyThere : newerThere;
    return [[request, delivered(grid.receiptOf(sheet, tab, row), note)]];
  });
  const done = new Set(endings.map(([request]) => request));
  // Only of a row of its own all cells are known to be ours.
  const astray = tried.flatMap((request) => {
    const place = request.message.key === undefined ? places.get(request.deliveryId) : undefined;
    const isAstray = place && !done.has(request);
    return isAstray ? [sentOf(tab, request.message.row, [request], place.row, null, null)] : [];
  });
  const moves = judge(astray, null, grid).flatMap(({ fixes }, index) =>
    fixes.map(({ row, column, value }): Write => ({
      request: writeCells(tab.sheetId, row, column, [value]),
      requests: astray[index]!.requests,
      isNew: false,
    })),
  );
  return { endings, astray, moves, requests: new Set([...done, ...astray.flatMap((one) => one.requests)]) };
}

const isWrong = ({ message: { key, row } }: RowRequest, at: number, grid: Grid) =>
  key === undefined && isMisplaced(row, at, grid);

const newerThere = 'A newer update of this row was there already, so the row was left as it is.';
const alreadyThere = 'The row was there already.';

function sentOf(
  { sheetId }: Tab,
  row: SheetMessage['row'],
  requests: readonly RowRequest[],
  at: number,
  header: readonly string[] | null,
  before: Row | null,
): Sent {
  return { id: String(row[deliveryHeader]), sheetId, row, requests, at, header, before, notes: [] };
}

function writesOf(tab: Tab, grid: Grid, sent: readonly Sent[]): Write[] {
  return sent.flatMap(({ row, at, requests, before }) =>
    writeRow(tab.sheetId, at, row, grid).map((request) => ({ request, requests, isNew: before === null })),
  );
}

function insertion(tab: Tab, at: number, added: readonly PlannedRow[]): Write {
  // Right below the header they would look like it. At the end of the grid nothing else is there to be like.
  const inheritFromBefore = at > 1 || (tab.rowCount ?? 0) <= at;
  return {
    request: insert(tab.sheetId, 'ROWS', at, added.length, inheritFromBefore),
    requests: added.flatMap(({ requests }) => requests),
    isNew: true,
  };
}

/** By the header of a key: the values of its column, each with the first row (from 0) that has it. */
function keyColumns(requests: readonly RowRequest[], grid: Grid): KeyColumns {
  const names = new Set(requests.flatMap(({ message: { key } }) => (key === undefined ? [] : [key])));
  return new Map([...names].map((name) => [name, grid.firstRows(name)]));
}

/**
 * Where the table ends: below the last row with a delivery's id, and what follows it without a gap. Columns that are not
 * written to do not count, nor do unticked boxes: people fill them down in advance.
 */
function endOf(tab: Tab, grid: Grid, added: readonly PlannedRow[]): number {
  const names = new Set(added.flatMap(({ row }) => Object.keys(row)));
  const columns = [...names].map((name) => grid.column(name));
  const isFilled = (row: number) =>
    columns.some((column) => grid.at(row, column) !== '' && grid.at(row, column) !== false);
  let end = (tab.lastRow ?? 0) + 1;
  while (isFilled(end)) end += 1;
  return end;
}

/** Reads back what was written, with its header, and puts right what landed wrongly. */
async function readBack(sheet: Spreadsheet, plans: readonly Plan[], signal: AbortSignal): Promise<Ending[]> {
  const written = plans.filter(({ sent }) => sent.length > 0);
  const ranges = written.map(({ tab, ...plan }) => [headerRange(tab), rangeOf({ tab, ...plan })]);
  const answer = ranges.length === 0 ? null : await readRanges(sheet, ranges.flat(), signal);
  if (answer?.ok === false && !isOutdated(answer.failure)) {
    return written.flatMap(({ sent }) => putOff(sheet, sent, answer.failure));
  }
  const endings: Ending[] = [];
  for (const [index, plan] of written.entries()) {
    const values = answer?.ok ? answer.data.slice(2 * index, 2 * index + 2) : null;
    const grid = values && gridOf(plan, values[0]![0] ?? [], values[1]!);
    endings.push(...(await settle(sheet, plan, grid && { tab: plan.tab, grid }, signal)));
  }
  return endings;
}

/** Rows of their own are looked for where they were inserted; any other may have been moved before it was written. */
function isBlock({ sent }: Plan): boolean {
  return sent.every(({ before, header }) => before === null && header !== null);
}

function rangeOf(plan: Plan): string {
  if (!isBlock(plan)) return tableRange(plan.tab);
  return rowsRange(plan.tab, plan.sent[0]!.at, plan.sent.at(-1)!.at);
}

/** The tab as far as it was read back; null where that does not tell all. */
function gridOf(plan: Plan, header: Row, rows: readonly Row[]): Grid | null {
  if (!isBlock(plan))
    return header.length === plan.tab.width ? new Grid([header].concat(rows.slice(1))) : null;
  const top = plan.sent[0]!.at;
  const grid = new Grid(
    [header].concat(
      Array.from({ length: top - 1 }, () => []),
      rows,
    ),
  );
  const isAsWritten = plan.sent.every(
    ({ id, at, row, header: by }) =>
      grid.cell(at, deliveryHeader) === id &&
      !isMisplaced(row, at, grid) &&
      Object.keys(row).every((name) => grid.column(name) === by!.indexOf(name)),
  );
  return isAsWritten ? grid : null;
}

/** People may go on editing: after so many repairs the delivery only tells what is wrong. */
const maxRepairs = 2;

/** How deliveries end that were written: with what became of their rows. `view`: their tab, read since. */
async function settle(
  sheet: Spreadsheet,
  plan: Plan,
  view: View | null,
  signal: AbortSignal,
): Promise<Ending[]> {
  let { sent } = plan;
  const { sheetId } = plan.tab;
  const width = Math.max(...sent.map(({ header }) => header?.length ?? 0));
  for (let repairs = 0; ; repairs += 1) {
    const read = view
      ? { ok: true as const, data: view }
      : await readWhole(sheet, { sheetId, width }, signal);
    if (!read.ok) return putOff(sheet, sent, read.failure);
    if (read.data === null) return sent.flatMap((row) => endGone(sheet, plan.tab, row));
    const { tab, grid } = read.data;
    const judged = judge(sent, plan.before, grid);
    sent = judged.map((one, index) => withNotes(sent[index]!, one));
    const fixes = judged.flatMap((one) => one.fixes);
    if (fixes.length === 0 || repairs === maxRepairs) {
      remember(tab, judged);
      return judged.flatMap((one, index) => endSettled(sheet, { tab, grid }, sent[index]!, one));
    }
    const requests = fixes.map(({ row, column, value }) => writeCells(tab.sheetId, row, column, [value]));
    const fixed = await batchUpdate(sheet, requests, signal);
    if (!fixed.ok && !isRefusal(fixed.failure)) return putOff(sheet, sent, fixed.failure);
    if (!fixed.ok) repairs = maxRepairs - 1;
    view = null;
  }
}

const isRefusal = (failure: Failure) => failure.kind === 'http' && failure.status === 400;

function withNotes(sent: Sent, { fixes, lost, missing, gone }: Judged): Sent {
  const notes = new Set([...sent.notes, ...notesOf({ isRepaired: fixes.length > 0, lost, missing, gone })]);
  return { ...sent, notes: [...notes] };
}

function endSettled(sheet: Spreadsheet, { tab, grid }: View, sent: Sent, { row, fixes }: Judged): Ending[] {
  if (row === null) return endGone(sheet, tab, sent);
  return sent.requests.map((request) => {
    const isRenamed = request.message.tab.toLowerCase() !== tab.title.toLowerCase();
    const notes = [
      ...sent.notes,
      ...(fixes.length > 0 ? [notPutRight] : []),
      ...(isRenamed ? [`The tab was renamed to ${tab.title} while the row was written.`] : []),
    ];
    return [request, delivered(grid.receiptOf(sheet, tab, row), notes.join(' ') || undefined)];
  });
}

function endGone(sheet: Spreadsheet, tab: Tab, { at, header, requests, notes }: Sent): Ending[] {
  const receipt = new Grid([header ?? []]).receiptOf(sheet, tab, at);
  const note = [...notes, goneSince].join(' ');
  return requests.map((request) => [request, delivered(receipt, note)]);
}

/** Written for certain, so that it is not written again; the next attempt goes on with reading it back. */
function putOff(sheet: Spreadsheet, sent: readonly Sent[], failure: Failure): Ending[] {
  const outcome = askedInVain(failure, sheet);
  const detail = `The row was written and has still to be read back. ${outcome.detail}`;
  return sent.flatMap((row) =>
    row.requests.map((request): Ending => [request, { ...outcome, detail, progress: progressOf(row) }]),
  );
}

function progressOf({ id, sheetId, at, header, before, notes }: Sent): Json {
  return { written: { id, sheetId, at, header, before, notes } };
}

/** What `progressOf` kept; null for a delivery that was not written yet. */
function writtenBefore({ progress }: RowRequest): Omit<Sent, 'row' | 'requests'> | null {
  const isWritten = typeof progress === 'object' && progress !== null && 'written' in progress;
  return isWritten ? (progress.written as never) : null;
}

/** Rows that earlier attempts wrote, by their tabs. */
function resumed(sheet: Spreadsheet, requests: readonly RowRequest[]): Plan[] {
  const rows = Map.groupBy(requests, (request) => {
    const { sheetId, id } = writtenBefore(request)!;
    return `${sheetId} ${id}`;
  });
  const sent = [...rows.values()].map(resumedRow);
  return [...Map.groupBy(sent, ({ sheetId }) => sheetId)].map(([sheetId, all]) => ({
    tab: tabWith(sheet, sheetId, all[0]!.requests[0]!.message.tab),
    before: null,
    sent: all,
  }));
}

function resumedRow(requests: readonly RowRequest[]): Sent {
  const [first, ...others] = requests.map((request): PlannedRow => {
    return { rowIndex: null, row: request.message.row, requests: [request] };
  });
  const { row } = others.reduce((all, { requests: [one] }) => merged(all, one!), first!);
  return { ...writtenBefore(requests[0]!)!, row, requests };
}

function tabWith({ tabs }: Spreadsheet, sheetId: number, title: string): Tab {
  const known = [...tabs.values()].find((tab) => tab.sheetId === sheetId);
  return known ?? { sheetId, title, rowCount: null, width: null, deliveryColumn: -1, lastRow: null };
}

/** The next rows are looked for from the last ones on. */
function remember(tab: Tab, judged: readonly Judged[]): void {
  if (tab.lastRow === null) return;
  tab.lastRow = Math.max(tab.lastRow, ...judged.map(({ row }) => row ?? 0));
}
