import { lookupOf } from '../../../model.ts';
import { nextTry, sinceWords } from '../../../ops/pauses.ts';
import {
  askedWords,
  elsewhere,
  inLastHour,
  isDown,
  mayBeTried,
  nextShows,
  isGone,
  putBack,
  restartHint,
  sinkStates,
  stateWord,
  type TroubleKind,
} from '../../../ops/sink-states.ts';
import type { SinkStatus } from '../../../ops/status/status.ts';
import { program, shellWord } from '../../../support/invocation.ts';
import { printable } from '../../../support/text.ts';
import { type Io, paint, pausedText, when } from '../../output.ts';

/** A sink's state, last success, figures of the last hour, and what helps. */
export function sinkLines(one: SinkStatus, isRunning: boolean, io: Io): string[] {
  const { sink, connector, told, pending, figures } = one;
  const lastSuccessAt = figures?.lastSuccessAt ?? null;
  const parts = [
    stateOf(one, isRunning, io),
    ...(pending > 0 ? [`${pending} waiting`] : []),
    ...(lastSuccessAt === null ? [] : [`last success ${when(lastSuccessAt, io)}`]),
    ...(figures === null ? [] : inLastHour(figures)),
  ];
  const name = lookupOf(sink) ?? (connector === null ? sink : `${sink} (${connector})`);
  const line = `${printable(name)}  ${parts.join(', ')}`;
  if (!isRunning) return [line];
  const help = told === null ? [] : ofTrouble[told.kind][1](one, printable(shellWord(sink)));
  if (connector === null) return [line, ...(isGone(one) ? [`  ${putBack}`] : []), ...help];
  const other = isDown(one) ? elsewhere(one.calledBy).map((words) => `  ${printable(words)}`) : [];
  return [line, ...askedLines(one, io), ...help, ...other];
}

/** Says until when, and why, messages wait that the tool does not take yet. */
const askedLines = ({ asked }: SinkStatus, io: Io): string[] =>
  asked.map((one) => {
    const { who, why } = askedWords(one);
    return `  ${printable(who)} ${when(one.until, io)}, ${printable(why)}`;
  });

/** Says of a sink that works since when what is due waits, and why. */
export function lateLines(one: SinkStatus, since: number | undefined, io: Io): string[] {
  if (since === undefined || one.pause !== null || one.asked.length > 0 || one.trouble !== null) return [];
  return [
    `  the first of them has been due since ${when(since, io)}: more comes than its rate lets through, or the tool is slow`,
  ];
}

function tryLines(one: SinkStatus, name: string): string[] {
  const hint = restartHint(one.pause);
  if (mayBeTried(one))
    return [`  fix that, then: ${program} retry ${name}`, ...(hint === null ? [] : [`  ${hint}`])];
  if (one.dead > 0 && lookupOf(one.sink) === null)
    return [`  fix that, then: ${program} replay --dead --sink ${name}`];
  return [`  fix that. ${nextShows(one.sink)}`];
}

const resumeLine = (name: string): string => `  to let it go on: ${program} resume ${name}`;

/** What is said of a sink in trouble, and what helps. */
const ofTrouble: {
  readonly [kind in TroubleKind]: readonly [word: string, helps: (one: SinkStatus, name: string) => string[]];
} = {
  paused: ['paused', tryLines],
  failing: ['failing', tryLines],
  secrets: ['its changed secrets do not work', () => []],
  forgotten: [
    'paused',
    (_, name) => [`${resumeLine(name)}; to give the pause an end: ${program} pause ${name} --for 2d`],
  ],
  meant: ['paused', (_, name) => [resumeLine(name)]],
};

function stateOf(one: SinkStatus, isRunning: boolean, io: Io): string {
  const { connector, state, figures, trouble, pause, nextTryAt, pending, sending } = one;
  const byPerson = pause?.by === 'person' && `paused ${pausedText(pause, io)}`;
  if (byPerson && (!isRunning || connector === null))
    return isRunning
      ? `not in the config any more, so that what waits is given up when the pause ends; ${byPerson}`
      : `not served; ${byPerson}`;
  if (!isRunning) return pause === null ? 'not served' : `not served; was paused at ${when(pause.since, io)}`;
  if (connector === null) return 'not in the config any more';
  if (byPerson) return paint(io, trouble?.kind === 'forgotten' ? 'red' : 'yellow', byPerson);
  const word = trouble === null ? stateWord(state, figures) : ofTrouble[trouble.kind][0];
  const because = trouble === null ? figures?.because : trouble.because;
  const why = because ? `: ${printable(because.detail).replace(/\.$/, '')}` : '';
  if (trouble === null)
    return word === sinkStates[state]
      ? state === 'working'
        ? paint(io, 'green', word)
        : word
      : `${word}${why}`;
  const since = `${paint(io, 'red', word)} ${sinceWords(trouble.since, (time) => when(time, io)).join('')}${why}`;
  if (pause === null) return since;
  const isNext = nextTryAt === null || pending + sending === 0;
  const next = lookupOf(one.sink) === null ? 'message' : 'event';
  return `${since}${nextTry}${isNext ? `with the next ${next}` : when(nextTryAt, io)}`;
}
