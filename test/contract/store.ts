import { describe } from 'vitest';
import { type StoreHome, withStores } from './store-bench.ts';
import { byHand } from './store-by-hand.ts';
import { carryingOut } from './store-carrying-out.ts';
import { deciding } from './store-deciding.ts';
import { digests } from './store-digests.ts';
import { forgetting } from './store-forgetting.ts';
import { housekeeping } from './store-housekeeping.ts';
import { lifecycle } from './store-lifecycle.ts';
import { notices } from './store-notices.ts';
import { reading } from './store-reading.ts';
import { receiving } from './store-receiving.ts';

const parts = {
  receiving,
  'carrying out': carryingOut,
  deciding,
  digests,
  notices,
  'by hand': byHand,
  forgetting,
  reading,
  housekeeping,
};

/** The promises of src/store/store.ts. Every backend passes all of them. */
export function storeContract(name: string, makeHome: () => Promise<StoreHome>, lifecycleRuns = 40): void {
  describe(`${name} store`, () => {
    withStores(makeHome);
    describe.each(Object.entries(parts))('%s', (_, promises) => {
      promises();
    });
    describe('over its life', () => {
      lifecycle(lifecycleRuns);
    });
  });
}
