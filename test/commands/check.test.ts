import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freshName, freshSchema, sharedPostgres, sql } from '../fixtures/postgres.ts';
import { SmtpSandbox } from '../../sandbox/smtp.ts';
import { startTools, type ToolsOptions } from '../../sandbox/tools.ts';
import { openStore } from '../../src/store/open.ts';
import { sqliteSteps } from '../../src/store/schema/steps.ts';
import { base, run, stack, workplace } from './tools.ts';

const example = join(import.meta.dirname, '../../config.example.yaml');

/** The example's own environment, which reaches the sandboxes. */
async function tools(options: ToolsOptions = {}) {
  const started = await startTools(options);
  onTestFinished(async () => void (await started.close()));
  return { ...started, env: { ...started.env, ATS_IS_PRIVATE: 'true' } };
}

const allChannels = { slack: { channels: ['hiring', 'hiring-backend', 'hiring-design'] } };

const token = { TOKEN: 'xoxb-1' };

const withScenario = (folder: string, channel: string) => `${base(folder)}
sinks: { slack: { connector: slack, token: '\${TOKEN}' } }
rules:
  - name: completed
    when: { status: Completed }
    then: [ { sink: slack, channel: '#hiring', text: 'He said {{ event.status }}.' } ]
unmatched: silent
scenarios:
  - event: { status: Completed, testId: 7 }
    expect: [ { sink: slack, channel: '${channel}' } ]
  - event: { status: Canceled, testId: 7 }
    expect: []
`;

