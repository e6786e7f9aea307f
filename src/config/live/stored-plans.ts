import type { Event, Json } from '../../model.ts';
import { explain } from '../../rules/decide.ts';
import type { Plan, Verdict } from '../../rules/plan.ts';
import { pathText } from '../../support/json.ts';
import type { LoadOptions } from '../load.ts';
import type { PlanSource } from '../plan-source.ts';
import { buildPlan } from '../plan.ts';
import { Values } from '../text/references.ts';
import type { Reading } from '../text/validate.ts';

/** Why a stored plan cannot be used, as a sentence for people. */
export interface PlanFault {
  readonly fault: string;
}

export const cannotBeUsed = (why: string): string =>
  `The config that decided this delivery cannot be used any more: ${why}`;

/** Why each rule matched or not by the config that was in force, or why that cannot be told any more. */
export type Verdicts = readonly Verdict[] | PlanFault;

/** Decides again: a plan and an event give the same verdicts at any time. */
export function verdictsOf(plan: Plan | PlanFault, event: Event): Verdicts {
  if ('fault' in plan) return plan;
  const why = plan.unusable?.deciding ?? null;
  return why === null ? explain(plan, event, event.receivedAt).rules : { fault: cannotBeUsed(why) };
}

/** After a reload, old deliveries finish within hours, so a few plans are enough. */
const maxPlans = 8;

/** The plans that decided stored deliveries, each compiled when it is first needed. */
export class Plans {
  readonly #read: (configId: string) => Promise<Json | null>;
  readonly #compile: (source: Json) => Promise<Plan>;
  /** In the order of their last use. Failures are kept too, because they take as long to find out. */
  #plans = new Map<string, Plan | PlanFault>();
  /** Many deliveries ask for the same plan at once, and share one compilation. */
  #compiling = new Map<string, Promise<Plan | PlanFault>>();

  /** If `compile` throws, people see its message. */
  constructor(read: (configId: string) => Promise<Json | null>, compile: (source: Json) => Promise<Plan>) {
    this.#read = read;
    this.#compile = compile;
  }

  /**
   * The plan of a new config. Older plans are compiled again, because environment and secret files may have changed.
   */
  adopt(plan: Plan): void {
    this.#plans = new Map([[plan.id, plan]]);
    this.#compiling = new Map();
  }

  async get(configId: string): Promise<Plan | PlanFault> {
    const plans = this.#plans;
    const compiling = this.#compiling;
    const keep = (plan: Plan | PlanFault): Plan | PlanFault => {
      plans.delete(configId);
      plans.set(configId, plan);
      const [oldest = ''] = plans.keys();
      if (plans.size > maxPlans) plans.delete(oldest);
      return plan;
    };
    const known = plans.get(configId);
    if (known) return keep(known);
    // If another config is adopted meanwhile, the result goes into maps that nobody reads any more.
    return compiling.getOrInsertComputed(configId, async () => {
      try {
        const source = await this.#read(configId);
        if (source === null)
          return keep({ fault: 'The config that decided this delivery is not in the store any more.' });
        return keep(await this.#compiled(source));
      } finally {
        compiling.delete(configId);
      }
    });
  }

  async #compiled(source: Json): Promise<Plan | PlanFault> {
    try {
      return await this.#compile(source);
    } catch (error) {
      return { fault: cannotBeUsed(error instanceof Error ? error.message : String(error)) };
    }
  }
}

/**
 * Compiles a plan from its stored source. If a part cannot be used any more (a variable is not set, or a connector has
 * dropped a key), the other parts still can.
 */
export async function compilePlan(
  source: Json,
  options: Pick<LoadOptions, 'env' | 'readFile' | 'connectors'>,
): Promise<Plan> {
  const values = new Values(options);
  const forPart = () => {
    const missing = new Set<string>();
    const errors: string[] = [];
    const resolve: Reading['resolve'] = (reference) => {
      const resolved = values.resolve(reference);
      if ('value' in resolved) return resolved.value;
      missing.add(resolved.missing);
      return reference.text;
    };
    const report: Reading['report'] = ({ severity, path, message }) => {
      if (severity === 'error') errors.push(`${pathText(path)}: ${message}`);
    };
    const fault = () => (missing.size + errors.length === 0 ? null : [...missing, ...errors].join('; '));
    return { resolve, report, fault };
  };
  const reading = { ...forPart(), forPart, mask: values.mask, connectors: options.connectors };
  const plan = buildPlan(source as PlanSource, reading);
  values.learnSecrets(source);
  return plan;
}
