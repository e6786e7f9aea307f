import { hash } from 'node:crypto';
import { eventSpec, type Json } from '../../model.ts';
import { strings } from '../../support/json.ts';
import { masker } from '../../support/masker.ts';
import { type Mask, namesSecret, secretsOfUrl } from '../../support/secret.ts';
import { didYouMean } from '../../support/text.ts';
import { readSecretFile } from './files.ts';
import { error, type Fault, warning } from './problems.ts';
import { isWithinCredential } from '../secrets/names.ts';
import { placeOf } from '../secrets/places.ts';

/** A `${…}` in a string of the config. */
export interface Reference {
  /** The reference as written, braces included. */
  readonly text: string;
  readonly from: 'environment' | 'file';
  /** The variable's name or the file's path. */
  readonly name: string;
  /** The text after `:-`, for a variable that is unset or empty. */
  readonly fallback: string | null;
}

export type TextPiece = { readonly index: number; readonly length: number } & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reference'; readonly reference: Reference }
  | { readonly kind: 'fault'; readonly message: string }
);

const formsExpected = 'expected ${NAME}, ${NAME:-default} or ${file:/path}; $${ stands for ${ itself';

/** Whether a credential looks like the path of a file. A relative path is known by its ending. */
export const looksLikePath = (text: string): boolean => /^(?:\.{0,2}\/[\w./-]+|[\w./ -]+\.json)$/.test(text);

