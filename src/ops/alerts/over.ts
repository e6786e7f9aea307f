import { lookupOf, type StuckState } from '../../model.ts';
import type { AlertKind, Notice, NotTakenIn, RaisedNotice } from '../../model/notices.ts';
import type { SinkFigures, StuckCount } from '../../store/store.ts';
import { program } from '../../support/invocation.ts';
import { english, type Wording } from '../../words/wording.ts';
import { weekMs } from '../absence.ts';
import type { SinkCondition } from '../sink-states.ts';
import { causeOf, inWords, refusedCause } from './conditions.ts';

/** A sink that fails again within this time after it worked is in the same outage. */
const recoveryMs = 60_000;

/** The alerts whose end people are told of, too. */
export const endingAlerts: readonly AlertKind[] = ['paused', 'config'];

/** The sinks and the config as they are now, by which the end of a trouble is seen. */
export interface Troubled {
  readonly sinks: readonly (Pick<SinkCondition, 'sink' | 'state'> & {
    readonly figures: Pick<SinkFigures, 'failures' | 'lastSuccessAt'> | null;
  })[];
  /** Null if the config's file is in force as it is. */
  readonly refused: object | null;
}

/** Whether the trouble of a sink, or of the config, has ended. A sink that has failed since it worked may soon count as failing. */
const hasEnded = ({ sink, since }: Pick<Notice, 'sink' | 'since'>, { sinks, refused }: Troubled): boolean =>
  sink === null
    ? refused === null
    : sinks.some(
        ({ sink: name, state, figures }) =>
          name === sink &&
          state === 'working' &&
          figures?.failures === 0 &&
          (figures.lastSuccessAt ?? 0) > since,
      );

/** A trouble whose end is to be told. `id`: that of the notice which told of it. */
export type Told = Pick<RaisedNotice, 'id' | 'alert' | 'sink' | 'since'>;

interface State extends Troubled {
  readonly now: number;
  readonly elapsed: number;
}

/** Finds the troubles that people were told of and that are over. */
export class Recoveries {
  /** When the end of each notice's trouble was first seen, on the scale of Clock.elapsed. */
  #endedAt = new Map<string, number>();

  look(told: readonly Told[], { now, elapsed, ...troubled }: State, wording = english): Notice[] {
    const ended = told.filter((notice) => hasEnded(notice, troubled));
    this.#endedAt = new Map(ended.map(({ id }) => [id, this.#endedAt.get(id) ?? elapsed]));
    return ended.flatMap((notice) => {
      const endedMs = elapsed - this.#endedAt.get(notice.id)!;
      const mayBeSame = notice.sink !== null && endedMs < recoveryMs;
      return mayBeSame ? [] : [recovery(notice, inWords(now - endedMs - notice.since, wording), wording)];
    });
  }
}

function recovery({ id, alert, sink, since }: Told, time: string, wording: Wording): Notice {
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

/** All that notices tell of, as it is now. */
export interface Present extends Troubled {
  readonly now: number;
  readonly dead: readonly StuckCount[];
  readonly held: readonly StuckCount[];
  readonly refusedEvents: readonly NotTakenIn[];
  readonly lastEventAt: number;
}

type IsOver = (notice: RaisedNotice, present: Present) => boolean;

/** Over where the trouble has ended; a notice of its end, where the trouble is back. */
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

/** Whether a notice tells of what is not so any more, so that nobody has to read it. Pure. */
export const isOver: IsOver = (notice, present) => isOverOf[notice.alert](notice, present);
