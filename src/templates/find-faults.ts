import { CaptureTag, Output, type Template, type Token, TypeGuards, type Value } from 'liquidjs';
import { tagsIn } from '../support/text.ts';
import { escapeAt, type IsStrict, type Target } from './engine.ts';
import { type Argument, type Escaping, filterFaults, type Operand, tokenOf } from './filter-faults.ts';
import { maxDepth, mostFaults, tooDeep } from './limits.ts';
import { type SyntaxFault, parse } from './parse.ts';
import {
  any,
  entryOf,
  type ValueInfo,
  loopShapes,
  neverStrict,
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
 * Finds faults in a template before any event arrives: syntax errors, and unknown variables and filters. `isStrict` is
 * for rendering: only values inside `event.raw` may be missing.
 *
 * LiquidJS's own `analyze` lists variables without shapes, filters or operators, so it is not enough here.
 */
export function findFaults(
  source: string,
  place: Target,
  roots: ReadonlyMap<string, Shape>,
): { readonly faults: readonly PlacedFault[]; readonly isStrict: IsStrict } {
  const curly = curlyQuotes(source);
  if (curly.length > 0)
    return {
      faults: curly.slice(0, mostFaults).map((fault) => withPosition(fault, source)),
      isStrict: neverStrict,
    };
  const parsed = parse(source);
  const checker = new Checker(roots, escapingAt(place));
  checker.visitAll(parsed.templates);
  const faults = parsed.namesAreComplete ? [...parsed.faults, ...checker.faults] : parsed.faults;
  const shown = faults.toSorted((a, b) => a.offset - b.offset).slice(0, mostFaults);
  return { faults: shown.map((fault) => withPosition(fault, source)), isStrict: checker.scope.isStrict() };
}

const straightText = /"[^"]*"|'[^']*'/g;

/** Faults for round quotes of a word processor, which are no quotes in a tag. One for each tag. */
function curlyQuotes(source: string): SyntaxFault[] {
  return [...tagsIn(source)].flatMap(({ part, index }) => {
    const at = part.replaceAll(straightText, (inside) => ' '.repeat(inside.length)).search(/[“”„‟‘’‚‛«»]/);
    return at < 0 ? [] : [{ offset: index + at, message: `${part[at]} is no quote here: write ' or "` }];
  });
}

function withPosition({ offset, message }: SyntaxFault, source: string): PlacedFault {
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: offset - lineStart + 1, message };
}

function escapingAt(place: Target): Escaping {
  const escaped = escapeAt(place, '<');
  if (escaped === '%3C') return 'percent';
  return escaped === '<' && !place.medium.join ? null : 'signs';
}

type Path = Extract<Operand, { props: unknown }>;

/** Visits a parsed template in the order of rendering, and knows the names that exist at each place. */
class Checker {
  readonly faults: SyntaxFault[] = [];
  readonly scope: Scope;
  readonly #escaping: Escaping;
  #depth = 0;
  /** The facts that were read so far. */
  readonly #facts: string[] = [];
  /** The facts that a condition around this place asks for. */
  #asked: readonly string[] = [];

  constructor(roots: ReadonlyMap<string, Shape>, escaping: Escaping) {
    this.scope = new Scope(roots);
    this.#escaping = escaping;
  }

  visitAll(templates: Iterable<Template>): void {
    this.#depth += 1;
    for (const template of templates)
      if (this.#depth <= maxDepth || !TypeGuards.isTagToken(template.token)) this.#visit(template);
      else if (this.faults.length === 0) this.#report(template.token, tooDeep);
    this.#depth -= 1;
  }

  #visit(template: Template): void {
    const loop = template.blockScope ? [...template.blockScope()] : null;
    const read = this.#facts.length;
    const name = nameOf(template);
    const given = argumentsOf(template, loop !== null);
    const [value = unknown] = conditions.has(name)
      ? this.#readConditions(template, name, given)
      : given.map((one) => this.#read(one));
    const fact = factOf(value);
    const keepsFalse = flagOf(value) === undefined ? '' : `, ${allowFalse}: true`;
    if (template instanceof Output && fact !== undefined && !this.#asked.includes(fact))
      this.#report(
        template.token,
        `nothing is printed where \`${fact}\` is unknown or absent; say what to print then, as in \`{{ ${fact} | default: "not known"${keepsFalse} }}\``,
      );
    const outer = this.#asked;
    if (conditions.has(name)) this.#asked = [...outer, ...this.#facts.slice(read)];
    if (loop) this.scope.within(loopNames(loop, value), () => this.visitAll(childrenOf(template)));
    else this.visitAll(childrenOf(template));
    this.#asked = outer;
    const assigned = template instanceof CaptureTag ? captured : value;
    for (const { content } of template.localScope?.() ?? []) this.scope.assign(content, assigned);
  }

  /** Reads the conditions of a tag. Where it says something where one does not hold, it says that of what is unknown, too. */
  #readConditions(template: Template, name: string, given: readonly Argument[]): ValueInfo[] {
    const { token } = template;
    const asked = [...this.#asked];
    const judged: { readonly fact: string; readonly isFalse: boolean }[] = [];
    const saysElse = hasElse(template, name);
    const values = given.map((argument) => {
      const read = this.#facts.length;
      const value = this.#read(argument);
      const isFlag = factOf(value) !== undefined && flagOf(value) !== undefined;
      const isJudged =
        name === 'case'
          ? saysElse && given.length === 2 && !namesOne(given[1]!, noValues)
          : (saysElse && (isFlag || compares(argument))) || differs(argument);
      const facts = this.#facts.slice(read);
      if (!isJudged) asked.push(...facts);
      else judged.push(...facts.map((fact) => ({ fact, isFalse: namesOne(argument, falseOnly) })));
      return value;
    });
    // Who asks for true and for false has said both.
    const untold = judged.find(
      ({ fact, isFalse }) =>
        !asked.includes(fact) && !judged.some((other) => other.fact === fact && other.isFalse !== isFalse),
    )?.fact;
    if (untold !== undefined)
      this.#report(
        token,
        `where \`${untold}\` is unknown or absent, this says what it says of another value; ask for that first, as in \`{% if ${untold} == nil %}not known{% elsif … %}\``,
      );
    return values;
  }

