import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { styleText } from 'node:util';
import { stringify } from 'yaml';
import {
  type CandidateEvent,
  type Delivery,
  type DeliveryState,
  type Event,
  isStuck,
  type Json,
} from '../model.ts';
import type { RaisedNotice, RefusedEvent } from '../model/notices.ts';
import type { Attempt } from '../model/outcomes.ts';
import { windowEnd } from '../rules/calendar.ts';
import type { Action, Verdict } from '../rules/plan.ts';
import {
  holdsBack,
  dueWords,
  nextTryWords,
  type Obstacles,
  obstaclesNow,
  type Pause,
  pausedWords,
} from '../ops/pauses.ts';
import type { Change, DeliveryStory, Store } from '../store/store.ts';
import { mapLeaves } from '../support/json.ts';
import { printable, timeText, zoned } from '../support/text.ts';

/** A command's input and output: the process, or a buffer in tests. */
export interface Io {
  out(text: string): void;
  /**
   * Resolves when what was printed has left far enough to print more; to false where nobody takes it any more. Whoever
   * prints much waits for it, or all of it would be held in memory.
   */
  drained(): Promise<boolean>;
  err(text: string): void;
  /** Asks the person at the terminal; missing if there is none. */
  ask?(question: string): Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The time zone of printed times; UTC by default. */
  readonly timeZone?: string;
  /** True on a terminal. */
  readonly color: boolean;
}

/** Prints lines to a stream until that fails. */
export function printer(stream: Writable): Pick<Io, 'out' | 'drained'> & { fault(): Promise<Error | null> } {
  let fault: Error | null = null;
  let printed = false;
  stream.on('error', (error) => (fault ??= error));
  return {
    out(text) {
      printed = true;
      if (fault === null) stream.write(`${text}\n`);
    },
    async drained() {
      // Rejects if the stream fails meanwhile; `fault` has the error then.
      if (fault === null && stream.writableNeedDrain) await once(stream, 'drain').catch(() => undefined);
      return fault === null;
    },
    /** The error because of which not all was printed; null if there was none. */
    async fault() {
      // A stream reports the fault of its last write in a later turn.
      await nextTurn();
      return printed ? fault : null;
    },
  };
}

const tellEveryMs = 5000;

/** Makes a function that says whether it is time to report progress again; with `isEnd`, it always is. */
export function nowAndThen(): (isEnd?: boolean) => boolean {
  let toldAt = performance.now();
  return (isEnd = false) => {
    if (!isEnd && performance.now() < toldAt + tellEveryMs) return false;
    toldAt = performance.now();
    return true;
  };
}

/** Exit codes as the contract has them. */
export const exit = { ok: 0, problems: 1, usage: 2, differs: 3, needsPerson: 4 } as const;

/** An error that is printed without a stack. `code`: the exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: number;

  constructor(message: string, code: number = exit.problems) {
    super(message);
    this.code = code;
  }
}

/** Refuses a command that asks first where nobody can be asked. `instead`: the flags to give, for people. */
export function needsPerson(io: Io, { yes, dryRun }: AskFlags, instead: string): void {
  if (!yes && !dryRun && !io.ask) throw new CommandError(`nobody can be asked here: ${instead}`, exit.usage);
}

/** Whether a person says yes to a question, at the terminal or before by `--yes`. */
export async function isAgreed(io: Io, { yes }: AskFlags, question: string): Promise<boolean> {
  return yes === true || !io.ask || /^y(es)?$/i.test((await io.ask(`${question} [y/N] `)).trim());
}

interface AskFlags {
  readonly yes?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
}

type Style = Parameters<typeof styleText>[0];

const stateStyles: Record<DeliveryState, Style> = {
  pending: 'yellow',
  sending: 'yellow',
  delivered: 'green',
  dead: 'red',
  held: 'magenta',
  discarded: 'gray',
};

/** Colours text on a terminal. */
export function paint(io: Pick<Io, 'color'>, style: Style, text: string): string {
  return io.color ? styleText(style, text, { validateStream: false }) : text;
}

const paintState = (io: Io, state: DeliveryState): string => paint(io, stateStyles[state], state);

