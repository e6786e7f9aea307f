import { hash, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';
import type { Json } from '../model.ts';
import { mapLeaves } from './json.ts';

/** A value that prints as `***` wherever it is printed, serialized or joined to a string. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '***';
  }

  toJSON(): string {
    return '***';
  }

  [inspect.custom](): string {
    return '***';
  }
}

/** Compares in a time that tells nothing of where two texts differ. Digests, as those have one length. */
export function sameText(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

export type Mask = (text: string) => string;

/** The value with its texts masked, wherever they are in it. */
export function maskTexts(value: Json, mask: Mask): Json {
  return mapLeaves(value, (leaf) => (typeof leaf === 'string' ? mask(leaf) : (leaf as Json)));
}

/** Shorter values would star out ordinary words. */
const shortestSecret = 4;
/** Values of switches, which a variable with AUTH or KEY in its name may hold too. */
const switches = new Set(['true', 'false', 'null', 'none']);

/**
 * A function that replaces each of these secrets by `***`, however it is written: plain, in base64 or hex, in capitals,
 * with the escapes of JSON, URLs or HTML. It goes through a text once, however many secrets there are.
 */
export function masker(secrets: Iterable<string>): (text: string) => string {
  const forms = new Forms([...secrets].flatMap(formsOf));
  if (forms.isEmpty) return (text) => text;
  return (text) => {
    const found = forms.findIn(text);
    if (/[\\%&]/.test(text)) found.push(...foundBehindEscapes(text, forms));
    return found.length === 0 ? text : starred(text, found);
  };
}

/** From the first character to before the last one. */
type Range = readonly [start: number, end: number];

/** One way in which a secret may be written. */
interface Form {
  readonly text: string;
  /** It counts in capitals as well, `text` being without any. */
  readonly anyCase: boolean;
  /** It only counts where no character of this kind touches it. */
  readonly alone: RegExp | null;
  /** In base64: how many characters before and after it hold bits of it, too. */
  readonly around: Range;
}

function formsOf(secret: string): Form[] {
  const text = secret.trim();
  if (text.length < shortestSecret || switches.has(text)) return [];
  const written = [
    secret,
    text,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
  ];
  const spelled = [...written, ...written.map((one) => withoutEscapes(one).text), text.replaceAll(' ', '+')];
  const plain = spelled.filter(({ length }) => length >= shortestSecret).map(plainForm);
  return [...plain, ...hexForms(text), ...[0, 1, 2].flatMap((shift) => base64Forms(text, shift))];
}

function plainForm(text: string): Form {
  // Ids and times have every short number somewhere inside, and so have words every short word.
  const alone = /^\d+$/.test(text)
    ? /\d/
    : text.length < 8 && /^[\p{L}\p{N}]+$/u.test(text)
      ? /[\p{L}\p{N}]/u
      : null;
  const anyCase = text.length >= 16 || (text.length >= 8 && /[^a-z]/i.test(text));
  return { text: anyCase ? withoutCapitals(text) : text, anyCase, alone, around: [0, 0] };
}

function hexForms(secret: string): Form[] {
  const text = Buffer.from(secret).toString('hex');
  return text.length < 16 ? [] : [{ text, anyCase: true, alone: null, around: [0, 0] }];
}

/** What a secret always is within the base64 of more text. `shift`: how many bytes it begins after a whole group of three. */
function base64Forms(secret: string, shift: number): Form[] {
  const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(secret)]);
  const whole = Math.floor((bytes.length * 8) / 6);
  const before = shift === 0 ? 0 : shift + 1;
  const after = (bytes.length * 8) % 6 === 0 ? 0 : 1;
  return (['base64', 'base64url'] as const).flatMap((alphabet) => {
    const text = bytes.toString(alphabet).slice(before, whole);
    return text.length < 6 ? [] : [{ text, anyCase: false, alone: null, around: [before, after] as const }];
  });
}

/** Only those of ASCII: a text keeps its length. */
const withoutCapitals = (text: string): string =>
  text.replaceAll(/[A-Z]+/g, (capitals) => capitals.toLowerCase());

