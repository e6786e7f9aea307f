import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseDocument } from 'yaml';
import { connectors } from '../connectors/index.ts';
import { run, workplace } from './commands/tools.ts';
import { parseConfig } from '../src/config/load.ts';
import { prepare } from '../src/deliveries/prepare.ts';
import { type Event, noFacts } from '../src/model.ts';
import type { Receipt } from '../src/model/outcomes.ts';
import { decide } from '../src/rules/decide.ts';
import { attemptAt, eventWith } from './fixtures/event.ts';
import { startTools, type Tools } from '../sandbox/tools.ts';
import { linesOf, pageOf } from '../sandbox/slack/preview.ts';

const docs = await readFile(join(import.meta.dirname, '../docs/messages.md'), 'utf8');

/** Each heading with its config. */
const messages = new Map(
  [...docs.matchAll(/^## (.*)$([^]*?)(?=^## |(?![^]))/gm)].map(([, title = '', section = '']) => [
    title,
    /```yaml\n([^]*?)```/.exec(section)?.[1] ?? '',
  ]),
);

const receivedAt = Date.parse('2026-11-20T12:05:00Z');
const id = '6f1c2d3e4b5a69788796a5b4c3d2e1f0';
const events: readonly Event[] = [
  { candidateId: id, candidateNumericalId: 4711, testId: 1_234_567, status: 'Completed' } as const,
  { candidateId: id, candidateNumericalId: 4711, testId: 1_234_567, status: 'Canceled' } as const,
  { candidateId: '<!channel>"&', candidateNumericalId: null, testId: 99, status: 'DidNotTake' } as const,
].map((event, index) => eventWith({ ...event, id: `evt_${index}`, receivedAt: receivedAt + index }));

const slackTexts = ({ slack }: Tools): string[] =>
  slack.messages.map((message) => `${message.channelName}: ${linesOf(message)}`);

/** What has to have arrived of these events. */
const arrived: { readonly [title: string]: (tools: Tools) => void } = {
  'The right channel, without a word of your own': (tools) => {
    const { slack } = tools;
    const [first, , unknown] = slackTexts(tools);
    expect(first).toMatch(
      /^hiring-backend: 🏁 Backend Engineer, TypeScript: candidate 4711 completed the test$/,
    );
    expect(slack.messages[0]?.blocks).toMatchObject([
      {
        text: {
          text: expect.stringContaining(`<https://tests.example.com/candidates/${id}|4711>`),
        },
      },
    ]);
    expect(unknown).toMatch(
      /^hiring: ➖ Test 99: candidate <!channel>"& did not take the test\nWhat next: There is no result\./,
    );
  },
  'A thread for each test': ({ slack }) => {
    const [first, second, other] = slack.messages;
    expect([first?.thread_ts, second?.thread_ts, other?.thread_ts]).toEqual([
      undefined,
      first?.ts,
      undefined,
    ]);
  },
  'Mention the owner of a test': ({ slack }) => {
    expect(slack.messages.map(({ text }) => text)).toEqual([
      '<@U012AB3CD> candidate 4711 completed the test *Backend Engineer, TypeScript*.',
    ]);
  },
  'Tell the owner only': ({ slack }) => {
    expect(slack.messages.map(({ channel, channelName }) => [channel[0], channelName])).toEqual([
      ['D', ''],
      ['D', ''],
      ['C', 'hiring'],
    ]);
  },
  'Two channels and a person': ({ slack }) => {
    expect(slack.messages.map(({ channelName }) => channelName)).toEqual(['hiring', 'hiring-backend', '']);
  },
  'Buttons of your own': ({ slack }) => {
    const [message] = slack.messages;
    expect(message?.text).toContain('Candidate `6f1c2d3e…` completed the test.');
    expect(message?.blocks?.at(-1)).toMatchObject({
      elements: [
        { url: `https://tests.example.com/candidates/${id}` },
        { url: `https://ats.example.com/search?q=${id}` },
      ],
    });
  },
  'One mail a day, as a table': ({ smtp }) => {
    const [mail] = smtp.mails;
    expect(mail?.parsed.subject).toBe('3 candidates');
    expect(mail?.parsed.html).toContain('<td>&lt;!channel&gt;&quot;&amp;</td>');
    expect(mail?.parsed.text).toMatch(/Test +Candidate +Status +Received/);
    expect(mail?.parsed.text).toMatch(/Backend Engineer, TypeScript +4711 +completed the test +20 Nov 13:05/);
  },
  'A list every Monday': (tools) => {
    const [list] = slackTexts(tools);
    expect(list).toMatch(
      /^hiring: 2 candidates of 2 tests: 1 canceled, 1 did not take the test\nTest 1234567\n🚫 Candidate 4711: test canceled, 20 Nov, 13:05\n\nTest 99\n➖ [^]*\nReceived .* | What next: /,
    );
  },
  'Only how many': (tools) => {
    expect(slackTexts(tools)).toEqual(['hiring: 📊 Since yesterday at 17:00, 1 of 3 tests were completed.']);
  },
  'A row that follows the candidate': ({ sheets }) => {
    expect(sheets.rows('Backend Engineer, TypeScript')).toMatchObject([
      { Candidate: '4711', Status: 'test canceled', Id: `1234567-${id}` },
    ]);
    expect(sheets.rows('Other tests')).toMatchObject([{ Status: 'did not take the test' }]);
  },
  'In your own language': ({ smtp }) => {
    const [mail, , last] = smtp.mails;
    expect(mail?.parsed.subject).toBe('Programer: kandidat/kinja 4711, test riješen');
    expect(mail?.parsed.text).toContain('\nPrimljeno: pet, 20. stu 2026. 13:05 CET\n');
    expect(mail?.parsed.html).toContain('>Gotovo<');
    expect(last?.parsed.text).toContain('\nŠto dalje: Pitajte Anu treba li poslati novi poziv.');
  },
};

