import { program, shellWord } from '../../support/invocation.ts';
import { lookupOf, type StuckState } from '../../model.ts';
import type { AlertKind, NotTakenIn, Notice } from '../../model/notices.ts';
import type { Reason } from '../../model/outcomes.ts';
import { refusals } from '../refusals.ts';
import { liveCheck, nameOf, type SinkTrouble, type TroubleKind } from '../sink-states.ts';
import type { RefusedFile, StuckCount } from '../../store/store.ts';
import { english, type Wording } from '../../words/wording.ts';

/** The trouble of a sink that people may have to hear of. */
interface Down extends SinkTrouble {
  /** What a person meant is told to nobody. */
  readonly kind: Exclude<TroubleKind, 'meant'>;
  /** How many deliveries wait for it. */
  readonly count: number;
  /** How many attempts failed since its last success. */
  readonly failures?: number;
  /** How many deliveries were given up, where none waits any more. */
  readonly givenUp?: number;
  /** When an attempt last worked (ms); after `since` where it works now and then. */
  readonly lastSuccessAt: number | null;
  /** The person who paused it. */
  readonly who?: string;
}

/** The facts that the conditions of alerts are evaluated on. */
export interface Situation {
  readonly now: number;
  /** The paused or failing sinks that deliveries wait for, or had to be given up for. */
  readonly paused: readonly Down[];
  /** Deliveries that went dead since the last notice with the same cause. */
  readonly dead: readonly StuckCount[];
  /** Deliveries that were held since the last notice with the same cause. */
  readonly held: readonly StuckCount[];
  /** What is wrong with this replica's file; null if it is in force as it is. */
  readonly refused: RefusedFile | null;
  /** When the config in force was loaded (ms). */
  readonly loadedAt: number;
  /** What was not taken in and may need a notice; see `newlyRefused`. */
  readonly refusedEvents: readonly NotTakenIn[];
  /** When the newest event came; without any, since when the store has been served (ms). */
  readonly lastEventAt: number;
}

export const causeOf = (alert: AlertKind, sink: string, cause = ''): string =>
  cause === '' ? `${alert} ${sink}` : `${alert} ${sink}: ${cause}`;

/** The shortest time between two notices with the same cause. */
export const quietMs = 3_600_000;

export function mayNotify(notifiedAt: number | undefined, now: number): boolean {
  return notifiedAt === undefined || now - notifiedAt >= quietMs;
}

/** Reasons that share one notice: an outage may show each of them in turn, and what a person can do is the same. */
const passing: readonly string[] = [
  'server',
  'rate_limited',
  'timeout',
  'network',
  'unexpected',
] satisfies Reason[];

/** The cause of a forgotten pause. What fails after it is another trouble. */
const byPerson = 'person';

/** When the last notice of a cause was raised (ms). Version 0.1 had one for all causes of a sink. */
export function lastNotice(notified: ReadonlyMap<string, number>, cause: string): number | undefined {
  const [trouble = '', reason = ''] = cause.split(': ', 2);
  const alike = passing.includes(reason) ? passing.map((one) => `${trouble}: ${one}`) : [cause];
  const times = alike.flatMap((one) => notified.get(one) ?? []);
  return times.length > 0 ? Math.max(...times) : notified.get(trouble);
}

/** The notices of one kind of alert whose condition has lasted for `afterMs`. Pure. */
export function noticesFor(
  kind: AlertKind,
  afterMs: number,
  situation: Situation,
  wording = english,
): Notice[] {
  return describe[kind](situation, wording).filter(({ since }) => since + afterMs <= situation.now);
}

const describe: { readonly [kind in AlertKind]: (situation: Situation, wording: Wording) => Notice[] } = {
  dead: ({ dead }, wording) =>
    dead.map((stuck) => {
      const replay = `${program} replay --dead --sink ${shellWord(stuck.sink)} --cause ${shellWord(stuck.cause)}`;
      return stuck.state === 'delivered'
        ? stuckNotice('dead', stuck, {
            detail: wording.say('missedDetail', stuck),
            advice: wording.say('missedAdvice', { command: `${program} resend` }),
          })
        : stuckNotice('dead', stuck, {
            detail: wording.say('deadDetail', stuck),
            advice: wording.say('deadAdvice', { command: replay }),
          });
    }),
  held: ({ held }, wording) =>
    held.map((stuck) =>
      stuckNotice('held', stuck, {
        detail: wording.say('heldDetail', stuck),
        advice: wording.say('heldAdvice', {
          command: `${program} events --state held --sink ${stuck.sink}`,
        }),
      }),
    ),
  paused: ({ paused, now }, wording) =>
    paused.map((down) => {
      const { kind, sink, since, because, count, givenUp } = down;
      return noticeOf('paused', since, {
        // Each cause has its own fix.
        cause: causeOf('paused', sink, kind === 'forgotten' ? byPerson : because?.reason),
        sink,
        count: givenUp || count,
        ...noticeOfSink[kind](down, now, wording),
      });
    }),
  config: ({ refused, loadedAt, now }, wording) => {
    if (refused === null) return [];
    const { isInForce, problem, others, since } = refused;
    const more = others === 0 ? '' : ` ${wording.say('moreProblems', { count: others })}`;
    const what = `${asSentence(problem)}${more}`;
    return [
      noticeOf('config', since, {
        cause: `config: ${problem}`,
        detail: isInForce
          ? `${wording.say('needBroken')}. ${what}`
          : wording.say('configDetail', { problem: what, time: inWords(now - loadedAt, wording) }),
        advice: wording.say('configAdvice', { command: `${program} check` }),
      }),
    ];
  },
  refused: ({ refusedEvents, now }, wording) =>
    refusals(refusedEvents, wording).map(
      ({ reason, what, advice, command, from, count: many, first, last }) => {
        const lastAgo = inWords(now - last, wording);
        const when =
          many === 1
            ? wording.say('refusedOnce', { time: lastAgo })
            : wording.say('refusedOften', { first: inWords(now - first, wording), last: lastAgo });
        return noticeOf('refused', first, {
          cause: refusedCause(reason),
          from,
          count: many,
          detail: `${what}. ${when}`,
          advice: `${advice} ${wording.say('putAway', { command })}`,
        });
      },
    ),
  silence: ({ lastEventAt, now }, wording) => [
    noticeOf('silence', lastEventAt, {
      detail: wording.say('silenceDetail', { time: inWords(now - lastEventAt, wording) }),
      advice: wording.say('silenceAdvice'),
    }),
  ],
};

