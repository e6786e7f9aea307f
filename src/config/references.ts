import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { Json } from '../model.ts';
import { type Path, strings } from '../support/json.ts';
import { namesSecret, secretsOfUrl } from '../support/secret.ts';
import { didYouMean } from '../support/text.ts';
import { looksLikePath } from './mask.ts';

/** A `${…}` in a string of the config. */
export interface Reference {
  /** As written, braces included. */
  readonly text: string;
  readonly from: 'environment' | 'file';
  /** The variable's name or the file's path. */
  readonly name: string;
  /** What `:-` gives for a variable that is unset or empty. */
  readonly fallback: string | null;
}

export type Part = { readonly index: number; readonly length: number } & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reference'; readonly reference: Reference }
  | { readonly kind: 'fault'; readonly message: string }
);

const formsExpected = 'expected ${NAME}, ${NAME:-default} or ${file:/path}; $${ stands for ${ itself';

/** A string's literal text and references, in order. `$${` is the literal text `${`. */
export function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  const take = (upTo: number): void => {
    if (upTo > end) parts.push({ kind: 'text', index: end, length: upTo - end, text: text.slice(end, upTo) });
  };
  for (const match of text.matchAll(/\$?\$\{/g)) {
    if (match.index < end) continue;
    take(match.index);
    const part = match[0] === '$${' ? literalAt(match.index) : referenceAt(text, match.index);
    parts.push(part);
    end = part.index + part.length;
  }
  take(text.length);
  return parts;
}

export const hasReference = (text: string): boolean =>
  text.includes('${') && partsOf(text).some(({ kind }) => kind !== 'text');

const literalAt = (index: number): Part => ({ kind: 'text', index, length: 3, text: '${' });

function referenceAt(text: string, index: number): Part {
  const close = text.indexOf('}', index);
  if (close === -1)
    return {
      kind: 'fault',
      index,
      length: text.length - index,
      message: `"\${" without "}": ${formsExpected}`,
    };
  const whole = text.slice(index, close + 1);
  const length = whole.length;
  const parsed = parseReference(whole);
  if (parsed) return { kind: 'reference', index, length, reference: parsed };
  return { kind: 'fault', index, length, message: `"${whole}" is not a reference: ${formsExpected}` };
}

function parseReference(whole: string): Reference | null {
  const inner = whole.slice(2, -1);
  const file = /^file:(.+)$/s.exec(inner);
  if (file?.[1]) return { text: whole, from: 'file', name: file[1].trim(), fallback: null };
  const [, name, fallback] = /^([A-Za-z_]\w*)(?::-(.*))?$/s.exec(inner) ?? [];
  return name === undefined ? null : { text: whole, from: 'environment', name, fallback: fallback ?? null };
}

/** Where the values of `${…}` come from. */
export interface Surroundings {
  readonly env: { readonly [name: string]: string | undefined };
  /** Reads a file for `${file:…}`; throws as node:fs does. */
  readonly readFile?: (path: string) => string;
}

export type Resolved = { readonly value: string } | { readonly missing: string };

/** Gives references their values and remembers which of these are secret. */
export class Values {
  readonly #secrets = new Set<string>();
  readonly #env: Surroundings['env'];
  readonly #readFile: (path: string) => string;
  readonly #files = new Map<string, Resolved>();
  #isFileMissing = false;

  constructor({ env, readFile = readSecretFile }: Surroundings) {
    this.#env = env;
    this.#readFile = readFile;
  }

  resolve(reference: Reference): Resolved {
    const resolved = reference.from === 'file' ? this.#file(reference.name) : this.#variable(reference);
    if ('value' in resolved) this.#keep(resolved.value, reference);
    else this.#isFileMissing ||= reference.from === 'file';
    return resolved;
  }

  /** True if a file that a reference names could not be read: it may be there in a moment. */
  get isFileMissing(): boolean {
    return this.#isFileMissing;
  }

