import type { Json } from '../model.ts';
import { type Mask, withParts } from './secret.ts';
import { lazily } from './text.ts';

/** Masking shorter values would hide ordinary words. */
const shortestSecret = 4;
/** A name of so many letters is masked, too, where it stands alone. */
const shortestName = 2;
/** A secret that is cut off counts from so many characters on: fewer may be the beginning of something else. */
const shortestCut = 16;
/** Values that are no secrets: a variable with AUTH or KEY in its name may be a switch. */
const switches = new Set(['true', 'false', 'null', 'none']);

/**
 * Makes a function that replaces each of these secrets, and the secret parts of each, by a mark: plain, in upper or lower
 * case, with the escapes of JSON, URLs or HTML, in one line, in base64, split over the lines of a mail, and cut off. `whole`:
 * finds none that is cut off, and none that a further digit makes another number. `shortest`: the least number of characters;
 * below four, only words count.
 */
export function masker(
  secrets: Iterable<string>,
  { mark = '***', whole = false, shortest = shortestSecret } = {},
): Mask {
  const parts = distinct([...secrets].flatMap(withParts));
  const all = parts.flatMap((secret) => formsOf(secret, whole, shortest));
  const forms = [...new Map(all.map((form) => [`${form.anyCase} ${form.text}`, form])).values()];
  if (forms.length === 0) return (text) => text;
  const mayHave = mayHaveOneOf(forms.map(({ head }) => head));
  return (text) => {
    const isEscaped = mayBeEscaped.test(text);
    // Almost all texts end here, such as lines of the log.
    if (!isEscaped && !mayHave(text)) return text;
    const found = findIn(text, forms);
    for (const escaping of isEscaped ? escapings : [])
      if (escaping.hint.test(text) && mayHave(decoded(text, escaping)))
        found.push(...findEscaped(text, forms, escaping));
    if (found.length === 0) return text;
    const shown: string[] = [];
    let end = 0;
    for (const [from, to] of found.toSorted(([a], [b]) => a - b)) {
      // Overlapping ranges become one, so that no secret stays half visible.
      if (from >= end) shown.push(text.slice(end, from), mark);
      end = Math.max(end, to);
    }
    return shown.join('') + text.slice(end);
  };
}

/** A text of more words is no name, and its words are those of any text. */
const mostWordsOfName = 5;

/** A text, and where it may be a name, its parts: a message may print the first name alone. Not `van`, `de` and the like. */
function partsOfName(text: string): string[] {
  const words = text.split(/[\s,]+/).filter((word) => /^(?:[\p{Lu}\p{Lo}]|\p{L}{4})/u.test(word));
  return words.length > mostWordsOfName ? [text] : [text, ...words];
}

/** Makes a mask for values that say who a candidate is. Of those, texts and numbers count. Some tools write names in capitals. */
export function personalMasker(values: readonly Json[], mark: string): Mask {
  const texts = values.filter((value) => typeof value === 'string' || typeof value === 'number').map(String);
  const spelled = texts.flatMap(partsOfName).flatMap((text) => [text, text.toUpperCase()]);
  return masker(spelled, { mark, whole: true, shortest: shortestName });
}

/** `end` is exclusive. */
type Range = readonly [start: number, end: number];

/** One way in which a secret may be written. */
interface Form {
  readonly text: string;
  /** Case is ignored; `text` is in lower case. */
  readonly anyCase: boolean;
  /** Matches only where no character of this kind is next to it. */
  readonly alone: RegExp | null;
  /** What to look for: all of `text`, or its beginning if it may be cut off. */
  readonly head: string;
}

