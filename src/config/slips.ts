import { slot } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { testKeys } from '../rules/fields.ts';
import { type Path, type PlacedText, strings } from '../support/json.ts';
import { closest, tagsIn } from '../support/text.ts';
import type { SinkConfig } from './config.ts';
import { actionsOf, type PlanSource, type WrittenAction } from './plan-source.ts';
import { error, type Fault, warning } from './text/problems.ts';
import { oddCharacter, oddName } from './text/yaml-faults.ts';

/** What is well-formed and probably not meant. `config` is as written. */
export function findSlips(
  config: JsonMap,
  source: PlanSource,
  sinks: ReadonlyMap<string, Pick<SinkConfig, 'connector'>>,
): Fault[] {
  return [
    ...strings(config, [], isInCurlyQuotes).map(({ path }) => warning(path, curlyQuotes)),
    ...strings(config, [], hasOddSpace).flatMap(oddSpaces),
    ...oddKeys(config, []),
    ...actionsOf(source).flatMap((action) => ofMessages(action, sinks)),
    ...domainSlips(config),
    ...unusedCatalogKeys(source),
  ];
}

const isInCurlyQuotes = (text: string): boolean => /^[“”„‘’‚][^“”„]*[“”‘’]$/u.test(text);
const curlyQuotes = `these quotes are a part of the value: YAML knows only ' and "`;

/** Keys whose values name something for a program. In what people read, such a space is typography. */
const namingKeys = new Set([
  'sink',
  'hours',
  'connector',
  'channel',
  'tab',
  'key',
  'to',
  'cc',
  'bcc',
  'owner',
]);

function oddSpaces({ text, path }: PlacedText): Fault[] {
  const key = path.findLast((part) => typeof part === 'string');
  return namingKeys.has(String(key)) ? oddSpace(text, path) : [];
}

const hasOddSpace = (text: string): boolean => oddCharacter.test(text);

function oddSpace(text: string, path: Path, at: Fault['at'] = 'value'): Fault[] {
  const found = oddCharacter.exec(text);
  if (!found) return [];
  const fault = warning(path, `${oddName(found[0])} is in this name; type a plain space, or nothing`, at);
  return [at === 'key' ? fault : { ...fault, inside: { index: found.index, length: 1 } }];
}

function oddKeys(value: Json, path: Path, faults: Fault[] = []): Fault[] {
  if (typeof value !== 'object' || value === null) return faults;
  const keyed = Array.isArray(value) ? [...(value as Json[]).entries()] : Object.entries(value);
  for (const [key, inner] of keyed) {
    if (typeof key === 'string' && hasOddSpace(key)) faults.push(...oddSpace(key, [...path, key], 'key'));
    if (typeof inner === 'object') oddKeys(inner, [...path, key], faults);
  }
  return faults;
}

/** In the templates of an action. */
function ofMessages({ action, path: base }: WrittenAction, sinks: Parameters<typeof findSlips>[2]): Fault[] {
  const name = isMap(action) ? action['sink'] : undefined;
  const media = typeof name === 'string' ? sinks.get(name)?.connector.templates : undefined;
  if (!isMap(action) || !media) return [];
  const faults: Fault[] = [];
  for (const [key, medium] of Object.entries(media))
    for (const { text, path } of strings(action[key] ?? null)) {
      const full = [...base, key, ...path];
      faults.push(...singleBraces({ text, path: full }));
      for (const { index, length, message, isError } of medium?.slips?.(withSlots(text), path, action) ?? [])
        faults.push({ ...(isError ? error : warning)(full, message), inside: { index, length } });
    }
  return faults;
}

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

const singleBrace = /(?<![{$])\{\s*((?:event|events|test|rule|notice|links)\.[\w.]+[^{}]*?)\s*\}(?!\})/g;

const singleBraces = ({ text, path }: PlacedText): Fault[] =>
  Array.from(text.matchAll(singleBrace), ({ 0: found, 1: inner, index }) => ({
    ...warning(path, `one brace is only text: write {{ ${inner} }}`),
    inside: { index, length: found.length },
  }));

/** Not with a comma for a dot: what follows it is an error, which says so. */
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
/** As good as these, and no slips of them. */
const alsoGood = new Set(['mail.com', 'ymail.com', 'email.com', 'localhost']);

/** With more of them than people write by hand, nothing is compared. */
const mostCompared = 200;

/** Domains of addresses that look like another one that is used more, or that are no whole domain. */
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
  return [...uses].flatMap(([domain, all]) => {
    if (alsoGood.has(domain) || providers.includes(domain)) return [];
    const isMore = ([other, { length }]: [string, unknown[]]) => other.includes('.') && length > all.length;
    const meant = domainMeant(domain, [...providers, ...[...uses].filter(isMore).map(([other]) => other)]);
    const hint = meant === null ? '' : `; did you mean "${meant}"?`;
    if (domain.includes('.') && hint === '') return [];
    const what = domain.includes('.') ? 'looks like a slip' : 'is no whole domain, as example.com is';
    return all.map(({ path, inside }) =>
      Object.assign(warning(path, `"${domain}" ${what}${hint}`), { inside }),
    );
  });
}

/** The domain that is one slip away, if there is one. */
function domainMeant(domain: string, others: readonly string[]): string | null {
  if (domain.length < 6) return null;
  // Those of one organization are alike on purpose, also in several countries.
  const isAlien = (other: string) =>
    organization(other) !== organization(domain) && withoutCountry(other) !== withoutCountry(domain);
  if (domain.includes('.')) return closest(domain, others.filter(isAlien), 1);
  const meant = closest(domain, others.map(firstLabel), 1);
  return others.find((other) => firstLabel(other) === meant) ?? null;
}

const organization = (domain: string): string => domain.split('.').slice(-2).join('.');
const withoutCountry = (domain: string): string => domain.replace(/\.[a-z]{2}$/, '');
const firstLabel = (domain: string): string => domain.replace(/\..*/, '');

/** Keys of an entry of the catalog that nothing uses, and that are one slip away from a key which the entry lacks. */
function unusedCatalogKeys({ catalog, rules, unmatched, alerts }: PlanSource): Fault[] {
  const tests = Object.entries(isMap(catalog) ? catalog : {}).filter(([, entry]) => isMap(entry)) as [
    string,
    JsonMap,
  ][];
  const ofKey = Map.groupBy(
    tests.flatMap(([id, entry]) => Object.keys(entry).map((key) => ({ id, entry, key }))),
    ({ key }) => key,
  );
  if (ofKey.size > mostCompared) return [];
  const used = JSON.stringify([rules ?? null, unmatched ?? null, alerts ?? null]);
  const known = testKeys.filter((key) => key !== 'id');
  return [...ofKey].flatMap(([key, all]) => {
    const more = [...ofKey].filter(([, { length }]) => length > all.length).map(([other]) => other);
    const meant = (known as readonly string[]).includes(key) ? null : closest(key, [...known, ...more], 1);
    if (meant === null || new RegExp(`\\b${RegExp.escape(key)}\\b`).test(used)) return [];
    return all
      .filter(({ entry }) => entry[meant] === undefined)
      .map(({ id }) =>
        warning(['catalog', id, key], `nothing uses "${key}"; did you mean "${meant}"?`, 'key'),
      );
  });
}
