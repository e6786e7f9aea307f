import { describe, expect, test } from 'vitest';
import { connectors } from '../connectors/index.ts';
import { parseConfig } from '../src/config/load.ts';
import { formatProblem } from '../src/config/text/problems.ts';
import { runScenarios } from '../src/scenarios/run.ts';
import { load, problems } from './config/tools.ts';

const rules = `
catalog: { 7: { channel: "#seven" } }
sinks:
  page: { connector: pager, token: "\${PAGER_TOKEN}" }
  copy: { connector: pager, token: "\${PAGER_TOKEN}" }
rules:
  - name: completed
    when: { status: Completed }
    then:
      - { sink: page, channel: "{{ test.channel }}", text: "{{ event.candidateId }}", fields: { n: "{{ event.testId }}", s: x } }
      - { sink: copy, text: hello }
  - name: broken
    when: { status: Canceled }
    then: [ { sink: page, text: "{{ event.raw.a.b | date: '%Y' }}{{ 1 | divided_by: 0 }}" } ]
scenarios:
`;

const lines = rules.split('\n').length - 1;

async function messages(...scenarios: string[]): Promise<string[]> {
  const config = load(rules + scenarios.map((one) => `  - ${one}\n`).join(''));
  const tried = await runScenarios(config);
  return tried.problems.map(({ line, column, message }) => `${line - lines}:${column} ${message}`);
}

test('a scenario that comes out as expected is no problem', async () => {
  expect(
    await messages(
      '{ event: { status: Completed, testId: 7 }, expect: [ { sink: page, channel: "#seven", fields: { n: 7 } }, { sink: copy } ] }',
      '{ event: { status: Completed, testId: 7, candidateId: abc }, expect: [ { sink: page, text: abc }, { sink: copy, text: hello } ] }',
      '{ event: { status: DidNotTake, testId: 7 }, expect: [] }',
    ),
  ).toEqual([]);
});

test("a scenario's candidate id is read as the receiver reads it", async () => {
  expect(
    await messages(
      '{ event: { status: Completed, testId: 7, candidateId: " urn:uuid:0A12CD34-AB12-CD34-AB12-CD34AB12CD34" }, expect: [ { sink: page, text: 0a12cd34ab12cd34ab12cd34ab12cd34 }, { sink: copy } ] }',
      `{ event: { status: Completed, testId: 7, candidateId: ${'😀'.repeat(256)} }, expect: [ { sink: page }, { sink: copy } ] }`,
    ),
  ).toEqual([]);
  const refused = '{ event: { status: Completed, testId: 7, candidateId: "a\\tb" }, expect: [] }';
  expect(problems(`${rules}  - ${refused}`)).toEqual([
    expect.stringMatching(/expected a candidate id: no control characters, got "a\\tb"$/),
  ]);
});

test('another sink, order or number of actions is a problem that says what would be sent', async () => {
  expect(
    await messages(
      '{ event: { status: Completed, testId: 7 }, expect: [ { sink: copy }, { sink: page } ] }',
      '{ event: { status: Completed, testId: 7 }, expect: [] }',
      '{ event: { status: DidNotTake, testId: 7 }, expect: [ { sink: page } ] }',
    ),
  ).toEqual([
    '1:5 Completed of test 7: expected copy, page, but page (rule completed), copy (rule completed) would be sent',
    '2:5 Completed of test 7: expected nothing, but page (rule completed), copy (rule completed) would be sent',
    '3:5 DidNotTake of test 7: expected page, but nothing would be sent',
  ]);
});

test('another text is a problem that shows both', async () => {
  expect(
    await messages(
      '{ event: { status: Completed, testId: 8 }, expect: [ { sink: page, channel: "#x", fields: { n: 9 } }, { sink: copy, to: me } ] }',
    ),
  ).toEqual([
    '1:5 Completed of test 8: action 1 (page): expected channel "#x", but "" would be sent; action 1 (page): expected fields {"n":9}, but {"n":"8","s":"x"} would be sent; action 2 (copy): expected to "me", but nothing would be sent',
  ]);
});

test('a template that fails for the event is a problem', async () => {
  expect(
    (await messages('{ event: { status: Canceled, testId: 8 }, expect: [ { sink: page } ] }'))[0],
  ).toMatch(/^1:5 Canceled of test 8: a message to page cannot be made: /);
});

test('a problem shows the line of its scenario', async () => {
  const config = load(
    `${rules}  - event: { status: DidNotTake, testId: 1 }\n    expect: [ { sink: page } ]\n`,
  );
  const [problem] = (await runScenarios(config)).problems;
  expect(problem && formatProblem(config.file, problem)).toContain(
    '16 |   - event: { status: DidNotTake, testId: 1 }',
  );
});

