import type { Clock } from '../support/clock.ts';
import type { SinkConfig } from '../config/config.ts';
import type { Sink } from '../connector.ts';
import type { Ending } from './settle.ts';

// oxlint-disable-next-line no-explicit-any -- sinks of every connector's message pass through here
type AnySink = Sink<any>;

interface Connection {
  readonly config: SinkConfig;
  readonly sink: Promise<AnySink>;
  users: number;
  outdated: boolean;
}

/**
 * The sinks as connected with today's credentials. A sink connects when it is first used, since its client library
 * costs memory and start-up time; one whose config changed is closed when the attempts that use it have ended.
 */
export class ConnectedSinks {
  readonly #connections = new Map<string, Connection>();
  readonly #closing = new Set<Promise<void>>();

  /** Runs `use` with the sink connected. Rejects if connecting fails; the next use tries again. */
  async use<T>(config: SinkConfig, use: (sink: AnySink) => Promise<T>): Promise<T> {
    const connection = this.#connection(config);
    connection.users += 1;
    try {
      return await use(await connection.sink);
    } finally {
      connection.users -= 1;
      this.#closeIfUnused(connection);
    }
  }

  /** Closes every sink. To be called when no attempt is under way. */
  async close(): Promise<void> {
    for (const connection of this.#connections.values()) this.#retire(connection);
    await Promise.all(this.#closing);
  }

  #connection(config: SinkConfig): Connection {
    const known = this.#connections.get(config.name);
    if (known?.config === config) return known;
    if (known) this.#retire(known);
    const connection: Connection = {
      config,
      sink: config.connector.connect(config.options),
      users: 0,
      outdated: false,
    };
    this.#connections.set(config.name, connection);
    connection.sink.catch(() => this.#forget(connection));
    return connection;
  }

  #retire(connection: Connection): void {
    this.#forget(connection);
    connection.outdated = true;
    this.#closeIfUnused(connection);
  }

  #forget(connection: Connection): void {
    const { name } = connection.config;
    if (this.#connections.get(name) === connection) this.#connections.delete(name);
  }

  #closeIfUnused(connection: Connection): void {
    if (!connection.outdated || connection.users > 0) return;
    const closed = connection.sink
      .then((sink) => sink.close())
      .catch(() => undefined)
      .finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}

/** How long an attempt that timed out may take to say how it ended before it is written off. */
const settlingMs = 5000;
/** The same at the shutdown, where the process is killed soon. */
const settlingAtShutdownMs = 1000;

export interface Deadline<T> {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly shutdown: AbortSignal;
  /** What a written-off attempt comes to, from its ending. */
  readonly writtenOff: (ending: Ending) => T;
}

/**
 * Runs an attempt with a signal that aborts at its time-out or at the shutdown. An attempt that ignores its signal is
 * written off as unknown, since a stuck one must never hold its place for ever.
 */
export async function withDeadline<T>(
  { clock, timeoutMs, shutdown, writtenOff }: Deadline<T>,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const stuck = Promise.withResolvers<T>();
  const cancels: (() => void)[] = [];
  const abortAndSettle = (withinMs: number, detail: string) => {
    abort.abort();
    // A time-out and the shutdown may both come: the earlier end counts.
    cancels.push(clock.after(withinMs, () => stuck.resolve(writtenOff(noAnswer(detail)))));
  };
  const onTimeout = () => abortAndSettle(settlingMs, `No answer within ${timeoutMs / 1000} s.`);
  const onShutdown = () =>
    abortAndSettle(settlingAtShutdownMs, 'The connector stopped before there was an answer.');
  cancels.push(clock.after(timeoutMs, onTimeout));
  if (shutdown.aborted) onShutdown();
  shutdown.addEventListener('abort', onShutdown, { once: true });
  try {
    return await Promise.race([run(abort.signal), stuck.promise]);
  } finally {
    for (const cancel of cancels) cancel();
    shutdown.removeEventListener('abort', onShutdown);
  }
}

function noAnswer(detail: string): Ending {
  return { outcome: { outcome: 'unknown', reason: 'timeout', detail }, askedAbsent: false, hold: false };
}
