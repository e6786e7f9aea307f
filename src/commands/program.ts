import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { ConfigError } from '../config/config.ts';
import { statuses } from '../model.ts';
import { StoreUnavailable } from '../store/store.ts';
import { CommandError, exit, type Io } from './io.ts';

/**
 * Runs one command; resolves to the exit code. Commands are loaded when they are called, so that each starts with only
 * what it needs.
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  let code: number = exit.ok;
  const program = buildProgram(io, (result) => {
    code = result;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    return explainFailure(error, io);
  }
}

function explainFailure(error: unknown, io: Io): number {
  // Commander has printed its own message, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exit.ok : exit.usage;
  if (error instanceof CommandError) {
    io.err(`candidate-connector: ${error.message}`);
    return error.code;
  }
  if (error instanceof ConfigError) {
    io.err(error.message);
    return exit.problems;
  }
  if (error instanceof StoreUnavailable) {
    io.err(`candidate-connector: the store cannot be used: ${error.message}`);
    return exit.problems;
  }
  throw error;
}

function buildProgram(io: Io, done: (code: number) => void): Command {
  const program = new Command('candidate-connector')
    .description('Hears about candidates who reached a final status, and tells the tools that the YAML names, once each.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out(text.trimEnd()), writeErr: (text) => io.err(text.trimEnd()) })
    .showHelpAfterError('(add --help for the options and examples)');

  const command = (name: string, description: string, examples: readonly string[]): Command => {
    const added = program.command(name).description(description);
    if (name !== 'send') {
      added.addOption(
        new Option('-c, --config <file>', 'the YAML file').env('CONNECTOR_CONFIG').default('./config.yaml'),
      );
    }
    const lines = examples.map((example) => `  $ candidate-connector ${example}`).join('\n');
    return added.addHelpText('after', `\nExamples:\n${lines}`);
  };

  command('serve', 'receive and deliver until SIGTERM', ['serve --config config.yaml']).action(async (options) =>
    done(await (await import('./serve.ts')).serve(options, io)),
  );

  command('check', 'show everything that is wrong with the config, and run its scenarios', [
    'check --config config.yaml',
    'check --live   # also asks each tool: token, scopes, channel, sheet, login; sends nothing',
  ])
    .option('--live', 'also ask each sink; sends nothing')
    .action(async (options) => done(await (await import('./check.ts')).check(options, io)));

  command('explain', 'show what the rules make of an event, and each message as it would be sent; sends nothing', [
    'explain --status Completed --test 1234567',
    'explain --status DidNotTake --test 1234567 --at 2026-11-21T22:00:00Z --json',
  ])
    .addOption(statusOption().makeOptionMandatory())
    .requiredOption('--test <id>', 'the test id', integer)
    .option('--candidate <id>', 'the candidate id')
    .option('--numerical <id>', 'the numerical candidate id', integer)
    .option('--at <time>', 'when the event comes (ISO 8601); now if not given', time)
    .option('--json', 'print one JSON object')
    .action(async (options) => done(await (await import('./explain.ts')).explain(options, io)));

  command('send', 'play the testing service: post events and show the answers', [
    'send --url http://localhost:8080/webhooks/candidates',
    'send --url http://localhost:8080/webhooks/candidates --status DidNotTake --test 7654321 --count 5 --duplicate',
  ])
    .requiredOption('--url <url>', 'the webhook URL')
    .addOption(statusOption().default('Completed'))
    .option('--test <id>', 'the test id', integer, 1234567)
    .option('--candidate <id>', 'the candidate id; random if not given')
    .option('--count <n>', 'how many events', positive, 1)
    .option('--duplicate', 'send each event twice, under two correlation ids')
    .action(async (options) => done(await (await import('./send.ts')).send(options, io)));

  command('events', 'list what came and what became of it, newest first', [
    'events --since 7d --status Completed',
    'events --rejected   # requests that were refused for their content',
  ])
    .option('--since <duration>', 'only what came within this time, such as 7d')
    .addOption(statusOption())
    .option('--candidate <id>', 'only this candidate')
    .option('--limit <n>', 'at most so many', positive, 100)
    .option('--rejected', 'list the refused requests instead')
    .option('--json', 'print JSON lines')
    .action(async (options) => done(await (await import('./events.ts')).events(options, io)));

  command('event', "show one event's whole story: its rules, deliveries, attempts and receipts", [
    'event evt_01jd3v5m8k2q4r6t8w0y1z3a5c',
  ])
    .argument('<id>', 'the event id')
    .option('--json', 'print one JSON object')
    .action(async (id, options) => done(await (await import('./event.ts')).event(id, options, io)));

  command('replay', "send again what is dead or held, with today's config", [
    'replay dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_0',
    'replay --dead --sink slack --since 7d',
  ])
    .argument('[delivery...]', 'delivery ids')
    .option('--dead', 'every dead delivery')
    .option('--sink <name>', 'with --dead: only of this sink')
    .option('--since <duration>', 'with --dead: only of events that came within this time')
    .action(async (ids, options) => done(await (await import('./replay.ts')).replay(ids, options, io)));

  command('discard', 'give up deliveries on purpose', ['discard dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_0'])
    .argument('<delivery...>', 'delivery ids')
    .action(async (ids, options) => done(await (await import('./discard.ts')).discard(ids, options, io)));

  program
    .command('schema')
    .description("print the config's JSON Schema, for editors")
    .addHelpText('after', '\nExamples:\n  $ candidate-connector schema > config.schema.json')
    .action(async () => done(await (await import('./schema.ts')).schema(io)));

  return program;
}

function statusOption(): Option {
  return new Option('--status <status>', 'the final status').choices(statuses);
}

function integer(text: string): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('It must be a whole number.');
  return value;
}

function positive(text: string): number {
  const value = integer(text);
  if (value < 1) throw new InvalidArgumentError('It must be 1 or more.');
  return value;
}

function time(text: string): number {
  const value = Date.parse(text);
  if (Number.isNaN(value)) throw new InvalidArgumentError('It must be a time such as 2026-11-21T22:00:00Z.');
  return value;
}
