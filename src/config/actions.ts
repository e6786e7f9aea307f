import { z } from 'zod';
import type { AnyConnector } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import type { Hours } from '../rules/calendar.ts';
import { eventFieldNames, factNames, findField, type LookupFields } from '../rules/fields.ts';
import type { Action } from '../rules/plan.ts';
import { mapTexts, type Path, strings } from '../support/json.ts';
import { didYouMean, didYouMeanOneOf } from '../support/text.ts';
import { type CompiledFields, compileFields } from '../templates/template.ts';
import type { Setting } from '../templates/data.ts';
import type { Vocabulary } from '../templates/vocabulary.ts';
import { checkDigestTimes, digestSchema, fieldExpected, listOf, type ReadDigest, toDigest } from './hours.ts';
import { lookupsOfFields, lookupsOfTemplates } from './lookups/uses.ts';
import { contentId, entries } from './plan-source.ts';
import { bareReferences, templateFaults, templatesOf, templateWarnings } from './template-faults.ts';
import { error, type Fault, warning } from './text/problems.ts';
import { interpolateTemplate, interpolateText } from './text/references.ts';
import { type Reading, validate, withoutOwnKeys } from './text/validate.ts';

const commonActionKeys = {
  sink: z
    .string({
      error: ({ input }) =>
        Array.isArray(input) ? 'expected one sink: write an action for each' : 'expected the name of a sink',
    })
    .min(1)
    .describe('The sink to send to, by its name under `sinks`.'),
  hours: z
    .string({ error: 'expected the name of opening hours' })
    .min(1)
    .optional()
    .describe('Opening hours, by their name under `hours`; outside of them the message waits.'),
  digest: digestSchema.optional().describe('One message for all events of a time.'),
};

/** A list of actions, which are checked one by one by their connectors' schemas. */
export const uncheckedActions = z.array(z.unknown(), {
  error: ({ input }) =>
    isMap(input as Json) ? 'expected a list of actions: put "- " before each' : undefined,
});

/** The keys that every action of an alert has. Notices are not collected. */
const { digest: _digest, ...alertActionKeys } = commonActionKeys;

/** Builds the schema of a connector's actions from the common keys and its own, once for each connector. */
function schemaWith(keys: z.ZodRawShape): (connector: AnyConnector) => z.ZodObject {
  const schemas = new WeakMap<AnyConnector, z.ZodObject>();
  return (connector) =>
    schemas.getOrInsertComputed(connector, ({ action }) => (action as z.ZodObject).safeExtend(keys).strict());
}

export const actionSchema = schemaWith(commonActionKeys);
export const alertActionSchema = schemaWith(alertActionKeys);

export interface ActionReading extends Reading {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** The keys of catalog entries, which templates may name. */
  readonly testKeys: ReadonlySet<string>;
  /** All look-ups of the config, used or not. */
  readonly lookups: LookupFields;
  /** The names of look-ups whose facts a rule, a digest or a text uses. */
  readonly usedLookups: Set<string>;
  /** Opening hours by name; null for those with faults. */
  readonly hours: ReadonlyMap<string, Hours | null>;
  /** The setting of actions without hours. Hours may have another time zone. */
  readonly setting: Setting;
  /** A hash of the catalog and of the keys that hold for all messages, such as `timezone` and `words`. */
  readonly dataId: string;
  /** A cache of compiled default fields: they are large, and the same in many actions. */
  readonly compiledDefaults: Map<string, FieldsResult>;
  /** A cache of vocabularies, for the same reason. */
  readonly vocabularies: Map<string, Vocabulary>;
  /** Replaces secrets by `***`, once the whole config has been read. */
  readonly mask: (text: string) => string;
}

type FieldsResult = ReturnType<typeof compileFields>;

