import { needsRetry, sinkState, sinkStates } from '../needs.ts';
import { inLastHour } from '../status.ts';
import type { Reads } from '../store/store.ts';
import { program } from '../support/program.ts';
import {
  type CheckedConfig,
  type Config,
  ConfigError,
  type Problem,
  type SinkConfig,
} from '../config/config.ts';
import { pathOf } from '../config/plan-source.ts';
import { formatProblem, inOrder, reportText } from '../config/text/problems.ts';
import { tooShort } from '../config/settings.ts';
import { type LiveCheck, mayRotate, type RefreshTokens } from '../connector.ts';
import { prepare } from '../deliveries/prepare.ts';
import {
  type Event,
  type Json,
  type JsonMap,
  type Notice,
  type Outcome,
  type RaisedNotice,
  statuses,
} from '../model.ts';
import { type Action, allActions, type Plan, unmatchedRule } from '../rules/plan.ts';
import { runScenarios, type Unreached } from '../scenarios/run.ts';
import { strings, valueAt } from '../support/json.ts';
import { checkStore, glanceAt, openStore } from '../store/open.ts';
import { keptRefreshTokens } from '../store/refresh-tokens.ts';
import { StoreUnavailable } from '../store/store.ts';
import { sampleEvent } from '../templates/data.ts';
import { templateKind } from '../templates/template.ts';
import { count, jsonLine, printable } from '../support/text.ts';
import { exit, type Io, paint } from './output.ts';
import { routeWarnings, warningAt } from './routes.ts';
import { configOf, type ConfigOption } from './with-store.ts';

interface CheckOptions extends ConfigOption {
  readonly live?: boolean;
  readonly strict?: boolean;
  readonly json?: boolean;
  readonly format?: 'text' | 'json' | 'github';
}

/** What a check found. */
interface Report {
  readonly file: string;
  /** Null if it has errors that leave no config to check further. */
  readonly config: CheckedConfig | null;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** See Tried. */
  readonly unreached: readonly Unreached[];
  readonly live: readonly LiveOf[];
  /** What was not looked at. */
  readonly left: readonly string[];
}

/** Its problems are what it was asked for, so they go to stdout like all that people read. */
export async function check(options: CheckOptions, io: Io): Promise<number> {
  const report = await reportOf(options, io);
  const failed = report.live.flatMap(({ checks }) => checks).filter(({ ok }) => !ok).length;
  const strict = options.strict === true && report.warnings.length > 0;
  const print = { text: printText, json: printJson, github: printGithub };
  print[options.json ? 'json' : (options.format ?? 'text')](report, { failed, strict }, io);
  return report.errors.length + failed > 0 || strict ? exit.problems : exit.ok;
}

async function reportOf(options: CheckOptions, io: Io): Promise<Report> {
  const config = await configOf(options, io).catch(asProblems);
  if ('problems' in config) {
    const { error = [], warning = [] } = Object.groupBy(config.problems, ({ severity }) => severity);
    return {
      file: options.config,
      config: null,
      errors: error,
      warnings: warning,
      unreached: [],
      live: [],
      left: [],
    };
  }
  const { errors, ...looked } = await lookOver(config);
  return {
    file: config.file,
    config,
    ...looked,
    errors: [...(await optionFaults(config)), ...errors],
    live: options.live ? await checkLive(config) : [],
  };
}

/** What is found by the config alone: nothing else is read, and nobody is asked. */
export async function lookOver(
  config: CheckedConfig,
): Promise<Pick<Report, 'errors' | 'warnings' | 'unreached' | 'left'>> {
  const { warnings, tried, of } = tryMessages(config, Date.now());
  const routes = routeWarnings(config);
  const found = [...config.warnings, ...routes.warnings, ...warnings];
  const { problems, unreached } = await runScenarios(config);
  const closed = tooShort(config.admin);
  return {
    // What serves goes on with it, so that an upgrade stops no event.
    errors: [
      ...(closed === null
        ? []
        : [{ ...config.at(['admin', 'password'], 'value'), ...asError, message: closed }]),
      ...problems,
    ],
    warnings: inOrder(found),
    unreached,
    left: [
      ...(routes.isAll
        ? []
        : [`Not all routes were looked at: that takes too long. "${program} routes" shows them.`]),
      ...(tried === of ? [] : [`Of ${of} messages that the rules could send, ${tried} were tried.`]),
    ],
  };
}

