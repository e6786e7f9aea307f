import { onTestFinished, describe, expect, test, vi } from 'vitest';
import { pino } from 'pino';
import { lookup } from '../../connectors/webhook/lookup/index.ts';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { rejected, retry, sinkWide, type AttemptRequest } from '../../src/connector.ts';
import { Deciding, withLookupSinks } from '../../src/deliveries/deciding.ts';
import { foundBy } from '../../src/lookups/kept-facts.ts';
import { noticesFor } from '../../src/ops/alerts/conditions.ts';
import { nextShows } from '../../src/ops/sink-states.ts';
import { createIntake } from '../../src/intake.ts';
import type { JsonMap } from '../../src/model.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { systemClock } from '../../src/support/clock.ts';
import { configId, t0, undecided } from '../contract/store-fixtures.ts';
import { freshSchema } from '../fixtures/postgres.ts';
import { bench, ScriptedTool, skipping } from '../deliveries/scripted.ts';
import { eventually } from '../fixtures/eventually.ts';

type Question = AttemptRequest<{ readonly path: string }>;
type Ask = (question: Question) => Outcome | Promise<Outcome>;

const answered = (fields: JsonMap): Outcome => ({
  outcome: 'delivered',
  receipt: { status: 200, facts: { state: 'answered', at: null, reason: null, fields } },
});

const notReady = (fields: JsonMap): Outcome => ({
  ...retry('not_found', 'It has no score yet.'),
  progress: { state: 'answered', at: null, reason: 'score is not there', fields },
});

/** A config with a look-up for what is completed, whose API a test plays. */
function withLookup(
  tool: ScriptedTool,
  ask: Ask,
  waitFor = '1m',
  delays = 'minDelay: 10ms, maxDelay: 20ms',
): Config {
  const api = {
    deliver: async (request: Question) => ask(request),
    check: async () => [],
    close: async () => {},
  };
  const connector = { ...tool.connector, lookup: { ...lookup, connect: async () => api } };
  return parseConfig(
    `sinks: { tool: { connector: scripted } }
lookups:
  candidate:
    url: "https://tests.example.com/{{ event.candidateId }}"
    when: { status: Completed }
    fields: { name: { at: /name, personal: true }, score: { at: /score, type: number } }
    until: [score]
    waitFor: ${waitFor}
    keep: 1h
    retry: { ${delays} }
rules: [ { name: all, when: {}, then: [ { sink: tool, text: "{{ candidate.name }} {{ candidate.score }}" } ] } ]`,
    'config.yaml',
    { env: {}, connectors: new Map([['scripted', connector]]) },
  );
}

const withoutLookups = (tool: ScriptedTool) =>
  parseConfig(
    `sinks: { tool: { connector: scripted } }
rules: [ { name: all, when: {}, then: [ { sink: tool, text: by today's } ] } ]`,
    'config.yaml',
    { env: {}, connectors: new Map([['scripted', tool.connector]]) },
  );

async function deciding(
  ask: Ask,
  waitFor?: string,
  delays?: string,
  clock = systemClock,
  isClockUnsure = () => false,
) {
  const tool = new ScriptedTool();
  let config = withLookup(tool, ask, waitFor, delays);
  const first = config.plan;
  let isLost = false;
  let decider: Deciding | null = null;
  const givenUp: string[] = [];
  const on = await bench(withLookupSinks(config), { clock, observe: () => decider?.wake() });
  const { store, changes } = on;
  let { worker } = on;
  decider = new Deciding({
    store,
    clock,
    isClockUnsure,
    config: () => config,
    plan: async (id) => (isLost ? { fault: 'It cannot be used.' } : id === first.id ? first : config.plan),
    gaveUp: (name) => givenUp.push(name),
    wake: () => worker.wake(),
    failed: (error) => {
      throw error;
    },
  });
  onTestFinished(() => decider.stop());
  const inbox = createIntake({
    store,
    config: () => config,
    worker,
    undecided: () => decider.wake(),
    mayWait: () => decider.mayWait,
    log: pino({ level: 'silent' }),
  });
  const accept = async (candidateId: string, status: 'Completed' | 'Canceled' = 'Completed', testId = 1) => {
    const event = { candidateId, candidateNumericalId: null, testId, status };
    return (
      await inbox.accept({ event, raw: {}, correlationId: null, traceparent: null, receivedAt: clock.now() })
    ).eventId;
  };
  const told = async (count: number) => {
    await eventually(() => expect(tool.sent).toHaveLength(count));
    return tool.sent.map(({ message }) => message.text);
  };
  const factsAbout = async (id: string) => foundBy((await store.event(id))!.lookups);
  /** A config without look-ups takes over; `lost`: the one before cannot be used any more. */
  const dropLookups = async (lost = false) => {
    config = withoutLookups(tool);
    await on.adopt(config);
    isLost = lost;
    decider.wake();
  };
  const restart = async () => {
    await worker.stop(0);
    worker = on.restart();
    await worker.start();
  };
  const wake = () => {
    worker.wake();
    decider.wake();
  };
  return { store, accept, told, factsAbout, changes, dropLookups, givenUp, restart, wake };
}

