import { z } from 'zod';
import type { AnyConnector, Audience } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import type { Hours } from '../rules/calendar.ts';
import type { Action, Digest } from '../rules/plan.ts';
import { type Path, strings, valueAt } from '../support/json.ts';
import { didYouMeanOneOf } from '../support/text.ts';
import { type CompiledFields, compileFields, type TemplateFault } from '../templates/template.ts';
import type { Setting } from '../templates/data.ts';
import type { Vocabulary } from '../templates/vocabulary.ts';
import { checkDigestTimes, digestSchema, listOf, type ReadDigest, toDigest } from './hours.ts';
import { contentId } from './plan-source.ts';
import { error, type Fault, warning } from './text/problems.ts';
import { bareReference, interpolateTemplate, interpolateText } from './text/references.ts';
import { type Reading, validate, withoutOwnKeys } from './text/validate.ts';

export interface ActionReading extends Reading {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** The keys of catalog entries, which templates may name. */
  readonly testKeys: ReadonlySet<string>;
  /** By name; null for hours with faults. */
  readonly hours: ReadonlyMap<string, Hours | null>;
  /** For actions without hours, which may have another time zone. */
  readonly setting: Setting;
  /** Changes with the catalog, and with what the config says of all messages. */
  readonly dataId: string;
  /** Default fields that are compiled already: they are large, and the same in many actions. */
  readonly compiledDefaults: Map<string, Compiled>;
  /** What templates may name, kept for the same reason. */
  readonly vocabularies: Map<string, Vocabulary>;
  /** Replaces secrets by `***`, once the whole config has been read. */
  readonly mask: (text: string) => string;
}

type Compiled = ReturnType<typeof compileFields>;

export interface ActionPlace {
  readonly rule: string;
  readonly index: number;
  readonly path: Path;
  /** Fields that have the same value in every event of the rule. */
  readonly fixed?: readonly string[];
}

/** An action, read by its connector's schema. */
interface ReadAction {
  readonly place: ActionPlace;
  readonly connector: AnyConnector;
  /** What its messages are about. */
  readonly about: 'event' | 'digest' | 'notice';
  /** As in the source, without default fields. */
  readonly written: JsonMap;
  /** The default fields that count. */
  readonly unsaid: JsonMap;
  /** With the default fields. Undefined if the schema refused it. */
  readonly value: (JsonMap & { readonly sink: string; readonly hours?: string }) | undefined;
  readonly digest: ReadDigest | null;
  readonly setting: Setting;
}

/** Compiles one entry of a `then` in a plan's source. If it has faults, reports them and returns null. */
export function compileAction(
  raw: Json,
  place: ActionPlace,
  of: 'rule' | 'alert',
  reading: ActionReading,
): Action | null {
  const hasDigest = isMap(raw) && raw['digest'] !== undefined;
  const about = of === 'alert' ? 'notice' : hasDigest ? 'digest' : 'event';
  const { connector, written } = checkCommon(raw, place.path, reading);
  if (!connector) return null;
  const unsaid = unsaidFields(connector, written, about, reading);
  const value = validateAction(connector, { ...unsaid, ...written }, about, place.path, reading);
  const digest = (value?.['digest'] ?? null) as ReadAction['digest'];
  const hours = reading.hours.get(value?.hours ?? '');
  const late = digest && hours ? checkDigestTimes(digest, hours, [...place.path, 'digest']) : [];
  const setting = hours ? { ...reading.setting, timeZone: hours.timeZone } : reading.setting;
  const action: ReadAction = { place, connector, about, written, unsaid, value, digest, setting };
  const { fields, faults } = compileTemplates(action, reading);
  for (const fault of [...late, ...faults]) reading.report(fault);
  return value && fields ? toAction({ ...action, value }, fields, reading) : null;
}

/** Without a connector, only the common keys can be checked. */
function checkCommon(
  raw: Json,
  path: Path,
  reading: ActionReading,
): { connector?: AnyConnector; written: JsonMap } {
  const { connector: name, ...written } = isMap(raw) ? raw : {};
  const connector = typeof name === 'string' ? reading.connectors.get(name) : undefined;
  if (!isMap(raw) || !connector)
    validate(
      { schema: withoutOwnKeys(commonActionKeys, 'sink', written), raw: isMap(raw) ? written : raw, path },
      reading,
    );
  if (typeof name === 'string' && !connector) reading.report(error(path, `there is no connector "${name}"`));
  checkHours(written, path, reading);
  return connector ? { connector, written } : { written };
}

function checkHours({ hours: name }: JsonMap, path: Path, { hours, report }: ActionReading): void {
  if (typeof name !== 'string' || hours.has(name)) return;
  const instead = didYouMeanOneOf(name, [...hours.keys()], 'name some under "hours"');
  report(error([...path, 'hours'], `there are no hours "${name}"${instead}`));
}

