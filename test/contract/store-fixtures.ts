import { DatabaseSync } from 'node:sqlite';
import { deliveryId } from '../../src/support/ids.ts';
import { lookupSink, type Event, type PlannedDelivery } from '../../src/model.ts';
import type { RaisedNotice } from '../../src/model/notices.ts';
import type { Delivered, Outcome, Rejected } from '../../src/model/outcomes.ts';
import { eventWith } from '../fixtures/event.ts';
import type {
  Acceptance,
  Arrival,
  AttemptResult,
  By,
  Claim,
  Decider,
  LeaseRequest,
  Store,
} from '../../src/store/store.ts';

export const t0 = Date.UTC(2026, 0, 1);
export const minute = 60_000;
export const day = 24 * 60 * minute;
export const configId = 'cfg_first';

/** Who changes something by hand. */
export const person: By = { who: 'dana', from: 'a command on a machine', note: 'the channel is there now' };

let arrivals = 0;

/** An arrival of a candidate nobody saw before, with one delivery. */
export function arrival(event: Partial<Event> = {}, rest: Partial<Omit<Arrival, 'event'>> = {}): Arrival {
  arrivals += 1;
  const candidateId = event.candidateId ?? `candidate-${arrivals}`;
  const whole = eventWith({
    id: `evt_${String(arrivals).padStart(26, '0')}`,
    candidateId,
    candidateNumericalId: 7,
    raw: { candidateId, extra: ['kept', { as: 'it came' }] },
    correlationId: `correlation-${arrivals}`,
    receivedAt: t0,
    ...event,
  });
  return {
    event: whole,
    configId,
    deliveries: [planned({ dueAt: whole.receivedAt })],
    windowMs: day,
    ...rest,
  };
}

export const lookupLane = lookupSink('candidate');
const asked = (sink: string): PlannedDelivery =>
  planned({ rule: sink, sink, connector: 'lookup', lane: sink });

/** Of a candidate whose events have look-ups, or wait for earlier ones. */
export const undecided = (
  candidateId: string,
  sinks: readonly string[] = [lookupLane],
  receivedAt = t0,
): Arrival =>
  arrival(
    { candidateId, receivedAt },
    {
      windowMs: 0,
      lookups: { asked: sinks.map(asked), until: sinks.length > 0 ? receivedAt + minute : null },
    },
  );

/** Says whom the look-ups found, to a channel. */
export const decider = (changes: Partial<Decider> = {}): Decider => ({
  configId,
  until: ({ createdAt }) => createdAt + minute,
  givenUp: () => ({ progress: { state: 'unknown' }, personalUntil: null }),
  decide: (lookups) => [
    planned({ rule: lookups.map(({ state, progress }) => `${state} ${JSON.stringify(progress)}`).join() }),
  ],
  ...changes,
});

/** A notice that nobody saw before. */
export function notice(changes: Partial<RaisedNotice> = {}): RaisedNotice {
  arrivals += 1;
  return {
    id: `ntc_${String(arrivals).padStart(26, '0')}`,
    alert: 'dead',
    cause: `cause-${arrivals}`,
    sink: 'slack',
    count: 3,
    since: t0 - minute,
    detail: 'Three deliveries were given up.',
    advice: 'Invite the app to the channel, then replay them.',
    recovered: false,
    raisedAt: t0,
    ...changes,
  };
}

export function planned(changes: Partial<PlannedDelivery> = {}): PlannedDelivery {
  return {
    rule: 'completed',
    action: 0,
    sink: 'slack',
    connector: 'slack',
    lane: 'slack #hiring',
    dueAt: t0,
    group: null,
    groupMax: null,
    ...changes,
  };
}

export const receipt = { channel: 'C1', ts: '1.5' };
export const delivered: Delivered = { outcome: 'delivered', receipt };
export const retry: Outcome = { outcome: 'retry', reason: 'server', detail: 'It answered 503.' };
export const rejected: Rejected = {
  outcome: 'rejected',
  reason: 'not_found',
  detail: 'No such channel.',
  advice: 'Make it.',
};
export const unknown: Outcome = { outcome: 'unknown', reason: 'timeout', detail: 'No answer within 10 s.' };

const stateAfter = { delivered: 'delivered', retry: 'pending', rejected: 'dead', unknown: 'held' } as const;

const missedIn = ({ missed, note }: Delivered): string | null => (missed && note) ?? null;

/** How a claimed delivery's attempt ended; a retry is due a minute later, an unknown outcome is held. */
export function resultOf(
  { delivery, claimedAt, row }: Pick<Claim, 'delivery' | 'claimedAt' | 'row'>,
  outcome: Outcome,
  changes: Partial<AttemptResult> = {},
): AttemptResult {
  const startedAt = delivery.firstAttemptAt ?? t0;
  return {
    row,
    claimedAt,
    attempt: { number: delivery.attempts, startedAt, endedAt: startedAt + 5, outcome },
    state: stateAfter[outcome.outcome],
    settledAt: startedAt + 5,
    dueAt: outcome.outcome === 'retry' ? startedAt + minute : null,
    uncertain: outcome.outcome === 'unknown',
    progress: null,
    lastError: outcome.outcome === 'delivered' ? missedIn(outcome) : outcome.detail,
    message: JSON.stringify({ text: `message of ${delivery.id}` }),
    thread: null,
    ...changes,
  };
}

/** What a replica asks for when it renews its leases. */
export const leaseRequest = (changes: Partial<LeaseRequest> = {}): LeaseRequest => ({
  replica: 'a',
  configId,
  callsBy: 'same',
  names: [],
  extra: [],
  orphans: [],
  takes: true,
  forMs: minute,
  ...changes,
});

/** A whole round. Returns how many went. */
export async function prune(store: Store, before: number, limit = 10): Promise<number> {
  let count = 0;
  for (let step = await store.prune({ before, limit }); ;) {
    count += step.count;
    if (step.after === null) return count;
    step = await store.prune({ before, limit, after: step.after });
  }
}

/** The ids of the deliveries that an acceptance planned. */
export function idsOf(acceptance: Pick<Acceptance, 'eventId'>, count = 1): string[] {
  return Array.from({ length: count }, (_, index) => deliveryId(acceptance.eventId, index + 1));
}

export function claimDue(
  store: Store,
  now: number = t0,
  lane = 'slack #hiring',
  limit = 100,
): Promise<Claim[]> {
  return store.claim({ lane, now, limit });
}

/** Accepts, claims and records, one delivery each; returns the deliveries' ids. */
export async function carriedOut(
  store: Store,
  outcomes: readonly Outcome[],
  receivedAt = t0,
): Promise<string[]> {
  const ids: string[] = [];
  for (const outcome of outcomes) {
    const acceptance = await store.accept(arrival({ receivedAt }));
    const [claimed] = await claimDue(store, receivedAt);
    if (!claimed) throw new Error('Nothing to claim.');
    await store.record([resultOf(claimed, outcome)]);
    ids.push(...idsOf(acceptance));
  }
  return ids;
}

/** From now on it takes seconds to read an event of this store in SQLite, all of them within one statement. */
export function slowDown(file: string, rows: number): void {
  const db = new DatabaseSync(file);
  db.exec(`
    alter table duplicates rename to duplicates_before;
    create view duplicates (event_seq) as
      with recursive n (x) as (select 1 union all select x + 1 from n where x < ${rows}) select x from n;`);
  db.close();
}
