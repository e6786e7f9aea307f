import type { Escape } from '../../src/connector.ts';

const entities: { readonly [character: string]: string } = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Slack's three control characters as entities, so that `<!channel>` pings nobody and `<https://…|here>` is no link.
 * `*`, `_`, `~` and backticks stay: mrkdwn has no escape for them, and all that they can do is change the look.
 */
export function escapeText(value: string): string {
  return value.replace(/[&<>]/g, (character) => entities[character]!);
}

/**
 * Within blocks only the `text` strings of text objects know entities; a url, a value or an id would show them.
 * So would the literal text of rich text (elements inside of elements) and of a table's cells (rows).
 */
export const escapeInBlocks: Escape = (value, path) => (isMarkup(path) ? escapeText(value) : value);

function isMarkup(path: readonly (string | number)[]): boolean {
  return path.at(-1) === 'text' && !isLiteral(path);
}

/** Whether the text at this path inside of `blocks` is shown as it is, without markup or entities. */
export function isLiteral(path: readonly (string | number)[]): boolean {
  return path.includes('rows') || path.filter((step) => step === 'elements').length > 1;
}