function unsaidFields(
  connector: AnyConnector,
  written: JsonMap,
  about: ReadAction['about'],
  { setting }: ActionReading,
): JsonMap {
  const groups = connector.defaultFields?.(about, setting.links !== null) ?? [];
  const unsaid = groups.filter((group) => Object.keys(group).every((key) => written[key] === undefined));
  return Object.assign({}, ...unsaid) as JsonMap;
}

/** Default fields are checked as if they were written. */
function validateAction(
  connector: AnyConnector,
  raw: JsonMap,
  about: ReadAction['about'],
  path: Path,
  reading: ActionReading,
): ReadAction['value'] {
  const schema = about === 'notice' ? alertActionSchema(connector) : actionSchema(connector);
  const textOf = (key: string) => (key in connector.templates ? interpolateTemplate : interpolateText);
  return validate({ schema, raw, path, textOf }, reading) as ReadAction['value'];
}

/** Compiles the connector's keys if the action could be read, and checks the templates as written in any case. */
function compileTemplates(
  action: ReadAction,
  { testKeys, compiledDefaults, vocabularies }: ActionReading,
): { readonly fields: CompiledFields | null; readonly faults: readonly Fault[] } {
  const { place, connector, written, value } = action;
  const words = vocabularies.getOrInsertComputed(vocabularyId(action), () => vocabularyOf(action, testKeys));
  const placed = (fault: Fault): Fault => ({ ...fault, path: [...place.path, ...fault.path] });
  const compiled = value && compile({ ...action, value }, words, compiledDefaults);
  const bare = bareReferences(written, connector.templates);
  if (compiled?.faults.length === 0 && bare.length === 0)
    return {
      fields: compiled.fields,
      faults: [...digestWarnings(action, words), ...addressWarnings(written, connector.templates)].map(
        placed,
      ),
    };
  const asWritten = bare.length > 0 ? bare : templateFaults(written, connector.templates, words);
  // If the text as written is right, the value of a reference is wrong: a time zone, for instance.
  const faults =
    asWritten.length > 0
      ? asWritten
      : (compiled?.faults ?? []).map(({ path, message }) => error(path, message));
  return { fields: null, faults: faults.map(placed) };
}

/** Compiles the connector's keys of an action. */
function compile(
  action: ReadAction & { readonly value: JsonMap },
  words: Vocabulary,
  compiledDefaults: ActionReading['compiledDefaults'],
): Compiled {
  const { connector, unsaid, value } = action;
  const said = Object.entries(ownFields(value)).filter(([key]) => !Object.hasOwn(unsaid, key));
  const own = compileFields(Object.fromEntries(said), connector.templates, words);
  const id = JSON.stringify([vocabularyId(action), Object.keys(unsaid)]);
  const defaults = compiledDefaults.getOrInsertComputed(id, () =>
    compileFields(unsaid, connector.templates, { ...words, isTried: false }),
  );
  const faults = [...own.faults, ...defaults.faults];
  return { faults, fields: own.fields && defaults.fields && own.fields.over(defaults.fields) };
}

const vocabularyId = ({ about, connector, digest, setting }: ReadAction): string =>
  JSON.stringify([connector.name, about, digest?.max, setting.timeZone]);

function vocabularyOf(
  { about, connector, digest, setting }: ReadAction,
  test: ReadonlySet<string>,
): Vocabulary {
  if (about !== 'digest') return { test, setting, subject: about };
  return { test, setting, subject: { digestOf: digest?.max ?? 1, placeKeys: placeKeysOf(connector) } };
}

const ofFirstEvent =
  'this is of the first event of the digest, and others may differ; go through `events`, or name it in `by`';

/** Warns if a digest's message shows a value of its first event that may differ in the others. */
function digestWarnings(
  { place, connector, written, digest }: ReadAction,
  { subject, ...vocabulary }: Vocabulary,
): Fault[] {
  if (!digest || typeof subject !== 'object') return [];
  const agreed = new Set([...listOf(digest.by), ...(place.fixed ?? [])]);
  const words = { ...vocabulary, subject: { ...subject, agreed } };
  return templateFaults(written, connector.templates, words, ({ path }) => warning(path, ofFirstEvent));
}

/** The connector's keys of an action. */
function ownFields(action: JsonMap): Record<string, Json> {
  return Object.fromEntries(Object.entries(action).filter(([key]) => !(key in commonActionKeys)));
}

/** The keys of an action that say where its messages go. */
const placeKeysOf = ({ laneKeys = [], placeKeys = [] }: AnyConnector): Set<string> =>
  new Set([...laneKeys, ...placeKeys] as string[]);

