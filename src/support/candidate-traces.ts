import { masker } from './masker.ts';
import type { Mask } from './secret.ts';

/** How to find a candidate in texts that people and tools wrote. */
export interface Mentions {
  /** Takes the candidate out of a text. */
  readonly without: Mask;
  /**
   * Texts in lower case, in which `%` is any text. Whatever names the candidate has one of them, unless it escapes letters
   * and digits.
   */
  readonly hints: readonly string[];
  /** The spellings to look for in bytes, as those of a file. */
  readonly spellings: readonly string[];
}

/** Has to be valid within a JSON text, too. */
const erased = '(erased)';

/**
 * Makes the mentions of a candidate. An id is found however it is written. Numbers, and ids that could be anything, are found
 * only where the text says that they are a candidate's.
 */
export function mentionsOf(id: string, numbers: readonly number[] = []): Mentions {
  const guid = /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/.exec(id)?.slice(1);
  const ids = guid === undefined ? [id] : [id, guid.join('-')];
  const mask = masker(ids, { mark: erased, whole: true });
  const isDistinct = !/^\d{1,7}$/.test(id) && mask(id) !== id;
  const words = id.toLowerCase().match(/[a-z\d]+/g) ?? [];
  const named = [
    ...numbers.map((number) => inGroups(number, betweenGroups)),
    ...(isDistinct ? [] : [RegExp.escape(id)]),
  ];
  const patterns = named.map(afterTheWord);
  return {
    without: (text) =>
      patterns.reduce(
        (rest, pattern) => rest.replaceAll(pattern, `$1${erased}`),
        isDistinct ? mask(text) : text,
      ),
    hints: [
      guid?.at(-1) ?? words.toSorted((a, b) => b.length - a.length)[0] ?? '',
      ...numbers.flatMap((number) => [String(number), inGroups(number, '%')]),
    ],
    spellings: [
      ...new Set([
        ...ids,
        JSON.stringify(id).slice(1, -1),
        encodeURIComponent(id.toWellFormed()),
        asHtml(id),
      ]),
    ],
  };
}

/**
 * What messages call a candidate before the number, in any of their languages: `Kandidat/in`, `Candidat(e)`. For the
 * flags `iu`.
 */
const candidateWord = String.raw`[ck]and[iy]da\p{L}{0,20}(?:[(/-]-?\p{L}{1,6}\)?)?`;

/** A sign as URLs, JSON and HTML escape it. Of several bytes, a URL has one escape each. */
const escapedSign = String.raw`%[\da-f]{2}|\\+(?:u[\da-f]{4}|[nrt])|&#?\w{1,8};`;

/** What may stand between the word and the value, also if it is escaped. */
const between = String.raw`(?:[^\p{L}\p{N}]|${escapedSign}){1,16}`;

/** Finds what a pattern matches after the word "candidate", or after `#`, unless that begins a character reference of HTML. */
const afterTheWord = (pattern: string): RegExp =>
  new RegExp(
    String.raw`(${candidateWord}(?:[\s_]?numerical)?(?:[\s_]?id)?${between}|(?<![\p{L}\p{N}&])#)${pattern}(?![\p{L}\p{N}])`,
    'giu',
  );

const asHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A candidate's number in a text, such as `20970`, or `20,970` as templates show it. */
export function candidateNumberIn(id: string): number | null {
  const digits = groupedNumber.test(id) ? id.replaceAll(/\D/g, '') : id;
  const number = /^-?\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
  return Number.isSafeInteger(number) ? number : null;
}

/** Every language has its own sign between groups of three digits. */
const groupSign = String.raw`[.,'\u2019\s]`;
const betweenGroups = `(?:${groupSign}|(?:${escapedSign}){1,3})?`;
const groupedNumber = new RegExp(String.raw`^\d{1,3}(${groupSign})\d{3}(?:\1\d{3})*$`, 'u');

/** A number with this between its groups of three digits. */
const inGroups = (number: number, sign: string): string =>
  String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, sign);

const beforeId = new RegExp(
  String.raw`^(?:${candidateWord}\s+)?#?(?=\d[\d.,'\u2019\s]*$|[0-9a-f-]{6,}(?:\u2026|\.{3})?$)`,
  'iu',
);

const inAddress =
  /^https?:\/\/\S*?(?<![\da-f])([\da-f]{32}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?![\da-f])/i;

/**
 * A candidate's id or number as it is stored: a GUID as 32 hex digits, and without what our messages write around it:
 * "Candidate", in any of their languages, or "#" before it, and "…" after the beginning of an id. Of the address of a page, the
 * GUID in it.
 */
export function candidateIdIn(text: string): string {
  const given = text.trim();
  const written = inAddress.exec(given)?.[1] ?? given.replace(beforeId, '').replace(/(?:…|\.{3})$/u, '');
  const digits = written.replaceAll(/[{}()-]/g, '');
  return /^[0-9a-f]{32}$/i.test(digits) || /^[0-9a-f]{8}-[0-9a-f-]{0,27}$/i.test(written)
    ? digits.toLowerCase()
    : written;
}
