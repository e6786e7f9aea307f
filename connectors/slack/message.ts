import { rejected } from '../../src/connector.ts';
import type { Composed, DeliveryContext, Subject } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import type { Block } from './blocks.ts';
import { fitBlocks, wordsOf } from './blocks.ts';
import { nameOf } from './channels.ts';
import { escapeText } from './escape.ts';
import { shorten } from './shorten.ts';

export const eventType = 'candidate_connector_delivery';

/** The arguments of `chat.postMessage`, apart from `thread_ts`, with the thread's key. */
export type SlackMessage = {
  readonly channel: string;
  readonly text: string;
  readonly blocks?: readonly Block[];
  readonly username?: string;
  readonly icon_emoji?: string;
  readonly icon_url?: string;
  readonly unfurl_links?: boolean;
  readonly unfurl_media?: boolean;
  readonly metadata: {
    readonly event_type: typeof eventType;
    readonly event_payload: { readonly delivery_id: string };
  };
  /** Ours: not sent. */
  readonly threadBy?: string;
};

/** An action's keys, rendered. */
export interface SlackFields {
  readonly channel: string;
  readonly text?: string | undefined;
  readonly blocks?: readonly Block[] | undefined;
  readonly threadBy?: string | undefined;
  readonly username?: string | undefined;
  readonly icon?: string | undefined;
  readonly unfurl?: boolean | undefined;
}

/** Slack splits a longer text into several messages, and may do so in the middle of an entity. */
const maxTextLength = 4000;
const maxFallbackLength = 200;
const maxUsernameLength = 80;

/** Pure: what will be posted. A text or a block that is too long is shortened with a notice in its place. */
export function compose(fields: SlackFields, context: DeliveryContext): Composed<SlackMessage> {
  const { channel, text, threadBy, username, icon, blocks } = tidied(fields);
  if (channel === '') {
    return { rejected: rejected('invalid', 'The channel of this message is empty.', mendChannel) };
  }
  const fitted = blocks && fitBlocks(blocks);
  const said = text.trim() === '' ? fitted && fallback(fitted.blocks, context) : text;
  if (said === undefined) {
    return { rejected: rejected('invalid', 'The text of this message is empty.', mendText) };
  }
  const short = shorten(said, maxTextLength);
  const message: SlackMessage = {
    channel,
    text: short,
    ...(fitted && { blocks: fitted.blocks }),
    ...(username && { username: shorten(username, maxUsernameLength) }),
    ...iconArguments(icon),
    ...(fields.unfurl !== undefined && { unfurl_links: fields.unfurl, unfurl_media: fields.unfurl }),
    metadata: { event_type: eventType, event_payload: { delivery_id: context.deliveryId } },
    ...(threadBy && { threadBy }),
  };
  const shortened = short !== said || fitted?.shortened === true;
  return shortened ? { message, note: 'The message was too long for Slack and was shortened.' } : { message };
}

const mendChannel =
  'Give the action a channel for this case too (in a template: {{ test.channel | default: "#hiring" }}), then replay.';
const mendText = 'Give the action a text that is not empty in this case, then replay.';

/** The key under which messages share a thread. A key of one channel says nothing in another one. */
export function threadOf({ channel, threadBy }: SlackMessage): string | null {
  return threadBy === undefined ? null : `${nameOf(channel)} ${threadBy}`;
}

/** Names without space around them, and nothing that cannot be sent as UTF-8, such as the lone surrogate of a hostile id. */
function tidied({ channel, text = '', blocks, threadBy = '', username = '', icon = '' }: SlackFields) {
  return {
    channel: channel.toWellFormed().trim(),
    text: text.toWellFormed(),
    threadBy: threadBy.toWellFormed().trim(),
    username: username.toWellFormed().trim(),
    icon: icon.toWellFormed().trim(),
    blocks: blocks && (wellFormed(blocks) as readonly Block[]),
  };
}

function wellFormed(tree: Json): Json {
  if (typeof tree === 'string') return tree.toWellFormed();
  if (Array.isArray(tree)) return (tree as readonly Json[]).map(wellFormed);
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, wellFormed(value)]));
}

function fallback(blocks: readonly Block[], { subject }: DeliveryContext): string {
  return shorten(wordsOf(blocks) || escapeText(inShort(subject)), maxFallbackLength);
}

function inShort(subject: Subject): string {
  if (subject.kind === 'notice') return subject.notice.detail;
  if (subject.kind === 'digest') return `Candidates: ${subject.events.length}`;
  return `Candidate ${subject.event.candidateId}: ${subject.event.status}`;
}

function iconArguments(icon: string): Pick<SlackMessage, 'icon_emoji' | 'icon_url'> {
  if (icon === '') return {};
  if (/^https?:\/\//.test(icon)) return { icon_url: icon };
  return { icon_emoji: `:${icon.replace(/^:|:$/g, '')}:` };
}
