import { describe, expect, test, vi } from 'vitest';
import type { Finding } from '../../src/connector.ts';
import { type Clock, ClockJumps, systemClock } from '../../src/support/clock.ts';
import { parseConfig } from '../../src/config/load.ts';
import { pausesNow } from '../../src/ops/pauses.ts';
import { masker } from '../../src/support/masker.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { person } from '../contract/store-fixtures.ts';
import { bench, configFor, ScriptedTool, type Bench, skipping } from './scripted.ts';
import { eventually } from '../fixtures/eventually.ts';

const failed: Outcome = { outcome: 'retry', reason: 'server', detail: 'Down.' };
const unclear: Outcome = { outcome: 'unknown', reason: 'timeout', detail: 'No answer.' };

/** The worker knows it, too: a reader sees an outcome a moment before it is known to be on disk. */
async function reaches(on: Bench, eventId: string, state: string): Promise<void> {
  const inTime = { timeout: 30_000, interval: 5 };
  await eventually(async () => expect(await on.delivery(eventId)).toMatchObject({ state }), inTime);
  await on.store.probe();
}

const five = ['ann', 'bob', 'cid', 'dan', 'eve'];

/** What came of one event, once its delivery is so. `sink`: options of the tool's sink. */
async function ended(tool: ScriptedTool, state: string, sink = '') {
  const on = await bench(configFor(tool, sink));
  const eventId = await on.accept();
  await reaches(on, eventId, state);
  return { on, eventId, delivery: await on.delivery(eventId) };
}

/** A clock whose alarms never take longer than a few ms. */
const hasty = {
  ...systemClock,
  after: (delayMs: number, run: () => void) => systemClock.after(Math.min(delayMs, 20), run),
};

/** From now on, five seconds take a tenth of one. */
function fast(): Clock {
  const [begun, before] = [Date.now(), performance.now()];
  const elapsed = () => 50 * (performance.now() - before);
  return {
    now: () => begun + Math.round(elapsed()),
    elapsed,
    after: (delayMs, run) => systemClock.after(delayMs / 50, run),
  };
}

/** A tool that never answers. */
const untilAborted = ({ signal }: { signal: AbortSignal }) =>
  new Promise<Outcome>((resolve) => {
    signal.addEventListener('abort', () => resolve(unclear));
  });

/** Answers these outcomes one after the other, then delivers. */
function answering(...outcomes: Outcome[]): ScriptedTool {
  const tool = new ScriptedTool();
  const deliver = tool.deliver;
  tool.deliver = (request) => outcomes.shift() ?? deliver(request);
  return tool;
}

test('a due delivery is delivered, and its receipt and message are stored', async () => {
  const tool = new ScriptedTool();
  const on = await bench(configFor(tool));
  const eventId = await on.accept('ann');
  await reaches(on, eventId, 'delivered');
  const delivery = await on.delivery(eventId);
  expect(delivery).toMatchObject({ receipt: { id: delivery.id }, message: { text: 'ann' }, attempts: 1 });
  expect(on.reports).toMatchObject([{ outcome: { outcome: 'delivered' }, state: 'delivered' }]);
});

test('the intent to send is on disk before anything is sent', async () => {
  const tool = new ScriptedTool();
  const on = await bench(configFor(tool));
  const states: (string | undefined)[] = [];
  tool.deliver = async ({ deliveryId }) => {
    states.push((await on.store.delivery(deliveryId))?.state);
    return { outcome: 'delivered', receipt: {} };
  };
  await reaches(on, await on.accept(), 'delivered');
  expect(states).toEqual(['sending']);
});

test('a failed attempt is retried, and each attempt is stored', async () => {
  const tool = answering(failed, failed);
  const { delivery } = await ended(tool, 'delivered');
  expect(delivery.history.map(({ number, outcome }) => [number, outcome.outcome])).toEqual([
    [1, 'retry'],
    [2, 'retry'],
    [3, 'delivered'],
  ]);
});

test('a rejected delivery is dead, with its reason', async () => {
  const tool = answering({
    outcome: 'rejected',
    reason: 'not_found',
    detail: 'No such place.',
    advice: 'Make it.',
  });
  const { delivery } = await ended(tool, 'dead');
  expect(delivery).toMatchObject({ lastError: 'No such place. Make it.', attempts: 1 });
});

test('a message that cannot be composed is dead, and the tool is not called', async () => {
  const tool = new ScriptedTool();
  const on = await bench(configFor(tool, '', 'text: "{{ event.correlationId }}"'));
  await reaches(on, await on.accept(), 'dead');
  expect(tool.sent).toEqual([]);
});

