import { type StuckState, stuckStates } from '../model.ts';
import type { StuckCount } from '../store/store.ts';
import { totalOf } from '../support/lists.ts';
import { english, type Wording } from '../words/wording.ts';
import { refusals } from './refusals.ts';
import { isGone, liveCheck, nameOf, type SinkTrouble, type TroubleKind } from './sink-states.ts';
import type { EmptyLookup } from './status/empty-lookups.ts';
import type { SinkStatus, Status } from './status/status.ts';
import { differForLong } from './status/words.ts';

/** What may need a person; `refused`, `unread`: events; `gone`: a sink for which something waits; `empty`: a look-up. */
export type NeedKind =
  | 'served'
  | 'unwritable'
  | 'unsent'
  | 'rescued'
  | 'refused'
  | 'unread'
  | 'broken'
  | 'config'
  | 'restart'
  | 'differ'
  | 'closed'
  | SinkNeed
  | 'gone'
  | 'empty'
  | 'failing'
  | StuckState;
type SinkNeed = 'down' | 'locked' | 'forgotten';

export interface Need {
  readonly kind: NeedKind;
  /** A few words, as part of a list. */
  readonly words: string;
  /** A sentence with all that is known, without its full stop. */
  readonly sentence: string;
  /** The command that shows more. */
  readonly command: string;
  /** The number of causes, each of which needs another fix. Default: 1. */
  readonly causes?: number;
}

/** Which need a trouble of a sink is. What a person meant is none. */
export const needOf = {
  paused: 'down',
  failing: 'down',
  secrets: 'locked',
  forgotten: 'forgotten',
  meant: 'none',
} as const satisfies { readonly [kind in TroubleKind]: SinkNeed | 'none' };

/** What needs a person, for commands, pages and the weekly summary alike. `wording`: the language of the sentences. Pure. */
export function needsOf(status: Status, wording = english): Need[] {
  const { replicas, sinks, lookups, unwritable, unsent, rescued, refused, unread, failing } = status;
  const configs = replicas.map(({ config }) => config);
  const troubles = [...sinks, ...lookups].flatMap(({ told }) => told ?? []);
  const { down = [], locked = [], forgotten = [] } = Object.groupBy(troubles, ({ kind }) => needOf[kind]);
  const gone = goneSinks(status).map(({ sink, pending, sending }) => ({ sink, count: pending + sending }));
  const empty = status.emptyLookups.filter(({ didFind }) => didFind);
  const names = (all: readonly SinkTrouble[], by = wording) =>
    all.map(({ sink }) => nameOf(sink, by)).join(', ');
  const needs: (Need | false)[] = [
    // Where the store cannot be written, no replica can say that it serves it.
    replicas.length === 0 &&
      unwritable === null && {
        kind: 'served',
        words: 'no connector serves the store',
        sentence: wording.say('needServed'),
        command: 'status',
      },
    unwritable !== null && {
      kind: 'unwritable',
      words: 'the store cannot be written',
      sentence: wording.say('needUnwritable', { why: unwritable.replace(/\.$/, '') }),
      command: 'status',
    },
    unsent !== null && {
      kind: 'unsent',
      words: 'what waits cannot be sent',
      sentence: wording.say('needUnsent', { why: unsent.replace(/\.$/, '') }),
      command: 'status',
    },
    rescued !== null && {
      kind: 'rescued',
      words: 'the store was replaced while it was in use',
      sentence: wording.say('needRescued', { file: rescued }),
      command: 'status',
    },
    ...refusals(refused, wording).map(({ words, what }) => ({
      kind: 'refused' as const,
      words,
      sentence: what,
      command: 'status',
    })),
    unread > 0 && {
      kind: 'unread',
      words: `the last ${unread} events could not be read`,
      sentence: wording.say('needUnread', { count: unread }),
      command: 'events --rejected',
    },
    configs.some((one) => one.refused?.isInForce === true) && {
      kind: 'broken',
      words: 'the config in force breaks a policy',
      sentence: wording.say('needBroken'),
      command: 'check',
    },
    configs.some((one) => one.refused && !one.refused.isInForce) && {
      kind: 'config',
      words: 'the changed config was refused',
      sentence: wording.say('needConfig'),
      command: 'check',
    },
    configs.some(({ waiting }) => waiting.length > 0) && {
      kind: 'restart',
      words: 'changed keys wait for a restart',
      sentence: wording.say('needRestart'),
      command: 'status',
    },
    differForLong(status) && {
      kind: 'differ',
      words: 'the replicas run different configs',
      sentence: wording.say('needDiffer'),
      command: 'status',
    },
    configs.some(({ closed }) => typeof closed === 'string') && {
      kind: 'closed',
      words: 'the admin port lets nobody in',
      sentence: wording.say('needClosed'),
      command: 'status',
    },
    down.length > 0 && {
      kind: 'down',
      words: down.map(({ sink, kind }) => `${nameOf(sink)} is ${kind}`).join(', '),
      sentence: wording.say('needDown', { sinks: names(down) }),
      command: liveCheck(down),
      causes: down.length,
    },
    locked.length > 0 && {
      kind: 'locked',
      words: `the changed secrets of ${names(locked, english)} do not work`,
      sentence: wording.say('needSecrets', { sinks: names(locked) }),
      command: 'check --live',
      causes: locked.length,
    },
    forgotten.length > 0 && {
      kind: 'forgotten',
      words: `${names(forgotten, english)} ${forgotten.length === 1 ? 'is' : 'are'} still paused by a person`,
      sentence: wording.say('needForgotten', { sinks: names(forgotten) }),
      command: 'status',
      causes: forgotten.length,
    },
    gone.length > 0 && {
      kind: 'gone',
      words: `${countsOf(gone, english)} waiting for a sink that is not in the config any more`,
      sentence: wording.say('needGone', { list: countsOf(gone, wording) }),
      command: 'status',
      causes: gone.length,
    },
    empty.length > 0 && {
      kind: 'empty',
      words: empty.map(emptyWords).join(', '),
      sentence: wording.say('needEmpty', { list: empty.map(emptyIn).join('; ') }),
      command: 'status',
      causes: empty.length,
    },
    failing.length > 0 && {
      kind: 'failing',
      words: `${countsOf(failing, english)} failing for an hour`,
      sentence: wording.say('needFailing', { list: countsOf(failing, wording) }),
      command: 'events --state pending',
      causes: failing.length,
    },
    ...stuckStates.map((state) => stuckNeed(state, status, wording)),
  ];
  return needs.filter((need) => need !== false);
}

