import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AttemptRequest } from '../../src/connector.ts';
import { ConnectedSinks } from '../../src/deliveries/sinks/connected-sinks.ts';
import { RateLimiter } from '../../src/deliveries/limits/rates.ts';
import { Slots } from '../../src/deliveries/limits/slots.ts';
import { Traffic } from '../../src/deliveries/traffic.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { configFor, ScriptedTool } from './scripted.ts';

const sink = configFor(new ScriptedTool()).sinks.get('tool')!;
const one = { sink: 'tool', lane: 'tool one' };
const other = { sink: 'tool', lane: 'tool other' };
const down: Outcome = { outcome: 'unknown', reason: 'timeout', detail: 'No answer.' };
const later = 60_000;

function paused(): Traffic {
  const traffic = new Traffic(() => 0.5);
  for (let failure = 0; failure < 5; failure += 1) {
    const { calls, probe } = traffic.permit(one, sink, 0);
    traffic.giveBack(one, calls - 1, probe);
    traffic.ended(traffic.started(one, sink, 0, probe), [{ deliveryId: 'dlv_1', outcome: down }], sink, 0);
  }
  expect([...traffic.pauses()]).toMatchObject([['tool', { since: 0 }]]);
  return traffic;
}

test('lanes of a paused sink that ask at the same time get one probe between them', () => {
  const traffic = paused();
  expect(traffic.permit(one, sink, later)).toMatchObject({ calls: 1, probe: true });
  expect(traffic.permit(other, sink, later)).toMatchObject({ calls: 0 });
  expect(traffic.askAgainAt(other, sink, later)).toBe(Infinity);
});

test('a probe prefers untried deliveries, except in lanes that keep an order', () => {
  expect(new Traffic(() => 0.5).permit(one, sink, 0)).toMatchObject({ untriedFirst: false });
  expect(paused().permit(one, sink, later)).toMatchObject({ probe: true, untriedFirst: true });
  const ordered = { ...sink, connector: { ...sink.connector, lane: () => 'somewhere' } };
  expect(paused().permit(one, ordered, later)).toMatchObject({ probe: true, untriedFirst: false });
});

test('an unused probe goes to another lane', () => {
  const traffic = paused();
  const { calls, probe } = traffic.permit(one, sink, later);
  traffic.giveBack(one, calls, probe);
  expect(traffic.permit(other, sink, later)).toMatchObject({ calls: 1, probe: true });
});

test('a call permitted before the pause is no probe when it ends after it', () => {
  const traffic = new Traffic(() => 0.5);
  const early = traffic.permit(other, { ...sink, concurrency: 1 }, 0);
  const roomy = { ...sink, concurrency: 2 };
  for (let failure = 0; failure < 5; failure += 1) {
    const { probe } = traffic.permit(one, roomy, 0);
    traffic.ended(traffic.started(one, roomy, 0, probe), [{ deliveryId: 'dlv_1', outcome: down }], roomy, 0);
  }
  expect(traffic.started(other, roomy, 0, early.probe)).toMatchObject({ probe: false });
});

test('a sink that left the config is no longer paused, so that its deliveries do not wait', () => {
  const traffic = paused();
  traffic.tidy(new Map([['tool', sink]]), 0);
  expect(traffic.permit(one, sink, 0)).toMatchObject({ calls: 0 });
  traffic.tidy(new Map(), 0);
  expect(traffic.pauses().size).toBe(0);
  expect(traffic.permit(one, undefined, 0)).toMatchObject({ calls: 1, probe: false });
});

