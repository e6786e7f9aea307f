import { rejected } from '../../src/connector.ts';
import type { Composed, DeliveryContext, Subject } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import { escapeText, escapeValue, isLiteral, isMarkdown, unescapeMarkdown } from './escape.ts';

export const eventType = 'candidate_connector_delivery';

export type Block = { readonly [key: string]: Json };

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
  /** Not sent. */
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
  const { channel, text, threadBy, username, icon, blocks } = cleaned(fields);
  if (channel === '') {
    return { rejected: rejected('invalid', 'The channel of this message is empty.', channelAdvice) };
  }
  const fitted = blocks && fitBlocks(blocks);
  const shown = text.trim() === '' ? fitted && fallback(fitted.blocks, context) : text;
  if (shown === undefined) {
    return { rejected: rejected('invalid', 'The text of this message is empty.', textAdvice) };
  }
  const short = shorten(shown, maxTextLength);
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
  const shortened = short !== shown || fitted?.shortened === true;
  return shortened ? { message, note: 'The message was too long for Slack and was shortened.' } : { message };
}

const channelAdvice =
  'Give the action a channel for this case too (in a template: {{ test.channel | default: "#hiring" }}), then replay.';
const textAdvice = 'Give the action a text that is not empty in this case, then replay.';

/** The key under which messages share a thread. The same key in another channel is another thread. */
export function threadOf({ channel, threadBy }: SlackMessage): string | null {
  return threadBy === undefined ? null : `${channelName(channel)} ${threadBy}`;
}

/** A channel's name, however it is written: `#hiring` and `hiring` are the same. */
export function channelName(channel: string): string {
  return channel.trim().replace(/^#/, '');
}

/** Names without spaces around them, and no lone surrogates, which cannot be sent as UTF-8. */
function cleaned({ channel, text = '', blocks, threadBy = '', username = '', icon = '' }: SlackFields) {
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
  return shorten(wordsOf(blocks) || escapeValue(summaryOf(subject)), maxFallbackLength);
}

function summaryOf(subject: Subject): string {
  if (subject.kind === 'notice') return subject.notice.detail;
  if (subject.kind === 'digest') return `Candidates: ${subject.events.length}`;
  return `Candidate ${subject.event.candidateId}: ${subject.event.status}`;
}

function iconArguments(icon: string): Pick<SlackMessage, 'icon_emoji' | 'icon_url'> {
  if (icon === '') return {};
  if (/^https?:\/\//.test(icon)) return { icon_url: icon };
  return { icon_emoji: `:${icon.replace(/^:|:$/g, '')}:` };
}

type Path = readonly (string | number)[];

/** In one message. */
const maxBlocks = 50;

/**
 * Slack refuses a whole message for one text that is too long. The limits by block type, or by the key that a text is
 * in; names as in Slack's reference of Block Kit.
 */
const limits: readonly { readonly type?: string; readonly key?: string; readonly maxLength: number }[] = [
  { type: 'header', maxLength: 150 },
  { type: 'button', maxLength: 75 },
  { type: 'markdown', maxLength: 12_000 },
  { key: 'fields', maxLength: 2000 },
  { key: 'title', maxLength: 2000 },
];
const defaultMaxLength = 3000;

/** Blocks that Slack takes: texts within their limits, and no more blocks than fit into a message. */
function fitBlocks(blocks: readonly Block[]) {
  let shortened = false;
  const kept =
    blocks.length > maxBlocks ? [...blocks.slice(0, maxBlocks - 1), omittedBlocks(blocks)] : blocks;
  const fitted = mapTexts(kept, (text, maxLength) => {
    const short = shorten(text, maxLength);
    shortened ||= short !== text;
    return short;
  });
  return { blocks: fitted as readonly Block[], shortened: shortened || kept !== blocks };
}

function omittedBlocks(blocks: readonly Block[]): Block {
  const text = `… (shortened: ${blocks.length - maxBlocks + 1} more blocks)`;
  return { type: 'context', elements: [{ type: 'plain_text', text }] };
}

/** The words of blocks as one line of mrkdwn, for notifications and screen readers. */
function wordsOf(blocks: readonly Block[]): string {
  const words: string[] = [];
  mapTexts(blocks, (text, _maxLength, path) => {
    const plain = isMarkdown(path) ? unescapeMarkdown(text) : text;
    words.push(isLiteral(path) ? escapeText(plain) : plain);
    return text;
  });
  return words.join(' ').replace(/\s+/g, ' ').trim();
}

type ChangeText = (text: string, maxLength: number, path: Path) => string;

function mapTexts(tree: Json, change: ChangeText, path: Path = [], types: readonly string[] = []): Json {
  if (Array.isArray(tree)) {
    return (tree as readonly Json[]).map((item, index) => mapTexts(item, change, [...path, index], types));
  }
  if (typeof tree !== 'object' || tree === null) return tree;
  const object = tree as Block;
  const inside = typeof object['type'] === 'string' ? [...types, object['type']] : types;
  const entries = Object.entries(object).map(([key, value]) => [
    key,
    key === 'text' && typeof value === 'string'
      ? change(value, maxLengthAt(path, inside), [...path, key])
      : mapTexts(value, change, [...path, key], inside),
  ]);
  return Object.fromEntries(entries) as Block;
}

function maxLengthAt(path: Path, types: readonly string[]): number {
  const limit = limits.find(({ type, key }) =>
    type === undefined ? path.includes(key!) : types.includes(type),
  );
  return limit?.maxLength ?? defaultMaxLength;
}

/** Cuts a text that is too long, with a notice at its end. Counts UTF-16 units. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const notice = maxLength < 300 ? '…' : '\n… (shortened)';
  return text.slice(0, safeEnd(text, maxLength - notice.length)) + notice;
}

/** What must not be cut in two, by its first character. A reference may have entities in it. */
const units: readonly (readonly [opening: string, unit: RegExp])[] = [
  ['<', /^<(?:[@#!]|https?:|mailto:)[^<>]*>/],
  ['&', /^&(?:amp|lt|gt);/],
];

/** The last place at or before `end` that is not inside a `<…>` reference, an entity or a character. */
function safeEnd(text: string, end: number): number {
  for (const [opening, unit] of units) {
    const start = text.lastIndexOf(opening, end - 1);
    const found = start === -1 ? null : unit.exec(text.slice(start));
    if (found && start + found[0].length > end) return start;
  }
  const splitsPair = text.codePointAt(end - 1)! > 0xffff;
  return splitsPair ? end - 1 : end;
}
