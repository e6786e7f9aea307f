import type { Medium } from '../connector.ts';
import type { Json, JsonMap } from '../model.ts';
import type { AnyTemplateData } from './data.ts';
import { compilePart, constant } from './parts.ts';
import type { Part } from './parts.ts';
import { explainRenderFault } from './render-fault.ts';
import { wordsFor } from './words.ts';
import type { Vocabulary } from './words.ts';

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
