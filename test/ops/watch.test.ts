import { describe, expect, onTestFinished, test } from 'vitest';
import { watchAlerts } from '../../src/ops/alerts/watch.ts';
import { parseConfig } from '../../src/config/load.ts';
import { lookupSink } from '../../src/model.ts';
import type { Failure, Outcome } from '../../src/model/outcomes.ts';
import type { RefusedFile } from '../../src/store/store.ts';
import { openStore } from '../../src/store/open.ts';
import {
  arrival,
  decider,
  delivered,
  lookupLane,
  notice as noticeWith,
  person,
  planned,
  rejected,
  resultOf,
  undecided,
  unknown,
} from '../contract/store-fixtures.ts';
import { workplace } from '../commands/tools.ts';
import { ScriptedTool } from '../deliveries/scripted.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.UTC(2026, 0, 5);

const configWith = (more: string) =>
  parseConfig(
    `${more}
sinks: { tool: { connector: scripted }, other: { connector: scripted } }
rules: []
alerts:
  dead: { then: [ { sink: tool, text: x }, { sink: other, text: x } ] }
  held: { then: [ { sink: tool, text: x }, { sink: other, text: x } ] }
  config: { then: [ { sink: other, text: x } ] }
  paused: { after: 1m, then: [ { sink: other, text: x } ] }
  refused: { then: [ { sink: other, text: x } ] }
  silence: { after: 7d, then: [ { sink: other, text: x } ] }`,
    'config.yaml',
    { env: {}, connectors: new Map([['scripted', new ScriptedTool().connector]]) },
  );

const config = configWith('');

const withAnotherSink = {
  ...config,
  plan: {
    ...config.plan,
    alerts: config.plan.alerts.map(({ kind, afterMs, actions }) => ({
      kind,
      afterMs,
      actions: actions.map((action) => ({ ...action, sink: 'tool' })),
    })),
  },
};

const deadTool = 'dead tool: not_found in completed 0';
const deadOther = 'dead other: not_found in completed 0';

interface Paused {
  sink: string;
  since?: number;
  because?: Failure;
  hasWork?: boolean;
}

/** A watch on a real store, under a clock that stands still until `look`. `storeFails`: how many notices it fails to take. */
async function watching({
  storeFails = 0,
  /** What stands in the store as paused at each look. */
  paused = [] as (string | Paused)[],
  more = '',
  movedAt = -Infinity,
} = {}) {
  const given = configWith(more);
  const { folder } = await workplace();
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: true });
  const configId = given.plan.id;
  await store.saveConfig({ id: configId, source: given.planSource, savedAt: start });
  const notSent: string[] = [];
  let now = start;
  let inForce = given;
  let failures = 0;
  let wakes = 0;
  let isMine = true;
  const secretFaults: { sink: string; since: number; detail: string }[] = [];
  let refused: RefusedFile | null = null;
  let alarm = Promise.withResolvers<() => void>();
  const begin = () => {
    alarm = Promise.withResolvers();
    return watchAlerts({
      store: {
        ...store,
        raise: (raise) =>
          failures < storeFails ? Promise.reject(new Error('disk full')) : store.raise(raise),
      },
      clock: {
        now: () => now,
        elapsed: () => now,
        after: (delayMs, run) => {
          expect(delayMs).toBe(10_000);
          alarm.resolve(run);
          return () => {};
        },
      },
      config: () => inForce,
      mine: () => isMine,
      hasWork: (sink) => pauses().some((one) => one.sink === sink && one.hasWork),
      announcer: {
        state: () => ({
          id: 'this',
          saidAt: now,
          stopped: false,
          config: {
            id: configId,
            file: 'config.yaml',
            since: start - 2 * day,
            refused,
            waiting: [],
            closed: null,
          },
          sinks: Array.from(inForce.sinks.values(), ({ name, connector }) => ({
            name,
            connector: connector.name,
          })),
          secretFaults,
        }),
      },
      refused: { unwritten: [] },
      movedAt: () => movedAt,
      servedSince: start,
      wake: () => (wakes += 1),
      raised: () => {},
      cannotSend: ({ cause }) => notSent.push(cause),
      failed: () => (failures += 1),
    });
  };
  const pauses = () =>
    paused.map((one) => {
      const {
        hasWork = true,
        since = start,
        because = null,
        sink,
      } = typeof one === 'string' ? { sink: one } : one;
      return { sink, since, because, hasWork };
    });
  async function keepPauses(): Promise<void> {
    for (const { sink } of await store.pauses()) await store.endPause(sink);
    for (const { hasWork: _, ...one } of pauses()) await store.keepPause({ ...one, probeAt: now, probes: 1 });
  }
  let stop = begin();
  onTestFinished(async () => {
    stop();
    await store.close();
  });
  return {
    store,
    configId,
    notSent,
    secretFaults,
    get wakes() {
      return wakes;
    },
    /** Lets the clock go on so far, one step after the other, with a look after each. */
    async look(...steps: number[]): Promise<void> {
      for (const afterMs of steps) {
        const run = await alarm.promise;
        alarm = Promise.withResolvers();
        now += afterMs;
        await keepPauses();
        run();
        await alarm.promise;
      }
    },
    /** Whether another replica looks meanwhile. */
    beMine: (mine: boolean) => void (isMine = mine),
    /** As after a restart of the process. */
    restart() {
      stop();
      stop = begin();
    },
    adopt: (next: typeof config) => void (inForce = next),
    refuse: (next: RefusedFile | null) => void (refused = next),
    setBack: (ms: number) => (now -= ms),
    async event(sink = 'tool', outcome: Outcome = rejected, at = now, event = {}, ended = {}): Promise<void> {
      const deliveries = [planned({ sink, lane: sink, dueAt: at })];
      await store.accept(arrival({ receivedAt: at, ...event }, { configId, deliveries }));
      const claimed = await store.claim({ lane: sink, now: at, limit: 1 });
      await store.record(claimed.map((one) => resultOf(one, outcome, ended)));
    },
    notices: async () => (await store.notices({})).toReversed().map(({ notice }) => notice),
    causes: async () => (await store.notices({})).map(({ notice }) => notice.cause).toReversed(),
  };
}

