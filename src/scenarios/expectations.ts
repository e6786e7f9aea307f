import type { Expectation, TimedExpectation, TimedScenario } from '../config/config.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import type { Path } from '../support/json.ts';
import { firstListed, zoned } from '../support/text.ts';
import type { Playback, SentMessage } from './engine.ts';

/** A difference from what a scenario expects, and its place in the scenario. */
export interface Mismatch {
  readonly path: Path;
  readonly message: string;
}

/** The keys of a message that are not as expected. */
export function differentKeys(expected: Expectation, fields: JsonMap): { key: string; message: string }[] {
  return Object.entries(expected).flatMap(([key, value]) => {
    if (key === 'sink' || matches(value as Json, fields[key])) return [];
    const [wanted, sent] = difference(value as Json, fields[key]);
    return [{ key, message: `expected ${key} ${wanted}, but ${sent} would be sent` }];
  });
}

/** Maps may have more keys than expected. A number equals its text, because templates print text. */
function matches(expected: Json, sent: Json | undefined): boolean {
  if (sent === undefined) return false;
  const part = partOf(expected, sent);
  if (part !== null) return textOf(sent).includes(part);
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
function partOf(expected: Json, sent: Json): string | null {
  if (isMap(sent) || !isMap(expected) || Object.keys(expected).join() !== 'contains') return null;
  const { contains } = expected;
  return typeof contains === 'object' ? null : textOf(contains as Json);
}

/** How to show what was expected, and what would be sent instead. Of texts, the first lines that differ. */
function difference(expected: Json, sent: Json | undefined): [expected: string, sent: string] {
  if (sent === undefined) return [JSON.stringify(expected), 'nothing'];
  const part = partOf(expected, sent);
  if (part !== null) return [`with ${JSON.stringify(part)} in it`, quoted(textOf(sent), 0)];
  if (typeof expected !== 'string' || typeof sent !== 'string')
    return [JSON.stringify(expected), JSON.stringify(sent)];
  const [expectedLines, sentLines] = [expected.split('\n'), sent.split('\n')];
  const most = Math.max(expectedLines.length, sentLines.length);
  let line = 0;
  while (expectedLines[line] === sentLines[line]) line += 1;
  const [wanted, got] = [expectedLines[line] ?? '', sentLines[line] ?? ''];
  let at = 0;
  while (at < wanted.length && wanted[at] === got[at]) at += 1;
  return [quoted(wanted, at) + (most > 1 ? ` in line ${line + 1}` : ''), quoted(got, at)];
}

/** The most characters of a text in a message. */
const mostShown = 120;
/** How many characters before the first difference are shown. */
const shownBefore = 30;

/** Quotes a text. A long one is cut around the place. */
function quoted(text: string, at: number): string {
  if (text.length <= mostShown) return JSON.stringify(text);
  const start = Math.max(0, Math.min(at - shownBefore, text.length - mostShown));
  const end = start + mostShown;
  const shown = JSON.stringify(text.slice(start, end).toWellFormed());
  return `"${start > 0 ? '…' : ''}${shown.slice(1, -1)}${end < text.length ? '…' : ''}"`;
}

const listed = (items: readonly string[]): string => firstListed(items, 5);

/** All differences from what a scenario over time expects. */
export function compareTimed(scenario: TimedScenario, { sent, unmade }: Playback): Mismatch[] {
  const path = [...scenario.path, 'expect'];
  const faults = (expected: TimedExpectation, one: SentMessage) => faultsOf(expected, one, scenario);
  const left = sent.filter(({ sink }) => scenario.sinks?.includes(sink) ?? true);
  const take = (one: SentMessage) => void left.splice(left.indexOf(one), 1);
  const open = [...scenario.expect.entries()].filter(([, expected]) => {
    const as = left.find((one) => one.sink === expected.sink && faults(expected, one).length === 0);
    if (as) take(as);
    return !as;
  });
  const found = open.flatMap(([index, expected]): Mismatch[] => {
    const own = [...path, index];
    // The message to the sink that differs least.
    const ofSink = left.filter(({ sink }) => sink === expected.sink);
    const many = ofSink.map((one) => faults(expected, one).length);
    const like = ofSink[many.indexOf(Math.min(...many))];
    if (like) {
      take(like);
      return faults(expected, like).map(({ key, message }) => ({ path: [...own, key], message }));
    }
    // A message that cannot be made is reported by itself.
    if (unmade.some(({ sink }) => sink === expected.sink)) return [];
    const message = `expected a message to ${expected.sink}, but no further one would be sent`;
    return [{ path: own, message }];
  });
  if (left.length === 0) return found;
  const more = left.map(
    ({ sink, at, candidates }) => `${sink} at "${timeText(at, scenario)}" (of ${listed(candidates)})`,
  );
  return [...found, { path, message: `not expected, but would be sent: ${listed(more)}` }];
}

function faultsOf(expected: TimedExpectation, sent: SentMessage, scenario: TimedScenario) {
  const { at, events, ...keys } = expected;
  const faults = differentKeys(keys, sent.fields);
  if (events !== undefined && events.toSorted().join('\0') !== sent.candidates.toSorted().join('\0')) {
    const message = `expected of ${listed(events)}, but it would be of ${listed(sent.candidates)}`;
    faults.unshift({ key: 'events', message });
  }
  if (at !== null && (sent.at < at.at || sent.at >= at.at + at.forMs)) {
    const time = timeText(sent.at, scenario);
    faults.unshift({ key: 'at', message: `expected at "${at.written}", but it would be sent at "${time}"` });
  }
  return faults;
}

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** A time as the scenario writes it: with a date if it has dates, or if the weekday would be ambiguous. */
function timeText(time: number, { timeZone, events, expect }: TimedScenario): string {
  const moment = zoned(time, timeZone);
  const [first] = events;
  const isInWeek = first !== undefined && time - first.at < 6 * 86_400_000;
  const hasDates = expect.some(({ at }) => at?.written.includes('-'));
  const day = isInWeek && !hasDates ? weekdays[moment.dayOfWeek - 1] : moment.toPlainDate().toString();
  const precise = moment.second === 0 && moment.millisecond === 0 ? 'minute' : 'second';
  return `${day} ${moment.toPlainTime().toString({ smallestUnit: precise })}`;
}
