import { expect, test } from 'vitest';
import { PostgresServer } from '../fixtures/postgres.ts';
import { runRound, runRoundOfCopies } from './round.ts';

// Concurrent, since they mostly wait: for tools, time-outs and leases.
/** `npm run faults` sends twice as many; each is five deliveries. */
const betweenMs = 10;

test.concurrent.each([1, 2])(
  'killed at random while tools fail and drop their answers, everything arrives as promised (seed %i)',
  { timeout: 180_000 },
  async (seed) => {
    const report = await runRound(seed, null, betweenMs);
    expect(report.breaches).toEqual([]);
    expect(report.accepted).toBeGreaterThan(50);
  },
);

test.concurrent(
  'so it does with three copies on one PostgreSQL, killed and standing still in turn while it crashes',
  { timeout: 240_000 },
  async () => {
    const server = await PostgresServer.start();
    try {
      const report = await runRoundOfCopies(36, 3, server);
      expect(report.breaches).toEqual([]);
      expect(report.accepted).toBeGreaterThan(20);
    } finally {
      await server.remove();
    }
  },
);