type OfSink = (down: Down, now: number, wording: Wording) => Pick<Notice, 'detail' | 'advice'>;

const outage: OfSink = (down, now, wording) => {
  const { sink, givenUp = 0 } = down;
  const isLookup = lookupOf(sink) !== null;
  const detail = downFor(down, now, wording);
  const why = reasonOf(down);
  // A look-up that was given up is made again by `lookup`, for its event.
  if (givenUp > 0 && !isLookup) {
    const lost = wording.say('deadDetail', { count: givenUp, sink, reason: why.join('') }).trim();
    const command = `${program} replay --dead --sink ${shellWord(sink)}`;
    return { detail: `${detail} ${lost}`, advice: wording.say('deadAdvice', { command }) };
  }
  const waits = wording.say(isLookup ? 'eventsWait' : 'messagesWait');
  return { detail: [detail, ...why, waits].join(' '), advice: adviceOf(sink, wording) };
};

/** What people are told of the trouble of a sink. */
const noticeOfSink: { readonly [kind in Down['kind']]: OfSink } = {
  paused: outage,
  failing: outage,
  secrets: (down, _, wording) => {
    const { sink } = down;
    const what = `${wording.say('needSecrets', { sinks: nameOf(sink, wording) })}.`;
    return { detail: [what, ...reasonOf(down)].join(' '), advice: adviceOf(sink, wording) };
  },
  forgotten({ sink, since, who = '' }, now, wording) {
    const given = { who, time: inWords(now - since, wording) };
    const lookup = lookupOf(sink);
    return {
      detail:
        lookup === null
          ? wording.say('forgottenDetail', { sink, ...given })
          : `${wording.say('lookupForgottenDetail', { lookup, ...given })} ${wording.say('eventsWait')}`,
      advice: wording.say('forgottenAdvice', {
        resume: `${program} resume ${sink}`,
        pause: `${program} pause ${sink} --for 2d`,
      }),
    };
  },
};

const reasonOf = ({ because }: Down): string[] => (because ? [asSentence(because.detail)] : []);

const adviceOf = (sink: string, wording: Wording): string =>
  wording.say('pausedAdvice', {
    afterwards: wording.say(lookupOf(sink) === null ? 'messagesGoOn' : 'eventsGoOn'),
    check: `${program} ${liveCheck([{ sink }])}`,
    retry: `${program} retry ${sink}`,
  });

function downFor(
  { kind, sink, since, failures = 0, lastSuccessAt }: Down,
  now: number,
  wording: Wording,
): string {
  const time = inWords(now - since, wording);
  const lookup = lookupOf(sink);
  if (lookup !== null) return wording.say('lookupDetail', { lookup, time });
  // Of one that is tried as usual an attempt may have arrived although nobody knows.
  if (kind === 'failing') return wording.say('failingDetail', { count: failures, sink, time });
  return lastSuccessAt === null || lastSuccessAt <= since
    ? wording.say('pausedDetail', { sink, time })
    : wording.say('flappingDetail', { sink, time, last: inWords(now - lastSuccessAt, wording) });
}

export const refusedCause = (reason: NotTakenIn['reason']): string => `refused ${reason}`;

/** All that was not taken in for those reasons for which there is more since the last notice. */
export function newlyRefused(
  all: readonly NotTakenIn[],
  notified: ReadonlyMap<string, number>,
): NotTakenIn[] {
  const isNew = ({ reason, last }: NotTakenIn) => last > (notified.get(refusedCause(reason)) ?? -Infinity);
  const reasons = new Set(all.filter(isNew).map(({ reason }) => reason));
  return all.filter(({ reason }) => reasons.has(reason));
}

function stuckNotice(
  alert: StuckState,
  { sink, cause, count, firstAt }: StuckCount,
  words: Pick<Notice, 'detail' | 'advice'>,
): Notice {
  return noticeOf(alert, firstAt, { cause: causeOf(alert, sink, cause), sink, count, ...words });
}

/** A notice that begins a trouble and is about no sink, unless `more` says otherwise. */
function noticeOf(
  alert: AlertKind,
  since: number,
  more: Pick<Notice, 'detail' | 'advice'> & Partial<Notice>,
): Notice {
  return { alert, cause: alert, sink: null, count: 0, since, recovered: false, ...more };
}

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

const units = [
  { name: 'days', ms: 86_400_000 },
  { name: 'hours', ms: 3_600_000 },
  { name: 'minutes', ms: 60_000 },
  { name: 'seconds', ms: 1000 },
] as const;

/** A duration in the largest unit of which there are two: `90 minutes`, `3 days`. */
export function inWords(durationMs: number, wording: Wording): string {
  const unit = units.find(({ ms }) => durationMs >= 2 * ms) ?? units[3];
  return wording.say(unit.name, { count: Math.max(1, Math.floor(durationMs / unit.ms)) });
}
