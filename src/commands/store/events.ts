import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import { type DeliveryState, deliveryStates } from '../../model.ts';
import { type RefusedEvent, stuckStates } from '../../model/notices.ts';
import {
  type Change,
  type EventSearch,
  type EventStory,
  isFound,
  unansweredOf,
  type KeptRequest,
  type NoticeStory,
  type Store,
} from '../../store/store.ts';
import type { Obstacles } from '../../ops/pauses.ts';
import { pageByPage, pageSize, storiesOf } from '../../store/paging.ts';
import { count, jsonLine, printable } from '../../support/text.ts';
import {
  changeFields,
  eventCsv,
  eventsCsvHeader,
  noticeStoryJson,
  refusedEventFields,
  storyJson,
} from '../../ops/printed.ts';
import {
  ago,
  command,
  flag,
  integer,
  positive,
  readOption,
  statusOption,
  storeOptions,
  textOption,
  TypedOption,
  type ValuesOf,
} from '../command.ts';
import {
  candidateText,
  changeLine,
  CommandError,
  deliveryLine,
  exit,
  type Io,
  noticeHead,
  paint,
  obstaclesOf,
  Reasons,
  refusedLine,
  when,
} from '../output.ts';
import { byLocalClock, catalogNames, checkSink, testNames, withStore } from '../with-store.ts';

/** Options that only choose events. */
const ofEvents = ['status', 'candidate', 'correlation', 'test', 'rule', 'state', 'sink', 'unanswered'];

const declared = {
  ...storeOptions,
  since: readOption('--since <duration>', 'only what came within this time, such as 7d', ago),
  status: statusOption(),
  candidate: textOption(
    '--candidate <id>',
    'only this candidate: the id or its beginning, or the number that messages show',
  ),
  correlation: textOption(
    '--correlation <id>',
    'only what came under this correlation id, which the service logs too',
  ),
  test: readOption('--test <id>', 'only of this test', integer),
  rule: textOption('--rule <name>', 'only what this rule asked for'),
  state: new TypedOption<readonly DeliveryState[] | undefined>(
    '--state <states>',
    'only with a delivery in this state, or in one of several with commas',
  )
    .choices(deliveryStates)
    .argParser((words: string) => {
      const states = words.split(',').map((name) => deliveryStates.find((one) => one === name.trim()));
      if (!states.includes(undefined)) return states;
      throw new InvalidArgumentError(`Allowed choices are ${deliveryStates.join(', ')}.`);
    }),
  sink: textOption('--sink <name>', 'with --state: only deliveries to this sink'),
  unanswered: flag('--unanswered', 'only what was decided without an answer of a look-up'),
  follow: flag('--follow', 'then print each event that comes or changes, until Ctrl-C').conflicts([
    'rejected',
    'refused',
    'notices',
    'audit',
    'csv',
    'correlation',
  ]),
  limit: readOption(
    '--limit <n>',
    'at most so many; 100 if not given, and all with --json or --csv',
    positive,
  ),
  rejected: flag('--rejected', 'list the requests that were no events instead').conflicts([
    'since',
    ...ofEvents,
    'refused',
    'notices',
    'audit',
  ]),
  refused: flag('--refused', 'list the events that were refused for who sent them instead').conflicts([
    'since',
    ...ofEvents,
    'notices',
    'audit',
  ]),
  audit: flag('--audit', 'list what people did by hand instead').conflicts(['since', ...ofEvents, 'notices']),
  notices: flag('--notices', 'list what the alerts told people instead').conflicts(ofEvents),
  json: flag('--json', 'print JSON lines'),
  csv: flag('--csv', 'print CSV with a header, for a table').conflicts([
    'json',
    'rejected',
    'refused',
    'notices',
    'audit',
  ]),
};
type EventsOptions = ValuesOf<typeof declared>;

