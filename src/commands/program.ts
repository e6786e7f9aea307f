import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import about from '../../package.json' with { type: 'json' };
import { ConfigError } from '../config/config.ts';
import { parseDuration } from '../config/text/units.ts';
import { CannotListen } from '../http/listen.ts';
import { deliveryStates, refusalReasons, statuses } from '../model.ts';
import { lowerAscii } from '../support/text.ts';
import { parseCandidateEvent } from '../receiver/candidate-event.ts';
import { StoreUnavailable } from '../store/store.ts';
import { program as thisProgram } from '../support/program.ts';
import { CommandError, exit, type Io } from './output.ts';

/** Runs one command; resolves to the exit code. Rejects only where there is a bug. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  let code: number = exit.ok;
  // It has a flag for what each tool asks, and only it needs the tools that soon.
  const toolHelp = argv.includes('init') ? (await import('./init.ts')).toolHelp() : null;
  const program = commandLine(io, toolHelp, (result) => {
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
  if (error instanceof ConfigError) {
    io.err(error.message);
    return exit.problems;
  }
  const text = plainWords(error);
  if (text === null) throw error;
  io.err(`candidate-connector: ${text}`);
  return error instanceof CommandError ? error.code : exit.problems;
}

/** What is expected to go wrong now and then, in words; null for a bug, which deserves its stack. */
function plainWords(error: unknown): string | null {
  if (error instanceof CommandError || error instanceof CannotListen) return error.message;
  return error instanceof StoreUnavailable ? `the store cannot be used: ${error.message}` : null;
}

type Add = (name: string, description: string, examples: readonly string[]) => Command;

/**
 * The commands with their options and help. Each is loaded when it is called, so that it starts with only what it needs;
 * `done` gets its exit code.
 */
function commandLine(io: Io, tools: ToolHelp | null, done: Done): Command {
  const program = new Command('candidate-connector')
    .description(
      'Hears about candidates who reached a final status, and tells the tools that the YAML names, once each.',
    )
    .version(about.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
    })
    .showHelpAfterError('(add --help for the options and examples)')
    .addHelpText('after', `\nEach command has --help with examples. Begin with:\n  $ ${thisProgram} init`);
  const add: Add = (name, description, examples) =>
    program
      .command(name)
      .description(description)
      .addOption(configOption(io))
      .addHelpText('after', ['\nExamples:', ...examples].join(`\n  $ ${thisProgram} `));
  beginning(add, io, tools, done);
  running(add, io, done);
  trying(add, io, done);
  looking(add, io, done);
  repairing(add, io, done);
  keeping(add, io, done);
  completing(program, add, io, done);
  return program;
}

function configOption({ env }: Io): Option {
  const standard = env['CONNECTOR_CONFIG'] || './config.yaml';
  return new Option('-c, --config <file>', 'the YAML file').default(
    standard,
    '$CONNECTOR_CONFIG, else ./config.yaml',
  );
}

/** For what may be needed just when the file is broken. */
function takesStore(command: Command): Command {
  return command.option(
    '--store <url>',
    'the store itself, as in sqlite:./data/connector.db; the file is not read then',
  );
}

/** Lets the config stand after the command as well, where nothing else does: it is what people try first. */
function takesFile(command: Command): Command {
  return command
    .argument('[file]', 'the YAML file, as with --config')
    .hook('preAction', (_program, called) => {
      const [file] = called.args;
      if (file === undefined) return;
      if (called.getOptionValueSource('config') === 'cli')
        throw new CommandError(`name the config once: ${file}, or --config`, exit.usage);
      called.setOptionValue('config', file);
    });
}

type ToolHelp = ReturnType<typeof import('./init.ts').toolHelp>;
type Done = (code: number) => void;

function beginning(add: Add, io: Io, tools: ToolHelp | null, done: Done): void {
  const command = add('init', 'write a first config: asks on a terminal, or takes flags', [
    'init',
    tools?.example ?? '',
  ])
    .option('--out <file>', 'the file to write, which must not be there yet; that of --config if not given')
    .option('--tools <names>', tools?.tools)
    .option('--test <id=name>', 'a test and its name; once for each test', listed)
    .action(async (options) => done(await (await import('./init.ts')).init(options, io)));
  for (const { key, takes, meaning } of tools?.asked ?? []) command.option(`--${key} <${takes}>`, meaning);
}

function running(add: Add, io: Io, done: Done): void {
  takesFile(add('serve', 'receive and deliver until SIGTERM', ['serve --config config.yaml'])).action(
    async (_file, options) => done(await (await import('./serve.ts')).serve(options, io)),
  );
}

