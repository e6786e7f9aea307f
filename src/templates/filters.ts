import { filters as builtIn, toValue } from 'liquidjs';
import type { Rendering } from './engine.ts';
import { dateFilters } from './dates.ts';
import type { Filter } from './limits.ts';
import { Markup } from './markup.ts';
import { textOf } from './text.ts';

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
export const filters: { readonly [name: string]: Filter } = {
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
