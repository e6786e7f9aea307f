import type { SinkConfig } from '../config/config.ts';
import type { PlannedDelivery } from '../model.ts';
import type { Outcome } from '../model/outcomes.ts';
import type { AcceptedArrival, Arrival, Claim } from '../store/store.ts';
import { type CallParts, makeCall } from './call.ts';
import type { DueLanes } from './due-lanes.ts';
import type { Holding } from './leases.ts';
import type { SinkChange } from './limits/breaker.ts';
import type { Strays } from './strays.ts';
import type { DeliveryOutcome, Ticket, Traffic } from './traffic.ts';

interface CallsParts {
  readonly call: CallParts;
  /** See WorkerParts. */
  readonly sinkChanged: (sink: string, change: SinkChange, because: Outcome | undefined) => void;
  readonly traffic: Traffic;
  readonly dueLanes: DueLanes;
  readonly strays: Strays;
  /** Null where no call to the sink may begin. */
  readonly holding: (sink: string) => Holding | null;
  /** Whether the worker is looking for due deliveries. */
  readonly isLooking: () => boolean;
  /** See Worker.wake. */
  readonly wake: (stored?: readonly PlannedDelivery[]) => void;
}

/** What a call needs. Its slot is taken. */
interface Permitted {
  readonly sink: SinkConfig | undefined;
  readonly ticket: Ticket;
  readonly holding: Holding;
}

type Reserved = Permitted & { readonly sink: SinkConfig };

/** Slots for the deliveries of an event that is about to be stored. `stored` or `failed` has to be called. */
export interface Reservation {
  /** See Arrival. */
  readonly begins: Exclude<Arrival['begins'], undefined>;
  /** Makes the calls of the deliveries that were claimed, and gives back the other slots. */
  stored(accepted: AcceptedArrival): void;
  /** Gives back the slots: the event was not stored, or that is not known. */
  failed(): void;
}

/** The calls that are under way. */
export class Calls {
  readonly #parts: CallsParts;

  constructor(parts: CallsParts) {
    this.#parts = parts;
  }

  /**
   * Takes slots for deliveries that may be sent at once. The commit that stores them claims them, too, so that the worker
   * need not look for them.
   */
  reserve(deliveries: readonly PlannedDelivery[]): Reservation {
    const { clock } = this.#parts.call;
    const [now, elapsed] = [clock.now(), clock.elapsed()];
    const taken = deliveries.map((planned) => this.#reserveOne(planned, now, elapsed));
    return {
      begins: taken.map((one) => one && { now, ...(one.holding.lease && { lease: one.holding.lease }) }),
      stored: ({ duplicate, claims }) => {
        for (const [index, one] of taken.entries()) {
          const claim = claims[index];
          if (one && claim) this.carryOut([claim], one);
          else if (one) this.#giveBack(one);
        }
        const waiting = duplicate ? [] : deliveries.filter((_, index) => taken[index] === null);
        if (waiting.length > 0) this.#parts.wake(waiting);
      },
      failed: () => {
        const { strays, wake } = this.#parts;
        for (const [index, one] of taken.entries()) {
          if (one === null) continue;
          this.#giveBack(one);
          const { sink, holding } = one;
          // The event may have been stored, and no look but one at everything would find its lane.
          if (holding.lease)
            void strays.clearUp(sink.name, holding.lease).then(() => wake([deliveries[index]!]));
        }
      },
    };
  }

  #reserveOne(
    { sink: name, lane, group, dueAt }: PlannedDelivery,
    now: number,
    elapsed: number,
  ): Reserved | null {
    const { call, holding: holdingOf, dueLanes, traffic } = this.#parts;
    const sink = call.config().sinks.get(name);
    const holding = holdingOf(name);
    if (group !== null || dueAt > now || sink === undefined || holding === null) return null;
    const ticket = dueLanes.isCrowded(lane) ? null : traffic.reserve({ sink: name, lane }, sink, elapsed);
    return ticket && { sink, ticket, holding };
  }

  #giveBack({ ticket, sink }: Reserved): void {
    this.#parts.traffic.ended(ticket, [], sink, this.#parts.call.clock.elapsed());
    this.#wakeWhoWaits();
  }

  /**
   * Carries out a call and learns from its outcomes. If a bug keeps an outcome from being recorded, the delivery stays
   * `sending` until the next start rescues it. Ending the process instead would disturb all other attempts.
   */
  carryOut(call: readonly Claim[], permitted: Permitted): void {
    const { call: parts, strays } = this.#parts;
    for (const { delivery } of call) strays.begun(delivery.id);
    const begin = () =>
      void makeCall(parts, call, permitted.sink, permitted).then(
        (ended) => this.#ended(call, permitted, ended),
        (error: unknown) => {
          parts.callFailed(error);
          this.#ended(call, permitted, []);
        },
      );
    const waitMs = permitted.ticket.startAt - parts.clock.elapsed();
    if (waitMs > 0) parts.clock.after(waitMs, begin);
    else begin();
  }

  #ended(call: readonly Claim[], { sink, ticket }: Permitted, ended: readonly DeliveryOutcome[]): void {
    const { traffic, strays, sinkChanged, wake } = this.#parts;
    const { clock, sinks, shutdown } = this.#parts.call;
    // Outcomes of aborted attempts say nothing about the sink.
    const conclusive = shutdown.aborted ? [] : ended;
    const usage = sinks.takeUsage(ticket.key.sink);
    const change = traffic.ended(ticket, conclusive, sink, clock.elapsed(), usage);
    if (change) sinkChanged(ticket.key.sink, change, conclusive[0]?.outcome);
    for (const { delivery } of call) strays.ended(delivery.id);
    const allArrived =
      ended.length === call.length &&
      ended.every(({ outcome, again }) => outcome.outcome === 'delivered' && !again);
    if (allArrived && change === null) this.#wakeWhoWaits();
    else wake();
  }

  /** Wakes the worker for a free slot, unless nothing waits for one: a look at the store costs more than the call. */
  #wakeWhoWaits(): void {
    const { traffic, dueLanes, isLooking, wake } = this.#parts;
    if (isLooking() || dueLanes.isAnyCrowded || traffic.isAnyPaused) wake();
  }
}