/** What sends nothing to any tool. */
function trying(add: Add, io: Io, done: Done): void {
  takesFile(
    add('check', 'show everything that is wrong with the config, and run its scenarios', [
      'check config.yaml',
      'check --strict --format github   # for a workflow: warnings fail, and stand at their lines',
      'check --live   # also asks each tool: token, scopes, places, login; sends nothing',
    ]),
  )
    .option('--live', 'also ask each sink; sends nothing')
    .option('--strict', 'fail where there are warnings, too')
    .option('--json', 'print one JSON object')
    .addOption(
      new Option('--format <format>', 'how to print: github makes annotations of a workflow').choices([
        'text',
        'json',
        'github',
      ]),
    )
    .action(async (_file, options) => done(await (await import('./check.ts')).check(options, io)));

  takesFile(
    add(
      'explain',
      'show what the rules make of an event, and each message as it would be sent; sends nothing',
      [
        'explain --status Completed --test 1234567',
        'explain --status DidNotTake --test 1234567 --at "Sat 22:00" --json',
      ],
    ),
  )
    .addOption(statusOption().makeOptionMandatory())
    .requiredOption('--test <id>', 'the test id', integer)
    .option('--candidate <id>', 'the candidate id', candidateId)
    .option('--numerical <id>', 'the numerical candidate id', integer)
    .option(
      '--at <time>',
      'when it comes, as in a scenario ("Mon 10:00", by the clock of `timezone`) or ISO 8601; now if not given',
    )
    .option('--json', 'print one JSON object')
    .action(async (_file, options) => done(await (await import('./explain.ts')).explain(options, io)));

  takesFile(
    add('routes', 'show who hears of which events: each test and status, with nobody and twice marked', [
      'routes config.yaml',
      'routes --json',
    ]),
  )
    .option('--json', 'print one JSON object')
    .action(async (_file, options) => done(await (await import('./routes.ts')).printRoutes(options, io)));

  add(
    'backtest',
    'run another config over the stored events, and show how the deliveries would differ; exits 3 where they do',
    ['backtest new.yaml --since 30d', 'backtest new.yaml --json   # one line for each event that differs'],
  )
    .argument('<new>', 'the other YAML file; --config is the one whose store has the events')
    .option('--since <duration>', 'only events that came within this time, such as 30d', ago)
    .option('--json', 'print JSON lines')
    .action(async (file, options) => done(await (await import('./backtest.ts')).backtest(file, options, io)));

  add('send', 'play the testing service: post events and show the answers', [
    'send   # to the connector that runs here with ./config.yaml',
    'send --status DidNotTake --test 7654321 --count 5 --duplicate',
    'send --url https://hooks.example.com/webhooks/candidates?token=…',
  ])
    .option('--url <url>', "the webhook URL; on this machine, by the config's receiver, if not given")
    .addOption(statusOption().default('Completed'))
    .option('--test <id>', 'the test id', integer, 1234567)
    .option('--candidate <id>', 'the candidate id; random if not given')
    .option('--count <n>', 'how many events', positive, 1)
    .option('--duplicate', 'send each event twice, under two correlation ids')
    .action(async (options) => done(await (await import('./send.ts')).send(options, io)));

  add('schema', "print the config's JSON Schema, for editors", ['schema > config.schema.json']).action(
    async () => done(await (await import('./schema.ts')).printSchema(io)),
  );
}

