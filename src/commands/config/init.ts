import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, constants, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { connectors } from '../../../connectors/index.ts';
import type { Starter } from '../../connector.ts';
import { parseConfig } from '../../config/load.ts';
import { ConfigError, type Problem } from '../../config/text/problems.ts';
import { runScenarios } from '../../scenarios/run.ts';
import { meanConfig, program, shellWord } from '../../support/invocation.ts';
import { printable } from '../../support/text.ts';
import { command, readOption, textOption, type TypedOption, type ValuesOf } from '../command.ts';
import { CommandError, exit, type Io, paint } from '../output.ts';

interface Tool extends Starter {
  readonly name: string;
}

interface WantedTool extends Tool {
  readonly keys: string;
}

interface Test {
  readonly id: number;
  readonly name: string;
}

const tools = [...connectors.values()].flatMap(({ name, describe }): Tool[] =>
  describe ? [{ ...describe.starter, name }] : [],
);
const names = tools.map(({ name }) => name).join(', ');
/** Two tools that tell people. Alerts need two, as one may be what failed. */
const pair = tools.filter(({ tells }) => tells === 'people').slice(0, 2);
const exampleFlags = [
  `--tools ${pair.map(({ name }) => name).join(',')}`,
  ...pair.flatMap(({ asks }) => (asks ? [`--${asks.key} ${shellWord(asks.example)}`] : [])),
  '--test "1234567=Backend Engineer"',
].join(' ');

const declared = {
  out: textOption(
    '--out <file>',
    'the file to write, which must not be there yet; that of --config if not given',
  ),
  tools: textOption('--tools <names>', `what to tell: ${names}, several with commas`),
  test: readOption<readonly string[]>(
    '--test <id=name>',
    'a test and its name; once for each test',
    (one, before = []) => [...before, one],
  ),
  // An option for each thing that tools ask for, such as `channel`.
  ...(Object.fromEntries(
    tools.flatMap(({ asks }) =>
      asks ? [[asks.key, textOption(`--${asks.key} <${asks.takes}>`, asks.meaning)]] : [],
    ),
  ) as Readonly<Record<string, TypedOption<string | undefined>>>),
};

/** Writes a first config from flags or from a person's answers. */
export const init = command({
  name: 'init',
  description: 'write a first config: asks on a terminal, or takes flags',
  examples: ['init', `init --out my.yaml ${exampleFlags}`],
  options: declared,
  async run(given, io) {
    const file = given.out ?? given.config;
    meanConfig(file, io.env);
    const thereAlready = () =>
      new CommandError(`${file} is there already, and stays as it is; name another file with --out`);
    const cannotWrite = ({ code, message }: NodeJS.ErrnoException): never => {
      throw code === 'EEXIST' ? thereAlready() : new CommandError(`${file} cannot be written: ${message}`);
    };
    // Known before anything is asked, so that no answers are lost.
    if (existsSync(file)) throw thereAlready();
    await access(dirname(file), constants.W_OK).catch(cannotWrite);
    // The place of this version's JSON Schema, for editors; the image's build knows it.
    const { CONNECTOR_SCHEMA: schema } = io.env;
    const schemaLine = schema ? `# yaml-language-server: $schema=${schema}\n` : '';
    const text = schemaLine + configText(await wishesOf(given, io));
    // Nothing is written that `check` would refuse.
    const { problems } = await runScenarios(parse(text, file));
    if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('\n'));
    await writeFile(file, text, { flag: 'wx' }).catch(cannotWrite);
    io.out(nextSteps(file, text, io));
    return exit.ok;
  },
});

/** The file has no sample values for variables that are not set yet: these would hide that one is missing. */
const parse = (text: string, file: string) =>
  parseConfig(text, file, { env: Object.assign({}, ...tools.map(({ env }) => env)), connectors });

/** What `check` would say of a config with this answer, such as a wrong address. */
function faultsOf(tool: Tool, answer: string): string[] {
  const said = (problems: readonly Problem[]) => [...new Set(problems.map(({ message }) => message))];
  try {
    return said(parse(configText({ tools: [withAnswer(tool, answer)], tests: [] }), '').warnings);
  } catch (error) {
    if (error instanceof ConfigError) return said(error.problems);
    throw error;
  }
}

