import { program, shellWord } from '../../support/invocation.ts';
import {
  type AlertKind,
  type Failure,
  lookupOf,
  missedCause,
  type Notice,
  type Reason,
  type RaisedNotice,
  type RefusedEvents,
  type StuckState,
} from '../../model.ts';
import { refusals } from '../needs.ts';
import type { StuckCount } from '../../store/store.ts';
import { count } from '../../support/text.ts';

/** What the conditions of alerts are evaluated on. */
export interface Situation {
  readonly now: number;
  /**
   * The paused or failing sinks that deliveries wait for. `because`: why the last attempt failed, if that is known.
   * `failures`: of a failing one, since its last success.
   */
  readonly paused: readonly {
    readonly sink: string;
    readonly since: number;
    readonly because: Failure | null;
    readonly failures?: number;
    /** Of a flapping one, after `since`. */
    readonly lastSuccessAt: number | null;
    /** The person who paused it, and seems to have forgotten that. */
    readonly who?: string;
  }[];
  /** Deliveries that went dead since the last notice with the same cause. */
  readonly dead: readonly StuckCount[];
  /** The same for held ones. */
  readonly held: readonly StuckCount[];
  /** Null if the config's file is in force as it is. */
  readonly refused: Refusal | null;
  /** Events that were refused and not put away; see `newlyRefused`. */
  readonly refusedEvents: readonly RefusedEvents[];
  /** When the newest event came; without any, when the connector started (ms). */
  readonly lastEventAt: number;
}

/** A changed config that was refused. */
export interface Refusal {
  /** Since when the file was refused at each change (ms). */
  readonly since: number;
  /** Where the first problem is, and what it is. */
  readonly problem: string;
  /** How many further problems there are. */
  readonly others: number;
  readonly file: string;
  /** When the config that stays in force was loaded (ms). */
  readonly loadedAt: number;
}

const causeOf = (alert: AlertKind, sink: string, cause = ''): string =>
  cause === '' ? `${alert} ${sink}` : `${alert} ${sink}: ${cause}`;

/** The shortest time between two notices with the same cause. */
export const quietMs = 3_600_000;
/** A sink that fails again sooner than that after it worked is in the same outage. */
const recoveryMs = 60_000;

export function mayNotify(notifiedAt: number | undefined, now: number): boolean {
  return notifiedAt === undefined || now - notifiedAt >= quietMs;
}

/** What a person can do about these is the same: an outage may show each of them in turn. */
const passing: readonly string[] = [
  'server',
  'rate_limited',
  'timeout',
  'network',
  'unexpected',
] satisfies Reason[];

/** When the last notice of a cause was raised. Version 0.1 had one for all causes of a sink. */
export function lastNotice(notified: ReadonlyMap<string, number>, cause: string): number | undefined {
  const [trouble = '', reason = ''] = cause.split(': ', 2);
  const alike = passing.includes(reason) ? passing.map((one) => `${trouble}: ${one}`) : [cause];
  const times = alike.flatMap((one) => notified.get(one) ?? []);
  return times.length > 0 ? Math.max(...times) : notified.get(trouble);
}

/** The notices of one kind of alert whose condition has lasted for `afterMs`. Pure. */
export function noticesFor(kind: AlertKind, afterMs: number, situation: Situation): Notice[] {
  return describe[kind](situation).filter(({ since }) => since + afterMs <= situation.now);
}

