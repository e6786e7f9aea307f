import { program } from '../../support/invocation.ts';
import { statusInCounts } from '../../connector/default-wording.ts';
import type { Notice } from '../../model.ts';
import { lastOf, type Week } from '../../rules/calendar.ts';
import type { Need } from '../needs.ts';
import type { Store, Tally } from '../../store/store.ts';
import { count } from '../../support/text.ts';

/** The week that a summary is about. */
export interface SummaryWeek {
  readonly from: number;
  readonly to: number;
  /** The same for every summary of this week. */
  readonly cause: string;
}

export function summaryWeek(week: Week, now: number): SummaryWeek {
  const { at, monday } = lastOf(week, now);
  return { from: lastOf(week, at - 1).at, to: at, cause: `summary ${monday}` };
}

const dayMs = 86_400_000;

/** Day by day, because the store does nothing else while it counts. */
export async function tallyOf(store: Pick<Store, 'tally'>, { from, to }: SummaryWeek): Promise<Tally> {
  const days: Tally[] = [];
  for (let start = from; start < to; start += dayMs)
    days.push(await store.tally(start, Math.min(start + dayMs, to)));
  return {
    events: days.flatMap(({ events }) => events),
    deliveries: days.flatMap(({ deliveries }) => deliveries),
  };
}

/** More would be too long for a message. */
const mostTests = 15;
const mostSinks = 10;
const mostName = 60;

/** Pure. `nameOf`: what the catalog calls a test. */
export function summaryNotice(
  { from, cause }: SummaryWeek,
  { events, deliveries }: Tally,
  needs: readonly Need[],
  nameOf: (testId: number) => string,
): Notice {
  const all = sum(events);
  const byTest = Map.groupBy(events, ({ testId }) => testId);
  const tests = [...byTest].toSorted(([, a], [, b]) => sum(b) - sum(a));
  const sinks = [...Map.groupBy(deliveries, ({ sink }) => sink)];
  const lines = [
    all === 0 ? 'No event came.' : `${count(all, 'event')}: ${byStatus(events)}`,
    ...listed(tests, mostTests, 'test', ([testId, ofTest]) => {
      const name = nameOf(testId);
      const short = name.length > mostName ? `${name.slice(0, mostName - 1)}…` : name;
      return `${short}: ${byStatus(ofTest)}`;
    }),
    ...listed(sinks, mostSinks, 'sink', ([sink, ofSink]) => `Deliveries to ${sink}: ${byState(ofSink)}`),
  ];
  const needed = needs.map(({ sentence, command }) => `${sentence}. See: ${program} ${command}.`);
  return {
    alert: 'summary',
    cause,
    sink: null,
    count: all,
    since: from,
    detail: lines.join('\n'),
    advice: needed.length === 0 ? 'Nothing needs a person.' : needed.join(' '),
    recovered: false,
  };
}

type Count = { readonly count: number };

const sum = (counted: readonly Count[]): number => counted.reduce((total, one) => total + one.count, 0);

function listed<T>(all: readonly T[], most: number, what: string, line: (one: T) => string): string[] {
  const more = all.length - most;
  return [...all.slice(0, most).map(line), ...(more > 0 ? [`… and ${count(more, `more ${what}`)}`] : [])];
}

const byStatus = (events: Tally['events']): string =>
  inWords(statusInCounts, (status) => events.filter((one) => one.status === status));

const stateWords = {
  delivered: 'delivered',
  pending: 'waiting',
  sending: 'under way',
  dead: 'given up',
  held: 'held',
  discarded: 'discarded',
};

const byState = (deliveries: Tally['deliveries']): string =>
  inWords(stateWords, (state) => deliveries.filter((one) => one.state === state));

function inWords(kinds: { readonly [kind: string]: string }, of: (kind: string) => readonly Count[]): string {
  const parts = Object.entries(kinds).map(([kind, words]) => [sum(of(kind)), words] as const);
  return parts.flatMap(([many, words]) => (many > 0 ? `${many} ${words}` : [])).join(', ');
}