function formsOf(secret: string, whole: boolean, shortest: number): Form[] {
  const trimmed = secret.trim();
  if (trimmed.length < shortest || switches.has(trimmed)) return [];
  const isShort = trimmed.length < shortestSecret;
  if (isShort && !/^\p{L}+$/u.test(trimmed)) return [];
  // Most secrets look the same in all of these.
  const written = distinct([
    secret,
    trimmed,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
    // A header and a subject have it in one line, and an address without its breaks.
    ...[/\p{Cc}/gu, /\p{Cc}+/gu, /\s*\p{Cc}\s*/gu, /\s+/g].map((breaks) => trimmed.replace(breaks, ' ')),
    trimmed.replace(/\p{Cc}/gu, ''),
  ]);
  const all = distinct([...written, ...written.map((one) => decoded(one, commonEscapes))]);
  // In URL-encoded forms, a plus is a space, and several spaces may become one.
  const spelled = all.flatMap((one) => {
    const read = one.replaceAll('+', ' ');
    return [one, read, read.replace(/\s+/g, ' '), one.replaceAll(' ', '+')];
  });
  const plain = distinct(spelled).filter(({ length }) => length >= shortest);
  return [
    ...plain.map((text) => {
      // Short numbers occur inside ids and times, and short words inside other words.
      const alone = (whole ? /^\d|\d$/ : /^\d+$/).test(text)
        ? /\d/
        : text.length < 8 && /^[\p{L}\p{N}]+$/u.test(text)
          ? /[\p{L}\p{N}]/u
          : null;
      const anyCase = text.length >= 16 || (text.length >= 8 && /[^a-z]/i.test(text));
      // An address has its host in front; its secret parts are forms, too.
      const mayBeCut = !whole && text.length > shortestCut && !/^\w+:\/\//.test(text);
      const form = anyCase ? lowered(text) : text;
      return { text: form, anyCase, alone, head: mayBeCut ? form.slice(0, shortestCut) : form };
    }),
    ...(isShort ? [] : base64Forms(trimmed)),
  ];
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];

/** A secret in base64 and base64url, with and without padding. */
const base64Forms = (secret: string): Form[] =>
  [Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('base64url')].flatMap((text) =>
    [text, text.replace(/=+$/, '')].map((one) => ({
      text: one,
      anyCase: false,
      alone: null,
      head: one,
    })),
  );

/**
 * Makes a fast test that is false only for a text with none of these heads, in any case. It looks at four characters at a
 * time, one time in each `step`, and compares them with all fours of characters in the heads: one of the first `step` fours of
 * each head is always met.
 */
function mayHaveOneOf(heads: readonly string[]): (text: string) => boolean {
  const step = Math.min(...heads.map(({ length }) => length)) - 3;
  if (step < 1) return () => true;
  const bits = new Uint8Array(2 ** 13);
  for (const head of heads) {
    for (let at = 0; at < step; at += 1) {
      const number = fourAt(head, at);
      bits[number >> 3]! |= 1 << (number & 7);
    }
  }
  return (text) => {
    for (let at = 0; at + 4 <= text.length; at += step) {
      const number = fourAt(text, at);
      if ((bits[number >> 3]! & (1 << (number & 7))) !== 0) return true;
    }
    return false;
  };
}

/** A number of 16 bits for four characters, the same for letters of either case. */
const fourAt = (text: string, at: number): number =>
  ((folded(text, at) << 12) ^
    (folded(text, at + 1) << 8) ^
    (folded(text, at + 2) << 4) ^
    folded(text, at + 3)) &
  0xffff;

/** Other letters than those of ASCII count as one. */
function folded(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < 0x80 ? code | 0x20 : 0x80;
}

/** Lower case that keeps the length: U+0130, whose lower case is two characters, stays. */
const lowered = (text: string): string => text.replaceAll(/[^\u0130]+/g, (rest) => rest.toLowerCase());

function findIn(text: string, forms: readonly Form[]): Range[] {
  const lower = lazily(() => lowered(text));
  const found: Range[] = [];
  for (const { text: form, anyCase, alone, head } of forms) {
    const within = anyCase ? lower() : text;
    for (let start = within.indexOf(head); start >= 0; start = within.indexOf(head, start + 1)) {
      const end = endOf(form, within, start);
      if (end === null || alone?.test(text[start - 1] ?? '') || alone?.test(text[end] ?? '')) continue;
      found.push([start, end]);
    }
  }
  return found;
}

/**
 * Where the secret that begins at `start` ends; null if it is another text. It may be cut off, with "…" or within a
 * word.
 */
function endOf(form: string, within: string, start: number): number | null {
  let end = start;
  while (end < within.length && within[end] === form[end - start]) end += 1;
  const length = end - start;
  if (length === form.length || /^(?:…|\.{3})/.test(within.slice(end, end + 3))) return end;
  return !inWord.test(within[end] ?? '') && inWord.test(form[length - 1]!) && inWord.test(form[length]!)
    ? end
    : null;
}

/** A character of a word, or of base64. */
const inWord = /[\w+/=-]/;

