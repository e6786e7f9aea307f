import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite } from '../../src/store/sqlite.ts';
import { bench, configFor, ScriptedTool } from './scripted.ts';

/** The event's own, with the intent to call; then that of the outcome. */
test.each([1, 2])(
  'an event arrives once where sync %i fails, also when its sender tries again',
  async (failing) => {
    const folder = mkdtempSync(join(tmpdir(), 'unsynced-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    let left = Infinity;
    const syncFile = async () => {
      left -= 1;
      if (left === 0) throw Object.assign(new Error('i/o error'), { code: 'EIO' });
    };
    const store = await openSqlite(join(folder, 'connector.db'), { serve: true, syncFile });
    const tool = new ScriptedTool();
    const its = await bench(configFor(tool), { store, storeFailed: () => {}, pollMs: 10 });
    left = failing;
    const tried = await its.receive().catch(() => null);
    expect(tried === null).toBe(failing === 1);
    const id = tried ?? (await its.receive());
    await expect.poll(async () => (await its.delivery(id)).state).toBe('delivered');
    expect(left).toBeLessThan(1);
    expect(await its.receive()).toBe(id);
    expect(tool.sent).toHaveLength(1);
  },
);
