import { LiquidError, Output, type Template, toValue, toValueSync } from 'liquidjs';
import type { Medium } from '../connector.ts';
import { mapLeaves } from '../support/json.ts';
import { memo, tagsIn } from '../support/text.ts';
import type { Json, JsonMap } from '../model.ts';
import { findFaults, type PlacedFault } from './find-faults.ts';
import { type AnyTemplateData, plainSetting } from './data.ts';
import { checking, escapeAt, type IsStrict, outlineOf, type Target, printing, Rendering } from './engine.ts';
import { neverStrict } from './scope.ts';
import { type Names, namesFor, type Vocabulary } from './vocabulary.ts';

/** A fault in one string of an action. Lines and columns count from 1 inside that string. */
export interface TemplateFault extends PlacedFault {
  readonly path: readonly (string | number)[];
}

/**
 * Compiles every string under a key with a medium, at any depth, as a Liquid template. Other keys stay as they are.
 * `fields` is null if there are faults.
 */
export function compileFields(
  fields: JsonMap,
  media: { readonly [key: string]: Medium | undefined },
  vocabulary: Vocabulary,
): { readonly fields: CompiledFields | null; readonly faults: readonly TemplateFault[] } {
  const faults: TemplateFault[] = [];
  const { isTried = true } = vocabulary;
  const namesOf = namesFor(vocabulary);
  const { setting = plainSetting } = vocabulary;
  const parts = Object.entries(fields).map(([key, value]): [string, FieldTemplate] => {
    const medium = media[key];
    if (medium === undefined) return [key, constant(value)];
    const report = (fault: TemplateFault) => faults.push({ ...fault, path: [key, ...fault.path] });
    return [
      key,
      compilePart(value, { medium, names: namesOf(key), isTried, report, path: [], action: fields, setting }),
    ];
  });
  return { fields: faults.length > 0 ? null : new CompiledFields(Object.fromEntries(parts)), faults };
}

/** The keys of an action with their templates rendered, or why one failed. */
export type RenderResult =
  | {
      readonly fields: JsonMap;
      /** Keys with a `{{ … }}` that had nothing to print. */
      readonly hollow?: readonly string[];
    }
  | { readonly fault: string };

export class CompiledFields {
  readonly #parts: { readonly [key: string]: FieldTemplate };

  constructor(parts: { readonly [key: string]: FieldTemplate }) {
    this.#parts = parts;
  }

