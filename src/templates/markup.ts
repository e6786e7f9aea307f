import { CaptureTag, Drop } from 'liquidjs';
import type { Context } from 'liquidjs';

/** Text that was escaped for its medium already and is printed as it is. Any filter makes a plain text of it again. */
export class Markup extends Drop {
  readonly #text: string;

  constructor(text: string) {
    super();
    this.#text = text;
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
