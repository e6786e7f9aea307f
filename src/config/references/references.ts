/** A `${…}` in a string of the config. */
export interface Reference {
  /** As written, braces included. */
  readonly text: string;
  readonly from: 'environment' | 'file';
  /** The variable's name or the file's path. */
  readonly name: string;
  /** What `:-` gives for a variable that is unset or empty. */
  readonly fallback: string | null;
}

export type Part = { readonly index: number; readonly length: number } & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reference'; readonly reference: Reference }
  | { readonly kind: 'fault'; readonly message: string }
);

const formsExpected = 'expected ${NAME}, ${NAME:-default} or ${file:/path}; $${ stands for ${ itself';

/** A string's literal text and references, in order. `$${` is the literal text `${`. */
export function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  const take = (upTo: number): void => {
    if (upTo > end) parts.push({ kind: 'text', index: end, length: upTo - end, text: text.slice(end, upTo) });
  };
  for (const match of text.matchAll(/\$?\$\{/g)) {
    if (match.index < end) continue;
    take(match.index);
    const part = match[0] === '$${' ? literal(match.index) : reference(text, match.index);
    parts.push(part);
    end = part.index + part.length;
  }
  take(text.length);
  return parts;
}

export const hasReference = (text: string): boolean =>
  text.includes('${') && partsOf(text).some(({ kind }) => kind !== 'text');

const literal = (index: number): Part => ({ kind: 'text', index, length: 3, text: '${' });

function reference(text: string, index: number): Part {
  const close = text.indexOf('}', index);
  if (close === -1)
    return {
      kind: 'fault',
      index,
      length: text.length - index,
      message: `"\${" without "}": ${formsExpected}`,
    };
  const whole = text.slice(index, close + 1);
  const length = whole.length;
  const parsed = parseReference(whole);
  if (parsed) return { kind: 'reference', index, length, reference: parsed };
  return { kind: 'fault', index, length, message: `"${whole}" is no reference: ${formsExpected}` };
}

function parseReference(whole: string): Reference | null {
  const inner = whole.slice(2, -1);
  const file = /^file:(.+)$/s.exec(inner);
  if (file?.[1]) return { text: whole, from: 'file', name: file[1].trim(), fallback: null };
  const [, name, fallback] = /^([A-Za-z_]\w*)(?::-(.*))?$/s.exec(inner) ?? [];
  return name === undefined ? null : { text: whole, from: 'environment', name, fallback: fallback ?? null };
}
