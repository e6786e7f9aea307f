import { parseDeliveryId } from '../../support/ids.ts';
import type { DeliveryState, PlannedDelivery } from '../../model.ts';
import type { Tallies } from '../tallies.ts';
import { get, insertInto, insertRow, lock, query, run, type Operation, type Value } from '../operation.ts';
import { of, planned, seqById, seqsPerEvent } from '../rows.ts';

/** What a change needs to know about a delivery. */
export interface FoundRow {
  readonly seq: number;
  readonly carrier: number | null;
  readonly sink: string;
  readonly lane: string;
  readonly connector: string;
  /** Null if it is that of the event or notice. */
  readonly config_id: string | null;
  readonly state: DeliveryState;
  readonly attempts: number;
}

/** Where a claimed delivery is stored, so that recording does not search for it. */
export type ClaimedRow = Pick<FoundRow, 'seq' | 'carrier' | 'sink'>;

export const foundColumns = 'd.seq, d.carrier, d.sink, d.lane, d.connector, d.config_id, d.state, d.attempts';

/**
 * An update of deliveries. `alone` updates the one with the seq $1, `digest` all whose carrier has the seq $1. $2 is the
 * state and attempts that they were found with (see `apply`): if another process has changed them since, nothing happens.
 */
export interface Change {
  readonly alone: string;
  readonly digest: string;
}

export function change(assignments: string, more = ''): Change {
  // As one text: otherwise PostgreSQL may choose the index of states, which looks cheap while it has few pages.
  const update = `update deliveries set ${assignments} where state || ' ' || attempts = $2 ${more}`;
  return { alone: `${update} and seq = $1`, digest: `${update} and carrier = $1` };
}

/**
 * A change that fails at once where somebody else keeps a row locked, as a session that was left open after an edit: to wait
 * would keep all writes of this process waiting, or the claims of the lane. A worker tries it again later. It locks no more
 * than an update does, and each row once: a join, as with `in`, locks all rows of a digest again for each of them.
 */
export function changeAtOnce(assignments: string, more = ''): Change {
  const { alone, digest } = change(assignments, more);
  const isFree = (key: string) =>
    `(select count(*) from (select seq from deliveries where ${key} = $1 for no key update nowait) as locked) > 0`;
  return { alone: `${alone} and ${isFree('seq')}`, digest: `${digest} and ${isFree('carrier')}` };
}

/**
 * Leaves out rows that somebody else has locked, as a session that was left open after an edit: to wait for one would
 * keep all writes of this process waiting.
 */
export const unlocked = 'for update of d skip locked';

export const sql = {
  insertDelivery: insertInto('deliveries', {
    seq: 'bigint',
    since: 'bigint',
    state: 'text',
    attempts: 'bigint',
    first_attempt_at: 'bigint',
    started_at: 'bigint',
    ...planned.types,
  }),
  unlockedDigest: query<{ readonly free: number }>(`
  select 1 as free where (select count(*) from deliveries d where d.carrier = $1) = (select count(*) from (
    select d.seq from deliveries d where d.carrier = $1 ${unlocked}
  ) as free)`),
  findDelivery: query<FoundRow>(`
  select ${foundColumns} from deliveries d where d.seq = ${seqById}`),
  doubt: `
  update deliveries set uncertain = 1, since = case when since > $2 then $2 else since end
  where seq ${of('$1')} and state = 'pending'`,
};

/** Stores deliveries. `seq`: that of their event or notice. `before`: how many deliveries that has already. */
export function* insertDeliveries(
  tallies: Tallies,
  seq: number,
  deliveries: readonly PlannedDelivery[],
  before = 0,
): Operation<void> {
  for (const [index, one] of deliveries.entries()) yield* insertDelivery(tallies, seq, before + index, one);
}

/**
 * Stores one delivery, the `index`-th of its event or notice. `begunAt`: when its first attempt began; null if it
 * waits.
 */
export function insertDelivery(
  tallies: Tallies,
  seq: number,
  index: number,
  one: PlannedDelivery,
  begunAt: number | null = null,
): Operation<void> {
  if (index + 1 >= seqsPerEvent)
    throw new RangeError(`More deliveries than the store takes of an event: ${seqsPerEvent - 1}.`);
  const state = begunAt === null ? 'pending' : 'sending';
  tallies.planned(one.sink, state);
  const attempts = begunAt === null ? 0 : 1;
  const values = [seqOfNew(seq, index), one.dueAt, state, attempts, begunAt, begunAt];
  return insertRow(sql.insertDelivery, planned.values(one, values));
}

/**
 * Makes what waits of an event or a notice uncertain. `since`: from when on it may have been sent (ms), as by the store that
 * this one was restored from.
 */
export function* doubt(seq: number, since: number): Operation<void> {
  yield* run(sql.doubt, seq, since);
}

/** Whether nobody else has locked one of a digest's deliveries: once it was tried, it goes as a whole. */
export function* isUnlocked(carrier: number): Operation<boolean> {
  return (yield* get(sql.unlockedDigest, carrier)) !== undefined;
}

export const seqOfNew = (seq: number, index: number): number => seq * seqsPerEvent + 1 + index;

export function* find(deliveryId: string): Operation<FoundRow | undefined> {
  const id = parseDeliveryId(deliveryId);
  return id ? yield* get(sql.findDelivery, id.eventId, id.noticeId, id.n) : undefined;
}

/** No delivery of the lane is claimed by another transaction until the end of this one. */
export const lockLane = (lane: string): Operation<void> => lock(`lane ${lane}`);

/**
 * Reads deliveries and takes the locks of their lanes, also of those that a replay has moved them to meanwhile, so that none
 * is begun.
 */
export function* withLanesLocked<Found extends Pick<FoundRow, 'lane'> | undefined>(
  read: () => Operation<readonly Found[]>,
): Operation<readonly Found[]> {
  const locked = new Set<string>();
  for (;;) {
    const found = yield* read();
    const lanes = new Set(found.flatMap((row) => row?.lane ?? [])).difference(locked);
    if (lanes.size === 0) return found;
    for (const lane of lanes) yield* lockLane(lane);
    for (const lane of lanes) locked.add(lane);
  }
}

/** Changes a delivery, or all deliveries of its digest. Returns how many. */
export function apply(
  { alone, digest }: Change,
  { seq, carrier, state, attempts }: Pick<FoundRow, 'seq' | 'carrier' | 'state' | 'attempts'>,
  ...values: Value[]
): Operation<number> {
  return run(carrier === null ? alone : digest, carrier ?? seq, `${state} ${attempts}`, ...values);
}