interface List {
  readonly rule: string;
  readonly path: Path;
  /** Fields that have the same value in every event of the rule. */
  readonly fixed?: readonly string[];
  /** Facts that are known of every event of the rule. */
  readonly sureFacts?: readonly string[];
  /** `event` (the default): actions of rules and of `unmatched`. `notice`: those of alerts and of the summary. */
  readonly of?: 'event' | 'notice';
}

type ReadAction = NonNullable<ReturnType<typeof readAction>>;

/** Compiles the actions of a list. Reports faults, and leaves out the actions that have some. */
export function readActions(raw: Json | undefined, list: List, reading: ActionReading): Action[] {
  return entries(raw).flatMap(([index, entry]): Action[] => {
    const path = [...list.path, index];
    const action = readAction(entry, path, list, reading);
    const compiled = action && compileAction(action, path, index, reading);
    return compiled ? [compiled] : [];
  });
}

/** Reads an action by its connector's schema. Null if there is no such connector. */
function readAction(raw: Json, path: Path, list: List, reading: ActionReading) {
  const { connector: name, ...written } = isMap(raw) ? raw : {};
  const connector = typeof name === 'string' ? reading.connectors.get(name) : undefined;
  if (!isMap(raw) || !connector) {
    // Without a connector, only the common keys can be checked.
    const schema = withoutOwnKeys(commonActionKeys, 'sink', written);
    validate({ schema, raw: isMap(raw) ? written : raw, path }, reading);
  }
  if (typeof name === 'string' && !connector) reading.report(error(path, `there is no connector "${name}"`));
  const { hours: hoursName } = written;
  if (typeof hoursName === 'string' && !reading.hours.has(hoursName)) {
    const instead = didYouMeanOneOf(hoursName, [...reading.hours.keys()], 'name some under "hours"');
    reading.report(error([...path, 'hours'], `there are no hours "${hoursName}"${instead}`));
  }
  if (!connector) return null;

  /** What the action's messages are about. */
  const about = list.of === 'notice' ? 'notice' : written['digest'] === undefined ? 'event' : 'digest';
  const candidate = reading.lookups.get('candidate')?.fields;
  const groups = connector.defaultFields?.(about, reading.setting.links !== null, candidate, written) ?? [];
  /** The default fields of which the action says none itself. */
  const unsaid = Object.assign(
    {},
    ...groups.filter((group) => Object.keys(group).every((key) => written[key] === undefined)),
  ) as JsonMap;
  // Default fields are checked as if they were written.
  const schema = about === 'notice' ? alertActionSchema(connector) : actionSchema(connector);
  const textOf = (key: string) => (key in connector.templates ? interpolateTemplate : interpolateText);
  const part = { schema, raw: { ...unsaid, ...written }, path, textOf };
  const [others = [], why] =
    about === 'digest'
      ? [
          connector.ofOneEvent,
          'this is about one event, and a `digest` has many: remove this or the `digest`',
        ]
      : [connector.ofDigest, withoutDigest[about]];
  for (const key of others) if (written[key] !== undefined) reading.report(error([...path, key], why));
  /** The action with its default fields; undefined if the schema refused it. */
  const value = validate(part, reading) as
    | (JsonMap & { readonly sink: string; readonly hours?: string })
    | undefined;
  const read = (value?.['digest'] ?? null) as ReadDigest | null;
  const digest = read && isKnownBy(read, path, reading) ? read : null;
  const hours = reading.hours.get(value?.hours ?? '') ?? null;
  const setting = hours ? { ...reading.setting, timeZone: hours.timeZone } : reading.setting;
  return { list, connector, about, written, unsaid, value, digest, hours, setting } as const;
}

const withoutDigest = {
  event: 'only a digest has a list; add one, as in digest: { at: "09:00" }, or remove this',
  notice: 'only a digest has a list, and an alert has no digest; remove this',
};

