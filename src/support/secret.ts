import { hash, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';
import { isMap, type Json } from '../model.ts';
import { mapLeaves, type Path } from './json.ts';
import { urlsOfHosts } from './store-url.ts';

/** A value that prints as `***` wherever it is printed, serialized or joined to a string. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '***';
  }

  toJSON(): string {
    return '***';
  }

  [inspect.custom](): string {
    return '***';
  }
}

/** Compares in constant time. Digests, because both sides need the same length. */
export function sameText(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

export type Mask = (text: string) => string;

/** Masks all texts in a value. Returns the same value if there is nothing to mask, as mostly. */
export function maskTexts(value: Json, mask: Mask): Json {
  if (!hasMasked(value, mask)) return value;
  return mapLeaves(value, (leaf) => (typeof leaf === 'string' ? mask(leaf) : (leaf as Json)));
}

function hasMasked(value: Json, mask: Mask): boolean {
  if (typeof value === 'string') return mask(value) !== value;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((inner) => hasMasked(inner, mask));
}

/**
 * Makes JSON of a value with all texts masked. Most have no secret: if the JSON has no escapes, and the mask changes nothing
 * in it, there is none in its texts either.
 */
export function maskedJson(value: Json, mask: Mask): string {
  const json = JSON.stringify(value);
  return !json.includes('\\') && mask(json) === json ? json : JSON.stringify(maskTexts(value, mask));
}

/** "Password" in the languages of our messages, where it has no `pass` in it. */
export const passwordWords = String.raw`kennwort|wachtwoord|lozink|contrase[n\u00f1]a|has[l\u0142]o(?![a-z])|senha`;

/** Words that mark a credential, anywhere in its name. */
const secretWords = new RegExp(
  `token|secret|pass|pwd|${passwordWords}|key|cred|auth(?!or(?!i))|cookie|session|signature|bearer|jwt`,
  'i',
);
/** Short words that count only as a separate part of the name. */
const secretParts = /(?:^|[^a-z])(?:pw|pin|otp|sig|dsn|sas|salt|hmac)(?:[^a-z]|$)/i;

/** Whether a variable, header, body key or query parameter of this name holds a credential. */
export const namesSecret = (name: string): boolean => secretWords.test(name) || secretParts.test(name);

/** A secret, and the parts of it that are secret by themselves: of a URL, a service account's JSON, or a header. */
export const withParts = (secret: string): string[] => [
  secret,
  ...partsOfUrl(secret),
  ...credentialsIn(secret),
  ...credentialsBehindKind(secret),
];

const scheme = /^(?:bearer|basic|token|bot|apikey)\s+/i;

/** What a header has behind its scheme, as in `Bearer …`. */
export const withoutScheme = (header: string): string => header.replace(scheme, '');

/** What stands behind a word that says of which kind a secret is: it alone is what a tool may quote. Of a login, its parts, too. */
function credentialsBehindKind(secret: string): string[] {
  const text = secret.trim();
  if (scheme.test(text)) {
    const ofHeader = withoutScheme(text);
    return [ofHeader, ...(/^basic\s/i.test(text) ? secretsOfLogin(ofHeader) : [])];
  }
  const [, ofOther = ''] = /^[a-z][\w-]*\s+(\S+)$/i.exec(text) ?? [];
  if (looksRandom(ofOther)) return [ofOther];
  // Of a key to sign with: base64, without padding as well.
  return /^whsec_./.test(text) ? [text.slice('whsec_'.length).replace(/=+$/, '')] : [];
}

/**
 * What is secret of a login of HTTP's Basic scheme, `user:password` in base64: the password, and a user that looks like the key
 * of an API, or has no password.
 */
function secretsOfLogin(login: string): string[] {
  const decoded = Buffer.from(login, 'base64').toString('utf8');
  const [, user = '', password = ''] = /^([^:]*):(.*)$/s.exec(decoded) ?? [];
  return [...(looksRandom(user) ? [user] : []), password || user];
}

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

/** The secret parts of any URL: its password, parameters named like secrets, and random-looking parts. */
export function secretsOfUrl(text: string): string[] {
  const url = urlOf(text);
  if (!url) return [];
  return [...urlPasswords(text), ...secretParameters(url), ...secretPartsOf(url)];
}

/** The least length of a key of Azure Functions, so that no code of a job is taken for one. */
export const shortestFunctionKey = 20;

/** The values of parameters that are named like secrets, or `code`, by which Azure Functions get their key. */
export const secretParameters = ({ searchParams }: URL): string[] =>
  [...searchParams].flatMap(([name, value]) =>
    namesSecret(name) || (name === 'code' && value.length >= shortestFunctionKey && looksRandom(value))
      ? [value]
      : [],
  );

/** The parts of a secret URL that are secret by themselves: the end of it is often enough to call it. */
export function partsOfUrl(text: string): string[] {
  const url = urlOf(text);
  if (!url) return [];
  const last = url.pathname.split('/').findLast((part) => part !== '') ?? '';
  const isNoWord = last.length >= 12 || (last.length >= shortestPart && /[^a-z]/.test(last));
  const values = [...url.searchParams.values()];
  return [...urlPasswords(text), ...values, ...secretPartsOf(url), ...(isNoWord ? spellings(last) : [])];
}

/** Parses a URL, with its first host if a database has several. */
const urlOf = (text: string): URL | null => URL.parse(urlsOfHosts(text)[0] ?? '');

/**
 * What stands before a URL's password, the password as it was meant, and the rest. A `/` in it that is not encoded ends the
 * login for a parser; who wrote it meant all up to the last `@`. The user may be an address of mail. Without a password, two of
 * them are empty.
 */
export function aroundPassword(text: string): [before: string, password: string, rest: string] {
  const [before = text] = /^.*?:\/\/[^:/]*:/s.exec(text) ?? [];
  const end = Math.max(text.lastIndexOf('@'), before.length);
  return [before, text.slice(before.length, end), text.slice(end)];
}

/** The password in a URL, as written and decoded, and a user that looks like the key of an API. */
export function urlPasswords(text: string): string[] {
  const { protocol = '', username = '', password = '' } = urlOf(text) ?? {};
  const [, written] = aroundPassword(text);
  const keys = protocol.startsWith('http') && looksRandom(username) ? [username] : [];
  return password === ''
    ? keys
    : [...keys, password, written, percentDecoded(password)].filter((part) => part !== '');
}

/** The parts of a URL that may be secret. The path of a file is not. */
const partsOf = ({ protocol, pathname, searchParams }: URL): string[] =>
  [...(/^(?:sqlite|file):$/.test(protocol) ? [] : pathname.split('/')), ...searchParams.values()].flatMap(
    spellings,
  );

/** The parts that look random, and what ends `/hooks/catch/12345678/3abc1de`: whoever knows these few letters may call it. */
const secretPartsOf = (url: URL): string[] => [
  ...partsOf(url).filter(looksRandom),
  ...(/\/catch\/\d+\/(?:silent\/)?([^/]+)/.exec(url.pathname)?.slice(1) ?? []),
];

const spellings = (part: string): string[] => [part, percentDecoded(part)];

/** Decodes percent-encoding; returns the text as it is if that is malformed. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A shorter part of a URL is likely an ordinary word. */
const shortestPart = 8;

/** Letters mixed with digits, mixed case, or very long: not a word of a language. */
export function looksRandom(part: string): boolean {
  if (part.length < shortestPart) return false;
  return part.split(/[^A-Za-z0-9]+/).some((word) => {
    const isMixed = word.length >= 6 && /\d/.test(word) && /[A-Za-z]/.test(word);
    return isMixed || word.length >= 24 || /^[A-Z]{12,}$|[a-z][A-Z].*[a-z][A-Z]/.test(word);
  });
}

/** A credential in a config. */
export interface FoundSecret {
  readonly path: Path;
  readonly value: string;
  /** Whether the value is a part of a URL. */
  readonly inUrl: boolean;
}

/** The credentials in parsed values: every Secret, and the passwords of URLs. */
export function* findSecrets(value: unknown, path: Path = []): Generator<FoundSecret> {
  if (value instanceof Secret) yield { path, value: value.reveal(), inUrl: false };
  else if (typeof value === 'string' || value instanceof URL)
    for (const password of urlPasswords(String(value))) yield { path, value: password, inUrl: true };
  else if (Array.isArray(value))
    for (const [index, entry] of value.entries()) yield* findSecrets(entry, [...path, index]);
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) yield* findSecrets(inner, [...path, key]);
}