/** The tools and tests for the config, from flags or by asking. */
async function wishesOf(options: ValuesOf<typeof declared>, io: Io) {
  if (options.tools === undefined && !io.ask)
    throw new CommandError(
      `init asks on a terminal; elsewhere say what to write, as in\n  init ${exampleFlags}`,
      exit.usage,
    );
  /** Asks until the answer can be read. `standard` is what an empty answer means. */
  const ask = async <T>(flag: string, question: string, read: (answer: string) => T, standard = '') => {
    if (!io.ask) throw new CommandError(`${flag} is missing, as in\n  init ${exampleFlags}`, exit.usage);
    for (;;) {
      const answer = await io.ask(`${question}${standard && ` [${standard}]`} `);
      try {
        return read(answer.trim() || standard);
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        io.err(error.message);
      }
    }
  };
  const wanted =
    options.tools === undefined
      ? await ask('--tools', `Which tools (${names})?`, toolList, tools[0]?.name)
      : toolList(options.tools);
  const answers: Readonly<Record<string, unknown>> = { ...options };
  const withKeys: WantedTool[] = [];
  for (const tool of wanted) {
    const { asks } = tool;
    const given = asks && (answers[asks.key] as string | undefined);
    const read = (answer: string) => {
      if (answer === '') throw new CommandError('It must not be empty.', exit.usage);
      const faults = faultsOf(tool, answer);
      if (faults.length === 0) return answer;
      throw new CommandError(`${given === undefined ? '' : `--${asks?.key}: `}${faults.join('\n')}`);
    };
    const answer =
      given === undefined ? asks && (await ask(`--${asks.key}`, asks.question, read)) : read(given);
    withKeys.push(withAnswer(tool, answer));
  }
  const question = 'Which tests, as in 1234567=Backend Engineer, 2345678=Designer? Leave it empty for any.';
  const isAsked = options.test === undefined && options.tools === undefined;
  const parts = (answer: string) => answer.split(',').filter((part) => part.trim() !== '');
  const tests = isAsked
    ? await ask('--test', question, (answer) => testsOf(parts(answer)))
    : testsOf(options.test ?? []);
  return { tools: withKeys, tests };
}

/** Parses names of tools with commas between them. */
function toolList(text: string): Tool[] {
  const words = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '');
  const isNamed = ({ name, aliases = [] }: Tool, word: string) => name === word || aliases.includes(word);
  const wanted = tools.filter((tool) => words.some((word) => isNamed(tool, word)));
  if (wanted.length === 0 || !words.every((word) => tools.some((tool) => isNamed(tool, word))))
    throw new CommandError(`the tools are ${names}: one, or several with commas`, exit.usage);
  return wanted;
}

/** Parses tests such as `1234567=Backend Engineer`, or only the id. Of two with the same id, the last one counts. */
function testsOf(texts: readonly string[]): Test[] {
  const tests = texts.map((text): [number, Test] => {
    const [, id = '', name = ''] = /^\s*(0|-?[1-9]\d{0,15})\s*(?:[=:]\s*(.*?))?\s*$/.exec(text) ?? [];
    const number = id === '' ? Number.NaN : Number(id);
    if (Number.isSafeInteger(number)) return [number, { id: number, name: name || `Test ${id}` }];
    throw new CommandError(
      `a test is its id, perhaps with a name, as in "1234567=Backend Engineer"; got "${printable(text)}"`,
      exit.usage,
    );
  });
  return [...new Map(tests).values()];
}

/** A text as YAML and as a template, in which what looks like a reference is literal. */
const quoted = (text: string): string => JSON.stringify(text.replaceAll('${', () => '$${'));

const withAnswer = (tool: Tool, answer?: string): WantedTool => ({
  ...tool,
  keys: answer === undefined ? (tool.action ?? '') : `${tool.asks?.key}: ${quoted(answer)}`,
});

/** An action as YAML, which is also what a scenario expects of it. */
const written = ({ sink, keys }: WantedTool): string => `{ sink: ${sink}${keys === '' ? '' : `, ${keys}`} }`;

