import { settleIn } from './housekeeping.ts';
import { all, get, lock, query, run, type Operation } from '../operation.ts';

/**
 * Who of several replicas does what. A lease runs by the database's clock. Its epoch counts how often it was taken, so that
 * a replica that stood still cannot go on with one that was taken over.
 */
export interface Lease {
  readonly name: string;
  readonly replica: string;
  readonly epoch: number;
}

export interface LeaseRequest {
  readonly replica: string;
  readonly configId: string;
  /** What the replica can do by its config. */
  readonly names: readonly string[];
  /** What has to be done although it is not in this replica's config. */
  readonly extra: readonly string[];
  /** Of these, what this replica takes if no replica has it in its config. */
  readonly orphans: readonly string[];
  /** False: it only renews what it has. */
  readonly takes: boolean;
  /** For how long the leases run (ms). Without a sign for so long, a replica is taken for ended. */
  readonly forMs: number;
  /** How long (ms) a tool may be at work on what was begun with a lease. */
  readonly quietMs?: (name: string) => number;
}

export interface LeaseState {
  /** The epochs of the leases that the replica holds, by name. */
  readonly held: ReadonlyMap<string, number>;
  /** What it should give back when it is idle, because other replicas have less. */
  readonly surplus: readonly string[];
  /** Of `extra`, what no replica has in its config, and no other holds. */
  readonly unknown: readonly string[];
  /** The replicas that are alive, this one among them. */
  readonly replicas: readonly { readonly id: string; readonly configId: string }[];
  /** The database has its config. A standby that took over, or a restored dump, may lack it. */
  readonly isConfigKept: boolean;
  /** What the database's clock says (ms). */
  readonly now: number;
  /** See `settleIn`. Where the database is in another place, all leases have ended. */
  readonly distrusted: number | null;
}

/** What a process that serves the store says of itself every few seconds, so that whoever reads the store knows. */
export interface ReplicaState {
  readonly id: string;
  /** By its clock (ms). */
  readonly saidAt: number;
  /** It was stopped, and did not die. */
  readonly stopped: boolean;
  readonly config: {
    readonly id: string;
    readonly file: string;
    /** When it was loaded (ms). */
    readonly since: number;
    /** Null if the file is in force as it is, and nothing is wrong with it; see RefusedConfig. */
    readonly refused: {
      readonly since: number;
      readonly problem: string;
      readonly others: number;
      readonly isInForce?: boolean;
    } | null;
    /** The changed keys that take effect at the next start. */
    readonly waiting: readonly string[];
    /** Why nobody is let in on the admin port. */
    readonly closed?: string | null;
  };
  readonly sinks: readonly { readonly name: string; readonly connector: string }[];
  /** The sinks whose changed secrets do not work. */
  readonly secretFaults?: readonly {
    readonly sink: string;
    readonly since: number;
    readonly detail: string;
  }[];
}

/** Milliseconds by PostgreSQL's clock, which all replicas share. */
export const now = `(extract(epoch from clock_timestamp()) * 1000)::bigint`;

interface LeaseRow {
  readonly name: string;
  readonly holder: string;
  readonly epoch: number;
  readonly live: number;
}

/** Which server it is. See `placeOf`. */
const ownPlace = `nullif(current_setting('candidate_connector.place', true), '')`;

/** On another server than the one before, nobody holds anything until the next renewal. */
const isHeld = (strength: string) =>
  query<{ readonly name: string }>(`
    select name from leases where name = $1 and holder = $2 and epoch = $3
      and not exists (select 1 from home where place <> ${ownPlace}) for ${strength}`);

