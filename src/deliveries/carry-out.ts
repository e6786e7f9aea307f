import type { Clock } from '../support/clock.ts';
import type { Config, SinkConfig } from '../config/config.ts';
import { cannotBeUsed } from '../stored-plans.ts';
import type { AttemptRequest } from '../connector.ts';
import { rejected } from '../connector.ts';
import type { Json, Outcome } from '../model.ts';
import { whyLost, type Plan } from '../rules/plan.ts';
import { openFrom } from '../rules/decide.ts';
import type { Claimed, Store } from '../store/store.ts';
import { actionOf, prepare, type Prepared } from './prepare.ts';
import { attempt, type Part } from './attempt.ts';
import { type ConnectedSinks, withDeadline } from './sinks.ts';
import type { Ending } from './settle.ts';

export interface CarryOutParts {
  readonly store: Store;
  readonly sinks: ConnectedSinks;
  readonly clock: Clock;
  /** Today's config: sinks, credentials, retry policies. */
  readonly config: () => Config;
  /** The plan that a delivery was decided by, or why it cannot be had any more. */
  readonly plan: (configId: string) => Promise<Plan | { readonly lost: string }>;
}

export interface Carried {
  readonly claimed: Claimed;
  /** Null where there was nothing to send: the reason is in the outcome. */
  readonly prepared: Prepared | null;
  readonly ending: Ending;
}

/** A claimed delivery that came outside of its action's hours: nothing was done about it. */
export interface Deferred {
  readonly claimed: Claimed;
  /** When they open (ms). */
  readonly until: number;
}

/** A claimed delivery that only has to be handed to its connector. */
interface Ready {
  readonly claimed: Claimed;
  readonly prepared: Prepared;
  readonly request: Request;
}

type Request = Omit<AttemptRequest<Json>, 'signal'>;

/**
 * What was claimed for one call, from their plans to the outcome of one attempt each, but for what has to wait for its
 * hours. `config`: their sink as configured today. Never throws.
 */
export async function carryOut(
  parts: CarryOutParts,
  call: readonly Claimed[],
  config: SinkConfig | undefined,
  now: number,
  shutdown: AbortSignal,
): Promise<(Carried | Deferred)[]> {
  if (!config) return call.map((claimed) => nothingSent(claimed, sinkGone(claimed.delivery.sink)));
  const made = await Promise.all(call.map((claimed) => makeReady(parts, claimed, config, now)));
  const ready = made.filter(isReady);
  const endings = ready.length === 0 ? [] : await attemptReady(parts, ready, config, shutdown);
  const attempted = ready.map(({ claimed, prepared }, index) => ({
    claimed,
    prepared,
    ending: noted(endings[index]!, prepared.note),
  }));
  return [...made.filter((one): one is Carried | Deferred => !isReady(one)), ...attempted];
}

function isReady(one: Ready | Carried | Deferred): one is Ready {
  return 'request' in one;
}

async function makeReady(
  parts: CarryOutParts,
  claimed: Claimed,
  config: SinkConfig,
  now: number,
): Promise<Ready | Carried | Deferred> {
  try {
    const prepared = await prepareClaimed(parts, claimed, config, now);
    if ('until' in prepared) return { claimed, until: prepared.until };
    if ('outcome' in prepared) return nothingSent(claimed, prepared);
    return { claimed, prepared, request: await requestFor(parts.store, claimed, prepared, now) };
  } catch (error) {
    return nothingSent(claimed, cannotBegin(error));
  }
}

