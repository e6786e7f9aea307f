import { type Arguments, type Token, TypeGuards, type Value } from 'liquidjs';
import { closest } from '../support/text.ts';
import { timeZoneOf, unknownCodes } from './dates.ts';
import { checking, disabledFilters } from './engine.ts';

/** An expression of a tag or an output, as LiquidJS parsed it. */
export type Argument = Arguments extends Iterable<infer One> ? One : never;
export type Operand = Exclude<Argument, Value>;

/** How special characters are escaped where a template prints: percent-encoded, in another way, or not at all. */
export type Escaping = 'percent' | 'signs' | null;

/** In list entries a filter is a token. Elsewhere it is an object with a private token. */
export const tokenOf = (filter: unknown) => ((filter as { token?: unknown }).token ?? filter) as FilterToken;

type FilterToken = Token & {
  readonly name: string;
  readonly args: readonly (Operand | readonly [name?: string, value?: Operand])[];
};

interface FilterUse {
  readonly token: FilterToken;
  /** Its arguments, without the names of named ones. */
  readonly args: readonly Operand[];
  /** The value before it is untrusted. */
  readonly untrusted: boolean;
  readonly escaping: Escaping;
}

interface TokenFault {
  readonly at: Token;
  readonly message: string;
}

/** What is wrong with one use of a filter. Pure. */
export function filterFaults({ token, args, untrusted, escaping }: FilterUse): TokenFault[] {
  const { name } = token;
  const fault = (message: string): TokenFault[] => [{ at: token, message }];
  if (!(name in checking.filters)) {
    const reason = disabledFilters.get(name);
    if (reason !== undefined) return fault(`the filter \`${name}\` is not available here: ${reason}`);
    const meant = elsewhere.get(name.toLowerCase()) ?? closest(name, Object.keys(checking.filters));
    return fault(`unknown filter \`${name}\`${meant === null ? '' : `, did you mean \`${meant}\`?`}`);
  }
  const dates = dateFaults(name, args);
  if (args.length === 0 && needsArgument.has(name))
    return [...fault(`the filter \`${name}\` needs an argument: \`${name}: …\``), ...dates];
  if (escaping !== null && (escapeFilters.has(name) || (escaping === 'percent' && encodeFilters.has(name))))
    return fault(`leave out \`${name}\`: values are escaped here anyway, so they would be escaped twice`);
  if (escaping !== null && name === 'raw' && untrusted)
    return fault(
      '`raw` cannot be used on a value that comes with an event: unescaped, it could do harm where it is shown',
    );
  return dates;
}

/** Filters, by what Jinja, Twig and JavaScript call them in small letters. */
const elsewhere = new Map(
  Object.entries({
    upcase: 'upper touppercase',
    downcase: 'lower tolowercase',
    capitalize: 'title',
    strip: 'trim',
    size: 'length count',
    date: 'format strftime',
    json: 'to_json tojson',
  }).flatMap(([name, others]) => others.split(' ').map((other) => [other, name] as const)),
);

/** Without an argument, LiquidJS throws at rendering for some of these, and gives odd results for the others. */
const needsArgument = new Set(
  `append prepend remove remove_first remove_last replace replace_first replace_last split slice hmac_sha256
  plus minus times divided_by modulo at_least at_most
  concat push unshift map where reject group_by has find find_index default`.split(/\s+/),
);

const escapeFilters = new Set(['escape', 'escape_once', 'xml_escape']);
const encodeFilters = new Set(['url_encode', 'cgi_escape', 'uri_escape']);

/** Which argument of a filter is its time zone. */
const zoneArgument: ReadonlyMap<string, number> = new Map([
  ['date', 1],
  ['date_to_xmlschema', 0],
  ['date_to_rfc822', 0],
]);

function dateFaults(name: string, args: FilterUse['args']): TokenFault[] {
  const faults: TokenFault[] = [];
  const format = name === 'date' ? args[0] : undefined;
  const codes = TypeGuards.isQuotedToken(format) ? unknownCodes(format.content) : [];
  if (format && codes.length > 0)
    faults.push({ at: format, message: `a date format has no \`${codes.join('`, `')}\`` });
  const zone = args[zoneArgument.get(name) ?? -1];
  if (TypeGuards.isQuotedToken(zone) && timeZoneOf(zone.content) === null) {
    const meant = closest(zone.content, Intl.supportedValuesOf('timeZone'));
    const hint = meant === null ? 'expected a name such as `Europe/Zagreb`' : `did you mean \`${meant}\`?`;
    faults.push({ at: zone, message: `unknown time zone \`${zone.content}\`, ${hint}` });
  }
  return faults;
}
