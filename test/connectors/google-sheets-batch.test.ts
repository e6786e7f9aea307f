import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RowRequest } from '../../connectors/google-sheets/plan.ts';
import type { SheetMessage } from '../../connectors/google-sheets/message.ts';
import type { Sink } from '../../src/connector.ts';
import type { Outcome } from '../../src/model.ts';
import type { SheetsSandbox } from '../sandbox/sheets.ts';
import { calls, connected, given, refuse, requestFor, update } from './google-sheets-fixtures.ts';

const send = (sink: Sink<SheetMessage>, requests: readonly RowRequest[]) => sink.deliverMany!(requests);

const many = (count: number, fields: (index: number) => Parameters<typeof requestFor>[0] = () => ({})) =>
  Array.from({ length: count }, (_, index) => requestFor(fields(index)));

const kinds = (outcomes: readonly Outcome[]) => outcomes.map(({ outcome }) => outcome);

const rangeOf = (outcome: Outcome | undefined) =>
  outcome?.outcome === 'delivered' ? outcome.receipt['range'] : outcome;

const deliveries = (sandbox: SheetsSandbox, tab = 'Results') =>
  sandbox.rows(tab).map((row) => row['Delivery']);

const idsOf = (requests: readonly RowRequest[]) => requests.map(({ deliveryId }) => deliveryId);

/** Sends again whatever is to be retried, as the worker would, until nothing is. */
async function sendToTheEnd(sink: Sink<SheetMessage>, requests: readonly RowRequest[]): Promise<Outcome[]> {
  const last = new Map<string, Outcome>();
  let waiting = requests;
  for (let round = 0; waiting.length > 0; round += 1) {
    if (round > 20) throw new Error(JSON.stringify([...last.values()]));
    const outcomes = await send(sink, waiting);
    waiting = waiting.flatMap((request, index) => {
      const outcome = outcomes[index]!;
      last.set(request.deliveryId, outcome);
      return outcome.outcome === 'retry' ? [{ ...request, progress: outcome.progress ?? null }] : [];
    });
  }
  return requests.map(({ deliveryId }) => last.get(deliveryId)!);
}

/** A row that the API refuses whatever the connector makes of it. */
function badRow(fields: Parameters<typeof requestFor>[0] = {}): RowRequest {
  const request = requestFor(fields);
  const row = { ...request.message.row, Candidate: 'x'.repeat(50_001) };
  return { ...request, message: { ...request.message, row } };
}

