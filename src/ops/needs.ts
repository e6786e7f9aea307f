import { isIP } from 'node:net';
import { isInternal } from '../http/addresses.ts';
import { program } from '../support/invocation.ts';
import { lookupOf } from '../model.ts';
import type { RefusedEvents, StuckState } from '../model/notices.ts';
import type { AskedToWait, Reads, SinkFigures, StuckCount } from '../store/store.ts';
import { count } from '../support/text.ts';
import { english, type Wording } from '../words/wording.ts';
import type { Pause } from './pauses.ts';

/** The states of a sink, in the words of people. */
export const sinkStates = {
  unused: 'not used yet',
  working: 'working',
  failing: 'failing',
  paused: 'paused',
} as const;
export type SinkState = keyof typeof sinkStates;

const failuresToFail = 5;
const failingForMs = 60_000;

/** Whether a sink counts as failing, by its figures. A pause takes more messages than a small team has in a day; this does not. */
export function isFailing({ failures, firstFailedAt, lastFailedAt }: SinkFigures): boolean {
  if (firstFailedAt === null || lastFailedAt === null) return false;
  return failures >= failuresToFail && lastFailedAt - firstFailedAt >= failingForMs;
}

const hourMs = 3_600_000;

/**
 * Deliveries that have failed for an hour in sinks that work for others: somebody may have to put right one tab, channel or
 * recipient. An hour, because mail servers refuse for minutes what they take later.
 */
export const failingAlone = (
  store: Pick<Reads, 'failingSince'>,
  working: readonly string[],
  now: number,
): Promise<StuckCount[]> => store.failingSince(working, now - hourMs, failuresToFail);

/** The state of a sink. `figures` null: it was never called. */
export function sinkState(figures: SinkFigures | null, isPaused: boolean): SinkState {
  if (isPaused) return 'paused';
  if (figures === null) return 'unused';
  return isFailing(figures) ? 'failing' : 'working';
}

/** The word for a state; `working, perhaps failing` where all attempts of the last hour failed, too few to count as failing. */
export function stateWord(state: SinkState, figures: SinkFigures | null): string {
  const { attempts = 0, failures = 0 } = figures?.lately ?? {};
  const onlyFailed = attempts > 0 && failures === attempts;
  const word = sinkStates[state];
  return state === 'working' && onlyFailed ? `${word}, perhaps failing` : word;
}

/** How the attempts of the last hour went, in words; empty where there were none. */
export function inLastHour({ lately: { attempts, failures } }: SinkFigures): string[] {
  if (attempts === 0) return [];
  const tried = count(attempts, 'attempt');
  return [failures === 0 ? `${tried} in the last hour` : `${failures} of ${tried} failed in the last hour`];
}

export interface SinkCondition {
  readonly state: SinkState;
  readonly pause: Pause | null;
}

/** Whether a sink is failing, or was paused by the connector. A person's pause is meant. */
export const isDown = ({ state, pause }: SinkCondition): boolean =>
  (state === 'failing' || state === 'paused') && pause?.by !== 'person';

/** What the person has to know who gives a paused sink new credentials; null where it was paused for something else. */
export const restartHint = (pause: Pause | null): string | null =>
  pause?.by === 'connector' && pause.because?.reason === 'auth'
    ? 'A changed environment variable takes a restart of each replica.'
    : null;

/** Whether something waits for a sink that is down, so that `retry` helps. What was given up has to be replayed instead. */
export const mayBeTried = (
  one: SinkCondition & { readonly pending: number; readonly sending: number },
): boolean => isDown(one) && one.pending + one.sending > 0;

/**
 * Whether the only trouble of a sink is that its changed secrets do not work, as was seen at `since` (ms): it is neither
 * paused nor failing, and no call has worked after that.
 */
export const onlySecretsFail = (
  since: number,
  isPausedOrFailing: boolean,
  lastSuccessAt: number | null | undefined,
): boolean => !isPausedOrFailing && since >= (lastSuccessAt ?? 0);

/** The place in its sink where deliveries wait, such as a channel; null where the sink has no such places. */
export const placeOf = ({ sink, lane }: Pick<AskedToWait, 'sink' | 'lane'>): string | null =>
  lane === sink ? null : lane.slice(sink.length + 1);

