import type { TextFile } from '../connector.ts';
import { type Event, eventSpec, shownOfEvent } from '../model.ts';
import type { EventStory } from '../store/store.ts';
import { csvLine, csvMark, type CsvSeparator } from '../support/text.ts';
import { eventFields } from './json.ts';

/** CSV files of events: those that people download, and those that a digest carries. */

type EventField = (typeof shownOfEvent)[number];
type Cell = string | number | null;

/** The fields of an event in a line of CSV. Their order is fixed; further fields come last. */
const inCsv = [...new Set<EventField>(['id', 'receivedAt', ...shownOfEvent])];

/** The fields of an event in the CSV of a digest: those that messages have. */
const inMessage = inCsv.filter((field) => field === 'receivedAt' || 'sent' in eventSpec[field]);

/** A line of CSV for an event. `test`: its name in the catalog, which stands after its id. */
const line = (
  separator: CsvSeparator,
  fields: readonly EventField[],
  values: Record<EventField, Cell>,
  test: string,
  ...more: Cell[]
): string =>
  csvLine(
    [...fields.flatMap((field) => (field === 'testId' ? [values[field], test] : [values[field]])), ...more],
    separator,
  );

const names = Object.fromEntries(shownOfEvent.map((field) => [field, field])) as Record<EventField, string>;

/** The first line of a CSV of events. Lines end with CR LF. */
export const eventsCsvHeader = (separator: CsvSeparator = ','): string =>
  line(separator, inCsv, names, 'test', 'duplicates', 'deliveries');

/** A line of CSV. `testName`: the name in the catalog, or empty. */
export const eventCsv = (
  { event, duplicates, deliveries }: EventStory,
  testName: string,
  separator: CsvSeparator = ',',
): string =>
  line(
    separator,
    inCsv,
    eventFields(event),
    testName,
    duplicates,
    deliveries.map(({ sink, state }) => `${sink}: ${state}`).join(', '),
  );

/**
 * The events of a digest as a CSV file, named by its rule and by when the last event came. It has no facts of look-ups:
 * people pass files on, and facts are kept for a time only.
 */
export function digestCsv(
  events: readonly Event[],
  testName: (testId: number) => string,
  rule: string,
  timeZone: string,
  separator: CsvSeparator,
): TextFile {
  const last = new Date(Math.max(...events.map(({ receivedAt }) => receivedAt)));
  const when = last.toTemporalInstant().toZonedDateTimeISO(timeZone).toPlainDateTime();
  const time = when.toString({ smallestUnit: 'minute' }).replace('T', '-').replace(':', '');
  const lines = [
    line(separator, inMessage, names, 'test'),
    ...events.map((event) => line(separator, inMessage, eventFields(event), testName(event.testId))),
  ];
  return {
    name: `${fileName(rule)}-${time}.csv`,
    text: csvMark + lines.map((one) => `${one}\r\n`).join(''),
  };
}

const fileName = (text: string): string =>
  text
    .slice(0, 60)
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '') || 'events';
