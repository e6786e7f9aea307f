import assert from 'node:assert/strict';
import { afterEach, beforeEach } from 'vitest';
import { deliveryStates, type Delivery } from '../../src/model.ts';
import type { Store } from '../../src/store/store.ts';
import { configId, t0 } from './store-fixtures.ts';

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

/** The store of the test that runs, open and with a config saved, and its home. */
export let store: Store;
export let home: StoreHome;

/** Gives each test of a suite a store of its own, which has to have lost nothing at the test's end. */
export function withStores(makeHome: () => Promise<StoreHome>): void {
  beforeEach(async () => {
    home = await makeHome();
    store = await home.open();
    await store.saveConfig({ id: configId, source: { rules: [] }, savedAt: t0 });
  });
  afterEach(async () => {
    await expectNothingLost(await home.observe());
    await home.dispose();
  });
}

/** Accepted events' and raised notices' deliveries = pending + sending + delivered + dead + held + discarded, as counted and as stored. */
async function expectNothingLost(left: Store): Promise<void> {
  const stories = [await left.events({ limit: 100_000 }), await left.notices({ limit: 100_000 })].flat();
  const stored = stories.flatMap((story): readonly Delivery[] =>
    'lookups' in story ? story.deliveries.concat(story.lookups) : story.deliveries,
  );
  for (const counted of await left.counts()) {
    const ofSink = stored.filter((delivery) => delivery.sink === counted.sink);
    const states = deliveryStates.map((state) => [state, ofSink.filter((one) => one.state === state).length]);
    const { sink } = counted;
    assert.deepEqual(counted, { sink, planned: ofSink.length, states: Object.fromEntries(states) });
  }
}
