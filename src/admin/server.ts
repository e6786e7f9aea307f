import type { IncomingMessage, ServerResponse } from 'node:http';
import { placesOf } from '../http/connections.ts';
import { health } from '../http/health.ts';
import { afterBug, HttpServer, type HttpServerOptions } from '../http/server.ts';
import type { AnswerWrongPort } from '../receiver/wrong-port.ts';
import type { AdminRequests } from './requests.ts';

export type AdminOptions = HttpServerOptions &
  AdminRequests & {
    readonly mostConnections?: number;
    /** Default: an event is a request as all others. */
    readonly answerWrongPort?: AnswerWrongPort;
  };

const defaultMostConnections = 64;

/**
 * The server of the admin port. It does not listen yet. All but health checks and events needs the password, and is loaded with
 * Express at the first request.
 */
export function createAdmin(options: AdminOptions): HttpServer {
  const { log, readiness, mostConnections = defaultMostConnections, answerWrongPort } = options;
  const answersHealth = health(readiness);
  const failed = afterBug(log, { status: 500, detail: 'Internal error. See the log.' });
  const load = async () => (await import('./requests.ts')).adminRequests(options, failed);
  let loading: ReturnType<typeof load> | null = null;
  const pass = async (req: IncomingMessage, res: ServerResponse) => {
    loading ??= load();
    (await loading)(req, res);
  };
  return new HttpServer(options, { most: placesOf(mostConnections, 1 / 4) }, (req, res) => {
    if (answersHealth(req, res)) return;
    const answered = answerWrongPort?.(req, res) ?? pass(req, res);
    answered.catch((error: unknown) => failed(error, res));
  });
}
