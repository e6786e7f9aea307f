import type { AnyConnector } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { compileRules, unreachable } from '../rules/match.ts';
import { testKeys } from '../rules/fields.ts';
import type { Hours } from '../rules/calendar.ts';
import type { Action, Alert, Plan } from '../rules/plan.ts';
import { alertRule, unmatchedRule } from '../rules/plan.ts';
import type { When } from '../rules/conditions.ts';
import type { ActionReading } from './action.ts';
import { compileAction, compileAlertAction } from './action.ts';
import type { ActionPlace } from './compiled-action.ts';
import { contentId } from './canonical.ts';
import type { Fault, Path } from './fault.ts';
import { error, pathText, warning } from './fault.ts';
import { compileHours } from './hours.ts';
import { alertKinds, alertsSchema, catalogEntry, ruleSchema, testIdKey } from './schema/plan.ts';
import type { PlanSource } from './plan-source.ts';
import { entries } from './plan-source.ts';
import type { Reading } from './schema/validate.ts';
import { validate } from './schema/validate.ts';
import { runThrough, type Steps } from './steps.ts';
import type { Surroundings } from './references/values.ts';
import { Values } from './references/values.ts';

interface Connectors {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
}

/**
 * Compiles a plan's source as a store kept it. Throws with everything that is wrong, in one line: a variable that is
 * not set any more, a key that the connector does not have any more.
 */
export function compilePlan(source: Json, options: Surroundings & Connectors): Plan {
  const faults: Fault[] = [];
  const report = (fault: Fault): void => void faults.push(fault);
  const values = new Values(options);
  const missing = new Set<string>();
  const resolve: Reading['resolve'] = (reference) => {
    const resolved = values.resolve(reference);
    if ('value' in resolved) return resolved.value;
    missing.add(resolved.missing);
    return reference.text;
  };
  const reading = { resolve, report, connectors: options.connectors };
  const plan = runThrough(buildingPlan(source as PlanSource, reading));
  const errors = faults.filter(({ severity }) => severity === 'error');
  const wrong = [...missing, ...errors.map(({ path, message }) => `${pathText(path)}: ${message}`)];
  if (wrong.length > 0) throw new Error(wrong.join('; '));
  return plan;
}

/** Compiles a plan, a step for each action, and reports its faults; it is of use only if no error was among them. */
export function* buildingPlan(source: PlanSource, reading: Reading & Connectors): Steps<Plan> {
  const catalog = readCatalog(source.catalog, reading);
  const keys = new Set<string>([...testKeys, ...[...catalog.values()].flatMap(Object.keys)]);
  const actionReading: ActionReading = {
    ...reading,
    testKeys: keys,
    hours: readHours(source.hours, reading),
    catalogId: contentId(source.catalog ?? null),
  };
  const rules = yield* readRules(source.rules, actionReading);
  const unmatched = yield* readUnmatched(source.unmatched, actionReading);
  const alerts = yield* readAlerts(source.alerts, actionReading);
  reportUnreachable(rules, reading);
  return {
    id: contentId(source as Json),
    rules: compileRules(rules),
    then: rules.map(({ then }) => then),
    unmatched,
    alerts,
    test: testLookup(catalog, keys),
    testIds: [...catalog.keys()].map(Number),
  };
}

function readCatalog(raw: Json | undefined, reading: Reading): Map<string, JsonMap> {
  const catalog = new Map<string, JsonMap>();
  for (const [id, rawEntry] of maps(raw, ['catalog'], 'a map from test ids to what they mean', reading)) {
    const path = ['catalog', id];
    const key = testIdKey.safeParse(id);
    if (!key.success) reading.report(error(path, `${key.error.issues[0]?.message}, got "${id}"`, 'key'));
    const entry = validate({ schema: catalogEntry, raw: rawEntry, path }, reading);
    if (entry) catalog.set(id, entry as JsonMap);
  }
  return catalog;
}

function testLookup(catalog: ReadonlyMap<string, JsonMap>, keys: ReadonlySet<string>): Plan['test'] {
  const empty = Object.fromEntries([...keys].map((key) => [key, null]));
  const known = new Map(
    [...catalog].map(([id, entry]) => [Number(id), { ...empty, ...entry, id: Number(id) }]),
  );
  return (testId) => known.get(testId) ?? { ...empty, id: testId };
}

