import { expect, test } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { withDeadline } from '../../src/deliveries/deadline.ts';
import type { Ending } from '../../src/deliveries/settle.ts';

/** A clock that moves when it is told to. */
class HandClock implements Clock {
  #now = 0;
  readonly #alarms = new Map<() => void, number>();

  now = () => this.#now;

  after(delayMs: number, run: () => void): () => void {
    this.#alarms.set(run, this.#now + delayMs);
    return () => this.#alarms.delete(run);
  }

  get alarms(): number {
    return this.#alarms.size;
  }

  to(time: number): void {
    this.#now = time;
    for (const [run, at] of this.#alarms) {
      if (at > time) continue;
      this.#alarms.delete(run);
      run();
    }
  }
}

const done: Ending = { outcome: { outcome: 'delivered', receipt: {} }, askedAbsent: false, hold: false };
const never = new AbortController().signal;

test('an attempt that ends in time is what it was, and leaves no alarm behind', async () => {
  const clock = new HandClock();
  expect(await withDeadline(clock, 1000, never, async () => done)).toBe(done);
  expect(clock.alarms).toBe(0);
});

test('the signal aborts at the time-out and not before', async () => {
  const clock = new HandClock();
  const aborted: number[] = [];
  const run = withDeadline(
    clock,
    1000,
    never,
    (signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          aborted.push(clock.now());
          resolve(done);
        });
      }),
  );
  clock.to(999);
  clock.to(1000);
  await run;
  expect(aborted).toEqual([1000]);
});

test('an attempt that ignores its signal is written off as unknown', async () => {
  const clock = new HandClock();
  const run = withDeadline(clock, 1000, never, () => new Promise<Ending>(() => undefined));
  clock.to(1000);
  clock.to(6000);
  expect((await run).outcome).toMatchObject({
    outcome: 'unknown',
    reason: 'timeout',
    detail: 'No answer within 1 s.',
  });
});

test('a shutdown aborts it', async () => {
  const shutdown = new AbortController();
  const run = withDeadline(
    new HandClock(),
    1000,
    shutdown.signal,
    (signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(done));
      }),
  );
  shutdown.abort();
  expect(await run).toBe(done);
});
