import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readFile } from 'node:fs/promises';
import { expect, test, vi } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import { isOpen } from '../../src/config/settings.ts';
import { jsonLines, run, workplace } from './tools.ts';

const all = ['slack', 'google-sheets', 'email', 'webhook'];
/** Every choice of tools. */
const choices = Array.from({ length: 2 ** all.length - 1 }, (_, n) =>
  all.filter((__, place) => (n + 1) & (1 << place)).join(','),
);
const env = {
  SLACK_BOT_TOKEN: 'xoxb-1',
  SHEET_ID: 'x',
  SMTP_URL: 'smtp://localhost',
  MAIL_FROM: 'a@example.com',
  ATS_URL: 'https://ats.example.org/x',
};
const flags = ['--channel', '#hiring', '--to', 'hiring@example.com'];

test.each(choices)('what it writes is good, and has a scenario for each rule: %s', async (tools) => {
  const { folder } = await workplace();
  const file = `${folder}/new.yaml`;
  const named = ['--test', '1234567=Backend Engineer: "TypeScript" ${x}', '--test', '7'];
  const { code, out } = await run(['init', '--out', file, '--tools', tools, ...flags, ...named]);
  expect(code).toBe(0);
  expect(out).toContain(`candidate-connector --config ${file} check --live`);
  const { code: good, out: said, err } = await run(['check', '--strict', file], env);
  expect({ good, err }).toEqual({ good: 0, err: '' });
  const [, names = ''] = /^ {2}set (.*) in the environment$/m.exec(out) ?? [];
  const unset = await run(['check', '--strict', file]);
  expect(unset).toMatchObject({ code: 1, out: expect.not.stringContaining('is good') });
  for (const name of names.split(', '))
    expect(unset.out).toContain(`the environment variable ${name} is not set`);
  const rules = (await readFile(file, 'utf8')).match(/^ {2}- name: /gm) ?? [];
  expect(said).toContain(`${rules.length} scenario`);
  const [routes] = jsonLines<{ routes: { nobody: boolean }[] }>(await run(['routes', '--json', file]));
  expect(routes?.routes.filter(({ nobody }) => nobody)).toEqual([]);
  const { out: explained } = await run(['explain', '--status', 'Completed', '--test', '1234567', file], env);
  const isNamed = !/^(google-sheets,)?webhook$/.test(tools);
  expect(explained.includes('TypeScript')).toBe(isNamed || tools.includes('google-sheets'));
});

test('it proposes a password of its own for the operations page, which the config then asks for', async () => {
  const { folder } = await workplace();
  const proposed = async (name: string) => {
    const file = `${folder}/${name}`;
    const { out } = await run(['init', '--out', file, '--tools', 'webhook']);
    const [, password = ''] = /^ {2}export ADMIN_PASSWORD=([\w-]+) /m.exec(out) ?? [];
    return { file, password };
  };
  const [one, other] = [await proposed('one.yaml'), await proposed('other.yaml')];
  expect(one.password).toMatch(/^.{24}$/);
  expect(other.password).not.toBe(one.password);
  const { admin } = await loadConfig(one.file, { connectors, env: { ...env, ADMIN_PASSWORD: one.password } });
  expect([isOpen(admin), admin.password?.reveal()]).toEqual([false, one.password]);
});

test('it says where editors find the schema, where the image knows', async () => {
  const { folder } = await workplace();
  const url = 'https://forge.example.com/raw/v1/config.schema.json';
  const write = async (name: string, known: Record<string, string>) => {
    const file = `${folder}/${name}`;
    expect(await run(['init', '--out', file, '--tools', 'webhook'], known)).toMatchObject({ code: 0 });
    return readFile(file, 'utf8');
  };
  const without = await write('without.yaml', { CONNECTOR_SCHEMA: '' });
  expect(await write('with.yaml', { CONNECTOR_SCHEMA: url })).toBe(
    `# yaml-language-server: $schema=${url}\n${without}`,
  );
});

test('it takes UTC where the machine does not say its time zone, and has no catalog without tests', async () => {
  vi.stubEnv('TZ', '');
  const { folder } = await workplace();
  const file = `${folder}/new.yaml`;
  try {
    expect(await run(['init', '--out', file, '--tools', 'webhook'])).toMatchObject({ code: 0, err: '' });
  } finally {
    vi.unstubAllEnvs();
  }
  const text = await readFile(file, 'utf8');
  expect(text).toContain('timezone: UTC #');
  expect(text).not.toContain('catalog');
});

