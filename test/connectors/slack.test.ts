import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { slack } from '../../connectors/slack/index.ts';
import { Secret } from '../../src/support/secret.ts';
import type { SlackFields, SlackMessage } from '../../connectors/slack/message.ts';
import { errorMeanings } from '../../connectors/slack/outcomes.ts';
import type { AttemptRequest, DeliveryContext, Sink } from '../../src/connector.ts';
import type { Receipt } from '../../src/model/outcomes.ts';
import { attemptAt } from '../fixtures/event.ts';
import { startSlack } from '../../sandbox/slack.ts';
import { elsewhere, endlessJson, serve } from './raw-server.ts';
import type { SlackOptions, SlackSandbox } from '../../sandbox/slack.ts';

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

/** Of the test that runs. */
let sandbox: SlackSandbox;
let sink: Sink<SlackMessage>;
beforeEach(() => connected());

/** A workspace of another kind, and a sink of it. */
async function connected(options: SlackOptions = {}): Promise<void> {
  sandbox = await startSlack(options);
  open.push(sandbox);
  sink = await connect(sandbox.url, sandbox.token);
}

const connect = (apiUrl: string, token: string): Promise<Sink<SlackMessage>> =>
  slack.connect(slack.options.parse({ token, apiUrl }));

const composeWith = (fields: Partial<SlackFields>, deliveryId = 'd') =>
  slack.compose(
    slack.action.parse({ channel: '#hiring', text: 'Hello', ...fields }),
    { deliveryId } as DeliveryContext,
    slack.options.parse({ token: 'unused' }),
  );

let count = 0;
function requestFor(
  fields: Partial<SlackFields> = {},
  over: Partial<AttemptRequest<SlackMessage>> = {},
): AttemptRequest<SlackMessage> {
  const deliveryId = over.deliveryId ?? `d-${(count += 1)}`;
  return attemptAt(composeWith(fields, deliveryId), { deliveryId, firstAttemptAt: Date.now(), ...over });
}

async function posted(request: AttemptRequest<SlackMessage>): Promise<Receipt> {
  const outcome = await sink.deliver(request);
  if (outcome.outcome !== 'delivered') throw new Error(JSON.stringify(outcome));
  return outcome.receipt;
}

/** Carried out, and its answer lost. */
const lost = { kind: 'drop', commit: true } as const;

const refuseWith = (error: string, extra: object = {}) =>
  sandbox.faults.once({ kind: 'status', status: 200, body: { ok: false, error, ...extra } });

