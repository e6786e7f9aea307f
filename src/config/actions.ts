import { z } from 'zod';
import type { AnyConnector } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import type { Hours } from '../rules/calendar.ts';
import type { Action, Digest } from '../rules/plan.ts';
import { type Path, strings, valueAt } from '../support/json.ts';
import { didYouMeanOneOf } from '../support/text.ts';
import { type CompiledFields, compileFields, type TemplateFault } from '../templates/template.ts';
import { checkDigestTimes, digestSchema, listOf, type ReadDigest, toDigest } from './hours.ts';
import { contentId } from './plan-source.ts';
import { error, type Fault, warning } from './problems.ts';
import { bareReference, interpolateTemplate, interpolateText } from './references.ts';
import { type Reading, validate, withoutOwnKeys } from './validate.ts';

export interface ActionReading extends Reading {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** The catalog's keys, which templates may name. */
  readonly testKeys: ReadonlySet<string>;
  /** By name; null where it has faults. */
  readonly hours: ReadonlyMap<string, Hours | null>;
  /** Changes with the catalog. */
  readonly catalogId: string;
  /** Stars secrets out; it knows them when all has been read. */
  readonly mask: (text: string) => string;
}

export interface ActionPlace {
  readonly rule: string;
  readonly index: number;
  readonly path: Path;
  /** Fields that are the same in every event of the rule. */
  readonly fixed?: readonly string[];
}

/** An action that its connector's schema was applied to. */
interface ReadAction {
  readonly place: ActionPlace;
  readonly connector: AnyConnector;
  /** What its messages tell of. */
  readonly tells: 'event' | 'digest' | 'notice';
  /** As in the source; what its message says by default is not in it. */
  readonly written: JsonMap;
  /** Undefined where the schema was not met. */
  readonly value: (JsonMap & { readonly sink: string; readonly hours?: string }) | undefined;
  readonly digest: ReadDigest | null;
}

/** Compiles one entry of a `then` as it is in a plan's source; reports what is wrong with it and returns null. */
export function compileAction(
  raw: Json,
  place: ActionPlace,
  of: 'rule' | 'alert',
  reading: ActionReading,
): Action | null {
  const hasDigest = isMap(raw) && raw['digest'] !== undefined;
  const tells = of === 'alert' ? 'notice' : hasDigest ? 'digest' : 'event';
  const { connector, written } = checkCommon(raw, place.path, reading);
  if (!connector) return null;
  const value = validateAction(connector, written, tells, place.path, reading);
  const digest = (value?.['digest'] ?? null) as ReadAction['digest'];
  const hours = reading.hours.get(value?.hours ?? '');
  const late = digest && hours ? checkDigestTimes(digest, hours, [...place.path, 'digest']) : [];
  const action: ReadAction = { place, connector, tells, written, value, digest };
  const { fields, faults } = compileTemplates(action, reading.testKeys);
  for (const fault of [...late, ...faults]) reading.report(fault);
  return value && fields ? toAction({ ...action, value }, fields, reading) : null;
}

/** Without a connector only the keys that all actions have can be checked. */
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

/** What a digest or a notice says by default is checked along, as if it had been written. */
function validateAction(
  connector: AnyConnector,
  written: JsonMap,
  tells: ReadAction['tells'],
  path: Path,
  reading: Reading,
): ReadAction['value'] {
  const raw = tells === 'event' ? written : { ...connector.defaultFields?.[tells], ...written };
  const schema = tells === 'notice' ? alertActionSchema(connector) : actionSchema(connector);
  const textOf = (key: string) => (key in connector.templates ? interpolateTemplate : interpolateText);
  return validate({ schema, raw, path, textOf }, reading) as ReadAction['value'];
}

/** An action's own keys, compiled as far as the action could be read, and what is wrong with its templates as written. */
function compileTemplates(
  action: ReadAction,
  testKeys: ReadonlySet<string>,
): { readonly fields: CompiledFields | null; readonly faults: readonly Fault[] } {
  const { place, connector, written, value } = action;
  const words = vocabularyOf(action, testKeys);
  const placed = (fault: Fault): Fault => ({ ...fault, path: [...place.path, ...fault.path] });
  const compiled = value && compileFields(own(value), connector.templates, words);
  const bare = bareReferences(written, connector.templates);
  if (compiled?.faults.length === 0 && bare.length === 0)
    return { fields: compiled.fields, faults: differences(action, words).map(placed) };
  const asWritten = bare.length > 0 ? bare : templateFaults(written, connector.templates, words);
  // Where the text as written is right, what a reference stands for is wrong: a time zone, for instance.
  const faults =
    asWritten.length > 0
      ? asWritten
      : (compiled?.faults ?? []).map(({ path, message }) => error(path, message));
  return { fields: null, faults: faults.map(placed) };
}

