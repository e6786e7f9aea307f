import type { RefusedEvents } from '../model/notices.ts';
import { english, type Wording } from '../words/wording.ts';
import { refusals } from './refusals.ts';
import { liveCheck, nameOf, type SinkTrouble, type TroubleKind } from './sink-states.ts';
import type { StuckState } from '../model.ts';
import type { RefusedFile } from '../store/store.ts';
import { totalOf } from '../support/lists.ts';

/** All that may need a person. */
export interface Troubles {
  /** Whether a connector serves the store. */
  readonly isServed: boolean;
  /** Why the store cannot be written; null if it can. */
  readonly unwritable: string | null;
  readonly refused: readonly RefusedEvents[];
  /** The configs that were refused, or are in force although they break a policy. */
  readonly refusedConfigs: readonly RefusedFile[];
  /** Whether changed keys wait for a restart. */
  readonly isWaiting: boolean;
  /** Whether the admin port lets nobody in. */
  readonly isClosed: boolean;
  readonly sinks: readonly SinkTrouble[];
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

/** Which troubles of sinks are one need. What a person meant is none. */
const needOf = {
  paused: 'down',
  failing: 'down',
  secrets: 'locked',
  forgotten: 'forgotten',
  meant: 'none',
} as const satisfies { readonly [kind in TroubleKind]: string };

/**
 * What needs a person, for `status`, the pages and the weekly summary alike. `wording`: the language of the sentences.
 * Pure.
 */
export function needsOf(
  { isServed, unwritable, refused, refusedConfigs, isWaiting, isClosed, sinks, failing, stuck }: Troubles,
  wording = english,
): Need[] {
  const { down = [], locked = [], forgotten = [] } = Object.groupBy(sinks, ({ kind }) => needOf[kind]);
  const names = (all: Troubles['sinks'], by = wording) => all.map(({ sink }) => nameOf(sink, by)).join(', ');
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
      words: down.map(({ sink, kind }) => `${nameOf(sink)} is ${kind}`).join(', '),
      sentence: wording.say('needDown', { sinks: names(down) }),
      command: liveCheck(down),
      causes: down.length,
    },
    locked.length > 0 && {
      words: `the changed secrets of ${names(locked, english)} do not work`,
      sentence: wording.say('needSecrets', { sinks: names(locked) }),
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
  const bySink = Map.groupBy(stuck, ({ sink }) => sink);
  const counts = Array.from(bySink, ([sink, some]) => ({ sink, count: totalOf(some) }));
  return (
    stuck.length > 0 && {
      words: `${totalOf(stuck)} ${state}`,
      sentence: wording.say(text, { list: countsOf(counts, wording) }),
      command: `events --state ${state}`,
      causes: stuck.length,
    }
  );
}

/** When a changed config was refused as it is now (ms); an older version kept only since when. */
export const refusedAt = ({ since, lastAt = since }: RefusedFile): number => lastAt;