describe('a delivery', () => {
  test('posts everything that the action says', async () => {
    const blocks = [{ type: 'section', text: { type: 'mrkdwn', text: '*Hi*' } }];
    await posted(requestFor({ blocks, username: 'Tests', icon: ':tada:', unfurl: true, threadBy: 'k' }));
    expect(sandbox.messages).toMatchObject([
      {
        channelName: 'hiring',
        text: 'Hello',
        blocks,
        username: 'Tests',
        icons: { emoji: ':tada:' },
        unfurl_links: true,
      },
    ]);
    expect(sandbox.calls).toEqual(['chat.postMessage']);
  });

  test('joins the thread of the first message with its key', async () => {
    const root = await posted(requestFor({ threadBy: 'c-1' }));
    const second = await posted(requestFor({ threadBy: 'c-1' }, { threadOf: root }));
    expect(second).toMatchObject({ channel: root['channel'], thread_ts: root['ts'] });
    // The receipt of an answer leads to the same thread, should the first one's be gone.
    await posted(requestFor({ threadBy: 'c-1' }, { threadOf: second }));
    expect(sandbox.messages.map(({ thread_ts }) => thread_ts)).toEqual([undefined, root['ts'], root['ts']]);
  });

  describe('with updateBy', () => {
    const told = () => sandbox.messages.map(({ text, thread_ts }) => [text, thread_ts]);
    const update = (text: string, threadOf: Receipt | null, fields: Partial<SlackFields> = {}) =>
      requestFor({ updateBy: 'c-1', text, ...fields }, { threadOf });

    test('takes the place of the message before, with its blocks, however often it is sent', async () => {
      const blocks = [{ type: 'section', text: { type: 'mrkdwn', text: '*Hi*' } }];
      const first = await posted(update('One', null, { blocks, username: 'Tests', unfurl: false }));
      const again = update('Two', first, { username: 'Tests', unfurl: false });
      expect(await posted(again)).toEqual(first);
      expect(await posted(again)).toEqual(first);
      expect(told()).toEqual([['Two', undefined]]);
      expect(sandbox.messages[0]).toMatchObject({ blocks: [], username: 'Tests' });
    });

    test.for(['ž', '語', '👩'])('is shortened to the bytes that an edit may have: %s', async (letter) => {
      const first = await posted(update('One', null));
      for (const before of ['', 'x', 'xx', 'xxx']) {
        await posted(update(before + letter.repeat(3990), first));
        const { text } = sandbox.messages[0]!;
        expect(text.replaceAll(letter, '')).toBe(`${before}\n… (shortened)`);
        expect(Buffer.byteLength(text)).toBeGreaterThan(3900);
      }
    });

    test('keeps a text of as many bytes as an edit may have', async () => {
      const text = 'ž'.repeat(2000);
      await posted(update(text, await posted(update('One', null))));
      expect(told()).toEqual([[text, undefined]]);
    });

    test('is told in the thread too, which is found there, and edited once more only', async () => {
      const first = await posted(update('One', null));
      const later = update('Two', first, { updates: 'thread' });
      sandbox.faults.only = ['chat.postMessage'];
      sandbox.faults.once(lost);
      expect(await sink.deliver(later)).toMatchObject({ outcome: 'unknown' });
      const finding = await sink.find!(later);
      expect(finding).toMatchObject({ found: { thread_ts: first['ts'] } });
      expect(told()).toEqual([
        ['Two', undefined],
        ['Two', first['ts']],
      ]);
      const third = update('Three', (finding as { found: Receipt }).found, { updates: 'thread' });
      expect(await posted(third)).toMatchObject({ thread_ts: first['ts'] });
      expect(told().map(([text]) => text)).toEqual(['Three', 'Two', 'Three']);
    });

    test.for(['deleted', 'locked'] as const)('is a new message where the former one is %s', async (how) => {
      const first = await posted(update('One', null));
      const { ts } = sandbox.messages[0]!;
      if (how === 'deleted') sandbox.remove(ts);
      else sandbox.lock(ts);
      const second = await sink.deliver(update('Two', first));
      const newest = sandbox.messages.at(-1)!;
      expect(second).toMatchObject({ receipt: { ts: newest.ts }, note: expect.stringContaining('new one') });
      await posted(update('Three', (second as { receipt: Receipt }).receipt));
      expect(sandbox.messages.at(-1)).toMatchObject({ ts: newest.ts, text: 'Three' });
    });

    test('is a message in the channel that has the name now, where the former one was archived', async () => {
      await connected({ channels: ['hiring', 'hiring-2'] });
      const first = await posted(update('One', null));
      sandbox.archive('hiring');
      expect(await sink.deliver(update('Two', first))).toMatchObject({
        outcome: 'rejected',
        detail: expect.stringContaining('is archived'),
      });
      sandbox.rename('hiring', 'hiring-old');
      sandbox.rename('hiring-2', 'hiring');
      const second = update('Two', first);
      sandbox.faults.only = ['chat.postMessage'];
      sandbox.faults.once(lost);
      expect(await sink.deliver(second)).toMatchObject({ outcome: 'unknown' });
      const { channel, ts } = sandbox.messages.at(-1)!;
      expect(channel).not.toBe(first['channel']);
      expect(await sink.find!(second)).toEqual({ found: { channel, ts } });
      expect(sandbox.messages.map(({ channelName, text }) => [channelName, text])).toEqual([
        ['hiring', 'One'],
        ['hiring', 'Two'],
      ]);
    });

    test.for([
      ['block_mismatch', 'delivered', 2],
      ['channel_not_found', 'delivered', 2],
      ['update_failed', 'unknown', 1],
      ['external_channel_migrating', 'retry', 1],
    ] as const)('that Slack refuses with %s is %s', async ([error, outcome, messages]) => {
      const first = await posted(update('One', null));
      refuseWith(error);
      expect(await sink.deliver(update('Two', first))).toMatchObject({ outcome });
      expect(sandbox.messages).toHaveLength(messages);
    });

    test('leaves a message that tells of a later event', async () => {
      const first = await posted(update('Two', null));
      const earlier = update('One', first, { updates: 'message' });
      expect(await posted({ ...earlier, overtaken: true })).toEqual(first);
      await posted({ ...update('One', first, { updates: 'thread' }), overtaken: true });
      expect(told()).toEqual([
        ['Two', undefined],
        ['One', first['ts']],
      ]);
    });

    test('is no new message where the edit may have been made, or has to wait', async () => {
      const first = await posted(update('One', null));
      const later = update('Two', first);
      sandbox.faults.once(lost);
      expect(await sink.deliver(later)).toMatchObject({ outcome: 'unknown' });
      expect(await sink.find!(later)).toEqual({ found: null });
      refuseWith('missing_scope');
      expect(await sink.find!(later)).toEqual({ found: null });
      refuseWith('ratelimited');
      expect(await sink.deliver(later)).toMatchObject({ outcome: 'retry', reason: 'rate_limited' });
      expect(told()).toEqual([['Two', undefined]]);
    });
  });

  test('has no button and no image without an address', async () => {
    const button = { type: 'button', text: { type: 'plain_text', text: 'Open' }, url: '' };
    const image = { type: 'image', image_url: '', alt_text: 'Logo' };
    const blocks = [section(10), { type: 'actions', elements: [button] }, image];
    await posted(requestFor({ blocks }));
    expect(sandbox.messages[0]?.blocks).toEqual([section(10)]);
  });

  test('has no button and no image with an address that is too long for Slack, and says so', async () => {
    const url = `https://reports.example.com/${'x'.repeat(3000)}`;
    const button = { type: 'button', text: { type: 'plain_text', text: 'Open' }, url };
    const image = { type: 'image', image_url: url, alt_text: 'Logo' };
    const blocks = [section(10), { type: 'actions', elements: [button] }, image];
    const composed = composeWith({ blocks });
    expect(composed).toMatchObject({ note: expect.stringMatching(/3,000 characters.*left out/) });
    await posted(requestFor({ blocks }));
    expect(sandbox.messages[0]?.blocks).toEqual([section(10)]);
  });

  const section = (length: number) => ({
    type: 'section',
    text: { type: 'mrkdwn', text: 'x'.repeat(length) },
  });

  describe('with an image that Slack cannot load', () => {
    const url = 'https://charts.example.com/4711.png';
    const image = { type: 'image', image_url: url, alt_text: 'Chart' };
    const blocks = [{ ...section(10), accessory: image }, { type: 'context', elements: [image] }, image];
    beforeEach(() => sandbox.unloadable.add(url));

    test('is tried again, and then has it', async () => {
      const request = requestFor({ blocks });
      expect(await sink.deliver(request)).toMatchObject({
        outcome: 'retry',
        reason: 'server',
        detail: expect.stringContaining('could not load an image'),
      });
      sandbox.unloadable.clear();
      await posted({ ...request, attempt: 2 });
      expect(sandbox.messages.map((message) => message.blocks)).toEqual([blocks]);
    });

    test('goes without images where Slack still cannot, and says so', async () => {
      const outcome = await sink.deliver(requestFor({ blocks }, { attempt: 2 }));
      expect(outcome).toMatchObject({
        outcome: 'delivered',
        note: expect.stringContaining('without images'),
      });
      expect(sandbox.messages.map((message) => message.blocks)).toEqual([[section(10)]]);
    });

    test('and whose later answer is lost is not posted once more without them', async () => {
      sandbox.unloadable.clear();
      sandbox.faults.once(lost);
      expect(await sink.deliver(requestFor({ blocks }, { attempt: 2 }))).toMatchObject({
        outcome: 'unknown',
      });
      expect(sandbox.messages).toHaveLength(1);
    });

    test('has its text where it was all image', async () => {
      await posted(requestFor({ text: 'Chart of 4711', blocks: [image] }, { attempt: 2 }));
      expect(sandbox.messages).toMatchObject([{ text: 'Chart of 4711' }]);
    });

    test('is edited without it', async () => {
      const first = await posted(requestFor({ updateBy: 'k' }));
      const edit = requestFor({ updateBy: 'k', blocks }, { threadOf: first, attempt: 2 });
      expect(await sink.deliver(edit)).toMatchObject({
        receipt: first,
        note: expect.stringContaining('image'),
      });
      expect(sandbox.messages.map((message) => message.blocks)).toEqual([[section(10)]]);
    });
  });

  const header = { type: 'header', text: { type: 'plain_text', text: 'x'.repeat(150) } };
  test.for<[string, SlackFields['blocks']]>([
    ['one block', [{ type: 'markdown', text: 'x'.repeat(12_000) }]],
    ['two of Markdown', Array.from({ length: 2 }, () => ({ type: 'markdown', text: 'x'.repeat(6400) }))],
    ['long blocks', Array.from({ length: 6 }, () => section(2900))],
    ['many blocks', Array.from({ length: 49 }, () => section(240))],
    ['many headers', Array.from({ length: 50 }, () => header)],
  ])('has no more than Slack takes together, in %s', async ([, blocks]) => {
    await posted(requestFor({ blocks }));
    expect(JSON.stringify(sandbox.messages[0]?.blocks).length).toBeGreaterThan(9000);
  });

  test('stands in the channel, and says so, where somebody deleted the message that it answers', async () => {
    const root = await posted(requestFor());
    sandbox.remove(sandbox.messages[0]!.ts);
    const request = requestFor({ threadBy: 'k' }, { threadOf: root });
    const outcome = await sink.deliver(request);
    const { channel, ts } = sandbox.messages[0]!;
    expect(outcome).toMatchObject({ receipt: { channel, ts }, note: expect.stringContaining('is gone') });
    expect(outcome).not.toHaveProperty('receipt.thread_ts');
    expect(await sink.find!(request)).toEqual({ found: { channel, ts } });
  });

  test.for([
    'restricted_action_thread_locked',
    'restricted_action_non_threadable_channel',
    'cannot_reply_to_message',
    'thread_not_found',
  ])('stands in the channel, and says so, where Slack takes no answer to a message: %s', async (code) => {
    const root = await posted(requestFor());
    sandbox.closeThread(sandbox.messages[0]!.ts, code);
    const request = requestFor({ threadBy: 'k' }, { threadOf: root });
    const outcome = await sink.deliver(request);
    const { channel, ts } = sandbox.messages[1]!;
    expect(outcome).toMatchObject({ receipt: { channel, ts }, note: expect.stringContaining(code) });
    expect(outcome).not.toHaveProperty('receipt.thread_ts');
    expect(await sink.find!(request)).toEqual({ found: { channel, ts } });
  });

  test('waits as long as Slack says when a channel is posted to too fast', async () => {
    await connected({ rate: { perSecond: 0.5, burst: 2 } });
    await posted(requestFor());
    await posted(requestFor());
    expect(await sink.deliver(requestFor())).toMatchObject({
      outcome: 'retry',
      reason: 'rate_limited',
      retryAfterMs: 2000,
    });
    expect(await sink.deliver(requestFor())).not.toHaveProperty('sinkWide');
    await posted(requestFor({ channel: 'general' }));
    expect(sandbox.messages).toHaveLength(3);
  });

  test('prints nothing, not even where Slack warns', async () => {
    const printed = (['debug', 'info', 'warn', 'error', 'log'] as const).map((level) =>
      vi.spyOn(console, level),
    );
    refuseWith('invalid_blocks', {
      response_metadata: { messages: ['[ERROR] wrong', '[WARN] odd'] },
    });
    await sink.deliver(requestFor());
    for (const spy of printed) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });

  test('asks nothing of the real Slack but one post to its address', async () => {
    const scope = elsewhere('https://slack.com')
      .post('/api/chat.postMessage', (form: { metadata: string }) => form.metadata.includes('d-nock'))
      .matchHeader('authorization', 'Bearer xoxb-real')
      .reply(200, { ok: true, channel: 'C1', ts: '1.2' });
    sink = await slack.connect(slack.options.parse({ token: 'xoxb-real' }));
    const outcome = await sink.deliver(requestFor({}, { deliveryId: 'd-nock' }));
    expect(outcome).toEqual({ outcome: 'delivered', receipt: { channel: 'C1', ts: '1.2' } });
    scope.done();
  });
});

