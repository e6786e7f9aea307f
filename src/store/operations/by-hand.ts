import { discardableStates, replayableStates, type DeliveryState } from '../../model.ts';
import type { ManualResult, Replay } from '../store.ts';
import type { Tallies } from '../tallies.ts';
import { apply, change, find, type FoundRow } from './deliveries.ts';
import { lock, together, type Operation } from './operation.ts';

export const sql = {
  /** $10: whether to keep progress, which has no meaning for another connector. */
  replay: change(`
  state = 'pending', ended_at = null, config_id = $3, rule = $4, action = $5, sink = $6, connector = $7, lane = $8,
  due_at = $9, since = $9, replayed = 1, progress = case when $10 = 1 then progress else null end`),
  discard: change(`state = 'discarded', ended_at = null, discarded_at = $3`),
};

export function replay(tallies: Tallies, items: readonly Replay[], now: number): Operation<ManualResult[]> {
  return changeAll(items, replayableStates, (item, found) => replayOne(tallies, item, found, now));
}

function* replayOne(
  tallies: Tallies,
  { configId, planned }: Replay,
  found: FoundRow,
  now: number,
): Operation<void> {
  const { rule, action, sink, connector, lane } = planned;
  const keepsProgress = connector === found.connector ? 1 : 0;
  const count = yield* apply(
    sql.replay,
    found,
    configId,
    rule,
    action,
    sink,
    connector,
    lane,
    now,
    keepsProgress,
  );
  tallies.used(configId, count);
  if (found.config_id !== null) tallies.used(found.config_id, -count);
  tallies.planned(found.sink, found.state, -count);
  tallies.planned(sink, 'pending', count);
}

export function discard(
  tallies: Tallies,
  deliveryIds: readonly string[],
  now: number,
): Operation<ManualResult[]> {
  const items = deliveryIds.map((deliveryId) => ({ deliveryId }));
  return changeAll(items, discardableStates, (_, found) => discardOne(tallies, found, now));
}

function* discardOne(tallies: Tallies, found: FoundRow, now: number): Operation<void> {
  tallies.moved(found.sink, found.state, 'discarded', yield* apply(sql.discard, found, now));
}

/**
 * The changes of one request by a person. Each is made if the delivery's state allows it. Takes the locks that claims take,
 * so that nobody begins these deliveries meanwhile; and few round trips, since claims and all that shares their transactions
 * wait for it.
 */
function* changeAll<Item extends { readonly deliveryId: string }>(
  items: readonly Item[],
  from: readonly DeliveryState[],
  make: (item: Item, found: FoundRow) => Operation<void>,
): Operation<ManualResult[]> {
  const findAll = () => together(items.map(({ deliveryId }) => find(deliveryId)));
  const lanes = new Set((yield* findAll()).flatMap((found) => found?.lane ?? []));
  for (const lane of lanes) yield* lock(`lane ${lane}`);
  const found = yield* findAll();
  /** Several deliveries of one digest get one change. */
  const changes = new Map<number, Operation<void>>();
  const results = items.map((item, place): ManualResult => {
    const { deliveryId } = item;
    const row = found[place];
    if (!row) return { deliveryId, done: false, state: null };
    if (!from.includes(row.state)) return { deliveryId, done: false, state: row.state };
    changes.getOrInsertComputed(row.carrier ?? row.seq, () => make(item, row));
    return { deliveryId, done: true };
  });
  yield* together([...changes.values()]);
  return results;
}
