import { LineCounter } from 'yaml';
import type { Problem } from '../config.ts';

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
