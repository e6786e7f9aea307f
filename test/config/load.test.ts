import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { ConfigError } from '../../src/config/config.ts';
import { loadConfig, parseConfig } from '../../src/config/load.ts';
import { publishedAddresses } from '../../src/http/addresses.ts';
import { Secret } from '../../src/connector.ts';
import { pager, pagers, problems, env, load, warnings } from './tools.ts';

describe('a config that says only what it must', () => {
  const config = load('');

  test('gets the documented defaults', () => {
    expect(config.receiver).toEqual({
      host: '0.0.0.0',
      port: 8080,
      path: '/webhooks/candidates',
      allowFrom: publishedAddresses,
      trustProxy: 0,
      token: [],
      correlationHeader: 'auto',
      maxBodyBytes: 65_536,
      retryForMs: 20_000,
    });
    expect(config.store).toEqual({
      url: 'sqlite:./data/connector.db',
      retentionMs: 365 * 86_400_000,
      secretKey: null,
    });
    expect(config.idempotency).toEqual({ windowMs: 86_400_000 });
    expect(config.admin).toEqual({
      host: '127.0.0.1',
      port: 8081,
      password: null,
      viewer: null,
      metrics: null,
      proxy: null,
      title: null,
    });
    expect(config.log).toEqual({ level: 'info', format: 'auto' });
    expect(config.scenarios).toEqual([]);
    expect(config.warnings).toEqual([]);
  });

  test('gives its sink the defaults of the connector and the usual retries', () => {
    expect(config.sinks.get('page')).toEqual({
      name: 'page',
      connector: pager,
      options: { token: expect.any(Secret), loud: false },
      retry: { minDelayMs: 2000, maxDelayMs: 600_000, giveUpAfterMs: 86_400_000 },
      pace: null,
      concurrency: 3,
      timeoutMs: 10_000,
      onUnknown: 'resend',
    });
  });

  test('cannot be changed', () => {
    expect(Object.isFrozen(config)).toBe(true);
  });
});

test('every setting that is written is taken over', () => {
  const config = load(
    `
receiver: { host: "::", port: 80, path: /in, allowFrom: [10.0.0.0/8, "2001:db8::1", published], trustProxy: 2, token: "\${T}", correlationHeader: X-Trace, maxBody: 1mb }
store: { url: "sqlite:/data/x.db", retention: 30d }
idempotency: { window: 1h }
admin: { host: 0.0.0.0, port: 81, password: "\${T}" }
log: { level: debug, format: pretty }
sinks:
  page:
    connector: pager
    token: "\${PAGER_TOKEN}"
    retry: { minDelay: 1s, maxDelay: 5s, giveUpAfter: 1m }
    rate: 60/min
    concurrency: 7
    timeout: 5s
    onUnknown: hold
`,
    { T: 'a-token' },
  );
  expect(config.receiver).toMatchObject({
    host: '::',
    port: 80,
    path: '/in',
    trustProxy: 2,
    correlationHeader: 'x-trace',
    maxBodyBytes: 1_048_576,
  });
  expect(config.receiver.allowFrom).toEqual(['10.0.0.0/8', '2001:db8::1', ...publishedAddresses]);
  expect(config.receiver.token[0]?.reveal()).toBe('a-token');
  expect(config.admin.password?.reveal()).toBe('a-token');
  expect(config.log).toEqual({ level: 'debug', format: 'pretty' });
  expect(config.sinks.get('page')).toMatchObject({
    retry: { minDelayMs: 1000, maxDelayMs: 5000, giveUpAfterMs: 60_000 },
    pace: { count: 60, perMs: 60_000, burst: 1 },
    concurrency: 7,
    timeoutMs: 5000,
    onUnknown: 'hold',
  });
});

test('proxies may be named by their addresses, and anyone may be let in', () => {
  const { receiver } = load('receiver: { allowFrom: any, trustProxy: [10.0.0.1, "fd00::/8"] }');
  expect(receiver.allowFrom).toBe('any');
  expect(receiver.trustProxy).toEqual(['10.0.0.1', 'fd00::/8']);
});

