import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backoffMs, type Ending, settle } from '../../src/deliveries/settle.ts';
import type { Outcome } from '../../src/model/outcomes.ts';

const now = 1_800_000_000_000;
const policy = { minDelayMs: 1000, maxDelayMs: 60_000, giveUpAfterMs: 3_600_000 };
const fresh = { attempts: 1, since: now, firstAttemptAt: now, uncertain: false, progress: null };

const retry: Outcome = { outcome: 'retry', reason: 'server', detail: 'The tool is down.' };
const unknown: Outcome = { outcome: 'unknown', reason: 'timeout', detail: 'No answer.' };
const refused: Outcome = {
  outcome: 'rejected',
  reason: 'not_found',
  detail: 'No channel.',
  advice: 'Make one.',
};
const arrived: Outcome = { outcome: 'delivered', receipt: { ts: '1' } };

const ended = (outcome: Outcome, more: Partial<Ending> = {}): Ending => ({
  outcome,
  ...more,
});

const settled = (ending: Ending, delivery = {}) =>
  settle({ ...fresh, ...delivery }, ending, {
    policy,
    now,
    quietAt: now,
    skippedMs: () => 0,
    random: () => 0.5,
  });

test('delivered is final and clears uncertainty', () => {
  expect(settled(ended(arrived), { uncertain: true })).toEqual({
    state: 'delivered',
    dueAt: null,
    uncertain: false,
    progress: null,
    lastError: null,
  });
});

test('rejected is dead at once, with the fix to try', () => {
  expect(settled(ended(refused))).toMatchObject({ state: 'dead', lastError: 'No channel. Make one.' });
});

test('retry waits by the backoff', () => {
  expect(settled(ended(retry))).toMatchObject({
    state: 'pending',
    dueAt: now + 1500,
    lastError: 'The tool is down.',
  });
});

test("the tool's own delay replaces the backoff", () => {
  expect(settled(ended({ ...retry, retryAfterMs: 30_000 })).dueAt).toBe(now + 30_000);
});

test('a tool that asks for no delay is not called before minDelay', () => {
  expect(settled(ended({ ...retry, retryAfterMs: 0 })).dueAt).toBe(now + policy.minDelayMs);
});

test('progress goes to the next attempt, and stays if that makes none', () => {
  expect(settled(ended({ ...retry, progress: { accepted: ['a'] } })).progress).toEqual({ accepted: ['a'] });
  expect(settled(ended(retry), { progress: { accepted: ['a'] } }).progress).toEqual({ accepted: ['a'] });
});

test('progress of an unknown attempt goes to the next one', () => {
  expect(settled(ended({ ...unknown, progress: { at: 3 } })).progress).toEqual({ at: 3 });
});

describe('uncertainty', () => {
  test('unknown makes a delivery uncertain, and it is tried again', () => {
    expect(settled(ended(unknown))).toMatchObject({ state: 'pending', uncertain: true });
  });
  test('the tool is not asked before it has certainly finished with the attempt', () => {
    const circumstances = { policy, now, quietAt: now + 30_000, skippedMs: () => 0, random: () => 0 };
    expect(settle(fresh, ended(unknown), circumstances).dueAt).toBe(now + 30_000);
    expect(settle(fresh, ended(retry), circumstances).dueAt).toBe(now + 1000);
  });
  test('a certain failure does not clear the uncertainty of an earlier attempt', () => {
    expect(settled(ended(retry), { uncertain: true }).uncertain).toBe(true);
  });
  test('a tool that was asked and had nothing clears it', () => {
    expect(settled(ended(retry, { confirmedAbsent: true }), { uncertain: true }).uncertain).toBe(false);
  });
  test('an attempt that a person has to judge is held', () => {
    expect(settled(ended(unknown, { hold: true }))).toMatchObject({
      state: 'held',
      uncertain: true,
      dueAt: null,
    });
  });
});

describe('giving up', () => {
  test('happens when the next try would come after giveUpAfter', () => {
    const old = {
      attempts: 30,
      since: now - policy.giveUpAfterMs,
      firstAttemptAt: now - policy.giveUpAfterMs,
    };
    expect(settled(ended(retry), old)).toMatchObject({
      state: 'dead',
      lastError: 'Given up after 30 attempts. The tool is down.',
    });
  });
  test('is counted from the first attempt if that was late, as after days of downtime', () => {
    expect(settled(ended(retry), { since: now - 10 * policy.giveUpAfterMs }).state).toBe('pending');
  });
  test('starts again after a replay', () => {
    expect(settled(ended(retry), { firstAttemptAt: now - 10 * policy.giveUpAfterMs }).state).toBe('pending');
  });
  test('comes after one more attempt if the tool asked for more time than is left', () => {
    const stated = { ...retry, retryAfterMs: policy.giveUpAfterMs };
    const old = { since: now - 1000, firstAttemptAt: now - 1000 };
    const giveUpAt = now - 1000 + policy.giveUpAfterMs;
    expect(settled(ended(stated), old)).toMatchObject({ state: 'pending', dueAt: giveUpAt });
    const late = { since: now - policy.giveUpAfterMs, firstAttemptAt: now - policy.giveUpAfterMs };
    expect(settled(ended(stated), late)).toMatchObject({
      state: 'dead',
      lastError: 'Given up after one attempt. The tool is down.',
    });
  });
  test('comes after one last attempt where one is to be made so long before', () => {
    const old = { attempts: 30, since: now - 1000, firstAttemptAt: now - 1000 };
    const after = (leftMs: number) =>
      settle(old as never, ended(retry), {
        policy: { ...policy, giveUpAfterMs: 1000 + leftMs },
        now,
        quietAt: now,
        skippedMs: () => 0,
        random: () => 0.5,
        lastTryMs: 5000,
      });
    expect(after(20_000)).toMatchObject({ state: 'pending', dueAt: now + 15_000 });
    expect(after(6000)).toMatchObject({ state: 'pending', dueAt: now + 1000 });
    expect(after(5999).state).toBe('dead');
  });
  test('keeps uncertainty visible', () => {
    const old = {
      attempts: 9,
      since: now - policy.giveUpAfterMs,
      firstAttemptAt: now - policy.giveUpAfterMs,
    };
    expect(settled(ended(unknown), old)).toMatchObject({ state: 'dead', uncertain: true });
  });
});

describe('the backoff', () => {
  const delays = { minDelayMs: 2000, maxDelayMs: 600_000 };

  test('the longest delay doubles with each attempt up to maxDelay', () => {
    const longest = (attempt: number) => backoffMs(attempt, delays, () => 1);
    expect([1, 2, 3, 4].map(longest)).toEqual([4000, 8000, 16_000, 32_000]);
    expect(longest(9)).toBe(600_000);
    expect(longest(5000)).toBe(600_000);
  });

  test('jitter covers the whole range from minDelay on', () => {
    expect(backoffMs(3, delays, () => 0)).toBe(2000);
    expect(backoffMs(3, delays, () => 0.5)).toBe(9000);
  });

  test('a delay is always between minDelay and maxDelay', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempt, random) => {
          const delayMs = backoffMs(attempt, delays, () => random);
          return delayMs >= delays.minDelayMs && delayMs <= delays.maxDelayMs;
        },
      ),
    );
  });
});
