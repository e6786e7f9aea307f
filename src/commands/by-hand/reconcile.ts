import { program } from '../../support/invocation.ts';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { durationText } from '../../config/text/units.ts';
import type { PlanningConfig } from '../../config/load.ts';
import { type Status, statuses } from '../../model.ts';
import { statusNamed } from '../../receiver/candidate-event.ts';
import type { ReceivedEvent } from '../../receiver/receive.ts';
import { inParts, pageByPage } from '../../store/paging.ts';
import { type Change, contentName, type Store } from '../../store/store.ts';
import { readCandidateId } from '../../support/ids.ts';
import { closest, count, firstListed, jsonLine, lowerAscii, orList, printable } from '../../support/text.ts';
import {
  command,
  expected,
  flag,
  readDuration,
  readOption,
  required,
  textOption,
  TypedArgument,
  type ValuesOf,
} from '../command.ts';
import { type ExportedRow, exportedRows, ExportFigures } from './exported-rows.ts';
import { CommandError, exit, type Io, isAgreed, needsPerson, when } from '../output.ts';
import { byUser, withStoreAndConfig } from '../with-store.ts';
import { AskedFor, takingIn } from './taking-in.ts';

const declared = {
  candidate: required(textOption('--candidate <column>', 'the column with the candidate ids')),
  test: required(textOption('--test <column>', 'the column with the test ids')),
  status: required(textOption('--status <column>', 'the column with the statuses')),
  at: textOption('--at <column>', 'the column that says when that status was reached'),
  map: readOption('--map <from=to>', 'what the file calls a final status; may be repeated', readMapping),
  since: readOption('--since <duration>', 'only rows that are younger, such as 30d', readDuration),
  except: textOption('--except <file>', 'candidate ids to leave out, one a line'),
  accept: flag('--accept', 'take in what is missing, as if it came now; asks first'),
  yes: flag('--yes', 'do not ask; without --at, your word that all rows are younger than --since'),
  json: flag('--json', 'print one JSON object a line for each that is missing'),
};
type Options = ValuesOf<typeof declared>;

/** Compares the testing service's own export with what came. */
export const reconcile = command({
  name: 'reconcile',
  description: 'find who reached a final status, by an export of the testing service, and never arrived here',
  examples: [
    'reconcile export.csv --candidate Id --test "Test ID" --status State --at Finished --map Done=Completed',
    'reconcile export.csv --candidate Id --test "Test ID" --status State --at Finished --since 7d --accept',
  ],
  options: declared,
  argument: new TypedArgument<string>('<file>', 'a CSV file (UTF-8) whose first row names the columns'),
  async run(options, io, name) {
    const { accept, at, since } = options;
    if (accept && at === undefined && since === undefined)
      throw new CommandError(
        '--accept needs --at, the column that says when; or --since, with your word (--yes) that all rows are younger than that',
        exit.usage,
      );
    if (accept) needsPerson(io, options, 'leave --accept out to look, or give --yes');
    const except = options.except === undefined ? new Set<string>() : await idsIn(options.except);
    const file = await open(name).catch((error: Error) => unreadable(name, error));
    try {
      return await withStoreAndConfig(options, io, (store, config, local) =>
        compare({ file, name, except, options, store, config, io: local }),
      );
    } finally {
      await file.close();
    }
  },
});

interface Context {
  readonly file: FileHandle;
  readonly name: string;
  readonly except: ReadonlySet<string>;
  readonly options: Options;
  readonly store: Store;
  readonly config: PlanningConfig;
  readonly io: Io;
}

async function compare(at: Context): Promise<number> {
  const { file, name, options, store, config, io } = at;
  const { retentionMs } = config.store;
  const sinceMs = options.since ?? retentionMs;
  if (options.accept && options.at === undefined && sinceMs > retentionMs)
    throw new CommandError(
      `events are kept for ${durationText(retentionMs)} (store.retention): nobody can say of older ones whether they came`,
      exit.usage,
    );
  const tell = (text: string) => (options.json ? io.err(text) : io.out(text));
  const from = (await store.now()) - Math.min(sinceMs, retentionMs);
  const figures = new ExportFigures();
  const before = await file.stat();
  if (options.accept && !before.isFile())
    throw new CommandError(`--accept reads ${name} twice, so it has to be a file`, exit.usage);
  const found = await list(at, from, figures);
  tellFigures(figures, found, at, tell);
  if (found.missing === 0) return figures.unread === 0 ? exit.ok : exit.problems;
  await tellErased(store, from, io, tell);
  if (!options.accept) return exit.differs;
  tell(found.asked.words);
  const many = count(found.missing - found.unknown, 'event');
  const word =
    options.at === undefined ? `All rows are younger than ${durationText(sinceMs)}, and it takes` : 'Take';
  if (!(await isAgreed(io, options, `${word} in ${many}?`))) {
    tell('Nothing was taken in.');
    return exit.differs;
  }
  const { mtimeMs, size } = await file.stat();
  if (mtimeMs !== before.mtimeMs || size !== before.size)
    throw new CommandError(`${name} was changed meanwhile; nothing was taken in`);
  tell(`Taken in: ${count(await takeIn(at, from), 'event')}.`);
  if (found.unknown > 0) return exit.differs;
  return figures.unread === 0 ? exit.ok : exit.problems;
}

