import { expect, test } from 'vitest';
import { Tallies } from '../../src/store/tallies.ts';

const hourMs = 3_600_000;

test('what comes and ends is counted by hour, sink, state and delay, in one order', () => {
  const tallies = new Tallies();
  tallies.ended('slack', 'dead', hourMs, null, 1);
  tallies.ended('slack', 'delivered', hourMs, 3, 1);
  tallies.ended('slack', 'delivered', hourMs, 4, 1);
  tallies.ended('slack', 'delivered', hourMs, 5, 1);
  for (const at of [2 * hourMs, hourMs, 2 * hourMs - 1]) tallies.came('Completed', at);
  expect(tallies.drain().hours).toEqual([
    [1, '', 'Completed', 0, 2],
    [1, 'slack', 'dead', 0, 1],
    [1, 'slack', 'delivered', 4, 2],
    [1, 'slack', 'delivered', 8, 1],
    [2, '', 'Completed', 0, 1],
  ]);
});
