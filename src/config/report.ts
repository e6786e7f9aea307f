import { count } from '../count.ts';
import type { Problem } from './config.ts';
import { ConfigError } from './config.ts';

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