describe('after an unknown outcome', () => {
  const impossible: Finding = { found: 'impossible', detail: 'A scope is missing.' };
  const hold = 'onUnknown: hold';
  const cases: [what: string, find: Finding | undefined, sink: string, sent: number, expected: object][] = [
    [
      'nothing is sent again when the tool has it',
      { found: { place: 'there' } },
      '',
      1,
      { state: 'delivered', receipt: { place: 'there' }, attempts: 2 },
    ],
    [
      'it is sent again, and not as a repeat, if the tool does not have it',
      { found: null },
      '',
      2,
      { state: 'delivered', isRepeat: false },
    ],
    [
      'it is sent again, marked as a possible repeat, if the tool cannot be asked',
      undefined,
      '',
      2,
      { state: 'delivered', isRepeat: true },
    ],
    ['it is held, with onUnknown: hold, if the tool cannot be asked', undefined, hold, 1, { state: 'held' }],
    [
      'it is held, with onUnknown: hold, if asking is impossible',
      impossible,
      hold,
      1,
      { state: 'held', lastError: expect.stringContaining('A scope is missing.') },
    ],
  ];
  test.each(cases)('%s', async (_what, finding, sink, sent, expected) => {
    const tool = answering(unclear);
    if (finding) tool.find = () => finding;
    const { delivery } = await ended(tool, (expected as { state: string }).state, sink);
    expect({ ...delivery, isRepeat: delivery.receipt?.['mayBeRepeat'] === true }).toMatchObject(expected);
    expect(new Set(tool.sent.map(({ deliveryId }) => deliveryId))).toEqual(new Set([delivery.id]));
    expect(tool.sent).toHaveLength(sent);
  });

  test('nothing is sent once the process stood still for longer than the time-out', async () => {
    let stoodMs = 0;
    const clock = { ...hasty, elapsed: () => systemClock.elapsed() + stoodMs };
    const tool = answering(unclear);
    const on = await bench(configFor(tool), { clock });
    tool.find = () => {
      // At the first question only: the answer is from before it stood still.
      if (tool.asked.length === 1) stoodMs = 60_000;
      return { found: null };
    };
    await reaches(on, await on.accept(), 'delivered');
    const details = on.reports.map(({ outcome }) => ('detail' in outcome ? outcome.detail : 'sent'));
    expect(details).toEqual(['No answer.', expect.stringContaining('Nothing was sent'), 'sent']);
    expect(tool.sent).toHaveLength(2);
  });

  test('the tool is asked only after the time-out of that attempt, however early it ended', async () => {
    const tool = answering(unclear);
    tool.find = () => ({ found: null });
    const on = await bench(configFor(tool, 'timeout: 400ms'));
    const eventId = await on.accept();
    await eventually(() => expect(on.reports).toHaveLength(1));
    const { dueAt, history } = await on.delivery(eventId);
    expect(dueAt).toBeGreaterThanOrEqual(history[0]!.startedAt + 400);
    await reaches(on, eventId, 'delivered');
    expect(tool.asked[0]!.now).toBeGreaterThanOrEqual(history[0]!.startedAt + 400);
  });

  test('as well where the clock was set ahead during that attempt', async () => {
    const hourMs = 3_600_000;
    let aheadMs = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    const tool = new ScriptedTool();
    tool.deliver = () => {
      aheadMs = hourMs;
      return unclear;
    };
    const on = await bench(configFor(tool, 'timeout: 5s'), { clock });
    const eventId = await on.accept();
    await eventually(() => expect(on.reports).toHaveLength(1));
    const { dueAt, history } = await on.delivery(eventId);
    expect(dueAt - history[0]!.startedAt).toBeGreaterThan(hourMs + 4000);
  });

  test('the first attempt asks nothing', async () => {
    const tool = new ScriptedTool();
    tool.find = () => ({ found: { wrong: true } });
    const on = await bench(configFor(tool));
    await reaches(on, await on.accept(), 'delivered');
    expect(tool.asked).toEqual([]);
  });

  test('if asking fails it is repeated, and nothing is sent before there is an answer', async () => {
    const tool = answering(unclear);
    let questions = 0;
    tool.find = () => {
      questions += 1;
      return questions < 3 ? { found: 'failed', failure: failed } : { found: { place: 'there' } };
    };
    const on = await bench(configFor(tool));
    await reaches(on, await on.accept(), 'delivered');
    expect([questions, tool.sent.length]).toEqual([3, 1]);
  });

  const replay = async (on: Bench, eventId: string) => {
    const { id, configId, ...planned } = await on.delivery(eventId);
    await on.store.replay([{ deliveryId: id, configId, planned }], Date.now(), person);
    on.worker.wake();
  };

  test('deliveries held without being sent do not pause the sink', async () => {
    const tool = new ScriptedTool();
    tool.find = () => ({ found: 'impossible', detail: 'It was too long ago.' });
    const outcomes: Outcome[] = Array.from({ length: 4 }, () => unclear);
    const deliver = tool.deliver;
    tool.deliver = (request) => outcomes.shift() ?? deliver(request);
    const on = await bench(configFor(tool, 'onUnknown: hold'));
    for (const candidate of ['ann', 'bob', 'cid', 'dan']) {
      await reaches(on, await on.accept(candidate), 'held');
    }
    expect(tool.asked).toHaveLength(4);
    expect(on.changes).toEqual([]);
  });

  test('a replayed held delivery is sent, marked as a possible repeat', async () => {
    const tool = answering(unclear);
    const { on, eventId } = await ended(tool, 'held', 'onUnknown: hold');
    await replay(on, eventId);
    await reaches(on, eventId, 'delivered');
    expect((await on.delivery(eventId)).receipt).toMatchObject({ mayBeRepeat: true });
    expect(tool.sent).toHaveLength(2);
  });

  test('a replay asks the tool if it can be asked by now', async () => {
    const tool = answering(unclear);
    tool.find = () => impossible;
    const { on, eventId } = await ended(tool, 'held', 'onUnknown: hold');
    tool.find = () => ({ found: { place: 'there' } });
    await replay(on, eventId);
    await reaches(on, eventId, 'delivered');
    expect(tool.sent).toHaveLength(1);
  });

  test.for([unclear, { ...failed, perhapsDone: true } as const])(
    'a replay allows one attempt: if that ends unknown, it is held again: %j',
    async (outcome) => {
      const tool = answering(outcome, outcome);
      const { on, eventId } = await ended(tool, 'held', 'onUnknown: hold');
      await replay(on, eventId);
      await eventually(() => expect(tool.sent).toHaveLength(2));
      await reaches(on, eventId, 'held');
      expect(tool.sent).toHaveLength(2);
    },
  );

  test('a connector that throws ends unknown, because something may have been sent', async () => {
    const tool = new ScriptedTool();
    const deliver = tool.deliver;
    tool.deliver = () => {
      tool.deliver = deliver;
      throw new TypeError('a bug');
    };
    tool.find = () => ({ found: null });
    const { delivery } = await ended(tool, 'delivered');
    expect(delivery.history[0]?.outcome).toMatchObject({
      outcome: 'unknown',
      reason: 'unexpected',
    });
    expect(tool.asked).toHaveLength(1);
  });
});

test('after a crash the tool is asked about deliveries in flight before anything is sent', async () => {
  const tool = new ScriptedTool();
  tool.find = () => ({ found: { place: 'there' } });
  const on = await bench(configFor(tool));
  await on.worker.stop(0);
  const eventId = await on.accept();
  // As a process does that dies right after its claim.
  const [head] = await on.store.lanes();
  await on.store.claim({ lane: head?.lane ?? '', now: Date.now(), limit: 1 });
  expect(await on.restart().start()).toBe(1);
  await reaches(on, eventId, 'delivered');
  expect(await on.delivery(eventId)).toMatchObject({ receipt: { place: 'there' }, attempts: 2 });
  expect(tool.sent).toEqual([]);
});

