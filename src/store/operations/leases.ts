import type { Lease, LeaseRequest, LeaseState } from '../store.ts';
import { all, get, lock, query, run, together, type Operation } from './operation.ts';

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

/** Only PostgreSQL has these tables: nobody else may serve a SQLite file meanwhile. */
const sql = {
  keepCopy: `
    insert into copies (id, config_id, names, until) values ($1, $2, $3, ${now} + $4)
    on conflict (id) do update set config_id = $2, names = $3, until = ${now} + $4`,
  forgetEndedCopies: `delete from copies where until <= ${now}`,
  forgetCopy: `delete from copies where id = $1`,
  copies: query<CopyRow>(`select id, config_id, names from copies order by id`),
  leases: query<LeaseRow>(`
    select name, holder, epoch, case when until > ${now} then 1 else 0 end as live from leases order by name`),
  renew: `update leases set until = ${now} + $3 where name = $1 and holder = $2`,
  take: query<{ readonly epoch: number }>(`
    insert into leases (name, holder, epoch, until) values ($1, $2, 1, ${now} + $3)
    on conflict (name) do update set holder = $2, epoch = leases.epoch + 1, until = ${now} + $3 returning epoch`),
  release: `update leases set holder = '', until = 0 where name = $1 and holder = $2`,
  releaseAll: `update leases set holder = '', until = 0 where holder = $1`,
  /** Whoever wants to take it waits for the end of this transaction. */
  isHeld: query<{ readonly name: string }>(`
    select name from leases where name = $1 and holder = $2 and epoch = $3 for share`),
};

/** See LeaseStore.renew. One copy after the other decides, so that each sees what the others have. */
export function* renewLeases(asked: LeaseRequest): Operation<LeaseState> {
  const { copy, configId, names, aliveForMs } = asked;
  yield* lock('leases');
  yield* run(sql.forgetEndedCopies);
  yield* run(sql.keepCopy, copy, configId, JSON.stringify([...names.keys()]), aliveForMs);
  const copies = (yield* all(sql.copies)).map(({ id, config_id, names: known }) => ({
    id,
    configId: config_id,
    names: JSON.parse(known) as string[],
  }));
  const leases = yield* all(sql.leases);
  const held = new Map(
    leases.filter(({ holder }) => holder === copy).map(({ name, epoch }) => [name, epoch] as const),
  );
  yield* together(
    Array.from(held.keys(), (name) => run(sql.renew, name, copy, names.get(name) ?? aliveForMs)),
  );
  const { wanted, surplus } = divide(asked, copies, leases);
  for (const name of wanted) {
    held.set(name, (yield* get(sql.take, name, copy, names.get(name)!))!.epoch);
  }
  return { held, surplus, copies: copies.map(({ id, configId: config }) => ({ id, configId: config })) };
}

/**
 * What a copy should take and give back, so that each has the same number, give or take one. What no copy knows of its
 * config (a sink that was removed) goes to whoever wants it first.
 */
function divide(
  { copy, names, extra }: LeaseRequest,
  copies: readonly { readonly id: string; readonly names: readonly string[] }[],
  leases: readonly LeaseRow[],
): { wanted: string[]; surplus: string[] } {
  const known = new Set(copies.flatMap((one) => one.names));
  const holders = new Map(leases.filter(({ live }) => live === 1).map(({ name, holder }) => [name, holder]));
  const mine = [...holders].filter(([, holder]) => holder === copy).map(([name]) => name);
  const share = Math.ceil(known.size / copies.length);
  const free = [...names.keys()].filter((name) => !holders.has(name));
  const orphans = extra.filter((name) => !known.has(name) && !holders.has(name));
  return {
    wanted: [...free.slice(0, Math.max(0, share - mine.length)), ...orphans],
    surplus: mine.filter((name) => names.has(name)).slice(share),
  };
}

/** See LeaseStore.release. */
export function* releaseLease(copy: string, name: string): Operation<void> {
  yield* lock('leases');
  yield* run(sql.release, name, copy);
}

/** See LeaseStore.leave. */
export function* leaveLeases(copy: string): Operation<void> {
  yield* lock('leases');
  yield* run(sql.releaseAll, copy);
  yield* run(sql.forgetCopy, copy);
}

/** Whether nobody has taken over this lease; it stays so until the end of the transaction. */
export function* isHeld({ name, copy, epoch }: Lease): Operation<boolean> {
  return (yield* get(sql.isHeld, name, copy, epoch)) !== undefined;
}