describe('check', () => {
  test('of a large one tries a message of each kind and some of the others, and says so', async () => {
    const { folder, write } = await workplace();
    const catalog = (entry: (id: number) => string) =>
      Array.from({ length: 300 }, (_, index) => `  ${index + 1}: ${entry(index + 1)}`).join('\n');
    const config = (entries: string) => `${base(folder)}
sinks: { slack: { connector: slack, token: '\${TOKEN}' } }
catalog:
${entries}
rules:
  - { name: all, when: {}, then: [ { sink: slack, channel: '#hiring', text: '{{ test.name }}' } ] }
`;
    const named = await write('named.yaml', config(catalog((id) => `{ name: Test ${id} }`)));
    const { code, out } = await run(['check', '--config', named, '--json'], token);
    expect(code).toBe(0);
    const { warnings, left } = JSON.parse(out) as { warnings: { message: string }[]; left: string[] };
    expect(warnings.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('for a test that is not'),
    );
    expect(left).toEqual([
      expect.stringMatching(/^Of 1806 messages that the rules could send, \d{3} were tried\.$/),
    ]);
    // If one of a kind fails, all are tried, so that every test is counted.
    const some = await write(
      'some.yaml',
      config(catalog((id) => (id <= 200 ? `{ name: Test ${id} }` : '{ owner: D }'))),
    );
    const { out: text } = await run(['check', '--config', some], token);
    expect(text).toContain('for test 201, test 202, test 203 and 98 more: a {{ … }} prints nothing');
    expect(text).toMatch(/can be used, with \d warnings: 1 rule, 1 sink\.\nOf 1806 messages/);
  });

  test('warns of the path of a call that would lead elsewhere for some events', async () => {
    const { folder, write } = await workplace();
    const written = await write(
      'config.yaml',
      `${base(folder)}unmatched: silent
catalog: { 1: { name: Backend, job: 17 }, 2: { name: Design } }
sinks: { ats: { connector: webhook, url: 'https://ats.example.com' } }
rules:
  - name: paths
    when: {}
    then:
      - { sink: ats, method: DELETE, path: '/people/{{ event.candidateNumericalId }}' }
      - { sink: ats, path: '/jobs/{{ test.job }}' }
      - { sink: ats, path: '/jobs?of={{ test.job | default: "" }}' }
  - name: known
    when: { candidateNumericalId: { exists: true }, test.job: { exists: true } }
    then: [{ sink: ats, path: '/jobs/{{ test.job }}/{{ event.candidateNumericalId }}' }]
`,
    );
    const { out } = await run(['check', '--config', written, '--json']);
    const { warnings } = JSON.parse(out) as { warnings: { line: number; message: string }[] };
    const said = warnings.filter(({ message }) => message.includes('another address'));
    expect(said.map(({ line, message }) => `${line} ${message.split(':')[0]}`)).toEqual([
      expect.stringMatching(/^\d+ for test 1, test 2, a test that is not in the catalog$/),
      expect.stringMatching(/^\d+ for test 2, a test that is not in the catalog$/),
    ]);
  });

  test('lists ten mistakes at their ten places, each with its line', async () => {
    const file = join(import.meta.dirname, '../fixtures/config/ten-mistakes.yaml');
    const ran = await run(['check', '--config', file], {
      SLACK_BOT_TOKEN: 'xoxb-1',
      SMTP_URL: 'smtp://localhost',
    });
    expect(ran).toMatchObject({ code: 1, err: '' });
    await expect(ran.out.replaceAll(file, 'my.yaml')).toMatchFileSnapshot(file.replace('.yaml', '.txt'));
  });

  test('shows where a scenario comes out otherwise than expected, and says it to programs', async () => {
    const { folder, write } = await workplace();
    const scenario = `  - name: weekend
    events: [ { at: Sat 10:00, status: Completed, testId: 7, candidateId: a } ]
    expect: [ { at: Mon 10:00, sink: slack, text: { contains: Completed } } ]
`;
    const text = `${withScenario(folder, '#other')}${scenario}`;
    const file = await write('config.yaml', text);
    const lineOf = (part: string) => text.split('\n').findIndex((written) => written.includes(part)) + 1;
    const errors = [
      {
        file,
        line: lineOf('- event: { status: Completed'),
        column: 5,
        message:
          'Completed of test 7: action 1 (slack): expected channel "#other", but "#hiring" would be sent',
      },
      {
        file,
        line: lineOf('expect: [ { at'),
        column: 21,
        message: 'weekend: expected at "Mon 10:00", but it would be sent at "Sat 10:00"',
      },
    ];
    const { code, out, err } = await run(['check', '--config', file], token);
    expect({ code, err }).toEqual({ code: 1, err: '' });
    for (const { line, column, message } of errors)
      expect(out).toContain(`${file}:${line}:${column}: error: ${message}\n`);
    expect(out).toMatch(/\n2 errors\n$/);
    const asJson = await run(['check', '--config', file, '--json'], token);
    expect(JSON.parse(asJson.out)).toEqual({ errors, warnings: [] });
    await write('config.yaml', text.replace('#other', '#hiring').replace('Mon 10:00', 'Sat 10:00'));
    expect(await run(['check', '--config', file], token)).toEqual({
      code: 0,
      out: `${file} is good: 1 rule, 1 sink, 3 scenarios as expected.\n`,
      err: '',
    });
  });

  test('names the rules and actions that no scenario reaches, which is no failure', async () => {
    const { folder, write } = await workplace();
    const more = `  - name: two
    when: { testId: 7, status: Completed }
    then: [ { sink: slack, channel: '#seven' } ]
unmatched: [ { sink: slack, channel: '#other' } ]
scenarios: [ { event: { status: Completed, testId: 1 }, expect: [ { sink: slack } ] } ]
`;
    const [rules = ''] = withScenario(folder, '#hiring').split('unmatched');
    const file = await write('config.yaml', rules + more);
    const { code, out } = await run(['check', '--strict', '--config', file], token);
    expect({ code, out }).toEqual({
      code: 0,
      out: `${file} is good: 2 rules, 1 sink, 1 scenario as expected.\nNo scenario reaches the rule "two", "unmatched".\n`,
    });
    const asJson = await run(['check', '--config', file, '--json'], token);
    expect(JSON.parse(asJson.out)).toMatchObject({
      errors: [],
      unreached: [
        { file, rule: 'two', action: null, column: 5 },
        { file, rule: 'unmatched', action: null },
      ],
    });
    const { out: github } = await run(['check', '--config', file, '--format', 'github'], token);
    expect(github).toMatch(/^::notice file=.*,line=\d+,col=5::No scenario reaches the rule "two"\.$/m);
  });
});

const toOwner = "{ sink: mail, to: '{{ test.owner }}', subject: s, text: t }";
const many = ['a', 'a', 'a', 'a', 'a', 'b', 'c', 'd', 'e'].map(
  (owner, at) => `${at + 1}: { owner: ${owner} }`,
);
const toSome = "{% if event.status == 'Canceled' %}ben{% else %}ben@example.com{% endif %}";

