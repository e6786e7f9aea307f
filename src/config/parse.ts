import type { ErrorCode, YAMLParseError } from 'yaml';
import { parseDocument } from 'yaml';
import type { Source } from './source.ts';
import type { TextFault, Tree } from './tree.ts';
import { buildTree } from './tree.ts';

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

const wordings: Partial<Record<ErrorCode, string>> = {
  TAB_AS_INDENT: 'a tab is used as indentation; YAML wants spaces',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " on one line; put text that holds ": " in quotes',
  MULTIPLE_DOCS: 'a second YAML document begins here; a config is one document, so remove the "---"',
  RESOURCE_EXHAUSTION: 'nested too deeply to be read',
};

/** Text to values with their places. YAML's own faults come one to a line: further ones of a line follow from it. */
export function parse(source: Source): Parsed {
  const control = unprintable(source.text);
  if (control) return { tree: null, faults: [control] };
  const document = parseDocument(source.text, {
    schema: 'core',
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'silent',
  });
  const faults = firstOfEachLine(document.errors, source).map((error) => toFault(error, source.text));
  if (document.errors.some(({ code }) => !harmless.has(code))) return { tree: null, faults };
  const tree = buildTree(document, source);
  return { tree, faults: [...faults, ...tree.faults] };
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
  const exhausted = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  if (exhausted) return [exhausted];
  const lines = new Set<number>();
  return errors
    .toSorted((a, b) => a.pos[0] - b.pos[0])
    .filter(({ pos }) => {
      const { line } = source.lines.linePos(pos[0]);
      const isFirst = !lines.has(line);
      lines.add(line);
      return isFirst;
    });
}

function toFault({ code, pos, message }: YAMLParseError, text: string): TextFault {
  return { range: pos, message: hint(text, pos[0]) ?? wordings[code] ?? lowerFirst(message) };
}

/** The commonest slip: `${NAME}` or `{{ … }}` without quotes where braces mean a map. */
function hint(text: string, offset: number): string | null {
  const before = text.slice(Math.max(0, offset - 2), offset + 1);
  return /\$\{?$/.test(before) ? '${…} has to be in quotes inside of { }' : null;
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