describe('a message that takes the place of the one before', () => {
  /** Posts, or edits what an earlier delivery posted. `answers` are given though it has posted. */
  function board(...answers: ((posted: boolean) => Outcome)[]) {
    const posts: { by: string; text: string }[] = [];
    const tool = new ScriptedTool();
    tool.lanes = true;
    tool.replaces = true;
    tool.deliver = ({ deliveryId, message, threadOf, overtaken }) => {
      const answer = answers.shift();
      if (answer?.(false).outcome === 'retry') return answer(false);
      const done: Outcome = { outcome: 'delivered', receipt: threadOf ?? { by: deliveryId } };
      if (!threadOf) posts.push({ by: deliveryId, text: message.text });
      else if (!overtaken) posts.find(({ by }) => by === threadOf['by'])!.text = message.text;
      return answer?.(true) ?? done;
    };
    tool.find = ({ deliveryId }) => ({
      found: posts.some(({ by }) => by === deliveryId) ? { by: deliveryId } : null,
    });
    return { tool, texts: () => posts.map(({ text }) => text) };
  }
  const thread = 'text: "{{ event.candidateId }}", place: here, thread: all';

  test('waits while a later one that went first may have arrived', async () => {
    const { tool, texts } = board(
      () => failed,
      () => unclear,
    );
    const on = await bench(configFor(tool, 'timeout: 100ms', thread));
    const [ann, bob] = [await on.accept('ann'), await on.accept('bob')];
    await reaches(on, ann, 'delivered');
    await reaches(on, bob, 'delivered');
    expect(texts()).toEqual(['bob']);
  });

  test('is not sent before it is known of each whether it arrived, which pauses nothing', async () => {
    const { tool, texts } = board();
    const on = await bench(configFor(tool, '', thread));
    await on.worker.stop(0);
    const events: string[] = [];
    for (let n = 0; n < 12; n += 1) events.push(await on.accept(`candidate-${n}`));
    const [head] = await on.store.lanes();
    const claims = await on.store.claim({ lane: head!.lane, now: Date.now(), limit: 12 });
    // As a failover leaves them: only one is there, and nobody knows which.
    const { id: deliveryId } = claims[5]!.delivery;
    await tool.deliver({ deliveryId, message: { text: 'candidate-5' }, threadOf: null } as never);
    tool.sent.length = 0;
    await on.restart().start();
    for (const event of events) await reaches(on, event, 'delivered');
    expect(texts()).toEqual(['candidate-11']);
    expect(tool.asked).toHaveLength(12);
    expect(on.changes).toEqual([]);
  });
});

test("what is sending and in nobody's hands is found while it runs, and asked for", async () => {
  const tool = new ScriptedTool();
  tool.find = () => ({ found: { place: 'there' } });
  const on = await bench(configFor(tool), { pollMs: 20 });
  const claim = on.store.claim.bind(on.store);
  // It is stored, and its answer never comes.
  on.store.claim = async (query) => {
    const claimed = await claim(query);
    if (claimed.length > 0) on.store.claim = claim;
    return [];
  };
  const eventId = await on.accept();
  await reaches(on, eventId, 'delivered');
  expect(await on.delivery(eventId)).toMatchObject({ attempts: 2 });
  expect(tool.sent).toEqual([]);
});

test('a sink that hangs does not hold up another event beyond its concurrency', async () => {
  const tool = new ScriptedTool();
  const deliver = tool.deliver;
  tool.deliver = (request) => (request.message.text === 'slow' ? untilAborted(request) : deliver(request));
  const on = await bench(configFor(tool, 'concurrency: 2'));
  await on.accept('slow');
  await reaches(on, await on.accept('quick'), 'delivered');
});

test('an attempt that runs into its time-out is aborted', async () => {
  const tool = new ScriptedTool();
  const deliver = tool.deliver;
  tool.deliver = (request) => {
    tool.deliver = deliver;
    return untilAborted(request);
  };
  const { delivery } = await ended(tool, 'delivered', 'timeout: 1s');
  expect(delivery.history[0]?.outcome).toEqual(unclear);
});

test('no more attempts are in flight than the sink allows', async () => {
  const tool = new ScriptedTool();
  let underWay = 0;
  let most = 0;
  tool.deliver = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await eventually(() => expect(most).toBeGreaterThanOrEqual(3));
    await new Promise((resolve) => setTimeout(resolve, 5));
    underWay -= 1;
    return { outcome: 'delivered', receipt: {} };
  };
  const on = await bench(configFor(tool, 'concurrency: 3'));
  const ids = await Promise.all(Array.from({ length: 20 }, (_, index) => on.accept(`c${index}`)));
  await eventually(() => expect(on.reports).toHaveLength(ids.length));
  expect(most).toBe(3);
});

test('deliveries of a sink that left the config are dead, with what to do', async () => {
  const tool = new ScriptedTool();
  const on = await bench(configFor(tool));
  const without = configFor(tool);
  const eventId = await on.accept();
  await reaches(on, eventId, 'delivered');
  await on.adopt({ ...without, sinks: new Map() });
  const next = await on.accept('late');
  await reaches(on, next, 'dead');
  expect((await on.delivery(next)).lastError).toBe(
    'The config has no sink tool any more. Put the config back that had it, with the sink and the action of the rule; then replay this delivery. To rename a sink, keep the old name beside the new one until nothing waits for it.',
  );
});

