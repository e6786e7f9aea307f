import { Router, type Request, type RequestHandler, type Response } from 'express';
import { wording } from '../../config/text/wording.ts';
import { answerProblem } from '../../http/problem.ts';
import { detailJson, storyJson } from '../../ops/json.ts';
import { readStatus, refusedJson, refusedOf, statusJson } from '../../ops/status.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { changesRouter, retryNow } from './changes.ts';
import { verdicts } from '../event.ts';
import { openApi, searchQuery } from './openapi.ts';
import type { Parts } from '../page.ts';
import { routesIn } from '../routing.ts';

/** What the pages show, for programs. openapi.ts describes it. */
export function apiRouter(parts: Parts): Router {
  const { clock, config } = parts;
  const router = Router();
  const read = (path: string, answer: JsonHandler) => router.get(path, answering(answer));
  router.use('/deliveries', changesRouter(parts));
  router.post('/sinks/:sink/retry', (req, res) => retryNow(parts, req.params.sink, res));
  read('/status', async () => statusJson(await readStatus(parts, clock.now(), config().plan.timeZone)));
  read('/refused', async () => ({ totals: refusedJson(await refusedOf(parts)), items: [] }));
  read('/events', (req, res) => search(parts, req, res));
  read('/events/:id', (req) => detail(parts, String(req.params['id'])));
  read('/routes', async () => ({ routes: await routesIn(config()) }));
  read('/openapi.json', async () => openApi());
  return router;
}

/** Null: it is answered, or there is none. */
type JsonHandler = (req: Request, res: Response) => Promise<object | null>;

const answering =
  (answer: JsonHandler): RequestHandler =>
  async (req, res) => {
    try {
      const found = await answer(req, res);
      if (found !== null) res.set('cache-control', 'no-store').json(found);
      else if (!res.headersSent) answerProblem(res, { status: 404, detail: 'There is no such event.' });
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      answerProblem(res, { status: 503, detail: 'The store cannot be read just now.' });
    }
  };

async function search({ reads }: Parts, req: Request, res: Response): Promise<object | null> {
  const asked = searchQuery.safeParse(req.query, { error: wording });
  if (!asked.success) {
    const faults = asked.error.issues.map(({ path, message }) => ({
      field: path.join('.') || 'query',
      detail: `${message.replace(/^expected/, 'Expected')}.`,
    }));
    answerProblem(res, { status: 400, detail: 'The query cannot be understood.', faults });
    return null;
  }
  const { candidate, test: testId, state, since, until, ...rest } = asked.data;
  const found = await reads.search({
    ...rest,
    testId,
    states: state && [state],
    candidates: candidate === undefined ? undefined : await reads.candidatesMeant(candidate),
    since: since === undefined ? undefined : Date.parse(since),
    until: until === undefined ? undefined : Date.parse(until),
  });
  return { events: found.stories.map((story) => storyJson(story)), after: found.after };
}

async function detail(parts: Parts, id: string): Promise<object | null> {
  const story = await parts.reads.event(id);
  if (story === null) return null;
  const [rules, changes] = await Promise.all([verdicts(story, parts), parts.reads.audit({ about: id })]);
  return detailJson(story, rules, changes);
}
