import { setTimeout } from 'node:timers/promises';
import type { Delivery, DeliveryState, Status } from '../model.ts';
import {
  type Candidates,
  type Change,
  type EventFilter,
  type EventSearch,
  type EventStory,
  isOf,
  type KeptRequest,
  type NoticeStory,
  type Store,
} from '../store/store.ts';
import { deliveryPages, each, pageByPage, pageSize, storiesOf } from '../store/pages.ts';
import { jsonLine, printable } from '../support/text.ts';
import { changeFields, eventCsv, eventsCsvHeader, storyJson } from '../json.ts';
import { changeLine, noticeHead, noticeStoryJson } from './event.ts';
import {
  candidateText,
  CommandError,
  deliveryLine,
  exit,
  type Io,
  paint,
  type Pauses,
  pausesOf,
  Reasons,
  when,
} from './output.ts';
import {
  byLocalClock,
  catalogNames,
  checkSink,
  type StoreOption,
  testNames,
  withStore,
} from './with-store.ts';

interface EventsOptions extends StoreOption {
  /** In milliseconds since the epoch. */
  readonly since?: number;
  readonly status?: Status;
  readonly candidate?: string;
  readonly limit?: number;
  readonly test?: number;
  readonly rule?: string;
  readonly state?: readonly DeliveryState[];
  readonly sink?: string;
  readonly rejected?: boolean;
  readonly notices?: boolean;
  readonly audit?: boolean;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly follow?: boolean;
}

/** What a person looks at; a program gets all. */
const shownToPeople = 100;

export async function events(options: EventsOptions, io: Io): Promise<number> {
  if (options.sink !== undefined && options.state === undefined) {
    throw new CommandError('--sink narrows --state, as in `events --state dead --sink hiring`', exit.usage);
  }
  return withStore(options, io, async (store) => {
    if (options.sink !== undefined) await checkSink(options.sink, options, store);
    const local = await byLocalClock(store, io);
    if (options.rejected) await print(rejectedList(store, options), options, local);
    else if (options.audit) await print(auditList(store, options), options, local);
    else if (options.notices) await print(await noticeList(store, options), options, local);
    else if (options.follow) await follow(store, options, local);
    else await print(await storyList(store, options), options, local);
    return exit.ok;
  });
}

const limitOf = ({ limit, json, csv }: EventsOptions): number =>
  limit ?? (json || csv ? Number.MAX_SAFE_INTEGER : shownToPeople);

/** What a command lists, newest first, and how. */
interface List<Entry> {
  readonly entries: AsyncIterable<Entry>;
  readonly json: (entry: Entry) => object;
  readonly csv?: { readonly header: string; readonly line: (entry: Entry) => string };
  readonly text: (entry: Entry, io: Io) => string;
  readonly none: string;
  /** What is said at the end. */
  readonly end?: () => readonly string[];
}

async function print<Entry>(list: List<Entry>, options: EventsOptions, io: Io): Promise<void> {
  const limit = limitOf(options);
  const csv = options.csv ? list.csv : undefined;
  // A file gets the text as it is.
  const seen = (line: string) => (io.ask ? printable(line) : line);
  // With the end of the line that is printed, they end as CSV has it.
  if (csv) io.out(`${csv.header}\r`);
  let count = 0;
  for await (const entry of list.entries) {
    count += 1;
    if (count <= limit)
      io.out(
        csv ? `${seen(csv.line(entry))}\r` : options.json ? jsonLine(list.json(entry)) : list.text(entry, io),
      );
    if (!(await io.drained())) return;
  }
  if (options.json || csv) return;
  if (count === 0) io.out(list.none);
  for (const line of list.end?.() ?? []) io.out(line);
  if (count > limit) io.out(`Older ones are not shown: --limit ${limit * 10} shows more.`);
}

/** One more than is shown tells whether there are older ones. */
const readLimit = (options: EventsOptions): number => limitOf(options) + 1;