const asError = { severity: 'error' } as const;

function asProblems(error: unknown): ConfigError {
  if (error instanceof ConfigError) return error;
  throw error;
}

interface Failed {
  /** How many live checks failed. */
  readonly failed: number;
  /** Warnings make the check fail, and there are some. */
  readonly strict: boolean;
}

function printText(
  { file, config, errors, warnings, unreached, live, left }: Report,
  { failed, strict }: Failed,
  io: Io,
): void {
  if (!config) return io.out(reportText(file, inOrder([...errors, ...warnings])));
  for (const problem of [...warnings, ...errors]) io.out(formatProblem(file, problem));
  for (const { of, checks } of live) {
    if (checks.length > 0) io.out(paint(io, 'bold', of));
    for (const one of checks) io.out(config.mask(liveText(one, io)));
  }
  if (errors.length > 0) io.out(count(errors.length, 'error'));
  if (failed > 0) io.out(`${count(failed, 'live check')} failed.`);
  if (strict) io.out(`${count(warnings.length, 'warning')}, and with --strict none may be left.`);
  if (errors.length + failed > 0 || strict) return;
  io.out(summary(config, warnings.length));
  for (const one of [...overnight(config.plan), ...left]) io.out(one);
  if (unreached.length > 0) io.out(`No scenario reaches ${unreachedText(unreached, config)}.`);
}

/** Right for a night shift; elsewhere, the two times stand the wrong way round. */
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

const mostUnreached = 10;

function unreachedText(unreached: readonly Unreached[], config: CheckedConfig): string {
  const more = unreached.length - mostUnreached;
  const named = unreached.slice(0, mostUnreached).map((one) => nameOf(one, config));
  return printable([...named, ...(more > 0 ? [`${more} more`] : [])].join(', '));
}

function nameOf({ rule, action }: Unreached, { plan }: CheckedConfig): string {
  const name = rule === unmatchedRule ? '"unmatched"' : `the rule "${rule}"`;
  if (action === null) return name;
  const actions = rule === unmatchedRule ? plan.unmatched : plan.then[plan.rules.names.indexOf(rule)];
  return `action ${action + 1} (${actions?.[action]?.sink}) of ${name}`;
}

function printJson(
  { file, config, errors, warnings, unreached, live, left }: Report,
  _failed: Failed,
  io: Io,
): void {
  const placed = ({ line, column, message }: Problem) => ({ file, line, column, message });
  const mask = (text: string) => config?.mask(text) ?? text;
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
  io.out(mask(jsonLine(found)));
}

/** Annotations of a workflow: https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions */
function printGithub(
  { file, config, errors, warnings, unreached, live }: Report,
  _failed: Failed,
  io: Io,
): void {
  for (const { severity, line, column, message } of inOrder([...errors, ...warnings]))
    io.out(`::${severity} ${githubPlace(file, line, column)}::${githubText(message)}`);
  for (const one of config ? unreached : []) {
    const message = `No scenario reaches ${unreachedText([one], config!)}.`;
    io.out(`::notice ${githubPlace(file, one.line, one.column)}::${githubText(config!.mask(message))}`);
  }
  for (const { of, checks } of live)
    for (const { ok, what, detail } of checks)
      if (!ok)
        io.out(
          `::error file=${githubProperty(file)}::${githubText(config?.mask(`${of}: ${what}: ${detail}`) ?? '')}`,
        );
}

const githubPlace = (file: string, line: number, column: number): string =>
  `file=${githubProperty(file)},line=${line},col=${column}`;