/** `3 messages to #hiring wait until` and `as the tool asked: …`: the caller puts the time in between. */
export function askedWords(asked: AskedToWait): { readonly who: string; readonly why: string } {
  const { refused, behind, reason } = asked;
  const place = placeOf(asked);
  const many = count(refused, lookupOf(asked.sink) === null ? 'message' : 'event');
  return {
    who: `${many}${place === null ? '' : ` to ${place}`} ${refused === 1 ? 'waits' : 'wait'} until`,
    why: `as the tool asked: ${reason.replace(/\.$/, '')}${behind === 0 ? '' : `; ${behind} more ${behind === 1 ? 'is' : 'are'} due behind ${refused === 1 ? 'it' : 'them'}`}`,
  };
}

/** The part of a sentence that says until when a tool asked to wait. `until`: a time in words. */
export const toolsWish = (until: string): string =>
  `its tool asked to wait until ${until}, and may ask for longer where it is called before`;

/** The latest time (ms) until which a tool asked to wait, at any place of its sink; null where it did not. */
export const askedUntil = (asked: readonly AskedToWait[]): number | null =>
  asked.length === 0 ? null : Math.max(...asked.map(({ until }) => until));

/** A sink that a person wants to have tried. */
export interface FoundSink extends SinkCondition {
  readonly figures: SinkFigures | null;
  readonly asked: readonly AskedToWait[];
  /** Why its changed secrets do not work; null where they work, or where more is wrong. */
  readonly secretFault: { readonly detail: string } | null;
}

/** Why a sink cannot be tried now; null if it can. `at`: a time in words. */
export function noRetry(sink: string, found: FoundSink, at: (time: number) => string): string | null {
  if (isDown(found)) return null;
  const { state, pause, figures, secretFault } = found;
  const until = askedUntil(found.asked);
  if (pause === null && until !== null) return `${nameOf(sink)} is not tried now: ${toolsWish(at(until))}`;
  const word = stateWord(state, figures);
  const when =
    lookupOf(sink) === null ? `: \`${program} events --state pending --sink ${sink}\` says when` : '';
  if (secretFault !== null)
    return `the changed secrets of ${nameOf(sink)} do not work: ${secretFault.detail.replace(/\.$/, '')}; put these right. What waits for it is tried as usual${when}`;
  return (
    keptBack(sink, pause) ??
    (state === 'working'
      ? `${nameOf(sink)} is ${word === state ? 'neither paused nor failing' : word}; what waits for it is tried as usual${when}`
      : `${nameOf(sink)} is ${sinkStates[state]}: there is nothing to try`)
  );
}

/** Whether nothing is wrong with a sink that a person wants to have tried: it may have recovered by itself meanwhile. */
export const worksAlready = ({ state, figures, asked, secretFault }: FoundSink): boolean =>
  stateWord(state, figures) === sinkStates.working && asked.length === 0 && secretFault === null;

/** Why what is sent to a paused sink waits, and what ends that; null where it is not paused. */
export function keptBack(sink: string, pause: Pause | null): string | null {
  if (pause === null) return null;
  return pause.by === 'person'
    ? `${nameOf(sink)} is paused by ${pause.who}; \`${program} resume ${sink}\` ends that`
    : `${nameOf(sink)} is paused, as it fails; \`${program} retry ${sink}\` tries it now`;
}

/** The advice where something waits for a sink that is not in the config any more. */
export const putBack =
  'Put the sink back under this name, beside the new one where it was renamed, and what waits goes out. Else each is given up when it is due.';

/** The advice where a sink is paused and nothing waits for it: only the next message shows whether it works. */
export const nextShows = (sink: string): string =>
  lookupOf(sink) === null
    ? `The next message shows whether it works: \`${program} replay\` one, or \`${program} send\` an event, which people get like any other.`
    : `The next event shows whether it works, or \`${program} lookup EVENT\` with one that \`${program} events --unanswered\` lists.`;

/** Whether a person paused the sink a day ago or longer, without an end. */
export const isForgotten = ({ pause }: Pick<SinkCondition, 'pause'>): boolean =>
  pause?.by === 'person' && pause.isForgotten;

/** The command that asks these sinks whether they work. Look-ups are made for a candidate only. */
export const liveCheck = (all: readonly { readonly sink: string }[]): string =>
  all.some(({ sink }) => lookupOf(sink) !== null) ? 'check --live --candidate ID' : 'check --live';

/** The name of a sink, or of a look-up, in a sentence. */
export const nameOf = (sink: string, wording = english): string => {
  const lookup = lookupOf(sink);
  return lookup === null ? sink : wording.say('lookup', { lookup });
};