/** A row whose event never came. `candidateId`: the known candidate with the row's number, or what the row has. */
interface MissingRow extends ExportedRow {
  /** The candidate's number, if the row has only that. */
  readonly number: number | null;
  /** Whether the row has only a number that is known of no candidate, or of several. */
  readonly isUnknown: boolean;
}

const rowsAtOnce = 1000;

/** Yields the missing rows in pages, as an export may have millions. */
async function* missingRows(
  at: Context,
  from: number,
  figures: ExportFigures,
  unread: (line: number, why: string) => void,
): AsyncGenerator<MissingRow[]> {
  const { file, name, options, io } = at;
  const { timeZone = 'UTC' } = io;
  const { candidate, test, status, at: column, map = new Map<string, Status>() } = options;
  const asked = { candidate, test, status, at: column, map, timeZone, from };
  let page: ExportedRow[] = [];
  try {
    for await (const row of exportedRows(file, name, asked, figures, unread)) {
      page.push(row);
      if (page.length < rowsAtOnce) continue;
      yield await missingOf(page, at);
      page = [];
    }
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? unreadable(name, error) : error;
  }
  yield await missingOf(page, at);
}

async function missingOf(rows: readonly ExportedRow[], { store, except }: Context): Promise<MissingRow[]> {
  const numbers = rows.map(({ candidateId }) =>
    /^[1-9]\d{0,14}$/.test(candidateId) ? Number(candidateId) : null,
  );
  const known = await store.candidatesNumbered([...new Set(numbers.filter((one) => one !== null))]);
  const meant = rows.map((row, place): MissingRow => {
    const number = numbers[place] ?? null;
    if (number === null) return { ...row, number, isUnknown: false };
    const ids = known.get(number) ?? [];
    const [candidateId = row.candidateId] = ids.length === 1 ? ids : [];
    return {
      ...row,
      candidateId,
      number: candidateId === row.candidateId ? null : number,
      isUnknown: ids.length !== 1,
    };
  });
  const came = await store.haveCome(meant);
  return meant.filter(
    ({ candidateId, isUnknown }, place) =>
      (isUnknown || !came[place]) && !except.has(candidateId) && !except.has(rows[place]!.candidateId),
  );
}

interface Comparison {
  missing: number;
  unknown: number;
  readonly asked: AskedFor;
}

const mostUnread = 1000;
/** A row is not listed again if one of the last so many rows said the same. */
const mostSeen = 20_000;

/** Prints what is missing, each event once. */
async function list(at: Context, from: number, figures: ExportFigures): Promise<Comparison> {
  const { name, options, store, config, io } = at;
  const found: Comparison = { missing: 0, unknown: 0, asked: new AskedFor(config.plan) };
  const seen = new Set<string>();
  const now = await store.now();
  const unread = (line: number, why: string) => {
    if (figures.unread <= mostUnread) io.err(printable(`${name}:${line} ${why}`));
  };
  for await (const page of missingRows(at, from, figures, unread)) {
    const areOvertaken = await store.haveFollowers(page);
    for (const [place, one] of page.entries()) {
      const { line, candidateId, testId, status, isUnknown } = one;
      const content = contentName(one);
      if (seen.has(content)) continue;
      if (seen.size === mostSeen) seen.clear();
      seen.add(content);
      found.missing += 1;
      const why = isUnknown ? '  (only a number, by which not exactly one candidate is known)' : '';
      io.out(
        options.json
          ? jsonLine({ line, candidateId, testId, status })
          : `  line ${line}  ${status}  test ${testId}  candidate ${printable(candidateId)}${why}`,
      );
      if (isUnknown) found.unknown += 1;
      else found.asked.add(receivedOf(one, now), areOvertaken[place]!);
    }
    await io.drained();
  }
  if (figures.unread > mostUnread) io.err(`${figures.unread - mostUnread} more rows cannot be read.`);
  return found;
}

function receivedOf({ candidateId, number, testId, status }: MissingRow, receivedAt: number): ReceivedEvent {
  const event = { candidateId, candidateNumericalId: number, testId, status };
  const raw = { candidateId, ...(number !== null && { candidateNumericalId: number }), testId, status };
  return { event, raw, correlationId: null, traceparent: null, receivedAt };
}

