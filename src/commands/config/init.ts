import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { connectors } from '../../../connectors/index.ts';
import type { Starter } from '../../connector.ts';
import { parseConfig } from '../../config/load.ts';
import { runScenarios } from '../../scenarios/run.ts';
import { program, shellWord } from '../../support/invocation.ts';
import { printable } from '../../support/text.ts';
import { command, readOption, textOption, type TypedOption, type ValuesOf } from '../command.ts';
import { CommandError, exit, type Io, paint } from '../output.ts';

interface Tool extends Starter {
  readonly name: string;
}

const tools = (): Tool[] =>
  [...connectors.values()].flatMap(({ name, describe }) => (describe ? [{ ...describe.starter, name }] : []));
const names = (): string =>
  tools()
    .map(({ name }) => name)
    .join(', ');

interface Test {
  readonly id: number;
  readonly name: string | null;
}

const declared = () => ({
  out: textOption(
    '--out <file>',
    'the file to write, which must not be there yet; that of --config if not given',
  ),
  tools: textOption('--tools <names>', `what to tell: ${names()}, several with commas`),
  test: readOption<readonly string[]>(
    '--test <id=name>',
    'a test and its name; once for each test',
    (one, before = []) => [...before, one],
  ),
  ...toolOptions(),
});

/** What tools ask for, as `channel`. */
const toolOptions = (): Readonly<Record<string, TypedOption<string | undefined>>> =>
  Object.fromEntries(
    tools().flatMap(({ asks }) =>
      asks ? [[asks.key, textOption(`--${asks.key} <${asks.takes}>`, asks.meaning)]] : [],
    ),
  );
/** A tool with what an action of it says, as YAML. */
interface WantedTool extends Tool {
  readonly keys: string;
}

/** Writes a first config, by what the flags say or a person answers. */
export const init = () =>
  command({
    name: 'init',
    description: 'write a first config: asks on a terminal, or takes flags',
    examples: ['init', `init --out my.yaml ${exampleFlags()}`],
    options: declared(),
    async run(given, io) {
      const file = given.out ?? given.config;
      const text = configText(await wishesOf(given, io));
      // Nothing is written that `check` would refuse, such as an address that is none.
      // Values from outside that are not set yet stand in the file nowhere: there they would hide that one is missing.
      const env: Record<string, string> = Object.assign({}, ...tools().map((tool) => tool.env));
      const config = parseConfig(text, file, { env, connectors });
      const { problems } = await runScenarios(config);
      if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('\n'));
      await write(file, text);
      io.out(nextSteps(file, text, io));
      return exit.ok;
    },
  });

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

/** Two that tell people: alerts need two ways, as one may be what failed. */
const pair = (): Tool[] =>
  tools()
    .filter(({ tells }) => tells === 'people')
    .slice(0, 2);

function exampleFlags(): string {
  const flags = pair().map(({ asks }) => asks && `--${asks.key} ${shellWord(asks.example)}`);
  const wanted = pair().map(({ name }) => name);
  return ['--tools', wanted.join(','), ...flags, '--test "1234567=Backend Engineer"'].join(' ');
}

/** What the config is made of. */
async function wishesOf(options: ValuesOf<ReturnType<typeof declared>>, io: Io) {
  const ask = asking(io);
  if (options.tools === undefined && !io.ask)
    throw new CommandError(
      `init asks on a terminal; elsewhere say what to write, as in\n  init ${exampleFlags()}`,
      exit.usage,
    );
  const wanted =
    options.tools === undefined
      ? await ask('--tools', `Which tools (${names()})?`, toolList, tools()[0]?.name)
      : toolList(options.tools);
  const answers: Readonly<Record<string, unknown>> = { ...options };
  const withKeys: WantedTool[] = [];
  for (const tool of wanted) {
    const { asks } = tool;
    const given = asks && (answers[asks.key] as string | undefined);
    withKeys.push(withAnswer(tool, asks && (given ?? (await ask(`--${asks.key}`, asks.question, notEmpty)))));
  }
  const question = 'Which tests, as in 1234567=Backend Engineer, 2345678=Designer? Leave it empty for any.';
  const isAsked = options.test === undefined && options.tools === undefined;
  const tests = isAsked ? await ask('--test', question, testList, '') : testsOf(options.test ?? []);
  return { tools: withKeys, tests };
}

