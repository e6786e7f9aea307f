import { catalogName } from '../../config/catalog.ts';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { RequestHandler } from 'express';
import { eventCsv, eventsCsvHeader } from '../../printed/csv.ts';
import type { EventSearch, FoundEvents } from '../../store/store.ts';
import { answerProblem } from '../../http/problem.ts';
import { oddIn, searchOf } from './events.ts';
import { csvMark, csvSeparator } from '../../support/text.ts';
import type { PageRequest, Parts } from '../page.ts';

const pageSize = 200;

/** Answers with all events of a search as CSV. They are read page by page, as fast as the browser takes them. */
export const download =
  (parts: Parts, asked: PageRequest): RequestHandler =>
  async (_req, res) => {
    const odd = oddIn(asked);
    // The list says what of a search it ignores; a file cannot.
    if (odd !== '')
      return answerProblem(res, {
        status: 400,
        detail: `What is searched for cannot be understood: ${odd}.`,
      });
    const wanted = { ...(await searchOf(asked, parts)), limit: pageSize };
    // A failure here is answered with an error. Later ones cut the file off, which browsers report.
    const first = await parts.reads.search(wanted);
    res.set({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': `attachment; filename="events-${asked.times.day(asked.now)}.csv"`,
      'cache-control': 'no-store',
    });
    await pipeline(Readable.from(linesOf(parts, wanted, first)), res).catch((error: unknown) => {
      if (!res.destroyed) throw error;
    });
  };

async function* linesOf(parts: Parts, wanted: EventSearch, first: FoundEvents): AsyncGenerator<string> {
  const { plan, planSource } = parts.config();
  const separator = csvSeparator(plan.wording.locale);
  yield `${csvMark}${eventsCsvHeader(separator)}\r\n`;
  for (let page = first; ; page = await parts.reads.search({ ...wanted, after: page.after })) {
    yield page.stories
      .map((story) => `${eventCsv(story, catalogName(planSource, story.event.testId), separator)}\r\n`)
      .join('');
    if (page.after === null) return;
  }
}