function configText({ tools: wanted, tests }: Awaited<ReturnType<typeof wishesOf>>): string {
  const sinks = wanted.map(({ sink, name, options }) =>
    [`  ${sink}:`, `    connector: ${name}`, ...options.map((line) => `    ${line}`)].join('\n'),
  );
  const catalog = `# What the service's test ids mean to you. Messages have the names; an entry may have other keys of yours, as owner.
catalog:
${tests.map(({ id, name }) => `  ${id}: { name: ${quoted(name)} }`).join('\n')}

`;
  const { rules, scenarios } = rulesText(wanted, tests[0]?.id ?? 1234567);
  // With an empty TZ, this machine has no time zone that a config could name.
  const timeZone = Temporal.Now.timeZoneId().replace('Etc/Unknown', 'UTC');
  return `# A config of Candidate Connector. Change it, and try it with the command "check".
# \${NAME} is taken from the environment.

receiver:
  port: 8080
  # The service's published addresses may call. For a first try on your own machine: any
  allowFrom: published

admin:
  # Without one, the operations page only shows.
  password: \${ADMIN_PASSWORD:-}

timezone: ${timeZone} # of times in messages

${tests.length > 0 ? catalog : ''}# Where messages can go, each under a name of your own.
sinks:
${sinks.join('\n\n')}

# Who hears of what. Every rule that matches applies. What a message says has defaults.
rules:
${rules}

${alertsText(wanted)}# What has to come out of this file; "check" tries each.
scenarios:
${scenarios}
`;
}

/** A rule for each kind of tool, and a scenario for each rule. */
function rulesText(wanted: readonly WantedTool[], testId: number) {
  const telling = (whom: Starter['tells']) => wanted.filter(({ tells }) => tells === whom);
  const [people, lists] = [telling('people'), telling('list')];
  const rules = [
    {
      name: 'completed',
      comment: 'Somebody took the test.',
      statuses: ['Completed'],
      actions: [...people.slice(0, 1), ...lists],
    },
    {
      name: 'no-result',
      comment:
        'There will be no result. A rule may also have testId, or a key of the catalog, as in test.name.',
      statuses: ['DidNotTake', 'Canceled'],
      actions: [...people.slice(people.length > 1 ? 1 : 0), ...lists],
    },
    {
      name: 'ats',
      comment: 'Every event, as JSON.',
      statuses: ['Canceled', 'Completed', 'DidNotTake'],
      actions: telling('program'),
    },
  ].filter(({ actions }) => actions.length > 0);
  const list = (actions: readonly WantedTool[]) => actions.map((one) => `      - ${written(one)}`).join('\n');
  const when = (some: readonly string[]) =>
    some.length === 1
      ? `{ status: ${some[0]} }`
      : some.length === 2
        ? `{ status: [${some.join(', ')}] }`
        : '{}';
  return {
    rules: rules
      .map(({ name, comment, statuses, actions }) =>
        [
          `  # ${comment}`,
          `  - name: ${name}`,
          `    when: ${when(statuses)}`,
          '    then:',
          list(actions),
        ].join('\n'),
      )
      .join('\n\n'),
    scenarios: rules
      .flatMap(({ statuses: [status = ''] }) => [
        `  - event: { status: ${status}, testId: ${testId} }`,
        '    expect:',
        list(rules.filter(({ statuses }) => statuses.includes(status)).flatMap(({ actions }) => actions)),
      ])
      .join('\n'),
  };
}

function alertsText(wanted: readonly WantedTool[]): string {
  const two = wanted.filter(({ tells }) => tells === 'people').slice(0, 2);
  const samples = pair.map((tool) => withAnswer(tool, tool.asks?.example));
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

function nextSteps(file: string, text: string, io: Io): string {
  const variables = [...new Set([...text.matchAll(/^\s+\w+: \$\{(\w+)\}/gm)].map(([, name]) => name))];
  return [
    `${paint(io, 'bold', file)} is written. What next:`,
    `  set ${variables.join(', ')} in the environment`,
    `  export ADMIN_PASSWORD=${randomBytes(18).toString('base64url')} # the operations page asks for it`,
    `  ${program} check --live`,
    `  ${program} serve`,
  ].join('\n');
}
