import { Secret } from '../connector.ts';
import { isMap, type Json } from '../model.ts';
import type { Path } from '../support/json.ts';
import { masker as maskerOf, namesSecret, partsOfUrl, urlPasswords } from '../support/secret.ts';

/** A function that replaces each of these secrets, and what is secret inside of them, by `***`. */
export const masker = (secrets: Iterable<string>): ((text: string) => string) =>
  maskerOf([...secrets].flatMap((secret) => within(secret)));

/** A secret and what else is secret in it: the parts of a URL, the keys of a service account's JSON. */
const within = (secret: string): string[] => [secret, ...partsOfUrl(secret), ...credentialsIn(secret)];

function credentialsIn(text: string): string[] {
  if (!text.trimStart().startsWith('{')) return [];
  try {
    const parsed = JSON.parse(text) as Json;
    if (!isMap(parsed)) return [];
    return Object.entries(parsed).flatMap(([key, value]) =>
      namesSecret(key) && !/_id$|_ur[il]$/i.test(key) && typeof value === 'string' ? [value] : [],
    );
  } catch {
    return [];
  }
}

/** True for the path of a file, which some credentials may be given as. */
export const looksLikePath = (text: string): boolean => /^\.{0,2}\/[\w./-]+$/.test(text);

/** A credential among a config's values. */
export interface FoundSecret {
  readonly path: Path;
  readonly value: string;
  /** It is a part of a URL and not the whole value. */
  readonly inUrl: boolean;
}

/** The credentials among parsed values: what is a Secret, and what is a URL with a password. */
export function* findSecrets(value: unknown, path: Path = []): Generator<FoundSecret> {
  if (value instanceof Secret) yield { path, value: value.reveal(), inUrl: false };
  else if (typeof value === 'string' || value instanceof URL)
    for (const password of urlPasswords(String(value))) yield { path, value: password, inUrl: true };
  else if (Array.isArray(value))
    for (const [index, entry] of value.entries()) yield* findSecrets(entry, [...path, index]);
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) yield* findSecrets(inner, [...path, key]);
}
