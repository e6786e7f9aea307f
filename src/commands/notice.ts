import type { NoticeDetail } from '../store/store.ts';
import { deliveryText } from './delivery-text.ts';
import { deliveryDetailFields } from './json.ts';
import type { Io } from './io.ts';
import { paint, printable, when } from './paint.ts';

/** What people were told of a trouble of the connector's own, and what became of that. */
export function noticeText({ notice, deliveries }: NoticeDetail, io: Io): string {
  return [
    `${paint(io, 'bold', notice.id)}  ${printable(notice.cause)}`,
    `  raised ${when(notice.raisedAt)}, since ${when(notice.since)}`,
    `  ${printable(notice.detail)}`,
    `  ${printable(notice.advice)}`,
    paint(io, 'bold', 'Deliveries'),
    ...deliveries.flatMap((one) => deliveryText(one, io)),
  ].join('\n');
}

export function noticeJson({ notice, deliveries }: NoticeDetail) {
  return {
    ...notice,
    since: new Date(notice.since).toISOString(),
    raisedAt: new Date(notice.raisedAt).toISOString(),
    deliveries: deliveries.map(deliveryDetailFields),
  };
}
