import { TypeGuards } from 'liquidjs';
import type { Token, Value } from 'liquidjs';
import { checkFilter } from './filter-check.ts';
import type { FilterUse } from './filter-check.ts';
import type { Fault } from './parse.ts';
import { unknown } from './scope.ts';
import type { Known, Scope } from './scope.ts';
import { any, stepInto } from './shapes.ts';
import type { Step } from './shapes.ts';
import { unknownVariable } from './unknown-variable.ts';

type ValueToken = Parameters<typeof TypeGuards.isValueToken>[0] & Token;
export type Argument = Value | ValueToken;
type PathToken = Token & {
  readonly variable?: ValueToken;
  readonly props: readonly (Token & { content?: unknown })[];
};
type FilterToken = FilterUse['token'];

/** Reads the expressions of a template: reports what is wrong with them, and says what is known of their values. */
export class Expressions {
  readonly #scope: Scope;
  readonly #escapes: boolean;
  readonly #report: (fault: Fault) => void;

  /** `escapes`: whether the medium changes HTML's special characters. */
  constructor(scope: Scope, escapes: boolean, report: (fault: Fault) => void) {
    this.#scope = scope;
    this.#escapes = escapes;
    this.#report = report;
  }

  read(argument: Argument): Known {
    if ('filters' in argument) return this.#readFiltered(argument);
    if (TypeGuards.isPropertyAccessToken(argument)) return this.#readPath(argument as unknown as PathToken);
    if (TypeGuards.isRangeToken(argument)) {
      this.read(argument.lhs as ValueToken);
      this.read(argument.rhs as ValueToken);
      return { ...unknown, shape: { kind: 'list', entry: { kind: 'number' } } };
    }
    if (TypeGuards.isQuotedToken(argument)) return { ...unknown, shape: { kind: 'text' } };
    return TypeGuards.isNumberToken(argument) ? { ...unknown, shape: { kind: 'number' } } : unknown;
  }

  /** An expression with operators and filters: only where it has neither is its value one of the data. */
  #readFiltered({ initial, filters }: Pick<Value, 'initial' | 'filters'>): Known {
    const operands = initial.postfix.filter((token) => !TypeGuards.isOperatorToken(token));
    const knowns = operands.map((token) => this.read(token as ValueToken));
    this.#checkOperators(initial.postfix);
    const inputs = [...knowns, ...filters.flatMap((filter) => this.#readFilter(filter, knowns))];
    const [only = unknown] = knowns;
    if (inputs.length === 1 && filters.length === 0) return only;
    return { shape: any, hostile: inputs.some(({ hostile }) => hostile), sent: false };
  }

  /** LiquidJS ignores a second value without an operator before it, and takes nothing for a missing one. */
  #checkOperators(postfix: readonly Token[]): void {
    let depth = 0;
    for (const token of postfix) {
      const takes = TypeGuards.isOperatorToken(token) ? (token.operator === 'not' ? 1 : 2) : 0;
      if (depth < takes)
        this.#fault(
          token,
          `\`${token.getText()}\` needs a value on ${takes === 1 ? 'its right' : 'both sides'}`,
        );
      depth = Math.max(0, depth - takes) + 1;
    }
    const last = postfix.at(-1);
    if (depth > 1 && last)
      this.#fault(
        last,
        `unexpected \`${last.getText()}\`; expected an operator such as \`==\`, or \`|\` and a filter`,
      );
  }

  #readFilter(filter: unknown, values: readonly Known[]): Known[] {
    // A filter of a tag's list is a token; elsewhere LiquidJS keeps the token out of sight.
    const token = ((filter as { token?: FilterToken }).token ?? filter) as FilterToken;
    const args = token.args
      .map((arg) => (Array.isArray(arg) ? arg[1] : arg))
      .filter((arg) => arg !== undefined);
    const hostile = values.some((value) => value.hostile);
    for (const { at, message } of checkFilter({ token, args, hostile, escapes: this.#escapes }))
      this.#fault(at, message);
    return args.map((arg) => this.read(arg as ValueToken));
  }

  #readPath(token: PathToken): Known {
    const steps = token.props.map((prop) => this.#step(prop));
    if (token.variable) return this.#follow(this.read(token.variable), steps, 0, token);
    const [root, ...rest] = steps;
    const known = this.#scope.find(String(root));
    if (known) return this.#follow(known, rest, 1, token);
    this.#fault(token, unknownVariable(steps, 0, null, this.#scope));
    return unknown;
  }

  #step(prop: PathToken['props'][number]): Step {
    if ('content' in prop) return prop.content as Step;
    this.read(prop as ValueToken);
    return null;
  }

  #follow(from: Known, steps: readonly Step[], offset: number, token: PathToken): Known {
    let { shape, sent } = from;
    for (const [index, step] of steps.entries()) {
      const next = stepInto(shape, step);
      if (next === null) {
        const path = token.props.map(({ content }) => (content ?? null) as Step);
        this.#fault(token, unknownVariable(path, index + offset, shape, this.#scope));
        return { ...from, shape: any };
      }
      sent ||= step === 'raw' && shape.kind === 'map' && from.hostile;
      shape = next;
    }
    return { shape, hostile: from.hostile, sent };
  }

  #fault({ begin }: Token, message: string): void {
    this.#report({ offset: begin, message });
  }
}
