import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { access, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { run, workplace } from './commands/tools.ts';
import { startSlack } from '../sandbox/slack.ts';
import { eventually } from './fixtures/eventually.ts';

const root = join(import.meta.dirname, '..');
const readme = await readFile(join(root, 'README.md'), 'utf8');
const [operating = '', guarantees = ''] = await Promise.all(
  ['operating', 'guarantees'].map((page) => readFile(join(root, `docs/${page}.md`), 'utf8')),
);

const blocks = [...readme.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language = '', content = '']) => ({
  language,
  content,
}));

/** The one block that has this text in it. */
function block(part: string): string {
  const found = blocks.filter(({ content }) => content.includes(part));
  expect(found.map(({ content }) => content)).toHaveLength(1);
  return found[0]?.content ?? '';
}

const manifest = parse(block('oauth_config')) as {
  features: { app_home?: object };
  oauth_config: { scopes: { bot: string[] } };
};
const scopes = manifest.oauth_config.scopes.bot;

/** The README's `my.yaml`, but for where Slack is and where things are kept. */
async function myYaml(apiUrl: string) {
  const { folder, write } = await workplace();
  const written = block('allowFrom: any #');
  const here = written
    .replace('receiver:\n', 'receiver:\n  host: 127.0.0.1\n  port: 0\n')
    .replace("'${SLACK_BOT_TOKEN}'", `'\${SLACK_BOT_TOKEN}', apiUrl: '${apiUrl}'`);
  expect(here).toContain(apiUrl);
  return write('my.yaml', `${here}\nadmin: { port: 0 }\nstore: { url: 'sqlite:${folder}/connector.db' }\n`);
}

/** Runs a line of the README in a shell, in a clone, with `my.yaml` where it really is; without a token, as in a terminal that was told none. */
function shell(line: string, file: string, token?: string) {
  const child = spawn('sh', ['-c', line.replace('my.yaml', file)], {
    cwd: root,
    env: { ...process.env, SLACK_BOT_TOKEN: token },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  onTestFinished(() => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
  });
  return child;
}

async function outputOf(child: ReturnType<typeof shell>) {
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { code: code as number, out };
}

/** Resolves with the receiver's address when the connector says that it is ready. */
async function ready(child: ReturnType<typeof shell>): Promise<string> {
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('"msg":"ready"')) return (JSON.parse(line) as { receiver: string }).receiver;
  }
  throw new Error('it ended before it was ready');
}

/** What the README's `curl` does, at another address. */
async function curl(command: string, receiver: string) {
  const [, url = ''] = /curl -i (\S+)/.exec(command) ?? [];
  const headers = [...command.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);
  const [, body = ''] = /-d '([^']+)'/.exec(command) ?? [];
  const response = await fetch(url.replace('http://localhost:8080', receiver), {
    method: 'POST',
    headers: Object.fromEntries(headers) as Record<string, string>,
    body,
  });
  return {
    status: response.status,
    body: (await response.json()) as { eventId: string; duplicate: boolean },
  };
}

test('from zero to the first Slack message, step by step, with no other scopes than the manifest has', async () => {
  const slack = await startSlack({ scopes, channels: ['hiring'] });
  onTestFinished(() => slack.close());
  const file = await myYaml(slack.url);
  const lines = block('export SLACK_BOT_TOKEN').trim().split('\n');
  expect(lines).toHaveLength(3);
  const [, check = '', explain = ''] = lines;
  const [checked, explained] = await Promise.all(
    [check, explain].map((line) => outputOf(shell(line, file, slack.token))),
  );
  expect(checked).toMatchObject({ code: 0, out: expect.stringContaining('✓ reaches #hiring') });
  expect(explained).toMatchObject({
    code: 0,
    out: expect.stringContaining('candidate 0123456789abcdef0123456789abcdef completed the test'),
  });
  expect(slack.messages).toEqual([]);

  const receiver = await ready(shell(block('npm start').trim(), file, slack.token));
  const post = () => curl(block('curl -i'), receiver);
  const first = await post();
  expect(first).toMatchObject({ status: 202, body: { duplicate: false } });
  const { eventId } = first.body;
  expect(await post()).toEqual({ status: 200, body: { eventId, duplicate: true } });
  const events = await outputOf(shell(block('main.ts events').trim(), file));
  expect(events).toMatchObject({ code: 0, out: expect.stringContaining('(repeated 1×)') });
  const said = {
    channelName: 'hiring',
    text: ':checkered_flag: Test 1234567: candidate 4711 completed the test',
  };
  await eventually(() => expect(slack.messages).toMatchObject([said]));
});