/** Only PostgreSQL has these tables: nobody else may serve a SQLite file meanwhile. */
const sql = {
  keepReplica: `
    insert into copies (id, config_id, names, until) values ($1, $2, $3, ${now} + $4)
    on conflict (id) do update set config_id = $2, names = $3, until = ${now} + $4`,
  /** $1: how long a sign counts. One from much later is by the clock of another server. */
  forgetEndedReplicas: `delete from copies where until <= ${now} or until > ${now} + 2 * $1`,
  forgetReplica: `delete from copies where id = $1`,
  replicas: query<{
    readonly id: string;
    readonly configId: string;
    readonly names: string;
    readonly kept: number;
  }>(`
    select id, config_id as "configId", names, case when config_id in (select id from configs) then 1 else 0 end as kept
    from copies order by id`),
  liveReplicas: query<{ readonly id: string }>(`select id from copies where until > ${now} order by id`),
  leases: query<LeaseRow>(`
    select name, holder, epoch, case when until > ${now} then 1 else 0 end as live from leases order by name`),
  renewAll: `update leases set until = ${now} + $2 where holder = $1`,
  take: query<{ readonly epoch: number }>(`
    insert into leases (name, holder, epoch, until) values ($1, $2, 1, ${now} + $3)
    on conflict (name) do update set holder = $2, epoch = leases.epoch + 1, until = ${now} + $3 returning epoch`),
  release: `update leases set holder = '', until = 0 where name = $1 and holder = $2 and epoch = $3`,
  /** `until`: of the last sign of a replica, by the clock of its time. */
  place: query<{ readonly place: string | null; readonly at: number; readonly until: number | null }>(
    `select ${ownPlace} as place, ${now} as at, max(until) as until from copies`,
  ),
  end: `update leases set holder = '', epoch = epoch + 1, until = ${now} + $2 where name = $1`,
  takeTurn: query<{ readonly epoch: number }>(`
    insert into leases (name, holder, epoch, until) values ($1, $2, 1, ${now} + $3)
    on conflict (name) do update set holder = $2, epoch = leases.epoch + 1, until = ${now} + $3
      where leases.until <= ${now} returning epoch`),
  endTurn: `update leases set holder = '', until = 0 where name = $1 and holder = $2`,
  releaseAll: `update leases set holder = '', until = 0 where holder = $1`,
  /** Whoever wants to take it waits for the end of this transaction. */
  isHeld: isHeld('share'),
  /** Waits for the end of claims, too: the commit of one may go on long after its connection was lost. */
  isUnused: isHeld('update'),
};

/** How the states of replicas are kept, on either database. */
export const stateSql = {
  keepReplicaState: `
  insert into copy_states (id, said_at, state) values ($1, $2, $3)
  on conflict (id) do update set said_at = $2, state = $3`,
  forgetOthers: `delete from copy_states where id <> $1 and said_at < $2`,
  replicaStates: query<{ readonly state: string }>(`select state from copy_states order by said_at desc`),
};

/**
 * Says that the replica is alive, renews all leases that it holds, and takes what nobody holds, up to its share. One replica after the other decides, so that each sees what the others have.
 */
export function* renew(asked: LeaseRequest): Operation<LeaseState> {
  const { replica, configId, names, extra, orphans, takes, forMs, quietMs } = asked;
  yield* lock('leases');
  const { place, at, until } = (yield* get(sql.place))!;
  // The clock here may be behind that of the server before.
  const lastAt = Math.max(at, (until ?? 0) - forMs + signEveryMs);
  const distrusted =
    place === null
      ? null
      : yield* settleIn(
          { isAt: (kept) => kept === place, next: () => place },
          lastAt + clocksDifferMs,
          distrustedAtOnce,
        );
  // A standby that was promoted, or a restored store, may lack the last commits. So every lease ends, and is taken anew once
  // the tools are done with what was begun before.
  const ended = distrusted === null ? [] : yield* all(sql.leases);
  for (const { name } of ended) yield* run(sql.end, name, Math.max(forMs, quietMs?.(name) ?? 0));
  yield* run(sql.forgetEndedReplicas, forMs);
  yield* run(sql.keepReplica, replica, configId, JSON.stringify(names), forMs);
  const known = yield* all(sql.replicas);
  const replicas = known.map(({ names: own, ...one }) =>
    Object.assign(one, { names: JSON.parse(own) as string[] }),
  );
  const leases = yield* all(sql.leases);
  const held = new Map(
    leases.filter(({ holder }) => holder === replica).map(({ name, epoch }) => [name, epoch] as const),
  );
  yield* run(sql.renewAll, replica, forMs);
  // What ran out and nobody took over stays this replica's: it may be in use.
  const inForce = leases.filter(({ holder, live }) => live === 1 || holder === replica);
  const holders = new Map(inForce.map(({ name, holder }) => [name, holder]));
  const shares = share(replicas, holders);
  const unknown = extra.filter((name) => !shares.has(name) && (holders.get(name) ?? replica) === replica);
  const own = names.filter((name) => shares.get(name) === replica);
  for (const name of [...own, ...unknown.filter((one) => orphans.includes(one))]) {
    if (!takes || holders.has(name)) continue;
    held.set(name, (yield* get(sql.take, name, replica, forMs))!.epoch);
  }
  const surplus = [...held.keys()].filter((name) => (shares.get(name) ?? replica) !== replica);
  return {
    held,
    surplus,
    unknown,
    replicas: replicas.map(({ id, configId: config }) => ({ id, configId: config })),
    isConfigKept: replicas.some((one) => one.id === replica && one.kept === 1),
    now: at,
    distrusted,
  };
}

