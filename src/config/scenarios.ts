import { z } from 'zod';
import { type Facts, isMap, type JsonMap, statuses } from '../model.ts';
import type { Path } from '../support/json.ts';
import { maxCandidateIdLength, readCandidateId } from '../support/ids.ts';
import { clockPattern, meantWeek, weekdayOf, weekdayPattern } from './hours.ts';
import { messageSchemas } from './locale-and-links.ts';
import { anyGiven, delaysGiven, factsGiven, givenShape } from './lookups/given.ts';
import { readLookups } from './lookups/lookups.ts';
import { entries, type PlanSource } from './plan-source.ts';
import { type SinkConfig, unknownSink } from './sinks.ts';
import type { Lookup } from '../rules/plan.ts';
import { error, type Fault } from './text/problems.ts';
import { writeInstead } from './text/units.ts';
import { unknownKey } from './advice/keys.ts';
import { type Reading, validate } from './text/validate.ts';
import { zoned } from '../support/text.ts';

/** Matches `10:20`, `Mon 10:20` and `2026-01-05 10:20`, each with seconds or without. */
const timePattern = new RegExp(
  String.raw`^(?:(?<weekday>${weekdayPattern}) |(?<date>\d{4}-\d\d-\d\d) )?(?<time>${clockPattern}(?<second>:[0-5]\d)?)$`,
);
export const timeExpected = 'expected a time such as "Mon 10:00", "10:20" or "2026-01-05 10:00"';

const time = z
  .string({ error: timeExpected })
  .superRefine((text, context) => {
    const date = timePattern.exec(text)?.groups?.['date'];
    if (timePattern.test(text) && (date === undefined || z.iso.date().safeParse(date).success)) return;
    context.addIssue({ code: 'custom', message: timeExpected + writeInstead(meantWeek(text), text) });
  })
  .meta({ pattern: timePattern.source.replaceAll(/\?<\w+>/g, '') });

const candidateId = z
  .string()
  .transform((text, context) => {
    const id = readCandidateId(text);
    if ('value' in id) return id.value;
    context.addIssue(`expected a candidate id: ${id.fault}`);
    return z.NEVER;
  })
  .meta({ minLength: 1, maxLength: maxCandidateIdLength });

const eventShape = {
  status: z.enum(statuses).describe('The status of the event.'),
  testId: z.int().describe('The test id of the event.'),
  candidateId: candidateId
    .prefault('00000000000000000000000000000001')
    .describe('The candidate id of the event.'),
  candidateNumericalId: z.int().nullable().default(null).describe('The numerical candidate id of the event.'),
};

const timedShape = { at: time.describe('When it comes, by the clock of `timezone`.'), ...eventShape };

const sinkName = z.string().min(1);

const expected = z
  .object({
    at: time.optional().describe('With `events`: when the message goes.'),
    sink: sinkName.describe('The sink that is expected to get a message.'),
    events: z
      .array(candidateId)
      .min(1)
      .optional()
      .describe('With `events`: the ids of the candidates that the message tells of, in any order.'),
  })
  .catchall(z.json());

/** Playing one event takes some milliseconds. */
const mostEvents = 1000;
const longestDays = 366;

/** The schema of a scenario. `eventOf`: makes an event's schema from the event's own keys. */
const schemaWith = (eventOf: <Shape extends z.ZodRawShape>(own: Shape) => z.ZodObject<Shape>) =>
  z
    .strictObject({
      name: z.string().min(1).max(100).optional().describe('A name of your own, for messages about it.'),
      event: eventOf(eventShape).optional().describe('The event to decide, and what is found out about it.'),
      events: z
        .array(eventOf(timedShape))
        .min(1)
        .max(mostEvents)
        .optional()
        .describe('Instead of `event`: events in the order in which they come.'),
      sinks: z
        .array(sinkName)
        .min(1)
        .optional()
        .describe('The only sinks that are compared; without it, all of them.'),
      expect: z
        .array(expected)
        .describe('The messages that have to follow, each with any of its rendered keys. Empty: none.'),
    })
    .refine(({ event, events }) => (event === undefined) !== (events === undefined), {
      error: 'expected either "event" or "events"',
    });

/** The schema for editors: one event to decide, or several in their time, and the expected messages. */
export const scenarioSchema = schemaWith((own) => z.object(own).catchall(anyGiven));

/** What has to be sent when one event comes, or several in their time. */
export type Scenario = OneEventScenario | TimedScenario;
export type OneEventScenario = Common & {
  readonly event: z.output<z.ZodObject<typeof eventShape>>;
  readonly facts: Facts;
  readonly expect: readonly Expectation[];
};
export type TimedScenario = Common & NonNullable<ReturnType<typeof readTimes>>;
export type TimedExpectation = TimedScenario['expect'][number];

interface Common {
  /** Where it is in the file. */
  readonly path: Path;
  readonly name: string | null;
  /** The sinks that are compared; null: all. */
  readonly sinks: readonly string[] | null;
}

/** An expected message: its sink, and any of its rendered keys. */
export interface Expectation {
  readonly sink: string;
  readonly [key: string]: unknown;
}

type ScenarioSource = z.output<typeof scenarioSchema>;