/** Splits a string into literal text and references. `$${` is the literal text `${`. */
export function partsOf(text: string): TextPiece[] {
  const parts: TextPiece[] = [];
  let end = 0;
  const take = (upTo: number): void => {
    if (upTo > end) parts.push({ kind: 'text', index: end, length: upTo - end, text: text.slice(end, upTo) });
    end = upTo;
  };
  for (const { 0: begin, index } of text.matchAll(/\$?\$\{/g)) {
    if (index < end) continue;
    take(index);
    const part: TextPiece =
      begin === '$${' ? { kind: 'text', index, length: 3, text: '${' } : referenceAt(text, index);
    parts.push(part);
    end += part.length;
  }
  take(text.length);
  return parts;
}

export const hasReference = (text: string): boolean =>
  text.includes('${') && partsOf(text).some(({ kind }) => kind !== 'text');

function referenceAt(text: string, index: number): TextPiece {
  const close = text.indexOf('}', index);
  const whole = text.slice(index, close === -1 ? undefined : close + 1);
  const place = { index, length: whole.length };
  if (close === -1) return { kind: 'fault', ...place, message: `"\${" without "}": ${formsExpected}` };
  const [, file, name, fallback = null] =
    /^(?:file:(.+)|([A-Za-z_]\w*)(?::-(.*))?)$/s.exec(whole.slice(2, -1)) ?? [];
  if (file !== undefined) {
    const reference: Reference = { text: whole, from: 'file', name: file.trim(), fallback: null };
    return { kind: 'reference', ...place, reference };
  }
  if (name !== undefined)
    return { kind: 'reference', ...place, reference: { text: whole, from: 'environment', name, fallback } };
  const meant = referenceMeant(whole.slice(2, -1));
  const expected = meant === null ? formsExpected : `write ${meant}`;
  return { kind: 'fault', ...place, message: `"${whole}" is not a reference: ${expected}` };
}

/** What is meant by what others write in `${…}`: `${{ secrets.NAME }}`, `${env:NAME}`, or a `$` before a template, or for one. */
function referenceMeant(inner: string): string | null {
  const [, name] = /^\{?\s*(?:(?:env|process\.env|secrets|vars)[.:])?([A-Za-z_]\w*)\s*$/.exec(inner) ?? [];
  if (name !== undefined) return `\${${name}}`;
  const isVariable = /^(?:event|test|rule|links|notice)\.[\w.]+$/.test(inner);
  if (isVariable) return `{{ ${inner} }}`;
  return inner.startsWith('{') ? `{{ ${inner.slice(1).trim()} }}` : null;
}

const ofShells = String.raw`\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]*%`;
/** A variable as shells and Windows write it. In lower case it may be a password. */
export const shellVariable = new RegExp(`^(?:${ofShells})$`);
/** A variable as shells, Windows and templates write it. */
export const otherReference = new RegExp(
  String.raw`^(?:\{[A-Z_][A-Z0-9_]*\}|${ofShells}|\{\{\s*[A-Z_][A-Z0-9_.]*\s*\}\})$`,
  'i',
);

/** Where the values of `${…}` come from. */
export interface Surroundings {
  readonly env: { readonly [name: string]: string | undefined };
  /** Reads a file for `${file:…}`; throws as node:fs does. */
  readonly readFile?: (path: string) => string;
  /** Whether the environment is that of a running process, which keeps it until a restart. */
  readonly isRunning?: boolean;
}

export type Resolution = { readonly value: string } | { readonly missing: string };

/** The references, and faulty ones, in all strings of a value, with the paths of the strings. */
export function* referencesIn(value: Json) {
  for (const { text, path } of strings(value, [], mentionsReference))
    for (const part of partsOf(text)) if (part.kind !== 'text') yield { part, path };
}

/** Faults of the references in a config or a part of it. A missing value under `lenientKeys` is only a warning. */
export function* referenceFaults(
  value: Json,
  values: Values,
  lenientKeys: readonly string[] = [],
): Generator<Fault> {
  for (const { part, path } of referencesIn(value)) {
    const isFault = part.kind === 'fault';
    const resolved = isFault ? { missing: part.message } : values.resolve(part.reference);
    const severity = !isFault && lenientKeys.includes(String(path[0])) ? warning : error;
    const inside = { index: part.index, length: part.length };
    if ('missing' in resolved) yield { ...severity(path, resolved.missing), inside };
  }
}

/** Resolves a config's references, and learns its secrets. */
export class Values {
  readonly #env: Surroundings['env'];
  readonly #isRunning: boolean;
  readonly #readFile: (path: string) => string;
  readonly #files = new Map<string, Resolution>();
  readonly #marks = new Map<string, string>();
  readonly #secrets = new Set<string>();
  #isFileMissing = false;
  #mask: Mask = (text) => text;

  constructor({ env, readFile = readSecretFile, isRunning = false }: Surroundings) {
    this.#env = env;
    this.#isRunning = isRunning;
    this.#readFile = readFile;
  }

  /** Replaces secrets by `***`. Can be passed on before learnSecrets, until which it masks nothing. */
  readonly mask: Mask = (text) => this.#mask(text);

  /** Reads a file as `readFile` of the surroundings does, and keeps its mark. */
  readonly readFile = (path: string): string => {
    const { content, mark } = readMarked(path, this.#readFile);
    this.#marks.set(path, mark);
    if (content instanceof Error) throw content;
    return content;
  };

  /** The marks of the files that were read, or that could not be. */
  get files(): FileMarks {
    return this.#marks;
  }

  resolve(reference: Reference): Resolution {
    const resolved = reference.from === 'file' ? this.#file(reference.name) : this.#variable(reference);
    if ('value' in resolved) this.#keep(resolved.value, reference);
    else this.#isFileMissing ||= reference.from === 'file';
    return resolved;
  }

  /** The value of a reference, or the reference as written if it has none. */
  readonly orAsWritten: Resolve = (reference) => {
    const resolved = this.resolve(reference);
    return 'value' in resolved ? resolved.value : reference.text;
  };

  /** Whether a referenced file could not be read. It may be there in a moment. */
  get isFileMissing(): boolean {
    return this.#isFileMissing;
  }

  /** Collects the secrets that `mask` hides. `config`: as written. `found`: secrets among the values as read. */
  learnSecrets(config: Json, found: readonly { readonly value: string }[]): void {
    for (const { text, path } of strings(config, [], mentionsReference)) {
      const { isSecret } = placeOf(path);
      for (const part of partsOf(text)) {
        // A reference under a secret's key, such as `token`, or in the value of one, gives a secret, whatever the variable's name is.
        const isNamed = part.kind === 'reference' && isWithinCredential(text.slice(0, part.index));
        if (!isSecret && !isNamed) continue;
        const resolved = part.kind === 'reference' ? this.resolve(part.reference) : part;
        if ('value' in resolved) this.#secrets.add(resolved.value);
      }
    }
    const all = [...this.#secrets, ...found.map(({ value }) => value)];
    const secrets = all.filter((text) => !hasReference(text));
    // A secret may be the path of a file that has the real one.
    const inFiles = secrets.filter(looksLikePath).map((path) => this.#file(path));
    this.#mask = masker([...secrets, ...inFiles.flatMap((read) => ('value' in read ? [read.value] : []))]);
  }

  /** Files and variables named like credentials hold secrets. In other values, parts of a URL may be secret. */
  #keep(value: string, { from, name }: Reference): void {
    const isSecret = from === 'file' || namesSecret(name);
    for (const secret of isSecret ? [value] : secretsOfUrl(value)) this.#secrets.add(secret);
  }

  #variable({ name, fallback }: Reference): Resolution {
    // The name comes from the config, and every object has a `constructor`.
    const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined;
    if (value !== undefined && value !== '') return { value };
    if (fallback !== null) return { value: fallback };
    const [state, may] = value === '' ? ['empty', 'empty'] : ['not set', 'unset'];
    const set = Object.keys(this.#env).filter((other) => this.#env[other] !== '');
    const isOfEvent = Object.hasOwn(eventSpec, name);
    const hint = isOfEvent ? `; did you mean {{ event.${name} }}?` : didYouMean(name, set);
    const meant = value === '' ? '' : hint;
    const orElse = `or write \${${name}:-} if it may be ${may}`;
    // The variable may be set in a shell, where `check` finds nothing wrong.
    const missing = this.#isRunning
      ? `was ${state} when the connector started${meant ? `${meant} Otherwise` : ';'} set it there and restart (make a container anew), ${orElse}`
      : `is ${state}${meant || `; set it, as in \`export ${name}=…\`, ${orElse}`}`;
    return { missing: `the environment variable ${name} ${missing}` };
  }

  /** Each file is read once, so that all uses agree. Neither a byte order mark nor one line break at the end is part of the value. */
  #file(path: string): Resolution {
    return this.#files.getOrInsertComputed(path, () => {
      try {
        const value = this.readFile(path).replace(/^\uFEFF|\r?\n$/g, '');
        return value === '' ? { missing: `the file ${path} is empty` } : { value };
      } catch (cause) {
        return { missing: `the file ${path} cannot be read: ${whyUnread(cause)}` };
      }
    });
  }
}

/** Marks of files by path: hashes, or `unreadable`. A changed one means that a config has to be read again. */
export type FileMarks = ReadonlyMap<string, string>;

/** The paths of the files in both maps whose marks differ. */
export const changedOf = (before: FileMarks, after: FileMarks): string[] =>
  [...after.keys()].filter((path) => before.has(path) && before.get(path) !== after.get(path));

export const markOfFile = (path: string): string => readMarked(path, readSecretFile).mark;

/** A file's text with its mark, by which two reads are compared without keeping the text. */
function readMarked(path: string, read: (path: string) => string): { content: string | Error; mark: string } {
  try {
    const content = read(path);
    return { content, mark: hash('sha256', content) };
  } catch (cause) {
    return { content: cause as Error, mark: 'unreadable' };
  }
}

export function whyUnread(cause: unknown): string {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  return reasons[code] ?? message;
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

/** Replaces the references in all strings of a value. A key whose references make it empty is left out, as by `${NAME:-}`. */
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

/** Whether a value has a reference. Most of a large config has none, and need not be copied. */
export function mentionsReference(value: Json): boolean {
  if (typeof value === 'string') return value.includes('${');
  return typeof value === 'object' && value !== null && Object.values(value).some(mentionsReference);
}

/** A brace that never starts a tag, whatever follows it. */
const bareBrace = '{% raw %}{{% endraw %}';

/** Ways to write a value as literal text, by what it stands in. In a tag outside of quotes there is none. */
const literals = {
  text: (value: string) => value.replaceAll('{', bareBrace),
  raw: (value: string) => value.replaceAll('{', '{{% endraw %}{% raw %}'),
  quoted: (value: string) =>
    value.replaceAll(/[^\w .,:;/@#&+-]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  tag: (value: string) => value,
};

/** Matches Liquid's tags. A named group matches if the tag, raw block or quoted text is not closed. */
const inLiquid = (() => {
  const quoted = String.raw`"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'`;
  const until = (end: string) =>
    String.raw`(?:${quoted}|(?!${end})[^"'])*(?:${end}|(?<tag>$)|(?<quoted>["'].*$))`;
  const raw = String.raw`\{%-?\s*raw\s*-?%\}(?:.*?\{%-?\s*endraw\s*-?%\}|(?<raw>.*$))`;
  return new RegExp(String.raw`${raw}|\{\{${until(String.raw`\}\}`)}|\{%${until(String.raw`%\}`)}`, 'gs');
})();

