import type { Config, SinkConfig } from '../../config/config.ts';
import type { LaneHead } from '../../store/store.ts';
import type { Clock, Moment } from '../../support/clock.ts';
import { faultOf } from '../sinks/checks.ts';
import type { Holding } from '../leases.ts';
import type { Traffic } from '../traffic.ts';

interface AskingParts extends Omit<Parameters<typeof faultOf>[0], 'holding' | 'mask'> {
  readonly config: () => Pick<Config, 'sinks' | 'mask'>;
  readonly traffic: Traffic;
  readonly clock: Clock;
  /** Null where no call to the sink may begin. */
  readonly holding: (sink: string) => Holding | null;
  readonly wake: () => void;
}

/**
 * Asks paused sinks for which nothing waits whether they answer, without sending a message. People see why a sink does not
 * answer; if it does, the next message is tried at once. Where a person wants a sink tried, it is also asked while deliveries wait that are not due.
 */
export class Asking {
  readonly #parts: AskingParts;
  /** The sinks that a person wants tried. */
  readonly #wanted = new Set<string>();

  constructor(parts: AskingParts) {
    this.#parts = parts;
  }

  /** Has a sink asked by the next `askIdle`, as a person wants it tried. */
  askSoon(sink: string): void {
    this.#wanted.add(sink);
  }

  askIdle(heads: readonly LaneHead[], { now, elapsed }: Moment): void {
    const { traffic, config, holding: holdingOf } = this.#parts;
    for (const name of traffic.pauses().keys()) {
      const isWanted = this.#wanted.delete(name);
      const sink = config().sinks.get(name);
      const holding = holdingOf(name);
      const isTried = heads.some((head) => head.sink === name && (!isWanted || head.dueAt <= now));
      if (sink && holding && !isTried && traffic.mayAsk(name, isWanted, elapsed))
        void this.#ask(sink, holding);
    }
    this.#wanted.clear();
  }

  async #ask(sink: SinkConfig, holding: Holding): Promise<void> {
    const { traffic, clock, config, deadlines, wake } = this.#parts;
    traffic.beginAsking(sink.name);
    const fault = await faultOf({ ...this.#parts, holding, mask: config().mask }, sink);
    if (!deadlines.shutdown.aborted) traffic.asked(sink, fault, clock.elapsed());
    traffic.endAsking(sink.name);
    wake();
  }
}
