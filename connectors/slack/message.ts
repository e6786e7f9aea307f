import { createHash } from 'node:crypto';
import { z } from 'zod';
import { mapLeaves, rejected } from '../../src/connector.ts';
import type { ComposeResult, DeliveryContext } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import { anyBlock, type Block, shorten, shortened, takenOf, wordsOf } from './blocks.ts';
import { channelName, escapeValue } from './escape.ts';

export const style = (about: string) =>
  z
    .enum(['compact', 'full'])
    .optional()
    .describe(
      `${about} \`compact\`: a line where nothing is to be decided; \`full\`: all of it, with ids and times.`,
    );

export const action = z
  .object({
    channel: z
      .string({
        error: ({ input }) =>
          Array.isArray(input) ? 'expected one channel: write an action for each' : undefined,
      })
      .min(1)
      .describe(
        "The name of a channel (#hiring) or its id. A person's id or email address sends a direct message.",
      ),
    text: z.string().optional().describe('What to say, in mrkdwn; with blocks, the text of notifications.'),
    blocks: z.array(anyBlock).min(1).optional().describe('The message as Block Kit blocks.'),
    threadBy: z
      .string()
      .optional()
      .describe("Messages with the same key in a channel join the first one's thread."),
    updateBy: z
      .string()
      .optional()
      .describe('A later message with the same key in a channel takes the place of the one before it.'),
    updates: z
      .enum(['message', 'thread'])
      .optional()
      .describe(
        'With updateBy. `message`: the message is edited (the default); `thread`: each later one is also told in its thread.',
      ),
    username: z.string().optional().describe('A name to post under; needs the scope chat:write.customize.'),
    icon: z.string().optional().describe('An emoji (:tada:) or the URL of an image; needs the same scope.'),
    style: style('How the default message looks; by default as the sink says, else `compact`.'),
    unfurl: z.boolean().optional().describe('Whether Slack shows previews of links.'),
  })
  .refine(({ text, blocks }) => text !== undefined || blocks !== undefined, {
    error: 'expected text or blocks',
  })
  .refine(({ updateBy, updates }) => updates === undefined || updateBy !== undefined, {
    path: ['updates'],
    error: 'this says how updateBy tells of later messages; give updateBy, too',
  })
  .refine(({ updateBy, threadBy }) => updateBy === undefined || threadBy === undefined, {
    path: ['threadBy'],
    error:
      'updateBy keeps one message for a key, threadBy a message for each; take one of them (`updates: thread` does both)',
  });

/** An action's keys, rendered. */
export type SlackFields = z.output<typeof action>;

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
    readonly event_payload: {
      readonly delivery_id: string;
      /** A hash of `threadBy` or `updateBy`, which may have a secret in it. */
      readonly thread?: string;
    };
  };
  /** This and the next two are kept with the delivery, and not sent. */
  readonly threadBy?: string;
  readonly updateBy?: string;
  /** Whether a later message with the same `updateBy` is also told in the thread. */
  readonly updates?: 'message' | 'thread';
};

/** Slack splits a longer text into several messages, and may do so in the middle of an entity. */
const maxTextLength = 4000;
/** An edit with more is refused. Slack's reference says characters, and it counts bytes of UTF-8. */
const maxEditedBytes = 4000;
const maxFallbackLength = 200;
const maxUsernameLength = 80;

/** Builds the message. A text or a block that is too long is shortened, with a notice. Pure. */
export function compose(
  fields: SlackFields,
  { deliveryId, subject }: DeliveryContext,
): ComposeResult<SlackMessage> {
  // Lone surrogates cannot be sent as UTF-8.
  const sendable = (leaf: unknown) => (typeof leaf === 'string' ? leaf.toWellFormed() : leaf) as Json;
  const given = mapLeaves(fields, sendable) as unknown as SlackFields;
  const trimmed = (text = '') => text.trim();
  const [channel, threadBy, updateBy] = [given.channel, given.threadBy, given.updateBy].map(trimmed) as [
    string,
    string,
    string,
  ];
  const [username, icon] = [trimmed(given.username), trimmed(given.icon)];
  const refuse = (what: string, advice: string) => ({
    rejected: rejected('invalid', `The ${what} of this message is empty.`, advice),
  });
  if (channel === '') return refuse('channel', channelAdvice);

  const taken = given.blocks && takenOf(given.blocks);
  const blocks = taken?.blocks;
  const summary = () => {
    if (subject.kind === 'notice') return subject.notice.detail;
    if (subject.kind === 'digest') return `Candidates: ${subject.events.length}`;
    return `Candidate ${subject.event.candidateId}: ${subject.event.status}`;
  };
  const isSilent = trimmed(given.text) === '';
  if (isSilent && !blocks) return refuse('text', textAdvice);
  const shown = isSilent
    ? shorten(wordsOf(blocks!) || escapeValue(summary()), maxFallbackLength)
    : given.text!;
  const text = shorten(shown, longestText(shown, updateBy));
  const notes = new Set([...(text === shown ? [] : [shortened]), ...(taken?.notes ?? [])]);
  const isImage = /^https?:\/\//.test(icon);
  // A hash, as the key may have a secret in it.
  const thread = createHash('sha256')
    .update(threadBy || updateBy)
    .digest('hex')
    .slice(0, 16);
  const message: SlackMessage = {
    channel,
    text,
    ...(blocks && { blocks }),
    ...(username && { username: shorten(username, maxUsernameLength) }),
    ...(icon && (isImage ? { icon_url: icon } : { icon_emoji: `:${icon.replace(/^:|:$/g, '')}:` })),
    ...(given.unfurl !== undefined && { unfurl_links: given.unfurl, unfurl_media: given.unfurl }),
    metadata: {
      event_type: eventType,
      event_payload: { delivery_id: deliveryId, ...((threadBy || updateBy) && { thread }) },
    },
    ...(threadBy && { threadBy }),
    ...(updateBy && { updateBy, ...(given.updates && { updates: given.updates }) }),
  };
  return notes.size === 0 ? { message } : { message, note: [...notes].join(' ') };
}

/** How much of a text fits, in UTF-16 units. With `updateBy`, each message may be an edit. */
function longestText(text: string, updateBy: string): number {
  if (updateBy === '' || Buffer.byteLength(text) <= maxEditedBytes) return maxTextLength;
  // The notice at the end of a shortened text has two bytes more than units; what it takes the place of has none fewer.
  const fitting = Buffer.from(text).subarray(0, maxEditedBytes - 2);
  return fitting.toString().length;
}

const channelAdvice =
  'Give the action a channel for this case too (in a template: {{ test.channel | default: "#hiring" }}), then replay.';
const textAdvice = 'Give the action a text that is not empty in this case, then replay.';

/** The key by which messages share a thread or a message; null without one. It differs by channel. */
export function threadOf({ channel, threadBy, updateBy }: SlackMessage): string | null {
  if (updateBy !== undefined) return `${channelName(channel)} updateBy ${updateBy}`;
  return threadBy === undefined ? null : `${channelName(channel)} ${threadBy}`;
}
