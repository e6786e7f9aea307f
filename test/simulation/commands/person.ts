import { type Delivery, type DeliveryState, isStuck, stuckStates } from '../../../src/model.ts';
import { unansweredOf } from '../../../src/store/store.ts';
import { among } from '../foresight-cases.ts';
import { jsonLines } from '../../commands/tools.ts';
import { type Play, rules, sinks } from './play.ts';

type Ran = Awaited<ReturnType<Play['command']>>;
type Status = {
  sinks: ({ sink: string; state: string; paused: boolean } & Record<DeliveryState, number>)[];
  needs: string[];
};

/** The ids that a command's output says something is or would be done to, and what it says of those that it refuses. */
function readLines({ out, err }: Ran) {
  const done = Array.from(out.matchAll(/^(dlv_\S+) /gm), ([, id]) => id!);
  const refused = new Map(Array.from(err.matchAll(/^(dlv_\S+): (.*)/gm), ([, id, why]) => [id!, why!]));
  return { done: done.toSorted(), refused, leftOut: Number(/^(\d+) notices? of what/m.exec(out)?.[1] ?? 0) };
}

const idsOf = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id).toSorted();

/** A person who looks first, then does it, then looks what is left; and what was untrue of what the person read. */
export class Person {
  readonly breaches: string[] = [];
  readonly #play: Play;

  constructor(play: Play) {
    this.#play = play;
  }

