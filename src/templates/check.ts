import { type Arguments, CaptureTag, type Template, type Token, TypeGuards, type Value } from 'liquidjs';
import { closest } from '../suggest.ts';
import { unknownCodes, zoneOf } from './dates.ts';
import { checking, escapeAt, type IsStrict, type Place, withheldFilters } from './engine.ts';
import { type Fault, parse } from './parse.ts';
import {
  any,
  entryOf,
  type Known,
  loopShapes,
  number,
  Scope,
  type Shape,
  type Step,
  stepInto,
  text,
  unknown,
  unknownVariable,
} from './scope.ts';

export interface PlacedFault {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/**
 * All that can be said of a template before an event comes: what cannot be parsed, or else which variables and filters
 * there will not be. `isStrict` is for rendering it: only what the service sends beyond its documented fields may turn
 * out to be missing.
 */
export function check(
  source: string,
  place: Place,
  roots: ReadonlyMap<string, Shape>,
): { readonly faults: readonly PlacedFault[]; readonly isStrict: IsStrict } {
  const parsed = parse(source);
  const walk = new Walk(roots, escapingOf(place));
  walk.visitAll(parsed.templates);
  const faults = parsed.namesAreSound ? [...parsed.faults, ...walk.faults] : parsed.faults;
  return {
    faults: faults.toSorted((a, b) => a.offset - b.offset).map((fault) => placed(fault, source)),
    isStrict: walk.scope.isStrict(),
  };
}

function escapingOf(place: Place): Escaping {
  const escaped = escapeAt(place, '<');
  if (escaped === '%3C') return 'percent';
  return escaped === '<' && !place.medium.join ? null : 'signs';
}

function placed({ offset, message }: Fault, source: string): PlacedFault {
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: offset - lineStart + 1, message };
}

/** Goes through a parsed template in the order in which it renders and knows which names there are at each place. */
class Walk {
  readonly faults: Fault[] = [];
  readonly scope: Scope;
  readonly #expressions: Expressions;

  constructor(roots: ReadonlyMap<string, Shape>, escaping: Escaping) {
    this.scope = new Scope(roots);
    this.#expressions = new Expressions(this.scope, escaping, (fault) => this.faults.push(fault));
  }

  visitAll(templates: Iterable<Template>): void {
    for (const template of templates) this.#visit(template);
  }

  #visit(template: Template): void {
    const loop = template.blockScope ? [...template.blockScope()] : null;
    const [value = unknown] = argumentsOf(template, loop !== null).map((one) => this.#expressions.read(one));
    if (loop) this.scope.within(loopNames(loop, value), () => this.visitAll(childrenOf(template)));
    else this.visitAll(childrenOf(template));
    const assigned = template instanceof CaptureTag ? captured : value;
    for (const { content } of template.localScope?.() ?? []) this.scope.assign(content, assigned);
  }
}

/** It was escaped, but a filter might undo that. */
const captured: Known = { shape: text, hostile: true, sent: false };

/** `offset: continue` is no variable, and LiquidJS yields nothing for a word such as `reversed`. */
function argumentsOf(template: Template, isLoop: boolean): Argument[] {
  const all = [...(template.arguments?.() ?? [])] as (Argument | undefined)[];
  return all
    .filter((one) => one !== undefined)
    .filter((one, index) => !(isLoop && index > 0 && 'props' in one && one.getText() === 'continue'));
}

/** Finished at once: only tags that read files would wait for something. */
function childrenOf(template: Template): Template[] {
  const children = template.children?.(false, true).next();
  return children?.done ? children.value : [];
}

function loopNames([variable = '', helper = '']: readonly string[], collection: Known): Map<string, Known> {
  return new Map([
    [variable, { ...collection, shape: entryOf(collection.shape) }],
    [helper, { ...unknown, shape: loopShapes[helper] ?? unknown.shape }],
  ]);
}

/** An expression of a tag or an output, as LiquidJS parsed it. */
export type Argument = Arguments extends Iterable<infer One> ? One : never;
type Operand = Exclude<Argument, Value>;
/** Filters are of two kinds; see #readFilter. */
type Filtered = { readonly initial: Value['initial']; readonly filters: readonly unknown[] };
type Path = Extract<Operand, { props: unknown }>;

/** Reads the expressions of a template: reports what is wrong with them, and says what is known of their values. */
class Expressions {
  readonly #scope: Scope;
  readonly #escaping: Escaping;
  readonly #report: (fault: Fault) => void;

