import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import {
  type Alias,
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isPair,
  isScalar,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLMap,
  type YAMLParseError,
  type YAMLSeq,
} from 'yaml';
import type { Json } from '../model.ts';
import type { Source } from './problems.ts';

export interface Parsed {
  /** Null where the text is too broken for its values to mean anything. */
  readonly tree: Tree | null;
  readonly faults: readonly TextFault[];
}

/** Faults that leave the shape of the rest as it was meant, so that the rest can be checked as well. */
const harmless = new Set<ErrorCode>([
  'TAB_AS_INDENT',
  'BAD_DQ_ESCAPE',
  'BAD_SCALAR_START',
  'BLOCK_AS_IMPLICIT_KEY',
  'MULTILINE_IMPLICIT_KEY',
  'MULTIPLE_DOCS',
]);

/** YAML's messages are written for people who know its grammar. */
const wordings: readonly (readonly [RegExp, string])[] = [
  [/^Tabs are not allowed/, 'a tab is used as indentation; YAML wants spaces'],
  [/^Nested mappings are not allowed/, 'a second ": " on one line; put text that holds ": " in quotes'],
  [
    /^Source contains multiple documents/,
    'a second YAML document begins here; a config is one document, so remove the "---"',
  ],
  [/^Flow sequence .* end with a \]/, 'a list begun with "[" has no "]" before this line'],
  [/^Flow map .* end with a \}/, 'a map begun with "{" has no "}" before this line'],
  [/^All (mapping|sequence) items must start/, 'indented otherwise than what it stands beside'],
  [/^Missing closing (.)quote/, 'the text that begins with $1 has no $1 at its end'],
  [/^Alias cannot be an empty string/, 'text that begins with * has to be in quotes'],
  [/^Plain value cannot start with .* character (.)/, 'text that begins with $1 has to be in quotes'],
  [/^Invalid escape sequence (..)/, 'unknown escape $1; in double quotes a backslash is written twice'],
  [/^Implicit keys need to be on a single line/, 'a key stands on one line, with ":" after it'],
  [/^Implicit map keys need to be followed/, 'expected ":" and a value after this key'],
  [/^A block sequence may not be used/, 'this list stands where a key is expected'],
  [/^Sequence item without - indicator/, 'every entry of this list needs a "-" before it'],
  [
    /^Block collections are not allowed/,
    'inside of { } or [ ] this needs brackets of its own; or is a "}" or "]" missing?',
  ],
  [/^Missing , /, 'a comma is missing before this'],
  [
    /^Comments must be separated/,
    'a comment needs a space before its "#"; a value with "#" in it needs quotes',
  ],
  [/^Unexpected .* token in YAML stream/, 'unexpected here; is something before it closed too early?'],
  [/^Unexpected .* at node end/, 'the value ended before this; are quotes missing?'],
];

/** Text to values with their places. YAML's own faults come one to a line: further ones of a line follow from it. */
export function parse(source: Source): Parsed {
  const control = unprintable(source.text);
  if (control) return { tree: null, faults: [control] };
  const document = documentOf(source.text);
  if ('message' in document) return { tree: null, faults: [document] };
  const faults = firstOfEachLine(document.errors, source).map((error) => toFault(error, source.text));
  if (document.errors.some(({ code }) => !harmless.has(code))) return { tree: null, faults };
  const tree = buildTree(document, source);
  return { tree: tree.isWhole ? tree : null, faults: [...faults, ...tree.faults] };
}

/** Text that is nested too deeply exhausts the parser's stack; mostly it says so itself. */
function documentOf(text: string): Document.Parsed | TextFault {
  const message = 'nested too deeply to be read';
  try {
    const document = parseDocument(text, { schema: 'core', prettyErrors: false, uniqueKeys: false });
    const exhausted = document.errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
    return exhausted ? { range: exhausted.pos, message } : document;
  } catch (error) {
    if (error instanceof RangeError) return { range: [0, 1], message };
    throw error;
  }
}

/** YAML forbids control characters; a NUL usually means that the file is no text at all. */
function unprintable(text: string): TextFault | null {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  const found = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/.exec(text);
  if (!found) return null;
  const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return {
    range: [found.index, found.index + 1],
    message: `the character U+${code} cannot stand in a YAML file`,
  };
}

function firstOfEachLine(errors: readonly YAMLParseError[], source: Source): YAMLParseError[] {
  const lines = new Set<number>();
  return errors
    .filter((error, index) => index === 0 || !isConsequence(error))
    .toSorted((a, b) => a.pos[0] - b.pos[0])
    .filter(({ pos }) => {
      const { line } = source.lines.linePos(pos[0]);
      const isFirst = !lines.has(line);
      lines.add(line);
      return isFirst;
    });
}

/** Once a value has ended too early, YAML reports each line after it. */
const isConsequence = ({ message }: YAMLParseError): boolean => /token in YAML stream/.test(message);

