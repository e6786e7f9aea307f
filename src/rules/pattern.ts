import { RE2JS } from 're2js';
import { memo } from '../memo.ts';

/** A pattern of a user's, found anywhere in a text. RE2 takes time linear to the text, whatever the pattern. */
export interface Pattern {
  found(text: string): boolean;
}

/** Compiled once for all rules that share it: a pattern keeps what it learns of texts, which is large. */
export const compilePattern = memo(1000, (source): Pattern | { readonly fault: string } => {
  try {
    const pattern = RE2JS.compile(source);
    return { found: (text) => pattern.test(text) };
  } catch (error) {
    return { fault: reasonOf(error) };
  }
});

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/^error parsing regexp: /, '');
}