describe('a sink is paused', () => {
  const down: Outcome = { outcome: 'retry', reason: 'network', detail: 'Refused.', sinkWide: true };
  const paused = (on: Bench) =>
    eventually(() => expect(on.changes).toContain('tool paused'), { timeout: 30_000, interval: 5 });

  test('when it cannot even be connected, and resumes when it can', async () => {
    const tool = new ScriptedTool();
    let failures = 0;
    tool.connect = () => {
      if (failures++ < 6) throw new Error('The key is no key.');
    };
    const { on, delivery } = await ended(tool, 'delivered');
    expect(on.changes).toEqual(['tool paused', 'tool resumed']);
    expect(delivery.history[0]?.outcome).toMatchObject({
      detail: 'The sink could not be connected: The key is no key.',
    });
  });

  test('and reported only while something waits for it', async () => {
    const tool = answering(unclear, unclear, unclear, unclear, unclear);
    const on = await bench(configFor(tool, 'onUnknown: hold'));
    for (const candidate of five) {
      await reaches(on, await on.accept(candidate), 'held');
    }
    await eventually(() => expect(on.changes).toEqual(['tool paused']));
    await eventually(() => expect(on.worker.hasWork('tool')).toBe(false));
    tool.deliver = untilAborted;
    await on.accept('fay');
    await eventually(() => expect(on.worker.hasWork('tool')).toBe(true));
    expect(await on.store.pauses()).toMatchObject([{ sink: 'tool' }]);
  });

  describe('with nothing waiting', () => {
    /** Five are held, and the tool is called no more. */
    async function idle(tool: ScriptedTool) {
      const on = await bench(configFor(tool, 'onUnknown: hold'), { pollMs: 10 });
      for (const candidate of five) await reaches(on, await on.accept(candidate), 'held');
      await paused(on);
      return on;
    }
    const fiveTimesUnclear = () => answering(unclear, unclear, unclear, unclear, unclear);
    const failures = async (on: Bench) => (await on.store.sinkFigures(Date.now()))[0]?.failures;

    test('and then asked until it answers, which only lets the next message be tried: that one shows whether it works', async () => {
      const tool = fiveTimesUnclear();
      let asked = 0;
      tool.check = () => {
        asked += 1;
        return asked < 3 ? [{ ok: false, what: 'token', detail: 'revoked', advice: 'Make one.' }] : [];
      };
      const on = await idle(tool);
      const { deliver } = tool;
      tool.deliver = () => down;
      const because = { reason: 'timeout', detail: 'The check "token" failed: revoked Make one.' };
      await eventually(() => expect(asked).toBe(3));
      for (let look = 0; look < 3; look += 1) {
        on.worker.wake();
        await on.worker.idle('tool');
      }
      expect(await on.store.pauses()).toMatchObject([{ because }]);
      expect([asked, tool.sent.length, await failures(on), on.changes]).toEqual([3, 5, 5, ['tool paused']]);
      await on.store.askRetry('tool', Date.now(), person);
      await eventually(() => expect(asked).toBe(4));
      const eventId = await on.accept('fay');
      await eventually(() => expect(tool.sent.length).toBeGreaterThan(6));
      expect(on.changes).toEqual(['tool paused']);
      tool.deliver = deliver;
      await reaches(on, eventId, 'delivered');
      await eventually(() => expect(on.changes).toEqual(['tool paused', 'tool resumed']));
      expect(await failures(on)).toBe(0);
    });
  });

  test('when connecting never ends', async () => {
    const tool = new ScriptedTool();
    tool.connect = () => new Promise(() => {});
    const on = await bench(configFor(tool, 'timeout: 1s'), { clock: fast() });
    const eventId = await on.accept();
    await paused(on);
    expect((await on.delivery(eventId)).lastError).toBe('No answer within 1 s.');
  });

  test('not by a bug of our own before the tool is called', async () => {
    const tool = new ScriptedTool();
    const config = configFor(tool);
    let failures = 0;
    const plan = async () => {
      if (failures++ < 6) throw new Error('The store is busy.');
      return config.plan;
    };
    const on = await bench(config, { plan });
    const eventId = await on.accept();
    await reaches(on, eventId, 'delivered');
    expect(on.changes).toEqual([]);
    const [first] = (await on.delivery(eventId)).history;
    expect(first?.outcome).toMatchObject({ detail: 'The attempt could not begin: The store is busy.' });
  });

  test('until a probe succeeds, whatever the clock is set to', async () => {
    let setBackMs = 0;
    const clock = { ...systemClock, now: () => Date.now() - setBackMs };
    const tool = answering(down, down, down, down, down);
    const on = await bench(configFor(tool, 'rate: 20/s'), { clock });
    await on.accept('early');
    await paused(on);
    setBackMs = 3_600_000;
    // It is told before it is stored.
    await eventually(async () => expect(await on.store.pauses()).toMatchObject([{ sink: 'tool' }]));
    expect((await pausesNow(on.store, clock.now())).get('tool')?.since).toBeLessThanOrEqual(clock.now());
    await reaches(on, await on.accept('late'), 'delivered');
    await reaches(on, await on.accept('later'), 'delivered');
    const ofSink = on.changes.filter((change) => change.startsWith('tool'));
    expect(ofSink).toEqual(['tool paused', 'tool resumed']);
  });

  test('never for failing three times of ten, even with five failures in a row', async () => {
    const tool = new ScriptedTool();
    const { deliver } = tool;
    tool.deliver = (request) => (tool.sent.length % 17 > 11 ? down : deliver(request));
    const on = await bench(configFor(tool));
    for (let candidate = 1; candidate <= 100; candidate += 1) await on.accept(`candidate-${candidate}`);
    await eventually(async () =>
      expect(await on.store.counts()).toMatchObject([{ states: { delivered: 100 } }]),
    );
    expect(tool.sent.length).toBeGreaterThan(130);
    expect(on.changes).toEqual([]);
  });

  test('with probes of one delivery, even if a call takes many', async () => {
    const tool = new ScriptedTool();
    tool.batch = 100;
    let works = false;
    tool.deliver = ({ deliveryId }) => (works ? { outcome: 'delivered', receipt: { id: deliveryId } } : down);
    const on = await bench(configFor(tool));
    for (let candidate = 1; candidate <= 30; candidate += 1) await on.accept(`candidate-${candidate}`);
    await paused(on);
    const before = tool.batches.length;
    await eventually(() => expect(tool.batches.length).toBeGreaterThan(before + 3));
    expect(new Set(tool.batches.slice(before))).toEqual(new Set([1]));
    works = true;
    await eventually(async () =>
      expect(await on.store.counts()).toMatchObject([{ states: { delivered: 30 } }]),
    );
  });

  describe('over a restart', () => {
    const seldom = (tool: ScriptedTool, more = '') => {
      const config = configFor(tool, more);
      const retry = { minDelayMs: 60_000, maxDelayMs: 120_000, giveUpAfterMs: 86_400_000 };
      const sinks = new Map([...config.sinks].map(([name, sink]) => [name, { ...sink, retry }]));
      return { ...config, sinks };
    };

    test('too: the dead tool is not called again before its probe', async () => {
      const tool = answering(down, down, down, down, down);
      const { clock, skip } = skipping();
      const on = await bench(seldom(tool), { clock });
      await on.worker.start();
      for (const candidate of five) await on.accept(candidate);
      await paused(on);
      await on.worker.stop(0);
      const [pause] = await on.store.pauses();
      const restarted = on.restart();
      await restarted.start();
      const eventId = await on.accept('fay');
      restarted.wake();
      await eventually(() => expect(restarted.hasWork('tool')).toBe(true));
      const because = { reason: 'network', detail: 'Refused.' };
      expect(await on.store.pauses()).toMatchObject([{ sink: 'tool', since: pause?.since, because }]);
      expect(tool.sent).toHaveLength(5);
      expect(on.changes).toEqual(['tool paused', 'tool paused']);
      skip(120_000);
      restarted.wake();
      await reaches(on, eventId, 'delivered');
      expect(on.changes.at(-1)).toBe('tool resumed');
      await eventually(async () => expect(await on.store.pauses()).toEqual([]));
    });

    test('and keeps why the last probe failed', async () => {
      const refused = { ...down, reason: 'auth', detail: 'invalid_auth: the token is not valid.' } as const;
      const tool = answering(down, down, down, down, down, refused);
      const { clock, skip } = skipping();
      const on = await bench(seldom(tool), { clock });
      await on.worker.start();
      for (const candidate of five) await on.accept(candidate);
      await paused(on);
      skip(120_000);
      on.worker.wake();
      const because = { reason: 'auth', detail: refused.detail };
      await eventually(async () => expect(await on.store.pauses()).toMatchObject([{ because }]));
    });

    const nextProbeIn = async (on: Bench, clock: Pick<Clock, 'now'>) =>
      (await on.store.pauses())[0]!.probeAt - clock.now();

    test('for five minutes at most if the clock was set back in between', async () => {
      const tool = new ScriptedTool();
      const { clock, skip } = skipping();
      const on = await bench(seldom(tool), { clock });
      const tomorrow = clock.now() + 86_400_000;
      await on.store.keepPause({
        sink: 'tool',
        since: tomorrow,
        probeAt: tomorrow,
        probes: 1,
        because: null,
      });
      await on.worker.start();
      const eventId = await on.accept();
      await eventually(() => expect(on.worker.hasWork('tool')).toBe(true));
      expect((await pausesNow(on.store, clock.now())).get('tool')?.since).toBeLessThanOrEqual(clock.now());
      // People are told when it is tried.
      await eventually(async () => expect(await nextProbeIn(on, clock)).toBeLessThanOrEqual(300_000));
      skip(300_000);
      on.worker.wake();
      await reaches(on, eventId, 'delivered');
    });

    test('no longer than before, and so it is told, if the clock is set back meanwhile', async () => {
      let setBackMs = 0;
      const clock = { ...systemClock, now: () => systemClock.now() - setBackMs };
      const tool = answering(down, down, down, down, down);
      const on = await bench(seldom(tool), { clock });
      for (const candidate of five) await on.accept(candidate);
      await paused(on);
      setBackMs = 86_400_000;
      on.worker.wake();
      await eventually(async () => expect(await nextProbeIn(on, clock)).toBeLessThanOrEqual(120_000));
    });

    test('not if the sink left the config', async () => {
      const on = await bench(configFor(new ScriptedTool()));
      await on.store.keepPause({ sink: 'gone', since: 1, probeAt: 2, probes: 1, because: null });
      await on.worker.start();
      await eventually(async () => expect(await on.store.pauses()).toEqual([]));
      expect(on.changes).toEqual([]);
    });

    test('not by attempts that the shutdown aborted', async () => {
      const tool = new ScriptedTool();
      tool.deliver = untilAborted;
      const on = await bench(seldom(tool, 'timeout: 1m, concurrency: 8'));
      for (const candidate of five) await on.accept(candidate);
      await eventually(() => expect(tool.sent).toHaveLength(5));
      await on.worker.stop(0);
      expect(on.reports.map(({ outcome }) => outcome.outcome)).toEqual(Array(5).fill('unknown'));
      expect(await on.store.pauses()).toEqual([]);
    });
  });
});

