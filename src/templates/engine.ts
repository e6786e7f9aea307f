import { CaptureTag, Context, Drop, filters as builtInFilters, Liquid, toValue } from 'liquidjs';
import { slot } from '../connector.ts';
import type { Medium, Outline } from '../connector.ts';
import type { JsonMap } from '../model.ts';
import type { AnyTemplateData, Setting, TemplateData } from './data.ts';
import { dateFilters } from './dates.ts';
import { UseLimit, StepLimit } from './limits.ts';
import { peopleFilters } from './people.ts';
import { isTextName, placeholder } from '../words/wording.ts';

type Filter = Extract<Parameters<Liquid['registerFilter']>[1], (...args: never[]) => unknown>;

const builtIn = (name: string): Filter => (builtInFilters as Record<string, Filter>)[name] as Filter;

/** Where a template prints to. */
export interface Target {
  readonly medium: Medium;
  /** The path of the string inside the action's key. */
  readonly path: readonly (string | number)[];
  /** All keys of the action, as written. */
  readonly action: JsonMap;
  readonly setting: Setting;
}

export const escapeAt = ({ medium, path, action }: Target, value: string): string =>
  medium.escape(value, path, action);

/** Whether a variable's path must lead to a value. */
export type IsStrict = (path: readonly unknown[]) => boolean;

/** The context of one rendering of one template: data, place and limits. */
export class Rendering extends Context {
  readonly #place: Target;
  readonly #isStrict: IsStrict;
  /** Whether something to print was missing. */
  isHollow = false;

  constructor(data: AnyTemplateData, place: Target, isStrict: IsStrict) {
    // LiquidJS's limiters are a class with private fields; these two have the same methods.
    const limits = { renderLimit: new StepLimit() as never, memoryLimit: new UseLimit() as never };
    super(withLinks(data, place.setting), printing.options, { sync: true }, { ...limits, liquid: printing });
    this.#place = place;
    this.#isStrict = isStrict;
  }

  get setting(): Setting {
    return this.#place.setting;
  }

  /** LiquidJS reads variables with this method. Its own strictness is for a whole template. */
  override *_get(path: Parameters<Context['_get']>[0]): Generator<unknown, unknown, unknown> {
    this.strictVariables = this.#isStrict(path);
    try {
      // oxlint-disable-next-line no-underscore-dangle -- the name is LiquidJS's
      return yield* super._get(path);
    } finally {
      this.strictVariables = false;
    }
  }

  print(value: unknown): string {
    if (value === null || value === undefined) this.isHollow = true;
    if (value instanceof Markup) return this.#counted(value.marked);
    return this.escape(this.#counted(textOf(value)));
  }

  escape(text: string): string {
    const escaped = escapeAt(this.#place, text);
    return this.#place.medium.join ? marked(escaped) : escaped;
  }

  #counted(text: string): string {
    this.memoryLimit.use(text.length);
    return text;
  }
}

/** Template data with links, which are rendered when they are read. */
function withLinks(data: AnyTemplateData, { links }: Setting): object {
  if (links === null || 'notice' in data) return data;
  const linked = (own: object, about: TemplateData): object =>
    Object.defineProperty(own, 'links', { enumerable: true, get: () => links(about) });
  // A spread would call the getters.
  const own = linked(Object.defineProperties({}, Object.getOwnPropertyDescriptors(data)), data);
  if (!('events' in data)) return own;
  const { rule, now } = data;
  const events = data.events.map((one) => linked({ ...one }, { ...one, event: one, rule, now }));
  return Object.assign(own, { events });
}

/** A value as a template prints it. LiquidJS prints `[object Object]`, and lists without anything between. */
function textOf(value: unknown): string {
  const plain: unknown = toValue(value);
  if (plain === null || plain === undefined) return '';
  if (typeof plain === 'string') return plain;
  // In JSON, infinite numbers would become null.
  return typeof plain === 'number' ? String(plain) : JSON.stringify(plain);
}

const [valueStart, valueEnd] = ['\uFDD1', '\uFDD2'];
const marks = new RegExp(`[${slot}${valueStart}${valueEnd}]`, 'g');
const markedValue = new RegExp(`${valueStart}([^${valueEnd}]*)${valueEnd}`, 'g');

const unmarked = (text: string): string => text.replaceAll(marks, '');

/**
 * Puts marks around a printed value, to distinguish it from the template's own text. An empty value gets them too:
 * whether an output is alone depends on the template, not on what other outputs print.
 */
const marked = (value: string): string => `${valueStart}${unmarked(value)}${valueEnd}`;

/** Splits printed text with marks into the template's own text and the values. */
export function outlineOf(printed: string): Outline {
  const parts = printed.split(markedValue).map(unmarked);
  const values = parts.filter((_, index) => index % 2 === 1);
  return { text: parts.filter((_, index) => index % 2 === 0).join(slot), values };
}

/** Text that is already escaped and is printed as it is. Most filters turn it into plain text again. */
class Markup extends Drop {
  /** The text, with marks around its values if the medium needs them. */
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

/** Values in a `capture` are escaped while it renders. With LiquidJS's own tag they would be escaped twice. */
class MarkupCapture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    yield* super.render(context);
    const scope = context.bottom() as Record<string, unknown>;
    scope[this.variable] = new Markup(String(scope[this.variable]));
  }
}

/** For a built-in filter that throws on lone surrogates: such text in an event must not make a message fail. */
const onWellFormed = (name: string): Filter =>
  function (value) {
    return builtIn(name).call(this, textOf(value).toWellFormed());
  };

/** For a built-in filter that throws on text that it cannot decode. */
const orUnchanged = (name: string): Filter =>
  function (value) {
    try {
      return builtIn(name).call(this, value);
    } catch {
      return value;
    }
  };

