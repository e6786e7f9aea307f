import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReceiverConfig } from '../config/config.ts';
import type { Refusal } from '../http/problem.ts';
import type { Acceptance } from '../store/store.ts';
import type { Judgement } from './address.ts';
import { correlationOf, type Correlation } from './correlation.ts';
import { gateOf, type Gate } from './gate.ts';

/** A request to the receiver's path, and what its head says of it. */
export interface Visit {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly config: ReceiverConfig;
  readonly gate: Gate;
  readonly judged: Judgement;
  /** The judged address as text, whatever it is. */
  readonly address: string;
  readonly correlation: Correlation;
  readonly receivedAt: number;
  /** On the monotonic clock. */
  readonly startedMs: number;
}

export type Answer = Accepted | Refused;

export interface Accepted {
  readonly acceptance: Acceptance;
}

export interface Refused {
  readonly refusal: Refusal;
  /** What was read of the body, where it was looked at. */
  readonly body?: Buffer;
  /** Why the event could not be stored, which is not the sender's to know. */
  readonly error?: Error;
}

export function visitOf(
  req: IncomingMessage,
  res: ServerResponse,
  config: ReceiverConfig,
  receivedAt: number,
): Visit {
  const gate = gateOf(config);
  const judged = gate.judge(req);
  return {
    req,
    res,
    config,
    gate,
    judged,
    // What a proxy wrote instead of an address can be of any length.
    address: judged.address ?? (judged.hops.at(-1) ?? '').slice(0, 60),
    correlation: correlationOf(req.headers, config.correlationHeader),
    receivedAt,
    startedMs: performance.now(),
  };
}
