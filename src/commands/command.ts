import { isIP } from 'node:net';
import { Argument, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../config/text/units.ts';
import { networkOf } from '../http/addresses.ts';
import { type Status, statuses } from '../model.ts';
import { parseCandidateEvent, statusNamed } from '../receiver/candidate-event.ts';
import type { Io } from './output.ts';

/** What a command is: how it is called, what its help says, and what it does. */
export interface Command<Options extends OptionsByName = OptionsByName, Given = unknown> {
  readonly name: string;
  readonly description: string;
  /** Without the program's name. */
  readonly examples: readonly string[];
  /** In the order of the help. */
  readonly options?: Options;
  readonly argument?: TypedArgument<Given>;
  /** Runs the command; resolves to the exit code. `given`: its argument. */
  readonly run: (options: ValuesOf<Options>, io: Io, given: Given) => Promise<number>;
}

type OptionsByName = Readonly<Record<string, TypedOption<unknown>>>;

/** The values of a command's options. Every command has --config. */
export type ValuesOf<Options extends OptionsByName> = ConfigOption & {
  readonly [Name in keyof Options]: Options[Name]['value'];
};

export interface ConfigOption {
  readonly config: string;
}

/** Defines a command; only gives types. An option must have the name that commander makes of its flag. */
export const command = <Options extends OptionsByName = {}, Given = undefined>(
  definition: Command<Options, Given>,
): Command<Options, Given> => definition;

// oxlint-disable-next-line no-unnecessary-type-parameters -- ValuesOf reads it
export class TypedOption<Value> extends Option {
  declare readonly value: Value;
}

// oxlint-disable-next-line no-unnecessary-type-parameters -- so does Command
export class TypedArgument<Value> extends Argument {
  declare readonly value: Value;
}

export const flag = (flags: string, description: string) =>
  new TypedOption<boolean | undefined>(flags, description);

export const textOption = (flags: string, description: string) =>
  new TypedOption<string | undefined>(flags, description);

/** Reads an option's text. Throws an InvalidArgumentError, to which commander adds the option's name. */
type Reader<Value> = (text: string, before: Value | undefined) => Value;

export const readOption = <Value>(flags: string, description: string, reader: Reader<Value>) =>
  new TypedOption<Value | undefined>(flags, description).argParser(reader);

export const choiceOption = <Value extends string>(
  flags: string,
  description: string,
  values: readonly Value[],
) => new TypedOption<Value | undefined>(flags, description).choices(values);

export const required = <Value>(option: TypedOption<Value | undefined>) =>
  option.makeOptionMandatory() as TypedOption<Value>;

export const withDefault = <Value>(option: TypedOption<Value | undefined>, value: Value) =>
  option.default(value) as TypedOption<Value>;

/** The config as an argument, where a command has no other: it is what people try first. */
export const configFile = new TypedArgument<string | undefined>('[file]', 'the YAML file, as with --config');

/** The option of commands that must work while the config is broken. */
export const storeOptions = {
  store: textOption(
    '--store <url>',
    'the store itself, as in sqlite:./data/connector.db; the file is not read then',
  ),
};
export type StoreOption = ConfigOption & { readonly store?: string | undefined };

export const sinkArgument = () =>
  new TypedArgument<string>('<sink>', 'the name of the sink, as `status` has it');

const longestNote = 500;

/** The option for the source of refused events, as `status` names it. */
export const sourceOption = (description: string) =>
  readOption('--from <address>', description, (words) => (isIP(words) ? networkOf(words) : words));

export const note = (description = 'why; kept with who did it and when') =>
  readOption('--note <text>', description, (words: string) => {
    if (words.trim() === '' || words.length > longestNote) throw expected(`1 to ${longestNote} characters`);
    return words;
  });

export const byHandOptions = {
  dryRun: flag('--dry-run', 'only show what would be done'),
  wait: flag('--wait', 'wait until all have ended, and say how'),
  note: note('why; kept with who did it and when, and shown by `event`'),
};

export const statusOption = () =>
  new TypedOption<Status | undefined>('--status <status>', 'the final status')
    .choices(statuses)
    .argParser((words: string) => {
      const status = statusNamed(words);
      if (status === undefined) throw new InvalidArgumentError(`Allowed choices are ${statuses.join(', ')}.`);
      return status;
    });

export function integer(words: string): number {
  const value = Number(words);
  if (!/^-?\d+$/.test(words) || !Number.isSafeInteger(value)) throw expected('a whole number');
  return value;
}

export function positive(words: string): number {
  const value = integer(words);
  if (value < 1) throw expected('1 or more');
  return value;
}

/** Reads a duration such as `7d` (ms). */
export function readDuration(words: string): number {
  const durationMs = parseDuration(words);
  if (durationMs === null) throw expected('a duration such as 30m, 24h or 7d');
  return durationMs;
}

/** Reads a duration such as `7d` as the time (ms) that long ago. */
export const ago = (words: string): number => Date.now() - readDuration(words);

/** Reads a candidate id as the receiver keeps it, so that a GUID is found in any of its spellings. */
export function readCandidateId(words: string): string {
  const parsed = parseCandidateEvent({ candidateId: words, testId: 0, status: statuses[0] });
  if ('event' in parsed) return parsed.event.candidateId;
  throw new InvalidArgumentError(parsed.faults.map(({ detail }) => detail).join(' '));
}

export const expected = (what: string): InvalidArgumentError =>
  new InvalidArgumentError(`It must be ${what}.`);
