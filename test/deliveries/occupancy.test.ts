import { expect, test } from 'vitest';
import { Occupancy } from '../../src/deliveries/traffic.ts';

const general = { sink: 'slack', lane: 'slack #general' };
const hiring = { sink: 'slack', lane: 'slack #hiring' };

test('a lane takes no more than its own limit, and leaves the rest of the sink to others', () => {
  const occupancy = new Occupancy();
  expect(occupancy.take(general, { sink: 3, lane: 1 }, Infinity)).toBe(1);
  expect(occupancy.take(general, { sink: 3, lane: 1 }, Infinity)).toBe(0);
  expect(occupancy.take(hiring, { sink: 3, lane: 1 }, Infinity)).toBe(1);
});

test('a full sink has no place for another lane until one is freed', () => {
  const occupancy = new Occupancy();
  expect(occupancy.take(general, { sink: 2, lane: 2 }, Infinity)).toBe(2);
  expect(occupancy.take(hiring, { sink: 2, lane: 2 }, Infinity)).toBe(0);
  occupancy.free(general, 1);
  expect(occupancy.take(hiring, { sink: 2, lane: 2 }, Infinity)).toBe(1);
});

test('a limit that a reload made smaller than what is under way gives no place', () => {
  const occupancy = new Occupancy();
  occupancy.take(general, { sink: 5, lane: 5 }, Infinity);
  expect(occupancy.take(general, { sink: 2, lane: 2 }, Infinity)).toBe(0);
  occupancy.free(general, 4);
  expect(occupancy.take(general, { sink: 2, lane: 2 }, Infinity)).toBe(1);
});

test('no more is taken than wanted', () => {
  const occupancy = new Occupancy();
  expect(occupancy.take(general, { sink: 5, lane: 5 }, 2)).toBe(2);
  expect(occupancy.take(general, { sink: 5, lane: 5 }, 0)).toBe(0);
});