function looking(add: Add, io: Io, done: Done): void {
  takesStore(
    add('status', 'show whether everything is all right; exits 4 where a person is needed', [
      'status',
      'status --json   # for monitoring; the same as /api/status on the admin port',
    ]),
  )
    .option('--json', 'print one JSON object')
    .action(async (options) => done(await (await import('./status.ts')).status(options, io)));

  takesStore(
    add('events', 'list what came and what became of it, newest first', [
      'events --since 7d --status Completed',
      'events --candidate 20970 --json',
      'events --state dead,held   # what needs a person, and why',
      'events --since 30d --csv > events.csv   # for a table',
      'events --rejected   # requests that were refused for their content',
      'events --notices    # what the alerts told people, and whether it reached them',
      'events --audit      # what people did by hand: replays and the like, by whom and why',
    ]),
  )
    .option('--since <duration>', 'only what came within this time, such as 7d', ago)
    .addOption(statusOption())
    .option(
      '--candidate <id>',
      'only this candidate: the id or its beginning, or the number that messages show',
    )
    .option('--test <id>', 'only of this test', integer)
    .option('--rule <name>', 'only what this rule asked for')
    .addOption(statesOption())
    .option('--sink <name>', 'with --state: only deliveries to this sink')
    .addOption(
      new Option('--follow', 'then print each event that comes or changes, until Ctrl-C').conflicts([
        'rejected',
        'notices',
        'audit',
        'csv',
      ]),
    )
    .option('--limit <n>', 'at most so many; 100 if not given, and all with --json or --csv', positive)
    .addOption(
      new Option('--rejected', 'list the refused requests instead').conflicts([
        'since',
        'status',
        'candidate',
        'test',
        'rule',
        'state',
        'sink',
        'notices',
        'audit',
      ]),
    )
    .addOption(
      new Option('--audit', 'list what people did by hand instead').conflicts([
        'since',
        'status',
        'candidate',
        'test',
        'rule',
        'state',
        'sink',
        'notices',
      ]),
    )
    .addOption(
      new Option('--notices', 'list what the alerts told people instead').conflicts([
        'status',
        'candidate',
        'test',
        'rule',
        'state',
        'sink',
      ]),
    )
    .option('--json', 'print JSON lines')
    .addOption(
      new Option('--csv', 'print CSV with a header, for a table').conflicts([
        'json',
        'rejected',
        'notices',
        'audit',
      ]),
    )
    .action(async (options) => done(await (await import('./events.ts')).events(options, io)));

  takesStore(
    add('event', "show one event's whole story: its rules, deliveries, attempts and receipts", [
      'event evt_01jd3v5m8k2q4r6t8w0y1z3a5c',
      'event evt_01jd3v5m8k2q4r6t8w0y1z3a5c --json',
    ]),
  )
    .argument('<id>', 'the id of the event, of one of its deliveries (dlv_…), or of a notice (ntc_…)')
    .option('--json', 'print one JSON object')
    .action(async (id, options) => done(await (await import('./event.ts')).event(id, options, io)));
}

function repairing(add: Add, io: Io, done: Done): void {
  takesStuck(
    add('replay', "send again what is dead or held, with today's config", [
      'replay dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_1',
      'replay --dead --sink hiring --since 7d --note "the channel is there now"',
      'replay --held --dry-run   # shows what would go out',
      'replay --event evt_01jd3v5m8k2q4r6t8w0y1z3a5c --wait   # and says how it ended',
    ]),
  ).action(async (ids, options) => done(await (await import('./replay.ts')).replay(ids, options, io)));

  takesStuck(
    add('discard', 'give up on purpose what is pending, dead or held', [
      'discard dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_1 dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_2',
      'discard --dead --rule told --since 7d --note "told by phone"',
    ]),
  ).action(async (ids, options) => done(await (await import('./replay.ts')).discard(ids, options, io)));

  takesStore(
    byHand(
      add('resend', "send a delivered message again on purpose, as a new delivery by today's config", [
        'resend dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_1 --note "it was deleted in the channel"',
      ]),
    ),
  )
    .argument('<delivery...>', 'delivery ids')
    .action(async (ids, options) => done(await (await import('./replay.ts')).resend(ids, options, io)));

  takesStore(
    add('ignore', 'put away what is said of events that were refused, once somebody has seen to it', [
      'ignore --all',
      'ignore --from 203.0.113.9 --note "a test of ours"',
      'ignore --reason store',
    ]),
  )
    .addOption(new Option('--all', 'whatever was refused until now').conflicts(['from', 'reason']))
    .option('--from <address>', 'only what came from there, as `status` names it')
    .addOption(new Option('--reason <reason>', 'only what was refused for this').choices(refusalReasons))
    .option('--note <text>', 'why; kept with who did it and when', noteText)
    .action(async (options) => done(await (await import('./ignore.ts')).ignore(options, io)));

  takesStore(
    add('retry', 'try a paused or failing sink now, as after its cause was put right', [
      'retry hiring',
      'retry hiring --store sqlite:./data/connector.db',
    ]),
  )
    .argument('<sink>', 'the name of the sink, as `status` has it')
    .action(async (sink, options) => done(await (await import('./retry.ts')).retry(sink, options, io)));

  byHand(
    add('apply', 'apply a rule to events that came before it; shows first what it would send', [
      'apply --rule told --since 7d --dry-run',
      'apply --rule told --since 7d --yes --wait',
    ]),
  )
    .requiredOption('--rule <name>', "a rule of today's config")
    .option('--since <duration>', 'only to events that came within this time, such as 7d', ago)
    .option('--yes', 'do not ask')
    .action(async (options) => done(await (await import('./apply.ts')).apply(options, io)));
}

/** What can be done to many. */
function takesStuck(command: Command): Command {
  return takesStore(byHand(command))
    .argument('[delivery...]', 'delivery ids; or those of events, for all of them that are dead or held')
    .option('--dead', 'every dead delivery')
    .option('--held', 'every held delivery')
    .option('--event <id>', 'every dead or held delivery of this event')
    .option('--sink <name>', 'of these, only to this sink')
    .option('--rule <name>', 'of these, only what this rule asked for')
    .option('--cause <text>', 'with --dead: only these, as `status` names the cause')
    .option('--since <duration>', 'of these, only of events that came within this time', ago);
}