  #same(what: string, got: unknown, expected: unknown): void {
    const [one, other] = [JSON.stringify(got), JSON.stringify(expected)];
    if (one !== other) this.breaches.push(`${what}: ${one}, not ${other}`);
  }

  async #byId(): Promise<Map<string, Delivery>> {
    return new Map((await this.#play.deliveries()).map((one) => [one.id, one]));
  }

  /** Status, list and JSON count alike. Slack has no message twice, and nothing counts as delivered that nobody has. */
  async look(): Promise<void> {
    const play = this.#play;
    const all = await play.deliveries();
    const [status] = jsonLines<Status>(await play.command('status', '--json'));
    for (const { sink, ...counts } of status!.sinks)
      for (const state of ['pending', ...stuckStates] as const) {
        const of = all.filter(
          (one) =>
            one.sink === sink && (one.state === state || (state === 'pending' && one.state === 'sending')),
        );
        this.#same(`${sink} ${state}`, counts[state], of.length);
      }
    for (const state of stuckStates) {
      const some = all.filter((one) => one.state === state).length;
      this.#same(
        `needs`,
        status!.needs.find((one) => one.endsWith(` ${state}`)) ?? '',
        some ? `${some} ${state}` : '',
      );
      const listed = jsonLines<{ deliveries: Delivery[] }>(
        await play.command('events', '--state', state, '--json'),
      );
      const ids = listed.flatMap(({ deliveries }) => deliveries.filter((one) => one.state === state));
      this.#same(
        `list of ${state}`,
        idsOf(ids),
        idsOf(all.filter((one) => one.state === state && one.eventId)),
      );
    }
    const told = Map.groupBy(play.tools.kept, ({ deliveryId }) => deliveryId);
    for (const [id, some] of told)
      if (some[0]!.kind === 'slack' && some.length > 1)
        this.breaches.push(`Slack has ${id} ${some.length} times`);
    for (const { id, carrier, state } of all)
      if (state === 'delivered' && !told.has(carrier ?? id)) this.breaches.push(`nobody has ${id}`);
  }

  async act(): Promise<void> {
    const roll = this.#play.random();
    if (roll < 0.4) await this.#stuck(roll < 0.28 ? 'replay' : 'discard');
    else if (roll < 0.48) await this.#resend();
    else if (roll < 0.6) await this.#retry();
    else if (roll < 0.74) await this.#pause();
    else if (roll < 0.86) await this.#lookUp();
    else if (roll < 0.93) await this.#apply();
    else await this.#accept();
  }

  /** Chooses what is stuck as a person does: options, and which deliveries these mean. */
  async #choose(action: 'replay' | 'discard') {
    const { random, clock } = this.#play;
    const all = await this.#play.deliveries();
    const stuck = all.filter(({ state }) => isStuck(state));
    const one = stuck.length > 0 ? among(random, stuck) : null;
    if (one && random() < 0.3) {
      const some = [...new Set([one, ...stuck.filter(() => random() < 0.3)])];
      return { argv: some.map(({ id }) => id), meant: some };
    }
    const maybe = (name: string, value: string) => (random() < 0.4 ? [`--${name}`, value] : []);
    const kind = among(random, [
      'dead',
      'held',
      'both',
      'event',
      ...(action === 'discard' ? ['pending'] : []),
    ]);
    const since = await this.#since();
    const { sink, rule } = one ?? { sink: among(random, sinks), rule: 'all' };
    const narrowed = [...maybe('sink', sink), ...maybe('rule', rule)];
    const argv = {
      dead: ['--dead', ...narrowed],
      held: ['--held', ...narrowed],
      both: ['--dead', '--held', ...narrowed],
      event: ['--event', one?.eventId ?? one?.noticeId ?? 'evt_none', ...narrowed],
      pending: ['--pending', '--sink', sink, ...maybe('rule', rule)],
    }[kind]!;
    const states = { dead: ['dead'], held: ['held'], pending: ['pending'] }[kind] ?? stuckStates;
    const has = (name: string, value: string) =>
      !argv.includes(`--${name}`) || argv[argv.indexOf(`--${name}`) + 1] === value;
    const meant = all.filter(
      (each) =>
        (states as readonly string[]).includes(each.state) &&
        has('sink', each.sink) &&
        has('rule', each.rule) &&
        has('event', (each.eventId ?? each.noticeId)!) &&
        each.createdAt >= clock.now() - since.ms,
    );
    return kind === 'event' && !one ? null : { argv: [...argv, ...since.argv], meant };
  }

  async #since(): Promise<{ argv: string[]; ms: number }> {
    const { random } = this.#play;
    if (random() < 0.5) return { argv: [], ms: Infinity };
    const minutes = 1 + Math.floor(random() * 20);
    return { argv: ['--since', `${minutes}m`], ms: minutes * 60_000 };
  }

  async #stuck(action: 'replay' | 'discard'): Promise<void> {
    const play = this.#play;
    const chosen = await this.#choose(action);
    if (!chosen) return;
    const before = await this.#byId();
    const dry = await play.command(action, ...chosen.argv, '--dry-run');
    for (const [id, one] of await this.#byId()) this.#same(`${id} by a dry run`, one, before.get(id));
    const said = readLines(dry);
    const isNamed = chosen.argv[0]?.startsWith('dlv_');
    const named = [...said.done, ...said.refused.keys()];
    const over = chosen.meant.filter(({ id, noticeId }) => noticeId !== null && !named.includes(id));
    this.#same('left out', said.leftOut, over.length);
    this.#same('meant', named.toSorted(), idsOf(chosen.meant.filter((one) => !over.includes(one))));
    if (play.random() < 0.15) return this.#both(action, chosen.argv, said.done);
    const ran = await play.command(action, ...chosen.argv);
    const did = readLines(ran);
    this.#same(
      'done',
      [did.done, [...did.refused], did.leftOut, ran.code],
      [said.done, [...said.refused], said.leftOut, dry.code],
    );
    const after = await this.#byId();
    const carriers = new Set(did.done.map((id) => before.get(id)!.carrier ?? id));
    for (const [id, was] of before) {
      const isMeant = carriers.has(was.carrier ?? id);
      const state = !isMeant ? was.state : action === 'replay' ? 'pending' : 'discarded';
      this.#same(`${action} ${id}`, after.get(id)!.state, state);
    }
    const again = readLines(await play.command(action, ...chosen.argv));
    if (isNamed)
      this.#same('again', [again.done, again.refused.size], [[], did.done.length + did.refused.size]);
    else
      this.#same(
        'again',
        [again.done, [...again.refused]],
        [[], [...did.refused].filter(([id]) => isStuck(after.get(id)!.state))],
      );
    if (action === 'replay') await this.#goesOut(ran, did.done, after);
  }

  /** Two people do the same at once. */
  async #both(action: 'replay' | 'discard', argv: string[], foretold: readonly string[]): Promise<void> {
    const ran = await Promise.all([0, 1].map(() => this.#play.command(action, ...argv)));
    this.#same('by two at once', ran.flatMap((one) => readLines(one).done).toSorted(), foretold);
  }

  /** Where a command does not say why it waits, it is tried soon. */
  async #goesOut({ out }: Ran, ids: readonly string[], before: ReadonlyMap<string, Delivery>): Promise<void> {
    await this.#play.pass(70_000);
    const after = await this.#byId();
    for (const id of ids) {
      const [was, is] = [before.get(id)!, after.get(id)!];
      const isKept = out.split('\n').some((line) => line.startsWith(`Not yet: ${is.sink} is`));
      const isTried = is.attempts > (was?.attempts ?? 0) || is.state !== 'pending';
      const sinkFails = (await this.#play.store.pauses()).some(({ sink }) => sink === is.sink);
      if (!isKept && !isTried && !sinkFails) this.breaches.push(`${id} is not tried, and nothing says why`);
      const isPaused =
        out.includes(`Not yet: ${is.sink} is paused by`) && (await this.#play.isPausedByPerson(is.sink));
      if (isPaused && isTried) this.breaches.push(`${id} is tried while a person's pause is told`);
    }
  }

  async #resend(): Promise<void> {
    const play = this.#play;
    // A copy and what it is a copy of are not sent again together, which only the run itself says.
    const sent = (await play.deliveries()).filter(
      (one) => one.state === 'delivered' && one.resendOf === null,
    );
    const ids = idsOf(sent.filter(() => play.random() < 0.2));
    if (ids.length === 0) return;
    const said = readLines(await play.command('resend', ...ids, '--dry-run'));
    const before = await this.#byId();
    const ran = await play.command('resend', ...ids);
    const did = readLines(ran);
    this.#same('resent', [did.done, [...did.refused]], [said.done, [...said.refused]]);
    const made = Array.from(ran.out.matchAll(/ as (dlv_\S+)/g), ([, id]) => id!);
    const after = await this.#byId();
    this.#same('made', made.toSorted(), [...after.keys()].filter((id) => !before.has(id)).toSorted());
    this.#same('again', readLines(await play.command('resend', ...ids)).done, []);
    await this.#goesOut(ran, made, after);
  }

  async #sinkState(sink: string) {
    const [status] = jsonLines<Status>(await this.#play.command('status', '--json'));
    return status!.sinks.find((one) => one.sink === sink)!;
  }

  async #retry(): Promise<void> {
    const play = this.#play;
    const sink = among(play.random, sinks);
    const { state, pending } = await this.#sinkState(sink);
    const { out, err } = await play.command('retry', sink);
    const calls = play.tools.calls.get(sink);
    const waits = (await play.deliveries()).some((one) => one.sink === sink && one.state === 'pending');
    this.#same('what waits', pending > 0, waits);
    if (/is paused by/.test(err)) this.#same('by a person', await play.isPausedByPerson(sink), true);
    await play.pass(70_000);
    if (/is tried now/.test(out)) {
      this.#same('is down', /failing|paused/.test(state), true);
      if (play.tools.calls.get(sink) === calls) this.breaches.push(`${sink} was not tried: ${out}`);
    }
    if (/nothing waits/.test(out)) this.#same('waits', waits, false);
    if (/neither paused nor failing/.test(out + err)) this.#same('state', state, 'working');
  }

  async #pause(): Promise<void> {
    const play = this.#play;
    const sink = among(play.random, sinks);
    const isPaused = await play.isPausedByPerson(sink);
    const isFailing = (await play.store.pauses()).some((one) => one.sink === sink);
    if (!isPaused || play.random() < 0.2) {
      const forMs = among(play.random, [null, 60_000]);
      await play.command('pause', sink, ...(forMs ? ['--for', '2m'] : []));
      const calls = play.tools.calls.get(sink);
      await play.pass(50_000);
      this.#same(`calls of the paused ${sink}`, play.tools.calls.get(sink), calls);
      return;
    }
    const { out } = await play.command('resume', sink);
    const before = await this.#byId();
    const due = [...before.values()].filter(
      (one) => one.sink === sink && one.state === 'pending' && one.dueAt <= play.clock.now(),
    );
    this.#same('still paused', /still paused/.test(out), isFailing);
    if (!isFailing) await this.#goesOut({ out, err: '', code: 0 }, idsOf(due), before);
    this.#same('again', (await play.command('resume', sink)).code, 1);
  }

  async #lookUp(): Promise<void> {
    const play = this.#play;
    const since = await this.#since();
    const isAbsent = play.random() < 0.3 && since.argv.length > 0;
    const argv = ['lookup', isAbsent ? '--absent' : '--unanswered', ...since.argv];
    const asked = async () => (await play.store.events({ limit: 1000 })).flatMap(({ lookups }) => lookups);
    const before = idsOf(await asked());
    const dry = await play.command(...argv, '--dry-run');
    const said = Array.from(dry.out.matchAll(/^(evt_\S+) would/gm), ([, id]) => id!);
    if (!isAbsent) {
      const listed = jsonLines<{ id: string }>(
        await play.command('events', '--unanswered', '--json', ...since.argv),
      );
      const stories = (await play.store.events({ limit: 1000 })).filter(
        (one) => unansweredOf(one) === 'unknown',
      );
      const unknown = listed.filter(({ id }) => stories.some(({ event }) => event.id === id));
      const underWay = Array.from(dry.out.matchAll(/^(evt_\S+) is asked/gm), ([, id]) => id!);
      this.#same('unanswered', [...said, ...underWay].toSorted(), idsOf(unknown));
    }
    const ran = await play.command(...argv);
    const made = (await asked()).filter(({ id }) => !before.includes(id));
    const told = /Asked again: (\d+ look-up|.*)/.exec(ran.out)?.[1];
    const number = told === undefined ? 0 : Number.parseInt(told, 10) || told.split(',').length;
    this.#same('asked again', number, made.length);
    this.#same('a dry run of lookup', made.map(({ eventId }) => eventId!).toSorted(), said.toSorted());
    this.#same('again', /Asked again/.test((await play.command(...argv)).out), false);
    await play.pass(play.random() < 0.5 ? 0 : 20_000);
  }

  async #apply(): Promise<void> {
    const play = this.#play;
    const argv = ['apply', '--rule', among(play.random, rules), ...(await this.#since()).argv];
    if (play.random() < 0.5) argv.push('--discarded');
    const before = await this.#byId();
    const dry = await play.command(...argv, '--dry-run');
    const ran = await play.command(...argv, '--yes');
    const made = [...(await this.#byId()).values()].filter(({ id }) => !before.has(id));
    this.#same('applied', ran.out.startsWith(dry.out), true);
    this.#same('deliveries', Number(/asks for (\d+)/.exec(dry.out)?.[1]), made.length);
    for (const [sink, some] of Map.groupBy(made, (one) => one.sink))
      this.#same(
        `to ${sink}`,
        Number(new RegExp(`^  (\\d+) to ${sink}`, 'm').exec(dry.out)?.[1]),
        some.length,
      );
    this.#same('again', /asks for (\d+)/.exec((await play.command(...argv, '--dry-run')).out)?.[1], '0');
  }

  async #accept(): Promise<void> {
    const play = this.#play;
    const ids = await play.refuse();
    const argv = ['accept', ...(play.random() < 0.5 ? ids : ['--from', '203.0.113.9'])];
    const before = await this.#byId();
    const dry = await play.command(...argv, '--dry-run');
    const events = await play.store.events({ limit: 1000 });
    const ran = await play.command(...argv, '--yes');
    const come = (await play.store.events({ limit: 1000 })).filter(
      ({ event }) => !events.some((one) => one.event.id === event.id),
    );
    const number = (text: string, what: RegExp) => Number(what.exec(text)?.[1] ?? 0);
    this.#same('taken in', number(ran.out, /Taken in: (\d+)/), come.length);
    this.#same(
      'come already',
      number(ran.out, /(\d+) events? had come/),
      number(dry.out, /(\d+) events? ha(?:s|ve) come already/),
    );
    this.#same(
      'looked up first',
      come.filter(({ decided }) => !decided).length,
      number(dry.out, /(\d+) events? will be looked up/),
    );
    const made = [...(await this.#byId()).values()].filter(({ id }) => !before.has(id));
    for (const sink of sinks)
      this.#same(
        `taken in to ${sink}`,
        made.filter((one) => one.sink === sink).length,
        number(dry.out, new RegExp(`(\\d+) to ${sink}`)),
      );
    const again = await play.command(...argv, '--yes');
    this.#same('again', /Nothing is kept|is not kept/.test(again.out + again.err), true);
  }

  /** Once all works, the rest goes out by what a person is told to do. */
  async finish(): Promise<void> {
    const play = this.#play;
    play.allWorks();
    for (const sink of sinks) {
      if (await play.isPausedByPerson(sink)) await play.command('resume', sink);
      await play.command('retry', sink);
    }
    for (let tries = 4; tries > 0; tries -= 1) {
      await play.pass(310_000);
      await play.command('replay', '--dead', '--held');
    }
    await play.pass(600_000);
    const left = (await play.deliveries()).filter(
      ({ state }) => !['delivered', 'discarded', 'dead', 'held'].includes(state),
    );
    this.#same('under way in the end', idsOf(left), []);
    await this.look();
  }
}
