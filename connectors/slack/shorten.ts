/** Text cut to `maxLength` with a notice at its end; the same text where it is short enough. Counts UTF-16 units. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const notice = maxLength < 300 ? '…' : '\n… (shortened)';
  return text.slice(0, safeEnd(text, maxLength - notice.length)) + notice;
}

/** What has to stay whole, with the character that it begins with. A reference may have entities in it. */
const units: readonly (readonly [opening: string, unit: RegExp])[] = [
  ['<', /^<(?:[@#!]|https?:|mailto:)[^<>]*>/],
  ['&', /^&(?:amp|lt|gt);/],
];

/** The last place at or before `end` that is not inside of a `<…>` reference, an entity or a character. */
function safeEnd(text: string, end: number): number {
  for (const [opening, unit] of units) {
    const start = text.lastIndexOf(opening, end - 1);
    const found = start === -1 ? null : unit.exec(text.slice(start));
    if (found && start + found[0].length > end) return start;
  }
  const splitsPair = text.codePointAt(end - 1)! > 0xffff;
  return splitsPair ? end - 1 : end;
}
