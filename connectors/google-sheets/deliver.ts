import { delivered } from '../../src/connector.ts';
import type { Json, Outcome, Retry } from '../../src/model.ts';
import type { Failure } from './client.ts';
import { deliveryHeader, overtakenAt, planRows } from './message.ts';
import type { KeyColumns, PlannedRow, RowRequest, SheetMessage } from './message.ts';
import {
  askedInVain,
  beforeWriting,
  companyOf,
  endRefused,
  endTogether,
  goneSince,
  keptOf,
  notesOf,
  notPutRight,
  notReadBack,
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
    requests.filter((request) => keptOf(request, 'written') !== null),
  );
  const fresh = requests.filter((request) => keptOf(request, 'written') === null);
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
  const refused = endRefused(sheet, failure, unwritten, writes);
  return [...endings, ...unread, ...refused.map((ending) => withTried(ending, plans))];
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

function planTab(sheet: Spreadsheet, { tab, grid: read }: View, all: readonly RowRequest[]): TabPlan {
  const requests = all.filter(({ message }) => message.tab.toLowerCase() === tab.title.toLowerCase());
  const earlier = whatIsThere(sheet, { tab, grid: read }, requests);
  const { grid } = earlier;
  const keys = keyColumns(requests, grid);
  const late = requests.flatMap((request): Ending[] => {
    const row = earlier.done.has(request) ? null : overtakenAt(request, grid, keys);
    const notes = [newerThere, ...(earlier.notes.get(request) ?? [])].join(' ');
    return row === null ? [] : [[request, delivered(grid.receiptOf(sheet, tab, row), notes)]];
  });
  const done = new Set([...earlier.done, ...late.map(([request]) => request)]);
  const planned = planRows(
    requests.filter((request) => !done.has(request)),
    keys,
  );
  const notesFor = (of: readonly RowRequest[]) => [
    ...new Set(of.flatMap((one) => earlier.notes.get(one) ?? [])),
  ];
  const updated = planned.flatMap(({ row, requests: of, rowIndex }): Sent[] => {
    if (rowIndex === null) return [];
    const before = grid.rows[rowIndex] ?? [];
    return [{ ...sentOf(tab, row, of, rowIndex, grid.header, before), notes: notesFor(of) }];
  });
  const added = planned.filter(({ rowIndex }) => rowIndex === null);
  const end = endOf(grid, added);
  const inserted = added.map(({ row, requests: of }, index) =>
    sentOf(tab, row, of, end + index, grid.header, null),
  );
  // Inserted rows move what is below them, so those that are there come first.
  const writes = [
    ...earlier.moves,
    ...writesOf(tab, grid, updated),
    ...(added.length === 0 ? [] : [insertion(tab, end, added)]),
    ...writesOf(tab, grid, inserted),
  ];
  const sent = [...earlier.astray, ...updated, ...inserted];
  return { tab, before: keys.size > 0 ? grid : null, sent, writes, endings: [...earlier.endings, ...late] };
}

/**
 * What earlier attempts have written, which is not written again. What of it stands in wrong places is put right first: a
 * row with a key is then written as if it were not there, as others may be about the same row.
 */
function whatIsThere(sheet: Spreadsheet, { tab, grid }: View, requests: readonly RowRequest[]) {
  const found = earlierRows(tab, grid, requests);
  const judged = judge(found.earlier, null, grid);
  const endings: Ending[] = found.right.map(([request, row]) => [
    request,
    delivered(grid.receiptOf(sheet, tab, row), alreadyThere),
  ]);
  const notes = new Map(found.late.map((request) => [request, [notReadBack]]));
  const moves: Write[] = [];
  for (const [index, one] of judged.entries()) {
    const { requests: of, before } = found.earlier[index]!;
    for (const { row, column, value } of one.fixes) {
      moves.push({ request: writeCells(tab.sheetId, row, column, [value]), requests: of, isNew: false });
    }
    if (before === null) continue;
    const said = [
      ...notesOf({ ...one, isRepaired: one.fixes.length > 0 }),
      ...(one.isSure ? [] : [notReadBack]),
    ];
    for (const request of of) {
      if (one.fixes.length > 0 || one.row === null) notes.set(request, said);
      else
        endings.push([
          request,
          delivered(grid.receiptOf(sheet, tab, one.row), [alreadyThere, ...said].join(' ')),
        ]);
    }
  }
  // Only of a row of its own all cells are known to be ours.
  const astray = found.earlier.filter(({ before }) => before === null);
  const done = new Set([...endings.map(([request]) => request), ...astray.flatMap(({ requests: of }) => of)]);
  return { endings, astray, moves, notes, done, grid: grid.with(judged.flatMap(({ fixes }) => fixes)) };
}

