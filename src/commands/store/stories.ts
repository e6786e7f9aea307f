import { program } from '../../support/invocation.ts';
import { InvalidArgumentError } from 'commander';
import { type DeliveryState, deliveryStates, stuckStates } from '../../model.ts';
import { refusedAbout, rejectedAbout } from '../../ops/not-taken-in.ts';
import type { Obstacles } from '../../ops/pauses.ts';
import { eventCsv, eventsCsvHeader } from '../../printed/csv.ts';
import { storyJson } from '../../printed/json.ts';
import { pageSize } from '../../store/paging.ts';
import {
  type Candidates,
  Damaged,
  type EventSearch,
  type EventStory,
  type Store,
  unansweredOf,
} from '../../store/store.ts';
import { count, printable } from '../../support/text.ts';
import {
  flag,
  integer,
  readOption,
  statusOption,
  textOption,
  TypedOption,
  type ValuesOf,
} from '../command.ts';
import { candidateText, deliveryLine, type Io, obstaclesOf, paint, Reasons, when } from '../output.ts';
import { catalogNames, testNames } from '../with-store.ts';
import { type List, type ListOptions, readLimit } from './lists.ts';

/** The list of events: which are meant, and how each is printed. */

export const searchOptions = {
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
};
export type SearchOptions = ValuesOf<typeof searchOptions> & Pick<ListOptions, 'since'>;

export async function storyList(
  store: Store,
  options: SearchOptions & ListOptions,
): Promise<List<EventStory>> {
  const { candidate } = options;
  const asked = await searchOf(options, store);
  const nameOf = await testNames(store);
  const obstacles = await obstaclesOf(store);
  const catalogName = await catalogNames(store);
  const reasons = new Reasons();
  const missed = candidate === undefined ? [] : await notTakenIn(candidate, asked.candidates!, store);
  const states = stuckStates.filter((one) => options.state?.includes(one));
  const stuck = states.length === 0 ? [] : await store.stuckNotices();
  const notices = stuck.filter(
    ({ delivery: { state, sink } }) => states.some((one) => one === state) && sink === (options.sink ?? sink),
  );
  return {
    entries: found(store, asked, readLimit(options)),
    json: storyJson,
    csv: { header: eventsCsvHeader(), line: (story) => eventCsv(story, catalogName(story.event.testId)) },
    text: (story, io) => storyText(story, nameOf, obstacles, io, reasons),
    none:
      candidate === undefined
        ? 'No events.'
        : `No events of candidate ${printable(candidate)}: no id or number is this, and no id begins so (6 characters or more); names cannot be searched for. With an export of the service, \`${program} reconcile\` finds who never arrived.`,
    end: () => [
      ...missed,
      ...reasons.counted(),
      ...(notices.length > 0
        ? [
            `Also ${states.join(' or ')}: ${count(notices.length, 'notice')}, which \`${program} events --notices\` lists.`,
          ]
        : []),
    ],
  };
}

/** Lines about what came of a candidate and was not taken in, so that nobody takes it for what never came. */
async function notTakenIn(text: string, candidates: Candidates, store: Store): Promise<string[]> {
  const refused = refusedAbout(text, candidates, await store.refusedEvents({})).length;
  const rejected = (await rejectedAbout(text, store)).length;
  return [
    ...(refused > 0
      ? [
          `${count(refused, 'event')} of this candidate ${refused === 1 ? 'was' : 'were'} refused, and nobody was told: \`${program} events --refused\` lists what is kept.`,
        ]
      : []),
    ...(rejected > 0
      ? [
          `${count(rejected, 'request')} about this candidate ${rejected === 1 ? 'was not a valid event' : 'were not valid events'}, so no message went out: \`${program} events --rejected\` says what was wrong.`,
        ]
      : []),
  ];
}

export async function searchOf(
  {
    since,
    status,
    candidate,
    correlation,
    test: testId,
    rule,
    state: states,
    sink,
    unanswered,
  }: SearchOptions,
  store: Store,
): Promise<EventSearch> {
  const candidates = candidate === undefined ? undefined : await store.candidatesMeant(candidate);
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

/**
 * Finds events page by page. A page may have few or none although there are more; see Store.search. Where a part of the store
 * is damaged, the page that needs it is read in ever smaller ones, so that all before the first event with that part is found.
 */
async function* found(store: Store, asked: EventSearch, limit: number): AsyncGenerator<EventStory> {
  let left = limit;
  let most = pageSize;
  for (let after: string | null | undefined; left > 0 && after !== null;) {
    const size = Math.min(left, most);
    try {
      const page = await store.search({ ...asked, limit: size, after });
      yield* page.stories;
      left -= page.stories.length;
      after = page.after;
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      // A search also looks at the event behind its page.
      if (size === 1) {
        yield* await store.events({ ...asked, limit: 1, after: after ?? undefined });
        throw error;
      }
      most = Math.floor(size / 2);
    }
  }
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
