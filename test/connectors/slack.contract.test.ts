import { expect } from 'vitest';
import { slack } from '../../connectors/slack/index.ts';
import { visible } from '../../src/connector.ts';
import { connectorContract } from '../contract/connector.ts';
import { shownText, startSlack } from '../../sandbox/slack.ts';
import type { PostedMessage } from '../../sandbox/slack.ts';

const idOf = ({ metadata }: PostedMessage) => String(metadata?.event_payload['delivery_id']);

connectorContract('slack', async () => {
  const token = 'xoxb-secret-of-the-test';
  const sandbox = await startSlack({ token });
  return {
    connector: slack,
    sandbox,
    options: (authority) => ({ token, apiUrl: authority ? `https://${authority}/api/` : sandbox.url }),
    secrets: [token],
    fields: { channel: '#hiring', text: 'Candidate 42 completed the test.' },
    place: ['text'],
    calls: ['chat.postMessage'],
    meanings: {
      401: { outcome: 'retry', reason: 'auth' },
      404: { outcome: 'retry', reason: 'not_found' },
      413: { outcome: 'rejected', reason: 'invalid' },
      429: { outcome: 'retry', reason: 'rate_limited' },
      500: { outcome: 'unknown', reason: 'server' },
      502: { outcome: 'unknown', reason: 'server' },
      503: { outcome: 'unknown', reason: 'server' },
      504: { outcome: 'unknown', reason: 'server' },
    },
    trace: /^the message \d+\.\d+ in (C\w+): https:\/\/slack\.com\/archives\/\1\/p\d+$/,
    link: expect.stringMatching(/^https:\/\/slack\.com\/app_redirect\?channel=C\w+&message_ts=\d+\.\d+$/),
    statesDelay: true,
    finds: true,
    proxied: true,
    received: async () => sandbox.messages.map(idOf),
    shown: async (id) => shownText(sandbox.messages.find((message) => idOf(message) === id)!.text),
    asShown: visible,
  };
});
