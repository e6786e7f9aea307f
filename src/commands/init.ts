import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../config/load.ts';
import { runScenarios } from '../scenarios/run.ts';
import { program, shellWord } from '../support/program.ts';
import { printable } from '../support/text.ts';
import { CommandError, exit, type Io, paint } from './output.ts';
import type { ConfigOption } from './with-store.ts';

const tools = ['slack', 'google-sheets', 'email', 'webhook'] as const;
type Tool = (typeof tools)[number];

interface Test {
  readonly id: number;
  readonly name: string | null;
}

interface InitOptions extends ConfigOption {
  readonly out?: string;
  /** As written on the command line. */
  readonly tools?: string;
  readonly channel?: string;
  readonly to?: string;
  readonly test?: readonly string[];
}

/** What the config is made of. `channel` is there with Slack, and `to` with email. */
interface Wishes {
  readonly tools: readonly Tool[];
  readonly channel: string;
  readonly to: string;
  readonly tests: readonly Test[];
}

/** Writes a first config, by what the flags say or a person answers. */
export async function init(options: InitOptions, io: Io): Promise<number> {
  const file = options.out ?? options.config;
  const text = configText(await wishesOf(options, io));
  // Nothing is written that `check` would refuse, such as an address that is none.
  const config = parseConfig(text, file, { env: standIns, connectors });
  const { problems } = await runScenarios(config);
  if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('\n'));
  await write(file, text);
  io.out(nextSteps(file, text, io));
  return exit.ok;
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new CommandError(`${file} is there already, and stays as it is; name another file with --out`);
    throw new CommandError(`${file} cannot be written: ${message}`);
  }
}

const example =
  'init --tools slack,email --channel "#hiring" --to hiring@example.com --test "1234567=Backend Engineer"';

async function wishesOf(options: InitOptions, io: Io): Promise<Wishes> {
  const ask = asking(io);
  if (options.tools === undefined && !io.ask)
    throw new CommandError(
      `init asks on a terminal; elsewhere say what to write, as in\n  ${example}`,
      exit.usage,
    );
  const wanted =
    options.tools === undefined
      ? await ask('--tools', `Which tools (${tools.join(', ')})?`, toolList, 'slack')
      : toolList(options.tools);
  const given = async (tool: Tool, flag: string, known: string | undefined, question: string) =>
    wanted.includes(tool) ? (known ?? (await ask(flag, question, notEmpty))) : '';
  const channel = await given('slack', '--channel', options.channel, 'Which Slack channel, as in #hiring?');
  const to = await given('email', '--to', options.to, 'To which address do mails go?');
  const question = 'Which tests, as in 1234567=Backend Engineer, 2345678=Designer? Leave it empty for any.';
  const isAsked = options.test === undefined && options.tools === undefined;
  const tests = isAsked ? await ask('--test', question, testList, '') : testsOf(options.test ?? []);
  return { tools: wanted, channel, to, tests };
}

/** Asks until the answer can be read. `standard` is what an empty answer means. */
function asking(io: Io) {
  return async <T>(flag: string, question: string, read: (answer: string) => T, standard?: string) => {
    if (!io.ask) throw new CommandError(`${flag} is missing, as in\n  ${example}`, exit.usage);
    for (;;) {
      const answer = await io.ask(`${question}${standard ? ` [${standard}]` : ''} `);
      try {
        return read(answer.trim() || (standard ?? ''));
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        io.err(error.message);
      }
    }
  };
}

function notEmpty(text: string): string {
  if (text === '') throw new CommandError('It must not be empty.', exit.usage);
  return text;
}

const otherNames: Readonly<Record<string, Tool>> = {
  sheets: 'google-sheets',
  sheet: 'google-sheets',
  mail: 'email',
};

/** `slack,email`. */
function toolList(text: string): Tool[] {
  const names = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((name) => name !== '');
  const found = new Set(names.map((name) => tools.find((tool) => tool === name) ?? otherNames[name]));
  const wanted = tools.filter((tool) => found.has(tool));
  if (wanted.length === 0 || found.has(undefined))
    throw new CommandError(`the tools are ${tools.join(', ')}: one, or several with commas`, exit.usage);
  return wanted;
}

