import { LineCounter } from 'yaml';
import type { Path } from '../support/json.ts';
import { secretsOfUrl } from '../support/secret.ts';
import { count } from '../support/text.ts';
import { ConfigError, type Problem } from './config.ts';
import { hashHint, hashWordLength, type Range } from './yaml-faults.ts';
import { type NodePlace, scalarOffset, type Tree } from './yaml.ts';

/** Something wrong at a path of the config. problemOf finds the place in the file. */
export interface Fault {
  readonly severity: 'error' | 'warning';
  readonly path: Path;
  /** What to point at: the value or its key. */
  readonly at: 'value' | 'key';
  readonly message: string;
  /** The wrong part of the string at the path. */
  readonly inside?: { readonly index: number; readonly length: number };
}

export type Report = (fault: Fault) => void;

export const error = (path: Path, message: string, at: Fault['at'] = 'value'): Fault => ({
  severity: 'error',
  path,
  at,
  message,
});

export const warning = (path: Path, message: string, at: Fault['at'] = 'value'): Fault => ({
  severity: 'warning',
  path,
  at,
  message,
});

/** A problem as text: its place, the message, the line with a caret. */
export function formatProblem(file: string, problem: Problem): string {
  const { severity, line, column, message, excerpt } = problem;
  const shown = excerpt === '' ? '' : `\n${indent(excerpt)}`;
  return `${file}:${line}:${column}: ${severity}: ${message}${shown}`;
}

/** An error with all problems, in the order of the file. */
export function configError(
  file: string,
  problems: readonly Problem[],
  { mask = (text: string) => text, mayPass = false } = {},
): ConfigError {
  const masked = inOrder(problems).map((problem) => maskProblem(problem, mask));
  return new ConfigError(file, masked, reportText(file, masked), mayPass);
}

export function reportText(file: string, problems: readonly Problem[]): string {
  return [...problems.map((problem) => formatProblem(file, problem)), countLine(problems)].join('\n\n');
}

/** For a problem of the file as a whole. */
export function wholeFileError(file: string, message: string, mayPass: boolean): ConfigError {
  return configError(file, [{ severity: 'error', line: 1, column: 1, message, excerpt: '' }], { mayPass });
}

/** Sorted by place, without duplicates: an alias repeats the same mistake. */
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

/** A fault with its place in the file. */
export function problemOf(fault: Fault, tree: Tree, source: Source): Problem {
  const node = tree.placeOf(fault.path);
  if (fault.at === 'key' && isNothing(node) && node.key && isBare(source.text, node.key[1]))
    return source.problem(
      fault.severity,
      ...node.key,
      fault.message.replace(/^(unknown key "[^]*?"); expected .*/s, `$1: ${commaHint}`),
    );
  const hidden = hiddenLength(fault, node, source.text);
  if (hidden === 0) {
    const hint = isNothing(node) && node.key && isCommentedOut(source.text, node.key[1]) ? commentHint : '';
    return source.problem(fault.severity, ...rangeOf(fault, node, source.text), fault.message + hint);
  }
  const [start] = node.range;
  return source.problem(fault.severity, start, start + hidden, fault.message + hashHint);
}

/** The length of a comment that is meant as the value. */
function hiddenLength({ path, at }: Fault, node: NodePlace, text: string): number {
  return path.length > 0 && at === 'value' && isNothing(node) ? hashWordLength(text, node.range[0]) : 0;
}

const commaHint =
  'a comma ends the value before it; text with a comma has to be in quotes, and several values in [ ]';

/** Whether no ":" follows a key, as within { } none has to. */
const isBare = (text: string, end: number): boolean => /^["']?\s*[,}]/.test(text.slice(end, end + 100));

const commentHint = '; what stands under it is commented out: remove the # before each line';

/** Whether nothing but comments follows a key, before a line that begins with anything else. */
const isCommentedOut = (text: string, end: number): boolean =>
  /^:[ \t]*\r?\n(?:[ \t]*\r?\n)*[ \t]*#/.test(text.slice(end, end + 2000));

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

/** A config file's text. Turns offsets into places. */
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

  /** The line, and a caret under the wrong part. A long line, as in JSON, is cut around it. */
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

/** Hides credentials that are written in the file. The line keeps its length, so that the caret fits. */
export function hideCredentials(line: string): string {
  return line.replaceAll(underCredentialKey, hide).replaceAll(word, hideInUrls).replaceAll(word, hideRandom);
}

/** A text for a message, without passwords in URLs. */
export const withoutPasswords = (text: string): string => text.replaceAll(word, hideInUrls);

const word = /[^\s"']+/g;

/** Bounded, because a line may be a whole file of JSON: nothing may scan to its end repeatedly. */
const underCredentialKey =
  /((?:token|secret|passw|credential|auth(?!or)|private_?key|api_?key)\w{0,99}["']?\s*:\s*)("[^"]*"?|'[^']*'?|\[[^\]]*\]?|[^\s,{}[\]"']+)/gi;

/** A password is before an `@`. */
function hideInUrls(text: string): string {
  const parts = text.split('@');
  const last = parts.pop() ?? '';
  return [...parts.map((part) => part.replace(/(:\/\/[^:/]*:)(.+)$/s, hide)), last].join('@');
}

/** Whoever knows the address of a hook may call it. */
function hideRandom(text: string): string {
  if (!text.includes('://') || text.length > longestUrl) return text;
  const parts = secretsOfUrl(text).filter(({ length }) => length >= shortestSecret);
  return parts.reduce((shown, part) => shown.replaceAll(part, stars), text);
}

const longestUrl = 2000;
const shortestSecret = 4;

const hide = (_all: string, before: string, value: string): string => before + stars(value);

/** A star for each character. References, punctuation and templates are not secret. */
function stars(value: string): string {
  if (value.includes('{{')) return value;
  return value.replaceAll(/\$\{[^}]*\}?|[^\s,[\]{}"']/g, (part) => (part.startsWith('$') ? part : '*'));
}
