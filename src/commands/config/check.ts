import { type CheckedConfig, ConfigError, type Position, type Problem } from '../../config/config.ts';
import { actionsOf, type PlanSource } from '../../config/plan-source.ts';
import { policyProblems } from '../../config/policies/problems.ts';
import { hasSenders, tooShort } from '../../config/settings.ts';
import { bySeverity, formatProblem, inOrder, reportText } from '../../config/text/problems.ts';
import { isMap } from '../../model.ts';
import { allActions, type Plan, unmatchedRule } from '../../rules/plan.ts';
import { runScenarios, type CoverageGap } from '../../scenarios/run.ts';
import { program } from '../../support/invocation.ts';
import { type Path, valueAt } from '../../support/json.ts';
import { count, firstListed, firstOnes, jsonLine, printable } from '../../support/text.ts';
import {
  choiceOption,
  command,
  configFile,
  flag,
  readCandidateId,
  readOption,
  type ValuesOf,
} from '../command.ts';
import { exit, type Io, paint } from '../output.ts';
import { configOf } from '../with-store.ts';
import { checkLive, type LiveOf } from './check-live.ts';
import { tryMessages } from './check-messages.ts';
import { routeWarnings } from './check-routes.ts';

const declared = {
  live: flag('--live', 'also ask each sink; sends nothing'),
  candidate: readOption(
    '--candidate <id>',
    'with --live: make the look-ups for this candidate, named as for events, and show which fields they find, but no values',
    readCandidateId,
  ),
  strict: flag('--strict', 'fail where there are warnings, too'),
  json: flag('--json', 'print one JSON object'),
  format: choiceOption('--format <format>', 'how to print: github makes annotations of a workflow', [
    'text',
    'json',
    'github',
  ]),
};

/** Problems are the result of this command, so they go to stdout. */
export const check = command({
  name: 'check',
  description: 'show everything that is wrong with the config, and run its scenarios',
  examples: [
    'check config.yaml',
    'check --strict --format github   # for a workflow: warnings fail, and stand at their lines',
    'check --live   # also asks each tool: token, scopes, places, login; sends nothing',
    'check --live --candidate 6f1c2d3e   # makes the look-ups for one candidate',
  ],
  options: declared,
  argument: configFile,
  async run(given, io) {
    const report = await reportOf(given, io);
    const { errors, warnings, live } = report;
    const failed = live.flatMap(({ checks }) => checks).filter(({ ok }) => !ok).length;
    const isTooLax = given.strict === true && warnings.length > 0;
    const format = given.json ? 'json' : (given.format ?? 'text');
    if (format === 'text') printText(report, failed, isTooLax, io);
    else if (format === 'json') printJson(report, io);
    else printGithub(report, io);
    return errors.length + failed > 0 || isTooLax ? exit.problems : exit.ok;
  },
});

interface Report {
  readonly file: string;
  /** Null if errors leave no config to check further. */
  readonly config: CheckedConfig | null;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly unreached: readonly CoverageGap[];
  readonly live: readonly LiveOf[];
  /** What was not checked, in sentences. */
  readonly left: readonly string[];
  /** What may be meant, and may not, in sentences. */
  readonly notes: readonly string[];
}

async function reportOf(given: ValuesOf<typeof declared>, io: Io): Promise<Report> {
  try {
    const config = await configOf(given, io);
    const found = await lookOver(config);
    const errors = [...(await optionFaults(config)), ...found.errors];
    const isLive = given.live === true || given.candidate !== undefined;
    const live = isLive ? await checkLive(config, given.candidate) : [];
    const left = [...found.left];
    if (isLive && given.candidate === undefined && config.lookups.size > 0)
      left.push('No look-up was made: "--candidate ID" says for whom.');
    return { file: config.file, config, ...found, errors, live, left };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = bySeverity(error.problems);
    return { file: given.config, config: null, ...problems, unreached: [], live: [], left: [], notes: [] };
  }
}