test.each<[string, string, string, readonly string[]]>([
  [
    'for a test of the catalog, at the action',
    '{ 111: { owner: dana@example.com }, 222: { owner: ben } }',
    `rules:\n  - name: a\n    when: { test.owner: { exists: true } }\n    then:\n      - ${toOwner}`,
    ['9 for test 222: No email address: "ben".'],
  ],
  [
    'for events that no rule matched, and for a test that is not in the catalog',
    '{ 111: { owner: ben }, 222: { owner: eve } }',
    `rules: [ { name: a, when: { testId: 222 }, then: [], silent: true } ]\nunmatched: [ ${toOwner} ]`,
    [
      '14 for a test that is not in the catalog: The mail has no recipient: `to` came out empty.',
      '14 for test 111: No email address: "ben".',
    ],
  ],
  [
    'once, where an address is a slip of another one',
    "{ 111: { owner: 'dana@example,com' } }",
    `rules: [ { name: a, when: { testId: 111 }, then: [ ${toOwner} ] } ]`,
    ['52 for test 111: Left out, as they are no email addresses: "com".'],
  ],
  [
    'for some of its events only',
    '{ 1: {}, 2: {} }',
    `rules: [ { name: a, when: { testId: 1, candidateNumericalId: { gt: 0 } }, then: [ { sink: mail, to: "${toSome}", subject: s, text: t } ] } ]`,
    ['83 for test 1: No email address: "ben".'],
  ],
  [
    'a few times for an action, each with a few tests',
    `{ ${many.join(', ')} }`,
    `rules: [ { name: a, when: { test.owner: { exists: true } }, then: [ ${toOwner} ] } ]`,
    [
      '69 for test 1, test 2, test 3 and 2 more: No email address: "a".',
      '69 for test 6: No email address: "b".',
      '69 for test 7: No email address: "c".',
    ],
  ],
  [
    'with what is looked up',
    '{}',
    `lookups: { candidate: { url: "https://x.example.com/{{ event.candidateId }}", fields: { email: { at: /email }, score: { at: /score, type: number } } } }
rules: [ { name: a, when: { candidate.score: { gte: 80 } }, then: [ { sink: mail, to: ["{{ candidate.email | default: 'a@example.com' }}", "{{ candidate.score }}"], subject: s, text: t } ] } ]`,
    ['69 for a test that is not in the catalog: Left out, as they are no email addresses: "100".'],
  ],
  [
    'and of none that could be made, or that no rule asks for',
    '{ 111: { owner: dana@example.com }, 222: { owner: ben } }',
    `rules: [ { name: a, when: { testId: 111 }, then: [ ${toOwner} ] } ]`,
    [],
  ],
  [
    'without a word of what is secret',
    '{}',
    "rules: [ { name: a, when: {}, then: [ { sink: mail, to: '${MAIL_KEY}', subject: s, text: t } ] } ]",
    ['39 for a test that is not in the catalog: No email address: "***".'],
  ],
])('check warns of a message that cannot be made %s', async (_, catalog, rules, expected) => {
  const { folder, write } = await workplace();
  const text = `${base(folder)}
sinks: { mail: { connector: email, url: 'smtp://localhost', from: hiring@example.com } }
catalog: ${catalog}
${rules}
${rules.includes('unmatched') ? '' : 'unmatched: silent'}
`;
  const env = { MAIL_KEY: 'hunter-two' };
  const { code, out, err } = await run(['check', '--config', await write('config.yaml', text)], env);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/ (?:is good|can be used, with \d warnings?): /);
  const found = [...out.matchAll(/^.*config\.yaml:(\d+):(\d+): warning: (.*)$/gm)];
  for (const [, line] of found) expect(text.split('\n')[Number(line) - 1]).toContain('sink: mail');
  expect(found.map(([, , column, message]) => `${column} ${message}`)).toEqual(expected);
});

test('check warns of names in the catalog by which Slack finds no channel', async () => {
  const { folder, write } = await workplace();
  const text = `${base(folder)}
sinks: { slack: { connector: slack, token: '\${TOKEN}' } }
catalog: { 1: { channel: '#Hiring Team' }, 2: { channel: '@dana' }, 3: { channel: '#hiring' } }
rules: [ { name: a, when: {}, then: [ { sink: slack, channel: "{{ test.channel | default: '#a, #b' }}" } ] } ]
`;
  const { out } = await run(['check', '--config', await write('config.yaml', text)], token);
  expect([...out.matchAll(/:\d+: warning: (.*)$/gm)].map(([, message]) => message)).toEqual([
    'for a test that is not in the catalog: one action posts to one place: write an action for each',
    'for test 1: names of channels have no capitals and no spaces; did you mean "#hiring-team"?',
    'for test 2: Slack finds nobody by such a name: write the id of the person (U…) or the email address',
  ]);
});

