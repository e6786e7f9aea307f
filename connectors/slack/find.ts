import type { AttemptRequest, Finding } from '../../src/connector.ts';
import { type Call, type Failure, noChannelId, type Places } from './client.ts';
import { eventType } from './message.ts';
import type { SlackMessage } from './message.ts';
import { errorMeanings, findFailure, ofOneMethod } from './outcomes.ts';
import { type Post, postOf, receiptOf, rootOf } from './deliver.ts';

/** Slack's clock and ours may differ by this much. Looking back too far costs a page or two. */
const clockSkewMs = 15 * 60_000;
const pageSize = 200;
/** The page of an app that is distributed outside of Slack's Marketplace. It gets one a minute. */
const limitedPageSize = 15;
/** So many pages are searched. */
const maxPages = 20;

interface HistoryPage {
  readonly messages?: readonly PostedMessage[];
  readonly response_metadata?: { readonly next_cursor?: string };
}

interface PostedMessage extends Omit<Post, 'channel'> {
  readonly metadata?: {
    readonly event_type?: string;
    readonly event_payload?: { delivery_id?: unknown; thread?: unknown };
  };
}

/** Looks for the delivery's message by its metadata, among what was posted since shortly before the first attempt. */
export async function findMessage(
  call: Call,
  places: Places,
  request: AttemptRequest<SlackMessage>,
): Promise<Finding> {
  const { message, threadOf, signal } = request;
  let earlier: string | null = null;
  const resolve = () =>
    places.resolve(message.channel, signal, async () => {
      const receipt: Partial<Post> | null = await request.earlier();
      return (earlier = receipt?.channel ?? null);
    });
  const channel = threadOf
    ? ({ ok: true, data: { id: postOf(threadOf).channel } } as const)
    : await resolve();
  if (!channel.ok) return cannotAsk(channel.failure, message.channel);
  const { data } = channel;
  let best: Finding = data.id === null ? impossible(noChannelId(message.channel, data)) : { found: null };
  // The message is in the thread, or outside of it if it was posted before there was one; or in the channel that had the name
  // when an earlier message was posted.
  const root = threadOf && postOf(threadOf);
  const channels = new Set([data.id, earlier].filter((id) => id !== null));
  const toSearch: Place[] = [
    ...(root
      ? [{ method: 'conversations.replies', args: { channel: root.channel, ts: rootOf(root) } } as const]
      : []),
    ...[...channels].map((id) => ({ method: 'conversations.history', args: { channel: id } }) as const),
  ];
  for (const place of toSearch) {
    const { channel: id } = place.args;
    const finding = await searchPlace(call, place, request, (ts) =>
      toSearch.push({ method: 'conversations.replies', args: { channel: id, ts } }),
    );
    // Where one place cannot be read, the message may still be in another.
    if (finding.found !== 'impossible' && finding.found !== null) return finding;
    // An edit posts no message and may be made again, so that it does not matter for one.
    const isEdit = threadOf !== null && message.updateBy !== undefined && message.updates !== 'thread';
    if (finding.found === 'impossible' && !isEdit) best = finding;
  }
  if (root === null || best.found === 'impossible') return best;
  // It went to another channel where that one was archived and its name given away.
  const named = await resolve();
  if (!named.ok) {
    const finding = cannotAsk(named.failure, message.channel);
    return finding.found === 'failed' ? finding : best;
  }
  const { id } = named.data;
  if (id === null || channels.has(id)) return best;
  return searchPlace(call, { method: 'conversations.history', args: { channel: id } }, request, () => {});
}

interface Place {
  readonly method: 'conversations.history' | 'conversations.replies';
  readonly args: { readonly channel: string; readonly ts?: string };
}

async function searchPlace(
  call: Call,
  { method, args }: Place,
  { deliveryId, message, threadOf, firstAttemptAt, now, signal }: AttemptRequest<SlackMessage>,
  /** A restored store may lack the receipt of the message that began the thread. */
  sawRoot: (ts: string) => void,
): Promise<Finding> {
  const { thread } = message.metadata.event_payload;
  const looksForRoot = thread !== undefined && threadOf === null && method === 'conversations.history';
  // A first attempt in the future means that our clock was set back. Slack is not told of the time: by a clock that is
  // ahead of its own it would leave out the message. So the newest page is always searched.
  const oldest = (Math.min(firstAttemptAt, now) - clockSkewMs) / 1000;
  let cursor = '';
  let length = pageSize;
  for (let page = 0; page < maxPages; page += 1) {
    const paging = { limit: pageSize, include_all_metadata: true, ...(cursor && { cursor }) };
    const answer = await call<HistoryPage>(method, { ...args, ...paging }, signal);
    if (!answer.ok) {
      const { failure } = answer;
      // A search later would get no further.
      if (failure.kind === 'http' && failure.status === 429 && length <= limitedPageSize)
        return impossible(
          `Slack shows this app ${limitedPageSize} messages a minute, which is too few to look through: it is not an internal app.`,
        );
      const isThread = method === 'conversations.replies';
      // The message that began it was deleted. What answered it later stands in the channel.
      if (isThread && failure.kind === 'refused' && failure.error === 'thread_not_found')
        return { found: null };
      return cannotAsk(failure, message.channel, isThread ? 'the thread in ' : '');
    }
    if (!answer.data.messages) return cannotAsk({ kind: 'foreign' }, message.channel);
    const posted = answer.data.messages.find(
      ({ metadata }) =>
        metadata?.event_type === eventType && metadata.event_payload?.delivery_id === deliveryId,
    );
    if (posted) return { found: receiptOf({ ...posted, channel: args.channel }) };
    for (const { ts, metadata } of looksForRoot ? answer.data.messages : [])
      if (metadata?.event_type === eventType && metadata.event_payload?.thread === thread) sawRoot(ts);
    length = answer.data.messages.length;
    cursor = answer.data.response_metadata?.next_cursor ?? '';
    // History comes newest first; replies come in the order of the thread, so they are searched to the end.
    const isPast = method === 'conversations.history' && Number(answer.data.messages.at(-1)?.ts) < oldest;
    if (cursor === '' || isPast) return { found: null };
  }
  return impossible(`${message.channel} has too many messages since the first attempt to search them all.`);
}

/** After a refusal that waiting does not change, asking is impossible; after other failures it is asked again. */
function cannotAsk(failure: Failure, channel: string, part = ''): Finding {
  const failed = (): Finding => ({ found: 'failed', failure: findFailure(failure, channel) });
  if (failure.kind !== 'refused') return failed();
  const { error, data } = failure;
  const asked = `Slack cannot be asked about ${part}${channel}`;
  if (error === 'missing_scope') {
    const scope = data.needed ?? 'channels:history or groups:history';
    return impossible(`${asked}: the app lacks the scope ${scope}.`);
  }
  const lasting = ofOneMethod.has(error) ? 'never' : (errorMeanings.get(error)?.means ?? 'never');
  return lasting === 'never' ? impossible(`${asked} (${error}).`) : failed();
}

const impossible = (detail: string): Finding => ({ found: 'impossible', detail });
