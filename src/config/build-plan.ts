import type { Json } from '../model.ts';
import { compileRules } from '../rules/match.ts';
import type { Plan } from '../rules/plan.ts';
import type { ActionReading } from './actions.ts';
import { readAlerts, readSummary } from './alerts.ts';
import { readCatalog, testLookup } from './catalog.ts';
import { readLookups } from './lookups/lookups.ts';
import { lookupsOfTemplates } from './lookups/uses.ts';
import { readHours } from './hours.ts';
import { readSetting } from './locale-and-links.ts';
import { contentId, type PlanSource } from './plan-source.ts';
import { readRules, readUnmatched, silentWord } from './rules.ts';
import type { Reading } from './text/validate.ts';

type PlanReading = Reading & Pick<ActionReading, 'connectors' | 'mask'>;

/** Compiles a plan. The result must not be used if an error was reported. */
export function buildPlan(source: PlanSource, reading: PlanReading): Plan {
  const lookups = readLookups(source.lookups, reading);
  const catalog = readCatalog(source.catalog, lookups, reading);
  const setting = readSetting(source, { test: catalog.keys, facts: lookups }, reading);
  const actionReading: ActionReading = {
    ...reading,
    hours: readHours(source.hours, setting.timeZone, reading),
    testKeys: catalog.keys,
    lookups,
    usedLookups: new Set(lookupsOfTemplates({ links: source.links ?? null }, lookups)),
    setting,
    compiledDefaults: new Map(),
    vocabularies: new Map(),
    dataId: dataId(source),
  };
  const rules = readRules(source.rules, actionReading);
  const unmatched = readUnmatched(source.unmatched, actionReading);
  const alerts = readAlerts(source.alerts, actionReading);
  const summary = readSummary(source.summary, actionReading);
  // Actions keep a reference to their reading, and the cache is not needed any more.
  actionReading.vocabularies.clear();
  let id: string | undefined;
  return {
    // Made when first asked for: it takes long, and only the store needs it.
    get id() {
      return (id ??= contentId(source));
    },
    rules: compileRules(rules, lookups),
    then: rules.map(({ then }) => then),
    unmatched,
    silent: {
      rules: new Set(rules.flatMap(({ silent }, index) => (silent ? [index] : []))),
      unmatched: source.unmatched === silentWord,
    },
    alerts,
    summary,
    test: testLookup(catalog),
    lookups: new Map([...lookups].filter(([name]) => actionReading.usedLookups.has(name))),
    testIds: [...catalog.tests.keys()].map(Number),
    timeZone: setting.timeZone,
    wording: setting.wording,
    mask: reading.mask,
  };
}

/** A hash of what messages are made of besides events. Of the catalog alone where nothing else is given, as stored digests have it. */
function dataId({ catalog = null, timezone, language, locale, words, links }: PlanSource): string {
  const said = { timezone, language, locale, words, links };
  const isPlain = Object.values(said).every((one) => one === undefined);
  return contentId(isPlain ? catalog : [catalog, said as Json]);
}