test('each message is tried', () => {
  expect([...messages.keys()].toSorted()).toEqual(Object.keys(arrived).toSorted());
  expect(messages.size).toBeGreaterThanOrEqual(10);
});

const slack = {
  channels: ['hiring', 'hiring-backend', 'hiring-design'],
  people: [{ id: 'U012AB3CD', email: 'dana@example.com' }],
};

describe('the message', () => {
  test.each([...messages])('%s', async (title, yaml) => {
    const tools = await startTools({ slack });
    onTestFinished(async () => void (await tools.close()));
    const { write } = await workplace();
    const { code, out, err } = await run(['check', await write('messages.yaml', yaml)], tools.env);
    expect({ code, out, err }).toEqual({
      code: 0,
      out: expect.stringMatching(/^\S+ is good: [^\n]*\n$/),
      err: '',
    });
    await send(leadingTo(tools, yaml), tools);
    arrived[title]?.(tools);
    // What the pictures are made of, too, has no value as markup.
    expect(pageOf(tools.slack.messages)).not.toMatch(/<!channel>|href="(?!https:)/);
  });
});

/** The config, but for where its tools are. */
function leadingTo({ env }: Tools, yaml: string): string {
  const document = parseDocument(yaml);
  const apiUrls = { slack: env.SLACK_API_URL, sheet: env.SHEETS_API_URL };
  for (const [sink, apiUrl] of Object.entries(apiUrls))
    if (document.hasIn(['sinks', sink])) document.setIn(['sinks', sink, 'apiUrl'], apiUrl);
  return String(document);
}

/** Sends what follows from the events: one message each, or one for all where that is a digest. */
async function send(yaml: string, { env }: Tools): Promise<void> {
  const { plan, sinks } = parseConfig(yaml, 'messages.yaml', { env, connectors });
  const [[name, config] = []] = sinks;
  if (!name || !config) throw new Error('a message has a sink');
  const sink = await config.connector.connect(config.options);
  onTestFinished(() => sink.close());
  const threads = new Map<string, Receipt>();
  for (const action of plan.then.flat()) {
    const its = events.filter((event) =>
      decide(plan, event, noFacts, receivedAt).some(({ rule }) => rule === action.rule),
    );
    for (const [index, about] of (action.digest ? [its] : its.map((event) => [event])).entries()) {
      const deliveryId = `dlv_${index}`;
      const prepared = prepare(action, { events: about, notice: null }, deliveryId, plan, config, receivedAt);
      if (!('message' in prepared)) throw new Error(JSON.stringify(prepared));
      const { message, thread, note } = prepared;
      expect(note).toBeUndefined();
      const threadOf = thread === null ? null : (threads.get(thread) ?? null);
      const attempt = attemptAt({ message }, { deliveryId, threadOf });
      const outcome = sink.deliverMany ? (await sink.deliverMany([attempt]))[0] : await sink.deliver(attempt);
      if (outcome?.outcome !== 'delivered') throw new Error(JSON.stringify(outcome));
      if (thread !== null && !threads.has(thread)) threads.set(thread, outcome.receipt);
    }
  }
}
