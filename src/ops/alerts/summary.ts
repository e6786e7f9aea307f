import { noticeIdOf } from '../../support/ids.ts';
import { program } from '../../support/invocation.ts';
import type { DeliveryState, Status } from '../../model.ts';
import type { Notice } from '../../model/notices.ts';
import { lastOf, type Week } from '../../rules/calendar.ts';
import type { Need } from '../needs.ts';
import type { Store, Tally } from '../../store/store.ts';
import type { TextName, Wording } from '../../words/wording.ts';
import { totalOf } from '../../support/lists.ts';

/** The week that a summary is about. */
export interface SummaryWeek {
  readonly from: number;
  readonly to: number;
  /** The same for every summary of this week. */
  readonly cause: string;
  /** As the cause. */
  readonly id: string;
}

export function summaryWeek(week: Week, now: number): SummaryWeek {
  const { at, monday } = lastOf(week, now);
  const id = noticeIdOf(Date.parse(monday));
  return { from: lastOf(week, at - 1).at, to: at, cause: `summary ${monday}`, id };
}

const dayMs = 86_400_000;

/** Counts the events and deliveries of a week, day by day, because the store does nothing else while it counts. */
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

/** The notice of a week. `nameOf`: the catalog's name of a test. Pure. */
export function summaryNotice(
  { from, cause }: SummaryWeek,
  { events, deliveries }: Tally,
  needs: readonly Need[],
  nameOf: (testId: number) => string,
  wording: Wording,
): Notice {
  const all = totalOf(events);
  const byTest = Map.groupBy(events, ({ testId }) => testId);
  const tests = [...byTest].toSorted(([, a], [, b]) => totalOf(b) - totalOf(a));
  const sinks = [...Map.groupBy(deliveries, ({ sink }) => sink)];
  const item = (name: string, value: string) => wording.say('item', { name, value });
  const more = (name: 'moreTests' | 'moreSinks') => (count: number) => wording.say(name, { count });
  const byStatus = (some: Tally['events']) =>
    inWords(countTexts, (status) => some.filter((one) => one.status === status), wording);
  const byState = (some: Tally['deliveries']) =>
    inWords(stateTexts, (state) => some.filter((one) => one.state === state), wording);
  const lines = [
    all === 0 ? wording.say('noEvents') : item(wording.say('events', { count: all }), byStatus(events)),
    ...listed(tests, mostTests, more('moreTests'), ([testId, ofTest]) => {
      const name = nameOf(testId);
      const short = name.length > mostName ? `${name.slice(0, mostName - 1)}…` : name;
      return item(short, byStatus(ofTest));
    }),
    ...listed(sinks, mostSinks, more('moreSinks'), ([sink, ofSink]) =>
      item(wording.say('deliveriesTo', { sink }), byState(ofSink)),
    ),
  ];
  const needed = needs.map(({ sentence, command }) =>
    wording.say('need', { what: sentence, command: `${program} ${command}` }),
  );
  return {
    alert: 'summary',
    cause,
    sink: null,
    count: all,
    since: from,
    detail: lines.join('\n'),
    advice: needed.length === 0 ? wording.say('nothingNeeded') : needed.join(' '),
    recovered: false,
  };
}

type Count = { readonly count: number };

function listed<T>(
  all: readonly T[],
  most: number,
  moreOf: (count: number) => string,
  line: (one: T) => string,
): string[] {
  const more = all.length - most;
  return [...all.slice(0, most).map(line), ...(more > 0 ? [moreOf(more)] : [])];
}

const countTexts = {
  Completed: 'countCompleted',
  DidNotTake: 'countDidNotTake',
  Canceled: 'countCanceled',
} as const satisfies { readonly [status in Status]: TextName };

const stateTexts = {
  delivered: 'stateDelivered',
  pending: 'statePending',
  sending: 'stateSending',
  dead: 'stateDead',
  held: 'stateHeld',
  discarded: 'stateDiscarded',
} as const satisfies { readonly [state in DeliveryState]: TextName };

type CountText = (typeof countTexts)[Status] | (typeof stateTexts)[DeliveryState];

function inWords(
  kinds: { readonly [kind: string]: CountText },
  of: (kind: string) => readonly Count[],
  wording: Wording,
): string {
  const parts = Object.entries(kinds).map(([kind, name]) => [totalOf(of(kind)), name] as const);
  return parts.flatMap(([count, name]) => (count > 0 ? wording.say(name, { count }) : [])).join(', ');
}