/** A time for people: `2026-11-21 08:00:00 UTC`, or `2026-11-21 09:00:00 +01:00` by their own clock. */
export function when(time: number, { timeZone = 'UTC' }: Pick<Io, 'timeZone'>): string {
  return timeText(time, timeZone);
}

/** When a message that is planned `now` is due, and why not at once: `due Mon … UTC (08:00 Europe/Zagreb), when office opens`. */
export function dueText({ hours, digest }: Action, dueAt: number, now: number): string {
  if (dueAt === now) return 'at once';
  const collected = digest ? windowEnd(digest.windows, now) : now;
  const opening = dueAt === collected ? null : hours;
  const reasons = [
    ...(digest ? ['with the digest'] : []),
    ...(opening ? [`when ${printable(opening.name)} opens`] : []),
  ];
  return [`due ${clocks(dueAt, (opening ?? digest?.windows)?.timeZone ?? 'UTC')}`, ...reasons].join(', ');
}

/** A time in UTC and, in brackets, by the clock that decided it, with the weekday if that differs. */
function clocks(time: number, timeZone: string): string {
  const utc = zoned(time, 'UTC');
  const there = utc.withTimeZone(timeZone);
  const shown = `${weekday(utc)} ${when(time, {})}`;
  if (timeZone === 'UTC') return shown;
  const day = weekday(utc) === weekday(there) ? '' : `${weekday(there)} `;
  return `${shown} (${day}${there.toPlainTime().toString({ smallestUnit: 'minute' })} ${timeZone})`;
}

const weekday = (moment: Temporal.ZonedDateTime): string => moment.toLocaleString('en', { weekday: 'short' });

/** The sinks that are paused now, and where a tool asked to wait. Deliveries that are due wait for them. */
export const obstaclesOf = async (
  store: Pick<Store, 'pauses' | 'personPauses' | 'askedToWait' | 'now'>,
): Promise<Obstacles> => obstaclesNow(store, await store.now());

/** Who paused a sink, since when, until when and why. */
export const pausedText = (pause: Pause, io: Io): string =>
  pausedWords(pause, (time) => when(time, io)).join('');

/** Prints the reasons in a list. One that hundreds of deliveries share is printed once, and at the end how often. */
export class Reasons {
  readonly #known = new Map<string, { readonly first: string; count: number }>();

  of({ id, lastError }: Delivery): string {
    if (lastError === null) return '';
    const known = this.#known.getOrInsertComputed(lastError, () => ({ first: id, count: 0 }));
    known.count += 1;
    return known.count === 1 ? `: ${printable(lastError)}` : `: as ${known.first}`;
  }

