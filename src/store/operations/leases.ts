import { settleIn } from './housekeeping.ts';
import { all, get, lock, query, run, type Operation } from '../operation.ts';

/**
 * A replica's right to do something, as to carry out the deliveries of a sink. It runs by the database's clock. Its epoch
 * counts how often it was taken, so that a replica that stood still cannot go on with a lease that another one has taken.
 */
export interface Lease {
  readonly name: string;
  readonly replica: string;
  readonly epoch: number;
}

export interface LeaseRequest {
  readonly replica: string;
  readonly configId: string;
  /** By which settings and secrets the replica makes its calls: a fingerprint of all sinks. */
  readonly callsBy: string;
  /** The leases that the replica's config has work for. */
  readonly names: readonly string[];
  /** Leases with waiting work that are not in the replica's config. */
  readonly extra: readonly string[];
  /** Those of `extra` that the replica takes if they are in no replica's config. */
  readonly orphans: readonly string[];
  /** Whether the replica takes free leases, or only renews its own. */
  readonly takes: boolean;
  /** What the database's clock should say by now (ms), as far as the replica knows. */
  readonly nowAbout?: number | undefined;
  /** How long a lease runs (ms). A replica that gives no sign for so long counts as ended. */
  readonly forMs: number;
  /** How long a tool may work on what was begun with a lease (ms). */
  readonly quietMs?: (name: string) => number;
}

export interface LeaseState {
  /** The epochs of the leases that the replica holds, by name. */
  readonly held: ReadonlyMap<string, number>;
  /** The leases to give back once they are idle, because other replicas have fewer. */
  readonly surplus: readonly string[];
  /** Those of `extra` that are in no replica's config and that no other replica holds. */
  readonly unknown: readonly string[];
  /** The live replicas, with this one. */
  readonly replicas: readonly {
    readonly id: string;
    readonly configId: string;
    /** Null from an older version. */
    readonly callsBy: string | null;
  }[];
  /** Whether the database has the replica's config. A standby that took over, or a restored dump, may lack it. */
  readonly isConfigKept: boolean;
  /** The time by the database's clock (ms). */
  readonly now: number;
  /** Whether that clock was set, so that leases seem free whose holders live. None was taken then. */
  readonly wasSet: boolean;
  /** What `settleIn` returned. If it is not null, the database is in another place, and all leases have ended. */
  readonly distrusted: number | null;
}

/** A time in which nobody served the store (ms). */
export interface Absence {
  readonly from: number;
  readonly to: number;
}

/** Why a config's file is not in force as it is now; or, with `isInForce`, which policy it breaks though it is. */
export interface RefusedFile {
  /** Since when it was refused at each change (ms). */
  readonly since: number;
  /** When it was refused last, as it is now (ms); older versions did not keep it. */
  readonly lastAt?: number | undefined;
  /** Where the first problem is, and what it is. */
  readonly problem: string;
  /** How many further problems there are. */
  readonly others: number;
  readonly isInForce?: boolean;
}

/** What a process that serves the store says of itself every few seconds. */
export interface ReplicaState {
  readonly id: string;
  /** By its own clock (ms). */
  readonly saidAt: number;
  /** Whether it was stopped; false for one that runs or died. */
  readonly stopped: boolean;
  readonly config: {
    readonly id: string;
    /** See LeaseRequest. */
    readonly callsBy?: string;
    readonly file: string;
    /** When it was loaded (ms). */
    readonly since: number;
    /** What is wrong with the file as it is now, if anything. */
    readonly refused: RefusedFile | null;
    /** The changed keys that need a restart. */
    readonly waiting: readonly string[];
    /** Why nobody can log in on the admin port. */
    readonly closed?: string | null;
  };
  /** Why it cannot send what waits, although events are stored; null if it can. */
  readonly unsent?: string | null;
  /** When this replica saw that the database was promoted, restored or moved (ms), so that commits may be missing. */
  readonly movedAt?: number | null;
  /** Since when the store has been served, as far as this replica knows (ms). */
  readonly servedSince?: number;
  /** The long times in which nobody served the store, as far as this replica knows. */
  readonly absences?: readonly Absence[];
  /** `mine`: whether this replica made the calls to it when it said so. */
  readonly sinks: readonly {
    readonly name: string;
    readonly connector: string;
    readonly mine?: boolean;
  }[];
  /** The sinks whose new secrets do not work. */
  readonly secretFaults?: readonly {
    readonly sink: string;
    readonly since: number;
    readonly detail: string;
  }[];
}

