import { expect, test } from 'vitest';
import type { Clock } from '../../src/support/clock.ts';
import { withDeadline } from '../../src/deliveries/sinks.ts';
import type { Ending } from '../../src/deliveries/settle.ts';

/** A clock that only `to` moves. */
class HandClock implements Clock {
  #now = 0;
  readonly #alarms = new Map<() => void, number>();

  now = () => this.#now;
  elapsed = () => this.#now;

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

const done: Ending = { outcome: { outcome: 'delivered', receipt: {} } };

function deadline(clock: Clock, shutdown: AbortSignal = new AbortController().signal) {
  return { clock, timeoutMs: 1000, shutdown, abandoned: (ending: Ending) => ending };
}

const onceAborted = (signal: AbortSignal, run: () => void = () => {}) =>
  new Promise<Ending>((resolve) => {
    signal.addEventListener('abort', () => {
      run();
      resolve(done);
    });
  });

test('an attempt that ends in time keeps its outcome, and no alarm is left', async () => {
  const clock = new HandClock();
  expect(await withDeadline(deadline(clock), async () => done)).toBe(done);
  expect(clock.alarms).toBe(0);
});

test('the signal aborts at the time-out and not before', async () => {
  const clock = new HandClock();
  const aborted: number[] = [];
  const run = withDeadline(deadline(clock), (signal) => onceAborted(signal, () => aborted.push(clock.now())));
  clock.to(999);
  clock.to(1000);
  await run;
  expect(aborted).toEqual([1000]);
  expect(clock.alarms).toBe(0);
});

test('an attempt that ignores its signal is abandoned as unknown', async () => {
  const clock = new HandClock();
  const run = withDeadline(deadline(clock), () => new Promise<Ending>(() => undefined));
  clock.to(1000);
  clock.to(6000);
  expect((await run).outcome).toMatchObject({
    outcome: 'unknown',
    reason: 'timeout',
    detail: 'No answer within 1 s.',
  });
});

test('a shutdown aborts it, and it is abandoned within a second if it ignores that', async () => {
  const shutdown = new AbortController();
  const clock = new HandClock();
  const run = withDeadline(deadline(clock, shutdown.signal), (signal) => onceAborted(signal));
  const stuck = withDeadline(deadline(clock, shutdown.signal), () => new Promise<Ending>(() => undefined));
  shutdown.abort();
  clock.to(1000);
  expect(await run).toBe(done);
  expect((await stuck).outcome.outcome).toBe('unknown');
  expect(clock.alarms).toBe(0);
});

test('after a time-out and then a shutdown it is abandoned at the earlier of the two deadlines, and no alarm is left', async () => {
  const clock = new HandClock();
  const early = new AbortController();
  const first = withDeadline(deadline(clock, early.signal), () => new Promise<Ending>(() => undefined));
  const late = new AbortController();
  const second = withDeadline(deadline(clock, late.signal), () => new Promise<Ending>(() => undefined));
  clock.to(1000);
  early.abort();
  clock.to(2000);
  expect((await first).outcome.outcome).toBe('unknown');
  clock.to(5900);
  late.abort();
  clock.to(6000);
  expect((await second).outcome.outcome).toBe('unknown');
  expect(clock.alarms).toBe(0);
});
