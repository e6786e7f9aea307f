import { TypeGuards } from 'liquidjs';
import type { Arguments, Token, Value } from 'liquidjs';
import { checkFilter } from './filter-check.ts';
import type { Escaping, FilterUse } from './filter-check.ts';
import type { Fault } from './parse.ts';
import { unknown } from './scope.ts';
import type { Known, Scope } from './scope.ts';
import { any, number, stepInto, text } from './shapes.ts';
import type { Step } from './shapes.ts';
import { unknownVariable } from './unknown-variable.ts';

/** An expression of a tag or an output, as LiquidJS parsed it. */
export type Argument = Arguments extends Iterable<infer One> ? One : never;
type Operand = Exclude<Argument, Value>;
/** Filters are of two kinds; see #readFilter. */
type Filtered = { readonly initial: Value['initial']; readonly filters: readonly unknown[] };
type Path = Extract<Operand, { props: unknown }>;

/** Reads the expressions of a template: reports what is wrong with them, and says what is known of their values. */
export class Expressions {
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
