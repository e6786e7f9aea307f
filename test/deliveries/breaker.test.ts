import { expect, test } from 'vitest';
import { Breaker, type SinkChange, type SinkHealth } from '../../src/deliveries/limits/breaker.ts';
import { seeded } from '../faults/random.ts';

const policy = { minDelayMs: 5000, maxDelayMs: 600_000 };
const ended = (now: number, probe = false, deliveryId = 'dlv_1') => ({
  deliveryId,
  probe,
  now,
  failure: null,
  policy,
  random: () => 0.5,
});

function broken(now = 0): Breaker {
  const breaker = new Breaker();
  for (let failure = 0; failure < 5; failure += 1) breaker.ended('fails', ended(now));
  return breaker;
}

/** Ends attempts at `count` different messages. Returns the changes. */
function endAll(breaker: Breaker, health: SinkHealth, count: number, now = 0, everyMs = 0): SinkChange[] {
  const changes = Array.from({ length: count }, (_, index) =>
    breaker.ended(health, ended(now + index * everyMs, false, `dlv_${now}_${index}`)),
  );
  return changes.filter((change) => change !== null);
}

test('a few failures are nothing', () => {
  const breaker = new Breaker();
  expect(endAll(breaker, 'fails', 4)).toEqual([]);
  expect(breaker.allowance(0)).toBe(Infinity);
});

test('five failures without a success pause the sink', () => {
  const breaker = broken(7000);
  expect(breaker.pause).toMatchObject({ since: 7000, probes: 1 });
  expect(breaker.allowance(7000)).toBe(0);
});

test('a success between failures resets the count', () => {
  const breaker = new Breaker();
  endAll(breaker, 'fails', 4);
  endAll(breaker, 'works', 1);
  expect(endAll(breaker, 'fails', 4, 60_000)).toEqual([]);
  expect(endAll(breaker, 'fails', 1, 60_000)).toEqual(['paused']);
});

test('five failures are nothing within 20 s of a success, and a pause after that', () => {
  const breaker = new Breaker();
  endAll(breaker, 'works', 1);
  expect(endAll(breaker, 'fails', 20, 0, 1000)).toEqual([]);
  expect(breaker.pause).toBeNull();
  expect(endAll(breaker, 'fails', 1, 20_000)).toEqual(['paused']);
});

test('a sink is paused if nine of ten of the last fifty attempts failed, however recently it worked', () => {
  const breaker = new Breaker();
  endAll(breaker, 'works', 50);
  expect(endAll(breaker, 'fails', 44)).toEqual([]);
  expect(endAll(breaker, 'fails', 1)).toEqual(['paused']);
});

test('a sink that works seven times of ten is never paused, whether called often or rarely', () => {
  const random = seeded(7);
  for (const everyMs of [7, 1000]) {
    const breaker = new Breaker();
    for (let n = 0; n < 20_000; n += 1) {
      const health = random() < 0.3 ? 'fails' : 'works';
      expect(breaker.ended(health, ended(n * everyMs, false, `dlv_${n}`))).toBeNull();
    }
  }
});

test('an inconclusive attempt neither pauses the sink nor resets the count', () => {
  const breaker = new Breaker();
  endAll(breaker, 'fails', 4);
  expect(endAll(breaker, 'inconclusive', 1)).toEqual([]);
  expect(endAll(breaker, 'fails', 1)).toEqual(['paused']);
});

test('different messages that fail are no outage until there are many without a success between', () => {
  const breaker = new Breaker();
  expect(endAll(breaker, 'fails perhaps', 19)).toEqual([]);
  endAll(breaker, 'works', 1);
  expect(endAll(breaker, 'fails perhaps', 19, 30_000)).toEqual([]);
  expect(endAll(breaker, 'fails perhaps', 1, 60_000)).toEqual(['paused']);
});

test('one message that fails again and again is no outage, even if others work and fail in between', () => {
  const breaker = new Breaker();
  for (let attempt = 0; attempt < 100; attempt += 1) {
    expect(breaker.ended('fails perhaps', ended(attempt * 1000))).toBeNull();
    if (attempt % 10 === 0) endAll(breaker, 'works', 1, attempt * 1000);
  }
});

