/** The candidate that `word` was probably meant to be, or null. `most`: how many slips of the keyboard there may be. */
export function closest(
  word: string,
  candidates: Iterable<string>,
  most = Math.floor(word.length / 3),
): string | null {
  const wanted = word.toLowerCase();
  let best: string | null = null;
  let bestDistance = most + 1;
  for (const candidate of candidates) {
    const other = candidate.toLowerCase();
    const distance =
      endsWithPart(wanted, other) || endsWithPart(other, wanted) ? 0 : editDistance(wanted, other);
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** The part of one of the words that a text is but for its capitals; null if none has one. */
export function partAlike(text: string, words: readonly string[]): string | null {
  const at = (word: string) => word.toLowerCase().indexOf(text.toLowerCase());
  const word = words.find((one) => at(one) >= 0);
  return word === undefined ? null : word.slice(at(word), at(word) + text.length);
}

/** `; did you mean "x"?`, or nothing where no candidate is close. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const meant = closest(word, candidates);
  return meant === null ? '' : `; did you mean "${meant}"?`;
}

/** `; did you mean "x"?`, or else all candidates. */
export function didYouMeanOneOf(word: string, candidates: readonly string[], none: string): string {
  if (candidates.length === 0) return `; ${none}`;
  return didYouMean(word, candidates) || `; expected ${orList(candidates)}`;
}

/** `a, b or c`. */
export function orList(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

/** The first words, and then `2 more`. */
export const firstOnes = (words: readonly string[], most: number): readonly string[] =>
  words.length <= most ? words : [...words.slice(0, most), `${words.length - most} more`];

/** `a, b, c and 2 more`. */
export const firstListed = (words: readonly string[], most: number): string =>
  words.slice(0, most).join(', ') + (words.length > most ? ` and ${words.length - most} more` : '');

/** Whether a part is the last part of a name: `Zagreb` of `Europe/Zagreb`, `testId` of `event.testId`. */
const endsWithPart = (name: string, part: string): boolean =>
  part !== '' && (name.endsWith(`/${part}`) || name.endsWith(`.${part}`));

/** Counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let [beforeLast, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? beforeLast[j - 2]! + 1 : Infinity;
      row.push(Math.min(replaced, swapped, last[j]! + 1, row[j - 1]! + 1));
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length]!;
}

/** `1 error`, `2 errors`, `2 deliveries`. */
export const count = (many: number, word: string): string =>
  `${many} ${many === 1 ? word : `${word.replace(/(?<![aeiou])y$/, 'ie')}s`}`;

// Characters that cannot be seen: controls, line separators, marks that reverse the direction of text, and all that
// Unicode lets a font leave out. With them one candidate id can look like another, or a terminal can be made to act.
const invisible = String.raw`\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb`;
/** What joins or keeps apart letters of Persian or Hindi, and the parts of emoji. */
const joiner = String.raw`[\u200c\u200d\ufe0e\ufe0f]`;
/** All but joiners behind a letter that is not ASCII, or an emoji, and within keycap emoji. */
const butJoiners = String.raw`(?<![^\0-\x7f\p{Cc}${invisible}]${joiner}{1,2}|\ufe0f(?=\u20e3))`;
const invisibleOrControl = new RegExp(String.raw`[\p{Cc}${invisible}]${butJoiners}`, 'gu');
/** A wide space between names, and the selector behind a sign that is written in several ways. */
const ofJapanese = String.raw`(?<=[^\0-\x7f\p{Zs}])(?:\u3000(?=\S)|[\u{e0100}-\u{e01ef}])`;
/** What looks like a space, or like nothing, and comes along from word processors, web pages and mails. Some flags are made of tags (U+E0020 to U+E007F). */
export const oddCharacter = new RegExp(
  String.raw`(?![ \u{e0020}-\u{e007f}]|${ofJapanese})[\p{Zs}\u0085${invisible}]${butJoiners}`,
  'u',
);
const blank = String.raw`(?:\s|${oddCharacter.source})`;
/** The lookbehind keeps the time linear where many blanks are within. */
const blankEdges = new RegExp(`^${blank}+|(?<!${blank})${blank}+$`, 'gu');
/** A text without blanks around it, and without what looks like some. */
export const trimmed = (text: string): string =>
  oddCharacter.test(text) ? text.replaceAll(blankEdges, '') : text.trim();
/** JSON escapes the other controls itself; only its own whitespace is left. */
const invisibleInJson = new RegExp(`[\\u007f-\\u009f${invisible}]`, 'gu');
/** What gives the direction of all that follows, up to the end of the paragraph, where nothing ends it. */
const directing = String.raw`\u202a-\u202e\u2066-\u2069`;
/**
 * In messages, where many scripts and emoji need such characters: only those at the beginning or after ASCII. There
 * only keycap emoji need them (`1`, a variation selector, U+20E3). And what reaches beyond a value, wherever it stands.
 */
const invisibleInMessage = new RegExp(
  `(?<=^|[\\0-\\x7f])[${invisible}]+(?!\\u20e3)|[${directing}]|[^\\P{Cc}\\t\\n\\r]`,
  'gu',
);
const plainLine = /^[ -~]*\n?$/;

const shown = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`;

/** Text from outside made safe for a terminal: invisible characters are shown as \u{…}. */
export const printable = (text: string): string => text.replaceAll(invisibleOrControl, shown);

/** Shows invisible characters as `printable` does, and keeps line breaks. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/** As `printable`, with the lines of a text behind one another. */
export const printableInLine = (text: string): string => text.split('\n').map(printable).join('; ');

/** Shows invisible characters of a message that people read; scripts and emoji stay whole. */
export const visible = (text: string): string =>
  text.replaceAll(invisibleInMessage, (run) => Array.from(run, shown).join(''));

/** Escapes invisible characters in JSON text. Its value stays the same. */
export function visibleJson(json: string): string {
  if (plainLine.test(json)) return json;
  return json.replaceAll(invisibleInJson, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

export const jsonLine = (value: unknown): string => visibleJson(JSON.stringify(value));

/** The tags and outputs of a template, found without parsing it; in time linear to its length. */
export function* tagsIn(text: string): Generator<{ readonly index: number; readonly part: string }> {
  const opening = /\{[{%]/g;
  for (let found = opening.exec(text); found; found = opening.exec(text)) {
    const end = text.indexOf(found[0] === '{{' ? '}}' : '%}', opening.lastIndex);
    if (end < 0) return;
    yield { index: found.index, part: text.slice(found.index, end + 2) };
    opening.lastIndex = end + 2;
  }
}

/** Caches the results of the newest `most` texts. For pure functions whose results are costly or large. */
export function memo<Value>(most: number, make: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    const value = known.getOrInsertComputed(key, make);
    const oldest = known.keys().next();
    if (known.size > most && !oldest.done) known.delete(oldest.value);
    return value;
  };
}

/** Colours are for a terminal, unless `NO_COLOR` or `FORCE_COLOR` says otherwise. */
export function wantsColor(
  stream: { readonly isTTY?: boolean },
  env: { readonly [name: string]: string | undefined },
): boolean {
  if (env['NO_COLOR']) return false;
  const forced = env['FORCE_COLOR'];
  return forced === undefined ? stream.isTTY === true : forced !== '0' && forced !== 'false';
}

/** Replaces U+0000 and half surrogate pairs, which PostgreSQL does not take, not even as escapes in JSON. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** The beginning of what programs for tables take for a formula, where they part cells by `separator` though another sign does. */
const formula = (separator: CsvSeparator): RegExp =>
  new RegExp(String.raw`(?<=(?:^|[${separator}\t\r\n])[\s"]*)[=+\-@\uff0b\uff0d\uff1d\uff20]|^[\t\r]`, 'g');
const formulas = { ',': formula(';'), ';': formula(',') };

/**
 * Makes a line of CSV (RFC 4180), without its end. A text that programs for tables would take for a formula, which may send
 * data away, gets an apostrophe in front. Some of them begin a field after the other separator, tab or a new line, drop quotes
 * and spaces before it, and read full-width signs.
 */
export function csvLine(values: readonly (string | number | null)[], separator: CsvSeparator): string {
  const fields = values.map((value) => {
    const harmless = String(value ?? '').replaceAll(formulas[separator], "'$&");
    const isPlain = !/["\r\n]/.test(harmless) && !harmless.includes(separator);
    return isPlain ? harmless : `"${harmless.replaceAll('"', '""')}"`;
  });
  return fields.join(separator);
}

export type CsvSeparator = ',' | ';';

/**
 * What parts cells for people: programs for tables open a file by the country's signs, where a comma may begin decimals. In
 * Switzerland and Liechtenstein a point begins them, and yet a semicolon parts cells.
 */
export const csvSeparator = (locale: string): CsvSeparator =>
  /-(?:CH|LI)\b/i.test(locale) || new Intl.NumberFormat(locale).format(0.5).includes(',') ? ';' : ',';

/** The byte order mark, by which programs for tables know that a file is UTF-8. */
export const csvMark = '\u{feff}';

/** Lower case for ASCII letters only: it keeps the length, and leaves signs such as U+212A (Kelvin), which is no K. */
export const lowerAscii = (text: string): string =>
  /[^\0-\x7f]/.test(text) ? text.replaceAll(/[A-Z]+/g, (upper) => upper.toLowerCase()) : text.toLowerCase();

export function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** A time (ms) by the clock of a place. */
export const zoned = (time: number, timeZone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone);

/** A time (ms) by a clock: `2026-11-21 18:00:00 +01:00`. */
export function timeText(time: number, timeZone: string): string {
  const there = zoned(time, timeZone);
  const clock = there.toPlainDateTime().toString({ fractionalSecondDigits: 0 }).replace('T', ' ');
  return `${clock} ${timeZone === 'UTC' ? 'UTC' : there.offset}`;
}
