import type { EventStory, SinkCount } from '../../src/store/store.ts';
import { foundBy } from '../../src/lookups/kept-facts.ts';
import { scoreOf } from './api.ts';
import { nameOf } from './arrivals.ts';
import type { ModelTool } from './tool.ts';

/** All that is known at the end of a run. */
export interface Books {
  readonly stories: readonly EventStory[];
  readonly counts: readonly SinkCount[];
  /** The names of the events that were answered for. */
  readonly accepted: ReadonlySet<string>;
  /** The ids of all events, in the order in which they were stored, and in which they were decided. */
  readonly stored: readonly string[];
  readonly decided: readonly string[];
  readonly tools: readonly ModelTool[];
  /** How often the process died, each time perhaps in the middle of a call. */
  readonly deaths: number;
  /** Whether the clock was set while it ran. */
  readonly jumped: boolean;
}

/** Everything in the books that breaks the promise, in words. */
export function findBreaches(books: Books): string[] {
  return [
    ...missingEvents(books),
    ...unfinished(books),
    ...unbalanced(books),
    ...wrongFacts(books),
    ...outOfOrder(books),
    ...books.tools.flatMap((tool) => wrongMessages(books, tool)),
    ...wrongDigests(books),
    ...outsideOfHours(books),
    ...tooFast(books),
    ...wrongPauses(books),
  ];
}

function missingEvents({ stories, accepted }: Books): string[] {
  const stored = stories.map(({ event }) => nameOf(event));
  return [
    ...[...accepted].filter((id) => !stored.includes(id)).map((id) => `${id} was accepted and is lost`),
    ...stored.filter((id, index) => stored.indexOf(id) !== index).map((id) => `${id} became two events`),
  ];
}

function unfinished({ stories, tools }: Books): string[] {
  const holding = new Set(tools.filter(({ options }) => options.holds).map(({ options }) => options.name));
  return stories.flatMap(({ event, deliveries }) => {
    const wanted = event.candidateId.startsWith('unwanted') ? ['dead'] : ['delivered', 'dead'];
    const astray = deliveries.filter(
      ({ sink, state }) => !wanted.includes(state) && !(state === 'held' && holding.has(sink)),
    );
    return astray.map(({ id, state }) => `${id} of ${nameOf(event)} is ${state}`);
  });
}

function unbalanced({ counts, stories }: Books): string[] {
  return counts.flatMap(({ sink, planned, states }) => {
    const inStates = Object.values(states).reduce((sum, count) => sum + count, 0);
    const listed = stories
      .flatMap((story) => story.deliveries.concat(story.lookups))
      .filter((delivery) => delivery.sink === sink).length;
    return planned === inStates && planned === listed
      ? []
      : [`${sink} has ${planned} planned, ${inStates} in states, ${listed} listed`];
  });
}

/** What was looked up of an event, once, is what the API says, or is not known; and it was decided by that. */
function wrongFacts({ stories }: Books): string[] {
  return stories.flatMap(({ event, decided, lookups, deliveries }) => {
    const [found] = Object.values(foundBy(lookups));
    const score = found?.fields['score'] ?? null;
    const isKnown = score === null || score === scoreOf(nameOf(event));
    const isRight =
      decided && isKnown && found?.state !== 'waiting' && lookups.length === (event.testId === 1 ? 0 : 1);
    const wanted = Number(score) > 50 ? 6 : 5;
    return [
      ...(isRight
        ? []
        : [`${nameOf(event)} was looked up ${lookups.length} times: ${JSON.stringify(found)}`]),
      ...(deliveries.length === wanted
        ? []
        : [`${nameOf(event)} has ${deliveries.length} deliveries of ${wanted}`]),
    ];
  });
}

/** Each event is decided once, and none before one of its candidate that came earlier. */
function outOfOrder({ stories, stored, decided }: Books): string[] {
  const known = new Map(stories.map(({ event }) => [event.id, event]));
  const ofCandidates = (ids: readonly string[]) => {
    const events = ids.flatMap((id) => known.get(id) ?? []);
    const names = Map.groupBy(events, ({ candidateId }) => candidateId);
    return new Map(Array.from(names, ([id, some]) => [id, some.map(nameOf).join(', ')]));
  };
  const inOrder = ofCandidates(decided);
  return [...ofCandidates(stored)]
    .filter(([id, names]) => inOrder.get(id) !== names)
    .map(([id, names]) => `${names} were decided as ${inOrder.get(id)}`);
}

/**
 * A tool that can be asked has each message once, and one whose sink holds what is unknown no more than that; another one
 * at most as often as nobody knew, and once more.
 */
