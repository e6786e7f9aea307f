import type { Document, ErrorCode, YAMLParseError } from 'yaml';
import { parseDocument } from 'yaml';
import { hasHashWordBefore, hashHint } from './hash.ts';
import type { Source } from './source.ts';
import type { TextFault, Tree } from './tree.ts';
import { buildTree, templateHint } from './tree.ts';

export interface Parsed {
  /** Null where the text is too broken for its values to mean anything. */
  readonly tree: Tree | null;
  readonly faults: readonly TextFault[];
}

/** Faults that leave the shape of the rest as it was meant, so that the rest can be checked as well. */
const harmless = new Set<ErrorCode>([
  'TAB_AS_INDENT',
  'BAD_DQ_ESCAPE',
  'BAD_SCALAR_START',
  'BLOCK_AS_IMPLICIT_KEY',
  'MULTILINE_IMPLICIT_KEY',
  'MULTIPLE_DOCS',
]);

/** YAML's messages are written for people who know its grammar. */
const wordings: readonly (readonly [RegExp, string])[] = [
  [/^Tabs are not allowed/, 'a tab is used as indentation; YAML wants spaces'],
  [/^Nested mappings are not allowed/, 'a second ": " on one line; put text that holds ": " in quotes'],
  [
    /^Source contains multiple documents/,
    'a second YAML document begins here; a config is one document, so remove the "---"',
  ],
  [/^Flow sequence .* end with a \]/, 'a list begun with "[" has no "]" before this line'],
  [/^Flow map .* end with a \}/, 'a map begun with "{" has no "}" before this line'],
  [/^All (mapping|sequence) items must start/, 'indented otherwise than what it stands beside'],
  [/^Missing closing (.)quote/, 'the text that begins with $1 has no $1 at its end'],
  [/^Alias cannot be an empty string/, 'text that begins with * has to be in quotes'],
  [/^Plain value cannot start with .* character (.)/, 'text that begins with $1 has to be in quotes'],
  [/^Invalid escape sequence (..)/, 'unknown escape $1; in double quotes a backslash is written twice'],
  [/^Implicit keys need to be on a single line/, 'a key stands on one line, with ":" after it'],
  [/^Implicit map keys need to be followed/, 'expected ":" and a value after this key'],
  [/^A block sequence may not be used/, 'this list stands where a key is expected'],
  [/^Sequence item without - indicator/, 'every entry of this list needs a "-" before it'],
  [
    /^Block collections are not allowed/,
    'inside of { } or [ ] this needs brackets of its own; or is a "}" or "]" missing?',
  ],
  [/^Missing , /, 'a comma is missing before this'],
  [
    /^Comments must be separated/,
    'a comment needs a space before its "#"; a value with "#" in it needs quotes',
  ],
  [/^Unexpected .* token in YAML stream/, 'unexpected here; is something before it closed too early?'],
  [/^Unexpected .* at node end/, 'the value ended before this; are quotes missing?'],
];

/** Text to values with their places. YAML's own faults come one to a line: further ones of a line follow from it. */
export function parse(source: Source): Parsed {
  const control = unprintable(source.text);
  if (control) return { tree: null, faults: [control] };
  const document = documentOf(source.text);
  if ('message' in document) return { tree: null, faults: [document] };
  const faults = firstOfEachLine(document.errors, source).map((error) => toFault(error, source.text));
  if (document.errors.some(({ code }) => !harmless.has(code))) return { tree: null, faults };
  const tree = buildTree(document, source);
  return { tree: tree.isWhole ? tree : null, faults: [...faults, ...tree.faults] };
}

/** Text that is nested too deeply exhausts the parser's stack; mostly it says so itself. */
function documentOf(text: string): Document.Parsed | TextFault {
  const message = 'nested too deeply to be read';
  try {
    const document = parseDocument(text, { schema: 'core', prettyErrors: false, uniqueKeys: false });
    const exhausted = document.errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
    return exhausted ? { range: exhausted.pos, message } : document;
  } catch (error) {
    if (error instanceof RangeError) return { range: [0, 1], message };
    throw error;
  }
}

/** YAML forbids control characters; a NUL usually means that the file is no text at all. */
function unprintable(text: string): TextFault | null {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  const found = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/.exec(text);
  if (!found) return null;
  const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return {
    range: [found.index, found.index + 1],
    message: `the character U+${code} cannot stand in a YAML file`,
  };
}

function firstOfEachLine(errors: readonly YAMLParseError[], source: Source): YAMLParseError[] {
  const lines = new Set<number>();
  return errors
    .filter((error, index) => index === 0 || !isConsequence(error))
    .toSorted((a, b) => a.pos[0] - b.pos[0])
    .filter(({ pos }) => {
      const { line } = source.lines.linePos(pos[0]);
      const isFirst = !lines.has(line);
      lines.add(line);
      return isFirst;
    });
}

/** Once a value has ended too early, YAML reports each line after it. */
const isConsequence = ({ message }: YAMLParseError): boolean => /token in YAML stream/.test(message);

function toFault({ pos, message }: YAMLParseError, text: string): TextFault {
  const wording = wordings.find(([known]) => known.test(message));
  const worded = wording ? message.replace(new RegExp(`${wording[0].source}.*`, 's'), wording[1]) : message;
  const hint = /^Flow .* end with a/.test(message) && hasHashWordBefore(text, pos[0]) ? hashHint : '';
  return { range: pos, message: braceHint(text, pos[0]) ?? worded + hint };
}

/** The commonest slip: `${NAME}` or `{{ … }}` without quotes, where a brace begins a map. */
function braceHint(text: string, offset: number): string | null {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset + 2);
  if (/\$\{?[^"']?$/.test(line) && line.includes('${')) return '${…} has to be in quotes inside of { }';
  return /(:|-|,|\[)\s+\{\{/.test(line) ? templateHint : null;
}
