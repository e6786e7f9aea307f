import { foundBy } from '../../src/lookups/kept-facts.ts';
import type { Delivery } from '../../src/model.ts';
import type { EventStory } from '../../src/store/store.ts';

/** Of this test, candidates are looked up before anybody is told. */
export const lookedUp = 0;

/** When somebody was first told, by whose clock that may be. */
interface Begun {
  readonly at: (delivery: Delivery) => number | null | undefined;
  /** How far that clock may be from those that looked up. */
  readonly apartMs: number;
}

/** By the store. The time is that of the claim, so the commit may have taken longer than others needed to decide. */
export const begunByClaim: Begun = { at: ({ firstAttemptAt }) => firstAttemptAt, apartMs: 0 };

/**
 * Each event is decided in its turn, with what was looked up or without. `stored`: ids in the order in which events were
 * stored; where a commit has to be made again, ids have another.
 */
export function lookupBreaches(
  stories: readonly EventStory[],
  begun: Begun,
  stored: readonly string[],
): string[] {
  const asked = stories.filter(({ event }) => event.testId === lookedUp);
  const wrong = stories.filter(
    ({ event, decided, lookups }) => !decided || lookups.length !== (event.testId === lookedUp ? 1 : 0),
  );
  const states = asked.map(({ lookups }) => foundBy(lookups)['candidate']?.state);
  return [
    ...wrong.map(({ event }) => `${event.id} is not decided, or not looked up once`),
    ...overtaking(stories, asked, begun, new Map(stored.map((id, place) => [id, place]))),
    ...(states.includes('answered') ? [] : ['nobody was found by the look-up']),
  ];
}

/** Nobody is told of an event before what was asked about an earlier one of its candidate has ended. */
function overtaking(
  stories: readonly EventStory[],
  asked: readonly EventStory[],
  begun: Begun,
  places: ReadonlyMap<string, number>,
): string[] {
  const askedFirst = new Map(asked.map((story) => [story.event.candidateId, story]));
  return stories.flatMap(({ event, deliveries }) => {
    const first = askedFirst.get(event.candidateId);
    if (!first || places.get(first.event.id)! >= places.get(event.id)!) return [];
    const endedAt = foundBy(first.lookups)['candidate']?.at ?? 0;
    return deliveries
      .filter((delivery) => (begun.at(delivery) ?? Infinity) < endedAt - begun.apartMs)
      .map(({ id }) => `${id} was begun before ${first.event.id} of the same candidate was decided`);
  });
}
