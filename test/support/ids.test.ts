import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { deliveryId, eventIds, noticeIds, parseDeliveryId } from '../../src/support/ids.ts';

const pattern = /^evt_[0-9a-hjkmnp-tv-z]{26}$/;
const entropy = fc.tuple(fc.nat({ max: 2 ** 39 - 1 }), fc.nat({ max: 2 ** 40 - 1 }));
const time = fc.nat({ max: 2 ** 48 - 1 });

function firstId(now: number, drawn: readonly number[]): string {
  const left = [...drawn];
  return eventIds({ random: () => left.shift()! })(now);
}

test('an event id is a ULID in lower case', () => {
  // The specification's own example, 01ARZ3NDEKTSV4RRFFQ69G5FAV, but for the first bit of its entropy, which is kept
  // free to count up.
  expect(firstId(1_469_922_850_259, [0x56764c61ef, 0xb99302bd5b])).toBe('evt_01arz3ndekasv4rrffq69g5fav');
  fc.assert(fc.property(time, entropy, (now, random) => pattern.test(firstId(now, random))));
});

test('event ids sort by time', () => {
  fc.assert(
    fc.property(time, time, entropy, entropy, (a, b, random, other) => {
      fc.pre(a < b);
      expect(firstId(a, random) < firstId(b, other)).toBe(true);
    }),
  );
});

test('a source of event ids gives growing ones, also within a millisecond and when the clock is set back', () => {
  const next = eventIds();
  const ids = [5, 5, 5, 3, 5, 6, 2, 2].map((ms) => next(1_700_000_000_000 + ms));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
});

test('a source of event ids counts up past a byte, and past the highest draw', () => {
  const next = eventIds({ random: (end) => end - 1 });
  const ids = Array.from({ length: 600 }, () => next(1));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
});

test('a source of event ids goes on after those of an earlier process, also when the clock was set back meanwhile', () => {
  fc.assert(
    fc.property(time, time, entropy, (before, now, random) => {
      const after = firstId(before, random);
      expect(eventIds({ after })(now) > after).toBe(true);
      expect(pattern.test(eventIds({ after })(now))).toBe(true);
    }),
  );
});

test('sources that go on after the same event id have ids of their own', () => {
  const after = firstId(5000, [1, 2]);
  const [a, b] = [eventIds({ after }), eventIds({ after })];
  expect(new Set([a(1), b(1), a(1), b(1), a(5001), b(5001)]).size).toBe(6);
});

test('notice ids are like event ids', () => {
  const next = noticeIds();
  const ids = [1, 1, 2].map((ms) => next(1_700_000_000_000 + ms));
  expect(new Set(ids).size).toBe(3);
  expect(ids.toSorted()).toEqual(ids);
  for (const id of ids) expect(id.replace('ntc_', 'evt_')).toMatch(pattern);
});

test("a delivery's id says what it is for, and which of its deliveries it is", () => {
  const id = deliveryId('evt_01arz3ndektsv4rrffq69g5fav', 12);
  expect(id).toBe('dlv_01arz3ndektsv4rrffq69g5fav_12');
  expect(parseDeliveryId(id)).toEqual({
    eventId: 'evt_01arz3ndektsv4rrffq69g5fav',
    noticeId: 'ntc_01arz3ndektsv4rrffq69g5fav',
    n: 12,
  });
});

test.each([
  '',
  'dlv_',
  'dlv_a',
  'dlv_a_',
  'dlv_a_0',
  'dlv_a_01',
  'dlv_a_1x',
  'dlv__1',
  'evt_a_1',
  'dlv_a_100000',
])('%o is no delivery id', (id) => {
  expect(parseDeliveryId(id)).toBeNull();
});