test('an answer without end is no answer of Slack’s', async () => {
  sink = await connect(`${(await serve(endlessJson)).url}/api/`, 'xoxb-1');
  const words = { reason: 'server', detail: expect.stringContaining('other than Slack') };
  expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'unknown', ...words });
  expect(await sink.find!(requestFor({ channel: 'C0123456789' }))).toMatchObject({
    found: 'failed',
    failure: words,
  });
});

describe('a refusal by Slack', () => {
  const fixable = {
    channels: ['hiring', { name: 'old', archived: true }, { name: 'closed', member: false }],
  };
  test.for([
    ['nowhere', 'channel_not_found', 'not_found', '/invite'],
    ['closed', 'not_in_channel', 'auth', '/invite'],
    ['old', 'is_archived', 'not_found', 'Unarchive'],
  ])('of the channel %s is final and says what to do (%s)', async ([channel, code, reason, advice]) => {
    await connected(fixable);
    const outcome = await sink.deliver(requestFor({ channel: channel! }));
    expect(outcome).toMatchObject({ outcome: 'rejected', reason });
    expect(outcome).toMatchObject({ detail: expect.stringContaining(code!) });
    expect(outcome).toMatchObject({ detail: expect.stringContaining(channel!) });
    expect(outcome).toMatchObject({ advice: expect.stringContaining(advice!) });
  });

  test.for<[string, () => Promise<unknown>, RegExp]>([
    ['of the token', async () => (sink = await connect(sandbox.url, 'xoxb-wrong')), /invalid_auth/],
    [
      'for a missing scope',
      () => connected({ scopes: ['channels:read'] }),
      /needed: chat:write; granted: channels:read/,
    ],
  ])('%s holds all deliveries of the sink back and loses none', async ([, prepare, words]) => {
    await prepare();
    expect(await sink.deliver(requestFor())).toMatchObject({
      outcome: 'retry',
      reason: 'auth',
      sinkWide: true,
      detail: expect.stringMatching(words),
    });
  });

  test('of blocks names the place in them', async () => {
    const blocks = [{ type: 'section' }];
    expect(await sink.deliver(requestFor({ blocks }))).toMatchObject({
      outcome: 'rejected',
      reason: 'invalid',
      detail: expect.stringContaining('/blocks/0'),
    });
  });

  test.for([...errorMeanings.keys()])('with the code %s is explained', async (code) => {
    refuseWith(code);
    const outcome = await sink.deliver(requestFor());
    const expected = { again: 'retry', sink: 'retry', never: 'rejected', perhaps: 'unknown' };
    expect(outcome).toMatchObject({
      outcome: expected[errorMeanings.get(code)!.means],
      detail: expect.stringMatching(new RegExp(`^Slack refused it: .*\\(${code}\\)\\.`)),
    });
    expect(JSON.stringify(outcome)).not.toContain('{channel}');
  });

  // The last ones are what every object of JavaScript has.
  test.for(['brand_new_code', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])(
    'with a code that nobody knows yet is final, and shows the code: %s',
    async (code) => {
      refuseWith(code);
      expect(await sink.deliver(requestFor())).toMatchObject({
        outcome: 'rejected',
        detail: expect.stringContaining(code),
      });
      const request = requestFor();
      await posted(request);
      refuseWith(code);
      expect(await sink.find!(request)).toMatchObject({
        found: 'impossible',
        detail: expect.stringContaining(code),
      });
    },
  );

  const channel = { outcome: 'rejected', detail: expect.stringContaining('#hiring') };
  const all = { outcome: 'retry', sinkWide: true };
  test.for([
    ['no_permission', channel],
    ['ekm_access_denied', channel],
    ['two_factor_setup_required', all],
    ['app_access_restricted', all],
    ['method_deprecated', all],
    ['accesslimited', all],
    ['metadata_must_be_sent_from_app', all],
    ['invalid_metadata_schema', all],
    ['invalid_form_data', all],
    ['internal_error', { outcome: 'unknown', reason: 'server' }],
    ['service_unavailable', { outcome: 'unknown', reason: 'server' }],
  ] as const)('is of one channel, of all messages, or leaves it open: %s', async ([code, outcome]) => {
    refuseWith(code);
    expect(await sink.deliver(requestFor())).toMatchObject(outcome);
  });
});

