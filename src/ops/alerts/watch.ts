import type { Clock } from '../../support/clock.ts';
import type { Config } from '../../config/config.ts';
import { tooShort } from '../../config/settings.ts';
import { noticeIds } from '../../support/ids.ts';
import { type AlertKind, type Notice, type RaisedNotice, stuckStates } from '../../model/notices.ts';
import type { Failure } from '../../model/outcomes.ts';
import type { Action, Summary } from '../../rules/plan.ts';
import { planNotice } from '../../rules/decide.ts';
import type { SinkFigures, Store } from '../../store/store.ts';
import {
  lastNotice,
  mayNotify,
  newlyRefused,
  noticesFor,
  quietMs,
  type RefusedConfig,
  type Situation,
} from './conditions.ts';
import { endingAlerts, Recoveries, workedAt } from './over.ts';
import { StuckDeliveries } from './stuck.ts';
import { UntoldOutages } from './untold.ts';
import { failingAlone, isFailing, isForgotten, needsOf, onlySecretsFail, type Troubles } from '../needs.ts';
import { pausesNow } from '../pauses.ts';
import { summaryNotice, summaryWeek, tallyOf } from './summary.ts';

export interface AlertParts {
  /** Makes notice ids. They continue after those in the store. */
  readonly nextId?: (now: number) => string;
  readonly store: Store;
  readonly clock: Clock;
  readonly config: () => Config;
  /** Whether this replica has to look. */
  readonly mine: () => boolean;
  readonly paused: () => Promise<readonly Outage[]>;
  /** The sinks whose changed secrets do not work. */
  readonly secretFaults: () => readonly (Pick<Outage, 'sink' | 'since'> & Pick<Failure, 'detail'>)[];
  /** Null if the config's file is in force as it is. */
  readonly refused: () => RefusedConfig | null;
  /** Whether changed keys wait for a restart. */
  readonly isWaiting: () => boolean;
  /** Called when a notice has been stored with its deliveries. */
  readonly wake: () => void;
  readonly raised: (notice: RaisedNotice) => void;
  /** Every action of the alert uses the sink that the notice is about. */
  readonly cannotSend: (notice: Notice) => void;
  readonly failed: (error: unknown) => void;
}

interface Outage {
  readonly sink: string;
  readonly since: number;
  readonly because: Failure | null;
  /** Deliveries wait for it. */
  readonly hasWork: boolean;
}

const checkEveryMs = 10_000;

/** Sends alerts when the connector itself needs a person. Returns how to stop it. */
export function watchAlerts(parts: AlertParts): () => void {
  const startedAt = parts.clock.now();
  let watch = new AlertWatch(parts, startedAt);
  let stopped = false;
  let cancel = parts.clock.after(checkEveryMs, () => void check());

  async function check(): Promise<void> {
    if (parts.mine()) await watch.check().catch(parts.failed);
    // Another replica may raise notices meanwhile.
    else watch = new AlertWatch(parts, startedAt);
    if (!stopped) cancel = parts.clock.after(checkEveryMs, () => void check());
  }

  return () => {
    stopped = true;
    cancel();
  };
}

class AlertWatch {
  readonly #parts: AlertParts;
  readonly #nextId: (now: number) => string;
  readonly #startedAt: number;
  /** When the last notice of each cause was raised (ms); null until loaded from the store. */
  #notified: Map<string, number> | null = null;
  /** The notices of troubles whose end was not told yet, by troubleOf; null until loaded from the store. */
  #told: Map<string, RaisedNotice> | null = null;
  /** When `cannotSend` was last called for each cause (ms). */
  readonly #couldNotSend = new Map<string, number>();
  readonly #dead: StuckDeliveries;
  readonly #held: StuckDeliveries;
  readonly #recoveries = new Recoveries();
  readonly #untold: UntoldOutages;
  /** The cause of a summary of a time before the store was in use. */
  #notSummarized = '';

  constructor(parts: AlertParts, startedAt: number) {
    this.#parts = parts;
    this.#nextId = parts.nextId ?? noticeIds();
    this.#dead = new StuckDeliveries('dead', (time) => parts.store.deadSince(time));
    this.#held = new StuckDeliveries('held', (time) => parts.store.heldSince(time));
    this.#untold = new UntoldOutages(parts.store);
    this.#startedAt = startedAt;
  }

