import type { Lease, LeaseRequest, LeaseState } from '../store.ts';
import { settleIn } from './housekeeping.ts';
import { all, get, lock, query, run, type Operation } from './operation.ts';

/** Milliseconds by PostgreSQL's clock, which all copies share. */
const now = `(extract(epoch from clock_timestamp()) * 1000)::bigint`;

interface LeaseRow {
  readonly name: string;
  readonly holder: string;
  readonly epoch: number;
  readonly live: number;
}

interface CopyRow {
  readonly id: string;
  readonly config_id: string;
  readonly names: string;
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
  keepCopy: `
    insert into copies (id, config_id, names, until) values ($1, $2, $3, ${now} + $4)
    on conflict (id) do update set config_id = $2, names = $3, until = ${now} + $4`,
  forgetEndedCopies: `delete from copies where until <= ${now}`,
  forgetCopy: `delete from copies where id = $1`,
  copies: query<CopyRow>(`select id, config_id, names from copies order by id`),
  liveCopies: query<{ readonly id: string }>(`select id from copies where until > ${now} order by id`),
  leases: query<LeaseRow>(`
    select name, holder, epoch, case when until > ${now} then 1 else 0 end as live from leases order by name`),
  renewAll: `update leases set until = ${now} + $2 where holder = $1`,
  take: query<{ readonly epoch: number }>(`
    insert into leases (name, holder, epoch, until) values ($1, $2, 1, ${now} + $3)
    on conflict (name) do update set holder = $2, epoch = leases.epoch + 1, until = ${now} + $3 returning epoch`),
  release: `update leases set holder = '', until = 0 where name = $1 and holder = $2 and epoch = $3`,
  place: query<{ readonly place: string | null; readonly at: number }>(
    `select ${ownPlace} as place, ${now} as at`,
  ),
  end: `update leases set holder = '', epoch = epoch + 1, until = ${now} + $2 where name = $1`,
  releaseAll: `update leases set holder = '', until = 0 where holder = $1`,
  /** Whoever wants to take it waits for the end of this transaction. */
  isHeld: isHeld('share'),
  /** Waits for the end of claims, too: the commit of one may go on long after its connection was lost. */
  isUnused: isHeld('update'),
};

/** See LeaseStore.renew. One copy after the other decides, so that each sees what the others have. */
export function* renewLeases(asked: LeaseRequest): Operation<LeaseState> {
  const { copy, configId, names, extra, orphans, takes, forMs } = asked;
  yield* lock('leases');
  const { place, at } = (yield* get(sql.place))!;
  const distrusted =
    place === null
      ? null
      : yield* settleIn({ isAt: (kept) => kept === place, next: () => place }, at, distrustedAtOnce);
  if (distrusted !== null) yield* endAll(asked);
  yield* run(sql.forgetEndedCopies);
  yield* run(sql.keepCopy, copy, configId, JSON.stringify(names), forMs);
  const copies = (yield* all(sql.copies)).map(({ id, config_id, names: known }) => ({
    id,
    configId: config_id,
    names: JSON.parse(known) as string[],
  }));
  const leases = yield* all(sql.leases);
  const held = new Map(
    leases.filter(({ holder }) => holder === copy).map(({ name, epoch }) => [name, epoch] as const),
  );
  yield* run(sql.renewAll, copy, forMs);
  // What ran out and nobody took over stays this copy's: it may be in use.
  const inForce = leases.filter(({ holder, live }) => live === 1 || holder === copy);
  const holders = new Map(inForce.map(({ name, holder }) => [name, holder]));
  const shares = share(copies, holders);
  const unknown = extra.filter((name) => !shares.has(name) && (holders.get(name) ?? copy) === copy);
  const own = names.filter((name) => shares.get(name) === copy);
  for (const name of [...own, ...unknown.filter((one) => orphans.includes(one))]) {
    if (!takes || holders.has(name)) continue;
    held.set(name, (yield* get(sql.take, name, copy, forMs))!.epoch);
  }
  const surplus = [...held.keys()].filter((name) => (shares.get(name) ?? copy) !== copy);
  return {
    held,
    surplus,
    unknown,
    copies: copies.map(({ id, configId: config }) => ({ id, configId: config })),
    now: at,
    distrusted,
  };
}

/** A second of work. Meanwhile nobody claims, and the next renewals see to the rest. */
const distrustedAtOnce = 10_000;

/**
 * A standby that was promoted, or a restored store, may lack the last commits. So every lease ends, and is taken anew once
 * the tools are done with what was begun before.
 */
function* endAll({ forMs, quietMs }: LeaseRequest): Operation<void> {
  for (const { name } of yield* all(sql.leases)) {
    yield* run(sql.end, name, Math.max(forMs, quietMs?.(name) ?? 0));
  }
}

interface Knowing {
  readonly id: string;
  readonly names: readonly string[];
}

/**
 * Which copy should hold each name: one that has it in its config. Names stay where they are unless another copy has
 * fewer by two or more. All copies come to the same result.
 */
function share(copies: readonly Knowing[], holders: ReadonlyMap<string, string>): Map<string, string> {
  const knows = new Map(copies.map(({ id, names }) => [id, new Set(names)]));
  const own = new Map(copies.map(({ id }) => [id, [] as string[]]));
  const names = [...new Set(copies.flatMap((one) => one.names))];
  // What is free comes last, because the last ones are moved.
  for (const name of names.toSorted((a, b) => Number(holders.has(b)) - Number(holders.has(a)))) {
    const able = [...own].filter(([id]) => knows.get(id)!.has(name));
    const [first] = able.toSorted(([, a], [, b]) => a.length - b.length);
    const [, to] = able.find(([id]) => id === holders.get(name)) ?? first!;
    to.push(name);
  }
  while (moveOne(own, knows));
  return new Map([...own].flatMap(([id, its]) => its.map((name) => [name, id] as const)));
}

/** From a copy to one that has fewer by two or more. False if there is none. */
function moveOne(
  own: ReadonlyMap<string, string[]>,
  knows: ReadonlyMap<string, ReadonlySet<string>>,
): boolean {
  for (const from of own.values()) {
    for (const [id, to] of own) {
      const place = from.findLastIndex((name) => knows.get(id)!.has(name));
      if (place < 0 || from.length - to.length < 2) continue;
      to.push(...from.splice(place, 1));
      return true;
    }
  }
  return false;
}

/** See LeaseStore.release. */
export function* releaseLease({ name, copy, epoch }: Lease): Operation<void> {
  yield* lock('leases');
  yield* run(sql.release, name, copy, epoch);
}

/** See LeaseStore.leave. */
export function* leaveLeases(copy: string): Operation<void> {
  yield* lock('leases');
  yield* run(sql.releaseAll, copy);
  yield* run(sql.forgetCopy, copy);
}

/** A copy may use its config although no event has referred to it for long. */
export function* configsOfCopies(): Operation<string[]> {
  return (yield* all(sql.copies)).map(({ config_id }) => config_id);
}

/** The copies that serve the store. */
export function* liveCopies(): Operation<string[]> {
  return (yield* all(sql.liveCopies)).map(({ id }) => id);
}

/** Whether nobody has taken over this lease; it stays so until the end of the transaction. */
export function* holds({ name, copy, epoch }: Lease): Operation<boolean> {
  return (yield* get(sql.isHeld, name, copy, epoch)) !== undefined;
}

/** The same, and no claim with it is under way. */
export function* holdsAlone({ name, copy, epoch }: Lease): Operation<boolean> {
  return (yield* get(sql.isUnused, name, copy, epoch)) !== undefined;
}
