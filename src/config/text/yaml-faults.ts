import { CST, type ErrorCode, Lexer, type LineCounter, type YAMLParseError } from 'yaml';
import { oddCharacter } from '../../support/text.ts';

/** Offsets into the text: the first character, and the one after the last. */
export type Range = readonly [start: number, end: number];

export interface TextFault {
  readonly range: Range;
  readonly message: string;
  /** Whether other faults on its line do not follow from it. */
  readonly standsAlone?: boolean;
}

/** Words the library's faults. One a line: further ones follow from it. */
export function textFaults(errors: readonly YAMLParseError[], text: string, lines: LineCounter): TextFault[] {
  const isTab = ({ code }: YAMLParseError) => code === 'TAB_AS_INDENT';
  const odd = oddIndentation(errors, text);
  if (odd) return [odd];
  const shallow = shallowLine(errors, text);
  if (shallow !== null) {
    const before = errors.filter(({ pos }) => pos[0] < shallow);
    return [...textFaults(before, text, lines), { range: [shallow, shallow + 1], message: notDeeper }];
  }
  const told = errors.some(isTab) ? errors.filter(isTab) : withoutMoved(errors, text);
  // After a value that ended too early, the library reports every further line.
  const own = told.filter(({ message }, index) => index === 0 || !/token in YAML stream/.test(message));
  const byLine = Map.groupBy(inOrder(own), ({ pos }) => lines.linePos(pos[0]).line);
  return Array.from(byLine.values(), (alike) =>
    toFault(alike.find((error) => endingQuoteAt(error, text)) ?? alike[0]!, text),
  );
}

const inOrder = (errors: readonly YAMLParseError[]): YAMLParseError[] =>
  errors.toSorted((a, b) => a.pos[0] - b.pos[0]);

/** The last two lines of a text, the first of which is indented by odd characters, which YAML takes for text. */
const oddlyIndented = new RegExp(
  String.raw`^[ \t]*((?:${oddCharacter.source})+)[^\n]*(?:\n[^\n]*)?(?![^])`,
  'dmu',
);

/** A key with a value right behind its colon, as in `status:Completed`, which YAML takes for one word. A store's address is none. */
export const lacksSpace = /^(?!sqlite:)[a-z][\w.-]*:[^\s/]/i;

/** A character's code point as Unicode writes it, such as 00A0. */
export const hex = (character: string): string =>
  character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');

export function oddName(character: string): string {
  const space = /^[\u00A0\u2007\u202F]/.test(character) ? 'a non-breaking space' : 'a space of another width';
  return `${/^\p{Zs}/u.test(character) ? space : 'an invisible character'} (U+${hex(character)})`;
}

/** The fault of a key that begins with such a character, meant as indentation; null for other keys. */
const oddBefore = (name: string): string | null =>
  name.search(oddCharacter) === 0 ? `${oddName(name)} stands before this; type plain spaces` : null;

/** What word processors write for the hyphen before an entry of a list. */
const listSign = /^[\u2010-\u2015\u2022\u2023\u2043\u2212\u25AA\u25CF\u25E6\u00B7](?=[ \t]|\p{Zs})/u;
const listSignMeant =
  'an entry of a list begins with "- ", a plain hyphen and a space, and this is another sign';

/** What makes a key of the space behind it, or of the hyphen before it. The lookahead finds the character in the text. */
const oddBehind = new RegExp(String.raw`^(?:-|[\w.-]+:)(?=${oddCharacter.source})`, 'u');

/** The fault of a key that a word processor or a web page changed, with its place in `name`; null for other keys. */
export function changedKey(name: string): TextFault | null {
  const before = oddBefore(name);
  if (before !== null) return { range: [0, name.length], message: before };
  const behind = oddBehind.exec(name)?.[0].length;
  if (behind !== undefined) {
    const message = `${oddName(name.slice(behind))} stands here; type a plain space`;
    return { range: [behind, behind + 1], message };
  }
  return listSign.test(name) ? { range: [0, 1], message: listSignMeant } : null;
}

