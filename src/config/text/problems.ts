import { LineCounter } from 'yaml';
import { type Path, valueAt } from '../../support/json.ts';
import { masker } from '../../support/masker.ts';
import type { Mask } from '../../support/secret.ts';
import { count, printableLines } from '../../support/text.ts';
import type { Range } from './lines.ts';
import { changedKey } from './odd-signs.ts';
import { hashHint, hashWordLength } from './yaml-faults.ts';
import { hideInLines, hideScalars, starRuns } from '../secrets/hidden.ts';
import { type YamlResult, parseYaml, scalarOffset, type Tree } from './yaml.ts';

/** A place in the config file, or in the file of a table. Lines and columns count from 1. */
export interface Position {
  /** Of a table; without it, the place is in the config. */
  readonly file?: string;
  readonly line: number;
  readonly column: number;
  /** Two lines: the line, and a caret under the place. Credentials in the file are replaced by stars. */
  readonly excerpt: string;
}

/** A fault in the config file, at its place. */
export interface Problem extends Position {
  readonly severity: 'error' | 'warning';
  /** What is wrong, what was expected, and perhaps a suggestion. */
  readonly message: string;
}

/** Everything that is wrong with a config file. `message` is the whole report, ready to print. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string;
  readonly problems: readonly Problem[];
  /** Whether the cause may pass without a change of the file, as where another file cannot be read at the moment. */
  readonly mayPass: boolean;

  constructor(file: string, problems: readonly Problem[], report: string, mayPass: boolean) {
    super(report);
    this.file = file;
    this.problems = problems;
    this.mayPass = mayPass;
  }
}

/** A fault at a path of the config. problemOf finds its place in the file. */
export interface Fault {
  readonly severity: 'error' | 'warning';
  readonly path: Path;
  /** What to point at: the value or its key. */
  readonly at: 'value' | 'key';
  readonly message: string;
  /** The wrong part of the string at the path. */
  readonly inside?: { readonly index: number; readonly length: number };
  /** Its place if that is not in the config itself. */
  readonly elsewhere?: Position;
}

export type Report = (fault: Fault) => void;

const faultOf =
  (severity: Fault['severity']) =>
  (path: Path, message: string, at: Fault['at'] = 'value'): Fault => ({ severity, path, at, message });
export const error = faultOf('error');
export const warning = faultOf('warning');

