import { isMap, type Json, type JsonMap } from '../../model.ts';
import { type Path, strings, valueAt } from '../../support/json.ts';
import {
  type FoundSecret,
  looksRandom,
  namesSecret,
  secretParameters,
  secretsOfUrl,
  urlPasswords,
  withoutScheme,
} from '../../support/secret.ts';
import { actionsOf, type PlanSource } from '../plan-source.ts';
import { type Fault, warning } from '../text/problems.ts';
import { hasReference, looksLikePath, otherReference, partsOf } from '../text/references.ts';
import { credentialsNamedIn, isCredentialKey } from './names.ts';
import { placeOf } from './places.ts';

/**
 * Finds credentials in actions, the catalog and URLs, where no schema marks them. `read`: replaces references in a text by their
 * values; without it, texts that have some are left out.
 */
export function literalSecrets(
  config: JsonMap,
  source: PlanSource,
  read = (text: string): string => text,
): FoundSecret[] {
  const addresses = ['sinks', 'lookups']
    .flatMap((section) => strings(config[section] ?? null, [section]))
    .filter(({ path }) => path.at(-1) === 'url');
  const ofTests = strings(config['catalog'] ?? null, ['catalog']);
  const texts = actionsOf(source).flatMap(({ action, path }) => strings(action, path));
  return [...addresses, ...ofTests, ...texts].flatMap(({ text: written, path }) => {
    const text = read(written);
    if (hasReference(text)) return [];
    const inCatalog = path[0] === 'catalog';
    // Whatever its key is in the catalog. The name of a test, which has blanks or neither `/` nor `?`, may be about hooks, too.
    const isPath = inCatalog ? /^\S*[/?]\S*$/.test(text) : path.at(-1) === 'path';
    const ofUrl = inAddress(text, isPath);
    const inUrl = ofUrl.length > 0;
    // Other keys, such as `key`, are what people make of them.
    if (!inUrl && inCatalog && !isCredentialKey(String(path.at(-1)))) return [];
    return (inUrl ? ofUrl : inText(text, path)).flatMap(besideTags).map((value) => ({ path, value, inUrl }));
  });
}

const tag = /\{\{.*?\}\}|\{%.*?%\}|%7B(?:%7B|%25).*?(?:%7D|%25)%7D/gs;

/** Splits a credential with tags into the parts that look random, those quoted in tags included. */
function besideTags(value: string): string[] {
  const tags = value.match(tag);
  if (!tags) return [value];
  const quoted = tags.flatMap((one) =>
    Array.from(one.matchAll(/'([^']*)'|"([^"]*)"/g), ([, a, b]) => a ?? b ?? ''),
  );
  return [...value.split(tag), ...quoted].map((part) => part.trim()).filter(looksRandom);
}

/** The credentials that are written into the actions of a stored config. */
export const writtenSecrets = (source: Json | null): string[] =>
  isMap(source ?? undefined) ? literalSecrets({}, source as PlanSource).map(({ value }) => value) : [];

/** Finds credentials in a text: the whole of it by its key, or values in a body that is JSON, XML or a form. */
function inText(text: string, path: Path): string[] {
  const name = String(path.findLast((key) => typeof key === 'string'));
  const place = placeOf(path);
  const isNamed = path.at(-2) === 'headers' || place.inSecret || namesSecret(name);
  // Other keys, such as `key` in `project: { key: HIRING }`, tell nothing by themselves.
  if (place.isSecret && isNamed && (isCredentialKey(name) || looksRandom(text))) return [text];
  if (path.at(-1) !== 'body') return [];
  return credentialsNamedIn(text);
}

/** Finds credentials in a URL: all random parts of a hook's, else passwords and parameters that are named like one. */
function inAddress(text: string, isPath: boolean): string[] {
  if (!isPath && !/^https?:/i.test(text)) return [];
  const url = URL.parse(text, isPath ? 'https://sink.invalid' : undefined);
  if (url === null) return [];
  if (/hook|\/services\/|\/bot\d+:|\/key\//i.test(`${url.host}${url.pathname}`))
    return secretsOfUrl(url.href);
  return [...urlPasswords(text), ...secretParameters(url)];
}

/**
 * Warns of credentials in the file itself, which end up in backups and version control. `config` is as written, with the
 * catalog's table in place of its name, if it `hasTable`.
 */
export function checkLiteralSecrets(
  config: Json,
  secrets: readonly FoundSecret[],
  hasTable: boolean,
): Fault[] {
  return secrets.flatMap(({ path, value, inUrl }) => {
    // Any header of a sink may hold a credential, so all are masked. Only those named like one deserve a warning.
    if (path.at(-2) === 'headers' && !namesSecret(String(path.at(-1)))) return [];
    // A schema may have split the text into parts.
    const ends = path.map((_, index) => path.slice(0, path.length - index));
    const writtenAt = ends.find((end) => typeof valueAt(config, end) === 'string');
    if (!writtenAt) return [];
    const text = valueAt(config, writtenAt) as string;
    if (hasReference(text)) {
      const bare = withoutScheme(value);
      const isFallback = partsOf(text).some((part) => {
        const fallback = part.kind === 'reference' ? part.reference.fallback : null;
        // Or a whole address with the credential in it.
        return (
          fallback === value || fallback === bare || (fallback?.includes('://') && fallback.includes(value))
        );
      });
      // A path is no credential, and neither is `adc`.
      const isCredential = bare.length > 3 && !looksLikePath(bare);
      const message =
        'the variable is not set, and the default that is written here stands in for this credential';
      return isFallback && isCredential ? [warning(writtenAt, message)] : [];
    }
    if (!inUrl && looksLikePath(text)) return [];
    const what = inUrl || text !== value ? 'the credential in this URL' : 'this credential';
    if (hasTable && path[0] === 'catalog') {
      const message = `${what} is written in the table, where no variable can stand; catalog entries in the config take it from \${NAME}`;
      return [warning(writtenAt, message)];
    }
    const message = otherReference.test(text)
      ? 'this is taken as it stands here; a variable is written as ${NAME}'
      : `${what} is written in the file; take it from \${NAME} or \${file:/path} instead`;
    return [warning(writtenAt, message)];
  });
}
