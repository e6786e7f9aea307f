import { slot } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { type Path, strings, valueAt } from '../support/json.ts';
import { closest, oddCharacter, tagsIn } from '../support/text.ts';
import { slipsIn } from '../templates/slips.ts';
import { conditionMeant } from '../rules/fields.ts';
import type { SinkConfig } from './sinks.ts';
import { actionsOf, entries, type PlanSource, type WrittenAction } from './plan-source.ts';
import { placeOf } from './secrets/hidden.ts';
import { oddIn } from './text/odd-characters.ts';
import { error, type Fault, warning } from './text/problems.ts';
import { hashHint, oddName } from './text/yaml-faults.ts';

/** Faults in what is well-formed and probably not meant. `config` is as written. */
export function* findSlips(
  config: JsonMap,
  source: PlanSource,
  sinks: ReadonlyMap<string, Pick<SinkConfig, 'connector'>>,
): Generator<Fault> {
  for (const { text, path } of strings(config)) {
    if (/^[“”„‘’‚][^“”„]*[“”‘’]$/u.test(text))
      yield warning(path, `these quotes are a part of the value: YAML knows only ' and "`);
    if (/^-[a-z]\S*(?: -[a-z]\S*)*$/i.test(text))
      yield warning(path, 'an entry of a list begins with "- ", a plain hyphen and a space');
    const odd = oddIn(text, path);
    if (odd) yield { ...warning(path, oddSpaceIn(odd[0])), inside: { index: odd.index, length: 1 } };
    // Around JSON and keys, blanks are not part of the content.
    if (text.endsWith('\n') && placeOf(path).isSecret && !/^\s*(?:\{|-----BEGIN)/.test(text))
      yield warning(
        path,
        'this ends with a line break, which counts as a part of it; write |- in place of |',
      );
    const isPointer = path[0] === 'lookups' && path[2] === 'fields' && path.at(-1) === 'at';
    const pointed = text.replaceAll(/\[(\d+)\]/g, '/$1').replace(/(?<=.)\/$/, '');
    if (isPointer && text.startsWith('/') && pointed !== text)
      yield warning(
        path,
        `between the names stands a / alone, and none at the end; did you mean ${pointed}?`,
      );
    if (/^(?:sinks|lookups)$/.test(String(path[0])) && path[2] === 'url' && !isExactAddress(text))
      yield warning(
        path,
        'a URL has no spaces, no < or > and no &amp;: write it alone, as a browser shows it',
      );
    const compared = comparedAsText(text, path, config['lookups']);
    if (compared !== null) yield warning(path, compared);
    const isPattern = path.at(-1) === 'matches' && path.includes('when');
    const [, pattern, flags = ''] = (isPattern && /^\/([^/]+)\/([gimsuy]*)$/.exec(text)) || [];
    if (pattern !== undefined && !mayHaveSlashes(factAt(path.slice(0, -1)), config))
      yield warning(
        path,
        `the slashes are a part of the pattern: write '${flags.includes('i') ? '(?i)' : ''}${pattern}'`,
      );
    const isZone = path.at(-1) === 'timezone';
    // Elsewhere, as in what a message sends, a key `timezone` is somebody else's.
    const isInDigest = path.at(-2) === 'digest' && path.at(-4) === 'then';
    const isOurs = path.length === 1 || path[0] === 'hours' || isInDigest;
    const slip = isZone && isOurs ? zoneSlip(text) : null;
    if (slip !== null) yield warning(path, `"${text}" ${slip}`);
  }
  yield* oddKeys(config, []);
  const facts = entriesOf(config['lookups']).map(([name, lookup]) => {
    const [[field] = ['name']] = entriesOf(valueAt(lookup, ['fields']));
    return [name, `${name}.${field}`] as const;
  });
  const variables = new Map([...namedVariables, ...facts]);
  for (const action of actionsOf(source)) yield* ofMessages(action, sinks, variables);
  yield* starsOf(config['policies']);
  yield* domainSlips(config);
}

const entriesOf = (value: Json | undefined): [string, Json][] => (isMap(value) ? Object.entries(value) : []);

/**
 * Whether an address over HTTP has nothing that mail programs put beside it, or that HTML writes for `&`. Long ones stand in a
 * block, which ends with a line break.
 */
const isExactAddress = (text: string): boolean =>
  !/^\s*<?https?:/i.test(text) || !/[\s<>]|&amp;/.test(withSlots(text.replace(/\n+$/, '')));

/** The name of what a condition is about. */
const factAt = (path: Path): string =>
  String(path.findLast((part) => typeof part === 'string' && part !== 'not' && part !== 'in'));

/** Where a fact such as `api.score` stands among the look-ups. */
function fieldOf(fact: string): Path {
  const [name = '', key = ''] = fact.split('.');
  return [name, 'fields', key];
}

/** Whether a value may have slashes by itself: an address, or what the catalog writes with some. */
function mayHaveSlashes(fact: string, { lookups = null, catalog = null }: JsonMap): boolean {
  const [, key] = fact.split('.');
  const isOfTest = fact.startsWith('test.') && key !== undefined;
  return isOfTest
    ? strings(catalog, [], (text) => text.includes('/')).some(({ path }) => path[1] === key)
    : valueAt(lookups, [...fieldOf(fact), 'type']) === 'url';
}

/** What is wrong with what a fact is compared with, where that is text, as if it were more; null where nothing is. */
function comparedAsText(text: string, path: Path, lookups: Json | undefined): string | null {
  const isOrder = /^[gl]te?$/.test(String(path.at(-1)));
  const fact = factAt(isOrder ? path.slice(0, -1) : path);
  const field = valueAt(lookups ?? null, fieldOf(fact));
  if (!isMap(field) || (field['type'] ?? 'text') !== 'text') return null;
  const meant = isOrder ? null : conditionMeant(text);
  if (meant !== null) return `this is compared as it stands: write ${meant}`;
  if (!isOrder || !/^\s*-?\d+(\.\d+)?\s*%?\s*$/.test(text)) return null;
  return `${fact} is text, in which "100" is less than "80": write type: number where the look-up names it, and the number without quotes`;
}

const oddSpaceIn = (found: string): string => `${oddName(found)} is in this; type a plain space, or nothing`;

function* oddKeys(value: Json, path: Path): Generator<Fault> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Array.isArray(value) ? entries(value) : Object.entries(value)) {
    const [found] = typeof key === 'string' ? (oddCharacter.exec(key) ?? []) : [];
    if (found !== undefined) yield warning([...path, key], oddSpaceIn(found), 'key');
    if (typeof inner === 'object') yield* oddKeys(inner, [...path, key]);
  }
}