describe('check for a program', () => {
  const text = `sinks: { slack: { connector: slack, token: '\${TOKEN}' } }
rules: [ { name: 'a, b: 100%', when: {}, then: [] } ]
`;
  const warning = {
    line: 2,
    column: 42,
    message:
      'Completed, DidNotTake and Canceled reach nobody: the rule "a, b: 100%" takes them and has no actions; if that is meant, write "silent: true" in it',
  };
  const unused = { line: 1, column: 10, message: 'no action uses the sink "slack"' };

  test('prints errors and warnings as one JSON object', async () => {
    const { write } = await workplace();
    const file = await write('config.yaml', text);
    const { code, out } = await run(['check', file, '--json'], token);
    expect({ code, found: JSON.parse(out) }).toEqual({
      code: 0,
      found: {
        errors: [],
        warnings: [
          { file, ...unused },
          { file, ...warning },
        ],
      },
    });
    const broken = await write('broken.yaml', `${text}store: { retention: 3 }`);
    const failed = await run(['check', broken, '--format', 'json'], token);
    expect({ code: failed.code, ...JSON.parse(failed.out) }).toEqual({
      code: 1,
      errors: [
        { file: broken, line: 3, column: 21, message: expect.stringContaining('expected a duration') },
      ],
      warnings: [],
    });
  });

  test('fails for a warning where it is strict', async () => {
    const { write } = await workplace();
    const file = await write('config.yaml', text);
    const { code, out } = await run(['check', file, '--strict'], token);
    expect({ code, out }).toEqual({ code: 1, out: expect.not.stringContaining('is good') });
    expect(out).toContain('2 warnings, and with --strict none may be left.');
    const good = text.replace('then: []', "then: [ { sink: slack, channel: '#a', text: x } ]");
    expect(await run(['check', await write('good.yaml', good), '--strict'], token)).toMatchObject({
      code: 0,
    });
  });

  test('annotates the file for a workflow of GitHub, escaped as it wants', async () => {
    const { folder, write } = await workplace();
    const file = await write('a,b:c%.yaml', text);
    const { code, out } = await run(['check', file, '--format', 'github', '--strict'], token);
    const named = `${folder}/a%2Cb%3Ac%25.yaml`;
    const message = warning.message.replace('%', '%25');
    expect({ code, out }).toEqual({
      code: 1,
      out: `::warning file=${named},line=1,col=10::${unused.message}\n::warning file=${named},line=2,col=42::${message}\n`,
    });
    const broken = await write('broken.yaml', 'rules: []\nsinks: {}\nreciever: {}\n');
    const failed = await run(['check', broken, '--format', 'github']);
    expect(failed.out).toMatch(
      /^::error file=.*broken\.yaml,line=3,col=1::unknown key "reciever"; did you mean/,
    );
  });
});