describe('many rows', () => {
  test('cost one append, and one look at the header', async () => {
    const { sandbox, sink } = await connected();
    given(sandbox, 'Results', [['Candidate', 'Delivery']]);
    const requests = many(500);
    await send(sink, requests);
    expect(calls(sandbox)).toBe('token values.get values.append');
    await send(sink, many(500));
    expect(calls(sandbox)).toBe('values.append');
    expect(deliveries(sandbox).slice(0, 500)).toEqual(idsOf(requests));
  });

  test('make their tab and all their headers with one write', async () => {
    const { sandbox, sink } = await connected();
    const rows = [{ A: 1 }, { B: 2, A: 3 }, { C: 4 }];
    const requests = rows.map((row) => requestFor({ row }));
    expect((await send(sink, requests)).map(rangeOf)).toEqual([
      "'Results'!A2:D2",
      "'Results'!A3:D3",
      "'Results'!A4:D4",
    ]);
    expect(calls(sandbox)).toBe('token values.get spreadsheets.batchUpdate values.get values.append');
    const [first, second, third] = idsOf(requests);
    expect(sandbox.cells('Results')).toEqual([
      ['A', 'B', 'C', 'Delivery'],
      [1, '', '', first],
      [3, 2, '', second],
      ['', '', 4, third],
    ]);
  });

  test('of several tabs keep their order in each, with one append a tab', async () => {
    const { sandbox, sink } = await connected();
    const requests = many(6, (index) => ({ tab: index % 3 === 0 ? 'A' : 'B' }));
    const outcomes = await send(sink, requests);
    expect(outcomes.map(rangeOf)).toEqual([
      "'A'!A2:B2",
      "'B'!A2:B2",
      "'B'!A3:B3",
      "'A'!A3:B3",
      "'B'!A4:B4",
      "'B'!A5:B5",
    ]);
    const [first, second, third, fourth, fifth, sixth] = idsOf(requests);
    expect(deliveries(sandbox, 'A')).toEqual([first, fourth]);
    expect(deliveries(sandbox, 'B')).toEqual([second, third, fifth, sixth]);
    expect(sandbox.calls.filter((call) => call === 'values.append')).toHaveLength(2);
  });

  test('stay below the limit of writes where single rows would not', async () => {
    const { sandbox, sink } = await connected({ perMinute: 3 });
    given(sandbox, 'Results', [['Candidate', 'Delivery']]);
    expect(new Set(kinds(await send(sink, many(100))))).toEqual(new Set(['delivered']));
  });

  test('of which not all were written are asked for', async () => {
    const { sandbox, sink } = await connected();
    sandbox.faults.only = ['values.append'];
    const body = { updates: { updatedRange: 'Results!A2:B3' } };
    sandbox.faults.once({ kind: 'status', status: 200, body });
    const outcomes = await send(sink, many(3));
    expect(kinds(outcomes)).toEqual(['unknown', 'unknown', 'unknown']);
    expect(outcomes[0]).toMatchObject({ detail: expect.stringContaining('2 of 3') });
  });

  test('whose delivery is one stand as a single row does', async () => {
    const { sandbox, sink } = await connected();
    const [request] = many(1);
    expect(kinds(await send(sink, [request!]))).toEqual(['delivered']);
    expect(deliveries(sandbox)).toEqual([request!.deliveryId]);
  });
});

describe('a tab that fails', () => {
  test('for a reason of its own leaves the other tabs alone', async () => {
    const { sandbox, sink } = await connected();
    given(sandbox, 'Locked', [['Candidate', 'Delivery']]);
    sandbox.document.protectedTabs = ['Locked'];
    const requests = many(4, (index) => ({ tab: index % 2 === 0 ? 'Locked' : 'Free' }));
    expect(kinds(await sendToTheEnd(sink, requests))).toEqual([
      'rejected',
      'delivered',
      'rejected',
      'delivered',
    ]);
  });

  test('without a verdict leaves only its own rows unknown', async () => {
    const { sandbox, sink } = await connected();
    sandbox.faults.only = ['values.append'];
    sandbox.faults.once({ kind: 'status', status: 503 });
    const requests = many(4, (index) => ({ tab: index % 2 === 0 ? 'A' : 'B' }));
    const outcomes = await send(sink, requests);
    expect(kinds(outcomes)).toEqual(['unknown', 'delivered', 'unknown', 'delivered']);
  });

  test('for what concerns all of them spares the other calls', async () => {
    const { sandbox, sink } = await connected();
    sandbox.faults.only = ['values.append'];
    sandbox.faults.once({ kind: 'rate-limit', retryAfterS: 5 });
    const outcomes = await send(
      sink,
      many(3, (index) => ({ tab: `Tab ${index}` })),
    );
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ outcome: 'retry', reason: 'rate_limited', retryAfterMs: 5000 });
    }
    expect(sandbox.calls.filter((call) => call === 'values.append')).toHaveLength(1);
    expect(sandbox.tabs()).toEqual(['Sheet1', 'Tab 0']);
  });

  test('by taking too long leaves its own rows open, the ones before delivered, the ones after unsent', async () => {
    const { sandbox, sink } = await connected();
    const controller = new AbortController();
    sandbox.faults.only = ['values.append'];
    sandbox.faults.decide = () => {
      if (sandbox.calls.filter((call) => call === 'values.append').length < 2) return null;
      setImmediate(() => controller.abort());
      return { kind: 'hang', commit: true };
    };
    const requests = ['A', 'B', 'C'].map((tab) => requestFor({ tab }, { signal: controller.signal }));
    expect(kinds(await send(sink, requests))).toEqual(['delivered', 'unknown', 'retry']);
    expect(sandbox.tabs()).toEqual(['Sheet1', 'A', 'B']);
  });
});