function wrongMessages({ stories, deaths }: Books, tool: ModelTool): string[] {
  const { name, canBeAsked, holds } = tool.options;
  const mine = stories.flatMap((story) => story.deliveries).filter((delivery) => delivery.sink === name);
  const counts = Map.groupBy(tool.kept, ({ deliveryId }) => deliveryId);
  const carried = new Set(
    mine.filter(({ carrier, id }) => carrier !== null && carrier !== id).map(({ id }) => id),
  );
  const wrong = mine.filter(({ id, state }) => {
    const count = counts.get(id)?.length ?? 0;
    if (state === 'held') return count > 1;
    if (carried.has(id) || state !== 'delivered') return count > 0;
    const most = canBeAsked || holds ? 1 : 1 + (tool.unclear.get(id) ?? 0) + deaths;
    return count < 1 || count > most;
  });
  const known = new Set(mine.map(({ id }) => id));
  return [
    ...wrong.map(
      ({ id, state }) => `${name} has ${id}, which is ${state}, ${counts.get(id)?.length ?? 0} times`,
    ),
    ...[...counts.keys()]
      .filter((id) => !known.has(id))
      .map((id) => `${name} has ${id}, which nobody planned`),
  ];
}

function wrongDigests({ stories, tools, stored }: Books): string[] {
  const digests = tools
    .flatMap((tool) => tool.kept)
    .filter(({ place }) => place === '#digest')
    .map(({ text }) => text.trim().split(' '));
  const events = new Map(stories.map(({ event }) => [nameOf(event), event]));
  const cameAs = (name: string) => stored.indexOf(events.get(name)?.id ?? '');
  const candidateOf = (name: string) => events.get(name)?.candidateId;
  const mixed = digests.filter((names) => new Set(names.map((name) => events.get(name)?.testId)).size > 1);
  const disordered = digests.filter((names) =>
    names.some((name, place) =>
      names
        .slice(place)
        .some((later) => candidateOf(later) === candidateOf(name) && cameAs(later) < cameAs(name)),
    ),
  );
  const told = digests.flat();
  const times = (name: string) => told.filter((one) => one === name).length;
  const wrong = stories.filter(({ event, deliveries }) => {
    const delivered = deliveries.find(({ lane }) => lane === 'chat #digest')?.state === 'delivered';
    return times(nameOf(event)) !== (delivered ? 1 : 0);
  });
  const saying = (what: string, some: string[][]) =>
    some.map((names) => `a digest ${what}: ${names.join(' ')}`);
  return [
    ...saying(
      'has more than 3 events',
      digests.filter(({ length }) => length > 3),
    ),
    ...saying('has events of two tests', mixed),
    ...saying('tells in another order than they came', disordered),
    ...wrong.map(({ event }) => `${nameOf(event)} is in ${times(nameOf(event))} digests`),
  ];
}

/** As far as they can be told by a clock that was not set; a call may begin a little later than it was decided. */
function outsideOfHours({ tools, jumped }: Books): string[] {
  const early = tools.flatMap((tool) => tool.kept).filter(({ place }) => place === '#early');
  const closedMs = 9 * 3_600_000 + 60_000 + 10_000;
  const late = jumped ? [] : early.filter(({ at }) => at % 86_400_000 > closedMs);
  return late.map(
    ({ deliveryId, at }) => `${deliveryId} came at ${new Date(at).toISOString()}, which is too late`,
  );
}

function tooFast({ tools }: Books): string[] {
  return tools.flatMap(({ tooMany, options: { name } }) =>
    tooMany > 0 ? [`${name} was called too fast ${tooMany} times`] : [],
  );
}

/**
 * What an outage may cost: the failures that pause a sink which worked just before, what is under way then, and a probe
 * every few seconds. A process that dies before it has put the pause on disk begins anew.
 */
const mostCallsWhileDown = ({ deaths }: Books) => 45 + 4 + 25 + deaths * 9;

function wrongPauses(books: Books): string[] {
  return books.tools.flatMap((tool) => {
    const { callsWhileDown, callsInPause, needlessPauses, options } = tool;
    return [
      ...(callsWhileDown > mostCallsWhileDown(books)
        ? [`${options.name} was called ${callsWhileDown} times while it was down`]
        : []),
      ...(callsInPause > 0 && !books.jumped
        ? [`${options.name} was called ${callsInPause} times after a restart, in spite of its pause`]
        : []),
      ...(needlessPauses > 0 ? [`${options.name} was paused ${needlessPauses} times though it works`] : []),
    ];
  });
}
