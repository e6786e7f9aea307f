import { parseDeliveryId } from '../../support/ids.ts';
import type { PlannedDelivery } from '../../model.ts';
import { seqsPerEvent } from '../rows.ts';
import { findDelivery, type FoundRow } from '../sql/carrying-out.ts';
import type { Change } from '../sql/query.ts';
import { insertDelivery } from '../sql/receiving.ts';
import type { Database, Value } from './database.ts';
import type { Transaction } from './transaction.ts';

/** `seq`: that of their event or notice. */
export function insertDeliveries(
  { db, tallies }: Transaction,
  seq: number,
  deliveries: readonly PlannedDelivery[],
): void {
  if (deliveries.length >= seqsPerEvent) {
    throw new RangeError(`${deliveries.length} deliveries at once; the store takes ${seqsPerEvent - 1}.`);
  }
  let deliverySeq = seq * seqsPerEvent;
  for (const { rule, action, sink, connector, lane, group, groupMax, dueAt } of deliveries) {
    deliverySeq += 1;
    db.run(insertDelivery, deliverySeq, rule, action, sink, connector, lane, group, groupMax, dueAt);
    tallies.planned(sink, 'pending');
  }
}

export function find(db: Database, deliveryId: string): FoundRow | undefined {
  const id = parseDeliveryId(deliveryId);
  return id ? db.get(findDelivery, id.eventId, id.noticeId, id.n) : undefined;
}

/** Changes a delivery, or all deliveries of its digest. Returns how many. */
export function apply(
  db: Database,
  change: Change,
  { seq, carrier }: Pick<FoundRow, 'seq' | 'carrier'>,
  ...values: Value[]
): number {
  const { changes } =
    carrier === null ? db.run(change.alone, seq, ...values) : db.run(change.digest, carrier, ...values);
  return changes;
}