/** Checks the config alone: reads no other file, and asks no tool. */
export async function lookOver(
  config: CheckedConfig,
): Promise<Pick<Report, 'errors' | 'warnings' | 'unreached' | 'left' | 'notes'>> {
  const { warnings, tried, of } = tryMessages(config, Date.now());
  const routes = routeWarnings(config);
  const { problems, unreached } = await runScenarios(config);
  const policies = bySeverity(policyProblems(config));
  const errors: Problem[] = [...policies.errors, ...problems];
  // `serve` only closes the port, so that an upgrade stops no event.
  const closed = tooShort(config.admin);
  if (closed !== null)
    errors.unshift({
      ...config.at(['admin', closed.key], 'value'),
      severity: 'error',
      message: closed.message,
    });
  const left: string[] = [];
  if (!routes.isAll)
    left.push(`Not all routes were looked at: that takes too long. "${program} routes" shows them.`);
  if (tried < of) left.push(`Of ${of} messages that the rules could send, ${tried} were tried.`);
  return {
    errors,
    warnings: inOrder([...config.warnings, ...routes.warnings, ...warnings, ...policies.warnings]),
    unreached,
    left,
    notes: [...overnight(config.plan), ...inUtc(config), ...keptOut(config), ...routes.notes],
  };
}

/** Faults of options that only their connector can see. */
async function optionFaults({ sinks, at, mask }: CheckedConfig): Promise<Problem[]> {
  const found = await Promise.all(
    [...sinks.values()].map(async ({ name, connector, options: own }): Promise<Problem[]> => {
      const fault = await connector.fault?.(own);
      if (!fault) return [];
      return [{ severity: 'error', ...at(['sinks', name, fault.option]), message: mask(fault.message) }];
    }),
  );
  return found.flat();
}

function printText(
  { file, config, errors, warnings, unreached, live, left, notes }: Report,
  failed: number,
  isTooLax: boolean,
  io: Io,
): void {
  if (!config) return io.out(reportText(file, inOrder([...errors, ...warnings])));
  for (const problem of [...warnings, ...errors]) io.out(formatProblem(file, problem));
  for (const { of, checks } of live) {
    if (checks.length > 0) io.out(paint(io, 'bold', of));
    for (const { ok, what, detail, advice } of checks) {
      const mark = ok ? paint(io, 'green', '✓') : paint(io, 'red', '✗');
      const words = `${what}: ${detail}${ok || advice === undefined ? '' : ` ${advice}`}`;
      io.out(config.mask(`  ${mark} ${printable(words)}`));
    }
  }
  if (errors.length > 0) io.out(count(errors.length, 'error'));
  if (failed > 0) io.out(`${count(failed, 'live check')} failed.`);
  if (isTooLax) io.out(`${count(warnings.length, 'warning')}, and with --strict none may be left.`);
  const isGood = errors.length + failed === 0 && !isTooLax;
  if (isGood) io.out([verdict(config, warnings.length), ...notes.map(config.mask).map(printable)].join('\n'));
  for (const one of left) io.out(one);
  if (isGood && unreached.length > 0) io.out(`No scenario reaches ${unreachedText(unreached, config)}.`);
}

/** The verdict on a config without errors. With warnings it may do less than was meant, so it is not called good. */
export function verdict(config: CheckedConfig, warnings: number): string {
  const parts = [
    count(config.plan.then.length, 'rule'),
    count(config.sinks.size, 'sink'),
    ...(config.plan.lookups.size > 0 ? [count(config.plan.lookups.size, 'look-up')] : []),
    ...(config.policies.length > 0 ? [count(config.policies.length, 'policy')] : []),
    ...(config.scenarios.length > 0 ? [`${count(config.scenarios.length, 'scenario')} as expected`] : []),
  ];
  const judgement = warnings === 0 ? 'is good' : `can be used, with ${count(warnings, 'warning')}`;
  return `${config.file} ${judgement}: ${parts.join(', ')}.`;
}