  /** Reports the faults of an expression, and returns what is known about its value. */
  #read(argument: Argument): ValueInfo {
    if ('filters' in argument) return this.#readFiltered(argument);
    if ('props' in argument) return this.#readPath(argument);
    if ('lhs' in argument) {
      this.#read(argument.lhs);
      this.#read(argument.rhs);
      return { ...unknown, shape: { kind: 'list', entry: number } };
    }
    if (TypeGuards.isQuotedToken(argument)) return { ...unknown, shape: text };
    return TypeGuards.isNumberToken(argument) ? { ...unknown, shape: number } : unknown;
  }

  /** A value without operators and filters keeps its shape. */
  #readFiltered({
    initial,
    filters,
  }: Pick<Value, 'initial'> & { readonly filters: readonly unknown[] }): ValueInfo {
    if (!this.#checkOperators(initial.postfix)) return unknown;
    const operands = initial.postfix.filter((token) => !TypeGuards.isOperatorToken(token)) as Operand[];
    const values = operands.map((operand) => this.#read(operand));
    const [only = unknown] = values;
    if (initial.postfix.length === 1 && filters.length === 0) return only;
    let untrusted = values.some((value) => value.untrusted);
    for (const filter of filters) untrusted = this.#readFilter(filter, untrusted);
    const hasDefault = filters.some((filter) => tokenOf(filter).name === 'default');
    const [first] = filters.map(tokenOf);
    const flag = initial.postfix.length === 1 ? flagOf(only) : undefined;
    if (
      flag !== undefined &&
      first?.name === 'default' &&
      !first.args.some((arg) => Array.isArray(arg) && arg[0] === allowFalse)
    )
      this.#report(
        first,
        `\`default\` takes false for missing, and \`${flag}\` may be false; write \`, ${allowFalse}: true\` behind what it says`,
      );
    const fact = initial.postfix.length === 1 && !hasDefault ? factOf(only) : undefined;
    return { ...unknown, shape: fact === undefined ? any : { kind: 'any', fact }, untrusted };
  }

  /**
   * LiquidJS ignores a second value without an operator before it, and reads a missing operand as nothing. Returns whether the
   * values are meant as such: words of other languages between them are none.
   */
  #checkOperators(postfix: readonly Token[]): boolean {
    let depth = 0;
    for (const token of postfix) {
      const operands = TypeGuards.isOperatorToken(token) ? (token.operator === 'not' ? 1 : 2) : 0;
      if (depth < operands) {
        const where = operands === 1 ? 'after it' : 'on both sides';
        this.#report(token, `\`${token.getText()}\` needs a value ${where}`);
      }
      depth = Math.max(0, depth - operands) + 1;
    }
    const last = postfix.at(-1);
    if (depth <= 1 || !last) return true;
    const word = postfix.find((token) => Object.hasOwn(operatorsElsewhere, token.getText()));
    if (word) {
      this.#report(word, `\`${word.getText()}\` is no operator here: ${operatorsElsewhere[word.getText()]}`);
      return false;
    }
    const expected = 'expected an operator such as `==`, or `|` and a filter';
    this.#report(last, `unexpected \`${last.getText()}\`; ${expected}`);
    return true;
  }

  /** Returns whether the filter's result is untrusted. */
  #readFilter(filter: unknown, untrusted: boolean): boolean {
    const token = tokenOf(filter);
    const args = token.args
      .map((arg) => (Array.isArray(arg) ? arg[1] : arg))
      .filter((arg) => arg !== undefined);
    const escaping = this.#escaping;
    for (const { at, message } of filterFaults({ token, args, untrusted, escaping }))
      this.#report(at, message);
    const values = args.map((arg) => this.#read(arg));
    return untrusted || values.some((value) => value.untrusted);
  }

  #readPath(token: Path): ValueInfo {
    const steps = token.props.map((prop) => this.#readStep(prop));
    if (token.variable) return this.#follow(this.#read(token.variable), steps, 0, token);
    const known = this.scope.find(String(steps[0]));
    if (known) return this.#follow(known, steps, 1, token);
    this.#report(token, unknownVariable(steps, 0, null, this.scope));
    return unknown;
  }

  #readStep(prop: Path['props'][number]): Step {
    if ('content' in prop) return prop.content as Step;
    this.#read(prop);
    return null;
  }

  /** Follows a path from its step `start` on. */
  #follow(from: ValueInfo, path: readonly Step[], start: number, token: Token): ValueInfo {
    let { shape, raw } = from;
    for (let at = start; at < path.length; at += 1) {
      const step = path[at] ?? null;
      const next = stepInto(shape, step);
      if (next === null) {
        this.#report(token, unknownVariable(path, at, shape, this.scope));
        return { ...from, shape: any };
      }
      if (step === 'raw' && shape.kind === 'map' && from.untrusted) {
        raw = true;
        this.scope.noteRaw();
      }
      shape = next;
    }
    const info = { ...from, shape, raw };
    this.#facts.push(...(factOf(info) === undefined ? [] : [factOf(info)!]));
    return info;
  }

  #report({ begin }: Token, message: string): void {
    this.faults.push({ offset: begin, message });
  }
}