/** Whether all fields under `by` exist. Reports those that do not. */
function isKnownBy({ by }: ReadDigest, path: Path, { lookups, report }: ActionReading): boolean {
  const unknown = listOf(by).filter((name) => !findField(name, lookups));
  for (const name of unknown) {
    const instead = didYouMean(name, [...eventFieldNames, ...factNames(lookups)]);
    const at = listOf(by).indexOf(name);
    const place = [...path, 'digest', 'by', ...(typeof by === 'string' ? [] : [at])];
    report(error(place, `${fieldExpected}, got "${name}"${instead}`));
  }
  return unknown.length === 0;
}

/** Compiles the connector's keys if the action could be read. Checks the templates as written in any case. */
function compileAction(action: ReadAction, path: Path, index: number, reading: ActionReading): Action | null {
  const { connector, written, value, digest, hours } = action;
  const { templates } = connector;
  const words = vocabularyFor(action, reading);
  if (value && action.about !== 'notice') {
    const { lookups, usedLookups } = reading;
    const used =
      connector.hasFacts?.(value) === true
        ? lookups.keys()
        : [
            ...lookupsOfTemplates(templatesOf(value, templates), lookups),
            ...lookupsOfFields(listOf(digest?.by), lookups),
          ];
    for (const name of used) usedLookups.add(name);
  }
  const compiled = value && compile({ ...action, value }, words, reading.compiledDefaults);
  const bare = bareReferences(written, templates);
  const fields = compiled?.faults.length === 0 && bare.length === 0 ? compiled.fields : null;
  let faults: readonly Fault[] = bare;
  if (fields)
    faults = [
      ...digestWarnings(action, words),
      ...factWarnings(action, words, reading),
      ...templateWarnings(written, connector),
    ];
  else if (bare.length === 0) {
    faults = templateFaults(written, templates, words);
    // Where the text as written is right, the value of a reference is wrong, such as a time zone.
    if (faults.length === 0)
      faults = (compiled?.faults ?? []).map((fault) => error(fault.path, fault.message));
  }
  const late = digest && hours ? checkDigestTimes(digest, hours, ['digest']) : [];
  for (const fault of [...late, ...faults]) reading.report({ ...fault, path: [...path, ...fault.path] });
  return value && fields ? toAction({ ...action, value }, index, fields, reading) : null;
}

function compile(
  action: ReadAction & { readonly value: JsonMap },
  words: Vocabulary,
  compiledDefaults: ActionReading['compiledDefaults'],
): FieldsResult {
  const { connector, unsaid, value } = action;
  const said = Object.entries(ownFields(value)).filter(([key]) => !Object.hasOwn(unsaid, key));
  const own = compileFields(Object.fromEntries(said), connector.templates, words);
  const inherited = connector.inherited?.map((key) => value[key] ?? null);
  const id = JSON.stringify([vocabularyId(action), Object.keys(unsaid), inherited]);
  const defaults = compiledDefaults.getOrInsertComputed(id, () =>
    compileFields(unsaid, connector.templates, { ...words, isTried: false }),
  );
  const faults = [...own.faults, ...defaults.faults];
  return { faults, fields: own.fields && defaults.fields && own.fields.over(defaults.fields) };
}

/** The connector's keys of an action. */
const ownFields = (action: JsonMap): JsonMap =>
  Object.fromEntries(Object.entries(action).filter(([key]) => !(key in commonActionKeys)));

const vocabularyId = ({ about, connector, digest, setting }: ReadAction): string =>
  JSON.stringify([connector.name, about, digest?.max, setting.timeZone]);

/** What the templates of an action may name. Made once for all actions that are alike. */
const vocabularyFor = (action: ReadAction, { vocabularies, testKeys: test, lookups: facts }: ActionReading) =>
  vocabularies.getOrInsertComputed(vocabularyId(action), (): Vocabulary => {
    const { about, connector, digest, setting } = action;
    if (about !== 'digest') return { test, facts, setting, subject: about };
    const placeKeys = new Set(placeKeysOf(connector));
    return { test, facts, setting, subject: { digestOf: digest?.max ?? 1, placeKeys } };
  });

