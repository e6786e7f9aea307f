// What nobody sees: controls, line separators, marks that turn writing around, and all that Unicode lets a font leave
// out. With one of them a candidate id looks like another one, and a terminal may be made to do something.
const ignorable = String.raw`\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb`;
const unseen = new RegExp(`[\\p{Cc}${ignorable}]`, 'gu');
/** JSON has an escape for the other controls already, and only whitespace of its own is left of them. */
const unseenInJson = new RegExp(`[\\u007f-\\u009f${ignorable}]`, 'gu');
/**
 * In a message, where many scripts and emoji need such characters: only those that stand at the beginning or after ASCII, where
 * nothing needs them but the keys of a phone (`1`, a selector, a frame).
 */
const unseenInMessage = new RegExp(`(?<=^|[\\0-\\x7f])[${ignorable}]+(?!\\u20e3)|[^\\P{Cc}\\t\\n\\r]`, 'gu');
const plainLine = /^[ -~]*\n?$/;

const shown = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`;

/** Text from outside made safe for a terminal: what cannot be seen in it is shown as \u{…}. */
export const printable = (text: string): string => text.replaceAll(unseen, shown);

/** The same for a message that people read; its scripts and emoji stay whole. */
export const visible = (text: string): string =>
  text.replaceAll(unseenInMessage, (run) => Array.from(run, shown).join(''));

/** The same for finished JSON: the value stays what it was. */
export function visibleJson(json: string): string {
  if (plainLine.test(json)) return json;
  return json.replaceAll(unseenInJson, (character) =>
    Array.from({ length: character.length }, (_, at) => escapeUnit(character.charCodeAt(at))).join(''),
  );
}

export const jsonLine = (value: unknown): string => visibleJson(JSON.stringify(value));

/** Line breaks and tabs may stay: they are in stacks. */
const shortEscapes: Partial<Record<string, string>> = { '\\b': '8', '\\f': 'c', '\\r': 'd' };

/** Finished JSON whose texts say `\u{…}` where something unseen was, for whoever prints them as they are. */
export function printableJson(json: string): string {
  return json
    .replaceAll(unseenInJson, (character) => `\\${shown(character)}`)
    .replaceAll(/\\(?:u(00[01][\da-f])|[^u])/g, (escape, code?: string) => {
      const control = code === undefined ? shortEscapes[escape] : Number.parseInt(code, 16).toString(16);
      return control === undefined ? escape : `\\\\u{${control}}`;
    });
}

const escapeUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;
