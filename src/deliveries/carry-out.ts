import type { Clock } from '../clock.ts';
import type { SinkConfig } from '../config/config.ts';
import type { AttemptRequest } from '../connector.ts';
import { rejected } from '../connector.ts';
import type { Delivery, Json, Outcome } from '../model.ts';
import type { Plan } from '../rules/plan.ts';
import type { Claimed, Store } from '../store/store.ts';
import { actionOf } from './actions.ts';
import { attempt, type Part } from './attempt.ts';
import type { ConnectedSinks } from './connected-sinks.ts';
import { withDeadline } from './deadline.ts';
import { prepare, type Prepared } from './prepare.ts';
import type { Ending } from './settle.ts';

export interface CarryOutParts {
  readonly store: Store;
  readonly sinks: ConnectedSinks;
  readonly clock: Clock;
  /** The plan that a delivery was decided by, or why it cannot be had any more. */
  readonly plan: (configId: string) => Promise<Plan | { readonly lost: string }>;
}

export interface Carried {
  readonly claimed: Claimed;
  /** Null where there was nothing to send: the reason is in the outcome. */
  readonly prepared: Prepared | null;
  readonly ending: Ending;
}

/** A claimed delivery whose message is ready. */
interface Ready {
  readonly claimed: Claimed;
  readonly prepared: Prepared;
}

/**
 * What was claimed for one call, from their plans to the outcome of one attempt each. `config`: their sink as configured
 * today. Never throws.
 */
export async function carryOut(
  parts: CarryOutParts,
  call: readonly Claimed[],
  config: SinkConfig | undefined,
  now: number,
  shutdown: AbortSignal,
): Promise<Carried[]> {
  if (!config) return call.map((claimed) => nothingSent(claimed, sinkGone(claimed.delivery.sink)));
  const made = await Promise.all(call.map((claimed) => makeReady(parts, claimed, config, now)));
  const ready = made.filter((one): one is Ready => !('ending' in one));
  const endings = ready.length === 0 ? [] : await attemptReady(parts, ready, config, now, shutdown);
  let next = 0;
  return made.map((one) => {
    if ('ending' in one) return one;
    const { claimed, prepared } = one;
    const ending = endings[next++] ?? nothingSent(claimed, cannotBegin('it has no ending')).ending;
    return { claimed, prepared, ending: noted(ending, prepared.note) };
  });
}

async function makeReady(
  parts: CarryOutParts,
  claimed: Claimed,
  config: SinkConfig,
  now: number,
): Promise<Ready | Carried> {
  try {
    const prepared = await prepareClaimed(parts, claimed, config, now);
    return 'outcome' in prepared ? nothingSent(claimed, prepared) : { claimed, prepared };
  } catch (error) {
    return nothingSent(claimed, cannotBegin(error));
  }
}

async function prepareClaimed(
  parts: CarryOutParts,
  claimed: Claimed,
  config: SinkConfig,
  now: number,
): Promise<Prepared | Outcome> {
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
  if (action.connector !== config.connector.name) {
    const detail = `Sink ${config.name} was a ${action.connector} sink and is a ${config.connector.name} sink now.`;
    return rejected('invalid', detail, byTodaysConfig);
  }
  return prepare(action, claimed, delivery.id, plan, config, now);
}

async function attemptReady(
  parts: CarryOutParts,
  ready: readonly Ready[],
  config: SinkConfig,
  now: number,
  shutdown: AbortSignal,
): Promise<Ending[]> {
  try {
    const requests = await Promise.all(ready.map((one) => requestFor(parts.store, one, now)));
    return await parts.sinks.use(config, (sink) =>
      withDeadline(
        {
          clock: parts.clock,
          timeoutMs: config.timeoutMs,
          shutdown,
          writtenOff: (ending) => ready.map(() => ending),
        },
        (signal) => attempt(sink, asParts(ready, requests, config, signal)),
      ),
    );
  } catch (error) {
    return ready.map(({ claimed }) => nothingSent(claimed, cannotBegin(error)).ending);
  }
}

type Request = Omit<AttemptRequest<Json>, 'signal'>;

async function requestFor(
  store: Store,
  { claimed: { delivery }, prepared: { message, thread } }: Ready,
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

function asParts(
  ready: readonly Ready[],
  requests: readonly Request[],
  { onUnknown }: SinkConfig,
  signal: AbortSignal,
): Part[] {
  return ready.map(({ claimed: { delivery } }, index) => ({
    request: { ...requests[index]!, signal },
    uncertain: delivery.uncertain,
    onUnknown: isFirstSinceReplay(delivery) ? 'resend' : onUnknown,
  }));
}

/**
 * Whether a person has replayed it since its last attempt: every other way back to pending moves the due time. They were
 * told that it may have arrived, so where the tool cannot be asked their word is enough to send it.
 */
function isFirstSinceReplay({ attempts, dueAt, since }: Delivery): boolean {
  return attempts > 1 && dueAt === since;
}

const byTodaysConfig = "Replay it to send it by today's config.";

function nothingSent(claimed: Claimed, outcome: Outcome): Carried {
  return { claimed, prepared: null, ending: { outcome, askedAbsent: false, hold: false } };
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
