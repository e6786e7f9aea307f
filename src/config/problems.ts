import { LineCounter, type Scalar } from 'yaml';
import { count } from '../support/text.ts';
import { ConfigError, type Problem } from './config.ts';
import type { Fault } from './faults.ts';
import { hashHint, hashWordLength, type NodePlace, type Range, type Tree } from './yaml.ts';

/** One problem as a person reads it: the place, what is wrong, the line with a caret. */
export function formatProblem(file: string, problem: Problem): string {
  const { severity, line, column, message, excerpt } = problem;
  const shown = excerpt === '' ? '' : `\n${indent(excerpt)}`;
  return `${file}:${line}:${column}: ${severity}: ${message}${shown}`;
}

/** The error that carries every problem, in the order of the file. `mask` keeps secrets out of its text. */
export function configError(
  file: string,
  problems: readonly Problem[],
  { mask = (text: string) => text, mayPass = false } = {},
): ConfigError {
  const masked = inOrder(problems).map((problem) => maskProblem(problem, mask));
  const report = [...masked.map((problem) => formatProblem(file, problem)), countLine(masked)].join('\n\n');
  return new ConfigError(file, masked, report, mayPass);
}

/** For what is wrong with a file as a whole. */
export function wholeFileError(file: string, message: string, mayPass: boolean): ConfigError {
  return configError(file, [{ severity: 'error', line: 1, column: 1, message, excerpt: '' }], { mayPass });
}

