import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';
import { type Clock, systemClock } from '../../src/support/clock.ts';
import { Deadlines } from '../../src/deliveries/limits/deadlines.ts';
import type { Ending } from '../../src/deliveries/settle.ts';
import { HttpSandbox } from '../../sandbox/http.ts';
import { startTools, type Tools } from '../../sandbox/tools.ts';
import { bench } from './scripted.ts';
import { eventually } from '../fixtures/eventually.ts';

/** A clock that only `to` moves. */
class HandClock implements Clock {
  #now = 0;
  readonly #alarms = new Map<() => void, number>();

  /** It was set, or the machine was suspended. */
  aheadMs = 0;

  now = () => this.#now + this.aheadMs;
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

/** One attempt, by itself. */
function withDeadline(
  clock: Clock,
  attempt: (signal: AbortSignal) => Promise<Ending>,
  { timeoutMs = 1000, holding = { until: Infinity }, shutdown = new AbortController().signal } = {},
): Promise<Ending> {
  return new Deadlines(clock, shutdown).run({ timeoutMs, holding }, attempt, (ending) => ending);
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
  expect(await withDeadline(clock, async () => done)).toBe(done);
  expect(clock.alarms).toBe(0);
});

test('attempts end in any order, and no alarm is left', async () => {
  const clock = new HandClock();
  const deadlines = new Deadlines(clock, new AbortController().signal);
  const ends: ((ending: Ending) => void)[] = [];
  const runs = Array.from({ length: 5 }, () => {
    const { promise, resolve } = Promise.withResolvers<Ending>();
    ends.push(resolve);
    const holding = { until: Infinity };
    return deadlines.run(
      { timeoutMs: 1000, holding },
      () => promise,
      (ending) => ending,
    );
  });
  for (const place of [0, 4, 2, 1, 3]) {
    expect(clock.alarms).toBe(1);
    ends[place]!(done);
    await runs[place];
  }
  expect(clock.alarms).toBe(0);
});

test('the signal aborts at the time-out and not before', async () => {
  const clock = new HandClock();
  const aborted: number[] = [];
  const run = withDeadline(clock, (signal) => onceAborted(signal, () => aborted.push(clock.now())));
  clock.to(999);
  clock.to(1000);
  await run;
  expect(aborted).toEqual([1000]);
  expect(clock.alarms).toBe(0);
});

test('the signal aborts when the lease runs out, as far as it was renewed meanwhile', async () => {
  const clock = new HandClock();
  const holding = { until: 500 };
  const aborted: number[] = [];
  const run = withDeadline(clock, (signal) => onceAborted(signal, () => aborted.push(clock.now())), {
    holding,
  });
  clock.to(499);
  holding.until = 700;
  clock.to(500);
  clock.to(700);
  await run;
  expect(aborted).toEqual([700]);
  expect(clock.alarms).toBe(0);
});

test('an attempt whose time passes just as it is looked at ended by its time-out, not by a lease', async () => {
  let later = 0;
  const readings: number[] = [];
  const alarms: (() => void)[] = [];
  const clock: Clock = {
    now: () => later,
    elapsed: () => readings.shift() ?? later,
    after: (_delayMs, run) => {
      alarms.push(run);
      return () => {};
    },
  };
  const run = withDeadline(clock, () => new Promise(() => {}));
  for (const [first, then] of [
    [999.9, 1000.1],
    [1000.2, 1000.3],
    [7000, 7000],
  ] as const) {
    readings.push(first);
    later = then;
    alarms.at(-1)!();
  }
  expect(await run).toMatchObject({ outcome: { detail: 'No answer within 1 s.' } });
});

test.each([
  ['time-out has passed', { until: Infinity, now: 1000, elapsed: 1000 }],
  ['lease has passed', { until: 500, now: 1000, elapsed: 1000 }],
  ['machine was suspended', { until: Infinity, now: 600_000, elapsed: 10 }],
])(
  'the signal says that the %s before any timer had time to run, and stays aborted',
  async (_, { until, ...later }) => {
    let [now, elapsed] = [0, 0];
    const holding = { until };
    const clock = { now: () => now, elapsed: () => elapsed, after: () => () => {} };
    const run = withDeadline(
      clock,
      async (signal) => {
        expect(signal.aborted).toBe(false);
        ({ now, elapsed } = later);
        await expect(fetch('http://127.0.0.1:1/', { signal })).rejects.toThrow('aborted');
        holding.until = Infinity;
        [now, elapsed] = [0, 0];
        expect(signal.aborted).toBe(true);
        return done;
      },
      { holding },
    );
    expect(await run).toBe(done);
  },
);

