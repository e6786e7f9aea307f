import { isOver } from '../alerts/over.ts';
import { type Announcer, sayEveryMs } from '../announcer.ts';
import { absencesIn, weekMs } from '../absence.ts';
import { conditionOf, failingAlone, sinkFacts } from '../sink-states.ts';
import { lookupOf } from '../../model.ts';
import type { RefusedEvents } from '../../model/notices.ts';
import { addRefused } from '../../store/operations/refused/figures.ts';
import {
  type Reads,
  type ReplicaState,
  type SinkCount,
  type Store,
  StoreUnavailable,
} from '../../store/store.ts';
import { zoned } from '../../support/text.ts';
import { emptyLookups } from './empty-lookups.ts';

/** A replica without a sign for so long is taken for ended. Two signs in a row may be late. */
const aliveForMs = 3 * sayEveryMs;
const shownNotices = 5;
/** Events are counted up to here. */
const mostUnanswered = 1000;
/** Fewer events in a row may be odd ones among others. */
const fewestUnread = 3;

export type StuckNotice = Status['stuckNotices'][number];
export type SinkStatus = Awaited<ReturnType<typeof readSinks>>['sinks'][number];

/** The state of the connector, as the store knows it. */
export type Status = Awaited<ReturnType<typeof readStatus>>;

/** The sources of a status: the store, and what the process that asks has in memory. */
export interface StatusParts {
  readonly reads: Reads;
  readonly store: Pick<Store, 'probe' | 'now' | 'rescued'>;
  /** Refused events that are not in the store yet. */
  readonly refused: { readonly unwritten: readonly RefusedEvents[] };
  /** Of the replica that this process is: its sign of life is not in the store where that cannot be written. */
  readonly announcer: Pick<Announcer, 'state'> | null;
}

/** The sources for a process that serves nothing, such as a command. */
export const onlyStore = (store: Store): StatusParts => ({
  reads: store,
  store,
  refused: { unwritten: [] },
  announcer: null,
});

/** Reads the status. `now` in ms; `timeZone`: the config's, in which today begins. */
export async function readStatus(parts: StatusParts, now: number, timeZone: string) {
  const { reads: store } = parts;
  const own = parts.announcer?.state();
  const others = (await store.replicaStates()).filter(({ id }) => id !== own?.id);
  const all = own === undefined ? others : [own, ...others];
  const replicas = running(all, now);
  const weekAgo = now - weekMs;
  const counts = await store.counts();
  const stuck = await store.deadSince(-1, weekAgo);
  const called = await readSinks(store, replicas, counts, now);
  const busy = called.sinks.filter(({ state, pending }) => state === 'working' && pending > 0);
  const today = zoned(now, timeZone).startOfDay();
  const unwritable = await parts.store.probe().then(
    () => null,
    (error: unknown) => {
      if (error instanceof StoreUnavailable) return error.message;
      throw error;
    },
  );
  const refused = await refusedOf(parts);
  const held = counts.some(({ states }) => states.held > 0) ? await store.heldSince(-1) : [];
  const lastEventAt = (await store.lastEventAt(now)) ?? (await store.lastEventAt());
  const present = {
    now,
    sinks: [...called.sinks, ...called.lookups],
    refused: replicas.find(({ config }) => config.refused !== null) ?? null,
    dead: stuck,
    held,
    refusedEvents: [...refused, ...(await store.rejectedSince(weekAgo))],
    lastEventAt: lastEventAt ?? 0,
  };
  return {
    now,
    /** Why the store cannot be written just now; null if it can. */
    unwritable,
    /** Why what waits cannot be sent, though events are stored; null if it can. */
    unsent: unwritable === null ? (replicas.find(({ unsent }) => unsent)?.unsent ?? null) : null,
    /** The file with what the store had before it was replaced in use, until a person takes it away; null if there is none. */
    rescued: parts.store.rescued(),
    /** Events that were refused, until a person puts that away. */
    refused,
    /** The replicas that serve the store, those with a refused config first. */
    replicas: replicas.toSorted(
      (a, b) => Number(b.config.refused !== null) - Number(a.config.refused !== null),
    ),
    /** When a replica last saw in the last week that PostgreSQL was promoted, restored or moved (ms). Null if none did. */
    movedAt: lastMove(all, weekAgo),
    /** The long times of the last week in which nobody served the store. */
    absences: absencesIn(all, now),
    /** The replica that served the store last; null while one serves it. */
    lastReplica: replicas.length > 0 ? null : (all[0] ?? null),
    lastEventAt,
    unread: unreadIn(await store.unreadSince(weekAgo, now)),
    ...(await store.waiting(today.epochMilliseconds, weekAgo)),
    ...called,
    /** The look-ups that find nothing, or not all. */
    emptyLookups: await emptyLookups(
      store,
      called.lookups.flatMap(({ sink, figures }) => (figures === null ? [] : [sink])),
    ),
    /** Events of the last week that lack an answer of a look-up; see EventSearch.unanswered. */
    unanswered: await unansweredSince(store, called.lookups.length > 0, weekAgo),
    /** Deliveries that go on failing in sinks that work. */
    failing: await failingAlone(
      store,
      busy.map(({ sink }) => sink),
      now,
    ),
    /** Dead deliveries of events, by cause. `held` likewise; those of notices are in `stuckNotices`. */
    dead: stuck.filter(({ state }) => state === 'dead'),
    held,
    /** Deliveries of notices that are dead or held. */
    stuckNotices: (await store.stuckNotices()).map((one) =>
      Object.assign(one, { isOver: isOver(one.notice, present) }),
    ),
    /** Deliveries of the last week that were delivered, though not to everybody. */
    missed: stuck.filter(({ state }) => state === 'delivered'),
    notices: await store.notices({ limit: shownNotices }),
  };
}

