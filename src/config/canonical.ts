import { createHash } from 'node:crypto';
import { isMap, type Json } from '../model.ts';

/** The same for values that differ in the order of their keys only: SHA-256 in hex over JSON with sorted keys. */
export function contentId(value: Json): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

function canonicalJson(value: Json): string {
  return JSON.stringify(value, (_key, inner: Json) =>
    isMap(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}
