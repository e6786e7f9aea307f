import { foundBy } from '../../lookups/kept-facts.ts';
import type { Json } from '../../model.ts';
import { explain } from '../../rules/decide.ts';
import {
  type Action,
  alertRule,
  type Plan,
  summaryRule,
  unmatchedRule,
  type Verdict,
} from '../../rules/plan.ts';
import type { EventStory } from '../../store/store.ts';
import { type Path, pathText, textAt, valueAt } from '../../support/json.ts';
import { putLast } from '../../support/lists.ts';
import type { LoadOptions } from '../load.ts';
import { actionsOf, entries, type PlanSource } from '../plan-source.ts';
import { buildPlan } from '../build-plan.ts';
import { literalSecrets } from '../secrets/literal.ts';
import { referenceFaults, Values } from '../text/references.ts';

/** Why a stored plan cannot be used, as a sentence for people. */
export interface PlanFault {
  readonly fault: string;
}

/** Finds the plan that decided a delivery, or why it cannot be used. A promise only if it has to be compiled first. */
export type FindPlan = (configId: string) => Plan | PlanFault | Promise<Plan | PlanFault>;

export const cannotBeUsed = (why: string): string =>
  `The config that decided this delivery cannot be used any more: ${why}`;

/** Why each rule matched or not under the config that was in force, or why that is not known any more. */
export type Verdicts = readonly Verdict[] | PlanFault;

/** Gives the verdicts on a stored event by deciding it again: the same plan, event and facts give the same verdicts. */
export function verdictsOf(
  plan: Plan | PlanFault,
  { event, decided, lookups }: Pick<EventStory, 'event' | 'decided' | 'lookups'>,
): Verdicts {
  if (!decided) return notDecided;
  return 'fault' in plan ? plan : explain(plan, event, foundBy(lookups), event.receivedAt).rules;
}

/** What the verdicts are based on, for people: an answer may have come after the event was decided. */
export const verdictsBy = ({ lookups }: Pick<EventStory, 'lookups'>): string =>
  `by the config of when it came${lookups.length > 0 ? ', and what is known now' : ''}`;

const notDecided: PlanFault = {
  fault: 'It is not decided yet: it waits for its look-ups, or for an earlier event of its candidate.',
};

/** After a reload, old deliveries finish within hours, so a few plans are enough. */
const maxPlans = 8;

/** The plans that decided stored deliveries, each compiled when it is first needed. */
export class Plans {
  readonly #read: (configId: string) => Promise<Json | null>;
  readonly #compile: (source: Json) => Promise<Plan>;
  /** Plans by config id, in the order of their last use. Failures are kept, too: they take as long to find out. */
  #plans = new Map<string, Plan | PlanFault>();
  /** Compilations under way: many deliveries ask for the same plan at once. */
  #compiling = new Map<string, Promise<Plan | PlanFault>>();

  /** People see the message of what `compile` throws. */
  constructor(read: (configId: string) => Promise<Json | null>, compile: (source: Json) => Promise<Plan>) {
    this.#read = read;
    this.#compile = compile;
  }

  /** Adopts a new config's plan. Older plans are compiled again, as the environment and secret files may have changed. */
  adopt(plan: Plan): void {
    this.#plans = new Map([[plan.id, plan]]);
    this.#compiling = new Map();
  }

  get(configId: string): ReturnType<FindPlan> {
    const plans = this.#plans;
    const compiling = this.#compiling;
    const keep = (plan: Plan | PlanFault): Plan | PlanFault => putLast(plans, configId, plan, maxPlans);
    const known = plans.get(configId);
    // With a single plan, the order does not change.
    if (known) return plans.size === 1 ? known : keep(known);
    // If another config is adopted meanwhile, the result goes into maps that nobody reads any more.
    return compiling.getOrInsertComputed(configId, async () => {
      try {
        const source = await this.#read(configId);
        if (source === null)
          return keep({ fault: 'The config that decided this delivery is not in the store any more.' });
        const unusable = (error: unknown) => ({
          fault: cannotBeUsed(error instanceof Error ? error.message : String(error)),
        });
        return keep(await this.#compile(source).catch(unusable));
      } finally {
        compiling.delete(configId);
      }
    });
  }
}

/**
 * Compiles a plan from its stored source. Actions that cannot be carried out any more (a variable is not set, or a
 * connector has dropped a key) say why in `unusable`. Throws if anything else cannot be used.
 */
export async function compilePlan(
  source: Json,
  options: Pick<LoadOptions, 'env' | 'readFile' | 'connectors'>,
): Promise<Plan> {
  const values = new Values(options);
  const faults = Array.from(referenceFaults(source, values), ({ path, message }) => ({
    path,
    words: message,
  }));
  const plan = buildPlan(source as PlanSource, {
    resolve: values.orAsWritten,
    report({ severity, path, message }) {
      if (severity === 'error') faults.push({ path, words: `${pathText(path)}: ${message}` });
    },
    mask: values.mask,
    connectors: options.connectors,
  });
  values.learnSecrets(source, literalSecrets({}, source as PlanSource));
  if (faults.length === 0) return plan;

  const inOneLine = (some: typeof faults) => [...new Set(some.map(({ words }) => words))].join('; ');
  const within = (path: Path) => faults.filter((fault) => path.every((key, at) => fault.path[at] === key));
  const ofActions = new Set(actionsOf(source as PlanSource).flatMap(({ path }) => within(path)));
  const others = faults.filter((fault) => !ofActions.has(fault));
  if (others.length > 0) throw new Error(inOneLine(others));
  const judged = (actions: readonly Action[], rule: string, path: Path): Action[] =>
    entries(valueAt(source, path)).flatMap(([index, written]) => {
      const fault = inOneLine(within([...path, index]));
      if (fault === '') return actions.filter(({ action }) => action === index);
      const [sink, connector] = [textAt(written, 'sink'), textAt(written, 'connector')];
      const common = { rule, action: index, sink, connector, hours: null, digest: null, unusable: fault };
      return [{ ...common, render: () => ({ fault }), audience: () => null, lane: () => sink }];
    });
  const { rules, then, unmatched, alerts, summary } = plan;
  return {
    ...plan,
    then: then.map((actions, index) => judged(actions, rules.names[index]!, ['rules', index, 'then'])),
    unmatched: judged(unmatched, unmatchedRule, ['unmatched']),
    alerts: alerts.map(({ kind, afterMs, actions }) => ({
      kind,
      afterMs,
      actions: judged(actions, alertRule(kind), ['alerts', kind, 'then']),
    })),
    summary: summary && { ...summary, actions: judged(summary.actions, summaryRule, ['summary', 'then']) },
  };
}
