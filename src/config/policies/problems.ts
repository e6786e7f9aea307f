import { isMap, type Json } from '../../model.ts';
import type { Action, Plan } from '../../rules/plan.ts';
import { type Example, eventOf } from '../../rules/policies/policy.ts';
import { prove } from '../../rules/policies/prove.ts';
import { firstListed } from '../../support/text.ts';
import type { CheckedConfig } from '../config.ts';
import { pathOf } from '../plan-source.ts';
import type { Problem } from '../text/problems.ts';
import type { ConfigPolicy } from './policies.ts';

type Checked = Pick<CheckedConfig, 'plan' | 'policies' | 'at' | 'mask'>;

/** Proves the policies of a config. Gives an error for a broken one, a warning where it could not be proven. */
export function policyProblems({ plan, policies, at, mask }: Checked): Problem[] {
  const proofs = prove(plan, policies);
  return policies.flatMap((policy, index): Problem[] => {
    const { example, why, isIdle } = proofs[index]!;
    const problem = (severity: Problem['severity'], message: string): Problem[] => [
      { severity, ...at(policy.path), message: mask(message) },
    ];
    if (example)
      return problem('error', `this does not hold: ${brokenBy(policy, example, lineOf(plan, at))}`);
    if (why !== null) return problem('warning', `nobody knows whether this holds: ${why}`);
    return isIdle ? problem('warning', 'no event meets its "when", so nothing is promised') : [];
  });
}

/** Makes a function that names an action's rule, with its line. */
export const lineOf =
  ({ rules }: Plan, at: CheckedConfig['at']) =>
  (action: Action): string => {
    const { line } = at(pathOf(rules.names, action).slice(0, 2));
    return `"${action.rule}" (line ${line})`;
  };

const mostNamed = 3;

/** What happens instead of what a policy wants, for people. `ruleOf`: names an action's rule. */
export function brokenBy(
  { wants, target, words }: ConfigPolicy,
  example: Example,
  ruleOf: (action: Action) => string,
): string {
  const { actions, place } = example;
  const event = flow(eventOf(example));
  const rules = firstListed([...new Set(actions.map(ruleOf))], mostNamed);
  const named = `${rules.includes(', ') || rules.includes(' and ') ? 'rules' : 'rule'} ${rules}`;
  if (wants === 'always') {
    const instead = actions.length === 0 ? 'nobody hears of it' : `what goes out is by ${named}`;
    return `${words} does not hear of ${event}; ${instead}`;
  }
  const where = target ? words : `${actions[0]?.sink} ${place?.id}`;
  const times = target ? '' : `${actions.length} times `;
  return `${where} hears ${times}of ${event}, by ${named}`;
}

/** A value as YAML on one line. */
export function flow(value: Json): string {
  const pairs = isMap(value) ? Object.entries(value).map(([key, inner]) => `${key}: ${flow(inner)}`) : [];
  if (pairs.length > 0) return `{ ${pairs.join(', ')} }`;
  return typeof value === 'string' && /^[A-Za-z][\w-]*$/.test(value) ? value : JSON.stringify(value);
}
