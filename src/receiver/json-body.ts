import { isUtf8 } from 'node:buffer';
import type { Json } from '../model.ts';

export type ParsedJson = { readonly json: Json } | { readonly fault: string };

const byteOrderMark = '\uFEFF';

/**
 * Bytes to JSON. The bytes alone decide whether it is UTF-8: JSON knows no other encoding and a `charset` has no
 * meaning for it (RFC 8259, section 11), so one that says otherwise neither saves a body nor condemns it.
 */
export function parseJson(bytes: Buffer): ParsedJson {
  if (bytes.length === 0) return { fault: 'The body is empty; expected a JSON object.' };
  if (!isUtf8(bytes)) return { fault: 'The body is not UTF-8, the only encoding that JSON has.' };
  const text = bytes.toString('utf8');
  try {
    return { json: JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text) as Json };
  } catch (error) {
    return { fault: `The body is not JSON: ${reason(error)}.` };
  }
}

/** The parser quotes the body in its message; only what it says of the place is kept. */
function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const position = /at position (\d+)/.exec(message)?.[1];
  return position === undefined
    ? 'it ends too early or has a wrong character'
    : `wrong at character ${position}`;
}
