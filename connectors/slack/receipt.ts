import type { Receipt } from '../../src/model.ts';

/** Where a message is, as Slack names it. `channel` is an id; `thread_ts` is there for an answer in a thread. */
export interface Post {
  readonly channel: string;
  readonly ts: string;
  readonly thread_ts?: string;
}

/** What proves a post. */
export function receiptOf({ channel, ts, thread_ts }: Post): Receipt {
  return thread_ts === undefined || thread_ts === ts ? { channel, ts } : { channel, ts, thread_ts };
}

/** The post that a receipt of this connector speaks of. */
export function postOf(receipt: Receipt): Post {
  return receipt as Receipt & Post;
}

/** The `ts` of the message that starts the thread of a post. */
export function rootOf({ ts, thread_ts }: Post): string {
  return thread_ts ?? ts;
}
