import { alertKinds, isMap, type Json, type JsonMap } from '../model.ts';
import type { Hours } from '../rules/calendar.ts';
import type { When } from '../rules/conditions.ts';
import { testKeys } from '../rules/fields.ts';
import { compileRules, unreachable } from '../rules/match.ts';
import type { Action, Alert, Plan } from '../rules/plan.ts';
import { alertRule, unmatchedRule } from '../rules/plan.ts';
import type { Path } from '../support/json.ts';
import type { Steps } from '../support/steps.ts';
import { type ActionPlace, type ActionReading, compileAction } from './actions.ts';
import { compileHours } from './hours.ts';
import {
  uncheckedAlerts,
  catalogEntry,
  contentId,
  entries,
  type PlanSource,
  ruleSchema,
  testIdKey,
} from './plan-source.ts';
import { error, warning } from './problems.ts';
import { type Reading, validate } from './validate.ts';

/** Reading a part of a plan, with what is wrong in it. */
export interface PartReading extends Reading {
  /** In one line; null where nothing is wrong. */
  why(): string | null;
}

interface PlanReading extends Reading, Pick<ActionReading, 'connectors' | 'mask'> {
  /** For a plan from a store, each of whose parts has faults of its own. Those of a config are reported together. */
  readonly ofPart?: () => PartReading;
}

/** The reading of one part; `why` tells of it only where it has faults of its own. */
function partOf<R extends PlanReading>(reading: R): R & PartReading {
  return { ...reading, ...(reading.ofPart?.() ?? { why: () => null }) };
}

/** Compiles a plan, a step for each action, and reports its faults; it is of use only if no error was among them. */
export function* buildingPlan(source: PlanSource, reading: PlanReading): Steps<Plan> {
  const catalog = readCatalog(source.catalog, reading);
  const keys = new Set<string>([...testKeys, ...[...catalog.entries.values()].flatMap(Object.keys)]);
  const hours = readHours(source.hours, reading);
  const actionReading: ActionsReading = {
    ...reading,
    testKeys: keys,
    hours: hours.compiled,
    lostHours: hours.lost,
    catalogId: contentId(source.catalog ?? null),
  };
  const { rules, lost } = yield* readRules(source.rules, actionReading);
  const unmatched = yield* readUnmatched(source.unmatched, actionReading);
  const alerts = yield* readAlerts(source.alerts, actionReading);
  reportUnreachable(rules, reading);
  const deciding = [...new Set([...catalog.lost.values(), ...lost])].join('; ') || null;
  return {
    id: contentId(source as Json),
    rules: compileRules(rules),
    then: rules.map(({ then }) => then),
    unmatched,
    alerts,
    test: testLookup(catalog.entries, keys),
    testIds: [...catalog.entries.keys()].map(Number),
    mask: reading.mask,
    ...(deciding !== null && { unusable: { deciding, tests: catalog.lost } }),
  };
}

interface Catalog {
  readonly entries: ReadonlyMap<string, JsonMap>;
  /** Why an entry cannot be used, by the test's id. */
  readonly lost: ReadonlyMap<number, string>;
}

function readCatalog(raw: Json | undefined, reading: PlanReading): Catalog {
  const catalog = new Map<string, JsonMap>();
  const lost = new Map<number, string>();
  for (const [id, rawEntry] of maps(raw, ['catalog'], 'a map from test ids to what they mean', reading)) {
    const path = ['catalog', id];
    const part = partOf(reading);
    const key = testIdKey.safeParse(id);
    if (!key.success) part.report(error(path, `${key.error.issues[0]?.message}, got "${id}"`, 'key'));
    const entry = validate({ schema: catalogEntry, raw: rawEntry, path }, part);
    const why = part.why();
    if (why !== null) lost.set(Number(id), why);
    // Of what cannot be used the keys are known still, which templates name.
    if (entry) catalog.set(id, entry as JsonMap);
    else if (why !== null && isMap(rawEntry)) catalog.set(id, rawEntry);
  }
  return { entries: catalog, lost };
}

function testLookup(catalog: ReadonlyMap<string, JsonMap>, keys: ReadonlySet<string>): Plan['test'] {
  const empty = Object.fromEntries([...keys].map((key) => [key, null]));
  const known = new Map(
    [...catalog].map(([id, entry]) => [Number(id), { ...empty, ...entry, id: Number(id) }]),
  );
  return (testId) => known.get(testId) ?? { ...empty, id: testId };
}

