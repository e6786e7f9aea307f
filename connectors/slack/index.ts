import { z } from 'zod';
import { defineConnector, openProxy, proxyOption, plain, secret } from '../../src/connector.ts';
import type { Sink } from '../../src/connector.ts';
import { checkSlack } from './check.ts';
import { Places, webApi } from './client.ts';
import { describe } from './describe.ts';
import { defaultFields } from './default-message.ts';
import { deliverMessage } from './deliver.ts';
import { channelSlips, escapeValue, inBlocks, joinText, mrkdwnSlips } from './escape.ts';
import { findMessage } from './find.ts';
import { channelName, compose, threadOf } from './message.ts';
import type { SlackMessage } from './message.ts';
import { placeNamed, placesOf } from './places.ts';

const style = (about: string) =>
  z
    .enum(['compact', 'full'])
    .optional()
    .describe(
      `${about} \`compact\`: a line where nothing is to be decided; \`full\`: all of it, with ids and times.`,
    );

const options = z.object({
  token: secret().describe('The bot token of the app, xoxb-…'),
  apiUrl: z
    .url({ protocol: /^https?$/ })
    .default('https://slack.com/api/')
    .describe('The whole base of the Web API; for a proxy or a test.'),
  teamId: z
    .string()
    .regex(/^[TE][A-Z0-9]{2,}$/, { error: "expected a workspace's id, such as T0123ABCD" })
    .optional()
    .describe('The workspace (T…) in which channels are looked up by name; for a token of an organization.'),
  proxy: proxyOption(),
  style: style('How default messages look where the action says nothing of it.'),
});

/** Slack refuses a message with longer ones: https://docs.slack.dev/reference/block-kit/blocks */
const longestLists = [
  { type: 'section', key: 'fields', most: 10 },
  { type: 'context', key: 'elements', most: 10 },
  { type: 'actions', key: 'elements', most: 25 },
];

const block = z
  .record(z.string(), z.json())
  .refine((value) => typeof value['type'] === 'string', { error: 'a block has a type, such as section' })
  .superRefine((value, context) => {
    for (const { type, key, most } of longestLists) {
      const list = value[key];
      if (value['type'] === type && Array.isArray(list) && list.length > most)
        context.addIssue({ code: 'custom', path: [key], message: `Slack takes at most ${most} ${key} here` });
    }
  });

const action = z
  .object({
    channel: z
      .string()
      .min(1)
      .describe(
        "The name of a channel (#hiring) or its id. A person's id or email address sends a direct message.",
      ),
    text: z.string().optional().describe('What to say, in mrkdwn; with blocks, the text of notifications.'),
    blocks: z.array(block).min(1).optional().describe('The message as Block Kit blocks.'),
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

/** Posts to Slack with `chat.postMessage`, one call an attempt; with `updateBy` it edits with `chat.update`. */
export const slack = defineConnector({
  name: 'slack',
  describe,
  options,
  action,
  templates: {
    channel: { ...plain, slips: channelSlips },
    text: { escape: escapeValue, join: joinText, slips: mrkdwnSlips },
    blocks: inBlocks,
    threadBy: plain,
    updateBy: plain,
    username: plain,
    icon: plain,
  },
  defaults: { concurrency: 4, timeoutMs: 20_000, pace: { count: 1, perMs: 1000, burst: 3 } },
  defaultFields,
  inherited: ['style'],
  // Slack's rate holds for each channel, and so does the order that people see.
  lane: ({ channel }) => channelName(channel),
  laneKeys: ['channel'],
  placeKeys: ['channel', 'threadBy'],
  ofOneEvent: ['updateBy', 'updates'],
  sharedBy: () => [['updateBy'], ['threadBy']],
  audience: {
    keys: ['channel'],
    of: ({ channel }) => ({ place: channel, members: [channelName(channel)], places: placesOf(channel) }),
    named: { key: 'channel', read: placeNamed },
  },
  thread: threadOf,
  replaces: ({ updateBy }) => updateBy !== undefined,
  compose: (fields, context) => compose(fields, context),
  connect: async ({ token, apiUrl, teamId, proxy: given }): Promise<Sink<SlackMessage>> => {
    const proxy = await openProxy(apiUrl, given);
    const call = webApi(await import('@slack/web-api'), { token, apiUrl, proxy });
    const places = new Places(call, teamId);
    return {
      deliver: (request) => deliverMessage(call, places, request),
      find: (request) => findMessage(call, places, request),
      check: (messages, signal) =>
        checkSlack(call, places, messages, signal, token.reveal().startsWith('xoxe.')),
      close: async () => proxy?.dispatcher.destroy(),
    };
  },
});