/** How many statuses of the file are named that are none of the service's. */
const mostNamed = 5;

function tellFigures(
  { final, older, unread, others }: ExportFigures,
  { missing, unknown }: Comparison,
  { options, config }: Context,
  tell: (text: string) => void,
): void {
  const left = others.values().reduce((sum, one) => sum + one, 0);
  const names = Array.from(others, ([status, many]) => `"${status}" (${many})`);
  const meant = Array.from(
    others.keys().take(mostNamed),
    (one) => `--map ${JSON.stringify(`${one}=${closest(one, statuses) ?? '…'}`)}`,
  );
  const kept = durationText(Math.min(options.since ?? Infinity, config.store.retentionMs));
  const lines = [
    missing === 0
      ? `Of ${count(final, 'row')}, none is missing.`
      : `Of ${count(final, 'row')}, ${missing} never came.`,
    ...(unknown === 0
      ? []
      : [
          `${count(unknown, 'row')} of these cannot be taken in: of a number, one candidate has to be known.`,
        ]),
    ...(older === 0 ? [] : [`${count(older, 'row')} older than ${kept} left out.`]),
    ...(left === 0
      ? []
      : [
          `${count(left, 'row')} left out, as the status is none of ${orList(statuses)}: ${firstListed(names, mostNamed)}. Where one means one of these, say so: ${meant.join(' ')}`,
        ]),
    ...(unread === 0 ? [] : [`${count(unread, 'row')} cannot be read.`]),
    ...(options.at === undefined && !options.accept && missing > 0
      ? [`Without --at, these may be older than events are kept (${durationText(config.store.retentionMs)}).`]
      : []),
  ];
  tell(lines.map(printable).join('\n'));
}

/** Reminds of candidates who were erased: the store keeps when, but not who. */
async function tellErased(store: Store, from: number, io: Io, tell: (text: string) => void): Promise<void> {
  const changes = pageByPage<Change>(Infinity, (limit, last) =>
    store.audit({ limit, ...(last && { after: last.id }) }),
  );
  const times: string[] = [];
  for await (const { action, at } of changes) {
    if (at < from) break;
    if (action === 'forget') times.push(when(at, io));
  }
  if (times.length > 0)
    tell(
      `Candidates were erased by \`${program} forget\` at ${firstListed(times, 5)}; nobody knows here who. If the file has them, name them in a file for --except.`,
    );
}

async function takeIn(at: Context, from: number): Promise<number> {
  const { store, config, io } = at;
  const { accept } = await takingIn(store, config);
  // Duplicates are recognized whatever their age.
  const byHand = { action: 'reconcile' as const, by: byUser({}, io), windowMs: Infinity };
  const pages = await Array.fromAsync(missingRows(at, from, new ExportFigures(), () => {}));
  // Exports have the newest first, and a later event of a candidate may depend on an earlier one.
  const meant = pages.flat().filter(({ isUnknown }) => !isUnknown);
  const ofCandidates = Map.groupBy(
    meant.toSorted((one, other) => one.at - other.at),
    ({ candidateId }) => candidateId,
  );
  const taken = await inParts([...ofCandidates.values()], async (rows) => {
    let many = 0;
    for (const one of rows)
      if (!(await accept(receivedOf(one, await store.now()), byHand)).duplicate) many += 1;
    return many;
  });
  return taken.reduce((sum, many) => sum + many, 0);
}

async function idsIn(name: string): Promise<ReadonlySet<string>> {
  const text = await readFile(name, 'utf8').catch((error: Error) => unreadable(name, error));
  const ids = new Set<string>();
  for (const [index, line] of text.split(/\r\n?|\n/).entries()) {
    if (line.trim() === '') continue;
    // A table with one column is accepted, too.
    const id = readCandidateId(line.replace(/^\uFEFF/, '').replaceAll('"', ''));
    if ('fault' in id) throw new CommandError(`${printable(name)}:${index + 1} expected ${id.fault}`);
    ids.add(id.value);
  }
  return ids;
}

function unreadable(name: string, { message }: Error): never {
  throw new CommandError(printable(`${name} cannot be read: ${message}`));
}

function readMapping(
  words: string,
  before: ReadonlyMap<string, Status> = new Map(),
): ReadonlyMap<string, Status> {
  const [, from = '', to = ''] = /^(.+)=(.*)$/s.exec(words) ?? [];
  const status = statusNamed(to.trim());
  if (from === '' || status === undefined)
    throw expected(`as in Finished=Completed, with ${orList(statuses)} after it`);
  return new Map([...before, [lowerAscii(from.trim()), status]]);
}