describe('a refusal that means one row of many', () => {
  test('ends with that row given up and all others delivered once, in a handful of calls', async () => {
    const { sandbox, sink } = await connected();
    const requests = many(500);
    requests[321] = badRow();
    const outcomes = await sendToTheEnd(sink, requests);
    expect(outcomes[321]).toMatchObject({
      outcome: 'rejected',
      detail: expect.stringContaining('50000 characters'),
    });
    expect(outcomes.filter(({ outcome }) => outcome === 'delivered')).toHaveLength(499);
    const expected = idsOf(requests.toSpliced(321, 1));
    expect(deliveries(sandbox).map(String).toSorted()).toEqual(expected.toSorted());
    // Halving 500 takes nine rounds, and each has two calls at most.
    expect(sandbox.calls.filter((call) => call === 'values.append').length).toBeLessThanOrEqual(19);
  });

  test('is found among updates, too', async () => {
    const { sandbox, sink } = await connected();
    const values = ['a', 'b', 'c'];
    await send(
      sink,
      values.map((value) => update(value, 'old')),
    );
    const requests = values.map((value) => update(value, 'new'));
    const tooLong = { ...requests[1]!.message.row, Status: 'x'.repeat(50_001) };
    requests[1] = { ...requests[1]!, message: { ...requests[1]!.message, row: tooLong } };
    expect(kinds(await sendToTheEnd(sink, requests))).toEqual(['delivered', 'rejected', 'delivered']);
    expect(sandbox.rows('Results').map(({ Status }) => Status)).toEqual(['new', 'old', 'new']);
  });

  test('says so, and asks for no delay of its own', async () => {
    const { sink } = await connected();
    const [first, second] = await send(sink, [badRow(), requestFor()]);
    const words = { detail: expect.stringContaining('2 rows at once'), retryAfterMs: 0 };
    expect(first).toMatchObject({ outcome: 'retry', reason: 'invalid', ...words });
    expect(second).toMatchObject({ outcome: 'retry', reason: 'invalid', ...words });
  });

  test('does not hold for rows of other calls', async () => {
    const { sandbox, sink } = await connected();
    given(sandbox, 'Results', [
      ['Candidate', 'Status', 'Delivery'],
      ['a', 'old', 'd-0'],
    ]);
    refuse(sandbox, 'values.batchUpdate', 400, { message: 'no' });
    const outcomes = await send(sink, [update('a', 'new'), update('b', 'new'), update('c', 'new')]);
    expect(kinds(outcomes)).toEqual(['rejected', 'delivered', 'delivered']);
  });

  test('is found where the header cannot be written for one of them', async () => {
    const { sandbox, sink } = await connected();
    sandbox.faults.decide = ({ name }) => {
      const columns = sandbox.cells('Results')[0]?.length ?? 0;
      return name === 'spreadsheets.batchUpdate' && columns > 0 ? { kind: 'status', status: 400 } : null;
    };
    await send(sink, many(1));
    const requests = [requestFor(), requestFor({ row: { Candidate: 'c', Salary: 1 } }), requestFor()];
    expect(kinds(await sendToTheEnd(sink, requests))).toEqual(['delivered', 'rejected', 'delivered']);
  });
});

const person = (Candidate: string, Email: string) => ({ Candidate, Email });