const githubText = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const githubProperty = (text: string): string =>
  githubText(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** With warnings it may do less than was meant, so it is not called good. */
export function summary(config: CheckedConfig, warnings: number): string {
  const parts = [
    count(config.plan.then.length, 'rule'),
    count(config.sinks.size, 'sink'),
    ...(config.scenarios.length > 0 ? [`${count(config.scenarios.length, 'scenario')} as expected`] : []),
  ];
  const judgement = warnings === 0 ? 'is good' : `can be used, with ${count(warnings, 'warning')}`;
  return `${config.file} ${judgement}: ${parts.join(', ')}.`;
}

async function optionFaults({ sinks, at, mask }: CheckedConfig): Promise<Problem[]> {
  const found = await Promise.all(
    [...sinks.values()].map(async ({ name, connector, options }): Promise<Problem[]> => {
      const fault = await connector.fault?.(options);
      if (!fault) return [];
      return [{ severity: 'error', ...at(['sinks', name, fault.option]), message: mask(fault.message) }];
    }),
  );
  return found.flat();
}

/** What a sink, or the store, was asked. */
interface LiveOf {
  readonly of: string;
  readonly checks: readonly LiveCheck[];
}

async function checkLive(config: Config): Promise<LiveOf[]> {
  await using ending = new AsyncDisposableStack();
  const refreshTokens = await keptTokens(config, ending);
  const known = await glanceAt(config.store.url, readSinks);
  return await Promise.all([
    checkItsStore(config),
    ...Array.from(config.sinks.values(), async (sink) => ({
      of: `${sink.name} (${sink.connector.name})`,
      checks: [...(await checkSink(config, sink, refreshTokens)), ...fares(sink.name, known)],
    })),
  ]);
}

const readSinks = async (reads: Pick<Reads, 'sinkFigures' | 'pauses'>) => ({
  pauses: await reads.pauses(),
  figures: await reads.sinkFigures(Date.now()),
});

/** A tool may answer every question and take no message: the store knows whether it takes them. */
function fares(name: string, known: Awaited<ReturnType<typeof readSinks>> | null): LiveCheck[] {
  const figures = known?.figures.find(({ sink }) => sink === name) ?? null;
  const pause = known?.pauses.find(({ sink }) => sink === name) ?? null;
  const state = sinkState(figures, pause !== null);
  if (!needsRetry(state)) return [];
  const because = (pause?.because ?? figures?.because)?.detail.replace(/\.?$/, '');
  const lately = figures ? inLastHour(figures) : [];
  const words = [`the sink is ${sinkStates[state]}`, ...lately].join(', ');
  const detail = `${words}${because === undefined ? '' : `: ${because}`}.`;
  const advice = `When that is put right, ${program} retry ${name} tries it.`;
  return [{ ok: false, what: 'messages go out', detail, advice }];
}

/** Asking for an access token may use up the refresh token: the one that is given instead has to be kept, too. */
async function keptTokens({ store: { url, secretKey }, sinks }: Config, ending: AsyncDisposableStack) {
  if (secretKey === null || ![...sinks.values()].some(({ options }) => mayRotate(options))) return undefined;
  const store = ending.adopt(await openStore(url, { serve: false }), (it) => it.close());
  return keptRefreshTokens(store, secretKey, (message, cause) => {
    throw new StoreUnavailable(message, { cause });
  });
}

async function checkItsStore({ store }: Config): Promise<LiveOf> {
  const of = 'store (PostgreSQL)';
  try {
    const detail = await checkStore(store.url);
    return { of, checks: detail === null ? [] : [{ ok: true, what: 'connect', detail }] };
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return { of, checks: [{ ok: false, what: 'connect', detail: error.message }] };
  }
}

/** Asks one sink all that can be asked without sending; a fault on the way is a failed check, not an end of the others. */
async function checkSink(
  config: Config,
  { name, connector, options, timeoutMs }: SinkConfig,
  refreshTokens: RefreshTokens | undefined,
): Promise<LiveCheck[]> {
  try {
    const sink = await connector.connect(options, refreshTokens);
    const messages = sampleMessages(config, name, Date.now());
    return await sink.check(messages, AbortSignal.timeout(timeoutMs)).finally(() => sink.close());
  } catch (error) {
    return [{ ok: false, what: 'set up', detail: error instanceof Error ? error.message : String(error) }];
  }
}

function liveText({ ok, what, detail, advice }: LiveCheck, io: Io): string {
  const mark = ok ? paint(io, 'green', '✓') : paint(io, 'red', '✗');
  return `  ${mark} ${printable(`${what}: ${detail}${ok || advice === undefined ? '' : ` ${advice}`}`)}`;
}

const mostMessages = 200;
const notInCatalog = 0;
/** For templates that take long. */
const triedForMs = 2000;
/** So many are tried besides one of each kind. */
const mostAlike = 500;
/** So much is said of one action; further reasons and tests follow when these are fixed. */
const mostReasons = 3;
const mostTests = 3;

/**
 * What the rules could send to a sink: each of its actions for each test of the catalog, without repeats. For asking
 * a tool whether it would take them; `now` is when the sample events come.
 */
export function sampleMessages(config: Config, sinkName: string, now: number): Json[] {
  const { plan, sinks } = config;
  const sink = sinks.get(sinkName);
  if (!sink) return [];
  const tests = [...plan.testIds, notInCatalog];
  const ofEvents = [...plan.then.flat(), ...plan.unmatched].flatMap((action) =>
    tests.map((testId) => ({ action, about: { events: [sampleEvent({ testId }, now)], notice: null } })),
  );
  const told = [...plan.alerts, ...(plan.summary ? [{ ...plan.summary, kind: 'summary' as const }] : [])];
  const ofAlerts = told.flatMap(({ kind, actions }) =>
    actions.map((action) => ({ action, about: { events: [], notice: sampleNotice(kind, now) } })),
  );
  const messages = new Map<string, Json>();
  for (const { action, about } of [...ofEvents, ...ofAlerts]) {
    if (action.sink !== sinkName) continue;
    if (messages.size >= mostMessages) break;
    const prepared = prepare(action, about, 'dlv_sample', plan, sink, now);
    if ('message' in prepared) messages.set(JSON.stringify(prepared.message), prepared.message);
  }
  return [...messages.values()];
}

interface Tried {
  readonly warnings: readonly Problem[];
  readonly tried: number;
  readonly of: number;
}

/** A warning where a message cannot be made as written for an event that its rule takes: at the action, with the tests. */
export function tryMessages(config: CheckedConfig, now: number): Tried {
  const until = performance.now() + triedForMs;
  const samples = due(config.plan, now);
  const failures: Failure[] = [];
  let tried = 0;
  const fails = (sample: Sample): boolean => {
    if (performance.now() > until) return false;
    tried += 1;
    const found = failuresOf(sample, config, now);
    failures.push(...found);
    return found.length > 0;
  };
  const alike = kindsOf(samples, config).flatMap(([first, ...others]) => {
    if (!fails(first!)) return others;
    for (const other of others) fails(other);
    return [];
  });
  const step = Math.ceil(alike.length / mostAlike);
  for (const [index, sample] of alike.entries()) if (index % step === 0) fails(sample);
  return {
    warnings: warningsOf(
      failures.toSorted((a, b) => a.sample.index - b.sample.index),
      config,
    ),
    tried,
    of: samples.length,
  };
}

/** The samples of which no message differs in more than words of the config. */
function kindsOf(samples: readonly Sample[], { plan, planSource }: Config): Sample[][] {
  const ofActions = new Map<Action, string>();
  const ofTests = new Map<number, string>();
  const kinds = Map.groupBy(samples, ({ action, event: { testId, candidateNumericalId } }) => {
    const ofAction = ofActions.getOrInsertComputed(action, () => {
      const written = valueAt(planSource, pathOf(plan.rules.names, action)) ?? null;
      const texts = strings(written).map(({ text, path }) => `${path.join('.')}: ${templateKind(text)}`);
      return texts.join('\n');
    });
    const ofTest = ofTests.getOrInsertComputed(testId, () => shapeOf(plan.test(testId)));
    return `${ofAction} ${ofTest} ${candidateNumericalId}`;
  });
  return [...kinds.values()];
}

/** What a catalog entry has, but not the words. */
const shapeOf = (entry: JsonMap): string =>
  Object.entries(entry)
    .map(([key, value]) => `${key}:${value === null || value === '' ? 'none' : typeof value}`)
    .join();

function warningsOf(all: readonly Failure[], config: CheckedConfig): Problem[] {
  const failures = Map.groupBy(all, ({ sample }) => sample.action);
  const known = new Set(config.plan.testIds);
  return [...failures].flatMap(([action, ofAction]) => {
    const path = pathOf(config.plan.rules.names, action);
    const reasons = Map.groupBy(ofAction, ({ key, why }) => `${key} ${why}`);
    return Array.from(reasons.values(), (same) => {
      const [{ key, why }] = same as [Failure];
      const tests = testsText(same, known);
      return warningAt(config, key === null ? path : [...path, key], `for ${tests}: ${why}`);
    }).slice(0, mostReasons);
  });
}

interface Failure {
  readonly sample: Sample;
  /** The action's key that it is about, if it is not about the whole message. */
  readonly key: string | null;
  readonly why: string;
}

const hollow =
  'a {{ … }} prints nothing; say what to print then, as in {{ test.name | default: event.testId }}, or {{ … | default: "" }} for nothing';

function failuresOf(sample: Sample, { plan, planSource, sinks }: Config, now: number): Failure[] {
  const { action, event } = sample;
  const sink = sinks.get(action.sink);
  if (!sink) return [];
  let hollowKeys: readonly string[] = [];
  const render: Action['render'] = (data) => {
    const rendered = action.render(data);
    if ('fields' in rendered) hollowKeys = rendered.hollow ?? [];
    return rendered;
  };
  const about = { events: [event], notice: null };
  const prepared = prepare({ ...action, render }, about, 'dlv_sample', plan, sink, now);
  const why = 'message' in prepared ? prepared.note : whyNot(prepared);
  const failed = why === undefined ? [] : [{ sample, key: null, why }];
  if (event.candidateNumericalId === null) return failed;
  // What people read first, with a gap where the event's test says nothing.
  const path = pathOf(plan.rules.names, action);
  const gaps = ['subject', 'text'].filter(
    (key) => hollowKeys.includes(key) && valueAt(planSource, [...path, key]) !== undefined,
  );
  return [...failed, ...gaps.map((key) => ({ sample, key, why: hollow }))];
}

const whyNot = (outcome: Outcome): string | undefined =>
  outcome.outcome === 'delivered' ? undefined : outcome.detail;

/** An event that comes to an action. */
interface Sample {
  readonly index: number;
  readonly action: Action;
  readonly event: Event;
}

/** Every action with each sample event that comes to it: of every test and status, with all that may be missing and without it. */
function due(plan: Plan, now: number): Sample[] {
  const samples: Sample[] = [];
  for (const testId of [notInCatalog, ...plan.testIds])
    for (const status of statuses)
      for (const missing of [{}, { candidateNumericalId: 4711, correlationId: 'sample' }]) {
        const event = { ...sampleEvent({ testId, status, ...missing }, now), ...missing };
        const matched = plan.rules.match({ event, test: plan.test(testId) });
        const lists =
          matched.length === 0 ? [plan.unmatched] : matched.map((index) => plan.then[index] ?? []);
        for (const action of lists.flat()) samples.push({ index: samples.length, action, event });
      }
  return samples;
}

function testsText(failures: readonly Failure[], known: ReadonlySet<number>): string {
  const isOther = (testId: number) => Number(!known.has(testId));
  const tests = [...new Set(failures.map(({ sample }) => sample.event.testId))].toSorted(
    (a, b) => isOther(a) - isOther(b),
  );
  const shown = tests
    .slice(0, mostTests)
    .map((testId) => (known.has(testId) ? `test ${testId}` : 'a test that is not in the catalog'));
  const more = tests.length - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function sampleNotice(alert: Notice['alert'], now: number): RaisedNotice {
  const words = { detail: 'Something is wrong.', advice: 'Look at it.', recovered: false };
  return { id: 'ntc_sample', raisedAt: now, alert, cause: alert, sink: null, count: 1, since: now, ...words };
}
