import { z } from 'zod';
import { type JsonMap, statuses } from '../model.ts';
import type { Path } from '../support/json.ts';
import { maxCandidateIdLength, readCandidateId } from '../support/ids.ts';
import type { Scenario, ScenarioTime } from './config.ts';
import { meantWeek, weekdayOf } from './hours.ts';
import { messageSchemas } from './messages.ts';
import { entries } from './plan-source.ts';
import { error } from './text/problems.ts';
import { type Reading, validate } from './text/validate.ts';

/** `10:20`, `Mon 10:20` or `2026-01-05 10:20`, each with seconds or without. */
const timePattern =
  /^(?:(?<weekday>[Mm]on|[Tt]ue|[Ww]ed|[Tt]hu|[Ff]ri|[Ss]at|[Ss]un) |(?<date>\d{4}-\d\d-\d\d) )?(?<time>(?:[01]\d|2[0-3]):[0-5]\d(?<second>:[0-5]\d)?)$/;
export const timeExpected = 'expected a time such as "Mon 10:00", "10:20" or "2026-01-05 10:00"';

const time = z
  .string({ error: timeExpected })
  .superRefine((text, context) => {
    const date = timePattern.exec(text)?.groups?.['date'];
    if (timePattern.test(text) && (date === undefined || z.iso.date().safeParse(date).success)) return;
    const meant = meantWeek(text);
    const message = meant === null ? timeExpected : `${timeExpected}; did you mean "${meant}"?`;
    context.addIssue({ code: 'custom', message });
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

const eventInTime = z.strictObject({
  at: time.describe('When it comes, by the clock of `timezone`.'),
  ...eventShape,
});

const sinkName = z.string().min(1);

const expected = z
  .object({
    at: time.optional().describe('With `events`: when the message goes.'),
    sink: sinkName.describe('The sink that is expected to get a message.'),
    events: z
      .array(candidateId)
      .min(1)
      .optional()
      .describe('With `events`: the candidates whose events the message tells of.'),
  })
  .catchall(z.json());

/** Each costs some milliseconds. */
const mostEvents = 1000;
const longestDays = 366;

/** One event to decide, or several in their time, and the expected messages. `check` compares. */
export const scenarioSchema = z
  .strictObject({
    name: z.string().min(1).max(100).optional().describe('A name of your own, for messages about it.'),
    event: z.strictObject(eventShape).optional().describe('The event to decide.'),
    events: z
      .array(eventInTime)
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

type Read = z.output<typeof scenarioSchema>;

/** The scenarios of a config without those that have faults, which it reports. */
export function readScenarios(config: JsonMap, reading: Reading): Scenario[] {
  const raw = config['scenarios'];
  if (raw !== undefined && !Array.isArray(raw))
    reading.report(error(['scenarios'], 'expected a list of scenarios'));
  // Where it has faults, these have been reported.
  const quiet = { ...reading, report: () => {} };
  const timeZone = validate(
    { schema: messageSchemas.timezone, raw: config['timezone'] as string, path: ['timezone'] },
    quiet,
  );
  return entries(raw).flatMap(([index, rawScenario]) => {
    const path = ['scenarios', index];
    const read = validate({ schema: scenarioSchema, raw: rawScenario, path }, reading);
    return read ? toScenario(read, path, timeZone ?? 'UTC', reading) : [];
  });
}

function toScenario(
  { name, event, events = [], sinks, expect }: Read,
  path: Path,
  timeZone: string,
  { report }: Reading,
): Scenario[] {
  const common = { path, name: name ?? null, sinks: sinks ?? null };
  if (event) return [{ ...common, event, expect }];
  const calendar = new Calendar(timeZone);
  const timed = events.map((one) => ({ ...one, at: calendar.next(one.at).at }));
  const times = timed.map(({ at }) => at);
  const backwards = times.findIndex((at, index) => at < (times[index - 1] ?? -Infinity));
  const before = events[backwards - 1]?.at;
  const placeOf = (index: number): Path => [...path, 'events', index, 'at'];
  if (backwards > 0) {
    const message = `this is before the event above it, at "${before}"; write them in the order in which they come`;
    report(error(placeOf(backwards), message));
    return [];
  }
  if (times.at(-1)! - times[0]! > longestDays * 86_400_000) {
    report(error(placeOf(times.length - 1), `this is more than ${longestDays} days after the first event`));
    return [];
  }
  calendar.restart();
  const inTime = expect.map((one) => ({ ...one, at: one.at === undefined ? null : calendar.next(one.at) }));
  return [{ ...common, timeZone, events: timed, expect: inTime }];
}

/** When somebody says that something comes, in one of these forms or as ISO 8601 has it; null if it is none (ms). */
export function timeMeant(text: string, timeZone: string, now: number): number | null {
  try {
    if (/(?:Z|[+-]\d\d:\d\d)$/i.test(text)) return Temporal.Instant.from(text).epochMilliseconds;
    const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone).toPlainDate();
    const written = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text} 00:00` : text.replace(/(?<=\d)T/, ' ');
    return time.safeParse(written).success ? new Calendar(timeZone, today).next(written).at : null;
  } catch (fault) {
    if (fault instanceof RangeError) return null;
    throw fault;
  }
}

/** Fixed, so that every run gives the same: in this week, no clocks change. It is a Monday. */
const firstWeek = Temporal.PlainDate.from('2026-01-05');

/** Reads the times of a scenario one after the other. */
class Calendar {
  readonly #timeZone: string;
  readonly #begin: Temporal.PlainDate;
  #first: Temporal.PlainDate | null = null;
  #day: Temporal.PlainDate;

  /** `begin`: the day of a time that names none, and from which on a weekday is looked for. */
  constructor(timeZone: string, begin = firstWeek) {
    this.#timeZone = timeZone;
    this.#begin = begin;
    this.#day = begin;
  }

  /** A time without a day is on the day of the one before. */
  next(text: string): ScenarioTime {
    const { weekday, date, time: clock = '00:00', second } = timePattern.exec(text)?.groups ?? {};
    if (date !== undefined) this.#day = Temporal.PlainDate.from(date);
    if (weekday !== undefined) this.#day = this.#nextWeekday(weekdayOf(weekday));
    this.#first ??= this.#day;
    const { epochMilliseconds: at } = this.#day
      .toPlainDateTime(Temporal.PlainTime.from(clock))
      .toZonedDateTime(this.#timeZone);
    return { at, written: text, forMs: second === undefined ? 60_000 : 1000 };
  }

  /** Begins again on the day of the first time. */
  restart(): void {
    this.#day = this.#first ?? this.#begin;
  }

  /** The first such day from the first time's day on. */
  #nextWeekday(weekday: number): Temporal.PlainDate {
    const from = this.#first ?? this.#begin;
    return from.add({ days: (weekday - from.dayOfWeek + 7) % 7 });
  }
}
