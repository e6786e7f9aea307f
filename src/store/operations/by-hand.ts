import { discardableStates, replayableStates, type DeliveryState } from '../../model.ts';
import type { ManualResult, Replay } from '../store.ts';
import type { Tallies } from '../tallies.ts';
import { apply, change, find, type FoundRow } from './deliveries.ts';
import { lock, type Operation } from './operation.ts';

export const sql = {
  /** $10: whether to keep progress, which has no meaning for another connector. */
  replay: change(`
  state = 'pending', ended_at = null, config_id = $3, rule = $4, action = $5, sink = $6, connector = $7, lane = $8,
  due_at = $9, since = $9, replayed = 1, progress = case when $10 = 1 then progress else null end`),
  discard: change(`state = 'discarded', ended_at = null, discarded_at = $3`),
};

export function* replay(tallies: Tallies, items: readonly Replay[], now: number): Operation<ManualResult[]> {
  const again = new Changes(replayableStates);
  const results: ManualResult[] = [];
  for (const item of items) {
    results.push(yield* again.make(item.deliveryId, (found) => replayOne(tallies, item, found, now)));
  }
  return results;
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

export function* discard(
  tallies: Tallies,
  deliveryIds: readonly string[],
  now: number,
): Operation<ManualResult[]> {
  const givenUp = new Changes(discardableStates);
  const results: ManualResult[] = [];
  for (const deliveryId of deliveryIds) {
    results.push(yield* givenUp.make(deliveryId, (found) => discardOne(tallies, found, now)));
  }
  return results;
}

function* discardOne(tallies: Tallies, found: FoundRow, now: number): Operation<void> {
  tallies.moved(found.sink, found.state, 'discarded', yield* apply(sql.discard, found, now));
}

/** As a claim does it: until the end of the transaction, nobody else begins it or changes it by hand. */
function* findInLane(deliveryId: string): Operation<FoundRow | undefined> {
  const found = yield* find(deliveryId);
  if (found) yield* lock(`lane ${found.lane}`);
  return found && (yield* find(deliveryId));
}

/** The changes of one request by a person. Each is made if the delivery's state allows it. */
class Changes {
  readonly #from: readonly DeliveryState[];
  /** Several deliveries of one digest get one change, not one after the other. */
  readonly #carriers = new Set<number>();

  constructor(from: readonly DeliveryState[]) {
    this.#from = from;
  }

  *make(deliveryId: string, make: (found: FoundRow) => Operation<void>): Operation<ManualResult> {
    const found = yield* findInLane(deliveryId);
    if (!found) return { deliveryId, done: false, state: null };
    if (found.carrier !== null && this.#carriers.has(found.carrier)) return { deliveryId, done: true };
    if (!this.#from.includes(found.state)) return { deliveryId, done: false, state: found.state };
    yield* make(found);
    if (found.carrier !== null) this.#carriers.add(found.carrier);
    return { deliveryId, done: true };
  }
}