/** The parts of a template, each with what it stands in: text, a raw block, quotes or a tag. */
function* placedParts(template: string) {
  let before = '';
  for (const part of partsOf(template)) {
    const open = Object.entries([...before.matchAll(inLiquid)].at(-1)?.groups ?? {});
    const mode = open.find(([, rest]) => rest !== undefined)?.[0] ?? 'text';
    yield { part, mode: mode as keyof typeof literals };
    before += part.kind === 'text' ? part.text : '_';
  }
}

/** Replaces a template's references by their values as literal text, which Liquid never parses. */
export function interpolateTemplate(template: string, resolve: Resolve): string {
  if (!template.includes('${')) return template;
  let result = '';
  for (const { part, mode } of placedParts(template)) {
    if (part.kind === 'text') result += part.text;
    if (part.kind !== 'reference') continue;
    // A brace of the template and one of the value must not form a tag.
    if (mode === 'text' && result.endsWith('{')) result = result.slice(0, -1) + bareBrace;
    result += literals[mode](resolve(part.reference));
  }
  return result;
}

/** The first reference inside a tag but outside quotes, where it cannot be literal text. */
export function bareReference(template: string): { index: number; length: number } | null {
  if (!template.includes('${')) return null;
  for (const { part, mode } of placedParts(template))
    if (part.kind === 'reference' && mode === 'tag') return part;
  return null;
}