/** Sorted by place, each said once: what an alias repeats is one mistake. */
export function inOrder(problems: readonly Problem[]): Problem[] {
  const unique = new Map(problems.map((problem) => [keyOf(problem), problem]));
  return [...unique.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
}

export function maskProblem(problem: Problem, mask: (text: string) => string): Problem {
  return { ...problem, message: mask(problem.message), excerpt: mask(problem.excerpt) };
}

function countLine(problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const warnings = problems.length - errors;
  const parts = [count(errors, 'error'), ...(warnings > 0 ? [count(warnings, 'warning')] : [])];
  return parts.join(', ');
}

const indent = (text: string): string => text.replaceAll(/^/gm, '  ');
const keyOf = ({ line, column, message }: Problem): string => `${line}:${column}:${message}`;

/** Finds where in the file a fault is. */
export function problemOf(fault: Fault, tree: Tree, source: Source): Problem {
  const node = tree.placeOf(fault.path);
  const hidden = hiddenLength(fault, node, source.text);
  if (hidden === 0)
    return source.problem(fault.severity, ...rangeOf(fault, node, source.text), fault.message);
  const [start] = node.range;
  return source.problem(fault.severity, start, start + hidden, fault.message + hashHint);
}

/** How long the comment is that is meant as the value. */
function hiddenLength({ path, at }: Fault, node: NodePlace, text: string): number {
  return path.length > 0 && at === 'value' && isNothing(node) ? hashWordLength(text, node.range[0]) : 0;
}

function rangeOf({ path, at, inside }: Fault, node: NodePlace, text: string): Range {
  if (inside && node.scalar) {
    const start = scalarOffset(text, node.scalar, inside.index);
    return [start, start + inside.length];
  }
  if (path.length === 0) return [node.range[0], node.range[0] + 1];
  return (at === 'key' || isNothing(node) ? node.key : null) ?? node.range;
}

const isNothing = ({ range: [start, end] }: NodePlace): boolean => start === end;

const widestLine = 160;

/** A config file's text: turns offsets into problems with a line, a column and the line itself. */
export class Source {
  readonly text: string;
  readonly lines = new LineCounter();

  constructor(text: string) {
    this.text = text;
    this.lines.addNewLine(0);
    for (const { index } of text.matchAll(/\n/g)) this.lines.addNewLine(index + 1);
  }

  problem(severity: Problem['severity'], start: number, end: number, message: string): Problem {
    const { line, col: column } = this.lines.linePos(start);
    return { severity, line, column, message, excerpt: this.#excerpt(line, column, end - start) };
  }

  /** The line with a caret under what is wrong; a long line, as in JSON, is cut around it. */
  #excerpt(line: number, column: number, length: number): string {
    const whole = hideCredentials(this.#line(line));
    const cut = Math.max(0, Math.min(column - widestLine / 2, whole.length - widestLine));
    const shown = whole.slice(cut, cut + widestLine);
    const before = column - 1 - cut;
    const carets = '^'.repeat(Math.max(1, Math.min(length, shown.length - before)));
    const number = `${line} | `;
    return `${number}${shown}\n${' '.repeat(number.length)}${shown.slice(0, before).replaceAll(/\S/g, ' ')}${carets}`;
  }

  #line(line: number): string {
    const start = this.lines.lineStarts[line - 1] ?? 0;
    return this.text.slice(start, this.lines.lineStarts[line]).replace(/\r?\n$/, '');
  }
}

/** Credentials written into the file stay out of what is printed; the line keeps its length for the caret's sake. */
function hideCredentials(line: string): string {
  return line.replaceAll(underCredentialKey, hide).replaceAll(/[^\s"']+/g, hideInUrls);
}

/** A line may be a whole file of JSON: nothing here may look to its end again and again. */
const underCredentialKey =
  /((?:token|secret|passw|credential|auth(?!or)|private_?key|api_?key)\w{0,99}["']?\s*:\s*)("[^"]*"?|'[^']*'?|\[[^\]]*\]?|[^\s,{}[\]"']+)/gi;

/** In a word; a password is what stands before an `@`. */
function hideInUrls(word: string): string {
  const parts = word.split('@');
  const last = parts.pop() ?? '';
  return [...parts.map((part) => part.replace(/(:\/\/[^:/]*:)(.+)$/s, hide)), last].join('@');
}

const hide = (_all: string, before: string, value: string): string => before + stars(value);

/** A star for each character; references, punctuation and templates say nothing secret. */
function stars(value: string): string {
  if (value.includes('{{')) return value;
  return value.replaceAll(/\$\{[^}]*\}?|[^\s,[\]{}"']/g, (part) => (part.startsWith('$') ? part : '*'));
}

/**
 * Where in the text the character at `index` of a scalar's value stands. However a scalar is written (plain, quoted,
 * as a block, over several lines), its value has the same characters in the same order as its text, white space apart:
 * so these are counted, with an escape sequence as one.
 */
export function scalarOffset(text: string, scalar: Scalar, index: number): number {
  const value = String(scalar.value);
  const onSpace = index >= value.length || /\s/.test(value.charAt(index));
  const before = value.slice(0, index).replaceAll(/\s/g, '').length;
  let seen = 0;
  let last = scalar.range?.[0] ?? 0;
  for (const unit of visible(text, scalar)) {
    if (onSpace && seen + unit.width >= before && before > 0) return unit.end + trailing(value, index);
    if (seen + unit.width > before) return unit.start;
    seen += unit.width;
    last = unit.end;
  }
  return last;
}

/** How many spaces of the same line stand between the last visible character and `index`. */
function trailing(value: string, index: number): number {
  const end = Math.min(index, value.length);
  let start = end;
  while (start > 0 && ' \t'.includes(value.charAt(start - 1))) start -= 1;
  return end - start;
}

interface Unit {
  readonly start: number;
  readonly end: number;
  /** How many characters of the value it stands for. */
  readonly width: number;
}

function* visible(text: string, scalar: Scalar): Generator<Unit> {
  const [start, end] = scalar.range ?? [0, 0];
  const escape = escapes[scalar.type ?? ''];
  let at = contentStart(text, scalar.type, start);
  const stop = escape ? end - 1 : end;
  while (at < stop) {
    const sequence = escape?.exec(text.slice(at, at + 10))?.[0];
    const length = sequence?.length ?? 1;
    const width = sequence ? visibleWidth(sequence) : /\s/.test(text.charAt(at)) ? 0 : 1;
    if (width > 0) yield { start: at, end: at + length, width };
    at += length;
  }
}

function contentStart(text: string, type: Scalar['type'], start: number): number {
  if (type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED') return text.indexOf('\n', start) + 1;
  return type === 'QUOTE_SINGLE' || type === 'QUOTE_DOUBLE' ? start + 1 : start;
}

const escapes: Record<string, RegExp> = {
  QUOTE_SINGLE: /^''/,
  QUOTE_DOUBLE: /^\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|\r\n|[^])/,
};

/** An escape sequence for white space, or for a line break in the text only, does not count. */
function visibleWidth(sequence: string): number {
  const code = /^\\[xuU]([\da-f]+)$/i.exec(sequence)?.[1];
  if (code === undefined) return /^\\[ntrvf_ LP\t\r\n]/.test(sequence) ? 0 : 1;
  const character = String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0x10_ff_ff));
  return /\s/.test(character) ? 0 : character.length;
}
