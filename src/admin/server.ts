import express, { type RequestHandler, type Response } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { health, type Readiness } from '../http/health.ts';
import { answerProblem } from '../http/problem.ts';
import {
  afterBug,
  continueIfExpected,
  errorHandler,
  HttpServer,
  type HttpServerOptions,
  nothingHere,
} from '../http/server.ts';
import { StoreUnavailable } from '../store/store.ts';
import { sameText } from '../support/secret.ts';
import type { Metrics } from './metrics.ts';

export interface AdminOptions extends HttpServerOptions {
  /** Called for every request, so that a new password takes effect at once. */
  readonly config: () => Config['admin'];
  readonly metrics: Pick<Metrics, 'scrape'>;
  /** What `/api/status` answers. */
  readonly status: () => Promise<object>;
  readonly log: Logger;
  readonly readiness: Readiness;
  /** How long the answer to a wrong password is delayed. */
  readonly wrongPasswordDelayMs?: number;
  readonly mostConnections?: number;
}

const defaultMostConnections = 64;

/** The server for operators. It does not listen yet. Everything but health checks needs the password. */
export function createAdmin(options: AdminOptions): HttpServer {
  const { metrics, status, log, readiness, mostConnections: most = defaultMostConnections } = options;
  const app = express().disable('x-powered-by');
  app.use(health(readiness));
  app.use(requirePassword(options));
  app.use((req, res, next) => {
    continueIfExpected(req, res);
    next();
  });
  app.get('/metrics', async (_req, res) => {
    const { text, contentType } = await metrics.scrape();
    res.set('content-type', contentType).send(text);
  });
  app.get('/api/status', async (_req, res) => {
    const found = await status().catch(unlessUnavailable);
    if (found === null)
      return answerProblem(res, { status: 503, detail: 'The store cannot be read just now.' });
    res.set('cache-control', 'no-store').json(found);
  });
  app.use((_req, res) => answerProblem(res, nothingHere));
  app.use(errorHandler(afterBug(log, { status: 500, detail: 'Internal error. See the log.' })));
  return new HttpServer(options, { most, share: 1 / 4 }, app);
}

function unlessUnavailable(error: unknown): null {
  if (error instanceof StoreUnavailable) return null;
  throw error;
}

/** HTTP Basic with any user name. Open if no password is set. The right password is never delayed. */
function requirePassword({ config, log, wrongPasswordDelayMs = 1000 }: AdminOptions): RequestHandler {
  const refusals = new DelayedRefusals(wrongPasswordDelayMs);
  const failures = new FailureLog(log);
  return (req, res, next) => {
    const expected = config().password;
    const given = givenPassword(req.headers.authorization);
    if (expected === null || (given !== null && sameText(given, expected.reveal()))) return next();
    if (given === null) return refuse(res);
    failures.note(req.socket.remoteAddress ?? '');
    refusals.add(res);
  };
}

function refuse(res: Response): void {
  const headers = { 'www-authenticate': 'Basic realm="candidate-connector", charset="UTF-8"' };
  answerProblem(res, { status: 401, detail: 'The password is missing or wrong.', headers });
}

/** Null if there is none: browsers send one only after a 401. */
function givenPassword(authorization = ''): string | null {
  const encoded = /^basic +(\S+)$/i.exec(authorization)?.[1];
  if (encoded === undefined) return null;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  return pair.slice(pair.indexOf(':') + 1);
}

/**
 * Delays the answers to wrong passwords, to make guessing slow. Their number is limited, and the oldest is dropped with
 * its connection, so that guesses cannot fill the memory or use up all connections.
 */
class DelayedRefusals {
  readonly #waiting = new Map<Response, NodeJS.Timeout>();
  readonly #delayMs: number;
  readonly #most = 256;

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  add(res: Response): void {
    this.#waiting.set(
      res,
      setTimeout(() => refuse(res), this.#delayMs),
    );
    res.once('close', () => this.#remove(res));
    const [oldest] = this.#waiting.keys();
    if (oldest && this.#waiting.size > this.#most) {
      this.#remove(oldest);
      oldest.destroy();
    }
  }

  #remove(res: Response): void {
    clearTimeout(this.#waiting.get(res));
    this.#waiting.delete(res);
  }
}

const logEveryMs = 60_000;

/** Logs the first failure at once and further ones once a minute, so that guesses do not fill the disk. */
class FailureLog {
  readonly #log: Pick<Logger, 'warn'>;
  #failures = 0;
  #address = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(log: Pick<Logger, 'warn'>) {
    this.#log = log;
  }

  note(address: string): void {
    this.#failures += 1;
    this.#address = address;
    if (this.#timer === null) this.#write();
  }

  #write(): void {
    this.#timer = null;
    if (this.#failures === 0) return;
    this.#log.warn(
      { address: this.#address, failures: this.#failures },
      'wrong password on the admin port; the address is the last one',
    );
    this.#failures = 0;
    this.#timer = setTimeout(() => this.#write(), logEveryMs).unref();
  }
}
