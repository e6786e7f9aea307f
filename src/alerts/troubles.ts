import type { Delivery, Notice } from '../model.ts';
import type { StuckCount } from '../store/store.ts';

/** What is wrong with the connector's work, in so far as people may have to be told. */
export interface Situation {
  readonly now: number;
  readonly paused: readonly { readonly sink: string; readonly since: number }[];
  /** What went dead since people were last told of that sink and cause. */
  readonly dead: readonly StuckCount[];
  /** What was held since. */
  readonly held: readonly StuckCount[];
  /** What stays `sending`, and the alert that tells of it. */
  readonly unrecorded: { readonly alert: 'dead' | 'held'; readonly stuck: readonly StuckCount[] };
  /** When the newest event came, or when the connector started if none did (ms). */
  readonly lastEventAt: number;
}

/** What a notice is about: the same for every one of the same trouble. */
function causeOf(alert: 'dead' | 'held' | 'paused' | 'unrecorded', sink: string, cause = ''): string {
  return cause === '' ? `${alert} ${sink}` : `${alert} ${sink}: ${cause}`;
}

/** At most one notice in this time for each cause. */
export const quietMs = 3_600_000;

export function mayTell(toldAt: number | undefined, now: number): boolean {
  return toldAt === undefined || now - toldAt >= quietMs;
}

/** The troubles of one kind that have lasted for `afterMs`, in words. Pure. */
export function troubles(kind: Notice['alert'], afterMs: number, situation: Situation): Notice[] {
  return describe[kind](situation).filter(({ since }) => since + afterMs <= situation.now);
}

const describe: { readonly [kind in Notice['alert']]: (situation: Situation) => Notice[] } = {
  dead: ({ dead, unrecorded }) => [
    ...dead.map((stuck) => ({
      ...about('dead', stuck),
      detail: `${deliveriesOf(stuck)} had to be given up. ${stuck.reason}`,
      advice: `Mend the cause, then send again what was given up: candidate-connector replay --dead --sink ${stuck.sink}`,
    })),
    ...toldBy('dead', unrecorded),
  ],
  held: ({ held, unrecorded }) => [
    ...held.map((stuck) => ({
      ...about('held', stuck),
      detail: `${deliveriesOf(stuck)} may have arrived or not, and only a person can tell. ${stuck.reason}`,
      advice: `Look there, then replay or discard what this lists: candidate-connector events --state held --sink ${stuck.sink}`,
    })),
    ...toldBy('held', unrecorded),
  ],
  paused: ({ paused, now }) =>
    paused.map(({ sink, since }) => ({
      alert: 'paused',
      cause: causeOf('paused', sink),
      sink,
      count: 0,
      since,
      detail: `${sink} has failed for ${inWords(now - since)}. What is meant for it waits. What was attempted before is given up if its retry.giveUpAfter passes, and can be replayed then.`,
      advice:
        'See what is wrong with it: candidate-connector check --live. It goes on by itself when it works again.',
    })),
  silence: ({ lastEventAt, now }) => [
    {
      alert: 'silence',
      cause: 'silence',
      sink: null,
      count: 0,
      since: lastEventAt,
      detail: `No event has come for ${inWords(now - lastEventAt)}.`,
      advice:
        "If candidates have taken tests since, see whether the Webhook URL in the testing service's account still leads here.",
    },
  ],
};

function about(alert: 'dead' | 'held', { sink, cause, count, firstAt }: StuckCount) {
  return { alert, cause: causeOf(alert, sink, cause), sink, count, since: firstAt };
}

function toldBy(kind: 'dead' | 'held', { alert, stuck }: Situation['unrecorded']): Notice[] {
  if (alert !== kind) return [];
  return stuck.map((one) => ({
    alert,
    cause: causeOf('unrecorded', one.sink),
    // It is not what failed.
    sink: null,
    count: one.count,
    since: one.firstAt,
    detail: `How the last attempt at ${one.count === 1 ? 'a delivery' : `${one.count} deliveries`} to ${one.sink} ended could not be recorded, by a fault of the connector itself. It may have arrived or not.`,
    advice:
      'See what the log says. At its next start the connector takes up what candidate-connector events --state sending lists: it asks the tool where that can be asked.',
  }));
}