test('a JSON file is a config, and may name its schema', () => {
  const text = JSON.stringify({
    $schema: './config.schema.json',
    sinks: { page: { connector: 'pager', token: '${PAGER_TOKEN}' } },
    rules: [{ name: 'all', when: {}, then: [{ sink: 'page', text: 'x' }] }],
  });
  expect(load(text).sinks.size).toBe(1);
});

test('a section whose keys are all commented out counts as not given', () => {
  expect(load('receiver:\n  # port: 1\nunmatched:\ncatalog:\nscenarios:').receiver.port).toBe(8080);
});

test('a byte order mark is no part of the text', () => {
  expect(load('\ufeffreceiver: { port: 1 }').receiver.port).toBe(1);
});

test('anchors and aliases share what is said twice', () => {
  const config = load(`
sinks:
  page: { connector: pager, token: "\${PAGER_TOKEN}", retry: &patient { giveUpAfter: 30d } }
  other: { connector: pager, token: "\${PAGER_TOKEN}", retry: *patient }
rules: [ { name: a, when: {}, then: [ { sink: page, text: x }, { sink: other, text: x } ] } ]`);
  expect(config.sinks.get('other')?.retry.giveUpAfterMs).toBe(30 * 86_400_000);
});

const read = async (file: string) =>
  loadConfig(file, { env, connectors: pagers }).catch((error: unknown) => error);

describe('a file that cannot be read', () => {
  test('is named, with the way out', async () => {
    const error = await read('/nowhere/config.yaml');
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toBe(
      '/nowhere/config.yaml:1:1: error: there is no such file; --config FILE or CONNECTOR_CONFIG names another one\n\n1 error',
    );
  });

  test('is a folder', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'config-'));
    expect(await read(folder)).toMatchObject({ message: expect.stringContaining('this is a folder') });
  });

  test.each([
    [
      'UTF-16',
      Buffer.from('\ufeffrules: []', 'utf16le'),
      'not UTF-8 text, as line 1 shows; save it as UTF-8',
    ],
    ['Latin-1', Buffer.from('# é\nrules: []\n'.repeat(2).slice(4), 'latin1'), 'as line 2 shows'],
    [
      'RTF',
      Buffer.from('{\\rtf1\\ansi\nrules: []\\\n}'),
      'a document with formats (RTF); save it as plain text',
    ],
    [
      'DOCX',
      Buffer.from('PK\x03\x04\x14'),
      'a document of an office program, or an archive; save it as plain text',
    ],
  ])('is %s', async (_, bytes, fault) => {
    const file = join(await mkdtemp(join(tmpdir(), 'config-')), 'config.yaml');
    await writeFile(file, bytes);
    expect(await read(file)).toMatchObject({ message: expect.stringContaining(fault) });
  });
});

describe('the path of the webhook URL', () => {
  test.each([
    ['/hooks;v=1/@hiring/a:b,(c)+$d', '/hooks;v=1/@hiring/a:b,(c)+$d'],
    ['/k%C3%A4se/a%20b/', '/k%C3%A4se/a%20b/'],
    ['/käse/試験', '/k%C3%A4se/%E8%A9%A6%E9%A8%93'],
  ])('may be any that a URL can have, and is compared as clients send it: %s', (path, sent) => {
    expect(load(`receiver: { path: "${path}" }`).receiver.path).toBe(sent);
  });

  test.each(['/a b', '/a?b', '/a#b', '/a\\\\b', '/<a>', '/{a}', 'a', '/a\\0', '/\\ud800', '/\\u2028'])(
    'is refused where no URL has it: %s',
    (path) => {
      expect(problems(`receiver: { path: "${path}" }`)).toEqual([
        expect.stringContaining('1:19 expected a path such as /webhooks/candidates, without query'),
      ]);
    },
  );
});