/** A problem as text: its place, the message, the line with a caret. */
export function formatProblem(file: string, problem: Problem): string {
  const { severity, line, column, message, excerpt } = problem;
  const where = problem.file ?? file;
  const shown = excerpt === '' ? '' : `\n${excerpt.replaceAll(/^/gm, '  ')}`;
  return `${where}:${line}:${column}: ${severity}: ${message}${shown}`;
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

export function bySeverity(problems: readonly Problem[]): { errors: Problem[]; warnings: Problem[] } {
  const { error: errors = [], warning: warnings = [] } = Object.groupBy(problems, (one) => one.severity);
  return { errors, warnings };
}

export function reportText(file: string, problems: readonly Problem[]): string {
  const { errors, warnings } = bySeverity(problems);
  const many = warnings.length > 0 ? `, ${count(warnings.length, 'warning')}` : '';
  const last = count(errors.length, 'error') + many;
  return [...problems.map((problem) => formatProblem(file, problem)), last].join('\n\n');
}

/** An error about the file as a whole. */
export function wholeFileError(file: string, message: string, mayPass: boolean): ConfigError {
  return configError(file, [{ severity: 'error', line: 1, column: 1, message, excerpt: '' }], { mayPass });
}

/** Problems sorted by place, without duplicates. Those of a table come first, as others follow from them; an alias repeats a fault. */
export function inOrder(problems: readonly Problem[]): Problem[] {
  const keyOf = ({ file, line, column, message }: Problem) => JSON.stringify([file, line, column, message]);
  const unique = new Map(problems.map((problem) => [keyOf(problem), problem]));
  const fileOf = (problem: Problem): string => problem.file ?? '';
  return [...unique.values()].toSorted(
    (a, b) => fileOf(b).localeCompare(fileOf(a)) || a.line - b.line || a.column - b.column,
  );
}

export function maskProblem(problem: Problem, mask: (text: string) => string): Problem {
  return { ...problem, message: printableLines(mask(problem.message)), excerpt: mask(problem.excerpt) };
}

/** Gives a fault its place in the file. */
export function problemOf(fault: Fault, tree: Tree, source: Source, mask: Mask): Problem {
  const { severity, path, at, inside, elsewhere } = fault;
  if (elsewhere) return { severity, message: fault.message, ...elsewhere };
  // A cell of the catalog's table has no place in the file.
  const [section, test, column] = path;
  const isInTable =
    section === 'catalog' && column !== undefined && valueAt(tree.value, ['catalog', 'file']) !== undefined;
  const message = isInTable ? `test ${test}, ${column}: ${fault.message}` : fault.message;
  const { text } = source;
  const { range, key, scalar } = tree.placeOf(path);
  const [start, end] = range;
  const problem = (where: Range, said: string) => source.problem(severity, where, said, mask);
  // A map with a changed key is read as a text, on the line below its own key or in a list.
  const isPlain = severity === 'error' && at === 'value' && !inside && scalar?.type === 'PLAIN';
  const startsLine = key === null || text.slice(key[1], start).includes('\n');
  const changed = isPlain && startsLine && changedKey(text.slice(start, end));
  if (changed) return problem([start + changed.range[0], start + changed.range[1]], changed.message);
  if (start === end) {
    const after = key ? text.slice(key[1], key[1] + 2000) : '';
    // A key without ":", as is possible within { }.
    if (at === 'key' && key && /^["']?\s*[,}]/.test(after.slice(0, 100)))
      return problem(
        key,
        message.replace(
          /^(unknown key "[^]*?"); expected .*/s,
          `$1: ${/\{\s*$/.test(text.slice(0, key[0])) ? colonHint : commaHint}`,
        ),
      );
    // The length of a comment that was meant as the value.
    const hidden = path.length > 0 && at === 'value' ? hashWordLength(text, start) : 0;
    if (hidden > 0) return problem([start, start + hidden], message + hashHint);
    // Only comments follow the key.
    const isCommentedOut = /^:[ \t]*\r?\n(?:[ \t]*\r?\n)*[ \t]*#/.test(after);
    return problem(
      path.length === 0 ? [start, start + 1] : (key ?? range),
      message + (isCommentedOut ? commentHint : ''),
    );
  }
  if (inside && scalar) {
    const from = scalarOffset(text, scalar, inside.index);
    return problem([from, from + inside.length], message);
  }
  if (path.length === 0) return problem([start, start + 1], message);
  return problem((at === 'key' ? key : null) ?? range, message);
}

const colonHint = 'a ":" and a space belong between a key and its value';

export const commaHint =
  'a comma ends the value before it; text with a comma has to be in quotes, and several values in [ ]';

const commentHint = '; what stands under it is commented out: remove the # before each line';

/** The most characters of a line that are shown. */
export const widestLine = 160;

/** A line behind its number, and carets under a part of it. Tabs before the part stay, so that the carets stand under it. */
export function underlined(line: number, shown: string, from: number, length = 1): string {
  const number = `${line} | `;
  const before = shown.slice(0, from).replaceAll(/\S/g, ' ');
  const carets = '^'.repeat(Math.max(1, Math.min(length, shown.length - from)));
  return `${number}${shown}\n${' '.repeat(number.length)}${before}${carets}`;
}

/** The most lines of a value that a message may quote. */
const mostQuoted = 50;

/** A config file's text. Turns offsets into places, and shows lines without the credentials that are written there. */
export class Source {
  readonly text: string;
  readonly lines = new LineCounter();
  #parsed: YamlResult | null = null;
  readonly #shown = new Map<Mask, readonly string[]>();

  constructor(text: string) {
    this.text = text;
    this.lines.addNewLine(0);
    for (const { index } of text.matchAll(/\n/g)) this.lines.addNewLine(index + 1);
  }

  get parsed(): YamlResult {
    return (this.#parsed ??= parseYaml(this));
  }

  problem(severity: Problem['severity'], [start, end]: Range, message: string, mask: Mask): Problem {
    const { line, col: column } = this.lines.linePos(start);
    const last = Math.min(this.lines.linePos(end).line, line + mostQuoted);
    const told = masker(this.#hiddenIn(line, last, mask))(message);
    return { severity, line, column, message: told, excerpt: this.#excerpt(line, column, end - start, mask) };
  }

  /** The texts that these lines hide, so that no message quotes them. */
  #hiddenIn(first: number, last: number, mask: Mask): string[] {
    const { lineStarts } = this.lines;
    const written = this.text.slice(lineStarts[first - 1], lineStarts[last]).split('\n');
    return this.#hidden(mask)
      .slice(first - 1, last)
      .flatMap((shown, index) =>
        Array.from(shown.matchAll(starRuns), ({ 0: stars, index: at }) =>
          written[index]!.slice(at, at + stars.length),
        )
          // YAML takes a sign in front, with its word, as its own, and a message may quote that word or the rest.
          .flatMap((part) => [part, part.replaceAll(/^(?:[*&!]|\$\{)|\}$/g, ''), part.split(' ', 1)[0]!])
          .filter((part) => !/^[* ]*$/.test(part)),
      );
  }

  /** All lines with credentials hidden. They keep their lengths. */
  #hidden(mask: Mask): readonly string[] {
    return this.#shown.getOrInsertComputed(mask, () => {
      const hidden = hideScalars(this.text, this.parsed.scalars(), mask);
      return hideInLines(hidden.split('\n').map((line) => line.replace(/\r$/, '')));
    });
  }

  /** All lines as they may be shown; none where the text cannot be parsed. */
  shown(mask: Mask): readonly string[] {
    return this.parsed.isParsed ? this.#hidden(mask) : [];
  }

  /** The line, and a caret under the wrong part. A long line, as in JSON, is cut around it. */
  #excerpt(line: number, column: number, length: number, mask: Mask): string {
    const whole = this.shown(mask)[line - 1];
    if (whole === undefined) return '';
    const cut = Math.max(0, Math.min(column - widestLine / 2, whole.length - widestLine));
    return underlined(line, whole.slice(cut, cut + widestLine), column - 1 - cut, length);
  }
}
