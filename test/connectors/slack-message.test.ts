import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';
import { failure } from '../config/tools.ts';
import { describe, expect, test } from 'vitest';
import { inBlocks as medium } from '../../connectors/slack/escape.ts';
import { slack } from '../../connectors/slack/index.ts';
import { shorten } from '../../connectors/slack/blocks.ts';
import type { SlackFields, SlackMessage } from '../../connectors/slack/message.ts';
import type { DeliveryContext, NoticeData, Subject } from '../../src/connector.ts';
import { eventDataWith } from '../fixtures/event.ts';
import { checkBlocks } from '../../sandbox/slack/blocks.ts';

const event = eventDataWith({ candidateId: '<!here>' });
const notice: NoticeData = {
  alert: 'paused',
  sink: 'mail',
  count: 0,
  since: '2026-03-01T09:30:00.000Z',
  detail: 'mail is down.',
  advice: 'Fix it.',
  recovered: false,
  missed: false,
  late: false,
  from: null,
};
const context: DeliveryContext = { deliveryId: 'd-1', subject: { kind: 'event', event } };
const options = slack.options.parse({ token: 'xoxb-1' });

type Blocks = NonNullable<SlackFields['blocks']>;

function compose(fields: SlackFields) {
  return slack.compose(slack.action.parse(fields), context, options);
}

function message(fields: SlackFields): SlackMessage {
  const composed = compose(fields);
  if ('rejected' in composed) throw new Error(composed.rejected.detail);
  return composed.message;
}

describe('a composed message', () => {
  test('shows what nobody sees in an id, and leaves scripts and emoji whole', () => {
    const escape = (value: string) => slack.templates.text!.escape(value, [], {});
    expect(escape('a\u200B1\u2060\u00AD\u{E0041}')).toBe('a\\u{200b}1\\u{2060}\\u{ad}\\u{e0041}');
    for (const path of [
      [0, 'text', 'text'],
      [0, 'elements', 0, 'elements', 0, 'text'],
    ])
      expect(slack.templates.blocks!.escape('a\u200B', path, {})).toBe('a\\u{200b}');
    expect(slack.templates.blocks!.escape('a\u200B', [0, 'value'], {})).toBe('a\u200B');
    expect(escape('\uFEFFa\u009B2J')).toBe('\\u{feff}a\\u{9b}2J');
    // These turn all that follows around, as a score: wherever they stand.
    expect(escape('Zo\u00E9\u202E \u05D0\u2067')).toBe('Zo\u00E9\\u{202e} \u05D0\\u{2067}');
    expect(escape('\u05D0\u200F!')).toBe('\u05D0\u200F!');
    const whole =
      '\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645 \u{1F469}\u200D\u{1F4BB} \u2764\uFE0F 1\uFE0F\u20E3\na\tb';
    expect(escape(whole)).toBe(whole);
    expect(message({ channel: 'a', blocks: [{ type: 'divider' }] }).text).toBe(
      'Candidate &lt;!here&gt;: Completed',
    );
  });

  test('is the arguments of chat.postMessage with the delivery id as metadata', () => {
    const fields = { channel: ' #hiring ', text: 'Hello', username: 'Tests', icon: ':tada:', unfurl: false };
    expect(compose(fields)).toEqual({
      message: {
        channel: '#hiring',
        text: 'Hello',
        username: 'Tests',
        icon_emoji: ':tada:',
        unfurl_links: false,
        unfurl_media: false,
        metadata: { event_type: 'candidate_connector_delivery', event_payload: { delivery_id: 'd-1' } },
      },
    });
  });

  test.for([
    ['tada', { icon_emoji: ':tada:' }],
    [':tada:', { icon_emoji: ':tada:' }],
    ['https://example.com/a.png', { icon_url: 'https://example.com/a.png' }],
  ] as const)('takes %s for an icon', ([icon, expected]) => {
    expect(message({ channel: 'a', text: 'b', icon })).toMatchObject(expected);
  });

  test.for(['', ' ', '\n'])('is refused with %j as channel', (channel) => {
    expect(slack.compose({ channel, text: 'b' }, context, options)).toMatchObject({
      rejected: { outcome: 'rejected', reason: 'invalid', advice: expect.stringContaining('channel') },
    });
  });

  test.for(['', ' \n'])('is refused with %j as text and no blocks', (text) => {
    expect(compose({ channel: '#a', text })).toMatchObject({ rejected: { reason: 'invalid' } });
  });

  test('leaves out a name, an icon and a thread that rendered to nothing', () => {
    const keys = Object.keys(message({ channel: '#a', text: 'b', username: ' ', icon: '', threadBy: '' }));
    expect(keys).toEqual(['channel', 'text', 'metadata']);
  });

  test('has no half of a surrogate pair, which cannot be sent', () => {
    const composed = message({
      channel: '#a',
      text: 'a \uD83D b',
      blocks: [{ type: 'section', text: { type: 'mrkdwn', text: '\uDE00' } }],
    });
    expect(composed.text).toBe('a \uFFFD b');
    expect(composed.blocks).toEqual([{ type: 'section', text: { type: 'mrkdwn', text: '\uFFFD' } }]);
  });
});