/**
 * The sinks for which something waits that will be given up, as no running replica has them in its config. A person's pause
 * without an end keeps what waits until somebody ends it; one with an end does not.
 */
export const goneSinks = ({ replicas, sinks }: Pick<Status, 'replicas' | 'sinks'>): SinkStatus[] =>
  replicas.length === 0
    ? []
    : sinks.filter((one) => isGone(one) && !(one.pause?.by === 'person' && one.pause.until === null));

/** How many causes need a person: as many as the page lists. */
export const causesOf = (status: Status): number =>
  needsOf(status).reduce((sum, { causes = 1 }) => sum + causes, 0);

const emptyWords = ({ lookup, fields }: EmptyLookup): string =>
  `the look-up ${lookup} finds no${fields === null ? 'thing' : ` ${fields.join(' or ')}`} any more`;

const emptyIn = ({ lookup, fields }: EmptyLookup): string =>
  fields === null ? lookup : `${lookup} (${fields.join(', ')})`;

const countsOf = (all: readonly Pick<StuckCount, 'sink' | 'count'>[], wording: Wording): string =>
  all.map(({ count: some, sink }) => wording.say('countTo', { count: some, sink })).join(', ');

function stuckNeed(state: StuckState, status: Status, wording: Wording): Need | false {
  const ofEvents = status[state];
  // The figures of sinks have those of notices, too.
  const ofNotices = status.sinks.map(({ sink, [state]: all }) => ({
    sink,
    count: all - totalOf(ofEvents.filter((one) => one.sink === sink)),
  }));
  const stuck = [...ofEvents, ...ofNotices].filter((one) => one.count > 0);
  const bySink = Map.groupBy(stuck, ({ sink }) => sink);
  const counts = Array.from(bySink, ([sink, some]) => ({ sink, count: totalOf(some) }));
  return (
    stuck.length > 0 && {
      kind: state,
      words: `${totalOf(stuck)} ${state}`,
      sentence: wording.say(state === 'dead' ? 'needDead' : 'needHeld', { list: countsOf(counts, wording) }),
      command: `events --state ${state}`,
      causes: stuck.length,
    }
  );
}
