import { fstatSync, write, writeSync } from 'node:fs';
import { styleText } from 'node:util';
import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import { ConfigError } from '../config/config.ts';
import { StoreUnavailable } from '../store/store.ts';
import type { Json } from '../model.ts';
import { mapLeaves } from '../support/json.ts';
import type { Mask } from '../support/secret.ts';
import { printable, visibleJson } from '../support/text.ts';

export interface LogOptions {
  readonly level: string;
  /** `auto`: `pretty` on a terminal, `json` elsewhere. */
  readonly format: 'auto' | 'json' | 'pretty';
  /** Whether the pretty format has colours. */
  readonly color: boolean;
  /** Masks secrets in a finished line. */
  readonly mask: Mask;
}

export interface Log {
  readonly log: Logger;
  /** The number of lines that stdout did not accept. */
  dropped(): number;
  /** Resolves when all lines are written, or after `withinMs`. */
  end(withinMs: number): Promise<void>;
}

/** The logger of the process, to stdout. In every finished line secrets are masked, and invisible characters shown. */
export function createLogger(options: LogOptions): Log {
  const { level, mask } = options;
  const isPretty = options.format === 'auto' ? process.stdout.isTTY : options.format === 'pretty';
  const format = isPretty ? prettyLine(options.color) : visibleJson;
  const lines = new Lines((dropped) => log.warn({ dropped }, 'stdout did not accept all lines of the log'));
  const add = (json: string) => lines.add(format(masked(json, mask)));
  const destination: DestinationStream = { write: (line) => add(line.trimEnd()) };
  const time = isoTime();
  const settings: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${time()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: serializeError },
    hooks: {
      logMethod(args, method, at) {
        const [fields, msg] = args as unknown[];
        if (!isFlat(fields) || typeof msg !== 'string') return method.apply(this, args);
        // The same line as pino's, for a third of the memory: pino joins it from each name and value.
        add(JSON.stringify({ level: pino.levels.labels[at], time: time(), ...fields, msg }));
      },
    },
  };
  const log: Logger = pino(settings, destination);
  return { log, dropped: () => lines.dropped, end: (withinMs) => lines.end(withinMs) };
}

const repeatedEveryMs = 60_000;

/**
 * Limits a message that may come again and again, such as of a full disk: `tell` is called at once for the first one, and then
 * once a minute with the last one and their number.
 */
export function seldom<T>(tell: (last: T, times: number) => void): (one: T) => void {
  let times = 0;
  let last: T;
  let timer: NodeJS.Timeout | null = null;
  const flush = () => {
    timer = null;
    if (times === 0) return;
    tell(last, times);
    times = 0;
    timer = setTimeout(flush, repeatedEveryMs).unref();
  };
  return (one) => {
    times += 1;
    last = one;
    if (timer === null) flush();
  };
}

/** Whether fields have only texts, numbers, truth values and null, as those of almost all lines. */
function isFlat(fields: unknown): fields is object {
  if (typeof fields !== 'object' || fields === null || fields instanceof Error) return false;
  for (const name in fields) {
    const value = (fields as Record<string, unknown>)[name];
    if (typeof value === 'object' ? value !== null : typeof value === 'bigint') return false;
  }
  return true;
}

/** A line of JSON with secrets masked. A secret of digits may be part of a number; the line stays JSON all the same. */
function masked(line: string, mask: Mask): string {
  const text = mask(line);
  if (text === line) return text;
  try {
    JSON.parse(text);
    return text;
  } catch {
    // Its parts are masked one by one below.
  }
  const ofLeaf = (leaf: unknown) => {
    const shown = mask(String(leaf));
    return typeof leaf === 'string' || shown !== String(leaf) ? shown : (leaf as Json);
  };
  return JSON.stringify(mapLeaves(JSON.parse(line), ofLeaf));
}

/** Returns the time in ISO 8601. It is formatted once for all lines of a millisecond: a busy receiver writes many. */
function isoTime(): () => string {
  let atMs = Number.NaN;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== atMs) {
      atMs = nowMs;
      text = new Date(nowMs).toISOString();
    }
    return text;
  };
}

/** The fields of an error. Only a bug has a stack; an expected failure has none. */
function serializeError(error: unknown): unknown {
  if (error instanceof ConfigError) {
    // Warnings are not why.
    const errors = error.problems.filter(({ severity }) => severity === 'error');
    const problems = errors.map(({ file, line, column, message }) => ({ file, line, column, message }));
    return { type: error.name, file: error.file, problems };
  }
  if (error instanceof StoreUnavailable) return { type: error.name, message: error.message };
  return error instanceof Error ? pino.stdSerializers.err(error) : error;
}

