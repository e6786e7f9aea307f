import { type DeliveryState, discardableStates, replayableStates } from '../../model.ts';
import * as sql from '../sql/by-hand.ts';
import type { FoundRow } from '../sql/carrying-out.ts';
import type { ManualResult, Replay } from '../store.ts';
import { apply, find } from './deliveries.ts';
import type { Transaction } from './transaction.ts';

export function replay(transaction: Transaction, items: readonly Replay[], now: number): ManualResult[] {
  const again = new Changes(transaction, replayableStates);
  return items.map((item) =>
    again.make(item.deliveryId, (found) => replayOne(transaction, item, found, now)),
  );
}

function replayOne(
  { db, tallies }: Transaction,
  { configId, planned }: Replay,
  found: FoundRow,
  now: number,
): void {
  const { rule, action, sink, connector, lane } = planned;
  const keepsProgress = connector === found.connector ? 1 : 0;
  const count = apply(
    db,
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
  transaction: Transaction,
  deliveryIds: readonly string[],
  now: number,
): ManualResult[] {
  const { db, tallies } = transaction;
  const givenUp = new Changes(transaction, discardableStates);
  return deliveryIds.map((deliveryId) =>
    givenUp.make(deliveryId, (found) => {
      tallies.moved(found.sink, found.state, 'discarded', apply(db, sql.discard, found, now));
    }),
  );
}

/** The changes of one request by a person. Each is made if the delivery's state allows it. */
class Changes {
  readonly #transaction: Transaction;
  readonly #from: readonly DeliveryState[];
  /** Several deliveries of one digest get one change, not one after the other. */
  readonly #carriers = new Set<number>();

  constructor(transaction: Transaction, from: readonly DeliveryState[]) {
    this.#transaction = transaction;
    this.#from = from;
  }

  make(deliveryId: string, change: (found: FoundRow) => void): ManualResult {
    const found = find(this.#transaction.db, deliveryId);
    if (!found) return { deliveryId, done: false, state: null };
    if (found.carrier !== null && this.#carriers.has(found.carrier)) return { deliveryId, done: true };
    if (!this.#from.includes(found.state)) return { deliveryId, done: false, state: found.state };
    change(found);
    if (found.carrier !== null) this.#carriers.add(found.carrier);
    return { deliveryId, done: true };
  }
}