describe('a tool that says "not before"', () => {
  const limited = (retryAfterMs?: number): Outcome => ({
    outcome: 'retry',
    reason: 'rate_limited',
    detail: 'Slow down.',
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });

  function after(outcome: Outcome): Traffic {
    const traffic = new Traffic(() => 0.5);
    const { calls, probe } = traffic.permit(one, sink, 0);
    traffic.giveBack(one, calls - 1, probe);
    traffic.ended(traffic.started(one, sink, 0, probe), [{ deliveryId: 'dlv_1', outcome }], sink, 0);
    return traffic;
  }

  test('holds its lane, even without a rate, and no other lane', () => {
    const traffic = after(limited(30_000));
    expect(traffic.permit(one, sink, 29_999)).toMatchObject({ calls: 0, probe: false });
    expect(traffic.askAgainAt(one, sink, 29_999)).toBe(30_000);
    const { calls, probe } = traffic.permit(other, sink, 0);
    expect(calls).toBe(4);
    traffic.giveBack(other, calls, probe);
    expect(traffic.permit(one, sink, 30_000)).toMatchObject({ calls: 4 });
  });

  test('without a delay holds it for minDelay', () => {
    const { minDelayMs } = sink.retry;
    const traffic = after(limited());
    expect(traffic.permit(one, sink, minDelayMs - 1)).toMatchObject({ calls: 0 });
    expect(traffic.askAgainAt(one, sink, minDelayMs - 1)).toBe(minDelayMs);
  });

  test('for a day holds the message for a day, and the lane for a few minutes', () => {
    const traffic = after(limited(86_400_000));
    expect(traffic.permit(one, sink, 299_999)).toMatchObject({ calls: 0 });
    expect(traffic.permit(one, sink, 300_000).calls).toBeGreaterThan(0);
  });
});

test('with a rate, it asks again a moment before the next call may start, as a claim takes time, and not before a slot is free', () => {
  const paced = { ...sink, concurrency: 2, pace: { count: 1, perMs: 1000, burst: 1 } };
  const traffic = new Traffic(() => 0.5);
  const start = (now: number) => {
    const { calls, probe } = traffic.permit(one, paced, now);
    expect(calls).toBe(1);
    return traffic.started(one, paced, now, probe);
  };
  start(0);
  expect(traffic.askAgainAt(one, paced, 0)).toBe(750);
  expect(traffic.permit(one, paced, 749).calls).toBe(0);
  expect(start(750).startAt).toBe(1000);
  expect(traffic.askAgainAt(one, paced, 750)).toBe(Infinity);
});

test('a claim may take what the rate lets begin within a moment, and each call waits for its turn', () => {
  const paced = { ...sink, concurrency: 50, pace: { count: 20, perMs: 1000, burst: 2 } };
  const traffic = new Traffic(() => 0.5);
  expect(traffic.permit(one, paced, 0.5)).toMatchObject({ calls: 12 });
  // The claim took so long.
  const starts = Array.from({ length: 12 }, () => traffic.started(one, paced, 40.5, false).startAt);
  expect(starts.slice(0, 4)).toEqual([40.5, 40.5, 90.5, 140.5]);
  expect(starts.at(-1)).toBe(540.5);
  expect(traffic.permit(one, paced, 340).calls).toBe(0);
  expect(traffic.permit(one, paced, 341).calls).toBe(6);
});

test('what begins with its event leaves the rate to what is being claimed, and has what that did not need', () => {
  const paced = { ...sink, concurrency: 50, pace: { count: 3, perMs: 3_600_000, burst: 3 } };
  const traffic = new Traffic(() => 0.5);
  const { calls, probe } = traffic.permit(one, paced, 0);
  expect(calls).toBe(3);
  expect(traffic.reserve(one, paced, 0)).toBeNull();
  traffic.started(one, paced, 0, probe);
  traffic.giveBack(one, 2, probe);
  const reserved = Array.from({ length: 3 }, () => traffic.reserve(one, paced, 0) !== null);
  expect(reserved).toEqual([true, true, false]);
});

test('a call that was claimed before the tool asked for a long delay is not kept back for all of it', () => {
  const paced = { ...sink, pace: { count: 20, perMs: 1000, burst: 1 } };
  const traffic = new Traffic(() => 0.5);
  const first = traffic.started(one, paced, 0, traffic.permit(one, paced, 0).probe);
  const outcome = {
    outcome: 'retry',
    reason: 'rate_limited',
    detail: 'Slow down.',
    retryAfterMs: later,
  } as const;
  traffic.ended(first, [{ deliveryId: 'dlv_1', outcome }], paced, 10);
  expect(traffic.started(one, paced, 20, false).startAt).toBe(1020);
});

test('a call that never reached the tool takes nothing from the rate', () => {
  const paced = { ...sink, pace: { count: 1, perMs: 60_000, burst: 1 } };
  const traffic = new Traffic(() => 0.5);
  const { probe } = traffic.permit(one, paced, 0);
  traffic.ended(traffic.started(one, paced, 0, probe), [], paced, 0);
  expect(traffic.permit(one, paced, 0)).toMatchObject({ calls: 1 });
});

