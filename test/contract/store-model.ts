import { deliveryId } from '../../src/ids.ts';
import type { Attempt, Delivery, Json, PlannedDelivery } from '../../src/model.ts';
import type {
  Acceptance,
  Arrival,
  AttemptResult,
  Claimed,
  DeliveryStory,
  EventDetail,
  LaneHead,
} from '../../src/store/store.ts';

interface KeptEvent {
  readonly arrival: Arrival;
  readonly duplicates: { receivedAt: number; correlationId: string | null }[];
  readonly deliveries: KeptDelivery[];
}

export type KeptDelivery = { -readonly [key in keyof Delivery]: Delivery[key] } & {
  startedAt: number;
  message: Json | null;
  history: Attempt[];
};

const final: ReadonlySet<Delivery['state']> = new Set(['delivered', 'dead', 'discarded']);

/** What a store has to do, in the plainest way: lists that are searched from end to end. */
export class StoreModel {
  readonly events: KeptEvent[] = [];

  accept(arrival: Arrival): Acceptance {
    const { event } = arrival;
    const same = this.events.filter((kept) => contentOf(kept.arrival) === contentOf(arrival));
    const retried = same.find((kept) => event.correlationId !== null && cameUnder(kept, event.correlationId));
    const latest = same.at(-1);
    const recent = latest && event.receivedAt - latest.arrival.event.receivedAt < arrival.windowMs;
    const repeated = retried ?? (recent ? latest : undefined);
    if (repeated) {
      repeated.duplicates.push({ receivedAt: event.receivedAt, correlationId: event.correlationId });
      return { eventId: repeated.arrival.event.id, duplicate: true, correlationReused: false };
    }
    const correlationReused =
      event.correlationId !== null && this.events.some((kept) => cameUnder(kept, event.correlationId!));
    const deliveries = arrival.deliveries.map((planned, index) => fresh(arrival, planned, index + 1));
    this.events.push({ arrival, duplicates: [], deliveries });
    return { eventId: event.id, duplicate: false, correlationReused };
  }

  lanes(): LaneHead[] {
    const lanes = [...new Set(this.#in('pending').map(({ lane }) => lane))].toSorted();
    return lanes.map((lane) => {
      const [head] = this.#waiting(lane);
      return { lane, sink: head!.sink, dueAt: head!.dueAt };
    });
  }

  claim({ lane, now, limit }: { lane: string; now: number; limit: number }): Claimed[] {
    const due = this.#waiting(lane).filter(({ dueAt }) => dueAt <= now);
    return due.slice(0, limit).map((kept) => {
      kept.state = 'sending';
      kept.attempts += 1;
      kept.startedAt = now;
      kept.firstAttemptAt ??= now;
      const { arrival } = this.events.find(({ deliveries }) => deliveries.includes(kept))!;
      return { delivery: toDelivery(kept), events: [arrival.event], notice: null };
    });
  }

  record(result: AttemptResult): void {
    const { deliveryId: id, attempt, state, dueAt, uncertain, progress, lastError, message } = result;
    const kept = this.find(id);
    if (kept?.state !== 'sending' || kept.attempts !== attempt.number) return;
    Object.assign(kept, { state, dueAt: dueAt ?? kept.dueAt, uncertain, progress, lastError });
    if (attempt.outcome.outcome === 'delivered') kept.receipt = attempt.outcome.receipt;
    kept.message = message ?? kept.message;
    kept.history.push(attempt);
  }

  rescue(now: number, interrupted: (attempt: number) => Attempt): number {
    const left = this.#in('sending');
    for (const kept of left) {
      const attempt = { ...interrupted(kept.attempts), startedAt: kept.startedAt, endedAt: now };
      const lastError = 'detail' in attempt.outcome ? attempt.outcome.detail : null;
      Object.assign(kept, { state: 'pending', dueAt: now, uncertain: true, lastError });
      kept.history.push(attempt);
    }
    return left.length;
  }

  release(id: string): void {
    const kept = this.find(id);
    if (kept?.state !== 'sending') return;
    kept.state = 'pending';
    kept.attempts -= 1;
    if (kept.attempts === 0) kept.firstAttemptAt = null;
  }

  replay(id: string, configId: string, planned: PlannedDelivery, now: number): void {
    const kept = this.find(id);
    if (kept?.state !== 'dead' && kept?.state !== 'held') return;
    const progress = kept.connector === planned.connector ? kept.progress : null;
    Object.assign(kept, planned, { state: 'pending', configId, dueAt: now, since: now, progress });
  }

  discard(id: string): void {
    const kept = this.find(id);
    if (kept && ['pending', 'dead', 'held'].includes(kept.state)) kept.state = 'discarded';
  }

  prune(before: number): number {
    const old = this.events.filter(
      ({ arrival, deliveries }) =>
        arrival.event.receivedAt < before && deliveries.every(({ state }) => final.has(state)),
    );
    for (const event of old) this.events.splice(this.events.indexOf(event), 1);
    return old.length;
  }

  find(id: string): KeptDelivery | undefined {
    return this.#all().find((kept) => kept.id === id);
  }

  details(): EventDetail[] {
    return this.events.map(({ arrival, duplicates, deliveries }) => ({
      event: arrival.event,
      configId: arrival.configId,
      duplicates,
      deliveries: deliveries.map(toStory),
    }));
  }

  #all(): KeptDelivery[] {
    return this.events.flatMap(({ deliveries }) => deliveries);
  }

  #in(state: Delivery['state']): KeptDelivery[] {
    return this.#all().filter((kept) => kept.state === state);
  }

  /** In order of acceptance where they are due at the same time, since sorting is stable. */
  #waiting(lane: string): KeptDelivery[] {
    return this.#in('pending')
      .filter((kept) => kept.lane === lane)
      .toSorted((a, b) => a.dueAt - b.dueAt);
  }
}

function toStory(kept: KeptDelivery): DeliveryStory {
  const { startedAt: _, ...story } = kept;
  return story;
}

export function toDelivery(kept: KeptDelivery): Delivery {
  const { message: _, history: __, ...delivery } = toStory(kept);
  return delivery;
}

function contentOf({ event }: Arrival): string {
  return `${event.candidateId} ${event.testId} ${event.status}`;
}

function cameUnder({ arrival, duplicates }: KeptEvent, correlationId: string): boolean {
  return [arrival.event, ...duplicates].some((one) => one.correlationId === correlationId);
}

function fresh({ event, configId }: Arrival, planned: PlannedDelivery, n: number): KeptDelivery {
  return {
    ...planned,
    id: deliveryId(event.id, n),
    eventId: event.id,
    noticeId: null,
    carrier: null,
    configId,
    state: 'pending',
    createdAt: event.receivedAt,
    since: planned.dueAt,
    attempts: 0,
    firstAttemptAt: null,
    uncertain: false,
    progress: null,
    receipt: null,
    lastError: null,
    startedAt: 0,
    message: null,
    history: [],
  };
}