export const events = command({
  name: 'events',
  description: 'list what came and what became of it, newest first',
  examples: [
    'events --since 7d --status Completed',
    'events --candidate 20970 --json',
    'events --state dead,held   # what needs a person, and why',
    'events --unanswered   # what was decided without an answer of a look-up; `lookup --unanswered` asks again',
    'events --since 30d --csv > events.csv   # for a table',
    'events --rejected   # requests that were no events, and why',
    'events --refused    # events from an address or with a token that is not allowed; `accept` takes them in',
    'events --notices    # what the alerts told people, and whether it reached them',
    'events --audit      # what people did by hand: replays and the like, by whom and why',
  ],
  options: declared,
  async run(given, io) {
    const { sink, state, rejected, refused, audit, notices } = given;
    if (sink !== undefined && state === undefined)
      throw new CommandError('--sink narrows --state, as in `events --state dead --sink hiring`', exit.usage);
    return withStore(given, io, async (store) => {
      if (sink !== undefined) await checkSink(sink, given, store);
      const local = await byLocalClock(store, io);
      if (rejected) await print(rejectedList(store, given), given, local);
      else if (refused) await print(await refusedList(store), given, local);
      else if (audit) await print(auditList(store, given), given, local);
      else if (notices) await print(await noticeList(store, given), given, local);
      else if (given.follow) await follow(store, given, local);
      else await print(await storyList(store, given), given, local);
      return exit.ok;
    });
  },
});

/** What a person looks at; a program gets all. */
const shownToPeople = 100;

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
  let listed = 0;
  for await (const entry of list.entries) {
    listed += 1;
    if (listed <= limit)
      io.out(
        csv ? `${seen(csv.line(entry))}\r` : options.json ? jsonLine(list.json(entry)) : list.text(entry, io),
      );
    if (!(await io.drained())) return;
  }
  if (options.json || csv) return;
  if (listed === 0) io.out(list.none);
  for (const line of list.end?.() ?? []) io.out(line);
  if (listed > limit) io.out(`Older ones are not shown: --limit ${limit * 10} shows more.`);
}

/** One more than is shown tells whether there are older ones. */
const readLimit = (options: EventsOptions): number => limitOf(options) + 1;

async function storyList(store: Store, options: EventsOptions): Promise<List<EventStory>> {
  const { candidate } = options;
  const asked = await searchOf(options, store);
  const nameOf = await testNames(store);
  const obstacles = await obstaclesOf(store);
  const catalogName = await catalogNames(store);
  const reasons = new Reasons();
  const states = stuckStates.filter((one) => options.state?.includes(one));
  const stuck = states.length === 0 ? [] : await store.stuckNotices();
  const notices = stuck.filter(
    ({ delivery: { state, sink } }) => states.some((one) => one === state) && sink === (options.sink ?? sink),
  );
  return {
    entries: found(store, asked, readLimit(options)),
    json: storyJson,
    csv: { header: eventsCsvHeader, line: (story) => eventCsv(story, catalogName(story.event.testId)) },
    text: (story, io) => storyText(story, nameOf, obstacles, io, reasons),
    none:
      candidate === undefined
        ? 'No events.'
        : `No events of candidate ${printable(candidate)}: no id or number is this, and no id begins so (6 characters or more).`,
    end: () => [
      ...reasons.counted(),
      ...(notices.length > 0
        ? [
            `Also ${states.join(' or ')}: ${count(notices.length, 'notice')}, which \`events --notices\` lists.`,
          ]
        : []),
    ],
  };
}

async function searchOf(options: EventsOptions, store: Store): Promise<EventSearch> {
  const { since, status, candidate, correlation, test: testId, rule, state: states, sink } = options;
  const candidates = candidate === undefined ? undefined : await store.candidatesMeant(candidate);
  const { unanswered } = options;
  return {
    since,
    status,
    candidates,
    correlation: correlation?.trim(),
    testId,
    rule,
    states,
    sink,
    unanswered,
  };
}

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
  const asked = await searchOf(options, store);
  try {
    for (let seen: EventStates | null = null; !end.signal.aborted;) {
      const looked = await look(store, seen);
      const wanted = looked.changed.filter((story) => isFound(asked, story));
      const shown = seen === null ? wanted.slice(0, options.limit ?? shownAtFirst) : wanted;
      seen = looked.seen;
      const obstacles = await obstaclesOf(store);
      for (const story of shown.toReversed())
        io.out(options.json ? jsonLine(storyJson(story)) : storyText(story, nameOf, obstacles, io));
      if (!(await io.drained())) return;
      await setTimeout(lookEveryMs, undefined, { signal: end.signal }).catch(() => undefined);
    }
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, stop);
  }
}