async function storyList(store: Store, options: EventsOptions): Promise<List<EventStory>> {
  const { since, status, candidate, test: testId, rule, state: states, sink } = options;
  const candidates = await meant(candidate, store);
  const entries =
    states === undefined
      ? found(store, { since, status, candidates, testId, rule }, readLimit(options))
      : sifted(
          storiesByState(store, {
            states,
            ...(since !== undefined && { since }),
            ...(sink !== undefined && { sink }),
            // Nothing in the store leads to these, so all others are read over.
            ...(isSifted(options) ? {} : { limit: readLimit(options) }),
          }),
          (story) => isAskedFor(story, options, candidates),
          readLimit(options),
        );
  const nameOf = await testNames(store);
  const pauses = await pausesOf(store);
  const catalogName = await catalogNames(store);
  const reasons = new Reasons();
  return {
    entries,
    json: storyJson,
    csv: { header: eventsCsvHeader, line: (story) => eventCsv(story, catalogName(story.event.testId)) },
    text: (story, io) => storyText(story, nameOf, pauses, io, reasons),
    none: candidate === undefined ? 'No events.' : noneOf(candidate),
    end: () => reasons.counted(),
  };
}

const isSifted = ({ status, candidate, test, rule }: EventsOptions): boolean =>
  (status ?? candidate ?? test ?? rule) !== undefined;

const meant = async (candidate: string | undefined, store: Store): Promise<Candidates | undefined> =>
  candidate === undefined ? undefined : store.candidatesMeant(candidate);

/** A page may have fewer than there are, or none; see Store.search. */
async function* found(store: Store, asked: EventSearch, limit: number): AsyncGenerator<EventStory> {
  let left = limit;
  for (let after: string | null | undefined; left > 0 && after !== null;) {
    const page = await store.search({ ...asked, limit: Math.min(left, pageSize), after });
    yield* page.stories;
    left -= page.stories.length;
    after = page.after;
  }
}

const noneOf = (candidate: string): string =>
  `No events of candidate ${printable(candidate)}: no id or number is this, and no id begins so (6 characters or more).`;

async function* sifted<Entry>(
  entries: AsyncIterable<Entry>,
  isWanted: (entry: Entry) => boolean,
  limit: number,
): AsyncGenerator<Entry> {
  let left = limit;
  for await (const entry of entries) {
    if (!isWanted(entry)) continue;
    yield entry;
    left -= 1;
    if (left === 0) return;
  }
}

/** The newest of these are looked at each time. What changes in older ones is not followed. */
const followed = 500;
const shownAtFirst = 10;
const lookEveryMs = 1000;

/** Prints the newest events, then each that comes and each whose deliveries change, until Ctrl-C or nobody reads any more. */
async function follow(store: Store, options: EventsOptions, io: Io): Promise<void> {
  const end = new AbortController();
  const stop = () => end.abort();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);
  const nameOf = await testNames(store);
  const candidates = await meant(options.candidate, store);
  try {
    for (let seen: Seen | null = null; !end.signal.aborted;) {
      const looked = await look(store, seen);
      const wanted = looked.changed.filter((story) => isAskedFor(story, options, candidates));
      const shown = seen === null ? wanted.slice(0, options.limit ?? shownAtFirst) : wanted;
      seen = looked.seen;
      const pauses = await pausesOf(store);
      for (const story of shown.toReversed())
        io.out(options.json ? jsonLine(storyJson(story)) : storyText(story, nameOf, pauses, io));
      if (!(await io.drained())) return;
      await setTimeout(lookEveryMs, undefined, { signal: end.signal }).catch(() => undefined);
    }
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, stop);
  }
}

/** How each event was when it was looked at last. */
type Seen = ReadonlyMap<string, string>;

/** The newest events that are new or changed, newest first. Copies may add one before others, so a known one is no end. */
async function look(store: Store, before: Seen | null): Promise<{ changed: EventStory[]; seen: Seen }> {
  const seen = new Map<string, string>();
  const changed: EventStory[] = [];
  for await (const story of storiesOf(store, {})) {
    const { event, duplicates, deliveries } = story;
    const state = JSON.stringify([
      duplicates,
      ...deliveries.map((one) => [one.id, one.state, one.lastError]),
    ]);
    seen.set(event.id, state);
    if (before?.get(event.id) !== state) changed.push(story);
    if (seen.size >= followed && (before === null || before.has(event.id))) break;
  }
  return { changed, seen };
}

