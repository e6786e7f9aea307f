import type { Json } from '../model.ts';
import type { Plan } from '../rules/plan.ts';
import type { Path } from '../support/json.ts';
import type { Mask } from '../support/secret.ts';
import type { LookupSink } from './lookups/lookup-sinks.ts';
import type { ConfigPolicy } from './policies/policies.ts';
import type { Scenario } from './scenarios.ts';
import type { Settings } from './settings.ts';
import type { SinkConfig } from './sinks.ts';
import type { FileMarks } from './text/references.ts';
import type { Position, Problem } from './text/problems.ts';

export type {
  Expectation,
  OneEventScenario,
  Scenario,
  TimedExpectation,
  TimedScenario,
} from './scenarios.ts';
export type { RetryPolicy, SinkConfig } from './sinks.ts';
export { ConfigError, type Position, type Problem } from './text/problems.ts';

/** A config file, checked and compiled. Immutable; a reload makes a new one. */
export interface Config extends Settings {
  /** The file's name, as on the command line. */
  readonly file: string;
  readonly sinks: ReadonlyMap<string, SinkConfig>;
  /** The look-ups, by the name of their sink, as in `lookup:candidate`. */
  readonly lookups: ReadonlyMap<string, LookupSink>;
  readonly plan: Plan;
  /** The source of `plan`, as the store keeps it: with `${…}` unresolved, so that it has no secrets. */
  readonly planSource: Json;
  /** The files that were read for references and for the catalog. */
  readonly files: FileMarks;
  readonly warnings: readonly Problem[];
  readonly policies: readonly ConfigPolicy[];
  /** Replaces every secret of this config in a text by `***`. */
  readonly mask: Mask;
}

/** A config with what only `check` and similar commands need. */
export interface CheckedConfig extends Config {
  /** The place of a value, or of its key, in the file. */
  readonly at: (path: Path, what?: 'value' | 'key') => Position;
  readonly scenarios: readonly Scenario[];
}

export type ReceiverConfig = Settings['receiver'];
