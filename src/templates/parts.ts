import { Output, toValue, toValueSync } from 'liquidjs';
import type { Medium } from '../connector.ts';
import type { Json } from '../model.ts';
import { check } from './check.ts';
import type { TemplateData } from './data.ts';
import { Rendering, checking, printing } from './engine.ts';
import type { IsStrict, Place } from './engine.ts';
import { explainRenderFault, placeOfRenderFault } from './render-fault.ts';
import type { TemplateFault } from './templates.ts';
import type { Words } from './words.ts';

/** A value of an action, compiled. */
export interface Part {
  /** Without templates inside, so always the same value. */
  readonly constant: boolean;
  /** The value to send. Throws what explainRenderFault explains. */
  render(data: TemplateData): Json;
}

export interface Setting {
  readonly medium: Medium;
  readonly words: Words;
  /** Where the value stands inside of the action's key. */
  readonly path: readonly (string | number)[];
  readonly report: (fault: TemplateFault) => void;
}

export function compilePart(value: Json, setting: Setting): Part {
  if (typeof value === 'string') return compileText(value, setting);
  if (Array.isArray(value)) return compileList(value as readonly Json[], setting);
  if (typeof value === 'object' && value !== null)
    return compileMap(value as { [key: string]: Json }, setting);
  return constant(value);
}

export const constant = (value: Json): Part => ({ constant: true, render: () => value });

const inside = (setting: Setting, step: string | number): Setting => ({
  ...setting,
  path: [...setting.path, step],
});

function compileList(list: readonly Json[], setting: Setting): Part {
  const parts = list.map((entry, index) => compilePart(entry, inside(setting, index)));
  if (parts.every((part) => part.constant)) return constant(list);
  return { constant: false, render: (data) => parts.map((part) => part.render(data)) };
}

function compileMap(map: { readonly [key: string]: Json }, setting: Setting): Part {
  const parts = Object.entries(map).map(
    ([key, entry]) => [key, compilePart(entry, inside(setting, key))] as const,
  );
  if (parts.every(([, part]) => part.constant)) return constant(map);
  return {
    constant: false,
    render: (data) => Object.fromEntries(parts.map(([key, part]) => [key, part.render(data)])),
  };
}

function compileText(source: string, { medium, words, path, report }: Setting): Part {
  if (!/\{[{%]/.test(source)) return constant(source);
  const place: Place = { escape: medium.escape, path };
  const { faults, isStrict } = check(source, place, words.roots);
  for (const fault of faults) report({ ...fault, path });
  const [first] = faults;
  if (first) return failing(first.message);
  const output = medium.data === true && path.length > 0 ? soleOutput(source) : null;
  const render = output ? valueRenderer(output, place) : textRenderer(source, place);
  const fault = tryOut(render, words.sample);
  if (fault) report({ ...fault, path });
  return { constant: false, render: (data) => render(data, isStrict) };
}

/** What a checked config never sends; a stored one that an older version had accepted might. */
function failing(message: string): Part {
  return {
    constant: false,
    render() {
      throw new Error(message);
    },
  };
}

type Render = (data: TemplateData, isStrict: IsStrict) => Json;

function textRenderer(source: string, place: Place): Render {
  const templates = printing.parse(source);
  return (data, isStrict) => printing.renderSync(templates, new Rendering(data, place, isStrict)) as string;
}

/** The one `{{ … }}` that a string is made of, or null where there is anything else. */
function soleOutput(source: string): Output | null {
  const [template, ...more] = checking.parse(source);
  return template instanceof Output && more.length === 0 ? template : null;
}

function valueRenderer({ value }: Output, place: Place): Render {
  return (data, isStrict) => {
    const result: unknown = toValueSync(value.value(new Rendering(data, place, isStrict)));
    return escapedData(toValue(result), place, place.path);
  };
}

/** A value as data; its texts are escaped all the same, for they may come from a stranger. */
function escapedData(value: unknown, { escape }: Place, path: Place['path']): Json {
  const inner = (entry: unknown, step: string | number) =>
    escapedData(entry, { escape, path }, [...path, step]);
  if (typeof value === 'string') return escape(value, path);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(inner);
  if (typeof value !== 'object' || value === null) return null;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, inner(entry, key)]));
}

/**
 * Renders with sample data, whatever is missing taken as null: a filter without its argument, say, is found now and not
 * when an event comes.
 */
function tryOut(render: Render, sample: TemplateData): Omit<TemplateFault, 'path'> | null {
  try {
    render(sample, () => false);
    return null;
  } catch (error) {
    return { ...placeOfRenderFault(error), message: explainRenderFault(error) };
  }
}
