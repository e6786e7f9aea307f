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
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? at(beforeLast, j - 2) + 1
          : Infinity;
      row.push(Math.min(replaced, swapped, at(last, j) + 1, at(row, j - 1) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? Infinity;
