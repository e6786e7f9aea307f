/** Offsets into the text: the first character, and the one after the last. */
export type Range = readonly [start: number, end: number];

export interface TextFault {
  readonly range: Range;
  readonly message: string;
  /** Whether other faults on its line do not follow from it. */
  readonly standsAlone?: boolean;
}

/** The place where the line of another place begins. */
export const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** What stands on the line before this place. */
export const lineBefore = (text: string, at: number): string => text.slice(lineStart(text, at), at);

/** The line of this place. */
export const lineAt = (text: string, at: number): string =>
  text.slice(lineStart(text, at)).split('\n', 1)[0]!;

/** Whether a key stands before this place on its line. */
export const isBehindKey = (text: string, at: number): boolean => /:[ \t]+$/.test(lineBefore(text, at));