describe('an answer that is not from Slack', () => {
  test.for(['<html>Sign in to the guest network</html>', '{}', '[]', '{"ok":true}', '{"ok":false}', ''])(
    'is neither a success nor a refusal: %s',
    async (body) => {
      sandbox.faults.once({ kind: 'status', status: 200, body });
      const outcome = await sink.deliver(requestFor());
      expect(outcome).toMatchObject({ outcome: 'unknown', reason: 'server' });
      expect(JSON.stringify(outcome)).not.toContain('guest');
    },
  );

  test('503 is said in words for whoever does not know the number, too', async () => {
    sandbox.faults.once({ kind: 'status', status: 503 });
    const detail =
      'Slack, or something on the way to it, is out of order. Slack answered with HTTP status 503.';
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'unknown', detail });
  });

  test('408 leaves open whether the message is there: a proxy may say so of Slack', async () => {
    sandbox.faults.once({ kind: 'status', status: 408 });
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'unknown', reason: 'server' });
  });

  test('413 is about this message, and no other waits', async () => {
    sandbox.faults.once({ kind: 'status', status: 413 });
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'rejected', reason: 'invalid' });
  });

  test.for([404, 410])('%i says that nothing is at the address', async (status) => {
    sandbox.faults.once({ kind: 'status', status });
    expect(await sink.deliver(requestFor())).toMatchObject({ sinkWide: true, reason: 'not_found' });
  });

  // slack-go/slack#1383: the limit of a free workspace comes so, as well as in Slack's usual form.
  test.for([
    { kind: 'status', status: 429, body: 'message_limit_exceeded' },
    { kind: 'status', status: 200, body: { ok: false, error: 'message_limit_exceeded' } },
  ] as const)(
    '429 that names no time is of all channels, and a person may have to see to it: %j',
    async (fault) => {
      sandbox.faults.once(fault);
      expect(await sink.deliver(requestFor())).toMatchObject({
        outcome: 'retry',
        sinkWide: true,
        reason: 'rate_limited',
        detail: expect.stringContaining('free plan'),
      });
    },
  );

  test('429 that names a time is of one channel', async () => {
    sandbox.faults.once({ kind: 'rate-limit', retryAfterS: 2 });
    const outcome = await sink.deliver(requestFor());
    expect(outcome).toMatchObject({ outcome: 'retry', reason: 'rate_limited', retryAfterMs: 2000 });
    expect(outcome).not.toHaveProperty('sinkWide');
  });

  test('is not followed where it leads elsewhere', async () => {
    const headers = { location: `${sandbox.url}auth.test` };
    sandbox.faults.once({ kind: 'status', status: 302, headers });
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'unknown', reason: 'not_found' });
    expect(sandbox.calls).toEqual(['chat.postMessage']);
  });

  test('that breaks off in its middle leaves open whether the message is there', async () => {
    const { url } = await serve((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"ok":', () => response.destroy());
    });
    sink = await connect(`${url}/api/`, 'xoxb-1');
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'unknown', reason: 'network' });
  });
});