function toFault({ pos, message }: YAMLParseError, text: string): TextFault {
  const wording = wordings.find(([known]) => known.test(message));
  const worded = wording ? message.replace(new RegExp(`${wording[0].source}.*`, 's'), wording[1]) : message;
  const hint = /^Flow .* end with a/.test(message) && hasHashWordBefore(text, pos[0]) ? hashHint : '';
  return { range: pos, message: braceHint(text, pos[0]) ?? worded + hint };
}

/** The commonest slip: `${NAME}` or `{{ … }}` without quotes, where a brace begins a map. */
function braceHint(text: string, offset: number): string | null {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset + 2);
  if (/\$\{?[^"']?$/.test(line) && line.includes('${')) return '${…} has to be in quotes inside of { }';
  return /(:|-|,|\[)\s+\{\{/.test(line) ? templateHint : null;
}

/** Offsets into the text: the first character, and the one after the last. */
export type Range = readonly [start: number, end: number];

/** Where each value of the config stands in the text. */
export interface TreeNode {
  readonly range: Range;
  /** Where its key stands; null for the top and for a list's entries. */
  readonly key: Range | null;
  readonly scalar: Scalar | null;
  readonly children: ReadonlyMap<string | number, TreeNode>;
}

export interface TextFault {
  readonly range: Range;
  readonly message: string;
}

export interface Tree {
  readonly value: Json;
  readonly root: TreeNode;
  readonly faults: readonly TextFault[];
  /** False where something had to be left out. */
  readonly isWhole: boolean;
}

interface Built {
  readonly value: Json;
  readonly node: TreeNode;
}

const deepest = 100;
/** What aliases may blow a file up to; ten thousand rules have about 200,000. */
const mostNodes = 500_000;

/** Values and places of a parsed document, with aliases resolved and doubled keys reported. */
function buildTree(document: Document, source: Source): Tree {
  const builder = new Builder(source);
  const { value, node } = builder.build(document.contents, null, [0, 0], 0);
  return { value, root: node, faults: builder.faults, isWhole: builder.isWhole };
}

class Builder {
  readonly faults: TextFault[] = [];
  isWhole = true;
  /** The newest node of each anchor, which is the one that an alias after it means. */
  readonly #anchors = new Map<string, Node>();
  /** The nodes that are being built: an alias to one of them would never end. */
  readonly #open = new Set<Node>();
  readonly #source: Source;
  #nodes = 0;
  /** The outermost alias that is being resolved: what makes a file too large stands there. */
  #through: Range | null = null;

  constructor(source: Source) {
    this.#source = source;
  }

  build(node: Node | null, key: Range | null, empty: Range, depth: number): Built {
    const range = node?.range ? ([node.range[0], node.range[1]] as const) : empty;
    const nothing: Built = { value: null, node: { range, key, scalar: null, children: new Map() } };
    if (node === null || !this.#mayGoOn(range, depth)) return nothing;
    if (isAlias(node)) return this.#alias(node, nothing, depth);
    if (node.anchor !== undefined && this.#through === null) this.#anchors.set(node.anchor, node);
    this.#checkTag(node, range);
    if (isScalar(node)) return { value: this.#scalar(node, range), node: { ...nothing.node, scalar: node } };
    this.#open.add(node);
    const built = isMap(node)
      ? this.#map(node, nothing, depth)
      : this.#seq(node as YAMLSeq<Node>, nothing, depth);
    this.#open.delete(node);
    return built;
  }

  #mayGoOn(range: Range, depth: number): boolean {
    if (!this.isWhole) return false;
    this.#nodes += 1;
    if (this.#nodes > mostNodes) this.#giveUp(range, 'the aliases make this file too large');
    else if (depth > deepest) this.#giveUp(range, `nested deeper than ${deepest} levels`);
    return this.isWhole;
  }

  /** Faults inside of what an alias names are shown where the anchor is; the alias keeps its own key. */
  #alias(alias: Alias, nothing: Built, depth: number): Built {
    const target = this.#anchors.get(alias.source);
    if (!target || this.#open.has(target)) {
      const why = target ? 'is inside of what it names' : `has no anchor "&${alias.source}" before it`;
      this.#fault(nothing.node.range, `the alias "*${alias.source}" ${why}`);
      return nothing;
    }
    const outer = this.#through;
    this.#through ??= nothing.node.range;
    const built = this.build(target, nothing.node.key, nothing.node.range, depth + 1);
    this.#through = outer;
    return built;
  }

  #checkTag(node: Node, range: Range): void {
    const { tag } = node as { tag?: string };
    if (tag !== undefined && !/^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/.test(tag))
      this.#fault(range, `the tag ${tag.replace('tag:yaml.org,2002:', '!!')} has no meaning here`);
  }

  #scalar(node: Scalar, range: Range): Json {
    const value = node.value;
    if (typeof value === 'number' && !Number.isFinite(value)) this.#fault(range, 'expected a finite number');
    return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string'
      ? value
      : null;
  }

  #seq(seq: YAMLSeq<Node>, nothing: Built, depth: number): Built {
    const children = new Map<number, TreeNode>();
    const value = seq.items.map((item, index) => {
      // The pairs of !!omap and !!pairs, tags that are refused.
      const entry = isPair(item) ? null : item;
      const built = this.build(entry, null, nothing.node.range, depth + 1);
      children.set(index, built.node);
      return built.value;
    });
    return { value, node: { ...nothing.node, children } };
  }

  #map(map: YAMLMap, nothing: Built, depth: number): Built {
    const children = new Map<string, TreeNode>();
    const value: Record<string, Json> = {};
    for (const pair of map.items as Pair<Node, Node | null>[]) {
      const range: Range = pair.key.range ? [pair.key.range[0], pair.key.range[1]] : nothing.node.range;
      const name = this.#keyName(pair.key, range);
      if (name === null || this.#isTwice(children.get(name), name, range)) continue;
      const built = this.build(pair.value, range, [range[1], range[1]], depth + 1);
      children.set(name, built.node);
      value[name] = built.value;
    }
    return { value, node: { ...nothing.node, children } };
  }

  #keyName(key: Node, range: Range): string | null {
    const scalar = isAlias(key) ? this.#anchors.get(key.source) : key;
    // A number keeps its spelling, so that 1.0 and 1 are two keys.
    const name = isScalar(scalar) && scalar.value !== null ? (scalar.source ?? '') : null;
    const fault = isMap(scalar) ? templateHint : keyFault(name);
    if (fault !== null) this.#fault(range, fault);
    return fault === null ? name : null;
  }

  #isTwice(first: TreeNode | undefined, name: string, range: Range): boolean {
    if (!first?.key) return false;
    const { line } = this.#source.lines.linePos(first.key[0]);
    this.#fault(range, `the key "${name}" is here twice; the first is on line ${line}`);
    return true;
  }

  #giveUp(range: Range, message: string): void {
    this.#fault(this.#through ?? range, message);
    this.isWhole = false;
  }

  #fault(range: Range, message: string): void {
    this.faults.push({ range, message });
  }
}

