import type { Json } from '../model.ts';

/** What was read, and where its sections are, as lines from 0. */
export interface QuickYaml {
  readonly value: { readonly [key: string]: Json };
  readonly sections: ReadonlyMap<string, Section>;
}

/** Whole lines: the first, and the one after the last. */
export interface Lines {
  readonly from: number;
  readonly to: number;
}

interface Section extends Lines {
  /** Its entries, where each begins on a line of its own. */
  readonly entries: ReadonlyMap<string, Lines>;
}

interface Limits {
  readonly mostNodes: number;
  /** Reads a value that is written in another way, as the library does; undefined if it has faults. */
  readonly byLibrary: (written: string) => Json | undefined;
}

/**
 * Reads the YAML that large configs are usually written in: maps, lists, texts and numbers, a line for each, many times
 * as fast as the library. Null for a text that has anything else in it, such as a fault: only the library reads that.
 */
export function readQuickly(text: string, limits: Limits): QuickYaml | null {
  if (/[\t\r]/.test(text)) return null;
  try {
    return new Reader(text, limits).read();
  } catch (error) {
    if (error === unsure) return null;
    throw error;
  }
}

const unsure = new Error('this needs the library');

function giveUp(): never {
  throw unsure;
}

const deepest = 50;
const saysNothing = /^ *(#|$)/;
/** One that asks for neither an indentation nor all empty lines at the end: both depend on what stands around it. */
const headsBlock = /^[|>]-? *(?: #|$)/;
const keyed = /^ *(?:([A-Za-z0-9_](?:[\w .-]*[\w.-])?)|"([\w #.,/()-]+)"):(?: +(?! )(.*))?$/;
const reserved = new Set(['null', 'Null', 'NULL', '__proto__']);

type OnEntry = (key: string, lines: Lines) => void;

class Reader {
  readonly #lines: string[];
  readonly #limits: Limits;
  readonly #endsWithNewline: boolean;
  readonly #sections = new Map<string, Section>();
  #entries = new Map<string, Lines>();
  #at = 0;
  #nodes = 0;
  #depth = 0;

  constructor(text: string, limits: Limits) {
    this.#lines = text.split('\n');
    this.#endsWithNewline = text.endsWith('\n');
    this.#limits = limits;
  }

  read(): QuickYaml {
    if (this.#indent() !== 0) giveUp();
    const value = this.#map(0, (key, lines) => {
      this.#sections.set(key, { ...lines, entries: this.#entries });
      this.#entries = new Map();
    });
    if (this.#at < this.#lines.length) giveUp();
    return { value, sections: this.#sections };
  }

  /** Goes to the next line that says something; how far it is indented, or -1 at the end. */
  #indent(): number {
    while (this.#at < this.#lines.length && saysNothing.test(this.#line)) this.#at += 1;
    return this.#at < this.#lines.length ? this.#line.search(/[^ ]/) : -1;
  }

  get #line(): string {
    return this.#lines[this.#at] ?? '';
  }

  #map(indent: number, onEntry?: OnEntry): { [key: string]: Json } {
    const value: { [key: string]: Json } = {};
    while (this.#indent() === indent) {
      const [, word, quoted, rest = ''] = keyed.exec(this.#line) ?? giveUp();
      const key = word ?? quoted ?? '';
      if (reserved.has(key) || Object.hasOwn(value, key)) giveUp();
      const from = this.#at;
      this.#at += 1;
      value[key] = this.#value(rest, indent, indent);
      onEntry?.(key, { from, to: this.#at });
    }
    if (this.#indent() > indent) giveUp();
    return value;
  }

  #list(indent: number, onEntry?: OnEntry): Json[] {
    const value: Json[] = [];
    while (this.#indent() === indent && /^ *-(?: |$)/.test(this.#line)) {
      const column = this.#line.slice(indent + 1).search(/[^ ]|$/) + indent + 1;
      const rest = this.#line.slice(column);
      const from = this.#at;
      if (keyed.test(rest)) {
        // A map that begins beside the dash.
        this.#lines[this.#at] = ' '.repeat(column) + rest;
        value.push(this.#inside(() => this.#map(column)));
      } else {
        this.#at += 1;
        value.push(this.#value(rest, indent, indent + 1));
      }
      onEntry?.(String(value.length - 1), { from, to: this.#at });
    }
    if (this.#indent() > indent) giveUp();
    return value;
  }

  #inside<Value>(read: () => Value): Value {
    this.#depth += 1;
    this.#nodes += 1;
    if (this.#depth > deepest || this.#nodes > this.#limits.mostNodes) giveUp();
    const value = read();
    this.#depth -= 1;
    return value;
  }

  /** What stands after a key or a dash. `listFrom`: how far a list under it is indented at least. */
  #value(written: string, indent: number, listFrom: number): Json {
    return this.#inside(() => {
      if (written === '' || written.startsWith('#')) return this.#below(indent, listFrom);
      if (written.startsWith('|') || written.startsWith('>')) return this.#blockScalar(written, indent);
      return this.#inline(written.replace(/ +$/, ''), indent);
    });
  }

  #below(indent: number, listFrom: number): Json {
    const below = this.#indent();
    const onEntry: OnEntry | undefined =
      this.#depth === 1 ? (key, lines) => void this.#entries.set(key, lines) : undefined;
    if (below >= listFrom && /^ *-(?: |$)/.test(this.#line)) return this.#list(below, onEntry);
    return below > indent ? this.#map(below, onEntry) : null;
  }

  #blockScalar(header: string, indent: number): Json {
    if (!headsBlock.test(header)) giveUp();
    const lines = this.#linesInside(indent);
    const isLast = this.#at === this.#lines.length && !this.#endsWithNewline;
    return (isLast ? null : literal(header, lines)) ?? this.#byLibrary([header, ...lines].join('\n'));
  }

  /** All lines that are indented more. */
  #linesInside(indent: number): string[] {
    const start = this.#at;
    const isInside = (line: string) => /^ *$/.test(line) || line.search(/[^ ]/) > indent;
    while (this.#at < this.#lines.length && isInside(this.#line)) this.#at += 1;
    return this.#lines.slice(start, this.#at);
  }

  #inline(written: string, indent: number): Json {
    const value = simpleValue(written) ?? (written.startsWith('{') ? flowMap(written) : null);
    if (value !== null) return value;
    // A map or list in brackets may go on below.
    const more = /^[{[]/.test(written) ? this.#linesInside(indent) : [];
    return this.#byLibrary([written, ...more].join('\n'));
  }

  /** A value that stands alone, and that nothing else in the file refers to. */
  #byLibrary(written: string): Json {
    const value = this.#limits.byLibrary(written);
    return value === undefined ? giveUp() : value;
  }
}

/** The text of lines under a plain `|`, or null. */
function literal(header: string, lines: readonly string[]): string | null {
  const column = lines[0]?.search(/[^ ]/) ?? -1;
  const margin = ' '.repeat(Math.max(0, column));
  const isPlain = (line: string) => line === '' || (line.startsWith(margin) && /[^ ]/.test(line));
  if (header !== '|' || column < 1 || !lines.every(isPlain)) return null;
  const text = lines.map((line) => line.slice(column)).join('\n');
  return `${text.replace(/\n+$/, '')}\n`;
}

const text = String.raw`"[^"\\]*"|'[^']*'`;
/** Words that YAML takes for text, and whole numbers. Nothing in them has a meaning of its own, inside of `{ }` or not. */
const word = String.raw`[A-Za-z_/$][\w./@+-]*(?: [\w./@+-]+)*|(?:0|[1-9]\d{0,14})(?! *[\w.:/@+-])`;
const simple = new RegExp(`^(?:(${text})|(${word}))(?: +#.*)?$`);
/** Where a text begins with a letter, much more is text up to the end of the line. */
const plainLine = /^[A-Za-z_/$(](?:[^:#]|:(?=[^ ])|(?<! )#)*$/;

/** Text or a whole number; null for any other value. */
function simpleValue(written: string): string | number | null {
  const [, quoted, plain] = simple.exec(written) ?? [];
  if (quoted !== undefined) return quoted.slice(1, -1);
  const words = plain ?? (plainLine.test(written) ? written : null);
  return words === null ? null : ofWord(words);
}

/** Null for what the core schema takes for something else than text. */
function ofWord(plain: string): string | number | null {
  if (/^\d+$/.test(plain)) return Number(plain);
  return /^(?:null|true|false)$/i.test(plain) ? null : plain;
}

const pair = new RegExp(String.raw` *([A-Za-z0-9_][\w.-]*): +(?:(${text})|(${word})) *(,(?= )|\}$)`, 'y');

/** A map on one line, without others inside; null for any other text. */
function flowMap(written: string): Json {
  const value: { [key: string]: Json } = {};
  pair.lastIndex = 1;
  for (let found = pair.exec(written); found; found = pair.exec(written)) {
    const [, key = '', quoted, plain = '', end] = found;
    if (reserved.has(key) || Object.hasOwn(value, key)) giveUp();
    const one = quoted === undefined ? ofWord(plain) : quoted.slice(1, -1);
    if (one === null) return null;
    value[key] = one;
    if (end === '}') return value;
  }
  return null;
}
