import { alertKinds, isMap, type Json, type JsonMap } from '../model.ts';
import type { Hours } from '../rules/calendar.ts';
import type { When } from '../rules/conditions.ts';
import { testKeys } from '../rules/fields.ts';
import { compileRules } from '../rules/match.ts';
import type { Action, Alert, Plan, Summary } from '../rules/plan.ts';
import { alertRule, summaryRule, unmatchedRule } from '../rules/plan.ts';
import type { Path } from '../support/json.ts';
import { type ActionPlace, type ActionReading, compileAction } from './actions.ts';
import { compileHours, toWeek } from './hours.ts';
import { readSetting } from './messages.ts';
import {
  uncheckedAlerts,
  uncheckedSummary,
  catalogEntry,
  contentId,
  entries,
  type PlanSource,
  ruleSchema,
  ruleShape,
  silentWord,
  testIdKey,
} from './plan-source.ts';
import { error } from './text/problems.ts';
import { type Reading, validate } from './text/validate.ts';

/** Reads one part of a plan. */
export interface PartReading extends Reading {
  /** The part's faults in one line, or null. */
  fault(): string | null;
}

interface PlanReading extends Reading, Pick<ActionReading, 'connectors' | 'mask'> {
  /** Only for a stored plan: a fault makes just its own part unusable. The faults of a config are reported together. */
  readonly forPart?: () => PartReading;
}

function partReading<R extends PlanReading>(reading: R): R & PartReading {
  return { ...reading, ...(reading.forPart?.() ?? { fault: () => null }) };
}

/** For the many parts of a list: those of a config have all the same reading. */
function partReadings<R extends PlanReading>(reading: R): () => R & PartReading {
  const same = reading.forPart ? null : partReading(reading);
  return () => same ?? partReading(reading);
}

/** Compiles a plan. Not for use if an error was reported. */
export function buildPlan(source: PlanSource, planReading: PlanReading): Plan {
  const reading = partReading(planReading);
  const catalog = readCatalog(source.catalog, reading);
  const keys = new Set<string>([...testKeys, ...[...catalog.entries.values()].flatMap(Object.keys)]);
  const settingReading = partReading(planReading);
  const setting = readSetting(source, keys, settingReading);
  const hours = readHours(source.hours, setting.timeZone, reading);
  const actionsReading: ActionsReading = {
    ...reading,
    testKeys: keys,
    hours: hours.compiled,
    unusableHours: hours.unusable,
    setting,
    unusableSetting: settingReading.fault(),
    compiledDefaults: new Map(),
    vocabularies: new Map(),
    dataId: dataId(source),
  };
  const { rules, unusable } = readRules(source.rules, actionsReading);
  const unmatched = readUnmatched(source.unmatched, actionsReading);
  const alerts = readAlerts(source.alerts, actionsReading);
  const summary = readSummary(source.summary, actionsReading);
  // Actions hold on to `reading`, and what it knew of their texts is not needed any more.
  actionsReading.vocabularies.clear();
  const why = [...catalog.unusable.values(), ...unusable, reading.fault()].filter((fault) => fault !== null);
  let id: string | undefined;
  return {
    // Only what has to do with a store needs it, and it takes long.
    get id() {
      return (id ??= contentId(source as Json));
    },
    rules: compileRules(rules),
    then: rules.map(({ then }) => then),
    unmatched,
    silent: {
      rules: new Set(rules.flatMap(({ silent }, index) => (silent ? [index] : []))),
      unmatched: source.unmatched === silentWord,
    },
    alerts,
    summary,
    test: testLookup(catalog.entries, keys),
    testIds: [...catalog.entries.keys()].map(Number),
    timeZone: setting.timeZone,
    mask: reading.mask,
    ...(why.length > 0 && { unusable: { deciding: [...new Set(why)].join('; '), tests: catalog.unusable } }),
  };
}

/** The id of what messages are made of besides events. That of the catalog where there is nothing else, as it always was. */
function dataId({ catalog = null, timezone, locale, links }: PlanSource): string {
  const others = [timezone, locale, links];
  return contentId(
    others.every((one) => one === undefined) ? catalog : [catalog, { timezone, locale, links } as Json],
  );
}

