import { describe, expect, test } from 'vitest';
import { base, jsonLines, run, workplace } from './tools.ts';

const env = { TOKEN: 'xoxb-the-token', SECRET_WORD: 'open-sesame', SMTP_URL: 'smtp://127.0.0.1:1' };
const rules = `
catalog:
  7: { name: 'Backend Engineer', channel: '#backend' }
sinks:
  slack: { connector: slack, token: '\${TOKEN}', apiUrl: 'http://127.0.0.1:1/api/' }
  mail: { connector: email, url: '\${SMTP_URL}', from: hiring@example.com }
rules:
  - name: completed
    when: { status: Completed }
    then:
      - { sink: slack, channel: "{{ test.channel | default: '#hiring' }}", text: '{{ test.name }}: {{ event.candidateId }}' }
      - { sink: mail, to: hr@example.com, subject: '{{ event.status }}', text: "one\\ntwo" }
  - name: seniors
    when: { testId: { in: [1, 2] } }
    then: [ { sink: slack, channel: '#seniors', text: senior } ]
unmatched:
  - { sink: mail, to: hr@example.com, subject: 'What is {{ event.testId }}?', text: '{{ event.raw.nothing }}' }
`;

async function explain(argv: readonly string[], config = rules, values: Record<string, string> = env) {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', base(folder) + config);
  return run(['explain', '--config', file, ...argv], values);
}

const completed = ['--status', 'Completed', '--test', '7'];

