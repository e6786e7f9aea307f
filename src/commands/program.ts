import { resolve } from 'node:path';
import * as commander from 'commander';
import about from '../../package.json' with { type: 'json' };
import { ConfigError } from '../config/config.ts';
import { CannotListen } from '../http/listen.ts';
import { StoreUnavailable } from '../store/store.ts';
import { configWithoutName, meanConfig, program as thisProgram } from '../support/invocation.ts';
import { type Command, configFile } from './command.ts';
import { CommandError, exit, type Io } from './output.ts';

/** All commands in the order of the help. Each is loaded when it is called, with only what it needs. */
const commands: Readonly<Record<string, () => Promise<Command<any, any>>>> = {
  init: async () => (await import('./config/init.ts')).init,
  serve: async () => (await import('./config/serve.ts')).serve,
  check: async () => (await import('./config/check.ts')).check,
  explain: async () => (await import('./config/explain.ts')).explain,
  routes: async () => (await import('./config/routes.ts')).routes,
  backtest: async () => (await import('./config/backtest.ts')).backtest,
  send: async () => (await import('./config/send.ts')).send,
  schema: async () => (await import('./config/schema.ts')).schemaCommand,
  status: async () => (await import('./store/status.ts')).status,
  events: async () => (await import('./store/events.ts')).events,
  event: async () => (await import('./store/event.ts')).event,
  replay: async () => (await import('./by-hand/replay.ts')).replay,
  discard: async () => (await import('./by-hand/replay.ts')).discard,
  resend: async () => (await import('./by-hand/replay.ts')).resend,
  accept: async () => (await import('./by-hand/accept.ts')).accept,
  ignore: async () => (await import('./by-hand/ignore.ts')).ignore,
  retry: async () => (await import('./by-hand/retry.ts')).retry,
  pause: async () => (await import('./by-hand/pause.ts')).pause,
  resume: async () => (await import('./by-hand/pause.ts')).resume,
  apply: async () => (await import('./by-hand/apply.ts')).apply,
  lookup: async () => (await import('./by-hand/lookup.ts')).lookup,
  reconcile: async () => (await import('./by-hand/reconcile.ts')).reconcile,
  forget: async () => (await import('./by-hand/forget.ts')).forget,
  backup: async () => (await import('./store/backup.ts')).backup,
  'migrate-store': async () => (await import('./store/migrate-store.ts')).migrateStore,
  completion: async () => (await import('./config/completion.ts')).completion,
};

const configOption = ['-c, --config <file>', 'the YAML file'] as const;

/** Runs one command; resolves to the exit code. Rejects only where there is a bug. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  let code: number = exit.ok;
  meanConfig(null);
  const done = (result: number): void => void (code = result);
  const program = new commander.Command('candidate-connector')
    .description(
      'Hears about candidates who reached a final status, and tells the tools that the YAML names, once each.',
    )
    .version(about.version)
    .option(...configOption)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
    })
    .showHelpAfterError('(add --help for the options and examples)')
    .addHelpText('after', `\nEach command has --help with examples. Begin with:\n  $ ${thisProgram} init`);
  // Loads the named command, or all for the help and for completion.
  const [first = '', , completed = '', ...more] = argv;
  const named = commands[first === 'complete' && more.length > 0 ? completed : first];
  for (const load of named ? [named] : Object.values(commands)) add(await load(), program, io, done);
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words) => {
      done(await (await import('./config/completion.ts')).complete(program, words, io));
    });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    return explainFailure(error, io);
  }
}

function add(
  { name, description, examples, options = {}, argument, run: act }: Command<any, any>,
  program: commander.Command,
  io: Io,
  done: (code: number) => void,
): void {
  const line = program
    .command(name)
    .description(description)
    .option(...configOption, configWithoutName(io.env))
    .addHelpText('after', ['\nExamples:', ...examples].join(`\n  $ ${thisProgram} `));
  line.options[0]!.defaultValueDescription = '$CONNECTOR_CONFIG, else ./config.yaml';
  for (const option of Object.values(options)) line.addOption(option as commander.Option);
  if (argument) line.addArgument(argument);
  const needed = line.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  line.usage([...needed, line.usage()].join(' '));
  line.action(async () => {
    const [given] = line.processedArgs;
    const named = [
      ...[program, line]
        .filter((one) => one.getOptionValueSource('config') === 'cli')
        .map((one) => one.opts()['config'] as string),
      ...(argument === configFile && given !== undefined ? [given as string] : []),
    ];
    if (named.length > 1) throw new CommandError(`name the config once: ${named.join(', or ')}`, exit.usage);
    const [config = null] = named;
    if (config !== null) line.setOptionValue('config', config);
    meanConfig(name === 'serve' && config !== null ? resolve(config) : config, io.env);
    done(await act(line.opts(), io, given));
  });
}

function explainFailure(error: unknown, io: Io): number {
  // Commander has printed its own message, or the help that was asked for.
  if (error instanceof commander.CommanderError) return error.exitCode === 0 ? exit.ok : exit.usage;
  if (error instanceof ConfigError) {
    io.err(error.message);
    return exit.problems;
  }
  // Expected failures. Anything else is a bug, which deserves its stack.
  const isExpected = error instanceof CommandError || error instanceof CannotListen;
  if (!isExpected && !(error instanceof StoreUnavailable)) throw error;
  io.err(`candidate-connector: ${isExpected ? '' : 'the store cannot be used: '}${error.message}`);
  return error instanceof CommandError ? error.code : exit.problems;
}
