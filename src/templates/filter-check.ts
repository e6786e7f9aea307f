import { TypeGuards } from 'liquidjs';
import type { Token } from 'liquidjs';
import { closest } from '../suggest.ts';
import { zoneOf } from './dates.ts';
import { checking } from './engine.ts';
import { withheldFilters } from './filters.ts';
import { unknownCodes } from './strftime.ts';

/** One filter as it stands in a template. */
export interface FilterUse {
  readonly token: Token & { readonly name: string; readonly args: readonly unknown[] };
  /** Its arguments, without the names of named ones. */
  readonly args: readonly unknown[];
  /** The filtered value comes with the event. */
  readonly hostile: boolean;
  readonly escaping: Escaping;
}

/** What the place where a template prints does to special characters: percent-encodes them, escapes them, or nothing. */
export type Escaping = 'percent' | 'signs' | null;

interface PlacedMessage {
  readonly at: Token;
  readonly message: string;
}

export function checkFilter(use: FilterUse): PlacedMessage[] {
  const { token } = use;
  const unknown = unknownFilter(token.name);
  if (unknown !== null) return [{ at: token, message: unknown }];
  const fault = argumentFault(use) ?? escapingFault(use);
  return [...(fault === null ? [] : [{ at: token, message: fault }]), ...dateFaults(use)];
}

function unknownFilter(name: string): string | null {
  if (name in checking.filters) return null;
  const why = withheldFilters.get(name);
  if (why !== undefined) return `the filter \`${name}\` is not available here: ${why}`;
  const meant = closest(name, Object.keys(checking.filters));
  return `unknown filter \`${name}\`${meant === null ? '' : `, did you mean \`${meant}\`?`}`;
}

/** LiquidJS throws for some of these when an event comes, and does something odd for the others. */
const needsArgument = new Set(
  [
    'append prepend remove remove_first remove_last replace replace_first replace_last split slice hmac_sha256',
    'plus minus times divided_by modulo at_least at_most',
    'concat push unshift map where reject group_by has find find_index default',
  ].flatMap((names) => names.split(' ')),
);

function argumentFault({ token: { name }, args }: FilterUse): string | null {
  return args.length === 0 && needsArgument.has(name)
    ? `the filter \`${name}\` needs an argument: \`${name}: …\``
    : null;
}

const escapeFilters = new Set(['escape', 'escape_once', 'xml_escape']);
const encodeFilters = new Set(['url_encode', 'cgi_escape', 'uri_escape']);

function escapingFault({ token: { name }, hostile, escaping }: FilterUse): string | null {
  if (escaping === null) return null;
  if (escapeFilters.has(name) || (escaping === 'percent' && encodeFilters.has(name)))
    return `leave \`${name}\` out: values are escaped here anyway, and would be twice`;
  if (name !== 'raw' || !hostile) return null;
  return '`raw` cannot be used on what comes with an event: it may be made to do harm where it is shown';
}

/** Which argument of a filter is its time zone. */
const zoneArgument: ReadonlyMap<string, number> = new Map([
  ['date', 1],
  ['date_to_xmlschema', 0],
  ['date_to_rfc822', 0],
]);

function dateFaults({ token: { name }, args }: FilterUse): PlacedMessage[] {
  const format = name === 'date' ? literal(args[0]) : null;
  const zone = literal(args[zoneArgument.get(name) ?? -1]);
  const codes = format ? unknownCodes(format.content) : [];
  return [
    ...(format && codes.length > 0
      ? [{ at: format, message: `a date has no \`${codes.join('`, `')}\`` }]
      : []),
    ...(zone && zoneOf(zone.content) === null ? [{ at: zone, message: unknownZone(zone.content) }] : []),
  ];
}

function literal(argument: unknown): (Token & { readonly content: string }) | null {
  return TypeGuards.isQuotedToken(argument) ? argument : null;
}

function unknownZone(name: string): string {
  const meant = closest(name, Intl.supportedValuesOf('timeZone'));
  return `unknown time zone \`${name}\`${meant === null ? ', expected a name such as `Europe/Zagreb`' : `, did you mean \`${meant}\`?`}`;
}
