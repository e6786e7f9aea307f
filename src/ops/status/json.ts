import { lookupOf } from '../../model.ts';
import type { RefusedEvents } from '../../model/notices.ts';
import type { ReplicaState, StuckCount } from '../../store/store.ts';
import { placeOf } from '../sink-states.ts';
import type { Pause } from '../pauses.ts';
import type { EmptyLookup } from './empty-lookups.ts';
import type { Status } from './status.ts';
import { needsOf } from '../needs.ts';
import { noticeFields } from '../../printed/json.ts';

/** The status as programs read it. */

const iso = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

/** As `status --json` and `/api/status` have it. */
export function statusJson(status: Status) {
  const { replicas, lastReplica, failing, dead, held } = status;
  const needs = needsOf(status);
  return {
    needsPerson: needs.length > 0,
    needs: needs.map(({ words }) => words),
    running: replicas.length > 0,
    lastSignAt: iso((replicas[0] ?? lastReplica)?.saidAt ?? null),
    config: configJson(replicas[0]),
    copies: replicas.map((replica) => ({ copy: replica.id, config: configJson(replica) })),
    receiver: {
      lastEventAt: iso(status.lastEventAt),
      eventsToday: status.eventsToday,
      rejectedToday: status.rejectedToday,
      rejectedThisWeek: status.rejectedThisWeek,
      unreadInARow: status.unread,
    },
    storeProblem: status.unwritable ?? status.unsent,
    storeRescued: status.rescued,
    storeMovedAt: iso(status.movedAt),
    notServed: status.absences.map(({ from, to }) => ({ from: iso(from), to: iso(to) })),
    refused: refusedJson(status.refused),
    sinks: status.sinks.map((one) => {
      const { pause, nextTryAt, asked, figures, sink, connector, state, trouble, ...rest } = one;
      const { sending: _, calledBy: __, told: ___, ...counts } = rest;
      return {
        sink,
        connector,
        state,
        paused: pause !== null,
        ...pauseJson(pause),
        since: iso(trouble?.since ?? null),
        reason: trouble?.because?.detail ?? null,
        nextProbeAt: iso(nextTryAt),
        askedToWait: asked.map((wait) => ({
          place: placeOf(wait),
          until: iso(wait.until),
          reason: wait.reason,
          refused: wait.refused,
          behind: wait.behind,
        })),
        lastSuccessAt: iso(figures?.lastSuccessAt ?? null),
        ...(figures?.lately ?? { attempts: 0, failures: 0 }),
        ...counts,
      };
    }),
    lookups: status.lookups.map(({ sink, state, trouble, pending, sending }) => ({
      lookup: lookupOf(sink),
      state,
      since: iso(trouble?.since ?? null),
      reason: trouble?.because?.detail ?? null,
      waiting: pending + sending,
      empty: emptyJson(status.emptyLookups.find(({ lookup }) => lookup === lookupOf(sink))),
    })),
    oldestPendingAt: iso(status.oldestPendingAt),
    failing: failing.map(stuckJson),
    dead: dead.map(stuckJson),
    held: held.map(stuckJson),
    missed: status.missed.map(stuckJson),
    notices: status.notices.map(({ notice }) => noticeFields(notice)),
  };
}

const emptyJson = (empty: EmptyLookup | undefined) =>
  empty === undefined ? null : { calls: empty.calls, fields: empty.fields, didFind: empty.didFind };

/** The fields of a pause. `until` and `note` are those of a person's. */
export function pauseJson(pause: Pause | null) {
  const { until, note } = pause?.by === 'person' ? pause : { until: null, note: null };
  return { by: pause?.by ?? null, until: iso(until), note };
}

/** The fields of a replica's config; all null or empty where none runs. */
function configJson(replica: ReplicaState | undefined) {
  const { file = null, since = null, refused = null, waiting = [], closed = null } = replica?.config ?? {};
  return {
    file,
    since: iso(since),
    refused: refused && {
      since: iso(refused.since),
      problem: refused.problem,
      others: refused.others,
      inForce: refused.isInForce ?? false,
    },
    waitsForRestart: waiting,
    adminClosed: closed,
  };
}

const stuckJson = ({ firstAt, state: _, cause: __, doubtful: ___, ...stuck }: StuckCount) => ({
  ...stuck,
  since: iso(firstAt),
});

export const refusedJson = (all: readonly RefusedEvents[]) =>
  all.map(({ first, last, ...one }) => ({ ...one, first: iso(first), last: iso(last) }));
