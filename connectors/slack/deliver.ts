import { delivered, retry, withoutEffect } from '../../src/connector.ts';
import type { AttemptRequest } from '../../src/connector.ts';
import type { Outcome, Receipt } from '../../src/model.ts';
import type { Call, Failure, Places } from './client.ts';
import type { SlackMessage } from './message.ts';
import { outcomeOf } from './outcomes.ts';

/** Where a message is, as Slack names it. `channel` is an id; `thread_ts` is there for an answer in a thread. */
export interface Post {
  readonly channel: string;
  readonly ts: string;
  readonly thread_ts?: string;
}

interface Posted extends Partial<Post> {
  readonly message?: { readonly thread_ts?: string };
}

/** Posts with one call of `chat.postMessage`. */
export async function postMessage(
  call: Call,
  places: Places,
  { message, threadOf, now, signal }: AttemptRequest<SlackMessage>,
): Promise<Outcome> {
  const { threadBy: _, ...rest } = message;
  const address = await places.address(rest.channel, now, signal);
  if (!address.ok) return noAddress(address.failure, rest.channel);
  const thread = threadOf && { thread_ts: rootOf(postOf(threadOf)) };
  const args = { ...rest, channel: address.data, ...thread };
  const answer = await call<Posted>('chat.postMessage', args, signal);
  if (answer.ok) return posted(places, rest.channel, answer.data, thread);
  if (answer.failure.kind === 'refused') places.forget(rest.channel);
  return outcomeOf(answer.failure, rest.channel);
}

function posted(
  places: Places,
  name: string,
  { channel, ts, message }: Posted,
  thread: Pick<Post, 'thread_ts'> | null,
): Outcome {
  if (channel === undefined || ts === undefined) return outcomeOf({ kind: 'foreign' }, name);
  places.learn(name, channel);
  // An answer to a message that was deleted is not refused.
  const isBeside = thread && message && message.thread_ts === undefined;
  return isBeside
    ? delivered({ channel, ts }, besideThread)
    : delivered(receiptOf({ channel, ts, ...thread }));
}

const besideThread = 'The message that began the thread is gone, so Slack put this one into the channel.';

/** What a token may lack for looking somebody up, and not for posting to a channel. */
const ofLookingUp = new Set(['missing_scope', 'not_allowed_token_type', 'enterprise_is_restricted']);

/** Nothing was sent. */
function noAddress(failure: Failure, channel: string): Outcome {
  const outcome = withoutEffect(outcomeOf(failure, channel));
  const concernsOthers = failure.kind !== 'refused' || !ofLookingUp.has(failure.error);
  return concernsOthers ? outcome : retry(outcome.reason, outcome.detail);
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