describe('rows with a key', () => {
  test('are updated with one call where they are, and added with one where they are not', async () => {
    const { sandbox, sink } = await connected();
    given(sandbox, 'Results', [
      ['Candidate', 'Status', 'Delivery'],
      ['a', 'old', 'd-0'],
      ['b', 'old', 'd-00'],
    ]);
    const requests = [update('b', '1'), update('new', '2'), requestFor(), update('a', '3')];
    expect((await send(sink, requests)).map(rangeOf)).toEqual([
      "'Results'!A3:C3",
      "'Results'!A4:C4",
      "'Results'!A5:C5",
      "'Results'!A2:C2",
    ]);
    expect(calls(sandbox)).toBe('token values.get values.batchGet values.batchUpdate values.append');
    const [second, third, fourth, first] = idsOf(requests);
    expect(sandbox.cells('Results').slice(1)).toEqual([
      ['a', '3', first],
      ['b', '1', second],
      ['new', '2', third],
      ['42', '', fourth],
    ]);
  });

  test('are unknown where something other than Google answered the update', async () => {
    const { sandbox, sink } = await connected();
    await send(sink, [update('a', 'old'), update('b', 'old')]);
    sandbox.faults.only = ['values.batchUpdate'];
    sandbox.faults.once({ kind: 'status', status: 200, body: {} });
    expect(kinds(await send(sink, [update('a', 'new'), update('b', 'new')]))).toEqual(['unknown', 'unknown']);
  });

  test('are updated where they were found, though rows are added above them', async () => {
    const { sandbox, sink } = await connected();
    given(sandbox, 'Results', [
      ['Candidate', 'Status', 'Delivery'],
      ['a', 'old', 'd-0'],
      [],
      ['apart', 'old', 'd-00'],
    ]);
    await send(sink, [update('new', 'Completed'), update('apart', 'Completed')]);
    expect(sandbox.rows('Results')).toMatchObject([
      { Candidate: 'a', Status: 'old' },
      { Candidate: 'new', Status: 'Completed' },
      {},
      { Candidate: 'apart', Status: 'Completed' },
    ]);
  });

  test('follow what deliveries before them made of another key', async () => {
    const { sandbox, sink } = await connected();
    given(sandbox, 'Results', [
      ['Candidate', 'Email', 'Delivery'],
      ['a', 'old@example.com', 'd-0'],
    ]);
    await send(sink, [
      requestFor({ row: person('a', 'new@example.com'), key: 'Candidate' }),
      requestFor({ row: person('b', 'new@example.com'), key: 'Email' }),
      requestFor({ row: person('c', 'old@example.com'), key: 'Email' }),
    ]);
    expect(sandbox.rows('Results')).toMatchObject([
      person('b', 'new@example.com'),
      person('c', 'old@example.com'),
    ]);
  });

  test.for([
    ['is there', [['a', 'old', 'd-0']]],
    ['the first of them adds', []],
  ] as const)('and the same value write one row, which %s, and the later wins', async ([, rows]) => {
    const { sandbox, sink } = await connected();
    given(sandbox, 'Results', [['Candidate', 'Status', 'Delivery'], ...rows]);
    const requests = [update('a', 'Completed'), update('a', 'Canceled')];
    const outcomes = await send(sink, requests);
    expect(outcomes.map(rangeOf)).toEqual(["'Results'!A2:C2", "'Results'!A2:C2"]);
    expect(sandbox.cells('Results').slice(1)).toEqual([['a', 'Canceled', requests[1]!.deliveryId]]);
  });

  test.for([true, false])(
    'and the same value end right when their answer is lost (there before: %s)',
    async (isThere) => {
      const { sandbox, sink } = await connected();
      if (isThere) await send(sink, [update('a', 'DidNotTake')]);
      sandbox.faults.only = [isThere ? 'values.batchUpdate' : 'values.append'];
      sandbox.faults.once({ kind: 'drop', commit: true });
      const requests = [requestFor({ row: { Candidate: 'a', Score: 7 }, key: 'Candidate' })];
      requests.push(update('a', 'Completed'), update('a', 'Canceled'));
      expect(kinds(await send(sink, requests))).toEqual(['unknown', 'unknown', 'unknown']);
      const findings = await sink.findMany!(requests);
      expect(findings.map(({ found }) => found !== null)).toEqual([false, false, true]);
      expect(kinds(await send(sink, requests.slice(0, 2)))).toEqual(['delivered', 'delivered']);
      expect(sandbox.rows('Results')).toMatchObject([{ Candidate: 'a', Score: 7, Status: 'Canceled' }]);
    },
  );

  test('and the same value leave the newest values, in whatever order they are tried', async () => {
    const { sandbox, sink } = await connected();
    const requests = [update('a', 'Sent'), update('a', 'Completed'), update('a', 'Canceled')];
    const [first, late, newest] = requests;
    await send(sink, [newest!, first!]);
    expect(sandbox.rows('Results')).toMatchObject([{ Candidate: 'a', Status: 'Canceled' }]);
    const [overtaken, added] = await send(sink, [late!, update('b', 'Completed')]);
    expect(overtaken).toMatchObject({ outcome: 'delivered', note: expect.stringContaining('newer') });
    expect(added).not.toHaveProperty('note');
    expect(sandbox.rows('Results').map(({ Status }) => Status)).toEqual(['Canceled', 'Completed']);
  });

  const cell = fc.constantFrom('x', 'y', 'z');
  const fields = fc.record(
    {
      row: fc
        .record({ A: cell, B: cell, C: cell }, { requiredKeys: ['A'] })
        .map((row) => row as { [header: string]: string }),
      key: fc.constant('A'),
    },
    { requiredKeys: ['row'] },
  );

  test('leave the sheet as one after the other would', async () => {
    const { sandbox, sink } = await connected();
    let run = 0;
    const before = fc.array(fc.tuple(cell, cell, cell), { maxLength: 3 });
    const property = fc.asyncProperty(before, fc.array(fields, { maxLength: 6 }), async (rows, all) => {
      const [one, together] = [`One ${(run += 1)}`, `Many ${run}`];
      for (const tab of [one, together]) given(sandbox, tab, [['A', 'B', 'C', 'Delivery'], ...rows]);
      for (const each of all) await sink.deliver(requestFor({ ...each, tab: one }));
      await send(
        sink,
        all.map((each) => requestFor({ ...each, tab: together })),
      );
      expect(valuesOf(sandbox, together)).toEqual(valuesOf(sandbox, one));
    });
    await fc.assert(property, { numRuns: 60 });
  });
});

