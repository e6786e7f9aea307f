import { setTimeout } from 'node:timers/promises';
import { storyJson } from '../../printed/json.ts';
import { storiesOf } from '../../store/paging.ts';
import { type EventStory, isFound, type Store } from '../../store/store.ts';
import { jsonLine } from '../../support/text.ts';
import { type Io, obstaclesOf } from '../output.ts';
import { testNames } from '../with-store.ts';
import type { ListOptions } from './lists.ts';
import { searchOf, type SearchOptions, storyText } from './stories.ts';

/** How many of the newest events are looked at each time. Changes of older ones are not followed. */
const followed = 500;
const shownAtFirst = 10;
const lookEveryMs = 1000;

/** Prints the newest events, then each that comes or changes, until Ctrl-C or until nobody reads any more. */
export async function follow(store: Store, options: SearchOptions & ListOptions, io: Io): Promise<void> {
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

/** The state of each event, by id, when it was looked at last. */
type EventStates = ReadonlyMap<string, string>;

/** The newest events that are new or changed, newest first. Replicas may add events before known ones, so a known one is not the end. */
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
