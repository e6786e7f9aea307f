import { Client } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { openPostgres } from '../../src/store/postgres.ts';
import type { Store } from '../../src/store/store.ts';
import { storeContract } from '../contract/store.ts';
import { freshSchema } from '../fixtures/postgres.ts';

// Creating the tables takes longer than most tests, so all use the same, emptied. `probe` has its one row from the start.
const emptyAll = `do $$ declare name text; begin
  for name in select tablename from pg_tables
    where schemaname = current_schema() and tablename not in ('schema_version', 'probe')
  loop execute format('delete from %I', name); end loop;
end $$`;

let url: string;
/** The first that each test opens: connecting takes longer than most tests, too. */
let first: Store | null = null;
let observer: Store;
let cleaner: Client;

beforeAll(async () => {
  url = await freshSchema();
  observer = await openPostgres(url);
  const { searchParams, href } = new URL(url);
  cleaner = new Client({ connectionString: href.replace(/\?.*/, '') });
  await cleaner.connect();
  await cleaner.query(`set search_path to ${searchParams.get('schema')}`);
});

afterAll(() => Promise.all([first?.close(), observer.close(), cleaner.end()]));

// Every step is a round trip, and SQLite takes the same operations through all runs.
const lifecycleRuns = 8;

storeContract(
  'PostgreSQL',
  async () => {
    await cleaner.query(emptyAll);
    const opened: Store[] = [];
    let isOpen = false;
    return {
      async open() {
        if (!isOpen) {
          isOpen = true;
          return (first ??= await openPostgres(url));
        }
        const store = await openPostgres(url);
        opened.push(store);
        return store;
      },
      observe: () => Promise.resolve(observer),
      async content() {
        const { rows } = await cleaner.query(
          'select tablename as name from pg_tables where schemaname = current_schema()',
        );
        const tables = rows as { name: string }[];
        const texts = tables.map(({ name }) => `select to_jsonb(t)::text as text from ${name} t`);
        const all = await cleaner.query(texts.join(' union all '));
        return (all.rows as { text: string }[]).map(({ text }) => text).join('\n');
      },
      async dispose() {
        await Promise.all(opened.map((store) => store.close()));
        // Where a test closed it, the next one opens another.
        await first?.probe().catch(() => (first = null));
      },
    };
  },
  lifecycleRuns,
);