describe('a direct message', () => {
  const people = [{ id: 'U0DANA0000', email: 'dana@example.com' }];
  test('goes to the person with an email address, who is looked up once', async () => {
    await connected({ people });
    await posted(requestFor({ channel: 'dana@example.com' }));
    await posted(requestFor({ channel: 'dana@example.com' }));
    expect(sandbox.messages.map(({ channel }) => channel)).toEqual(['D00DANA0000', 'D00DANA0000']);
    expect(sandbox.calls).toEqual(['users.lookupByEmail', 'chat.postMessage', 'chat.postMessage']);
  });

  test('to nobody whom the workspace knows is final and says so', async () => {
    await connected({ people });
    expect(await sink.deliver(requestFor({ channel: 'robin@example.com' }))).toMatchObject({
      outcome: 'rejected',
      reason: 'not_found',
      detail: expect.stringContaining('robin@example.com'),
    });
    expect(sandbox.messages).toEqual([]);
  });

  test('from an app without the Messages Tab says where to turn it on', async () => {
    await connected({ people, messagesTab: false });
    expect(await sink.deliver(requestFor({ channel: 'U0DANA0000' }))).toMatchObject({
      outcome: 'rejected',
      reason: 'auth',
      detail: expect.stringContaining('messages_tab_disabled'),
      advice: expect.stringContaining('App Home'),
    });
    await posted(requestFor());
  });

  test('whose answer gets lost before anything was sent is only looked up again', async () => {
    await connected({ people });
    sandbox.faults.once(lost);
    expect(await sink.deliver(requestFor({ channel: 'dana@example.com' }))).toMatchObject({
      outcome: 'retry',
    });
    expect(sandbox.messages).toEqual([]);
  });

  test.for([
    ['the scope', undefined, 'users:read.email'],
    ['such a token', 'not_allowed_token_type', 'kind of token'],
    ['leave to do so in an organization', 'enterprise_is_restricted', 'organization'],
  ] as const)('by email without %s waits, and messages to channels do not', async ([, code, words]) => {
    await connected({ people, scopes: ['chat:write'] });
    if (code) refuseWith(code);
    const outcome = await sink.deliver(requestFor({ channel: 'dana@example.com' }));
    expect(outcome).toMatchObject({ outcome: 'retry', detail: expect.stringContaining(words) });
    expect(outcome).not.toHaveProperty('sinkWide');
    await posted(requestFor());
  });

  test('is looked up again after a refusal: the address may be that of another account now', async () => {
    await connected({ people });
    const toDana = () => requestFor({ channel: 'dana@example.com' });
    await posted(toDana());
    sandbox.faults.only = ['chat.postMessage'];
    refuseWith('channel_not_found');
    expect(await sink.deliver(toDana())).toMatchObject({
      outcome: 'rejected',
      detail: expect.stringContaining('nobody that the app can write to is dana@example.com'),
    });
    await posted(toDana());
    expect(sandbox.calls.filter((call) => call === 'users.lookupByEmail')).toHaveLength(2);
  });

  test.for(['U0DANA0000', 'dana@example.com'])('to %s is found after a lost answer', async (channel) => {
    await connected({ people });
    sandbox.faults.only = ['chat.postMessage'];
    sandbox.faults.once(lost);
    const request = requestFor({ channel });
    expect(await sink.deliver(request)).toMatchObject({ outcome: 'unknown' });
    expect(await sink.find!(request)).toMatchObject({ found: { ts: sandbox.messages[0]!.ts } });
    expect(sandbox.calls).toContain('conversations.open');
  });

  test('is looked for where an earlier one went, without opening anything', async () => {
    await connected({ people });
    const earlier = await posted(requestFor({ channel: 'U0DANA0000' }));
    const again = await connect(sandbox.url, sandbox.token);
    sandbox.calls.length = 0;
    const request = requestFor({ channel: 'U0DANA0000' }, { earlier: async () => earlier });
    expect(await again.find!(request)).toEqual({ found: null });
    expect(sandbox.calls).toEqual(['conversations.history']);
  });

  test('cannot be looked for without the scope im:history, which the live check says', async () => {
    await connected({
      people,
      scopes: ['chat:write', 'im:write', 'users:read', 'users:read.email'],
    });
    const request = requestFor({ channel: 'U0DANA0000' });
    expect(await sink.find!(request)).toMatchObject({
      found: 'impossible',
      detail: expect.stringContaining('im:history'),
    });
    const lines = await sink.check([request.message], new AbortController().signal);
    expect(lines.filter(({ ok }) => !ok)).toMatchObject([{ detail: expect.stringContaining('im:history') }]);
    expect(lines.at(-1)).toMatchObject({ ok: true, what: 'reaches U0DANA0000' });
  });
});

describe('a token of an organization', () => {
  const orgWide = { orgWide: true } as const;
  const withTeam = () =>
    slack.connect(slack.options.parse({ token: sandbox.token, apiUrl: sandbox.url, teamId: 'T0SANDBOX' }));

  test('does not know channels by name, and the refusal says what to do', async () => {
    await connected(orgWide);
    expect(await sink.deliver(requestFor())).toMatchObject({
      outcome: 'rejected',
      detail: expect.stringContaining('team_not_found'),
      advice: expect.stringContaining('teamId'),
    });
  });

  test('posts by name with teamId, and looks the name up once', async () => {
    await connected(orgWide);
    sink = await withTeam();
    await posted(requestFor());
    await posted(requestFor());
    expect(sandbox.calls).toEqual(['users.conversations', 'chat.postMessage', 'chat.postMessage']);
    expect(await sink.deliver(requestFor({ channel: 'nowhere' }))).toMatchObject({
      outcome: 'rejected',
      detail: expect.stringContaining('nowhere'),
    });
  });
});

describe('a channel that was renamed', () => {
  const later = () => ({ now: Date.now() + 120_000 });

  async function renamed(successor: boolean) {
    await connected({ orgWide: true, channels: ['hiring', 'other'] });
    const options = { token: sandbox.token, apiUrl: sandbox.url, teamId: 'T0SANDBOX' };
    sink = await slack.connect(slack.options.parse(options));
    await posted(requestFor());
    sandbox.rename('hiring', 'hiring-old');
    if (successor) sandbox.rename('other', 'hiring');
  }

  test('gets no more of what is meant for its old name, which another channel may have now', async () => {
    await renamed(true);
    await posted(requestFor({}, later()));
    expect(sandbox.messages.map(({ channelName }) => channelName)).toEqual(['hiring', 'hiring']);
    expect(sandbox.messages[0]?.channel).not.toBe(sandbox.messages[1]?.channel);
  });

  test('is named, and nothing is written elsewhere', async () => {
    await renamed(false);
    expect(await sink.deliver(requestFor({}, later()))).toMatchObject({
      outcome: 'rejected',
      detail: expect.stringContaining('no channel #hiring'),
    });
    expect(sandbox.messages).toHaveLength(1);
  });
});