test('in a clone it says how to call it there, with a path that a shell takes', async () => {
  const { folder } = await workplace();
  const file = join(folder, "Dana's config.yaml");
  const [root, main] = [join(import.meta.dirname, '../..'), 'src/main.ts'];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [main, 'init', '--out', file, '--tools', 'webhook'],
    { cwd: root },
  );
  const line = stdout.split('\n').find((one) => one.includes('check --live'));
  const help = await promisify(execFile)(process.execPath, [main, 'events', '--help'], { cwd: root });
  expect(help.stdout).toContain('$ npx node src/main.ts events');
  const elsewhere = await promisify(execFile)(process.execPath, [join(root, main), 'events', '--help'], {
    cwd: folder,
  });
  expect(elsewhere.stdout).toContain(`$ node ${join(root, main)} events`);
  expect(line).toBe(`  npx node src/main.ts --config '${folder}/Dana'\\''s config.yaml' check --live`);
});

test('a place that cannot be written is known before anybody is asked', async () => {
  const { folder } = await workplace();
  const file = `${folder}/none/config.yaml`;
  const ask = async () => expect.unreachable();
  expect(await run(['init', '--config', file], {}, false, ask)).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/none\/config\.yaml cannot be written: ENOENT/),
  });
});

test('it overwrites nothing', async () => {
  const { write } = await workplace();
  const file = await write('config.yaml', 'mine');
  const { code, err } = await run(['init', '--config', file, '--tools', 'webhook']);
  expect({ code, err }).toEqual({
    code: 1,
    err: `candidate-connector: ${file} is there already, and stays as it is; name another file with --out\n`,
  });
  expect(await readFile(file, 'utf8')).toBe('mine');
  // Before anybody is asked.
  const ask = async () => expect.unreachable();
  expect((await run(['init', '--config', file], {}, false, ask)).err).toBe(err);
});

test('on a terminal it asks for what no flag says, until it understands the answer', async () => {
  const { folder } = await workplace();
  const file = `${folder}/new.yaml`;
  const asked: string[] = [];
  const answers = [
    'fax',
    'Slack, mail',
    '',
    '#New Hires',
    '#new',
    'the hiring team',
    'dana@example,com',
    'dana@example.com',
    'x',
    '7=Designer, 8 = Writer',
  ];
  const ask = async (question: string) => {
    asked.push(question);
    return answers.shift() ?? '';
  };
  const { code, err } = await run(['init', '--out', file], {}, false, ask);
  expect(code).toBe(0);
  expect(asked.map((question) => question.slice(0, 11))).toEqual([
    'Which tools',
    'Which tools',
    'Which Slack',
    'Which Slack',
    'Which Slack',
    'To which ad',
    'To which ad',
    'To which ad',
    'Which tests',
    'Which tests',
  ]);
  expect(err.trim().split('\n')).toEqual([
    'the tools are slack, google-sheets, email, webhook: one, or several with commas',
    'It must not be empty.',
    'names of channels have no capitals and no spaces; did you mean "#new-hires"?',
    '"the hiring team" is no email address',
    '"com" is no email address; did you mean "dana@example.com"?',
    'a test is its id, perhaps with a name, as in "1234567=Backend Engineer"; got "x"',
  ]);
  const text = await readFile(file, 'utf8');
  expect(text).toContain('7: { name: "Designer" }\n  8: { name: "Writer" }');
  expect(text).toContain('channel: "#new"');
  expect((await run(['check', '--strict', file], env)).code).toBe(0);
});

test.each([
  [[], 'init asks on a terminal; elsewhere say what to write, as in\n  init --tools slack,email --channel'],
  [['--tools', 'slack'], '--channel is missing, as in\n  init --tools'],
  [['--tools', 'email'], '--to is missing'],
  [['--tools', 'fax'], 'the tools are slack, google-sheets, email, webhook'],
  [['--tools', 'webhook', '--test', 'seven'], 'a test is its id'],
])('without a terminal it says which flags it takes: %j', async (argv, said) => {
  const { folder } = await workplace();
  const { code, err } = await run(['init', '--out', `${folder}/new.yaml`, ...argv]);
  expect(code).toBe(2);
  expect(err).toContain(said);
});

test('an address that is none is refused before anything is written', async () => {
  const { folder } = await workplace();
  const file = `${folder}/new.yaml`;
  const { code, err } = await run(['init', '--out', file, '--tools', 'email', '--to', 'nobody']);
  expect(code).toBe(1);
  expect(err).toBe('candidate-connector: --to: "nobody" is no email address\n');
  await expect(readFile(file)).rejects.toThrow('ENOENT');
});
