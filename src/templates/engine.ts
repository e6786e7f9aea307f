import { CaptureTag, Context, Drop, filters as builtIn, Liquid, toValue } from 'liquidjs';
import { type Medium, type Outline, slot } from '../connector.ts';
import type { JsonMap } from '../model.ts';
import type { AnyTemplateData } from './data.ts';
import { dateFilters } from './dates.ts';
import {
  chargedFilter,
  chargedOperators,
  extentOfBlock,
  extentOfRead,
  type Filter,
  MemoryLimit,
  StepLimit,
} from './limits.ts';

const [valueStart, valueEnd] = ['\uFDD1', '\uFDD2'];
const marks = new RegExp(`[${slot}${valueStart}${valueEnd}]`, 'g');
const markedValue = new RegExp(`${valueStart}([^${valueEnd}]*)${valueEnd}`, 'g');

const unmarked = (text: string): string => text.replaceAll(marks, '');

/** Marks a value that is printed, so that it can be told from the template's own text. */
const marked = (value: string): string => (value === '' ? '' : `${valueStart}${unmarked(value)}${valueEnd}`);

export function outlineOf(printed: string): Outline {
  const parts = printed.split(markedValue).map(unmarked);
  const values = parts.filter((_, index) => index % 2 === 1);
  return { text: parts.filter((_, index) => index % 2 === 0).join(slot), values };
}

/** Text that was escaped for its medium already and is printed as it is. Any filter makes a plain text of it again. */
class Markup extends Drop {
  /** With marks around what comes of values, in a medium that tells them from the template's text. */
  readonly marked: string;
  readonly #text: string;

  constructor(text: string) {
    super();
    this.marked = text;
    this.#text = unmarked(text);
  }

  get length(): number {
    return this.#text.length;
  }

  override valueOf(): string {
    return this.#text;
  }

  override toString(): string {
    return this.#text;
  }

  toJSON(): string {
    return this.#text;
  }

  override liquidMethodMissing(key: string | number): unknown {
    return key === 'size' ? this.length : undefined;
  }
}

/** What is captured was escaped while it was printed; the tag of LiquidJS would have it escaped a second time. */
class MarkupCapture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    yield* super.render(context);
    const scope = context.bottom() as Record<string, unknown>;
    scope[this.variable] = new Markup(String(scope[this.variable]));
  }
}

/** Filters of LiquidJS that are not here, and why. */
export const withheldFilters: ReadonlyMap<string, string> = new Map([
  ['sample', 'a repeated attempt would differ from the first'],
  ...['where_exp', 'reject_exp', 'group_by_exp', 'has_exp', 'find_exp', 'find_index_exp'].map(
    (name) => [name, 'its expression could not be checked before an event comes'] as const,
  ),
]);

const builtInFilter = (name: string): Filter => (builtIn as Record<string, Filter>)[name] as Filter;

/** A built-in filter that throws on some texts; those come from strangers and must not make a message fail. */
const onWellFormed = (name: string): Filter =>
  function (value) {
    return builtInFilter(name).call(this, textOf(value).toWellFormed());
  };

const orUnchanged = (name: string): Filter =>
  function (value) {
    try {
      return builtInFilter(name).call(this, value);
    } catch {
      return value;
    }
  };

/** LiquidJS counts the wanted length as used, however short the text is. */
const slice: Filter = function (value, begin, length = 1) {
  const plain: unknown = toValue(value);
  const most = Array.isArray(plain) ? plain.length : textOf(plain).length;
  return builtInFilter('slice').call(this, plain, begin, Math.min(Number(toValue(length)), most));
};

/** What was escaped stays so without the blanks around it. */
const keepingMarkup = (name: string): Filter =>
  function (value, ...args) {
    if (!(value instanceof Markup)) return builtInFilter(name).call(this, value, ...args);
    return new Markup(textOf(builtInFilter(name).call(this, value.marked, ...args)));
  };

/** Line breaks as HTML: the text around them is escaped here, for `<br />` itself must not be. */
const newlineToBr: Filter = function (value) {
  if (value instanceof Markup) return new Markup(value.marked.replaceAll(/\r?\n/g, '<br />'));
  const lines = textOf(value).split(/\r?\n/);
  return new Markup(lines.map((line) => (this.context as Rendering).escape(line)).join('<br />'));
};

/** What is added to the filters of LiquidJS or stands in for them. */
const filters: { readonly [name: string]: Filter } = {
  ...dateFilters,
  url_encode: onWellFormed('url_encode'),
  cgi_escape: onWellFormed('cgi_escape'),
  uri_escape: onWellFormed('uri_escape'),
  url_decode: orUnchanged('url_decode'),
  base64_decode: orUnchanged('base64_decode'),
  slice,
  newline_to_br: newlineToBr,
  ...Object.fromEntries(
    ['strip', 'lstrip', 'rstrip', 'squish', 'strip_newlines'].map((name) => [name, keepingMarkup(name)]),
  ),
};

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

/** A value as a template prints it. LiquidJS prints `[object Object]`, and lists without anything between. */
function textOf(value: unknown): string {
  const plain: unknown = toValue(value);
  if (plain === null || plain === undefined) return '';
  if (typeof plain === 'string') return plain;
  // As JSON, what is infinite would be null.
  return typeof plain === 'number' ? String(plain) : JSON.stringify(plain);
}