test.each(['server', 'rate_limited'] as const)(
  'what a failing sink (%s) holds back goes at once when a person asks for it',
  async (reason) => {
    const tool = answering({ ...failed, reason, retryAfterMs: 3_600_000 });
    const on = await bench(configFor(tool), { pollMs: 10 });
    const eventId = await on.accept();
    await eventually(() => expect(on.reports).toHaveLength(1));
    await on.store.askRetry('tool', Date.now(), person);
    await reaches(on, eventId, 'delivered');
    expect(await on.store.retriesAsked()).toEqual([]);
  },
);

test('a message that fails is tried once more when giveUpAfter ends', async () => {
  const tool = new ScriptedTool();
  const { deliver } = tool;
  let worksFrom = Infinity;
  tool.deliver = (request) => {
    worksFrom = Math.min(worksFrom, Date.now() + 900);
    return Date.now() < worksFrom ? failed : deliver(request);
  };
  const retry = 'retry: { minDelay: 10ms, maxDelay: 1h, giveUpAfter: 1s }, timeout: 1s';
  // After 20, 60, 140, 300 and 620 ms, and then not before 1,260.
  const on = await bench(configFor(tool, retry), { random: () => 1 });
  await reaches(on, await on.accept(), 'delivered');
});

describe('a clock that is ahead', () => {
  const aheadMs = 400 * 86_400_000;
  const down: Outcome = { outcome: 'retry', reason: 'server', detail: 'Down.', retryAfterMs: 600_000 };

  function ahead() {
    const set = { byMs: aheadMs };
    return { set, clock: { ...systemClock, now: () => systemClock.now() + set.byMs } };
  }

  /** A delivery that was put off by it for ten minutes. */
  async function putOff() {
    const { set, clock } = ahead();
    const on = await bench(configFor(answering(down)), { clock });
    const eventId = await on.accept();
    await eventually(async () => expect(await on.delivery(eventId)).toMatchObject({ lastError: 'Down.' }));
    return { on, eventId, set };
  }
  const waitsFor = async (on: Bench, eventId: string) =>
    eventually(async () => {
      const { dueAt } = await on.delivery(eventId);
      expect(dueAt).toBeLessThan(Date.now() + 700_000);
    });

  test('puts off nothing for longer when it is set right', async () => {
    const { on, eventId, set } = await putOff();
    set.byMs = 0;
    on.worker.wake();
    await waitsFor(on, eventId);
    // It is told after it is stored.
    const told = [expect.stringMatching(/^1 pulled in by 345[56]\d{7}$/)];
    await eventually(() => expect(on.changes).toEqual(told));
  });

  test('puts off nothing for longer when it is set right before a restart', async () => {
    const { on, eventId, set } = await putOff();
    const seenAt = Date.now() + aheadMs;
    await on.worker.stop(0);
    set.byMs = 0;
    await on.restart().start(seenAt);
    await waitsFor(on, eventId);
    await eventually(() => expect(on.changes).toHaveLength(1));
  });

  test('gives up nothing while it is doubted', async () => {
    const { set, clock } = ahead();
    set.byMs = 0;
    let doubted = true;
    const tool = new ScriptedTool();
    tool.deliver = () => failed;
    const on = await bench(configFor(tool), { clock, clockDoubted: () => doubted, pollMs: 5 });
    const eventId = await on.accept();
    await eventually(() => expect(tool.sent.length).toBeGreaterThan(0));
    await on.worker.stop(0);
    set.byMs = aheadMs;
    await on.restart().start(clock.now());
    const before = tool.sent.length;
    await eventually(() => expect(tool.sent.length).toBeGreaterThan(before + 1));
    expect(await on.delivery(eventId)).not.toMatchObject({ state: 'dead' });
    doubted = false;
    await reaches(on, eventId, 'dead');
  });

  test('gives up nothing for the time that it jumped over, only for what passed', async () => {
    const { set, clock } = ahead();
    const hourMs = 3_600_000;
    const passHour = () => {
      set.byMs += hourMs;
      clock.elapsed = () => systemClock.elapsed() + hourMs;
    };
    const steps = [
      () => (set.byMs += 2 * hourMs),
      () => (set.byMs += 2 * hourMs),
      () => (set.byMs = aheadMs),
      passHour,
    ];
    const tool = new ScriptedTool();
    tool.deliver = () => {
      steps.shift()?.();
      return failed;
    };
    const on = await bench(configFor(tool), { clock, pollMs: 5 });
    const eventId = await on.accept();
    await reaches(on, eventId, 'dead');
    expect(tool.sent).toHaveLength(4);
  });

  test.each([
    ['a jump', [[0, 7200]], 7200],
    [
      'two jumps',
      [
        [0, 7200],
        [60, 3600],
      ],
      10_800,
    ],
    [
      'a jump that is taken back',
      [
        [0, 7200],
        [60, -7200],
      ],
      0,
    ],
    [
      'a jump that is taken back in part',
      [
        [0, 7200],
        [60, -3600],
      ],
      3600,
    ],
    [
      'two jumps, and one of them taken back',
      [
        [0, 7200],
        [60, 3600],
        [60, -7200],
      ],
      3600,
    ],
    [
      'a step back and a jump',
      [
        [0, -7200],
        [60, 3600],
      ],
      3600,
    ],
    [
      'what clocks are corrected by',
      [
        [0, 59],
        [60, 59],
      ],
      0,
    ],
  ] as const)('%s', (_, steps, skippedS) => {
    let passedS = 0;
    let offsetS = 1_000_000;
    const clock = { ...systemClock, now: () => (offsetS + passedS) * 1000, elapsed: () => passedS * 1000 };
    const jumps = new ClockJumps(clock);
    const since = clock.now() - 86_400_000;
    for (const [afterS, byS] of steps) {
      passedS += afterS;
      jumps.look();
      offsetS += byS;
      jumps.look();
    }
    expect(jumps.skippedMs(since)).toBe(skippedS * 1000);
    expect(jumps.skippedMs(clock.now())).toBe(0);
    passedS += 60;
    expect(jumps.skippedMs(clock.now() - 1000)).toBe(0);
  });
});

