import {
  type Alias,
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { Json } from '../../model.ts';
import type { Path } from '../../support/json.ts';
import { lazily } from '../../support/text.ts';
import { scalarsOf, type WrittenScalar } from '../secrets/places.ts';
import type { Range, TextFault } from './lines.ts';
import { changedKey, foreignLines, hex } from './odd-signs.ts';
import { templateHint, textFaults } from './yaml-faults.ts';

/** Where a value is in the text. */
export interface NodePlace {
  readonly range: Range;
  /** The place of its key; null for the top and for entries of a list. */
  readonly key: Range | null;
  readonly scalar: ScalarPlace | null;
}

interface ScalarPlace {
  readonly value: unknown;
  readonly type?: Scalar.Type | undefined;
  readonly range?: readonly [start: number, end: number, ...more: number[]] | null | undefined;
}

export interface YamlResult {
  /** Null where the text is too broken for its values to mean anything. */
  readonly tree: Tree | null;
  readonly faults: readonly TextFault[];
  /** Whether its lines may be shown. In a text that cannot be parsed, credentials cannot be found. */
  readonly isParsed: boolean;
  /** The scalars in order; none unless the whole text could be parsed. */
  readonly scalars: () => readonly WrittenScalar[];
}

interface YamlText {
  readonly text: string;
  readonly lines: LineCounter;
}

/** Parses text to values with their places. */
export function parseYaml({ text, lines }: YamlText): YamlResult {
  const refused = (faults: readonly TextFault[]) => ({
    tree: null,
    faults,
    isParsed: false,
    scalars: () => [],
  });
  const control = unprintable.exec(text);
  if (control) {
    const message = `the character U+${hex(control[0])} is not allowed in a YAML file`;
    return refused([{ range: [control.index, control.index + 1], message }]);
  }
  const foreign = foreignLines(text);
  if (foreign.length > 0) return refused(foreign);
  const document = documentOf(text);
  if ('message' in document) return refused([document]);
  const { errors } = document;
  const faults = textFaults(errors, text, lines);
  if (errors.some(({ code }) => !harmless.has(code))) return refused(faults);
  const tree = new Tree(document, lines);
  if (!tree.isWhole) return refused([...faults, ...tree.faults]);
  const scalars = lazily(() => scalarsOf(document));
  return { tree, faults: [...faults, ...tree.faults], isParsed: errors.length === 0, scalars };
}

/** Parses text. Deep nesting exhausts the parser's stack, which it usually reports itself. */
function documentOf(text: string): Document.Parsed | TextFault {
  const message = 'nested too deeply to be read';
  try {
    // Tree finds duplicate keys. The library compares every two keys of a map, which is slow for a large catalog.
    const document = parseDocument(text, { schema: 'core', prettyErrors: false, uniqueKeys: false });
    const exhausted = document.errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
    return exhausted ? { range: exhausted.pos, message } : document;
  } catch (error) {
    if (error instanceof RangeError) return { range: [0, 1], message };
    throw error;
  }
}

/** YAML forbids control characters. A NUL usually means that the file is not text. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const unprintable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/;

type KeyedPair = Pair<Node, Node | null>;

const deepest = 100;
/** Limits how much aliases can multiply a file. Ten thousand rules have about 200,000 nodes. */
const mostNodes = 500_000;

/** A config's values and their places. Resolves aliases, and reports duplicate keys. */
export class Tree {
  readonly value: Json;
  readonly faults: TextFault[] = [];
  /** The keys in { } that come after a comma and have no ":": probably the rest of a text with a comma. */
  readonly afterCommas: Range[] = [];
  /** False if something had to be left out. */
  isWhole = true;
  readonly #root: Node | null;
  readonly #lines: LineCounter;
  /** The last node with each anchor: an alias means the last one before it. */
  readonly #anchors = new Map<string, Node>();
  readonly #targets = new Map<Alias, Node>();
  readonly #pairs = new Map<YAMLMap, ReadonlyMap<string, KeyedPair>>();
  /** The entries of lists. */
  readonly #entries = new Set<Node>();
  /** The nodes around the current one. An alias to one of them would never end. */
  readonly #open = new Set<Node>();
  #nodes = 0;
  /** The outermost alias being resolved. If the file becomes too large, this is where to point. */
  #through: Range | null = null;

  constructor(document: Document, lines: LineCounter) {
    this.#root = document.contents;
    this.#lines = lines;
    this.value = this.#read(document.contents, [0, 0], 0);
  }

  /** The place of the value at a path, or of the deepest existing one on the way to it. */
  placeOf(path: Path): NodePlace {
    let node = this.#target(this.#root);
    let place: NodePlace = { range: rangeOf(node, [0, 0]), key: null, scalar: null };
    for (const part of path) {
      const pair = isMap(node) ? this.#pairs.get(node)?.get(String(part)) : undefined;
      const isEntry = isSeq(node) && typeof part === 'number' && part < node.items.length;
      if (!pair && !isEntry) break;
      const key = pair ? rangeOf(pair.key, place.range) : null;
      node = this.#target(pair ? pair.value : nodeOf((node as YAMLSeq<Node>).items[part as number]));
      place = { range: rangeOf(node, key ? [key[1], key[1]] : place.range), key, scalar: null };
    }
    return isScalar(node) ? { ...place, scalar: node } : place;
  }

  /** Faults in an aliased value point to its anchor, but the alias keeps its own key. */
  #target(node: Node | null): Node | null {
    return isAlias(node) ? (this.#targets.get(node) ?? node) : node;
  }

  /** `empty` is the place of a missing value. */
  #read(node: Node | null, empty: Range, depth: number): Json {
    const range = rangeOf(node, empty);
    if (node === null || !this.#mayGoOn(range, depth)) return null;
    if (isAlias(node)) return this.#readAlias(node, range, depth);
    if (node.anchor !== undefined && this.#through === null) this.#anchors.set(node.anchor, node);
    this.#checkTag(node, range);
    if (isScalar(node) && node.anchor !== undefined && node.source === '')
      this.#fault(range, 'text that begins with & has to be in quotes');
    if (isScalar(node)) return this.#readScalar(node, range);
    this.#open.add(node);
    const value = isMap(node)
      ? this.#readMap(node as YAMLMap<Node, Node | null>, range, depth)
      : (node as YAMLSeq<Node>).items.map((item) => this.#readEntry(nodeOf(item), range, depth + 1));
    this.#open.delete(node);
    return value;
  }

  #readEntry(item: Node | null, empty: Range, depth: number): Json {
    if (item !== null) this.#entries.add(item);
    return this.#read(item, empty, depth);
  }

  #mayGoOn(range: Range, depth: number): boolean {
    if (!this.isWhole) return false;
    this.#nodes += 1;
    const isLarge = this.#nodes > mostNodes;
    if (!isLarge && depth <= deepest) return true;
    const message = isLarge ? 'the aliases make this file too large' : `nested deeper than ${deepest} levels`;
    this.#fault(this.#through ?? range, message);
    this.isWhole = false;
    return false;
  }

  #readAlias(alias: Alias, range: Range, depth: number): Json {
    const target = this.#targets.get(alias) ?? this.#anchors.get(alias.source);
    if (!target || this.#open.has(target)) {
      const why = target
        ? 'is inside of what it names'
        : `has no anchor "&${alias.source}" before it; text that begins with * has to be in quotes`;
      this.#fault(range, `the alias "*${alias.source}" ${why}`);
      return null;
    }
    this.#targets.set(alias, target);
    const outer = this.#through;
    this.#through ??= range;
    const value = this.#read(target, range, depth + 1);
    this.#through = outer;
    return value;
  }

  #checkTag({ tag }: Node, range: Range): void {
    if (tag !== undefined && !/^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/.test(tag))
      this.#fault(
        range,
        `the tag ${tag.replace('tag:yaml.org,2002:', '!!')} has no meaning here; text that begins with ! has to be in quotes`,
      );
  }

  #readScalar({ value }: Scalar, range: Range): Json {
    if (typeof value === 'number' && !Number.isFinite(value)) this.#fault(range, 'expected a finite number');
    return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string'
      ? value
      : null;
  }

  #readMap(map: YAMLMap<Node, Node | null>, empty: Range, depth: number): Json {
    const pairs = new Map<string, KeyedPair>();
    const value: Record<string, Json> = {};
    for (const pair of map.items) {
      const range = rangeOf(pair.key, empty);
      const name = this.#keyName(pair.key, range);
      if (name === null) continue;
      const first = pairs.get(name);
      if (first) {
        const { line } = this.#lines.linePos(rangeOf(first.key, range)[0]);
        const isNext = this.#entries.has(map) && first === map.items[0];
        const message = `the key "${name}" is here twice; the first is on line ${line}${isNext ? nextEntry : ''}`;
        this.faults.push({ range, message, standsAlone: true });
        continue;
      }
      if (map.flow === true && pair.value === null && pair !== map.items[0]) this.afterCommas.push(range);
      pairs.set(name, pair);
      value[name] = this.#read(pair.value, [range[1], range[1]], depth + 1);
    }
    this.#pairs.set(map, pairs);
    return value;
  }

  #keyName(key: Node, range: Range): string | null {
    const scalar = isAlias(key) ? this.#anchors.get(key.source) : key;
    // A number keeps its spelling, so that 1.0 and 1 are two keys.
    const name = isScalar(scalar) && scalar.value !== null ? (scalar.source ?? '') : null;
    // In quotes it is meant as it stands.
    const changed = isScalar(key) && key.type === 'PLAIN' ? changedKey(key.source ?? '') : null;
    if (changed !== null) {
      // It may belong to another map, and its value be a part of it.
      this.isWhole = false;
      this.#fault([range[0] + changed.range[0], range[0] + changed.range[1]], changed.message);
      return null;
    }
    const fault = isMap(scalar) ? templateHint : keyFault(name);
    if (fault !== null) this.#fault(range, fault);
    return fault === null ? name : null;
  }

  #fault(range: Range, message: string): void {
    this.faults.push({ range, message });
  }
}

