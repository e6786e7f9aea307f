import type { Json } from '../model.ts';
import type { Plan } from '../rules/plan.ts';
import { pathText } from '../support/json.ts';
import { runInSlices } from '../support/steps.ts';
import type { LoadOptions } from './load.ts';
import { lateMasker } from './mask.ts';
import type { PlanSource } from './plan-source.ts';
import { buildingPlan, type PartReading } from './plan.ts';
import { Values } from './references.ts';

/** Why a plan cannot be had any more, in plain words. */
export interface Lost {
  readonly lost: string;
}

/**
 * The plans that stored deliveries were decided by, compiled again from the store when they are first asked for. Keeps
 * only a few: after a reload, old deliveries finish within hours.
 */
export class Plans {
  readonly #read: (configId: string) => Promise<Json | null>;
  readonly #compile: (source: Json) => Promise<Plan>;
  /** The one used last comes last. What could not be compiled is kept, too: that takes as long. */
  #known = new Map<string, Plan | Lost>();
  /** What is being read: many deliveries ask for the same plan at once, and compiling it takes long. */
  #coming = new Map<string, Promise<Plan | Lost>>();
  readonly #kept = 8;

  /** `compile` may throw; its message is shown to people. */
  constructor(read: (configId: string) => Promise<Json | null>, compile: (source: Json) => Promise<Plan>) {
    this.#read = read;
    this.#compile = compile;
  }

  /** The plan of a config that comes into force. The others are compiled anew: what they take from outside was read again, too. */
  adopt(plan: Plan): void {
    this.#known = new Map([[plan.id, plan]]);
    this.#coming = new Map();
  }

  async get(configId: string): Promise<Plan | Lost> {
    const known = this.#known.get(configId);
    if (known) {
      keep(this.#known, configId, known, this.#kept);
      return known;
    }
    const coming = this.#coming;
    return coming.getOrInsertComputed(configId, () =>
      this.#fetch(configId, this.#known).finally(() => coming.delete(configId)),
    );
  }

  async #fetch(configId: string, known: Map<string, Plan | Lost>): Promise<Plan | Lost> {
    const source = await this.#read(configId);
    if (source === null)
      return { lost: 'The config that decided this delivery is not in the store any more.' };
    const plan = await this.#compiled(source);
    // Where another config came into force meanwhile, nobody looks there any more.
    keep(known, configId, plan, this.#kept);
    return plan;
  }

  async #compiled(source: Json): Promise<Plan | Lost> {
    try {
      return await this.#compile(source);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { lost: cannotBeUsed(why) };
    }
  }
}

export const cannotBeUsed = (why: string): string =>
  `The config that decided this delivery cannot be used any more: ${why}`;

function keep<Value>(known: Map<string, Value>, key: string, value: Value, most: number): void {
  known.delete(key);
  known.set(key, value);
  const oldest = known.keys().next();
  if (known.size > most && !oldest.done) known.delete(oldest.value);
}

/**
 * Compiles a plan's source as a store kept it. What cannot be used any more, since a variable is not set or a connector
 * has no such key, spoils no more than it has to: the other actions can be carried out.
 */
export async function compilePlan(
  source: Json,
  options: Pick<LoadOptions, 'env' | 'readFile' | 'connectors'>,
): Promise<Plan> {
  const values = new Values(options);
  const ofPart = () => partReading(values);
  const whole = ofPart();
  const secrets = lateMasker();
  const reading = { ...whole, ofPart, mask: secrets.mask, connectors: options.connectors };
  const { unusable, ...plan } = await runInSlices(buildingPlan(source as PlanSource, reading));
  values.keepNamed(source);
  secrets.learn(values.secretsAmong([]));
  const deciding = [unusable?.deciding, whole.why()]
    .filter((why) => why !== null && why !== undefined)
    .join('; ');
  const tests = unusable?.tests ?? new Map();
  return deciding === '' && tests.size === 0
    ? plan
    : { ...plan, unusable: { deciding: deciding || null, tests } };
}

function partReading(values: Values): PartReading {
  const missing = new Set<string>();
  const errors: string[] = [];
  return {
    resolve(reference) {
      const resolved = values.resolve(reference);
      if ('value' in resolved) return resolved.value;
      missing.add(resolved.missing);
      return reference.text;
    },
    report({ severity, path, message }) {
      if (severity === 'error') errors.push(`${pathText(path)}: ${message}`);
    },
    why: () => (missing.size + errors.length === 0 ? null : [...missing, ...errors].join('; ')),
  };
}