test('one of several replicas looks, and another one goes on with what the one before has raised', async () => {
  const paused: string[] = [];
  const watch = await watching({ paused });
  await watch.look(minute);
  watch.beMine(false);
  paused.push('tool');
  await watch.look(2 * minute);
  expect(await watch.causes()).toEqual([]);
  const theirs = noticeWith({ cause: 'paused tool', raisedAt: start + 3 * minute });
  await watch.store.raise({ notice: theirs, configId: config.plan.id, deliveries: [], quietMs: hour });
  watch.beMine(true);
  await watch.look(2 * hour);
  expect(await watch.causes()).toEqual(['paused tool']);
});

test('a notice that could not be stored is raised at the next check', async () => {
  const watch = await watching({ storeFails: 1, paused: ['tool'] });
  await watch.look(minute);
  expect(await watch.causes()).toEqual([]);
  await watch.look(minute);
  expect(await watch.causes()).toEqual(['paused tool']);
});

test('a sink of the config is reported when it has been down for as long as the alert says, with what to do', async () => {
  const watch = await watching({ paused: ['tool', 'removed'] });
  await watch.look(minute - 1);
  expect(await watch.causes()).toEqual([]);
  await watch.look(1);
  expect(await watch.notices()).toMatchObject([
    {
      alert: 'paused',
      sink: 'tool',
      since: start,
      detail: expect.stringContaining('No message to tool has gone out for 60 seconds. The messages wait'),
      advice: expect.stringContaining('candidate-connector check --live'),
    },
  ]);
  expect(watch.wakes).toBe(1);
});

test('a sink that is down is reported with why, and a new cause at once', async () => {
  const paused = [{ sink: 'tool', because: { reason: 'server', detail: 'Slack answered 500' } as Failure }];
  const watch = await watching({ paused });
  await watch.look(minute);
  paused[0]!.because = {
    reason: 'auth',
    detail: "invalid_auth: the token is not valid. Put the app's current bot token there.",
  };
  await watch.look(minute, minute);
  expect(await watch.notices()).toMatchObject([
    {
      cause: 'paused tool: server',
      detail: expect.stringContaining(
        'No message to tool has gone out for 60 seconds. Slack answered 500. The messages wait',
      ),
    },
    {
      cause: 'paused tool: auth',
      detail: expect.stringContaining(
        "2 minutes. invalid_auth: the token is not valid. Put the app's current",
      ),
    },
  ]);
});

test('one outage is told once, whatever its passing causes, and with the time since a message went out', async () => {
  const paused = [{ sink: 'tool', because: { reason: 'server', detail: 'It answered 503' } as Failure }];
  const watch = await watching({ paused });
  await watch.look(minute);
  for (const reason of ['rate_limited', 'timeout', 'network'] as const) {
    await watch.event('tool', delivered);
    paused[0]!.because = { reason, detail: 'Not now' };
    await watch.look(10_000);
  }
  expect(await watch.causes()).toEqual(['paused tool: server']);
  await watch.event('tool', delivered);
  paused[0]!.because = { reason: 'auth', detail: 'It answered 401' };
  await watch.look(30_000);
  const detail = expect.stringMatching(
    /again and again for 2 minutes, and none has gone out for 29 seconds\./,
  );
  expect(await watch.notices()).toMatchObject([{}, { cause: 'paused tool: auth', detail }]);
});

test('a sink that a person paused is reported by nobody, until that has lasted a day without an end', async () => {
  const because = { reason: 'server', detail: 'It answered 502.' } as const;
  const watch = await watching({ paused: [{ sink: 'tool', because }] });
  const outcome = { outcome: 'unknown', reason: 'server', detail: 'It answered 502.' } as const;
  for (const at of [0, 1, 2, 3, 60_000]) await watch.event('other', outcome, start + at);
  for (const sink of ['tool', 'other']) {
    await watch.store.accept(
      arrival({}, { configId: watch.configId, deliveries: [planned({ sink, lane: `later ${sink}` })] }),
    );
    await watch.store.pauseByPerson(sink, sink === 'tool' ? null : start + 9 * day, start, person);
  }
  const ofSinks = async () => (await watch.notices()).filter(({ alert }) => alert === 'paused');
  await watch.look(hour, 22 * hour);
  expect(await ofSinks()).toEqual([]);
  await watch.look(2 * hour);
  expect(await ofSinks()).toMatchObject([
    {
      sink: 'tool',
      detail: 'tool has been paused by dana for 25 hours, and messages wait for it. None is lost.',
      advice: expect.stringContaining('candidate-connector resume tool'),
    },
  ]);
  // What fails when it goes on is another trouble.
  await watch.store.resumeByPerson('tool', start + 26 * hour, person);
  await watch.look(minute, minute);
  expect((await ofSinks()).map(({ cause }) => cause)).toEqual(['paused tool: person', 'paused tool: server']);
});

