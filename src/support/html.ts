/** Markup that may stand in a page as it is. Only `html` and `safeUrl` make it, so whatever else stands there is text. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** A URL that a link may have: of this site, or http(s), or mailto. */
class SafeUrl {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** `null`, `undefined`, `false` and `''` leave nothing. */
export type HtmlValue = Html | SafeUrl | string | number | null | undefined | false | readonly HtmlValue[];

/** What a value is to become, by where it stands in the template. */
type HtmlContext =
  | 'text'
  /** In quotes. */
  | 'attribute'
  /** At the beginning of an attribute that is a URL. */
  | 'url'
  /** Further on in one that begins with a path of this site. */
  | 'path'
  /** Between attributes: only markup of ours, such as `checked`. */
  | 'tag';

const places = new WeakMap<TemplateStringsArray, readonly HtmlContext[]>();

/**
 * Markup with values in it. What a value is depends on where it stands: text is escaped, a URL has to be a checked one, and
 * where nothing from outside may stand (a script, a style, an attribute without quotes) a template is refused at its first use.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlValue[]): Html {
  const known = places.getOrInsertComputed(strings, placesIn);
  const text = strings.map((string, at) =>
    at < parts.length ? string + filled(parts[at], known[at]!) : string,
  );
  return new Html(text.join(''));
}

const urlAttributes = new Set(['href', 'src', 'action', 'formaction']);
/** The end of a template up to a value: in an attribute's quotes, in a tag, or neither. */
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

/** Null where a link to it could do something else than open a page. */
export function safeUrl(text: string): SafeUrl | null {
  const url = URL.parse(text, 'http://this-site.invalid');
  if (url === null) return null;
  if (url.host === 'this-site.invalid')
    return new SafeUrl(`${url.pathname}${url.search}${url.hash}`.replace(/^\/+/, '/'));
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? new SafeUrl(url.href) : null;
}

/** A path of this site with a query. Empty values are left out. */
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