function isAskedFor(
  { event, deliveries }: EventStory,
  { since = 0, status, test, rule, state, sink }: EventsOptions,
  candidates: Candidates | undefined,
): boolean {
  const isAsked = (one: Delivery) =>
    (rule === undefined || one.rule === rule) &&
    (state?.includes(one.state) ?? true) &&
    (sink === undefined || one.sink === sink);
  return (
    event.receivedAt >= since &&
    (test === undefined || event.testId === test) &&
    (status === undefined || event.status === status) &&
    (candidates === undefined || isOf(candidates, event.candidateId)) &&
    ((rule === undefined && state === undefined) || deliveries.some(isAsked))
  );
}

function storyText(
  { event, duplicates, deliveries }: EventStory,
  nameOf: (testId: number) => string,
  pauses: Pauses,
  io: Io,
  reasons?: Reasons,
): string {
  const repeated = duplicates === 0 ? '' : `  (repeated ${duplicates}×)`;
  const head = `${when(event.receivedAt, io)}  ${paint(io, 'bold', event.status)}  test ${event.testId}${nameOf(event.testId)}  ${candidateText(event)}${repeated}`;
  const lines =
    deliveries.length === 0
      ? ['    no rule asked for anything']
      : deliveries.map((one) => deliveryLine(one, pauses, io, reasons));
  return [head, `    ${event.id}`, ...lines].join('\n');
}

async function noticeList(store: Store, options: EventsOptions): Promise<List<NoticeStory>> {
  const pauses = await pausesOf(store);
  const since = options.since === undefined ? {} : { since: options.since };
  const entries = pageByPage<NoticeStory>(readLimit(options), (limit, last) =>
    store.notices({ ...since, limit, ...(last && { after: last.notice.id }) }),
  );
  return {
    entries,
    json: noticeStoryJson,
    text: (story, io) => noticeStoryText(story, pauses, io),
    none: 'No notices.',
  };
}

function noticeStoryText({ notice, deliveries }: NoticeStory, pauses: Pauses, io: Io): string {
  const lines = deliveries.map((one) => deliveryLine(one, pauses, io));
  return [noticeHead(notice, io), `    ${printable(notice.detail)}`, `    ${notice.id}`, ...lines].join('\n');
}

function auditList(store: Store, options: EventsOptions): List<Change> {
  const entries = pageByPage<Change>(readLimit(options), (limit, last) =>
    store.audit({ limit, ...(last && { after: last.id }) }),
  );
  return { entries, json: changeFields, text: changeLine, none: 'Nobody has changed anything by hand.' };
}

function rejectedList(store: Store, options: EventsOptions): List<KeptRequest> {
  const entries = pageByPage<KeptRequest>(readLimit(options), (limit, last) =>
    store.rejectedRequests({ limit, ...(last && { after: last.seq }) }),
  );
  return { entries, json: rejectedJson, text: rejectedText, none: 'No refused requests.' };
}

function rejectedJson({ receivedAt, seq: _, ...rest }: KeptRequest) {
  return { receivedAt: new Date(receivedAt).toISOString(), ...rest };
}

function rejectedText(
  { receivedAt, status, address, correlationId, faults, body }: KeptRequest,
  io: Io,
): string {
  const correlation = printable(correlationId ?? 'none');
  return [
    `${when(receivedAt, io)}  ${status}  from ${printable(address)}  correlation id ${correlation}`,
    ...faults.map((fault) => `    ${printable(fault)}`),
    `    body: ${printable(body)}`,
  ].join('\n');
}

export interface StoriesByState extends Pick<EventFilter, 'since' | 'limit'> {
  readonly states: readonly DeliveryState[];
  readonly sink?: string;
}

/** Events with a delivery in one of these states, newest first. Found by the deliveries, page by page, no more than are shown. */
export async function* storiesByState(
  store: Pick<Store, 'deliveries' | 'event'>,
  { states, sink, since, limit = Infinity }: StoriesByState,
): AsyncGenerator<EventStory> {
  const filter = {
    states,
    newestFirst: true,
    ...(sink !== undefined && { sink }),
    ...(since !== undefined && { since }),
  };
  let left = limit;
  let last: string | null = null;
  for await (const delivery of each(deliveryPages(store, filter, Math.min(limit, pageSize)))) {
    const { eventId } = delivery;
    // The deliveries of an event stand beside each other.
    if (eventId === null || eventId === last) continue;
    last = eventId;
    const detail = await store.event(eventId);
    if (!detail) continue;
    yield { ...detail, duplicates: detail.duplicates.length };
    left -= 1;
    if (left === 0) return;
  }
}
