import { filters as builtIn, toValue } from 'liquidjs';
import type { Liquid } from 'liquidjs';
import type { Rendering } from './engine.ts';
import { dateFilters } from './dates.ts';
import { Markup } from './markup.ts';

type Filter = Extract<Parameters<Liquid['registerFilter']>[1], (...args: never[]) => unknown>;

/** Filters of LiquidJS that are not here, and why. */
export const withheldFilters: ReadonlyMap<string, string> = new Map([
  ['sample', 'a repeated attempt would differ from the first'],
  ...['where_exp', 'reject_exp', 'group_by_exp', 'has_exp', 'find_exp', 'find_index_exp'].map(
    (name) => [name, 'its expression could not be checked before an event comes'] as const,
  ),
]);

const text = (value: unknown): string => {
  const plain = toValue(value);
  if (plain === null || plain === undefined) return '';
  return typeof plain === 'object' ? JSON.stringify(plain) : String(plain);
};

const builtInFilter = (name: string): Filter => (builtIn as Record<string, Filter>)[name] as Filter;

/** A built-in filter that throws on some texts; those come from strangers and must not make a message fail. */
const onWellFormed = (name: string): Filter =>
  function (value) {
    return builtInFilter(name).call(this, text(value).toWellFormed());
  };

const orUnchanged = (name: string): Filter =>
  function (value) {
    try {
      return builtInFilter(name).call(this, value);
    } catch {
      return value;
    }
  };

/** Line breaks as HTML: the text around them is escaped here, for `<br />` itself must not be. */
const newlineToBr: Filter = function (value) {
  if (value instanceof Markup) return new Markup(value.toString().replaceAll(/\r?\n/g, '<br />'));
  const lines = text(value).split(/\r?\n/);
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
  newline_to_br: newlineToBr,
};
