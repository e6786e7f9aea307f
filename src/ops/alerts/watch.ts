import type { Clock } from '../../support/clock.ts';
import type { Config } from '../../config/config.ts';
import { noticeIds } from '../../support/ids.ts';
import type { PlannedDelivery } from '../../model.ts';
import type { AlertKind, Notice, NotTakenIn, RaisedNotice } from '../../model/notices.ts';
import type { Action, Summary } from '../../rules/plan.ts';
import { planNotice } from '../../rules/decide.ts';
import type { Store } from '../../store/store.ts';
import { lastNotice, mayNotify, newlyRefused, noticesFor, quietMs, type Situation } from './conditions.ts';
import { weekMs } from '../absence.ts';
import { endingAlerts, Recoveries } from './over.ts';
import { StuckDeliveries } from './stuck.ts';
import { UntoldOutages } from './untold.ts';
import type { Announcer } from '../announcer.ts';
import { needsOf } from '../needs.ts';
import { conditionOf, isDown, sinkFacts } from '../sink-states.ts';
import { readStatus, type StatusParts } from '../status/status.ts';
import { summaryNotice, summaryWeek, tallyOf } from './summary.ts';

export interface AlertParts extends Pick<StatusParts, 'refused'> {
  /** Makes the ids of notices, which continue after those in the store. */
  readonly nextId?: (now: number) => string;
  readonly store: Store;
  readonly clock: Clock;
  readonly config: () => Config;
  /** Whether this replica is the one that tells people. */
  readonly mine: () => boolean;
  /** Whether deliveries to a sink are due, now or soon. */
  readonly hasWork: (sink: string) => boolean;
  readonly announcer: Pick<Announcer, 'state'>;
  /** When the store was last restored or moved, as far as this process knows (ms): what was told by then may not be in it. */
  readonly movedAt: () => number | null;
  /** Since when the store has been served (ms), by whichever process. */
  readonly servedSince: number;
  /** Called when a notice has been stored with its deliveries. */
  readonly wake: (stored: readonly PlannedDelivery[]) => void;
  readonly raised: (notice: RaisedNotice) => void;
  /** Every action of the alert uses the sink that the notice is about. */
  readonly cannotSend: (notice: Notice) => void;
  readonly failed: (error: unknown) => void;
}

const checkEveryMs = 10_000;

/** Raises notices when the connector itself needs a person. Returns a function that stops that. */
export function watchAlerts(parts: AlertParts): () => void {
  let watch = new AlertWatch(parts);
  let stopped = false;
  let cancel = parts.clock.after(checkEveryMs, () => void check());

  async function check(): Promise<void> {
    if (parts.mine()) await watch.check().catch(parts.failed);
    // Another replica may raise notices meanwhile.
    else watch = new AlertWatch(parts);
    if (!stopped) cancel = parts.clock.after(checkEveryMs, () => void check());
  }

  return () => {
    stopped = true;
    cancel();
  };
}

/** What people were told before. */
interface Memory {
  /** When the last notice of each cause was raised (ms). */
  readonly notified: Map<string, number>;
  /** The notices of troubles whose end was not told yet, by keyOf. */
  readonly told: Map<string, RaisedNotice>;
}

type ReadSinks = Awaited<ReturnType<AlertWatch['readSinks']>>;

class AlertWatch {
  readonly #parts: AlertParts;
  readonly #nextId: (now: number) => string;
  /** Null until loaded from the store. */
  #memory: Memory | null = null;
  /** When `cannotSend` was last called, by cause (ms). */
  readonly #couldNotSend = new Map<string, number>();
  readonly #dead: StuckDeliveries;
  readonly #held: StuckDeliveries;
  readonly #recoveries = new Recoveries();
  readonly #untold: UntoldOutages;
  /** The cause of a summary that is not sent, as it is of a time before the store was in use. */
  #notSummarized = '';

  constructor(parts: AlertParts) {
    this.#parts = parts;
    this.#nextId = parts.nextId ?? noticeIds();
    this.#dead = new StuckDeliveries('dead', (time) => parts.store.deadSince(time));
    this.#held = new StuckDeliveries('held', (time) => parts.store.heldSince(time));
    this.#untold = new UntoldOutages(parts.store);
  }

