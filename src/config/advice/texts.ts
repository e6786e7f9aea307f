import { isMap, type Json, type JsonMap } from '../../model.ts';
import { conditionMeant } from '../../rules/fields.ts';
import { type Path, strings, valueAt } from '../../support/json.ts';
import { oddCharacter } from '../../support/text.ts';
import { entries } from '../plan-source.ts';
import { placeOf } from '../secrets/places.ts';
import { type Fault, warning } from '../text/problems.ts';
import { referencesIn, shellVariable, type Values } from '../text/references.ts';
import { hex, oddName } from '../text/odd-signs.ts';
import { withSlots } from './messages.ts';

/**
 * What single texts of a config probably do not mean, as they are written, and as variables and files give them. Beside this,
 * `messages.ts` has what is about messages, `keys.ts` unknown keys, `spellings.ts` what several places spell. What cannot be
 * used is told by the schema of each part, and by `text/yaml-faults.ts`.
 */
interface Advice {
  /** Where it applies: anywhere, if there is none. */
  readonly at?: (path: Path) => boolean;
  readonly looks: RegExp;
  /** What to say; null where it is right after all. */
  readonly say: string | ((found: RegExpExecArray, path: Path, config: JsonMap) => string | null);
  /** Whether to point at what was found alone. */
  readonly isPart?: true;
}

const inQuotes = /^[“”„‘’‚][^“”„]*[“”‘’]$/;
/** Calls carry ASCII alone. A dash or quote of a word processor is in tokens that went through one. */
const notInHeaders = /[^\p{ASCII}]/u;
const foreignSign = (found: string): string => `“${found}” (U+${hex(found)})`;

/** Around JSON and keys, blanks are not part of the content. */
const keepsNoBlanks = /^\s*\{|^-----BEGIN/m;

const ofWritten: readonly Advice[] = [
  { looks: inQuotes, say: `these quotes are a part of the value: YAML knows only ' and "` },
  {
    looks: /^-[a-z]\S*(?: -[a-z]\S*)*$/i,
    say: 'an entry of a list begins with "- ", a plain hyphen and a space',
  },
  { at: isExact, looks: oddCharacter, say: ([found]) => oddSpaceIn(found), isPart: true },
  {
    at: isBearer,
    looks: notInHeaders,
    say: ([found]) =>
      oddCharacter.test(found) ? null : `${foreignSign(found)} is in this, which no token has`,
    isPart: true,
  },
  {
    at: (path) => placeOf(path).isSecret,
    looks: /\n$/,
    say: ({ input }) =>
      keepsNoBlanks.test(input)
        ? null
        : 'this ends with a line break, which counts as a part of it; write |- in place of |',
  },
  {
    at: (path) => path[0] === 'lookups' && path[2] === 'fields' && path.at(-1) === 'at',
    looks: /^\/.*(?:\[\d+\]|\/$)/s,
    say({ input }) {
      const pointed = input.replaceAll(/\[(\d+)\]/g, '/$1').replace(/(?<=.)\/$/, '');
      return `between the names stands a / alone, and none at the end; did you mean ${pointed}?`;
    },
  },
  {
    // What mail programs put beside an address, or HTML writes for `&`. Long ones stand in a block, which ends with a line break.
    at: ([top, , key]) => (top === 'sinks' || top === 'lookups') && key === 'url',
    looks: /^\s*<?https?:/i,
    say: ({ input }) =>
      /[\s<>]|&amp;/.test(withSlots(input.replace(/\n+$/, '')))
        ? 'a URL has no spaces, no < or > and no &amp;: write it alone, as a browser shows it'
        : null,
  },
  {
    at: (path) => comparedBy(path) === 'value',
    looks: /^\s*[<>!≥≤]|\*/,
    say({ input }, path, config) {
      const meant = typeOf(factAt(path), config) === 'text' ? conditionMeant(input) : null;
      return meant === null ? null : `this is compared as it stands: write ${meant}`;
    },
  },
  {
    at: (path) => comparedBy(path) === 'order',
    looks: /^\s*-?\d+(\.\d+)?\s*%?\s*$/,
    say: (_found, path, config) =>
      typeOf(factAt(path), config) === 'text'
        ? `${factAt(path)} is text, in which "100" is less than "80": write type: number where the look-up names it, and the number without quotes`
        : null,
  },
  {
    at: (path) => comparedBy(path) === 'matches',
    looks: /^\/([^/]+)\/([gimsuy]*)$/,
    say: ([, pattern, flags = ''], path, config) =>
      mayHaveSlashes(factAt(path), config)
        ? null
        : `the slashes are a part of the pattern: write '${flags.includes('i') ? '(?i)' : ''}${pattern}'`,
  },
  {
    at: isZone,
    looks: /^(?:EST|MST)$/i,
    say: ([name]) =>
      `"${name}" has no summer time; did you mean ${/^E/i.test(name) ? 'America/New_York' : 'America/Denver'}?`,
  },
  {
    at: isZone,
    looks: /^Etc\/GMT([+-])([1-9]\d?)$/i,
    say: ([name, sign, hours]) =>
      `"${name}" is UTC${sign === '+' ? '-' : '+'}${hours}, as such names have the sign the other way round, and has no summer time; name a place, as Europe/Zagreb`,
  },
  {
    // It names nobody: such a policy holds whatever the rules do.
    at: (path) => path[0] === 'policies' && path[3] === 'to' && path.length === 4,
    looks: /\*/,
    say: 'a policy is about one address: the * stands for no other characters',
  },
];

const oddSpaceIn = (found: string): string => `${oddName(found)} is in this; type a plain space, or nothing`;

/** Warns of what is written, texts and keys. `config` is as written. */
export function textSlips(config: JsonMap): Fault[] {
  const found: Fault[] = [];
  const visit = (value: Json, path: Path): void => {
    if (typeof value === 'string') found.push(...ofText(value, path, config));
    else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Array.isArray(value) ? entries(value) : Object.entries(value)) {
        const below = [...path, key];
        const [odd] = typeof key === 'string' ? (oddCharacter.exec(key) ?? []) : [];
        if (odd !== undefined) found.push(warning(below, oddSpaceIn(odd), 'key'));
        visit(inner, below);
      }
  };
  visit(config, []);
  return found;
}