describe('outside of its hours', () => {
  const evening = Date.parse('2026-11-23T17:59:00Z');
  const morning = Date.parse('2026-11-24T08:00:00Z');
  const office = 'hours: { office: { timezone: Etc/UTC, days: [mon, tue], from: "08:00", to: "18:00" } }';
  const inOffice = 'text: "{{ event.candidateId }}", hours: office';

  /** It is a minute to six, until `set`. */
  function clockAt() {
    const startedMs = performance.now();
    let shown = evening;
    const clock = { ...systemClock, now: () => Math.round(shown + performance.now() - startedMs) };
    return { clock, set: (time: number) => (shown = time) };
  }

  test('a message planned within them waits for the opening, even after an attempt', async () => {
    const { clock, set } = clockAt();
    const tool = new ScriptedTool();
    const { deliver } = tool;
    tool.deliver = () => {
      set(evening + 120_000);
      return failed;
    };
    const on = await bench(configFor(tool, '', inOffice, office), { clock });
    const eventId = await on.accept();
    await eventually(async () => expect(await on.delivery(eventId)).toMatchObject({ dueAt: morning }));
    expect(await on.delivery(eventId)).toMatchObject({ state: 'pending', attempts: 1, lastError: 'Down.' });
    expect(tool.sent).toHaveLength(1);
    tool.deliver = deliver;
    set(morning);
    on.worker.wake();
    await reaches(on, eventId, 'delivered');
    expect((await on.delivery(eventId)).history.map(({ number }) => number)).toEqual([1, 2]);
  });

  test('the rest of a burst waits, and deliveries without hours go on', async () => {
    const { clock, set } = clockAt();
    const tool = new ScriptedTool();
    const on = await bench(configFor(tool, 'rate: 50/s', inOffice, office), { clock });
    const ids = await Promise.all(five.map((who) => on.accept(who)));
    await eventually(() => expect(tool.sent.length).toBeGreaterThan(0));
    set(evening + 120_000);
    await on.adopt(configFor(tool, 'rate: 50/s'));
    await reaches(on, await on.accept('late'), 'delivered');
    await eventually(async () => {
      const all = await Promise.all(ids.map((id) => on.delivery(id)));
      const waiting = all.filter(({ state }) => state !== 'delivered');
      expect(waiting.map(({ dueAt }) => dueAt)).toEqual(waiting.map(() => morning));
    });
    expect(tool.sent.length).toBeLessThan(ids.length + 1);
  });

  test('a message goes at once when a person replays it', async () => {
    const { clock, set } = clockAt();
    const tool = answering({ outcome: 'rejected', reason: 'invalid', detail: 'No.', advice: 'Fix it.' });
    const on = await bench(configFor(tool, '', inOffice, office), { clock });
    const eventId = await on.accept();
    await reaches(on, eventId, 'dead');
    set(evening + 120_000);
    const { id, configId, ...planned } = await on.delivery(eventId);
    await on.store.replay([{ deliveryId: id, configId, planned }], clock.now(), person);
    on.worker.wake();
    await reaches(on, eventId, 'delivered');
  });
});

test('no lane of a sink starves, however many lanes there are', async () => {
  const tool = new ScriptedTool();
  tool.lanes = true;
  tool.deliver = async ({ deliveryId }) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return { outcome: 'delivered', receipt: { id: deliveryId } };
  };
  const on = await bench(configFor(tool, 'concurrency: 2', 'text: x, place: "{{ event.candidateId }}"'));
  const places = ['a', 'b', 'c', 'd', 'e', 'f'];
  await Promise.all(places.flatMap((place) => Array.from({ length: 6 }, () => on.accept(place))));
  await eventually(() => expect(tool.sent.length).toBeGreaterThanOrEqual(18));
  const counts = Map.groupBy(on.reports.slice(0, 18), ({ delivery }) => delivery.lane);
  expect(counts.size).toBe(places.length);
  for (const [, reports] of counts) expect(reports.length).toBeLessThanOrEqual(4);
});

test('a rate is reached even if each call takes long', async () => {
  const tool = new ScriptedTool();
  tool.deliver = untilAborted;
  const on = await bench(configFor(tool, 'rate: 20/s, concurrency: 10, timeout: 10s'), { pollMs: 60_000 });
  for (let event = 0; event < 8; event += 1) await on.accept(`candidate-${event}`);
  await eventually(() => expect(tool.sent).toHaveLength(8), { timeout: 30_000, interval: 5 });
});

test('what is stored for a new lane is sent at once, also after looks at all lanes that took long', async () => {
  const tool = new ScriptedTool();
  tool.lanes = true;
  const config = configFor(tool, 'rate: 50/s', 'text: x, place: "{{ event.candidateId }}"');
  const on = await bench(config, { pollMs: 600_000 });
  const lanes = on.store.lanes.bind(on.store);
  const all = vi.spyOn(on.store, 'lanes').mockImplementation(async (from) => {
    if (from === undefined) await new Promise((resolve) => setTimeout(resolve, 2000));
    return lanes(from);
  });
  for (const [done, candidate] of ['first', 'second', 'third'].entries()) {
    await on.accept(candidate);
    await eventually(() => expect(tool.sent).toHaveLength(done + 1), { timeout: 30_000, interval: 5 });
  }
  expect(all.mock.calls.filter(([from]) => from === undefined)).toHaveLength(2);
});

