/** Text cut to `maxLength` with a notice at its end; the same text where it is short enough. Counts UTF-16 units. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const notice = maxLength < 300 ? '…' : '\n… (shortened)';
  return text.slice(0, safeEnd(text, maxLength - notice.length)) + notice;
}

/** The last place at or before `end` that is not inside of a character, an entity or a `<…>` reference. */
function safeEnd(text: string, end: number): number {
  const head = text.slice(0, end);
  const reference = /<(?:[@#!]|https?:|mailto:)[^>]*$/.exec(head);
  if (reference) return reference.index;
  const partOfEntity = /&(?:a|am|amp|l|lt|g|gt)?$/.exec(head);
  if (partOfEntity && /^&(?:amp|lt|gt);/.test(text.slice(partOfEntity.index))) return partOfEntity.index;
  return splitsPair(text, end) ? end - 1 : end;
}

function splitsPair(text: string, end: number): boolean {
  return text.codePointAt(end - 1)! > 0xffff;
}
