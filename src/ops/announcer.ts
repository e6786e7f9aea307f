import type { LiveConfig } from '../config/live/live-config.ts';
import { tooShort } from '../config/settings.ts';
import { fingerprintOf } from '../deliveries/sinks/fingerprint.ts';
import type { ReplicaState, Store } from '../store/store.ts';
import type { Clock } from '../support/clock.ts';
import type { Absences } from './absence.ts';
import type { Pause } from './pauses.ts';

export const sayEveryMs = 10_000;

interface AnnouncerParts {
  readonly store: Pick<Store, 'keepReplicaState'>;
  readonly clock: Clock;
  readonly live: LiveConfig;
  /** The id of this replica. */
  readonly id: string;
  /** Why what waits cannot be sent; null if it can. */
  readonly unsent: () => unknown;
  /** See ReplicaState. */
  readonly movedAt: () => number | null;
  readonly absences: Pick<Absences, 'known' | 'look' | 'servedSince'>;
  /** The sinks whose changed secrets do not work. */
  readonly secretFaults: () => readonly (Pick<Pause, 'sink' | 'since'> & { readonly detail: string })[];
  /** Whether this replica makes the calls to a sink. */
  readonly mine: (sink: string) => boolean;
  readonly failed: (error: unknown) => void;
}

export type Announcer = ReturnType<typeof createAnnouncer>;

/** Stores every few seconds that this replica serves the store, and with which config. */
export function createAnnouncer(parts: AnnouncerParts) {
  const { store, clock, live, id, unsent, movedAt, absences, secretFaults, mine, failed } = parts;
  /** Whether the state could be stored the last time. */
  let last = Promise.resolve(false);
  let cancel = () => {};
  let isStopped = false;

  /** The state of this replica now. */
  function state(stopped = false): ReplicaState {
    const { config } = live;
    const { file, plan, sinks, lookups, admin } = config;
    const { refused, waiting, loadedAt: since } = live;
    const fault = unsent();
    return {
      id,
      saidAt: clock.now(),
      stopped,
      unsent: fault instanceof Error ? fault.message : null,
      movedAt: movedAt(),
      servedSince: absences.servedSince,
      absences: absences.known,
      config: {
        id: plan.id,
        callsBy: fingerprintOf(config),
        file,
        since,
        refused,
        waiting,
        closed: tooShort(admin)?.message ?? null,
      },
      sinks: [...sinks.values(), ...lookups.values()].map(({ name, connector }) => ({
        name,
        connector: connector.name,
        mine: mine(name),
      })),
      secretFaults: secretFaults(),
    };
  }

  async function keep(stopped: boolean): Promise<boolean> {
    try {
      await absences.look();
      await store.keepReplicaState(state(stopped));
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  }

  /** Stores the state now. To be called at the start, and when something has changed. */
  async function say(): Promise<void> {
    cancel();
    await (last = last.then(() => keep(false)));
    cancel();
    if (!isStopped) cancel = clock.after(sayEveryMs, () => void say());
  }

  /** Stores that this replica was stopped, unless the store could not be written just before. */
  async function stop(): Promise<void> {
    isStopped = true;
    cancel();
    if (await last) await keep(true);
  }

  return { state, say, stop };
}
