import type { Logger } from 'pino';
import type { SinkConfig } from '../config/config.ts';
import { type LiveCheck, type RefreshTokens, type Sink, type Usage } from '../connector.ts';
import type { Outcome, Reason } from '../model/outcomes.ts';
import type { ReplicaState } from '../store/store.ts';
import { timeText } from '../support/text.ts';
import { findSecrets, type Mask } from '../support/secret.ts';
import type { Holding } from './leases.ts';
import type { Deadlines } from './limits/deadlines.ts';

// oxlint-disable-next-line no-explicit-any -- sinks of every connector's message pass through here
type AnySink = Sink<any>;

type SinkConfigs = ReadonlyMap<string, SinkConfig>;

const secretsOf = ({ options }: SinkConfig): string =>
  JSON.stringify(Array.from(findSecrets(options), ({ value }) => value));

/** Reasons of a tool that looked at the message, and so took the secrets. */
const pastTheLogin: ReadonlySet<Reason> = new Set(['invalid', 'not_found']);

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
  readonly #connections = new Map<string, Connection>();
  readonly #closing = new Set<Promise<void>>();
  readonly #refreshTokens: RefreshTokens | undefined;
  /** What tools have counted since `takeUsage`, by the name of the sink. */
  readonly #usage = new Map<string, Usage>();
  /** Sinks to which a reload gave other secrets, perhaps before a restart, and when, until a call shows that they are right. */
  readonly #newSecrets = new Map<
    string,
    { readonly at: number; readonly timeZone: string; areRefused: boolean; fault: string | null }
  >();

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

  /** Notes which sinks of a new config have other secrets than before, and returns these. `timeZone`: the new config's. */
  adopt(before: SinkConfigs, after: SinkConfigs, at: number, timeZone: string): SinkConfig[] {
    const changed = [...after.values()].filter((sink) => {
      const known = before.get(sink.name);
      return known !== undefined && secretsOf(known) !== secretsOf(sink);
    });
    for (const { name } of changed)
      this.#newSecrets.set(name, { at, timeZone, areRefused: false, fault: null });
    return changed;
  }

  /** Takes over which sinks' changed secrets did not work before a restart, and returns these sinks, to be checked again. */
  recall(faults: Required<ReplicaState>['secretFaults'], sinks: SinkConfigs, timeZone: string): SinkConfig[] {
    return faults.flatMap(({ sink, since: at, detail: fault }) => {
      const config = sinks.get(sink);
      // Several replicas may have said so.
      if (!config || this.#newSecrets.has(sink)) return [];
      this.#newSecrets.set(sink, { at, timeZone, areRefused: false, fault });
      return config;
    });
  }

  /**
   * Learns from an outcome whether new secrets are right. Returns it, with a detail of since when they were refused.
   */
  judged<Told extends Outcome>(name: string, outcome: Told): Told {
    const secrets = this.#newSecrets.get(name);
    if (!secrets) return outcome;
    if (outcome.outcome === 'delivered' || pastTheLogin.has(outcome.reason)) this.#newSecrets.delete(name);
    else if (outcome.reason === 'auth') {
      secrets.areRefused = true;
      return { ...outcome, detail: this.refusedSince(name, outcome.detail) };
    }
    return outcome;
  }

  /** Notes what a check of new secrets found; null if they work. */
  checked(name: string, fault: string | null): void {
    const secrets = this.#newSecrets.get(name);
    if (secrets) secrets.fault = fault;
  }

  /** The sinks whose new secrets are known not to work, and since when. */
  secretFaults(): NonNullable<ReplicaState['secretFaults']> {
    return [...this.#newSecrets].flatMap(([sink, { at: since, fault: detail }]) =>
      detail === null ? [] : [{ sink, since, detail }],
    );
  }

  /** Adds to the detail of a failure since when the sink's new secrets were refused, if they were. */
  refusedSince(name: string, detail: string): string {
    const secrets = this.#newSecrets.get(name);
    if (!secrets?.areRefused) return detail;
    return `${detail} Its secrets were changed at ${timeText(secrets.at, secrets.timeZone)}, and it has been refused since.`;
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

interface CheckParts {
  readonly sinks: ConnectedSinks;
  readonly deadlines: Deadlines;
  readonly holding: Pick<Holding, 'until'>;
  readonly mask: Mask;
}

/** Checks the new secrets of sinks, before a message has to go out with them. Tells `work` which are right. Never throws. */
export async function checkSecrets(
  {
    log,
    work,
    ...parts
  }: Omit<CheckParts, 'holding'> & {
    readonly log: Logger;
    readonly work: (sink: string) => void;
  },
  changed: readonly SinkConfig[],
): Promise<void> {
  const check = async (sink: SinkConfig) => {
    const detail = await faultOf({ ...parts, holding: { until: Infinity } }, sink);
    if (parts.deadlines.shutdown.aborted) return;
    parts.sinks.checked(sink.name, detail);
    if (detail === null) work(sink.name);
    else log.error({ sink: sink.name, detail }, 'the changed secrets of a sink do not work');
  };
  await Promise.all(changed.map(check));
}

/** Asks a tool whether it works, without sending a message. Returns what is wrong, or null. Never throws. */
export async function faultOf(
  { sinks, mask, deadlines, holding }: CheckParts,
  sink: SinkConfig,
): Promise<string | null> {
  const abandoned = (): LiveCheck[] => [{ ok: false, what: 'check', detail: 'There was no answer in time.' }];
  try {
    const check = async (signal: AbortSignal) => {
      const connection = sinks.take(sink);
      try {
        const connected = await connection.connecting;
        return await connected.check([], signal);
      } finally {
        sinks.giveBack(connection);
      }
    };
    const checks = await deadlines.run({ timeoutMs: sink.timeoutMs, holding }, check, abandoned);
    const failed = checks.find(({ ok }) => !ok);
    if (!failed) return null;
    const said = `The check "${failed.what}" failed: ${failed.detail} ${failed.advice ?? ''}`.trim();
    return mask(sinks.refusedSince(sink.name, said));
  } catch (error) {
    return mask(`The sink could not be connected: ${error instanceof Error ? error.message : String(error)}`);
  }
}
