import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { run as runProgram } from '../../src/commands/program.ts';
import { wantsColor } from '../../src/support/text.ts';
import { meanConfig, program } from '../../src/support/invocation.ts';
import { base, run, serving, stack, workplace } from './tools.ts';

/** All commands. test/readme.test.ts holds the docs to the same list. */
const commands = Array.from(
  (await run(['--help'])).out.matchAll(/^ {2}([\w-]+) .*\[options\]/gm),
  ([, name = '']) => name,
);

const root = join(import.meta.dirname, '../..');

describe('help', () => {
  test.each(commands)('of %s has its options and examples', async (command) => {
    const { code, out, err } = await run([command, '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('--config <file>');
    expect(out).toMatch(new RegExp(`\nExamples:\n  \\$ candidate-connector ${command}\\b`));
    const [options = '', examples = ''] = out.split('Examples:');
    const used = examples.matchAll(/ (--[\w-]+)/g);
    for (const [, option = ''] of used) expect(options).toContain(option);
    // The shell of a Mac takes an address with a ? for the pattern of a file, and runs nothing.
    const commandsAlone = examples.replaceAll(/ {3}#.*$/gm, '').replaceAll(/"[^"]*"|'[^']*'/g, '');
    expect(commandsAlone).not.toMatch(/[?*]/);
  });

  test('shows in the line of usage what a command cannot do without', async () => {
    const { out } = await run(['explain', '--help']);
    expect(out).toContain(
      'Usage: candidate-connector explain --status <status> --test <id> [options] [file]\n',
    );
  });
});

test('--version is that of the package', async () => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(await run(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

describe('a usage error exits 2 and says what is wrong', () => {
  test.each([
    [['nonsense'], "unknown command 'nonsense'"],
    [['chekc'], 'Did you mean check?'],
    [['check', '--nonsense'], "unknown option '--nonsense'"],
    [['check', 'one', 'more'], "too many arguments for 'check'"],
    [['explain', '--test', '7'], "required option '--status <status>'"],
    [['explain', '--status', 'Completed'], "required option '--test <id>'"],
    [['explain', '--status', 'Done', '--test', '7'], 'Completed, DidNotTake, Canceled'],
    [['explain', '--status', 'Completed', '--test', 'seven'], 'It must be a whole number.'],
    [['explain', '--status', 'Completed', '--test', '7', '--at', 'noon'], 'a time such as'],
    [
      ['explain', '--status', 'Completed', '--test', '7', '--candidate', ' '],
      'Expected at least one character',
    ],
    [['events', '--since', 'yesterday'], 'a duration such as 30m, 24h or 7d'],
    [['events', '--limit', '0'], 'It must be 1 or more.'],
    [
      ['events', '--rejected', '--status', 'Completed'],
      "'--rejected' cannot be used with option '--status <status>'",
    ],
    [
      ['events', '--notices', '--candidate', 'x'],
      "'--notices' cannot be used with option '--candidate <id>'",
    ],
    [['events', '--notices', '--rejected'], "'--rejected' cannot be used with option '--notices'"],
    [['event'], "missing required argument 'id'"],
    [['backtest'], "missing required argument 'new'"],
    [['replay'], 'name the deliveries to replay, or give --dead, --held or --event'],
    [['replay', '--dead', 'dlv_1'], 'name the deliveries to replay, or give --dead'],
    [['replay', 'dlv_1', '--sink', 'ats'], '--sink, --rule and --since narrow --dead'],
    [['replay', '--dead', '--note', ' '], 'It must be 1 to 500 characters.'],
    [['discard'], 'name the deliveries to discard, or give --dead, --held or --event'],
    [['discard', '--held', 'dlv_1'], 'name the deliveries to discard'],
    [['ignore'], 'say which: --all, --from ADDRESS or --reason store'],
    [['ignore', '--all', '--reason', 'store'], "'--all' cannot be used with option '--reason <reason>'"],
    [['resend'], "missing required argument 'delivery'"],
    [['resend', 'evt_1'], '`candidate-connector event evt_1` lists those of an event'],
    [['apply'], "required option '--rule <name>'"],
    [['apply', '--rule', 'told'], 'nobody can be asked here: give --dry-run to look, or --yes to send'],
    [['events', '--audit', '--sink', 'x'], "'--audit' cannot be used with option '--sink <name>'"],
    [['send', '--url', 'nowhere'], 'expected an http:// or https:// URL'],
    [['send', '--url', 'http://localhost', '--count', '-1'], 'It must be 1 or more.'],
  ])('%j', async (argv, says) => {
    const { code, out, err } = await run(argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(says);
    expect(err).not.toMatch(stack);
  });

  test('without a command, the help comes with it', async () => {
    const { code, out, err } = await run([]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('Usage: candidate-connector');
  });
});

describe('the config', () => {
  const good = (folder: string) => `${base(folder)}\nsinks: {}\nrules: []\n`;

  test('is what --config names, or -c; or it stands after check, serve and explain without the option, once', async () => {
    const { folder, write } = await workplace();
    const file = await write('mine.yaml', good(folder));
    for (const argv of [[file], ['--config', file], ['-c', file]])
      expect(await run(['check', ...argv])).toMatchObject({ code: 0, err: '' });
    const event = ['--status', 'Completed', '--test', '7'];
    expect(await run(['explain', file, ...event])).toMatchObject({ code: 0, err: '' });
    const nowhere = join(folder, 'nowhere.yaml');
    expect((await run(['serve', nowhere])).err).toContain(`${nowhere}:1:1: error: there is no such file`);
    expect(await run(['check', file, '--config', nowhere])).toMatchObject({
      code: 2,
      err: expect.stringContaining('name the config once'),
    });
  });

  test('is else what CONNECTOR_CONFIG names', async () => {
    const { folder, write } = await workplace();
    const file = await write('theirs.yaml', good(folder));
    expect((await run(['check'], { CONNECTOR_CONFIG: file })).out).toContain(`${file} can be used`);
    const other = join(folder, 'other.yaml');
    expect((await run(['check', '--config', other], { CONNECTOR_CONFIG: file })).out).toContain(other);
  });

  test.each([undefined, ''])('is else ./config.yaml (CONNECTOR_CONFIG %j)', async (CONNECTOR_CONFIG) => {
    const { code, out } = await run(['check'], { CONNECTOR_CONFIG });
    expect(code).toBe(1);
    expect(out).toContain('./config.yaml:1:1: error: there is no such file');
    expect(out).toContain('--config FILE or CONNECTOR_CONFIG names another one');
  });
});

describe('what is advised names the config', () => {
  /** Runs a command, and resolves to what it said, as it is. */
  async function saidBy(argv: readonly string[], env = {}) {
    onTestFinished(() => meanConfig(null));
    const err: string[] = [];
    const io = {
      out() {},
      drained: async () => true,
      err: (text: string) => void err.push(text),
      env,
      color: false,
    };
    expect(await runProgram(argv, io)).toBe(1);
    return err.join('');
  }

  test('that it was called with, so that it can be pasted; and none where it is found without', async () => {
    const { folder, write } = await workplace();
    const file = await write("Dana's.yaml", `${base(folder)}\nsinks: {}\nrules: []\n`);
    await (await serving(file)).stop();
    const said = `\`candidate-connector --config '${folder}/Dana'\\''s.yaml' events\` lists`;
    expect(await saidBy(['event', 'evt_nobody', '--config', file])).toContain(said);
    expect(await saidBy(['--config', file, 'event', 'evt_nobody'])).toContain(said);
    const byEnvironment = await saidBy(['event', 'evt_nobody'], { CONNECTOR_CONFIG: file });
    expect(byEnvironment).toContain('`candidate-connector events` lists');
    expect(await run(['-c', file, 'check', '--config', file])).toMatchObject({ code: 2, out: '' });
  });

  test('with its whole path where it is served: the page and notices are read elsewhere', async () => {
    await saidBy(['serve', 'test/nowhere.yaml']);
    expect(program).toBe(`candidate-connector --config ${process.cwd()}/test/nowhere.yaml`);
    await saidBy(['check', '--strict', 'test/nowhere.yaml']);
    expect(program).toBe('candidate-connector --config test/nowhere.yaml');
    await saidBy(['events', '--config', 'config.yaml']);
    expect(program).toBe('candidate-connector');
    await saidBy(['events', '--config', 'config.yaml'], { CONNECTOR_CONFIG: 'test/nowhere.yaml' });
    expect(program).toBe('candidate-connector --config config.yaml');
    await saidBy(['events', '--config', 'test/nowhere.yaml'], { CONNECTOR_CONFIG: 'test/nowhere.yaml' });
    expect(program).toBe('candidate-connector');
  });
});

test('schema prints the committed schema', async () => {
  const { code, out } = await run(['schema']);
  expect(code).toBe(0);
  expect(out).toBe(await readFile(join(root, 'config.schema.json'), 'utf8'));
});

test('a store that cannot be used is said in plain words', async () => {
  const { folder, write } = await workplace();
  await write('connector.db', 'This is no database. '.repeat(100));
  const file = await write('config.yaml', `${base(folder)}\nsinks: {}\nrules: []\n`);
  const { code, err } = await run(['events', '--config', file]);
  expect(code).toBe(1);
  expect(err).toMatch(
    /^candidate-connector: the store cannot be used: .*connector\.db is not a SQLite database\.\n$/,
  );
});

test('a bug keeps its stack: it is not taken for a mistake of the user', async () => {
  const out = () => {
    throw new TypeError('a bug');
  };
  const io = { out, drained: async () => true, err: () => {}, env: {}, color: false };
  await expect(runProgram(['schema'], io)).rejects.toThrow(TypeError);
});

test('a status is understood however it is written', async () => {
  const { folder, write } = await workplace();
  const file = await write(
    'config.yaml',
    `${base(folder)}sinks: { log: { connector: webhook, url: https://x.example } }\nrules: [{ name: all, when: {}, then: [{ sink: log }] }]\n`,
  );
  const { code, out } = await run(['explain', '--config', file, '--status', 'didnottake', '--test', '1'], {});
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('DidNotTake') });
});

test.each([
  [true, {}, true],
  [undefined, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [undefined, { FORCE_COLOR: '1' }, true],
  [true, { FORCE_COLOR: '0' }, false],
])('on a terminal: %s, with %o, there are colours: %s', (isTTY, env, expected) => {
  expect(wantsColor(isTTY === undefined ? {} : { isTTY }, env)).toBe(expected);
});