/** Reads the scenarios. Reports faults, and leaves out scenarios that have some. */
export function readScenarios(
  config: JsonMap,
  source: PlanSource,
  sinks: ReadonlyMap<string, SinkConfig>,
  reading: Reading,
): Scenario[] {
  const { scenarios: raw, timezone } = config;
  if (raw !== undefined && !Array.isArray(raw))
    reading.report(error(['scenarios'], 'expected a list of scenarios'));
  for (const fault of unknownNames(config, sinks)) reading.report(fault);
  const scenarios = entries(raw);
  // To build the schema takes longer than to check most configs.
  if (scenarios.length === 0) return [];
  // Faults have been reported before.
  const quiet = { ...reading, report: () => {} };
  const lookups = readLookups(source.lookups, quiet);
  const schema = schemaWith((own) => z.strictObject({ ...givenShape(lookups), ...own }));
  const zone = { schema: messageSchemas.timezone, raw: timezone as string, path: ['timezone'] };
  const timeZone = validate(zone, quiet) ?? 'UTC';
  return scenarios.flatMap(([index, written]): Scenario[] => {
    const path = ['scenarios', index];
    const read = validate({ schema, raw: written, path }, reading);
    if (!read) return [];
    const common = { path, name: read.name ?? null, sinks: read.sinks ?? null };
    if (read.event) {
      const facts = factsGiven(read.event, lookups, 0);
      return [{ ...common, event: ownOf(read.event), facts, expect: read.expect }];
    }
    const timed = readTimes(read, path, timeZone, lookups, reading);
    return timed ? [{ ...common, ...timed }] : [];
  });
}

/** The event alone, without facts. */
const ownOf = ({ status, testId, candidateId: id, candidateNumericalId }: OneEventScenario['event']) => ({
  status,
  testId,
  candidateId: id,
  candidateNumericalId,
});

/** The events and expectations with their times; null if the events are not in order. `timeZone`: of the times. */
function readTimes(
  { events = [], expect }: ScenarioSource,
  path: Path,
  timeZone: string,
  lookups: ReadonlyMap<string, Lookup>,
  { report }: Reading,
) {
  const days = calendar(timeZone);
  const timed = events.map((one) => {
    const { at } = days.next(one.at);
    return { ...ownOf(one), at, facts: factsGiven(one, lookups, at), delays: delaysGiven(one, lookups) };
  });
  const [first, last] = [timed[0]!.at, timed.at(-1)!.at];
  const backwards = timed.findIndex(({ at }, index) => at < (timed[index - 1]?.at ?? -Infinity));
  const isBackwards = backwards > 0;
  if (isBackwards || last - first > longestDays * 86_400_000) {
    const message = isBackwards
      ? `this is before the event above it, at "${events[backwards - 1]?.at}"; write them in the order in which they come`
      : `this is more than ${longestDays} days after the first event`;
    report(error([...path, 'events', isBackwards ? backwards : timed.length - 1, 'at'], message));
    return null;
  }
  days.restart();
  const inTime = expect.map((one) => ({
    ...one,
    at: one.at === undefined ? null : days.next(one.at),
  }));
  return { timeZone, events: timed, expect: inTime };
}

/** Reports sinks in scenarios that the config does not have, and keys that the sinks' actions do not have. */
function* unknownNames(
  { sinks: written, scenarios }: JsonMap,
  sinks: ReadonlyMap<string, SinkConfig>,
): Generator<Fault> {
  if (!isMap(written)) return;
  const names = Object.keys(written);
  for (const [index, scenario] of entries(scenarios)) {
    if (!isMap(scenario)) continue;
    const path = ['scenarios', index];
    const common = scenario['events'] === undefined ? ['sink'] : ['at', 'sink', 'events'];
    for (const [at, name] of entries(scenario['sinks']))
      yield* unknownSink(name, [...path, 'sinks', at], names);
    for (const [at, expectation] of entries(scenario['expect'])) {
      if (!isMap(expectation)) continue;
      const place = [...path, 'expect', at];
      yield* unknownSink(expectation['sink'], [...place, 'sink'], names);
      const sink = sinks.get(expectation['sink'] as string);
      if (!sink) continue;
      const known = [...common, ...Object.keys(sink.connector.action.shape as object)];
      for (const key of Object.keys(expectation))
        if (!known.includes(key)) yield error([...place, key], unknownKey(key, known, place), 'key');
    }
  }
}

/** Parses a time (ms) in one of the forms of a scenario or of ISO 8601; null if it is none. */
export function timeMeant(text: string, timeZone: string, now: number): number | null {
  try {
    // With years of four digits, what is due later can still be represented.
    if (/^\d{4}-.*(?:Z|[+-]\d\d:\d\d)$/i.test(text)) return Temporal.Instant.from(text).epochMilliseconds;
    const today = zoned(now, timeZone).toPlainDate();
    const written = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text} 00:00` : text.replace(/(?<=\d)T/, ' ');
    return time.safeParse(written).success ? calendar(timeZone, today).next(written).at : null;
  } catch (fault) {
    if (fault instanceof RangeError) return null;
    throw fault;
  }
}

/** A Monday in a week without clock changes; fixed, so that every run gives the same. */
const firstWeek = Temporal.PlainDate.from('2026-01-05');

/**
 * Reads the times of a scenario in order. A time without a day is on the day of the one before; a weekday is the first such
 * day from the first time's day on. `begin`: the day of a first time that names none.
 */
function calendar(timeZone: string, begin = firstWeek) {
  let first: Temporal.PlainDate | null = null;
  let day = begin;
  return {
    next(text: string) {
      const { weekday, date, time: clock = '00:00', second } = timePattern.exec(text)?.groups ?? {};
      const from = first ?? begin;
      if (date !== undefined) day = Temporal.PlainDate.from(date);
      if (weekday !== undefined) day = from.add({ days: (weekdayOf(weekday) - from.dayOfWeek + 7) % 7 });
      first ??= day;
      const { epochMilliseconds: at } = day
        .toPlainDateTime(Temporal.PlainTime.from(clock))
        .toZonedDateTime(timeZone);
      return { at, written: text, forMs: second === undefined ? 60_000 : 1000 };
    },
    /** Goes back to the day of the first time. */
    restart(): void {
      day = first ?? begin;
    },
  };
}