describe('check --live', () => {
  test('asks all four tools, and sends nothing', async () => {
    const { env, received, http, smtp } = await tools(allChannels);
    const { code, out, err } = await run(['check', '--live', '--config', example], env);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const sink of ['slack (slack)', 'sheet (google-sheets)', 'mail (email)', 'ats (webhook)']) {
      expect(out).toMatch(new RegExp(`^${sink.replaceAll(/[()]/g, '\\$&')}\n {2}✓ `, 'm'));
    }
    expect(out).not.toContain('✗');
    expect(out).toMatch(/is good: .*\.\n$/);
    const onTerminal = await run(['check', '--live', '--config', example], env, true);
    expect(onTerminal.out).toContain('\u001B[32m✓\u001B[39m');
    expect(Object.values(received).flatMap((ids) => ids())).toEqual([]);
    expect({ calls: http.calls, mails: smtp.mails }).toEqual({ calls: [], mails: [] });
  });

  test('says what is wrong with each tool and what to do, and asks the others all the same', async () => {
    const { env, slack, http } = await tools({ slack: { channels: ['hiring'] } });
    await http.stop();
    const { code, out } = await run(['check', '--live', '--config', example], env);
    expect(code).toBe(1);
    expect(out).toMatch(/✗ .*#hiring-backend/);
    expect(out).not.toContain('is good');
    expect(out).toMatch(/\n3 live checks failed\.\n$/);
    expect(out).toMatch(/^ats \(webhook\)\n {2}✗ /m);
    expect(out).toMatch(/^mail \(email\)\n {2}✓ /m);
    expect(out).not.toMatch(stack);
    expect(slack.messages).toEqual([]);
  });

  test('asks for the places that events of a rule can go to, and for no others', async () => {
    const channels = ['hiring-didnottake', 'hiring-canceled'];
    const { env, slack } = await tools({ slack: { channels } });
    const { folder, write } = await workplace();
    const file = await write(
      'config.yaml',
      `${base(folder)}
unmatched: silent
sinks: { slack: { connector: slack, token: '\${SLACK_BOT_TOKEN}', apiUrl: '${slack.url}' } }
rules:
  - name: not-taken
    when: { status: [DidNotTake, Canceled] }
    then: [ { sink: slack, channel: '#hiring-{{ event.status | downcase }}' } ]
`,
    );
    const { code, out } = await run(['check', '--live', '--config', file], env);
    expect(out).toMatch(/✓ .*#hiring-didnottake/);
    expect(out).toMatch(/✓ .*#hiring-canceled/);
    expect(out).not.toContain('✗');
    expect(code).toBe(0);
  });

  test('finds a tab that is too short for its header', async () => {
    const { env, sheets } = await tools(allChannels);
    const { folder, write } = await workplace();
    const sheet = `{ connector: google-sheets, spreadsheetId: '${sheets.spreadsheetId}', credentials: '\${GOOGLE_CREDENTIALS}', apiUrl: '${sheets.url}', headerRow: 2 }`;
    const rules = `rules: [ { name: all, when: {}, then: [ { sink: sheet, tab: Short, row: { Candidate: x } } ] } ]`;
    const file = await write('config.yaml', `${base(folder)}\nsinks: { sheet: ${sheet} }\n${rules}\n`);
    sheets.document.addTab(6, 'Short', { rowCount: 1 });
    expect((await run(['check', '--live', '--config', file], env)).out).toMatch(
      /^ {2}✗ tab Short: The tab Short has only 1 row, and its header should be in row 2. Add rows/m,
    );
  });

  test('never repeats a credential that the tool repeats', async () => {
    const { folder, write } = await workplace();
    const smtp = await new SmtpSandbox({ login: { user: 'ops', password: 'hunter-two' } }).start();
    onTestFinished(() => smtp.close());
    smtp.faults.only = ['AUTH'];
    smtp.faults.once({ kind: 'status', status: 535, body: 'hunter-two is wrong' });
    const mail = `sinks: { mail: { connector: email, url: '\${SMTP_URL}', from: hiring@example.com } }`;
    const file = await write('config.yaml', `${base(folder)}${mail}\nrules: []\n`);
    const { code, out } = await run(['check', '--live', '--config', file], { SMTP_URL: smtp.url() });
    expect(code).toBe(1);
    expect(out).toContain('*** is wrong');
    expect(out).not.toContain('hunter-two');
  });

  test('is not begun with a config that cannot be used', async () => {
    const { slack } = await tools();
    const { code, out } = await run(['check', '--live', '--config', example], {});
    expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining('SLACK_BOT_TOKEN is not set') });
    expect(slack.calls).toEqual([]);
  });
});

const password = 'correct%20horse';

async function checkStore(url: string): Promise<{ code: number; line: string | undefined }> {
  const { write } = await workplace();
  const text = `store: { url: "${url}" }\nsinks: {}\nrules: [ { name: all, when: {}, then: [] } ]\n`;
  const { code, out, err } = await run(['check', '--live', '--config', await write('config.yaml', text)]);
  expect({ err, out }).toEqual({ err: '', out: expect.not.stringContaining(password) });
  return { code, line: out.split('\n').find((one) => /[✓✗]/.test(one)) };
}

