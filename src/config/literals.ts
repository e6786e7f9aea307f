import type { JsonMap } from '../model.ts';
import { type Path, strings } from '../support/json.ts';
import { type FoundSecret, looksRandom, namesSecret, secretsOfUrl } from '../support/secret.ts';
import { isCredentialKey, placeOf } from './text/hidden.ts';
import { actionsOf, type PlanSource } from './plan-source.ts';
import { hasReference } from './text/references.ts';

/** Credentials that are written into actions and into the addresses of sinks, where no schema says that they are some. */
export function literalSecrets({ sinks }: JsonMap, source: PlanSource): FoundSecret[] {
  const addresses = strings(sinks ?? null, ['sinks']).filter(({ path }) => path.at(-1) === 'url');
  const texts = actionsOf(source).flatMap(({ action, path }) => strings(action, path));
  return [...addresses, ...texts].filter(({ text }) => !hasReference(text)).flatMap(foundIn);
}

function foundIn({ text, path }: { text: string; path: Path }): FoundSecret[] {
  const inUrl = inAddress(text, path.at(-1) === 'path');
  const values = inUrl.length > 0 ? inUrl : isCredential(text, path) ? [withoutScheme(text)] : [];
  return values
    .filter((value) => !/\{\{|\{%|%7B(?:%7B|%25)/.test(value))
    .map((value) => ({ path, value, inUrl: inUrl.length > 0 }));
}

/** Other keys, such as `key` in `project: { key: HIRING }`, tell nothing by themselves. */
function isCredential(text: string, path: Path): boolean {
  const name = String(path.findLast((key) => typeof key === 'string'));
  return placeOf(path).isSecret && namesSecret(name) && (isCredentialKey(name) || looksRandom(text));
}

/** Of a header. */
const withoutScheme = (text: string): string => text.replace(/^(?:bearer|basic|token|bot|apikey)\s+/i, '');

/** Whoever knows the address of a hook may call it. Of other addresses, only parameters tell by their names. */
function inAddress(text: string, isPath: boolean): string[] {
  if (!/^https?:|^[/?]/i.test(text)) return [];
  const url = URL.parse(text, isPath ? 'https://sink.invalid' : undefined);
  if (url === null) return [];
  if (/hook|\/services\//i.test(`${url.host}${url.pathname}`)) return secretsOfUrl(url.href);
  return [...url.searchParams].filter(([name]) => namesSecret(name)).map(([, value]) => value);
}
