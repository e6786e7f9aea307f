import { beforeAll } from 'vitest';
import { openPostgres } from '../../src/store/postgres.ts';
import type { Store } from '../../src/store/store.ts';
import { storeContract } from '../contract/store.ts';
import { freshSchema, sql } from '../fixtures/postgres.ts';

// Creating the tables takes longer than most tests, so all use the same, emptied. `probe` has its one row from the start.
const emptyAll = `do $$ declare name text; begin
  for name in select tablename from pg_tables
    where schemaname = current_schema() and tablename not in ('schema_version', 'probe')
  loop execute format('delete from %I', name); end loop;
end $$`;

let url: string;

beforeAll(async () => {
  url = await freshSchema();
  await (await openPostgres(url)).close();
});

// Every step is a round trip, and SQLite takes the same operations through all runs.
const lifecycleRuns = 30;

storeContract(
  'PostgreSQL',
  async () => {
    await sql(url, emptyAll);
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
  },
  lifecycleRuns,
);
