import type { Json } from '../../model.ts';
import { strings } from '../../support/json.ts';
import { masker } from '../../support/masker.ts';
import { type Mask, namesSecret, secretsOfUrl } from '../../support/secret.ts';
import { didYouMean } from '../../support/text.ts';
import { readSecretFile } from './files.ts';
import { placeOf } from './hidden.ts';

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

/** Whether a credential is given as the path of its file; a relative one is known by its ending. */
export const looksLikePath = (text: string): boolean => /^(?:\.{0,2}\/[\w./-]+|[\w./ -]+\.json)$/.test(text);

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

/** The values of a config's references, and its secrets. */
export class Values {
  readonly #env: Surroundings['env'];
  readonly #readFile: (path: string) => string;
  readonly #files = new Map<string, Resolved>();
  readonly #secrets = new Set<string>();
  #isFileMissing = false;
  #mask: Mask = (text) => text;

  constructor({ env, readFile = readSecretFile }: Surroundings) {
    this.#env = env;
    this.#readFile = readFile;
  }

  /** Replaces secrets by `***`. Masks nothing before learnSecrets, but can be passed on earlier. */
  readonly mask: Mask = (text) => this.#mask(text);

  resolve(reference: Reference): Resolved {
    const resolved = reference.from === 'file' ? this.#file(reference.name) : this.#variable(reference);
    if ('value' in resolved) this.#keep(resolved.value, reference);
    else this.#isFileMissing ||= reference.from === 'file';
    return resolved;
  }

  /** True if a referenced file could not be read. It may be there in a moment. */
  get isFileMissing(): boolean {
    return this.#isFileMissing;
  }

  /** `config`: as written. `found`: the secrets among its values once read. */
  learnSecrets(config: Json, found: readonly { readonly value: string }[] = []): void {
    this.#keepNamed(config);
    const secrets = [...this.#secrets, ...found.map(({ value }) => value)].filter(
      (text) => !hasReference(text),
    );
    // A secret may be the path of a file, with the real secret in it.
    const inFiles = secrets.filter(looksLikePath).map((path) => this.#file(path));
    this.#mask = masker([...secrets, ...inFiles.flatMap((read) => ('value' in read ? [read.value] : []))]);
  }

  /** A reference under a secret's key, such as `token`, gives a secret, whatever the variable's name is. */
  #keepNamed(config: Json): void {
    for (const { text, path } of strings(config, [], mentionsReference)) {
      if (!placeOf(path).isSecret) continue;
      for (const part of partsOf(text)) {
        const resolved = part.kind === 'reference' ? this.resolve(part.reference) : part;
        if ('value' in resolved) this.#secrets.add(resolved.value);
      }
    }
  }

  /** Files and variables named like credentials hold secrets. In other values, parts of a URL may be secret. */
  #keep(value: string, { from, name }: Reference): void {
    const isSecret = from === 'file' || namesSecret(name);
    for (const secret of isSecret ? [value] : secretsOfUrl(value)) this.#secrets.add(secret);
  }

  #variable({ name, fallback }: Reference): Resolved {
    // The name comes from the config, and every object has a `constructor`.
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

  /** Each file is read once, so that all uses agree. One line break at the end is not part of the value. */
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

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
};

export type Resolve = (reference: Reference) => string;

/** A string with its references replaced by their values. */
export function interpolateText(text: string, resolve: Resolve): string {
  if (!text.includes('${')) return text;
  return partsOf(text)
    .map((part) =>
      part.kind === 'text' ? part.text : part.kind === 'reference' ? resolve(part.reference) : '',
    )
    .join('');
}

/**
 * A value with the references in all its strings replaced. A key whose value has references and becomes empty is left
 * out: that is what `${NAME:-}` is for.
 */
export function interpolate(value: Json, resolve: Resolve, text = interpolateText): Json {
  if (typeof value === 'string') return text(value, resolve);
  if (typeof value !== 'object' || value === null || !mentionsReference(value)) return value;
  if (Array.isArray(value))
    return (value as readonly Json[]).map((entry) => interpolate(entry, resolve, text));
  const entries = Object.entries(value)
    .map(([key, raw]) => [key, raw, interpolate(raw, resolve, text)] as const)
    .filter(([, raw, result]) => !(result === '' && typeof raw === 'string' && hasReference(raw)));
  return Object.fromEntries(entries.map(([key, , result]) => [key, result]));
}

/** Most of a large config has no references, and need not be copied. */
export function mentionsReference(value: Json): boolean {
  if (typeof value === 'string') return value.includes('${');
  return typeof value === 'object' && value !== null && Object.values(value).some(mentionsReference);
}

/** Where in a Liquid template a piece of text is. */
type Mode = 'text' | 'raw' | 'output' | 'tag' | 'quoted';

/** A brace that never starts a tag, whatever follows it. */
const bareBrace = '{% raw %}{{% endraw %}';

/**
 * A template with its references replaced by their values as literal text, which Liquid never parses: as it is outside
 * tags, and escaped inside quoted strings of tags.
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
      // A brace of the template and one of the value must not form a tag.
      result =
        (scanner.mode === 'text' && result.endsWith('{') ? result.slice(0, -1) + bareBrace : result) +
        literal;
    }
  }
  return result;
}

/** The first reference inside a tag but outside quotes, where it cannot be literal text. */
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

/** Reads a template piece by piece, and knows the mode at the start of the next piece. */
class Scanner {
  mode: Mode = 'text';
  #quote = '';
  /** The mode after the quoted string. */
  #around: Mode = 'output';

  read(text: string): void {
    for (let at = 0; at < text.length;) at += this.#step(text.slice(at));
  }

  /** Reads one token at the start of `rest`, and returns its length. */
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
