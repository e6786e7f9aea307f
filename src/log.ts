import { fstatSync, write, writeSync } from 'node:fs';
import { pino, type DestinationStream, type Logger } from 'pino';
import { ConfigError } from './config/config.ts';
import { StoreUnavailable } from './store/store.ts';
import { printableJson, visibleJson } from './support/text.ts';

export interface LogOptions {
  readonly level: string;
  readonly format: 'json' | 'pretty';
  /** Replaces secrets in a finished line. */
  readonly mask: (line: string) => string;
}

export interface Log {
  readonly log: Logger;
  /** How many lines stdout did not take. */
  dropped(): number;
  /** Resolves when all lines are out, or when stdout has not taken them for so long. */
  end(withinMs: number): Promise<void>;
}

/** The process's logger, to stdout. Every line passes the mask, so a secret cannot get out whoever logs it, and what nobody sees is shown. */
export async function createLogger(options: LogOptions): Promise<Log> {
  const { level, mask } = options;
  const show = options.format === 'pretty' ? printableJson : visibleJson;
  const format = options.format === 'pretty' ? await prettyLine() : (line: string) => line;
  const lines = new Lines(stdoutPrinter(), (dropped) =>
    log.warn({ dropped }, 'stdout did not take all lines of the log'),
  );
  const destination: DestinationStream = { write: (line) => lines.add(format(line)) };
  const settings = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: faultOf },
    hooks: { streamWrite: (line: string) => show(mask(line)) },
  };
  const log: Logger = pino(settings, destination);
  return { log, dropped: () => lines.dropped, end: (withinMs) => lines.end(withinMs) };
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

async function prettyLine(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({ colorize: process.stdout.isTTY });
  return (line) => pretty(line);
}

interface Printer {
  /** Must not wait for whoever reads: what cannot be written now is written later, and `done` called then. */
  print(text: string, done: (error?: Error | null) => void): void;
  /** As much as goes at once, while the process ends. */
  printLast(text: string): void;
}

/** Lines are written some at a time: a write for each would cost a tenth of what accepting an event does. */
const writeAtLength = 4096;
const writeAtLatestMs = 100;
/** What may wait for a stdout that is slow or full, in characters; as much again may be on its way. */
const maxWaiting = 1024 * 1024;

/** The lines on their way to stdout. Nobody waits for them: what finds no room, or no reader, is dropped and counted. */
class Lines {
  dropped = 0;
  #told = 0;
  #waiting = '';
  #waitingLines = 0;
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;
  #whenOut: (() => void) | null = null;
  readonly #printer: Printer;
  readonly #tell: (dropped: number) => void;
  readonly #atExit = () => this.#printer.printLast(this.#waiting);

  constructor(printer: Printer, tell: (dropped: number) => void) {
    this.#printer = printer;
    this.#tell = tell;
    process.on('exit', this.#atExit);
  }

  add(line: string): void {
    if (this.#waiting.length + line.length > maxWaiting) {
      this.dropped += 1;
      return;
    }
    this.#waiting += line;
    this.#waitingLines += 1;
    if (this.#waiting.length >= writeAtLength) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), writeAtLatestMs).unref();
  }

  async end(withinMs: number): Promise<void> {
    this.#write();
    if (this.#isWriting) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#whenOut = resolve;
      const timer = setTimeout(resolve, withinMs);
      await promise;
      clearTimeout(timer);
    }
    process.off('exit', this.#atExit);
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isWriting || this.#waiting === '') return;
    const [text, lines] = [this.#waiting, this.#waitingLines];
    this.#waiting = '';
    this.#waitingLines = 0;
    this.#isWriting = true;
    this.#printer.print(text, (error) => this.#wrote(lines, error));
  }

  #wrote(lines: number, error?: Error | null): void {
    this.#isWriting = false;
    if (error) this.dropped += lines;
    else this.#tellDropped();
    if (this.#waiting === '') this.#whenOut?.();
    else this.#write();
  }

  /** Only once it is taken again, or it would be dropped, too. */
  #tellDropped(): void {
    const dropped = this.dropped - this.#told;
    this.#told = this.dropped;
    if (dropped > 0) this.#tell(dropped);
  }
}

const fd = 1;

function stdoutPrinter(): Printer {
  const stat = fstatSync(fd, { throwIfNoEntry: false });
  const isFile = stat !== undefined && !process.stdout.isTTY && !stat.isFIFO() && !stat.isSocket();
  return isFile ? filePrinter : streamPrinter();
}

/** Node writes to files while all else waits; here the disk may take its time. */
const filePrinter: Printer = {
  print(text, done) {
    const writeRest = (bytes: Buffer): void =>
      write(fd, bytes, (error, written) => {
        if (error || written === bytes.length) done(error);
        else writeRest(bytes.subarray(written));
      });
    writeRest(Buffer.from(text));
  },
  printLast(text) {
    try {
      if (text !== '') writeSync(fd, text);
    } catch {
      // Nobody is left to hear of it.
    }
  },
};

/** For pipes, sockets and terminals. Node waits for a terminal that takes nothing, as after Ctrl-S, unless it is told not to. */
function streamPrinter(): Printer {
  const { stdout } = process;
  const { _handle: handle } = stdout as { _handle?: { setBlocking?(blocking: boolean): void } };
  handle?.setBlocking?.(false);
  // Each write is told of its own error; one that nobody listens to would end the process.
  if (stdout.listenerCount('error') === 0) stdout.on('error', () => {});
  return {
    print: (text, done) => void stdout.write(text, done),
    printLast: (text) => void (text !== '' && stdout.write(text)),
  };
}