  /** A copy with the other one's keys, too. Where both have a key, this one's counts. */
  over(others: CompiledFields): CompiledFields {
    return new CompiledFields({ ...others.#parts, ...this.#parts });
  }

  /** Renders all keys, or only the given ones. Leaves out keys that the action does not have. */
  render(data: AnyTemplateData, keys: readonly string[] = Object.keys(this.#parts)): RenderResult {
    const fields: Record<string, Json> = {};
    const hollow: string[] = [];
    for (const key of keys) {
      if (!Object.hasOwn(this.#parts, key)) continue;
      try {
        fields[key] = this.#parts[key]?.render(data, undefined, () => hollow.push(key)) ?? null;
      } catch (error) {
        return { fault: `The template of "${key}" failed: ${explainRenderError(error)}.` };
      }
    }
    return hollow.length === 0 ? { fields } : { fields, hollow };
  }
}

interface FieldTemplate {
  /** Whether it has no templates, so that it always renders to the same value. */
  readonly constant: boolean;
  /** Renders the value. Throws errors for explainRenderError. `onHollow`: called if an output had nothing to print. */
  render(data: AnyTemplateData, isStrict?: IsStrict, onHollow?: () => void): Json;
}

interface Source extends Target {
  readonly names: Names;
  readonly isTried: boolean;
  readonly report: (fault: TemplateFault) => void;
}

function compilePart(value: Json, source: Source): FieldTemplate {
  if (typeof value === 'string')
    return startsTag.test(value) ? compileTemplate(value, source) : constant(value);
  if (typeof value !== 'object' || value === null) return constant(value);
  const at = (step: string | number): Source => ({ ...source, path: [...source.path, step] });
  if (Array.isArray(value)) {
    const parts = (value as readonly Json[]).map((entry, index) => compilePart(entry, at(index)));
    if (parts.every((part) => part.constant)) return constant(value);
    return { constant: false, render: (data) => parts.map((part) => part.render(data)) };
  }
  const parts = Object.entries(value).map(([key, entry]) => [key, compilePart(entry, at(key))] as const);
  if (parts.every(([, part]) => part.constant)) return constant(value);
  return {
    constant: false,
    render: (data) => Object.fromEntries(parts.map(([key, part]) => [key, part.render(data)])),
  };
}

const startsTag = /\{[{%]/;

const constant = (value: Json): FieldTemplate => ({ constant: true, render: () => value });

/** Compiles a string. A part with faults is never rendered; see compileFields. */
function compileTemplate(
  text: string,
  { medium, path, action, setting, names, isTried, report }: Source,
): FieldTemplate {
  const place: Target = { medium, path, action, setting };
  const known = names.sound.get(medium)?.get(soundId(text, place));
  const { faults, isStrict } = known ? { faults: [], isStrict: known } : findFaults(text, place, names.roots);
  for (const fault of faults) report({ ...fault, path });
  if (faults.length > 0) return constant(text);
  // The one `{{ … }}` that a string consists of.
  const [output, ...more] = medium.data === true && path.length > 0 ? checking.parse(text) : [];
  const template =
    output instanceof Output && more.length === 0
      ? valueTemplate(output, place, isStrict)
      : textTemplate(text, place, isStrict);
  if (known || !isTried) return template;
  try {
    // Sample data show now what would fail for any event, such as loops that are too long.
    template.render(names.sample, neverStrict);
    names.sound.getOrInsertComputed(medium, () => new Map()).set(soundId(text, place), isStrict);
  } catch (error) {
    const [line = 1, column = 1] = LiquidError.is(error) ? error.token.getPosition() : [];
    report({ path, line, column, message: explainRenderError(error) });
  }
  return template;
}

/** In a short template without loops, faults do not depend on the text between its tags and outputs. */
const shortText = 4000;
const flat = /^\{(?:\{|%-?\s*(?:if|elsif|else|endif|unless|endunless)\b)(?:[^'"\\]|"[^"\\]*"|'[^'\\]*')*$/;

/** An id of templates that are all without faults if one is: large configs have thousands that are alike. */
function soundId(text: string, { medium, path, action }: Target): string {
  // Few media look at the other keys.
  const others = medium.escape.length > 2 ? action : null;
  return `${templateKind(text)}\0${path.join('\0')}\0${others === null ? '' : JSON.stringify(others)}`;
}

/** A template without its plain text; the whole template where that may make a difference. */
export function templateKind(text: string): string {
  if (text.length > shortText) return text;
  const tags = [...tagsIn(text)];
  const last = tags.at(-1);
  if (!last || startsTag.test(text.slice(last.index + last.part.length))) return text;
  return tags.every(({ part }) => flat.test(part)) ? tags.map(({ part }) => part).join('\n') : text;
}

/** Rules often share a template. Sharing the parsed template keeps a large config small and deciding fast. */
const parse = memo(1000, (text) => printing.parse(text));

/** A template that renders to text. It is parsed when it is first rendered. */
function textTemplate(source: string, place: Target, strict: IsStrict): FieldTemplate {
  let templates: Template[] | null = null;
  return {
    constant: false,
    render(data, isStrict = strict, onHollow?) {
      const rendering = new Rendering(data, place, isStrict);
      const text = printing.renderSync((templates ??= parse(source)), rendering) as string;
      if (rendering.isHollow) onHollow?.();
      const { medium, path } = place;
      return medium.join ? medium.join(outlineOf(text), path) : text;
    },
  };
}

/** A template that renders to a value as data. Text in it is still escaped, because it may come from the event. */
const valueTemplate = (output: Output, place: Target, strict: IsStrict): FieldTemplate => ({
  constant: false,
  render(data, isStrict = strict) {
    const value: unknown = toValueSync(output.value.value(new Rendering(data, place, isStrict)));
    return mapLeaves(toValue(value), (leaf, within) => {
      if (typeof leaf === 'string') return escapeAt({ ...place, path: [...place.path, ...within()] }, leaf);
      if (typeof leaf === 'number') return Number.isFinite(leaf) ? leaf : null;
      return typeof leaf === 'boolean' ? leaf : null;
    });
  },
});

/** Why a template failed for an event, without a full stop. */
function explainRenderError(error: unknown): string {
  const cause = causeOf(error);
  const { variableName } = cause as { variableName?: string };
  if (variableName !== undefined) {
    const remedy = `if it may be missing, write \`{{ ${variableName} | default: "" }}\``;
    return `\`${variableName}\` is not in what the service sent; ${remedy}`;
  }
  return cause instanceof Error ? cause.message.replace(/, line:\d+, col:\d+$/, '') : String(cause);
}

function causeOf(error: unknown): unknown {
  const { originalError } = error as { originalError?: unknown };
  return originalError === undefined ? error : causeOf(originalError);
}
