import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type ActionRef, alertKinds, type AlertKind, isMap, type Json, type JsonMap } from '../model.ts';
import type { testKeys } from '../rules/fields.ts';
import { unmatchedRule } from '../rules/plan.ts';
import { whenSchema } from '../rules/when.ts';
import type { Path } from '../support/json.ts';
import { timeOfWeek } from './hours.ts';
import { duration } from './text/units.ts';

/**
 * The part of a config that a plan is compiled from, with unresolved references. Plain JSON, so that a store can keep
 * it.
 */
export interface PlanSource {
  readonly timezone?: Json;
  readonly locale?: Json;
  readonly links?: Json;
  readonly catalog?: Json;
  readonly hours?: Json;
  readonly rules?: Json;
  readonly unmatched?: Json;
  readonly alerts?: Json;
  readonly summary?: Json;
}

export const planKeys = [
  'timezone',
  'locale',
  'links',
  'catalog',
  'hours',
  'rules',
  'unmatched',
  'alerts',
  'summary',
] as const;

/** An action as written, and its path. */
export interface WrittenAction {
  readonly action: Json;
  readonly path: Path;
}

/**
 * The plan's part of a config as written. Each action also gets its sink's `connector`, so that the plan can be
 * compiled without the sinks, which may change later.
 */
export function toPlanSource(config: JsonMap, connectorOf: (sink: string) => string | undefined): PlanSource {
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

/** Every action of a plan's source: those of rules, of `unmatched`, of alerts and of the summary. */
export function actionsOf(source: PlanSource): WrittenAction[] {
  const alerts = isMap(source.alerts) ? Object.keys(source.alerts) : [];
  return [
    ...ruleActions(source),
    ...alerts.flatMap((name) => alertActions(source, name)),
    ...listed(source.summary ?? null, ['summary']),
  ];
}

const indexes = new WeakMap<readonly string[], ReadonlyMap<string, number>>();

/** Where a rule's action is; `names` are those of the rules. */
export function pathOf(names: readonly string[], { rule, action }: ActionRef): Path {
  if (rule === unmatchedRule) return ['unmatched', action];
  const indexOf = indexes.getOrInsertComputed(
    names,
    () => new Map(names.map((name, index) => [name, index])),
  );
  return ['rules', indexOf.get(rule) ?? -1, 'then', action];
}

const known = new WeakMap<PlanSource, readonly WrittenAction[]>();

/** Those of rules and of `unmatched`. */
export const ruleActions = (source: PlanSource): readonly WrittenAction[] =>
  known.getOrInsertComputed(source, ({ rules, unmatched }) => [
    ...entries(rules).flatMap(([index, rule]) => listed(rule, ['rules', index])),
    ...entries(unmatched).map(([index, action]) => ({ action, path: ['unmatched', index] })),
  ]);

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
  const { rules, unmatched, alerts, summary } = source;
  return {
    ...source,
    ...(Array.isArray(rules) && { rules: (rules as Json[]).map(inThen) }),
    ...(Array.isArray(unmatched) && { unmatched: (unmatched as Json[]).map(change) }),
    ...(isMap(alerts) && {
      alerts: Object.fromEntries(Object.entries(alerts).map(([name, alert]) => [name, inThen(alert)])),
    }),
    ...(summary !== undefined && { summary: inThen(summary) }),
  };
}

/** The entries of a list with their indexes. None if it is not a list. */
export function entries(value: Json | undefined): [number, Json][] {
  return Array.isArray(value) ? [...(value as Json[]).entries()] : [];
}

const isTestId = (key: string): boolean => /^(0|-?[1-9]\d*)$/.test(key) && Number.isSafeInteger(Number(key));

export const testIdKey = z.string().refine(isTestId, { error: 'expected a test id: a whole number' });

const json: z.ZodType = z.json();

export const catalogEntry = z
  .object({
    name: z.string().min(1).optional().describe('What you call the test.'),
    owner: z.string().min(1).optional().describe('Whose test it is; an email address, for instance.'),
    channel: z.string().min(1).optional().describe('Where its news goes; a Slack channel, for instance.'),
  } satisfies { readonly [key in Exclude<(typeof testKeys)[number], 'id'>]: z.ZodType })
  .catchall(json);

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
    .describe('A name of your own; deliveries are shown under it.'),
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
export const ruleSchema = z.strictObject({
  ...ruleShape,
  then: z.array(z.unknown(), {
    error: ({ input }) =>
      isMap(input as Json) ? 'expected a list of actions: put "- " before each' : undefined,
  }),
});

/** What each alert is about, and how long its cause must last. */
const alerts: { readonly [kind in AlertKind]: Alert } = {
  dead: {
    description: 'Deliveries were given up.',
    after: duration()
      .prefault('0s')
      .describe('How long to wait for more such deliveries before the alert is sent.'),
  },
  held: {
    description: 'Deliveries may have arrived or not, and only a person can tell: see `onUnknown`.',
    after: duration()
      .prefault('0s')
      .describe('How long to wait for more such deliveries before the alert is sent.'),
  },
  paused: {
    description: 'A sink is down: paused or failing.',
    after: duration({ min: '1s' }).prefault('15m').describe('How long a sink has to be down.'),
  },
  config: {
    description: 'A changed config was refused; the one before it stays in force.',
    after: duration().prefault('0s').describe('How long it has to stay refused.'),
  },
  refused: {
    description: 'Events were refused: the store could not take them, or for the address or the token.',
    after: duration().prefault('0s').describe('How long to wait for more such events.'),
  },
  silence: {
    description: 'No event came for so long.',
    after: duration({ min: '1m' }).prefault('7d').describe('How long no event has come.'),
  },
};

interface Alert {
  readonly description: string;
  readonly after: z.ZodType<number, string | undefined>;
}

/** `then`: the schema of an alert's actions. */
export function alertsSchema(then: z.ZodType) {
  const ofKind = ({ after, description }: Alert) =>
    z.strictObject({ after, then }).optional().describe(description);
  type Shape = { readonly [kind in AlertKind]: ReturnType<typeof ofKind> };
  return z.strictObject(Object.fromEntries(alertKinds.map((kind) => [kind, ofKind(alerts[kind])])) as Shape);
}

/** Alerts without their actions. */
export const uncheckedAlerts = alertsSchema(z.array(z.unknown()).min(1));

/** `then`: the schema of its actions. */
export const summarySchema = (then: z.ZodType) =>
  z.strictObject({
    at: timeOfWeek.describe('When it goes, every week, by the clock of `timezone`.'),
    then,
  });

export const uncheckedSummary = summarySchema(z.array(z.unknown()).min(1));

/** SHA-256 in hex of the value's JSON with sorted keys, so the order of keys does not matter. */
export function contentId(value: Json): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((entry: Json) => canonicalJson(entry)).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value);
  // In an object, keys that are whole numbers come first, whatever the order in which they are given.
  const sorted = Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, value[key]]),
  );
  const pairs = Object.entries(sorted).flatMap(([key, inner]) =>
    inner === undefined ? [] : [`${JSON.stringify(key)}:${canonicalJson(inner)}`],
  );
  return `{${pairs.join(',')}}`;
}