describe('blocks with an empty text', () => {
  const mrkdwn = (text: string) => ({ type: 'mrkdwn', text });
  const emptyNote = { note: 'Blocks without a text or an address were left out.' };

  test.for([
    [{ type: 'section', text: mrkdwn(' ') }, null],
    [{ type: 'header', text: { type: 'plain_text', text: '' } }, null],
    [{ type: 'markdown', text: '' }, null],
    [{ type: 'context', elements: [mrkdwn('')] }, null],
    [
      { type: 'context', elements: [mrkdwn(''), mrkdwn('a')] },
      { type: 'context', elements: [mrkdwn('a')] },
    ],
    [
      { type: 'section', text: mrkdwn(''), fields: [mrkdwn('a'), mrkdwn('')] },
      { type: 'section', fields: [mrkdwn('a')] },
    ],
    [
      { type: 'section', text: mrkdwn('a'), fields: [mrkdwn('')] },
      { type: 'section', text: mrkdwn('a') },
    ],
    [
      {
        type: 'rich_text',
        elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: '' }] }],
      },
      null,
    ],
  ] as const)('are left out, as Slack would refuse the message: %j', ([block, left]) => {
    const composed = compose({ channel: '#a', text: 'Hello', blocks: [block, { type: 'divider' }] as never });
    const blocks = [...(left === null ? [] : [left]), { type: 'divider' }];
    expect(composed).toMatchObject({ message: { blocks }, ...emptyNote });
  });

  const link = (url: string) => ({ type: 'button', text: { type: 'plain_text', text: 'Open' }, url });
  const image = (url: string) => ({ type: 'image', image_url: url, alt_text: 'Logo' });
  test.for([
    [{ type: 'actions', elements: [link('')] }, null],
    [
      { type: 'actions', elements: [link(' '), link('https://a.example')] },
      { type: 'actions', elements: [link('https://a.example')] },
    ],
    [image(''), null],
    [
      { type: 'section', text: mrkdwn('a'), accessory: image('') },
      { type: 'section', text: mrkdwn('a') },
    ],
  ] as const)('are left out without an address, too: %j', ([block, left]) => {
    const composed = compose({ channel: '#a', text: 'Hello', blocks: [block, { type: 'divider' }] as never });
    const blocks = [...(left === null ? [] : [left]), { type: 'divider' }];
    expect(composed).toMatchObject({ message: { blocks }, ...emptyNote });
  });

  test.for(['n/a', 'reports.example.com/4711', '/reports/4711', 'https://'])(
    'are left out where what a field has is no address: %s',
    (address) => {
      const blocks = [{ type: 'actions', elements: [link(address)] }, image(address), { type: 'divider' }];
      const composed = compose({ channel: '#a', text: 'Hello', blocks });
      if (!('message' in composed)) throw new Error('rejected');
      expect(composed.message.blocks).toEqual([{ type: 'divider' }]);
      expect(composed.note).toContain('no address without https://');
      expect(() => checkBlocks(blocks)).toThrow('invalid_blocks');
    },
  );

  test('are no message at all where there is nothing else', () => {
    const blocks = [{ type: 'section', text: mrkdwn('') }];
    expect(compose({ channel: '#a', blocks })).toMatchObject({ rejected: { reason: 'invalid' } });
    const composed = compose({ channel: '#a', text: 'Hello', blocks });
    expect(composed).toMatchObject({ message: { text: 'Hello' }, ...emptyNote });
    expect(composed).not.toHaveProperty('message.blocks');
  });

  test('stay in a table, whose columns would shift', () => {
    const section = { type: 'rich_text_section', elements: [{ type: 'text', text: '' }] };
    const rows = [
      [
        { type: 'raw_text', text: '' },
        { type: 'rich_text', elements: [section] },
      ],
    ];
    const space = { type: 'raw_text', text: ' ' };
    expect(compose({ channel: '#a', text: 'b', blocks: [{ type: 'table', rows }] })).toEqual({
      message: expect.objectContaining({ blocks: [{ type: 'table', rows: [[space, space]] }] }),
    });
  });
});