test('a rate beyond what the store takes claims for is reached, with several deliveries a claim', async () => {
  const tool = new ScriptedTool();
  const on = await bench(configFor(tool, 'rate: 5000/s, concurrency: 20'));
  const claim = on.store.claim.bind(on.store);
  const claims = vi.spyOn(on.store, 'claim').mockImplementation(async (query) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return claim(query);
  });
  for (let event = 0; event < 60; event += 1) await on.accept(`candidate-${event}`);
  await eventually(() => expect(tool.sent).toHaveLength(60), { timeout: 10_000, interval: 5 });
  expect(claims.mock.calls.length).toBeLessThan(30);
  // From where the look found work on.
  for (const [query] of claims.mock.calls) expect(query.from).toMatchObject({ lane: query.lane });
});

describe('sinks of one account', () => {
  const pace = { count: 60, perMs: 60_000, burst: 1 };

  /**
   * Two sinks on a clock that is set by hand, with more options for the second one, and a witness: once that has had a
   * message, the worker has looked at the others.
   */
  async function two(more = '') {
    const tool = new ScriptedTool();
    tool.counted = { account: 'hiring@example.com', calls: 10, pace };
    let elapsed = 0;
    const clock = { ...hasty, elapsed: () => elapsed };
    const config = parseConfig(
      `sinks: { one: { connector: scripted }, two: { connector: scripted, ${more} }, witness: { connector: scripted, rate: 500/s } }
rules:
  - { name: witness, when: { candidateId: witness }, final: true, then: [ { sink: witness, text: witness } ] }
  - { name: first, when: { candidateId: first }, then: [ { sink: one, text: first } ] }
  - { name: later, when: { candidateId: { not: first } }, then: [ { sink: two, text: "{{ event.candidateId }}" } ] }`,
      'config.yaml',
      { env: {}, connectors: new Map([['scripted', tool.connector]]) },
    );
    const on = await bench(config, { clock });
    const sent = async () => {
      elapsed += 20;
      await reaches(on, await on.accept('witness'), 'delivered');
      return tool.sent.map(({ message }) => message.text).filter((text) => text !== 'witness');
    };
    return { on, sent, passUntil: (ms: number) => (elapsed = ms) };
  }

  test('share its pace, which counts every call that the tool counted', async () => {
    const { on, sent, passUntil } = await two();
    await reaches(on, await on.accept('first'), 'delivered');
    // The account of a sink is known once it has been used. From then on twenty calls are owed: a delivery can be read a moment
    // before they are counted, and a witness behind it shows that they are.
    await reaches(on, await on.accept('second'), 'delivered');
    await sent();
    const third = await on.accept('third');
    passUntil(19_900);
    expect(await sent()).toEqual(['first', 'second']);
    passUntil(20_000);
    await reaches(on, third, 'delivered');
    await sent();
    const fourth = await on.accept('first');
    passUntil(29_900);
    expect(await sent()).toEqual(['first', 'second', 'third']);
    passUntil(30_000);
    await reaches(on, fourth, 'delivered');
  });

  test('but one with a rate of its own keeps to that', async () => {
    const { on, passUntil } = await two('rate: 10/s');
    await reaches(on, await on.accept('second'), 'delivered');
    await reaches(on, await on.accept('first'), 'delivered');
    passUntil(1000);
    await reaches(on, await on.accept('third'), 'delivered');
  });
});

describe('a bug around an attempt loses details, but no outcome', () => {
  const failing = async (tool: ScriptedTool, config = configFor(tool)) => {
    const failures: unknown[] = [];
    const on = await bench(config, { callFailed: (error) => void failures.push(error) });
    return { ...on, failures };
  };

  test('if the receipt cannot be stored, nothing is sent again, and the sink goes on', async () => {
    const tool = answering({ outcome: 'delivered', receipt: { id: 1n as never } });
    const on = await failing(tool, configFor(tool, 'concurrency: 1'));
    const eventId = await on.accept('ann');
    await reaches(on, eventId, 'delivered');
    expect(await on.delivery(eventId)).toMatchObject({ receipt: {}, message: null });
    await reaches(on, await on.accept('bob'), 'delivered');
    expect(tool.sent).toHaveLength(2);
    expect(on.failures).toHaveLength(1);
  });

  test('if it cannot be masked', async () => {
    const tool = new ScriptedTool();
    const mask = () => {
      throw new RangeError('Maximum call stack size exceeded');
    };
    const on = await failing(tool, { ...configFor(tool), mask });
    const eventId = await on.accept();
    await reaches(on, eventId, 'delivered');
    expect((await on.delivery(eventId)).history).toMatchObject([
      { outcome: { outcome: 'delivered', note: expect.stringContaining('could not be kept') } },
    ]);
    expect(on.failures).toHaveLength(1);
  });

  test.for([
    ['contains itself', circular, 1],
    ['is no outcome', () => ({ outcome: 'perhaps' }) as never, 0],
    [
      'is thrown and cannot even be printed',
      () => {
        throw Object.create(null);
      },
      0,
    ],
  ] as const)('if what the connector returns %s', async ([, answer, failures]) => {
    const tool = new ScriptedTool();
    tool.deliver = answer;
    tool.find = () => ({ found: { place: 'there' } });
    const on = await failing(tool);
    const eventId = await on.accept();
    await reaches(on, eventId, 'delivered');
    expect(tool.sent).toHaveLength(1);
    expect(on.failures).toHaveLength(failures);
  });

  test('if it cannot be recorded at all, it stays as it is: another attempt could send it again and again', async () => {
    const tool = new ScriptedTool();
    const on = await bench(configFor(tool), { pollMs: 5, callFailed: () => {} });
    let looks = 0;
    on.store.record = () => Promise.reject(new TypeError('a bug'));
    const deliveries = on.store.deliveries.bind(on.store);
    on.store.deliveries = (filter) => {
      looks += 1;
      return deliveries(filter);
    };
    const eventId = await on.accept();
    await reaches(on, eventId, 'sending');
    await eventually(() => expect(looks).toBeGreaterThan(4));
    expect(await on.delivery(eventId)).toMatchObject({ state: 'sending', attempts: 1 });
    expect(tool.sent).toHaveLength(1);
    expect(on.worker.fault).toMatchObject({
      message: expect.stringContaining(
        `what became of ${eventId.replace('evt', 'dlv')}_1 could not be stored`,
      ),
    });
  });

  test('if reporting it fails', async () => {
    const tool = new ScriptedTool();
    const failures: unknown[] = [];
    const on = await bench(configFor(tool), {
      callFailed: (error) => void failures.push(error),
      observe: () => {
        throw new Error('no metrics');
      },
    });
    await reaches(on, await on.accept(), 'delivered');
    expect(failures).toHaveLength(1);
  });
});

function circular(): Outcome {
  const receipt: Record<string, unknown> = {};
  receipt['self'] = receipt;
  return { outcome: 'delivered', receipt: receipt as never };
}

