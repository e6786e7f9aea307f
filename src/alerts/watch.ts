import type { Clock } from '../support/clock.ts';
import type { Config } from '../config/config.ts';
import { noticeIds } from '../support/ids.ts';
import type { Notice, RaisedNotice } from '../model.ts';
import type { Action } from '../rules/plan.ts';
import { planNotice } from '../rules/decide.ts';
import type { Store } from '../store/store.ts';
import { mayTell, quietMs, type Situation, Stuck, troubles, Unrecorded } from './troubles.ts';

export interface AlertParts {
  /** Makes notice ids; a process goes on after those in its store. */
  readonly nextId?: (now: number) => string;
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
  readonly #nextId: (now: number) => string;
  readonly #startedAt: number;
  /** When people were last told, by cause (ms); null where the store has to be asked. */
  #told: Map<string, number> | null = null;
  /** When it was last logged that nobody can be told, by cause (ms). */
  readonly #untold = new Map<string, number>();
  readonly #dead: Stuck;
  readonly #held: Stuck;
  readonly #unrecorded = new Unrecorded();

  constructor(parts: AlertParts) {
    this.#parts = parts;
    this.#nextId = parts.nextId ?? noticeIds();
    this.#dead = new Stuck('dead', (time) => parts.store.deadSince(time));
    this.#held = new Stuck('held', (time) => parts.store.heldSince(time));
    this.#startedAt = parts.clock.now();
  }

  async look(): Promise<void> {
    const { clock, config, store } = this.#parts;
    const { alerts } = config().plan;
    if (alerts.length === 0) return;
    const now = clock.now();
    // A restart must not tell again what was told before it.
    const told = (this.#told ??= await store.lastRaised());
    // The clock was set back: what was told later than now would keep people from hearing of anything until then.
    for (const times of [told, this.#untold]) {
      for (const [cause, toldAt] of times) times.set(cause, Math.min(toldAt, now));
    }
    const isWanted = (wanted: Notice['alert']) => alerts.some(({ kind }) => kind === wanted);
    const situation: Situation = {
      now,
      paused: this.#paused(),
      dead: isWanted('dead') ? await this.#dead.look(now, told) : [],
      held: isWanted('held') ? await this.#held.look(now, told) : [],
      unrecorded: {
        alert: isWanted('held') ? 'held' : 'dead',
        stuck: this.#unrecorded.look(await store.deliveries({ states: ['sending'] }), now, clock.elapsed()),
      },
      lastEventAt: (await store.lastEventAt()) ?? this.#startedAt,
    };
    for (const { kind, afterMs, actions } of alerts) {
      for (const notice of troubles(kind, afterMs, situation)) {
        if (!isNew(notice, told.get(notice.cause), now)) continue;
        await this.#tell(notice, actions, now, told).catch(this.#parts.failed);
      }
    }
  }

  #paused(): Situation['paused'] {
    const { config, paused } = this.#parts;
    return paused().filter(({ sink }) => config().sinks.has(sink));
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
      // Not told: a config to come may have a way.
      if (!mayTell(this.#untold.get(notice.cause), now)) return;
      this.#untold.set(notice.cause, now);
      return untold(notice);
    }
    const { plan } = config();
    const raisedNotice: RaisedNotice = { ...notice, id: this.#nextId(now), raisedAt: now };
    const deliveries = ways.map((action) => planNotice(action, raisedNotice, now));
    const isNews = await store.raise({ notice: raisedNotice, configId: plan.id, deliveries, quietMs });
    // Where the clock was set back, the store knows of a notice that was raised within the hour: it is tried again.
    if (!isNews) return;
    // Only now: a notice that could not be stored is tried again at the next look.
    told.set(notice.cause, now);
    raised(raisedNotice);
    wake();
  }
}

/** Told once for each time that something goes wrong, and not again within the quiet time. */
function isNew({ since }: Notice, toldAt: number | undefined, now: number): boolean {
  return mayTell(toldAt, now) && (toldAt === undefined || since > toldAt);
}
