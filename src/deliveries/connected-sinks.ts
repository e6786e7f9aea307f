import type { SinkConfig } from '../config/config.ts';
import type { Sink } from '../connector.ts';

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
