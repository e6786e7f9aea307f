import type { z } from 'zod';
import type { AnyConnector } from '../connector.ts';
import type { Json } from '../model.ts';
import type { Hours } from '../rules/hours.ts';
import type { Action, Digest } from '../rules/plan.ts';
import type { CompiledFields } from '../templates/templates.ts';
import { compileFields } from '../templates/templates.ts';
import { contentId } from './canonical.ts';
import { toDigest } from './digest.ts';
import type { ReadDigest } from './schema/action.ts';
import { actionSchema, alertActionSchema, commonActionKeys } from './schema/action.ts';
import { withoutOwnKeys } from './schema/common-keys.ts';
import type { Path } from './fault.ts';
import { error } from './fault.ts';
import { didYouMeanOneOf } from '../suggest.ts';
import type { Vocabulary } from './references/template-faults.ts';
import { bareReferences, templateFaults } from './references/template-faults.ts';
import { interpolateTemplate } from './references/template-text.ts';
import type { Reading } from './schema/validate.ts';
import { validate } from './schema/validate.ts';
import { interpolateText } from './references/values.ts';
import { isMap } from './walk.ts';

type JsonMap = { readonly [key: string]: Json };

export interface ActionReading extends Reading {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** The catalog's keys, which templates may name. */
  readonly testKeys: ReadonlySet<string>;
  /** By name; null where it has faults. */
  readonly hours: ReadonlyMap<string, Hours | null>;
  /** Changes with the catalog. */
  readonly catalogId: string;
}

export interface ActionPlace {
  readonly rule: string;
  readonly index: number;
  readonly path: Path;
}

/** What a message of an action tells of. */
type Tells = 'event' | 'digest' | 'notice';

/** Compiles one entry of a `then` as it is in a plan's source; reports what is wrong with it and returns null. */
export function compileAction(
  raw: Json,
  place: ActionPlace,
  reading: ActionReading,
  kind: 'rule' | 'alert' = 'rule',
): Action | null {
  const { connector, written } = checkCommon(raw, place.path, reading);
  if (!connector) return null;
  const tells = kind === 'alert' ? 'notice' : written['digest'] === undefined ? 'event' : 'digest';
  const whole = tells === 'event' ? written : { ...connector.defaultFields?.[tells], ...written };
  const schema = kind === 'alert' ? alertActionSchema(connector) : actionSchema(connector);
  const value = validateAction(schema, connector, whole, place.path, reading);
  const words = vocabularyOf(tells, connector, value, reading);
  const compiled = value && compileFields(own(value), connector.templates, words);
  const bare = bareReferences(written, connector.templates);
  if (value && compiled?.faults.length === 0 && bare.length === 0)
    return toAction({ value, written, fields: compiled.fields, connector, place, reading });
  const faults = bare.length > 0 ? bare : templateFaults(written, connector.templates, words);
  for (const fault of faults) reading.report({ ...fault, path: [...place.path, ...fault.path] });
  return null;
}

function vocabularyOf(
  tells: Tells,
  connector: AnyConnector,
  value: JsonMap | undefined,
  { testKeys }: ActionReading,
): Vocabulary {
  if (tells !== 'digest') return { test: testKeys, subject: tells };
  const { max: digestOf } = (value?.['digest'] ?? { max: 1 }) as { max: number };
  return { test: testKeys, subject: { digestOf, placeKeys: placeKeysOf(connector) } };
}

const placeKeysOf = ({ laneKeys = [], placeKeys = [] }: AnyConnector): Set<string> =>
  new Set([...laneKeys, ...placeKeys] as string[]);

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

function validateAction(
  schema: z.ZodObject,
  connector: AnyConnector,
  raw: JsonMap,
  path: Path,
  reading: Reading,
): JsonMap | undefined {
  const textOf = (key: string) => (key in connector.templates ? interpolateTemplate : interpolateText);
  return validate({ schema, raw, path, textOf }, reading) as JsonMap | undefined;
}

/** The connector's own keys of an action. */
function own(action: JsonMap): Record<string, Json> {
  return Object.fromEntries(Object.entries(action).filter(([key]) => !(key in commonActionKeys)));
}

interface Checked {
  readonly value: JsonMap;
  readonly written: JsonMap;
  readonly fields: CompiledFields;
  readonly connector: AnyConnector;
  readonly place: ActionPlace;
  readonly reading: ActionReading;
}

function toAction(checked: Checked): Action {
  const { value, fields, connector, place, reading } = checked;
  const { sink, hours: hoursName } = value as { sink: string; hours?: string };
  const hours = reading.hours.get(hoursName ?? '') ?? null;
  const fixed = own(value);
  return {
    rule: place.rule,
    action: place.index,
    sink,
    connector: connector.name,
    hours,
    digest: digestOf(checked, hours),
    render: (data) => fields.render(data),
    lane(data) {
      if (!connector.lane) return sink;
      const rendered = fields.render(data, connector.laneKeys);
      if ('fault' in rendered) return sink;
      const lane = connector.lane({ ...fixed, ...rendered.fields });
      return lane === '' ? sink : `${sink} ${lane}`;
    },
  };
}

function digestOf(
  { value, written, fields, connector, reading }: Checked,
  hours: Hours | null,
): Digest | null {
  const { digest } = value as { digest?: ReadDigest };
  if (!digest) return null;
  const placeKeys = [...placeKeysOf(connector)];
  return toDigest(digest, hours?.timeZone ?? 'UTC', {
    place(data) {
      const rendered = fields.render(data, placeKeys);
      return 'fault' in rendered ? null : rendered.fields;
    },
    contentId: contentId([written, reading.catalogId]).slice(0, 16),
  });
}
