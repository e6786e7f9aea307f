import type { AnyConnector } from '../connector.ts';
import type { Json, JsonMap } from '../model.ts';
import type { Action, Digest } from '../rules/plan.ts';
import type { CompiledFields } from '../templates/template.ts';
import type { ActionReading } from './action.ts';
import { contentId } from './canonical.ts';
import { toDigest } from './digest.ts';
import type { Path } from './fault.ts';
import type { ReadDigest } from './schema/action.ts';
import { commonActionKeys } from './schema/action.ts';

export interface ActionPlace {
  readonly rule: string;
  readonly index: number;
  readonly path: Path;
  /** Fields that are the same in every event of the rule. */
  readonly fixed?: readonly string[];
}

/** An action that its connector's schema was applied to. */
export interface ReadAction {
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

/** The connector's own keys of an action. */
export function own(action: JsonMap): Record<string, Json> {
  return Object.fromEntries(Object.entries(action).filter(([key]) => !(key in commonActionKeys)));
}

/** The keys of an action that say where its messages go. */
export const placeKeysOf = ({ laneKeys = [], placeKeys = [] }: AnyConnector): Set<string> =>
  new Set([...laneKeys, ...placeKeys] as string[]);

/** See ActionReading. */
type Surroundings = Pick<ActionReading, 'hours' | 'catalogId' | 'mask'>;

export function toAction(
  action: ReadAction & { readonly value: object },
  fields: CompiledFields,
  surroundings: Surroundings,
): Action {
  const { place, connector, value, digest } = action;
  const { sink } = value;
  const hours = surroundings.hours.get(value.hours ?? '') ?? null;
  const fixed = own(value);
  return {
    rule: place.rule,
    action: place.index,
    sink,
    connector: connector.name,
    hours,
    digest: digest && toDigest(digest, hours?.timeZone ?? 'UTC', apart(action, fields, surroundings)),
    render: (data) => fields.render(data),
    lane(data) {
      if (!connector.lane) return sink;
      const rendered = fields.render(data, connector.laneKeys);
      if ('fault' in rendered) return sink;
      const lane = connector.lane({ ...fixed, ...rendered.fields });
      return lane === '' ? sink : `${sink} ${concealed(lane, surroundings)}`;
    },
  };
}

/** What keeps digests of an action apart besides time and `by`. */
function apart(
  { connector, written }: ReadAction,
  fields: CompiledFields,
  surroundings: Surroundings,
): Pick<Digest, 'place' | 'contentId' | 'conceal'> {
  const placeKeys = [...placeKeysOf(connector)];
  return {
    place(data) {
      const rendered = fields.render(data, placeKeys);
      return 'fault' in rendered ? null : rendered.fields;
    },
    contentId: contentId([written, surroundings.catalogId]).slice(0, 16),
    conceal: (group) => concealed(group, surroundings),
  };
}

/** Kept in the store: a text with a secret in it only tells whether it is the same as another one. */
function concealed(text: string, { mask }: Pick<Surroundings, 'mask'>): string {
  return mask(text) === text ? text : `*** ${contentId(text).slice(0, 16)}`;
}
