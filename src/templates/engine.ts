import { Context, Liquid } from 'liquidjs';
import type { Medium } from '../connector.ts';
import type { JsonMap } from '../model.ts';
import type { AnyTemplateData } from './data.ts';
import { filters, withheldFilters } from './filters.ts';
import {
  chargedFilter,
  chargedOperators,
  extentOfBlock,
  extentOfRead,
  MemoryLimit,
  StepLimit,
} from './limits.ts';
import { Markup, MarkupCapture, marked } from './markup.ts';
import { textOf } from './text.ts';

/** Where a template prints to. */
export interface Place {
  readonly medium: Medium;
  /** Leads to the string inside of the action's key. */
  readonly path: readonly (string | number)[];
  /** All keys of the action, as written. */
  readonly action: JsonMap;
}

export const escapeAt = ({ medium, path, action }: Place, value: string): string =>
  medium.escape(value, path, action);

/** Says whether what a path leads to has to exist. */
export type IsStrict = (path: readonly unknown[]) => boolean;

export interface Site extends Place {
  readonly isStrict: IsStrict;
}

/** A copy, because the data may have getters and LiquidJS reads only what is an object's own. */
function ownOf(data: AnyTemplateData): object {
  if ('notice' in data || 'events' in data) return data;
  const { event, test, rule, now } = data;
  return { event, test, rule, now };
}

/** The rendering of one template: its data, its place and its limits. */
export class Rendering extends Context {
  readonly #site: Site;

  constructor(data: AnyTemplateData, site: Site) {
    // LiquidJS's limiters are a class with private fields; these two answer to the same calls.
    const limits = { renderLimit: new StepLimit() as never, memoryLimit: new MemoryLimit() as never };
    super(ownOf(data), printing.options, { sync: true }, { ...limits, liquid: printing });
    this.#site = site;
  }

  /** LiquidJS reads variables by this; it knows only strict or lenient for the whole of a template. */
  override *_get(path: Parameters<Context['_get']>[0]): Generator<unknown, unknown, unknown> {
    this.memoryLimit.use(path.length);
    this.strictVariables = this.#site.isStrict(path);
    try {
      // oxlint-disable-next-line no-underscore-dangle -- the name is LiquidJS's
      const value: unknown = yield* super._get(path);
      this.memoryLimit.use(extentOfRead(value));
      return value;
    } finally {
      this.strictVariables = false;
    }
  }

  /** The size of a map is counted from its keys. */
  override readProperty(from: unknown, key: unknown): unknown {
    if (key === 'size' && !Array.isArray(from)) this.memoryLimit.use(extentOfRead(from));
    return super.readProperty(from as never, key as never);
  }

  print(value: unknown): string {
    if (value instanceof Markup) return this.#charged(value.marked);
    return this.escape(this.#charged(textOf(value)));
  }

  escape(text: string): string {
    const escaped = escapeAt(this.#site, text);
    return this.#site.medium.join ? marked(escaped) : escaped;
  }

  #charged(text: string): string {
    this.memoryLimit.use(text.length);
    return text;
  }
}

function print(this: { context: Context }, value: unknown): string {
  return (this.context as Rendering).print(value);
}

/** Tags that are not here, and why. */
export const withheldTags: ReadonlyMap<string, string> = new Map([
  ...['include', 'render', 'layout', 'block'].map((name) => [name, 'a template stands alone'] as const),
  ...['increment', 'decrement'].map((name) => [name, 'count with `forloop.index` or `assign`'] as const),
]);

function chargeBlocks({ renderer }: Liquid): void {
  const render = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = (templates, context, emitter) => {
    context.memoryLimit.use(extentOfBlock(templates));
    return render(templates, context, emitter);
  };
}

function engine(options: { outputEscape?: typeof print }): Liquid {
  // Without `templates`, a tag that names a file would look on the disk; those tags are withheld as well.
  const basics = { templates: {}, ownPropertyOnly: true, lenientIf: true, operators: chargedOperators };
  const liquid = new Liquid({ ...basics, ...options });
  liquid.registerTag('capture', MarkupCapture);
  for (const [name, filter] of Object.entries(filters)) liquid.registerFilter(name, filter);
  for (const name of withheldFilters.keys()) liquid.unregisterFilter(name);
  for (const [name, filter] of Object.entries(liquid.filters))
    if (typeof filter === 'function') liquid.registerFilter(name, chargedFilter(name, filter));
  for (const name of withheldTags.keys()) delete liquid.tags[name];
  chargeBlocks(liquid);
  return liquid;
}

/** Parses what is to be printed. */
export const printing = engine({ outputEscape: print });
/** Parses what is to be checked, or to yield a value: without the printing at the end of outputs. */
export const checking = engine({});