/** All that may need a person. */
export interface Troubles {
  /** Whether a connector serves the store. */
  readonly isServed: boolean;
  /** Why the store cannot be written; null if it can. */
  readonly unwritable: string | null;
  readonly refused: readonly RefusedEvents[];
  /** The configs that were refused, or are in force although they break a policy. */
  readonly refusedConfigs: readonly { readonly isInForce?: boolean }[];
  /** Whether changed keys wait for a restart. */
  readonly isWaiting: boolean;
  /** Whether the admin port lets nobody in. */
  readonly isClosed: boolean;
  readonly sinks: readonly (SinkCondition & {
    readonly sink: string;
    /** See `onlySecretsFail`. */
    readonly secretFault?: object | null;
  })[];
  /** See `failingAlone`. */
  readonly failing: readonly { readonly sink: string; readonly count: number }[];
  /** Deliveries that are dead or held, by cause or by sink. */
  readonly stuck: readonly { readonly sink: string; readonly state: StuckState; readonly count: number }[];
}

export interface Need {
  /** A few words, as part of a list. */
  readonly words: string;
  /** A sentence with all that is known, without its full stop. */
  readonly sentence: string;
  /** The command that shows more. */
  readonly command: string;
  /** The number of causes, each of which needs another fix. Default: 1. */
  readonly causes?: number;
}

/**
 * What needs a person, for `status`, the pages and the weekly summary alike. `wording`: the language of the sentences.
 * Pure.
 */
export function needsOf(
  { isServed, unwritable, refused, refusedConfigs, isWaiting, isClosed, sinks, failing, stuck }: Troubles,
  wording = english,
): Need[] {
  const down = sinks.filter(isDown);
  const locked = sinks.filter((one) => one.secretFault);
  const lockedNames = locked.map(({ sink }) => sink);
  const forgotten = sinks.filter(isForgotten).map(({ sink }) => sink);
  const names = (all: readonly string[], by = wording) => all.map((sink) => nameOf(sink, by)).join(', ');
  const needs: (Need | false)[] = [
    !isServed && {
      words: 'no connector serves the store',
      sentence: wording.say('needServed'),
      command: 'status',
    },
    unwritable !== null && {
      words: 'the store cannot be written',
      sentence: wording.say('needUnwritable', { why: unwritable.replace(/\.$/, '') }),
      command: 'status',
    },
    ...refusals(refused, wording).map(({ words, what }) => ({ words, sentence: what, command: 'status' })),
    refusedConfigs.some(({ isInForce }) => isInForce) && {
      words: 'the config in force breaks a policy',
      sentence: wording.say('needBroken'),
      command: 'check',
    },
    refusedConfigs.some(({ isInForce }) => !isInForce) && {
      words: 'the changed config was refused',
      sentence: wording.say('needConfig'),
      command: 'check',
    },
    isWaiting && {
      words: 'changed keys wait for a restart',
      sentence: wording.say('needRestart'),
      command: 'status',
    },
    isClosed && {
      words: 'the admin port lets nobody in',
      sentence: wording.say('needClosed'),
      command: 'status',
    },
    down.length > 0 && {
      words: down.map(({ sink, state }) => `${nameOf(sink)} is ${sinkStates[state]}`).join(', '),
      sentence: wording.say('needDown', { sinks: names(down.map(({ sink }) => sink)) }),
      command: liveCheck(down),
      causes: down.length,
    },
    locked.length > 0 && {
      words: `the changed secrets of ${names(lockedNames, english)} do not work`,
      sentence: wording.say('needSecrets', { sinks: names(lockedNames) }),
      command: 'check --live',
      causes: locked.length,
    },
    forgotten.length > 0 && {
      words: `${names(forgotten, english)} ${forgotten.length === 1 ? 'is' : 'are'} still paused by a person`,
      sentence: wording.say('needForgotten', { sinks: names(forgotten) }),
      command: 'status',
      causes: forgotten.length,
    },
    failing.length > 0 && {
      words: `${countsOf(failing, english)} failing for an hour`,
      sentence: wording.say('needFailing', { list: countsOf(failing, wording) }),
      command: 'events --state pending',
      causes: failing.length,
    },
    stuckNeed('dead', 'needDead', stuck, wording),
    stuckNeed('held', 'needHeld', stuck, wording),
  ];
  return needs.filter((need) => need !== false);
}

const countsOf = (all: Troubles['failing'], wording: Wording): string =>
  all.map(({ count: some, sink }) => wording.say('countTo', { count: some, sink })).join(', ');