describe('explain', () => {
  test('shows every rule with its reason, and each message as it would be sent', async () => {
    const { code, out, err } = await explain([...completed, '--candidate', 'Dana']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('✓ completed: status is Completed');
    expect(out).toMatch(/✗ seniors: not matched: test is 7, the rule wants one of 1, 2/);
    expect(out).toMatch(
      /slack \(slack, rule completed\) at once\n {4}channel: "#backend"\n {4}text: "?Backend Engineer: Dana"?\n/,
    );
    expect(out).toMatch(/mail \(email, rule completed\) at once\n/);
    expect(out).toContain('to:\n      - hr@example.com');
    expect(out).toMatch(/text: \|-\n {6}one\n {6}two\n/);
  });

  test('shows the beginning of a long text, such as the HTML of a mail, and with --json all of it', async () => {
    const config = rules.replace(`, text: "one\\ntwo"`, '');
    const { out } = await explain(completed, config);
    expect(out).toMatch(
      /html: \|-\n +<!doctype html>\n(.*\n){1,10} +… \(\d{4} characters; --json shows them all\)\n/,
    );
    const [shown] = jsonLines<{ deliveries: { message: { html?: string } }[] }>(
      await explain([...completed, '--json'], config),
    );
    expect(shown?.deliveries[1]?.message.html).toMatch(/<\/html>\n$/);
  });

  test.each<[string, string, string]>([
    ['digest: { every: 1h }', '2026-11-21T22:10:00Z', 'due Sat 2026-11-21 23:00:00 UTC, with the digest'],
    ['hours: office', '2026-11-23T10:00:00Z', 'at once'],
    [
      'hours: office',
      '2026-11-21T22:10:00Z',
      'due Mon 2026-11-23 07:00:00 UTC (08:00 Europe/Zagreb), when office opens',
    ],
    [
      'hours: office, digest: { every: 1h }',
      '2026-11-23T10:00:00Z',
      'due Mon 2026-11-23 11:00:00 UTC (12:00 Europe/Zagreb), with the digest',
    ],
    [
      'hours: office, digest: { every: 1h }',
      '2026-11-21T22:10:00Z',
      'due Mon 2026-11-23 07:00:00 UTC (08:00 Europe/Zagreb), with the digest, when office opens',
    ],
    [
      'digest: { at: "09:00", timezone: Asia/Tokyo }',
      '2026-11-21T22:10:00Z',
      'due Sun 2026-11-22 00:00:00 UTC (09:00 Asia/Tokyo), with the digest',
    ],
    [
      'hours: night',
      '2026-11-21T22:10:00Z',
      'due Mon 2026-11-23 13:00:00 UTC (Tue 02:00 Pacific/Auckland), when night opens',
    ],
  ])('says when and why a message with %s waits, at %s', async (written, at, expected) => {
    const config = rules
      .replace('text: "one\\ntwo" }', `text: Hi, ${written} }`)
      .concat(
        "hours:\n  office: { timezone: Europe/Zagreb, days: [mon], from: '08:00', to: '18:00' }\n" +
          "  night: { timezone: Pacific/Auckland, days: [tue], from: '02:00', to: '06:00' }\n",
      );
    const { out } = await explain([...completed, '--at', at], config);
    expect(out).toContain(`mail (email, rule completed) ${expected}\n`);
  });

  test('shows a message that waits as of when it goes: a tab a month is that of Monday', async () => {
    const config = rules
      .replace('text: "one\\ntwo" }', 'text: \'at {{ now | date: "%d %B %H:%M" }}\', hours: office }')
      .concat("hours: { office: { timezone: Europe/Zagreb, from: '08:00', to: '18:00' } }\n");
    const { out } = await explain([...completed, '--at', '2026-10-31 22:00'], config);
    expect(out).toContain('text: at 02 November 08:00');
  });

  test('takes times as scenarios do, and hours without a time zone, by the clock of the config', async () => {
    const config = rules
      .replace('text: "one\\ntwo" }', 'text: Hi, hours: office }')
      .concat("timezone: '${ZONE}'\nhours: { office: { days: [tue], from: '08:00', to: '18:00' } }\n");
    const at = async (text: string) =>
      (await explain([...completed, '--at', text], config, { ...env, ZONE: 'Asia/Tokyo' })).out;
    const due = (day: string) => `due Mon ${day} 23:00:00 UTC (Tue 08:00 Asia/Tokyo), when office opens\n`;
    expect(await at('2026-11-21')).toContain(due('2026-11-23'));
    expect(await at('2026-11-23 23:00')).toContain(due('2026-11-23'));
    expect(await at('2026-11-23T23:00:00')).toContain(due('2026-11-23'));
    expect(await at('2026-11-23T23:00:00Z')).toContain('(email, rule completed) at once\n');
    expect(await at('2026-11-24 17:59:59')).toContain('(email, rule completed) at once\n');
    expect(await at('Tue 10:00')).toContain('(email, rule completed) at once\n');
    expect(await at('wed 10:00')).toMatch(/at \d{4}-\d\d-\d\d 01:00:00 UTC\n/);
    for (const odd of ['Tuesday', '+275760-09-13T00:00:00Z', '-271821-04-20T00:00:00Z'])
      expect(await explain([...completed, '--at', odd], config, { ...env, ZONE: 'UTC' })).toMatchObject({
        code: 2,
        err: expect.stringContaining('expected a time such as "Mon 10:00"'),
      });
    for (const far of ['9999-12-31T23:59:59Z', '0001-01-01T00:00:00Z', '9999-12-31'])
      expect((await explain([...completed, '--at', far], config, { ...env, ZONE: 'UTC' })).code).toBe(0);
  });

  test('says where nothing would be sent', async () => {
    const config = 'sinks: {}\nrules: []\n';
    const { out } = await explain(completed, config);
    expect(out).toMatch(/Would be sent\n {2}nothing\n$/);
  });

  test('shows what is for events that no rule matched, and why a message cannot be made', async () => {
    const { code, out } = await explain(['--status', 'Canceled', '--test', '99']);
    expect(code).toBe(0);
    expect(out).toMatch(/mail \(email, rule unmatched\) at once\n {4}.*nothing/);
  });

  test('takes a candidate id as the receiver would', async () => {
    const guid = '{0F1C2D3E-4B5A-6978-8796-A5B4C3D2E1F0}';
    const { out } = await explain([...completed, '--candidate', guid]);
    expect(out).toContain('Backend Engineer: 0f1c2d3e4b5a69788796a5b4c3d2e1f0');
  });

  test('shows a hostile candidate id without letting it act on the terminal', async () => {
    const { out } = await explain([...completed, '--candidate', '\u202Egnp.exe<!channel>']);
    expect(out).not.toContain('\u202E');
    expect(out).toContain('\\u{202e}gnp.exe');
    expect(out).toContain('&lt;!channel&gt;');
  });

  test('needs no credentials, and shows a value that is missing as it is written', async () => {
    const given = await explain([...completed, '--json', '--at', '2026-11-21T22:00:00Z']);
    expect(await explain([...completed, '--json', '--at', '2026-11-21T22:00:00Z'], rules, {})).toEqual(given);
    const config = rules
      .replace("subject: '{{ event.status }}'", "subject: '${COMPANY}: {{ event.status }}'")
      .concat("store: { url: '${STORE}' }\n")
      .replace('sinks:', 'receiver: { token: "${file:/nowhere}" }\nsinks:');
    const { write } = await workplace();
    const file = await write('config.yaml', config);
    const { code, out, err } = await run(['explain', file, ...completed]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('subject: "${COMPANY}: Completed"');
    // For `check`, it is still an error; any other fault is one for `explain`, too.
    expect((await run(['check', file])).out).toContain('the environment variable COMPANY is not set');
    const wrong = await write('wrong.yaml', `${config}unmached: []\n`);
    expect(await run(['explain', wrong, ...completed])).toMatchObject({
      code: 1,
      err: expect.stringContaining('unknown key "unmached"'),
    });
  });

  test('names no value that is missing beside a mistake: it would hide the mistake', async () => {
    const { code, err } = await explain(completed, rules.replace('test.channel', 'test.chanel'), {});
    expect(code).toBe(1);
    expect(err).toContain('did you mean `test.channel`?');
    expect(err).toMatch(/\n1 error, 2 warnings\n$/);
    expect(err).not.toContain('is not set');
  });

  test('says where a message cannot be made without a value that is missing', async () => {
    const config = rules.replace('from: hiring@example.com', "from: '${FROM}'");
    const { code, out } = await explain(completed, config);
    expect(code).toBe(0);
    expect(out).toContain('the sink mail lacks a value from outside; `check` says which.');
    expect(out).toContain('channel: "#backend"');
  });

  test('never shows a secret, though a template names it', async () => {
    const config = rules.replace("subject: '{{ event.status }}'", "subject: 'xoxb ${SECRET_WORD} ${TOKEN}'");
    const { out } = await explain(completed, config);
    expect(out).toContain('xoxb ***');
    expect(out).not.toMatch(/open-sesame|xoxb-the-token/);
  });

  test('shows numbers and words of its own that a secret is like', async () => {
    const config = `
sinks:
  ats: { connector: webhook, url: 'http://127.0.0.1:1/', headers: { X-Api-Key: '1234567' }, allowPrivate: true }
rules: [ { name: all, when: {}, then: [ { sink: ats, body: { test: '{{ event.testId }}', key: '1234567' } } ] } ]
`;
    const argv = ['--status', 'Completed', '--test', '1234567'];
    const { code, out } = await explain(argv, config);
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('test: 1234567\n') });
    expect(out).toContain('key: "***"\n');
    expect(jsonLines(await explain([...argv, '--json'], config))).toMatchObject([
      { deliveries: [{ message: { body: { test: 1_234_567, key: '***' } } }] },
    ]);
  });
});

