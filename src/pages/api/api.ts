import { Router } from 'express';
import { answerProblem, type Refusal } from '../../http/problem.ts';
import { StoreUnavailable } from '../../store/store.ts';
import type { Parts } from '../page.ts';
import { apiRoutes, NotPossible } from './endpoints.ts';

/** The API: what the pages show and do, for programs. */
export function apiRouter(parts: Parts): Router {
  const router = Router();
  for (const route of apiRoutes)
    router[route.method](route.path.replaceAll(/\{(\w+)\}/g, ':$1'), async (req, res) => {
      try {
        const answer = await route.handle(parts, req);
        res.set('cache-control', 'no-store').json(answer);
      } catch (error) {
        answerProblem(res, refusalFor(error, route.method));
      }
    });
  return router;
}

function refusalFor(error: unknown, method: 'get' | 'post'): Refusal {
  if (error instanceof NotPossible) return error.refusal;
  if (!(error instanceof StoreUnavailable)) throw error;
  const detail =
    method === 'get'
      ? 'The store cannot be read just now.'
      : 'The store cannot be used just now. What was done before that stays done.';
  return { status: 503, detail };
}
