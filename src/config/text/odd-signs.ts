import { oddCharacter } from '../../support/text.ts';
import { lineAt, lineStart, type TextFault } from './lines.ts';

/** What word processors, web pages and other programs put into a text. */

/** The last two lines of a text, the first of which is indented by odd characters, which YAML takes for text. */
const oddlyIndented = new RegExp(
  String.raw`^[ \t]*((?:${oddCharacter.source})+)[^\n]*(?:\n[^\n]*)?(?![^])`,
  'dmu',
);

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
export function changedKeyIn(text: string, at: number): TextFault | null {
  const line = lineAt(text, at);
  const start = lineStart(text, at) + /^ *(?:- +)*/.exec(line)![0].length;
  const changed = changedKey(text.slice(start, start + line.length));
  return changed && { range: [start + changed.range[0], start + changed.range[1]], message: changed.message };
}

/** The fault of an indentation with such characters on the line of a place, or on the one above; null if there is none. */
export function oddIndentation(text: string, at: number): TextFault | null {
  const end = text.indexOf('\n', at);
  const found = oddlyIndented.exec(text.slice(0, end < 0 ? undefined : end));
  return found && { range: found.indices![1]!, message: oddBefore(found[1]!)! };
}

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