/** The advice for the key that the entry of a list began with, and that comes again. */
const nextEntry = '; if the next entry of the list begins here, put "- " before it';

const rangeOf = (node: Node | null, empty: Range): Range =>
  node?.range ? [node.range[0], node.range[1]] : empty;

/** An entry of a list. Entries of !!omap and !!pairs are pairs, and both tags are refused. */
const nodeOf = (item: unknown): Node | null => (isPair(item) ? null : (item as Node | null));

function keyFault(name: string | null): string | null {
  if (name === null) return 'expected a key: text or a number';
  if (name === '__proto__') return '"__proto__" cannot be a key';
  if (name === '<<')
    return '"<<" does not merge maps here; name the shared value itself, as in "retry: *retry"';
  return name.includes('${') ? '${…} works in values, not in keys' : null;
}

/** Faults that do not change the structure of the rest, so the rest can be checked too. */
const harmless = new Set<ErrorCode>([
  'BAD_DQ_ESCAPE',
  'BAD_SCALAR_START',
  'MULTILINE_IMPLICIT_KEY',
  'MULTIPLE_DOCS',
]);

/**
 * The offset in the text of the character at `index` of a scalar's value. Found by the word there, or the one before it;
 * where neither is written as it is read, the offset of the scalar.
 */
export function scalarOffset(
  text: string,
  { value, type = 'PLAIN', range }: ScalarPlace,
  index: number,
): number {
  const [start, end] = range ?? [0, 0];
  const from = type.startsWith('BLOCK') ? text.indexOf('\n', start) + 1 : start;
  const whole = String(value);
  const [word = ''] = /^[^\s"'\\]*/.exec(whole.slice(index))!;
  const [, last = '', gap = ''] = /([^\s"'\\]+)([\s"'\\]*)$/.exec(whole.slice(0, index)) ?? [];
  const sought = word === '' ? last : word;
  const [at, after] = word === '' ? [index - gap.length - last.length, last.length + gap.length] : [index, 0];
  const earlier = whole.slice(0, at).split(sought).length;
  const parts = text.slice(from, end).split(sought);
  if (sought === '' || parts.length <= earlier) return start;
  return from + parts.slice(0, earlier).join(sought).length + after;
}