describe('the cells of tables', () => {
  const table = (...lengths: number[]) => ({
    type: 'table',
    rows: [
      [{ type: 'raw_text', text: 'Name' }],
      ...lengths.map((length) => [{ type: 'raw_text', text: 'x'.repeat(length) }]),
    ],
  });
  const lengths = (blocks: unknown) =>
    (blocks as ReturnType<typeof table>[]).map(({ rows }) => rows.map(([cell]) => cell?.text.length));

  test('stay as they are up to 10,000 characters', () => {
    const blocks = [table(2996, 3000, 3000, 1000)];
    expect(compose({ channel: '#a', text: 'b', blocks })).toEqual({
      message: expect.objectContaining({ blocks }),
    });
  });

  test.for<[Blocks, number[][]]>([
    [[table(3000, 3000, 3000, 3000)], [[4, 2499, 2499, 2499, 2499]]],
    [[table(3000, 3000, 3000, 10, 3000)], [[4, 2496, 2496, 2496, 10, 2496]]],
  ])('are shortened, the longest first, where the table has more: %#', ([blocks, left]) => {
    const composed = compose({ channel: '#a', text: 'b', blocks });
    if (!('message' in composed)) throw new Error('rejected');
    expect(lengths(composed.message.blocks)).toEqual(left);
    expect(composed.note).toMatch(/too long/);
    checkBlocks(composed.message.blocks!);
  });
});

test('the first table of a message stays, as Slack takes one', () => {
  const table = (text: string) => ({ type: 'table', rows: [[{ type: 'raw_text', text }]] });
  const written = [table('1'), { type: 'divider' }, table('2')];
  expect(() => checkBlocks(written)).toThrow('invalid_attachments');
  expect(compose({ channel: '#a', text: 'b', blocks: written })).toMatchObject({
    message: { blocks: [table('1'), { type: 'divider' }] },
    note: 'Slack takes one table in a message: the others were left out.',
  });
});

describe('the texts of all blocks together', () => {
  const section = (length: number) => ({
    type: 'section',
    text: { type: 'mrkdwn', text: 'x'.repeat(length) },
  });

  test('fit into a message, or the last blocks are left out', () => {
    const blocks = [section(2900), section(2900), section(2900), section(2900), section(2900)];
    const composed = compose({ channel: '#a', blocks });
    const omitted = { type: 'context', elements: [{ text: '… (shortened: 1 more blocks)' }] };
    expect(composed).toMatchObject({ message: { blocks: [...blocks.slice(0, 4), omitted] } });
    expect(composed).toMatchObject({ note: expect.stringContaining('shortened') });
  });

  test('fit where one block alone has too many', () => {
    const fields = Array.from({ length: 10 }, () => ({ type: 'mrkdwn', text: 'x'.repeat(2000) }));
    const { blocks = [] } = message({ channel: '#a', blocks: [{ type: 'section', fields }] });
    const [block] = blocks as unknown as { fields: { text: string }[] }[];
    expect(block?.fields.map(({ text }) => text.length)).toEqual(Array.from({ length: 10 }, () => 1200));
  });
});