/** `1234567=Backend Engineer`, or only the id. */
function testOf(text: string): Test {
  const [, id = '', name = ''] = /^\s*(0|-?[1-9]\d{0,15})\s*(?:[=:]\s*(.*?))?\s*$/.exec(text) ?? [];
  if (id !== '' && Number.isSafeInteger(Number(id))) return { id: Number(id), name: name || null };
  throw new CommandError(
    `a test is its id, perhaps with a name, as in "1234567=Backend Engineer"; got "${printable(text)}"`,
    exit.usage,
  );
}

/** The last one counts of those with the same id. */
const testsOf = (texts: readonly string[]): Test[] => [
  ...new Map(texts.map(testOf).map((test) => [test.id, test])).values(),
];

const testList = (text: string): Test[] => testsOf(text.split(',').filter((part) => part.trim() !== ''));

/** A text as YAML and as a template: what looks like a reference stays as it is. */
const quoted = (text: string): string => JSON.stringify(text.replaceAll('${', () => '$${'));

/** For the values from outside that are not set yet. They are not in the file: there they would hide that one is missing. */
const standIns = {
  SLACK_BOT_TOKEN: 'xoxb-1',
  SHEET_ID: '1',
  SMTP_URL: 'smtp://localhost',
  MAIL_FROM: 'hiring@example.com',
  ATS_URL: 'https://ats.example.com/hooks',
};

const sinks: { readonly [tool in Tool]: string } = {
  slack: `  slack:
    connector: slack
    token: \${SLACK_BOT_TOKEN} # the bot token of your Slack app, xoxb-…`,
  'google-sheets': `  sheet:
    connector: google-sheets
    spreadsheetId: \${SHEET_ID} # from the sheet's address: docs.google.com/spreadsheets/d/…
    credentials: \${GOOGLE_CREDENTIALS:-adc} # the service account's JSON or its file; adc: those of this machine`,
  email: `  mail:
    connector: email
    url: \${SMTP_URL} # smtp://user:password@host:587 or smtps://…:465
    from: \${MAIL_FROM} # as in hiring@example.com`,
  webhook: `  ats:
    connector: webhook
    url: \${ATS_URL} # https://…, the system that gets every event
    # secret: \${ATS_SECRET} # signs every call, as standardwebhooks.com says`,
};

interface Rule {
  readonly name: string;
  readonly comment: string;
  readonly when: string;
  /** One of its events. */
  readonly status: string;
  readonly actions: readonly Written[];
}

/** An action, and what a scenario expects of it. */
interface Written {
  readonly sink: string;
  readonly keys: string;
}

function rulesOf({ tools: wanted, channel, to }: Wishes): Rule[] {
  const has = (tool: Tool) => wanted.includes(tool);
  const slack = has('slack') ? [{ sink: 'slack', keys: `channel: ${quoted(channel)}` }] : [];
  const mail = has('email') ? [{ sink: 'mail', keys: `to: ${quoted(to)}` }] : [];
  const sheet = has('google-sheets') ? [{ sink: 'sheet', keys: 'tab: Results' }] : [];
  const ats = has('webhook') ? [{ sink: 'ats', keys: '' }] : [];
  const [first = [], second = first] = [slack, mail].filter((one) => one.length > 0);
  const rules: Rule[] = [
    {
      name: 'completed',
      comment: 'Somebody took the test.',
      when: '{ status: Completed }',
      status: 'Completed',
      actions: [...first, ...sheet],
    },
    {
      name: 'no-result',
      comment:
        'There will be no result. A rule may also have testId, or a key of the catalog, as in test.name.',
      when: '{ status: [DidNotTake, Canceled] }',
      status: 'DidNotTake',
      actions: [...second, ...sheet],
    },
    {
      name: 'ats',
      comment: 'Every event, as JSON.',
      when: '{}',
      status: 'Canceled',
      actions: ats,
    },
  ];
  return rules.filter(({ actions }) => actions.length > 0);
}

