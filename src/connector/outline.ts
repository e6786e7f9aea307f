/** The text without line breaks and other control characters, which could start another header. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();

/**
 * A rendered template before its values are filled in: `text` has a `slot` for each of the escaped `values`. A value can
 * so never be mistaken for the template's own text.
 */
export interface Outline {
  readonly text: string;
  readonly values: readonly string[];
}

/** A noncharacter: Unicode reserves it for internal use. */
export const slot = '\uFDD0';

type Fill = (text: string, change?: (value: string) => string) => string;

/** Fills the slots of an outline's text, part by part. `change` is applied to the values of that part. */
export function filler(values: readonly string[]): Fill {
  let next = 0;
  return (text, change = (value) => value) =>
    text.replaceAll(slot, () => {
      next += 1;
      return change(values[next - 1] ?? '');
    });
}
