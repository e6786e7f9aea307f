import type { Logger } from 'pino';
import type { Config } from './config/config.ts';
import { networkOf } from './http/addresses.ts';
import { eventIds } from './support/ids.ts';
import { type Event, noFacts, unknownOfEvent } from './model.ts';
import type { Inbox } from './receiver/receive.ts';
import type { RefusedFigures } from './ops/refused.ts';
import { decide } from './rules/decide.ts';
import { keptRejected } from './store/operations/receiving.ts';
import type { Store } from './store/store.ts';

const keptBodyLength = 2048;

export interface IntakeParts {
  readonly store: Store;
  /** Absent: nobody wants to know. */
  readonly refused?: Pick<RefusedFigures, 'add'>;
  readonly config: () => Config;
  /** Called when there is something new to deliver. */
  readonly wake: () => void;
  readonly log: Logger;
  /** Makes event ids. They continue after those in the store. */
  readonly nextId?: (now: number) => string;
}

/** Decides the deliveries of an event by today's rules, and stores it with them in one commit. */
export function createIntake({ store, refused, config, wake, log, nextId = eventIds() }: IntakeParts): Inbox {
  return {
    async accept({ event: received, raw, correlationId: given, receivedAt }) {
      const { plan, idempotency } = config();
      // Some senders put their token into every header. It must not be stored or shown.
      const correlationId = given && config().mask(given);
      const id = nextId(receivedAt);
      const event: Event = { ...unknownOfEvent, id, ...received, raw, correlationId, receivedAt };
      const deliveries = decide(plan, event, noFacts, receivedAt);
      const arrival = { event, configId: plan.id, deliveries, windowMs: idempotency.windowMs };
      const acceptance = await store.accept(arrival);
      if (!acceptance.duplicate && deliveries.length > 0) wake();
      return acceptance;
    },
    countRefused(reason, address, at) {
      const from = config().mask(networkOf(address));
      refused?.add({ reason, from, count: 1, first: at, last: at });
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
