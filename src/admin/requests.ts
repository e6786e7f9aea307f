import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Readiness } from '../http/health.ts';
import { answerProblem } from '../http/problem.ts';
import { type afterBug, continueIfExpected, errorHandler, nothingHere } from '../http/server.ts';
import { Access } from './access.ts';
import type { Metrics } from './metrics.ts';

/** The operations page and its API. */
export interface Site {
  /** The part without a login: the login itself, styles and scripts. */
  readonly open: RequestHandler;
  /** The part behind the login. */
  readonly inside: RequestHandler;
  /** The page that says why a form was refused. */
  readonly refused: RequestHandler;
}

export interface AdminRequests {
  readonly config: () => Config['admin'];
  readonly metrics: Pick<Metrics, 'scrape'>;
  /** Loads the site. Called at the first request: until then the site takes no memory. */
  readonly site: () => Promise<Site>;
  readonly log: Logger;
  readonly readiness: Readiness;
  /** How long the answer to a wrong password is delayed. */
  readonly wrongPasswordDelayMs?: number;
}

/** The largest body of a form, into which a whole config may be pasted. */
const largestForm = '2mb';

/** The express app behind the admin port, without health checks. All but the login needs the password. */
export function adminRequests(options: AdminRequests, failed: ReturnType<typeof afterBug>): Express {
  const { metrics, readiness } = options;
  const access = new Access(options);
  const site = lazily(options.site);
  const app = express().disable('x-powered-by');
  app.use(asWritten, access.refuseForeign);
  app.get(['/login', '/assets/:file'], site('open'));
  app.post('/login', expected, ...bodies('8kb'), access.login, site('open'));
  app.use(access.require, expected);
  app.get('/metrics', async (_req, res) => {
    const { text, contentType } = await metrics.scrape(await readiness());
    res.set('content-type', contentType).send(text);
  });
  app.use(...bodies(largestForm), access.requireToken(site('refused')));
  app.post('/logout', access.logout);
  app.use(site('inside'));
  app.use((_req, res) => answerProblem(res, nothingHere));
  app.use(badBody);
  app.use(errorHandler(failed));
  return app;
}

/** Takes a path with a broken escape, such as `%E0%A4%A`, as it is written: it leads to nothing, as any other wrong one. */
const asWritten: RequestHandler = (req, _res, next) => {
  try {
    decodeURIComponent(req.path);
  } catch {
    req.url = req.url.replaceAll('%', '%25');
  }
  next();
};

const expected: RequestHandler = (req, res, next) => {
  continueIfExpected(req, res);
  next();
};

const bodies = (limit: string): RequestHandler[] => [express.urlencoded({ limit }), express.json({ limit })];

/** Answers express's errors about a body that cannot be read. */
const badBody: ErrorRequestHandler = (error, _req, res, next) => {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 500;
  if (!(status >= 400 && status < 500) || res.headersSent) return next(error);
  answerProblem(res, { status, detail: 'The body of this request cannot be read, or is too large.' });
};

function lazily(load: () => Promise<Site>): (part: keyof Site) => RequestHandler {
  let loading: Promise<Site> | null = null;
  return (part) => async (req, res, next) => {
    loading ??= load();
    const site = await loading;
    await site[part](req, res, next);
  };
}