/** The keys of an action that say where its messages go. */
const placeKeysOf = ({ laneKeys = [], placeKeys = [] }: AnyConnector): string[] => [
  ...new Set([...laneKeys, ...placeKeys] as string[]),
];

const ofFirstEvent =
  'this is of the first event of the digest, and others may differ; go through `events`, or name it in `by`';

/** Warns if a digest's message shows a value of its first event that may differ in the others. */
function digestWarnings(
  { list, connector, written, digest }: ReadAction,
  { subject, ...vocabulary }: Vocabulary,
): Fault[] {
  if (!digest || typeof subject !== 'object') return [];
  const agreed = new Set([...listOf(digest.by), ...(list.fixed ?? [])]);
  const words = { ...vocabulary, subject: { ...subject, agreed } };
  // A digest cannot have these keys, which an error says already.
  const refused = new Set<string>(connector.ofOneEvent);
  const own = Object.entries(written).filter(([key]) => !refused.has(key));
  return templateFaults(Object.fromEntries(own), connector.templates, words, ({ path }) =>
    warning(path, ofFirstEvent),
  );
}

/** Warns where a message has a gap if a fact is not known. */
function factWarnings(action: ReadAction, words: Vocabulary, { vocabularies }: ActionReading): Fault[] {
  const { list, connector, written } = action;
  if (list.of === 'notice' || !words.facts?.size) return [];
  const sureFacts = new Set(list.sureFacts);
  const id = JSON.stringify([vocabularyId(action), ...sureFacts]);
  const sure = vocabularies.getOrInsertComputed(id, () => ({ ...words, sureFacts }));
  return templateFaults(written, connector.templates, sure, ({ path, message }) => warning(path, message));
}

function toAction(
  { list, connector, written, value, digest, hours, setting }: ReadAction & { readonly value: object },
  index: number,
  fields: CompiledFields,
  { mask, dataId, lookups }: ActionReading,
): Action {
  const { sink } = value;
  const fixed = ownFields(value);
  /** A text for the store; a hash of it if it has a secret, which is enough to compare it. */
  const conceal = (text: string): string =>
    mask(text) === text ? text : `*** ${contentId(text).slice(0, 16)}`;
  /** A secret stays as it is, by which `conceal` knows it. */
  const compared = (keys: JsonMap): JsonMap =>
    mapTexts(keys, (text, key) => (mask(text) === text ? (connector.alike?.(text, key) ?? text) : text));
  /** What keeps digests of one action apart, besides time and `by`. */
  const apart = {
    place(data: Parameters<Action['render']>[0]) {
      const rendered = fields.render(data, placeKeysOf(connector));
      return 'fault' in rendered ? null : compared(rendered.fields);
    },
    contentId: contentId([written, dataId]).slice(0, 16),
    conceal,
  };
  const audienceKeys = (connector.audience?.keys as string[] | undefined) ?? placeKeysOf(connector);
  return {
    rule: list.rule,
    action: index,
    sink,
    connector: connector.name,
    hours,
    digest: digest && toDigest(digest, setting.timeZone, lookups, apart),
    render: (data) => fields.render(data),
    lane(data) {
      if (!connector.lane) return sink;
      const rendered = fields.render(data(), connector.laneKeys);
      if ('fault' in rendered) return sink;
      const lane = connector.lane({ ...fixed, ...compared(rendered.fields) });
      return lane === '' ? sink : `${sink} ${conceal(lane)}`;
    },
    audience(data) {
      const rendered = data ? fields.render(data, audienceKeys) : { fields: {} };
      if ('fault' in rendered) return null;
      const shown: JsonMap = { ...fixed, ...rendered.fields };
      if (connector.audience) return connector.audience.of(shown);
      const values = Object.fromEntries(audienceKeys.map((key) => [key, shown[key] ?? null]));
      const place = Array.from(strings(values), ({ text }) => text).join(', ');
      return { place, members: [place], places: [{ id: place }] };
    },
  };
}
