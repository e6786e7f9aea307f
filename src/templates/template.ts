import { LiquidError, Output, type Template, toValue, toValueSync } from 'liquidjs';
import type { Medium } from '../connector.ts';
import { mapLeaves } from '../json.ts';
import { memo } from '../memo.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { check } from './check.ts';
import type { AnyTemplateData } from './data.ts';
import { checking, escapeAt, outlineOf, type Place, printing, Rendering, type Site } from './engine.ts';
import { neverStrict } from './scope.ts';
import { type Vocabulary, type Words, wordsFor } from './vocabulary.ts';

/** A fault in one string of an action. Lines and columns count from 1 inside of that string. */
export interface TemplateFault {
  readonly path: readonly (string | number)[];
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The keys of an action with their templates rendered, or why one failed. */
export type Rendered = { readonly fields: JsonMap } | { readonly fault: string };

/** The keys of an action, compiled. */
export class CompiledFields {
  readonly #parts: { readonly [key: string]: Part };

  constructor(parts: { readonly [key: string]: Part }) {
    this.#parts = parts;
  }

  /** All keys with their templates rendered, or only some; a key that the action does not have is left out. */
  render(data: AnyTemplateData, keys: readonly string[] = Object.keys(this.#parts)): Rendered {
    const fields: Record<string, Json> = {};
    for (const key of keys) {
      if (!Object.hasOwn(this.#parts, key)) continue;
      try {
        fields[key] = this.#parts[key]?.render(data) ?? null;
      } catch (error) {
        return { fault: `The template of "${key}" failed: ${explainRenderFault(error)}.` };
      }
    }
    return { fields };
  }
}

/**
 * Compiles every string under a key that has a medium, however deep, as a Liquid template; other keys stay as they
 * are. What is compiled in spite of faults renders to its first one.
 */
export function compileFields(
  fields: JsonMap,
  media: { readonly [key: string]: Medium | undefined },
  vocabulary: Vocabulary,
): { readonly fields: CompiledFields; readonly faults: readonly TemplateFault[] } {
  const faults: TemplateFault[] = [];
  const wordsOf = wordsFor(vocabulary);
  const parts = Object.entries(fields).map(([key, value]): [string, Part] => {
    const medium = media[key];
    if (medium === undefined) return [key, constant(value)];
    const report = (fault: TemplateFault) => faults.push({ ...fault, path: [key, ...fault.path] });
    return [key, compilePart(value, { medium, words: wordsOf(key), report, path: [], action: fields })];
  });
  return { fields: new CompiledFields(Object.fromEntries(parts)), faults };
}

/** A value of an action, compiled. */
export interface Part {
  /** Without templates inside, so always the same value. */
  readonly constant: boolean;
  /** The value to send. Throws what explainRenderFault explains. */
  render(data: AnyTemplateData): Json;
}

export interface Setting extends Place {
  readonly words: Words;
  readonly report: (fault: TemplateFault) => void;
}

function compilePart(value: Json, setting: Setting): Part {
  if (typeof value === 'string')
    return startsTag.test(value) ? compileTemplate(value, setting) : constant(value);
  if (Array.isArray(value)) return compileList(value as readonly Json[], setting);
  return isMap(value) ? compileMap(value, setting) : constant(value);
}

const startsTag = /\{[{%]/;

const constant = (value: Json): Part => ({ constant: true, render: () => value });

const inside = (setting: Setting, step: string | number): Setting => ({
  ...setting,
  path: [...setting.path, step],
});

function compileList(list: readonly Json[], setting: Setting): Part {
  const parts = list.map((entry, index) => compilePart(entry, inside(setting, index)));
  if (parts.every((part) => part.constant)) return constant(list);
  return { constant: false, render: (data) => parts.map((part) => part.render(data)) };
}

function compileMap(map: JsonMap, setting: Setting): Part {
  const parts = Object.entries(map).map(
    ([key, entry]) => [key, compilePart(entry, inside(setting, key))] as const,
  );
  if (parts.every(([, part]) => part.constant)) return constant(map);
  return {
    constant: false,
    render: (data) => Object.fromEntries(parts.map(([key, part]) => [key, part.render(data)])),
  };
}

/** A string with templates in it, checked. */
function compileTemplate(source: string, { medium, words, path, action, report }: Setting): Part {
  const place: Place = { medium, path, action };
  const { faults, isStrict } = check(source, place, words.roots);
  for (const fault of faults) report({ ...fault, path });
  const [first] = faults;
  if (first) return new FaultyTemplate(first.message);
  const output = medium.data === true && path.length > 0 ? soleOutput(source) : null;
  const compile = (site: Site) => (output ? new ValueTemplate(output, site) : new TextTemplate(source, site));
  const site: Site = { ...place, isStrict };
  const fault = faultOf(compile({ ...site, isStrict: neverStrict }), words.sample);
  if (fault) report({ ...fault, path });
  return compile(site);
}

/** The one `{{ … }}` that a string is made of, or null where there is anything else. */
function soleOutput(source: string): Output | null {
  const [template, ...more] = checking.parse(source);
  return template instanceof Output && more.length === 0 ? template : null;
}

/**
 * What is wrong with rendering sample data, whatever is missing taken as null: loops that are too long, say, are found
 * now and not when an event comes.
 */
function faultOf(part: Part, sample: AnyTemplateData) {
  try {
    part.render(sample);
    return null;
  } catch (error) {
    return { ...placeOfRenderFault(error), message: explainRenderFault(error) };
  }
}

/** Rules often share a template. Sharing what was parsed keeps a large config small, and fast to decide by. */
const parse = memo(1000, (source) => printing.parse(source));

class TextTemplate implements Part {
  readonly constant = false;
  readonly #templates: Template[];
  readonly #site: Site;

  constructor(source: string, site: Site) {
    this.#templates = parse(source);
    this.#site = site;
  }

  render(data: AnyTemplateData): Json {
    const text = printing.renderSync(this.#templates, new Rendering(data, this.#site)) as string;
    const { medium, path } = this.#site;
    return medium.join ? medium.join(outlineOf(text), path) : text;
  }
}

class ValueTemplate implements Part {
  readonly constant = false;
  readonly #output: Output;
  readonly #site: Site;

  constructor(output: Output, site: Site) {
    this.#output = output;
    this.#site = site;
  }

  render(data: AnyTemplateData): Json {
    const value: unknown = toValueSync(this.#output.value.value(new Rendering(data, this.#site)));
    return escaped(toValue(value), this.#site);
  }
}

/** A value as data; its texts are escaped all the same, for they may come from a stranger. */
function escaped(value: unknown, place: Place): Json {
  return mapLeaves(value, (leaf, within) => {
    if (typeof leaf === 'string') return escapeAt({ ...place, path: [...place.path, ...within()] }, leaf);
    if (typeof leaf === 'number') return Number.isFinite(leaf) ? leaf : null;
    return typeof leaf === 'boolean' ? leaf : null;
  });
}

/** What a checked config never sends; a stored one that an older version had accepted might. */
class FaultyTemplate implements Part {
  readonly constant = false;
  readonly #message: string;

  constructor(message: string) {
    this.#message = message;
  }

  render(): Json {
    throw new Error(this.#message);
  }
}

/** Why a template failed for an event, in plain words, without a full stop. */
function explainRenderFault(error: unknown): string {
  const cause = causeOf(error);
  const { variableName } = cause as { variableName?: string };
  if (variableName !== undefined) {
    return `\`${variableName}\` is not in what the service sent; to do without it, write \`{{ ${variableName} | default: "" }}\``;
  }
  return cause instanceof Error ? cause.message.replace(/, line:\d+, col:\d+$/, '') : String(cause);
}

/** Line and column of the tag or output that failed, from 1. */
function placeOfRenderFault(error: unknown): { readonly line: number; readonly column: number } {
  const [line = 1, column = 1] = LiquidError.is(error) ? error.token.getPosition() : [];
  return { line, column };
}

function causeOf(error: unknown): unknown {
  const { originalError } = error as { originalError?: unknown };
  return originalError === undefined ? error : causeOf(originalError);
}
