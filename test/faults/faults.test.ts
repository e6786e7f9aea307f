import { expect, test } from 'vitest';
import { PostgresServer } from '../fixtures/postgres.ts';
import { runRound, runRoundOfCopies } from './round.ts';

// Concurrent, since they mostly wait: for tools, time-outs and leases.
/** `npm run faults` sends several times as many; each is six deliveries. */
const betweenMs = 25;

test.concurrent(
  'killed at random while tools fail and drop their answers, everything arrives as promised',
  { timeout: 180_000 },
  async () => {
    // Killed three times; a file of its store vanishes, and in its last life its clock is far ahead.
    const report = await runRound(2, null, betweenMs);
    expect(report.breaches).toEqual([]);
    expect(report.accepted).toBeGreaterThan(20);
  },
);

test.concurrent(
  'so it does with two replicas on one PostgreSQL, killed and standing still in turn while it crashes',
  { timeout: 240_000 },
  async () => {
    const server = await PostgresServer.start();
    try {
      const report = await runRoundOfCopies(36, 2, server, 500);
      expect(report.breaches).toEqual([]);
      expect(report.accepted).toBeGreaterThan(20);
    } finally {
      await server.remove();
    }
  },
);
