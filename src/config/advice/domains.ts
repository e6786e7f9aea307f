import type { JsonMap } from '../../model.ts';
import { strings } from '../../support/json.ts';
import { closest } from '../../support/text.ts';
import { type Fault, warning } from '../text/problems.ts';

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
