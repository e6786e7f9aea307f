import type { z } from 'zod';
import type { AnyConnector } from '../connector.ts';
import type { Json } from '../model.ts';
import type { Action } from '../rules/plan.ts';
import { didYouMeanOneOf } from '../suggest.ts';
import type { CompiledFields, TemplateFault } from '../templates/templates.ts';
import { compileFields } from '../templates/templates.ts';
import type { Fault, Path } from './fault.ts';
import { error } from './fault.ts';
import type { Vocabulary } from './references/template-faults.ts';
import { bareReferences, templateFaults } from './references/template-faults.ts';
import { interpolateTemplate } from './references/template-text.ts';
import { interpolateText } from './references/values.ts';
import { actionSchema, alertActionSchema, commonActionKeys } from './schema/action.ts';
import { withoutOwnKeys } from './schema/common-keys.ts';
import type { Reading } from './schema/validate.ts';
import { validate } from './schema/validate.ts';
import { isMap } from './walk.ts';

type JsonMap = { readonly [key: string]: Json };

export interface ActionReading extends Reading {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** The catalog's keys, which templates may name. */
  readonly testKeys: ReadonlySet<string>;
  readonly hoursNames: readonly string[];
}

export interface ActionPlace {
  readonly rule: string;
  readonly index: number;
  readonly path: Path;
}

/** Compiles one entry of a `then` as it is in a plan's source; reports what is wrong with it and returns null. */
export function compileAction(raw: Json, place: ActionPlace, reading: ActionReading): Action | null {
  const { connector, written } = checkCommon(raw, place.path, reading);
  if (!connector) return null;
  const words: Vocabulary = { test: reading.testKeys, digest: written['digest'] !== undefined };
  const value = validateAction(actionSchema(connector), connector, written, place.path, reading);
  const compiled = value && compileFields(own(value), connector.templates, words);
  const bare = bareReferences(written, connector.templates);
  if (value && compiled?.faults.length === 0 && bare.length === 0)
    return toAction(value, compiled.fields, connector, place);
  const asWritten = bare.length > 0 ? bare : templateFaults(written, connector.templates, words);
  // Where the text as written is right, what a reference stands for is wrong: a time zone, for instance.
  const faults = asWritten.length > 0 ? asWritten : (compiled?.faults ?? []).map(ofValue);
  for (const fault of faults) reading.report({ ...fault, path: [...place.path, ...fault.path] });
  return null;
}

const ofValue = ({ path, message }: TemplateFault): Fault => error(path, message);

/** Checks an alert's action. Its templates see other data, so they are left for when alerts are sent. */
export function checkAlertAction(raw: Json, path: Path, reading: ActionReading): void {
  const { connector, written } = checkCommon(raw, path, reading);
  if (connector) validateAction(alertActionSchema(connector), connector, written, path, reading);
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

function checkHours({ hours }: JsonMap, path: Path, { hoursNames, report }: ActionReading): void {
  if (typeof hours !== 'string' || hoursNames.includes(hours)) return;
  const instead = didYouMeanOneOf(hours, hoursNames, 'name some under "hours"');
  report(error([...path, 'hours'], `there are no hours "${hours}"${instead}`));
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

function toAction(
  value: JsonMap,
  fields: CompiledFields,
  connector: AnyConnector,
  { rule, index }: ActionPlace,
): Action {
  const { sink } = value as { sink: string };
  const fixed = own(value);
  return {
    rule,
    action: index,
    sink,
    connector: connector.name,
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