  counted(): string[] {
    const several = [...this.#known].filter(([, { count }]) => count > 1);
    return several
      .toSorted(([, a], [, b]) => b.count - a.count)
      .map(([reason, { count }]) => `${count} deliveries: ${printable(reason)}`);
  }
}

/** Names a candidate, by the number that messages show, if there is one, and the id. */
export const candidateText = ({ candidateId, candidateNumericalId: number }: CandidateEvent): string =>
  `candidate ${number === null ? '' : `${number}  `}${printable(candidateId)}`;

/** An event in a list, on one line. */
export const eventLine = (
  {
    id,
    receivedAt,
    status,
    testId,
    candidateId,
  }: Pick<Event, 'id' | 'receivedAt' | 'status' | 'testId' | 'candidateId'>,
  io: Pick<Io, 'timeZone'>,
): string =>
  `  ${id}  ${when(receivedAt, io)}  ${status}  test ${testId}  candidate ${printable(candidateId)}`;

/** An event that was refused, and is kept, on one line. */
export function refusedLine(one: RefusedEvent, io: Io): string {
  const { id, at, from, reason, status, testId, attempts } = one;
  const often = attempts > 1 ? ` ${attempts}×` : '';
  return `${id}  ${when(at, io)}  ${status}  test ${testId}  ${candidateText(one)}  from ${printable(from)}, refused for the ${reason}${often}`;
}

/** A delivery in a list, on one line. */
export function deliveryLine(one: Delivery, obstacles: Obstacles, io: Io, reasons = new Reasons()): string {
  return `    ${one.sink}  ${stateText(one, obstacles, io)}  ${one.id}${reasons.of(one)}`;
}

/** A delivery with its message and attempts, a line for each. */
export function deliveryText(one: DeliveryStory, obstacles: Obstacles, io: Io): string[] {
  return [
    `  ${one.sink}  ${stateText(one, obstacles, io)}  ${one.id}  (rule ${printable(one.rule)}, action ${one.action + 1})`,
    ...(one.resendOf === null ? [] : [`    sent again by hand, as ${one.resendOf} was before`]),
    ...(one.carrier === null || one.carrier === one.id
      ? []
      : [`    in the digest that went out as ${one.carrier}`]),
    ...(one.message === null ? [] : messageLines(one.message)),
    ...one.history.map((attempt) => `    ${attemptText(attempt, io)}`),
    ...(isStuck(one.state) ? [`    ${printable(one.lastError ?? '')}`] : []),
  ];
}

function stateText(one: Delivery, { pauses, asked }: Obstacles, io: Io): string {
  const { state, dueAt, sink, lane } = one;
  if (state !== 'pending') return paintState(io, state);
  const pause = pauses.get(sink);
  const now = Date.now();
  if (dueAt <= now && pause === undefined && asked.has(lane)) {
    const { until, reason } = asked.get(lane)!;
    return `${paintState(io, state)}, waits until ${when(until, io)}, as the tool asked (${printable(reason.replace(/\.$/, ''))})`;
  }
  const due = `due ${when(dueAt, io)}${dueWords(one, now)}`;
  if (pause === undefined || !holdsBack(pause, dueAt, now)) return `${paintState(io, state)}, ${due}`;
  const next = nextTryWords(pause, now, (time) => when(time, io)).join('');
  const then = dueAt > now && pause.by === 'person' ? `; ${due}` : '';
  return `${paintState(io, state)}, waits: the sink is paused ${pausedText(pause, io)}${next}${then}`;
}

export function attemptText({ number, startedAt, outcome }: Attempt, io: Io): string {
  const head = `attempt ${number}  ${when(startedAt, io)}  ${outcome.outcome}`;
  if (outcome.outcome !== 'delivered') return `${head} (${outcome.reason}): ${printable(outcome.detail)}`;
  const note = outcome.note === undefined ? '' : `  ${printable(outcome.note)}`;
  return `${head}: ${printable(JSON.stringify(outcome.receipt))}${note}`;
}

/** Longer texts, such as a mail's HTML, are cut. */
const longestShown = 1000;

/** The lines of a message as YAML, as in the config. */
export function messageLines(message: Json): string[] {
  const shown = mapLeaves(message, (leaf) =>
    typeof leaf === 'string' && leaf.length > longestShown
      ? `${leaf.slice(0, 200).trimEnd()}\n… (${leaf.length} characters; --json shows them all)`
      : (leaf as Json),
  );
  const lines = stringify(shown, { lineWidth: 0 }).trimEnd().split('\n');
  return lines.map((one) => `    ${printable(one)}`);
}

/** Who did what, from where and why, on one line. */
export function changeLine({ at, who, from, action, note, sink, deliveries }: Change, io: Io): string {
  const why = note === null ? '' : `: ${note}`;
  const [first = '', ...others] = deliveries;
  const which =
    first === ''
      ? sink === null
        ? ''
        : ` ${sink}`
      : ` ${first}${others.length === 0 ? '' : ` and ${others.length} more`}`;
  const words = printable(`${which}, by ${who} from ${from}${why}`);
  return `${when(at, io)}  ${paint(io, 'bold', action)}${words}`;
}

/** A notice in a list, on one line. */
export function noticeHead({ raisedAt, cause, recovered, alert, sink }: RaisedNotice, io: Io): string {
  // The cause of a notice of an end has the id of the notice before.
  const what = recovered ? ['over:', alert, ...(sink === null ? [] : [sink])].join(' ') : cause;
  return `${when(raisedAt, io)}  ${paint(io, 'bold', printable(what))}`;
}

/** One rule's verdict, on one line. */
export function verdictText({ rule, matched, because }: Verdict, io: Io): string {
  const mark = matched ? paint(io, 'green', '✓') : paint(io, 'gray', '✗');
  return `  ${mark} ${printable(`${rule}: ${because}`)}`;
}