/** The time in milliseconds by PostgreSQL's clock, which all replicas share. */
export const now = `(extract(epoch from clock_timestamp()) * 1000)::bigint`;

interface LeaseRow {
  readonly name: string;
  readonly holder: string;
  readonly epoch: number;
  readonly live: number;
}

/** Which server and database this is. See `placeOf`. */
const ownPlace = `nullif(current_setting('candidate_connector.place', true), '')`;

/** Finds a lease if it is held. After a promotion or restore, nothing is held until the next renewal. */
const isHeld = (strength: string) =>
  query<{ readonly name: string }>(`
    select name from leases where name = $1 and holder = $2 and epoch = $3
      and not exists (select 1 from home where place <> ${ownPlace}) for ${strength}`);

/** Only PostgreSQL has these tables: a SQLite file is served by one process. */
const sql = {
  keepReplica: `
    insert into copies (id, config_id, names, until, calls_by) values ($1, $2, $3, ${now} + $4, $5)
    on conflict (id) do update set config_id = $2, names = $3, until = ${now} + $4, calls_by = $5`,
  /** $1: how long a sign counts. A sign from far in the future was given by another server's clock. */
  forgetEndedReplicas: `delete from copies where until <= ${now} or until > ${now} + 2 * $1`,
  forgetReplica: `delete from copies where id = $1`,
  replicas: query<{
    readonly id: string;
    readonly configId: string;
    readonly callsBy: string | null;
    readonly names: string;
    readonly kept: number;
  }>(`
    select id, config_id as "configId", calls_by as "callsBy", names, case when config_id in (select id from configs) then 1 else 0 end as kept
    from copies order by id`),
  liveReplicas: query<{ readonly id: string }>(`select id from copies where until > ${now} order by id`),
  /** $1: how long a lease runs. One that runs for longer was renewed before the clock was set back. */
  leases: query<LeaseRow>(`
    select name, holder, epoch,
      case when until > ${now} and (holder = '' or until <= ${now} + 2 * $1) then 1 else 0 end as live
    from leases order by name`),
  renewAll: `update leases set until = ${now} + $2 where holder = $1`,
  take: query<{ readonly epoch: number }>(`
    insert into leases (name, holder, epoch, until) values ($1, $2, 1, ${now} + $3)
    on conflict (name) do update set holder = $2, epoch = leases.epoch + 1, until = ${now} + $3 returning epoch`),
  release: `update leases set holder = '', until = 0 where name = $1 and holder = $2 and epoch = $3`,
  /** `until`: that of the last sign of a replica, by the clock of the server at that time. */
  place: query<{ readonly place: string | null; readonly at: number; readonly until: number | null }>(
    `select ${ownPlace} as place, ${now} as at, max(until) as until from copies`,
  ),
  /** To number rows needs no right to their sequence. Who has none sees no value of it. */
  continueSeqs: (table: string) =>
    query<object>(`
    select setval(sequence, seq) from (
      select max(seq) as seq, pg_get_serial_sequence('${table}', 'seq')::regclass as sequence from ${table}
    ) as last where has_sequence_privilege(sequence, 'usage, select') and seq > coalesce(pg_sequence_last_value(sequence), 0)`),
  end: `update leases set holder = '', epoch = epoch + 1, until = ${now} + $2 where name = $1`,
  /** A turn that is far from its end was taken before the clock was set back. */
  takeTurn: query<{ readonly epoch: number }>(`
    insert into leases (name, holder, epoch, until) values ($1, $2, 1, ${now} + $3)
    on conflict (name) do update set holder = $2, epoch = leases.epoch + 1, until = ${now} + $3
      where leases.until <= ${now} or leases.until > ${now} + 2 * $3 returning epoch`),
  endTurn: `update leases set holder = '', until = 0 where name = $1 and holder = $2`,
  releaseAll: `update leases set holder = '', until = 0 where holder = $1`,
  /** Keeps others from taking the lease until the end of this transaction. */
  isHeld: isHeld('share'),
  /** Also waits for claims with the lease: the commit of one may go on long after its connection was lost. */
  isUnused: isHeld('update'),
};