const many = (howMany: number, member: boolean, archived = false) =>
  Array.from({ length: howMany }, (_, index) => ({ name: `other-${index}`, member, archived }));

describe('asking for an earlier message', () => {
  test('is looked for a minute later where Slack allows no more calls: sooner, it would get no further', async () => {
    sandbox.faults.once({ kind: 'rate-limit', retryAfterS: 1 });
    expect(await sink.find!(requestFor())).toMatchObject({
      found: 'failed',
      failure: { outcome: 'retry', reason: 'rate_limited', retryAfterMs: 60_000 },
    });
  });

  test('finds it by its delivery id, in a channel given by name', async () => {
    await connected({ maxPageSize: 1, channels: ['general', 'hiring'] });
    sandbox.faults.once(lost);
    const request = requestFor();
    await sink.deliver(request);
    const { channel, ts } = sandbox.messages[0]!;
    expect(await sink.find!(request)).toEqual({ found: { channel, ts } });
    expect(await sink.find!(requestFor())).toEqual({ found: null });
  });

  test('is not misled by what another app posted', async () => {
    const request = requestFor();
    const metadata = { ...request.message.metadata, event_type: 'another' } as never;
    await posted({ ...request, message: { ...request.message, metadata } });
    expect(await sink.find!(request)).toEqual({ found: null });
  });

  test('reads page after page of a busy channel', async () => {
    await connected({ maxPageSize: 2 });
    const first = requestFor();
    for (let index = 0; index < 5; index += 1) await posted(requestFor());
    const last = requestFor();
    const receipt = await posted(last);
    expect(await sink.find!({ ...last, firstAttemptAt: first.now })).toEqual({ found: receipt });
  });

  test('does not go on to what was there long before the first attempt', async () => {
    await connected({ maxPageSize: 2 });
    for (let index = 0; index < 6; index += 1) await posted(requestFor());
    sandbox.calls.length = 0;
    const tomorrow = Date.now() + 86_400_000;
    const request = { ...requestFor(), firstAttemptAt: tomorrow, now: tomorrow };
    expect(await sink.find!(request)).toEqual({ found: null });
    expect(sandbox.calls).toEqual(['conversations.history']);
  });

  test.for([
    ['runs ten minutes ahead', { firstAttemptAt: 600_000, now: 605_000 }],
    ['runs 400 days ahead', { firstAttemptAt: 34_560_000_000, now: 34_560_005_000 }],
    ['was a day ahead at the first attempt', { firstAttemptAt: 86_400_000, now: 5000 }],
    ['runs a day behind', { firstAttemptAt: -86_400_000, now: -86_395_000 }],
  ] as const)('finds it when the clock here %s', async ([, { firstAttemptAt, now }]) => {
    const request = requestFor();
    const receipt = await posted(request);
    const there = Date.now();
    const asked = { ...request, firstAttemptAt: there + firstAttemptAt, now: there + now };
    expect(await sink.find!(asked)).toEqual({ found: receipt });
  });

  test('looks into the thread also where the receipt of its first message is not known, as after a restore', async () => {
    const root = await posted(requestFor({ threadBy: 'k' }));
    const answer = requestFor({ threadBy: 'k' });
    const receipt = await posted({ ...answer, threadOf: root });
    expect(await sink.find!(answer)).toEqual({ found: receipt });
    expect(await sink.find!(requestFor({ threadBy: 'k' }))).toEqual({ found: null });
  });

  test('looks into the thread, and beside it for an attempt from before there was one', async () => {
    const root = await posted(requestFor());
    const answer = requestFor({ threadBy: 'k' }, { threadOf: root });
    const inThread = await posted(answer);
    expect(await sink.find!(answer)).toEqual({ found: inThread });
    const beside = requestFor({ threadBy: 'k' });
    const inChannel = await posted(beside);
    expect(await sink.find!({ ...beside, threadOf: root })).toEqual({ found: inChannel });
    expect(await sink.find!(requestFor({}, { threadOf: root }))).toEqual({ found: null });
  });

  test('knows a channel from an earlier post and needs no list of channels', async () => {
    await posted(requestFor());
    await sink.find!(requestFor());
    expect(sandbox.calls).toEqual(['chat.postMessage', 'conversations.history']);
  });

  test('finds the bot’s channel in a workspace with tens of thousands of others', async () => {
    await connected({ channels: [...many(20_500, false), 'hiring'] });
    sandbox.faults.once(lost);
    const request = requestFor();
    await sink.deliver(request);
    expect(await sink.find!(request)).toMatchObject({ found: { ts: sandbox.messages[0]!.ts } });
    expect(sandbox.calls).toEqual(['chat.postMessage', 'users.conversations', 'conversations.history']);
  });

  test('reads on where a page has archived channels only', async () => {
    await connected({ channels: [...many(1200, true, true), 'hiring'] });
    expect(await sink.find!(requestFor())).toEqual({ found: null });
  });

  test('looks through all public channels only where the app may post to them', async () => {
    const scopes = ['chat:write', 'chat:write.public', 'channels:read', 'groups:read', 'channels:history'];
    const channels = [...many(1500, false), { name: 'hiring', member: false }];
    await connected({ channels, scopes });
    sandbox.faults.once(lost);
    const request = requestFor();
    await sink.deliver(request);
    // It may post there, but only members may read.
    expect(await sink.find!(request)).toMatchObject({
      found: 'impossible',
      detail: expect.stringContaining('not_in_channel'),
    });
    const list = ['users.conversations', 'conversations.list', 'conversations.list'];
    expect(sandbox.calls).toEqual(['chat.postMessage', ...list, 'conversations.history']);
  });

  test('says where it stops looking, and not that there is no such channel', async () => {
    await connected({ channels: [...many(20_500, true), 'hiring'] });
    const finding = await sink.find!(requestFor());
    expect(finding).toMatchObject({ found: 'impossible', detail: expect.stringContaining('first 19980') });
    expect(sandbox.calls).toHaveLength(20);
  });

  test.for([
    ['hiring', ['conversations.info', 'conversations.history']],
    [
      'renamed',
      ['conversations.info', 'users.conversations', 'conversations.history', 'conversations.history'],
    ],
  ] as const)('takes the id of a receipt if that channel is called as now: %s', async ([name, calls]) => {
    await connected({
      channels: [{ name, id: 'C0EARLIER0' }, ...(name === 'hiring' ? [] : ['hiring'])],
    });
    const earlier = async () => ({ channel: 'C0EARLIER0', ts: '1.2' });
    expect(await sink.find!(requestFor({}, { earlier }))).toEqual({ found: null });
    expect(sandbox.calls).toEqual(calls);
  });

  test('finds it in a channel that was renamed since', async () => {
    await connected({ channels: ['hiring', 'other'] });
    const earlier = await posted(requestFor());
    sandbox.faults.once(lost);
    const request = requestFor({}, { earlier: async () => earlier });
    await sink.deliver(request);
    sandbox.rename('hiring', 'hiring-old');
    const restarted = () => connect(sandbox.url, sandbox.token);
    const { channel, ts } = sandbox.messages[1]!;
    expect(await (await restarted()).find!(request)).toEqual({ found: { channel, ts } });
    sandbox.rename('other', 'hiring');
    expect(await (await restarted()).find!(request)).toEqual({ found: { channel, ts } });
  });

  test.for(['not_allowed_token_type', 'access_denied', 'brand_new_code'])(
    'in a thread is impossible where the token may not read threads: %s',
    async (code) => {
      const root = await posted(requestFor());
      sandbox.faults.only = ['conversations.replies'];
      refuseWith(code);
      const request = requestFor({ threadBy: 'k' }, { threadOf: root });
      expect(await sink.find!(request)).toMatchObject({
        found: 'impossible',
        detail: expect.stringContaining(code),
      });
      refuseWith(code);
      const beside = requestFor({ threadBy: 'k' });
      const inChannel = await posted(beside);
      expect(await sink.find!({ ...beside, threadOf: root })).toEqual({ found: inChannel });
    },
  );

  test.for<[string, Partial<SlackFields>, string | null]>([
    ['an edit that is told in the thread, too', { updates: 'thread' }, 'impossible'],
    ['an edit, which posts nothing', {}, null],
  ])('where the token may not read threads is about %s', async ([, fields, found]) => {
    const threadOf = await posted(requestFor({ updateBy: 'k' }));
    sandbox.faults.only = ['conversations.replies'];
    refuseWith('not_allowed_token_type');
    const finding = await sink.find!(requestFor({ updateBy: 'k', ...fields }, { threadOf }));
    expect(finding).toMatchObject({ found });
  });

  test('finds nothing in a thread whose first message somebody deleted', async () => {
    const threadOf = await posted(requestFor({ threadBy: 'k' }));
    sandbox.remove(sandbox.messages[0]!.ts);
    expect(await sink.find!(requestFor({ threadBy: 'k' }, { threadOf }))).toEqual({ found: null });
  });

  test('ends where Slack shows this app only a few messages a minute', async () => {
    await connected({ limited: true });
    const request = requestFor();
    for (let index = 0; index < 16; index += 1) await posted(requestFor());
    expect(await sink.find!(request)).toMatchObject({
      found: 'impossible',
      detail: expect.stringContaining('15 messages a minute'),
    });
    expect(sandbox.calls.filter((call) => call === 'conversations.history')).toHaveLength(2);
  });

  test('does without the scope for private channels where the channel is public', async () => {
    await connected({
      scopes: ['chat:write', 'channels:read', 'channels:history'],
    });
    sandbox.faults.once(lost);
    const request = requestFor();
    await sink.deliver(request);
    expect(await sink.find!(request)).toMatchObject({ found: { ts: sandbox.messages[0]!.ts } });
  });

  test.for([
    [{ scopes: ['chat:write'] }, '#hiring', 'channels:read'],
    [{ scopes: ['chat:write', 'channels:read', 'groups:read'] }, '#hiring', 'channels:history'],
    [{ scopes: ['chat:write'] }, 'C0SANDBOX0', 'channels:history'],
    [{}, '#nowhere', '#nowhere'],
    [{ channels: [{ name: 'closed', id: 'C0CLOSED00', member: false }] }, 'C0CLOSED00', 'not_in_channel'],
    [{}, 'U0SOMEBODY', 'U0SOMEBODY'],
  ] as const)('is impossible with %j for %s, and says why', async ([options, channel, why]) => {
    await connected(options);
    const finding = await sink.find!(requestFor({ channel }));
    expect(finding).toMatchObject({ found: 'impossible', detail: expect.stringContaining(why) });
  });

  test('is impossible where an organization lets the app post, and not read', async () => {
    sandbox.faults.only = ['conversations.history'];
    refuseWith('enterprise_is_restricted');
    const detail = expect.stringContaining('#hiring (enterprise_is_restricted)');
    expect(await sink.find!(requestFor())).toMatchObject({ found: 'impossible', detail });
  });

  test.for(
    [undefined, { channel: 'C0SANDBOX1', ts: '1.2' }].flatMap((threadOf) =>
      ['ratelimited', 'invalid_auth', 'internal_error', 'org_login_required'].map(
        (code) => [threadOf ? 'a thread' : 'a channel', code, threadOf ?? null] as const,
      ),
    ),
  )('in %s is put off by %s', async ([, code, threadOf]) => {
    refuseWith(code);
    const finding = await sink.find!(requestFor({}, { threadOf }));
    expect(finding).toMatchObject({ found: 'failed', failure: { outcome: 'retry' } });
  });

  test.for(['{"ok":true}', '<html>'])('takes no foreign answer for an empty channel: %s', async (body) => {
    sandbox.faults.only = ['conversations.history'];
    sandbox.faults.once({ kind: 'status', status: 200, body });
    expect(await sink.find!(requestFor())).toMatchObject({ found: 'failed' });
  });

  test('ends with its signal', async () => {
    const controller = new AbortController();
    sandbox.faults.decide = () => {
      setImmediate(() => controller.abort());
      return { kind: 'hang', commit: false };
    };
    const finding = await sink.find!(requestFor({}, { signal: controller.signal }));
    expect(finding).toMatchObject({ found: 'failed', failure: { outcome: 'retry', reason: 'timeout' } });
  });
});

