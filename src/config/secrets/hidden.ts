import { aroundPassword, looksRandom, type Mask, namesSecret, secretsOfUrl } from '../../support/secret.ts';
import { credentialKey, knownToken, underCredentialKey } from './names.ts';
import type { WrittenScalar } from './places.ts';

/** Hides credentials in a config's text. Each line keeps its length, so that a caret fits. */

/** Hides scalars that are credentials, or that hold one. */
export function hideScalars(text: string, scalars: readonly WrittenScalar[], mask: Mask): string {
  const shown: string[] = [];
  let end = 0;
  for (const scalar of scalars) {
    const [start, after] = scalar.range;
    const raw = text.slice(start, after);
    if (start < end || !isToHide(scalar, raw, mask)) continue;
    shown.push(text.slice(end, start), starred(raw, scalar));
    end = after;
  }
  return shown.join('') + text.slice(end);
}

/** Whether to hide a scalar as a whole. Secrets that stand in one piece on a line are found later by the line's text. */
function isToHide({ value, isSecret, isTemplate }: WrittenScalar, raw: string, mask: Mask): boolean {
  if (isSecret) return !plainValue.test(value) || /^\s*#/.test(raw);
  if (knownToken.test(value)) return true;
  // Probably meant as a map, with a credential below its key.
  if (!isTemplate && raw.includes('\n') && underCredentialKey.test(value)) return true;
  const lines = value.split('\n');
  const urls = value.split(/\s+/).filter((part) => secretsOfUrl(addressIn(part)).length > 0);
  if (!urls.every((url) => raw.includes(url))) return true;
  // A URL that is readable in spite of a slip, such as a blank in it or only one slash.
  const shown = address.test(value) ? hideCredentials(raw) : '';
  if (secretsOfUrl(value).some((part) => part.length >= shortestSecret && shown.includes(part))) return true;
  const masked = mask(value);
  if (masked === value) return false;
  return !lines.every((line) => raw.includes(line)) || masked !== lines.map(mask).join('\n');
}

const address = /^(?:https?|s\wtps?|postgres(?:ql)?):/i;

/** Never a credential, whatever its key: a switch, a word as in `candidate.passed: unknown`, or a short number as in `passMark: 60`. */
const plainValue = /^(?:true|false|null|unknown|absent|\d{0,3})$/;

/** Stars in place of a scalar's text. The head of a block and quotes stay. */
function starred(raw: string, { isTemplate }: WrittenScalar): string {
  const [, head = '', value = '', tail = ''] = /^([|>][^\n]*\n|["']?)(.*?)(["']?)$/s.exec(raw)!;
  return head + (isTemplate ? stars(value) : value.replaceAll(reference, starsAside)) + tail;
}

/** What hides one value: its stars, with the blanks between its words. */
export const starRuns = /\*+(?: +\*+)*/g;

/** A star for each character. References and templates stay, but not the default after `:-`. */
const stars = (value: string): string =>
  value.replaceAll(/(?<!\$)\$\{[^}]*\}|\{\{.{0,2000}?\}\}|\{%.{0,2000}?%\}|\S/gs, starsAside);

const reference = /(?<!\$)\$\{[^}]*\}|\S/g;

function starsAside(part: string): string {
  if (part.length === 1) return '*';
  const [, name = ''] = /^\$\{(?!file:)([^}]*?)(?::-|\}?$)/s.exec(part) ?? [];
  // The credential itself stands in the braces.
  if (looksRandom(name) && /\W|^(?=.*[a-z]).{16}/.test(name)) return part.replaceAll(/\S/g, '*');
  return part.replace(fallback, (given) => '*'.repeat(given.length));
}

const fallback = /(?<=^\$\{\w+:-)[^}]+/;