/** Statements for the states of replicas, for either database. */
export const stateSql = {
  keepReplicaState: `
  insert into copy_states (id, said_at, state) values ($1, $2, $3)
  on conflict (id) do update set said_at = $2, state = $3`,
  forgetOthers: `delete from copy_states where id <> $1 and said_at < $2`,
  replicaStates: query<{ readonly state: string }>(`select state from copy_states order by said_at desc`),
};

/**
 * Gives a sign of life, renews the replica's leases, and takes free ones up to its share. Replicas do this one after the
 * other, so that each sees what the others have.
 */
export function* renew(asked: LeaseRequest): Operation<LeaseState> {
  const { replica, configId, callsBy, names, extra, orphans, takes, nowAbout, forMs, quietMs } = asked;
  yield* lock('leases');
  const { at, distrusted } = yield* settleHere(forMs, distrustedAtOnce);
  // A promoted standby, or a restored store, may lack the last commits. So every lease ends, and can be taken again
  // once the tools are done with what was begun before.
  const ended = distrusted === null ? [] : yield* all(sql.leases, forMs);
  for (const { name } of ended) yield* run(sql.end, name, Math.max(forMs, quietMs?.(name) ?? 0));
  yield* run(sql.forgetEndedReplicas, forMs);
  yield* run(sql.keepReplica, replica, configId, JSON.stringify(names), forMs, callsBy);
  const known = yield* all(sql.replicas);
  const replicas = known.map(({ names: own, ...one }) =>
    Object.assign(one, { names: JSON.parse(own) as string[] }),
  );
  const leases = yield* all(sql.leases, forMs);
  const held = new Map(
    leases.filter(({ holder }) => holder === replica).map(({ name, epoch }) => [name, epoch] as const),
  );
  yield* run(sql.renewAll, replica, forMs);
  // A lease that ran out and that nobody took stays this replica's: it may be in use.
  const inForce = leases.filter(({ holder, live }) => live === 1 || holder === replica);
  const holders = new Map(inForce.map(({ name, holder }) => [name, holder]));
  const shares = share(replicas, holders);
  const unknown = extra.filter((name) => !shares.has(name) && (holders.get(name) ?? replica) === replica);
  const own = names.filter((name) => shares.get(name) === replica);
  const wasSet = Math.abs(at - (nowAbout ?? at)) > setBeyondMs;
  for (const name of [...own, ...unknown.filter((one) => orphans.includes(one))]) {
    if (!takes || wasSet || holders.has(name)) continue;
    held.set(name, (yield* get(sql.take, name, replica, forMs))!.epoch);
  }
  const surplus = [...held.keys()].filter((name) => (shares.get(name) ?? replica) !== replica);
  return {
    held,
    surplus,
    unknown,
    replicas: replicas.map(({ id, configId: config, callsBy: by }) => ({
      id,
      configId: config,
      callsBy: by,
    })),
    isConfigKept: replicas.some((one) => one.id === replica && one.kept === 1),
    now: at,
    wasSet,
    distrusted,
  };
}

/**
 * Does what `settleIn` does, by the place of the database. Returns what that returns, null also where the server cannot tell
 * its place; and the time by its clock. `forMs`: how long a sign of life counts.
 */
