import { promiseHooks, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Outcome } from '../../src/model/outcomes.ts';
import { storeRetryMs } from '../../src/deliveries/record.ts';
import type { WorkerParts } from '../../src/deliveries/worker.ts';
import { type Clock, systemClock } from '../../src/support/clock.ts';
import { StoreUnavailable, type Store } from '../../src/store/store.ts';
import { bench, configFor, ScriptedTool, type Bench } from './scripted.ts';
import { eventually } from '../fixtures/eventually.ts';

// What the commit that stores an event begins, where its sink is idle. The others are claimed; see worker.test.ts.

const inTime = { timeout: 10_000, interval: 5 };
const reaches = (on: Bench, eventId: string, state: string, within = inTime) =>
  eventually(async () => expect(await on.delivery(eventId)).toMatchObject({ state }), within);

/** Alarms without delay ring at once. */
const hasty: Clock = {
  ...systemClock,
  after(delayMs, run) {
    if (delayMs > 0) return systemClock.after(delayMs, run);
    run();
    return () => {};
  },
};

/** So many at once, and no more for a while. */
const perHour = (count: number) => ({ count, perMs: 3_600_000, burst: count });

/** A worker that does not look for what is due by itself. `claims`: how often it claimed. */
async function idle(tool: ScriptedTool, sink = '', parts: Partial<WorkerParts> = {}) {
  const action = tool.lanes ? 'text: "{{ event.candidateId }}", place: here' : undefined;
  const given = { pollMs: 3_600_000, storeFailed: () => {}, ...parts };
  const on = await bench(configFor(tool, sink, action), given);
  const claim = on.store.claim.bind(on.store);
  let claims = 0;
  on.store.claim = (query) => {
    claims += 1;
    return claim(query);
  };
  return { ...on, claims: () => claims };
}

/** The next event is stored, and nobody hears of that before the returned function is called. */
function unheard(store: Store): { stored: Promise<void>; answer: (error?: Error) => void } {
  const accept = store.accept.bind(store);
  const stored = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Error | undefined>();
  store.accept = async (arrival) => {
    store.accept = accept;
    const accepted = await accept(arrival);
    stored.resolve();
    const error = await answer.promise;
    if (error) throw error;
    return accepted;
  };
  return { stored: stored.promise, answer: answer.resolve };
}

test('it is sent without a claim, and its intent is on disk before that', async () => {
  const tool = new ScriptedTool();
  const states: unknown[] = [];
  tool.deliver = async ({ deliveryId }) => {
    states.push(await on.store.delivery(deliveryId));
    return { outcome: 'delivered', receipt: { id: deliveryId } };
  };
  const on = await idle(tool);
  const eventId = await on.receive();
  await reaches(on, eventId, 'delivered');
  expect(states).toMatchObject([{ state: 'sending', attempts: 1, uncertain: false }]);
  expect(await on.delivery(eventId)).toMatchObject({ attempts: 1, history: [{ number: 1 }] });
  expect(on.claims()).toBe(0);
});

describe('slot and token are given back', () => {
  test('for duplicates, however many come at once', async () => {
    const tool = new ScriptedTool();
    tool.pace = perHour(3);
    const on = await idle(tool, 'concurrency: 3');
    const first = await on.receive('twin');
    await reaches(on, first, 'delivered');
    const twins = await Promise.all(Array.from({ length: 8 }, () => on.receive('twin')));
    expect(new Set(twins)).toEqual(new Set([first]));
    const others = await Promise.all(['one', 'another'].map((candidate) => on.receive(candidate)));
    for (const eventId of others) await reaches(on, eventId, 'delivered');
    expect(on.claims()).toBe(0);
    expect(await on.delivery(await on.receive('beyond the rate'))).toMatchObject({ state: 'pending' });
  });

  test('when the event cannot be stored', async () => {
    const tool = new ScriptedTool();
    const on = await idle(tool, 'concurrency: 1, rate: 1/h');
    const accept = on.store.accept.bind(on.store);
    on.store.accept = () => Promise.reject(new StoreUnavailable('The disk is full.'));
    await expect(on.receive()).rejects.toThrow('full');
    on.store.accept = accept;
    await reaches(on, await on.receive(), 'delivered');
    expect(on.claims()).toBe(0);
  });
});

test('what was begun when the process died is rescued, asked for and sent once', async () => {
  const tool = new ScriptedTool();
  tool.find = () => ({ found: null });
  const on = await idle(tool);
  const { stored, answer } = unheard(on.store);
  const received = on.receive();
  await stored;
  const [left] = await on.store.deliveries({ states: ['sending'] });
  expect(await on.restart().start()).toBe(1);
  await reaches(on, left!.eventId!, 'delivered');
  expect([tool.asked.length, tool.sent.length]).toEqual([1, 1]);
  const { history } = await on.store.event(left!.eventId!).then((story) => story!.deliveries[0]!);
  expect(history.map(({ outcome }) => outcome.outcome)).toEqual(['unknown', 'delivered']);
  answer(new Error('The process died.'));
  await expect(received).rejects.toThrow('died');
});

