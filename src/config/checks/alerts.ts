import { isMap } from '../../model.ts';
import type { SinkConfig } from '../config.ts';
import type { Fault } from '../fault.ts';
import { error, warning } from '../fault.ts';
import type { PlanSource, WrittenAction } from '../plan-source.ts';
import { alertActions, ruleActions } from '../plan-source.ts';

/**
 * Alerts that would tell of a sink in trouble through that same sink. Where another one of theirs is left, it is taken.
 */
export function checkAlertSinks(
  source: PlanSource,
  sinks: ReadonlyMap<string, Pick<SinkConfig, 'onUnknown'>>,
): Fault[] {
  const used = new Set(ruleActions(source).flatMap(sinkOf));
  const holding = new Set([...used].filter((sink) => sinks.get(sink)?.onUnknown === 'hold'));
  const inTrouble = { dead: used, paused: used, held: holding };
  return Object.entries(inTrouble).flatMap(([kind, mayFail]) => {
    const actions = alertActions(source, kind);
    const [only, ...others] = new Set(actions.flatMap(sinkOf));
    if (only === undefined || others.length > 0 || !mayFail.has(only)) return [];
    return actions.map(({ path }) => throughItself([...path, 'sink'], only, mayFail.size === 1));
  });
}

function throughItself(path: Fault['path'], sink: string, always: boolean): Fault {
  const advice = 'add an action with another sink';
  return always
    ? error(path, `trouble with "${sink}" would be told through "${sink}" itself; ${advice}`)
    : warning(path, `when "${sink}" itself is in trouble, nobody is told; ${advice}`);
}

function sinkOf({ action }: WrittenAction): string[] {
  return isMap(action) && typeof action['sink'] === 'string' ? [action['sink']] : [];
}
