import type { Logger } from 'pino';
import type { Config } from './config/config.ts';
import { eventIds } from './support/ids.ts';
import type { Event } from './model.ts';
import type { Inbox } from './receiver/receive.ts';
import { decide } from './rules/decide.ts';
import type { RejectedRequest, Store } from './store/store.ts';

/** How many refused requests are kept to look at. */
const rejectedKept = 1000;
const keptBodyLength = 2048;

export interface IntakeParts {
  readonly store: Store;
  readonly config: () => Config;
  /** Called when there is something new to deliver. */
  readonly wake: () => void;
  readonly log: Logger;
  /** Makes event ids; a simulation has its own, and a process goes on after those in its store. */
  readonly nextId?: (now: number) => string;
}

/** The way in: an event that the receiver took is decided by today's rules and kept with its deliveries, in one commit. */
export function createIntake({ store, config, wake, log, nextId = eventIds() }: IntakeParts): Inbox {
  return {
    async accept({ event: received, raw, correlationId: given, receivedAt }) {
      const { plan, idempotency } = config();
      // Some senders put their token into every header; it would be kept, shown and rendered.
      const correlationId = given && config().mask(given);
      const event: Event = { id: nextId(receivedAt), ...received, raw, correlationId, receivedAt };
      const deliveries = decide(plan, event, receivedAt);
      const arrival = { event, configId: plan.id, deliveries, windowMs: idempotency.windowMs };
      const acceptance = await store.accept(arrival);
      if (!acceptance.duplicate && deliveries.length > 0) wake();
      return acceptance;
    },
    keepRejected(request) {
      store.keepRejected(masked(request, config()), rejectedKept).catch((error: unknown) => {
        log.error({ err: error, status: request.status }, 'a refused request could not be kept');
      });
    },
  };
}

function masked(request: RejectedRequest, config: Config): RejectedRequest {
  const mask = (text: string) => config.mask(text);
  return {
    ...request,
    correlationId: request.correlationId && mask(request.correlationId),
    faults: request.faults.map(mask),
    body: mask(request.body).slice(0, keptBodyLength),
  };
}
