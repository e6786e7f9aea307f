import { pino, type DestinationStream, type Logger } from 'pino';

export interface LogOptions {
  readonly level: string;
  readonly format: 'json' | 'pretty';
  /** Replaces secrets in a finished line. */
  readonly mask: (line: string) => string;
}

/** The process's logger, to stdout. Every line passes the mask, so a secret cannot get out whoever logs it. */
export async function createLogger(options: LogOptions): Promise<Logger> {
  const { level, mask } = options;
  const destination = options.format === 'pretty' ? await prettyStdout() : undefined;
  const settings = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: mask },
  };
  return destination ? pino(settings, destination) : pino(settings);
}

async function prettyStdout(): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty');
  return pretty({ colorize: process.stdout.isTTY, sync: true });
}
