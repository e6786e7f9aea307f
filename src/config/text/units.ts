import { z } from 'zod';
import { orList } from '../../support/text.ts';

const msPer: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const ratePeriodMs: Record<string, number> = { s: 1000, min: 60_000, h: 3_600_000 };
const bytesPer: Record<string, number> = { b: 1, kb: 1024, mb: 1024 ** 2 };

const durationExamples = ['30s', '10m', '24h', '30d'];
const rateExpected = 'expected a rate such as 5/s, 60/min or 300/h';
const sizeExpected = 'expected a size such as 64kb or 1mb';

const oneOf = (units: object): string => `(${Object.keys(units).join('|')})`;
const durationPattern = new RegExp(`^\\d+${oneOf(msPer)}$`);
const ratePattern = new RegExp(`^[1-9]\\d{0,8}/${oneOf(ratePeriodMs)}$`);
const sizePattern = new RegExp(`^[1-9]\\d*${oneOf(bytesPer)}$`);

/** Parses `200ms`, `2s`, `10m`, `24h` or `30d` to milliseconds; null if the text is not a duration. */
export function parseDuration(text: string): number | null {
  const [, unit] = durationPattern.exec(text) ?? [];
  return unit === undefined ? null : Number.parseInt(text, 10) * msPer[unit]!;
}

/** The duration that `daily` or `5 minutes` means; null if it means none. A duration stays as it is. */
export function durationMeant(input: unknown): string | null {
  const text = String(input).trim().toLowerCase();
  const often = { hourly: '1h', daily: '24h', weekly: '7d' }[text];
  const [, amount = '', unit = ''] =
    /^(\d{0,9})\s*(ms|s(?=$|ec)|m(?=$|in)|h(?=$|r|our)|d(?=$|ay)|w(?=$|eek))[a-z]*$/.exec(text) ?? [];
  if (often !== undefined || unit === '') return often ?? null;
  const count = Number(amount || 1);
  return unit === 'w' ? `${count * 7}d` : `${count}${unit}`;
}

/** ` (write 24h)`, as the end of a sentence; empty if nothing else was meant. */
export const writeInstead = (meant: string | null, input: unknown): string =>
  meant === null || meant === input ? '' : ` (write ${meant})`;

/** Milliseconds as a config writes them, in the largest unit that gives a whole number. */
export function durationText(ms: number): string {
  const [unit, unitMs] = Object.entries(msPer).findLast(([, one]) => ms % one === 0) ?? ['ms', 1];
  return `${ms / unitMs}${unit}`;
}

/** The schema of a duration, which becomes milliseconds. Messages show the bounds as they are written here. */
export function duration(bounds: { readonly min?: string; readonly max?: string } = {}) {
  const minMs = parseDuration(bounds.min ?? '0s') ?? 0;
  const maxMs = parseDuration(bounds.max ?? '36500d') ?? Infinity;
  const examples = durationExamples.filter((example) => {
    const exampleMs = parseDuration(example) ?? Number.NaN;
    return exampleMs >= minMs && exampleMs <= maxMs;
  });
  const error = ({ input }: { readonly input?: unknown }) =>
    `expected a duration such as ${orList(examples)}${writeInstead(durationMeant(input), input)}`;
  return z
    .string({ error })
    .regex(durationPattern, { error })
    .transform((text, context) => {
      const valueMs = parseDuration(text) ?? Number.NaN;
      if (valueMs < minMs) context.addIssue(`expected a duration of at least ${bounds.min}`);
      if (valueMs > maxMs) context.addIssue(`expected a duration of at most ${bounds.max ?? '36500d'}`);
      return valueMs;
    });
}

/** The schema of a rate (`5/s`, `60/min`, `300/h`), which becomes `count` in every `perMs`. */
export function rate() {
  return z
    .string({ error: rateExpected })
    .regex(ratePattern, { error: rateExpected })
    .transform((text) => {
      const [count, unit = ''] = text.split('/');
      return { count: Number(count), perMs: ratePeriodMs[unit]! };
    });
}

/** The schema of a size such as `64kb`, which becomes bytes. At most 16mb, because bodies are held in memory. */
export function size() {
  return z
    .string({ error: sizeExpected })
    .regex(sizePattern, { error: sizeExpected })
    .transform((text, context) => {
      const [, unit = ''] = sizePattern.exec(text)!;
      const bytes = Number.parseInt(text, 10) * bytesPer[unit]!;
      if (bytes > 16 * 1024 ** 2) context.addIssue('expected a size of at most 16mb');
      return bytes;
    });
}
