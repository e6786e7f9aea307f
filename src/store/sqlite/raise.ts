import * as sql from '../sql/receiving.ts';
import type { NoticeArrival } from '../store.ts';
import { insertDeliveries } from './deliveries.ts';
import type { Transaction } from './transaction.ts';

/** See Store.raise. */
export function raise(
  transaction: Transaction,
  { notice, configId, deliveries, quietMs }: NoticeArrival,
): boolean {
  const { db, tallies } = transaction;
  const { id, alert, cause, sink, count, since, detail, advice, raisedAt } = notice;
  if (db.get(sql.noticeWithin, cause, raisedAt, raisedAt - quietMs)) return false;
  const { seq } = db.run(
    sql.insertNotice,
    id,
    alert,
    cause,
    sink,
    count,
    since,
    detail,
    advice,
    raisedAt,
    configId,
  );
  tallies.used(configId);
  const alone = deliveries.map((planned) => ({ ...planned, group: null, groupMax: null }));
  insertDeliveries(transaction, seq, alone);
  return true;
}