test('a sink that fails without being paused is reported likewise, while something waits, and that it works again', async () => {
  const watch = await watching();
  const outcome = { outcome: 'unknown', reason: 'server', detail: 'It answered 502.' } as const;
  for (const at of [0, 1, 2, 3, 60_000]) await watch.event('tool', outcome, start + at);
  const waits = (sink: string) =>
    watch.store.accept(
      arrival(
        { candidateId: sink },
        {
          configId: watch.configId,
          deliveries: [planned({ sink, lane: `later ${sink}`, dueAt: start + day })],
        },
      ),
    );
  await waits('other');
  await watch.look(2 * minute);
  expect(await watch.causes()).not.toContain('paused tool: server');
  await waits('tool');
  await watch.look(minute);
  const ofTool = async () => (await watch.notices()).filter(({ alert }) => alert === 'paused');
  const detail =
    '5 attempts at messages to tool have failed in 2 minutes, and none has worked. It answered 502.';
  const told = {
    cause: 'paused tool: server',
    since: start + 5,
    count: 1,
    detail: expect.stringContaining(detail),
  };
  expect(await ofTool()).toMatchObject([told]);
  await watch.event('tool', delivered);
  await watch.look(minute, minute);
  expect(await ofTool()).toMatchObject([told, { sink: 'tool', recovered: true }]);
});

test('a sink that fails is reported likewise where all was given up, with how to replay it', async () => {
  const watch = await watching();
  const outcome = { outcome: 'unknown', reason: 'server', detail: 'It answered 502.' } as const;
  for (const at of [0, 1, 2, 3, 60_000])
    await watch.event('tool', outcome, start + at, {}, { state: 'dead' });
  await watch.look(2 * minute);
  const told = (await watch.notices()).filter(({ alert, sink }) => alert === 'paused' || sink === null);
  expect(told).toMatchObject([
    {
      cause: 'paused tool: server',
      detail:
        '5 attempts at messages to tool have failed in 119 seconds, and none has worked. 5 deliveries to tool had to be given up. It answered 502.',
      advice:
        'Fix the cause, or forward this to somebody who can. Whom they are about stands on the operations page, at “Needs a person”. Then replay them: candidate-connector replay --dead --sink tool',
    },
  ]);
});

describe('that a sink works again', () => {
  const down = () => [{ sink: 'tool' } as Paused];
  /** One that was told. */
  const downAndTold = async () => {
    const paused = down();
    const watch = await watching({ paused });
    await watch.look(minute);
    return { paused, watch };
  };
  const works = async (paused: Paused[], watch: Awaited<ReturnType<typeof watching>>) => {
    paused.length = 0;
    await watch.event('tool', delivered);
  };

  test('is told once, to whom it was told that it was down', async () => {
    const paused = down();
    const watch = await watching({ paused });
    await watch.look(2 * hour);
    paused[0]!.hasWork = false;
    await watch.look(5 * minute);
    expect(await watch.causes()).toEqual(['paused tool']);
    await works(paused, watch);
    await watch.look(10_000, 50_000);
    expect(await watch.causes()).toHaveLength(1);
    await watch.look(10_000, day);
    const [told, over, ...more] = await watch.notices();
    expect(more).toEqual([]);
    expect(over).toMatchObject({
      alert: 'paused',
      cause: `paused over: ${told?.id}`,
      sink: 'tool',
      since: start,
      detail: 'tool works again, after 2 hours. The deliveries that waited go on.',
      recovered: true,
    });
    const sinks = (await watch.store.notices({})).map(({ deliveries }) => deliveries.map(({ sink }) => sink));
    expect(sinks).toEqual([['other'], ['other']]);
  });

  test('is told after a restart, too', async () => {
    const { paused, watch } = await downAndTold();
    watch.restart();
    await watch.look(minute);
    await works(paused, watch);
    watch.restart();
    await watch.look(minute, minute);
    watch.restart();
    await watch.look(hour, hour);
    expect((await watch.notices()).map(({ recovered }) => recovered)).toEqual([false, true]);
  });

  test('is not told before a message was delivered', async () => {
    const { paused, watch } = await downAndTold();
    paused.length = 0;
    await watch.look(minute, hour);
    expect(await watch.causes()).toEqual(['paused tool']);
    await watch.event('tool', delivered);
    await watch.look(minute, minute);
    expect(await watch.causes()).toHaveLength(2);
  });

  test('is not told while what came after a success has failed', async () => {
    const { paused, watch } = await downAndTold();
    await works(paused, watch);
    const again = { outcome: 'retry', reason: 'server', detail: 'It answered 502.' } as const;
    await watch.event('tool', again, undefined, {}, { state: 'pending' });
    await watch.look(minute, minute, hour);
    expect(await watch.causes()).toEqual(['paused tool']);
    await watch.event('tool', delivered);
    await watch.look(minute, minute);
    expect((await watch.notices()).map(({ recovered }) => recovered)).toEqual([false, true]);
  });

  test('and that it is down again is told though the hour is not over', async () => {
    const { paused, watch } = await downAndTold();
    const [outage] = paused;
    await works(paused, watch);
    await watch.look(minute, minute);
    paused.push({ ...outage!, since: start + 4 * minute });
    await watch.look(minute, minute, minute, minute);
    const told = ['paused tool', expect.stringMatching(/^paused over/), 'paused tool'];
    expect(await watch.causes()).toEqual(told);
    watch.restart();
    await watch.look(minute, minute);
    expect(await watch.causes()).toEqual(told);
  });

  test('is not told if nobody was told that it was down', async () => {
    const paused = down();
    const watch = await watching({ paused });
    await watch.look(minute - 1);
    await works(paused, watch);
    await watch.look(minute, hour);
    expect(await watch.causes()).toEqual([]);
  });

  test.each([
    ['of a sink that left the config', { ...config, sinks: new Map([...config.sinks].slice(1)) }],
    ['where only that sink is left to tell it', withAnotherSink],
  ])('is not told %s', async (_, later) => {
    const { paused, watch } = await downAndTold();
    await works(paused, watch);
    watch.adopt(later);
    await watch.look(minute, minute);
    expect(await watch.causes()).toEqual(['paused tool']);
    expect(watch.notSent).toEqual([]);
  });

  test('is not told while it fails again within a minute', async () => {
    const { paused, watch } = await downAndTold();
    const [outage] = paused.splice(0);
    await watch.look(50_000);
    paused.push(outage!);
    await watch.look(50_000);
    await works(paused, watch);
    await watch.look(50_000);
    expect(await watch.causes()).toEqual(['paused tool']);
    await watch.look(minute);
    expect(await watch.causes()).toHaveLength(2);
  });
});

