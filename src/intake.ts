import type { Logger } from 'pino';
import type { Config } from './config/config.ts';
import { networkOf } from './http/addresses.ts';
import { lookupsOf } from './deliveries/deciding.ts';
import { eventIds, refusedIds } from './support/ids.ts';
import { type Event, type JsonMap, noFacts } from './model.ts';
import { isKeptFor, type WholeRefusedEvent } from './model/notices.ts';
import type { Worker } from './deliveries/worker.ts';
import type { Inbox, ReceivedEvent } from './receiver/receive.ts';
import type { RefusedFigures } from './ops/refused.ts';
import { decide } from './rules/decide.ts';
import { keptRejected } from './store/operations/receiving.ts';
import type { Acceptance, AcceptedArrival, Arrival, By, Store } from './store/store.ts';

const keptBodyLength = 2048;

export interface IntakeParts {
  readonly store: Store;
  /** Counts and keeps refused events. Absent: nobody does. */
  readonly refused?: Pick<RefusedFigures, 'add'>;
  readonly config: () => Pick<Config, 'plan' | 'idempotency' | 'mask'>;
  /** Absent: another process delivers. */
  readonly worker?: Pick<Worker, 'reserve'>;
  /** Called when an event was stored undecided. */
  readonly undecided?: () => void;
  /** See Deciding.mayWait. */
  readonly mayWait?: () => boolean;
  readonly log: Logger;
  /** Makes event ids, greater than those in the store. */
  readonly nextId?: (now: number) => string;
}

/** The person who takes an event in. `windowMs` is used in place of `idempotency.window`. */
type ByHand = NonNullable<Arrival['byHand']> & Pick<Arrival, 'windowMs'>;

export type Accept = (received: ReceivedEvent, byHand?: ByHand) => Promise<Acceptance>;

/**
 * Makes the function that takes events in: it decides the deliveries of an event by today's rules, and stores both in one
 * commit; or the event with its look-ups, to be decided when these have ended.
 */
export function accepting({
  store,
  config,
  worker,
  undecided,
  mayWait,
  nextId = eventIds(),
}: Omit<IntakeParts, 'refused' | 'log'>): Accept {
  return (received, byHand) => {
    const { plan, idempotency, mask } = config();
    const { correlationId: given, receivedAt } = received;
    const { candidateId, candidateNumericalId, testId, status } = received.event;
    const event: Event = {
      id: nextId(receivedAt),
      candidateId,
      candidateNumericalId,
      testId,
      status,
      receivedAt,
      // Masked, as some senders put their token into every header.
      correlationId: given && mask(given),
      traceparent: received.traceparent,
      raw: received.raw,
    };
    const deliveries = decide(plan, event, noFacts, receivedAt);
    const lookups = lookupsOf(plan, event) ?? (mayWait?.() ? { asked: [], until: null } : undefined);
    const reservation = worker?.reserve(lookups && lookups.asked.length > 0 ? lookups.asked : deliveries);
    const arrival = {
      event,
      configId: plan.id,
      deliveries,
      begins: reservation?.begins,
      windowMs: (byHand ?? idempotency).windowMs,
      lookups,
      byHand,
    };
    const stored = (accepted: AcceptedArrival): Acceptance => {
      reservation?.stored(accepted);
      if (accepted.undecided) undecided?.();
      return accepted;
    };
    return store.accept(arrival).then(stored, (error: unknown) => {
      reservation?.failed();
      throw error;
    });
  };
}

/** A kept refused event, as if it were received at that time. */
export function asReceived(kept: WholeRefusedEvent, receivedAt: number): ReceivedEvent {
  const { candidateId, candidateNumericalId, testId, status, correlationId } = kept;
  const event = { candidateId, candidateNumericalId, testId, status };
  return { event, raw: JSON.parse(kept.raw) as JsonMap, correlationId, traceparent: null, receivedAt };
}

/**
 * How far back from `receivedAt` (ms) an event of the same content makes a refused one a duplicate: to when that was refused,
 * and by `idempotency.window` further.
 */
export const acceptanceWindowMs = (
  { idempotency }: Pick<Config, 'idempotency'>,
  { at }: Pick<WholeRefusedEvent, 'at'>,
  receivedAt: number,
): number => idempotency.windowMs + Math.max(0, receivedAt - at);

export interface AcceptRefusedParts {
  readonly store: Pick<Store, 'now' | 'putAwayRefused' | 'refusedEvent'>;
  readonly config: IntakeParts['config'];
  readonly accept: Accept;
}

/** Takes a refused event in as if it came now. Resolves to null if there is none with this id. */
export async function acceptRefused(
  id: string,
  by: By,
  { store, config, accept }: AcceptRefusedParts,
): Promise<Acceptance | null> {
  const kept = await store.refusedEvent(id);
  if (kept === null) return null;
  const receivedAt = await store.now();
  const windowMs = acceptanceWindowMs(config(), kept, receivedAt);
  const doing = { action: 'accept', by } as const;
  const accepted = await accept(asReceived(kept, receivedAt), { ...doing, windowMs });
  // Of a new event, `accept` has told the audit. If this fails, the next try finds a duplicate, and tells it here.
  await store.putAwayRefused([id], accepted.duplicate ? { ...doing, at: receivedAt } : null);
  return accepted;
}

/** Makes the inbox to which the receiver hands events and requests over. */
export function createIntake(parts: IntakeParts, accept = accepting(parts)): Inbox {
  const { store, refused, config, log } = parts;
  const nextRefusedId = refusedIds();
  const sourceOf = (address: string) => config().mask(networkOf(address));
  return {
    accept: (received) => accept(received),
    noRoom(address, at) {
      refused?.add({ reason: 'connections', from: sourceOf(address), count: 1, first: at, last: at });
    },
    keepRefused(reason, address, { event, raw, correlationId: given, receivedAt: at }) {
      const from = sourceOf(address);
      const correlationId = given && config().mask(given);
      refused?.add(
        { reason, from, count: 1, first: at, last: at },
        isKeptFor(reason)
          ? {
              id: nextRefusedId(at),
              at,
              from,
              reason,
              ...event,
              correlationId,
              attempts: 1,
              raw: JSON.stringify(raw),
            }
          : null,
      );
    },
    keepRejected(request) {
      const mask = (text: string) => config().mask(text);
      const kept = {
        ...request,
        correlationId: request.correlationId && mask(request.correlationId),
        faults: request.faults.map(mask),
        body: mask(request.body).slice(0, keptBodyLength),
      };
      store.keepRejected(kept, keptRejected).catch((error: unknown) => {
        log.error({ err: error, status: request.status }, 'a rejected request could not be stored');
      });
    },
  };
}