const ofText = (text: string, path: Path, config: JsonMap): Fault[] =>
  ofWritten.flatMap(({ at, looks, say, isPart }) => {
    const found = looks.exec(text);
    if (!found || at?.(path) === false) return [];
    const message = typeof say === 'string' ? say : say(found, path, config);
    if (message === null) return [];
    const { 0: part, index } = found;
    return [{ ...warning(path, message), ...(isPart && { inside: { index, length: part.length } }) }];
  });

/** What values from a file have that was written on Windows, or for a shell, which would remove the quotes and the comment, and fill in the variables. */
const ofValues = [
  [/[\0\uFFFD]/, 'is not UTF-8 text; save it as UTF-8'],
  [/^\s/, 'begins with a space or a line break, which counts as a part of it'],
  [/\s$/, 'ends with a space or a line break, which counts as a part of it'],
  [
    new RegExp(String.raw`^(["']).*\1$|${inQuotes.source}`, 's'),
    'stands in quotes, which count as a part of it',
  ],
  [/^\S+[ \t]+#[ \t].*$/, 'has a comment behind it, which counts as a part of it'],
  [
    new RegExp(String.raw`\$\{\w+\}|${shellVariable.source}`),
    'names another variable, which nothing replaces: write its value',
  ],
  [/…$|^<[^<>@]+>$/, 'is a placeholder: write what it stands for'],
] as const;

/** Warns of variables and files with such values. */
export function* oddValues(value: Json, values: Values): Generator<Fault> {
  for (const { part, path } of referencesIn(value)) {
    if (part.kind === 'fault') continue;
    const { from, name } = part.reference;
    const resolved = values.resolve(part.reference);
    if ('missing' in resolved || keepsNoBlanks.test(resolved.value)) continue;
    const [unseen] = (isRead(path) ? null : oddCharacter.exec(resolved.value)) ?? [];
    const [foreign] = (isBearer(path) ? notInHeaders.exec(resolved.value) : null) ?? [];
    const what =
      ofValues.find(([odd]) => odd.test(resolved.value))?.[1] ??
      (unseen === undefined ? null : `has ${oddName(unseen)} in it`) ??
      (foreign === undefined ? null : `has ${foreignSign(foreign)} in it, which no token has`);
    const inside = { index: part.index, length: part.length };
    const source = from === 'file' ? `the file ${name}` : name;
    if (what) yield { ...warning(path, `the value of ${source} ${what}`), inside };
  }
}

/** Keys whose values name something for a program. */
const namingKeys = new Set('sink hours connector channel tab key url to cc bcc owner'.split(' '));

/** Whether a value names, opens or is compared with something, so that each of its characters counts. */
function isExact(path: Path): boolean {
  // What tests have is compared with the catalog, where it may be the same.
  const isCompared =
    path[path[0] === 'policies' ? 3 : 2] === 'when' && !path.some((part) => String(part).startsWith('test.'));
  const isNaming = namingKeys.has(String(path.findLast((part) => typeof part === 'string')));
  return isNaming || isCompared || placeOf(path).isSecret;
}

/** Whether a value is a token that calls carry as it stands. */
function isBearer(path: Path): boolean {
  return path.at(-1) === 'bearer' && (path[0] === 'sinks' || path[0] === 'lookups');
}

/** Whether people read a value. There such spaces are typography, as before the colon of a French sentence. */
const isRead = (path: Path): boolean =>
  !isExact(path) && (placeOf(path).isTemplate === true || path.at(-1) === 'from');

/** Whether a value is a zone of ours. Elsewhere, as in what a message sends, such a key is somebody else's. */
function isZone(path: Path): boolean {
  const isInDigest = path.at(-2) === 'digest' && path.at(-4) === 'then';
  return path.at(-1) === 'timezone' && (path.length === 1 || path[0] === 'hours' || isInDigest);
}

/** How a text in a `when` is compared; null elsewhere. */
function comparedBy(path: Path): 'order' | 'matches' | 'value' | null {
  if (!path.includes('when')) return null;
  const last = String(path.at(-1));
  return last === 'matches' ? last : /^[gl]te?$/.test(last) ? 'order' : 'value';
}

/** The fact that a condition is about, such as `api.score`; a text without a dot where it is about something else. */
const factAt = (path: Path): string => String(path.findLast((part) => String(part).includes('.')));

/** The type of a fact that is looked up; undefined for others. */
function typeOf(fact: string, { lookups = null }: JsonMap): Json | undefined {
  const [name = '', key = ''] = fact.split('.');
  const field = valueAt(lookups, [name, 'fields', key]);
  return isMap(field) ? (field['type'] ?? 'text') : undefined;
}

/** Whether a value may have slashes by itself: an address, or what the catalog writes with some. */
function mayHaveSlashes(fact: string, config: JsonMap): boolean {
  const [root, key] = fact.split('.');
  return root === 'test'
    ? strings(config['catalog'] ?? null, [], (text) => text.includes('/')).some(({ path }) => path[1] === key)
    : typeOf(fact, config) === 'url';
}