describe('a live check', () => {
  const signal = new AbortController().signal;
  const check = (...fields: Partial<SlackFields>[]) =>
    sink.check(
      fields.map((each) => requestFor(each).message),
      signal,
    );

  test('names the bot, its workspace and each channel once', async () => {
    const lines = await check({}, {}, { channel: 'general' });
    expect(lines.filter(({ ok }) => !ok)).toEqual([]);
    expect(lines.map(({ what }) => what)).toEqual([
      'token valid',
      'may post',
      'may look for earlier messages',
      'reaches #hiring',
      'reaches general',
    ]);
    expect(lines[0]!.detail).toBe('candidate_connector in Sandbox');
    expect(sandbox.messages).toEqual([]);
  });

  test('asks nothing more with a token that is not valid', async () => {
    sink = await connect(sandbox.url, 'xoxb-wrong');
    expect(await check({})).toMatchObject([
      { ok: false, what: 'token valid', detail: expect.stringContaining('invalid_auth') },
    ]);
    expect(sandbox.calls).toEqual(['auth.test']);
  });

  test.each([
    ['xoxe.xoxb-1-rotating', 'ends after 12 hours'],
    ['https://hooks.slack.com/services/T0/B0/X', 'this is a URL, and no token'],
    ['Bearer xoxb-1', 'no part of a token'],
    ['xapp-1-A0-1-abc', 'may post nothing'],
    ['8f742231b10e8888abcd99e0e0e85a5b', 'no token: put the bot token'],
    ['xoxb-…', 'signs that no token has'],
    ['xoxb-1–2', 'signs that no token has'],
  ])('refuses the token %s, without calling Slack', async (token, message) => {
    const options = { token: new Secret(token), apiUrl: sandbox.url, style: 'compact' } as const;
    expect(await slack.fault!(options)).toEqual({
      option: 'token',
      message: expect.stringContaining(message),
    });
    expect(await slack.fault!({ ...options, token: new Secret('xoxb-1') })).toBeNull();
  });

  test('of a token that has ended by rotation, messages wait and say what to do', async () => {
    const token = 'xoxe.xoxb-1-rotating';
    await connected({ token });
    sink = await connect(sandbox.url, token);
    refuseWith('token_expired');
    expect(await sink.deliver(requestFor({}))).toMatchObject({
      outcome: 'retry',
      sinkWide: true,
      detail: expect.stringContaining('make a new app'),
    });
  });

  test('names each missing scope', async () => {
    await connected({ scopes: ['channels:read', 'groups:read'] });
    const lines = await check({ username: 'Tests' });
    const failed = lines
      .filter(({ ok }) => !ok)
      .map(({ detail }) => /scope (\S+?)\.(?: |$)/.exec(detail)?.[1]);
    expect(failed).toEqual(['chat:write', 'chat:write.customize', 'channels:history']);
  });

  test.for([
    [{ channels: [{ name: 'hiring', member: false }] }, 'The bot is in no channel #hiring.'],
    [{ channels: [{ name: 'hiring', private: true, member: false }] }, 'The bot is in no channel #hiring.'],
    [{ channels: [{ name: 'hiring', id: 'C0CLOSED00', member: false }] }, 'not_in_channel'],
    [{ channels: [{ name: 'hiring', id: 'C0ARCHIVED', archived: true }] }, 'is_archived'],
  ] as const)('says of %j that it cannot be posted to', async ([options, code]) => {
    await connected(options);
    const [{ id: channel = '#hiring' }] = options.channels as readonly [{ readonly id?: string }];
    expect((await check({ channel })).at(-1)).toMatchObject({
      ok: false,
      detail: expect.stringContaining(code),
      advice: expect.any(String),
    });
  });

  test('says that the app may not look for private channels, of one that is in none of the public ones', async () => {
    const scopes = ['chat:write', 'channels:read', 'channels:history'];
    await connected({ channels: [{ name: 'hiring', private: true }], scopes });
    expect((await check({})).at(-1)).toMatchObject({
      what: 'reaches #hiring',
      detail:
        'The bot is in no public channel #hiring, and the app lacks the scope groups:read, to find private ones.',
      advice: expect.stringContaining('install the app again'),
    });
  });

  test.for([
    [true, 'groups:history', 'channels:history'],
    [false, 'channels:history', 'groups:history'],
  ] as const)(
    'names the scope for messages of a channel, private: %s',
    async ([isPrivate, needed, other]) => {
      const scopes = ['chat:write', 'channels:read', 'groups:read'];
      const channels = [{ name: 'hiring', private: isPrivate }];
      await connected({ channels, scopes: [...scopes, other] });
      expect((await check({})).filter(({ ok }) => !ok)).toMatchObject([
        { what: 'may look for earlier messages in #hiring', detail: expect.stringContaining(needed) },
      ]);
      await connected({ channels, scopes: [...scopes, needed] });
      expect((await check({})).filter(({ ok }) => !ok)).toEqual([]);
    },
  );

  test('takes a public channel without the bot where the app may post to all of them', async () => {
    const scopes = ['chat:write', 'chat:write.public', 'channels:read', 'groups:read', 'channels:history'];
    await connected({ channels: [{ name: 'hiring', member: false }], scopes });
    expect((await check({})).filter(({ ok }) => !ok)).toEqual([]);
    await posted(requestFor());
  });
});

test('a throw of the connector shows no secret either', async () => {
  sink = await connect('http://127.0.0.1:9/api/', 'xoxb-secret');
  const circular: { self?: unknown } = {};
  circular.self = circular;
  const request = requestFor();
  const thrown: unknown = await sink
    .deliver({ ...request, message: { ...request.message, blocks: [circular] as never } })
    .catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(Error);
  expect(inspect(thrown, { depth: 10, showHidden: true })).not.toContain('xoxb-secret');
});