test('a scenario compares the sinks that it names, and no other', async () => {
  expect(
    await messages(
      '{ event: { status: Completed, testId: 7 }, sinks: [ copy ], expect: [ { sink: copy } ] }',
      '{ name: mine, event: { status: Completed, testId: 7 }, sinks: [ page ], expect: [] }',
    ),
  ).toEqual(['2:5 mine: expected nothing, but page (rule completed) would be sent']);
});

test('a text may be expected in part', async () => {
  const of = (text: string) =>
    `{ event: { status: Completed, testId: 7, candidateId: abc }, sinks: [ page ], expect: [ { sink: page, text: { contains: ${text} } } ] }`;
  expect(await messages(of('bc'), of('cb'))).toEqual([
    '2:5 Completed of test 7: action 1 (page): expected text with "cb" in it, but "abc" would be sent',
  ]);
});

const timed = `
timezone: Europe/Zagreb
hours: { office: { timezone: Europe/Zagreb, from: "08:00", to: "18:00" } }
sinks:
  page: { connector: pager, token: "\${PAGER_TOKEN}" }
  copy: { connector: pager, token: "\${PAGER_TOKEN}", rate: 1/s }
rules:
  - { name: ignored, when: { testId: 99 }, final: true, then: [], silent: true }
  - name: digest
    when: { status: DidNotTake }
    then:
      - sink: page
        channel: "#{{ event.testId }}"
        text: "{{ events.size }} candidates{% for event in events %}\\n{{ event.candidateId }}{% endfor %}"
        hours: office
        digest: { every: 1h, by: testId, max: 3 }
  - name: each
    when: { status: Completed }
    then: [ { sink: copy, text: "{{ event.candidateId }} at {{ event.receivedAt | date: '%H:%M' }}" } ]
  - name: broken
    when: { status: Canceled }
    then: [ { sink: page, text: "{{ event.raw.a.b | date: '%Y' }}{{ 1 | divided_by: 0 }}" } ]
scenarios:
`;
const timedLines = timed.split('\n').length - 1;

/** A scenario: its events as `time status candidate test`, and what it expects. */
function scenario(events: string, ...expected: string[]): string {
  const written = events.split(', ').map((event) => {
    const [, at, status, candidateId, testId = '7'] = /^(.*\d\d) (\w+) (\w+) ?(\d+)?$/.exec(event) ?? [];
    return `      - { at: "${at}", status: ${status}, testId: ${testId}, candidateId: ${candidateId} }\n`;
  });
  const key = expected.length === 0 ? '    expect: []' : '    expect:';
  return `  - events:\n${written.join('')}${key}\n${expected.map((one) => `      - ${one}\n`).join('')}`;
}

async function timedMessages(...scenarios: string[]): Promise<string[]> {
  const { problems: found } = await runScenarios(load(timed + scenarios.join('')));
  return found.map(({ line, column, message }) => `${line - timedLines}:${column} ${message}`);
}

const two = 'Mon 10:00 DidNotTake a, Mon 10:20 DidNotTake b';

