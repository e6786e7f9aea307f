import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type Scalar,
  visit,
} from 'yaml';
import type { Path } from '../../support/json.ts';
import {
  looksRandom,
  type Mask,
  namesSecret,
  passwordWords,
  secretsOfUrl,
  shortestFunctionKey,
} from '../../support/secret.ts';
import { closest, memo } from '../../support/text.ts';
import type { Range } from '../text/yaml-faults.ts';

/** Hides credentials in a config's text. Each line keeps its length, so that a caret fits. */

/** A scalar of a config's text. */
export interface WrittenScalar {
  readonly range: Range;
  readonly value: string;
  /** Whether its place makes it a secret, such as under `token`. */
  readonly isSecret: boolean;
  /** Whether braces in it belong to a template. */
  readonly isTemplate: boolean;
}

/** What the keys above a place say of it. */
interface Context {
  /** Under a `row`, whose keys are names of columns and say nothing about secrets. */
  readonly inRow: boolean;
  /** In an action, whose own `key` is a column. */
  readonly isAction: boolean;
  /** Under `headers`, at any depth. */
  readonly isHeaders: boolean;
  readonly isSecret: boolean;
  /** Under the top key `admin`, or the `auth` of a sink or look-up, at any depth. */
  readonly inLogin: boolean;
  readonly isBasic: boolean;
  /** Under a credential's key, such as `password`, at any depth. */
  readonly inSecret: boolean;
  /** Null at the top. */
  readonly isTemplate: boolean | null;
}

export const placeOf = (path: Path): Context =>
  path.reduce<Context>((place, key) => (typeof key === 'string' ? under(place, key) : place), top);

const top: Context = {
  inRow: false,
  isAction: false,
  isHeaders: false,
  isSecret: false,
  inLogin: false,
  isBasic: false,
  inSecret: false,
  isTemplate: null,
};

/** The top keys with templates. Elsewhere, such as in a sink's options, braces mean nothing. */
const haveTemplates: ReadonlySet<string> = new Set(['rules', 'unmatched', 'alerts', 'summary', 'links']);

/** The keys with actions, and with what is expected of them. */
const haveActions: ReadonlySet<string> = new Set(['then', 'unmatched', 'expect']);

/** What anybody may see in `admin` and `auth`. Under any other key there, a misspelt one too, a credential may stand. */
const shownInLogin: ReadonlySet<string> = new Set([
  'host',
  'port',
  'title',
  'proxy',
  'from',
  'header',
  'role',
  'user',
  'username',
  'tokenUrl',
  'grant',
  'clientId',
  'scope',
  'audience',
]);

/** The place of the value under a key. Entries of a list have the place of the list. */
function under(place: Context, key: string): Context {
  const { inRow, isAction, isHeaders, inLogin, isBasic, inSecret, isTemplate } = place;
  const isRow = inRow || key === 'row';
  const isAdmin = isTemplate === null && key === 'admin';
  // The keys under `auth` say themselves what is secret.
  const isWithin = inSecret || (isCredentialKey(key) && !/auth/i.test(key));
  return {
    inRow: isRow,
    isAction: haveActions.has(key),
    isHeaders: isHeaders || key === 'headers',
    isSecret:
      !isRow &&
      (isHeaders ||
        isWithin ||
        (namesSecret(key) && !(isAction && key === 'key')) ||
        isSlip(key) ||
        // Or a text where the map belongs.
        isAdmin ||
        (inLogin && !shownInLogin.has(key)) ||
        // Without a password, the user is the key of an API. Or both stand in one text.
        isBasic ||
        key === 'basic'),
    inLogin: inLogin || isAdmin || (isTemplate === false && key === 'auth'),
    isBasic: key === 'basic',
    inSecret: isWithin,
    isTemplate: isTemplate ?? haveTemplates.has(key),
  };
}

/** Whether a key looks like a misspelt credential's key. Its line would be shown with the advice. */
const isSlip = memo(
  1000,
  (key) => closest(key, ['password', 'token', 'secret', 'credentials'], key.length > 5 ? 2 : 1) !== null,
);