interface LogLine {
  readonly level: keyof typeof levelStyles;
  readonly time: string;
  readonly msg: string;
  readonly err?: { readonly stack?: string };
  readonly [field: string]: unknown;
}

const levelStyles = {
  trace: 'gray',
  debug: 'gray',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
} as const;

/** Formats a line for people: `2026-11-21 08:00:00.000Z INFO request outcome=accepted status=202`. Only a stack adds lines. */
function prettyLine(color: boolean): (line: string) => string {
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text;
  return (line) => {
    const { time, level, msg, err, ...fields } = JSON.parse(line) as LogLine;
    const { stack, ...rest } = err ?? {};
    const shown = Object.entries(err ? { ...fields, err: rest } : fields)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => {
        // In quotes where its end could not be told without.
        const isPlain = typeof value === 'string' && /^[^\s"]+$/.test(value);
        return `${paint('dim', `${name}=`)}${printable(isPlain ? value : JSON.stringify(value))}`;
      });
    const head = [paint('dim', time.replace('T', ' ')), paint(levelStyles[level], level.toUpperCase())];
    const frames = stack === undefined ? [] : stack.split('\n').map((frame) => `    ${printable(frame)}`);
    return [[...head, printable(msg), ...shown].join(' '), ...frames].join('\n');
  };
}

/** Writes a text without blocking, and calls `done` when it is written, or with the error. */
type Print = (text: string, done: (error?: Error | null) => void) => void;

/** Lines are written in batches, as a write for each would be a tenth of the cost of an event; after a pause at once. */
const writeAtLength = 16_384;
const writeEveryMs = 100;
/** So many characters wait for a stdout that is slow or full. As many again may be in a write. */
const maxWaiting = 1024 * 1024;

/** Buffers lines on their way to stdout. Nothing waits for them: lines without room or reader are dropped and counted. */
class Lines {
  dropped = 0;
  #reported = 0;
  #waiting = '';
  #waitingLines = 0;
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;
  #writtenAt = -Infinity;
  #whenOut: (() => void) | null = null;
  readonly #print = stdoutPrint();
  readonly #report: (dropped: number) => void;
  /** Writes synchronously what waits, at the end of the process. */
  readonly #atExit = () => {
    try {
      if (this.#waiting !== '') writeSync(fd, this.#waiting);
    } catch {
      // Nobody can be told any more.
    }
  };

  constructor(report: (dropped: number) => void) {
    this.#report = report;
    process.on('exit', this.#atExit);
  }

  add(line: string): void {
    if (this.#waiting.length + line.length > maxWaiting) {
      this.dropped += 1;
      return;
    }
    this.#waiting += `${line}\n`;
    this.#waitingLines += 1;
    const waitMs = Math.max(0, this.#writtenAt + writeEveryMs - performance.now());
    if (this.#waiting.length >= writeAtLength) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), waitMs).unref();
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
    this.#writtenAt = performance.now();
    this.#print(text, (error) => this.#wrote(lines, error));
  }

  #wrote(lines: number, error?: Error | null): void {
    this.#isWriting = false;
    if (error) this.dropped += lines;
    else if (this.dropped > this.#reported) {
      // Only after a successful write; otherwise the report would be dropped, too.
      const dropped = this.dropped - this.#reported;
      this.#reported = this.dropped;
      this.#report(dropped);
    }
    if (this.#waiting === '') this.#whenOut?.();
    else this.#write();
  }
}

const fd = 1;

function stdoutPrint(): Print {
  const { stdout } = process;
  const stat = fstatSync(fd, { throwIfNoEntry: false });
  if (stat !== undefined && !stdout.isTTY && !stat.isFIFO() && !stat.isSocket()) return printToFile;
  // Each write gets its own error. An unhandled 'error' event would end the process.
  if (stdout.listenerCount('error') === 0) stdout.on('error', () => {});
  return (text, done) => void stdout.write(text, done);
}

/** Writes to a file. Node's own stdout would do so synchronously, and a slow disk would block the process. */
function printToFile(text: string | Buffer, done: (error?: Error | null) => void): void {
  const bytes = Buffer.from(text);
  write(fd, bytes, (error, written) => {
    if (error || written === bytes.length) done(error);
    else printToFile(bytes.subarray(written), done);
  });
}
