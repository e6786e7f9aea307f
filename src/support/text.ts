/** The candidate that `word` was probably meant to be, or null. */
export function closest(word: string, candidates: Iterable<string>): string | null {
  const wanted = word.toLowerCase();
  let best: string | null = null;
  let bestDistance = Math.floor(word.length / 3) + 1;
  for (const candidate of candidates) {
    const distance = distanceOf(wanted, candidate.toLowerCase());
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** `; did you mean "x"?`, or nothing where no candidate is near. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const meant = closest(word, candidates);
  return meant === null ? '' : `; did you mean "${meant}"?`;
}

/** `; did you mean "x"?`, or else what there is to choose from. */
export function didYouMeanOneOf(word: string, candidates: readonly string[], none: string): string {
  if (candidates.length === 0) return `; ${none}`;
  return didYouMean(word, candidates) || `; expected ${orList(candidates)}`;
}

/** `a, b or c`. */
export function orList(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

/** A name is at no distance from its last part: `Europe/Zagreb` from `Zagreb`, `event.testId` from `testId`. */
const distanceOf = (a: string, b: string): number =>
  endsWithPart(a, b) || endsWithPart(b, a) ? 0 : editDistance(a, b);

const endsWithPart = (name: string, part: string): boolean =>
  part !== '' && (name.endsWith(`/${part}`) || name.endsWith(`.${part}`));

/** Insertions, deletions, replacements and swaps of neighbours: the ways in which people mistype. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = cell(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? cell(beforeLast, j - 2) + 1
          : Infinity;
      row.push(Math.min(replaced, swapped, cell(last, j) + 1, cell(row, j - 1) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return cell(last, b.length);
}

const cell = (row: readonly number[], index: number): number => row[index] ?? Infinity;

/** `1 error`, `2 errors`; for words whose plural ends in s. */
export const count = (many: number, word: string): string => `${many} ${word}${many === 1 ? '' : 's'}`;

// What nobody sees: controls, line separators, marks that turn writing around, and all that Unicode lets a font leave
// out. With one of them a candidate id looks like another one, and a terminal may be made to do something.
const ignorable = String.raw`\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb`;
const unseen = new RegExp(`[\\p{Cc}${ignorable}]`, 'gu');
/** JSON has an escape for the other controls already, and only whitespace of its own is left of them. */
const unseenInJson = new RegExp(`[\\u007f-\\u009f${ignorable}]`, 'gu');
/**
 * In a message, where many scripts and emoji need such characters: only those that stand at the beginning or after ASCII, where
 * nothing needs them but the keys of a phone (`1`, a selector, a frame).
 */
const unseenInMessage = new RegExp(`(?<=^|[\\0-\\x7f])[${ignorable}]+(?!\\u20e3)|[^\\P{Cc}\\t\\n\\r]`, 'gu');
const plainLine = /^[ -~]*\n?$/;

const shown = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`;

/** Text from outside made safe for a terminal: what cannot be seen in it is shown as \u{…}. */
export const printable = (text: string): string => text.replaceAll(unseen, shown);

/** The same for a message that people read; its scripts and emoji stay whole. */
export const visible = (text: string): string =>
  text.replaceAll(unseenInMessage, (run) => Array.from(run, shown).join(''));

/** The same for finished JSON: the value stays what it was. */
export function visibleJson(json: string): string {
  if (plainLine.test(json)) return json;
  return json.replaceAll(unseenInJson, (character) =>
    Array.from({ length: character.length }, (_, at) => escapeUnit(character.charCodeAt(at))).join(''),
  );
}

export const jsonLine = (value: unknown): string => visibleJson(JSON.stringify(value));

/** Line breaks and tabs may stay: they are in stacks. */
const shortEscapes: Partial<Record<string, string>> = { '\\b': '8', '\\f': 'c', '\\r': 'd' };

/** Finished JSON whose texts say `\u{…}` where something unseen was, for whoever prints them as they are. */
export function printableJson(json: string): string {
  return json
    .replaceAll(unseenInJson, (character) => `\\${shown(character)}`)
    .replaceAll(/\\(?:u(00[01][\da-f])|[^u])/g, (escape, code?: string) => {
      const control = code === undefined ? shortEscapes[escape] : Number.parseInt(code, 16).toString(16);
      return control === undefined ? escape : `\\\\u{${control}}`;
    });
}

const escapeUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;
