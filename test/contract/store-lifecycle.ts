import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Attempt } from '../../src/model.ts';
import type { Store } from '../../src/store/store.ts';
import type { Bench } from './store.ts';
import {
  arrival,
  configId,
  delivered,
  minute,
  planned,
  rejected,
  resultOf,
  retry,
  t0,
  unknown,
} from './store-fixtures.ts';
import { StoreModel, toDelivery } from './store-model.ts';

const lanes = ['slack #a', 'slack #b', 'mail'];
const outcomes = [delivered, retry, rejected, unknown];
const windowMs = 10 * minute;

const lane = fc.constantFrom(...lanes);
const index = fc.nat({ max: 1000 });
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('accept' as const),
      candidate: fc.nat({ max: 2 }),
      status: fc.constantFrom('Completed' as const, 'Canceled' as const),
      correlation: fc.option(fc.nat({ max: 3 })),
      lanes: fc.array(lane, { maxLength: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ op: fc.constant('claim' as const), lane, limit: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('record' as const),
      index,
      outcome: fc.constantFrom(...outcomes),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 12 * minute }) }),
  },
  fc.record({ op: fc.constant('rescue' as const) }),
  fc.record({ op: fc.constant('release' as const), index }),
  fc.record({ op: fc.constant('replay' as const), index, lane }),
  fc.record({ op: fc.constant('discard' as const), index }),
  fc.record({ op: fc.constant('prune' as const), ageMs: fc.integer({ min: 0, max: 20 * minute }) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

export function lifecycle(bench: () => Bench): void {
  test('does in every order of operations what the plainest model does', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        run += 1;
        const both = new Both(bench().store, `run-${run}`);
        for (const one of steps) {
          // oxlint-disable-next-line no-await-in-loop -- step by step
          await both.take(one);
        }
        await both.compare();
        await both.empty();
      }),
      { numRuns: 60 },
    );
  });
}

/** The store and the model, taken through the same steps. */
class Both {
  readonly #store: Store;
  readonly #name: string;
  readonly #model = new StoreModel();
  #now = t0;

  constructor(store: Store, name: string) {
    this.#store = store;
    this.#name = name;
  }

  async take(one: Step): Promise<void> {
    if (one.op === 'wait') this.#now += one.ms;
    else if (one.op === 'accept') await this.#accept(one);
    else if (one.op === 'claim') await this.#claim({ ...one, now: this.#now });
    else if (one.op === 'rescue') await this.#rescue();
    else if (one.op === 'prune') {
      const before = this.#now - one.ageMs;
      expect(await this.#store.prune(before, 1000)).toBe(this.#model.prune(before));
    } else await this.#change(one);
    expect(await this.#store.lanes()).toEqual(this.#model.lanes());
  }

  async #accept(one: Extract<Step, { op: 'accept' }>): Promise<void> {
    const came = arrival(
      {
        candidateId: `${this.#name}-${one.candidate}`,
        status: one.status,
        correlationId: one.correlation === null ? null : `${this.#name}-${one.correlation}`,
        receivedAt: this.#now,
      },
      {
        windowMs,
        deliveries: one.lanes.map((name) =>
          planned({ lane: name, sink: name.split(' ')[0]!, dueAt: this.#now }),
        ),
      },
    );
    const acceptance = await this.#store.accept(came);
    const expected = this.#model.accept(came);
    // Correlation ids of pruned events may or may not be remembered.
    expect(acceptance).toEqual({ ...expected, correlationReused: expect.any(Boolean) });
    if (expected.correlationReused) expect(acceptance.correlationReused).toBe(true);
  }

  async #claim(query: { lane: string; now: number; limit: number }): Promise<void> {
    expect(await this.#store.claim(query)).toEqual(this.#model.claim(query));
  }

  async #rescue(): Promise<void> {
    const outcome = { outcome: 'unknown', reason: 'unexpected', detail: expect.any(String) } as const;
    const interrupted = (number: number): Attempt => ({ number, startedAt: 0, endedAt: 0, outcome });
    expect(await this.#store.rescue(this.#now)).toBe(this.#model.rescue(this.#now, interrupted));
  }

  /** Steps that concern one delivery: any that is kept, in whatever state. */
  async #change(one: Extract<Step, { index: number }>): Promise<void> {
    const ids = this.#model.events.flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
    const id = ids[one.index % ids.length];
    if (id === undefined) return;
    if (one.op === 'record') {
      const result = resultOf({ delivery: toDelivery(this.#model.find(id)!) }, one.outcome, {
        progress: [one.index],
      });
      if (result.attempt.number === 0) return;
      await this.#store.record([result]);
      this.#model.record(result);
    } else if (one.op === 'release') {
      await this.#store.release([id]);
      this.#model.release(id);
    } else if (one.op === 'replay') {
      const to = planned({
        lane: one.lane,
        sink: one.lane.split(' ')[0]!,
        connector: one.lane,
        dueAt: this.#now,
      });
      await this.#store.replay([{ deliveryId: id, configId, planned: to }], this.#now);
      this.#model.replay(id, configId, to, this.#now);
    } else {
      await this.#store.discard([id], this.#now);
      this.#model.discard(id);
    }
  }

  async compare(): Promise<void> {
    for (const { arrival: came, duplicates, deliveries } of this.#model.events) {
      // oxlint-disable-next-line no-await-in-loop -- one by one, so that a failure is easy to read
      const detail = await this.#store.event(came.event.id);
      expect(detail).toMatchObject({ event: came.event, configId: came.configId, duplicates });
      expect(detail?.deliveries).toEqual(
        deliveries.map((kept) => ({
          ...toDelivery(kept),
          history: kept.history,
          message: kept.message,
        })),
      );
    }
    expect(await this.#store.events({ limit: 1000 })).toHaveLength(this.#model.events.length);
  }

  /** So that the next run begins with nothing. */
  async empty(): Promise<void> {
    await this.#store.rescue(this.#now);
    const open = await this.#store.deliveries({ states: ['pending', 'held'] });
    await this.#store.discard(
      open.map(({ id }) => id),
      this.#now,
    );
    await this.#store.prune(this.#now + minute, 1000);
    expect(await this.#store.events({})).toEqual([]);
  }
}
