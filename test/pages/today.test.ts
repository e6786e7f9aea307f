import { expect, onTestFinished, test } from 'vitest';
import { countsOfDays } from '../../src/pages/today.ts';
import { Times } from '../../src/pages/frame/times.ts';
import { openStore } from '../../src/store/open.ts';
import { arrival, configId, t0 } from '../contract/store-fixtures.ts';
import { workplace } from '../commands/tools.ts';
import { startPages } from './tools.ts';

test('the days are those of the config, also where the clocks change', async () => {
  const { folder } = await workplace();
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: true });
  onTestFinished(() => store.close());
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const times = new Times(Date.parse('2026-10-27T12:00:00Z'), 'Europe/Zagreb');
  const starts = [3, 2, 1, 0, -1].map((before) => times.daysBefore(times.now, before));
  // Sunday, the 25th of October, has 25 hours.
  for (const [hour, day] of [
    ['2026-10-24T21:00Z', 0],
    ['2026-10-24T22:00Z', 1],
    ['2026-10-25T22:00Z', 1],
    ['2026-10-25T23:00Z', 2],
    ['2026-10-26T22:00Z', 2],
    ['2026-10-26T23:00Z', 3],
  ] as const)
    for (let n = 0; n <= day; n += 1) await store.accept(arrival({ receivedAt: Date.parse(hour) }));
  const found = await countsOfDays(store, starts);
  expect(found.map(({ day, count }) => [day, count])).toEqual([
    [0, 1],
    [1, 2],
    [1, 2],
    [2, 6],
    [3, 4],
  ]);
});

test('a time zone from outside counts on the pages, too', async () => {
  const { login, page } = await startPages("timezone: '${ZONE}'\nsinks: {}\nrules: []\n", {
    ZONE: 'Asia/Tokyo',
  });
  await login();
  expect(await page('/')).toContain('<h1>Today</h1>');
});
