import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { prepare, type About } from '../../src/deliveries/prepare.ts';
import { type Event, type Json, type Status, statuses } from '../../src/model.ts';
import type { Notice, RaisedNotice } from '../../src/model/notices.ts';
import type { Action } from '../../src/rules/plan.ts';
import { eventWith } from '../fixtures/event.ts';
import { checkBlocks } from '../../sandbox/slack/blocks.ts';
import { openTab } from '../pages/browser.ts';

const now = Date.parse('2026-11-20T13:00:00Z');

const link = 'links: { candidate: "https://tests.example.com/c/{{ event.candidateId }}" }\n';

const configWith = (top: string, ofSlack = '', catalog = '7: { name: "Backend <Engineer>" }'): Config =>
  parseConfig(
    `${top}catalog: { ${catalog} }
sinks:
  slack: { connector: slack, token: "\${TOKEN}"${ofSlack} }
  sheet: { connector: google-sheets, spreadsheetId: s1, credentials: /run/google.json }
  mail: { connector: email, url: smtp://mail.example.com, from: hiring@example.com }
  ats: { connector: webhook, url: https://ats.example.com }
rules:
  - name: all
    when: {}
    then:
      - { sink: slack, channel: "#hiring" }
      - { sink: sheet, tab: Results }
      - { sink: mail, to: dana@example.com }
      - { sink: ats }
  - name: digests
    when: {}
    then:
      - { sink: slack, channel: "#hiring", digest: { every: 1h, max: 1000 } }
      - { sink: sheet, tab: Digests, digest: { every: 1h, max: 1000 } }
      - { sink: mail, to: dana@example.com, digest: { every: 1h, max: 1000 } }
      - { sink: ats, digest: { every: 1h, max: 1000 } }
alerts:
  dead: { then: &all [ { sink: slack, channel: "#ops" }, { sink: sheet }, { sink: mail, to: ops@example.com }, { sink: ats } ] }
  held: { then: *all }
  paused: { then: *all }
  config: { then: *all }
  silence: { then: *all }
summary: { at: Mon 09:00, then: *all }`,
    'config.yaml',
    { env: { TOKEN: 'xoxb-1' }, connectors },
  );

const config = configWith('');
const inZagreb = `${link}timezone: Europe/Zagreb\nlocale: en-GB\n`;
const linked = configWith(inZagreb);
const [full, fullLinked] = ['', inZagreb].map((top) => configWith(top, ', style: full')) as [Config, Config];

const noon = Date.parse('2026-11-20T12:05:00Z');
const id = '6f1c2d3e4b5a69788796a5b4c3d2e1f0';
const eventOf = (candidateId: string, status: Status, testId = 7): Event =>
  eventWith({ id: `evt_${candidateId}`, candidateId, status, testId, receivedAt: noon });

type Message = { readonly [key: string]: Json };

function messageOf({ plan, sinks }: Config, action: Action | undefined, about: About): Message {
  const sink = sinks.get(action?.sink ?? '');
  if (!action || !sink) throw new Error('no such action');
  const prepared = prepare(action, about, 'dlv_1', plan, sink, now);
  if (!('message' in prepared)) throw new Error(JSON.stringify(prepared));
  return prepared.message as Message;
}

type Block = {
  readonly type: string;
  readonly text?: { readonly text: string };
  readonly elements?: readonly { readonly text: string }[];
};

/** The texts of blocks that Slack takes. */
function wordsOf({ blocks }: Message): string[] {
  checkBlocks(blocks as unknown as Block[]);
  return (blocks as unknown as Block[]).map(({ text, elements }) => text?.text ?? elements?.[0]?.text ?? '');
}

