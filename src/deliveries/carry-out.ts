import type { Clock } from '../clock.ts';
import type { SinkConfig } from '../config/config.ts';
import { rejected } from '../connector.ts';
import type { Delivery, Outcome } from '../model.ts';
import type { Plan } from '../rules/plan.ts';
import type { Claimed, Store } from '../store/store.ts';
import { templateData } from '../templates/data.ts';
import { actionOf } from './actions.ts';
import { attempt, prepare, type Prepared } from './attempt.ts';
import type { ConnectedSinks } from './connected-sinks.ts';
import { withDeadline } from './deadline.ts';
import type { Ending } from './settle.ts';

export interface CarryOutParts {
  readonly store: Store;
  readonly sinks: ConnectedSinks;
  readonly clock: Clock;
  /** The plan that a delivery was decided by, or why it cannot be had any more. */
  readonly plan: (configId: string) => Promise<Plan | { readonly lost: string }>;
}

export interface Carried {
  /** Null where there was nothing to send: the reason is in the outcome. */
  readonly prepared: Prepared | null;
  readonly ending: Ending;
}

/** One claimed delivery, from its plan to the outcome of one attempt. `config`: its sink as configured today. Never throws. */
export async function carryOut(
  parts: CarryOutParts,
  claimed: Claimed,
  config: SinkConfig | undefined,
  now: number,
  shutdown: AbortSignal,
): Promise<Carried> {
  if (!config) return nothingSent(sinkGone(claimed.delivery.sink));
  try {
    const prepared = await prepareClaimed(parts, claimed, config, now);
    if ('outcome' in prepared) return nothingSent(prepared);
    const ending = await attemptPrepared(parts, claimed, prepared, config, now, shutdown);
    return { prepared, ending: noted(ending, prepared.note) };
  } catch (error) {
    return nothingSent(cannotBegin(error));
  }
}

async function prepareClaimed(
  parts: CarryOutParts,
  { delivery, event }: Claimed,
  config: SinkConfig,
  now: number,
): Promise<Prepared | Outcome> {
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
  if (action.connector !== config.connector.name) {
    const detail = `Sink ${config.name} was a ${action.connector} sink and is a ${config.connector.name} sink now.`;
    return rejected('invalid', detail, byTodaysConfig);
  }
  const data = templateData(event, plan.test(event.testId), delivery.rule, now);
  return prepare(action, data, delivery.id, config);
}

async function attemptPrepared(
  parts: CarryOutParts,
  { delivery }: Claimed,
  { message, thread }: Prepared,
  config: SinkConfig,
  now: number,
  shutdown: AbortSignal,
): Promise<Ending> {
  const threadOf = thread === null ? null : await parts.store.threadOf(delivery.sink, thread);
  const request = {
    deliveryId: delivery.id,
    message,
    attempt: delivery.attempts,
    firstAttemptAt: delivery.firstAttemptAt ?? now,
    now,
    threadOf,
    progress: delivery.progress,
  };
  const onUnknown = isFirstSinceReplay(delivery) ? 'resend' : config.onUnknown;
  const asking = { uncertain: delivery.uncertain, onUnknown };
  return parts.sinks.use(config, (sink) =>
    withDeadline(parts.clock, config.timeoutMs, shutdown, (signal) =>
      attempt(sink, { ...request, signal }, asking),
    ),
  );
}

/**
 * Whether a person has replayed it since its last attempt: every other way back to pending moves the due time. They were
 * told that it may have arrived, so where the tool cannot be asked their word is enough to send it.
 */
function isFirstSinceReplay({ attempts, dueAt, since }: Delivery): boolean {
  return attempts > 1 && dueAt === since;
}

const byTodaysConfig = "Replay it to send it by today's config.";

function nothingSent(outcome: Outcome): Carried {
  return { prepared: null, ending: { outcome, askedAbsent: false, hold: false } };
}

function sinkGone(sink: string): Outcome {
  const advice = 'Put it back into the config, then replay this delivery.';
  return rejected('not_found', `The config has no sink ${sink} any more.`, advice);
}

/** The sink could not be connected, or the store could not be read. */
function cannotBegin(error: unknown): Outcome {
  const detail = error instanceof Error ? error.message : String(error);
  return {
    outcome: 'retry',
    reason: 'unexpected',
    detail: `The attempt could not begin: ${detail}`,
    sinkWide: true,
  };
}

function noted(ending: Ending, note: string | undefined): Ending {
  if (note === undefined || ending.outcome.outcome !== 'delivered') return ending;
  const both = [note, ending.outcome.note].filter(Boolean).join(' ');
  return { ...ending, outcome: { ...ending.outcome, note: both } };
}
