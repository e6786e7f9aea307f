import type { AnyConnector } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import type { Hours } from '../rules/calendar.ts';
import type { Action } from '../rules/plan.ts';
import { didYouMeanOneOf } from '../suggest.ts';
import { compileTemplates } from './action-templates.ts';
import { checkDigestTimes } from './checks/digest-times.ts';
import { toAction, type ActionPlace, type ReadAction } from './compiled-action.ts';
import type { Path } from './fault.ts';
import { error } from './fault.ts';
import { interpolateTemplate } from './references/template-text.ts';
import { interpolateText } from './references/values.ts';
import { actionSchema, alertActionSchema, commonActionKeys } from './schema/action.ts';
import { withoutOwnKeys } from './schema/common-keys.ts';
import type { Reading } from './schema/validate.ts';
import { validate } from './schema/validate.ts';

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

/** Compiles one entry of a `then` as it is in a plan's source; reports what is wrong with it and returns null. */
export function compileAction(raw: Json, place: ActionPlace, reading: ActionReading): Action | null {
  return compile(raw, place, reading, isMap(raw) && raw['digest'] !== undefined ? 'digest' : 'event');
}

/** The same for an action of an alert. */
export function compileAlertAction(raw: Json, place: ActionPlace, reading: ActionReading): Action | null {
  return compile(raw, place, reading, 'notice');
}

function compile(
  raw: Json,
  place: ActionPlace,
  reading: ActionReading,
  tells: ReadAction['tells'],
): Action | null {
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
