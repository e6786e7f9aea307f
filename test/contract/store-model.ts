import { deliveryId } from '../../src/support/ids.ts';
import type { Delivery, Event, Json, PlannedDelivery } from '../../src/model.ts';
import type { Attempt } from '../../src/model/outcomes.ts';
import type {
  Acceptance,
  Arrival,
  AttemptResult,
  Claim,
  DeliveryStory,
  EventDetail,
  LaneHead,
  NoticeArrival,
  NoticeDetail,
} from '../../src/store/store.ts';

interface KeptEvent {
  readonly arrival: Arrival;
  readonly duplicates: { receivedAt: number; correlationId: string | null }[];
  readonly deliveries: KeptDelivery[];
}

interface KeptNotice {
  readonly arrival: NoticeArrival;
  readonly deliveries: KeptDelivery[];
}

export type KeptDelivery = { -readonly [key in keyof Delivery]: Delivery[key] } & {
  startedAt: number;
  endedAt: number;
  message: Json | null;
  history: Attempt[];
};

/** The model has no rows. */
export type ModelClaim = Omit<Claim, 'row'>;

/** Nobody has to decide about it any more. */
const final: ReadonlySet<Delivery['state']> = new Set(['delivered', 'discarded']);

/** What a store has to do, in the plainest way: lists that are searched from end to end. */
export class StoreModel {
  readonly events: KeptEvent[] = [];
  readonly #notices: KeptNotice[] = [];

  accept(arrival: Arrival): Acceptance & { claims: readonly (ModelClaim | null)[] } {
    const { event } = arrival;
    const same = this.events.filter((kept) => contentOf(kept.arrival) === contentOf(arrival));
    const retried = same.find((kept) => event.correlationId !== null && cameUnder(kept, event.correlationId));
    const latest = same.at(-1);
    const recent = latest && Math.abs(event.receivedAt - latest.arrival.event.receivedAt) < arrival.windowMs;
    const repeated = retried ?? (recent ? latest : undefined);
    if (repeated) {
      repeated.duplicates.push({ receivedAt: event.receivedAt, correlationId: event.correlationId });
      return { eventId: repeated.arrival.event.id, duplicate: true, correlationReused: false, claims: [] };
    }
    const correlationReused =
      event.correlationId !== null && this.events.some((kept) => cameUnder(kept, event.correlationId!));
    const deliveries = arrival.deliveries.map((planned, index) => ({
      ...fresh(planned, arrival.configId, event.receivedAt),
      id: deliveryId(event.id, index + 1),
      eventId: event.id,
    }));
    this.events.push({ arrival, duplicates: [], deliveries });
    const claims = (arrival.begins ?? []).map(
      (begin, index) => begin && this.#begin(deliveries[index]!, begin.now),
    );
    return { eventId: event.id, duplicate: false, correlationReused, claims };
  }