/** Names that IANA has, in any case, and that people take for the time of a place. */
const withoutSummer = new Map([
  ['EST', 'America/New_York'],
  ['MST', 'America/Denver'],
]);

/** What is wrong with a time zone that IANA has; null where nothing is. */
function zoneSlip(name: string): string | null {
  const place = withoutSummer.get(name.toUpperCase());
  if (place !== undefined) return `has no summer time; did you mean ${place}?`;
  const [, sign, hours] = /^Etc\/GMT([+-])([1-9]\d?)$/i.exec(name) ?? [];
  if (sign === undefined) return null;
  const offset = `UTC${sign === '+' ? '-' : '+'}${hours}`;
  return `is ${offset}, as such names have the sign the other way round, and has no summer time; name a place, as Europe/Zagreb`;
}

const mediaOf = ({ action }: WrittenAction, sinks: Parameters<typeof findSlips>[2]) => {
  const name = isMap(action) ? action['sink'] : undefined;
  return typeof name === 'string' ? sinks.get(name)?.connector.templates : undefined;
};

/** Warns of texts that YAML ends at a `#`, as in `Candidate #4711`. `hasHashWord`: whether a word with `#` follows in the file. */
export const cutTexts = (
  source: PlanSource,
  sinks: Parameters<typeof findSlips>[2],
  hasHashWord: (path: Path) => boolean,
): Fault[] =>
  actionsOf(source)
    .flatMap((one) =>
      Object.keys(mediaOf(one, sinks) ?? {}).flatMap((key) =>
        strings((one.action as JsonMap)[key] ?? null, [...one.path, key]),
      ),
    )
    .filter(({ path }) => hasHashWord(path))
    .map(({ path }) => warning(path, `the text ends here${hashHint}`));