/** `{{ … }}` is a map with a map as its key, which nobody means. */
const templateHint = 'a value that begins with {{ has to be in quotes';

function keyFault(name: string | null): string | null {
  if (name === null) return 'expected a key: text or a number';
  if (name === '__proto__') return '"__proto__" cannot be a key';
  if (name === '<<')
    return '"<<" does not merge maps here; name the shared value itself, as in "retry: *retry"';
  return name.includes('${') ? '${…} works in values, not in keys' : null;
}

/** Said where a comment seems to be meant as a value. What it holds is not repeated: it may be a credential. */
export const hashHint =
  "; what follows # is a comment in YAML: text with # in it has to be in quotes, as in '#hiring'";

/** How long the word is that begins with `#` here, as the names of channels do; 0 where none does. */
export const hashWordLength = (text: string, at: number): number =>
  /^#[^\s#,\]}]+/.exec(text.slice(at, at + 80))?.[0].length ?? 0;

/** Whether such a word stands at a value's place on the last line before `end`. */
function hasHashWordBefore(text: string, end: number): boolean {
  const line = text.slice(0, end).trimEnd().split('\n').at(-1) ?? '';
  return /[:,[]\s+#[^\s#]/.test(line);
}

const largestFileBytes = 16 * 1024 ** 2;
const largestSecretBytes = 1024 ** 2;

const refusals: Record<string, string> = {
  ENOENT: 'there is no such file; --config FILE or CONNECTOR_CONFIG names another one',
  EACCES: 'the file may not be read by this user',
  EPERM: 'the file may not be read by this user',
  EISDIR: 'this is a folder; the config is one YAML file',
  ENOTDIR: 'there is no such file: a part of its path is not a folder',
};

/** A file's text, or why it has none. */
export type ReadText = { readonly text: string } | { readonly fault: string };

/** `onlyRegular`: for a process that goes on, which a pipe would block and a device would fill. */
export async function readText(file: string, { onlyRegular = false } = {}): Promise<ReadText> {
  try {
    await using handle = await open(file, onlyRegular ? withoutBlocking : 'r');
    const stat = await handle.stat();
    if (onlyRegular && !stat.isFile() && !stat.isDirectory())
      return { fault: `${noRegularFile}; save it as one` };
    const chunks = await Array.fromAsync(
      handle.createReadStream({ end: largestFileBytes, autoClose: false }),
    );
    return decode(Buffer.concat(chunks as Buffer[]));
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    return { fault: refusals[code] ?? `the file cannot be read: ${message}` };
  }
}

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

const noRegularFile = 'it is no regular file';

/** Opening a pipe waits for somebody to write into it, otherwise. */
const withoutBlocking = constants.O_RDONLY | constants.O_NONBLOCK;

function decode(bytes: Buffer): ReadText {
  if (bytes.length > largestFileBytes) return { fault: 'the file is larger than 16 MB' };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { fault: 'the file is not UTF-8 text; save it as UTF-8' };
  }
}