describe('the text of notifications', () => {
  test('is taken from the blocks where the action has none', () => {
    const blocks = [
      { type: 'header', text: { type: 'plain_text', text: 'Completed' } },
      { type: 'section', fields: [{ type: 'mrkdwn', text: '*Test*\nBackend &amp; more' }] },
    ];
    expect(message({ channel: '#a', blocks }).text).toBe('Completed *Test* Backend &amp; more');
  });

  test('escapes what it takes from text that Slack shows literally', () => {
    const element = { type: 'rich_text_section', elements: [{ type: 'text', text: 'a <!channel> & b' }] };
    const { text } = message({ channel: '#a', blocks: [{ type: 'rich_text', elements: [element] }] });
    expect(text).toBe('a &lt;!channel&gt; &amp; b');
  });

  test.each<[Subject, string]>([
    [{ kind: 'digest', events: [event, event], csv: () => ({ name: '', text: '' }) }, 'Candidates: 2'],
    [{ kind: 'notice', notice: { ...notice, detail: 'mail <is> down' } }, 'mail &lt;is&gt; down'],
  ])('says in short what a digest or a notice is about where the blocks have no words', (subject, text) => {
    const fields = slack.action.parse({ channel: 'a', blocks: [{ type: 'divider' }] });
    const composed = slack.compose(fields, { deliveryId: 'd-1', subject }, options);
    expect(composed).toMatchObject({ message: { text } });
  });

  test('is the candidate and the status where the blocks have no words', () => {
    expect(message({ channel: '#a', blocks: [{ type: 'divider' }] }).text).toBe(
      'Candidate &lt;!here&gt;: Completed',
    );
  });
});

describe('escaping', () => {
  const hostile = '<!channel> & <https://evil.example|here>';
  const escaped = '&lt;!channel&gt; &amp; &lt;https://evil.example|here&gt;';
  const inBlocks = slack.templates.blocks!.escape;

  test.for([[[0, 'text', 'text']], [[0, 'fields', 1, 'text']], [[0, 'elements', 0, 'text']]])(
    'turns control characters of the text object at %j into entities',
    ([path]) => {
      expect(inBlocks(hostile, path!, {})).toBe(escaped);
    },
  );

  test.for([
    [[0, 'accessory', 'url']],
    [[0, 'accessory', 'value']],
    [[0, 'accessory', 'action_id']],
    [[0, 'alt_text']],
    [[0, 'elements', 0, 'elements', 0, 'text']],
    [[0, 'rows', 0, 0, 'text']],
  ])('leaves %j as it is, where an entity would be shown or break an address', ([path]) => {
    expect(inBlocks(hostile, path!, {})).toBe(hostile);
  });

  test('is for the text and not for names', () => {
    expect(slack.templates.text!.escape(hostile, [], {})).toBe(escaped);
    for (const key of ['channel', 'threadBy', 'username', 'icon'] as const) {
      expect(slack.templates[key]!.escape('R&D', [], {})).toBe('R&D');
    }
  });
});