/** Slips in the templates of an action: braces, comparisons, dates, and what the connector knows of its own texts. */
function* ofMessages(
  one: WrittenAction,
  sinks: Parameters<typeof findSlips>[2],
  variables: ReadonlyMap<string, string>,
): Generator<Fault> {
  const { action, path: base } = one;
  for (const [key, medium] of Object.entries(mediaOf(one, sinks) ?? {}))
    for (const { text, path } of strings((action as JsonMap)[key] ?? null)) {
      const full = [...base, key, ...path];
      const slips = medium?.slips?.(withSlots(text), path, action as JsonMap) ?? [];
      const bare = withoutBraces(text, variables, medium?.data === true);
      if (bare !== null) {
        const severity = slips.some(({ isError }) => isError) ? error : warning;
        yield severity(full, `without braces this is only text: write {{ ${bare} }}`);
        continue;
      }
      const merged = medium?.data === true ? [] : withSlots(text).matchAll(mergeField);
      for (const { 0: found, 1: inner = '', index } of [...text.matchAll(singleBrace), ...merged]) {
        const variable = eventFields.has(inner) ? `event.${inner}` : inner;
        const what = found.startsWith('{') ? 'one brace' : 'this';
        const message = `${what} is only text: write {{ ${variable} }}`;
        yield { ...warning(full, message), inside: { index, length: found.length } };
      }
      for (const { 0: found, 1: name = '', index } of medium?.data === true ? [] : text.matchAll(alone)) {
        const part = variables.get(name);
        if (part === undefined || new RegExp(`\\b(?:assign|capture|for)\\s+${name}\\b`).test(text)) continue;
        const message = `this prints all of ${name} as JSON; write {{ ${part} }}`;
        yield { ...warning(full, message), inside: { index, length: found.length } };
      }
      for (const { index, length, message } of slipsIn(text))
        yield { ...warning(full, message), inside: { index, length } };
      for (const { index, length, message, isError } of slips)
        yield { ...(isError ? error : warning)(full, message), inside: { index, length } };
    }
}

/** The variables that are there without look-ups, each with a part of it that messages have. */
const namedVariables: readonly (readonly [string, string])[] = [
  ['event', 'event.candidateId'],
  ['events', 'events.size'],
  ['test', 'test.name'],
  ['rule', 'rule.name'],
  ['notice', 'notice.detail'],
  ['links', 'links.candidate'],
];
const alone = /\{\{-?\s*(\w+)\s*-?\}\}/g;
const eventFields = new Set(['candidateId', 'candidateNumericalId', 'testId']);

/** The variable whose name a text is, such as `event.candidateId`; null where it is another text. `isData`: it may be a word of another program. */
function withoutBraces(text: string, variables: ReadonlyMap<string, string>, isData: boolean): string | null {
  const [, name = '', rest] = /^\s*\$?([A-Za-z]\w*)((?:\.\w+)*)\s*$/.exec(text) ?? [];
  if (rest !== '') return rest !== undefined && variables.has(name) ? `${name}${rest}` : null;
  return !isData && eventFields.has(name) ? `event.${name}` : null;
}

/** Warns of recipients of policies with a star, which names nobody: a policy about it holds whatever the rules do. */
const starsOf = (policies: Json | undefined): Fault[] =>
  strings(policies ?? null, ['policies'])
    .filter(({ text, path }) => path.length === 4 && path[3] === 'to' && text.includes('*'))
    .map(({ path }) => warning(path, 'a policy is about one address: the * stands for no other characters'));