test('a config that is refused is reported with its first problem, each other one at once, and when it is in force', async () => {
  const watch = await watching();
  const refusal = { isInForce: false, since: start + minute };
  await watch.look(minute);
  watch.refuse({ ...refusal, problem: 'config.yaml:3:5: unknown key "colour"', others: 2 });
  await watch.look(10_000, 10_000);
  watch.refuse({ ...refusal, problem: 'config.yaml:9:1: "sinks" is missing', others: 0 });
  await watch.look(10_000);
  watch.restart();
  watch.refuse(null);
  await watch.look(3 * minute, hour);
  expect(await watch.notices()).toMatchObject([
    {
      alert: 'config',
      sink: null,
      since: start + minute,
      detail:
        'The changed config was refused. config.yaml:3:5: unknown key "colour". There are 2 more problems. What was loaded 2 days ago stays in force.',
      advice: expect.stringContaining('candidate-connector check'),
    },
    { detail: expect.stringContaining('config.yaml:9:1: "sinks" is missing. What was loaded') },
    { recovered: true, detail: 'The changed config is in force now, after 3 minutes.' },
  ]);
});

test('a changed secret that does not work is reported though nothing waits, and that the sink works again', async () => {
  const watch = await watching();
  watch.secretFaults.push({ sink: 'tool', since: start, detail: 'token: The tool refuses it.' });
  await watch.look(minute, minute);
  await watch.event('tool', delivered);
  await watch.look(minute, hour);
  expect(await watch.notices()).toMatchObject([
    {
      alert: 'paused',
      sink: 'tool',
      since: start,
      detail: 'The changed secrets of tool do not work. token: The tool refuses it.',
    },
    { recovered: true, sink: 'tool' },
  ]);
});

test('a changed secret is not told of a sink that is down anyhow, nor of one that has worked since', async () => {
  const because: Failure = { reason: 'server', detail: 'It answered 503' };
  const [down, works] = [await watching({ paused: [{ sink: 'tool', because }] }), await watching()];
  await works.event('tool', delivered);
  for (const watch of [down, works]) {
    watch.secretFaults.push({ sink: 'tool', since: start, detail: 'token: The tool refuses it.' });
    await watch.look(2 * minute);
  }
  expect(await down.causes()).toEqual(['paused tool: server']);
  expect(await works.causes()).toEqual([]);
});

test('a config in force that breaks a policy is reported with what does not hold', async () => {
  const watch = await watching();
  const problem =
    'config.yaml:6:5: this does not hold: slack #a hears of { status: Canceled }, by rule "all"';
  watch.refuse({ isInForce: true, since: start, problem, others: 1 });
  await watch.look(10_000);
  watch.refuse(null);
  await watch.look(3 * minute);
  expect(await watch.notices()).toMatchObject([
    {
      alert: 'config',
      detail: `The config in force breaks a policy. ${problem}. There is one more problem.`,
      advice: expect.stringContaining('candidate-connector check'),
    },
    { recovered: true, detail: 'The changed config is in force now, after 3 minutes.' },
  ]);
});

test('if every action uses the sink in trouble nothing is sent, and that is logged once an hour until there is another sink', async () => {
  const watch = await watching({ paused: ['other'] });
  await watch.look(minute, minute);
  expect(watch.notSent).toEqual(['paused other']);
  await watch.look(hour);
  expect(watch.notSent).toEqual(['paused other', 'paused other']);
  expect(await watch.causes()).toEqual([]);
  watch.adopt(withAnotherSink);
  await watch.look(minute);
  expect(await watch.causes()).toEqual(['paused other']);
});

