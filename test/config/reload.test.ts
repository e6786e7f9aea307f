import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { ConfigError } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { LiveConfig } from '../../src/config/live/live-config.ts';
import { reloadConfig, type ReloadOptions } from '../../src/config/live/reload.ts';
import { workplace } from '../commands/tools.ts';
import { failure, load } from './tools.ts';

const thread = new URL('../../src/config/live/reload-worker.ts', import.meta.url);
const env = { TOKEN: 'xoxb-the-token' };

const reload = async (text: string, options: Partial<ReloadOptions> = {}) =>
  (await reloadConfig(text, 'config.yaml', { env, connectors, thread, ...options })).config;

const refusal = (text: string, options: Partial<ReloadOptions> = {}) =>
  reload(text, options).then(
    () => expect.fail('it was taken'),
    (error: unknown) => error,
  );

const withToken = (token: string) => `
receiver: { port: 1, token: '${token}' }
sinks: { slack: { connector: slack, token: '\${TOKEN}' } }
catalog: { 7: { name: Backend } }
rules: [ { name: all, when: { testId: 8 }, then: [ { sink: slack, channel: '#a', text: '{{ test.name }}' } ] } ]
`;

describe('a reload', () => {
  test('gives what reading the text in this thread would give', async () => {
    const { write } = await workplace();
    const text = withToken(`\${file:${await write('token', 'from-a-long-file\n')}}`);
    const { at, scenarios, ...expected } = parseConfig(text, 'config.yaml', {
      env,
      connectors,
    });
    const config = await reload(text);
    const unlike = { mask: null, plan: null, sinks: null };
    expect({ ...config, ...unlike }).toEqual({ ...expected, ...unlike });
    expect([config.plan.id, config.plan.testIds]).toEqual([expected.plan.id, [7]]);
    expect([...config.sinks.keys()]).toEqual(['slack']);
    expect(config.warnings).toMatchObject([{ message: expect.stringContaining('no test 8') }]);
    expect(config.receiver.token[0]?.reveal()).toBe('from-a-long-file');
    expect(config.mask('xoxb-the-token from-a-long-file')).toBe('*** ***');
  });

  test('says all that is wrong, in the same words', async () => {
    const text = `${withToken('')}unmatched: [ { sink: slak } ]\nreceivr: {}\n`;
    const error = await refusal(text);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toEqual(failure(() => parseConfig(text, 'config.yaml', { env, connectors })));
    expect((error as ConfigError).problems.length).toBeGreaterThan(1);
    expect((error as ConfigError).mayPass).toBe(false);
  });

  test('says of a new variable that it takes a restart: `check` in a shell that has it finds nothing wrong', async () => {
    const text = `${withToken('')}lookups:\n  candidate:\n    url: '\${API_URL}/{{ event.candidateId }}'\n    auth: { bearer: '\${TOKE}' }\n    fields: { name: { at: /name } }\n`;
    const { problems } = (await refusal(text)) as ConfigError;
    const messages = problems.map(({ message }) => message);
    expect(messages.filter((message) => message.includes('environment'))).toEqual([
      'the environment variable API_URL was not set when the connector started; set it there and restart (make a container anew), or write ${API_URL:-} if it may be unset',
      'the environment variable TOKE was not set when the connector started; did you mean "TOKEN"? Otherwise set it there and restart (make a container anew), or write ${TOKE:-} if it may be unset',
    ]);
  });

  test('that breaks a policy is refused at its place, and one that may break it is taken with a warning', async () => {
    const never = (channel: string) =>
      `${withToken('secret')}policies: [ { never: { sink: slack, channel: '${channel}', when: {} } } ]\n`;
    const { problems } = (await refusal(never('#a'))) as ConfigError;
    expect(problems.filter(({ severity }) => severity === 'error')).toMatchObject([
      {
        line: 6,
        message: expect.stringMatching(/^this does not hold: slack #a hears of .*rule "all" \(line 5\)$/),
      },
    ]);
    const { warnings } = await reload(never('C0123456789'));
    expect(warnings.map(({ message }) => message)).toContainEqual(expect.stringContaining('nobody knows'));
  });

  test('proves no policy again that is about nothing but what is in force', async () => {
    const { write } = await workplace();
    const files = [
      await write('token', 'xoxb-1'),
      await write('channel', '#a'),
      await write('tests.csv', 'test\n8\n'),
    ];
    const [token, channel, table] = files;
    const text = `
sinks: { slack: { connector: slack, token: '\${file:${token}}' } }
catalog: { file: '${table}' }
rules: [ { name: all, when: { testId: 8 }, then: [ { sink: slack, channel: '\${file:${channel}}' } ] } ]
policies: [ { never: { sink: slack, channel: '#a', when: {} } } ]
`;
    const { plan, files: marks } = parseConfig(text, 'config.yaml', { env, connectors });
    const sameText = { planId: plan.id, files: marks };
    await writeFile(token!, 'xoxb-2');
    await reload(text, { sameText });
    for (const [path, content] of [
      [channel!, '#a\n'],
      [table!, 'test\n8\n9\n'],
    ] as const) {
      const before = await readFile(path);
      await writeFile(path, content);
      expect(await refusal(text, { sameText })).toHaveProperty(
        'message',
        expect.stringContaining('does not hold'),
      );
      await writeFile(path, before);
    }
  });

  test('that lacks a file may pass; one that meets a pipe does not wait for it', async () => {
    const { folder } = await workplace();
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    for (const [name, says] of [
      ['nowhere', 'there is no such file'],
      ['pipe', 'not a regular file'],
    ] as const) {
      const error = await refusal(withToken(`\${file:${join(folder, name)}}`));
      expect(error).toMatchObject({ mayPass: true, message: expect.stringContaining(says) });
    }
  });

  test('that takes too long is ended, and says so', async () => {
    const error = await refusal(withToken('x'), { deadlineMs: 1 });
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({
      mayPass: false,
      message: expect.stringContaining('config.yaml:1:1: error: the check took longer than 0.001 s'),
    });
  });

  test('ends when the process does', async () => {
    const stopping = new AbortController();
    const refused = refusal(withToken('x'), { signal: stopping.signal });
    stopping.abort();
    expect(await refused).toMatchObject({ message: 'the reload was ended' });
  });
});

test('every key that takes effect at the next start is named when it changes, and in the docs', async () => {
  const settings = (port: number, other: boolean) => `
receiver: { host: ${other ? '127.0.0.1' : '0.0.0.0'}, port: ${port}, path: /${port}, allowFrom: ${other ? 'any' : 'published'},
  trustProxy: ${port}, token: token-${port}, correlationHeader: x-${port}, maxBody: ${port}kb }
store: { url: "sqlite:${port}.db", retention: ${port}d }
idempotency: { window: ${port}h }
admin: { host: ${other ? '::1' : 'localhost'}, port: 808${port}, password: password-${port}, viewer: view-${port}, metrics: scrape-${port}, proxy: { from: [10.0.0.${port}] } }
log: { level: ${other ? 'warn' : 'info'}, format: ${other ? 'json' : 'auto'} }
sinks: {}
rules: []
`;
  const [first, next] = [settings(1, false), settings(2, true)].map((text) =>
    parseConfig(text, 'config.yaml', { env, connectors }),
  );
  const live = new LiveConfig(first!);
  live.adopt(next!);
  const { receiver, store, idempotency, admin, log } = first!;
  expect(live.config).toMatchObject({
    receiver: { ...next!.receiver, ...pick(receiver, 'host', 'port', 'allowFrom', 'trustProxy', 'token') },
    store,
    idempotency,
    admin,
    log: { level: 'warn', format: log.format },
  });
  expect(live.waiting).toEqual([
    'receiver.host',
    'receiver.port',
    'receiver.allowFrom',
    'receiver.trustProxy',
    'receiver.token',
    'admin.host',
    'admin.port',
    'admin.password',
    'admin.viewer',
    'admin.metrics',
    'admin.proxy',
    'store.url',
    'store.retention',
    'idempotency.window',
    'log.format',
  ]);
  const docs = await readFile(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8');
  const [, paragraph = ''] = /\n(These take effect at the next start;.*?)\n\n## /s.exec(docs) ?? [];
  for (const key of live.waiting) expect(paragraph).toMatch(new RegExp(`\`(${key}|${key.split('.')[1]})\``));
});

const pick = <Key extends string>(from: Record<Key, unknown>, ...keys: Key[]) =>
  Object.fromEntries(keys.map((key) => [key, from[key]]));

test('a secret that a reload replaced stays masked, through further reloads', () => {
  const withSecret = (token: string) => load('', { PAGER_TOKEN: token });
  const live = new LiveConfig(withSecret('the-token-before'));
  live.adopt(withSecret('the-token-after'));
  live.adopt(withSecret('the-token-after'));
  expect(live.config.mask('the-token-before the-token-after')).toBe('*** ***');
});

test('when a config was put in force or refused is told by the clock that it is given, as the replicas share one', async () => {
  const shared = Date.now() + 600_000;
  const config = () => parseConfig(withToken('x'), 'config.yaml', { env, connectors });
  const live = new LiveConfig(config());
  live.adopt(config(), shared);
  live.failed(new Error('the disk is full'), shared + 1000);
  expect(live.loadedAt).toBe(shared);
  expect(live.refused).toMatchObject({ since: shared + 1000 });
});

test('what was refused is known with its first problem at its place, and what stays, until a file is taken', async () => {
  const good = withToken('webhook-token');
  const live = new LiveConfig(parseConfig(good, 'config.yaml', { env, connectors }));
  expect(live.refused).toBeNull();
  const begun = Date.now();
  const secret = good.replace('port: 1', 'port: xoxb-the-token').replace('when:', 'wen:');
  live.failed((await refusal(secret)) as Error);
  const { refused } = live;
  expect(refused).toMatchObject({ others: 1 });
  expect(refused?.problem).toMatch(/^config\.yaml:2:19: /);
  expect(refused?.problem).not.toContain('xoxb-the-token');
  expect(refused?.since).toBeGreaterThanOrEqual(begun);
  expect(live.loadedAt).toBeLessThanOrEqual(begun);
  live.failed(new Error('the disk is full'));
  expect(live.refused).toMatchObject({ problem: 'the disk is full', others: 0, since: refused?.since });
  live.adopt(await reload(good));
  expect(live.refused).toBeNull();
});