/** The colours of texts in a mail, each with what is behind it: in light mode, and as the classes have them in dark mode. */
function pairsOf(html: string): (readonly [text: string, behind: string])[] {
  const light = Array.from(html.matchAll(/style="([^"]*)"/g), ([, style = '']) => {
    const [, text] = /(?:^|;)color:(#\w{6})/.exec(style) ?? [];
    const [, behind = '#ffffff'] = /background-color:(#\w{6})/.exec(style) ?? [];
    return text === undefined ? [] : [[text, behind] as const];
  }).flat();
  const [, rules = ''] = /prefers-color-scheme:dark\)\{(.*)\}$/m.exec(html) ?? [];
  const [, card = ''] = /\.card\{background-color:(#\w{6})/.exec(rules) ?? [];
  const dark = Array.from(rules.matchAll(/\{color:(#\w{6})/g), ([, text = '']) => [text, card] as const);
  return [...light, ...dark];
}

const channels = (color: string): number[] =>
  (color.slice(1).match(/../g) ?? []).map((hex) => Number.parseInt(hex, 16) / 255);

/** As Gmail and Outlook do it: light becomes dark, and the hue stays. */
function turnedOver(color: string): string {
  const rgb = channels(color);
  const sum = Math.max(...rgb) + Math.min(...rgb);
  return `#${rgb
    .map((one) =>
      Math.round((one + 1 - sum) * 255)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
}

/** https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
function contrast(...colors: readonly [string, string]): number {
  const [a = 0, b = 0] = colors.map((color) => {
    const [red = 0, green = 0, blue = 0] = channels(color).map((one) =>
      one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  });
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

describe('what a message says where its action says nothing', () => {
  const tell = ({ plan, sinks }: Config, at: number, event: Event) =>
    messageOf({ plan, sinks } as Config, plan.then[0]![at], { events: [event], notice: null });
  const numbered = { ...eventOf(id, 'Completed'), candidateNumericalId: 4711 };

  test('Slack has one line where nothing is to be decided, with a link in place of ids', () => {
    const said = 'Backend &lt;Engineer&gt;: candidate';
    const message = tell(linked, 0, numbered);
    expect(message['text']).toBe(`:checkered_flag: ${said} 4711 completed the test`);
    expect(wordsOf(message)).toEqual([
      `:checkered_flag: ${said} <https://tests.example.com/c/${id}|4711> completed the test`,
    ]);
    expect(wordsOf(tell(config, 0, eventOf(id, 'Completed')))).toEqual([
      `:checkered_flag: ${said} ${id} completed the test`,
    ]);
  });

  test.each([
    ['DidNotTake', ':heavy_minus_sign:', ' did not take the test', 'There is no result. Decide whether to'],
    ['Canceled', ':no_entry_sign:', ', test canceled', 'There will be no result. If that was not meant,'],
  ] as const)('%s is for somebody to decide: what, stands below', (status, emoji, words, next) => {
    expect(wordsOf(tell(config, 0, eventOf('<!channel>', status, 8)))).toEqual([
      `${emoji} Test 8: candidate &lt;!channel&gt;${words}\n_What next:_ ${next} invite the candidate again.`,
    ]);
  });

  test('what is told more than an hour late, says when it came', () => {
    const earlier = { ...numbered, receivedAt: now - 3_601_000 };
    expect(wordsOf(tell(linked, 0, earlier))[0]).toMatch(/ completed the test, 20 Nov, 12:59$/);
    expect(wordsOf(tell(config, 0, earlier))[0]).toMatch(/ completed the test, 20 Nov, 11:59 UTC$/);
  });

  test('an action may have another style than its sink', () => {
    const styled = (sink: string, action: string) =>
      wordsOf(
        tell(
          parseConfig(
            `sinks: { slack: { connector: slack, token: x${sink} } }
rules: [ { name: all, when: {}, then: [ { sink: slack, channel: "#x"${action} } ] } ]`,
            'config.yaml',
            { env: {}, connectors },
          ),
          0,
          numbered,
        ),
      ).length;
    expect(styled('', '')).toBe(1);
    expect(styled(', style: full', '')).toBe(2);
    expect(styled(', style: full', ', style: compact')).toBe(1);
    expect(styled('', ', style: full')).toBe(2);
    // Told once, where it is.
    expect(() => styled(', style: ful', '')).toThrow(/^\D*:1:.*did you mean "full"\?[^]*\n1 error$/);
  });

  test('Slack has blocks, a text for notifications, and a link where there is one: of a button Slack tells the app', () => {
    const message = tell(fullLinked, 0, numbered);
    expect(message['text']).toBe(
      ':checkered_flag: Backend &lt;Engineer&gt;: candidate 4711 completed the test',
    );
    expect(wordsOf(message)).toEqual([
      `:checkered_flag: *Test: Backend &lt;Engineer&gt;*\nCandidate *<https://tests.example.com/c/${id}|4711>* completed the test.\n_What next:_ Look at the result in the testing service.\n<https://tests.example.com/c/${id}|Open candidate>`,
      `Received Fri, 20 Nov 2026, 13:05 CET | Candidate id ${id} | Test id 7`,
    ]);
    expect(JSON.stringify(message['blocks'])).not.toContain('button');
  });

  test.each([
    [
      'DidNotTake',
      ':heavy_minus_sign:',
      ' did not take the test',
      'Decide whether to invite the candidate again.',
    ],
    ['Canceled', ':no_entry_sign:', ': test canceled', 'There will be no result.'],
  ] as const)('%s has its own emoji, words and next step', (status, emoji, words, next) => {
    const message = tell(full, 0, eventOf('<!channel>', status, 8));
    const [said, context] = wordsOf(message);
    expect(said).toContain(`${emoji} *Test 8*\nCandidate *&lt;!channel&gt;*${words}.\n`);
    expect(said).toContain(next);
    expect(context).toBe('Received Fri, 20 Nov 2026, 12:05 UTC | Candidate id &lt;!channel&gt; | Test id 8');
    expect(said).not.toContain('Open candidate');
  });

  test('a text of an action is not hidden behind blocks, and blocks bring their own text', () => {
    const own = configOf('slack, channel: "#x", text: "Hi"');
    expect(own).toMatchObject({ text: 'Hi' });
    expect(own).not.toHaveProperty('blocks');
    expect(
      configOf('slack, channel: "#x", blocks: [ { type: header, text: { type: plain_text, text: Hi } } ]')[
        'text'
      ],
    ).toBe('Hi');
    expect(
      configOf('mail, to: a@example.com, html: "<p>Hi <b>{{ event.candidateId }}</b></p>"'),
    ).toMatchObject({
      subject: 'Backend <Engineer>: candidate a completed the test',
      text: 'Hi a',
    });
    expect(configOf('mail, to: a@example.com, text: Hi')).not.toHaveProperty('html');
    const { html } = configOf('mail, to: a@example.com, subject: Hi');
    expect(html).toContain('<!doctype html>');
  });

  function configOf(action: string): Message {
    const { plan, sinks } = parseConfig(
      `catalog: { 7: { name: "Backend <Engineer>" } }
sinks:
  slack: { connector: slack, token: "\${TOKEN}" }
  mail: { connector: email, url: smtp://mail.example.com, from: hiring@example.com }
rules: [ { name: all, when: {}, then: [ { sink: ${action} } ] } ]`,
      'config.yaml',
      { env: { TOKEN: 'xoxb-1' }, connectors },
    );
    return tell({ plan, sinks } as Config, 0, eventOf('a', 'Completed'));
  }

  test('a mail is HTML and text', () => {
    const { subject, text, html } = tell(linked, 2, numbered) as { readonly [key: string]: string };
    expect(subject).toBe('Backend <Engineer>: candidate 4711 completed the test');
    expect(text).toBe(`Candidate 4711 completed the test.

Test: Backend <Engineer>
Received: Fri, 20 Nov 2026, 13:05 CET

https://tests.example.com/c/${id}
`);
    for (const part of [
      '>Backend &lt;Engineer&gt;<',
      'Sent by Candidate Connector.',
      'Fri, 20 Nov 2026, 13:05 CET',
      `href="https://tests.example.com/c/${id}"`,
    ])
      expect(html).toContain(part);
    // Nothing is loaded from elsewhere, and nothing stands as it came.
    expect(html).not.toMatch(/src=|@import|url\(|<Engineer>|<link/);
  });

  test('a mail can be read in light, in dark, and where a program turns its colours over', () => {
    const mails = [
      ...statuses.map((status) => tell(linked, 2, eventOf(id, status))),
      messageOf(linked, linked.plan.then[1]![2], { events: [numbered, numbered], notice: null }),
    ];
    for (const { html } of mails) {
      const shown = pairsOf(html as string);
      expect(shown.length).toBeGreaterThan(10);
      const turned = shown.map(([text, behind]) => [turnedOver(text), turnedOver(behind)] as const);
      for (const [text, behind] of [...shown, ...turned])
        expect(contrast(text, behind), `${text} on ${behind}`).toBeGreaterThan(4.5);
    }
  });

  test('a mail to a candidate without number and link has the whole id', () => {
    const { text, html } = tell(config, 2, eventOf(id, 'Canceled', 1_234_567)) as {
      readonly [key: string]: string;
    };
    expect(text).toContain(`Candidate 6f1c2d3e…: test canceled.\n\nTest: 1234567\n`);
    expect(text).toContain(`\nCandidate id ${id} | Test id 1234567\n`);
    expect(text).toContain('\n\nWhat next: There will be no result.');
    expect(html).not.toContain('href');
  });

  test('a sheet gets a row with the usual columns', () => {
    expect(tell(config, 1, eventOf(id, 'DidNotTake'))).toEqual({
      tab: 'Results',
      row: {
        Received: '2026-11-20T12:05:00.000Z',
        Test: 'Backend <Engineer>',
        Candidate: '6f1c2d3e…',
        Status: 'Did not take the test',
        'Candidate id': id,
        'Test id': 7,
        Delivery: 'dlv_1',
      },
      formats: { Received: 'date' },
    });
    expect(tell(linked, 1, numbered)).toMatchObject({
      row: { Candidate: '4711' },
      formats: { Candidate: { uri: `https://tests.example.com/c/${id}` } },
    });
  });

  test('a webhook gets the event', () => {
    expect(tell(config, 3, numbered)['body']).toMatchObject({
      type: 'candidate.completed',
      data: { candidateId: id },
    });
  });
});

describe('what a digest says where its action says nothing', () => {
  const [slack, sheet, mail, ats] = config.plan.then[1]!;
  const some = [eventOf('a', 'Completed'), eventOf('<!here>', 'DidNotTake', 8), eventOf('c', 'Completed')];
  const tell = (action: Action | undefined, events: readonly Event[] = some, by = config) =>
    messageOf(by, action, { events, notice: null });

  test('Slack lists the events by test in one block, and says once what next', () => {
    const title = '3 candidates of 2 tests: 2 completed, 1 did not take the test';
    expect(wordsOf(tell(slack))).toEqual([
      expect.stringMatching(
        /^\*3 candidates .*\*\n\*Test: Backend.*\* \(2 completed\)\n:checkered_flag: Candidate a completed/,
      ),
      'Received Fri, 20 Nov 2026, 12:05 UTC | What next: Look at the results in the testing service. Where a test was not taken or was canceled, there is no result: decide whom to invite again.',
    ]);
    expect(tell(slack)['text']).toBe(title);
  });

  test('a digest of one event says it once', () => {
    const one = [eventOf('<a>', 'Canceled')];
    const title = 'Backend &lt;Engineer&gt;: candidate &lt;a&gt;, test canceled';
    expect(wordsOf(tell(slack, one))[0]).toBe(`:no_entry_sign: ${title}`);
    const { html, text } = tell(linked.plan.then[1]![2], one, linked) as { html: string; text: string };
    expect(html.match(/test canceled/g)).toHaveLength(2); // in <title> and in the heading
    expect(html).toContain('>Open candidate</a>');
    expect(text.match(/test canceled/g)).toHaveLength(1);
  });

  test('Slack in full lists the events by test, with counts where there are several, escaped', () => {
    const message = tell(full.plan.then[1]![0], some, full);
    const title = '3 candidates of 2 tests: 2 completed, 1 did not take the test';
    expect(message['text']).toBe(title);
    expect(wordsOf(message)).toEqual([
      title,
      'Received Fri, 20 Nov 2026, 12:05 UTC',
      `*Test: Backend &lt;Engineer&gt;* (2 completed)
:checkered_flag: Candidate a completed the test, 20 Nov, 12:05
:checkered_flag: Candidate c completed the test, 20 Nov, 12:05

*Test 8*
:heavy_minus_sign: Candidate &lt;!here&gt; did not take the test, 20 Nov, 12:05
`,
      '_What next:_ Look at the results in the testing service. Where a test was not taken or was canceled, there is no result: decide whom to invite again.',
    ]);
  });

  test('the title names the only test, and counts each candidate once', () => {
    const twice = [eventOf('a', 'Completed'), eventOf('a', 'Canceled', 8)];
    expect(tell(mail, twice)['subject']).toBe('1 candidate of 2 tests: 1 completed, 1 canceled');
    const ofOneTest = [eventOf('a', 'Completed'), eventOf('b', 'Canceled')];
    const later = { ...eventOf('c', 'Completed'), receivedAt: noon + 8_400_000 };
    expect(wordsOf(tell(fullLinked.plan.then[1]![0], [...ofOneTest, later], fullLinked)).slice(0, 3)).toEqual(
      [
        'Test: Backend &lt;Engineer&gt; (2 completed, 1 canceled)',
        'Received Fri, 20 Nov 2026, 13:05–15:25 CET',
        expect.stringMatching(/^:checkered_flag: Candidate .*\n:no_entry_sign: Candidate .*\n:checkered/),
      ],
    );
  });

  test('Slack links the candidates, and tells the time of the config', () => {
    const [, , list] = wordsOf(tell(fullLinked.plan.then[1]![0], some.slice(0, 1), fullLinked));
    expect(list).toContain(
      ':checkered_flag: Candidate <https://tests.example.com/c/a|a> completed the test, 20 Nov, 13:05\n',
    );
  });

  const many = (tests: number): Event[] =>
    Array.from({ length: 1000 }, (_, index) =>
      eventOf(`${index}`.padStart(32, '0'), 'Canceled', 7 + (index % tests)),
    );

  test('Slack says how many more there are than it lists', () => {
    const message = tell(full.plan.then[1]![0], many(2), full);
    const [, , list = ''] = wordsOf(message);
    expect(message['text']).toBe('1,000 candidates of 2 tests: 1,000 canceled');
    expect(list.match(/:no_entry_sign:/g)).toHaveLength(25);
    expect(list).toMatch(
      /^\*Test: Backend &lt;Engineer&gt;\* \(500 canceled\)\n(:no_entry_sign: .*\n){25}… and 475 more\n\n\*Test 8\* \(500 canceled\)\n… and 500 more\n$/,
    );
  });

  test('a mail has the counts in its subject and every event in its text and its HTML', () => {
    expect(tell(mail, some.slice(0, 1))).toMatchObject({
      subject: 'Backend <Engineer>: candidate a completed the test',
      text: `Backend <Engineer>: candidate a completed the test
Received Fri, 20 Nov 2026, 12:05 UTC

Candidate id a | Test id 7

What next: Look at the result in the testing service.
`,
    });
  });

  test.each([
    ['DidNotTake', 'There is no result. Decide whether to invite the candidate again.'],
    ['Canceled', 'There will be no result. If that was not meant, invite the candidate again.'],
  ] as const)('of its only event, %s, it says what next as a message of its own does', (status, next) => {
    const only = [eventOf('a', status)];
    expect(tell(mail, only)['text']).toMatch(new RegExp(`What next: ${next.replaceAll('.', '\\.')}\n$`));
    for (const by of [config, full])
      expect(wordsOf(tell(by.plan.then[1]![0], only, by)).at(-1)).toContain(next);
  });

  const namedAtLength = Array.from(
    { length: 1000 },
    (_, at) => `${7 + at}: { name: ${'测试工程师'.repeat(20)} }`,
  );

  test.each([
    [config, 1],
    [config, 1000],
    [linked, 2],
    [configWith(inZagreb, '', namedAtLength.join(', ')), 1000],
  ])('a mail has all events in its text, and as many in its HTML as Gmail shows: %#', (by, tests) => {
    const [, , action] = by.plan.then[1]!;
    const htmlOf = (events: readonly Event[]) => tell(action, events, by)['html'] as string;
    const { text, html } = tell(action, many(tests), by) as { readonly [key: string]: string };
    expect(text?.match(/^- /gm)).toHaveLength(1000);
    // It cuts what has more than 102 KB.
    expect(Buffer.byteLength(html ?? '')).toBeLessThan(102_000);
    const listed = html?.match(/test canceled<\/td>/g)?.length ?? 0;
    expect(listed).toBeGreaterThan(80);
    expect(html).toContain(`>… and ${1000 - listed} more: the plain text of this mail has all<`);
    expect(htmlOf(many(1).slice(0, 80)).match(/test canceled<\/td>/g)).toHaveLength(80);
    expect(htmlOf(many(1).slice(0, 80))).not.toContain(' more');
  });

  test('a sheet gets one row with the counts and the candidates', () => {
    expect(tell(sheet)).toEqual({
      tab: 'Digests',
      row: {
        Sent: '2026-11-20T13:00:00.000Z',
        Events: 3,
        Summary: 'Backend <Engineer>: 2 completed; Test 8: 1 did not take the test',
        Candidates: 'a, <!here>, c',
        Delivery: 'dlv_1',
      },
      formats: { Sent: 'date' },
    });
  });

  test('a webhook gets the events, without what the service sent besides', () => {
    const { raw: _, traceparent: _trace, receivedAt, ...first } = some[0]!;
    expect(tell(ats, some.slice(0, 1))['body']).toEqual({
      type: 'candidate.digest',
      timestamp: '2026-11-20T12:05:00.000Z',
      data: { events: [{ ...first, receivedAt: new Date(receivedAt).toISOString() }] },
    });
  });
});

describe('what a notice says where its action says nothing', () => {
  const noticeOf = (alert: Notice['alert'], over: Partial<RaisedNotice> = {}): RaisedNotice => ({
    id: 'ntc_1',
    alert,
    cause: alert,
    sink: alert === 'silence' || alert === 'config' ? null : 'ats & co',
    count: alert === 'dead' ? 2 : 0,
    since: now - 3_600_000,
    raisedAt: now,
    detail: 'Something is wrong.',
    advice: 'Fix it.',
    recovered: false,
    ...over,
  });
  const tell = (kind: Notice['alert'], index: number, over?: Partial<RaisedNotice>) =>
    messageOf(config, config.plan.alerts.find((alert) => alert.kind === kind)?.actions[index], {
      events: [],
      notice: noticeOf(kind, over),
    });

  test.each([
    ['dead', {}, '2 deliveries to ats & co given up'],
    ['dead', { count: 1 }, '1 delivery to ats & co given up'],
    [
      'dead',
      { count: 1, cause: 'dead ats & co: missed in all 0' },
      '1 delivery to ats & co went out, but not as meant',
    ],
    ['held', { count: 2 }, '2 deliveries to ats & co held for a person to decide'],
    ['paused', {}, 'Messages to ats & co do not go out'],
    ['paused', { sink: 'lookup:candidate' }, 'The look-up candidate gets no answer'],
    ['config', {}, 'The config has a problem'],
    ['silence', {}, 'No event since Fri, 20 Nov 2026, 12:00 UTC'],
  ] as const)('%s %j: in short, in detail, and what to do', (kind, over, short) => {
    const escaped = short.replace('&', '&amp;');
    const message = tell(kind, 0, over);
    expect(message).toMatchObject({ channel: '#ops', text: `:warning: Candidate Connector: ${escaped}` });
    expect(wordsOf(message)).toEqual([
      `:warning: *Candidate Connector: ${escaped}*\nSomething is wrong.\n_What next:_ Fix it.`,
      'Since Fri, 20 Nov 2026, 12:00 UTC',
    ]);
    const sent = tell(kind, 2, over);
    expect(sent).toMatchObject({
      subject: `Candidate Connector: ${short}`,
      text: 'Something is wrong.\n\nWhat next: Fix it.\n\nSince Fri, 20 Nov 2026, 12:00 UTC\n',
    });
    expect(sent['html']).toContain(`>${escaped}</h1>`);
    expect(tell(kind, 1, over)).toEqual({
      tab: 'Alerts',
      row: {
        Sent: '2026-11-20T13:00:00.000Z',
        Alert: short,
        Since: '2026-11-20T12:00:00.000Z',
        Detail: 'Something is wrong.',
        'To do': 'Fix it.',
        Delivery: 'dlv_1',
      },
      formats: { Sent: 'date', Since: 'date' },
    });
  });

  test('that a trouble is over is told in green', () => {
    const over = { recovered: true };
    expect(tell('paused', 0, over)).toMatchObject({
      text: ':white_check_mark: Candidate Connector: ats &amp; co works again',
    });
    expect(wordsOf(tell('paused', 0, over))).toEqual([
      ':white_check_mark: *Candidate Connector: ats &amp; co works again*\nSomething is wrong.\n_What next:_ Fix it.',
      'It began Fri, 20 Nov 2026, 12:00 UTC',
    ]);
    expect(tell('config', 2, over)['subject']).toBe('Candidate Connector: The changed config is in force');
    const { subject, html } = tell('paused', 2, over);
    expect(subject).toBe('Candidate Connector: ats & co works again');
    expect(tell('paused', 2, { ...over, sink: 'lookup:candidate' })['subject']).toBe(
      'Candidate Connector: The look-up candidate works again',
    );
    expect(html).toContain('background-color:#1a7f37');
    expect(html).not.toContain('needs a person');
  });

  test('a summary has a line for each test and sink', () => {
    const notice = noticeOf('summary', {
      sink: null,
      count: 3,
      detail: '3 events: 3 completed\nBackend <Engineer>: 3 completed',
      advice: 'Nothing needs a person.',
    });
    const told = (index: number) =>
      messageOf(config, config.plan.summary?.actions[index], { events: [], notice });
    expect(wordsOf(told(0))).toEqual([
      ':bar_chart: *Candidate Connector: The week: 3 events*\n3 events: 3 completed\nBackend &lt;Engineer&gt;: 3 completed\n_What next:_ Nothing needs a person.',
      'From Fri, 20 Nov 2026, 12:00 UTC',
    ]);
    const { subject, html, text } = told(2);
    expect(subject).toBe('Candidate Connector: The week: 3 events');
    expect(html).toMatch(/3 events: 3 completed<br>\s*Backend &lt;Engineer&gt;: 3 completed/);
    expect(html).not.toContain('needs a person</span>');
    expect(text).toContain('3 events: 3 completed\nBackend <Engineer>: 3 completed\n\nWhat next:');
    expect(told(1)).toMatchObject({ tab: 'Alerts', row: { Alert: 'The week: 3 events' } });
  });

  test('a webhook gets the notice', () => {
    expect(tell('dead', 3)['body']).toEqual({
      type: 'connector.alert',
      timestamp: '2026-11-20T12:00:00.000Z',
      data: {
        alert: 'dead',
        sink: 'ats & co',
        from: null,
        count: 2,
        since: '2026-11-20T12:00:00.000Z',
        detail: 'Something is wrong.',
        advice: 'Fix it.',
        recovered: false,
        missed: false,
        late: false,
      },
    });
  });
});

test('a long word, as of a German title, makes no mail wider than a phone', async () => {
  const of = configWith(inZagreb, '', '7: { name: "Fachinformatikerinnengrundlagenprüfung" }');
  const page = await openTab();
  await page.setViewportSize({ width: 360, height: 700 });
  for (const action of of.plan.then.flatMap((then) => then.filter(({ sink }) => sink === 'mail'))) {
    const about = { events: [eventOf('a', 'Completed'), eventOf('b', 'Canceled')], notice: null };
    const one = action.digest ? about : { ...about, events: about.events.slice(0, 1) };
    await page.setContent(messageOf(of, action, one)['html'] as string);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  }
});