test('the manifest has the Messages Tab, without which Slack refuses direct messages', () => {
  expect(manifest.features.app_home).toMatchObject({ messages_tab_enabled: true });
});

test('a terminal that was told no token needs one to check and to start, and can have it of a file', async () => {
  const slack = await startSlack({ scopes, channels: ['hiring'] });
  onTestFinished(() => slack.close());
  const file = await myYaml(slack.url);
  const { write } = await workplace();
  const line = block('--env-file=.env').trim();
  expect((await outputOf(shell(line.replace(' --env-file=.env', ''), file))).code).toBe(1);
  const [, variable = ''] = /`(SLACK_BOT_TOKEN=xoxb-…)` into a file `\.env`/.exec(readme) ?? [];
  const envFile = await write('.env', variable.replace('xoxb-…', slack.token));
  const { code, out } = await outputOf(shell(line.replace('.env', envFile), file));
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(' is good: ') });
  // `npm start` reads no such file.
  const [, start = ''] = /With a `\.env`: `([^`]+)`/.exec(readme) ?? [];
  await ready(shell(start.replace('.env', envFile), file));
});

test.each(['did-not-take', 'not-assessed'])('the YAML with the rule %s is a good config', async (rule) => {
  const { write } = await workplace();
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const key = JSON.stringify({ client_email: 'a@example.com', private_key });
  const credentials = await write('google.json', key);
  const sinks = block('connector: google-sheets').replace('/run/secrets/google.json', credentials);
  expect(sinks).toContain(credentials);
  const file = await write('example.yaml', `${sinks}\n${block(rule)}`);
  const env = {
    SLACK_BOT_TOKEN: 'xoxb-1',
    SHEET_ID: 's',
    SMTP_URL: 'smtps://a:b@mail.example.com',
    ATS_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    API_TOKEN: 'api-token-1',
  };
  const { code, out, err } = await run(['check', '--config', file], env);
  expect({ code, err }).toEqual({ code: 0, err: expect.not.stringContaining('error') });
  expect(out).toMatch(
    / (?:is good|can be used, with \d warnings?): \d rules?, 4 sinks(, \d look-ups?)?(, \d scenarios? as expected)?\.\n(Of \d+ messages .*\n)?$/,
  );
});

describe('the README names', () => {
  test('no block that is not held by a test', () => {
    const known = [
      'npm run demo',
      'oauth_config',
      'allowFrom: any #',
      'export SLACK',
      '--env-file=.env',
      'npm start',
      'curl -i',
      'main.ts events',
      'connector: google-sheets',
      'did-not-take',
      'not-assessed',
      'docker run -d',
      '──POST──▶',
    ];
    for (const part of known) block(part);
    expect(blocks).toHaveLength(known.length);
  });

  test('every command, every option, and only options that there are', async () => {
    const table = operating.slice(0, operating.indexOf('**When a tool fails.**'));
    const named = [...table.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command.split(' ')),
    );
    const { out: help } = await run(['--help']);
    const commands = [...help.matchAll(/^ {2}([\w-]+) \[options\]/gm)].map(([, name]) => name);
    expect(new Set(named.map(([command]) => command))).toEqual(new Set(commands));
    for (const [command = '', ...rest] of named) {
      const { out } = await run([command, '--help']);
      for (const option of rest.filter((word) => word.startsWith('--'))) expect(out).toContain(option);
    }
    const missing = commands.map(async (command = '') => {
      const { out } = await run([command, '--help']);
      const options = [...out.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, option = '']) => option);
      return options.filter(
        (option) =>
          option !== '--help' && !new RegExp(`${option}(?![\\w-])`).test(readme + operating + guarantees),
      );
    });
    expect((await Promise.all(missing)).flat()).toEqual([]);
  });

  test('only files that there are', async () => {
    const links = [...readme.matchAll(/\]\(([^):#]+)\)|src="([^"]+)"/g)];
    const paths = links.map(([, path, picture]) => path ?? picture ?? '');
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) await expect(access(join(root, path))).resolves.toBeUndefined();
    const pictures = paths.filter((path) => path.endsWith('.png'));
    for (const path of pictures) expect((await stat(join(root, path))).size).toBeLessThan(60 * 1024);
  });

  test('the benchmarks as they are called', async () => {
    const contributing = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8');
    const [, names = ''] = /runs one of ([^|]+) \|/.exec(contributing) ?? [];
    const runner = await readFile(join(root, 'bench/run.ts'), 'utf8');
    const [, listed = ''] = /const benchmarks.* = \{\n([^]+?)\n\};/.exec(runner) ?? [];
    expect([...names.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(
      [...listed.matchAll(/^ {2}(\w+):/gm)].map(([, name]) => name),
    );
  });
});
