import type { Delivery } from '../model.ts';
import { type AskedToWait, inForce, type PersonPause, type SinkPause, type Store } from '../store/store.ts';
import { printable } from '../support/text.ts';

/** A person's pause without an end is taken for forgotten after so long. */
const forgottenAfterMs = 86_400_000;

/** A sink's pause, by a person or by the connector. */
export type Pause =
  | ({ readonly by: 'connector' } & SinkPause)
  | ({ readonly by: 'person'; readonly isForgotten: boolean } & Omit<PersonPause, 'phase'>);

export type Pauses = ReadonlyMap<string, Pause>;

/** The pauses in force, by sink. A person's wins over the connector's own. */
export async function pausesNow(reads: Pick<Store, 'pauses' | 'personPauses'>, now: number): Promise<Pauses> {
  const own = (await reads.pauses()).map((one) => {
    // The clock may have been set back.
    const since = Math.min(one.since, now);
    return [one.sink, Object.assign(one, { by: 'connector', since } as const)] as const;
  });
  return new Map<string, Pause>([...own, ...pausesOfPeople(await reads.personPauses(), now)]);
}

/**
 * The pieces of what follows "paused": by whom, since when, until when and why, as in `by ana (since 17:13): “moving”`; the
 * connector's own are `as it fails (since 17:13)`.
 * `at` makes a piece of a time (ms).
 */
export function pausedWords<T>(pause: Pause, at: (time: number) => T): (string | T)[] {
  if (pause.by === 'connector') return ['as it fails ', ...sinceWords(pause.since, at)];
  const until = pause.until === null ? [] : [', until ', at(pause.until)];
  const note = pause.note === null ? '' : `: “${printable(pause.note)}”`;
  return [`by ${printable(pause.who)} `, ...sinceWords(pause.since, at, until), note];
}

/** The pieces of `(since 17:13)`, and what else belongs into the brackets. */
export const sinceWords = <T>(
  since: number,
  at: (time: number) => T,
  more: readonly (string | T)[] = [],
): (string | T)[] => ['(since ', at(since), ...more, ')'];

/** The pieces of `; next try 17:20`; none where the connector did not pause the sink, or may try it already. */
export const nextTryWords = <T>(pause: Pause, now: number, at: (time: number) => T): (string | T)[] =>
  pause.by === 'connector' && pause.probeAt > now ? [nextTry, at(pause.probeAt)] : [];

/** Whether a delivery that is due at `dueAt` waits for the end of a pause, or for the next try of a sink that fails. */
export const holdsBack = (pause: Pause, dueAt: number, now: number): boolean =>
  dueAt <= now || dueAt < (pause.by === 'person' ? (pause.until ?? Infinity) : pause.probeAt);

/** Whether a delivery waits for its time, such as a digest's, and not because something failed. */
export const isAhead = ({ state, dueAt, attempts }: Delivery, now: number): boolean =>
  state === 'pending' && attempts === 0 && dueAt > now;

/** Why a delivery that was not tried yet is due only later, to follow "due" and the time. */
export function dueWords(delivery: Delivery, now: number): string {
  const { dueAt, since, group } = delivery;
  if (!isAhead(delivery, now)) return '';
  if (group !== null) return ', in a digest';
  // It was put off at its time, which may be for either.
  const orOther = dueAt === since ? '' : ', or it is known whether another message of its key has arrived';
  return `, when its hours begin${orOther}`;
}

/** What stands before the time of a paused sink's next try. */
export const nextTry = '; next try ';

/** Why deliveries that are due are not sent. */
export interface Obstacles {
  readonly pauses: Pauses;
  /** The lanes in which a tool asked to wait. */
  readonly asked: ReadonlyMap<string, AskedToWait>;
}

export async function obstaclesNow(
  reads: Pick<Store, 'pauses' | 'personPauses' | 'askedToWait'>,
  now: number,
): Promise<Obstacles> {
  const asked = (await reads.askedToWait(now)).map((one) => [one.lane, one] as const);
  return { pauses: await pausesNow(reads, now), asked: new Map(asked) };
}

/** The pauses of people that are in force, by sink. */
export const pausesOfPeople = (all: readonly PersonPause[], now: number) =>
  new Map(
    inForce(all, now)
      .values()
      .map(({ phase: _, ...pause }) => {
        const isForgotten = pause.until === null && now - pause.since >= forgottenAfterMs;
        return [pause.sink, { ...pause, by: 'person', isForgotten } as const] as const;
      }),
  );
