import { pino, type DestinationStream, type Logger } from 'pino';
import { ConfigError } from './config/config.ts';
import { StoreUnavailable } from './store/store.ts';

export interface LogOptions {
  readonly level: string;
  readonly format: 'json' | 'pretty';
  /** Replaces secrets in a finished line. */
  readonly mask: (line: string) => string;
}

/** The process's logger, to stdout. Every line passes the mask, so a secret cannot get out whoever logs it. */
export async function createLogger(options: LogOptions): Promise<Logger> {
  const { level, mask } = options;
  const destination = options.format === 'pretty' ? await prettyStdout() : bufferedStdout();
  const settings = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: faultOf },
    hooks: { streamWrite: mask },
  };
  return pino(settings, destination);
}

/** What is expected to go wrong now and then is said in its own words; a stack is for bugs. */
function faultOf(error: unknown): unknown {
  if (error instanceof ConfigError) {
    const problems = error.problems.map(({ line, column, message }) => ({ line, column, message }));
    return { type: error.name, file: error.file, problems };
  }
  if (error instanceof StoreUnavailable) return { type: error.name, message: error.message };
  return error instanceof Error ? pino.stdSerializers.err(error) : error;
}

/** Lines are written some at a time: a write for each would cost a tenth of what accepting an event does. */
function bufferedStdout(): DestinationStream {
  return pino.destination({ fd: 1, sync: false, minLength: 4096, periodicFlush: 100 });
}

async function prettyStdout(): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty');
  return pretty({ colorize: process.stdout.isTTY, sync: true });
}
