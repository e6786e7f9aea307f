import express, { type ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { health, type Readiness } from '../http/health.ts';
import { HttpServer, nothingHere, type HttpServerOptions } from '../http/server.ts';
import { answerProblem } from '../http/problem.ts';
import type { Metrics } from './metrics.ts';
import { requirePassword } from './password.ts';

export interface AdminOptions extends HttpServerOptions {
  /** Asked for every request, so that a new password holds at once. */
  readonly config: () => Config['admin'];
  readonly metrics: Pick<Metrics, 'scrape'>;
  readonly log: Logger;
  readonly readiness: Readiness;
  readonly wrongPasswordDelayMs?: number;
  readonly mostConnections?: number;
}

const defaultMostConnections = 64;

/** The server for those who operate the connector; it does not listen yet. Everything but health is behind the password. */
export function createAdmin(options: AdminOptions): HttpServer {
  const { config, metrics, log, readiness, mostConnections: most = defaultMostConnections } = options;
  const app = express().disable('x-powered-by');
  app.use(health(readiness));
  app.use(requirePassword({ ...options, password: () => config().password }));
  app.use((req, res, next) => {
    if (req.headers.expect?.toLowerCase() === '100-continue') res.writeContinue();
    next();
  });
  app.get('/metrics', async (_req, res) => {
    const { text, contentType } = await metrics.scrape();
    res.set('content-type', contentType).send(text);
  });
  app.use((_req, res) => answerProblem(res, nothingHere));
  app.use(unexpected(log));
  return new HttpServer(options, { most, share: 1 / 4 }, app);
}

/** Express' own answer to a fault would show its stack. */
function unexpected(log: Logger): ErrorRequestHandler {
  return (error, _req, res, _next) => {
    log.error({ err: error }, 'an admin request failed');
    if (res.headersSent) res.destroy();
    else answerProblem(res, { status: 500, detail: 'This failed here; the log says why.' });
  };
}