describe('at the shutdown', () => {
  test('what is being stored is waited for, and not begun after the grace', async () => {
    const tool = new ScriptedTool();
    const on = await idle(tool, '', { clock: hasty });
    const { stored, answer } = unheard(on.store);
    const received = on.receive();
    await stored;
    let isStopped = false;
    const stopped = on.worker.stop(0).then(() => (isStopped = true));
    await on.store.probe();
    await on.store.probe();
    expect(isStopped).toBe(false);
    answer();
    const eventId = await received;
    await stopped;
    expect(tool.sent).toEqual([]);
    expect(await on.delivery(eventId)).toMatchObject({ state: 'pending', uncertain: false });
  });

  test('what comes later waits for the next start', async () => {
    const on = await idle(new ScriptedTool());
    await on.worker.stop(0);
    expect(await on.delivery(await on.receive())).toMatchObject({ state: 'pending', attempts: 0 });
  });
});

test('a rate is kept however many events come at once, and the rest waits', async () => {
  const tool = new ScriptedTool();
  tool.pace = perHour(5);
  const on = await idle(tool, 'concurrency: 100');
  const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => on.receive(`candidate-${n}`)));
  await eventually(() => expect(on.reports).toHaveLength(5), inTime);
  const deliveries = await Promise.all(ids.map((id) => on.delivery(id)));
  expect(deliveries.filter(({ state }) => state === 'delivered')).toHaveLength(5);
  expect(deliveries.filter(({ state, attempts }) => state === 'pending' && attempts === 0)).toHaveLength(15);
});

test('no more calls are under way than the sink allows, and the rest follows', async () => {
  const tool = new ScriptedTool();
  const { deliver } = tool;
  let [underWay, most] = [0, 0];
  tool.deliver = async (request) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => void setImmediate(resolve));
    underWay -= 1;
    return deliver(request);
  };
  const on = await idle(tool, 'concurrency: 3');
  await Promise.all(Array.from({ length: 20 }, (_, n) => on.receive(`candidate-${n}`)));
  await eventually(() => expect(on.reports).toHaveLength(20), inTime);
  expect(most).toBe(3);
});

test('in an ordered lane nothing overtakes what nobody has looked for yet', async () => {
  const tool = new ScriptedTool();
  tool.lanes = true;
  const answers = Promise.withResolvers<void>();
  const { deliver } = tool;
  tool.deliver = async (request) => answers.promise.then(() => deliver(request));
  const on = await idle(tool);
  await on.receive('first');
  await eventually(() => expect(tool.sent).toHaveLength(1), inTime);
  const looks = Promise.withResolvers<void>();
  const lanes = on.store.lanes.bind(on.store);
  on.store.lanes = async (from) => looks.promise.then(() => lanes(from));
  await on.receive('second');
  answers.resolve();
  await eventually(() => expect(on.reports).toHaveLength(1), inTime);
  await on.receive('third');
  looks.resolve();
  await eventually(() => expect(on.reports).toHaveLength(3), inTime);
  expect(tool.sent.map(({ message }) => message.text)).toEqual(['first', 'second', 'third']);
});

test('to a sink that was paused meanwhile goes what was begun, and nothing after it', async () => {
  const tool = new ScriptedTool();
  const down: Outcome = { outcome: 'retry', reason: 'auth', detail: 'Revoked.', sinkWide: true };
  tool.deliver = () => down;
  const on = await idle(tool, 'retry: { minDelay: 1h, maxDelay: 1h, giveUpAfter: 9h }, concurrency: 9');
  const { stored, answer } = unheard(on.store);
  const begun = on.receive('begun');
  await stored;
  for (let n = 0; n < 5; n += 1) await on.receive(`candidate-${n}`);
  await eventually(() => expect(on.changes).toEqual(['tool paused']), inTime);
  answer();
  const eventId = await begun;
  await eventually(() => expect(on.reports).toHaveLength(6), inTime);
  expect(await on.delivery(eventId)).toMatchObject({ attempts: 1 });
  expect(await on.delivery(await on.receive('later'))).toMatchObject({ state: 'pending', attempts: 0 });
});

test('an outcome that cannot be stored is stored as soon as it can be, and the slot is free then', async () => {
  const tool = new ScriptedTool();
  const on = await idle(tool, 'concurrency: 1');
  const record = on.store.record.bind(on.store);
  let failures = 2;
  on.store.record = async (results) => {
    if (failures === 0) return record(results);
    failures -= 1;
    throw new StoreUnavailable('The disk is full.');
  };
  const first = await on.receive('first');
  const second = await on.receive('second');
  await reaches(on, first, 'delivered');
  await reaches(on, second, 'delivered');
  expect(tool.sent).toHaveLength(2);
});

test('an outcome that waits for the store takes no memory for each try to store it', async () => {
  const clock: Clock = {
    ...systemClock,
    after(delayMs, run) {
      if (delayMs !== storeRetryMs) return systemClock.after(delayMs, run);
      const soon = setImmediate(run);
      return () => clearImmediate(soon);
    },
  };
  const on = await idle(new ScriptedTool(), '', { clock });
  const record = on.store.record.bind(on.store);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const made: WeakRef<Promise<unknown>>[] = [];
  const unhook = promiseHooks.onInit((promise) => void made.push(new WeakRef(promise)));
  onTestFinished(() => void unhook());
  let kept = 0;
  let tries = 0;
  on.store.record = async (results) => {
    if (tries === 1000) return record(results);
    tries += 1;
    if (tries === 1000) {
      collect();
      kept = made.filter((one) => one.deref() !== undefined).length;
    }
    throw new StoreUnavailable('The disk is full.');
  };
  await reaches(on, await on.receive(), 'delivered');
  expect(made.length).toBeGreaterThan(1000);
  expect(kept).toBeLessThan(500);
});
