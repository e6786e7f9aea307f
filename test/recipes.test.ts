import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { parseDocument } from 'yaml';
import { connectors } from '../connectors/index.ts';
import { startSlack } from '../sandbox/slack.ts';
import { TestingService } from '../sandbox/testing-service.ts';
import { base, post, run, serving, workplace } from './commands/tools.ts';
import { parseConfig } from '../src/config/load.ts';
import { editableText } from '../src/config/secrets/editable.ts';
import { Source } from '../src/config/text/problems.ts';
import { prepare } from '../src/deliveries/prepare.ts';
import type { Json } from '../src/model.ts';
import type { RaisedNotice } from '../src/model/notices.ts';
import { serve } from './connectors/raw-server.ts';
import { attemptAt, eventWith } from './fixtures/event.ts';
import { eventually } from './fixtures/eventually.ts';

const docs = await readFile(join(import.meta.dirname, '../docs/recipes.md'), 'utf8');

/** Each heading with its config. */
const recipes = new Map(
  [...docs.matchAll(/^## (.*)$([^]*?)(?=^## |(?![^]))/gm)].map(([, title = '', section = '']) => [
    title,
    /```yaml\n([^]*?)```/.exec(section)?.[1] ?? '',
  ]),
);

/** Of no tool, but of the testing service's API. */
const names = 'Names and scores';

/** What means something to one tool or another. */
const candidateId = '<!channel>`@all';

interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body: string;
}

interface Answer {
  readonly status: number;
  readonly body?: string;
}

interface Tool {
  /** What stands for the tool's origin in the recipe, and the path of its address. */
  readonly url: string;
  readonly env?: { readonly [name: string]: string };
  /** Its answer, as it is documented. Throws where the request is not what the tool takes. */
  answer(call: Call): Answer;
  /** Its answers once somebody deleted the webhook there, or turned off what it leads to: its messages have to wait. */
  readonly gone?: readonly Answer[];
}

const json = (call: Call): { readonly [key: string]: Json } => {
  expect(call.headers['content-type']).toBe('application/json');
  return JSON.parse(call.body) as { readonly [key: string]: Json };
};

const queryOf = ({ path }: Call) => Object.fromEntries(new URL(path, 'http://tool').searchParams);