describe('an event with a look-up', () => {
  test('is decided when it has an answer, and its message has the facts', async () => {
    const { accept, told, factsAbout, store } = await deciding(({ message }) =>
      answered({ name: message.path.slice(1), score: 87 }),
    );
    const id = await accept('ana');
    expect(await told(1)).toEqual(['ana 87']);
    expect(await factsAbout(id)).toEqual({
      candidate: {
        state: 'answered',
        at: expect.any(Number),
        reason: null,
        fields: { name: 'ana', score: 87 },
      },
    });
    const [asked] = (await store.event(id))!.lookups;
    expect(asked).toMatchObject({
      receipt: { status: 200 },
      history: [{ outcome: { receipt: { status: 200 } } }],
    });
    expect(JSON.stringify(asked!.history)).not.toContain('ana');
  });

  test('is asked about again until the answer is ready, which pauses nothing', async () => {
    let calls = 0;
    const { accept, told, store } = await deciding(() =>
      ++calls < 8 ? notReady({ name: 'Ana' }) : answered({ name: 'Ana', score: 5 }),
    );
    await accept('ana');
    expect(await told(1)).toEqual(['Ana 5']);
    await eventually(async () =>
      expect(await store.sinkFigures(Date.now())).toContainEqual(
        expect.objectContaining({
          sink: 'lookup:candidate',
          failures: 0,
          lately: { attempts: 8, failures: 0 },
        }),
      ),
    );
  });

  test('is asked about once more before its time is over, though the pause would be longer', async () => {
    const { clock, skip } = skipping();
    const { accept, store, wake } = await deciding(
      () => notReady({}),
      '1h',
      'minDelay: 14m, maxDelay: 2h',
      clock,
    );
    const id = await accept('ana');
    const asked = async () => (await store.event(id))!.lookups[0]!;
    for (const attempts of [1, 2, 3]) {
      await eventually(async () => expect(await asked()).toMatchObject({ state: 'pending', attempts }));
      if (attempts === 3) break;
      skip(22 * 60_000);
      wake();
    }
    const { dueAt, firstAttemptAt } = await asked();
    expect(dueAt - firstAttemptAt!).toBe(3_590_000);
  });

  test('is decided by what is known when its time is over, which is kept for as long as answers are', async () => {
    const { accept, told, factsAbout, store } = await deciding(
      () => notReady({ name: 'Ana', score: null }),
      '1500ms',
    );
    const id = await accept('ana');
    expect(await told(1)).toEqual(['Ana ']);
    expect(await factsAbout(id)).toMatchObject({
      candidate: { state: 'answered', fields: { name: 'Ana', score: null } },
    });
    expect(await store.forgetPersonal(Date.now() + 3_500_000)).toBe(0);
    expect(await store.forgetPersonal(Date.now() + 3_600_001)).toBe(1);
    expect(await factsAbout(id)).toMatchObject({ candidate: { fields: { score: null } } });
    expect(JSON.stringify(await store.event(id))).not.toContain('Ana');
  });

  test('is not given up by a clock that was just set ahead, before it is known what the time is', async () => {
    let aheadMs = 0;
    let looks = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    const isUnsure = () => {
      looks += 1;
      return aheadMs > 0;
    };
    const { accept, store, givenUp, wake } = await deciding(
      () => notReady({}),
      '5m',
      undefined,
      clock,
      isUnsure,
    );
    const id = await accept('ana');
    aheadMs = 600_000;
    const before = looks;
    await eventually(() => {
      wake();
      expect(looks).toBeGreaterThan(before + 3);
    });
    expect((await store.event(id))!.decided).toBe(false);
    aheadMs = 0;
    wake();
    await eventually(() => expect(looks).toBeGreaterThan(before + 4));
    expect([(await store.event(id))!.decided, givenUp]).toEqual([false, []]);
  });

  test('is decided without facts when its time is over, though nothing answers and the look-up is paused', async () => {
    const { accept, told, factsAbout, changes, givenUp } = await deciding(
      () => sinkWide('server', 'It answered 503.'),
      '400ms',
    );
    const ids = [];
    for (let n = 0; n < 20; n += 1) ids.push(await accept(`candidate-${n}`));
    expect(new Set(await told(20))).toEqual(new Set([' ']));
    expect(changes).toEqual(['lookup:candidate paused']);
    expect(new Set(givenUp)).toEqual(new Set(['candidate']));
    expect(await factsAbout(ids[19]!)).toMatchObject({
      candidate: { state: 'unknown', reason: expect.stringContaining('503') },
    });
  });

  test('is answered in time where the API works again, however long it was down and also after a restart', async () => {
    const { clock, skip } = skipping();
    let [isDown, calls] = [true, 0];
    const ask: Ask = ({ message }) => {
      calls += 1;
      return isDown ? sinkWide('server', 'It answered 503.') : answered({ name: message.path, score: 1 });
    };
    const { store, accept, told, restart, wake } = await deciding(
      ask,
      '2m',
      'minDelay: 2s, maxDelay: 10m',
      clock,
    );
    const probeAt = clock.now() + 300_000;
    const paused = { sink: 'lookup:candidate', since: clock.now(), probeAt, probes: 20, because: null };
    await store.keepPause(paused);
    await restart();
    const afterMs = (ms: number) => {
      skip(ms);
      wake();
    };
    await accept('ana');
    afterMs(60_000);
    await eventually(() => expect(calls).toBe(1));
    afterMs(60_000);
    expect(await told(1)).toEqual([' ']);
    isDown = false;
    await accept('ben');
    afterMs(60_000);
    expect(await told(2)).toEqual([' ', '/ben 1']);
  });

  test('is decided at once where the API refuses it', async () => {
    const { accept, told, factsAbout } = await deciding(() =>
      rejected('invalid', 'It answered 422.', 'Look at the URL.'),
    );
    const id = await accept('ana');
    await told(1);
    expect(await factsAbout(id)).toMatchObject({
      candidate: { state: 'unknown', reason: 'It answered 422. Look at the URL.' },
    });
  });

  test('is decided without it where the config has it no more', async () => {
    const { accept, told, factsAbout, dropLookups } = await deciding(() =>
      retry('server', 'It answered 500.'),
    );
    const id = await accept('ana');
    await dropLookups();
    expect(await told(1)).toEqual([' ']);
    expect(await factsAbout(id)).toMatchObject({
      candidate: { state: 'unknown', reason: expect.stringContaining('no look-up candidate any more') },
    });
  });

  test("is decided by today's config where its own cannot be used any more", async () => {
    const { accept, told, factsAbout, dropLookups } = await deciding(() => new Promise(() => {}), '400ms');
    const id = await accept('ana');
    await dropLookups(true);
    expect(await told(1)).toEqual(["by today's"]);
    expect(await factsAbout(id)).toMatchObject({ candidate: { state: 'unknown' } });
  });

  test('is told of before those of its candidate that came later, and holds up nobody else', async () => {
    const answer = Promise.withResolvers<Outcome>();
    const { accept, told } = await deciding(() => answer.promise);
    await accept('ana');
    await accept('ana', 'Canceled');
    await accept('ben', 'Canceled');
    expect(await told(1)).toEqual([' ']);
    answer.resolve(answered({ name: 'Ana', score: 1 }));
    expect(await told(3)).toEqual([' ', 'Ana 1', ' ']);
  });

  test('is decided before those of its candidate that came when the config had no look-ups any more', async () => {
    const answer = Promise.withResolvers<Outcome>();
    const { accept, told, dropLookups, store } = await deciding(() => answer.promise);
    await accept('ana');
    await dropLookups();
    const later = await accept('ana', 'Canceled');
    await accept('ben', 'Canceled');
    expect(await told(1)).toEqual(["by today's"]);
    expect((await store.event(later))!.decided).toBe(false);
    answer.resolve(answered({ name: 'Ana', score: 1 }));
    expect((await told(3)).toSorted()).toEqual(['Ana 1', "by today's", "by today's"]);
  });

  test('is decided by a replica whose config has no look-ups, where the one that took it has ended', async () => {
    const config = withoutLookups(new ScriptedTool());
    const store = await openPostgres(await freshSchema());
    onTestFinished(() => store.close());
    for (const id of [configId, config.plan.id])
      await store.saveConfig({ id, source: config.planSource, savedAt: t0 });
    const decider = new Deciding({
      store,
      clock: { ...systemClock, after: (ms, run) => systemClock.after(ms / 1000, run) },
      config: () => config,
      plan: async () => ({ fault: 'It cannot be used.' }),
      wake: () => {},
      failed: (error) => {
        throw error;
      },
    });
    onTestFinished(() => decider.stop());
    decider.wake();
    await vi.waitUntil(() => !decider.mayWait);
    const { eventId } = await store.accept(undecided('ana'));
    await eventually(async () => expect(await store.event(eventId)).toMatchObject({ decided: true }));
  });
});

