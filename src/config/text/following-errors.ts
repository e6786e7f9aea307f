import { Lexer, type YAMLParseError } from 'yaml';
import { isBehindKey, lineAt, lineBefore, lineStart } from './lines.ts';
import { changedKeyIn } from './odd-signs.ts';

/** Which of the library's errors follow from another one, and are not told. */

type FollowsFrom = (errors: readonly YAMLParseError[], text: string) => (error: YAMLParseError) => boolean;

/** Leaves out errors that follow from another one. */
export function withoutFollowing(errors: readonly YAMLParseError[], text: string): YAMLParseError[] {
  const kinds = errors.some(isTab) ? [fromTabs] : [fromIndentation, fromLineAbove, fromEntry, fromQuote];
  const follows = kinds.map((from) => from(errors, text));
  return inOrder(errors)
    .filter((error) => !follows.some((doesFollow) => doesFollow(error)))
    .filter(({ message }, index) => index === 0 || !isBehindEnd.test(message));
}

const inOrder = (errors: readonly YAMLParseError[]): YAMLParseError[] =>
  errors.toSorted((a, b) => a.pos[0] - b.pos[0]);

const isTab = ({ code }: YAMLParseError): boolean => code === 'TAB_AS_INDENT';

const fromTabs: FollowsFrom = () => (error) => !isTab(error);

/** After a value that ended too early, the library reports every further line in these words. */
const isBehindEnd = /token in YAML stream/;

/** A line with a wrong indentation moves those below it. */
const fromIndentation: FollowsFrom = (errors, text) => {
  const isDeeper = ({ code, pos }: YAMLParseError) =>
    code === 'MULTILINE_IMPLICIT_KEY' && isBehindKey(text, pos[0]) && text.slice(...pos).includes('\n');
  const deeper = new Set(errors.filter(isDeeper).map(({ pos }) => pos[0]));
  const isMoved = ({ code, pos }: YAMLParseError) => code === 'BAD_INDENT' || deeper.has(pos[0]);
  const first = errors.find(isMoved)?.pos[0];
  return (error) =>
    (isMoved(error) && error.pos[0] !== first && changedKeyIn(text, error.pos[0]) === null) ||
    (error.code === 'BLOCK_AS_IMPLICIT_KEY' && deeper.has(error.pos[0]));
};

/** The line below a key without its colon is taken for a part of that key. */
const fromLineAbove: FollowsFrom = (errors, text) => {
  const keyless = errors.find(
    ({ code, pos }) => code === 'MULTILINE_IMPLICIT_KEY' && !isBehindKey(text, pos[0]),
  );
  const end = keyless === undefined ? -1 : text.indexOf('\n', keyless.pos[0]);
  return ({ pos }) => end !== -1 && lineStart(text, pos[0]) === end + 1;
};

/** The library's words for a list that it has no key for. */
export const isStrayList = /^A block sequence may not be used/;

/** A list that goes on below a wrong entry, which is one of the last three errors before it, is taken for a stray one. */
const fromEntry: FollowsFrom = (errors, text) => {
  const byLine = [...Map.groupBy(inOrder(errors), ({ pos }) => lineStart(text, pos[0]))];
  const isStrayAt = ([line, alike]: (typeof byLine)[number], index: number) => {
    const above = byLine.slice(Math.max(0, index - 3), index).flatMap(([, others]) => others);
    return (
      alike.some(({ message }) => isStrayList.test(message)) &&
      above.slice(-3).some((other) => isWithin(text, other.pos[0], line))
    );
  };
  const strays = new Set(byLine.filter(isStrayAt).map(([line]) => line));
  return ({ pos }) => strays.has(lineStart(text, pos[0]));
};

/** Whether a line stands below another one, before any that is indented less than that one. */
function isWithin(text: string, upper: number, lower: number): boolean {
  const [first, ...below] = text
    .slice(lineStart(text, upper), lower + lineAt(text, lower).length)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return below.every((line) => line.search(/\S/) >= first!.search(/\S/));
}

/** A quote that ends a text too early hides the bracket at the end. */
const fromQuote: FollowsFrom = (errors, text) => {
  const quote = errors.find((error) => endsAtQuote(error, text))?.pos[0];
  return ({ message, pos }) => quote !== undefined && isOpenFlow.test(message) && pos[0] > quote;
};

/** Whether a text goes on behind the quote that ends it. Other errors of the line follow from that. */
export const endsAtQuote = ({ message, pos: [at] }: YAMLParseError, text: string): boolean =>
  /^(Unexpected|Comments must be separated)/.test(message) &&
  /^[\p{L}\w#<@*$%{.+-]/u.test(text.slice(at)) &&
  /["']/.test(text[at - 1]!);

/** The library's words for brackets that it sees no end of before a line that is indented too little. */
export const isOpenFlow = /^Flow .* end with a/;

/**
 * Where the first line within { } or [ ] begins that is not indented deeper than their key, as in JSON that was copied; null if
 * there is none. What the library finds behind it follows from that. Where a bracket is missing, the line is another one's.
 */
export function shallowLine(errors: readonly YAMLParseError[], text: string): number | null {
  const isShallow = ({ code, pos: [at], message }: YAMLParseError) =>
    isOpenFlow.test(message) ||
    (code === 'MULTILINE_IMPLICIT_KEY' &&
      /^[[{](?!\{)/.test(text.slice(at)) &&
      !/\S/.test(lineBefore(text, at)));
  const at = Math.min(...errors.filter(isShallow).map(({ pos }) => pos[0]));
  return Number.isFinite(at) && hasAllBrackets(text) ? at : null;
}

/** Whether each bracket has its other one, in their order. */
function hasAllBrackets(text: string): boolean {
  const open: string[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === '{' || lexeme === '[') open.push(lexeme);
    if ((lexeme === '}' && open.pop() !== '{') || (lexeme === ']' && open.pop() !== '[')) return false;
  }
  return open.length === 0;
}
