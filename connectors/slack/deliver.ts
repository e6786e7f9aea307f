import { delivered } from '../../src/connector.ts';
import type { AttemptRequest } from '../../src/connector.ts';
import type { Outcome, Receipt } from '../../src/model.ts';
import type { Call, ChannelIds } from './client.ts';
import type { SlackMessage } from './message.ts';
import { outcomeOf } from './outcomes.ts';

/** Where a message is, as Slack names it. `channel` is an id; `thread_ts` is there for an answer in a thread. */
export interface Post {
  readonly channel: string;
  readonly ts: string;
  readonly thread_ts?: string;
}

/** Posts with one call of `chat.postMessage`. */
export async function postMessage(
  call: Call,
  channels: ChannelIds,
  { message, threadOf, signal }: AttemptRequest<SlackMessage>,
): Promise<Outcome> {
  const { threadBy: _, ...args } = message;
  const thread = threadOf && { thread_ts: rootOf(postOf(threadOf)) };
  const answer = await call<Partial<Post>>('chat.postMessage', { ...args, ...thread }, signal);
  if (!answer.ok) return outcomeOf(answer.failure, args.channel);
  const { channel, ts } = answer.data;
  if (channel === undefined || ts === undefined) return outcomeOf({ kind: 'foreign' }, args.channel);
  channels.learn(args.channel, channel);
  return delivered(receiptOf({ channel, ts, ...thread }));
}

/** What proves a post. */
export function receiptOf({ channel, ts, thread_ts }: Post): Receipt {
  return thread_ts === undefined || thread_ts === ts ? { channel, ts } : { channel, ts, thread_ts };
}

/** The post that a receipt of this connector names. */
export function postOf(receipt: Receipt): Post {
  return receipt as Receipt & Post;
}

/** The `ts` of the message that starts the thread of a post. */
export function rootOf({ ts, thread_ts }: Post): string {
  return thread_ts ?? ts;
}
