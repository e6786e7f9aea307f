import { expect, test } from 'vitest';
import { Breaker } from '../../src/deliveries/breaker.ts';

const policy = { minDelayMs: 5000, maxDelayMs: 600_000 };
const ended = (now: number, probe = false, deliveryId = 'dlv_1') => ({
  deliveryId,
  probe,
  now,
  policy,
  random: () => 0.5,
});

function broken(now = 0): Breaker {
  const breaker = new Breaker();
  for (let failure = 0; failure < 5; failure += 1) breaker.ended('fails', ended(now));
  return breaker;
}

test('a few failures are nothing', () => {
  const breaker = new Breaker();
  for (let failure = 0; failure < 4; failure += 1) expect(breaker.ended('fails', ended(0))).toBeNull();
  expect(breaker.allowance(0)).toBe(Infinity);
});

test('failures one after the other pause the sink', () => {
  const breaker = broken(7000);
  expect(breaker.pausedSince).toBe(7000);
  expect(breaker.allowance(7000)).toBe(0);
});

test('a success between failures starts the count anew', () => {
  const breaker = new Breaker();
  for (let failure = 0; failure < 4; failure += 1) breaker.ended('fails', ended(0));
  breaker.ended('works', ended(0));
  expect(breaker.ended('fails', ended(0))).toBeNull();
});

test('what says nothing of the sink neither pauses it nor clears it', () => {
  const breaker = new Breaker();
  for (let failure = 0; failure < 4; failure += 1) breaker.ended('fails', ended(0));
  expect(breaker.ended('unsaid', ended(0))).toBeNull();
  expect(breaker.ended('fails', ended(0))).toBe('paused');
});

test('messages that fail each for itself are no outage, until there are many without a success between', () => {
  const breaker = new Breaker();
  const fail = (message: number) => breaker.ended('fails perhaps', ended(0, false, `dlv_${message}`));
  for (let message = 1; message < 20; message += 1) expect(fail(message)).toBeNull();
  breaker.ended('works', ended(0));
  for (let message = 1; message < 20; message += 1) expect(fail(message)).toBeNull();
  expect(fail(20)).toBe('paused');
});

test('one message that fails again and again is no outage', () => {
  const breaker = new Breaker();
  for (let attempt = 0; attempt < 100; attempt += 1) {
    expect(breaker.ended('fails perhaps', ended(0))).toBeNull();
  }
});

test('one probe at a time goes out when it is due', () => {
  const breaker = broken();
  const dueAt = breaker.waitsUntil(0);
  expect(dueAt).toBeGreaterThanOrEqual(5000);
  expect(breaker.allowance(dueAt - 1)).toBe(0);
  expect(breaker.allowance(dueAt)).toBe(1);
  expect(breaker.take()).toBe(true);
  expect(breaker.allowance(dueAt)).toBe(0);
  expect(breaker.waitsUntil(dueAt)).toBe(Infinity);
});

test('a probe that fails waits longer for the next, up to five minutes', () => {
  const breaker = broken();
  const waits: number[] = [];
  let now = 0;
  for (let probe = 0; probe < 12; probe += 1) {
    const dueAt = breaker.waitsUntil(now);
    waits.push(dueAt - now);
    now = dueAt;
    breaker.take();
    const health = probe % 2 === 0 ? 'fails' : 'fails perhaps';
    breaker.ended(health, { ...ended(now, true), random: () => 1 });
  }
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  expect(waits.at(-1)).toBe(300_000);
});

test('a probe that works resumes the sink', () => {
  const breaker = broken();
  breaker.take();
  expect(breaker.ended('works', ended(9000, true))).toBe('resumed');
  expect(breaker.allowance(9000)).toBe(Infinity);
  expect(breaker.pausedSince).toBeNull();
});

test('a probe whose message was at fault lets another one try at once, and one only', () => {
  const breaker = broken();
  const dueAt = breaker.waitsUntil(0);
  breaker.take();
  expect(breaker.ended('unsaid', ended(dueAt, true))).toBeNull();
  expect(breaker.waitsUntil(dueAt)).toBe(dueAt);
  expect(breaker.allowance(dueAt)).toBe(1);
});

test('a late failure of before the pause is no probe', () => {
  const breaker = broken();
  const dueAt = breaker.waitsUntil(0);
  breaker.ended('fails', ended(1000));
  expect(breaker.waitsUntil(0)).toBe(dueAt);
});