test.for([
  [0, 1],
  [1, 0],
] as const)('one for which the tool counted %d calls leaves %d to start', ([counted, left]) => {
  const paced = { ...sink, pace: { count: 1, perMs: 60_000, burst: 1 } };
  const traffic = new Traffic(() => 0.5);
  const { probe } = traffic.permit(one, paced, 0);
  const ended = [{ deliveryId: 'dlv_1', outcome: { outcome: 'delivered', receipt: {} } }] as const;
  traffic.ended(traffic.started(one, paced, 0, probe), ended, paced, 0, { account: 'a', calls: counted });
  expect(traffic.permit(one, paced, 0)).toMatchObject({ calls: left });
});

test('calls that end together take what the tool counted for them, and no more', async () => {
  const tool = new ScriptedTool();
  tool.counted = { account: 'a', calls: 1, pace: { count: 5, perMs: 3_600_000, burst: 5 } };
  const counting = configFor(tool).sinks.get('tool')!;
  const sinks = new ConnectedSinks();
  const traffic = new Traffic(() => 0.5);
  const ended = [{ deliveryId: 'dlv_1', outcome: { outcome: 'delivered', receipt: {} } }] as const;
  const request = {} as AttemptRequest<never>;
  // The account is known once the sink was used.
  for (const together of [1, 2]) {
    const tickets = Array.from({ length: together }, () => traffic.reserve(one, counting, 0)!);
    const calls = tickets.map(async () => {
      const connection = sinks.take(counting);
      const connected = await connection.connecting;
      await connected.deliver(request);
      sinks.giveBack(connection);
    });
    await Promise.all(calls);
    for (const ticket of tickets) traffic.ended(ticket, ended, counting, 0, sinks.takeUsage('tool'));
  }
  expect(traffic.permit(one, { ...counting, concurrency: 9 }, 0)).toMatchObject({ calls: 2 });
});

test('if the connector has lanes, each has one call in flight', () => {
  const ordered = { ...sink, connector: { ...sink.connector, lane: () => 'somewhere' } };
  const traffic = new Traffic(() => 0.5);
  expect(traffic.permit(one, ordered, 0)).toMatchObject({ calls: 1 });
  expect(traffic.permit(one, ordered, 0)).toMatchObject({ calls: 0 });
  expect(traffic.permit(other, ordered, 0)).toMatchObject({ calls: 1 });
});

test('failures of single messages never pause the sink, and let another probe start at once', () => {
  const own: Outcome = { outcome: 'retry', reason: 'server', detail: '452 The mailbox is full.' };
  const perhaps: Outcome = { ...own, sinkWide: 'perhaps' };
  const fail = (traffic: Traffic, outcome: Outcome, now = 0) => {
    for (let message = 0; message < 30; message += 1) {
      const { calls, probe } = traffic.permit(one, sink, now);
      if (calls === 0) return;
      traffic.giveBack(one, calls - 1, probe);
      const ended = [{ deliveryId: `dlv_${message}`, outcome }];
      traffic.ended(traffic.started(one, sink, now, probe), ended, sink, now);
    }
  };
  const working = new Traffic(() => 0.5);
  fail(working, own);
  expect(working.pauses().size).toBe(0);
  fail(working, perhaps);
  expect([...working.pauses().keys()]).toEqual(['tool']);

  const outage = paused();
  const { calls, probe } = outage.permit(one, sink, later);
  outage.giveBack(one, calls - 1, probe);
  outage.ended(outage.started(one, sink, later, probe), [{ deliveryId: 'dlv_1', outcome: own }], sink, later);
  expect(outage.permit(other, sink, later)).toMatchObject({ calls: 1, probe: true });
});

test('tokens are returned only if no others were taken since', () => {
  const paced = { ...sink, concurrency: 4, pace: { count: 2, perMs: 1000, burst: 1 } };
  const traffic = new Traffic(() => 0.5);
  const start = (now: number) => {
    const { calls, probe } = traffic.permit(one, paced, now);
    return calls > 0 ? traffic.started(one, paced, now, probe) : null;
  };
  const first = start(0)!;
  expect(start(500)).not.toBeNull();
  traffic.ended(first, [], paced, 500);
  expect(start(500)).toBeNull();
});