/** Hides what looks like a credential in lines. A comment that may hold one is hidden as a whole, with those right below it. */
export function hideInLines(lines: readonly string[]): string[] {
  const marks = new Set(lines.flatMap((line) => line.match(anchorOrAlias) ?? []));
  const isShared = (value: string): boolean => marks.has(value) && marks.has(other(value));
  let isHidden = false;
  return lines.map((line) => {
    const isComment = /^\s*#/.test(line);
    isHidden = isComment && (isHidden || mayHoldCredential(line));
    return isHidden ? line.replace(/(?<=^[\s#]*)[^\s#].*/, stars) : hideCredentials(line, isShared);
  });
}

/** What names a value that several places share, as `&login` and `*login`. Without the other of the two it may be a password. */
const anchorOrAlias = /(?<=[\s:[{,])[&*][\w-]+(?![^\s,\]}])/g;
const other = (mark: string): string => (mark.startsWith('&') ? '*' : '&') + mark.slice(1);

const mayHoldCredential = (comment: string): boolean =>
  /-----BEGIN|(?<![\w.-])keys?["']?\s*:(?=\s|$)/i.test(comment) ||
  credentialKey.test(comment) ||
  comment.split(/[\s"']+/).some((part) => part.length >= longWord && looksRandom(part));

/** Hides credentials in a line. */
const hideCredentials = (line: string, isShared = (_value: string): boolean => false): string =>
  line
    .replace(/(?<=\s)#.*/, (comment) =>
      underCredentialKey.test(line) || mayHoldCredential(comment) ? stars(comment) : comment,
    )
    .replaceAll(new RegExp(underCredentialKey, 'gi'), (all: string, before: string, value: string) =>
      isShared(/[&*]?$/.exec(before)![0] + value) ? all : hide(all, before, value),
    )
    .replaceAll(/\$\{(\w{1,100}):-[^}]{1,2000}/g, (part, name: string) =>
      namesSecret(name) ? stars(part) : part,
    )
    .replaceAll(withBlanks, hide)
    .replaceAll(word, hideInUrls)
    .replaceAll(word, hideRandom);

/** A password with blanks in a URL: some services show theirs in groups of four. */
const withBlanks = /(:\/\/[^:/\s"']{0,200}:)(?!\d{1,5}(?:\W|$))([^@"]{1,300})(?=@)/g;

/** A text for a message, without the credentials in its URLs: where it is cut there, too little may be left to know one by. */
export const withoutCredentials = (text: string): string =>
  text.replaceAll(word, hideInUrls).replaceAll(word, hideRandom);

const word = /[^\s"']+/g;

/** Hides passwords in URLs: before an `@` or, where that is missing, in place of the port. */
function hideInUrls(text: string): string {
  if (!text.includes('@')) return text.replace(/(:\/\/[^:/[\]]*:)(?!\d{1,5}(?:\W|$)|[${])(.+)$/s, hide);
  const [before, password, rest] = aroundPassword(text);
  // Each part by itself, as one with a tag stays.
  const hiddenPassword = password.split('@').map(starsAlone).join('@');
  const parts = `${before}${hiddenPassword}${rest}`.split('@');
  const last = parts.pop() ?? '';
  // A URL without its slashes.
  const hidden = parts.map((part) =>
    part.replace(/(?<=:)[^:]+$/, (user) => (looksRandom(user) ? starsAlone(user) : user)),
  );
  return [...hidden, last].join('@');
}

/** Hides the random parts of URLs: whoever knows the address of a hook may call it. */
function hideRandom(text: string): string {
  if (text.length > longestUrl) return text;
  const parts = secretsOfUrl(addressIn(text)).filter(({ length }) => length >= shortestSecret);
  return parts.reduce((shown, part) => shown.replaceAll(part, starsAlone), text);
}

/** The URL in a word, in brackets, too; variables are replaced by `x` or their defaults. Empty if there is none. */
function addressIn(part: string): string {
  if (!part.includes('://') && !part.startsWith('${')) {
    const [, bare = ''] = bareHook.exec(part) ?? [];
    return bare === '' ? '' : `https://${bare}`;
  }
  const read = part
    .replace(/^\$\{\w+\}(?=\/)/, 'https://x')
    .replaceAll(/\$\{\w+(:-)?|\}/g, (sign, otherwise) => (sign === '}' || otherwise ? '' : 'x'));
  return read.slice(Math.max(0, read.search(/\w{1,20}:\/\//)));
}

/** The address of a hook that lacks its `https://`. */
const bareHook = /^\W{0,9}((?=\S*(?:hook|\/services\/|\/bot\d+:))(?:[\w-]+\.)+[a-z]{2,}\/\S+)/i;

const longestUrl = 2000;
const shortestSecret = 4;
/** The least length of a word that may be a line of a key. */
const longWord = 16;

const hide = (_all: string, before: string, value: string): string => before + starsAlone(value);

/** Stars in place of a value. The punctuation of YAML around it and in a list stays. */
const starsAlone = (value: string): string =>
  value.includes('{{')
    ? value
    : value.startsWith('[')
      ? value.replaceAll(/[^,"'[\]]+/g, stars)
      : value.replace(/(?<=^["']?)[^"'].*?(?=["'\]]?$)/s, stars);
