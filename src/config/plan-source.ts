import { isMap, type Json, type JsonMap } from '../model.ts';
import type { Path } from './fault.ts';

/** The part of a config that a plan is compiled from, references unresolved. Plain JSON, so that a store can keep it. */
export interface PlanSource {
  readonly catalog?: Json;
  readonly hours?: Json;
  readonly rules?: Json;
  readonly unmatched?: Json;
  readonly alerts?: Json;
}

export const planKeys = ['catalog', 'hours', 'rules', 'unmatched', 'alerts'] as const;

/** An action as written, and where. */
export interface WrittenAction {
  readonly action: Json;
  readonly path: Path;
}

/**
 * Takes the plan's part out of a config as written. Each action gets its sink's `connector` written in: the plan can
 * then be compiled without the sinks, which may be others by then.
 */
export function planSource(config: JsonMap, connectorOf: (sink: string) => string | undefined): PlanSource {
  const named = (action: Json): Json => {
    if (!isMap(action)) return action;
    const connector = typeof action['sink'] === 'string' ? connectorOf(action['sink']) : undefined;
    return connector === undefined ? action : { ...action, connector };
  };
  const part = Object.fromEntries(
    planKeys.flatMap((key) => (config[key] === undefined ? [] : [[key, config[key]] as const])),
  );
  return mapActions(part, named);
}

/** Every action of a plan's source: those of rules, of `unmatched` and of alerts. */
export function actionsOf(source: PlanSource): WrittenAction[] {
  const alerts = isMap(source.alerts) ? Object.keys(source.alerts) : [];
  return [...ruleActions(source), ...alerts.flatMap((name) => alertActions(source, name))];
}

/** Those of rules and of `unmatched`. */
export function ruleActions(source: PlanSource): WrittenAction[] {
  return [
    ...entries(source.rules).flatMap(([index, rule]) => listed(rule, ['rules', index])),
    ...entries(source.unmatched).map(([index, action]) => ({ action, path: ['unmatched', index] })),
  ];
}

export function alertActions({ alerts }: PlanSource, name: string): WrittenAction[] {
  return isMap(alerts) ? listed(alerts[name] ?? null, ['alerts', name]) : [];
}

function listed(parent: Json, path: Path): WrittenAction[] {
  if (!isMap(parent)) return [];
  return entries(parent['then']).map(([index, action]) => ({ action, path: [...path, 'then', index] }));
}

function mapActions(source: PlanSource, change: (action: Json) => Json): PlanSource {
  const inThen = (parent: Json): Json => {
    if (!isMap(parent) || !Array.isArray(parent['then'])) return parent;
    return { ...parent, then: (parent['then'] as Json[]).map(change) };
  };
  const { rules, unmatched, alerts } = source;
  return {
    ...source,
    ...(Array.isArray(rules) && { rules: (rules as Json[]).map(inThen) }),
    ...(Array.isArray(unmatched) && { unmatched: (unmatched as Json[]).map(change) }),
    ...(isMap(alerts) && {
      alerts: Object.fromEntries(Object.entries(alerts).map(([name, alert]) => [name, inThen(alert)])),
    }),
  };
}

/** The entries of a list with their indexes; none where it is no list. */
export function entries(value: Json | undefined): [number, Json][] {
  return Array.isArray(value) ? [...(value as Json[]).entries()] : [];
}