describe('slots', () => {
  const general = { sink: 'slack', lane: 'slack #general' };
  const hiring = { sink: 'slack', lane: 'slack #hiring' };

  test('a lane takes no more than its own limit, and leaves the rest of the sink to others', () => {
    const slots = new Slots();
    expect(slots.take(general, { sink: 3, lane: 1 }, Infinity)).toBe(1);
    expect(slots.take(general, { sink: 3, lane: 1 }, Infinity)).toBe(0);
    expect(slots.take(hiring, { sink: 3, lane: 1 }, Infinity)).toBe(1);
  });

  test('a full sink has no slot for another lane until one is freed', () => {
    const slots = new Slots();
    expect(slots.take(general, { sink: 2, lane: 2 }, Infinity)).toBe(2);
    expect(slots.take(hiring, { sink: 2, lane: 2 }, Infinity)).toBe(0);
    slots.free(general, 1);
    expect(slots.take(hiring, { sink: 2, lane: 2 }, Infinity)).toBe(1);
  });

  test('a limit that a reload made smaller than what is in flight gives no slot', () => {
    const slots = new Slots();
    slots.take(general, { sink: 5, lane: 5 }, Infinity);
    expect(slots.take(general, { sink: 2, lane: 2 }, Infinity)).toBe(0);
    slots.free(general, 4);
    expect(slots.take(general, { sink: 2, lane: 2 }, Infinity)).toBe(1);
  });

  test('no more is taken than wanted', () => {
    const slots = new Slots();
    expect(slots.take(general, { sink: 5, lane: 5 }, 2)).toBe(2);
    expect(slots.take(general, { sink: 5, lane: 5 }, 0)).toBe(0);
  });
});

describe('a rate limit', () => {
  const perSecond = { count: 1, perMs: 1000, burst: 3 };

  test('after a quiet time a burst may start, and then one in each interval', () => {
    const rates = new RateLimiter();
    expect(rates.allowance('a', perSecond, 0)).toBe(3);
    rates.spend('a', perSecond, 0, 3);
    expect(rates.allowance('a', perSecond, 999)).toBe(0);
    expect(rates.readyAt('a', perSecond, 0)).toBe(1000);
    expect(rates.allowance('a', perSecond, 1000)).toBe(1);
  });

  test('lanes do not slow each other', () => {
    const rates = new RateLimiter();
    rates.spend('a', perSecond, 0, 3);
    expect(rates.allowance('b', perSecond, 0)).toBe(3);
  });

  test('a hold lets nothing start before its time, and one then', () => {
    const rates = new RateLimiter();
    rates.hold('a', perSecond, 30_000);
    expect(rates.allowance('a', perSecond, 29_999)).toBe(0);
    expect(rates.readyAt('a', perSecond, 0)).toBe(30_000);
    expect(rates.allowance('a', perSecond, 30_000)).toBe(1);
  });

  test('a new rate applies at once: what the old one owed does not count', () => {
    const rates = new RateLimiter();
    rates.spend('a', { count: 1, perMs: 3_600_000, burst: 1 }, 0, 1);
    const faster = { count: 60, perMs: 60_000, burst: 1 };
    expect(rates.allowance('a', faster, 20_000)).toBe(1);
    rates.spend('a', faster, 20_000, 1);
    expect(rates.readyAt('a', faster, 20_000)).toBe(21_000);
  });

  test('forgetting full buckets changes nothing', () => {
    const rates = new RateLimiter();
    rates.spend('a', perSecond, 0, 2);
    rates.forget(1999);
    expect(rates.allowance('a', perSecond, 0)).toBe(1);
    rates.forget(2000);
    expect(rates.allowance('a', perSecond, 2000)).toBe(3);
  });

  test('no window has more calls than the rate and the burst allow', () => {
    const limits = fc.record({
      count: fc.integer({ min: 1, max: 100 }),
      perMs: fc.constantFrom(1000, 60_000, 3_600_000),
      burst: fc.integer({ min: 1, max: 5 }),
    });
    fc.assert(
      fc.property(limits, fc.array(fc.nat({ max: 5000 }), { maxLength: 200 }), (limit, gaps) => {
        const rates = new RateLimiter();
        const starts: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          const allowed = rates.allowance('a', limit, now);
          rates.spend('a', limit, now, allowed);
          for (let start = 0; start < allowed; start += 1) starts.push(now);
        }
        return starts.every((from, index) => {
          const inWindow = starts.filter((start, at) => at >= index && start < from + limit.perMs).length;
          return inWindow <= limit.count + limit.burst;
        });
      }),
    );
  });
});
