import type { Notice, RaisedNotice, RefusedEvents, StuckState } from '../../model/notices.ts';
import type { StuckCount } from '../../store/store.ts';
import { causeOf, hasEnded, refusedCause, type Troubled } from './conditions.ts';

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