/** The same of the key in a line, behind the hyphens of entries. */
function changedKeyIn(text: string, at: number): TextFault | null {
  const line = lineAt(text, at);
  const start = lineStart(text, at) + /^ *(?:- +)*/.exec(line)![0].length;
  const changed = changedKey(text.slice(start, start + line.length));
  return changed && { range: [start + changed.range[0], start + changed.range[1]], message: changed.message };
}

/** The fault of an indentation with such characters, if the first error is on its line or the one below. */
function oddIndentation(errors: readonly YAMLParseError[], text: string): TextFault | null {
  const at = Math.min(...errors.map(({ pos }) => pos[0]));
  const end = text.indexOf('\n', at);
  const upTo = text.slice(0, end < 0 ? undefined : end);
  const found = oddlyIndented.exec(upTo);
  return found && { range: found.indices![1]!, message: oddBefore(found[1]!)! };
}

const notDeeper =
  'lines within { } or [ ] have to be indented deeper than the key above them, with spaces; so has the closing bracket';

/**
 * Where the first line within { } or [ ] begins that is not indented deeper than their key, as in JSON that was copied; null if
 * there is none. What the library finds behind it follows from that. Where a bracket is missing, the line is another one's.
 */
function shallowLine(errors: readonly YAMLParseError[], text: string): number | null {
  const isShallow = ({ code, pos: [at], message }: YAMLParseError) =>
    isOpenFlow.test(message) ||
    (code === 'MULTILINE_IMPLICIT_KEY' &&
      /^[[{](?!\{)/.test(text.slice(at)) &&
      !/\S/.test(lineBefore(text, at)));
  const at = Math.min(...errors.filter(isShallow).map(({ pos }) => pos[0]));
  return Number.isFinite(at) && hasAllBrackets(text) ? at : null;
}

/** The library's words for brackets that it sees no end of before a line that is indented too little. */
const isOpenFlow = /^Flow .* end with a/;

/** Whether each bracket has its other one, in their order. */
function hasAllBrackets(text: string): boolean {
  const open: string[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === '{' || lexeme === '[') open.push(lexeme);
    if ((lexeme === '}' && open.pop() !== '{') || (lexeme === ']' && open.pop() !== '[')) return false;
  }
  return open.length === 0;
}

/** The library's words for a list that it has no key for. */
const isStrayList = /^A block sequence may not be used/;

/** Leaves out errors that follow from another one: a line with a wrong indentation moves those below it. */
function withoutMoved(errors: readonly YAMLParseError[], text: string): YAMLParseError[] {
  const isDeeper = ({ code, pos }: YAMLParseError) =>
    code === 'MULTILINE_IMPLICIT_KEY' && isValue(text, pos[0]) && text.slice(...pos).includes('\n');
  const deeper = new Set(errors.filter(isDeeper).map(({ pos }) => pos[0]));
  // The line below a key without its colon is taken for a part of that key.
  const keyless = errors.find(({ code, pos }) => code === 'MULTILINE_IMPLICIT_KEY' && !isValue(text, pos[0]));
  const endOfKeyless = keyless === undefined ? -1 : text.indexOf('\n', keyless.pos[0]);
  const isBelow = ({ pos }: YAMLParseError) =>
    endOfKeyless !== -1 && lineStart(text, pos[0]) === endOfKeyless + 1;
  const isMoved = ({ code, pos }: YAMLParseError) => code === 'BAD_INDENT' || deeper.has(pos[0]);
  const first = errors.find(isMoved);
  // So is a list that goes on below a wrong entry, which is one of the last errors before it.
  const byLine = [...Map.groupBy(inOrder(errors), ({ pos }) => lineStart(text, pos[0]))];
  const isStrayAt = ([line, alike]: (typeof byLine)[number], index: number) => {
    const above = byLine.slice(Math.max(0, index - 3), index).flatMap(([, others]) => others);
    return (
      alike.some(({ message }) => isStrayList.test(message)) &&
      above.slice(-3).some((other) => isWithin(text, other.pos[0], line))
    );
  };
  const strays = new Set(byLine.filter(isStrayAt).map(([line]) => line));
  const isStray = ({ pos }: YAMLParseError) => strays.has(lineStart(text, pos[0]));
  const quote = errors.find((error) => endingQuoteAt(error, text));
  const isUnclosed = ({ message, pos }: YAMLParseError) =>
    quote !== undefined && isOpenFlow.test(message) && pos[0] > quote.pos[0];
  return errors
    .filter(
      (error) =>
        !isMoved(error) || error.pos[0] === first?.pos[0] || changedKeyIn(text, error.pos[0]) !== null,
    )
    .filter((error) => !isBelow(error) && !isStray(error) && !isUnclosed(error))
    .filter(({ code, pos }) => code !== 'BLOCK_AS_IMPLICIT_KEY' || !deeper.has(pos[0]));
}

/** Whether a line stands below another one, before any that is indented less than that one. */
function isWithin(text: string, upper: number, lower: number): boolean {
  const [first, ...below] = text
    .slice(lineStart(text, upper), lower + lineAt(text, lower).length)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return below.every((line) => line.search(/\S/) >= first!.search(/\S/));
}

/** Whether a key stands before this place on its line. */
const isValue = (text: string, at: number): boolean => /:[ \t]+$/.test(lineBefore(text, at));
const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;
const lineBefore = (text: string, at: number): string => text.slice(lineStart(text, at), at);

/** Faults for lines of other programs: fences come along when a block is copied. No value of a config begins so. */
export const foreignLines = (text: string): TextFault[] =>
  Array.from(
    text.matchAll(/^(?:(?:```|~~~).*|(?:<{7}|\|{7}|={7}|>{7})(?: .*)?)$/gm),
    ({ 0: line, index }) => ({
      range: [index, index + line.length],
      message: /^[`~]/.test(line)
        ? 'this line is of Markdown, around a block of code; leave it out'
        : 'this line is of Git, around what two people changed: keep one of the two, and leave out the lines that begin with <<<<<<<, ======= and >>>>>>>',
    }),
  );

function toFault({ code, pos, message }: YAMLParseError, text: string): TextFault {
  const changed = changedKeyIn(text, pos[0]);
  if (changed) return changed;
  const worded = wordings[code]?.(text.slice(pos[0], pos[0] + 2));
  // The text that the library quotes may be a credential.
  const other = ambiguous.find(([known]) => known.test(message))?.[1] ?? message.replace(/(?<=\w): .*/s, '');
  // A comment in the place of a value on the line before may hide the closing bracket.
  const before = text.slice(0, pos[0]).trimEnd();
  const lastLine = lineBefore(before, before.length);
  const isOpen = isOpenFlow.test(message);
  const isCommented = isOpen && /[:,[]\s+#[^\s#]/.test(lastLine);
  if (code === 'MISSING_CHAR' && message.startsWith('Missing closing'))
    return { range: openingQuote(text, pos[0]) ?? pos, message: other };
  if (code === 'MULTILINE_IMPLICIT_KEY' && isValue(text, pos[0])) return { range: pos, message: deeperBelow };
  if (code === 'BAD_INDENT' && !isOpen && isDashMissing(text, pos[0]))
    return { range: pos, message: isKey(text, pos[0]) ? lessIndented : dashMissing };
  if (message.startsWith('Unexpected') && text[pos[0]] === ',')
    return {
      range: [pos[0], pos[0] + 1],
      message:
        braceHint(text, pos[0]) ??
        (/^,[ \t]*(?:#|\r?\n|$)/.test(text.slice(pos[0])) ? commaAtEnd : commaBetween),
    };
  const endingQuote = endingQuoteAt({ message, pos }, text);
  if (endingQuote) return { range: [pos[0] - 1, pos[0]], message: endingQuote };
  const isGlued =
    message.startsWith('Nested mappings') && /^[ -]*[\w.-]+:[{["']/.test(lineBefore(text, pos[1]));
  if (isGlued || (code === 'MULTILINE_IMPLICIT_KEY' && lacksSpace.test(text.slice(pos[0]))))
    return { range: pos, message: 'a space is missing after the ":"' };
  const [line = ''] = text.slice(pos[0]).split('\n', 1);
  const [sign] = /^(?:\/[/*]|<!--)/.exec(line) ?? [];
  if (sign !== undefined)
    return { range: [pos[0], pos[0] + sign.length], message: `a comment begins with #, not with ${sign}` };
  if (code === 'MULTILINE_IMPLICIT_KEY') {
    if (/:[ \t]+[|>][+-]?$/.test(lastLine)) return { range: pos, message: blockNotDeeper };
    const wide = line.indexOf('\uFF1A');
    if (wide >= 0) return { range: [pos[0] + wide, pos[0] + wide + 1], message: wideColon };
    if (/^\w+\s*$/.test(line)) return { range: [pos[0], pos[0] + line.trimEnd().length], message: noColon };
  }
  return {
    range: pos,
    message: braceHint(text, pos[0]) ?? (worded ?? other) + (isCommented ? hashHint : ''),
  };
}

const wideColon = 'this is a full-width colon (U+FF1A); type a plain ":", and a space after it';

const noColon = 'a ":" is missing behind this';

const dashMissing =
  'every entry of this list begins with "- ", a plain hyphen and a space, and here that is missing';

const lessIndented =
  'this is indented less than the entry above it: indent it as that one\'s keys, or put the "- " of an entry before it';

const commaAtEnd = 'no comma stands at the end of a line, outside of { } and [ ]: leave it out';

const commaBetween =
  'a value in quotes ends before this comma: put the quotes around all of the text, or several values in [ ]';

const blockNotDeeper = 'the text below | or > has to be indented deeper than its key';

const deeperBelow =
  'the line below is indented deeper, as if it belonged to this one: a "- " is missing before this key, or there are too many spaces below';

const endingQuotes: Readonly<Record<string, string>> = {
  "'": "this ' ends the text; within '…' it is written twice, as in 'Don''t', or the text stands in double quotes",
  '"': 'this " ends the text; within "…" write \' in its place, or a backslash before it',
};

/** What to say where the text goes on behind the quote that ends it; undefined elsewhere. Other faults of the line follow from it. */
const endingQuoteAt = ({ message, pos: [at] }: Pick<YAMLParseError, 'message' | 'pos'>, text: string) =>
  /^(Unexpected|Comments must be separated)/.test(message) && /^[\p{L}\w#<@*$%{.+-]/u.test(text.slice(at))
    ? endingQuotes[text[at - 1]!]
    : undefined;

const lineAt = (text: string, at: number): string => text.slice(lineStart(text, at)).split('\n', 1)[0]!;

/** Whether a line is indented as the "- " of the entry above it. */
function isDashMissing(text: string, at: number): boolean {
  const line = /^( *)[^ ]/.exec(lineAt(text, at));
  const indent = line?.[1]?.length ?? 0;
  const above =
    lineBefore(text, at).length === 0 ? text.slice(0, at) : text.slice(0, text.lastIndexOf('\n', at - 1) + 1);
  const outer = above.split('\n').findLast((one) => one.trim() !== '' && one.search(/\S/) <= indent);
  return outer !== undefined && outer.search(/\S/) === indent && /^ *- /.test(outer);
}

/** Whether the line has a key and a colon, as those of an entry have. */
const isKey = (text: string, at: number): boolean => /^ *\w[\w.-]*:(?: |$)/.test(lineAt(text, at));

/** The quote that opens a text without an end. The library only says where it gave up. */
function openingQuote(text: string, end: number): Range | null {
  let at = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (marks.has(lexeme)) continue;
    if (at + lexeme.length === end && /^["']/.test(lexeme)) return [at, at + 1];
    at += lexeme.length;
  }
  return null;
}

/** Lexemes that stand for nothing in the text. */
const marks: ReadonlySet<string> = new Set([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR]);

/** Our words by the library's codes; its messages need knowledge of YAML's grammar. `at`: the text from the fault on. */
const wordings: { readonly [code in ErrorCode]?: (at: string) => string } = {
  TAB_AS_INDENT: () => 'a tab is used as indentation; YAML needs spaces',
  BAD_SCALAR_START: ([first]) => `text that begins with ${first} has to be in quotes`,
  BAD_DQ_ESCAPE: (at) => `unknown escape ${at.slice(0, 2)}; in double quotes a backslash is written twice`,
  MULTILINE_IMPLICIT_KEY: () => 'a key has to be on one line, with ":" after it',
  MULTIPLE_DOCS: () => 'a second YAML document begins here; a config is one document, so remove the "---"',
  BLOCK_IN_FLOW: () =>
    'inside of { } or [ ] something is missing: a comma before the next key, quotes around text that holds ": ", or a "}" or "]" above',
};

/** Our words for codes that stand for several faults, by the library's messages. */
const ambiguous: readonly (readonly [RegExp, string])[] = [
  [
    /^Nested mappings are not allowed/,
    'a second ": " on one line; put text that holds ": " in quotes, and a further key on a line of its own',
  ],
  [isStrayList, 'this list stands where a key is expected; is one missing above it, such as "then:"?'],
  [
    /^Unexpected block-seq-ind on same line/,
    'a list begins below its key: put this "- " on the next line, or the list in [ ]',
  ],
  [/^Alias cannot be an empty string/, 'text that begins with * has to be in quotes'],
  [/^Flow sequence .* end with a \]/, 'a list begun with "[" has no "]" before this line'],
  [/^Flow map .* end with a \}/, 'a map begun with "{" has no "}" before this line'],
  [/^All (mapping|sequence) items must start/, 'indented differently from what stands beside it'],
  [/^Missing closing "quote/, 'the text that begins with " has no " at its end'],
  [/^Missing closing 'quote/, "the text that begins with ' has no ' at its end"],
  [
    /^(Implicit map keys need to be followed|Map comment with trailing content)/,
    'expected ":" and a value after this key; if it goes on with the text above, it has to be indented deeper than that text\'s key',
  ],
  [/^Sequence item without - indicator/, lessIndented],
  [
    /^(Not a YAML token|Block scalar header)/,
    'text that begins with > or | has to be in quotes, or on the lines below this sign',
  ],
  [/^Missing , /, 'a comma is missing before this'],
  [
    /^Comments must be separated/,
    'a comment needs a space before its "#"; a value with "#" in it needs quotes',
  ],
  [/^Unexpected .* token in YAML stream/, 'unexpected here; is something before it closed too early?'],
  [/^Unexpected .* at node end/, 'the value ended before this; are quotes missing?'],
];

/** `{{ … }}` is a map with a map as its key, which nobody means. */
export const templateHint = 'a value that begins with {{ has to be in quotes';

/** The most common mistake: `${NAME}` or `{{ … }}` without quotes, where a brace starts a map. */
function braceHint(text: string, offset: number): string | null {
  const line = lineBefore(text, offset) + text.slice(offset, offset + 2);
  if (/\$\{?[^"']?$/.test(line) && line.includes('${'))
    return /[“”„‘’‚][^"']*$/.test(line)
      ? 'the quotes around ${…} are those of a word processor: type " or \''
      : '${…} has to be in quotes inside of { }';
  return /(:|-|,|\[)\s+\{\{/.test(line) ? templateHint : null;
}

/** The advice for a comment that seems to be meant as a value. It is not quoted, as it may be a credential. */
export const hashHint =
  "; what follows # is a comment in YAML: text with # in it has to be in quotes, as in '#hiring'";

/** The length of a word that starts with `#` here, as the names of channels do, or of a `#` before a template; else 0. */
export const hashWordLength = (text: string, at: number): number =>
  /^#(?: \{\{|[^\s#,\]}]+)/.exec(text.slice(at, at + 80))?.[0].length ?? 0;
