/** Said where a comment seems to be meant as a value. What it holds is not repeated: it may be a credential. */
export const hashHint =
  "; what follows # is a comment in YAML: text with # in it has to be in quotes, as in '#hiring'";

/** How long the word is that begins with `#` here, as the names of channels do; 0 where none does. */
export const hashWordLength = (text: string, at: number): number =>
  /^#[^\s#,\]}]+/.exec(text.slice(at, at + 80))?.[0].length ?? 0;

/** Whether such a word stands at a value's place on the last line before `end`. */
export function hasHashWordBefore(text: string, end: number): boolean {
  const line = text.slice(0, end).trimEnd().split('\n').at(-1) ?? '';
  return /[:,[]\s+#[^\s#]/.test(line);
}
