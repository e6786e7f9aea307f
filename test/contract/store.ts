import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe } from 'vitest';
import { deliveryStates, type Delivery } from '../../src/model.ts';
import type { Store } from '../../src/store/store.ts';
import { byHand } from './store-by-hand.ts';
import { carryingOut } from './store-carrying-out.ts';
import { deciding } from './store-deciding.ts';
import { digests } from './store-digests.ts';
import { forgetting } from './store-forgetting.ts';
import { configId, t0 } from './store-fixtures.ts';
import { housekeeping } from './store-housekeeping.ts';
import { lifecycle } from './store-lifecycle.ts';
import { notices } from './store-notices.ts';
import { reading } from './store-reading.ts';
import { receiving } from './store-receiving.ts';

/** Where a store lives: empty at first, and gone after `dispose`. */
export interface StoreHome {
  /** Another connection to the same store, as another process would have it. */
  open(): Promise<Store>;
  /** A connection that looks at what a test left. */
  observe(): Promise<Store>;
  /** All that is stored, as text: whatever the disk has, where that can be read. */
  content(): Promise<string>;
  /** Closes what was opened. */
  dispose(): Promise<void>;
}

/** What the suite's parts work on: an open store with a config saved, and its home. */
export interface Bench {
  readonly store: Store;
  readonly home: StoreHome;
}

/** The promises of src/store/store.ts. Every backend passes all of them. */
export function storeContract(name: string, makeHome: () => Promise<StoreHome>, lifecycleRuns = 40): void {
  describe(`${name} store`, () => {
    let bench: Bench;

    beforeEach(async () => {
      const home = await makeHome();
      bench = { home, store: await home.open() };
      await bench.store.saveConfig({ id: configId, source: { rules: [] }, savedAt: t0 });
    });

    afterEach(async () => {
      const store = await bench.home.observe();
      await expectNothingLost(store);
      await bench.home.dispose();
    });

    const current = () => bench;
    describe('receiving', () => {
      receiving(current);
    });
    describe('carrying out', () => {
      carryingOut(current);
    });
    describe('deciding', () => {
      deciding(current);
    });
    describe('digests', () => {
      digests(current);
    });
    describe('notices', () => {
      notices(current);
    });
    describe('by hand', () => {
      byHand(current);
    });
    describe('forgetting', () => {
      forgetting(current);
    });
    describe('reading', () => {
      reading(current);
    });
    describe('housekeeping', () => {
      housekeeping(current);
    });
    describe('over its life', () => {
      lifecycle(current, lifecycleRuns);
    });
  });
}

/** Accepted events' and raised notices' deliveries = pending + sending + delivered + dead + held + discarded, as counted and as stored. */
async function expectNothingLost(store: Store): Promise<void> {
  const stories = [await store.events({ limit: 100_000 }), await store.notices({ limit: 100_000 })].flat();
  const stored = stories.flatMap((story): readonly Delivery[] =>
    'lookups' in story ? story.deliveries.concat(story.lookups) : story.deliveries,
  );
  for (const counted of await store.counts()) {
    const ofSink = stored.filter((delivery) => delivery.sink === counted.sink);
    const states = deliveryStates.map((state) => [state, ofSink.filter((one) => one.state === state).length]);
    const { sink } = counted;
    assert.deepEqual(counted, { sink, planned: ofSink.length, states: Object.fromEntries(states) });
  }
}