const valuesOf = (sandbox: SheetsSandbox, tab: string) =>
  sandbox.rows(tab).map(({ A, B, C }) => [A, B, C].map((value) => value ?? ''));

describe('asking for many rows', () => {
  test('reads each tab once', async () => {
    const { sandbox, sink } = await connected();
    const requests = many(40, (index) => ({ tab: index % 2 === 0 ? 'A' : 'B' }));
    const outcomes = await send(sink, requests);
    calls(sandbox);
    const findings = await sink.findMany!(requests);
    expect(findings.map(({ found }) => found)).toEqual(
      outcomes.map((outcome) => outcome.outcome === 'delivered' && outcome.receipt),
    );
    expect(calls(sandbox)).toBe('values.get values.batchGet values.get values.batchGet');
  });

  test('finds those of a lost call, and only those', async () => {
    const { sandbox, sink } = await connected();
    await send(sink, many(3));
    sandbox.faults.only = ['values.append'];
    sandbox.faults.once({ kind: 'drop', commit: true }, { kind: 'drop', commit: false });
    const requests = many(4, (index) => ({ tab: index % 2 === 0 ? 'There' : 'Missing' }));
    expect(kinds(await send(sink, requests))).toEqual(['unknown', 'unknown', 'unknown', 'unknown']);
    expect(await sink.findMany!(requests)).toMatchObject([
      { found: { range: "'There'!A2:B2" } },
      { found: null },
      { found: { range: "'There'!A3:B3" } },
      { found: null },
    ]);
    const missing = requests.filter((_, index) => index % 2 === 1);
    await send(sink, missing);
    expect(deliveries(sandbox, 'Missing')).toEqual(idsOf(missing));
    expect(deliveries(sandbox, 'There')).toHaveLength(2);
  });

  test('says of each tab apart that it could not be asked', async () => {
    const { sandbox, sink } = await connected();
    const requests = many(2, (index) => ({ tab: index === 0 ? 'A' : 'B' }));
    await send(sink, requests);
    sandbox.faults.only = ['values.get'];
    sandbox.faults.once({ kind: 'status', status: 503 });
    const findings = await sink.findMany!(requests);
    expect(findings).toMatchObject([{ found: 'failed' }, { found: { range: "'B'!A2:B2" } }]);
  });
});
