import { parseDeliveryId } from '../../ids.ts';
import type { DeliveryState } from '../../model.ts';
import * as sql from '../sql/by-hand.ts';
import type { ManualResult, Replay } from '../store.ts';
import type { Transaction } from './transaction.ts';

export function replay(transaction: Transaction, items: readonly Replay[], now: number): ManualResult[] {
  return items.map((item) =>
    change(transaction, item.deliveryId, ['dead', 'held'], (found) => {
      const { rule, action, sink, connector, lane, group } = item.planned;
      const keepsProgress = connector === found.connector ? 1 : 0;
      transaction.db.run(
        sql.replayDelivery,
        found.seq,
        item.configId,
        rule,
        action,
        sink,
        connector,
        lane,
        group,
        now,
        keepsProgress,
      );
      const { tallies } = transaction;
      tallies.used(item.configId);
      if (found.config_id !== null) tallies.used(found.config_id, -1);
      tallies.planned(found.sink, found.state, -1);
      tallies.planned(sink, 'pending');
    }),
  );
}

export function discard(transaction: Transaction, deliveryIds: readonly string[]): ManualResult[] {
  return deliveryIds.map((deliveryId) =>
    change(transaction, deliveryId, ['pending', 'dead', 'held'], (found) => {
      transaction.db.run(sql.discardDelivery, found.seq);
      transaction.tallies.moved(found.sink, found.state, 'discarded');
    }),
  );
}

/** Applies a change where the delivery is in one of the states that allow it. */
function change(
  { db }: Transaction,
  deliveryId: string,
  from: readonly DeliveryState[],
  apply: (found: sql.StateRow) => void,
): ManualResult {
  const id = parseDeliveryId(deliveryId);
  const found = id && db.get(sql.stateOfDelivery, id.eventId, id.n);
  if (!found) return { deliveryId, done: false, state: null };
  if (!from.includes(found.state)) return { deliveryId, done: false, state: found.state };
  apply(found);
  return { deliveryId, done: true };
}
