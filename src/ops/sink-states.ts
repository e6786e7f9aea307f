import { lookupOf } from '../model.ts';
import type { AskedToWait, Reads, SinkFigures, StuckCount } from '../store/store.ts';
import { longWaitMs } from '../store/tallies.ts';
import { program, takesRestart } from '../support/invocation.ts';
import { count } from '../support/text.ts';
import { english } from '../words/wording.ts';
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
export function isFailing(
  { failures, firstFailedAt, lastFailedAt, askedUntil }: SinkFigures,
  now: number,
): boolean {
  if (firstFailedAt === null || lastFailedAt === null) return false;
  if (askedUntil !== null && now - firstFailedAt >= longWaitMs) return true;
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
export function sinkState(figures: SinkFigures | null, isPaused: boolean, now: number): SinkState {
  if (isPaused) return 'paused';
  if (figures === null) return 'unused';
  return isFailing(figures, now) ? 'failing' : 'working';
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
    ? `A changed environment variable ${takesRestart}`
    : null;

/** What helps where a tool cannot be reached from the machine of one replica only; nothing where no other one runs. */
export const elsewhere = (calledBy: string | null): string[] =>
  calledBy === null
    ? []
    : [
        `Replica ${calledBy} makes its calls. Where others can reach the tool, stop that one: another takes over.`,
      ];

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
