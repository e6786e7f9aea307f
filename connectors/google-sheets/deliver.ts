import type { Outcome, Retry } from '../../src/model.ts';
import type { Failure } from './client.ts';
import { deliveryHeader } from './message.ts';
import type { RowRequest } from './message.ts';
import { progressOf, refusedRows, unwrittenRows } from './outcomes.ts';
import type { Result } from './outcomes.ts';
import { earlierRows, planTab } from './plan.ts';
import { readBack, readBackLater, settle, writtenEarlier } from './read-back.ts';
import { batchUpdate, isRefusal, withDates } from './spreadsheet.ts';
import type { Spreadsheet } from './spreadsheet.ts';
import { readTabs } from './tabs.ts';
import type { Wanted } from './tabs.ts';

/**
 * Writes many rows with two reads and one write, in order of arrival: all tabs are read at the same moment, written to,
 * and read back. What Google refused for one row goes apart from the others.
 */
export async function deliverRows(sheet: Spreadsheet, requests: readonly RowRequest[]): Promise<Outcome[]> {
  const outcomes = new Map<string, Outcome>();
  let failure: Retry | undefined;
  for (const group of Map.groupBy(requests, (request) => progressOf(request).group).values()) {
    const results = failure ? [] : await oneCall(sheet, group);
    for (const [{ deliveryId }, outcome] of results) outcomes.set(deliveryId, outcome);
    failure ??= results.map(([, outcome]) => outcome).find(isSinkWide);
  }
  return requests.map(({ deliveryId }) => outcomes.get(deliveryId) ?? unsent(failure!));
}

function isSinkWide(outcome: Outcome): outcome is Retry {
  return outcome.outcome === 'retry' && outcome.sinkWide === true;
}

/** What another delivery achieved in part is not this one's. */
function unsent({ progress: _, ...failure }: Retry): Retry {
  return failure;
}

async function oneCall(sheet: Spreadsheet, given: readonly RowRequest[]): Promise<Result[]> {
  const { signal } = given[0]!;
  const withTimes = await withDates(sheet, given);
  if (!withTimes.ok) return unreadRows(sheet, withTimes.failure, given);
  const requests = withTimes.data;
  const begun = writtenEarlier(sheet, requests);
  const begunFailed = (failure: Failure) => begun.flatMap(({ rows }) => readBackLater(sheet, rows, failure));
  const fresh = requests.filter((request) => !progressOf(request).written);
  const views = await readTabs(sheet, wantedOf(fresh), signal);
  if (!views.ok) return unreadRows(sheet, views.failure, requests);
  const settled: Result[] = [];
  for (const view of views.data) {
    const rows = earlierRows(view, fresh);
    if (rows.length > 0)
      settled.push(...(await settle(sheet, { tab: view.tab, before: null, rows }, view, signal)));
  }
  if (settled.length > 0) {
    const done = new Set(settled.map(([request]) => request));
    const rest = requests.filter((request) => !done.has(request));
    return [...settled, ...(rest.length > 0 ? await oneCall(sheet, rest) : [])];
  }
  const plans = views.data.map((view) => planTab(sheet, view, fresh));
  const results = plans.flatMap((plan) => plan.results);
  const writes = plans.flatMap((plan) => plan.writes);
  const changes = writes.map(({ request }) => request);
  const answer = changes.length === 0 ? null : await batchUpdate(sheet, changes, signal);
  if (answer === null || answer.ok) {
    for (const { tab, grid } of views.data) {
      sheet.written.set(tab.title.toLowerCase(), { sheetId: tab.sheetId, header: grid.header });
    }
    return toldOf(sheet, [...results, ...(await readBack(sheet, [...plans, ...begun], signal))]);
  }
  if (isRefusal(answer.failure)) sheet.tabs.clear();
  const rows = plans.flatMap((plan) => plan.rows);
  return [...results, ...begunFailed(answer.failure), ...refusedRows(sheet, answer.failure, rows, writes)];
}

/** The first row of a tab that was made anew, or of a column, tells of it. */
function toldOf({ madeAnew }: Spreadsheet, results: readonly Result[]): Result[] {
  return results.map(([request, outcome]) => {
    const tab = request.message.tab.toLowerCase();
    const words = madeAnew.get(tab);
    if (words === undefined || outcome.outcome !== 'delivered') return [request, outcome];
    madeAnew.delete(tab);
    const note = [words, ...(outcome.note === undefined ? [] : [outcome.note])].join(' ');
    return [request, { ...outcome, note, missed: true }];
  });
}

/** How deliveries end where nothing could be read before they were written. */
function unreadRows(sheet: Spreadsheet, failure: Failure, requests: readonly RowRequest[]): Result[] {
  const fresh = requests.filter((request) => !progressOf(request).written);
  const begun = writtenEarlier(sheet, requests).flatMap(({ rows }) => readBackLater(sheet, rows, failure));
  return [...begun, ...unwrittenRows(sheet, failure, fresh)];
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
