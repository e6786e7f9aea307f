import { isMap, type JsonMap } from '../../model.ts';
import { testKeys } from '../../rules/fields.ts';
import { strings } from '../../support/json.ts';
import { closest } from '../../support/text.ts';
import type { PlanSource } from '../plan-source.ts';
import { type Fault, warning } from '../text/problems.ts';

/** What several places of a config name, and one of them spells otherwise: domains of mail, and keys of the catalog. */

/** With more of them than people write by hand, nothing is compared. */
const mostCompared = 200;

/** The names that stand at more places than this one. */
const usedMore = (places: ReadonlyMap<string, readonly unknown[]>, name: string): string[] =>
  [...places.keys()].filter((other) => places.get(other)!.length > places.get(name)!.length);

/** A mail address, perhaps with letters beyond English. One with a comma for a dot is not matched: another message says so. */
const address =
  /(?<![\p{L}\p{M}\w.+-])[\p{L}\p{M}\w.+-]{1,64}@([\p{L}\p{M}\w-]{1,63}(?:\.[\p{L}\p{M}\w-]{1,63}){0,9})(?![\p{L}\p{M}\w.-]|,[\p{L}\p{M}\w-])/gu;
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

/** Warns of domains that look like a slip of one that is used more, or that are no whole domain. */
export function domainSlips(config: JsonMap): Fault[] {
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
    const more = usedMore(uses, domain).filter((other) => other.includes('.'));
    // Domains of one organization are alike on purpose, also in several countries.
    const isOther = (name: string) =>
      organization(name) !== organization(domain) && withoutCountry(name) !== withoutCountry(domain);
    const others = [...providers, ...more].filter((other) => !isWhole || isOther(other));
    const alike = domain.length < 6 ? null : closest(domain, isWhole ? others : others.map(firstLabel), 1);
    const meant = alike === null || isWhole ? alike : others.find((other) => firstLabel(other) === alike);
    if (isWhole && meant === null) return [];
    const hint = meant === null ? '' : `; did you mean "${meant}"?`;
    const what = isWhole ? 'looks like a slip' : 'is no whole domain, as example.com is';
    const message = `"${domain}" ${what}${hint}`;
    return all.map(({ path, inside }) => Object.assign(warning(path, message), { inside }));
  });
}

/** Warns of catalog keys that nothing uses and that are one slip away from a key that the entry lacks. */
export function catalogKeySlips({ catalog, rules, unmatched, alerts }: PlanSource): Fault[] {
  const found = Object.entries(isMap(catalog) ? catalog : {}).flatMap(([id, entry]) =>
    isMap(entry) ? Object.keys(entry).map((key) => ({ id, entry, key })) : [],
  );
  const ofKey = Map.groupBy(found, ({ key }) => key);
  if (ofKey.size > mostCompared) return [];
  const used = JSON.stringify([rules ?? null, unmatched ?? null, alerts ?? null]);
  const known: readonly string[] = testKeys.filter((key) => key !== 'id');
  return [...ofKey].flatMap(([key, all]) => {
    const meant = known.includes(key) ? null : closest(key, [...known, ...usedMore(ofKey, key)], 1);
    if (meant === null || new RegExp(`\\b${RegExp.escape(key)}\\b`).test(used)) return [];
    const message = `nothing uses "${key}"; did you mean "${meant}"?`;
    return all
      .filter(({ entry }) => entry[meant] === undefined)
      .map(({ id }) => warning(['catalog', id, key], message, 'key'));
  });
}
