import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { vi } from 'vitest';
import { connectors } from '../../../connectors/index.ts';
import { lookup } from '../../../connectors/webhook/lookup/index.ts';
import type { Config } from '../../../src/config/config.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { type Delivery, lookupOf, statuses } from '../../../src/model.ts';
import { watchAlerts } from '../../../src/ops/alerts/watch.ts';
import { lastSeenAt } from '../../../src/ops/retention.ts';
import { VirtualClock } from '../../../src/scenarios/virtual-clock.ts';
import { openSqlite } from '../../../src/store/sqlite.ts';
import { inForce, type ReplicaState, type Store } from '../../../src/store/store.ts';
import { sampleEvent } from '../../../src/templates/data.ts';
import { noticeIds, refusedIds } from '../../../src/support/ids.ts';
import { run } from '../../commands/tools.ts';
import { seeded } from '../../faults/random.ts';
import type { SinkKind } from '../by-hand/cases.ts';
import { Tools } from '../by-hand/tool.ts';
import { type Connected, startDeliveries } from '../connected.ts';
import { among } from '../foresight-cases.ts';
import { Pending, SimulatedProcess } from '../process.ts';

/** How often the worker looks for what people ask (ms). */
const pollMs = 30_000;
export const sinks = ['slack', 'hook', 'mail'] as const satisfies SinkKind[];
export const rules = ['found', 'all'] as const;

function configOf(random: () => number, folder: string): string {
  const action = (_: unknown, tag: number) => {
    const sink = among(random, sinks);
    const place = `${among(random, ['good', 'good', 'bad', 'shut'])}-${tag + 1}`;
    const digest = random() < 0.35 ? { every: '5m' } : null;
    const one = '<{{ event.candidateId }}>';
    const text = `[T${tag + 1}] ${digest ? `{% for event in events %}${one}{% endfor %}` : one}`;
    const by = random() < 0.4 ? { by: 'candidate.office' } : {};
    return {
      sink,
      ...{
        slack: { channel: `#${place}`, text },
        hook: { path: `/${place}`, body: { text } },
        mail: { to: `${place}@example.com`, text },
      }[sink],
      ...(digest && { digest: { ...digest, ...by } }),
      ...(!digest && sink === 'slack' && random() < 0.3 && { updateBy: '{{ event.candidateId }}' }),
    };
  };
  const then = () => Array.from({ length: 1 + Math.floor(random() * 3) }, action);
  const text = '[T0] {{ notice.detail }}';
  const told = {
    then: [
      { sink: 'slack', channel: '#shut-0', text },
      { sink: 'mail', to: 'good-0@example.com', text },
    ],
  };
  const retry = { minDelay: '1s', maxDelay: '20s', giveUpAfter: among(random, ['1m', '10m']) };
  return JSON.stringify({
    timezone: 'Etc/UTC',
    store: { url: `sqlite:${join(folder, 'store.db')}`, retention: '365d' },
    sinks: {
      slack: { connector: 'slack', token: '${TOKEN}', retry },
      hook: { connector: 'webhook', url: 'https://hook.example.com', onUnknown: 'hold', retry },
      mail: { connector: 'email', url: 'smtp://smtp.example.com', from: 'hr@example.com', retry },
    },
    lookups: {
      candidate: {
        url: 'https://api.example.com/{{ event.candidateId }}',
        fields: { office: { at: '/office' } },
        waitFor: '30s',
        retry,
      },
    },
    alerts: { dead: told, held: told, paused: { after: '1m', ...told } },
    rules: [
      { name: 'found', when: { 'candidate.office': 'berlin' }, then: then() },
      { name: 'all', when: {}, then: then() },
    ],
  });
}

/** Events come and tools fail while people use the commands, on the store's file beside the connector that serves it. */
export class Play {
  readonly clock = new VirtualClock(Date.parse('2026-03-02T09:00:00Z'));
  readonly log: string[] = [];
  readonly random: () => number;
  readonly tools: Tools;
  readonly #pending = new Pending();
  #config!: Config;
  #connected!: Connected;
  #process!: SimulatedProcess;
  #stopAlerts = () => {};
  #bug: unknown = null;
  #apiIsDown: boolean;
  #folder!: string;
  #candidates = 0;
  #file!: string;
  store!: Store;