interface Catalog {
  readonly entries: ReadonlyMap<string, JsonMap>;
  /** Why an entry cannot be used, by its test's id. */
  readonly unusable: ReadonlyMap<number, string>;
}

function readCatalog(raw: Json | undefined, reading: PlanReading): Catalog {
  const catalog = new Map<string, JsonMap>();
  const unusable = new Map<number, string>();
  for (const [id, rawEntry] of maps(raw, ['catalog'], 'a map from test ids to what they mean', reading)) {
    const path = ['catalog', id];
    const part = partReading(reading);
    const key = testIdKey.safeParse(id);
    if (!key.success) part.report(error(path, `${key.error.issues[0]?.message}, got "${id}"`, 'key'));
    const entry = validate({ schema: catalogEntry, raw: rawEntry, path }, part);
    const fault = part.fault();
    if (fault !== null) unusable.set(Number(id), fault);
    // The keys of an unusable entry stay known, because templates may name them.
    if (entry) catalog.set(id, entry as JsonMap);
    else if (fault !== null && isMap(rawEntry)) catalog.set(id, rawEntry);
  }
  return { entries: catalog, unusable };
}

function testLookup(catalog: ReadonlyMap<string, JsonMap>, keys: ReadonlySet<string>): Plan['test'] {
  const empty = Object.fromEntries([...keys].map((key) => [key, null]));
  const known = new Map(
    [...catalog].map(([id, entry]) => [Number(id), { ...empty, ...entry, id: Number(id) }]),
  );
  return (testId) => known.get(testId) ?? { ...empty, id: testId };
}

function readHours(raw: Json | undefined, timeZone: string, reading: PlanReading) {
  const compiled = new Map<string, Hours | null>();
  const unusable = new Map<string, string>();
  for (const [name, hours] of maps(raw, ['hours'], 'a map from names to opening hours', reading)) {
    const part = partReading(reading);
    compiled.set(name, compileHours(name, hours, timeZone, part));
    const fault = part.fault();
    if (fault !== null) unusable.set(name, fault);
  }
  return { compiled, unusable };
}

interface ActionsReading extends ActionReading, PlanReading {
  /** Why hours cannot be used, by their name. */
  readonly unusableHours: ReadonlyMap<string, string>;
  /** Why what the config says of all messages cannot be used, or null. */
  readonly unusableSetting: string | null;
}

interface CompiledRule {
  readonly name: string;
  readonly when: When;
  readonly final: boolean;
  readonly silent: boolean;
  readonly then: readonly Action[];
}

interface ReadRules {
  readonly rules: CompiledRule[];
  /** Why rules can no longer decide. Their actions may still be usable. */
  readonly unusable: string[];
}

function readRules(raw: Json | undefined, reading: ActionsReading): ReadRules {
  if (raw !== undefined && !Array.isArray(raw)) reading.report(error(['rules'], listOfRules(raw)));
  const names = new Set<string>();
  const rules: CompiledRule[] = [];
  const unusable: string[] = [];
  const nextPart = partReadings(reading);
  for (const [index, rawRule] of entries(raw)) {
    const part = nextPart();
    const rule = validate({ schema: ruleSchema, raw: withoutActions(rawRule), path: ['rules', index] }, part);
    const name = rule?.name ?? nameAsWritten(rawRule) ?? `rule ${index + 1}`;
    if (names.has(name))
      part.report(
        error(
          ['rules', index, 'name'],
          `the name "${name}" is taken by an earlier rule; names tell deliveries apart`,
        ),
      );
    names.add(name);
    const written = isMap(rawRule) ? rawRule : {};
    const list = { rule: name, path: ['rules', index, 'then'], fixed: fixedBy(written['when']) };
    const then = readActions(written['then'], list, reading);
    if (rule?.silent && entries(written['then']).length > 0)
      part.report(error(['rules', index, 'silent'], heard));
    const fault = part.fault();
    if (fault !== null) unusable.push(fault);
    if (rule) rules.push({ ...rule, then });
    else if (fault !== null) rules.push({ name, when: {}, final: false, silent: false, then });
  }
  return { rules, unusable };
}

function listOfRules(raw: Json): string {
  const [key] = isMap(raw) ? Object.keys(raw) : [];
  if (key === undefined) return 'expected a list of rules';
  const isRule = Object.hasOwn(ruleShape, key) || key === 'then';
  return `expected a list of rules: ${isRule ? 'put "- " before each' : `write "- name: ${key}" for "${key}:"`}, got a map`;
}

