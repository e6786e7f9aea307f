import type { ActionRef } from '../model.ts';
import type { Action, Plan } from '../rules/plan.ts';

const indexes = new WeakMap<Plan, ReadonlyMap<string, Action>>();

/** An action of a plan by its rule's name and its place in the rule's `then`. Looked up once per delivery, so indexed. */
export function actionOf(plan: Plan, ref: ActionRef): Action | undefined {
  let index = indexes.get(plan);
  if (!index) {
    index = new Map([...plan.then.flat(), ...plan.unmatched].map((action) => [keyOf(action), action]));
    indexes.set(plan, index);
  }
  return index.get(keyOf(ref));
}

const keyOf = (ref: ActionRef): string => `${ref.action} ${ref.rule}`;
