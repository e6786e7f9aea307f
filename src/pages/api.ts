import { Router } from 'express';
import { answerProblem } from '../http/problem.ts';
import { readStatus, statusJson } from '../status.ts';
import { StoreUnavailable } from '../store/store.ts';
import { changesRouter } from './changes-api.ts';
import type { Parts } from './page.ts';

/** What the pages show, for programs. */
export function apiRouter(parts: Parts): Router {
  const { reads } = parts;
  const router = Router();
  router.use('/deliveries', changesRouter(parts));
  router.get('/status', async (_req, res) => {
    const found = await readStatus(reads, Date.now()).catch(unlessUnavailable);
    if (found === null)
      return answerProblem(res, { status: 503, detail: 'The store cannot be read just now.' });
    res.set('cache-control', 'no-store').json(statusJson(found));
  });
  return router;
}

function unlessUnavailable(error: unknown): null {
  if (error instanceof StoreUnavailable) return null;
  throw error;
}