/** Replicas' clocks, by which something may have been decided and due since the promotion, are nearer to the database's. */
const clocksDifferMs = 1000;
/** How often a replica says that it is alive. */
const signEveryMs = 1000;
/** A second of work. Meanwhile nobody claims, and the next renewals see to the rest. */
const distrustedAtOnce = 10_000;

/**
 * Which replica should hold each name: of those that have it in their config, the one with the fewest; where several have as
 * few, its holder. All replicas come to the same result, and it stays when all names have gone where they should.
 */
function share(
  replicas: readonly { readonly id: string; readonly names: readonly string[] }[],
  holders: ReadonlyMap<string, string>,
): Map<string, string> {
  const counts = new Map(replicas.map(({ id }) => [id, 0]));
  const shares = new Map<string, string>();
  const ableTo = new Map<string, string[]>();
  for (const { id, names } of replicas)
    for (const name of names) ableTo.set(name, [...(ableTo.get(name) ?? []), id]);
  // What only a few can do is given out first. In the order of names, as each replica has them in another one.
  const inOrder = [...ableTo].toSorted(([a, x], [b, y]) => x.length - y.length || (a < b ? -1 : 1));
  for (const [name, able] of inOrder) {
    const least = Math.min(...able.map((id) => counts.get(id)!));
    const fewest = able.filter((id) => counts.get(id) === least);
    const to = fewest.find((id) => id === holders.get(name)) ?? fewest[0]!;
    shares.set(name, to);
    counts.set(to, least + 1);
  }
  return shares;
}

/** Gives a lease back, if the replica still holds it. */
export function* release({ name, replica, epoch }: Lease): Operation<void> {
  yield* lock('leases');
  yield* run(sql.release, name, replica, epoch);
}

/** Gives back all, at the end of a replica. */
export function* leave(replica: string): Operation<void> {
  yield* lock('leases');
  yield* run(sql.releaseAll, replica);
  yield* run(sql.forgetReplica, replica);
}

/** What one process may do at a time, for so long (ms); nobody renews it. Returns whether it is this holder's turn. */
export function* takeTurn(name: string, holder: string, forMs: number): Operation<boolean> {
  return (yield* get(sql.takeTurn, name, holder, forMs)) !== undefined;
}

export function* endTurn(name: string, holder: string): Operation<void> {
  yield* run(sql.endTurn, name, holder);
}

/** The replicas that serve the store. */
export function* liveReplicas(): Operation<string[]> {
  return (yield* all(sql.liveReplicas)).map(({ id }) => id);
}

/** Whether nobody has taken over this lease; it stays so until the end of the transaction. */
export function* holds({ name, replica, epoch }: Lease): Operation<boolean> {
  return (yield* get(sql.isHeld, name, replica, epoch)) !== undefined;
}

/** The same, and no claim with it is under way. */
export function* holdsAlone({ name, replica, epoch }: Lease): Operation<boolean> {
  return (yield* get(sql.isUnused, name, replica, epoch)) !== undefined;
}

/** Those of ended replicas tell when the last one was there. */
const keptForMs = 86_400_000;

/** Replaces what the replica said before. Where only one process may serve the store, also what others said. */
export function* keepReplicaState(state: ReplicaState, shared: boolean): Operation<void> {
  yield* run(stateSql.keepReplicaState, state.id, state.saidAt, JSON.stringify(state));
  yield* run(stateSql.forgetOthers, state.id, shared ? state.saidAt - keptForMs : Number.MAX_SAFE_INTEGER);
}

/** What the replicas said last, newest first; those that ended among them. */
export function* replicaStates(): Operation<ReplicaState[]> {
  return (yield* all(stateSql.replicaStates)).map(({ state }) => JSON.parse(state) as ReplicaState);
}
