import { delivered, retry, withoutEffect } from '../../src/connector.ts';
import type { AttemptRequest } from '../../src/connector.ts';
import type { Outcome, Receipt } from '../../src/model/outcomes.ts';
import type { Answer, Call, Places } from './client.ts';
import { withoutImages } from './blocks.ts';
import type { SlackMessage } from './message.ts';
import { isAboutAnImage, ofOneMethod, outcomeOf } from './outcomes.ts';

/** The place of a message. `channel` is an id; only an answer in a thread has `thread_ts`. */
export interface Post {
  readonly channel: string;
  readonly ts: string;
  readonly thread_ts?: string;
}

interface Posted extends Partial<Post> {
  readonly message?: { readonly thread_ts?: string };
}

/**
 * Errors of a message that cannot be edited any more: it or its channel was deleted, the channel was archived (and another may
 * have its name), it has blocks of another kind, or the workspace lets nobody edit it.
 */
const ofEditing = new Set([
  'message_not_found',
  'channel_not_found',
  'is_inactive',
  'block_mismatch',
  'cant_update_message',
  'edit_window_closed',
]);

/** Edits the earlier message with the same `updateBy` where there is one, else posts. */
export async function deliverMessage(
  call: Call,
  places: Places,
  request: AttemptRequest<SlackMessage>,
): Promise<Outcome> {
  const { message, threadOf, overtaken } = request;
  if (message.updateBy === undefined || !threadOf) return postMessage(call, places, request);
  const { channel, text, blocks = [], updates } = message;
  const former = postOf(threadOf);
  const edited = { channel: former.channel, ts: rootOf(former) };
  const isTold = updates === 'thread';
  if (overtaken)
    return isTold
      ? postMessage(call, places, request)
      : delivered(receiptOf(edited), 'The message tells of a later event already, so it stays.');
  // An edit does no harm a second time. The metadata stays that of the delivery which posted the message.
  const { answer, note } = await send(call, 'chat.update', { ...edited, text, blocks }, request);
  if (answer.ok) return isTold ? postMessage(call, places, request) : delivered(receiptOf(edited), note);
  const { failure } = answer;
  if (failure.kind !== 'refused' || !ofEditing.has(failure.error)) return outcomeOf(failure, channel);
  places.forget(channel);
  const posted = await postMessage(call, places, { ...request, threadOf: null });
  const isNew = 'The message to edit was gone, or could not be edited, so this is a new one.';
  return posted.outcome === 'delivered'
    ? delivered(posted.receipt, [isNew, posted.note ?? ''].join(' ').trim())
    : posted;
}

/** Makes a call with a message's blocks: without images, where it is not the first attempt and Slack cannot load one. */
async function send(
  call: Call,
  method: 'chat.postMessage' | 'chat.update',
  args: { readonly blocks?: SlackMessage['blocks']; readonly [name: string]: unknown },
  { attempt, signal }: AttemptRequest<SlackMessage>,
): Promise<{ readonly answer: Answer<Posted>; readonly note?: string }> {
  const answer = await call<Posted>(method, args, signal);
  if (answer.ok || attempt === 1 || !isAboutAnImage(answer.failure)) return { answer };
  const rest = { ...args, blocks: withoutImages(args.blocks ?? []) ?? [] };
  return {
    answer: await call<Posted>(method, rest, signal),
    note: 'Slack could not load an image of the message, so it went without images.',
  };
}

/** Posts with one call of `chat.postMessage`. */
async function postMessage(
  call: Call,
  places: Places,
  request: AttemptRequest<SlackMessage>,
): Promise<Outcome> {
  const { message, threadOf, now, signal } = request;
  const { threadBy: _, updateBy: __, updates: ___, channel: name, ...rest } = message;
  const address = await places.address(name, now, signal);
  if (!address.ok) {
    const { failure } = address;
    const outcome = withoutEffect(outcomeOf(failure, name));
    // Who may not look people up may post to channels.
    const concernsOthers = failure.kind !== 'refused' || !ofOneMethod.has(failure.error);
    return concernsOthers ? outcome : retry(outcome.reason, outcome.detail);
  }
  const thread = threadOf && { thread_ts: rootOf(postOf(threadOf)) };
  const args = { ...rest, channel: address.data, ...thread };
  const { answer, note } = await send(call, 'chat.postMessage', args, request);
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
      ['The message that began the thread is gone, so Slack put this one into the channel.', note ?? '']
        .join(' ')
        .trim(),
    );
  return delivered(receiptOf({ channel, ts, ...thread }), note);
}

/** The receipt of a post. */
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
