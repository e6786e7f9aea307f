/** What a benchmark found. Ratios, as two things measured in one run on one machine can be compared anywhere. */
export interface BenchResult {
  readonly name: string;
  readonly ratio: number;
  /** The figures behind it, for people. */
  readonly detail: string;
  readonly target: string;
  readonly met: boolean;
}

/** The stores that `history` measures. */
export const historyStores = ['sqlite', 'postgres'] as const;

type Judged = Pick<BenchResult, 'ratio' | 'target' | 'met'>;

/** `is`: the limit itself, where the ratio is that to a fixed one. */
export function atMost(ratio: number, limit: number, is?: string): Judged {
  return { ratio, target: `at most ${limit}${is === undefined ? '' : ` (${is})`}`, met: ratio <= limit };
}

export const atLeast = (ratio: number, limit: number): Judged => ({
  ratio,
  target: `at least ${limit}`,
  met: ratio >= limit,
});

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** `share`: 0.99 for the 99th percentile. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

/** Of a ratio, over the rounds. */
export const spreadOf = (ratios: readonly number[]): string =>
  `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