  constructor(seed: number) {
    this.random = seeded(seed);
    this.tools = new Tools(this.random);
    this.#apiIsDown = this.random() < 0.5;
  }

  async run(play: () => Promise<void>): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), 'commands-'));
    vi.useFakeTimers({ toFake: ['Date'], now: this.clock.now() });
    try {
      this.#file = join(this.#folder, 'config.yaml');
      const text = configOf(this.random, this.#folder);
      this.log.push(text);
      await writeFile(this.#file, text);
      const file = await openSqlite(join(this.#folder, 'store.db'), { serve: false });
      this.store = this.#pending.counted({ ...file, leases: null, now: async () => this.clock.now() });
      try {
        await this.#start(text);
        await play();
      } finally {
        await this.#connected?.stop();
        this.#stopAlerts();
        await file.close();
      }
    } finally {
      vi.useRealTimers();
      await rm(this.#folder, { recursive: true });
    }
  }

  async #start(text: string): Promise<void> {
    const { clock, random, store } = this;
    const process = new SimulatedProcess(null, this.#pending, () => {});
    this.#process = process;
    const parsed = parseConfig(text, this.#file, {
      env: { TOKEN: 'xoxb-1' },
      connectors: this.tools.connectors(connectors),
    });
    const lookups = [...parsed.lookups].map(
      ([name, one]) => [name, { ...one, connector: this.#api() }] as const,
    );
    const config: Config = { ...parsed, lookups: new Map(lookups) };
    const failed = (error: unknown) => void (this.#bug ??= error);
    this.#config = config;
    await store.saveConfig({ id: config.plan.id, source: config.planSource, savedAt: clock.now() });
    const [newest] = await store.events({ limit: 1 });
    const [notice] = await store.notices({ limit: 1 });
    const mine = process.store(store);
    this.#connected = startDeliveries({
      store: mine,
      clock,
      random,
      config: () => config,
      plan: async () => config.plan,
      observe: ({ delivery, outcome, state }) =>
        this.log.push(`${delivery.id} ${JSON.stringify(outcome)}: ${state}`),
      failed,
      pollMs,
      after: newest?.event.id,
    });
    const { worker, deciding } = this.#connected;
    this.#stopAlerts = watchAlerts({
      store: mine,
      clock,
      config: () => config,
      nextId: noticeIds({ after: notice?.notice.id, random: () => 7 }),
      mine: () => true,
      hasWork: (sink) => worker.hasWork(sink),
      announcer: { state: () => this.#replica() },
      movedAt: () => null,
      servedSince: clock.now(),
      refused: { all: () => [] } as never,
      wake: (stored) => worker.wake(stored),
      raised: ({ cause }) => void this.log.push(`notice: ${cause}`),
      cannotSend: () => {},
      failed,
    });
    await worker.start(await lastSeenAt(store));
    deciding.wake();
  }

  #replica(): ReplicaState {
    const { plan, sinks: served, lookups } = this.#config;
    return {
      id: 'one',
      saidAt: this.clock.now(),
      stopped: false,
      config: { id: plan.id, file: this.#file, since: 0, refused: null, waiting: [] },
      sinks: [...served.values(), ...lookups.values()].map(({ name, connector }) => ({
        name,
        connector: connector.name,
      })),
    };
  }

  #api() {
    const deliver = async () => {
      if (this.#apiIsDown) return { outcome: 'retry', reason: 'server', detail: 'It failed.' } as const;
      const office = among(this.random, ['berlin', 'zagreb', null]);
      const facts = { state: 'answered', at: null, reason: null, fields: { office } };
      return { outcome: 'delivered', receipt: { status: 200, facts } } as const;
    };
    return { ...lookup, connect: async () => ({ deliver, check: async () => [], close: async () => {} }) };
  }

  /** What happens by itself: a process dies, a tool or the API goes down or comes back. */
  async happen(): Promise<void> {
    const roll = this.random();
    const kind = among(this.random, sinks);
    if (roll < 0.25) {
      this.#process.kill();
      this.#stopAlerts();
      void this.#connected.stop();
      this.log.push('the process dies, and another starts');
      await this.#start(JSON.stringify(JSON.parse(this.log[0]!)));
    } else if (roll < 0.5) {
      this.#apiIsDown = !this.#apiIsDown;
      this.log.push(`the api is ${this.#apiIsDown ? 'down' : 'there'}`);
    } else if (roll < 0.8) {
      if (!this.tools.down.delete(kind)) this.tools.down.add(kind);
      this.log.push(`down: ${[...this.tools.down].join(' ')}`);
    } else this.tools.opened.add(`shut-${Math.floor(this.random() * 4)}`);
    await this.#pending.settled();
  }

  allWorks(): void {
    this.tools.down.clear();
    this.#apiIsDown = false;
    for (const tag of Array(9).keys()) this.tools.opened.add(`shut-${tag}`);
  }

  #event() {
    const candidateId =
      this.random() < 0.3 ? `c${1 + Math.floor(this.random() * 3)}` : `c${++this.#candidates + 3}`;
    const event = { candidateId, testId: 1, status: among(this.random, statuses) };
    const { raw, receivedAt } = sampleEvent(event, this.clock.now());
    return { event: { ...event, candidateNumericalId: null }, raw, receivedAt };
  }

  async come(): Promise<void> {
    for (let left = 1 + Math.floor(this.random() * 3); left > 0; left -= 1) {
      await this.#connected.inbox.accept({ ...this.#event(), correlationId: null, traceparent: null });
      await this.pass(this.random() < 0.5 ? 0 : 60_000);
    }
  }

  /** Events come from an address that may not send any. Gives their ids. */
  async refuse(): Promise<string[]> {
    const nextId = refusedIds();
    const some = Array.from({ length: 1 + Math.floor(this.random() * 3) }, () => {
      const { event, raw, receivedAt: at } = this.#event();
      const about = { correlationId: null, attempts: 1, from: '203.0.113.9', reason: 'address' as const };
      return { id: nextId(at), at, ...event, ...about, raw: JSON.stringify(raw) };
    });
    await this.store.keepRefusedEvents(some);
    return some.map(({ id }) => id);
  }

  /** Lets so much time pass (ms), up to what goes on by then. */
  async pass(ms: number): Promise<void> {
    const until = this.clock.elapsed() + ms;
    this.clock.after(ms, () => {});
    this.#connected.worker.wake();
    await this.#pending.settled();
    while (!this.#bug && this.clock.elapsed() < until && this.clock.ring()) await this.#pending.settled();
    if (this.#bug) throw this.#bug;
  }

  /** Runs a command, with the time of the play. While one waits for the connector, that goes on. */
  async command(...argv: string[]) {
    await this.#pending.settled();
    vi.setSystemTime(this.clock.now());
    await this.store.keepReplicaState(this.#replica());
    const ended = { yet: false };
    const running = run([...argv, '--config', this.#file], { TOKEN: 'xoxb-1', USER: 'Ana' }).finally(
      () => (ended.yet = true),
    );
    const isAsked = async () => (await this.store.personPauses()).some(({ phase }) => phase === 'asked');
    if (argv[0] === 'pause')
      while (!ended.yet) {
        await this.#pending.settled();
        if (await isAsked()) this.clock.ring();
        else await setTimeout(5);
      }
    const ran = await running;
    if (!argv.includes('--json')) this.log.push(`$ ${argv.join(' ')}`, `${ran.out}${ran.err}`);
    return ran;
  }

  /** Whether a person's pause of a sink is in force. */
  async isPausedByPerson(sink: string): Promise<boolean> {
    return inForce(await this.store.personPauses(), this.clock.now()).has(sink);
  }

  /** All messages, those of notices too. */
  async deliveries(): Promise<Delivery[]> {
    const [events, notices] = [
      await this.store.events({ limit: 1000 }),
      await this.store.notices({ limit: 1000 }),
    ];
    return [...events, ...notices]
      .flatMap(({ deliveries }) => deliveries)
      .filter((one) => lookupOf(one.sink) === null);
  }
}
