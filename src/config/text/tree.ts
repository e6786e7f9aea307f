import type { Alias, Document, Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { isAlias, isMap, isPair, isScalar } from 'yaml';
import type { Json } from '../../model.ts';
import type { Source } from './source.ts';

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
export function buildTree(document: Document, source: Source): Tree {
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
export const templateHint = 'a value that begins with {{ has to be in quotes';

function keyFault(name: string | null): string | null {
  if (name === null) return 'expected a key: text or a number';
  if (name === '__proto__') return '"__proto__" cannot be a key';
  if (name === '<<')
    return '"<<" does not merge maps here; name the shared value itself, as in "retry: *retry"';
  return name.includes('${') ? '${…} works in values, not in keys' : null;
}
