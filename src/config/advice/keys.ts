import { eventFieldNames } from '../../rules/fields.ts';
import type { Path } from '../../support/json.ts';
import { closest, didYouMeanOneOf } from '../../support/text.ts';
import { lacksSpace } from '../text/yaml-faults.ts';

/** The message for an unknown key: where it belongs, or what was probably meant, or which keys there are. */
export function unknownKey(key: string, known: readonly string[], path: Path): string {
  const place = path.join('/');
  const name = key.includes('.') ? dotted : key;
  const [, , moved] =
    misplaced.find(([where, keys]) => where.test(place) && keys.split(' ').includes(name)) ?? [];
  const elsewhere = moved ?? spaceMissing(key) ?? ofTest(key, known) ?? ofLookup(key, known);
  const meant = elsewhere === null ? didYouMeanOneOf(key, known, 'there are no keys here') : `: ${elsewhere}`;
  return `unknown key "${key}"${meant}`;
}

/** The advice for a text such as `status:Completed`; null for other texts. */
export const spaceMissing = (text: string): string | null =>
  lacksSpace.test(text) ? 'a space is missing after its ":"' : null;

/** The advice for `test_name` or `testName` among conditions, which mean a key of the catalog; null for other keys. */
function ofTest(key: string, known: readonly string[]): string | null {
  const [, name] = /^test(?:[_-]|(?=[A-Z]))(\w+)$/.exec(key) ?? [];
  if (name === undefined || !known.includes('test.<key>') || closest(key, known) !== null) return null;
  return `a key of the catalog is written with a dot, as test.${name.toLowerCase()}`;
}

/** The advice for `candidate: { score: … }` among conditions, where that is a look-up; null for other keys. */
function ofLookup(key: string, known: readonly string[]): string | null {
  const fact = known.find((one) => one.startsWith(`${key}.`));
  return fact === undefined ? null : `what is looked up is written with a dot, as ${fact}`;
}

/** Stands for any key such as `test.team` or `candidate.score`. */
const dotted = '*.*';
const ofDigest = 'every at by max';
const ofActions = 'sink text channel to subject tab row body';
const ofConditions = /(^|\/)when(\/|$)/;

/** Where keys stand and do not belong, the keys, and where they do, as the end of a sentence. The first that fits is told. */
const misplaced: readonly (readonly [where: RegExp, keys: string, belong: string])[] = [
  [ofConditions, 'and &&', 'write "all" for conditions that must all hold'],
  [ofConditions, 'or ||', 'write "any" for conditions of which one must hold'],
  [ofConditions, 'min max between', 'write gte for at least, lte for at most'],
  [ofConditions, 'above over greaterThan below under lessThan', 'write gt for more than, lt for less than'],
  [
    ofConditions,
    'contains includes startsWith endsWith',
    "write matches, as in matches: Design, or matches: '^Design' for how it begins",
  ],
  [ofConditions, 'eq equals is', 'write the value alone, as status: Completed'],
  [ofConditions, 'ne isNot notIn', 'write not, as in not: [Completed, Canceled]'],
  [
    ofConditions,
    'test',
    'name the test by its id, as testId: 1234567, or by a key of its catalog entry, as test.name: Backend',
  ],
  [
    /^rules\/\d+$/,
    `${eventFieldNames.join(' ')} all any not ${dotted}`,
    'it is a condition: indent it below "when"',
  ],
  [/^(alerts|summary)\//, `digest ${ofDigest}`, 'alerts are not collected'],
  [
    /^(rules\/\d+|alerts\/\w+|summary)$/,
    ofActions,
    'it belongs to an action: write "then:" above it, and "- " before the first key of the action',
  ],
  [/^(rules\/\d+|sinks\/[^/]+)$/, `hours digest ${ofActions}`, 'it belongs to an action under "then"'],
  [/^rules\/\d+\/then\/\d+$/, 'final silent when', 'it belongs to the rule, beside "then"'],
  [/^(rules\/\d+\/then|unmatched)\/\d+$/, ofDigest, 'it belongs under "digest"'],
  [
    /\/then\/\d+$|^unmatched\/\d+$/,
    'retry rate concurrency timeout onUnknown from',
    'it belongs to the sink',
  ],
];