export function* settleHere(
  forMs: number,
  most?: number,
): Operation<Pick<LeaseState, 'distrusted'> & { readonly at: number }> {
  const { place, at, until } = (yield* get(sql.place))!;
  if (place === null) return { at, distrusted: null };
  // The clock of the server before may have been ahead of this one.
  const lastAt = Math.max(at, (until ?? 0) - forMs + signEveryMs);
  const home = { isAt: (kept: string) => kept === place, next: () => place };
  const distrusted = yield* settleIn(home, lastAt + clocksDifferMs, most);
  if (distrusted !== null) yield* continueSeqs();
  return { at, distrusted };
}

/** The tables whose seqs PostgreSQL numbers. */
export const numbered = ['events', 'duplicates', 'notices', 'rejected_requests', 'audit'];

/**
 * Has PostgreSQL go on after the last seqs of its tables. Its sequences count only what they numbered themselves, and neither a
 * copy of rows nor logical replication moves them.
 */
export function* continueSeqs(): Operation<void> {
  for (const table of numbered) yield* get(sql.continueSeqs(table));
}

/** Less makes no lease seem free, and a renewal may take long. */
const setBeyondMs = 5000;

/** The clocks of replicas, which due times may be by, differ less than this from the database's. */
const clocksDifferMs = 1000;
/** How often a replica says that it is alive. */
const signEveryMs = 1000;
/**
 * How many deliveries are marked at once: a second of work, in which nobody can claim. The next renewals do the rest.
 */
const distrustedAtOnce = 10_000;

/**
 * Which replica should hold each lease: of those that have it in their config, the one with the fewest leases; among several
 * of these, its holder. All replicas come to the same result, which no longer changes once all leases are where they should
 * be.
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
  // Leases that only a few replicas can hold go first. Then by name, so that every replica goes by the same order.
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

/** Gives a lease back if the replica still holds it. */
export function* release({ name, replica, epoch }: Lease): Operation<void> {
  yield* lock('leases');
  yield* run(sql.release, name, replica, epoch);
}

/** Gives back all leases of a replica that ends. */
export function* leave(replica: string): Operation<void> {
  yield* lock('leases');
  yield* run(sql.releaseAll, replica);
  yield* run(sql.forgetReplica, replica);
}

/**
 * Takes a lease that is not renewed, for `forMs`, if it is free: for work of one process at a time. Returns whether it
 * did.
 */
export function* takeTurn(name: string, holder: string, forMs: number): Operation<boolean> {
  return (yield* get(sql.takeTurn, name, holder, forMs)) !== undefined;
}

export function* endTurn(name: string, holder: string): Operation<void> {
  yield* run(sql.endTurn, name, holder);
}

/** The ids of the replicas that serve the store. */
export function* liveReplicas(): Operation<string[]> {
  return (yield* all(sql.liveReplicas)).map(({ id }) => id);
}

/** Whether the replica holds the lease; if so, it keeps it until the end of the transaction. */
export function* holds({ name, replica, epoch }: Lease): Operation<boolean> {
  return (yield* get(sql.isHeld, name, replica, epoch)) !== undefined;
}

/** As `holds`; if so, no claim with the lease is under way either. */
export function* holdsAlone({ name, replica, epoch }: Lease): Operation<boolean> {
  return (yield* get(sql.isUnused, name, replica, epoch)) !== undefined;
}

/** The states of ended replicas are kept for so long: they tell when the last one was there. */
const keptForMs = 86_400_000;

/**
 * Keeps what a replica says of itself, in place of what it said before; in SQLite, in place of what any process said.
 */
export function* keepReplicaState(state: ReplicaState, shared: boolean): Operation<void> {
  yield* run(stateSql.keepReplicaState, state.id, state.saidAt, JSON.stringify(state));
  yield* run(stateSql.forgetOthers, state.id, shared ? state.saidAt - keptForMs : Number.MAX_SAFE_INTEGER);
}

/** Lists what each replica said last, newest first, with those that ended in the last day. */
export function* replicaStates(): Operation<ReplicaState[]> {
  return (yield* all(stateSql.replicaStates)).map(({ state }) => JSON.parse(state) as ReplicaState);
}
