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

/** Errors of a message that takes no answers: it is of a kind that has none, or the channel or an administrator lets nobody answer. */
const ofAnswering = new Set([
  'cannot_reply_to_message',
  'thread_not_found',
  'restricted_action_thread_locked',
  'restricted_action_non_threadable_channel',
]);

/** The error by which Slack lets nobody answer a message; null for all else. */
const refusedAnswer = (answer: Answer<Posted>): string | null =>
  !answer.ok && answer.failure.kind === 'refused' && ofAnswering.has(answer.failure.error)
    ? answer.failure.error
    : null;

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
  const post = (more: object) =>
    send(call, 'chat.postMessage', { ...rest, channel: address.data, ...more }, request);
  const thread = threadOf && { thread_ts: rootOf(postOf(threadOf)) };
  const inThread = await post({ ...thread });
  const refused = thread && refusedAnswer(inThread.answer);
  const { answer, note } = refused ? await post({}) : inThread;
  if (!answer.ok) {
    if (answer.failure.kind === 'refused') places.forget(name);
    return outcomeOf(answer.failure, name);
  }
  const { channel, ts, message: posted } = answer.data;
  if (channel === undefined || ts === undefined) return outcomeOf({ kind: 'foreign' }, name);
  places.learn(name, channel);
  // An answer to a message that was deleted is not refused.
  const isGone = thread && !refused && posted && posted.thread_ts === undefined;
  const alone = refused
    ? `Slack takes no answer to the message that began the thread (${refused}), so this one stands in the channel.`
    : isGone
      ? 'The message that began the thread is gone, so Slack put this one into the channel.'
      : null;
  if (alone === null) return delivered(receiptOf({ channel, ts, ...thread }), note);
  return delivered({ channel, ts }, [alone, note ?? ''].join(' ').trim());
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
