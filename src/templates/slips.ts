import type { Slip } from '../connector.ts';
import { type Status, statuses } from '../model.ts';
import { closest, tagsIn } from '../support/text.ts';

/** What the tags of a template hold and nobody means, although it can be rendered. */

const loopOverEvents = /\bfor\s+(\w+)\s+in\s+events\b/g;
const comparedPath = String.raw`(?<![\w.])(\w+)(?:\[\d+\])?\.(status|testId|candidateNumericalId)`;
const quoted = String.raw`(["'])([^"']*)`;
const comparison = new RegExp(String.raw`${comparedPath}\s*[!=]=\s*${quoted}\3`, 'g');
const dateFormat = /\|\s*date\s*:\s*(["'])([^"'%]+)\1/g;
/** Minutes beside a day or a year and behind no hour, where the month was meant, and the month behind an hour. */
const mixedUp: readonly { readonly pattern: RegExp; readonly message: string }[] = [
  {
    pattern:
      /(?<=\|\s*date\s*:\s*(["'])[^"']*)(?:%-?[deYy]\W{0,2}%M|(?<!%-?[HIkl]\W{0,2})%M\W{0,2}%-?[deYy])/g,
    message: '%M is the minute: the month is %m',
  },
  {
    pattern: /(?<=\|\s*date\s*:\s*(["'])[^"']*)%-?[HI]\W{0,2}%m/g,
    message: '%m is the month: the minute is %M',
  },
];
const caseOf = new RegExp(String.raw`^\{%-?\s*case\s+${comparedPath}\s*-?%\}$`);
const quotedValue = /(["'])([^"']*)\1/g;
/** A value behind `and` or `or` that is compared with nothing. Before it, what the value before was compared with. */
const aloneValue =
  /(?<![\w.[\]])(?:([\w.[\]]+)\s*([!=]=)\s*)?(?:"_*"|[\w.]+)\s+(?:and|or)\s+("_*"|\d+)(?=\s*(?:-?%\}|(?:and|or)\b))/g;
/** Values of an output that are compared with nothing, with `and` or `or` between them. */
const joinedValues =
  /(?<=^\{\{-?\s*)(?:"_*"|[\w.[\]]+)(?:\s+(?:and|or)\s+(?:"_*"|[\w.[\]]+))+(?=\s*(?:\||-?\}\}))/g;
/** No person writes longer ones, for which some patterns would take long. */
const longestTag = 4000;

/** `default` behind a filter that makes something of nothing, such as 0 or the added text alone. */
const lateDefault =
  /\|\s*((?:append|prepend)(?=\s*:\s*"_)|abs|ceil|floor|round|plus|minus|times|divided_by|modulo|at_least|at_most|size|number_of_words|to_integer|sum)\b.*?\|\s*(default)\b/s;
const firstValue = /^\{\{-?\s*([\w.[\]]+)|^\{%-?\s*assign\s+\w+\s*=\s*([\w.[\]]+)/;

/**
 * Comparisons whose result is always the same, values of which only that is printed, dates without a date, and what is to be
 * said of nothing and never is.
 */
export function* slipsInTags(text: string): Generator<Slip> {
  const loops = Array.from(text.matchAll(loopOverEvents), ([, name]) => name);
  const ofEvents = new Set(['event', 'events', ...loops]);
  /** The keys of events that the `case` tags around a place are about; null for one about something else. */
  const cases: (string | null)[] = [];
  for (const { part, index: start } of tagsIn(text)) {
    if (part.length > longestTag) continue;
    const [, tag] = /^\{%-?\s*(\w+)/.exec(part) ?? [];
    if (tag === 'case') {
      const [, name, key = null] = caseOf.exec(part) ?? [];
      cases.push(ofEvents.has(name) ? key : null);
    }
    if (tag === 'endcase') cases.pop();
    const chosenBy = tag === 'when' ? (cases.at(-1) ?? null) : null;
    if (chosenBy !== null)
      for (const { 0: found, 2: value = '', index } of part.matchAll(quotedValue))
        yield* neverEqual(chosenBy, value, { index: start + index, length: found.length });
    for (const { 0: found, 1: name, 2: key = '', 4: value = '', index } of part.matchAll(comparison))
      if (ofEvents.has(name)) yield* neverEqual(key, value, { index: start + index, length: found.length });
    // What stands in quotes is no condition, as in "5 or 6".
    const bare = part.replace(quotedValue, (found) => `"${'_'.repeat(found.length - 2)}"`);
    for (const { 0: found, index } of bare.matchAll(joinedValues)) {
      const { length } = found;
      const first = found.includes(' and ') ? '' : firstOf(part.slice(index, index + length));
      yield { index: start + index, length, message: `this prints only true or false${first}` };
    }
    const late = lateDefault.exec(bare);
    if (late) {
      const [found, filter = '', { length } = ''] = late;
      const [, printed, assigned] = firstValue.exec(bare) ?? [];
      const value = printed ?? assigned ?? '…';
      const message = `this never applies, as \`${filter}\` makes something of nothing, too; write {% if ${value} %}…{% else %}not known{% endif %}`;
      yield { index: start + late.index + found.length - length, length, message };
    }
    if (tag === 'if' || tag === 'elsif' || tag === 'unless')
      for (const { 0: found, 1: path, 2: sign, 3: { length } = '', index } of bare.matchAll(aloneValue)) {
        const at = index + found.length - length;
        const hint = path === undefined ? '' : `; write ${path} ${sign} ${part.slice(at, at + length)}`;
        yield { index: start + at, length, message: `this alone is always true${hint}` };
      }
    for (const { 0: found, 2: format, index } of part.matchAll(dateFormat))
      yield {
        index: start + index,
        length: found.length,
        message: `this prints "${format}" itself: a date format has signs such as %d.%m.%Y`,
      };
    for (const { pattern, message } of mixedUp)
      for (const { 0: found, index } of part.matchAll(pattern))
        yield { index: start + index, length: found.length, message };
  }
}

/** How to print the first of several values that there is, which other languages do by `or`. */
const firstOf = (values: string): string =>
  `; for the first that there is write ${values.replaceAll(/(["'][^"']*["'])|\s+or\s+/g, (_, text?: string) => text ?? ' | default: ')}`;

/** Says why no event has this value there, as text. */
function* neverEqual(key: string, value: string, place: Omit<Slip, 'message'>): Generator<Slip> {
  if (key !== 'status')
    yield { ...place, message: `${key} is a number, and never equal to text: leave the quotes out` };
  else if (!statuses.includes(value as Status)) {
    const meant = closest(value, statuses);
    const hint = meant === null ? `there are ${statuses.join(', ')}` : `did you mean "${meant}"?`;
    yield { ...place, message: `no event has the status "${value}"; ${hint}` };
  }
}
