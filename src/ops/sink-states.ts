import { lookupOf } from '../model.ts';
import type { Failure } from '../model/outcomes.ts';
import type { AskedToWait, Reads, ReplicaState, SinkFigures, Store, StuckCount } from '../store/store.ts';
import { longWaitMs } from '../store/tallies.ts';
import { program, takesRestart } from '../support/invocation.ts';
import { count } from '../support/text.ts';
import { english } from '../words/wording.ts';
import { type Pause, pausesNow } from './pauses.ts';

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

/**
 * Why a sink sends nothing, or may soon not, and the state as which that is shown.
 * forgotten: a person paused it a day ago or longer, without an end. secrets: its only trouble is that its changed secrets do
 * not work. meant: a person paused it.
 */
const troubles = {
  paused: 'paused',
  failing: 'failing',
  forgotten: 'paused',
  secrets: null,
  meant: 'paused',
} as const satisfies { readonly [kind: string]: SinkState | null };
export type TroubleKind = keyof typeof troubles;

export interface SinkTrouble {
  readonly kind: TroubleKind;
  readonly sink: string;
  readonly since: number;
  readonly because: Failure | null;
}

/** What sinks are judged by. `replicas`: those that run. */
export const sinkFacts = async (
  reads: Pick<Store, 'pauses' | 'personPauses' | 'sinkFigures'>,
  replicas: readonly Pick<ReplicaState, 'secretFaults'>[],
  now: number,
) => ({
  now,
  pauses: await pausesNow(reads, now),
  figures: await reads.sinkFigures(now),
  secretFaults: replicas.flatMap(({ secretFaults = [] }) => secretFaults),
});

type SinkFacts = Awaited<ReturnType<typeof sinkFacts>>;

/** How a sink is. Pure: whatever says so goes by this. */
export function conditionOf(
  sink: string,
  { now, pauses, figures: all, secretFaults }: SinkFacts,
  isInConfig = true,
) {
  const pause = pauses.get(sink) ?? null;
  /** Null if the sink was never called. */
  const figures = all.find((one) => one.sink === sink) ?? null;
  const trouble = troubleOf(sink, pause, figures, secretFaults, now);
  const otherwise = figures === null ? 'unused' : 'working';
  const state: SinkState = (trouble && troubles[trouble.kind]) ?? otherwise;
  /**
   * What people are told is wrong with it. Of one that left the config it is only a person's pause, which keeps what waits
   * until it ends; nobody ends another one.
   */
  const told = isInConfig || pause?.by === 'person' ? trouble : null;
  return { sink, state, trouble, told, pause, figures };
}
export type SinkCondition = ReturnType<typeof conditionOf>;

function troubleOf(
  sink: string,
  pause: Pause | null,
  figures: SinkFigures | null,
  secretFaults: SinkFacts['secretFaults'],
  now: number,
): SinkTrouble | null {
  if (pause?.by === 'person')
    return { kind: pause.isForgotten ? 'forgotten' : 'meant', sink, since: pause.since, because: null };
  if (pause) return { kind: 'paused', sink, since: pause.since, because: pause.because };
  if (figures && isFailing(figures, now))
    return { kind: 'failing', sink, since: figures.firstFailedAt!, because: figures.because };
  // A call that worked after that shows that they are right.
  const fault = secretFaults.find((one) => one.sink === sink && one.since >= (figures?.lastSuccessAt ?? 0));
  return fault
    ? { kind: 'secrets', sink, since: fault.since, because: { reason: 'auth', detail: fault.detail } }
    : null;
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

/** Whether a sink is failing, or was paused by the connector. */
export const isDown = ({ trouble }: Pick<SinkCondition, 'trouble'>): boolean =>
  trouble?.kind === 'failing' || trouble?.kind === 'paused';

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
  one: Pick<SinkCondition, 'trouble'> & { readonly pending: number; readonly sending: number },
): boolean => isDown(one) && one.pending + one.sending > 0;

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
  readonly asked: readonly AskedToWait[];
}

/** Why a sink cannot be tried now; null if it can. `at`: a time in words. */
export function noRetry(found: FoundSink, at: (time: number) => string): string | null {
  if (isDown(found)) return null;
  const { sink, state, pause, figures, trouble } = found;
  const until = askedUntil(found.asked);
  if (pause === null && until !== null) return `${nameOf(sink)} is not tried now: ${toolsWish(at(until))}`;
  const word = stateWord(state, figures);
  const when =
    lookupOf(sink) === null ? `: \`${program} events --state pending --sink ${sink}\` says when` : '';
  if (trouble?.kind === 'secrets')
    return `the changed secrets of ${nameOf(sink)} do not work: ${trouble.because!.detail.replace(/\.$/, '')}; put these right. What waits for it is tried as usual${when}`;
  return (
    keptBack(sink, pause) ??
    (state === 'working'
      ? `${nameOf(sink)} is ${word === state ? 'neither paused nor failing' : word}; what waits for it is tried as usual${when}`
      : `${nameOf(sink)} is ${sinkStates[state]}: there is nothing to try`)
  );
}

/** Whether nothing is wrong with a sink that a person wants to have tried: it may have recovered by itself meanwhile. */
export const worksAlready = ({ state, figures, asked, trouble }: FoundSink): boolean =>
  stateWord(state, figures) === sinkStates.working && asked.length === 0 && trouble === null;

/** Why what is sent to a paused sink waits, and what ends that; null where it is not paused. */
export function keptBack(sink: string, pause: Pause | null): string | null {
  if (pause === null) return null;
  return pause.by === 'person'
    ? `${nameOf(sink)} is paused by ${pause.who}; \`${program} resume ${sink}\` ends that`
    : `${nameOf(sink)} is paused, as it fails; \`${program} retry ${sink}\` tries it now`;
}

/** Whether a sink has left the config while something waits for it. */
export const isGone = ({
  connector,
  pending,
  sending,
}: {
  readonly connector: string | null;
  readonly pending: number;
  readonly sending: number;
}): boolean => connector === null && pending + sending > 0;

/** The advice for such a sink. */
export const putBack =
  'Put the sink back under this name, beside the new one where it was renamed, and what waits goes out. Else each is given up when it is due.';

/** The advice where a sink is paused and nothing waits for it: only the next message shows whether it works. */
export const nextShows = (sink: string): string =>
  lookupOf(sink) === null
    ? `The next message shows whether it works: \`${program} replay\` one, or \`${program} send\` an event, which people get like any other.`
    : `The next event shows whether it works, or \`${program} lookup EVENT\` with an earlier one.`;

/** The command that asks these sinks whether they work. Look-ups are made for a candidate only. */
export const liveCheck = (all: readonly { readonly sink: string }[]): string =>
  all.some(({ sink }) => lookupOf(sink) !== null) ? 'check --live --candidate ID' : 'check --live';

/** The name of a sink, or of a look-up, in a sentence. */
export const nameOf = (sink: string, wording = english): string => {
  const lookup = lookupOf(sink);
  return lookup === null ? sink : wording.say('lookup', { lookup });
};
