import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/model/outcomes.ts';
import type { ConnectorBench } from './connector-bench.ts';

const newIds = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

/** What holds for connectors that take many deliveries in a call, besides what holds for all. */
export function batchContract(benchNow: () => ConnectorBench): void {
  describe('many deliveries in a call', () => {
    test('arrive once each in their order, each with a receipt of its own', async () => {
      const bench = benchNow();
      const ids = newIds(5);
      const outcomes = await bench.deliverMany(ids);
      expect(kindsOf(outcomes)).toEqual(['delivered']);
      expect(await bench.receivedOf(ids)).toEqual(ids);
      expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(ids.length);
    });

    test('cost no more calls than one does, as many as they may be', async () => {
      const bench = benchNow();
      await bench.deliver();
      const one = await bench.callsDuring(() => bench.deliver());
      const ids = newIds(bench.subject.connector.batch!.max);
      expect(await bench.callsDuring(() => bench.deliverMany(ids))).toBe(one);
      expect(await bench.receivedOf(ids)).toEqual(ids);
    });

    test('end as one does, whatever status they fail with, and none is given up for another', async () => {
      const bench = benchNow();
      for (const status of [400, 401, 403, 404, 409, 413, 422, 429, 500, 503]) {
        bench.alwaysAt(bench.committing, { kind: 'status', status });
        const alone = await bench.deliver();
        const expected = alone.outcome === 'rejected' ? 'retry' : alone.outcome;
        const outcomes = await bench.deliverMany(newIds(3));
        expect(kindsOf(outcomes), `status ${status}`).toEqual([expected]);
        expect(reasonsOf(outcomes), `status ${status}`).toEqual(reasonsOf([alone]));
        bench.subject.sandbox.faults.clear();
      }
    });

    test('arrive after a refusal that meant one of them', async () => {
      const bench = benchNow();
      const ids = newIds(3);
      bench.onceAt(bench.committing, { kind: 'status', status: 400 });
      const refused = await bench.deliverMany(ids);
      const again = await bench.deliverMany(ids, (index) => ({ progress: progressOf(refused[index]) }));
      expect(kindsOf(again)).toEqual(['delivered']);
      expect((await bench.receivedOf(ids)).toSorted()).toEqual(ids.toSorted());
    });

    test('wait as long as the tool says when the rate is exceeded', async () => {
      const bench = benchNow();
      bench.onceAt(bench.committing, { kind: 'rate-limit', retryAfterS: 7 }, { kind: 'rate-limit' });
      for (const outcome of await bench.deliverMany(newIds(2))) {
        expect(outcome).toMatchObject({ outcome: 'retry', reason: 'rate_limited' });
        expect(outcome).toMatchObject(bench.subject.statesDelay ? { retryAfterMs: 7000 } : {});
      }
      for (const outcome of await bench.deliverMany(newIds(2))) {
        expect(outcome).not.toHaveProperty('retryAfterMs');
      }
    });

    test.for([true, false])(
      'whose answer is lost are asked for one by one (committed: %s)',
      async (commit) => {
        const bench = benchNow();
        const [there, missing] = [newIds(3), newIds(2)];
        const delivered = await bench.deliverMany(newIds(1));
        expect(kindsOf(delivered)).toEqual(['delivered']);
        bench.onceAt(bench.committing, { kind: 'drop', commit });
        expect(kindsOf(await bench.deliverMany(there))).toEqual(['unknown']);
        const asked = [there[2]!, missing[0]!, there[0]!, missing[1]!, there[1]!];
        const found = (await bench.findMany(asked)).map((finding) => finding.found !== null);
        expect(found).toEqual(asked.map((id) => commit && there.includes(id)));
      },
    );

    test.for([true, false])(
      'end unknown when time runs out after the request left (committed: %s)',
      async (commit) => {
        const bench = benchNow();
        const signal = bench.timeOutAt(bench.committing, commit);
        const outcomes = await bench.deliverMany(newIds(2), () => ({ signal }));
        expect(kindsOf(outcomes)).toEqual(['unknown']);
        expect(reasonsOf(outcomes)).toEqual(['timeout']);
      },
    );

    test('are not sent when the call is aborted before it starts', async () => {
      const bench = benchNow();
      const ids = newIds(2);
      const outcomes = await bench.deliverMany(ids, () => ({ signal: AbortSignal.abort() }));
      expect(kindsOf(outcomes)).toEqual(['retry']);
      expect(await bench.receivedOf(ids)).toEqual([]);
    });

    test('say so when the tool cannot be asked for them', async () => {
      const bench = benchNow();
      await bench.whileStopped(async () => {
        const failed = { found: 'failed', failure: expect.objectContaining({ outcome: 'retry' }) };
        expect(await bench.findMany(newIds(2))).toEqual([failed, failed]);
      });
    });
  });
}

const kindsOf = (outcomes: readonly Outcome[]) => [...new Set(outcomes.map(({ outcome }) => outcome))];

const reasonsOf = (outcomes: readonly Outcome[]) => [
  ...new Set(outcomes.map((outcome) => (outcome.outcome === 'delivered' ? null : outcome.reason))),
];

const progressOf = (outcome: Outcome | undefined) =>
  outcome?.outcome === 'retry' ? (outcome.progress ?? null) : null;