describe('a scenario over time', () => {
  test.each([
    [
      'a digest when its window closes',
      two,
      ['{ at: "Mon 11:00", sink: page, events: [b, a], text: "2 candidates\\na\\nb" }'],
    ],
    [
      'a digest for each test',
      'Mon 10:00 DidNotTake a 1, Mon 10:20 DidNotTake a 2',
      ['{ at: "Mon 11:00", sink: page, channel: "#1" }', '{ at: "11:00", sink: page, channel: "#2" }'],
    ],
    [
      'a digest of no more than its most events',
      `${two}, Mon 10:30 DidNotTake c, Mon 10:31 DidNotTake d`,
      ['{ sink: page, events: [a, b, c] }', '{ sink: page, events: [d] }'],
    ],
    [
      'what comes outside of the hours when they open',
      'Fri 17:30 DidNotTake a, Sat 12:00 DidNotTake b',
      ['{ at: "Mon 08:00", sink: page, events: [a, b] }'],
    ],
    [
      'a duplicate within the idempotency window not again',
      'Mon 10:00 DidNotTake a, Tue 09:59 DidNotTake a, Wed 10:00 DidNotTake a',
      ['{ at: "Mon 11:00", sink: page }', '{ at: "Wed 11:00", sink: page }'],
    ],
    [
      'what a rate lets through',
      'Mon 10:00 Completed a, 10:00 Completed b, 10:00 Completed c',
      [
        '{ at: "10:00:00", sink: copy, text: a at 10:00 }',
        '{ at: "10:00:01", sink: copy, text: b at 10:00 }',
        '{ at: "10:00:02", sink: copy }',
      ],
    ],
    ['nothing after a final rule', 'Mon 10:00 Completed a 99', []],
    [
      'times by the clock of the time zone, when it changes too',
      '2026-03-29 01:30 Completed a, 2026-03-29 03:30 DidNotTake a',
      ['{ at: "2026-03-29 01:30", sink: copy, text: a at 01:30 }', '{ at: "2026-03-30 08:00", sink: page }'],
    ],
    [
      'the same after most of a year',
      '2026-01-05 10:00 DidNotTake a, 2026-12-30 10:00 DidNotTake b',
      ['{ at: "2026-01-05 11:00", sink: page }', '{ at: "2026-12-30 11:00", sink: page }'],
    ],
  ])('has %s', async (_, events, expected) => {
    expect(await timedMessages(scenario(events, ...expected))).toEqual([]);
  });

  test('has each message at its time, where others of its sink go before', async () => {
    const both = `
timezone: Europe/Zagreb
hours: { office: { from: "08:00", to: "18:00" } }
sinks: { mail: { connector: email, url: smtp://smtp.example.com, from: hiring@example.com } }
rules:
  - { name: each, when: {}, then: [ { sink: mail, to: ana@example.com, hours: office } ] }
  - { name: daily, when: {}, then: [ { sink: mail, to: all@example.com, digest: { at: "17:00" } } ] }
scenarios:
`;
    const expected = [
      '{ at: "Mon 08:00", sink: mail, to: ana@example.com }',
      '{ at: "Mon 17:00", sink: mail }',
    ];
    const text = both + scenario('Mon 07:00 Completed a', ...expected);
    const config = parseConfig(text, 'config.yaml', { env: {}, connectors });
    expect((await runScenarios(config)).problems).toEqual([]);
  });

  test('has one digest of events from both sides of a month end, in the channel of the month in which it goes', async () => {
    const monthly = `
sinks: { slack: { connector: slack, token: "\${TOKEN}" } }
rules:
  - { name: weekly, when: {}, then: [ { sink: slack, channel: '#m-{{ now | date: "%m" }}', text: "{{ events.size }}", digest: { every: 7d } } ] }
scenarios:
`;
    const expected = '{ at: "2026-04-06 00:00", sink: slack, channel: "#m-04", text: 2 }';
    const text = monthly + scenario('2026-03-31 10:00 Completed a, 2026-04-01 10:00 Completed b', expected);
    const config = parseConfig(text, 'config.yaml', { env: { TOKEN: 'xoxb-12345' }, connectors });
    expect((await runScenarios(config)).problems).toEqual([]);
  });

  test('has one digest for a place, in whatever capitals it is written', async () => {
    const written = `
catalog: { 1: { who: Dana@example.com, where: "#Hiring" }, 2: { who: dana@example.com, where: "#hiring" } }
sinks:
  slack: { connector: slack, token: "\${TOKEN}" }
  mail: { connector: email, url: smtp://smtp.example.com, from: hiring@example.com }
  sheet: { connector: google-sheets, spreadsheetId: s, credentials: adc }
rules:
  - name: daily
    when: {}
    then:
      - { sink: slack, channel: "{{ test.where }}", text: "{{ events.size }}", digest: { at: "09:00" } }
      - { sink: slack, channel: "{{ test.who }}", text: "{{ events.size }}", digest: { at: "09:00" } }
      - { sink: mail, to: "{{ test.who }}", text: "{{ events.size }}", digest: { at: "09:00" } }
      - { sink: sheet, tab: "{{ test.where }}", row: { N: "{{ events.size }}" }, digest: { at: "09:00" } }
scenarios:
`;
    const text =
      written +
      scenario(
        'Mon 10:00 Completed a 1, Mon 11:00 Completed b 2',
        '{ sink: slack, channel: "#Hiring", text: 2 }',
        '{ sink: slack, channel: Dana@example.com, text: 2 }',
        '{ sink: mail, text: 2 }',
        '{ sink: sheet, row: { N: 2 } }',
      );
    const config = parseConfig(text, 'config.yaml', { env: { TOKEN: 'xoxb-12345' }, connectors });
    expect((await runScenarios(config)).problems).toEqual([]);
  });

  test('is told where it comes out otherwise: at the key, with what would be sent', async () => {
    expect(
      await timedMessages(
        scenario(two, '{ at: "Mon 10:00", sink: page, events: [a, c], text: "2 candidates\\na\\nc" }'),
      ),
    ).toEqual([
      '5:15 expected at "Mon 10:00", but it would be sent at "Mon 11:00"',
      '5:48 expected of a, c, but it would be of a, b',
      '5:62 expected text "c" in line 3, but "b" would be sent',
    ]);
  });

  test.each([
    ['a, b, c, d, e', 'a, b, c, d, e'],
    ['a, b, c, d, e, f', 'a, b, c, d, e and 1 more'],
  ])('is told of whom it was expected, at most five by name: %s', async (events, named) => {
    expect(await timedMessages(scenario(two, `{ sink: page, events: [${events}] }`))).toEqual([
      `5:31 expected of ${named}, but it would be of a, b`,
    ]);
  });

  test('is told what is missing, and what is too much', async () => {
    expect(
      await timedMessages(
        scenario(two, '{ sink: page, events: [a, b] }', '{ sink: copy }'),
        scenario('Fri 20:00 DidNotTake a, Fri 20:00 Completed b'),
        scenario('2026-02-02 10:00 DidNotTake a', '{ at: "2026-02-02 11:01", sink: page }'),
      ),
    ).toEqual([
      '6:9 expected a message to copy, but no further one would be sent',
      '10:13 not expected, but would be sent: copy at "Fri 20:00" (of b), page at "Mon 08:00" (of a)',
      '14:15 expected at "2026-02-02 11:01", but it would be sent at "2026-02-02 11:00"',
    ]);
  });

  test('cuts a long text around the first difference', async () => {
    const [first] = await timedMessages(
      scenario('Mon 10:00 Completed a', `{ sink: copy, text: "${'x'.repeat(200)}" }`),
    );
    expect(first).toBe(`4:29 expected text "${'x'.repeat(120)}…", but "a at 10:00" would be sent`);
  });

  test('is told of a message that cannot be made', async () => {
    expect(await timedMessages(scenario('Mon 10:00 Canceled a', '{ sink: page }'))).toEqual([
      expect.stringMatching(/^1:5 a message to page cannot be made: /),
    ]);
  });

  test('that takes too long is ended', async () => {
    const config = load(timed + scenario(two));
    const { problems: found } = await runScenarios(config, Date.now(), -1);
    expect(found.map(({ message }) => message)).toEqual([
      'the scenarios took too long and were ended; have fewer events in them',
    ]);
  });

  test('is refused, with what is wrong where, for', () => {
    const refused = {
      'a time that goes backwards': scenario('Mon 10:20 Completed a, Mon 10:00 Completed b'),
      'a time over a year later': scenario('2026-01-05 10:00 Completed a, 2028-01-05 10:00 Completed b'),
      'a time that is none': scenario('Monday 10:00 Completed a'),
      'a date that is none': scenario('2026-02-30 10:00 Completed a'),
      'an unknown sink': scenario(two, '{ at: "Mon 11:00", sink: pager }'),
      'an unknown sink to compare':
        '  - { event: { status: Completed, testId: 1 }, sinks: [ x ], expect: [] }',
      'an unknown key': scenario(two, '{ sink: page, texts: x }'),
      'an event and events': `${scenario(two)}    event: { status: Completed, testId: 1 }\n`,
      'a time for one event':
        '  - { event: { status: Completed, testId: 1 }, expect: [ { sink: page, at: "Mon 10:00" } ] }',
      'too many events': scenario(Array.from({ length: 1001 }, () => 'Mon 10:00 Completed a').join(', ')),
    };
    const found = Object.entries(refused).map(([what, text]) => {
      const all = problems(timed + text).map((problem) =>
        problem.replace(/^\d+/, (line) => String(Number(line) - timedLines)),
      );
      return [what, ...all].join('\n  ');
    });
    expect(found.join('\n')).toMatchInlineSnapshot(`
      "a time that goes backwards
        3:15 this is before the event above it, at "Mon 10:20"; write them in the order in which they come
      a time over a year later
        3:15 this is more than 366 days after the first event
      a time that is none
        2:15 expected a time such as "Mon 10:00", "10:20" or "2026-01-05 10:00" (write Mon 10:00), got "Monday 10:00"
      a date that is none
        2:15 expected a time such as "Mon 10:00", "10:20" or "2026-01-05 10:00", got "2026-02-30 10:00"
      an unknown sink
        5:34 there is no sink "pager"; did you mean "page"?
      an unknown sink to compare
        1:57 there is no sink "x"; expected page or copy
      an unknown key
        5:23 unknown key "texts"; did you mean "text"?
      an event and events
        1:5 expected either "event" or "events"
      a time for one event
        1:72 unknown key "at"; expected sink, channel, text, blocks, fields, to or urgency
      too many events
        2:7 expected at most 1000 entries"
    `);
  });
});

test('rules and actions of which no scenario has a message are named', async () => {
  const unreached = async (text: string, ...scenarios: string[]) => {
    const { unreached: found } = await runScenarios(load(text + scenarios.join('')));
    return found.map(({ rule, action, line }) => `${rule} ${action} ${line}`);
  };
  expect(await unreached(timed, scenario(two, '{ sink: page }'))).toEqual([
    'ignored null 8',
    'each null 17',
    'broken null 20',
  ]);
  const one =
    '  - { event: { status: Completed, testId: 7 }, sinks: [ page ], expect: [ { sink: page } ] }\n';
  expect(await unreached(rules, one)).toEqual(['completed 1 11', 'broken null 12']);
  expect(await unreached(rules)).toEqual([]);
});
