import { formatProblem, inOrder } from '../config/problems.ts';
import { ConfigError, type CheckedConfig, type Config, type SinkConfig } from '../config/config.ts';
import { runScenarios } from '../config/scenarios.ts';
import { sampleFailures, sampleMessages } from './samples.ts';
import type { LiveCheck } from '../connector.ts';
import { count, printable } from '../support/text.ts';
import { exit, type Io } from './io.ts';
import { paint } from './paint.ts';
import { configOf, type ConfigOption } from './with-store.ts';

/** Its problems are what it was asked for, so they go to stdout like all that people read. */
export async function check(options: ConfigOption & { live?: boolean }, io: Io): Promise<number> {
  const config = await configOf(options, io).catch(asReport);
  if (typeof config === 'string') {
    io.out(config);
    return exit.problems;
  }
  const warnings = inOrder([...config.warnings, ...sampleFailures(config, Date.now())]);
  for (const warning of warnings) io.out(formatProblem(config.file, warning));
  const failed = runScenarios(config);
  for (const problem of failed) io.out(formatProblem(config.file, problem));
  const liveFailures = options.live ? await checkLive(config, io) : 0;
  if (failed.length > 0) io.out(count(failed.length, 'error'));
  if (liveFailures > 0) io.out(`${count(liveFailures, 'live check')} failed.`);
  if (failed.length + liveFailures > 0) return exit.problems;
  io.out(summary(config));
  return exit.ok;
}

function asReport(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  throw error;
}

function summary(config: CheckedConfig): string {
  const parts = [
    count(config.plan.then.length, 'rule'),
    count(config.sinks.size, 'sink'),
    `${count(config.scenarios.length, 'scenario')} as expected`,
  ];
  return `${config.file} is good: ${parts.join(', ')}.`;
}

/** How many failed. */
async function checkLive(config: Config, io: Io): Promise<number> {
  const results = await Promise.all(
    [...config.sinks.values()].map(async (sink) => ({ sink, checks: await checkSink(config, sink) })),
  );
  for (const { sink, checks } of results) {
    io.out(paint(io, 'bold', `${sink.name} (${sink.connector.name})`));
    for (const one of checks) io.out(config.mask(liveText(one, io)));
  }
  return results.flatMap(({ checks }) => checks).filter(({ ok }) => !ok).length;
}

/** Asks one sink all that can be asked without sending; a fault on the way is a failed check, not an end of the others. */
async function checkSink(
  config: Config,
  { name, connector, options, timeoutMs }: SinkConfig,
): Promise<LiveCheck[]> {
  try {
    const sink = await connector.connect(options);
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
