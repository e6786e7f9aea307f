import { compilePattern, type PatternResults } from '../conditions.ts';

/** A pattern that is plain text, perhaps with `^` or `$`. */
interface Plain {
  readonly text: string;
  readonly isStart: boolean;
  readonly isEnd: boolean;
}

/** Whether no text can have these results. False if that cannot be told. */
export function excludeEachOther(found: PatternResults): boolean {
  const patterns = Array.from(found, ([source, is]) => {
    const [, start, text, end] = /^(\^)?([^\\^$.|?*+()[\]{}]+)(\$)?$/.exec(source) ?? [];
    const plain: Plain | null =
      text === undefined ? null : { text, isStart: start !== undefined, isEnd: end !== undefined };
    return { source, is, plain };
  });
  const present = patterns.flatMap(({ is, plain }) => (is && plain ? [plain] : []));
  const missing = patterns.flatMap(({ is, plain }) => (!is && plain ? [plain] : []));
  const whole = present.find(({ isStart, isEnd }) => isStart && isEnd);
  if (whole)
    return patterns.some(({ source, is }) => {
      const pattern = compilePattern(source);
      return ('found' in pattern && pattern.found(whole.text)) !== is;
    });
  return present.some(
    (one) => missing.some((other) => implies(one, other)) || present.some((other) => clash(one, other)),
  );
}

/** Whether each text that has one has the other, too. */
function implies({ text, isStart, isEnd }: Plain, other: Plain): boolean {
  if (other.isStart && other.isEnd) return false;
  if (other.isStart) return isStart && text.startsWith(other.text);
  if (other.isEnd) return isEnd && text.endsWith(other.text);
  return text.includes(other.text);
}

/** Whether no text can begin, or end, with both. */
function clash(one: Plain, other: Plain): boolean {
  if (one.isStart && other.isStart)
    return !one.text.startsWith(other.text) && !other.text.startsWith(one.text);
  return one.isEnd && other.isEnd && !one.text.endsWith(other.text) && !other.text.endsWith(one.text);
}