const describe: { readonly [kind in AlertKind]: (situation: Situation) => Notice[] } = {
  dead: ({ dead }) =>
    dead.map((stuck) =>
      isMissed(stuck)
        ? stuckNotice(
            'dead',
            stuck,
            'went out, but not as meant.',
            `Put right what it says. Tell those who were left out yourself, or send it again to all of them: ${program} resend takes the ids of the deliveries.`,
          )
        : stuckNotice(
            'dead',
            stuck,
            'had to be given up.',
            `Fix the cause, then replay them: ${program} replay --dead --sink ${shellWord(stuck.sink)} --cause ${shellWord(stuck.cause)}`,
          ),
    ),
  held: ({ held }) =>
    held.map((stuck) =>
      stuckNotice(
        'held',
        stuck,
        'may have arrived or not, and only a person can tell.',
        `Look there, then replay or discard those listed by: ${program} events --state held --sink ${stuck.sink}`,
      ),
    ),
  paused: ({ paused, now }) =>
    paused.map(({ because, who, ...down }) =>
      noticeOf('paused', down.since, {
        // Each cause has its own fix.
        cause: causeOf('paused', down.sink, because?.reason),
        sink: down.sink,
        ...(who === undefined
          ? {
              detail: `${downFor(down, now)}${because ? `. ${asSentence(because.detail)}` : '.'} ${downWords(down.sink).meanwhile}`,
              advice: `Put this right, or forward this to somebody who can. ${downWords(down.sink).afterwards} To see whether it works, run: ${program} check --live. To try it at once, run: ${program} retry ${down.sink}`,
            }
          : {
              detail: `${down.sink} has been paused by ${who} for ${inWords(now - down.since)}, and messages wait for it. None is lost.`,
              advice: `To let it go on, run: ${program} resume ${down.sink}. A pause with an end goes on by itself: ${program} pause ${down.sink} --for 2d`,
            }),
      }),
    ),
  config: ({ refused, now }) => {
    if (refused === null) return [];
    const { problem, others, file, since, loadedAt } = refused;
    const more =
      others === 0 ? '' : ` There ${others === 1 ? 'is one more problem' : `are ${others} more problems`}.`;
    return [
      noticeOf('config', since, {
        cause: `config: ${problem}`,
        detail: `The changed config was refused. ${asSentence(problem)}${more} What was loaded ${inWords(now - loadedAt)} ago stays in force.`,
        advice: `Correct the file: it is loaded by itself when it changes. Do not restart before, for it would not start. All problems are shown by: ${program} check --config ${file}`,
      }),
    ];
  },
  refused: ({ refusedEvents, now }) =>
    refusals(refusedEvents).map(({ reason, what, advice, command, from, count: many, first, last }) =>
      noticeOf('refused', first, {
        cause: refusedCause(reason),
        from,
        count: many,
        detail: `${what}. ${many === 1 ? 'It came' : `The first came ${inWords(now - first)} ago, the last`} ${inWords(now - last)} ago.`,
        advice: `${advice} When that is done: ${command}`,
      }),
    ),
  silence: ({ lastEventAt, now }) => [
    noticeOf('silence', lastEventAt, {
      detail: `No event has come for ${inWords(now - lastEventAt)}.`,
      advice:
        "If candidates have taken tests since, check that the Webhook URL in the testing service's account still leads here.",
    }),
  ],
};

/** What becomes of what waits for a sink that is down, or for a look-up. */
const downWords = (sink: string) =>
  lookupOf(sink) === null
    ? {
        meanwhile: 'They wait, and none is lost.',
        afterwards:
          'The messages then go out by themselves, but for those that have failed for longer than retry.giveUpAfter: these have to be replayed.',
      }
    : {
        meanwhile: 'Events wait for it, and are decided without it when their waitFor is over.',
        afterwards: 'What waits then is decided with what it finds out.',
      };

function downFor(
  { sink, since, failures, lastSuccessAt }: Omit<Situation['paused'][number], 'because'>,
  now: number,
): string {
  const time = inWords(now - since);
  const lookup = lookupOf(sink);
  if (lookup !== null) return `The look-up ${lookup} has had no answer for ${time}`;
  // Of one that is tried as usual an attempt may have arrived although nobody knows.
  if (failures !== undefined)
    return `${failures} attempts at messages to ${sink} have failed in ${time}, and none has worked`;
  return lastSuccessAt === null || lastSuccessAt <= since
    ? `No message to ${sink} has gone out for ${time}`
    : `Messages to ${sink} have failed again and again for ${time}, and none has gone out for ${inWords(now - lastSuccessAt)}`;
}

const refusedCause = (reason: RefusedEvents['reason']): string => `refused ${reason}`;

/** Of the reasons for which some were refused since the last notice, all that were. */
export function newlyRefused(
  all: readonly RefusedEvents[],
  notified: ReadonlyMap<string, number>,
): RefusedEvents[] {
  const isNew = ({ reason, last }: RefusedEvents) => last > (notified.get(refusedCause(reason)) ?? -Infinity);
  const reasons = new Set(all.filter(isNew).map(({ reason }) => reason));
  return all.filter(({ reason }) => reasons.has(reason));
}

/** It was delivered, and not as it was meant: see Delivered.missed. */
export const isMissed = ({ cause }: StuckCount): boolean => cause.startsWith(`${missedCause} `);

function stuckNotice(
  alert: StuckState,
  { sink, cause, count: many, firstAt, reason }: StuckCount,
  what: string,
  advice: string,
): Notice {
  const detail = `${many === 1 ? 'A delivery' : count(many, 'delivery')} to ${sink} ${what} ${reason}`;
  return noticeOf(alert, firstAt, { cause: causeOf(alert, sink, cause), sink, count: many, detail, advice });
}

/** Most notices begin a trouble, and are about no sink. */
function noticeOf(
  alert: AlertKind,
  since: number,
  more: Pick<Notice, 'detail' | 'advice'> & Partial<Notice>,
): Notice {
  return { alert, cause: alert, sink: null, count: 0, since, recovered: false, ...more };
}

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

