import { isMap, type Json, type JsonMap } from '../model.ts';
import type { AnyTemplateData } from './data.ts';
import type { Place } from './engine.ts';
import { compileTemplate } from './template.ts';
import type { TemplateFault } from './templates.ts';
import type { Words } from './words.ts';

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

export function compilePart(value: Json, setting: Setting): Part {
  if (typeof value === 'string')
    return startsTag.test(value) ? compileTemplate(value, setting) : constant(value);
  if (Array.isArray(value)) return compileList(value as readonly Json[], setting);
  return isMap(value) ? compileMap(value, setting) : constant(value);
}

const startsTag = /\{[{%]/;

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
