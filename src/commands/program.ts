import { CommanderError } from 'commander';
import { ConfigError } from '../config/config.ts';
import { CannotListen } from '../http/server.ts';
import { StoreUnavailable } from '../store/store.ts';
import { commandLine } from './command-line.ts';
import { CommandError, exit, type Io } from './io.ts';

/** Runs one command; resolves to the exit code. Rejects only where there is a bug. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  let code: number = exit.ok;
  const program = commandLine(io, (result) => {
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