  raise(arrival: NoticeArrival): boolean {
    const { cause, id, raisedAt } = arrival.notice;
    const quiet = this.#notices.some(
      ({ arrival: { notice } }) => notice.cause === cause && notice.raisedAt > raisedAt - arrival.quietMs,
    );
    if (quiet) return false;
    const deliveries = arrival.deliveries.map((planned, index) => ({
      ...fresh({ ...planned, group: null, groupMax: null }, arrival.configId, raisedAt),
      id: deliveryId(id, index + 1),
      noticeId: id,
    }));
    this.#notices.push({ arrival, deliveries });
    return true;
  }

  lanes(): Omit<LaneHead, 'seq'>[] {
    const lanes = [...new Set(this.#in('pending').map(({ lane }) => lane))].toSorted();
    return lanes.flatMap((lane) =>
      this.#waiting(lane)
        .slice(0, 1)
        .map(({ sink, dueAt }) => ({ lane, sink, dueAt })),
    );
  }

  claim({ lane, now, limit }: { lane: string; now: number; limit: number }): ModelClaim[] {
    const claimed: ModelClaim[] = [];
    while (claimed.length < limit) {
      const due = this.#waiting(lane).find(({ dueAt }) => dueAt <= now);
      if (!due) break;
      claimed.push(this.#begin(due, now));
    }
    return claimed;
  }

  #begin(due: KeptDelivery, now: number): ModelClaim {
    if (due.group !== null && due.carrier === null) this.#gather(due, now);
    const together = this.#together(due);
    for (const kept of together) {
      kept.state = 'sending';
      kept.attempts += 1;
      kept.startedAt = now;
      kept.firstAttemptAt ??= now;
    }
    const notice = this.#notices.find(({ deliveries }) => deliveries.includes(due))?.arrival.notice;
    return {
      delivery: toDelivery(due),
      events: notice ? [] : together.map((kept) => this.#eventOf(kept)),
      notice: notice ?? null,
      claimedAt: now,
    };
  }

  #gather(first: KeptDelivery, now: number): void {
    const alike = this.#waiting(first.lane).filter(
      ({ sink, group, carrier, dueAt }) =>
        sink === first.sink && group === first.group && carrier === null && dueAt <= now,
    );
    for (const kept of alike.slice(0, first.groupMax!)) kept.carrier = first.id;
  }

  /** All that share the message of a delivery, in order of acceptance. */
  #together(kept: KeptDelivery): KeptDelivery[] {
    return kept.carrier === null ? [kept] : this.#all().filter(({ carrier }) => carrier === kept.carrier);
  }

  #eventOf(kept: KeptDelivery): Event {
    return this.events.find(({ deliveries }) => deliveries.includes(kept))!.arrival.event;
  }

  record(id: string, result: AttemptResult): void {
    const { attempt, state, dueAt, uncertain, progress, lastError, message } = result;
    const found = this.find(id);
    if (found?.state !== 'sending' || found.attempts !== attempt.number) return;
    for (const kept of this.#together(found)) {
      Object.assign(kept, { state, dueAt: dueAt ?? kept.dueAt, uncertain, progress, lastError });
      if (attempt.outcome.outcome === 'unknown') kept.composedAt ??= attempt.startedAt;
      if (!uncertain) kept.composedAt = null;
      kept.endedAt = result.settledAt;
      if (attempt.outcome.outcome === 'unknown') kept.replayed = false;
      if (attempt.outcome.outcome === 'delivered') kept.receipt = attempt.outcome.receipt;
      if (message !== null) kept.message = JSON.parse(message) as Json;
      kept.history.push(attempt);
    }
  }

  rescue(now: number, interrupted: (attempt: number) => Attempt): number {
    const left = this.#in('sending');
    for (const kept of left) {
      const attempt = { ...interrupted(kept.attempts), startedAt: kept.startedAt, endedAt: now };
      const lastError = 'detail' in attempt.outcome ? attempt.outcome.detail : null;
      Object.assign(kept, { state: 'pending', dueAt: now, uncertain: true, replayed: false, lastError });
      kept.composedAt ??= kept.startedAt;
      kept.history.push(attempt);
    }
    return left.length;
  }

  defer(id: string, until: number, now: number, lane: string | null): void {
    const found = this.find(id);
    if (found?.state !== 'sending') return;
    for (const kept of this.#together(found)) {
      Object.assign(kept, { state: 'pending', dueAt: until, lane: lane ?? kept.lane });
      kept.attempts -= 1;
      if (kept.attempts === 0) Object.assign(kept, { firstAttemptAt: null, carrier: null });
      else kept.since += until - now;
    }
  }

  replay(id: string, configId: string, planned: PlannedDelivery, now: number): void {
    const found = this.find(id);
    if (found?.state !== 'dead' && found?.state !== 'held') return;
    for (const kept of this.#together(found)) {
      const progress = kept.connector === planned.connector ? kept.progress : null;
      const { group, groupMax } = kept;
      const again = { state: 'pending', configId, dueAt: now, since: now, replayed: true, progress };
      Object.assign(kept, planned, again, { group, groupMax, composedAt: null });
    }
  }

  discard(id: string, now: number): void {
    const found = this.find(id);
    if (!found || !['pending', 'dead', 'held'].includes(found.state)) return;
    for (const kept of this.#together(found)) Object.assign(kept, { state: 'discarded', endedAt: now });
  }

  resend(id: string, configId: string, planned: PlannedDelivery, now: number): void {
    const found = this.find(id);
    const siblings = this.#all().filter(
      (one) => one.eventId === found?.eventId && one.noticeId === found.noticeId,
    );
    const isOpen = siblings.some(
      ({ resendOf, sink, state }) =>
        resendOf === id && sink === planned.sink && ['pending', 'sending'].includes(state),
    );
    if (found?.state !== 'delivered' || isOpen) return;
    const again = { ...planned, dueAt: now, group: null, groupMax: null };
    this.#add(found, { ...fresh(again, configId, found.createdAt), replayed: true, resendOf: id });
  }

  /** To the event at this place, the oldest being the first. */
  apply(place: number, configId: string, planned: readonly PlannedDelivery[]): void {
    const { arrival, deliveries } = this.events[place]!;
    const { id, receivedAt } = arrival.event;
    if (deliveries.some(({ rule }) => rule === planned[0]?.rule)) return;
    for (const one of planned)
      deliveries.push({
        ...fresh(one, configId, receivedAt),
        id: deliveryId(id, deliveries.length + 1),
        eventId: id,
      });
  }

  /** Beside another one, of the same event or notice. */
  #add({ eventId, noticeId }: Delivery, kept: KeptDelivery): void {
    const { deliveries } = [
      ...this.events.map((one) => ({ ...one, id: one.arrival.event.id })),
      ...this.#notices.map((one) => ({ ...one, id: one.arrival.notice.id })),
    ].find(({ id }) => id === (eventId ?? noticeId))!;
    const id = deliveryId((eventId ?? noticeId)!, deliveries.length + 1);
    deliveries.push({ ...kept, id, eventId, noticeId });
  }

  prune(before: number): number {
    const pruned =
      removeAll(
        this.events,
        ({ arrival, deliveries }) => arrival.event.receivedAt < before && isOver(deliveries, before),
      ) +
      removeAll(
        this.#notices,
        ({ arrival, deliveries }) => arrival.notice.raisedAt < before && isOver(deliveries, before),
      );
    for (const kept of this.#all()) {
      if (kept.carrier !== null && !this.find(kept.carrier)) {
        const left = this.#together(kept);
        for (const one of left) one.carrier = left.at(-1)!.id;
      }
    }
    return pruned;
  }

  find(id: string): KeptDelivery | undefined {
    return this.#all().find((kept) => kept.id === id);
  }

  details(): EventDetail[] {
    return this.events.map(({ arrival, duplicates, deliveries }) => ({
      event: arrival.event,
      configId: arrival.configId,
      duplicates,
      decided: true,
      deliveries: deliveries.map(toStory),
      lookups: [],
    }));
  }

  noticeDetails(): NoticeDetail[] {
    return this.#notices.map(({ arrival, deliveries }) => ({
      notice: arrival.notice,
      configId: arrival.configId,
      deliveries: deliveries.map(toStory),
    }));
  }

  ids(): string[] {
    return this.#all().map(({ id }) => id);
  }

  #all(): KeptDelivery[] {
    return [...this.events, ...this.#notices].flatMap(({ deliveries }) => deliveries);
  }

  #in(state: Delivery['state']): KeptDelivery[] {
    return this.#all().filter((kept) => kept.state === state);
  }

  /**
   * What a claim may begin. In order of acceptance where they are due at the same time, since sorting is stable.
   */
  #waiting(lane: string): KeptDelivery[] {
    return this.#in('pending')
      .filter((kept) => kept.lane === lane && (kept.carrier === null || kept.carrier === kept.id))
      .toSorted((a, b) => a.dueAt - b.dueAt);
  }
}

function toStory(kept: KeptDelivery): DeliveryStory {
  const { startedAt: _, endedAt: __, ...story } = kept;
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

function isOver(deliveries: readonly KeptDelivery[], before: number): boolean {
  return deliveries.every(({ state, endedAt }) => final.has(state) && endedAt < before);
}

/** Returns how many. */
function removeAll<T>(list: T[], of: (one: T) => boolean): number {
  const gone = list.filter(of);
  for (const one of gone) list.splice(list.indexOf(one), 1);
  return gone.length;
}

function fresh(planned: PlannedDelivery, configId: string, createdAt: number): KeptDelivery {
  return {
    ...planned,
    id: '',
    eventId: null,
    noticeId: null,
    configId,
    state: 'pending',
    carrier: null,
    createdAt,
    since: planned.dueAt,
    attempts: 0,
    firstAttemptAt: null,
    uncertain: false,
    replayed: false,
    resendOf: null,
    composedAt: null,
    progress: null,
    receipt: null,
    lastError: null,
    startedAt: 0,
    endedAt: 0,
    message: null,
    history: [],
  };
}
