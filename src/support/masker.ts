import { type Mask, withParts } from './secret.ts';
import { lazily, lowerAscii } from './text.ts';

/** Masking shorter values would hide ordinary words. */
const shortestSecret = 4;
/** A variable with AUTH or KEY in its name may also be a switch. */
const switches = new Set(['true', 'false', 'null', 'none']);

/**
 * A function that replaces each of these secrets, and the secret parts of each, by a mark, however it is written: plain,
 * in base64 or hex, in upper case, with the escapes of JSON, URLs or HTML. It reads a text once, however many secrets
 * there are. `whole`: one that begins or ends with a digit is another one where there is a further digit.
 */
export function masker(secrets: Iterable<string>, { mark = '***', whole = false } = {}): Mask {
  const forms = new Forms([...secrets].flatMap(withParts).flatMap((secret) => formsOf(secret, whole)));
  if (forms.isEmpty) return (text) => text;
  return (text) => {
    const found = forms.findIn(text);
    for (const escaping of mayBeEscaped.test(text) ? escapings : [])
      if (escaping.hint.test(text)) found.push(...findEscaped(text, forms, escaping));
    return found.length === 0 ? text : maskRanges(text, found, mark);
  };
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
  /** In base64: how many characters before and after it also hold bits of the secret. */
  readonly around: Range;
}

function formsOf(secret: string, whole: boolean): Form[] {
  const text = secret.trim();
  if (text.length < shortestSecret || switches.has(text)) return [];
  const written = [
    secret,
    text,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
  ];
  const decoded = [...written, ...written.map((one) => decode(one, commonEscapes).text)];
  // In forms, a plus is a space.
  const spelled = decoded.flatMap((one) => [one, one.replaceAll('+', ' '), one.replaceAll(' ', '+')]);
  const plain = spelled.filter(({ length }) => length >= shortestSecret).map((one) => plainForm(one, whole));
  return [...plain, ...byteForms(text), ...[0, 1, 2].flatMap((shift) => base64Forms(text, shift))];
}

function plainForm(text: string, whole: boolean): Form {
  // Short numbers occur inside ids and times, and short words inside other words.
  const alone = (whole ? /^\d|\d$/ : /^\d+$/).test(text)
    ? /\d/
    : text.length < 8 && /^[\p{L}\p{N}]+$/u.test(text)
      ? /[\p{L}\p{N}]/u
      : null;
  const anyCase = text.length >= 16 || (text.length >= 8 && /[^a-z]/i.test(text));
  return { text: anyCase ? lowerAscii(text) : text, anyCase, alone, around: [0, 0] };
}

/** In hex, and as a list of numbers, as JSON has of a Buffer. */
function byteForms(secret: string): Form[] {
  const bytes = Buffer.from(secret);
  if (bytes.length < 8) return [];
  const form = (text: string, alone: RegExp | null): Form => ({ text, anyCase: true, alone, around: [0, 0] });
  const lists = [',', ', '].map((separator) => form([...bytes].join(separator), /\d/));
  return [form(bytes.toString('hex'), null), ...lists];
}

/** The part of a longer text's base64 that the secret alone decides. `shift`: its offset in a group of 3 bytes. */
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

/** Longer forms are indexed by their first eight characters, the others by four. */
const longWindow = 8;
const shortWindow = 4;

/** Finds forms by a rolling hash of their first characters. */
class Forms {
  readonly #long = new Map<number, Form[]>();
  readonly #short = new Map<number, Form[]>();
  /** By the lowest bits of the hash: 1 where a form may begin. Rules out most positions with one lookup. */
  readonly #mayBegin = new Uint8Array(0x10000);

