/** Markup for a page. Only `html` makes it, so everything else is text. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** A URL for a link: of this site, http(s) or mailto. */
class SafeUrl {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template. `null`, `undefined`, `false` and `''` become nothing. */
export type HtmlValue = Html | SafeUrl | string | number | null | undefined | false | readonly HtmlValue[];

/** Where a value stands in a template. */
type HtmlContext =
  | 'text'
  /** An attribute's value, in quotes. */
  | 'attribute'
  /** The beginning of a URL in an attribute. */
  | 'url'
  /** A later part of a URL that begins with a path of this site. */
  | 'path'
  /** Between attributes, where only our own markup may stand, such as `checked`. */
  | 'tag';

const places = new WeakMap<TemplateStringsArray, readonly HtmlContext[]>();

/**
 * Makes markup from a template with values. Text is escaped, and a URL has to be a SafeUrl. A template with a value where none
 * may stand (a script, a style, an attribute without quotes) throws at its first use.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlValue[]): Html {
  const known = places.getOrInsertComputed(strings, placesIn);
  const text = strings.map((string, at) =>
    at < parts.length ? string + filled(parts[at], known[at]!) : string,
  );
  return new Html(text.join(''));
}

const urlAttributes = new Set(['href', 'src', 'action', 'formaction']);
/** Match the text before a value that stands in an attribute's quotes, in a tag, in a script, style or comment. */
const inQuotes = /<[a-z][^<>]*\s([a-z-]+)="([^"<>]*)$/i;
const inTag = /<[^<>]*$/;
const inCode = /<(script|style)\b[^<>]*>[^<]*$|<!--/i;

function placesIn(strings: TemplateStringsArray): HtmlContext[] {
  let before = '';
  return strings.slice(0, -1).map((string) => {
    before += string;
    const place = placeAfter(before);
    // A value never changes where the next one stands.
    before += place === 'text' ? '' : 'x';
    return place;
  });
}

function placeAfter(before: string): HtmlContext {
  const [, name = '', start = ''] = inQuotes.exec(before) ?? [];
  const code = inCode.exec(before.slice(before.lastIndexOf('</') + 1));
  if (code || /^on|^style$/i.test(name) || (name === '' && /=\s*$/.test(before)))
    throw new Error(`No value may stand here: …${before.slice(-60)}`);
  if (name === '') return inTag.test(before) ? 'tag' : 'text';
  if (!urlAttributes.has(name)) return 'attribute';
  if (start === '') return 'url';
  if (/^\/(?!\/)/.test(start)) return 'path';
  throw new Error(`A URL is of this site from its first character on, or one value: …${before.slice(-60)}`);
}

function filled(part: HtmlValue, place: HtmlContext): string {
  if (part === null || part === undefined || part === false || part === '') return '';
  if (part instanceof Html) {
    if (place === 'text' || place === 'tag') return part.text;
    // A page within the page: srcdoc is an attribute that is markup.
    return escaped(part.text);
  }
  if (part instanceof SafeUrl) return escaped(part.text);
  if (typeof part === 'object') return part.map((one) => filled(one, place)).join('');
  if (place === 'tag') throw new Error('Between attributes only markup of ours may stand.');
  if (place === 'url') throw new Error('A URL from outside has to go through safeUrl.');
  return place === 'path' ? encodeURIComponent(String(part)) : escaped(String(part));
}

const entities: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character]!);

/** Checks a URL for a link. Null if the link could do something else than open a page or a mail. */
export function safeUrl(text: string): SafeUrl | null {
  const url = URL.parse(text, 'http://this-site.invalid');
  if (url === null) return null;
  if (url.host === 'this-site.invalid')
    return new SafeUrl(`${url.pathname}${url.search}${url.hash}`.replace(/^\/+/, '/'));
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? new SafeUrl(url.href) : null;
}

/** Makes a path of this site with a query. Empty values are left out. */
export function pathWith(
  path: string,
  query: { readonly [name: string]: string | number | null | undefined },
): SafeUrl {
  const given = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return new SafeUrl(search === '' ? path : `${path}?${search}`);
}