/** All scalars of a document in order, even of one with faults. What an alias names is secret if the alias stands where a secret belongs. */
export function scalarsOf(document: Document): WrittenScalar[] {
  const found = new Map<Node, WrittenScalar>();
  const anchored = new Map<string, Node[]>();
  visit(document, {
    Node(_, node) {
      if (!isAlias(node) && node.anchor !== undefined)
        anchored.getOrInsertComputed(node.anchor, () => []).push(node);
    },
  });
  const seen = new Map<Node, Set<string>>();
  const add = (node: Scalar | Alias, isSecret: boolean, isTemplate: boolean): void => {
    const [start, end, withComment] = node.range ?? [0, 0, 0];
    const value = isAlias(node) ? node.source : String(node.value);
    // The comment may be a part of the credential, which has no quotes.
    const range: Range = [start, isSecret && node.comment ? withComment : end];
    found.set(node, { range, value, isSecret, isTemplate });
  };
  const walk = (node: unknown, place: Context, isAfterSecret = false): void => {
    if (isPair(node)) {
      const key = keyOf(node);
      const isLost =
        node.value === null &&
        (place.inSecret ||
          isAfterSecret ||
          // Without a space behind the colon, too.
          (place.inLogin && /\W/.test(key)) ||
          credentialWithoutColon.test(key));
      if (!isScalar(node.key)) walk(node.key, place);
      else if (isLost || knownToken.test(key)) add(node.key, true, false);
      return walk(node.value, under(place, key));
    }
    if (!isNode(node)) return;
    const places = seen.getOrInsertComputed(node, () => new Set());
    const mark = Object.values(place).join();
    if (places.has(mark)) return;
    places.add(mark);
    if (isAlias(node)) {
      const named = anchored.get(node.source);
      // Without an anchor it may be a credential that begins with an asterisk.
      if (named === undefined && place.isSecret) add(node, true, false);
      return named?.forEach((one) => walk(one, place));
    }
    if (isSeq(node)) return node.items.forEach((item) => walk(item, place));
    if (isMap(node)) {
      let wasSecret = false;
      for (const item of node.items) {
        walk(item, place, wasSecret);
        // A comma that is part of a credential ends it, and the rest is read as further keys.
        if (item.value !== null) wasSecret = under(place, keyOf(item)).isSecret;
      }
      return;
    }
    // Or a text where a map of headers belongs.
    const isSecret = place.isSecret || place.isHeaders || found.get(node)?.isSecret === true;
    const isTemplate = place.isTemplate === true && found.get(node)?.isTemplate !== false;
    add(node, isSecret, isTemplate);
  };
  walk(document.contents, top);
  return [...found.values()].toSorted((a, b) => a.range[0] - b.range[0]);
}

const keyOf = ({ key }: Pair): string => (isScalar(key) ? String(key.source ?? key.value) : '');

const isNode = (node: unknown): node is Node => isAlias(node) || isMap(node) || isSeq(node) || isScalar(node);

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

/** Keys in PEM, and tokens of well-known services, wherever they stand. */
const knownToken =
  /-----BEGIN |\b(?:xox[abeprs]-|xapp-|gh[oprsu]_|github_pat_|glpat-|AKIA|AIza|ya29\.|sk_live_)[\w.-]{8}|\bBearer [\w.~+/-]{16}/;

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
const withBlanks = /(:\/\/[^:/\s@"']{0,200}:)(?!\d{1,5}(?:\W|$))([^@"]{1,300})(?=@)/g;

/** A text for a message, without the credentials in its URLs: where it is cut there, too little may be left to know one by. */
export const withoutCredentials = (text: string): string =>
  text.replaceAll(word, hideInUrls).replaceAll(word, hideRandom);

const word = /[^\s"']+/g;

const credentialWords = `(?:token|secret|passw|${passwordWords}|credential|auth(?!or(?!i))|bearer|cookie|(?:private|api|access|routing|integration|signing)[-_]?key|(?<=[?&])code(?==[^&\\s"']{${shortestFunctionKey}}))`;
const credentialKey = new RegExp(credentialWords, 'i');

/** A credential behind its key, where the colon between them is missing. */
const credentialWithoutColon = new RegExp(String.raw`^\S{0,99}${credentialWords}\S{0,99}\s+\S`, 'i');

/** Whether a key is certainly a credential's, unlike one such as `key`. */
export const isCredentialKey = (name: string): boolean => credentialKey.test(name);

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

/** A credential's key with its value. Bounded, because a line may be a whole JSON file, which must not be scanned repeatedly. */
const underCredentialKey = new RegExp(
  String.raw`(${credentialWords}\w{0,99}[\\"']{0,2}(?:\s*(?:[:=\uff1a](?!=)[|>&*!?%@]?\s*\\?|\s(?=["']))|(?:\s[^<>]{0,99})?>))("[^"]*"?|'[^']*'?|\[[^\]]*\]?|(?:\$\{[^}]*\}?|[^\s,{}[\]"'])+)`,
  'i',
);

/** Hides passwords in URLs: before an `@` or, where that is missing, in place of the port. */
function hideInUrls(text: string): string {
  const parts = text.split('@');
  if (parts.length === 1) return text.replace(/(:\/\/[^:/[\]]*:)(?!\d{1,5}(?:\W|$)|[${])(.+)$/s, hide);
  const last = parts.pop() ?? '';
  const hidden = parts.map((part) =>
    part
      .replace(/(:\/\/[^:/]*:)(.+)$/s, hide)
      // A URL without its slashes.
      .replace(/(?<=:)[^:]+$/, (user) => (looksRandom(user) ? starsAlone(user) : user)),
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
