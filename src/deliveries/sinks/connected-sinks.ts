import type { SinkConfig } from '../../config/config.ts';
import type { RefreshTokens, Sink, Usage } from '../../connector.ts';
import { NewSecrets } from './new-secrets.ts';

// oxlint-disable-next-line no-explicit-any -- sinks of every connector's message pass through here
type AnySink = Sink<any>;

interface Connection {
  readonly config: SinkConfig;
  readonly connecting: Promise<AnySink>;
  /** Null while it is being connected. */
  sink: AnySink | null;
  users: number;
  outdated: boolean;
}

/**
 * The connected sinks, with today's credentials. A sink connects on first use, because its client library costs memory
 * and start-up time. After a change of its config, the old connection closes when the attempts that use it have ended.
 */
export class ConnectedSinks {
  readonly newSecrets = new NewSecrets();
  readonly #connections = new Map<string, Connection>();
  readonly #closing = new Set<Promise<void>>();
  readonly #refreshTokens: RefreshTokens | undefined;
  /** What tools have counted since `takeUsage`, by the name of the sink. */
  readonly #usage = new Map<string, Usage>();

  constructor(refreshTokens?: RefreshTokens) {
    this.#refreshTokens = refreshTokens;
  }

  /** Takes the connection to a sink, to be given back. If connecting fails, the next call connects again. */
  take(config: SinkConfig): Connection {
    const connection = this.#connection(config);
    connection.users += 1;
    return connection;
  }

  giveBack(connection: Connection): void {
    const { config, sink } = connection;
    if (sink) this.#count(config.name, sink.usage?.());
    connection.users -= 1;
    this.#closeIfUnused(connection);
  }

  /** What the tool has counted for a sink since the last call of this; null if it counts nothing. */
  takeUsage(name: string): Usage | null {
    const usage = this.#usage.get(name) ?? null;
    if (usage) this.#usage.set(name, { ...usage, calls: 0 });
    return usage;
  }

  #count(name: string, usage: Usage | undefined): void {
    if (!usage) this.#usage.delete(name);
    else this.#usage.set(name, { ...usage, calls: usage.calls + (this.#usage.get(name)?.calls ?? 0) });
  }

  /** Closes every sink. Call it when no attempt is under way. */
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
      connecting: config.connector.connect(config.options, this.#refreshTokens),
      sink: null,
      users: 0,
      outdated: false,
    };
    this.#connections.set(config.name, connection);
    connection.connecting.then(
      (sink) => (connection.sink = sink),
      () => this.#forget(connection),
    );
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
    const closed = connection.connecting
      .then((sink) => sink.close())
      .catch(() => undefined)
      .finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}