  constructor(forms: readonly Form[]) {
    const unique = new Map(
      forms.map((form) => [JSON.stringify([form.text, form.anyCase, form.around]), form]),
    );
    for (const form of unique.values()) {
      const [index, size] =
        form.text.length >= longWindow ? [this.#long, longWindow] : [this.#short, shortWindow];
      let window = 0;
      for (let at = 0; at < size; at += 1) window = rolled(window, form.text.charCodeAt(at));
      index.getOrInsertComputed(size === longWindow ? window : window & 0xffff, () => []).push(form);
      this.#mayBegin[window & 0xffff] = 1;
    }
  }

  get isEmpty(): boolean {
    return this.#long.size + this.#short.size === 0;
  }

  findIn(text: string): Range[] {
    const found: Range[] = [];
    const lower = lazily(() => lowerAscii(text));
    const look = (forms: readonly Form[] | undefined, start: number) => {
      for (const form of forms ?? [])
        if (isAt(form, start, text, lower)) found.push(rangeOf(form, start, text));
    };
    const mayBegin = this.#mayBegin;
    let window = 0;
    for (let at = 0; at < text.length; at += 1) {
      window = rolled(window, text.charCodeAt(at));
      if (mayBegin[window & 0xffff] === 0) continue;
      look(this.#long.get(window), at - longWindow + 1);
      look(this.#short.get(window & 0xffff), at - shortWindow + 1);
    }
    return found;
  }
}

/** Shifts by four bits a character: 32 bits cover the last eight, the lower 16 the last four. Ignores case. */
const rolled = (window: number, code: number): number =>
  (window << 4) ^ (code >= 65 && code <= 90 ? code | 32 : code);

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

/** A way in which a tool may escape a text. */
interface Escaping {
  /** Cheap, and true of every text that has such escapes. */
  readonly hint: RegExp;
  readonly pattern: RegExp;
  readonly meaningOf: (this: void, match: RegExpMatchArray) => string;
}

/**
 * Those of JSON, JavaScript, C, URLs and HTML. A run of backslashes (JSON in JSON) counts as one. So does a percent sign or
 * ampersand that is itself escaped.
 */
const commonEscapes: Escaping = {
  hint: /[\\%&]/,
  pattern:
    /((?:\\+[0-3][0-7]{2})+)|\\+(?:u([\da-f]{4})|u\{([\da-f]{1,6})\}|x([\da-f]{2})|([^]))?|((?:%(?:25)*[89a-f][\da-f])+)|%(?:25)*(?:u([\da-f]{4})|([0-7][\da-f]))|&(?:amp;)*(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi,
  meaningOf: meaningOfCommon,
};

/** Apart from the others: `=ab` is also what `key=abcd` has. */
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
  hint: /(?:\n|\\n)[\w+/]/,
  pattern: /(?:(?<!\\)(?:\\+r)?\\+n|\r?\n)[ \t]*/g,
  meaningOf: () => '',
};

/** Most texts have none of these, so that they are read no further. */
const mayBeEscaped = /[\\%&=\n]/;
const escapings = [commonEscapes, quotedPrintable, wrapped];

const controls: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };
/** Of ASCII. Whatever is not named here stays as it is. */
const named: ReadonlyMap<string, string> = new Map(
  'amp& lt< gt> quot" apos\' sol/ bsol\\ plus+ equals= commat@ dollar$ num# percnt% ast* excl! quest? colon: semi; comma, period. lowbar_ grave` lpar( rpar) lsqb[ lbrack[ rsqb] rbrack] lcub{ lbrace{ rcub} rbrace} vert| verbar| hat^'
    .split(' ')
    .map((entry) => [entry.slice(0, -1), entry.slice(-1)]),
);

interface Unescaped {
  readonly text: string;
  /** Where each of its characters begins in the original text; the last entry is where that text ends. */
  readonly starts: readonly number[];
}

/** A text with its escapes decoded. */
function decode(text: string, { pattern, meaningOf }: Escaping): Unescaped {
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

function meaningOfCommon(match: RegExpMatchArray): string {
  const [whole, octal, u4, braced, byte, escaped, bytes, percentU, percent, decimal, hex, name] = match;
  const code = u4 ?? braced ?? byte ?? percentU ?? percent ?? hex;
  if (code !== undefined || decimal !== undefined)
    return character(code === undefined ? Number(decimal) : parseInt(code, 16));
  if (name !== undefined) return named.get(name.toLowerCase()) ?? whole;
  if (octal !== undefined)
    return Buffer.from(octal.match(/[0-7]{3}/g)!.map((digits) => parseInt(digits, 8))).toString();
  if (bytes !== undefined) return Buffer.from(bytes.replaceAll(/%(?:25)*/g, ''), 'hex').toString();
  return escaped === undefined ? '' : (controls[escaped] ?? escaped);
}

const character = (code: number): string => (code > 0x10ffff ? '' : String.fromCodePoint(code));

function findEscaped(text: string, forms: Forms, escaping: Escaping): Range[] {
  const plain = decode(text, escaping);
  return forms.findIn(plain.text).map(([start, end]) => {
    const from = plain.starts[start] ?? 0;
    // One escape may stand for several characters: all of it is masked.
    let after = end;
    while (after < plain.text.length && plain.starts[after] === plain.starts[end - 1]) after += 1;
    return [from, plain.starts[after] ?? text.length];
  });
}

function maskRanges(text: string, found: readonly Range[], mark: string): string {
  const shown: string[] = [];
  let end = 0;
  for (const [from, to] of found.toSorted(([a], [b]) => a - b)) {
    // Overlapping ranges become one, so that no secret stays half visible.
    if (from >= end) shown.push(text.slice(end, from), mark);
    end = Math.max(end, to);
  }
  return shown.join('') + text.slice(end);
}
