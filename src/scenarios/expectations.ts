import type { Expectation, TimedExpectation, TimedScenario } from '../config/config.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import type { Path } from '../support/json.ts';
import { firstListed } from '../support/text.ts';
import type { Playback, SentMessage } from './engine.ts';

/** What came out otherwise than expected, and at which place of the scenario that is shown. */
export interface Mismatch {
  readonly path: Path;
  readonly message: string;
}

/** The keys of a message that are not as expected. */
export function differentKeys(expected: Expectation, fields: JsonMap): { key: string; message: string }[] {
  return Object.entries(expected).flatMap(([key, value]) => {
    if (key === 'sink' || matches(value as Json, fields[key])) return [];
    return [{ key, message: difference(key, value as Json, fields[key]) }];
  });
}

/** Maps may have more keys than expected. A number equals its text, because templates print text. */
function matches(expected: Json, sent: Json | undefined): boolean {
  if (sent === undefined) return false;
  const part = partOf(expected);
  if (part !== null && !isMap(sent)) return textOf(sent).includes(part);
  if (isMap(expected))
    return isMap(sent) && Object.entries(expected).every(([key, value]) => matches(value, sent[key]));
  if (Array.isArray(expected))
    return (
      Array.isArray(sent) &&
      expected.length === sent.length &&
      (expected as readonly Json[]).every((value, index) => matches(value, (sent as readonly Json[])[index]))
    );
  return textOf(expected) === textOf(sent);
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The text that a message has to contain: `{ contains: 2 candidates }`. */
function partOf(expected: Json): string | null {
  if (!isMap(expected) || Object.keys(expected).join() !== 'contains') return null;
  const { contains } = expected;
  return typeof contains === 'object' ? null : textOf(contains as Json);
}

function difference(key: string, expected: Json, sent: Json | undefined): string {
  const would = (text: string) => `but ${text} would be sent`;
  if (sent === undefined) return `expected ${key} ${JSON.stringify(expected)}, ${would('nothing')}`;
  const part = partOf(expected);
  if (part !== null && !isMap(sent))
    return `expected ${key} with ${JSON.stringify(part)} in it, ${would(quoted(textOf(sent), 0, mostShown))}`;
  if (typeof expected !== 'string' || typeof sent !== 'string')
    return `expected ${key} ${JSON.stringify(expected)}, ${would(JSON.stringify(sent))}`;
  const { line, at, texts } = firstDifference(expected, sent);
  const [wanted, got] = texts.map((text) => quoted(text, at - shownBefore, mostShown));
  const where = line === 0 ? '' : ` in line ${line}`;
  return `expected ${key} ${wanted}${where}, ${would(String(got))}`;
}

/** Of a text that is no longer than a message. */
const mostShown = 120;
/** Of what is the same, before the first difference. */
const shownBefore = 30;

/** The first line that differs, counted from 1 (0 where there is only one), and the place in it. */
function firstDifference(expected: string, sent: string) {
  const [wanted, got] = [expected.split('\n'), sent.split('\n')];
  const most = Math.max(wanted.length, got.length);
  const index = Array.from({ length: most }).findIndex((_, line) => wanted[line] !== got[line]);
  const texts = [wanted[index] ?? '', got[index] ?? ''];
  const [first = '', second = ''] = texts;
  let at = 0;
  while (at < first.length && first[at] === second[at]) at += 1;
  return { line: most > 1 ? index + 1 : 0, at, texts };
}

/** A long text is cut around the place. */
function quoted(text: string, from: number, most: number): string {
  if (text.length <= most) return JSON.stringify(text);
  const start = Math.max(0, Math.min(from, text.length - most));
  const shown = JSON.stringify(text.slice(start, start + most).toWellFormed());
  const [before, after] = [start > 0 ? '…' : '', start + most < text.length ? '…' : ''];
  return `"${before}${shown.slice(1, -1)}${after}"`;
}

const mostListed = 5;

/** All that came out otherwise than a scenario over time expects. */
export function compareTimed(scenario: TimedScenario, { sent, unmade }: Playback): Mismatch[] {
  const shown = (time: number) => timeText(time, scenario);
  const path = [...scenario.path, 'expect'];
  const left = sent.filter(({ sink }) => scenario.sinks?.includes(sink) ?? true);
  const open = scenario.expect.filter((expected) => {
    const as = left.findIndex(
      (one) => one.sink === expected.sink && faultsOf(expected, one, shown).length === 0,
    );
    if (as >= 0) left.splice(as, 1);
    return as < 0;
  });
  const found = open.flatMap((expected): Mismatch[] => {
    const own = [...path, scenario.expect.indexOf(expected)];
    const like = closest(expected, left, shown);
    // What cannot be made is told by itself.
    if (!like && unmade.some(({ sink }) => sink === expected.sink)) return [];
    if (!like) {
      const message = `expected a message to ${expected.sink}, but no further one would be sent`;
      return [{ path: own, message }];
    }
    left.splice(left.indexOf(like), 1);
    return faultsOf(expected, like, shown).map(({ key, message }) => ({ path: [...own, key], message }));
  });
  return left.length === 0 ? found : [...found, { path, message: unexpected(left, shown) }];
}

type FormatTime = (time: number) => string;

function faultsOf(
  expected: TimedExpectation,
  sent: SentMessage,
  shown: FormatTime,
): { key: string; message: string }[] {
  const { at, events, ...keys } = expected;
  const isLate = at !== null && (sent.at < at.at || sent.at >= at.at + at.forMs);
  const isOfOthers = events !== undefined && sortedList(events) !== sortedList(sent.candidates);
  return [
    ...(isLate
      ? [{ key: 'at', message: `expected at "${at.written}", but it would be sent at "${shown(sent.at)}"` }]
      : []),
    ...(isOfOthers
      ? [
          {
            key: 'events',
            message: `expected of ${listed(events)}, but it would be of ${listed(sent.candidates)}`,
          },
        ]
      : []),
    ...differentKeys(keys, sent.fields),
  ];
}

const sortedList = (ids: readonly string[]): string => JSON.stringify(ids.toSorted());

const listed = (items: readonly string[]): string => firstListed(items, mostListed);

/** The message to the sink that differs least. */
function closest(
  expected: TimedExpectation,
  left: readonly SentMessage[],
  shown: FormatTime,
): SentMessage | undefined {
  const ofSink = left.filter(({ sink }) => sink === expected.sink);
  const faults = ofSink.map((one) => faultsOf(expected, one, shown).length);
  return ofSink[faults.indexOf(Math.min(...faults))];
}

function unexpected(left: readonly SentMessage[], shown: FormatTime): string {
  const messages = left.map(
    ({ sink, at, candidates }) => `${sink} at "${shown(at)}" (of ${listed(candidates)})`,
  );
  return `not expected, but would be sent: ${listed(messages)}`;
}

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** As a scenario may have it: with a date where it has dates, or where the day of the week would not say which. */
function timeText(time: number, { timeZone, events, expect }: TimedScenario): string {
  const moment = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone);
  const [first] = events;
  const isInWeek = first !== undefined && time - first.at < 6 * 86_400_000;
  const hasDates = expect.some(({ at }) => at?.written.includes('-'));
  const day = isInWeek && !hasDates ? weekdays[moment.dayOfWeek - 1] : moment.toPlainDate().toString();
  const precise = moment.second === 0 && moment.millisecond === 0 ? 'minute' : 'second';
  return `${day} ${moment.toPlainTime().toString({ smallestUnit: precise })}`;
}
