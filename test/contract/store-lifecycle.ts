import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PlannedDelivery } from '../../src/model.ts';
import type { Attempt } from '../../src/model/outcomes.ts';
import type { Claim } from '../../src/store/store.ts';
import { store } from './store-bench.ts';
import {
  arrival,
  configId,
  delivered,
  minute,
  notice,
  person,
  planned,
  prune,
  rejected,
  resultOf,
  retry,
  t0,
  unknown,
} from './store-fixtures.ts';
import { type ModelClaim, StoreModel, toDelivery } from './store-model.ts';
import { runs } from '../fixtures/runs.ts';

const windowMs = 10 * minute;

const lane = fc.constantFrom('slack #a', 'slack #b', 'mail');
/** Picks a delivery among all that are kept, in whatever state. */
const pick = fc.nat({ max: 1000 });

const plan = fc.record({
  lane,
  group: fc.option(fc.constantFrom('g', 'h')),
  groupMax: fc.integer({ min: 1, max: 4 }),
  delayMs: fc.constantFrom(0, 0, minute),
  /** With the event, where it goes alone. */
  begins: fc.boolean(),
});
const accept = fc.record({
  op: fc.constant('accept' as const),
  candidate: fc.nat({ max: 2 }),
  status: fc.constantFrom('Completed' as const, 'Canceled' as const),
  correlation: fc.option(fc.nat({ max: 3 })),
  plans: fc.array(plan, { maxLength: 3 }),
});
const raise = fc.record({ op: fc.constant('raise' as const), cause: fc.nat({ max: 1 }), plan });
const claim = fc.record({ op: fc.constant('claim' as const), lane, limit: fc.integer({ min: 1, max: 3 }) });
const outcome = fc.constantFrom(delivered, retry, rejected, unknown);
const record = fc.record({ op: fc.constant('record' as const), pick, outcome });
const wait = fc.record({ op: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 12 * minute }) });
const rescue = fc.record({ op: fc.constant('rescue' as const) });
const defer = fc.record({
  op: fc.constant('defer' as const),
  pick,
  byMs: fc.nat({ max: 10 * minute }),
  to: fc.option(lane),
});
const replay = fc.record({ op: fc.constant('replay' as const), pick, plan });
const discard = fc.record({ op: fc.constant('discard' as const), pick });
const resend = fc.record({ op: fc.constant('resend' as const), pick, plan });
const apply = fc.record({
  op: fc.constant('apply' as const),
  pick,
  plans: fc.array(plan, { minLength: 1, maxLength: 2 }),
});
const pruning = fc.record({ op: fc.constant('prune' as const), ageMs: fc.nat({ max: 20 * minute }) });

const often = [accept, claim, record].flatMap((op) => [op, op, op]);
const step = fc.oneof(...often, wait, wait, raise, rescue, defer, replay, discard, resend, apply, pruning);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;
type StepOf<Op extends Step['op']> = Extract<Step, { op: Op }>;

/** What the store said or has, and what it should. */
type Compared = readonly [actual: unknown, expected: unknown];

export function lifecycle(numRuns: number): void {
  test('does in every order of operations what the plainest model does', async () => {
    let run = 0;
    const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
      run += 1;
      const both = new Both(`run-${run}`);
      try {
        for (const one of steps) {
          const [actual, expected] = await both.take(one);
          expect(actual).toEqual(expected);
        }
        const [actual, expected] = await both.all();
        expect(actual).toEqual(expected);
      } finally {
        await both.empty();
      }
      expect([await store.events({}), await store.notices({})]).toEqual([[], []]);
    });
    await fc.assert(property, runs(numRuns));
  });
}

const byLane = (a: { lane: string }, b: { lane: string }) => (a.lane < b.lane ? -1 : 1);

/** The store and the model, taken through the same steps. */
class Both {
  readonly #name: string;
  readonly #model = new StoreModel();
  readonly #told = new Map<string, string[]>();
  /** Of all that was ever claimed. */
  readonly #rows = new Map<string, Claim['row']>();
  #now = t0;

  constructor(name: string) {
    this.#name = name;
  }

