import { partsOf } from './references.ts';
import type { Resolve } from './values.ts';

/** Where in a Liquid template a piece of text stands. */
type Mode = 'text' | 'raw' | 'output' | 'tag' | 'quoted';

/** A brace that Liquid leaves alone, wherever it meets the next one. */
const bareBrace = '{% raw %}{{% endraw %}';

/**
 * A template with its references replaced by their values as literal text, which Liquid never parses: outside of tags
 * as it is, inside of a quoted string of a tag escaped.
 */
export function interpolateTemplate(template: string, resolve: Resolve): string {
  if (!template.includes('${')) return template;
  const scanner = new Scanner();
  let result = '';
  for (const part of partsOf(template)) {
    if (part.kind === 'text') {
      scanner.read(part.text);
      result += part.text;
    } else if (part.kind === 'reference') {
      const literal = literals[scanner.mode](resolve(part.reference));
      // A brace of the template and one of the value must not become a tag together.
      result =
        (scanner.mode === 'text' && result.endsWith('{') ? result.slice(0, -1) + bareBrace : result) +
        literal;
    }
  }
  return result;
}

/** The index of the first reference that stands inside of a tag without quotes, where it could not be literal text. */
export function bareReference(template: string): { index: number; length: number } | null {
  if (!template.includes('${')) return null;
  const scanner = new Scanner();
  for (const part of partsOf(template)) {
    if (part.kind === 'text') scanner.read(part.text);
    if (part.kind === 'reference' && (scanner.mode === 'output' || scanner.mode === 'tag')) return part;
  }
  return null;
}

const literals: Record<Mode, (value: string) => string> = {
  text: (value) => value.replaceAll('{', bareBrace),
  raw: (value) => value.replaceAll('{', '{{% endraw %}{% raw %}'),
  quoted: (value) =>
    value.replaceAll(/[^\w .,:;/@#&+-]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  output: (value) => value,
  tag: (value) => value,
};

/** Follows a template piece by piece and knows in which mode the next piece begins. */
class Scanner {
  mode: Mode = 'text';
  #quote = '';
  /** The mode that a quoted string ends in. */
  #around: Mode = 'output';

  read(text: string): void {
    for (let at = 0; at < text.length;) at += this.#step(text.slice(at));
  }

  /** Reads one token at the start of `rest` and says how long it is. */
  #step(rest: string): number {
    const token = tokens[this.mode].exec(rest)?.[0];
    if (token === undefined) return this.mode === 'quoted' ? this.#inQuotes(rest) : 1;
    if (this.mode === 'text')
      this.mode = /^\{%-?\s*raw\b/.test(token) ? 'raw' : token === '{{' ? 'output' : 'tag';
    else if (/^['"]/.test(token)) this.#open(token);
    else this.mode = 'text';
    return token.length;
  }

  #open(quote: string): void {
    this.#around = this.mode;
    this.#quote = quote;
    this.mode = 'quoted';
  }

  #inQuotes(rest: string): number {
    if (rest.startsWith('\\')) return 2;
    if (rest.startsWith(this.#quote)) this.mode = this.#around;
    return 1;
  }
}

const tokens: Record<Mode, RegExp> = {
  text: /^(\{%-?\s*raw\s*-?%\}|\{\{|\{%)/,
  raw: /^\{%-?\s*endraw\s*-?%\}/,
  output: /^(\}\}|['"])/,
  tag: /^(%\}|['"])/,
  quoted: /^(?!)/,
};
