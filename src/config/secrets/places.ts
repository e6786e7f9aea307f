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
import { namesSecret } from '../../support/secret.ts';
import { closest, memo } from '../../support/text.ts';
import type { Range } from '../text/lines.ts';
import { credentialWithoutColon, isCredentialKey, knownToken } from './names.ts';

/** What the keys above a value in a config say of it: whether it is a credential, and whether it is a template. */

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
