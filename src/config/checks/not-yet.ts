import type { Fault } from '../fault.ts';
import { warning } from '../fault.ts';
import type { PlanSource } from '../plan-source.ts';
import { actionsOf } from '../plan-source.ts';
import { isMap } from '../walk.ts';

const message = (key: string): string => `"${key}" is checked, but this version does not act on it yet`;

/** Warns of every use of what the config may say already and the connector does not do yet. */
export function notYetActedOn(source: PlanSource): Fault[] {
  const keys = (['hours', 'alerts'] as const).filter(
    (key) => isMap(source[key]) && Object.keys(source[key]).length > 0,
  );
  const inActions = actionsOf(source).flatMap(({ action, path }) =>
    ['hours', 'digest'].flatMap((key) =>
      isMap(action) && action[key] !== undefined ? [[...path, key]] : [],
    ),
  );
  return [...keys.map((key) => [key]), ...inActions].map((path) =>
    warning(path, message(path.at(-1) as string), 'key'),
  );
}