test('an attempt ends soon after the machine was suspended, but not for a correction of its clock', async () => {
  const clock = new HandClock();
  const aborted: number[] = [];
  const run = withDeadline(clock, (signal) => onceAborted(signal, () => aborted.push(clock.elapsed())), {
    timeoutMs: 30_000,
  });
  clock.aheadMs = 2000;
  clock.to(1000);
  clock.aheadMs = 2001;
  clock.to(2000);
  await run;
  expect(aborted).toEqual([2000]);
});

test('an attempt that ignores its signal is abandoned as unknown', async () => {
  const clock = new HandClock();
  const run = withDeadline(clock, () => new Promise<Ending>(() => undefined));
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
  const run = withDeadline(clock, (signal) => onceAborted(signal), { shutdown: shutdown.signal });
  const stuck = withDeadline(clock, () => new Promise<Ending>(() => undefined), {
    shutdown: shutdown.signal,
  });
  shutdown.abort();
  clock.to(1000);
  expect(await run).toBe(done);
  expect((await stuck).outcome.outcome).toBe('unknown');
  expect(clock.alarms).toBe(0);
});

test('after a time-out and then a shutdown it is abandoned at the earlier of the two deadlines, and no alarm is left', async () => {
  const clock = new HandClock();
  const early = new AbortController();
  const first = withDeadline(clock, () => new Promise<Ending>(() => undefined), { shutdown: early.signal });
  const late = new AbortController();
  const second = withDeadline(clock, () => new Promise<Ending>(() => undefined), { shutdown: late.signal });
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

describe('a process that stands still in the middle of an attempt, until its time is up or as its machine is suspended, sends nothing after it', () => {
  const token = { access_token: 'token', token_type: 'Bearer', expires_in: 3600 };

  /** What undici tells before it opens a connection. */
  const connecting = 'undici:client:beforeConnect';

  /** Each with what it asks for before it sends, or does. */
  const sinks: [string, string, string, (tools: Tools) => string[]][] = [
    [
      'connector: slack, token: "${SLACK_BOT_TOKEN}", apiUrl: "${SLACK_API_URL}"',
      'channel: dana@example.com, text: Hello',
      'users.lookupByEmail',
      ({ received }) => received.slack(),
    ],
    [
      'connector: slack, token: "${SLACK_BOT_TOKEN}", apiUrl: "${SLACK_API_URL}"',
      'channel: "#hiring", text: Hello',
      connecting,
      ({ received }) => received.slack(),
    ],
    [
      'connector: google-sheets, spreadsheetId: "${SHEET_ID}", credentials: "${GOOGLE_CREDENTIALS}", apiUrl: "${SHEETS_API_URL}"',
      'tab: Results, row: { Candidate: "{{ event.candidateId }}" }',
      'spreadsheets.get',
      ({ received }) => received.sheet(),
    ],
    [
      'connector: email, url: "${SMTP_URL}", from: hiring@example.com',
      'to: dana@example.com, subject: Hello, text: Hello',
      'RCPT',
      ({ received }) => received.mail(),
    ],
    [
      'connector: webhook, url: "${ATS_URL}", secret: "${ATS_SECRET}", allowPrivate: true, auth: { oauth2: { tokenUrl: "${TOKEN_URL}", clientId: id } }',
      '',
      'POST',
      ({ received }) => received.webhook(),
    ],
  ];

  test.each(sinks.flatMap((sink) => [[...sink, 'elapsed'] as const, [...sink, 'now'] as const]))(
    '%s',
    async (sink, action, question, received, known) => {
      const tools = await startTools({
        slack: { people: [{ id: 'U0000DANA1', email: 'dana@example.com' }] },
      });
      const tokens = await new HttpSandbox({ fails: () => token }).start();
      onTestFinished(() => Promise.all([tools.close(), tokens.close()]).then(() => undefined));
      let stoodMs = 0;
      const stand = ({ name }: { name: string }) => {
        if (name === question) stoodMs = 600_000;
        return null;
      };
      const standConnecting = () => void stand({ name: connecting });
      subscribe(connecting, standConnecting);
      onTestFinished(() => void unsubscribe(connecting, standConnecting));
      const asked = sink.includes('oauth2') ? [tokens.faults] : tools.faults;
      for (const faults of asked) faults.decide = stand;
      const text = `
sinks: { tool: { ${sink}, retry: { minDelay: 10ms, maxDelay: 20ms }, timeout: 1s } }
rules: [ { name: all, when: {}, then: [ { sink: tool, ${action} } ] } ]`;
      const env = { ...tools.env, TOKEN_URL: tokens.url };
      // Its timers have not run yet.
      const clock = { ...systemClock, [known]: () => systemClock[known]() + stoodMs };
      const on = await bench(parseConfig(text, 'config.yaml', { env, connectors }), { clock });
      await on.accept();
      await eventually(() => expect(on.reports.at(-1)?.state).toBe('delivered'));
      expect(on.reports[0]!.state).toBe('pending');
      expect(received(tools)).toHaveLength(1);
    },
  );
});