  async check(): Promise<void> {
    const { alerts, summary } = this.#parts.config().plan;
    if (alerts.length === 0 && !summary) return;
    const now = this.#parts.clock.now();
    const memory = await this.#remember(now);
    const sinks = await this.readSinks(now);
    const situation = await this.#situation(now, sinks, memory);
    await this.#tellTroubles(situation, memory);
    await this.#tellRecoveries(situation, sinks, memory);
    if (summary) await this.#summarize(summary, situation).catch(this.#parts.failed);
  }

  /** What was told before, from the store at first. */
  async #remember(now: number): Promise<Memory> {
    const { store } = this.#parts;
    const memory = (this.#memory ??= {
      notified: await store.lastRaised(),
      told: new Map((await store.openTroubles(endingAlerts)).map((notice) => [keyOf(notice), notice])),
    });
    // If the clock was set back, times in the future would suppress notices until then.
    for (const times of [memory.notified, this.#couldNotSend]) {
      for (const [cause, time] of times) times.set(cause, Math.min(time, now));
    }
    return memory;
  }

  /** How the sinks are. `toTell`: what is wrong with them that people may have to hear of. */
  async readSinks(now: number) {
    const { store, config, hasWork, announcer } = this.#parts;
    const { sinks, plan } = config();
    const facts = await sinkFacts(store, [announcer.state()], now);
    const all = Array.from(sinks.keys(), (sink) => conditionOf(sink, facts));
    const counts = all.some(({ trouble }) => trouble) ? await store.counts() : [];
    const toTell: Situation['paused'][number][] = [];
    for (const { sink, trouble, pause, figures } of all) {
      if (trouble === null || trouble.kind === 'meant') continue;
      const { kind, since, because } = trouble;
      const { failures = 0, lastSuccessAt = null } = figures ?? {};
      const { pending = 0, sending = 0, dead = 0 } = counts.find((one) => one.sink === sink)?.states ?? {};
      const count = pending + sending;
      // The retries of one that is tried may be hours away, so whatever waits counts, or was given up.
      const givenUp = kind === 'failing' && count === 0 ? dead : 0;
      // Events wait for a look-up a short time only; they are decided without its answer then.
      const hasUntold = async () => (await this.#untold.unanswered(sink, since, plan.lookups)) > 0;
      const isTold = {
        paused: async () => hasWork(sink) || hasUntold(),
        failing: async () => count + givenUp > 0 || hasUntold(),
        forgotten: () => count > 0,
        secrets: () => true,
      };
      if (!(await isTold[kind]())) continue;
      const who = pause?.by === 'person' ? pause.who : '';
      toTell.push({ kind, sink, since, because, count, givenUp, failures, lastSuccessAt, who });
    }
    return { all, toTell };
  }

  async #situation(now: number, { toTell }: ReadSinks, { notified }: Memory): Promise<Situation> {
    const { store, config, announcer } = this.#parts;
    const { refused, since: loadedAt } = announcer.state().config;
    const isWanted = (wanted: AlertKind) => config().plan.alerts.some(({ kind }) => kind === wanted);
    return {
      now,
      paused: toTell,
      dead: isWanted('dead') ? await this.#dead.look(now, notified) : [],
      held: isWanted('held') ? await this.#held.look(now, notified) : [],
      refused,
      loadedAt,
      refusedEvents: isWanted('refused') ? newlyRefused(await this.#notTakenIn(now), notified) : [],
      lastEventAt: (await store.lastEventAt(now)) ?? this.#parts.servedSince,
    };
  }

  async #notTakenIn(now: number): Promise<NotTakenIn[]> {
    const { store } = this.#parts;
    return [...(await store.refused()), ...(await store.rejectedSince(now - weekMs))];
  }

  async #tellTroubles(situation: Situation, { notified, told }: Memory): Promise<void> {
    const { alerts, wording } = this.#parts.config().plan;
    const { now } = situation;
    for (const { kind, afterMs, actions } of alerts) {
      for (const notice of noticesFor(kind, afterMs, situation, wording)) {
        const notifiedAt = lastNotice(notified, notice.cause);
        // One each time that a condition begins, and none within the quiet time. Refused events are all new.
        const begins = notifiedAt === undefined || notice.alert === 'refused' || notice.since > notifiedAt;
        // The trouble that people were told of is over: they have heard that, or have put it away.
        const isAnew =
          notice.alert === 'refused'
            ? notice.since > (notifiedAt ?? 0)
            : endingAlerts.includes(kind) && !told.has(keyOf(notice));
        if (!begins || !(isAnew || mayNotify(notifiedAt, now))) continue;
        const forMs = isAnew ? Math.min(quietMs, now - notice.since) : quietMs;
        await this.#notify(notice, actions, now, notified, { forMs }).catch(this.#parts.failed);
      }
    }
  }

  async #tellRecoveries(situation: Situation, { all }: ReadSinks, { notified, told }: Memory): Promise<void> {
    const { clock, config } = this.#parts;
    const { sinks, plan } = config();
    const open = [...told.values()].filter(({ sink }) => sink === null || sinks.has(sink));
    const state = { ...situation, elapsed: clock.elapsed(), sinks: all };
    const down = all.flatMap((one) => (isDown(one) ? one.trouble! : []));
    const untold = this.#untold.look(down, open, config());
    for (const over of this.#recoveries.look([...open, ...untold], state, plan.wording)) {
      const alert = plan.alerts.find(({ kind }) => kind === over.alert);
      const notice = await this.#untold.asTold(over, plan, notified, situation.now);
      if (alert && notice)
        await this.#notify(notice, alert.actions, situation.now, notified).catch(this.#parts.failed);
    }
  }

  /** Raises the summary once a week, also late where nothing ran at its time. */
  async #summarize({ week, actions }: Summary, { now, lastEventAt }: Situation): Promise<void> {
    const { store, config } = this.#parts;
    const { notified } = this.#memory!;
    const about = summaryWeek(week, now);
    if (notified.has(about.cause) || this.#notSummarized === about.cause) return;
    // It may have been told, and deleted since, as the events that it would tell of.
    if (about.to < now - config().store.retentionMs) return;
    const tally = await tallyOf(store, about);
    const wasInUse = [this.#parts.servedSince, lastEventAt, ...notified.values()].some(
      (time) => time < about.to,
    );
    if (!wasInUse && tally.events.length === 0) {
      this.#notSummarized = about.cause;
      return;
    }
    const { plan } = config();
    const nameOf = (testId: number) => {
      const { name } = plan.test(testId);
      return typeof name === 'string' ? name : plan.wording.say('testNumber', { id: String(testId) });
    };
    const status = await readStatus({ ...this.#parts, reads: store }, now, plan.timeZone);
    const needs = needsOf(status, plan.wording);
    const notice = summaryNotice(about, tally, needs, nameOf, plan.wording);
    const mayBeTold = (this.#parts.movedAt() ?? -Infinity) > about.to;
    const once = { id: about.id, forMs: now - about.from, ...(mayBeTold && { perhapsSince: about.to }) };
    await this.#notify(notice, actions, now, notified, once);
  }

  async #notify(
    notice: Notice,
    actions: readonly Action[],
    now: number,
    notified: Map<string, number>,
    { id, forMs = quietMs, perhapsSince }: { id?: string; forMs?: number; perhapsSince?: number } = {},
  ): Promise<void> {
    const { store, config, wake, raised, cannotSend } = this.#parts;
    const usable = actions.filter(({ sink }) => sink !== notice.sink);
    if (usable.length === 0) {
      if (notice.recovered) return;
      // Not stored as notified: after a reload there may be a usable action.
      if (!mayNotify(this.#couldNotSend.get(notice.cause), now)) return;
      this.#couldNotSend.set(notice.cause, now);
      return cannotSend(notice);
    }
    const { plan } = config();
    const raisedNotice: RaisedNotice = { ...notice, id: id ?? this.#nextId(now), raisedAt: now };
    const deliveries = usable.map((action) => planNotice(action, raisedNotice, now));
    const arrival = { notice: raisedNotice, configId: plan.id, deliveries, quietMs: forMs, perhapsSince };
    const isKept = await store.raise(arrival);
    // If the clock was set back, the store may have a notice within the hour. The next check tries again.
    if (!isKept) return;
    // Only now: after a failure the next check tries again.
    notified.set(notice.cause, now);
    if (notice.recovered) this.#memory?.told.delete(keyOf(notice));
    else if (endingAlerts.some((kind) => kind === notice.alert))
      this.#memory?.told.set(keyOf(notice), raisedNotice);
    raised(raisedNotice);
    wake(deliveries);
  }
}

const keyOf = ({ alert, sink }: Notice): string => `${alert} ${sink}`;
