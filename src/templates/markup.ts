import { CaptureTag, Drop } from 'liquidjs';
import type { Context } from 'liquidjs';
import { slot } from '../connector.ts';
import type { Outline } from '../connector.ts';

const [begin, end] = ['\uFDD1', '\uFDD2'];
const marks = new RegExp(`[${slot}${begin}${end}]`, 'g');
const markedValue = new RegExp(`${begin}([^${end}]*)${end}`, 'g');

const unmarked = (text: string): string => text.replaceAll(marks, '');

/** Marks a value that is printed, so that it can be told from the template's own text. */
export const marked = (value: string): string => (value === '' ? '' : `${begin}${unmarked(value)}${end}`);

export function outlineOf(printed: string): Outline {
  const parts = printed.split(markedValue).map(unmarked);
  const values = parts.filter((_, index) => index % 2 === 1);
  return { text: parts.filter((_, index) => index % 2 === 0).join(slot), values };
}

/** Text that was escaped for its medium already and is printed as it is. Any filter makes a plain text of it again. */
export class Markup extends Drop {
  /** With marks around what comes of values, in a medium that tells them from the template's text. */
  readonly marked: string;
  readonly #text: string;

  constructor(text: string) {
    super();
    this.marked = text;
    this.#text = unmarked(text);
  }

  get length(): number {
    return this.#text.length;
  }

  override valueOf(): string {
    return this.#text;
  }

  override toString(): string {
    return this.#text;
  }

  toJSON(): string {
    return this.#text;
  }

  override liquidMethodMissing(key: string | number): unknown {
    return key === 'size' ? this.length : undefined;
  }
}

/** What is captured was escaped while it was printed; the tag of LiquidJS would have it escaped a second time. */
export class MarkupCapture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    yield* super.render(context);
    const scope = context.bottom() as Record<string, unknown>;
    scope[this.variable] = new Markup(String(scope[this.variable]));
  }
}
