import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  backoffMs,
  type Circumstances,
  type Ending,
  settle,
  type Settlement,
} from '../../src/deliveries/settle.ts';
import type { Outcome } from '../../src/model/outcomes.ts';

const now = 1_800_000_000_000;
const policy = { minDelayMs: 1000, maxDelayMs: 60_000, giveUpAfterMs: 3_600_000 };
const fresh = { attempts: 1, since: now, firstAttemptAt: now, uncertain: false, progress: null };
/** Tried for so long (ms). */
const triedFor = (ms: number, attempts = 1) => ({ attempts, since: now - ms, firstAttemptAt: now - ms });
const uncertain = { uncertain: true };

const retry: Outcome = { outcome: 'retry', reason: 'server', detail: 'The tool is down.' };
const unknown: Outcome = { outcome: 'unknown', reason: 'timeout', detail: 'No answer.' };
const rejected: Outcome = { ...retry, outcome: 'rejected', detail: 'No channel.', advice: 'Make one.' };
const delivered: Outcome = { outcome: 'delivered', receipt: { ts: '1' } };

const asked = (retryAfterMs: number): Ending => ({ outcome: { ...retry, retryAfterMs } });
const progress = { accepted: ['a'] };

function settled(
  ending: Ending,
  delivery: object = {},
  circumstances: Partial<Circumstances> = {},
): Settlement {
  const usual = { policy, now, quietAt: now, skippedMs: () => 0, random: () => 0.5 };
  return settle({ ...fresh, ...delivery }, ending, { ...usual, ...circumstances });
}

const cases: [what: string, ending: Ending, delivery: object, expected: Partial<Settlement>][] = [
  [
    'a success is final, and certain',
    { outcome: delivered },
    uncertain,
    { state: 'delivered', dueAt: null, uncertain: false, progress: null, lastError: null },
  ],
  [
    'a success that missed somebody says who, for the notice',
    { outcome: { ...delivered, note: 'Left out: robin.', missed: true } },
    {},
    { state: 'delivered', lastError: 'Left out: robin.' },
  ],
  [
    'a success with a note is one all the same',
    { outcome: { ...delivered, note: 'Shortened.' } },
    {},
    { state: 'delivered', lastError: null },
  ],
  [
    'a rejection is dead at once, with the fix to try',
    { outcome: rejected },
    {},
    { state: 'dead', lastError: 'No channel. Make one.' },
  ],
  [
    'a retry waits by the backoff',
    { outcome: retry },
    {},
    { state: 'pending', dueAt: now + 1500, lastError: 'The tool is down.' },
  ],
  ["the tool's own delay replaces the backoff", asked(30_000), {}, { dueAt: now + 30_000 }],
  ['the tool is not called before minDelay', asked(0), {}, { dueAt: now + policy.minDelayMs }],
  ['progress goes to the next attempt', { outcome: { ...retry, progress } }, {}, { progress }],
  ['progress of an unknown attempt, too', { outcome: { ...unknown, progress } }, {}, { progress }],
  ['progress stays if an attempt makes none', { outcome: retry }, { progress }, { progress }],
  [
    'an unknown outcome is uncertain, and tried again',
    { outcome: unknown },
    {},
    { state: 'pending', uncertain: true },
  ],
  ['a certain failure leaves it uncertain', { outcome: retry }, uncertain, { uncertain: true }],
  [
    'a tool that was asked and had nothing makes it certain',
    { outcome: retry, confirmedAbsent: true },
    uncertain,
    { uncertain: false },
  ],
  [
    'an attempt that a person has to judge is held',
    { outcome: unknown, hold: true },
    {},
    { state: 'held', uncertain: true, dueAt: null },
  ],
  [
    'it is tried once more at the end, if the backoff is longer than what is left',
    { outcome: retry },
    triedFor(policy.giveUpAfterMs - policy.minDelayMs, 30),
    { state: 'pending', dueAt: now + policy.minDelayMs },
  ],
  [
    'it is given up when less than minDelay is left of giveUpAfter',
    { outcome: retry },
    triedFor(policy.giveUpAfterMs - policy.minDelayMs + 1, 30),
    { state: 'dead', lastError: 'Given up after 30 attempts. The tool is down.' },
  ],
  [
    'the time counts from the first attempt, if that was late',
    { outcome: retry },
    { since: now - 10 * policy.giveUpAfterMs },
    { state: 'pending' },
  ],
  [
    'the time counts from a replay',
    { outcome: retry },
    { firstAttemptAt: now - 10 * policy.giveUpAfterMs },
    { state: 'pending' },
  ],
  [
    'it is tried once more at the end, if the tool asks for more time than is left',
    asked(policy.giveUpAfterMs),
    triedFor(1000),
    { state: 'pending', dueAt: now - 1000 + policy.giveUpAfterMs },
  ],
  [
    'it is given up if no time is left',
    asked(policy.giveUpAfterMs),
    triedFor(policy.giveUpAfterMs),
    { state: 'dead', lastError: 'Given up after one attempt. The tool is down.' },
  ],
  [
    'it may be given up uncertain',
    { outcome: unknown },
    triedFor(policy.giveUpAfterMs),
    { state: 'dead', uncertain: true },
  ],
];
test.each(cases)('%s', (_what, ending, delivery, expected) => {
  expect(settled(ending, delivery)).toMatchObject(expected);
});

test('a last attempt is due at a whole millisecond, where a clock jumped by a part of one', () => {
  const circumstances = { skippedMs: () => 0.4 };
  const { dueAt } = settled({ outcome: retry }, triedFor(policy.giveUpAfterMs - 1000, 30), circumstances);
  expect(dueAt).toBe(now + 1001);
});

test('the tool is not asked before it has certainly finished with an unknown attempt', () => {
  const circumstances = { quietAt: now + 30_000, random: () => 0 };
  expect(settled({ outcome: unknown }, {}, circumstances).dueAt).toBe(now + 30_000);
  expect(settled({ outcome: retry }, {}, circumstances).dueAt).toBe(now + 1000);
  const nearTheEnd = triedFor(policy.giveUpAfterMs - 20_000, 30);
  expect(settled({ outcome: unknown }, nearTheEnd, circumstances).state).toBe('dead');
  expect(settled({ outcome: retry }, nearTheEnd, { random: () => 0.9 }).dueAt).toBe(now + 20_000);
});

test.each([
  [20_000, { state: 'pending', dueAt: now + 15_000 }],
  [6000, { state: 'pending', dueAt: now + 1000 }],
  [5999, { state: 'dead' }],
])('a last attempt is made 5 s before the end, with %d ms left', (leftMs, expected) => {
  const circumstances = { policy: { ...policy, giveUpAfterMs: 1000 + leftMs }, lastTryMs: 5000 };
  expect(settled({ outcome: retry }, triedFor(1000, 30), circumstances)).toMatchObject(expected);
});

describe('the backoff', () => {
  const delays = { minDelayMs: 2000, maxDelayMs: 600_000 };

  test.each([
    [1, 1, 4000],
    [2, 1, 8000],
    [4, 1, 32_000],
    [9, 1, 600_000],
    [5000, 1, 600_000],
    [3, 0, 2000],
    [3, 0.5, 9000],
  ])('after attempt %d, with %d of the range: %d ms', (attempt, random, delayMs) => {
    expect(backoffMs(attempt, delays, () => random)).toBe(delayMs);
  });

  test('is always between minDelay and maxDelay', () => {
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
