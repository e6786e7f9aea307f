import type { ActionRef } from '../model.ts';
import { allActions, type Action, type Plan } from '../rules/plan.ts';

const indexes = new WeakMap<Plan, ReadonlyMap<string, Action>>();

/** An action of a plan by its rule's name and its place in the rule's `then`; alerts' are found too. Looked up once per delivery, so indexed. */
export function actionOf(plan: Plan, ref: ActionRef): Action | undefined {
  let index = indexes.get(plan);
  if (!index) {
    index = new Map(allActions(plan).map((action) => [keyOf(action), action]));
    indexes.set(plan, index);
  }
  return index.get(keyOf(ref));
}

const keyOf = (ref: ActionRef): string => `${ref.action} ${ref.rule}`;