describe('a dead delivery', () => {
  test('is reported with their number and how to replay them, never through its own sink', async () => {
    const watch = await watching();
    await watch.event('tool');
    await watch.event('tool');
    await watch.look(minute);
    const [story] = await watch.store.notices({});
    expect(story).toMatchObject({
      notice: {
        cause: deadTool,
        count: 2,
        detail: '2 deliveries to tool had to be given up. No such channel.',
        advice: expect.stringMatching(/candidate-connector replay --dead --sink tool --cause '?\w/),
      },
      deliveries: [{ rule: 'alerts.dead', action: 1, sink: 'other' }],
    });
  });

  test('is reported beside one that was delivered and missed somebody', async () => {
    const watch = await watching();
    await watch.event('tool', {
      outcome: 'delivered',
      receipt: {},
      note: 'Left out: "robin".',
      missed: true,
    });
    await watch.event('tool', {
      outcome: 'delivered',
      receipt: {},
      note: 'The tab was made anew.',
      missed: true,
    });
    await watch.event('tool', { outcome: 'delivered', receipt: {}, note: 'Shortened.' });
    await watch.look(minute);
    expect(await watch.notices()).toMatchObject([
      {
        cause: 'dead tool: missed in completed 0',
        count: 2,
        detail: '2 deliveries to tool went out, but not as meant. Left out: "robin". The tab was made anew.',
        advice: expect.stringMatching(
          /Where somebody was left out, .* candidate-connector resend takes .* Do not send a row again/,
        ),
      },
    ]);
  });

  test('is reported at most once an hour for each cause, and then with all that came since', async () => {
    const watch = await watching();
    await watch.event('tool');
    await watch.look(minute);
    await watch.event('tool');
    await watch.event('other');
    await watch.look(minute);
    await watch.event('tool');
    await watch.look(58 * minute);
    expect(await watch.causes()).toEqual([deadTool, deadOther]);
    await watch.look(minute, day);
    expect((await watch.notices()).map(({ cause, count }) => [cause, count])).toEqual([
      [deadTool, 1],
      [deadOther, 1],
      [deadTool, 2],
    ]);
  });

  test('for another reason is reported at once, and each of the two once an hour', async () => {
    const watch = await watching();
    const auth: Outcome = {
      outcome: 'rejected',
      reason: 'auth',
      detail: 'Not allowed.',
      advice: 'Allow it.',
    };
    await watch.event('tool');
    await watch.look(minute);
    await watch.event('tool', auth);
    await watch.event('tool');
    await watch.look(minute);
    await watch.event('tool', auth);
    await watch.look(minute);
    const sent = async () =>
      (await watch.notices()).map(({ cause, count, detail }) => [cause, count, detail]);
    const authTool = 'dead tool: auth in completed 0';
    const first = [
      [deadTool, 1, 'A delivery to tool had to be given up. No such channel.'],
      [authTool, 1, 'A delivery to tool had to be given up. Not allowed.'],
    ];
    expect(await sent()).toEqual(first);
    await watch.look(hour);
    expect((await sent()).slice(2)).toEqual(expect.arrayContaining(first));
    expect(await sent()).toHaveLength(4);
  });

  test('is reported even if no config has its sink any more', async () => {
    const watch = await watching();
    await watch.event('renamed');
    await watch.look(minute);
    expect(await watch.causes()).toEqual(['dead renamed: not_found in completed 0']);
  });

  test('is reported even if it was recorded late', async () => {
    const watch = await watching();
    await watch.look(minute);
    await watch.event('tool', rejected, start + 30_000);
    await watch.look(10_000);
    expect(await watch.causes()).toEqual([deadTool]);
  });

  test('is not reported twice when the clock is set by a few seconds', async () => {
    const watch = await watching();
    await watch.event('tool');
    await watch.look(minute);
    watch.setBack(15_000);
    await watch.event('tool');
    await watch.look(1000);
    expect(await watch.causes()).toEqual([deadTool]);
  });

  test('is still reported after the clock went back between two notices', async () => {
    const watch = await watching();
    await watch.event('tool');
    await watch.look(minute);
    await watch.event('tool');
    await watch.look(2 * hour);
    watch.setBack(hour);
    await watch.look(10_000);
    await watch.event('tool');
    await watch.look(minute, hour, hour);
    expect((await watch.causes()).length).toBe(3);
  });

  test.each([true, false])(
    'is reported an hour after the clock was set back, over a restart too: %s',
    async (restarts) => {
      const watch = await watching();
      await watch.event('tool');
      await watch.look(day);
      watch.setBack(day);
      if (restarts) watch.restart();
      await watch.look(minute);
      await watch.event('tool');
      await watch.look(minute);
      expect(await watch.causes()).toEqual([deadTool]);
      await watch.look(hour);
      expect(await watch.causes()).toEqual([deadTool, deadTool]);
    },
  );

  test('is not reported again after a restart', async () => {
    const watch = await watching();
    await watch.event('tool');
    await watch.look(minute);
    watch.restart();
    await watch.look(2 * hour);
    expect(await watch.causes()).toEqual([deadTool]);
  });

  test('is not reported again after an upgrade from 0.1, whose notices were of a sink', async () => {
    const watch = await watching();
    await watch.event('tool');
    const before = noticeWith({ alert: 'dead', cause: 'dead tool', sink: 'tool', raisedAt: start + minute });
    await watch.store.raise({ notice: before, configId: watch.configId, deliveries: [], quietMs: 0 });
    await watch.look(minute);
    await watch.event('tool');
    await watch.look(30 * minute);
    expect(await watch.causes()).toEqual(['dead tool']);
    await watch.look(hour);
    expect((await watch.notices()).map(({ cause, count }) => [cause, count]).at(-1)).toEqual([deadTool, 1]);
  });
});

test('held deliveries are reported with what to look at, apart from dead ones', async () => {
  const watch = await watching();
  await watch.event('tool', unknown);
  await watch.event('tool', unknown);
  await watch.event('tool');
  await watch.look(minute, minute);
  expect(await watch.notices()).toMatchObject([
    { cause: deadTool, count: 1 },
    {
      alert: 'held',
      cause: 'held tool',
      count: 2,
      detail:
        '2 deliveries to tool may have arrived or not, and only a person can tell. No answer within 10 s.',
      advice: expect.stringContaining('candidate-connector events --state held --sink tool'),
    },
  ]);
  const [story] = await watch.store.notices({ limit: 1 });
  expect(story?.deliveries.map(({ sink }) => sink)).toEqual(['other']);
});

test('refused events are told with how many, from where and since when: hourly while there are more', async () => {
  const watch = await watching();
  const refuse = (at: number, from = 'a', reason: 'store' | 'address' = 'address') =>
    watch.store.keepRefused([{ reason, from, count: 2, first: start + at, last: start + at }]);
  await refuse(0);
  await refuse(1, 'b', 'store');
  await watch.look(minute);
  // A flood from many senders is one cause.
  for (const from of ['b', 'c', 'd', 'e']) await refuse(2 * minute, from);
  await watch.look(2 * minute);
  expect(await watch.notices()).toMatchObject([
    { cause: 'refused address', from: 'a', count: 2, since: start, sink: null },
    { cause: 'refused store', from: 'b', count: 2, since: start + 1 },
  ]);
  await watch.look(hour, 2 * hour);
  expect((await watch.notices()).slice(2)).toMatchObject([
    {
      cause: 'refused address',
      from: 'a, b, c and 2 more',
      count: 10,
      since: start,
      detail: expect.stringMatching(
        /^10 events from a, b, c and 2 more were refused: .*\. The first came 63 minutes ago, the last 61 minutes ago\.$/,
      ),
      advice: expect.stringContaining('candidate-connector accept --from ADDRESS'),
    },
  ]);
  // Within the hour only what comes after somebody has put the rest away.
  const later = 3 * hour + 3 * minute;
  for (const [at, from] of [
    [later, 'f'],
    [later + 1, 'g'],
  ] as const) {
    await refuse(at, from);
    await watch.look(10_000);
  }
  await watch.store.ignoreRefused({}, start + later, person);
  await refuse(later + 30_000, 'h');
  await watch.look(20_000);
  expect((await watch.notices()).slice(3)).toMatchObject([{ count: 12 }, { from: 'h', count: 2 }]);
});

test('requests that were not valid events are told of hourly while there are more, and anew after a week without any', async () => {
  const watch = await watching();
  const come = (at: number, correlationId: string | null = 'c') =>
    watch.store.keepRejected(
      { receivedAt: start + at, address: '13.74.0.1', correlationId, status: 422, faults: ['x'], body: '{}' },
      1000,
    );
  // Somebody tries it out by hand.
  await come(0, null);
  await watch.look(minute);
  expect(await watch.notices()).toEqual([]);
  await come(minute);
  await watch.look(10_000);
  await come(2 * minute);
  await watch.look(minute);
  expect(await watch.notices()).toMatchObject([
    {
      cause: 'refused content',
      sink: null,
      from: '13.74.0.1',
      count: 1,
      since: start + minute,
      detail: '1 event from 13.74.0.1 was refused: what came was not a valid event. It came 10 seconds ago.',
      advice: expect.stringMatching(
        /^candidate-connector events --rejected says .* When that is done: candidate-connector reconcile /,
      ),
    },
  ]);
  await watch.look(hour, hour);
  expect((await watch.notices()).slice(1)).toMatchObject([{ count: 2, since: start + minute }]);
  await watch.look(8 * day);
  await come(8 * day);
  await watch.look(minute);
  expect((await watch.notices()).filter(({ alert }) => alert === 'refused').slice(2)).toMatchObject([
    { count: 1, since: start + 8 * day },
  ]);
});

describe('silence', () => {
  test('is counted from the newest event, and reported once until there is another', async () => {
    const watch = await watching();
    // Its clock was ahead.
    await watch.event('tool', delivered, start + 400 * day);
    await watch.look(6 * day);
    await watch.event('tool', delivered);
    await watch.look(6 * day);
    expect(await watch.causes()).toEqual([]);
    await watch.look(day, 3 * day);
    expect(await watch.notices()).toMatchObject([
      { cause: 'silence', sink: null, since: start + 6 * day, detail: 'No event has come for 7 days.' },
    ]);
    await watch.event('tool', delivered);
    await watch.look(7 * day);
    expect(await watch.causes()).toEqual(['silence', 'silence']);
  });

  test('of a store without any event is counted from the start', async () => {
    const watch = await watching();
    await watch.look(7 * day - 1);
    expect(await watch.causes()).toEqual([]);
    await watch.look(1);
    expect(await watch.causes()).toEqual(['silence']);
  });
});

describe('the summary of a week', () => {
  const more = `timezone: Europe/Zagreb
catalog: { 7: { name: Backend } }
summary: { at: "Mon 09:00", then: [ { sink: other, text: "{{ notice.detail }}" } ] }`;
  const summaries = async (watch: Awaited<ReturnType<typeof watching>>) =>
    (await watch.notices()).filter(({ alert }) => alert === 'summary');

  test('says what came, what became of it, and what needs a person', async () => {
    // The last one was paused when it left the config.
    const watch = await watching({ more, paused: ['other', 'gone'] });
    await watch.look(8 * hour);
    const status = 'DidNotTake' as const;
    await watch.event('tool', delivered, start + day, { testId: 7, candidateId: 'ann' });
    await watch.event('tool', delivered, start + day, { testId: 7, candidateId: 'bob', status });
    await watch.event('tool', rejected, start + 3 * day, { testId: 8, candidateId: 'cid' });
    await watch.event('tool', unknown, start + 4 * day, { testId: 7, candidateId: 'dan' });
    await watch.look(7 * day - 1);
    expect(await summaries(watch)).toMatchObject([{ count: 0, detail: 'No event came.' }]);
    await watch.look(1);
    const [, told, ...others] = await summaries(watch);
    expect(others).toEqual([]);
    expect(told).toMatchObject({
      cause: 'summary 2026-01-12',
      sink: null,
      count: 4,
      since: start + 8 * hour,
      recovered: false,
      detail: [
        '4 events: 3 completed, 1 did not take the test',
        'Backend: 2 completed, 1 did not take the test',
        'Test 8: 1 completed',
        'Deliveries to tool: 2 delivered, 1 given up, 1 held',
      ].join('\n'),
      advice:
        'Down now: other. See: candidate-connector check --live. ' +
        'Given up: 1 to tool. See: candidate-connector events --state dead. ' +
        'Held for a person to decide: 1 to tool. See: candidate-connector events --state held.',
    });
  });

  test('names a sink whose changed secrets do not work, as the status does', async () => {
    const watch = await watching({ more });
    await watch.look(8 * hour);
    watch.secretFaults.push({ sink: 'tool', since: start + day, detail: 'token: The tool refuses it.' });
    await watch.look(7 * day);
    const [, told] = await summaries(watch);
    expect(told?.advice).toBe(
      'The changed secrets of tool do not work. See: candidate-connector check --live.',
    );
  });

  test('names what is wrong with another replica, as the status does', async () => {
    const watch = await watching({ more });
    await watch.look(8 * hour);
    const problem = {
      since: start,
      problem: 'config.yaml:3:5: unknown key "colour"',
      others: 0,
      isInForce: false,
    };
    const itsConfig = {
      id: 'cfg',
      file: 'config.yaml',
      since: start,
      refused: problem,
      waiting: ['store.url'],
    };
    const secretFaults = [{ sink: 'tool', since: start, detail: 'token: The tool refuses it.' }];
    await watch.store.keepReplicaState({
      id: 'another',
      saidAt: start + 7 * day + 8 * hour,
      stopped: false,
      config: itsConfig,
      sinks: [{ name: 'tool', connector: 'scripted' }],
      secretFaults,
    });
    await watch.look(7 * day);
    const [, told] = await summaries(watch);
    expect(told?.advice).toMatch(
      /^The changed config is refused.*restart.*The changed secrets of tool do not work/,
    );
  });

  test('is silent about a look-up that asks for an hour, as it may, like the status', async () => {
    const watch = await watching({ more });
    await watch.look(8 * hour);
    const { store, configId } = watch;
    const asked = start + 6 * day;
    await store.accept({ ...undecided('ann', [lookupLane], asked), configId });
    for (let times = 0; times < 6; times += 1) {
      const [claimed] = await store.claim({ lane: lookupLane, now: asked + times, limit: 1 });
      const outcome = { outcome: 'retry', reason: 'not_found', detail: 'No result yet.' } as const;
      await store.record([resultOf(claimed!, outcome, { state: 'pending', dueAt: asked + times })]);
    }
    await watch.look(7 * day);
    const [, told] = await summaries(watch);
    expect(told?.advice).toBe('Nothing needs a person.');
  });

  test('speaks the language of the config', async () => {
    const watch = await watching({ more: `${more}\nlanguage: pl`, paused: ['other'] });
    await watch.look(8 * hour);
    for (const candidateId of ['ann', 'bob', 'cid', 'dan', 'eva'])
      await watch.event('tool', rejected, start + day, { testId: 9, candidateId });
    await watch.look(7 * day);
    const [, told] = await summaries(watch);
    expect(told).toMatchObject({
      detail: '5 zdarzeń: 5 ukończonych\nTest 9: 5 ukończonych\nWysyłki do tool: 5 zaniechanych',
      advice:
        'Obecnie nie działa: other. Zobacz: candidate-connector check --live. ' +
        'Zaniechane: 5 do tool. Zobacz: candidate-connector events --state dead.',
    });
  });

  test('goes once a week, however often the process starts or sleeps, or another replica tells it', async () => {
    const watch = await watching({ more });
    await watch.look(7 * hour);
    for (let times = 0; times < 3; times += 1) {
      watch.restart();
      await watch.look(hour);
    }
    const first = ['summary 2026-01-05'];
    const causes = async () => (await summaries(watch)).map(({ cause }) => cause);
    expect(await causes()).toEqual(first);
    await watch.look(10 * day);
    watch.restart();
    await watch.look(day);
    expect(await causes()).toEqual([...first, 'summary 2026-01-12']);
    watch.beMine(false);
    await watch.look(6 * day);
    const theirs = noticeWith({ alert: 'summary', cause: 'summary 2026-01-19', raisedAt: start + 17 * day });
    await watch.store.raise({ notice: theirs, configId: watch.configId, deliveries: [], quietMs: hour });
    watch.beMine(true);
    await watch.look(day, day);
    expect(await causes()).toEqual([...first, 'summary 2026-01-12', 'summary 2026-01-19']);
  });

  test('is not told again after a restart where events, and notices, are kept for less than a week', async () => {
    const watch = await watching({ more });
    const given = configWith(more);
    watch.adopt({ ...given, store: { ...given.store, retentionMs: 3 * day } });
    await watch.look(7 * hour);
    await watch.look(hour);
    expect((await summaries(watch)).map(({ cause }) => cause)).toEqual(['summary 2026-01-05']);
    const told = (await watch.store.notices({})).flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
    await watch.store.discard(told, start + 8 * hour, person);
    const { after } = await watch.store.prune({ before: start + 2 * day, limit: 25 });
    await watch.store.prune({ before: start + 2 * day, limit: 25, after: after! });
    expect(await watch.notices()).toEqual([]);
    await watch.look(4 * day);
    watch.restart();
    await watch.look(hour);
    expect(await summaries(watch)).toEqual([]);
    await watch.look(3 * day);
    expect((await summaries(watch)).map(({ cause }) => cause)).toEqual(['summary 2026-01-12']);
  });

  test('may have been told by the store that this one was restored from: it has the same id there, and is asked for', async () => {
    const told = async (movedAt?: number) => {
      const watch = await watching({ more, ...(movedAt !== undefined && { movedAt }) });
      await watch.look(7 * hour);
      for (const until of [2 * hour, 7 * day]) await watch.look(until);
      const notices = await watch.store.notices({});
      return notices.flatMap(({ notice: { alert }, deliveries }) =>
        alert === 'summary' ? deliveries.map(({ id, uncertain, since }) => ({ id, uncertain, since })) : [],
      );
    };
    const before = await told();
    expect(before.map(({ uncertain }) => uncertain)).toEqual([false, false]);
    const restored = await told(start + 9 * hour);
    expect(restored.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(restored.map(({ uncertain }) => uncertain)).toEqual([false, true]);
    expect(restored[1]?.since).toBe(start + 8 * hour);
  });

  test('is not told of a time before there was anything', async () => {
    const watch = await watching({ more });
    await watch.look(6 * hour);
    await watch.event('tool', delivered);
    await watch.look(hour);
    expect(await summaries(watch)).toEqual([]);
    await watch.look(hour);
    expect((await summaries(watch)).map(({ count }) => count)).toEqual([1]);
  });
});

test('an outage of a look-up that nobody was told of is told when it is over, if events were decided without it', async () => {
  const paused: Paused[] = [];
  const watch = await watching({ paused });
  const sinks = new Map([...config.sinks, [lookupLane, config.sinks.get('tool')!]]);
  const watchFor = { lookups: new Map([['candidate', { waitForMs: 2 * minute }]]) };
  watch.adopt({ ...config, sinks, plan: { ...config.plan, ...watchFor } } as unknown as typeof config);
  let now = start;
  const look = (ms: number) => watch.look(ms).then(() => (now += ms));
  const lookUp = async (outcome: Outcome, lookup = lookupLane) => {
    const { store, configId } = watch;
    await store.accept({ ...undecided(`candidate-${now}`, [lookup], now), configId });
    const [claimed] = await store.claim({ lane: lookup, now, limit: 1 });
    const inVain = { state: 'discarded', dueAt: null, progress: { state: 'unknown' } } as const;
    await store.record([resultOf(claimed!, outcome, outcome === delivered ? {} : inVain)]);
    for (const { event: one } of await store.dueEvents(now + day, 9))
      await store.decide(one.id, decider({ configId, decide: () => [] }), now);
  };
  const outage = async (outcome: Outcome) => {
    paused.push({ sink: lookupLane, since: now, hasWork: false });
    await lookUp(outcome);
    await look(30_000);
    paused.length = 0;
    await lookUp(delivered);
    await look(10_000);
    expect(await watch.notices()).toHaveLength(told);
    await look(minute);
  };
  let told = 0;
  // It cost nothing, and what another one cost is not told of it.
  await lookUp(unknown, lookupSink('test'));
  await outage(delivered);
  expect(await watch.notices()).toEqual([]);
  await look(hour);
  await outage(unknown);
  const about = { alert: 'paused', cause: `paused over: ${lookupLane}`, sink: lookupLane, recovered: true };
  const detail =
    'The look-up candidate works again, after 40 seconds. What waited for it goes on. Decided meanwhile without its answer: 1 event.';
  expect(await watch.notices()).toMatchObject([{ ...about, count: 1, detail }]);
  // Within the hour the next one waits, and then both are one.
  told = 1;
  await look(5 * minute);
  await outage(unknown);
  await outage(unknown);
  expect(await watch.notices()).toHaveLength(1);
  await look(hour);
  expect(await watch.notices()).toMatchObject([about, { ...about, count: 2 }]);
  await look(2 * hour);
  expect(await watch.notices()).toHaveLength(2);
  // A long one is told while it lasts, although nothing waits any more at that moment.
  paused.push({ sink: lookupLane, since: now, hasWork: false });
  await look(2 * minute);
  expect(await watch.notices()).toHaveLength(2);
  await lookUp(unknown);
  await look(2 * minute);
  expect((await watch.notices()).at(-1)).toMatchObject({
    alert: 'paused',
    sink: lookupLane,
    recovered: false,
  });
});

test('a look-up that fails without a pause is told, too, once events were decided without it', async () => {
  const watch = await watching({});
  const sinks = new Map([...config.sinks, [lookupLane, config.sinks.get('tool')!]]);
  const watchFor = { lookups: new Map([['candidate', { waitForMs: 2 * minute }]]) };
  watch.adopt({ ...config, sinks, plan: { ...config.plan, ...watchFor } } as unknown as typeof config);
  const { store, configId } = watch;
  for (let now = start; now < start + 6 * minute; now += minute) {
    await store.accept({ ...undecided(`candidate-${now}`, [lookupLane], now), configId });
    const [claimed] = await store.claim({ lane: lookupLane, now, limit: 1 });
    const inVain = { state: 'discarded', dueAt: null, progress: { state: 'unknown' } } as const;
    await store.record([resultOf(claimed!, rejected, inVain)]);
    for (const { event: one } of await store.dueEvents(now + day, 9))
      await store.decide(one.id, decider({ configId, decide: () => [] }), now);
    await watch.look(now);
  }
  await watch.look(start + 10 * minute);
  const told = (await watch.notices()).filter(({ sink }) => sink === lookupLane);
  expect(told).toMatchObject([
    { alert: 'paused', recovered: false, detail: expect.stringContaining('look-up') },
  ]);
});
