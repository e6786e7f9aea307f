import { looksRandom, namesSecret, passwordWords, shortestFunctionKey } from '../../support/secret.ts';

/** Knows credentials in a text by the names that stand before them, and by the forms of well-known ones. */

const credentialWords = `(?:token|secret|passw|${passwordWords}|credential|auth(?!or(?!i))|bearer|cookie|(?:private|api|access|routing|integration|signing)[-_]?key|(?<=[?&])code(?==[^&\\s"']{${shortestFunctionKey}}))`;
export const credentialKey = new RegExp(credentialWords, 'i');

/** A credential behind its key, where the colon between them is missing. */
export const credentialWithoutColon = new RegExp(String.raw`^\S{0,99}${credentialWords}\S{0,99}\s+\S`, 'i');

/** Whether a key is certainly a credential's, unlike one such as `key`. */
export const isCredentialKey = (name: string): boolean => credentialKey.test(name);

/** A credential's key with its value. Bounded, because a line may be a whole JSON file, which must not be scanned repeatedly. */
export const underCredentialKey = new RegExp(
  String.raw`(${credentialWords}\w{0,99}[\\"']{0,2}(?:\s*(?:[:=\uff1a](?!=)[|>&*!?%@]?\s*\\?|\s(?=["']))|(?:\s[^<>]{0,99})?>))("[^"]*"?|'[^']*'?|\[[^\]]*\]?|(?:\$\{[^}]*\}?|[^\s,{}[\]"'])+)`,
  'i',
);

/** Keys in PEM, and tokens of well-known services, wherever they stand. */
export const knownToken =
  /-----BEGIN |\b(?:xox[abeprs]-|xapp-|gh[oprsu]_|github_pat_|glpat-|AKIA|AIza|ya29\.|sk_live_)[\w.-]{8}|\bBearer [\w.~+/-]{16}/;

/** The credentials in a body that is JSON, XML or a form. In a form they must look random, too: its names are shorter and vaguer. */
export function credentialsNamedIn(text: string): string[] {
  const ofForm = Array.from(text.matchAll(named), ([, key = '', value = '']) =>
    namesSecret(key) && looksRandom(value) ? [value] : [],
  );
  const inTree = Array.from(text.matchAll(whole), ([, key, value, element = '', inner = '']) =>
    isCredentialKey(key ?? element) ? [value ?? inner.trim()] : [],
  );
  return [...new Set([...ofForm, ...inTree].flat())];
}

const named = /([\w-]{1,100})["']?\s{0,9}(?:[:=]|(?:\s[^<>]{0,100})?>)\s{0,9}["']?([^"'&\s,{}<>]{1,2000})/g;

/** A text in JSON or in XML. Its name tells enough there: it need not look random. */
const whole =
  /"([\w-]{1,100})"\s{0,9}:\s{0,9}"([^"\\]{1,2000})"|<([\w:.-]{1,100})(?:\s[^<>]{0,100})?>([^<>]{1,2000})</g;

/**
 * Whether what comes next in a text is a credential or a part of one: in the value of `api_key=` of a URL or a form, or under its
 * name in JSON or XML; also quoted in a tag.
 */
export function isWithinCredential(before: string): boolean {
  const end = before.slice(-longestOpenValue);
  const nameIn = (openValue: RegExp): string => openValue.exec(end)?.[1] ?? '';
  return namesSecret(nameIn(inForm)) || isCredentialKey(nameIn(inJson)) || isCredentialKey(nameIn(inXml));
}

const longestOpenValue = 200;
const openTag = String.raw`\{\{-?\s*["']`;
const inForm = new RegExp(String.raw`(?:^|[?&\s])([\w.-]+)=(?:${openTag})?[^?&\s"'<>]*$`);
const inJson = new RegExp(String.raw`"([\w-]+)"\s*:\s*(?:"|${openTag})[^"']*$`);
const inXml = new RegExp(String.raw`<([\w:.-]+)(?:\s[^<>]*)?>(?:${openTag})?[^"'<>]*$`);
