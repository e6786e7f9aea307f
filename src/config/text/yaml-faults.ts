import { CST, type ErrorCode, Lexer, type LineCounter, type YAMLParseError } from 'yaml';
import { endsAtQuote, isOpenFlow, isStrayList, shallowLine, withoutFollowing } from './following-errors.ts';
import { isBehindKey, lineAt, lineBefore, type Range, type TextFault } from './lines.ts';
import { changedKeyIn, oddIndentation } from './odd-signs.ts';

/** Words the library's faults. One a line: further ones follow from it. */
export function textFaults(errors: readonly YAMLParseError[], text: string, lines: LineCounter): TextFault[] {
  const odd = oddIndentation(text, Math.min(...errors.map(({ pos }) => pos[0])));
  if (odd) return [odd];
  const shallow = shallowLine(errors, text);
  if (shallow !== null) {
    const before = errors.filter(({ pos }) => pos[0] < shallow);
    return [...textFaults(before, text, lines), { range: [shallow, shallow + 1], message: notDeeper }];
  }
  const byLine = Map.groupBy(withoutFollowing(errors, text), ({ pos }) => lines.linePos(pos[0]).line);
  return Array.from(byLine.values(), (alike) =>
    toFault(alike.find((error) => endsAtQuote(error, text)) ?? alike[0]!, text),
  );
}

/** A key with a value right behind its colon, as in `status:Completed`, which YAML takes for one word. A store's address is none. */
export const lacksSpace = /^(?!sqlite:)[a-z][\w.-]*:[^\s/]/i;

const notDeeper =
  'lines within { } or [ ] have to be indented deeper than the key above them, with spaces; so has the closing bracket';

function toFault(error: YAMLParseError, text: string): TextFault {
  const { code, pos, message } = error;
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
  if (code === 'MULTILINE_IMPLICIT_KEY' && isBehindKey(text, pos[0]))
    return { range: pos, message: deeperBelow };
  if (code === 'BAD_INDENT' && !isOpen && isDashMissing(text, pos[0]))
    return { range: pos, message: isKey(text, pos[0]) ? lessIndented : dashMissing };
  if (message.startsWith('Unexpected') && text[pos[0]] === ',')
    return {
      range: [pos[0], pos[0] + 1],
      message:
        braceHint(text, pos[0]) ??
        (/^,[ \t]*(?:#|\r?\n|$)/.test(text.slice(pos[0])) ? commaAtEnd : commaBetween),
    };
  if (endsAtQuote(error, text))
    return { range: [pos[0] - 1, pos[0]], message: endingQuotes[text[pos[0] - 1]!]! };
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
