import type { Plan } from '../rules/plan.ts';
import type { SinkConfig } from './config.ts';
import type { Path } from './fault.ts';
import type { PlanSource } from './plan-source.ts';
import type { ReadScenario } from './schema/scenario.ts';
import type { Settings } from './schema/settings.ts';

/** The parts of a config that could be read. */
export interface Parts {
  readonly settings: Partial<Settings>;
  readonly sinks: ReadonlyMap<string, SinkConfig>;
  readonly source: PlanSource;
  readonly plan: Plan | null;
  readonly scenarios: readonly { readonly path: Path; readonly scenario: ReadScenario }[];
}