function byHand(command: Command): Command {
  return command
    .option('--dry-run', 'only show what would be done')
    .option('--wait', 'wait until all have ended, and say how')
    .option('--note <text>', 'why; kept with who did it and when, and shown by `event`', noteText);
}

function keeping(add: Add, io: Io, done: Done): void {
  takesStore(
    add('forget', 'erase a candidate from the store, and list what the tools still have', [
      'forget 0123456789abcdef0123456789abcdef --dry-run',
      'forget 0123456789abcdef0123456789abcdef --yes --note "request of 3 May"',
    ]),
  )
    .argument('<candidate>', 'the candidate id, or the number that messages show', candidateId)
    .option('--dry-run', 'only show what would be erased, and what the tools have')
    .option('--yes', 'do not ask, and give up what is pending')
    .option('--rewrite', "also write SQLite's whole file anew, for what older versions left in unused parts")
    .option('--note <text>', 'why, for the audit; it must not name the candidate')
    .action(async (candidate, options) =>
      done(await (await import('./forget.ts')).forget(candidate, options, io)),
    );

  takesStore(
    add('backup', 'copy the store to a file, also while it is served, and check the copy', [
      'backup /backups/connector.db',
      'backup --overwrite /data/backup.db',
    ]),
  )
    .argument('<file>', 'the file to make')
    .option('--overwrite', 'replace the file if it is there')
    .action(async (file, options) => done(await (await import('./backup.ts')).backup(file, options, io)));

  add(
    'migrate-store',
    'copy a stopped store to another database and compare the two; goes on where it was interrupted',
    [
      'migrate-store --from sqlite:/data/connector.db --to postgres://connector@db.internal/connector',
      'migrate-store --from postgres://connector@db.internal/connector --to sqlite:/data/connector.db',
    ],
  )
    .requiredOption('--from <url>', 'the store to copy, as in store.url; nothing may serve it meanwhile')
    .requiredOption('--to <url>', 'where to; what is there must be empty, and is made if it is missing')
    .action(async (options) => done(await (await import('./migrate-store.ts')).migrateStore(options, io)));
}

function completing(program: Command, add: Add, io: Io, done: Done): void {
  add('completion', 'print what makes a shell complete commands, options and names on Tab', [
    'completion bash > /etc/bash_completion.d/candidate-connector',
    'completion zsh > "${fpath[1]}/_candidate-connector"',
    'completion fish > ~/.config/fish/completions/candidate-connector.fish',
  ])
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell) => done((await import('./completion.ts')).printCompletion(shell, io)));

  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words) => done(await (await import('./completion.ts')).complete(program, words, io)));
}

/** How options are read. Each of these throws what makes a usage error, with the option's name before it. */

function statusOption(): Option {
  return new Option('--status <status>', 'the final status').choices(statuses).argParser((text: string) => {
    const status = statuses.find((one) => lowerAscii(one) === lowerAscii(text));
    if (status === undefined) throw new InvalidArgumentError(`Allowed choices are ${statuses.join(', ')}.`);
    return status;
  });
}

const longestNote = 500;

function noteText(text: string): string {
  if (text.trim() === '' || text.length > longestNote) throw expected(`1 to ${longestNote} characters`);
  return text;
}

const listed = (text: string, before: string[] | undefined): string[] => [...(before ?? []), text];

function statesOption(): Option {
  const wording = 'only with a delivery in this state, or in one of several with commas';
  return new Option('--state <states>', wording).choices(deliveryStates).argParser((text: string) => {
    const states = text.split(',').map((name) => deliveryStates.find((one) => one === name.trim()));
    if (!states.includes(undefined)) return states;
    throw new InvalidArgumentError(`Allowed choices are ${deliveryStates.join(', ')}.`);
  });
}

function integer(text: string): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value)) throw expected('a whole number');
  return value;
}

function positive(text: string): number {
  const value = integer(text);
  if (value < 1) throw expected('1 or more');
  return value;
}

/** The time (ms) that lies a duration such as `7d` ago. */
function ago(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === null) throw expected('a duration such as 30m, 24h or 7d');
  return Date.now() - durationMs;
}

/** A candidate id as the receiver would keep it, so that a GUID is found in whichever spelling it is asked for. */
function candidateId(text: string): string {
  const parsed = parseCandidateEvent({ candidateId: text, testId: 0, status: statuses[0] });
  if ('event' in parsed) return parsed.event.candidateId;
  throw new InvalidArgumentError(parsed.faults.map(({ detail }) => detail).join(' '));
}

const expected = (what: string): InvalidArgumentError => new InvalidArgumentError(`It must be ${what}.`);
