import { createHash } from 'node:crypto';
import { type ActionRef, isMap, type Json, type JsonMap } from '../model.ts';
import { unmatchedRule } from '../rules/plan.ts';
import type { Path } from '../support/json.ts';

export const planKeys = [
  'timezone',
  'language',
  'locale',
  'words',
  'links',
  'catalog',
  'lookups',
  'hours',
  'rules',
  'unmatched',
  'alerts',
  'summary',
] as const;

/** The part of a config that a plan is compiled from, with unresolved references: plain JSON, which a store can keep. */
export type PlanSource = { readonly [Key in (typeof planKeys)[number]]?: Json };

/** The keys of look-ups that belong to a plan. The others say how the look-up is made, and are today's. */
export const lookupPlanKeys = ['when', 'fields', 'until', 'waitFor', 'keep'] as const;

function plannedLookups(lookups: Json): Json {
  if (!isMap(lookups)) return lookups;
  const isPlanned = (key: string) => (lookupPlanKeys as readonly string[]).includes(key);
  const planned = (lookup: Json): Json =>
    isMap(lookup) ? Object.fromEntries(Object.entries(lookup).filter(([key]) => isPlanned(key))) : lookup;
  return Object.fromEntries(Object.entries(lookups).map(([name, lookup]) => [name, planned(lookup)]));
}

export interface WrittenAction {
  readonly action: Json;
  readonly path: Path;
}

/** The entries of a list with their indexes; none for another value. */
export function entries(value: Json | undefined): [number, Json][] {
  return Array.isArray(value) ? [...(value as Json[]).entries()] : [];
}

/**
 * Takes the plan's part of a config as written. `ofSink`: what actions get of their sink, such as its `connector`, so that
 * the plan can be compiled without the sinks, which may change later.
 */
export function toPlanSource(config: JsonMap, ofSink: (sink: string) => JsonMap): PlanSource {
  const named = (action: Json): Json => {
    if (!isMap(action)) return action;
    const { connector, ...inherited } = typeof action['sink'] === 'string' ? ofSink(action['sink']) : {};
    return connector === undefined ? action : { ...inherited, ...action, connector };
  };
  const list = (actions: Json): Json => (Array.isArray(actions) ? (actions as Json[]).map(named) : actions);
  const inThen = (parent: Json): Json =>
    isMap(parent) && parent['then'] !== undefined ? { ...parent, then: list(parent['then']) } : parent;
  const inEach = (value: Json): Json => {
    if (Array.isArray(value)) return (value as Json[]).map(inThen);
    if (!isMap(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inThen(inner)]));
  };
  const changes = {
    rules: inEach,
    alerts: inEach,
    unmatched: list,
    summary: inThen,
    lookups: plannedLookups,
  };
  return Object.fromEntries(
    planKeys.flatMap((key) => {
      const { [key]: value } = config;
      const change = (changes as { [key: string]: (value: Json) => Json })[key];
      return value === undefined ? [] : [[key, change ? change(value) : value] as const];
    }),
  );
}

const known = new WeakMap<PlanSource, readonly WrittenAction[]>();

export const ruleActions = (source: PlanSource): readonly WrittenAction[] =>
  known.getOrInsertComputed(source, ({ rules, unmatched }) => [
    ...entries(rules).flatMap(([index, rule]) => actionsIn(rule, ['rules', index])),
    ...entries(unmatched).map(([index, action]) => ({ action, path: ['unmatched', index] })),
  ]);

/** The actions of alerts and of the summary. */
export const noticeActions = (source: PlanSource): WrittenAction[] => [
  ...Object.keys(isMap(source.alerts) ? source.alerts : {}).flatMap((name) => alertActions(source, name)),
  ...actionsIn(source.summary, ['summary']),
];

/** Every action of a plan's source: those of rules, of `unmatched`, of alerts and of the summary. */
export const actionsOf = (source: PlanSource): WrittenAction[] => [
  ...ruleActions(source),
  ...noticeActions(source),
];

export const alertActions = ({ alerts }: PlanSource, name: string): WrittenAction[] =>
  isMap(alerts) ? actionsIn(alerts[name], ['alerts', name]) : [];

function actionsIn(parent: Json | undefined, path: Path): WrittenAction[] {
  if (!isMap(parent)) return [];
  return entries(parent['then']).map(([index, action]) => ({ action, path: [...path, 'then', index] }));
}

/** The name of an action's sink as a list; empty where it has faults. */
export const sinkOf = ({ action }: WrittenAction): string[] =>
  isMap(action) && typeof action['sink'] === 'string' ? [action['sink']] : [];

const indexes = new WeakMap<readonly string[], ReadonlyMap<string, number>>();

/** The path of a rule's action in the config. `names`: those of the rules. */
export function pathOf(names: readonly string[], { rule, action }: ActionRef): Path {
  if (rule === unmatchedRule) return ['unmatched', action];
  const indexOf = indexes.getOrInsertComputed(names, () => new Map(names.map((name, at) => [name, at])));
  return ['rules', indexOf.get(rule) ?? -1, 'then', action];
}

/** SHA-256 in hex of the value's JSON with sorted keys, so the order of keys does not matter. */
export function contentId(value: Json): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((entry: Json) => canonicalJson(entry)).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value);
  // Objects put keys that are whole numbers first, whatever their order here.
  const keys = Object.keys(value).toSorted();
  const sorted = Object.fromEntries(keys.map((key) => [key, value[key]]));
  const pairs = Object.entries(sorted).flatMap(([key, inner]) =>
    inner === undefined ? [] : [`${JSON.stringify(key)}:${canonicalJson(inner)}`],
  );
  return `{${pairs.join(',')}}`;
}
