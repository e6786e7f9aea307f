import type { AnyConnector, PaceLimit, Secret } from '../connector.ts';
import type { CandidateEvent, Json } from '../model.ts';
import type { Plan } from '../rules/plan.ts';
import type { Path } from '../support/json.ts';
import type { Mask } from '../support/secret.ts';

/** A config file, checked and compiled. Immutable; a reload makes a new one. */
export interface Config {
  /** As named on the command line. */
  readonly file: string;
  readonly receiver: ReceiverConfig;
  readonly store: { readonly url: string; readonly retentionMs: number; readonly secretKey: Secret | null };
  readonly idempotency: { readonly windowMs: number };
  readonly shutdown: { readonly delayMs: number };
  readonly admin: { readonly host: string; readonly port: number; readonly password: Secret | null };
  readonly log: { readonly level: string; readonly format: 'auto' | 'json' | 'pretty' };
  readonly sinks: ReadonlyMap<string, SinkConfig>;
  readonly plan: Plan;
  /** What `plan` was compiled from, as the store keeps it: with `${…}` unresolved, so that it has no secrets. */
  readonly planSource: Json;
  readonly warnings: readonly Problem[];
  /** Replaces every secret of this config in a text by `***`. */
  readonly mask: Mask;
}

/** A config with what only its authors need. */
export interface CheckedConfig extends Config {
  /** Where a value, or its key, is in the file. */
  readonly at: (path: Path, what?: 'value' | 'key') => Place;
  readonly scenarios: readonly Scenario[];
}

export interface ReceiverConfig {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** 'any', or addresses and CIDRs with `published` already expanded. */
  readonly allowFrom: 'any' | readonly string[];
  /** How many proxies are in front, or their addresses and CIDRs. */
  readonly trustProxy: number | readonly string[];
  readonly token: Secret | null;
  /** 'auto', or a header's name in lower case. */
  readonly correlationHeader: string;
  readonly maxBodyBytes: number;
}

export interface SinkConfig {
  readonly name: string;
  readonly connector: AnyConnector;
  /** Validated by the connector's own schema. */
  readonly options: { readonly [key: string]: unknown };
  readonly retry: RetryPolicy;
  /** The pace of each lane; null if only the tool itself limits it. */
  readonly pace: PaceLimit | null;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly onUnknown: 'resend' | 'hold';
  /** Some options are missing, because their values are. See loadToShow. */
  readonly isPartial?: boolean;
}

export interface RetryPolicy {
  readonly minDelayMs: number;
  readonly maxDelayMs: number;
  readonly giveUpAfterMs: number;
}

/** `count` in every `perMs`. */
export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

/** What has to be sent when one event comes, or several in their time. */
export type Scenario = OneEventScenario | TimedScenario;

interface AnyScenario {
  /** Where it is in the file. */
  readonly path: Path;
  readonly name: string | null;
  /** The only sinks that are compared; null: all. */
  readonly sinks: readonly string[] | null;
}

export interface OneEventScenario extends AnyScenario {
  readonly event: CandidateEvent;
  readonly expect: readonly Expectation[];
}

/** The sink, and keys of a message. */
export interface Expectation {
  readonly sink: string;
  readonly [key: string]: unknown;
}

export interface TimedScenario extends AnyScenario {
  /** Of its times. */
  readonly timeZone: string;
  /** In the order of their times (ms). */
  readonly events: readonly (CandidateEvent & { readonly at: number })[];
  readonly expect: readonly TimedExpectation[];
}

export interface TimedExpectation extends Expectation {
  readonly at: ScenarioTime | null;
  /** The ids of candidates. */
  readonly events?: readonly string[] | undefined;
}

/** A minute, or a second where seconds are written. */
export interface ScenarioTime {
  /** When it begins (ms). */
  readonly at: number;
  readonly forMs: number;
  readonly written: string;
}

/** A place in the config file. Lines and columns count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
  /** Two lines: the line, and a caret under the place. Credentials in the file are replaced by stars. */
  readonly excerpt: string;
}

/** A fault in the config file, at its place. */
export interface Problem extends Place {
  readonly severity: 'error' | 'warning';
  /** What is wrong, what was expected, and perhaps a suggestion. */
  readonly message: string;
}

/** Everything that is wrong with a config file. `message` is the whole report, ready to print. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string;
  readonly problems: readonly Problem[];
  /** A file could not be read. It may be readable in a moment, without any other change. */
  readonly mayPass: boolean;

  constructor(file: string, problems: readonly Problem[], report: string, mayPass: boolean) {
    super(report);
    this.file = file;
    this.problems = problems;
    this.mayPass = mayPass;
  }
}
