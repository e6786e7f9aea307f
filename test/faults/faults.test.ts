import { expect, test } from 'vitest';
import { runRound } from './round.ts';

test.concurrent.each([1, 2, 3])(
  'killed at random while tools fail and drop their answers, everything arrives as promised (seed %i)',
  { timeout: 180_000 },
  async (seed) => {
    const report = await runRound(seed);
    expect(report.breaches).toEqual([]);
    expect(report.accepted).toBeGreaterThan(50);
  },
);
