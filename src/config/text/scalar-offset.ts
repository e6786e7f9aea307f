import type { Scalar } from 'yaml';

/**
 * Where in the text the character at `index` of a scalar's value stands. However a scalar is written (plain, quoted,
 * as a block, over several lines), its value has the same characters in the same order as its text, white space apart:
 * so these are counted, with an escape sequence as one.
 */
export function scalarOffset(text: string, scalar: Scalar, index: number): number {
  const value = String(scalar.value);
  const onSpace = index >= value.length || /\s/.test(value.charAt(index));
  const before = value.slice(0, index).replaceAll(/\s/g, '').length;
  let seen = 0;
  let last = scalar.range?.[0] ?? 0;
  for (const unit of visible(text, scalar)) {
    if (onSpace && seen + unit.width >= before && before > 0) return unit.end + trailing(value, index);
    if (seen + unit.width > before) return unit.start;
    seen += unit.width;
    last = unit.end;
  }
  return last;
}

/** How many spaces of the same line stand between the last visible character and `index`. */
function trailing(value: string, index: number): number {
  const end = Math.min(index, value.length);
  let start = end;
  while (start > 0 && ' \t'.includes(value.charAt(start - 1))) start -= 1;
  return end - start;
}

interface Unit {
  readonly start: number;
  readonly end: number;
  /** How many characters of the value it stands for. */
  readonly width: number;
}

function* visible(text: string, scalar: Scalar): Generator<Unit> {
  const [start, end] = scalar.range ?? [0, 0];
  const escape = escapes[scalar.type ?? ''];
  let at = contentStart(text, scalar.type, start);
  const stop = escape ? end - 1 : end;
  while (at < stop) {
    const sequence = escape?.exec(text.slice(at, at + 10))?.[0];
    const length = sequence?.length ?? 1;
    const width = sequence ? visibleWidth(sequence) : /\s/.test(text.charAt(at)) ? 0 : 1;
    if (width > 0) yield { start: at, end: at + length, width };
    at += length;
  }
}

function contentStart(text: string, type: Scalar['type'], start: number): number {
  if (type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED') return text.indexOf('\n', start) + 1;
  return type === 'QUOTE_SINGLE' || type === 'QUOTE_DOUBLE' ? start + 1 : start;
}

const escapes: Record<string, RegExp> = {
  QUOTE_SINGLE: /^''/,
  QUOTE_DOUBLE: /^\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|\r\n|[^])/,
};

/** An escape sequence for white space, or for a line break in the text only, does not count. */
function visibleWidth(sequence: string): number {
  const code = /^\\[xuU]([\da-f]+)$/i.exec(sequence)?.[1];
  if (code === undefined) return /^\\[ntrvf_ LP\t\r\n]/.test(sequence) ? 0 : 1;
  const character = String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0x10_ff_ff));
  return /\s/.test(character) ? 0 : character.length;
}