function stuckNeed(
  state: StuckState,
  text: 'needDead' | 'needHeld',
  all: Troubles['stuck'],
  wording: Wording,
): Need | false {
  const stuck = all.filter((one) => one.state === state && one.count > 0);
  const sum = (some: Troubles['stuck']) => some.reduce((total, one) => total + one.count, 0);
  const bySink = Map.groupBy(stuck, ({ sink }) => sink);
  const counts = Array.from(bySink, ([sink, some]) => ({ sink, count: sum(some) }));
  return (
    stuck.length > 0 && {
      words: `${sum(stuck)} ${state}`,
      sentence: wording.say(text, { list: countsOf(counts, wording) }),
      command: `events --state ${state}`,
      causes: stuck.length,
    }
  );
}

/** The events that were refused for one reason, in words. */
export interface Refusals extends RefusedEvents {
  readonly words: string;
  /** Why, as the end of a sentence. */
  readonly why: string;
  /** A sentence without its full stop. */
  readonly what: string;
  /** What to put right. */
  readonly fix: string;
  /** The fix, and what to do about the events that are kept. */
  readonly advice: string;
  /** The command that puts the events away. */
  readonly command: string;
}

const refusalTexts = {
  store: { short: 'not stored', why: 'whyStore', advice: 'adviceStore' },
  address: { short: 'refused for the address', why: 'whyAddress', advice: 'adviceAddress' },
  token: { short: 'refused for the token', why: 'whyToken', advice: 'adviceToken' },
  path: { short: 'sent to another path', why: 'whyPath', advice: 'advicePath' },
} as const satisfies { readonly [reason in RefusedEvents['reason']]: object };

const namedSources = 3;
/** The command that lists what never arrived, with placeholders for what has to be given. */
export const reconcileCommand = (): string =>
  `${program} reconcile export.csv --candidate COLUMN --test COLUMN --status COLUMN --at COLUMN`;

/** The caution before all events from a source are taken in; null where its address is on the internet. */
export const cautionOf = (from: string): string | null =>
  isInternal(from)
    ? `${from} looks like a proxy of yours, and anybody may be behind it: take in only what the testing service knows of.`
    : null;

/** When a changed config was refused as it is now (ms); an older version kept only since when. */
export const refusedAt = ({
  since,
  lastAt = since,
}: {
  readonly since: number;
  readonly lastAt?: number | undefined;
}): number => lastAt;

/** One for each reason. */
export function refusals(all: readonly RefusedEvents[], wording = english): Refusals[] {
  return Array.from(
    Map.groupBy(all, ({ reason }) => reason),
    ([reason, alike]) => {
      const sources = alike.toSorted((a, b) => b.count - a.count).map(({ from }) => from);
      const list = sources.slice(0, namedSources).join(', ');
      const more = sources.length - namedSources;
      const from = more > 0 ? wording.say('andMore', { list, count: more }) : list;
      const total = alike.reduce((sum, one) => sum + one.count, 0);
      const { short, why: whyText, advice } = refusalTexts[reason];
      const why = wording.say(whyText);
      const proxies = reason === 'store' ? [] : sources.filter(isInternal);
      const fix = [
        ...(proxies.length > 0
          ? [wording.say('adviceProxy', { from: proxies.slice(0, namedSources).join(', ') })]
          : []),
        ...(proxies.length > 0 && reason === 'address' && proxies.length === sources.length
          ? []
          : [wording.say(advice, { command: reconcileCommand() })]),
      ].join(' ');
      // The service sends nothing a third time.
      const takeIn = wording.say(proxies.length > 0 ? 'takeInById' : 'takeIn', {
        list: `${program} events --refused`,
        accept: `${program} accept ${proxies.length > 0 ? 'ID' : `--from ${isIP(from) ? from : 'ADDRESS'}`}`,
        ignore: `${program} ignore`,
      });
      return {
        reason,
        from,
        count: total,
        first: Math.min(...alike.map(({ first }) => first)),
        last: Math.max(...alike.map(({ last }) => last)),
        words: `${count(total, 'event')} ${total === 1 ? 'was' : 'were'} ${short}`,
        why,
        what: wording.say('refusedDetail', { count: total, from, why }),
        fix,
        advice: [
          fix,
          ...(reason === 'store' ? [] : [takeIn]),
          ...(total === 1 ? [] : [wording.say('requestsCount')]),
        ].join(' '),
        command: `${program} ignore --reason ${reason}`,
      };
    },
  );
}