/** The events of the last week that were rejected since the last valid one; 0 where that are too few for a changed format. */
const unreadIn = (rejected: number): number => (rejected < fewestUnread ? 0 : rejected);

function lastMove(replicas: readonly ReplicaState[], since: number): number | null {
  const last = Math.max(...replicas.map(({ movedAt }) => movedAt ?? -Infinity));
  return last >= since ? last : null;
}

/** The events since a time (ms) that lack an answer of a look-up. `isAnsweredNow`: an answer to each has come after all. */
async function unansweredSince(store: Pick<Reads, 'matches'>, hasLookups: boolean, since: number) {
  if (!hasLookups) return { count: 0, isAll: true, isAnsweredNow: true };
  const lacking = await store.matches({ unanswered: true, since }, mostUnanswered);
  const isAnsweredNow =
    lacking.count === 0 || (await store.matches({ unanswered: 'unknown', since }, 1)).count === 0;
  return { ...lacking, isAnsweredNow };
}

/** The refused events that were not put away, with those that this process could not write yet. */
export async function refusedOf({
  reads,
  refused,
}: Pick<StatusParts, 'refused'> & { readonly reads: Pick<Store, 'refused'> }): Promise<RefusedEvents[]> {
  return addRefused(await reads.refused(), refused.unwritten);
}

/** The replicas that serve the store, of all that ever did. */
export function running(replicas: readonly ReplicaState[], now: number): ReplicaState[] {
  return replicas.filter((replica) => !replica.stopped && Math.abs(now - replica.saidAt) < aliveForMs);
}

/** The sinks of the config, and others that deliveries still wait for; and the look-ups likewise. */
async function readSinks(
  store: Pick<Store, 'pauses' | 'personPauses' | 'lanes' | 'sinkFigures' | 'askedToWait'>,
  replicas: readonly ReplicaState[],
  counts: readonly SinkCount[],
  now: number,
) {
  const facts = await sinkFacts(store, replicas, now);
  const heads = facts.pauses.size === 0 ? [] : await store.lanes();
  const asked = await store.askedToWait(now);
  const known = new Map(
    replicas.flatMap(({ sinks }) => sinks.map(({ name, connector }) => [name, connector] as const)),
  );
  const countOf = new Map(counts.map(({ sink, states }) => [sink, states]));
  const paused = facts.pauses.values().flatMap(({ sink, by }) => (by === 'person' ? [sink] : []));
  const all = [...new Set([...known.keys(), ...countOf.keys(), ...paused])]
    .map((sink) => {
      const { pending = 0, sending = 0, dead = 0, held = 0 } = countOf.get(sink) ?? {};
      const dueAt = heads.filter((head) => head.sink === sink).map((head) => head.dueAt);
      const condition = conditionOf(sink, facts, known.has(sink));
      const { pause } = condition;
      return Object.assign(condition, {
        /** Null if no running replica has the sink in its config. */
        connector: known.get(sink) ?? null,
        /** Of several replicas the one that makes its calls. */
        calledBy:
          replicas.length > 1
            ? (replicas.find(({ sinks }) => sinks.some(({ name, mine }) => name === sink && mine))?.id ??
              null)
            : null,
        /** When a sink that the connector paused is tried again (ms); null if that takes the next message. */
        nextTryAt: pause?.by === 'connector' ? tryAt(pause, sending > 0 ? [now] : dueAt, now) : null,
        /** The places where the tool asked to wait. */
        asked: asked.filter((one) => one.sink === sink),
        sending,
        pending,
        dead,
        held,
      });
    })
    .filter(
      ({ sink, pending, dead, held, pause }) =>
        known.has(sink) || pending + dead + held > 0 || pause?.by === 'person',
    );
  const { sinks = [], lookups = [] } = Object.groupBy(all, ({ sink }) =>
    lookupOf(sink) === null ? 'sinks' : 'lookups',
  );
  return { sinks, lookups };
}

/** When a paused sink is tried next (ms). A try is a message, so one has to be due as well; null where none is. */
function tryAt(
  { probeAt }: { readonly probeAt: number },
  dueAt: readonly number[],
  now: number,
): number | null {
  if (dueAt.length > 0) return Math.max(now, probeAt, Math.min(...dueAt));
  return probeAt > now ? probeAt : null;
}