  async check(): Promise<void> {
    const { clock, config, paused, store } = this.#parts;
    const { alerts, summary, wording } = config().plan;
    if (alerts.length === 0 && !summary) return;
    const now = clock.now();
    const notified = (this.#notified ??= await store.lastRaised());
    const told = (this.#told ??= new Map(
      (await store.openTroubles(endingAlerts)).map((notice) => [troubleOf(notice), notice]),
    ));
    // If the clock was set back, times in the future would suppress notices until then.
    for (const times of [notified, this.#couldNotSend]) {
      for (const [cause, time] of times) times.set(cause, Math.min(time, now));
    }
    const isWanted = (wanted: AlertKind) => alerts.some(({ kind }) => kind === wanted);
    const figures = await store.sinkFigures(now);
    const lastSuccessAt = new Map(figures.map((one) => [one.sink, one.lastSuccessAt]));
    // These people know of.
    const byPeople = [...(await pausesNow(store, now)).values()].filter(({ by }) => by === 'person');
    const isByPerson = (sink: string) => byPeople.some((one) => one.sink === sink);
    const { lookups } = config().plan;
    const allPaused = await Promise.all(
      (await paused())
        .filter(({ sink }) => !isByPerson(sink))
        .map(async (one) =>
          Object.assign({ lastSuccessAt: lastSuccessAt.get(one.sink) ?? null }, one, {
            // What waits for a look-up does so for a short time only.
            hasWork: one.hasWork || (await this.#untold.unanswered(one.sink, one.since, lookups)) > 0,
          }),
        ),
    );
    const failing = await this.#failing([...allPaused, ...byPeople], figures);
    const forgotten = await this.#withWork(
      byPeople
        .filter((pause) => isForgotten({ pause }))
        .map((one) => Object.assign({ because: null, lastSuccessAt: null }, one)),
    );
    const known = new Set([...allPaused, ...failing, ...byPeople].map(({ sink }) => sink));
    // Nothing may wait for these yet.
    const locked = this.#parts
      .secretFaults()
      .map(({ detail, sink, since }) => ({
        sink,
        since,
        because: { reason: 'auth' as const, detail },
        lastSuccessAt: lastSuccessAt.get(sink) ?? null,
        areSecrets: true,
        hasWork: true,
      }))
      .filter((one) => onlySecretsFail(one.since, known.has(one.sink), one.lastSuccessAt));
    const situation: Situation = {
      now,
      paused: await this.#counted(
        [...allPaused, ...failing, ...forgotten, ...locked].filter(
          ({ sink, hasWork }) => hasWork && config().sinks.has(sink),
        ),
      ),
      dead: isWanted('dead') ? await this.#dead.look(now, notified) : [],
      held: isWanted('held') ? await this.#held.look(now, notified) : [],
      refused: this.#parts.refused(),
      refusedEvents: isWanted('refused') ? newlyRefused(await store.refused(), notified) : [],
      lastEventAt: (await store.lastEventAt(now)) ?? this.#startedAt,
    };
    for (const { kind, afterMs, actions } of alerts) {
      for (const notice of noticesFor(kind, afterMs, situation, wording)) {
        const notifiedAt = lastNotice(notified, notice.cause);
        // One each time that a condition begins, and none within the quiet time. Refused events are all new.
        const begins = notifiedAt === undefined || notice.alert === 'refused' || notice.since > notifiedAt;
        // What people were told of is over, by what they heard since, or they have put it away.
        const isAnew =
          notice.alert === 'refused'
            ? notice.since > (notifiedAt ?? 0)
            : endingAlerts.includes(kind) && !told.has(troubleOf(notice));
        if (!begins || !(isAnew || mayNotify(notifiedAt, now))) continue;
        const forMs = isAnew ? Math.min(quietMs, now - notice.since) : quietMs;
        await this.#notify(notice, actions, now, notified, forMs).catch(this.#parts.failed);
      }
    }
    const down = [
      ...allPaused.map(({ sink }) => ({ sink, state: 'paused' as const, pause: null })),
      ...byPeople.map((pause) => ({ sink: pause.sink, state: 'paused' as const, pause })),
      ...failing.map(({ sink }) => ({ sink, state: 'failing' as const, pause: null })),
    ];
    const open = [...told.values()].filter(({ sink }) => sink === null || config().sinks.has(sink));
    const state = {
      ...situation,
      elapsed: clock.elapsed(),
      down: new Set(down.map(({ sink }) => sink)),
      workedAt: workedAt(figures),
    };
    const untold = this.#untold.look([...allPaused, ...failing], open, config());
    for (const over of this.#recoveries.look([...open, ...untold], state, wording)) {
      const alert = alerts.find(({ kind }) => kind === over.alert);
      const notice = await this.#untold.asTold(over, config().plan, notified, now);
      if (alert && notice) await this.#notify(notice, alert.actions, now, notified).catch(this.#parts.failed);
    }
    if (summary) await this.#summarize(summary, situation, down).catch(this.#parts.failed);
  }

