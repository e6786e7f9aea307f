import { Output, toValue, toValueSync } from 'liquidjs';
import type { Template } from 'liquidjs';
import { mapLeaves } from '../json.ts';
import { memo } from '../memo.ts';
import type { Json } from '../model.ts';
import { check } from './check.ts';
import type { AnyTemplateData } from './data.ts';
import { Rendering, checking, escapeAt, printing } from './engine.ts';
import type { Place, Site } from './engine.ts';
import { outlineOf } from './markup.ts';
import type { Part, Setting } from './parts.ts';
import { explainRenderFault, placeOfRenderFault } from './render-fault.ts';
import { neverStrict } from './scope.ts';

/** A string with templates in it, checked. */
export function compileTemplate(source: string, { medium, words, path, action, report }: Setting): Part {
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