/** Asks until the answer can be read. `standard` is what an empty answer means. */
function asking(io: Io) {
  return async <T>(flag: string, question: string, read: (answer: string) => T, standard?: string) => {
    if (!io.ask) throw new CommandError(`${flag} is missing, as in\n  init ${exampleFlags()}`, exit.usage);
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

/** Names with commas between them. */
function toolList(text: string): Tool[] {
  const words = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '');
  const found = new Set(
    words.map((word) =>
      tools().findIndex(({ name, aliases = [] }) => name === word || aliases.includes(word)),
    ),
  );
  const wanted = tools().filter((_, at) => found.has(at));
  if (wanted.length === 0 || found.has(-1))
    throw new CommandError(`the tools are ${names()}: one, or several with commas`, exit.usage);
  return wanted;
}

/** Each as `1234567=Backend Engineer`, or only the id. The last one counts of those with the same id. */
function testsOf(texts: readonly string[]): Test[] {
  const tests = texts.map((text): Test => {
    const [, id = '', name = ''] = /^\s*(0|-?[1-9]\d{0,15})\s*(?:[=:]\s*(.*?))?\s*$/.exec(text) ?? [];
    if (id !== '' && Number.isSafeInteger(Number(id))) return { id: Number(id), name: name || null };
    throw new CommandError(
      `a test is its id, perhaps with a name, as in "1234567=Backend Engineer"; got "${printable(text)}"`,
      exit.usage,
    );
  });
  return [...new Map(tests.map((test) => [test.id, test])).values()];
}

const testList = (text: string): Test[] => testsOf(text.split(',').filter((part) => part.trim() !== ''));

/** A text as YAML and as a template: what looks like a reference stays as it is. */
const quoted = (text: string): string => JSON.stringify(text.replaceAll('${', () => '$${'));

const withAnswer = (tool: Tool, answer?: string): WantedTool => ({
  ...tool,
  keys: answer === undefined ? (tool.action ?? '') : `${tool.asks?.key}: ${quoted(answer)}`,
});

interface Rule {
  readonly name: string;
  readonly comment: string;
  readonly when: string;
  /** One of its events. */
  readonly status: string;
  readonly actions: readonly WantedTool[];
}

function rulesOf(wanted: readonly WantedTool[]): Rule[] {
  const telling = (whom: Starter['tells']) => wanted.filter(({ tells }) => tells === whom);
  const [people, lists] = [telling('people'), telling('list')];
  const others = people.length > 1 ? people.slice(1) : people;
  const rules: Rule[] = [
    {
      name: 'completed',
      comment: 'Somebody took the test.',
      when: '{ status: Completed }',
      status: 'Completed',
      actions: [...people.slice(0, 1), ...lists],
    },
    {
      name: 'no-result',
      comment:
        'There will be no result. A rule may also have testId, or a key of the catalog, as in test.name.',
      when: '{ status: [DidNotTake, Canceled] }',
      status: 'DidNotTake',
      actions: [...others, ...lists],
    },
    {
      name: 'ats',
      comment: 'Every event, as JSON.',
      when: '{}',
      status: 'Canceled',
      actions: telling('program'),
    },
  ];
  return rules.filter(({ actions }) => actions.length > 0);
}

/** An action, and what a scenario expects of it. */
const written = ({ sink, keys }: WantedTool): string => `{ sink: ${sink}${keys === '' ? '' : `, ${keys}`} }`;

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

function catalogText(tests: readonly Test[]): string {
  const entries = tests.map(({ id, name }) => `  ${id}: { name: ${quoted(name ?? `Test ${id}`)} }`);
  return `# What the service's test ids mean to you. Messages have the names; an entry may have other keys of yours, as owner.
catalog:
${entries.join('\n')}

`;
}

function alertsText(wanted: readonly WantedTool[]): string {
  const two = wanted.filter(({ tells }) => tells === 'people').slice(0, 2);
  const samples = pair().map((tool) => withAnswer(tool, tool.asks?.example));
  const both = `[${(two.length < 2 ? samples : two).map(written).join(', ')}]`;
  if (two.length < 2)
    return `# Who is told when the connector itself needs a person. That takes two sinks, as one may be what failed.
# alerts:
#   dead: { then: ${both} }

`;
  return `# Who is told when the connector itself needs a person; by two sinks, as one may be what failed.
alerts:
  dead: { then: ${both} } # deliveries were given up
  paused: { then: ${both} } # a sink is down
  config: { then: ${both} } # a change of this file was refused
  refused: { then: ${both} } # events were refused
  silence: { after: 7d, then: ${both} } # no event came for so long

`;
}

function configText({ tools: wanted, tests }: Awaited<ReturnType<typeof wishesOf>>): string {
  const sinks = wanted.map(({ sink, name, options }) =>
    [`  ${sink}:`, `    connector: ${name}`, ...options.map((line) => `    ${line}`)].join('\n'),
  );
  const rules = rulesOf(wanted);
  const testId = tests[0]?.id ?? 1234567;
  // Where the environment of this machine has an empty TZ, it has none that a config could name.
  const timeZone = Temporal.Now.timeZoneId().replace('Etc/Unknown', 'UTC');
  return `# A config of Candidate Connector. Change it, and try it with "${program} check".
# \${NAME} is taken from the environment.

receiver:
  port: 8080
  # The service's published addresses may call. For a first try on your own machine: any
  allowFrom: published

admin:
  password: \${ADMIN_PASSWORD:-} # without one, the operations page only shows

timezone: ${timeZone} # of times in messages

${tests.length > 0 ? catalogText(tests) : ''}# Where messages can go, each under a name of your own.
sinks:
${sinks.join('\n\n')}

# Who hears of what. Every rule that matches applies. What a message says has defaults.
rules:
${rules.map(ruleText).join('\n\n')}

${alertsText(wanted)}# What has to come out of this file; "check" tries each.
scenarios:
${rules.map((rule) => scenarioText(rule, rules, testId)).join('\n')}
`;
}

function nextSteps(file: string, text: string, io: Io): string {
  const variables = [...new Set([...text.matchAll(/^\s+\w+: \$\{(\w+)\}/gm)].map(([, name]) => name))];
  const config = file === './config.yaml' ? '' : ` --config ${shellWord(file)}`;
  return [
    `${paint(io, 'bold', file)} is written. What next:`,
    `  set ${variables.join(', ')} in the environment`,
    `  export ADMIN_PASSWORD=${randomBytes(18).toString('base64url')} # the operations page asks for it`,
    `  ${program} check --live${config}`,
    `  ${program} serve${config}`,
  ].join('\n');
}