  constructor(scope: Scope, escaping: Escaping, report: (fault: Fault) => void) {
    this.#scope = scope;
    this.#escaping = escaping;
    this.#report = report;
  }

  read(argument: Argument): Known {
    if ('filters' in argument) return this.#readFiltered(argument);
    if ('props' in argument) return this.#readPath(argument);
    if ('lhs' in argument) {
      this.read(argument.lhs);
      this.read(argument.rhs);
      return { ...unknown, shape: { kind: 'list', entry: number } };
    }
    if (TypeGuards.isQuotedToken(argument)) return { ...unknown, shape: text };
    return TypeGuards.isNumberToken(argument) ? { ...unknown, shape: number } : unknown;
  }

  /** Only what stands alone is a value of the data; operators and filters make others. */
  #readFiltered({ initial, filters }: Filtered): Known {
    this.#checkOperators(initial.postfix);
    const operands = initial.postfix.filter((token) => !TypeGuards.isOperatorToken(token)) as Operand[];
    const knowns = operands.map((operand) => this.read(operand));
    const [only = unknown] = knowns;
    if (initial.postfix.length === 1 && filters.length === 0) return only;
    const hostile = knowns.some((known) => known.hostile);
    return { shape: any, hostile: filters.reduce<boolean>(this.#readFilter, hostile), sent: false };
  }

  /** LiquidJS ignores a second value that no operator joins, and takes nothing for a missing one. */
  #checkOperators(postfix: readonly Token[]): void {
    let depth = 0;
    for (const token of postfix) {
      const takes = TypeGuards.isOperatorToken(token) ? (token.operator === 'not' ? 1 : 2) : 0;
      if (depth < takes) {
        const where = takes === 1 ? 'after it' : 'on both sides';
        this.#fault(token, `\`${token.getText()}\` needs a value ${where}`);
      }
      depth = Math.max(0, depth - takes) + 1;
    }
    const last = postfix.at(-1);
    if (depth > 1 && last) {
      this.#fault(
        last,
        `unexpected \`${last.getText()}\`; expected an operator such as \`==\`, or \`|\` and a filter`,
      );
    }
  }

  /** Says whether what a filter makes of a value is hostile. */
  readonly #readFilter = (hostile: boolean, filter: unknown): boolean => {
    // The filter of a list's entry is a token; elsewhere LiquidJS keeps the token out of sight.
    const { token = filter } = filter as { token?: unknown };
    const use = token as FilterUse['token'] & { args: readonly (Operand | [string?, Operand?])[] };
    const args = use.args
      .map((arg) => (Array.isArray(arg) ? arg[1] : arg))
      .filter((arg) => arg !== undefined);
    for (const { at, message } of checkFilter({ token: use, args, hostile, escaping: this.#escaping })) {
      this.#fault(at, message);
    }
    const knowns = args.map((arg) => this.read(arg));
    return hostile || knowns.some((known) => known.hostile);
  };

  #readPath(token: Path): Known {
    const steps = token.props.map((prop) => this.#step(prop));
    if (token.variable) return this.#follow(this.read(token.variable), steps, 0, token);
    const known = this.#scope.find(String(steps[0]));
    if (known) return this.#follow(known, steps, 1, token);
    this.#fault(token, unknownVariable(steps, 0, null, this.#scope));
    return unknown;
  }

  #step(prop: Path['props'][number]): Step {
    if ('content' in prop) return prop.content as Step;
    this.read(prop);
    return null;
  }

  /** Follows a path's steps from the one at `start` on. */
  #follow(from: Known, path: readonly Step[], start: number, token: Token): Known {
    let { shape, sent } = from;
    for (let at = start; at < path.length; at += 1) {
      const step = path[at] ?? null;
      const next = stepInto(shape, step);
      if (next === null) {
        this.#fault(token, unknownVariable(path, at, shape, this.#scope));
        return { ...from, shape: any };
      }
      if (step === 'raw' && shape.kind === 'map' && from.hostile) {
        sent = true;
        this.#scope.noteRaw();
      }
      shape = next;
    }
    return { shape, hostile: from.hostile, sent };
  }

  #fault({ begin }: Token, message: string): void {
    this.#report({ offset: begin, message });
  }
}

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

function checkFilter(use: FilterUse): PlacedMessage[] {
  const { token } = use;
  const message = unknownFilter(token.name);
  if (message !== null) return [{ at: token, message }];
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
