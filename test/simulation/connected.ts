import { pino } from 'pino';
import type { Config } from '../../src/config/config.ts';
import type { FindPlan } from '../../src/config/live/stored-plans.ts';
import type { AttemptReport } from '../../src/deliveries/call.ts';
import { ConnectedSinks } from '../../src/deliveries/sinks/connected-sinks.ts';
import { Worker } from '../../src/deliveries/worker.ts';
import { createIntake } from '../../src/intake.ts';
import { Deciding, withLookupSinks } from '../../src/deliveries/deciding.ts';
import { lookupConnector } from '../../src/model.ts';
import type { VirtualClock } from '../../src/scenarios/virtual-clock.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { eventIds } from '../../src/support/ids.ts';

/** The store of a play, unless it is given another one. */
export const inMemory = (): Promise<Store> => openSqlite(':memory:', { serve: false });

export interface Connected {
  readonly worker: Worker;
  readonly inbox: ReturnType<typeof createIntake>;
  readonly deciding: Deciding;
  stop(): Promise<void>;
}

/** Events become messages, as in the program: intake, look-ups and deliveries of one store. Ends with `stop`. */
export function startDeliveries(parts: {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly random: () => number;
  readonly config: () => Config;
  readonly plan: FindPlan;
  /** Hears of the attempts at messages. */
  readonly observe: (report: AttemptReport) => void;
  /** Hears of what must not be. */
  readonly failed: (error: unknown) => void;
  readonly pollMs: number;
  /** The id of the newest event of a process before this one. */
  readonly after?: string | undefined;
}): Connected {
  const { store, clock, random, config, plan, observe, failed, pollMs, after } = parts;
  const sinks = new ConnectedSinks();
  const deciding: Deciding = new Deciding({
    store,
    clock,
    config,
    plan,
    wake: (stored) => worker.wake(stored),
    failed,
  });
  const worker: Worker = new Worker({
    store,
    sinks,
    clock,
    random,
    config: () => withLookupSinks(config()),
    plan,
    observe: (report) => {
      if (report.delivery.connector === lookupConnector) deciding.wake();
      else observe(report);
      worker.wake();
    },
    sinkChanged: () => {},
    pulledIn: () => {},
    clockDoubted: () => false,
    storeFailed: failed,
    callFailed: failed,
    pollMs,
  });
  const inbox = createIntake({
    store,
    config,
    worker,
    undecided: () => deciding.wake(),
    log: pino({ level: 'silent' }),
    nextId: eventIds({ after, random: () => 0 }),
  });
  return {
    worker,
    inbox,
    deciding,
    async stop() {
      await deciding.stop();
      await worker.stop(0);
      await sinks.close();
    },
  };
}