/** Rows that earlier attempts wrote: those that are `right`, those to look at, and those that a newer delivery updated. */
function earlierRows(tab: Tab, grid: Grid, requests: readonly RowRequest[]) {
  const tried = requests.filter(({ attempt }) => attempt > 1);
  const ids = new Map(tried.map((request) => [request, triedBefore(request)?.id ?? request.deliveryId]));
  const places = placesOf([...ids.values()], grid);
  const keys = keyColumns(tried, grid);
  const home = grid.column(deliveryHeader);
  const right: (readonly [RowRequest, number])[] = [];
  const late: RowRequest[] = [];
  const earlier = new Map<string, Sent>();
  for (const [request, id] of ids) {
    const place = places.get(id);
    if (!place) continue;
    const { key, row } = request.message;
    const kept = triedBefore(request);
    const newer = overtakenAt(request, grid, keys);
    if (newer !== null && grid.cell(newer, deliveryHeader) !== id) late.push(request);
    else if (
      kept === null &&
      place.column === home &&
      (key !== undefined || !isMisplaced(row, place.row, grid))
    ) {
      right.push([request, place.row]);
    } else {
      const before = key === undefined ? null : [];
      const sent = kept ?? sentOf(tab, row, [], place.row, null, before);
      earlier.set(id, { ...sent, requests: [...(earlier.get(id)?.requests ?? []), request] });
    }
  }
  return { right, late, earlier: [...earlier.values()] };
}

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

function insertion(tab: Tab, at: number, added: readonly Pick<PlannedRow, 'requests'>[]): Write {
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
function endOf(grid: Grid, added: readonly Pick<PlannedRow, 'row'>[]): number {
  const names = new Set(added.flatMap(({ row }) => Object.keys(row)));
  const columns = [...names].map((name) => grid.column(name));
  const isFilled = (row: number) =>
    columns.some((column) => grid.at(row, column) !== '' && grid.at(row, column) !== false);
  const home = grid.column(deliveryHeader);
  let end =
    Math.max(
      0,
      grid.rows.findLastIndex((_, row) => grid.at(row, home) !== ''),
    ) + 1;
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
    if ((fixes.length === 0 && !judged.some(({ isDeleted }) => isDeleted)) || repairs === maxRepairs) {
      remember(tab, judged);
      return judged.flatMap((one, index) => endSettled(sheet, { tab, grid }, sent[index]!, one));
    }
    const requests = fixes.map(({ row, column, value }) => writeCells(tab.sheetId, row, column, [value]));
    const anew = addAnew({ tab, grid }, sent, judged);
    const fixed = await batchUpdate(sheet, [...requests, ...anew.requests], signal);
    if (!fixed.ok && !isRefusal(fixed.failure)) return putOff(sheet, sent, fixed.failure);
    if (fixed.ok) sent = anew.sent;
    else repairs = maxRepairs - 1;
    view = null;
  }
}

/** Rows that somebody deleted just before they were updated go below the table, as if they had not been there. */
function addAnew({ tab, grid }: View, sent: readonly Sent[], judged: readonly Judged[]) {
  const deleted = sent.filter((_, index) => judged[index]!.isDeleted);
  const end = endOf(grid, deleted);
  const added = deleted.map(({ row, requests }, index) =>
    sentOf(tab, row, requests, end + index, grid.header, null),
  );
  const writes = added.length === 0 ? [] : [insertion(tab, end, added), ...writesOf(tab, grid, added)];
  return {
    requests: writes.map(({ request }) => request),
    sent: sent.map((one) => ({ ...one, ...added[deleted.indexOf(one)], notes: one.notes })),
  };
}

const isRefusal = (failure: Failure) => failure.kind === 'http' && failure.status === 400;

function withNotes(sent: Sent, { fixes, isDeleted, lost, missing, gone }: Judged): Sent {
  const isRepaired = fixes.length > 0 || isDeleted;
  const notes = new Set([...sent.notes, ...notesOf({ isRepaired, lost, missing, gone })]);
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
    row.requests.map((request): Ending => [
      request,
      { ...outcome, detail, progress: { written: progressOf(row) } },
    ]),
  );
}

function progressOf({ id, sheetId, row, at, header, before, notes }: Sent): Json {
  return { id, sheetId, row, at, header, before, notes };
}

/** What is written over is known only to the attempt that read it, so it is kept where nobody knows whether it was. */
function withTried([request, outcome]: Ending, plans: readonly TabPlan[]): Ending {
  const row = plans.flatMap(({ sent }) => sent).find(({ requests }) => requests.includes(request));
  const isKept = row && outcome.outcome === 'unknown' && request.message.key !== undefined;
  return isKept ? [request, { ...outcome, progress: { tried: progressOf(row) } }] : [request, outcome];
}

function triedBefore(request: RowRequest): Omit<Sent, 'requests'> | null {
  return keptOf(request, 'tried') as never;
}

/** Rows that earlier attempts wrote, by their tabs. */
function resumed(sheet: Spreadsheet, requests: readonly RowRequest[]): Plan[] {
  const written = new Map<string, Sent>();
  for (const request of requests) {
    const sent = keptOf(request, 'written') as unknown as Sent;
    const name = `${sent.sheetId} ${sent.id}`;
    written.set(name, { ...sent, requests: [...(written.get(name)?.requests ?? []), request] });
  }
  return [...Map.groupBy(written.values(), ({ sheetId }) => sheetId)].map(([sheetId, sent]) => ({
    tab: tabWith(sheet, sheetId, sent[0]!.requests[0]!.message.tab),
    before: null,
    sent,
  }));
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