describe('a text that is too long', () => {
  test('is shortened with a notice, and the delivery says so', () => {
    const composed = compose({ channel: '#a', text: 'x'.repeat(5000) });
    expect(composed).toMatchObject({ note: expect.stringContaining('shortened') });
    const { text } = (composed as { message: SlackMessage }).message;
    expect(text).toHaveLength(4000);
    expect(text.endsWith('… (shortened)')).toBe(true);
  });

  test('stays whole at the limit', () => {
    const composed = compose({ channel: '#a', text: 'x'.repeat(4000) });
    expect(composed).not.toHaveProperty('note');
  });

  test.for(['&amp;', '&lt;', '👩', '<https://example.com/a|a>', '<@U123>'])(
    'is never cut inside of %s',
    (unit) => {
      const end = 400 - '\n… (shortened)'.length;
      for (let offset = 0; offset <= unit.length; offset += 1) {
        const short = shorten('x'.repeat(end - offset) + unit.repeat(100), 400);
        expect(short.length).toBeLessThanOrEqual(400);
        const [kept] = short.split('\n… (shortened)');
        expect(kept!.replace(/^x+/, '').replaceAll(unit, '')).toBe('');
        expect(kept!.length).toBeGreaterThan(350);
      }
    },
  );

  test('is not taken for a reference because of a stray <', () => {
    expect(shorten(`<${'x'.repeat(5000)}`, 4000)).toHaveLength(4000);
  });

  test.for<[Blocks[number], number]>([
    [{ type: 'section', text: { type: 'mrkdwn', text: 'x'.repeat(9000) } }, 3000],
    [{ type: 'section', fields: [{ type: 'mrkdwn', text: 'x'.repeat(9000) }] }, 2000],
    [{ type: 'header', text: { type: 'plain_text', text: 'x'.repeat(9000) } }, 150],
    [
      {
        type: 'actions',
        elements: [{ type: 'button', text: { type: 'plain_text', text: 'x'.repeat(900) } }],
      },
      75,
    ],
  ])('is shortened to what Slack takes in %j', ([block, maxLength]) => {
    const composed = compose({ channel: '#a', text: 'b', blocks: [block] });
    const [shortened] = JSON.stringify((composed as { message: SlackMessage }).message.blocks).match(
      /"x[^"]*"/,
    )!;
    expect(JSON.parse(shortened)).toHaveLength(maxLength);
    expect(composed).toHaveProperty('note');
  });

  test('goes on in further sections from line to line, and leaves room for what follows', () => {
    const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } });
    const lines = (count: number) =>
      Array.from({ length: count }, (_, index) => `${index} ${'x'.repeat(95)}`);
    const next = { type: 'context', elements: [{ type: 'mrkdwn', text: 'What next: decide.' }] };
    const listed = (count: number) =>
      compose({ channel: '#a', text: 'b', blocks: [section(lines(count).join('\n')), next] }) as {
        message: SlackMessage;
      };
    const whole = listed(100);
    expect(whole).not.toHaveProperty('note');
    const { blocks } = whole.message;
    expect(blocks!.map(({ text }) => (text as { text?: string } | undefined)?.text ?? '').join('\n')).toBe(
      `${lines(100).join('\n')}\n`,
    );
    expect(blocks).toHaveLength(5);
    checkBlocks(blocks!);
    const cut = listed(1000);
    expect(cut).toMatchObject({ note: expect.stringContaining('shortened') });
    expect(cut.message.blocks!.at(-1)).toEqual(next);
    expect(JSON.stringify(cut.message.blocks)).toContain('… (shortened)');
    checkBlocks(cut.message.blocks!);
    const fields = Array.from({ length: 5 }, () => ({ type: 'mrkdwn', text: 'f'.repeat(1900) }));
    const before = message({
      channel: '#a',
      text: 'b',
      blocks: [section(lines(100).join('\n')), { type: 'section', fields }],
    });
    expect(before.blocks!.at(-1)).toEqual({ type: 'section', fields });
    const open = { ...section(lines(50).join('\n')), expand: true };
    expect(message({ channel: '#a', text: 'b', blocks: [open] }).blocks).toMatchObject([
      { expand: true },
      { expand: true },
    ]);
    // In two, neither would be shown as code.
    const code = compose({
      channel: '#a',
      text: 'b',
      blocks: [section(`\`\`\`${lines(50).join('\n')}\`\`\``)],
    });
    expect((code as { message: SlackMessage }).message.blocks).toHaveLength(1);
  });

  test('leaves blocks out beyond fifty, and says how many', () => {
    const blocks = Array.from({ length: 60 }, () => ({ type: 'divider' }));
    const fitted = message({ channel: '#a', text: 'b', blocks }).blocks!;
    expect(fitted).toHaveLength(50);
    expect(JSON.stringify(fitted.at(-1))).toContain('11 more blocks');
  });
});

describe('the place of a message', () => {
  test('is a lane for each channel, however it is written', () => {
    expect(slack.lane!({ channel: '#hiring' })).toBe(slack.lane!({ channel: 'hiring ' }));
    expect(slack.laneKeys).toEqual(['channel']);
  });

  test('has threads only within one channel, however it is written', () => {
    const [a, again, b, none] = [
      { channel: '#a', threadBy: 'x' },
      { channel: 'a', threadBy: 'x' },
      { channel: '#b', threadBy: 'x' },
      { channel: '#a' },
    ].map((fields) => slack.thread!(message({ ...fields, text: 'c' })));
    expect(a).toBe(again);
    expect(a).not.toBe(b);
    expect(none).toBeNull();
  });
});

const list = (length: number) => Array.from({ length }, () => ({ type: 'mrkdwn', text: 'x' }));