const heard = 'the rule has actions, so somebody is told: take these away, or leave "silent" out';

/** Actions are read one by one. */
function withoutActions(rule: Json): Json {
  return isMap(rule) && Array.isArray(rule['then']) ? { ...rule, then: [] } : rule;
}

/** The name of a rule that has faults elsewhere. */
function nameAsWritten(rule: Json): string | undefined {
  return isMap(rule) && typeof rule['name'] === 'string' ? rule['name'] : undefined;
}

/** The fields for which a `when` allows only one value. */
function fixedBy(when: Json | undefined): string[] {
  const conditions = isMap(when) ? Object.entries(when) : [];
  return conditions.filter(([, condition]) => typeof condition !== 'object').map(([key]) => key);
}

type List = Omit<ActionPlace, 'index'>;

function readActions(
  raw: Json | undefined,
  list: List,
  reading: ActionsReading,
  kind: 'rule' | 'alert' = 'rule',
): Action[] {
  const actions: Action[] = [];
  for (const [index, entry] of entries(raw)) {
    const place = { ...list, index, path: [...list.path, index] };
    const part = partReading(reading);
    const compiled = compileAction(entry, place, kind, part);
    const written = isMap(entry) ? entry : {};
    const ofHours = reading.unusableHours.get(textAt(written, 'hours'));
    const fault = part.fault() ?? ofHours ?? reading.unusableSetting;
    const action = fault === null ? compiled : unusableAction(written, place, fault);
    if (action) actions.push(action);
  }
  return actions;
}

/** Stands in for an action of which only the place and the sink are known. */
function unusableAction(written: JsonMap, { rule, index }: ActionPlace, fault: string): Action {
  const sink = textAt(written, 'sink');
  return {
    rule,
    action: index,
    sink,
    connector: textAt(written, 'connector'),
    hours: null,
    digest: null,
    render: () => ({ fault }),
    audience: () => null,
    lane: () => sink,
    unusable: fault,
  };
}

function textAt(map: JsonMap, key: string): string {
  const value = map[key];
  return typeof value === 'string' ? value : '';
}

function readUnmatched(raw: Json | undefined, reading: ActionsReading): Action[] {
  const path = ['unmatched'];
  if (raw !== undefined && raw !== silentWord && !Array.isArray(raw))
    reading.report(error(path, `expected a list of actions, or ${silentWord} where nobody is meant to hear`));
  return readActions(raw, { rule: unmatchedRule, path }, reading);
}

function readAlerts(raw: Json | undefined, reading: ActionsReading): Alert[] {
  const part = partReading(reading);
  const read = validate({ schema: uncheckedAlerts, raw: raw ?? {}, path: ['alerts'] }, part);
  const alerts: Alert[] = [];
  for (const kind of alertKinds) {
    const written = isMap(raw) ? raw[kind] : undefined;
    const list = { rule: alertRule(kind), path: ['alerts', kind, 'then'] };
    const then = isMap(written) ? written['then'] : undefined;
    const actions = readActions(then, list, reading, 'alert');
    const alert = read?.[kind];
    if (alert) alerts.push({ kind, afterMs: alert.after, actions });
    else if (part.fault() !== null) alerts.push({ kind, afterMs: 0, actions });
  }
  return alerts;
}

function readSummary(raw: Json | undefined, reading: ActionsReading): Summary | null {
  if (raw === undefined) return null;
  const read = validate({ schema: uncheckedSummary, raw, path: ['summary'] }, partReading(reading));
  const then = isMap(raw) ? raw['then'] : undefined;
  const actions = readActions(then, { rule: summaryRule, path: ['summary', 'then'] }, reading, 'alert');
  const week = toWeek(read?.at ?? 'mon 09:00', reading.setting.timeZone);
  // Actions of a stored plan may be usable though its time no longer is.
  return { week, actions };
}

/** The entries of a map. Reports any other value. */
function maps(raw: Json | undefined, path: Path, expected: string, { report }: Reading): [string, Json][] {
  if (raw !== undefined && !isMap(raw)) report(error(path, `expected ${expected}`));
  return isMap(raw) ? Object.entries(raw) : [];
}