/** Notes hours that are open over midnight: right for a night shift, else the two times are in the wrong order. */
function overnight(plan: Plan): string[] {
  const all = new Map(allActions(plan).map(({ hours }) => [hours?.name, hours]));
  return [...all.values()].flatMap((hours) => {
    if (!hours || hours.fromMinute < hours.toMinute) return [];
    const [from, to] = [hours.fromMinute, hours.toMinute].map((minute) =>
      Temporal.PlainTime.from('00:00').add({ minutes: minute }).toString({ smallestUnit: 'minute' }),
    );
    return [
      `The hours ${printable(hours.name)} are open over midnight: from ${from} to ${to} on the next day.`,
    ];
  });
}

/** Notes times of day without a time zone. */
function inUtc({ planSource }: CheckedConfig): string[] {
  const said = (path: Path) => valueAt(planSource, path) !== undefined;
  const hours = valueAt(planSource, ['hours']) ?? null;
  const times = [
    ...Object.keys(isMap(hours) ? hours : {})
      .filter((name) => !said(['hours', name, 'timezone']))
      .map((name) => `the hours ${name}`),
    ...actionsOf(planSource as PlanSource).flatMap(({ path }) =>
      said([...path, 'digest', 'at']) && !said([...path, 'digest', 'timezone']) && !said([...path, 'hours'])
        ? ['the time of a digest']
        : [],
    ),
    ...(said(['summary']) ? ['the time of the summary'] : []),
  ];
  if (said(['timezone']) || times.length === 0) return [];
  return [`No timezone is given, so these are by UTC: ${firstListed([...new Set(times)], mostNamed)}.`];
}

/** Notes a list of senders without those that the testing service documents. */
function keptOut({ receiver: { allowFrom } }: CheckedConfig): string[] {
  if (allowFrom === 'any' || hasSenders(allowFrom)) return [];
  return [
    "None of the testing service's own addresses is in receiver.allowFrom: its events are answered 403, unless they arrive from one that is.",
  ];
}

const mostNamed = 5;
const mostUnreached = 10;

function unreachedText(unreached: readonly CoverageGap[], { plan }: CheckedConfig): string {
  const named = unreached.map(({ rule, action }) => {
    const name = rule === unmatchedRule ? '"unmatched"' : `the rule "${rule}"`;
    if (action === null) return name;
    const actions = rule === unmatchedRule ? plan.unmatched : plan.then[plan.rules.names.indexOf(rule)];
    return `action ${action + 1} (${actions?.[action]?.sink}) of ${name}`;
  });
  return printable(firstOnes(named, mostUnreached).join(', '));
}

function printJson({ file, config, errors, warnings, unreached, live, left }: Report, io: Io): void {
  const placed = ({ file: of = file, line, column, message }: Problem) => ({
    file: of,
    line,
    column,
    message,
  });
  const asked = live.flatMap(({ of, checks }) => checks.map((one) => Object.assign({ of }, one)));
  const found = {
    errors: errors.map(placed),
    warnings: warnings.map(placed),
    ...(unreached.length > 0 && {
      unreached: unreached.map(({ line, column, rule, action }) => ({ file, line, column, rule, action })),
    }),
    ...(asked.length > 0 && { live: asked }),
    ...(left.length > 0 && { left }),
  };
  io.out(config ? config.mask(jsonLine(found)) : jsonLine(found));
}

/** Prints annotations of a workflow: https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions */
function printGithub({ file, config, errors, warnings, unreached, live }: Report, io: Io): void {
  const escaped = (text: string) =>
    text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const inFile = (of: string) => `file=${escaped(of).replaceAll(':', '%3A').replaceAll(',', '%2C')}`;
  const print = (kind: string, place: Omit<Position, 'excerpt'> | null, message: string) => {
    const where = inFile(place?.file ?? file) + (place ? `,line=${place.line},col=${place.column}` : '');
    io.out(`::${kind} ${where}::${escaped(message)}`);
  };
  for (const one of inOrder([...errors, ...warnings])) print(one.severity, one, one.message);
  if (!config) return;
  for (const one of unreached)
    print('notice', one, config.mask(`No scenario reaches ${unreachedText([one], config)}.`));
  for (const { of, checks } of live)
    for (const { ok, what, detail } of checks)
      if (!ok) print('error', null, config.mask(`${of}: ${what}: ${detail}`));
}
