/** What a benchmark found. Ratios, as two things measured in one run on one machine can be compared anywhere. */
export interface BenchResult {
  readonly name: string;
  readonly ratio: number;
  /** The figures behind it, for people. */
  readonly detail: string;
  readonly target: string;
  readonly met: boolean;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