  /** Those that fail without being paused. Their retries may be hours away, so whatever waits counts, or was given up. */
  async #failing(
    allPaused: readonly { readonly sink: string }[],
    figures: readonly SinkFigures[],
  ): Promise<(Outage & Pick<SinkFigures, 'failures' | 'lastSuccessAt'> & { givenUp: number })[]> {
    const { config } = this.#parts;
    const isPaused = (sink: string) => allPaused.some((one) => one.sink === sink);
    const failing = figures.filter(
      (one) => isFailing(one) && config().sinks.has(one.sink) && !isPaused(one.sink),
    );
    const all = await this.#withWork(
      failing.map(({ sink, failures, firstFailedAt, lastSuccessAt, because }) => ({
        sink,
        since: firstFailedAt!,
        because,
        failures,
        lastSuccessAt,
      })),
    );
    return all.map(({ hasWork, dead, ...one }) =>
      Object.assign(one, { hasWork: hasWork || dead > 0, givenUp: hasWork ? 0 : dead }),
    );
  }

  async #withWork<One extends { readonly sink: string }>(
    all: readonly One[],
  ): Promise<(One & Pick<Outage, 'hasWork'> & { dead: number })[]> {
    const counted = await this.#counted(all);
    return counted.map((one) => Object.assign(one, { hasWork: one.count > 0 }));
  }

  /** `count`: how many deliveries wait. */
  async #counted<One extends { readonly sink: string }>(
    all: readonly One[],
  ): Promise<(One & { count: number; dead: number })[]> {
    const counts = all.length === 0 ? [] : await this.#parts.store.counts();
    return all.map((one) => {
      const {
        pending = 0,
        sending = 0,
        dead = 0,
      } = counts.find(({ sink }) => sink === one.sink)?.states ?? {};
      return Object.assign(one, { count: pending + sending, dead });
    });
  }

  /** Once a week, also if it comes late because nothing ran at its time. */
  async #summarize({ week, actions }: Summary, situation: Situation, down: Troubles['sinks']): Promise<void> {
    const { store, config } = this.#parts;
    const { now, refused, lastEventAt } = situation;
    const notified = this.#notified!;
    const about = summaryWeek(week, now);
    if (notified.has(about.cause) || this.#notSummarized === about.cause) return;
    const tally = await tallyOf(store, about);
    const wasInUse = [this.#startedAt, lastEventAt, ...notified.values()].some((time) => time < about.to);
    if (!wasInUse && tally.events.length === 0) {
      this.#notSummarized = about.cause;
      return;
    }
    const { plan } = config();
    const nameOf = (testId: number) => {
      const { name } = plan.test(testId);
      return typeof name === 'string' ? name : plan.wording.say('testNumber', { id: String(testId) });
    };
    const counts = await store.counts();
    const isDown = new Set(down.map(({ sink }) => sink));
    const working = counts.filter(({ sink, states }) => states.pending > 0 && !isDown.has(sink));
    const troubles = {
      isServed: true,
      unwritable: null,
      refused: await store.refused(),
      refusedConfigs: refused === null ? [] : [refused],
      isWaiting: this.#parts.isWaiting(),
      isClosed: tooShort(config().admin) !== null,
      sinks: down,
      failing: await failingAlone(
        store,
        working.map(({ sink }) => sink),
        now,
      ),
      stuck: counts.flatMap(({ sink, states }) =>
        stuckStates.map((state) => ({ sink, state, count: states[state] })),
      ),
    };
    const needs = needsOf(troubles, plan.wording);
    const notice = summaryNotice(about, tally, needs, nameOf, plan.wording);
    await this.#notify(notice, actions, now, notified, now - about.from);
  }

  async #notify(
    notice: Notice,
    actions: readonly Action[],
    now: number,
    notified: Map<string, number>,
    forMs = quietMs,
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
    const raisedNotice: RaisedNotice = { ...notice, id: this.#nextId(now), raisedAt: now };
    const deliveries = usable.map((action) => planNotice(action, raisedNotice, now));
    const isKept = await store.raise({ notice: raisedNotice, configId: plan.id, deliveries, quietMs: forMs });
    // If the clock was set back, the store may have a notice within the hour. The next check tries again.
    if (!isKept) return;
    // Only now: after a failure the next check tries again.
    notified.set(notice.cause, now);
    if (notice.recovered) this.#told?.delete(troubleOf(notice));
    else if (endingAlerts.some((kind) => kind === notice.alert))
      this.#told?.set(troubleOf(notice), raisedNotice);
    raised(raisedNotice);
    wake();
  }
}

const troubleOf = ({ alert, sink }: Notice): string => `${alert} ${sink}`;
