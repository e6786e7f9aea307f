import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { watchTroubles } from '../../src/alerts/watch.ts';
import { parseConfig } from '../../src/config/load.ts';
import { openStore } from '../../src/store/open.ts';
import { ScriptedTool } from '../deliveries/scripted.ts';

const minute = 60_000;
const start = Date.UTC(2026, 0, 5);

const config = parseConfig(
  `sinks: { tool: { connector: scripted }, other: { connector: scripted } }
rules: []
alerts: { paused: { after: 1m, then: [ { sink: other, text: "{{ notice.detail }}" } ] } }`,
  'config.yaml',
  { env: {}, connectors: new Map([['scripted', new ScriptedTool().connector]]) },
);

/** A watch on a real store, under a clock that stands still until `look`. `storeFails`: how many notices it fails to take. */
async function watching({ storeFails = 0, paused = 'tool' } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'alerts-'));
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: true });
  await store.saveConfig({ id: config.plan.id, source: config.planSource, savedAt: start });
  let now = start;
  let failures = 0;
  let alarm: (() => void) | null = null;
  const stop = watchTroubles({
    store: {
      ...store,
      raise: (raise) => (failures < storeFails ? Promise.reject(new Error('disk full')) : store.raise(raise)),
    },
    clock: {
      now: () => now,
      elapsed: () => now,
      after: (_delayMs, run) => {
        alarm = run;
        return () => {};
      },
    },
    config: () => config,
    paused: () => [{ sink: paused, since: start }],
    wake: () => {},
    raised: () => {},
    untold: () => {},
    failed: () => (failures += 1),
  });
  onTestFinished(async () => {
    stop();
    await store.close();
    await rm(folder, { recursive: true });
  });
  return {
    async look(afterMs: number): Promise<void> {
      const run = await vi.waitFor(() => alarm ?? Promise.reject(new Error('no alarm is set')));
      alarm = null;
      now += afterMs;
      run();
      await vi.waitFor(() => expect(alarm).not.toBeNull());
    },
    causes: async () => (await store.notices({})).map(({ notice }) => notice.cause),
  };
}

test('a trouble is told once, however long it lasts', async () => {
  const watch = await watching();
  await watch.look(minute);
  await watch.look(minute);
  await watch.look(90 * minute);
  expect(await watch.causes()).toEqual(['paused tool']);
});

test('a notice that could not be stored is told at the next look', async () => {
  const watch = await watching({ storeFails: 1 });
  await watch.look(minute);
  expect(await watch.causes()).toEqual([]);
  await watch.look(minute);
  expect(await watch.causes()).toEqual(['paused tool']);
});

test('nobody is told of a sink that the config has no more', async () => {
  const watch = await watching({ paused: 'removed' });
  await watch.look(minute);
  expect(await watch.causes()).toEqual([]);
});