test('events that cannot be decided for long are a fault, until they are decided', async () => {
  const store = await openPostgres(await freshSchema());
  onTestFinished(() => store.close());
  const { clock, skip } = skipping();
  const config = withoutLookups(new ScriptedTool());
  for (const id of [configId, config.plan.id])
    await store.saveConfig({ id, source: config.planSource, savedAt: t0 });
  let isAway = true;
  let failures = 0;
  const decider = new Deciding({
    store,
    clock: { ...clock, after: (ms, run) => systemClock.after(ms / 100, run) },
    config: () => config,
    plan: () =>
      isAway ? Promise.reject(new Error('It is away.')) : Promise.resolve({ fault: 'It cannot be used.' }),
    wake: () => {},
    failed: () => void (failures += 1),
  });
  onTestFinished(() => decider.stop());
  const { eventId } = await store.accept(undecided('ana'));
  decider.wake();
  await eventually(() => expect(failures).toBeGreaterThan(0));
  expect(decider.fault).toBe(null);
  skip(10_000);
  expect(decider.fault).toEqual(new Error('It is away.'));
  isAway = false;
  await eventually(async () => expect(await store.event(eventId)).toMatchObject({ decided: true }));
  await eventually(() => expect(decider.fault).toBe(null));
});

test('the alert of a paused look-up names it, and says what becomes of what waits for it', () => {
  const because = { reason: 'server', detail: 'The API answered 503.' } as const;
  const down = {
    kind: 'paused',
    sink: 'lookup:candidate',
    since: 0,
    because,
    count: 2,
    lastSuccessAt: null,
  } as const;
  const nothing = { dead: [], held: [], refused: null, loadedAt: 0, refusedEvents: [], lastEventAt: 0 };
  const paused = [
    down,
    { ...down, kind: 'failing', givenUp: 1 },
    { ...down, kind: 'forgotten', who: 'dana' },
  ] as const;
  const notices = noticesFor('paused', 60_000, { ...nothing, now: 120_000, paused });
  const trouble = {
    sink: 'lookup:candidate',
    detail:
      'The look-up candidate has had no answer for 2 minutes. The API answered 503. Events wait for it, and are decided without it when their waitFor is over.',
    advice: expect.stringMatching(/check --live --candidate ID\. .* retry lookup:candidate$/),
  };
  expect(notices).toMatchObject([
    trouble,
    trouble,
    {
      detail:
        'The look-up candidate has been paused by dana for 2 minutes. Events wait for it, and are decided without it when their waitFor is over.',
    },
  ]);
  // Where nothing waits any more: to replay a message would not ask the API.
  expect(nextShows('lookup:candidate')).toMatch(/^(?!.*replay).*`candidate-connector lookup EVENT`/);
});
