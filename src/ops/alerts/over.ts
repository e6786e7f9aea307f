import { lookupOf } from '../../model.ts';
import type { AlertKind, Notice, RaisedNotice, RefusedEvents, StuckState } from '../../model/notices.ts';
import type { SinkFigures, StuckCount } from '../../store/store.ts';
import { program } from '../../support/invocation.ts';
import { english, type Wording } from '../../words/wording.ts';
import { causeOf, inWords, refusedCause } from './conditions.ts';

/** A sink that fails sooner than that after it worked is in the same outage. */
const recoveryMs = 60_000;

/** The alerts whose end is told, too. */
export const endingAlerts: readonly AlertKind[] = ['paused', 'config'];

/** What may be in the troubles that these tell of. */
export interface Troubled {
  /** All paused or failing sinks, also those that no delivery waits for. */
  readonly down: ReadonlySet<string>;
  /** See `workedAt`. */
  readonly workedAt: ReadonlyMap<string, number | null>;
  /** Null if the config's file is in force as it is. */
  readonly refused: object | null;
}

/** When each sink's last call worked (ms). Null where one has failed since: it may be on its way to count as failing. */
export const workedAt = (all: readonly SinkFigures[]): Troubled['workedAt'] =>
  new Map(all.map(({ sink, failures, lastSuccessAt }) => [sink, failures > 0 ? null : lastSuccessAt]));

/** Whether the trouble of a sink, or of the config, has ended. */
const hasEnded = (
  { sink, since }: Pick<Notice, 'sink' | 'since'>,
  { down, workedAt: worked, refused }: Troubled,
): boolean => (sink === null ? refused === null : !down.has(sink) && (worked.get(sink) ?? 0) > since);

/** What the end of a trouble is told by. `id`: of the notice that told of it. */
export type Trouble = Pick<RaisedNotice, 'id' | 'alert' | 'sink' | 'since'>;

interface State extends Troubled {
  readonly now: number;
  readonly elapsed: number;
}

/** Which of the troubles that people were told of are over. */
export class Recoveries {
  /** When the end of each notice's trouble was first seen, on the scale of Clock.elapsed. */
  #endedAt = new Map<string, number>();

  look(told: readonly Trouble[], { now, elapsed, ...troubled }: State, wording = english): Notice[] {
    const ended = told.filter((notice) => hasEnded(notice, troubled));
    this.#endedAt = new Map(ended.map(({ id }) => [id, this.#endedAt.get(id) ?? elapsed]));
    return ended.flatMap((notice) => {
      const endedMs = elapsed - this.#endedAt.get(notice.id)!;
      const mayBeSame = notice.sink !== null && endedMs < recoveryMs;
      return mayBeSame ? [] : [recovery(notice, inWords(now - endedMs - notice.since, wording), wording)];
    });
  }
}

function recovery({ id, alert, sink, since }: Trouble, time: string, wording: Wording): Notice {
  // Told once for each notice.
  const common = { alert, cause: `${alert} over: ${id}`, sink, count: 0, since, recovered: true };
  if (sink === null) {
    const detail = wording.say('inForceDetail', { time });
    return { ...common, detail, advice: wording.say('nothingToDo') };
  }
  const lookup = lookupOf(sink);
  if (lookup !== null) {
    const advice = wording.say('lookupWorksAdvice', {
      command: `${program} lookup --unanswered`,
      apply: `${program} apply --rule NAME`,
    });
    return { ...common, detail: wording.say('lookupWorksDetail', { lookup, time }), advice };
  }
  const command = `${program} events --state dead --sink ${sink}`;
  const advice = wording.say('worksAdvice', { command });
  return { ...common, detail: wording.say('worksDetail', { sink, time }), advice };
}

/** How it is now with all that notices tell of. */
export interface Present extends Troubled {
  readonly now: number;
  readonly dead: readonly StuckCount[];
  readonly held: readonly StuckCount[];
  readonly refusedEvents: readonly RefusedEvents[];
  readonly lastEventAt: number;
}

const weekMs = 7 * 86_400_000;

type IsOver = (notice: RaisedNotice, present: Present) => boolean;

/** A trouble has ended, or the end of one is not so any more. */
const trouble: IsOver = (notice, present) => hasEnded(notice, present) !== notice.recovered;
const stuck =
  (state: StuckState): IsOver =>
  ({ cause }, { [state]: all }) =>
    !all.some((one) => causeOf(state, one.sink, one.cause) === cause);

const isOverOf: { readonly [alert in Notice['alert']]: IsOver } = {
  paused: trouble,
  config: trouble,
  dead: stuck('dead'),
  held: stuck('held'),
  refused: ({ cause }, { refusedEvents }) =>
    !refusedEvents.some(({ reason }) => refusedCause(reason) === cause),
  silence: ({ since }, { lastEventAt }) => lastEventAt > since,
  // The next one has come.
  summary: ({ raisedAt }, { now }) => now - raisedAt >= weekMs,
};

/** Whether what a notice tells of is not so any more. Whoever read it now would look for what is not there. Pure. */
export const isOver: IsOver = (notice, present) => isOverOf[notice.alert](notice, present);
