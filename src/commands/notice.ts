import type { RaisedNotice } from '../model.ts';
import type { NoticeDetail, NoticeStory } from '../store/store.ts';
import { printable } from '../support/text.ts';
import { deliveryText } from './delivery-text.ts';
import { deliveryDetailFields, deliveryFields } from './json.ts';
import type { Io } from './io.ts';
import { paint, when } from './paint.ts';

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

/** A notice in a list. */
export function noticeHead({ raisedAt, cause }: RaisedNotice, io: Io): string {
  return `${when(raisedAt)}  ${paint(io, 'bold', printable(cause))}`;
}

export function noticeStoryJson({ notice, deliveries }: NoticeStory) {
  return { ...noticeFields(notice), deliveries: deliveries.map(deliveryFields) };
}

export function noticeJson({ notice, deliveries }: NoticeDetail) {
  return { ...noticeFields(notice), deliveries: deliveries.map(deliveryDetailFields) };
}

function noticeFields(notice: RaisedNotice) {
  return {
    ...notice,
    since: new Date(notice.since).toISOString(),
    raisedAt: new Date(notice.raisedAt).toISOString(),
  };
}