const tools: { readonly [title: string]: Tool } = {
  // https://learn.microsoft.com/en-us/connectors/teams/#microsoft-teams-webhook
  'Microsoft Teams': {
    url: '${TEAMS_URL}',
    answer(call) {
      expect(json(call)).toMatchObject({
        type: 'message',
        attachments: [
          {
            contentType: 'application/vnd.microsoft.card.adaptive',
            content: {
              type: 'AdaptiveCard',
              version: '1.4',
              // https://adaptivecards.io/explorer/Fact.html: both are strings.
              body: [
                { type: 'TextBlock' },
                {
                  type: 'FactSet',
                  facts: ['Test', 'Candidate'].map((title) => ({ title, value: expect.any(String) })),
                },
              ],
            },
          },
        ],
      });
      return { status: 202 };
    },
  },
  // https://discord.com/developers/docs/resources/webhook#execute-webhook
  Discord: {
    url: '${DISCORD_URL}',
    answer(call) {
      const { content, allowed_mentions } = json(call);
      expect(content).toEqual(expect.stringMatching(/^[^]{1,2000}$/));
      expect(allowed_mentions).toEqual({ parse: [] });
      // Otherwise it is 204, whether or not the message is saved.
      expect(queryOf(call)).toMatchObject({ wait: 'true' });
      return { status: 200, body: '{"id":"1"}' };
    },
    gone: [{ status: 404, body: '{"message": "Unknown Webhook", "code": 10015}' }],
  },
  // https://developers.mattermost.com/integrate/webhooks/incoming/
  Mattermost: {
    url: '${MATTERMOST_URL}',
    answer(call) {
      // Code ends at the next backtick, and what follows may mention somebody.
      expect(json(call)['text']).toMatch(/^[^`@]*`[^`]+`[^`@]*$/);
      return { status: 200, body: 'ok' };
    },
  },
  // https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create
  'Google Chat': {
    url: '${GOOGLE_CHAT_URL}',
    answer(call) {
      expect(queryOf(call)).toEqual({
        key: 'k',
        token: 't',
        messageReplyOption: 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD',
        requestId: expect.stringMatching(/^completed-evt_\w+$/),
      });
      // https://developers.google.com/workspace/chat/format-messages: `<users/all>` mentions everybody.
      const withoutTags = expect.stringMatching(/^[^<]+$/);
      expect(json(call)).toEqual({ text: withoutTags, thread: { threadKey: 'test-1234567' } });
      return { status: 200, body: '{"name":"spaces/A/messages/B"}' };
    },
  },
  // https://core.telegram.org/bots/api#sendmessage
  Telegram: {
    url: 'https://api.telegram.org/bot${TELEGRAM_TOKEN}/sendMessage',
    env: { TELEGRAM_TOKEN: '123456:ABC-DEF1234ghIkl', TELEGRAM_CHAT: '-1001234567890' },
    answer(call) {
      // Without `@` nobody is mentioned.
      expect(json(call)).toEqual({
        chat_id: '-1001234567890',
        text: expect.stringMatching(/^Candidate [^@]{1,4000}$/),
      });
      return { status: 200, body: '{"ok":true,"result":{"message_id":1}}' };
    },
    gone: [
      { status: 403, body: '{"ok":false,"description":"Forbidden: bot was kicked from the group chat"}' },
    ],
  },
  // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
  'Slack, by an incoming webhook': {
    url: '${SLACK_WEBHOOK_URL}',
    answer(call) {
      expect(json(call)['text']).toBe('Candidate &lt;!channel&gt;`@all completed the test.');
      return { status: 200, body: 'ok' };
    },
    gone: [
      { status: 404, body: 'no_service' },
      { status: 410, body: 'channel_is_archived' },
    ],
  },
  'Notices to such a chat': {
    url: '${DISCORD_URL}',
    env: { SMTP_URL: 'smtps://mail.example.com' },
    answer(call) {
      expect(json(call)).toEqual({
        content: expect.stringMatching(/^\*\*slack is down[^]{1,1000}\*\* Fix it\.$/),
        allowed_mentions: { parse: [] },
      });
      return { status: 200, body: '{"id":"1"}' };
    },
  },
  // https://developer.pagerduty.com/docs/events-api-v2/trigger-events/
  PagerDuty: {
    url: 'https://events.pagerduty.com/v2/enqueue',
    env: { PAGERDUTY_KEY: 'routing-key-1' },
    answer(call) {
      expect(json(call)).toMatchObject({
        routing_key: 'routing-key-1',
        event_action: 'trigger',
        dedup_key: 'candidate-connector paused slack',
        // At most 1024 characters.
        payload: {
          summary: expect.stringMatching(/^slack is down.{0,1010}$/),
          source: expect.any(String),
          severity: 'error',
        },
      });
      return { status: 202, body: '{"status":"success"}' };
    },
  },
  // https://www.twilio.com/docs/messaging/api/message-resource#create-a-message
  'SMS, by Twilio': {
    url: 'https://api.twilio.com/2010-04-01/Accounts/${TWILIO_ACCOUNT_SID}/Messages.json',
    env: { TWILIO_ACCOUNT_SID: 'AC1', TWILIO_AUTH_TOKEN: 'auth-token-1', TWILIO_NUMBER: '+15005550006' },
    answer(call) {
      const login = Buffer.from('AC1:auth-token-1').toString('base64');
      expect(call.headers).toMatchObject({
        authorization: `Basic ${login}`,
        'content-type': 'application/x-www-form-urlencoded',
      });
      expect(Object.fromEntries(new URLSearchParams(call.body))).toEqual({
        To: '+385915550100',
        From: '+15005550006',
        Body: expect.stringContaining('The test of candidate'),
      });
      return { status: 201, body: '{"status":"queued"}' };
    },
  },
  'Zapier, Make and n8n': {
    url: '${ZAPIER_URL}',
    answer(call) {
      expect(json(call)).toMatchObject({ type: 'candidate.completed', data: { candidateId } });
      expect(call.headers['webhook-id']).toBe('dlv_1');
      return { status: 200 };
    },
    gone: [{ status: 404 }, { status: 410, body: 'There is no scenario listening for this webhook.' }],
  },
  // https://airtable.com/developers/web/api/update-multiple-records
  Airtable: {
    url: 'https://api.airtable.com/v0/${AIRTABLE_BASE}/Results',
    env: { AIRTABLE_BASE: 'app8pqOLeka1Cglwg', AIRTABLE_TOKEN: 'pat-token-1' },
    answer(call) {
      expect(call).toMatchObject({ method: 'PATCH', headers: { authorization: 'Bearer pat-token-1' } });
      // A column of text takes no number, unless `typecast` is said.
      expect(json(call)).toEqual({
        performUpsert: { fieldsToMergeOn: ['Id'] },
        records: [
          {
            fields: {
              Id: `${candidateId}-1234567`,
              Candidate: expect.any(String),
              Test: expect.any(String),
              Status: 'completed the test',
              Updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
            },
          },
        ],
      });
      return { status: 200, body: '{"records":[]}' };
    },
  },
  'An applicant tracking system that knows the candidate by our id': {
    url: 'https://ats.example.com/api/v1',
    env: { ATS_TOKEN: 'ats-token-1' },
    answer(call) {
      expect(call).toMatchObject({
        method: 'PATCH',
        path: `/hook/candidates/${encodeURIComponent(candidateId)}?key=k&token=t`,
      });
      expect(call.headers.authorization).toBe('Bearer ats-token-1');
      expect(json(call)).toEqual({
        assessment: { test: 1234567, status: 'Completed', at: expect.stringContaining('T') },
      });
      return { status: 200, body: '{"success":true}' };
    },
  },
};

test('each recipe is tried', () => {
  const tried = [...Object.keys(tools), names];
  expect([...recipes.keys()].toSorted()).toEqual(tried.toSorted());
});

test.each([...recipes].filter(([, yaml]) => yaml !== ''))('%s can be edited on the page', (_, yaml) => {
  expect(editableText(new Source(yaml), (part) => part)).not.toBeNull();
});

test('names and scores are asked for and told as their recipe says', async () => {
  const api = await new TestingService().start();
  const slack = await startSlack({ channels: ['hiring', 'hiring-managers'] });
  onTestFinished(() => api.close());
  onTestFinished(() => slack.close());
  const document = parseDocument(
    (recipes.get(names) ?? '').replaceAll('https://tests.example.com/api', api.url),
  );
  for (const lookup of ['candidate', 'test']) document.setIn(['lookups', lookup, 'allowPrivate'], true);
  document.setIn(['sinks', 'slack', 'apiUrl'], slack.url);
  const { folder, write } = await workplace();
  const file = await write('recipe.yaml', base(folder) + String(document));
  const env = { API_USER: api.username, API_PASSWORD: api.password, SLACK_BOT_TOKEN: slack.token };
  expect(await run(['check', '--candidate', 'ana', file], env)).toMatchObject({ code: 0, err: '' });
  const app = await serving(file, env);
  await post(app, { candidateId: 'ana' });
  await eventually(() => expect(slack.messages).toHaveLength(2));
  expect(slack.messages.map(({ text: said }) => said).toSorted()).toEqual([
    "*Eva O'Neill: 94 %* in Backend Engineer, TypeScript",
    expect.stringContaining("Eva O'Neill completed Backend Engineer, TypeScript: 94%"),
  ]);
});

const notice: RaisedNotice = {
  id: 'ntc_1',
  raisedAt: Date.now(),
  alert: 'paused',
  cause: 'paused slack',
  sink: 'slack',
  count: 0,
  since: 0,
  detail: 'slack is down. '.repeat(100),
  advice: 'Fix it.',
  recovered: false,
};

/** The recipe, but for where its first sink's calls go. */
function leadingTo(url: string, yaml: string): string {
  const document = parseDocument(yaml);
  const [name] = Object.keys(document.toJS().sinks as object);
  document.setIn(['sinks', name, 'url'], url);
  document.setIn(['sinks', name, 'allowPrivate'], true);
  return String(document);
}

test.each(Object.entries(tools))('%s takes what its recipe sends', async (title, tool) => {
  const calls: Call[] = [];
  const { url } = await serve(async (incoming, response) => {
    const { method = '', headers, url: path = '' } = incoming;
    const call = { method, headers, path, body: await text(incoming) };
    calls.push(call);
    try {
      const { status, body = '' } = tool.gone?.[calls.length - 2] ?? tool.answer(call);
      response.writeHead(status).end(body);
    } catch (error) {
      response.writeHead(400).end(String(error));
    }
  });
  const here = `${url}/hook?key=k&token=t`;
  const yaml = recipes.get(title) ?? '';
  const address = { [tool.url.slice(2, -1)]: 'https://hooks.example.com/secret-path' };
  const env = { ...tool.env, ...(tool.url.startsWith('$') && address) };
  const { write } = await workplace();
  const { code, out, err } = await run(['check', await write('recipe.yaml', yaml)], env);
  expect({ code, out, err }).toEqual({
    code: 0,
    out: expect.stringMatching(/^\S+ is good: [^\n]*\n$/),
    err: '',
  });
  const config = parseConfig(leadingTo(here, yaml), 'recipe.yaml', { env, connectors });

  // Of a recipe with alerts, these are what it is about.
  const ofAlerts = config.plan.alerts.flatMap(({ actions: list }) => list);
  const actions = ofAlerts.length > 0 ? ofAlerts : config.plan.then.flat();
  const action = actions.find(({ sink }) => sink === [...config.sinks.keys()][0]);
  const sink = [...config.sinks.values()][0];
  if (!action || !sink) throw new Error('a recipe has a sink and an action');
  const event = eventWith({ candidateId, testId: 1234567, status: 'Completed' });
  const about = config.plan.alerts.length > 0 ? { events: [], notice } : { events: [event], notice: null };
  const prepared = prepare(action, about, 'dlv_1', config.plan, sink, Date.now());
  if (!('message' in prepared)) throw new Error(JSON.stringify(prepared));
  const connected = await sink.connector.connect(sink.options);
  onTestFinished(() => connected.close());
  const deliver = () => connected.deliver(attemptAt({ message: prepared.message }, { deliveryId: 'dlv_1' }));
  expect(await deliver()).toMatchObject({ outcome: 'delivered' });
  expect(calls).toHaveLength(1);
  const later: [string, string][] = [];
  for (const wanted of [...(tool.gone ?? []).map(() => 'retry'), 'delivered'])
    later.push([wanted, (await deliver()).outcome]);
  expect(later.filter(([wanted, outcome]) => wanted !== outcome)).toEqual([]);
});
