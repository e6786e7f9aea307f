import { openPostgres } from '../../src/store/postgres.ts';
import type { Store } from '../../src/store/store.ts';
import { storeContract } from '../contract/store.ts';
import { freshSchema } from '../fixtures/postgres.ts';

storeContract('PostgreSQL', async () => {
  const url = await freshSchema();
  const opened: Store[] = [];
  return {
    async open() {
      const store = await openPostgres(url);
      opened.push(store);
      return store;
    },
    async dispose() {
      await Promise.all(opened.map((store) => store.close()));
    },
  };
});