test('a delivery is carried out by its own config, even after a reload', async () => {
  const tool = new ScriptedTool();
  const deliver = tool.deliver;
  const firstAnswer = Promise.withResolvers<Outcome>();
  tool.deliver = () => {
    tool.deliver = deliver;
    return firstAnswer.promise;
  };
  const on = await bench(configFor(tool, '', 'text: "old words"'));
  const eventId = await on.accept();
  await eventually(() => expect(tool.sent).toHaveLength(1));
  await on.adopt(configFor(tool, '', 'text: "new words"'));
  firstAnswer.resolve(failed);
  await reaches(on, eventId, 'delivered');
  expect(tool.sent.map(({ message }) => message.text)).toEqual(['old words', 'old words']);
});

test('the connection of a config that was replaced closes once no attempt uses it, and not before', async () => {
  const tool = new ScriptedTool();
  const answer = Promise.withResolvers<Outcome>();
  tool.deliver = () => answer.promise;
  const on = await bench(configFor(tool));
  await on.accept('before');
  await eventually(() => expect(tool.sent).toHaveLength(1));
  await on.adopt(configFor(tool));
  await on.accept('after');
  await eventually(() => expect(tool.sent).toHaveLength(2));
  expect(tool.closed).toBe(0);
  answer.resolve({ outcome: 'delivered', receipt: {} });
  await eventually(() => expect(tool.closed).toBe(1));
});

describe('what is stored', () => {
  const keeping = async (tool: ScriptedTool, secrets: readonly string[], candidateId: string) => {
    const on = await bench({ ...configFor(tool), mask: masker(secrets) });
    const eventId = await on.accept(candidateId);
    await reaches(on, eventId, 'delivered');
    return on.delivery(eventId);
  };

  test('has no secret in it, wherever a template or a tool put one', async () => {
    const tool = answering({ ...failed, detail: 'Down, s3cret.' });
    const deliver = tool.deliver;
    tool.deliver = async (request) => {
      const outcome = await deliver(request);
      if (outcome.outcome !== 'delivered') return outcome;
      return { ...outcome, receipt: { said: ['so s3cret'] }, note: 'It said s3cret.' };
    };
    const kept = await keeping(tool, ['s3cret'], 'ann s3cret');
    expect(kept.message).toEqual({ text: 'ann ***' });
    expect(kept.receipt).toEqual({ said: ['so ***'] });
    expect(kept.history.map(({ outcome }) => outcome)).toMatchObject([
      { detail: 'Down, ***.' },
      { note: 'It said ***.' },
    ]);
    expect(tool.sent.map(({ message }) => message.text)).toEqual(['ann s3cret', 'ann s3cret']);
  });

  test('has none of it in the escapes of a mail either, which look otherwise in the JSON of the whole message', async () => {
    const kept = await keeping(new ScriptedTool(), ['p@ss"word\\1'], 'ann p@ss=22word\\1');
    expect(kept.message).toEqual({ text: 'ann ***' });
  });

  test('has no secret of the config that decided it, which may be gone from that of today', async () => {
    const tool = new ScriptedTool();
    const config = configFor(tool, '', 'text: "s3cret for all"');
    const on = await bench({ ...config, plan: { ...config.plan, mask: masker(['s3cret']) } });
    tool.deliver = async () => {
      await on.adopt(configFor(tool));
      return { outcome: 'delivered', receipt: { echo: 's3cret' } };
    };
    const id = await on.accept();
    await eventually(() => expect(on.reports).toHaveLength(1));
    expect(await on.delivery(id)).toMatchObject({
      message: { text: '*** for all' },
      receipt: { echo: '***' },
    });
  });

  test('is the masked key of a thread, by which it is found', async () => {
    const tool = new ScriptedTool();
    const config = configFor(tool, '', "text: Hello, thread: '{{ event.candidateId }} s3cret'");
    const on = await bench({ ...config, mask: masker(['s3cret']) });
    const first = await on.accept('ann');
    await reaches(on, first, 'delivered');
    const second = await on.accept('ann');
    await reaches(on, second, 'delivered');
    await reaches(on, await on.accept('bob'), 'delivered');
    const { receipt } = await on.delivery(first);
    expect(tool.sent.map(({ threadOf }) => threadOf)).toEqual([null, receipt, null]);
    const newest = (await on.delivery(second)).receipt;
    expect(await on.store.threadOf('tool', 'ann ***')).toMatchObject({ receipt: newest });
  });

  test('is intact if secrets look like a number or like our own words', async () => {
    const tool = new ScriptedTool();
    tool.deliver = () => ({ outcome: 'delivered', receipt: { status: 12345, exact: false } });
    const secrets = ['12345', 'false', 'null', 'delivered', 'outcome', 'receipt', 'text'];
    const kept = await keeping(tool, secrets, 'ann');
    expect(kept).toMatchObject({ state: 'delivered', receipt: { status: 12345 }, message: { text: 'ann' } });
    expect(tool.sent).toHaveLength(1);
  });

  test('keeps progress unmasked, or its part would be done again', async () => {
    const tool = answering({ ...failed, progress: { done: ['dana@example.com'] } });
    await keeping(tool, ['dana'], 'ann');
    expect(tool.sent[1]?.progress).toEqual({ done: ['dana@example.com'] });
  });
});

test('before the start nothing is claimed: it would be rescued as if left by an earlier process', async () => {
  const tool = new ScriptedTool();
  const on = await bench(configFor(tool));
  await on.worker.stop(0);
  const eventId = await on.accept();
  const later = on.restart();
  later.wake();
  expect(await later.start()).toBe(0);
  await reaches(on, eventId, 'delivered');
  expect(tool.sent).toHaveLength(1);
});

describe('a clean stop', () => {
  test('waits for the attempts in flight and records them', async () => {
    const tool = new ScriptedTool();
    const answer = Promise.withResolvers<Outcome>();
    tool.deliver = () => answer.promise;
    const on = await bench(configFor(tool));
    const eventId = await on.accept();
    await eventually(() => expect(tool.sent).toHaveLength(1));
    const stopped = on.worker.stop(5000);
    answer.resolve({ outcome: 'delivered', receipt: {} });
    await stopped;
    expect((await on.delivery(eventId)).state).toBe('delivered');
  });

  test('aborts them after the grace, and records them as unknown', async () => {
    const tool = new ScriptedTool();
    tool.deliver = untilAborted;
    const on = await bench(configFor(tool));
    const eventId = await on.accept();
    await eventually(() => expect(tool.sent).toHaveLength(1));
    await on.worker.stop(10);
    expect(await on.delivery(eventId)).toMatchObject({ state: 'pending', uncertain: true });
  });

  test('claims nothing more', async () => {
    const tool = new ScriptedTool();
    const on = await bench(configFor(tool));
    await on.worker.stop(0);
    const eventId = await on.accept();
    expect((await on.delivery(eventId)).state).toBe('pending');
  });
});