describe('explain --json', () => {
  test('prints one object of the documented shape', async () => {
    const argv = [
      ...completed,
      '--candidate',
      'Dana',
      '--numerical',
      '12',
      '--at',
      '2026-11-21T22:00:00Z',
      '--json',
    ];
    const ran = await explain(argv);
    expect(ran.code).toBe(0);
    const [explained, ...more] = jsonLines(ran);
    expect(more).toEqual([]);
    expect(explained).toEqual({
      event: {
        id: expect.stringMatching(/^evt_/),
        candidateId: 'Dana',
        candidateNumericalId: 12,
        testId: 7,
        status: 'Completed',
        receivedAt: '2026-11-21T22:00:00.000Z',
        correlationId: null,
        traceId: '00000000000000000000000000000000',
        decided: true,
        facts: {},
      },
      rules: [
        { rule: 'completed', matched: true, because: 'status is Completed' },
        { rule: 'seniors', matched: false, because: expect.stringContaining('test is 7') },
      ],
      deliveries: [
        {
          rule: 'completed',
          action: 0,
          sink: 'slack',
          connector: 'slack',
          dueAt: '2026-11-21T22:00:00.000Z',
          group: null,
          message: expect.objectContaining({ channel: '#backend', text: 'Backend Engineer: Dana' }),
        },
        {
          rule: 'completed',
          action: 1,
          sink: 'mail',
          connector: 'email',
          dueAt: '2026-11-21T22:00:00.000Z',
          group: null,
          message: expect.objectContaining({
            to: ['hr@example.com'],
            subject: 'Completed',
            text: 'one\ntwo',
          }),
        },
      ],
    });
  });

  test('says what is wrong with a message that cannot be made', async () => {
    const [explained] = jsonLines<{ deliveries: unknown[] }>(
      await explain(['--status', 'Canceled', '--test', '99', '--json']),
    );
    expect(explained?.deliveries).toEqual([
      expect.objectContaining({ message: null, problem: expect.stringContaining('nothing') }),
    ]);
  });

  test('takes facts, and says which there are', async () => {
    const config = `
lookups:
  candidate:
    url: "https://tests.example.com/api/{{ event.candidateId }}"
    when: { status: Completed }
    fields: { name: { at: /name }, score: { at: /score, type: number } }
sinks: { slack: { connector: slack, token: '\${TOKEN}' } }
rules:
  - name: strong
    when: { candidate.score: { gte: 80 } }
    then: [ { sink: slack, channel: '#a', text: '{{ candidate.name | default: "?" }}: {{ candidate.score }}' } ]
`;
    const of = (...facts: string[]) =>
      explain([...completed, ...facts.flatMap((fact) => ['--fact', fact])], config);
    const { code, out } = await of('candidate.score=87', 'candidate.name=Ana=A');
    expect(code).toBe(0);
    expect(out).toContain('✓ strong: candidate.score 87 ≥ 80');
    expect(out).toMatch(/text: "?Ana=A: 87/);
    expect((await of('candidate.score=absent')).out).toContain(
      '✗ strong: not matched: candidate.score is absent, the rule wants at least 80',
    );
    const ran = await explain([...completed, '--fact', 'candidate.score=87', '--json'], config);
    expect(jsonLines(ran)).toMatchObject([
      { event: { decided: true, facts: { candidate: { state: 'answered', fields: { score: 87 } } } } },
    ]);
    const { out: without } = await of();
    expect(without).toContain('candidate.score is unknown');
    expect(without).toContain(
      '  candidate: not asked here, so its facts are unknown; give some, as in --fact',
    );
    expect(out).not.toContain('not asked here');
    expect(
      await explain(['--status', 'Canceled', '--test', '7', '--fact', 'candidate.score=87'], config),
    ).toMatchObject({
      out: expect.stringContaining('candidate.score is unknown'),
      err: 'candidate is not looked up for this event, so its facts are unknown\n',
    });
    for (const [fact, fault] of [
      ['candidate.scor=1', 'there is no fact "candidate.scor"; did you mean "candidate.score"?'],
      ['candidate.score=high', 'expected a number, or unknown or absent, got "high"'],
    ] as const) {
      const refused = await of(fact);
      expect(refused).toMatchObject({ code: 2, out: '' });
      expect(refused.err).toContain(`--fact: ${fault}`);
    }
  });
});