test.for([
  [{ channel: '#a' }, 'expected text or blocks'],
  [{ channel: '#a', text: 'b', blocks: [] }, '>=1'],
  [{ channel: '#a', blocks: [{ text: 'b' }] }, 'a block has a type'],
  [{ channel: '#a', blocks: [{ type: 'section', fields: list(11) }] }, 'at most 10 fields'],
  [{ channel: '#a', blocks: [{ type: 'context', elements: list(11) }] }, 'at most 10 elements'],
  [{ channel: '#a', blocks: [{ type: 'actions', elements: list(26) }] }, 'at most 25 elements'],
] as const)('the action %j is found wrong when the config is read', ([action, expected]) => {
  const { error } = slack.action.safeParse(action);
  expect(error!.issues.map(({ message: said }) => said).join()).toContain(expected);
});

describe('an action with updateBy', () => {
  test.each([
    [
      'digest: 1h, updateBy: k',
      '4:105 this is about one event, and a `digest` has many: remove this or the `digest`',
    ],
    ['updates: thread', '4:92 this says how updateBy tells of later messages; give updateBy, too'],
    ['updateBy: k, threadBy: k', '4:106 updateBy keeps one message for a key'],
    ['updateBy: k, updates: always', '4:105 expected message or thread'],
  ])('and %s is refused at its place', (keys, expected) => {
    const text = [
      'receiver: { path: /hook }',
      'sinks: { slack: { connector: slack, token: "${TOKEN}" } }',
      'rules:',
      `  - { name: all, when: {}, then: [{ sink: slack, channel: "#hiring", text: Hello, ${keys} }] }`,
    ].join('\n');
    const { problems } = failure(() =>
      parseConfig(text, 'config.yaml', { env: { TOKEN: 'xoxb-1' }, connectors }),
    );
    expect(
      problems.map(({ line, column, message: said }) => `${line}:${column} ${said}`).join('\n'),
    ).toContain(expected);
  });
});

test.for<[object, (string | number)[], RegExp]>([
  [{ type: 'image', image_url: 'https://a.example/x.png' }, ['image_url'], /alt_text/],
  [{ type: 'header', text: { type: 'mrkdwn', text: 'Hi' } }, ['text', 'text'], /plain_text/],
  [
    { type: 'actions', elements: [{ type: 'button', text: { type: 'mrkdwn', text: 'Hi' } }] },
    ['elements', 0, 'text', 'text'],
    /plain_text/,
  ],
  [{ type: 'section', text: 'Hi' }, ['text'], /bare text here: write \{ type: mrkdwn,/],
  [{ type: 'header', text: 'Hi' }, ['text'], /bare text here: write \{ type: plain_text,/],
  [{ type: 'section', fields: ['Hi'] }, ['fields', 0], /bare text/],
  [{ type: 'context', elements: ['Hi'] }, ['elements', 0], /bare text/],
  [{ type: 'actions', elements: [{ type: 'button', text: 'Hi' }] }, ['elements', 0, 'text'], /plain_text/],
  [{ type: 'section', text: { type: 'markdown', text: 'Hi' } }, ['text', 'type'], /write mrkdwn/],
])('check warns of what Slack refuses in %j', ([block, path, words]) => {
  const text = String(path.reduce<unknown>((inner, step) => Object(inner)[step], block));
  const slips = medium.slips!(text, [0, ...path], { blocks: [block] } as never);
  expect(slips).toMatchObject([{ message: expect.stringMatching(words) }]);
  expect(() => checkBlocks([block])).toThrow(/invalid_blocks/);
});

test.for<[object, (string | number)[]]>([
  [{ type: 'markdown', text: '**Hi**' }, ['text']],
  [{ type: 'markdown', text: '**Hi**' }, ['type']],
  [
    {
      type: 'rich_text',
      elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: 'Hi' }] }],
    },
    ['elements', 0, 'elements', 0, 'text'],
  ],
  [{ type: 'context', elements: [{ type: 'plain_text', text: 'Hi' }] }, ['elements', 0, 'text']],
  [{ type: 'section', fields: [{ type: 'mrkdwn', text: 'Hi' }] }, ['fields', 0, 'text']],
])('and of none in %j', ([block, path]) => {
  const text = String(path.reduce<unknown>((inner, step) => Object(inner)[step], block));
  expect(medium.slips!(text, [0, ...path], { blocks: [block] } as never)).toEqual([]);
  expect(() => checkBlocks([block])).not.toThrow();
});