  async take(one: Step): Promise<Compared> {
    switch (one.op) {
      case 'accept':
        return this.#accept(one);
      case 'claim':
        return this.#claim(one);
      case 'raise':
        return this.#raise(one);
      case 'rescue':
        return this.#rescue();
      case 'prune': {
        const before = this.#now - one.ageMs;
        return [await prune(store, before), this.#model.prune(before)];
      }
      case 'apply':
        await this.#apply(one);
        break;
      case 'wait':
        this.#now += one.ms;
        break;
      default:
        await this.#change(one);
    }
    const lanes = (await store.lanes()).map(({ seq: _, ...head }) => head);
    return [lanes.toSorted(byLane), this.#model.lanes().toSorted(byLane)];
  }

  /** Every event and notice with all that belongs to it. */
  async all(): Promise<Compared> {
    const notices = await store.notices({ limit: 1000 });
    const raised = await Promise.all(notices.toReversed().map((one) => store.notice(one.notice.id)));
    const stories = await store.events({ limit: 1000 });
    const details = await Promise.all(stories.toReversed().map(({ event }) => store.event(event.id)));
    return [
      [details, raised],
      [this.#model.details(), this.#model.noticeDetails()],
    ];
  }

  /** So that the next run begins with nothing. */
  async empty(): Promise<void> {
    await store.rescue(this.#now, 0);
    const open = await store.deliveries({ states: ['pending', 'held', 'dead'] });
    const ids = open.map(({ id }) => id);
    await store.discard(ids, this.#now, person);
    await prune(store, this.#now + minute);
  }

  async #accept(one: StepOf<'accept'>): Promise<Compared> {
    const came = arrival(
      {
        candidateId: `${this.#name}-${one.candidate}`,
        status: one.status,
        correlationId: one.correlation === null ? null : `${this.#name}-${one.correlation}`,
        receivedAt: this.#now,
      },
      {
        windowMs,
        deliveries: one.plans.map((each) => this.#planned(each)),
        begins: one.plans.map(({ begins, group }) => (begins && group === null ? { now: this.#now } : null)),
      },
    );
    const expected = this.#model.accept(came);
    const { claims, ...rest } = await store.accept(came);
    const actual = { ...rest, claims: claims.map((begun) => begun && this.#withoutRow(begun)) };
    // A store may still remember the correlation id of an event that was pruned.
    return [
      actual,
      expected.duplicate || expected.correlationReused
        ? expected
        : { ...expected, correlationReused: actual.correlationReused },
    ];
  }

  async #raise(one: StepOf<'raise'>): Promise<Compared> {
    const raised = notice({ cause: `${this.#name}-${one.cause}`, raisedAt: this.#now });
    const came = { notice: raised, configId, deliveries: [this.#planned(one.plan)], quietMs: windowMs };
    return [await store.raise(came), this.#model.raise(came)];
  }

  async #claim(one: StepOf<'claim'>): Promise<Compared> {
    const query = { ...one, now: this.#now };
    const actual = (await store.claim(query)).map((begun) => this.#withoutRow(begun));
    const contents = actual.map(({ events }) => events.map(({ id }) => id));
    const asEver = actual.map((claimed, index) => this.#toldBefore(claimed, contents[index]!));
    return [
      [actual, contents],
      [this.#model.claim(query), asEver],
    ];
  }

  #withoutRow({ row, ...begun }: Claim): ModelClaim {
    this.#rows.set(begun.delivery.id, row);
    return begun;
  }

  /** The events that a message told of when it was begun, but for those that were pruned since. */
  #toldBefore({ delivery: { id } }: ModelClaim, now: string[]): string[] {
    const kept = new Set(this.#model.events.map(({ arrival: { event } }) => event.id));
    const before = (this.#told.get(id) ?? now).filter((eventId) => kept.has(eventId));
    this.#told.set(id, before);
    return before;
  }

  async #rescue(): Promise<Compared> {
    const interrupted = { outcome: 'unknown', reason: 'unexpected', detail: expect.any(String) } as const;
    const attempt = (number: number): Attempt => ({ number, startedAt: 0, endedAt: 0, outcome: interrupted });
    return [await store.rescue(this.#now, 0), this.#model.rescue(this.#now, attempt)];
  }

  async #change(one: StepOf<'record' | 'defer' | 'replay' | 'discard' | 'resend'>): Promise<void> {
    const all = this.#model.ids();
    // Few are delivered.
    const arrived = all.filter((each) => this.#model.find(each)?.state === 'delivered');
    const ids = one.op === 'resend' ? arrived : all;
    const id = ids[one.pick % ids.length];
    if (id === undefined) return;
    if (one.op === 'record') {
      await this.#record(id, one);
    } else if (one.op === 'defer') {
      const until = this.#now + one.byMs;
      const carrier = this.#model.find(id)?.carrier ?? id;
      const { attempts: attempt = 0, startedAt: claimedAt = 0 } = this.#model.find(id) ?? {};
      const to = one.to === null ? {} : { lane: one.to };
      await store.defer([{ deliveryId: id, attempt, claimedAt, until, ...to }], this.#now);
      this.#model.defer(id, until, this.#now, one.to);
      // Never attempted, it is no digest any more, and what becomes of its events may go in others.
      if (this.#model.find(id)?.carrier === null) this.#told.delete(carrier);
    } else if (one.op === 'replay' || one.op === 'resend') {
      const to = this.#planned(one.plan);
      await store[one.op]([{ deliveryId: id, configId, planned: to }], this.#now, person);
      this.#model[one.op](id, configId, to, this.#now);
    } else {
      await store.discard([id], this.#now, person);
      this.#model.discard(id, this.#now);
    }
  }

  async #apply({ pick: picked, plans }: StepOf<'apply'>): Promise<void> {
    const { events } = this.#model;
    if (events.length === 0) return;
    const place = picked % events.length;
    const deliveries = plans.map((one) => ({ ...this.#planned(one), rule: 'late' }));
    const eventId = events[place]!.arrival.event.id;
    await store.apply([{ eventId, configId, deliveries }], this.#now, person);
    this.#model.apply(place, configId, deliveries);
  }

  async #record(id: string, one: StepOf<'record'>): Promise<void> {
    const kept = this.#model.find(id)!;
    const delivery = toDelivery(kept);
    const row = this.#rows.get(delivery.carrier ?? id);
    if (row === undefined) return;
    const result = resultOf({ delivery, claimedAt: kept.startedAt, row }, one.outcome, {
      progress: [one.pick],
    });
    await store.record([result]);
    this.#model.record(id, result);
  }

  #planned({ lane: name, group, groupMax, delayMs }: Plan): PlannedDelivery {
    const sink = name.split(' ')[0]!;
    return planned({
      lane: name,
      sink,
      connector: sink,
      dueAt: this.#now + delayMs,
      group,
      groupMax: group === null ? null : groupMax,
    });
  }
}
