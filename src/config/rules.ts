import { z } from 'zod';
import { isMap, type Json } from '../model.ts';
import { factsKnownTo, type When } from '../rules/conditions.ts';
import { type Action, unmatchedRule } from '../rules/plan.ts';
import { whenSchema, whenSchemaWith } from '../rules/when.ts';
import { type ActionReading, readActions, uncheckedActions } from './actions.ts';
import { lookupsOfWhen } from './lookups/uses.ts';
import { entries } from './plan-source.ts';
import { error } from './text/problems.ts';
import { validate } from './text/validate.ts';

export const ruleShape = {
  name: z
    .string()
    .min(1)
    .max(100)
    .refine((name) => name !== unmatchedRule, {
      error: `"${unmatchedRule}" is the name of the actions for events that no rule matched`,
    })
    .refine((name) => !name.startsWith('alerts.'), {
      error: 'names that begin with "alerts." are those of alerts',
    })
    .describe(
      'A name of your own, at most 100 characters, each only once; not `unmatched`, nor beginning with `alerts.`.',
    ),
  when: whenSchema.describe('Which events the rule is for; `{}` is all of them.'),
  final: z.boolean().default(false).describe('Rules after this one are not looked at when it matched.'),
  silent: z
    .boolean()
    .default(false)
    .describe('For a rule without actions: nobody is meant to hear of these events.'),
};

/** In place of the actions of `unmatched`: nobody is meant to hear of events that no rule matched. */
export const silentWord = 'silent';

/** A rule without its actions, which are checked one by one by their connectors' schemas. */
const ruleSchema = z.strictObject({
  ...ruleShape,
  then: uncheckedActions,
});

interface CompiledRule extends Omit<z.output<typeof ruleSchema>, 'when' | 'then'> {
  readonly when: When;
  readonly then: readonly Action[];
}

export function readRules(raw: Json | undefined, reading: ActionReading): CompiledRule[] {
  if (raw !== undefined && !Array.isArray(raw)) reading.report(error(['rules'], listOfRules(raw)));
  const names = new Set<string>();
  const rules: CompiledRule[] = [];
  const schema =
    reading.lookups.size === 0
      ? ruleSchema
      : ruleSchema.safeExtend({ when: whenSchemaWith(reading.lookups) });
  for (const [index, rawRule] of entries(raw)) {
    const path = ['rules', index];
    const written = isMap(rawRule) ? rawRule : {};
    const withoutActions = Array.isArray(written['then']) ? { ...written, then: [] } : rawRule;
    const rule = validate({ schema, raw: withoutActions, path }, reading);
    const nameAsWritten = typeof written['name'] === 'string' ? written['name'] : `rule ${index + 1}`;
    const name = rule?.name ?? nameAsWritten;
    if (names.has(name)) {
      const message = `the name "${name}" is taken by an earlier rule; names tell deliveries apart`;
      reading.report(error([...path, 'name'], message));
    }
    names.add(name);
    const conditions = isMap(written['when']) ? Object.entries(written['when']) : [];
    const list = {
      rule: name,
      path: [...path, 'then'],
      // Fields for which the rule allows only one value.
      fixed: conditions.filter(([, condition]) => typeof condition !== 'object').map(([key]) => key),
      sureFacts: rule ? [...factsKnownTo(rule.when)].filter((one) => one.includes('.')) : [],
    };
    const then = readActions(written['then'], list, reading);
    if (rule?.silent && entries(written['then']).length > 0)
      reading.report(error([...path, 'silent'], heard));
    if (!rule) continue;
    for (const used of lookupsOfWhen(rule.when, reading.lookups)) reading.usedLookups.add(used);
    rules.push({ ...rule, then });
  }
  return rules;
}

const heard = 'the rule has actions, so somebody is told: take these away, or leave "silent" out';

function listOfRules(raw: Json): string {
  const [key] = isMap(raw) ? Object.keys(raw) : [];
  if (key === undefined) return 'expected a list of rules';
  const isRule = Object.hasOwn(ruleShape, key) || key === 'then';
  return `expected a list of rules: ${isRule ? 'put "- " before each' : `write "- name: ${key}" for "${key}:"`}, got a map`;
}

export function readUnmatched(raw: Json | undefined, reading: ActionReading): Action[] {
  const path = ['unmatched'];
  if (raw !== undefined && raw !== silentWord && !Array.isArray(raw))
    reading.report(error(path, `expected a list of actions, or ${silentWord} where nobody is meant to hear`));
  return readActions(raw, { rule: unmatchedRule, path }, reading);
}
