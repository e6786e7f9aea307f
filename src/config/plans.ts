import type { Json } from '../model.ts';
import type { Plan } from '../rules/plan.ts';

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
  readonly #compile: (source: Json) => Plan;
  readonly #known = new Map<string, Plan>();
  /** What is being read: many deliveries ask for the same plan at once, and compiling it takes long. */
  readonly #coming = new Map<string, Promise<Plan | Lost>>();
  readonly #kept = 8;

  /** `compile` may throw; its message is shown to people. */
  constructor(read: (configId: string) => Promise<Json | null>, compile: (source: Json) => Plan) {
    this.#read = read;
    this.#compile = compile;
  }

  add(plan: Plan): void {
    this.#known.delete(plan.id);
    this.#known.set(plan.id, plan);
    const oldest = this.#known.keys().next();
    if (this.#known.size > this.#kept && !oldest.done) this.#known.delete(oldest.value);
  }

  async get(configId: string): Promise<Plan | Lost> {
    const known = this.#known.get(configId);
    if (known) return known;
    const coming = this.#coming.get(configId) ?? this.#fetch(configId);
    this.#coming.set(configId, coming);
    return coming.finally(() => this.#coming.delete(configId));
  }

  async #fetch(configId: string): Promise<Plan | Lost> {
    const source = await this.#read(configId);
    if (source === null)
      return { lost: 'The config that decided this delivery is not in the store any more.' };
    try {
      const plan = this.#compile(source);
      this.add(plan);
      return plan;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { lost: `The config that decided this delivery cannot be used any more: ${why}` };
    }
  }
}