/** A way in which a tool may escape a text. */
interface Escaping {
  /** A cheap test that matches every text with such escapes. */
  readonly hint: RegExp;
  readonly pattern: RegExp;
  readonly meaningOf: (this: void, match: RegExpMatchArray) => string;
}

/**
 * The escapes of JSON, URLs, HTML and printed objects. A run of backslashes (JSON in JSON) counts as one, and so does a
 * percent sign or ampersand that is itself escaped. What a backslash escapes may be escaped (JSON in HTML).
 */
const commonEscapes: Escaping = {
  hint: /[\\%&]|<br/i,
  pattern:
    /\\+(?:u([\da-f]{4})|u\{([\da-f]{1,6})\}|(?!&(?:amp;)*(?:#x?[\da-f]+|amp|lt|gt|quot|apos);)([^]))?|<br ?\/?>|((?:%(?:25)*[89a-f][\da-f])+)|%(?:25)*([0-7][\da-f])|&(?:amp;)*(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos));/gi,
  meaningOf([whole, u4, braced, escaped, bytes, percent, decimal, hex, name]) {
    const code = u4 ?? braced ?? percent ?? hex;
    if (code !== undefined) return character(parseInt(code, 16));
    if (decimal !== undefined) return character(Number(decimal));
    if (name !== undefined) return named[name.toLowerCase()] ?? whole;
    if (bytes !== undefined) return Buffer.from(bytes.replaceAll(/%(?:25)*/g, ''), 'hex').toString();
    if (escaped !== undefined) return controls[escaped] ?? escaped;
    return whole.startsWith('<') ? '\n' : '';
  },
};

/** Separate from the others, as `key=abcd` has `=ab`, too. */
const quotedPrintable: Escaping = {
  hint: /=(?:[\dA-F]{2}|\r?\n|\\+[rn])/,
  pattern: /((?:=[\dA-F]{2})+)|=(?:(?:\\+r)?\\+n|\r?\n)/g,
  meaningOf: ([, bytes]) =>
    bytes === undefined ? '' : Buffer.from(bytes.replaceAll('=', ''), 'hex').toString(),
};

/**
 * Base64 in lines, as in mails and PEM, of whatever length but the last. Looked for at the beginning of a run of
 * backslashes only: from each of them, the time would grow with the square of the run.
 */
const wrapped: Escaping = {
  hint: /(?:\n|\\n)[ \t]*[\w+/]/,
  pattern: /(?:(?<!\\)(?:\\+r)?\\+n|\r?\n)[ \t]*/g,
  meaningOf: () => '',
};

/** Characters of escapes. Most texts have none, and are read no further. */
const mayBeEscaped = /[\\%&=\n<]/;
const escapings = [commonEscapes, quotedPrintable, wrapped];

const controls: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };
const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

interface DecodedText {
  readonly text: string;
  /** Where each of its characters begins in the original text; the last entry is where that text ends. */
  readonly starts: readonly number[];
}

/** Decodes the escapes of a text. */
const decoded = (text: string, { pattern, meaningOf }: Escaping): string =>
  text.replaceAll(pattern, (...match: string[]) => meaningOf(match as RegExpMatchArray));

/** Decodes the escapes of a text, and tells where each character comes from. */
function decode(text: string, { pattern, meaningOf }: Escaping): DecodedText {
  const pieces: string[] = [];
  const starts: number[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    pieces.push(text.slice(end, match.index), meaningOf(match));
    for (let at = end; at < match.index; at += 1) starts.push(at);
    for (let count = pieces.at(-1)!.length; count > 0; count -= 1) starts.push(match.index);
    end = match.index + match[0].length;
  }
  pieces.push(text.slice(end));
  for (let at = end; at <= text.length; at += 1) starts.push(at);
  return { text: pieces.join(''), starts };
}

const character = (code: number): string => (code > 0x10ffff ? '' : String.fromCodePoint(code));

function findEscaped(text: string, forms: readonly Form[], escaping: Escaping): Range[] {
  const plain = decode(text, escaping);
  return findIn(plain.text, forms).map(([start, end]) => {
    const from = plain.starts[start] ?? 0;
    // One escape may stand for several characters: all of it is masked.
    let after = end;
    while (after < plain.text.length && plain.starts[after] === plain.starts[end - 1]) after += 1;
    return [from, plain.starts[after] ?? text.length];
  });
}