/** How each event was when it was looked at last. */
type EventStates = ReadonlyMap<string, string>;

/** The newest events that are new or changed, newest first. Replicas may add one before others, so a known one is no end. */
async function look(
  store: Store,
  before: EventStates | null,
): Promise<{ changed: EventStory[]; seen: EventStates }> {
  const seen = new Map<string, string>();
  const changed: EventStory[] = [];
  for await (const story of storiesOf(store, {})) {
    const { event, decided, duplicates, deliveries } = story;
    const state = JSON.stringify([
      decided,
      duplicates,
      ...deliveries.map((one) => [one.id, one.state, one.lastError]),
    ]);
    seen.set(event.id, state);
    if (before?.get(event.id) !== state) changed.push(story);
    if (seen.size >= followed && (before === null || before.has(event.id))) break;
  }
  return { changed, seen };
}

const unansweredLines = {
  unknown: ['    decided without an answer of a look-up'],
  late: ['    decided before a look-up answered; nothing was sent since'],
  no: [],
};

export function storyText(
  { event, decided, duplicates, deliveries, lookups }: EventStory,
  nameOf: (testId: number) => string,
  obstacles: Obstacles,
  io: Io,
  reasons?: Reasons,
): string {
  const repeated = duplicates === 0 ? '' : `  (repeated ${duplicates}×)`;
  const head = `${when(event.receivedAt, io)}  ${paint(io, 'bold', event.status)}  test ${event.testId}${nameOf(event.testId)}  ${candidateText(event)}${repeated}`;
  const asked = unansweredLines[unansweredOf({ decided, deliveries, lookups })];
  const lines =
    deliveries.length === 0
      ? [decided ? '    no rule asked for anything' : '    not decided yet: it waits for look-ups']
      : deliveries.map((one) => deliveryLine(one, obstacles, io, reasons));
  return [head, `    ${event.id}`, ...asked, ...lines].join('\n');
}

async function noticeList(store: Store, options: EventsOptions): Promise<List<NoticeStory>> {
  const obstacles = await obstaclesOf(store);
  const since = options.since === undefined ? {} : { since: options.since };
  return {
    entries: pageByPage<NoticeStory>(readLimit(options), (limit, last) =>
      store.notices({ ...since, limit, ...(last && { after: last.notice.id }) }),
    ),
    json: noticeStoryJson,
    text: ({ notice, deliveries }, io) =>
      [
        noticeHead(notice, io),
        `    ${printable(notice.detail)}`,
        `    ${notice.id}`,
        ...deliveries.map((one) => deliveryLine(one, obstacles, io)),
      ].join('\n'),
    none: 'No notices.',
  };
}

const auditList = (store: Store, options: EventsOptions): List<Change> => ({
  entries: pageByPage<Change>(readLimit(options), (limit, last) =>
    store.audit({ limit, ...(last && { after: last.id }) }),
  ),
  json: changeFields,
  text: changeLine,
  none: 'Nobody has changed anything by hand.',
});

const rejectedList = (store: Store, options: EventsOptions): List<KeptRequest> => ({
  entries: pageByPage<KeptRequest>(readLimit(options), (limit, last) =>
    store.rejectedRequests({ limit, ...(last && { after: last.seq }) }),
  ),
  json: ({ receivedAt, seq: _, ...rest }) => ({ receivedAt: new Date(receivedAt).toISOString(), ...rest }),
  text: ({ receivedAt, status, address, correlationId, faults, body }, io) =>
    [
      `${when(receivedAt, io)}  ${status}  from ${printable(address)}  correlation id ${printable(correlationId ?? 'none')}`,
      ...faults.map((fault) => `    ${printable(fault)}`),
      `    body: ${printable(body)}`,
    ].join('\n'),
  none: 'No requests that were no events.',
});

/** Within the bounds there are few. */
const refusedList = async (store: Store): Promise<List<RefusedEvent>> => ({
  entries: Readable.from(await store.refusedEvents({})),
  json: refusedEventFields,
  text: refusedLine,
  none: 'No refused events are kept.',
});