const written = ({ sink, keys }: Written): string => `{ sink: ${sink}${keys === '' ? '' : `, ${keys}`} }`;

function ruleText({ name, comment, when, actions }: Rule): string {
  const then = actions.map((action) => `      - ${written(action)}`);
  return [`  # ${comment}`, `  - name: ${name}`, `    when: ${when}`, '    then:', ...then].join('\n');
}

/** What comes of an event: the actions of all rules that match it, in order. */
function scenarioText({ status }: Rule, rules: readonly Rule[], testId: number): string {
  const matches = ({ when }: Rule) => when === '{}' || when.includes(status);
  const actions = rules.filter(matches).flatMap((rule) => rule.actions);
  return [
    `  - event: { status: ${status}, testId: ${testId} }`,
    '    expect:',
    ...actions.map((action) => `      - ${written(action)}`),
  ].join('\n');
}

const anyTest = 1234567;

function catalogText(tests: readonly Test[]): string {
  const entries = tests.map(({ id, name }) => `  ${id}: { name: ${quoted(name ?? `Test ${id}`)} }`);
  return `# What the service's test ids mean to you. Messages have the names; an entry may have other keys of yours, as owner.
catalog:
${entries.join('\n')}

`;
}

/** Alerts need two ways, as one may be what failed. */
function alertsText({ tools: wanted, channel, to }: Wishes): string {
  if (!wanted.includes('slack') || !wanted.includes('email'))
    return `# Who is told when the connector itself needs a person. That takes two sinks, as one may be what failed.
# alerts:
#   dead: { then: [{ sink: mail, to: ops@example.com }, { sink: slack, channel: '#ops' }] }

`;
  const both = `[{ sink: slack, channel: ${quoted(channel)} }, { sink: mail, to: ${quoted(to)} }]`;
  return `# Who is told when the connector itself needs a person; by two sinks, as one may be what failed.
alerts:
  dead: { then: ${both} } # deliveries were given up
  paused: { then: ${both} } # a sink is down
  config: { then: ${both} } # a change of this file was refused
  refused: { then: ${both} } # events were refused
  silence: { after: 7d, then: ${both} } # no event came for so long

`;
}

/** This machine's. Where its environment has an empty TZ, it has none that a config could name. */
const timeZone = (): string => Temporal.Now.timeZoneId().replace('Etc/Unknown', 'UTC');

function configText(wishes: Wishes): string {
  const rules = rulesOf(wishes);
  const testId = wishes.tests[0]?.id ?? anyTest;
  return `# A config of Candidate Connector. Change it, and try it with "${program} check".
# \${NAME} is taken from the environment.

receiver:
  port: 8080
  # The service's published addresses may call. For a first try on your own machine: any
  allowFrom: published

admin:
  password: \${ADMIN_PASSWORD:-} # without one, the operations page only shows

timezone: ${timeZone()} # of times in messages

${wishes.tests.length > 0 ? catalogText(wishes.tests) : ''}# Where messages can go, each under a name of your own.
sinks:
${wishes.tools.map((tool) => sinks[tool]).join('\n\n')}

# Who hears of what. Every rule that matches applies. What a message says has defaults.
rules:
${rules.map(ruleText).join('\n\n')}

${alertsText(wishes)}# What has to come out of this file; "check" tries each.
scenarios:
${rules.map((rule) => scenarioText(rule, rules, testId)).join('\n')}
`;
}

function nextSteps(file: string, text: string, io: Io): string {
  const names = [...new Set([...text.matchAll(/^\s+\w+: \$\{(\w+)\}/gm)].map(([, name]) => name))];
  const config = file === './config.yaml' ? '' : ` --config ${shellWord(file)}`;
  return [
    `${paint(io, 'bold', file)} is written. What next:`,
    `  set ${names.join(', ')} in the environment`,
    `  export ADMIN_PASSWORD=${randomBytes(18).toString('base64url')} # the operations page asks for it`,
    `  ${program} check --live${config}`,
    `  ${program} serve${config}`,
  ].join('\n');
}
