import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { arrival, configId, t0 } from '../contract/store-fixtures.ts';
import { storeContract } from '../contract/store.ts';

storeContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'store-'));
  const opened: Store[] = [];
  const open = async () => {
    const store = await openSqlite(join(folder, 'connector.db'), { serve: false });
    opened.push(store);
    return store;
  };
  return {
    open,
    observe: open,
    async content() {
      const names = await readdir(folder);
      return (await Promise.all(names.map((name) => readFile(join(folder, name), 'latin1')))).join('\n');
    },
    async dispose() {
      await Promise.all(opened.map((store) => store.close()));
      await rm(folder, { recursive: true });
    },
  };
});

test('requests of the same moment share a commit', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'store-'));
  const store = await openSqlite(join(folder, 'connector.db'), { serve: true });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const before = store.commits;
  const acceptances = await Promise.all(Array.from({ length: 64 }, () => store.accept(arrival())));
  expect(acceptances.filter(({ duplicate }) => !duplicate)).toHaveLength(64);
  expect(store.commits - before).toBe(1);
  await store.close();
  await rm(folder, { recursive: true });
});