  /** These secrets and those that references gave; also what is in a file that a secret is the path of. */
  secretsAmong(values: readonly string[]): string[] {
    const secrets = [...this.#secrets, ...values].filter((text) => !hasReference(text));
    const inFiles = secrets.filter(looksLikePath).map((path) => this.#file(path));
    return [...secrets, ...inFiles.flatMap((read) => ('value' in read ? [read.value] : []))];
  }

  /** Keeps what a value takes from outside as secrets where it stands under a name of one, whatever the variable is called. */
  keepNamed(value: Json): void {
    for (const { text, path } of strings(value)) {
      if (!text.includes('${') || !isSecretPlace(path)) continue;
      for (const part of partsOf(text)) {
        const resolved = part.kind === 'reference' ? this.resolve(part.reference) : part;
        if (part.kind === 'reference' && 'value' in resolved) this.#secrets.add(resolved.value);
      }
    }
  }

  /** What comes from a file, or from a variable that is named like a credential, is secret, and so is what in a URL is. */
  #keep(value: string, { from, name }: Reference): void {
    const isSecret = from === 'file' || namesSecret(name);
    for (const secret of isSecret ? [value] : secretsOfUrl(value)) this.#secrets.add(secret);
  }

  #variable({ name, fallback }: Reference): Resolved {
    // What is asked for comes from the file, and every object has a `constructor`.
    const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined;
    if (value !== undefined && value !== '') return { value };
    if (fallback !== null) return { value: fallback };
    const advice = `; set it, as in \`export ${name}=…\`, or write \${${name}:-} if it may be`;
    if (value === '') return { missing: `the environment variable ${name} is empty${advice} empty` };
    const instead = this.#similar(name) || `${advice} unset`;
    return { missing: `the environment variable ${name} is not set${instead}` };
  }

  #similar(name: string): string {
    return didYouMean(
      name,
      Object.keys(this.#env).filter((other) => this.#env[other] !== ''),
    );
  }

  /** Read once for each config, so that all of its uses agree. One line break at the end is not part of the value. */
  #file(path: string): Resolved {
    const known = this.#files.get(path) ?? this.#read(path);
    this.#files.set(path, known);
    return known;
  }

  #read(path: string): Resolved {
    try {
      const value = this.#readFile(path).replace(/\r?\n$/, '');
      return value === '' ? { missing: `the file ${path} is empty` } : { value };
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      return { missing: `the file ${path} cannot be read: ${reasons[code] ?? message}` };
    }
  }
}

/** A row's keys are the names of columns. */
function isSecretPlace(path: Path): boolean {
  const keys = path.filter((step) => typeof step === 'string');
  return !keys.includes('row') && (keys.at(-2) === 'headers' || namesSecret(keys.at(-1) ?? ''));
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
};

export type Resolve = (reference: Reference) => string;

/** A string with its references replaced by what they stand for. */
export function interpolateText(text: string, resolve: Resolve): string {
  if (!text.includes('${')) return text;
  return partsOf(text)
    .map((part) =>
      part.kind === 'text' ? part.text : part.kind === 'reference' ? resolve(part.reference) : '',
    )
    .join('');
}

/**
 * A value with the references of all its strings replaced. A key whose value is only references and comes out empty
 * counts as not given: that is what `${NAME:-}` is for.
 */
export function interpolate(value: Json, resolve: Resolve, text = interpolateText): Json {
  if (typeof value === 'string') return text(value, resolve);
  if (Array.isArray(value))
    return (value as readonly Json[]).map((entry) => interpolate(entry, resolve, text));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .map(([key, raw]) => [key, raw, interpolate(raw, resolve, text)] as const)
    .filter(([, raw, result]) => !(result === '' && typeof raw === 'string' && hasReference(raw)));
  return Object.fromEntries(entries.map(([key, , result]) => [key, result]));
}

const largestSecretBytes = 1024 ** 2;

/** What `${file:…}` names, as small as secrets are. Throws where it is none, like a pipe, which could block. */
export function readSecretFile(path: string): string {
  const fd = openSync(path, withoutBlocking);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() && !stat.isDirectory()) throw new Error(noRegularFile);
    if (stat.size > largestSecretBytes) throw new Error('it is larger than 1 MB');
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** The contents of files that were read before, so that nothing changes between a check and what was checked. */
export const readFrom = (files: ReadonlyMap<string, string>) => (path: string) => {
  const content = files.get(path);
  if (content === undefined) throw new Error('it could not be read');
  return content;
};

export const noRegularFile = 'it is not a regular file';

/** A pipe would otherwise block until somebody writes into it. */
export const withoutBlocking = constants.O_RDONLY | constants.O_NONBLOCK;

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
