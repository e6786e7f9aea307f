import { z } from 'zod';
import { defineConnector, openProxy, proxyOption, plain, secret } from '../../src/connector.ts';
import type { Sink } from '../../src/connector.ts';
import { checkSlack, tokenFault } from './check.ts';
import { Places, webApi } from './client.ts';
import { describe } from './describe.ts';
import { defaultFields } from './default-message.ts';
import { deliverMessage } from './deliver.ts';
import { channelName, channelSlips, escapeValue, inBlocks, joinText, mrkdwnSlips } from './escape.ts';
import { findMessage } from './find.ts';
import { action, compose, style, threadOf } from './message.ts';
import type { SlackMessage } from './message.ts';
import { alike, placeNamed, placesOf } from './places.ts';

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
  alike: (text, key) => (key === 'channel' ? alike(text) : text),
  ofOneEvent: ['updateBy', 'updates'],
  sharedBy: () => [['updateBy'], ['threadBy']],
  audience: {
    keys: ['channel'],
    of({ channel }) {
      const places = placesOf(channel);
      return { place: channel, members: places.map(({ id }) => id), places };
    },
    named: { key: 'channel', read: placeNamed },
  },
  thread: threadOf,
  replaces: ({ updateBy }) => updateBy !== undefined,
  compose: (fields, context) => compose(fields, context),
  fault: async ({ token }) => {
    const message = tokenFault(token.reveal());
    return message === null ? null : { option: 'token', message };
  },
  connect: async ({ token, apiUrl, teamId, proxy: given }): Promise<Sink<SlackMessage>> => {
    const proxy = await openProxy(apiUrl, given);
    const call = webApi(await import('@slack/web-api'), { token, apiUrl, proxy });
    const places = new Places(call, teamId);
    return {
      deliver: (request) => deliverMessage(call, places, request),
      find: (request) => findMessage(call, places, request),
      check: (messages, signal) => checkSlack(call, places, messages, signal),
      close: async () => proxy?.dispatcher.destroy(),
    };
  },
});