test('a probe starts when it is due, one at a time', () => {
  const breaker = broken();
  const dueAt = breaker.allowsAt(0);
  expect(dueAt).toBeGreaterThanOrEqual(5000);
  expect(breaker.allowance(dueAt - 1)).toBe(0);
  expect(breaker.allowance(dueAt)).toBe(1);
  expect(breaker.take()).toBe(true);
  expect(breaker.allowance(dueAt)).toBe(0);
  expect(breaker.allowsAt(dueAt)).toBe(Infinity);
});

test('a probe that fails waits longer for the next, up to five minutes', () => {
  const breaker = broken();
  const waits: number[] = [];
  let now = 0;
  for (let probe = 0; probe < 12; probe += 1) {
    const dueAt = breaker.allowsAt(now);
    waits.push(dueAt - now);
    now = dueAt;
    breaker.take();
    const health = probe % 2 === 0 ? 'fails' : 'fails perhaps';
    breaker.ended(health, { ...ended(now, true), random: () => 1 });
  }
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  expect(waits.at(-1)).toBe(300_000);
});

test('probes are no further apart than the longest delay of the sink', () => {
  const breaker = new Breaker({ since: 0, probeAt: 0, probes: 30, because: null });
  breaker.take();
  const seldom = { minDelayMs: 2000, maxDelayMs: 60_000 };
  breaker.ended('fails', { ...ended(0, true), policy: seldom, random: () => 1 });
  expect(breaker.allowsAt(0)).toBe(60_000);
});

/** With one probe that worked. */
function resumed(now = 9000): Breaker {
  const breaker = broken();
  breaker.take();
  expect(breaker.ended('works', ended(now, true))).toBe('resumed');
  return breaker;
}

test('a probe that works resumes the sink, and five failures then are another outage', () => {
  const breaker = resumed();
  expect(breaker.pause).toBeNull();
  expect(breaker.allowance(9000)).toBe(Infinity);
  expect(endAll(breaker, 'fails', 4, 9000)).toEqual([]);
  expect(endAll(breaker, 'fails', 1, 9001)).toEqual(['paused']);
  expect(breaker.pause).toMatchObject({ since: 9001, probes: 1 });
});

test('single messages that fail once it is resumed do not pause it', () => {
  expect(endAll(resumed(), 'fails perhaps', 19, 9000)).toEqual([]);
});

test('a pause from before a restart goes on, with its probes', () => {
  const breaker = new Breaker({ since: -1000, probeAt: 500, probes: 3, because: null });
  expect(breaker.allowance(499)).toBe(0);
  expect(breaker.allowance(500)).toBe(1);
  breaker.take();
  breaker.ended('fails', ended(500, true));
  expect(breaker.pause).toMatchObject({ since: -1000, probes: 4 });
});

test('a pause has the last reason that is of its sink, and that of no probe which may fail by its own message', () => {
  const breaker = new Breaker();
  const failing = (detail: string) => ({ reason: 'server', detail }) as const;
  const end = (health: SinkHealth, detail: string, probe = true) =>
    breaker.ended(health, { ...ended(0, probe), failure: failing(detail) });
  for (let failure = 0; failure < 5; failure += 1) end('fails', 'it is down', false);
  expect(breaker.pause?.because).toEqual(failing('it is down'));
  end('fails perhaps', 'this mailbox is full');
  expect(breaker.pause).toMatchObject({ probes: 2, because: failing('it is down') });
  end('fails', 'it wants another login');
  expect(breaker.pause?.because).toEqual(failing('it wants another login'));
  const kept = new Breaker({ since: 0, probeAt: 0, probes: 3, because: null });
  kept.ended('fails perhaps', { ...ended(0, true), failure: failing('this mailbox is full') });
  expect(kept.pause?.because).toEqual(failing('this mailbox is full'));
});

test('after an inconclusive probe one other may start at once', () => {
  const breaker = broken();
  const dueAt = breaker.allowsAt(0);
  breaker.take();
  expect(breaker.ended('inconclusive', ended(dueAt, true))).toBeNull();
  expect(breaker.allowsAt(dueAt)).toBe(dueAt);
  expect(breaker.allowance(dueAt)).toBe(1);
});

test('a late failure from before the pause does not count as a probe', () => {
  const breaker = broken();
  const dueAt = breaker.allowsAt(0);
  breaker.ended('fails', ended(1000));
  expect(breaker.allowsAt(0)).toBe(dueAt);
});
