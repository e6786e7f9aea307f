import { delivered, retry, withoutEffect } from '../../src/connector.ts';
import type { AttemptRequest } from '../../src/connector.ts';
import type { Outcome, Receipt } from '../../src/model.ts';
import type { Call, Places } from './client.ts';
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

/** What a token may lack for looking somebody up, and not for posting to a channel. */
const ofLookingUp = new Set(['missing_scope', 'not_allowed_token_type', 'enterprise_is_restricted']);

/** Posts with one call of `chat.postMessage`. */
export async function postMessage(
  call: Call,
  places: Places,
  { message, threadOf, now, signal }: AttemptRequest<SlackMessage>,
): Promise<Outcome> {
  const { threadBy: _, channel: name, ...rest } = message;
  const address = await places.address(name, now, signal);
  if (!address.ok) {
    const { failure } = address;
    const outcome = withoutEffect(outcomeOf(failure, name));
    const concernsOthers = failure.kind !== 'refused' || !ofLookingUp.has(failure.error);
    return concernsOthers ? outcome : retry(outcome.reason, outcome.detail);
  }
  const thread = threadOf && { thread_ts: rootOf(postOf(threadOf)) };
  const answer = await call<Posted>(
    'chat.postMessage',
    { ...rest, channel: address.data, ...thread },
    signal,
  );
  if (!answer.ok) {
    if (answer.failure.kind === 'refused') places.forget(name);
    return outcomeOf(answer.failure, name);
  }
  const { channel, ts, message: posted } = answer.data;
  if (channel === undefined || ts === undefined) return outcomeOf({ kind: 'foreign' }, name);
  places.learn(name, channel);
  // An answer to a message that was deleted is not refused.
  if (thread && posted && posted.thread_ts === undefined)
    return delivered(
      { channel, ts },
      'The message that began the thread is gone, so Slack put this one into the channel.',
    );
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
