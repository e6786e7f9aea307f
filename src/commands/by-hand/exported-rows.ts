import type { FileHandle } from 'node:fs/promises';
import type { Status } from '../../model.ts';
import { parseCandidateEvent, statusNamed } from '../../receiver/candidate-event.ts';
import type { Content } from '../../store/store.ts';
import { streamTable, type TableCell } from '../../support/csv.ts';
import { lowerAscii, orList, printable } from '../../support/text.ts';
import { CommandError } from '../output.ts';
import { addTo } from '../../support/lists.ts';

/** How to read the testing service's export of its candidates. */
export interface ExportOptions {
  /** The names of columns in the first row. */
  readonly candidate: string;
  readonly test: string;
  readonly status: string;
  readonly at?: string | undefined;
  /** The final statuses by the export's words for them, in lower case. */
  readonly map: ReadonlyMap<string, Status>;
  /** The time zone of times without an offset. */
  readonly timeZone: string;
  /** Rows from before this time (ms) are left out. */
  readonly from: number;
}

/** A row that says that a candidate reached a final status. */
export interface ExportedRow extends Content {
  readonly line: number;
  /** When the status was reached (ms); later than all times if the export does not say it. */
  readonly at: number;
}

/** Counts of rows that were read. */
export class ExportFigures {
  final = 0;
  older = 0;
  unread = 0;
  /** Rows with another status, counted by the export's word for it. */
  readonly others = new Map<string, number>();
}

const mostOthers = 20;

/** Reads the rows with a final status. `unread`: called for each row that cannot be read. */
export async function* exportedRows(
  file: FileHandle,
  name: string,
  options: ExportOptions,
  figures: ExportFigures,
  unread: (line: number, why: string) => void,
): AsyncGenerator<ExportedRow> {
  const { map, timeZone, from } = options;
  let places: Places | null = null;
  // A second read of a file starts at its beginning. A pipe has none to go back to.
  const start = (await file.stat()).isFile() ? { start: 0 } : {};
  const chunks = file.createReadStream({
    ...start,
    encoding: 'utf8',
    autoClose: false,
    highWaterMark: 1 << 16,
  });
  for await (const { cells, faults, isLast } of streamTable(chunks)) {
    const [fault] = faults;
    if (fault && (isLast || places === null))
      throw new CommandError(`${name}:${fault.line}:${fault.column} ${printable(fault.message)}`);
    if (places === null) {
      places = placesIn(cells, name, options);
      continue;
    }
    const { line } = cells[0]!;
    const refuse = (why: string) => {
      figures.unread += 1;
      unread(line, why);
    };
    const textAt = (place: number) => cells[place]?.text ?? '';
    if (fault) {
      refuse(fault.message);
      continue;
    }
    const written = textAt(places.status);
    const status = map.get(lowerAscii(written)) ?? statusNamed(written);
    if (status === undefined) {
      const one = figures.others.has(written) || figures.others.size < mostOthers ? written : '…';
      addTo(figures.others, one);
      continue;
    }
    const at = places.at === null ? Number.MAX_SAFE_INTEGER : timeOf(textAt(places.at), timeZone);
    if (at === null) {
      refuse(`${options.at}: expected a time such as 2026-11-21 14:05, got "${textAt(places.at!)}"`);
      continue;
    }
    const [candidateId, testId] = [textAt(places.candidate), textAt(places.test)];
    if (madeNumber.test(candidateId)) {
      refuse(
        `${options.candidate}: a program for tables has made a number of this id, and lost its digits; export it anew, got "${candidateId}"`,
      );
      continue;
    }
    const parsed = parseCandidateEvent({ candidateId, testId, status });
    if ('faults' in parsed) {
      const columns: Readonly<Record<string, string>> = {
        candidateId: options.candidate,
        testId: options.test,
      };
      refuse(parsed.faults.map(({ field, detail }) => `${columns[field] ?? field}: ${detail}`).join(' '));
    } else if (at < from) figures.older += 1;
    else {
      figures.final += 1;
      yield { line, at, candidateId: parsed.event.candidateId, testId: parsed.event.testId, status };
    }
  }
  if (places === null) throw new CommandError(`${name} is empty; expected a table with a row of names`);
}

/** An id of digits, with or without an E in it, as a program for tables saves it. */
const madeNumber = /^\d(?:[.,]\d+)?E\+\d+$/;

/** A name with plain spaces in place of those that do not break. */
const spaced = (name: string): string => name.replaceAll(/\s+/g, ' ');

interface Places {
  readonly candidate: number;
  readonly test: number;
  readonly status: number;
  readonly at: number | null;
}

function placesIn(
  header: readonly TableCell[],
  file: string,
  { candidate, test, status, at }: ExportOptions,
): Places {
  const names = header.map(({ text }) => spaced(text));
  const faults: string[] = [];
  const find = (given: string): number => {
    const name = spaced(given);
    const many = names.filter((one) => one === name).length;
    if (many > 1) faults.push(`${file} has ${many} columns "${name}"`);
    if (many === 0)
      faults.push(`${file} has no column "${name}"; it has ${orList(names.map((one) => `"${one}"`))}`);
    return names.indexOf(name);
  };
  const places = {
    candidate: find(candidate),
    test: find(test),
    status: find(status),
    at: at === undefined ? null : find(at),
  };
  if (faults.length > 0) throw new CommandError(faults.map(printable).join('\n'));
  return places;
}

/** Parses a time (ms) in ISO 8601, with a blank for the T, too, or as 21.11.2026 14:05. Null for other text. */
function timeOf(text: string, timeZone: string): number | null {
  const iso = text
    .replace(
      /^(\d\d?)\.(\d\d?)\.(\d{4})\b/,
      (_, day: string, month: string, year: string) =>
        `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`,
    )
    .replace(/^(\d{4}-\d\d-\d\d)[T ]+(\d:)/i, '$1T0$2')
    .replace(/ ?(?:UTC|GMT|Z)$/i, 'Z')
    .replace(/ (?=[+-]\d\d:?\d\d$)/, '');
  if (!/^\d{4}-\d\d-\d\d/.test(iso)) return null;
  try {
    return /(?:Z|[+-]\d\d:?\d\d)$/i.test(iso.slice(10))
      ? Temporal.Instant.from(iso).epochMilliseconds
      : Temporal.PlainDateTime.from(iso).toZonedDateTime(timeZone).epochMilliseconds;
  } catch (fault) {
    if (fault instanceof RangeError) return null;
    throw fault;
  }
}
