import type { AnyConnector } from '../connector.ts';
import type { Json, JsonMap } from '../model.ts';
import { compileFields, type TemplateFault } from '../templates/template.ts';
import { error, type Fault, strings, valueAt, warning } from './faults.ts';
import { partsOf, type Resolve } from './references.ts';

/** What an action's templates may name. */
export type Vocabulary = Parameters<typeof compileFields>[2];

type Media = AnyConnector['templates'];

/**
 * What is wrong with the templates of an action as written. There the places are exact; in what is compiled in the
 * end, values stand in the place of references. Paths lead from the action.
 */
export const templateFaults = (action: JsonMap, media: Media, words: Vocabulary): Fault[] =>
  faultsOf(action, media, words, ({ path, message }) => error(path, message));

/**
 * Where a digest's message says something of its first event in which the others may differ. `words` are those of the
 * digest, with only what all of its events agree in. For templates that have no faults.
 */
export const firstEventOnly = (action: JsonMap, media: Media, words: Vocabulary): Fault[] =>
  faultsOf(action, media, words, ({ path }) => warning(path, ofFirstEvent));

const ofFirstEvent =
  'this is of the first event of the digest, and others may differ; go through `events`, or name it in `by`';

/** References inside of tags without quotes, where they could not be literal text. */
export function bareReferences(action: JsonMap, media: Media): Fault[] {
  return [...strings(templatesOf(action, media))].flatMap(({ text, path }) => {
    const inside = bareReference(text);
    return inside ? [{ ...error(path, 'inside of a tag, ${…} has to be in quotes'), inside }] : [];
  });
}

function templatesOf(action: JsonMap, media: Media): JsonMap {
  return Object.fromEntries(Object.entries(action).filter(([key]) => key in media));
}

function faultsOf(
  action: JsonMap,
  media: Media,
  words: Vocabulary,
  toFault: (fault: TemplateFault) => Fault,
): Fault[] {
  const templates = templatesOf(action, media);
  const placed = (fault: TemplateFault): Fault => {
    const index = indexOf(fault, valueAt(templates, fault.path));
    return { ...toFault(fault), inside: { index, length: 1 } };
  };
  return compileFields(templates, media, words).faults.map(placed);
}

function indexOf({ line, column }: TemplateFault, written: Json | undefined): number {
  const linesBefore = typeof written === 'string' ? written.split('\n').slice(0, line - 1) : [];
  return linesBefore.reduce((length, text) => length + text.length + 1, column - 1);
}

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