/** Forms of at least so many characters are found by so many, the others by four. */
const longWindow = 8;
const shortWindow = 4;

/** Finds forms by a number that is made of their first characters. */
class Forms {
  readonly #long = new Map<number, Form[]>();
  readonly #short = new Map<number, Form[]>();
  /** 1 where a number may be one of those, by its lowest bits: most places in a text are done with by one look. */
  readonly #mayBegin = new Uint8Array(0x10000);

  constructor(forms: readonly Form[]) {
    const unlike = new Map(
      forms.map((form) => [JSON.stringify([form.text, form.anyCase, form.around]), form]),
    );
    for (const form of unlike.values()) {
      const [index, size] =
        form.text.length >= longWindow ? [this.#long, longWindow] : [this.#short, shortWindow];
      let window = 0;
      for (let at = 0; at < size; at += 1) window = moved(window, form.text.charCodeAt(at));
      index.getOrInsertComputed(size === longWindow ? window : window & 0xffff, () => []).push(form);
      this.#mayBegin[window & 0xffff] = 1;
    }
  }

  get isEmpty(): boolean {
    return this.#long.size + this.#short.size === 0;
  }

  findIn(text: string): Range[] {
    const found: Range[] = [];
    const lower = lazily(() => withoutCapitals(text));
    const look = (forms: readonly Form[] | undefined, start: number) => {
      for (const form of forms ?? [])
        if (isAt(form, start, text, lower)) found.push(rangeOf(form, start, text));
    };
    const mayBegin = this.#mayBegin;
    let window = 0;
    for (let at = 0; at < text.length; at += 1) {
      window = moved(window, text.charCodeAt(at));
      if (mayBegin[window & 0xffff] === 0) continue;
      look(this.#long.get(window), at - longWindow + 1);
      look(this.#short.get(window & 0xffff), at - shortWindow + 1);
    }
    return found;
  }
}

/** Each character moves by four bits, so that 32 bits know of the last eight and 16 of the last four; capitals do not count. */
const moved = (window: number, code: number): number =>
  (window << 4) ^ (code >= 65 && code <= 90 ? code | 32 : code);

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function isAt(
  { text: form, anyCase, alone }: Form,
  start: number,
  text: string,
  lower: () => string,
): boolean {
  if (start < 0 || !(anyCase ? lower() : text).startsWith(form, start)) return false;
  return (
    alone === null || !(alone.test(text[start - 1] ?? '') || alone.test(text[start + form.length] ?? ''))
  );
}

function rangeOf({ text: { length }, around: [before, after] }: Form, start: number, text: string): Range {
  const rest =
    after === 0
      ? 0
      : after + /^=*/.exec(text.slice(start + length + after, start + length + after + 2))![0].length;
  return [Math.max(0, start - before), Math.min(start + length + rest, text.length)];
}

/** A run of backslashes, as JSON in JSON has it, is one; so is a percent sign, or an ampersand, that is itself escaped. */
const escapes =
  /\\+(?:u([\da-f]{4})|x([\da-f]{2})|([^]))?|((?:%(?:25)*[89a-f][\da-f])+)|%(?:25)*([0-7][\da-f])|&(?:amp;)*(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|sol));/gi;
const controls: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };
const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  sol: '/',
};

interface Unescaped {
  readonly text: string;
  /** Where each of its characters begins in what it was made of, and where that ends. */
  readonly starts: readonly number[];
}

/** A text with what its escapes stand for. */
function withoutEscapes(text: string): Unescaped {
  const pieces: string[] = [];
  const starts: number[] = [];
  let end = 0;
  for (const match of text.matchAll(escapes)) {
    pieces.push(text.slice(end, match.index), meant(match));
    for (let at = end; at < match.index; at += 1) starts.push(at);
    for (let count = pieces.at(-1)!.length; count > 0; count -= 1) starts.push(match.index);
    end = match.index + match[0].length;
  }
  pieces.push(text.slice(end));
  for (let at = end; at <= text.length; at += 1) starts.push(at);
  return { text: pieces.join(''), starts };
}