function toAction(
  action: ReadAction & { readonly value: object },
  fields: CompiledFields,
  reading: ActionReading,
): Action {
  const { place, connector, value, digest } = action;
  const { sink } = value;
  const hours = reading.hours.get(value.hours ?? '') ?? null;
  const fixed = ownFields(value);
  return {
    rule: place.rule,
    action: place.index,
    sink,
    connector: connector.name,
    hours,
    digest: digest && toDigest(digest, action.setting.timeZone, digestIdentity(action, fields, reading)),
    render: (data) => fields.render(data),
    lane(data) {
      if (!connector.lane) return sink;
      const rendered = fields.render(data, connector.laneKeys);
      if ('fault' in rendered) return sink;
      const lane = connector.lane({ ...fixed, ...rendered.fields });
      return lane === '' ? sink : `${sink} ${concealed(lane, reading)}`;
    },
    audience(data) {
      const rendered = data ? fields.render(data, audienceKeys(connector)) : { fields: {} };
      return 'fault' in rendered ? null : audienceOf(connector, { ...fixed, ...rendered.fields });
    },
  };
}

const audienceKeys = (connector: AnyConnector): string[] =>
  (connector.audience?.keys as string[] | undefined) ?? [...placeKeysOf(connector)];

function audienceOf(connector: AnyConnector, fields: JsonMap): Audience {
  if (connector.audience) return connector.audience.of(fields);
  const values = Object.fromEntries(audienceKeys(connector).map((key) => [key, fields[key] ?? null]));
  const place = Array.from(strings(values), ({ text }) => text).join(', ');
  return { place, members: [place] };
}

/** What separates digests of one action, besides time and `by`. */
function digestIdentity(
  { connector, written }: ReadAction,
  fields: CompiledFields,
  reading: ActionReading,
): Pick<Digest, 'place' | 'contentId' | 'conceal'> {
  const placeKeys = [...placeKeysOf(connector)];
  return {
    place(data) {
      const rendered = fields.render(data, placeKeys);
      return 'fault' in rendered ? null : rendered.fields;
    },
    contentId: contentId([written, reading.dataId]).slice(0, 16),
    conceal: (group) => concealed(group, reading),
  };
}

/** For the store. A text with a secret becomes a hash, which is enough to compare it. */
function concealed(text: string, { mask }: ActionReading): string {
  return mask(text) === text ? text : `*** ${contentId(text).slice(0, 16)}`;
}

/** The keys that every action has. */
const commonActionKeys = {
  sink: z.string().min(1).describe('The sink to send to, by its name under `sinks`.'),
  hours: z
    .string({ error: 'expected the name of opening hours' })
    .min(1)
    .optional()
    .describe(
      'Opening hours, by their name under `hours`; outside of them the message waits, also after an outage or a burst.',
    ),
  digest: digestSchema.optional().describe('One message for all events of a time.'),
};

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

type Media = AnyConnector['templates'];

/** References inside tags but outside quotes, where they cannot be literal text. */
export function bareReferences(action: JsonMap, media: Media): Fault[] {
  return strings(templatesOf(action, media)).flatMap(({ text, path }) => {
    const inside = bareReference(text);
    return inside ? [{ ...error(path, 'inside of a tag, ${…} has to be in quotes'), inside }] : [];
  });
}

/** A filter that writes a part of an address, as `| append: '@example.com'`, but not after a value of the config. */
const writtenAddress =
  /\{\{-?\s*(?!test\b|rule\b)[^{}\s][^{}]*?\|\s*(?:append|prepend)\s*:\s*("[^"{}]*[@<>,;][^"{}]*"|'[^'{}]*[@<>,;][^'{}]*')/g;

/** A whole entry of an address list may be several addresses, so the value before such a filter may add some. */
function addressWarnings(action: JsonMap, media: Media): Fault[] {
  const lists = Object.fromEntries(Object.entries(action).filter(([key]) => media[key]?.addresses));
  const message =
    'the value before this filter could name an address of its own; write this part outside of the {{ … }}';
  return strings(lists).flatMap(({ text, path }) =>
    Array.from(text.matchAll(writtenAddress), ({ 0: found, 1: part = '', index }) => ({
      ...warning(path, message),
      inside: { index: index + found.length - part.length, length: part.length },
    })),
  );
}

function templatesOf(action: JsonMap, media: Media): JsonMap {
  return Object.fromEntries(Object.entries(action).filter(([key]) => key in media));
}

/**
 * The faults in the templates of an action as written, where places are exact: in the compiled text, references are
 * replaced by values. Paths start at the action.
 */
export function templateFaults(
  action: JsonMap,
  media: Media,
  words: Vocabulary,
  toFault = ({ path, message }: TemplateFault): Fault => error(path, message),
): Fault[] {
  const templates = templatesOf(action, media);
  const placed = (fault: TemplateFault): Fault => {
    const index = indexOf(fault, valueAt(templates, fault.path));
    return { ...toFault(fault), inside: { index, length: 1 } };
  };
  return compileFields(templates, media, words).faults.map(placed);
}

function indexOf({ line, column }: TemplateFault, written: Json | undefined): number {
  const linesBefore = typeof written === 'string' ? written.split('\n').slice(0, line - 1) : [];
  return linesBefore.reduce((length, text) => length + text.length + 1, column - 1);
}