const factOf = ({ shape }: ValueInfo): string | undefined => ('fact' in shape ? shape.fact : undefined);

const flagOf = ({ shape }: ValueInfo): string | undefined => ('flag' in shape ? shape.flag : undefined);

/** The argument by which Liquid's `default` leaves false as it is. */
const allowFalse = 'allow_false';

/** Tags that decide when their content is printed. */
const conditions = new Set(['if', 'unless', 'case']);

/** Whether a tag says something where its conditions do not hold. */
const hasElse = (template: Template, name: string): boolean =>
  name === 'unless' || ((template as { elseTemplates?: readonly unknown[] }).elseTemplates ?? []).length > 0;

const tokensOf = (argument: Argument): readonly Token[] =>
  'initial' in argument ? argument.initial.postfix : 'filters' in argument ? [] : [argument];

const operatorsOf = (argument: Argument): string[] =>
  tokensOf(argument).flatMap((token) => (TypeGuards.isOperatorToken(token) ? [token.operator] : []));

/** Whether an expression has one of these literals. */
const namesOne = (argument: Argument, literals: ReadonlySet<string>): boolean =>
  tokensOf(argument).some((token) => TypeGuards.isLiteralToken(token) && literals.has(token.literal));

/** Whether an expression compares values, and not only asks whether something is known. */
const compares = (argument: Argument): boolean =>
  !namesOne(argument, noValues) && operatorsOf(argument).some((operator) => !joining.has(operator));

/** Whether it only says that a value is another one, which holds for what is unknown. */
const differs = (argument: Argument): boolean =>
  compares(argument) && operatorsOf(argument).join(' ') === '!=';

/** What to write in place of the operators of other languages. */
const operatorsElsewhere: Readonly<Record<string, string>> = {
  is: 'write `==` or `!=`; a value alone asks whether it is there',
  eq: 'write `==`',
  equals: 'write `==`',
  ne: 'write `!=`',
  in: 'write `==` for each value, with `or` between them',
  has: 'write `contains`',
  includes: 'write `contains`',
  startswith: 'write `contains`',
  startsWith: 'write `contains`',
};

const joining = new Set(['and', 'or', 'not']);
/** What a known value may be compared with to ask whether it is known. */
const noValues = new Set(['nil', 'null', 'empty', 'blank']);
const falseOnly = new Set(['false']);

/** Untrusted although it is escaped, because a filter may undo the escaping. */
const captured: ValueInfo = { shape: text, untrusted: true, raw: false };

/** The name of a tag; empty for an output. */
export const nameOf = ({ token }: Template): string => (token as { name?: string }).name ?? '';

/** The arguments of a tag, without `offset: continue`, which is no variable, and without words such as `reversed`. */
export function argumentsOf(template: Template, isLoop: boolean): Argument[] {
  const all = [...(template.arguments?.() ?? [])] as (Argument | undefined)[];
  return all
    .filter((one) => one !== undefined)
    .filter((one, index) => !(isLoop && index > 0 && 'props' in one && one.getText() === 'continue'));
}

/** The generator ends at once: only tags that read files would wait, and they are disabled. */
export function childrenOf(template: Template): Template[] {
  const children = template.children?.(false, true).next();
  return children?.done ? children.value : [];
}

function loopNames(
  [variable = '', helper = '']: readonly string[],
  collection: ValueInfo,
): Map<string, ValueInfo> {
  return new Map([
    [variable, { ...collection, shape: entryOf(collection.shape) }],
    [helper, { ...unknown, shape: loopShapes[helper] ?? any }],
  ]);
}