function readHours(raw: Json | undefined, reading: PlanReading) {
  const compiled = new Map<string, Hours | null>();
  const lost = new Map<string, string>();
  for (const [name, hours] of maps(raw, ['hours'], 'a map from names to opening hours', reading)) {
    const part = partOf(reading);
    compiled.set(name, compileHours(name, hours, part));
    const why = part.why();
    if (why !== null) lost.set(name, why);
  }
  return { compiled, lost };
}

interface ActionsReading extends ActionReading, PlanReading {
  /** Why hours cannot be used, by their name. */
  readonly lostHours: ReadonlyMap<string, string>;
}

interface CompiledRule {
  readonly index: number;
  readonly name: string;
  readonly when: When;
  readonly final: boolean;
  readonly then: readonly Action[];
}

interface ReadRules {
  readonly rules: CompiledRule[];
  /** Why rules cannot decide any more; their actions may be sound. */
  readonly lost: string[];
}

function* readRules(raw: Json | undefined, reading: ActionsReading): Steps<ReadRules> {
  if (raw !== undefined && !Array.isArray(raw)) reading.report(error(['rules'], 'expected a list of rules'));
  const names = new Map<string, number>();
  const rules: CompiledRule[] = [];
  const lost: string[] = [];
  for (const [index, rawRule] of entries(raw)) {
    const part = partOf(reading);
    const rule = validate({ schema: ruleSchema, raw: withoutActions(rawRule), path: ['rules', index] }, part);
    const name = rule?.name ?? nameAsWritten(rawRule) ?? `rule ${index + 1}`;
    reportTaken(name, index, names, part);
    const written = isMap(rawRule) ? rawRule : {};
    const place = { rule: name, path: ['rules', index, 'then'], fixed: fixedBy(written['when']) };
    const then = yield* readActions(written['then'], place, reading);
    const why = part.why();
    if (why !== null) lost.push(why);
    if (rule) rules.push({ ...rule, index, then });
    else if (why !== null) rules.push({ index, name, when: {}, final: false, then });
    yield;
  }
  return { rules, lost };
}

/** Actions are read one by one. */
function withoutActions(rule: Json): Json {
  return isMap(rule) && Array.isArray(rule['then']) ? { ...rule, then: [] } : rule;
}

function reportTaken(name: string, index: number, names: Map<string, number>, { report }: Reading): void {
  if (names.has(name)) {
    const message = `the name "${name}" is taken by an earlier rule; names tell deliveries apart`;
    report(error(['rules', index, 'name'], message));
  }
  names.set(name, index);
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
  reading: ActionsReading,
  kind: 'rule' | 'alert' = 'rule',
): Steps<Action[]> {
  const actions: Action[] = [];
  for (const [index, action] of entries(raw)) {
    const place = { ...list, index, path: [...list.path, index] };
    const part = partOf(reading);
    const compiled = compileAction(action, place, kind, part);
    const written = isMap(action) ? action : {};
    const why = part.why() ?? reading.lostHours.get(textAt(written, 'hours'));
    const made = why === undefined ? compiled : lostAction(written, place, why);
    if (made) actions.push(made);
    yield;
  }
  return actions;
}

/** Stands in for an action of which only the place and the sink are known. */
function lostAction(written: JsonMap, { rule, index }: ActionPlace, why: string): Action {
  const sink = textAt(written, 'sink');
  return {
    rule,
    action: index,
    sink,
    connector: textAt(written, 'connector'),
    hours: null,
    digest: null,
    render: () => ({ fault: why }),
    lane: () => sink,
    lost: why,
  };
}

function textAt(map: JsonMap, key: string): string {
  const value = map[key];
  return typeof value === 'string' ? value : '';
}

function readUnmatched(raw: Json | undefined, reading: ActionsReading): Steps<Action[]> {
  const path = ['unmatched'];
  if (raw !== undefined && !Array.isArray(raw)) reading.report(error(path, 'expected a list of actions'));
  return readActions(raw, { rule: unmatchedRule, path }, reading);
}

function* readAlerts(raw: Json | undefined, reading: ActionsReading): Steps<Alert[]> {
  const part = partOf(reading);
  const read = validate({ schema: uncheckedAlerts, raw: raw ?? {}, path: ['alerts'] }, part);
  const alerts: Alert[] = [];
  for (const kind of alertKinds) {
    const written = isMap(raw) ? raw[kind] : undefined;
    const list = { rule: alertRule(kind), path: ['alerts', kind, 'then'] };
    const then = isMap(written) ? written['then'] : undefined;
    const actions = yield* readActions(then, list, reading, 'alert');
    const alert = read?.[kind];
    if (alert) alerts.push({ kind, afterMs: alert.after, actions });
    else if (part.why() !== null) alerts.push({ kind, afterMs: 0, actions });
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
