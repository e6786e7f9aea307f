/** A part of a text that is probably a mistake. */
export interface Slip {
  readonly index: number;
  readonly length: number;
  readonly message: string;
  /** It certainly is one. */
  readonly isError?: true;
}

/** What a text has that is probably a mistake: all of it, or the first by a pattern that is not global. */
export interface SlipPattern {
  readonly pattern: RegExp;
  readonly message: string | ((found: RegExpExecArray) => string);
}

export const slipsBy =
  (patterns: readonly SlipPattern[]) =>
  (text: string): Slip[] =>
    patterns.flatMap(({ pattern, message }) => {
      const first = pattern.global ? null : pattern.exec(text);
      const found = first ? [first] : pattern.global ? [...text.matchAll(pattern)] : [];
      return found.map((one) => ({
        index: one.index,
        length: one[0].length,
        message: typeof message === 'string' ? message : message(one),
      }));
    });

/** A line break as programs write it. YAML knows it in double quotes only. Not the `\n` of a path such as `C:\news`. */
export const writtenLineBreak: SlipPattern = {
  pattern: /(?<![:\\][\w.-]*)\\n/,
  message:
    'this prints \\n itself: for a new line put the text in double quotes, or write it on several lines below |',
};

/** A tag of HTML, in a text that is none. */
export const tagOfHtml =
  /<\/?(?:a|b|br|div|em|h[1-6]|i|img|li|ol|p|span|strong|table|td|th|tr|u|ul)(?:\s[^<>]*)?\/?>/i;
