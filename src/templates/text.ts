import { toValue } from 'liquidjs';

/** A value as a template prints it. LiquidJS prints `[object Object]`, and lists without anything between. */
export function textOf(value: unknown): string {
  const plain: unknown = toValue(value);
  if (plain === null || plain === undefined) return '';
  if (typeof plain === 'string') return plain;
  // As JSON, what is infinite would be null.
  return typeof plain === 'number' ? String(plain) : JSON.stringify(plain);
}
