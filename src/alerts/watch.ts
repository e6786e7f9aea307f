import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { noticeIds } from '../ids.ts';
import type { Notice, RaisedNotice } from '../model.ts';
import type { Action } from '../rules/plan.ts';
import { planNotice } from '../rules/decide.ts';
import type { Store } from '../store/store.ts';
import { troubles, type Situation } from './troubles.ts';

export interface AlertParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly config: () => Config;
  readonly paused: () => readonly { readonly sink: string; readonly since: number }[];
  /** Called when a notice has deliveries to carry out. */
  readonly wake: () => void;
  readonly raised: (notice: RaisedNotice) => void;
  /** Nobody can be told: every action of the alert goes through the sink in trouble. */
  readonly untold: (notice: Notice) => void;
  readonly failed: (error: unknown) => void;
}

const betweenLooksMs = 10_000;
/** At most one notice in this time for each cause. */
const quietMs = 3_600_000;
const recallMs = 400 * 86_400_000;

/** Tells people when the connector itself needs a person, for as long as the process lives. Returns how to stop it. */
export function watchTroubles(parts: AlertParts): () => void {
  const watch = new TroubleWatch(parts);
  let stopped = false;
  let cancel = parts.clock.after(betweenLooksMs, () => void look());

  async function look(): Promise<void> {
    await watch.look().catch(parts.failed);
    if (!stopped) cancel = parts.clock.after(betweenLooksMs, () => void look());
  }

  return () => {
    stopped = true;
    cancel();
  };
}

class TroubleWatch {
  readonly #parts: AlertParts;
  readonly #nextId = noticeIds();
  readonly #startedAt: number;
  /** When people were last told, by cause (ms). */
  #told: Map<string, number> | null = null;

  constructor(parts: AlertParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.now();
  }

  async look(): Promise<void> {
    const { config } = this.#parts;
    const { alerts } = config().plan;
    if (alerts.length === 0) return;
    const told = (this.#told ??= await this.#recall());
    const situation = await this.#situation(told);
    for (const { kind, afterMs, actions } of alerts) {
      for (const notice of troubles(kind, afterMs, situation)) {
        if (!isNew(notice, told.get(notice.cause), situation.now)) continue;
        await this.#tell(notice, actions, situation.now, told).catch(this.#parts.failed);
      }
    }
  }

  /** A restart must not tell again what was told before it. */
  async #recall(): Promise<Map<string, number>> {
    const { store, clock } = this.#parts;
    const stories = await store.notices({ since: clock.now() - recallMs, limit: 1000 });
    return new Map(stories.toReversed().map(({ notice }) => [notice.cause, notice.raisedAt]));
  }

  async #situation(told: ReadonlyMap<string, number>): Promise<Situation> {
    const { store, clock, config, paused } = this.#parts;
    const { sinks } = config();
    const dead = await Promise.all(
      [...sinks.keys()].map((sink) => deadOf(store, sink, told.get(`dead ${sink}`) ?? 0)),
    );
    return {
      now: clock.now(),
      paused: paused().filter(({ sink }) => sinks.has(sink)),
      dead: dead.flat(),
      lastEventAt: (await store.lastEventAt()) ?? this.#startedAt,
    };
  }

  async #tell(
    notice: Notice,
    actions: readonly Action[],
    now: number,
    told: Map<string, number>,
  ): Promise<void> {
    const { store, config, wake, raised, untold } = this.#parts;
    const ways = actions.filter(({ sink }) => sink !== notice.sink);
    if (ways.length === 0) {
      told.set(notice.cause, now);
      return untold(notice);
    }
    const { plan } = config();
    const raisedNotice: RaisedNotice = { ...notice, id: this.#nextId(now), raisedAt: now };
    const deliveries = ways.map((action) => planNotice(action, raisedNotice, now));
    const isNews = await store.raise({ notice: raisedNotice, configId: plan.id, deliveries, quietMs });
    // Only now: a notice that could not be stored is tried again at the next look.
    told.set(notice.cause, now);
    if (!isNews) return;
    raised(raisedNotice);
    wake();
  }
}

async function deadOf(store: Store, sink: string, since: number) {
  return (await store.deadSince(since)).filter((dead) => dead.sink === sink);
}

/** Told once for each time that something goes wrong, and not again within the quiet time. */
function isNew({ since }: Notice, toldAt: number | undefined, now: number): boolean {
  return toldAt === undefined || (since > toldAt && now - toldAt >= quietMs);
}