const units = [
  { name: 'day', ms: 86_400_000 },
  { name: 'hour', ms: 3_600_000 },
  { name: 'minute', ms: 60_000 },
  { name: 'second', ms: 1000 },
];

/** In the largest unit of which there are two: `90 minutes`, `3 days`. */
function inWords(durationMs: number): string {
  const unit = units.find(({ ms }) => durationMs >= 2 * ms) ?? { name: 'second', ms: 1000 };
  return count(Math.max(1, Math.floor(durationMs / unit.ms)), unit.name);
}

/** The alerts whose end is told, too. */
export const endingAlerts: readonly AlertKind[] = ['paused', 'config'];

interface State {
  readonly now: number;
  readonly elapsed: number;
  /** All paused sinks, also those that no delivery waits for. */
  readonly down: ReadonlySet<string>;
  readonly lastSuccessAt: ReadonlyMap<string, number | null>;
  readonly refused: Refusal | null;
}

/** Which of the troubles that people were told of are over. */
export class Recoveries {
  /** When the end of each notice's trouble was first seen, on the scale of Clock.elapsed. */
  #endedAt = new Map<string, number>();

  look(told: readonly RaisedNotice[], { now, elapsed, down, lastSuccessAt, refused }: State): Notice[] {
    const works = (sink: string, since: number) => !down.has(sink) && (lastSuccessAt.get(sink) ?? 0) > since;
    const ended = told.filter(({ sink, since }) => (sink === null ? refused === null : works(sink, since)));
    this.#endedAt = new Map(ended.map(({ id }) => [id, this.#endedAt.get(id) ?? elapsed]));
    return ended.flatMap((notice) => {
      const endedMs = elapsed - this.#endedAt.get(notice.id)!;
      const mayBeSame = notice.sink !== null && endedMs < recoveryMs;
      return mayBeSame ? [] : [recovery(notice, inWords(now - endedMs - notice.since))];
    });
  }
}

function recoveryWords(sink: string, lasted: string): Pick<Notice, 'detail' | 'advice'> {
  const lookup = lookupOf(sink);
  return lookup === null
    ? {
        detail: `${sink} works again, after ${lasted}. The deliveries that waited go on.`,
        advice: `Nothing has to be done for them. Any that were given up meanwhile are listed by: ${program} events --state dead --sink ${sink}`,
      }
    : {
        detail: `The look-up ${lookup} works again, after ${lasted}. What waited for it goes on.`,
        advice: `Nothing has to be done. An event that was decided without it meanwhile can be looked up again by: ${program} lookup EVENT`,
      };
}

function recovery({ id, alert, sink, since }: RaisedNotice, lasted: string): Notice {
  const words =
    sink === null
      ? { detail: `The changed config is in force now, after ${lasted}.`, advice: 'Nothing has to be done.' }
      : recoveryWords(sink, lasted);
  // Told once for each notice.
  return { alert, cause: `${alert} over: ${id}`, sink, count: 0, since, ...words, recovered: true };
}

/** How much later than its end an attempt may be recorded. */
const recordedLateMs = 60_000;

/** Deliveries that went dead, or were held, since the last notice of each cause. Costs little while there are none. */
export class StuckDeliveries {
  readonly #kind: StuckState;
  readonly #stuckSince: (time: number) => Promise<StuckCount[]>;
  /** Causes that may need a notice. */
  readonly #open = new Set<string>();
  /** The causes of all deliveries stuck until then have been added to `#open` (ms). */
  #lookedUntil = 0;

  constructor(kind: StuckState, stuckSince: (time: number) => Promise<StuckCount[]>) {
    this.#kind = kind;
    this.#stuckSince = stuckSince;
  }

  /** Those that a notice may report now. `notified`: when each cause last had one (ms). */
  async look(now: number, notified: ReadonlyMap<string, number>): Promise<StuckCount[]> {
    const fresh = await this.#stuckSince(Math.min(this.#lookedUntil, now) - recordedLateMs);
    for (const one of fresh) this.#open.add(this.#causeOf(one));
    this.#lookedUntil = now;
    const due = [...this.#open].filter((cause) => mayNotify(lastNotice(notified, cause), now));
    const stuck: StuckCount[] = [];
    for (const [notifiedAt, causes] of Map.groupBy(due, (cause) => lastNotice(notified, cause) ?? 0)) {
      const found = Map.groupBy(await this.#stuckSince(notifiedAt), (one) => this.#causeOf(one));
      for (const cause of causes) {
        const counts = found.get(cause);
        if (counts) stuck.push(...counts);
        else this.#open.delete(cause);
      }
    }
    return stuck;
  }

  #causeOf({ sink, cause }: StuckCount): string {
    return causeOf(this.#kind, sink, cause);
  }
}
