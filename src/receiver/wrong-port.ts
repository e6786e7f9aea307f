import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReceiverConfig } from '../config/config.ts';
import type { CallerTokens } from '../config/live/caller-tokens.ts';
import type { Refusal } from '../http/problem.ts';
import { correlationOf, gateOf, judgeCaller, pathOf } from './caller.ts';

/** Answers a request to the admin port if it is an event, and keeps it. Null: it is something else, and is not answered. */
export type AnswerWrongPort = (req: IncomingMessage, res: ServerResponse) => Promise<void> | null;

/** What is answered there: the event is kept as one that came to another path is. */
export const wrongPort: Refusal = {
  status: 404,
  detail:
    'This came to the port of the operations page, which takes no events. Let the Webhook URL, or the proxy that it leads to, call the port of the receiver.',
};

/**
 * Whether a request to the admin port is meant for the receiver, from somebody who may send events. The password, which such a
 * request lacks, would have it refused without a word to anybody.
 */
export function isAtWrongPort(
  req: IncomingMessage,
  config: ReceiverConfig,
  tokens: Pick<CallerTokens, 'judge'>,
  now: number,
): boolean {
  if (pathOf(req.url) !== config.path) return false;
  if (correlationOf(req.headers, config.correlationHeader).id === null) return false;
  const gate = gateOf(config);
  const judged = judgeCaller(req, gate, gate.callerOf(req), tokens, now);
  return judged === null || !('status' in judged);
}
