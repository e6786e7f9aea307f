import type { Request, RequestHandler, Response } from 'express';
import { answerProblem } from '../http/problem.ts';
import { type EventSearch, type EventStory, isFound, StoreUnavailable } from '../store/store.ts';
import { searchOf } from './events.ts';
import { eventRow } from './frame/fragments.ts';
import type { PageRequest, Parts } from './page.ts';

/** Everyone keeps a connection. More look at a page that stands still. */
const mostListeners = 20;
const lookEveryMs = 1000;
const newest = 50;
/** A connection without anything on it would be closed. */
const signEveryMs = 15_000;
/** Then the browser asks again. */
const lastsMs = 600_000;

interface Listener {
  readonly res: Response;
  readonly asked: PageRequest;
  readonly wanted: EventSearch;
  /** What it has been told of each event. */
  told: ReadonlyMap<string, string>;
}

/**
 * Tells browsers of events that come and of deliveries that change, as rows of the list. Looks into the store while
 * somebody listens, once for all: with several replicas, another one may have taken the event.
 */
export class LiveEvents {
  readonly #parts: Parts;
  readonly #listeners = new Set<Listener>();
  #looking: NodeJS.Timeout | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  listen(asked: PageRequest): RequestHandler {
    return async (req, res) => {
      const wanted = await searchOf(asked, this.#parts);
      if (this.#listeners.size >= mostListeners)
        return answerProblem(res, { status: 503, detail: 'Too many pages are live just now.' });
      res.set({
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      res.flushHeaders();
      this.#add({ res, asked, wanted, told: new Map() }, req);
    };
  }

  #add(listener: Listener, req: Request): void {
    const { res } = listener;
    // Its 'close' would not come any more.
    if (res.destroyed) return;
    const sign = setInterval(() => res.write(':\n\n'), signEveryMs);
    const end = setTimeout(() => res.end(), lastsMs);
    this.#listeners.add(listener);
    req.once('close', () => {
      clearInterval(sign);
      clearTimeout(end);
      this.#listeners.delete(listener);
    });
    if (this.#looking === null) void this.#look();
  }

  async #look(): Promise<void> {
    this.#looking = setTimeout(() => {
      this.#looking = null;
      if (this.#listeners.size > 0) void this.#look();
    }, lookEveryMs);
    try {
      const { stories } = await this.#parts.reads.search({ limit: newest });
      for (const listener of this.#listeners)
        // Whoever logged out meanwhile, or has an old password, hears nothing more.
        if (listener.asked.person.isStillIn()) this.#tell(listener, stories);
        else listener.res.end();
    } catch (error) {
      // Where the store cannot be read just now, the page says so when it is loaded again.
      if (error instanceof StoreUnavailable) return;
      // A bug. The browsers ask again after some seconds, so that it does not fill the log.
      this.#parts.log.error({ err: error }, 'the live pages failed');
      for (const { res } of this.#listeners) res.destroy();
    }
  }

  #tell(listener: Listener, stories: readonly EventStory[]): void {
    const found = stories.filter((story) => isFound(listener.wanted, story));
    const marks = new Map(found.map((story) => [story.event.id, markOf(story)]));
    // The oldest first, since each new one goes to the top.
    for (const story of found.toReversed()) {
      const { id } = story.event;
      if (listener.told.get(id) === marks.get(id)) continue;
      const { text: row } = eventRow(story, this.#parts.config(), listener.asked.times);
      listener.res.write(`data: ${JSON.stringify({ id, row })}\n\n`);
    }
    listener.told = marks;
  }
}

/** What a row shows that can change. */
const markOf = ({ duplicates, deliveries }: EventStory): string =>
  [duplicates, ...deliveries.map(({ state }) => state)].join();