describe('check --live of a store in SQLite', () => {
  test('takes one that is not there yet, and makes nothing', async () => {
    const { folder } = await workplace();
    expect(await checkStore(`sqlite:${folder}/later/connector.db`)).toEqual({ code: 0, line: undefined });
    expect(existsSync(join(folder, 'later'))).toBe(false);
  });

  test('takes one of an earlier version, and leaves it as it is', async () => {
    const { folder } = await workplace();
    const path = join(folder, 'connector.db');
    using db = new DatabaseSync(path);
    for (const step of sqliteSteps.slice(0, 3)) db.exec(step);
    db.exec('pragma application_id = 0x63616e64; pragma user_version = 3');
    expect(await checkStore(`sqlite:${path}`)).toEqual({ code: 0, line: undefined });
    expect(db.prepare('pragma user_version').get()).toEqual({ user_version: 3 });
  });

  test.each([
    ['a folder', mkdirSync, 'is a folder, and a store is a file. Name one in it: sqlite:'],
    ['a text', (path: string) => writeFileSync(path, 'no database at all'), 'is not a SQLite database.'],
    ['the database of another program', makeForeign, 'is the database of another program.'],
    ['nothing beside a rescued store', rescuedBeside, 'and all that the one before had is in '],
  ])('finds %s in its place', async (_what, put, words) => {
    const { folder } = await workplace();
    const path = join(folder, 'connector.db');
    put(path);
    const line = expect.stringMatching(/✗ connect: .*connector\.db/);
    const found = await checkStore(`sqlite:${path}`);
    expect(found).toEqual({ code: 1, line });
    expect(found.line).toContain(words);
  });

  function makeForeign(path: string): void {
    using db = new DatabaseSync(path);
    db.exec('create table notes (text)');
  }

  function rescuedBeside(path: string): void {
    writeFileSync(`${path}.rescued-20260102T030405Z`, '');
  }
});

describe('check --live of a store in PostgreSQL', () => {
  test('says that it can be made, and makes nothing', async () => {
    const url = await freshSchema();
    const schema = new URL(url).searchParams.get('schema')!;
    const line = expect.stringContaining(
      `✓ connect: the schema ${schema} of the database postgres has no store yet`,
    );
    expect(await checkStore(url)).toEqual({ code: 0, line });
    const made = await sql(await sharedPostgres(), `select 1 from pg_namespace where nspname = '${schema}'`);
    expect(made).toEqual([]);
  });

  test.each([
    ['a wrong password', (url: string) => url.replace(password, 'wrong'), /✗ connect: .*password/],
    ['an unknown database', (url: string) => url.replace('/postgres', '/nobody'), /✗ connect: .*nobody/],
    ['TLS that it has not', (url: string) => `${url}?sslmode=require`, /✗ connect: .*TLS/],
  ])('finds %s', async (_what, changed, words) => {
    const found = await checkStore(changed(await sharedPostgres()));
    expect(found).toEqual({ code: 1, line: expect.stringMatching(words) });
  });

  test('finds that nothing can be written, as where a full disk made the database read-only', async () => {
    const url = await freshSchema();
    await (await openStore(url, { serve: false })).close();
    const user = freshName();
    await sql(url, `create role ${user} superuser login password 'x'`);
    await sql(url, `alter role ${user} set default_transaction_read_only = on`);
    expect(await checkStore(url.replace(`postgres:${password}`, `${user}:x`))).toEqual({
      code: 1,
      line: expect.stringMatching(/✗ connect: PostgreSQL at .* is read-only/),
    });
  });

  test('finds the copy of another store that was not finished, which nothing can serve', async () => {
    const url = await freshSchema();
    await (await openStore(url, { serve: false })).close();
    const schema = new URL(url).searchParams.get('schema')!;
    await sql(url, `insert into ${schema}.unfinished_copy (source, begun_at) values ('sqlite:old.db', 0)`);
    expect(await checkStore(url)).toEqual({
      code: 1,
      line: expect.stringContaining('✗ connect: This store is an unfinished copy of sqlite:old.db'),
    });
  });

  test('finds a user without rights', async () => {
    const url = await sharedPostgres();
    const user = freshName();
    await sql(url, `create role ${user} login password 'x'; create schema ${user}_s authorization postgres`);
    const { port } = new URL(url);
    const found = await checkStore(`postgres://${user}:x@127.0.0.1:${port}/postgres?schema=${freshName()}`);
    expect(found).toEqual({
      code: 1,
      line: expect.stringMatching(/✗ connect: The user may not create tables/),
    });
  });
});