describe('what parts of a config say of each other', () => {
  test('a proxy that names who it is and is a whole network is warned of', () => {
    const of = (from: string) => load(`admin: { proxy: { from: ${from} } }`).warnings;
    expect(of('[10.0.3.0/25, 10.0.4.0/25]')).toEqual([]);
    for (const from of ['[10.0.3.0/24, 10.0.4.1]', '"fd00::/64"'])
      expect(of(from)).toMatchObject([
        { line: 1, message: expect.stringContaining('more than 256 addresses') },
      ]);
  });

  test.each([
    ['admin: { host: 0.0.0.0 }', '1:1 admin.password is needed, because other machines can reach 0.0.0.0'],
    [
      'admin: { password: "${PAGER_TOKEN}", metrics: "${PAGER_TOKEN}" }',
      '1:47 admin.metrics is the same as admin.password; the two need to differ',
    ],
    [
      'receiver: { port: 9 }\nadmin: { port: 9 }',
      "2:16 port 9 is the receiver's too; the two need ports of their own",
    ],
    [
      'store: { retention: 2h }',
      '1:21 events would be deleted before the idempotency window ends; keep them longer',
    ],
    ['receiver: { token: [] }', '1:20 expected at least one entry'],
    ['receiver: { token: [a-token, ""] }', '1:30 expected text that is not empty'],
    ['receiver: { token: [a-token, { b: c }] }', '1:30 expected text'],
    ['receiver: { path: /readyz }', '1:19 /healthz and /readyz answer health checks; choose another path'],
    [
      'store: { url: "postgres://u@h:port/db" }',
      '1:15 expected a URL such as postgres://user:${PG_PASSWORD}@host:5432/database, got "postgres://u@h:port/db"',
    ],
    [
      'store: { url: "postgres://u:%zz@h/db" }',
      '1:15 expected a URL such as postgres://user:${PG_PASSWORD}@host:5432/database, got "postgres://u:***@h/db"',
    ],
    [
      'store: { url: "postgres://u@a,b/db?sslmode=prefer" }',
      '1:15 sslmode=prefer is not supported. Expected disable, no-verify, require, verify-ca, verify-full.',
    ],
    [
      'store: { url: "postgres://u@h/db?schema=Mine" }',
      '1:15 schema=Mine is not a name that is taken here. Expected small letters, digits and _, as in schema=candidate_connector.',
    ],
    ['store: { url: "sqlite::memory:" }', '1:15 a store must outlive the process: name a file'],
    [
      'store: { url: connector.db }',
      '1:15 expected sqlite: and a file, as in sqlite:./data/connector.db, or postgres://user@host/database, got "connector.db"',
    ],
  ])('%j', (text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  test('the same port on different addresses is no collision', () => {
    expect(
      load('receiver: { host: 10.0.0.1, port: 9 }\nadmin: { host: 127.0.0.1, port: 9 }').admin.port,
    ).toBe(9);
  });

  test.each([
    [
      'sinks: { page: { connector: pager, token: "${PAGER_TOKEN}" }, spare: { connector: pager, token: "${PAGER_TOKEN}" } }',
      '1:63 no action uses the sink "spare"',
    ],
    [
      'sinks: { page: { connector: pager, token: literal-token } }',
      '1:43 this credential is written in the file; take it from ${NAME} or ${file:/path} instead',
    ],
    [
      'receiver: { token: literal-token }',
      '1:20 this credential is written in the file; take it from ${NAME} or ${file:/path} instead',
    ],
    [
      // The second key's variable is set, and the others are no credentials.
      'sinks: { page: { connector: pager, token: "${NONE:-xoxb-not-set}", keys: ["${NONE:-/run/key/file}", "${PAGER_TOKEN:-xoxb-not-set}", "${NONE:-adc}"] } }',
      '1:43 the variable is not set, and the default that is written here stands in for this credential',
    ],
    [
      'sinks: { page: { connector: pager, token: "${NONE:-TODO}" } }',
      '1:43 the variable is not set, and the default that is written here stands in for this credential',
    ],
    [
      'sinks: { page: { connector: pager, token: "${PAGER_TOKEN}", url: "${NONE:-https://u:password@h/}" } }',
      '1:66 the variable is not set, and the default that is written here stands in for this credential',
    ],
    [
      'sinks: { page: { connector: pager, token: "${PAGER_TOKEN}", url: "https://u:pass1@h/" } }',
      '1:66 the credential in this URL is written in the file; take it from ${NAME} or ${file:/path} instead',
    ],
    [
      'catalog: { 1234567: { name: A } }\nrules: [ { name: a, when: { testId: [1234567, 1234568] }, then: [ { sink: page, text: x } ] } ]',
      '2:47 the catalog has no test 1234568; did you mean "1234567"?',
    ],
    [
      'catalog: { 1234567: { name: A } }\nrules: [ { name: a, when: { test.id: { not: 1234568 } }, then: [ { sink: page, text: x } ] } ]',
      '2:45 the catalog has no test 1234568; did you mean "1234567"?',
    ],
    [
      'catalog: { 1234567: { team: A } }\nrules: [ { name: a, when: { test.taem: A }, then: [ { sink: page, text: x } ] } ]',
      '2:29 no entry of the catalog has "taem"; did you mean "team"?',
    ],
    [
      'rules: [ { name: a, when: { test.team: { not: A } }, then: [ { sink: page, text: x } ] } ]',
      '1:29 there is no catalog, so "test.team" has no values',
    ],
    [
      'catalog: {}\nrules: [ { name: a, when: { test.team: { not: A } }, then: [ { sink: page, text: x } ] } ]',
      '2:29 the catalog has no tests, so "test.team" has no values',
    ],
    [
      'hours: { office: { timezone: Europe/Zagreb, from: "08:00", to: "18:00" } }',
      '1:10 no action uses the hours "office"',
    ],
    [
      'catalog: { 1: { team: A } }\nrules: [ { name: a, when: {}, then: [ { sink: page, digest: { every: 1h, by: [testId, test.taem] } } ] } ]',
      '2:87 no entry of the catalog has "taem"; did you mean "team"?',
    ],
    [
      'rules: [ { name: a, when: { status: Completed }, then: [ { sink: page, digest: { every: 1h, by: testId }, text: "{{ event.status }} {{ event.testId }} {{ test.name }} {{ event.candidateId }}" } ] } ]',
      '1:171 this is of the first event of the digest, and others may differ; go through `events`, or name it in `by`',
    ],
    [
      `sinks:
  page: { connector: pager, token: "\${PAGER_TOKEN}" }
  spare: { connector: pager, token: "\${PAGER_TOKEN}" }
unmatched: [ { sink: spare, text: x }, { sink: page, text: x } ]
alerts: { paused: { then: [ { sink: page } ] }, dead: { then: [ { sink: page }, { sink: spare } ] }, silence: { then: [ { sink: page } ] } }`,
      '5:37 when "page" itself is in trouble, nobody is notified; add an action with another sink',
    ],
    [
      `sinks:
  page: { connector: pager, token: "\${PAGER_TOKEN}", onUnknown: hold }
  spare: { connector: pager, token: "\${PAGER_TOKEN}", onUnknown: hold }
unmatched: [ { sink: spare, text: x }, { sink: page, text: x } ]
alerts: { held: { then: [ { sink: page } ] } }`,
      '5:35 when "page" itself is in trouble, nobody is notified; add an action with another sink',
    ],
  ])('warns: %j', (text, warning) => {
    expect(warnings(text)).toEqual([warning]);
  });

  test.each(['"${SHORT}"', '["${LONG}", "${SHORT}"]'])(
    'warns of a token of the receiver that somebody may guess: %s',
    (token) => {
      const tokens = { SHORT: 'hiring-2026', LONG: 'hiring-2026-' };
      expect(warnings(`receiver: { token: ${token} }`, tokens)).toEqual([
        '1:20 a token of fewer than 12 characters may be guessed, and whoever has it may send events; make one with `openssl rand -hex 24`',
      ]);
      expect(warnings('receiver: { token: "${LONG}" }', tokens)).toEqual([]);
    },
  );

  const mails = (alerts: string, other = 'smtps://MAIL.example') => `
sinks:
  mail: { connector: email, url: "smtp://mail.example", from: a@example.com, onUnknown: hold }
  ops: { connector: email, url: "${other}", from: ops@example.com }
unmatched: [ { sink: mail, to: a@example.com, subject: x, text: x } ]
alerts: { ${alerts} }
rules: []
`;
  const toOps = '{ then: [ { sink: ops, to: a@example.com } ] }';
  const toBoth = '{ then: [ { sink: mail, to: a@example.com }, { sink: ops, to: a@example.com } ] }';
  const found = (text: string) => parseConfig(text, 'config.yaml', { env, connectors }).warnings;

  test.each([
    ['https://ats.example/token', '', 1],
    ['https://ats.example/token', `store: { secretKey: ${Buffer.alloc(32).toString('base64')} }`, 0],
    ['https://oauth2.googleapis.com/token', '', 0],
    // Takes the one before for 90 days from when it was given.
    ['https://login.microsoftonline.com/tenant/oauth2/v2.0/token', '', 1],
  ])('warns of a refresh token that a restart may lose: %s %s', (tokenUrl, more, count) => {
    const auth = `oauth2: { tokenUrl: "${tokenUrl}", clientId: a, refreshToken: "\${PAGER_TOKEN}" }`;
    const sinks = `sinks: { ats: { connector: webhook, url: "https://ats.example", auth: { ${auth} } } }`;
    const all = found(`${sinks}\nrules: []\nunmatched: [ { sink: ats } ]\n${more}`);
    expect(all.filter((one) => one.message.includes('set store.secretKey'))).toHaveLength(count);
  });

  test.each([
    ['alerts: { paused: { then: [ { sink: chat }, { sink: mail, to: a@example.com } ] } }', '', 1],
    ['summary: { at: "Mon 09:00", then: [ { sink: chat } ] }', '', 1],
    ['summary: { at: "Mon 09:00", then: [ { sink: chat, body: { text: "{{ notice.detail }}" } } ] }', '', 0],
    ['summary: { at: "Mon 09:00", then: [ { sink: chat } ] }', ', { sink: chat }', 0],
    ['summary: { at: "Mon 09:00", then: [ { sink: other } ] }', '', 0],
  ])('warns of a notice without the body that a tool wants: %s %s', (notices, more, count) => {
    const all = found(`sinks:
  chat: { connector: webhook, url: "https://chat.example/hook" }
  other: { connector: webhook, url: "https://ops.example/hook" }
  mail: { connector: email, url: "smtp://mail.example", from: a@example.com }
rules: []
unmatched: [ { sink: chat, body: { text: "{{ event.candidateId }}" } }${more} ]
${notices}`);
    expect(all.filter((one) => one.message.startsWith('without a `body`'))).toHaveLength(count);
  });

  test.each([
    ['held', toOps, 1],
    ['dead', toOps, 1],
    ['paused', toBoth, 2],
    ['silence', toOps, 0],
  ])('warns of %s that is told only on the mail server in trouble: %s', (kind, ways, count) => {
    const message =
      'when the mail server mail.example is in trouble, nobody is notified; add an action with another sink';
    expect(found(mails(`${kind}: ${ways}`)).map((one) => one.message)).toEqual(
      Array.from({ length: count }, () => message),
    );
    expect(found(mails(`${kind}: ${ways}`, 'smtps://other.example'))).toEqual([]);
  });

  test.each([
    [`"{{ event.candidateId | append: ' <desk@example.com>' }}"`, [`' <desk@example.com>'`]],
    [`['{{ event.testId | upcase | prepend: "a@example.com, " }}']`, ['"a@example.com, "']],
    [`"{{ event.candidateId | append: ' x' }} <desk@example.com>"`, []],
    [`"{{ test.id | append: '@example.com' }}"`, []],
  ])('warns of a filter that writes an address next to a value: %s', (to, parts) => {
    const text = `
sinks: { mail: { connector: email, url: "smtp://mail.example", from: a@example.com } }
unmatched:
  - { sink: mail, subject: x, text: x, to: ${to} }
rules: []
`;
    const columns = parts.map((part) => text.split('\n')[3]!.indexOf(part) + 1);
    expect(found(text)).toMatchObject(columns.map((column) => ({ line: 4, column })));
  });
});