function readHours(raw: Json | undefined, reading: Reading): Map<string, Hours | null> {
  const named = maps(raw, ['hours'], 'a map from names to opening hours', reading);
  return new Map(named.map(([name, hours]) => [name, compileHours(name, hours, reading)]));
}

interface CompiledRule {
  readonly index: number;
  readonly name: string;
  readonly when: When;
  readonly final: boolean;
  readonly then: readonly Action[];
}

function* readRules(raw: Json | undefined, reading: ActionReading): Steps<CompiledRule[]> {
  if (raw !== undefined && !Array.isArray(raw)) reading.report(error(['rules'], 'expected a list of rules'));
  const names = new Map<string, number>();
  const rules: CompiledRule[] = [];
  for (const [index, rawRule] of entries(raw)) {
    const rule = validate({ schema: ruleSchema, raw: rawRule, path: ['rules', index] }, reading);
    const name = rule?.name ?? nameAsWritten(rawRule) ?? `rule ${index + 1}`;
    const path: Path = ['rules', index, 'name'];
    if (names.has(name))
      reading.report(
        error(path, `the name "${name}" is taken by an earlier rule; names tell deliveries apart`),
      );
    names.set(name, index);
    const written = isMap(rawRule) ? rawRule : {};
    const place = { rule: name, path: ['rules', index, 'then'], fixed: fixedBy(written['when']) };
    const then = yield* readActions(written['then'], place, reading);
    if (rule) rules.push({ ...rule, index, then });
    yield;
  }
  return rules;
}

/** The name of a rule that has faults elsewhere. */
function nameAsWritten(rule: Json): string | undefined {
  return isMap(rule) && typeof rule['name'] === 'string' ? rule['name'] : undefined;
}

/** The fields of which a `when` takes one value only. */
function fixedBy(when: Json | undefined): string[] {
  const conditions = isMap(when) ? Object.entries(when) : [];
  return conditions.filter(([, condition]) => typeof condition !== 'object').map(([key]) => key);
}

type List = Omit<ActionPlace, 'index'>;

function* readActions(
  raw: Json | undefined,
  list: List,
  reading: ActionReading,
  compile = compileAction,
): Steps<Action[]> {
  const actions: Action[] = [];
  for (const [index, written] of entries(raw)) {
    const action = compile(written, { ...list, index, path: [...list.path, index] }, reading);
    if (action) actions.push(action);
    yield;
  }
  return actions;
}

function readUnmatched(raw: Json | undefined, reading: ActionReading): Steps<Action[]> {
  const path = ['unmatched'];
  if (raw !== undefined && !Array.isArray(raw)) reading.report(error(path, 'expected a list of actions'));
  return readActions(raw, { rule: unmatchedRule, path }, reading);
}

function* readAlerts(raw: Json | undefined, reading: ActionReading): Steps<Alert[]> {
  const read = validate({ schema: alertsSchema, raw: raw ?? {}, path: ['alerts'] }, reading);
  const alerts: Alert[] = [];
  for (const kind of alertKinds) {
    const written = isMap(raw) ? raw[kind] : undefined;
    const list = { rule: alertRule(kind), path: ['alerts', kind, 'then'] };
    const then = isMap(written) ? written['then'] : undefined;
    const actions = yield* readActions(then, list, reading, compileAlertAction);
    const alert = read?.[kind];
    if (alert) alerts.push({ kind, afterMs: alert.after, actions });
  }
  return alerts;
}

function reportUnreachable(rules: readonly CompiledRule[], { report }: Reading): void {
  for (const index of unreachable(rules)) {
    const rule = rules[index];
    if (rule)
      report(
        warning(
          ['rules', rule.index],
          `the rule "${rule.name}" is never reached: earlier final rules match every event that it could`,
          'key',
        ),
      );
  }
}

/** The entries of a map; reports what is no map. */
function maps(raw: Json | undefined, path: Path, expected: string, { report }: Reading): [string, Json][] {
  if (raw !== undefined && !isMap(raw)) report(error(path, `expected ${expected}`));
  return isMap(raw) ? Object.entries(raw) : [];
}