/** For a built-in filter that only removes white space: markup stays markup. */
const keepingMarkup = (name: string): Filter =>
  function (value, ...args) {
    if (!(value instanceof Markup)) return builtIn(name).call(this, value, ...args);
    return new Markup(textOf(builtIn(name).call(this, value.marked, ...args)));
  };

/** LiquidJS counts the requested length as used, however short the text is. */
const slice: Filter = function (value, begin, length = 1) {
  const plain: unknown = toValue(value);
  const maxLength = Array.isArray(plain) ? plain.length : textOf(plain).length;
  return builtIn('slice').call(
    this,
    plain,
    Number(toValue(begin)),
    Math.min(Number(toValue(length)), maxLength),
  );
};

/** Escapes the lines here, because the `<br />` between them must not be escaped. */
const newlineToBr: Filter = function (value) {
  if (value instanceof Markup) return new Markup(value.marked.replaceAll(/\r?\n/g, '<br />'));
  const lines = textOf(value).split(/\r?\n/);
  return new Markup(lines.map((line) => (this.context as Rendering).escape(line)).join('<br />'));
};

/**
 * The filter for a default text by its name, with values by the names of its placeholders. Markup among the values stays;
 * text is escaped once, here or, without markup, when it is printed.
 */
const say: Filter = function (name, ...given) {
  const rendering = this.context as Rendering;
  const { wording } = rendering.setting;
  const text = textOf(name);
  if (!isTextName(text)) return text;
  const values = new Map(given as [string, unknown][]);
  const hasMarkup = values.values().some((value) => value instanceof Markup);
  const shown = (key: string): string => {
    const value = values.get(key);
    if (value instanceof Markup) return value.marked;
    const own: unknown = toValue(value);
    return plain(key === 'count' && typeof own === 'number' ? wording.number(own) : textOf(own));
  };
  // Some media trim what they escape.
  const plain = (part: string): string =>
    hasMarkup ? part.replace(/\S(?:[^]*\S)?/, (words) => rendering.escape(words)) : part;
  const parts = wording.textOf(text, values.get('count')).split(placeholder);
  const filled = parts.map((part, index) => {
    if (index % 2 === 0) return part && plain(part);
    return values.has(part) ? shown(part) : plain(`{${part}}`);
  });
  return hasMarkup ? new Markup(filled.join('')) : filled.join('');
};

/** Added to LiquidJS's filters, or replacing them. */
const ownFilters: { readonly [name: string]: Filter } = {
  ...dateFilters,
  ...peopleFilters,
  url_encode: onWellFormed('url_encode'),
  cgi_escape: onWellFormed('cgi_escape'),
  uri_escape: onWellFormed('uri_escape'),
  url_decode: orUnchanged('url_decode'),
  base64_decode: orUnchanged('base64_decode'),
  strip: keepingMarkup('strip'),
  lstrip: keepingMarkup('lstrip'),
  rstrip: keepingMarkup('rstrip'),
  squish: keepingMarkup('squish'),
  strip_newlines: keepingMarkup('strip_newlines'),
  slice,
  newline_to_br: newlineToBr,
  say,
};

const sameReason = (names: readonly string[], reason: string): [string, string][] =>
  names.map((name) => [name, reason]);

/** LiquidJS's filters that are not available, and why. */
export const disabledFilters: ReadonlyMap<string, string> = new Map([
  ['sample', 'a repeated attempt would differ from the first'],
  ...sameReason(
    ['where_exp', 'reject_exp', 'group_by_exp', 'has_exp', 'find_exp', 'find_index_exp'],
    'its expression could not be checked before an event comes',
  ),
]);

/** LiquidJS's tags that are not available, and why. */
export const disabledTags: ReadonlyMap<string, string> = new Map([
  ...sameReason(['include', 'render', 'layout', 'block'], 'a template cannot use other templates'),
  ...sameReason(['increment', 'decrement'], 'count with `forloop.index` or `assign`'),
]);

/** A filter that counts what it is given, and the text that it makes. */
const counted = (filter: Filter): Filter =>
  function (...given) {
    const { memoryLimit } = this.context;
    memoryLimit.use(1 + given.reduce((sum: number, value) => sum + lengthOf(value), 0));
    const made: unknown = filter.call(this, ...(given as [unknown]));
    memoryLimit.use(lengthOf(made));
    return made;
  };

function lengthOf(value: unknown): number {
  const plain: unknown = toValue(value);
  return typeof plain === 'string' || Array.isArray(plain) ? plain.length : 0;
}

function createEngine(options: { outputEscape?: typeof print }): Liquid {
  // With `templates`, tags that name files do not read the disk. These tags are disabled, too.
  // Without `locale`, LiquidJS asks the system at each start, which loads ICU. Our own dates do not use it.
  const basics = { templates: {}, ownPropertyOnly: true, lenientIf: true, locale: 'en' };
  const liquid = new Liquid({ ...basics, ...options });
  liquid.registerTag('capture', MarkupCapture);
  for (const name of disabledTags.keys()) delete liquid.tags[name];
  for (const [name, filter] of Object.entries(ownFilters)) liquid.registerFilter(name, filter);
  for (const name of disabledFilters.keys()) liquid.unregisterFilter(name);
  // LiquidJS's `raw` is not a function.
  for (const [name, filter] of Object.entries(liquid.filters))
    if (typeof filter === 'function') liquid.registerFilter(name, counted(filter));
  return liquid;
}

function print(this: { context: Context }, value: unknown): string {
  return (this.context as Rendering).print(value);
}

/** Parses templates to print them. */
export const printing = createEngine({ outputEscape: print });
/** Parses templates to check them, or to get a value without printing it. */
export const checking = createEngine({});