async function prepareClaimed(
  parts: CarryOutParts,
  claimed: Claimed,
  config: SinkConfig,
  now: number,
): Promise<Prepared | Outcome | { readonly until: number }> {
  const { delivery } = claimed;
  const plan = await parts.plan(delivery.configId);
  if ('lost' in plan) return rejected('unexpected', plan.lost, byTodaysConfig);
  const action = actionOf(plan, delivery);
  if (!action) {
    return rejected(
      'unexpected',
      'The config that decided this delivery has no such action.',
      byTodaysConfig,
    );
  }
  const lost = whyLost(plan, action, claimed.events);
  if (lost !== undefined) return rejected('unexpected', cannotBeUsed(lost), byTodaysConfig);
  if (action.connector !== config.connector.name) {
    const detail = `Sink ${config.name} was a ${action.connector} sink and is a ${config.connector.name} sink now.`;
    return rejected('invalid', detail, byTodaysConfig);
  }
  // Planned for open hours, it may come later: after a retry, a pause or a burst. A person who replays means now.
  const until = delivery.replayed ? now : openFrom(action, now);
  if (until > now) return { until };
  const prepared = prepare(action, claimed, delivery.id, plan, config, now);
  if ('outcome' in prepared || prepared.thread === null) return prepared;
  // A thread is looked up by its key as it is kept, which is without secrets.
  return { ...prepared, thread: parts.config().mask(prepared.thread) };
}

/** An ending for each, in their order. */
async function attemptReady(
  parts: CarryOutParts,
  ready: readonly Ready[],
  config: SinkConfig,
  shutdown: AbortSignal,
): Promise<Ending[]> {
  try {
    const deadline = {
      clock: parts.clock,
      timeoutMs: config.timeoutMs,
      shutdown,
      writtenOff: (ending: Ending) => ready.map(() => ending),
    };
    return await withDeadline(deadline, (signal) =>
      parts.sinks.use(config, (sink) => attempt(sink, asParts(ready, config, signal))),
    );
  } catch (error) {
    return ready.map(() => ({ outcome: cannotConnect(error), askedAbsent: false, hold: false }));
  }
}

async function requestFor(
  store: Store,
  { delivery }: Claimed,
  { message, thread }: Prepared,
  now: number,
): Promise<Request> {
  return {
    deliveryId: delivery.id,
    message,
    attempt: delivery.attempts,
    firstAttemptAt: delivery.firstAttemptAt ?? now,
    now,
    threadOf: thread === null ? null : await store.threadOf(delivery.sink, thread),
    progress: delivery.progress,
  };
}

function asParts(ready: readonly Ready[], { onUnknown }: SinkConfig, signal: AbortSignal): Part[] {
  return ready.map(({ claimed: { delivery }, request }) => ({
    request: { ...request, signal },
    uncertain: delivery.uncertain,
    // Who replayed it was told that it may have arrived: where the tool cannot be asked, their word is enough.
    onUnknown: delivery.replayed ? 'resend' : onUnknown,
  }));
}

const byTodaysConfig = "Replay it to send it by today's config.";

function nothingSent(claimed: Claimed, outcome: Outcome): Carried {
  return { claimed, prepared: null, ending: unsent(outcome) };
}

function unsent(outcome: Outcome): Ending {
  return { outcome, askedAbsent: false, hold: false, unsent: true };
}

function sinkGone(sink: string): Outcome {
  const advice = 'Put it back into the config, then replay this delivery.';
  return rejected('not_found', `The config has no sink ${sink} any more.`, advice);
}

/** The store could not be read, or there is a bug on the way to the message. */
function cannotBegin(error: unknown): Outcome {
  return {
    outcome: 'retry',
    reason: 'unexpected',
    detail: `The attempt could not begin: ${wordsOf(error)}`,
  };
}

function cannotConnect(error: unknown): Outcome {
  const detail = `The sink could not be connected: ${wordsOf(error)}`;
  return { outcome: 'retry', reason: 'unexpected', detail, sinkWide: true };
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function noted(ending: Ending, note: string | undefined): Ending {
  if (note === undefined || ending.outcome.outcome !== 'delivered') return ending;
  const both = [note, ending.outcome.note].filter(Boolean).join(' ');
  return { ...ending, outcome: { ...ending.outcome, note: both } };
}