function vocabularyOf({ tells, connector, digest }: ReadAction, test: ReadonlySet<string>): Vocabulary {
  if (tells !== 'digest') return { test, subject: tells };
  return { test, subject: { digestOf: digest?.max ?? 1, placeKeys: placeKeysOf(connector) } };
}

/** Where a digest's message speaks of one event as if it spoke of all. */
function differences(
  { place, connector, written, digest }: ReadAction,
  { test, subject }: Vocabulary,
): Fault[] {
  if (!digest || typeof subject !== 'object') return [];
  const agreed = new Set([...listOf(digest.by), ...(place.fixed ?? [])]);
  return firstEventOnly(written, connector.templates, { test, subject: { ...subject, agreed } });
}

/** The connector's own keys of an action. */
function own(action: JsonMap): Record<string, Json> {
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
  const fixed = own(value);
  return {
    rule: place.rule,
    action: place.index,
    sink,
    connector: connector.name,
    hours,
    digest: digest && toDigest(digest, hours?.timeZone ?? 'UTC', digestIdentity(action, fields, reading)),
    render: (data) => fields.render(data),
    lane(data) {
      if (!connector.lane) return sink;
      const rendered = fields.render(data, connector.laneKeys);
      if ('fault' in rendered) return sink;
      const lane = connector.lane({ ...fixed, ...rendered.fields });
      return lane === '' ? sink : `${sink} ${concealed(lane, reading)}`;
    },
  };
}

/** What keeps digests of an action apart besides time and `by`. */
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
    contentId: contentId([written, reading.catalogId]).slice(0, 16),
    conceal: (group) => concealed(group, reading),
  };
}

/** Kept in the store: a text with a secret in it only tells whether it is the same as another one. */
function concealed(text: string, { mask }: ActionReading): string {
  return mask(text) === text ? text : `*** ${contentId(text).slice(0, 16)}`;
}

/** The keys that every action has, whatever its connector. */
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

/** The keys that every action of an alert has: a notice does not wait for others. */
const { digest: _digest, ...alertActionKeys } = commonActionKeys;

/** An action of one connector: the common keys and the connector's own. Built once for each connector. */
export function actionSchema(connector: AnyConnector): z.ZodObject {
  return cached(schemas, connector, () => withKeys(connector, commonActionKeys));
}

/** An action of an alert. */
export function alertActionSchema(connector: AnyConnector): z.ZodObject {
  return cached(alertSchemas, connector, () => withKeys(connector, alertActionKeys));
}

const withKeys = ({ action }: AnyConnector, keys: z.ZodRawShape): z.ZodObject =>
  (action as z.ZodObject).safeExtend(keys).strict();

const schemas = new WeakMap<AnyConnector, z.ZodObject>();
const alertSchemas = new WeakMap<AnyConnector, z.ZodObject>();

function cached(cache: WeakMap<AnyConnector, z.ZodObject>, connector: AnyConnector, make: () => z.ZodObject) {
  const known = cache.get(connector) ?? make();
  cache.set(connector, known);
  return known;
}

/** What an action's templates may name. */
export type Vocabulary = Parameters<typeof compileFields>[2];

type Media = AnyConnector['templates'];

/**
 * What is wrong with the templates of an action as written. There the places are exact; in what is compiled in the
 * end, values stand in the place of references. Paths lead from the action.
 */
const templateFaults = (action: JsonMap, media: Media, words: Vocabulary): Fault[] =>
  faultsOf(action, media, words, ({ path, message }) => error(path, message));

/**
 * Where a digest's message says something of its first event in which the others may differ. `words` are those of the
 * digest, with only what all of its events agree in. For templates that have no faults.
 */
const firstEventOnly = (action: JsonMap, media: Media, words: Vocabulary): Fault[] =>
  faultsOf(action, media, words, ({ path }) => warning(path, ofFirstEvent));

const ofFirstEvent =
  'this is of the first event of the digest, and others may differ; go through `events`, or name it in `by`';

/** References inside of tags without quotes, where they could not be literal text. */
function bareReferences(action: JsonMap, media: Media): Fault[] {
  return [...strings(templatesOf(action, media))].flatMap(({ text, path }) => {
    const inside = bareReference(text);
    return inside ? [{ ...error(path, 'inside of a tag, ${…} has to be in quotes'), inside }] : [];
  });
}

function templatesOf(action: JsonMap, media: Media): JsonMap {
  return Object.fromEntries(Object.entries(action).filter(([key]) => key in media));
}

function faultsOf(
  action: JsonMap,
  media: Media,
  words: Vocabulary,
  toFault: (fault: TemplateFault) => Fault,
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
