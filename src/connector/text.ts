/** Without line breaks and other control characters, which could start another header. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();

/**
 * What a template made, before its values are in it: `text` is the template's own, with one `slot` for each value that
 * was printed; `values` are these, escaped, in order. So what somebody sent is never taken for what the template says.
 */
export interface Outline {
  readonly text: string;
  readonly values: readonly string[];
}

/** Unicode keeps this character for use inside of programs. */
export const slot = '\uFDD0';

type Fill = (text: string, change?: (value: string) => string) => string;

/** Fills the slots of one stretch of an outline's text after the other; `change` is what a stretch asks of its values. */
export function filler(values: readonly string[]): Fill {
  let next = 0;
  return (text, change = (value) => value) =>
    text.replaceAll(slot, () => {
      next += 1;
      return change(values[next - 1] ?? '');
    });
}