const singleBrace =
  /(?<![{$])\{\s*((?:event|events|test|rule|notice|links)\.[\w.]+[^{}]*?|candidateId|candidateNumericalId|testId)\s*\}(?!\})/g;

/** A field as word processors and other templates have it: `«testId»`, `[testId]`, `%testId%`, `<%= event.testId %>`. Not a parameter such as `filter[testId]=7`. */
const mergeField =
  /(?:\u00AB|(?<![\w\]])\[|%|<%=?)\s*((?:event|test)\.\w+|candidateId|candidateNumericalId|testId)\s*(?:\u00BB|\]|%>?)/g;

/** A template with slots in place of its tags and references, each as long as what it stands for. */
function withSlots(text: string): string {
  const parts: string[] = [];
  let end = 0;
  for (const { index, part } of tagsIn(text)) {
    parts.push(text.slice(end, index), slot.repeat(part.length));
    end = index + part.length;
  }
  const masked = parts.join('') + text.slice(end);
  return masked.replaceAll(/\$\{[^}]{0,200}\}/g, (part) => slot.repeat(part.length));
}

/** A mail address. One with a comma for a dot is not matched: another message says so. */
const address = /(?<![\w.+-])[\w.+-]{1,64}@([\w-]{1,63}(?:\.[\w-]{1,63}){0,9})(?![\w.-]|,[\w-])/g;
const addressKeys = new Set(['to', 'cc', 'bcc', 'replyTo', 'from', 'owner', 'channel']);
const providers = [
  'gmail.com',
  'googlemail.com',
  'hotmail.com',
  'outlook.com',
  'yahoo.com',
  'icloud.com',
  'protonmail.com',
];
/** Domains that look like a slip of a provider's and are none. */
const alsoGood = new Set(['mail.com', 'ymail.com', 'email.com', 'localhost']);

/** With more of them than people write by hand, nothing is compared. */
const mostCompared = 200;

/** Warns of domains that look like a slip of one that is used more, or that are no whole domain. */
function domainSlips(config: JsonMap): Fault[] {
  const found = strings(config, [], (text) => text.includes('@')).flatMap(({ text, path }) => {
    const key = path.findLast((part) => typeof part === 'string');
    if (!addressKeys.has(String(key)) && path[0] !== 'catalog') return [];
    return Array.from(text.matchAll(address), ({ 0: whole, 1: domain = '', index }) => {
      const inside = { index: index + whole.length - domain.length, length: domain.length };
      return { domain: domain.toLowerCase(), path, inside };
    });
  });
  const uses = Map.groupBy(found, ({ domain }) => domain);
  if (uses.size > mostCompared) return [];
  const organization = (name: string) => name.split('.').slice(-2).join('.');
  const withoutCountry = (name: string) => name.replace(/\.[a-z]{2}$/, '');
  const firstLabel = (name: string) => name.replace(/\..*/, '');
  return [...uses].flatMap(([domain, all]) => {
    if (alsoGood.has(domain) || providers.includes(domain)) return [];
    const isWhole = domain.includes('.');
    const more = [...uses].filter(([other, { length }]) => other.includes('.') && length > all.length);
    const others = [...providers, ...more.map(([other]) => other)].filter(
      // Domains of one organization are alike on purpose, also in several countries.
      (other) =>
        !isWhole ||
        (organization(other) !== organization(domain) && withoutCountry(other) !== withoutCountry(domain)),
    );
    const alike = domain.length < 6 ? null : closest(domain, isWhole ? others : others.map(firstLabel), 1);
    const meant = alike === null || isWhole ? alike : others.find((other) => firstLabel(other) === alike);
    if (isWhole && meant === null) return [];
    const hint = meant === null ? '' : `; did you mean "${meant}"?`;
    const what = isWhole ? 'looks like a slip' : 'is no whole domain, as example.com is';
    const message = `"${domain}" ${what}${hint}`;
    return all.map(({ path, inside }) => Object.assign(warning(path, message), { inside }));
  });
}