function meant([, unicode, byte, escaped, bytes, percent, decimal, hex, name]: RegExpMatchArray): string {
  const code = unicode ?? byte ?? percent ?? hex;
  if (code !== undefined || decimal !== undefined)
    return character(code === undefined ? Number(decimal) : parseInt(code, 16));
  if (name !== undefined) return named[name.toLowerCase()] ?? '';
  if (bytes !== undefined) return Buffer.from(bytes.replaceAll(/%(?:25)*/g, ''), 'hex').toString();
  return escaped === undefined ? '' : (controls[escaped] ?? escaped);
}

const character = (code: number): string => (code > 0x10ffff ? '' : String.fromCodePoint(code));

function foundBehindEscapes(text: string, forms: Forms): Range[] {
  const plain = withoutEscapes(text);
  return forms.findIn(plain.text).map(([start, end]) => {
    const from = plain.starts[start] ?? 0;
    // Several characters may come of one escape: it goes as a whole.
    let after = end;
    while (after < plain.text.length && plain.starts[after] === plain.starts[end - 1]) after += 1;
    return [from, plain.starts[after] ?? text.length];
  });
}

function starred(text: string, found: readonly Range[]): string {
  const shown: string[] = [];
  let end = 0;
  for (const [from, to] of found.toSorted(([a], [b]) => a - b)) {
    // What overlaps goes together, so that no secret stays half visible.
    if (from >= end) shown.push(text.slice(end, from), '***');
    end = Math.max(end, to);
  }
  return shown.join('') + text.slice(end);
}

/** Words that a credential is called by, wherever they are in its name. */
const secretWords = /token|secret|pass|pwd|key|cred|auth|cookie|session|signature|bearer|jwt/i;
/** Those that are too short for that. */
const secretParts = /(?:^|[^a-z])(?:pw|pin|otp|sig|dsn|sas|salt|hmac)(?:[^a-z]|$)/i;

/** Whether what has this name is a credential: a variable, a header, a key of a body or of a URL's query. */
export const namesSecret = (name: string): boolean => secretWords.test(name) || secretParts.test(name);

/** What is secret in a URL that is not so as a whole: its password, what is named like a secret, and what nobody would call anything. */
export function secretsOfUrl(text: string): string[] {
  const url = URL.parse(text);
  if (!url) return [];
  const values = [...url.searchParams].filter(([name]) => namesSecret(name)).map(([, value]) => value);
  return [...urlPasswords(text), ...values, ...partsOf(url).filter(looksRandom)];
}

/** What is secret by itself of a URL that is a secret: who knows the end of a webhook's can call it. */
export function partsOfUrl(text: string): string[] {
  const url = URL.parse(text);
  if (!url) return [];
  const last = url.pathname.split('/').findLast((part) => part !== '') ?? '';
  const isNoWord = last.length >= 12 || (last.length >= shortestPart && /[^a-z]/.test(last));
  const values = [...url.searchParams.values()];
  return [
    ...urlPasswords(text),
    ...values,
    ...partsOf(url).filter(looksRandom),
    ...(isNoWord ? spellings(last) : []),
  ];
}

/** The password inside of a URL, as written and decoded. */
export function urlPasswords(text: string): string[] {
  const password = URL.parse(text)?.password ?? '';
  const written = /:\/\/[^/@:]*:([^/]*)@/.exec(text)?.[1] ?? '';
  return password === '' ? [] : [password, written, decoded(password)].filter((part) => part !== '');
}

const partsOf = (url: URL): string[] =>
  [...url.pathname.split('/'), ...url.searchParams.values()].flatMap(spellings);

const spellings = (part: string): string[] => [part, decoded(part)];

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A shorter part of an address is as likely a word of any text. */
const shortestPart = 8;

/** Letters with digits among them, capitals here and there, or without an end: no word of a language. */
function looksRandom(part: string): boolean {
  if (part.length < shortestPart) return false;
  return part.split(/[^A-Za-z0-9]+/).some((word) => {
    const isMixed = word.length >= 6 && /\d/.test(word) && /[A-Za-z]/.test(word);
    return isMixed || word.length >= 24 || /^[A-Z]{12,}$|[a-z][A-Z].*[a-z][A-Z]/.test(word);
  });
}