function deliveriesOf({ sink, count }: StuckCount): string {
  return `${count === 1 ? 'A delivery' : `${count} deliveries`} to ${sink}`;
}

const units = [
  { name: 'day', ms: 86_400_000 },
  { name: 'hour', ms: 3_600_000 },
  { name: 'minute', ms: 60_000 },
  { name: 'second', ms: 1000 },
];

/** The largest unit that there are two of, as people say it: `90 minutes`, `3 days`. */
function inWords(durationMs: number): string {
  const unit = units.find(({ ms }) => durationMs >= 2 * ms) ?? { name: 'second', ms: 1000 };
  const count = Math.max(1, Math.floor(durationMs / unit.ms));
  return `${count} ${unit.name}${count === 1 ? '' : 's'}`;
}

/** An outcome may be on disk so much later than it says that it ended. */
const recordedLateMs = 60_000;

/** Why deliveries got stuck since people were last told of it, by sink and cause. Looking costs little while none does. */
export class Stuck {
  readonly #kind: 'dead' | 'held';
  readonly #stuckSince: (time: number) => Promise<StuckCount[]>;
  /** Causes that people may not have been told of, as notices name them. */
  readonly #suspects = new Set<string>();
  /** What got stuck until then has made its cause a suspect (ms). */
  #lookedUntil = 0;

  constructor(kind: 'dead' | 'held', stuckSince: (time: number) => Promise<StuckCount[]>) {
    this.#kind = kind;
    this.#stuckSince = stuckSince;
  }

  /** What people may be told of by now. `told`: when they last were, by cause (ms). */
  async look(now: number, told: ReadonlyMap<string, number>): Promise<StuckCount[]> {
    const fresh = await this.#stuckSince(Math.min(this.#lookedUntil, now) - recordedLateMs);
    for (const count of fresh) this.#suspects.add(this.#nameOf(count));
    this.#lookedUntil = now;
    const due = [...this.#suspects].filter((suspect) => mayTell(told.get(suspect), now));
    const stuck: StuckCount[] = [];
    for (const [toldAt, suspects] of Map.groupBy(due, (suspect) => told.get(suspect) ?? 0)) {
      const since = await this.#stuckSince(toldAt);
      const found = since.filter((count) => suspects.includes(this.#nameOf(count)));
      stuck.push(...found);
      const names = new Set(found.map((count) => this.#nameOf(count)));
      for (const suspect of suspects) if (!names.has(suspect)) this.#suspects.delete(suspect);
    }
    return stuck;
  }

  #nameOf({ sink, cause }: StuckCount): string {
    return causeOf(this.#kind, sink, cause);
  }
}

/** Longer than any attempt takes, with the time that it has to end after its time-out. */
const longestAttemptMs = 15 * 60_000;

/**
 * Deliveries that stay `sending` though no attempt takes so long: a fault of the connector itself kept the outcome from
 * being recorded. Counted by the clock that nobody sets.
 */
export class Unrecorded {
  /** When each attempt under way was first seen, by its delivery and number. */
  #seenAt = new Map<string, number>();

  look(sending: readonly Delivery[], now: number, elapsed: number): StuckCount[] {
    const seenAt = new Map(
      sending.map((delivery) => [keyOf(delivery), this.#seenAt.get(keyOf(delivery)) ?? elapsed]),
    );
    this.#seenAt = seenAt;
    const dueAt = (delivery: Delivery) => (seenAt.get(keyOf(delivery)) ?? elapsed) + longestAttemptMs;
    const overdue = sending.filter((delivery) => delivery.noticeId === null && dueAt(delivery) <= elapsed);
    return Array.from(
      Map.groupBy(overdue, ({ sink }) => sink),
      ([sink, all]) => ({
        sink,
        cause: '',
        count: all.length,
        // The last one's: people who were told of the others hear of it, too.
        firstAt: now - elapsed + Math.max(...all.map(dueAt)),
        reason: '',
      }),
    );
  }
}

const keyOf = ({ id, attempts }: Delivery): string => `${id} ${attempts}`;
