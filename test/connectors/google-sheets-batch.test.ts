import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RowRequest, SheetMessage } from '../../connectors/google-sheets/message.ts';
import type { Sink } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { runs } from '../fixtures/runs.ts';
import {
  connect,
  calls,
  connected,
  given,
  refuse,
  requestFor,
  sandbox,
  sink,
  update,
  withSheets,
} from './google-sheets-fixtures.ts';

withSheets();

const send = (requests: readonly RowRequest[]) => sink.deliverMany!(requests);

const many = (count: number, fields: (index: number) => Parameters<typeof requestFor>[0] = () => ({})) =>
  Array.from({ length: count }, (_, index) => requestFor(fields(index)));

const kinds = (outcomes: readonly Outcome[]) => outcomes.map(({ outcome }) => outcome);

const rangeOf = (outcome: Outcome | undefined) =>
  outcome?.outcome === 'delivered' ? outcome.receipt['range'] : outcome;

const deliveries = (tab = 'Results') => sandbox.rows(tab).map((row) => row['Delivery']);

const idsOf = (requests: readonly RowRequest[]) => requests.map(({ deliveryId }) => deliveryId);

/** Sends again whatever is to be retried, as the worker would, until nothing is. */
async function sendToTheEnd(requests: readonly RowRequest[], by = sink): Promise<Outcome[]> {
  const last = new Map<string, Outcome>();
  let waiting = requests;
  for (let round = 0; waiting.length > 0; round += 1) {
    if (round > 20) throw new Error(JSON.stringify([...last.values()]));
    const outcomes = await by.deliverMany!(waiting);
    waiting = waiting.flatMap((request, index) => {
      const outcome = outcomes[index]!;
      last.set(request.deliveryId, outcome);
      return outcome.outcome === 'retry' ? [{ ...request, progress: outcome.progress ?? null }] : [];
    });
  }
  return requests.map(({ deliveryId }) => last.get(deliveryId)!);
}

/** What is to be retried, and after which delay (ms). */
const nextOf = (requests: readonly RowRequest[], outcomes: readonly Outcome[]) =>
  requests.flatMap((request, index) => {
    const outcome = outcomes[index]!;
    const again = (progress: Json | null) => ({ ...request, attempt: request.attempt + 1, progress });
    return outcome.outcome === 'retry'
      ? [{ request: again(outcome.progress ?? request.progress), at: outcome.retryAfterMs }]
      : [];
  });

/** A row that the API refuses whatever the connector makes of it. */
function badRow(fields: Parameters<typeof requestFor>[0] = {}): RowRequest {
  const request = requestFor(fields);
  const row = { ...request.message.row, Candidate: 'x'.repeat(50_001) };
  return { ...request, message: { ...request.message, row } };
}

const oneCall = 'values.batchGet spreadsheets.batchUpdate values.batchGet';

describe('many rows', () => {
  test('cost one write and two reads, but for the first look at their tab', async () => {
    given('Results', [['Candidate', 'Delivery']]);
    const requests = many(500);
    await send(requests);
    expect(calls()).toBe(`token spreadsheets.get values.batchGet ${oneCall}`);
    await send(many(500));
    expect(calls()).toBe(oneCall);
    expect(deliveries().slice(0, 500)).toEqual(idsOf(requests));
  });

  test('make their tab and all their headers with one write', async () => {
    const rows = [{ A: 1 }, { B: 2, A: 3 }, { C: 4 }];
    const requests = rows.map((row) => requestFor({ row }));
    expect((await send(requests)).map(rangeOf)).toEqual([
      "'Results'!A2:D2",
      "'Results'!A3:D3",
      "'Results'!A4:D4",
    ]);
    expect(calls()).toBe(`token spreadsheets.get spreadsheets.batchUpdate ${oneCall}`);
    const [first, second, third] = idsOf(requests);
    expect(sandbox.cells('Results')).toEqual([
      ['A', 'B', 'C', 'Delivery'],
      [1, '', '', first],
      [3, 2, '', second],
      ['', '', 4, third],
    ]);
  });

  test('of several tabs keep their order in each, and share a call', async () => {
    const requests = many(6, (index) => ({ tab: index % 3 === 0 ? 'A' : 'B' }));
    const outcomes = await send(requests);
    expect(outcomes.map(rangeOf)).toEqual([
      "'A'!A2:B2",
      "'B'!A2:B2",
      "'B'!A3:B3",
      "'A'!A3:B3",
      "'B'!A4:B4",
      "'B'!A5:B5",
    ]);
    const [first, second, third, fourth, fifth, sixth] = idsOf(requests);
    expect(deliveries('A')).toEqual([first, fourth]);
    expect(deliveries('B')).toEqual([second, third, fifth, sixth]);
    expect(calls()).toBe(`token spreadsheets.get spreadsheets.batchUpdate ${oneCall}`);
  });

  // Node refuses more than 16 KB, and Google an address of 20,000 characters: github.com/dust-tt/dust/pull/4042.
  test('of more tabs than an address has room for are written, and found, at once', async () => {
    const tabs = Array.from({ length: 60 }, (_, index) => `Старший разработчик интерфейсов ${index}`);
    const requests = many(tabs.length, (index) => ({ tab: tabs[index]! }));
    const outcomes = await send(requests);
    expect(outcomes.map(rangeOf)).toEqual(tabs.map((tab) => `'${tab}'!A2:B2`));
    const findings = await sink.findMany!(requests);
    expect(findings).toMatchObject(outcomes.map((outcome) => ({ found: { range: rangeOf(outcome) } })));
  });

  test('stay below the limit of writes where single rows would not', async () => {
    await connected({ perMinute: 6 });
    given('Results', [['Candidate', 'Delivery']]);
    for (const requests of [many(100), many(100)]) {
      expect(new Set(kinds(await send(requests)))).toEqual(new Set(['delivered']));
    }
  });

  test('whose delivery is one stand as a single row does', async () => {
    const [request] = many(1);
    expect(kinds(await send([request!]))).toEqual(['delivered']);
    expect(deliveries()).toEqual([request!.deliveryId]);
  });
});

describe('a tab that fails', () => {
  test('for a protection waits with one call, and the other tabs go on', async () => {
    given('Locked', [['Candidate', 'Delivery']]);
    given('Free', [['Candidate', 'Delivery']]);
    sandbox.document.protect('Locked');
    const requests = many(20, (index) => ({ tab: index % 2 === 0 ? 'Locked' : 'Free' }));
    const outcomes = await send(requests);
    expect(sandbox.calls.filter((call) => call === 'spreadsheets.batchUpdate')).toHaveLength(1);
    const again = nextOf(requests, outcomes);
    const [locked, free] = [again.filter(({ at }) => at === 300_000), again.filter(({ at }) => at === 0)];
    expect([locked.length, free.length]).toEqual([10, 10]);
    const freed = await send(free.map(({ request }) => request));
    expect(new Set(kinds(freed))).toEqual(new Set(['delivered']));
    expect(outcomes[0]).toMatchObject({
      outcome: 'retry',
      reason: 'auth',
      sinkWide: 'perhaps',
      detail: expect.stringMatching(/protected cell.*Let connector@sandbox\S+ edit the protected/),
    });
  });

  test.for<[string, (index: number) => ReturnType<typeof requestFor>]>([
    ['that adds', () => requestFor()],
    ['that updates', (index) => update(`c${index}`, 'new')],
    ['whose header is missing', (index) => requestFor({ row: { Candidate: index, Score: 7 } })],
  ])(
    'for a protection of a batch %s takes one call each time, and ends when that is lifted',
    async ([, one]) => {
      const rows = Array.from({ length: 50 }, (_, index) => [`c${index}`, 'old', '']);
      given('Results', [['Candidate', 'Status', 'Delivery'], ...rows]);
      sandbox.document.protect('Results');
      let requests: RowRequest[] = Array.from({ length: 50 }, (_, index) => one(index));
      for (let round = 1; round <= 3; round += 1) {
        calls();
        const next = nextOf(requests, await send(requests));
        expect(new Set(next.map(({ at }) => at))).toEqual(new Set([300_000]));
        const writes = sandbox.calls.filter((call) => call === 'spreadsheets.batchUpdate');
        expect(writes.length).toBeLessThanOrEqual(2);
        requests = next.map(({ request }) => request);
      }
      sandbox.document.protections.length = 0;
      expect(new Set(kinds(await send(requests)))).toEqual(new Set(['delivered']));
    },
  );

  test('for a protection that is of one of several, each of which lacks a column, is found by itself', async () => {
    for (const tab of ['Locked', 'Free']) given(tab, [['Candidate', 'Delivery']]);
    sandbox.document.protect('Locked');
    const requests = ['Locked', 'Free'].map((tab) => requestFor({ tab, row: { Candidate: 'a', Score: 7 } }));
    const again = nextOf(requests, await send(requests));
    expect(again.map(({ at }) => at)).toEqual([0, 0]);
    expect(await send(again.map(({ request }) => request))).toMatchObject([
      { outcome: 'retry', retryAfterMs: 300_000 },
      { outcome: 'delivered' },
    ]);
  });

  test('for a protection of one row keeps only that one waiting', async () => {
    const rows = ['a', 'b', 'c'].map((name) => [name, 'old', '']);
    given('Results', [['Candidate', 'Status', 'Delivery'], ...rows]);
    sandbox.document.protect('Results', { startRowIndex: 2, endRowIndex: 3 });
    const requests = ['a', 'b', 'c'].map((name) => update(name, 'new'));
    const next = nextOf(requests, await send(requests));
    const outcomes = await send(next.map(({ request }) => request));
    expect(kinds(outcomes)).toEqual(['delivered', 'retry', 'delivered']);
    expect(sandbox.rows('Results').map(({ Status }) => Status)).toEqual(['new', 'old', 'new']);
  });

  test('is not called again for rows that a refusal had parted, where it concerns them all', async () => {
    sandbox.faults.only = ['spreadsheets.batchUpdate'];
    await send(many(1));
    sandbox.faults.once({ kind: 'rate-limit', retryAfterS: 5 });
    calls();
    const parted = [1, 2, 3].map((group) => requestFor({}, { progress: { group } }));
    for (const outcome of await send(parted)) {
      expect(outcome).toMatchObject({ outcome: 'retry', reason: 'rate_limited', retryAfterMs: 5000 });
    }
    expect(calls()).toBe('values.batchGet spreadsheets.batchUpdate');
  });
});

describe('a refusal that means one row of many', () => {
  test('ends with that row given up and all others delivered once, in a handful of calls', async () => {
    const requests = many(500);
    requests[321] = badRow();
    const outcomes = await sendToTheEnd(requests);
    expect(outcomes[321]).toMatchObject({
      outcome: 'rejected',
      detail: expect.stringContaining('50000 characters'),
    });
    expect(outcomes.filter(({ outcome }) => outcome === 'delivered')).toHaveLength(499);
    const expected = idsOf(requests.toSpliced(321, 1));
    expect(deliveries().map(String).toSorted()).toEqual(expected.toSorted());
    // One makes the tab, one is refused and says for which row, one has the others.
    expect(sandbox.calls.filter((call) => call === 'spreadsheets.batchUpdate')).toHaveLength(3);
  });

  test('and is not named is found by halves', async () => {
    await send(many(1));
    const requests = many(100);
    sandbox.faults.only = ['spreadsheets.batchUpdate'];
    const refusal = { kind: 'status', status: 400, body: { error: { status: 'INVALID_ARGUMENT' } } } as const;
    sandbox.faults.decide = () => (underWay.includes(requests[42]!) ? refusal : null);
    let underWay: readonly RowRequest[] = [];
    const watched: Sink<SheetMessage> = {
      ...sink,
      deliverMany: async (all) => {
        const outcomes: Outcome[] = [];
        for (const part of Map.groupBy(all, ({ progress }) => JSON.stringify(progress)).values()) {
          underWay = part.map((one) => requests.find(({ deliveryId }) => deliveryId === one.deliveryId)!);
          for (const [index, outcome] of (await sink.deliverMany!(part)).entries()) {
            outcomes[all.indexOf(part[index]!)] = outcome;
          }
        }
        return outcomes;
      },
    };
    const outcomes = await sendToTheEnd(requests, watched);
    expect(outcomes.filter(({ outcome }) => outcome === 'delivered')).toHaveLength(99);
    expect(outcomes[42]).toMatchObject({ outcome: 'rejected' });
    // Halving 100 takes seven rounds, and each has two calls at most.
    expect(sandbox.calls.filter((call) => call === 'spreadsheets.batchUpdate').length).toBeLessThanOrEqual(
      17,
    );
  });

  test('is found among updates, too', async () => {
    const values = ['a', 'b', 'c'];
    await send(values.map((value) => update(value, 'old')));
    const requests = values.map((value) => update(value, 'new'));
    const tooLong = { ...requests[1]!.message.row, Status: 'x'.repeat(50_001) };
    requests[1] = { ...requests[1]!, message: { ...requests[1]!.message, row: tooLong } };
    expect(kinds(await sendToTheEnd(requests))).toEqual(['delivered', 'rejected', 'delivered']);
    expect(sandbox.rows('Results').map(({ Status }) => Status)).toEqual(['new', 'old', 'new']);
  });

  test('says so, and asks for no delay of its own', async () => {
    await send(many(1));
    refuse('spreadsheets.batchUpdate', 400, { message: 'no' });
    const [first, second] = await send([badRow(), requestFor()]);
    const words = { detail: expect.stringContaining('2 rows at once'), retryAfterMs: 0 };
    expect(first).toMatchObject({ outcome: 'retry', reason: 'invalid', ...words });
    expect(second).toMatchObject({ outcome: 'retry', reason: 'invalid', ...words });
  });

  test('is found where the header cannot be written for one of them', async () => {
    await send(many(1));
    const longName = 'x'.repeat(50_001);
    const requests = [requestFor(), requestFor({ row: { Candidate: 'c', [longName]: 1 } }), requestFor()];
    expect(kinds(await sendToTheEnd(requests))).toEqual(['delivered', 'rejected', 'delivered']);
  });
});

const person = (Candidate: string, Email: string) => ({ Candidate, Email });

describe('rows with a key', () => {
  test('are updated with one call where they are, and added with one where they are not', async () => {
    given('Results', [
      ['Candidate', 'Status', 'Delivery'],
      ['a', 'old', 'd-0'],
      ['b', 'old', 'd-00'],
    ]);
    const requests = [update('b', '1'), update('new', '2'), requestFor(), update('a', '3')];
    expect((await send(requests)).map(rangeOf)).toEqual([
      "'Results'!A3:C3",
      "'Results'!A4:C4",
      "'Results'!A5:C5",
      "'Results'!A2:C2",
    ]);
    expect(calls()).toBe(`token spreadsheets.get values.batchGet ${oneCall}`);
    const [second, third, fourth, first] = idsOf(requests);
    expect(sandbox.cells('Results').slice(1)).toEqual([
      ['a', '3', first],
      ['b', '1', second],
      ['new', '2', third],
      ['42', '', fourth],
    ]);
  });

  test('are unknown where something other than Google answered the update', async () => {
    await send([update('a', 'old'), update('b', 'old')]);
    sandbox.faults.only = ['spreadsheets.batchUpdate'];
    sandbox.faults.once({ kind: 'status', status: 200, body: {} });
    expect(kinds(await send([update('a', 'new'), update('b', 'new')]))).toEqual(['unknown', 'unknown']);
  });

  test('are updated where they were found, and rows are added below the last that has an id', async () => {
    given('Results', [
      ['Candidate', 'Status', 'Delivery'],
      ['a', 'old', 'd-0'],
      [],
      ['apart', 'old', `dlv_${'0'.repeat(26)}_1`],
    ]);
    await send([update('new', 'Completed'), update('apart', 'Completed')]);
    expect(sandbox.rows('Results')).toMatchObject([
      { Candidate: 'a', Status: 'old' },
      {},
      { Candidate: 'apart', Status: 'Completed' },
      { Candidate: 'new', Status: 'Completed' },
    ]);
  });

  test('follow what deliveries before them made of another key', async () => {
    given('Results', [
      ['Candidate', 'Email', 'Delivery'],
      ['a', 'old@example.com', 'd-0'],
    ]);
    await send([
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
    given('Results', [['Candidate', 'Status', 'Delivery'], ...rows]);
    const requests = [update('a', 'Completed'), update('a', 'Canceled')];
    const outcomes = await send(requests);
    expect(outcomes.map(rangeOf)).toEqual(["'Results'!A2:C2", "'Results'!A2:C2"]);
    expect(sandbox.cells('Results').slice(1)).toEqual([['a', 'Canceled', requests[1]!.deliveryId]]);
  });

  test.for([true, false])(
    'and the same value end right when their answer is lost (there before: %s)',
    async (isThere) => {
      given('Results', [
        ['Candidate', 'Status', 'Score', 'Delivery'],
        ...(isThere ? [['a', 'DidNotTake', '', 'd-0']] : []),
      ]);
      sandbox.faults.only = ['spreadsheets.batchUpdate'];
      sandbox.faults.once({ kind: 'drop', commit: true });
      const requests = [requestFor({ row: { Candidate: 'a', Score: 7 }, key: 'Candidate' })];
      requests.push(update('a', 'Completed'), update('a', 'Canceled'));
      expect(kinds(await send(requests))).toEqual(['unknown', 'unknown', 'unknown']);
      const findings = await sink.findMany!(requests);
      expect(findings.map(({ found }) => found !== null)).toEqual([false, false, true]);
      expect(kinds(await send(requests.slice(0, 2)))).toEqual(['delivered', 'delivered']);
      expect(sandbox.rows('Results')).toMatchObject([{ Candidate: 'a', Score: 7, Status: 'Canceled' }]);
    },
  );

  test('and the same value leave the newest values, in whatever order they are tried', async () => {
    const requests = [update('a', 'Sent'), update('a', 'Completed'), update('a', 'Canceled')];
    const [first, late, newest] = requests;
    await send([newest!, first!]);
    expect(sandbox.rows('Results')).toMatchObject([{ Candidate: 'a', Status: 'Canceled' }]);
    const [overtaken, added] = await send([late!, update('b', 'Completed')]);
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
    let run = 0;
    const before = fc.array(fc.tuple(cell, cell, cell), { maxLength: 3 });
    const property = fc.asyncProperty(before, fc.array(fields, { maxLength: 6 }), async (rows, all) => {
      const [one, together] = [`One ${(run += 1)}`, `Many ${run}`];
      for (const tab of [one, together]) given(tab, [['A', 'B', 'C', 'Delivery'], ...rows]);
      for (const each of all) await sink.deliver(requestFor({ ...each, tab: one }));
      await send(all.map((each) => requestFor({ ...each, tab: together })));
      expect(valuesOf(together)).toEqual(valuesOf(one));
    });
    await fc.assert(property, runs(15));
  });
});

const valuesOf = (tab: string) =>
  sandbox.rows(tab).map(({ A, B, C }) => [A, B, C].map((value) => value ?? ''));

describe('asking for many rows', () => {
  test('takes two reads, whatever the number of tabs, and one more where nothing is known of them', async () => {
    const requests = many(40, (index) => ({ tab: index % 2 === 0 ? 'A' : 'B' }));
    const outcomes = await send(requests);
    calls();
    const receipts = outcomes.map((outcome) => outcome.outcome === 'delivered' && outcome.receipt);
    for (const [asked, reads] of [
      [sink, 'spreadsheets.get values.batchGet'],
      [await connect(), 'token spreadsheets.get values.batchGet values.batchGet'],
    ] as const) {
      const findings = await asked.findMany!(requests);
      expect(findings.map(({ found }) => found)).toEqual(receipts);
      expect(calls()).toBe(reads);
    }
  });

  test('finds those of a lost call, and only those', async () => {
    await send(many(3));
    sandbox.faults.only = ['spreadsheets.batchUpdate'];
    const lost: RowRequest[][] = [many(2), many(2)];
    for (const [index, requests] of lost.entries()) {
      sandbox.faults.once({ kind: 'drop', commit: index === 0 });
      expect(kinds(await send(requests))).toEqual(['unknown', 'unknown']);
    }
    const [there, missing] = lost as [RowRequest[], RowRequest[]];
    expect(await sink.findMany!([there[0]!, missing[0]!, there[1]!, missing[1]!])).toMatchObject([
      { found: { range: "'Results'!A5:B5" } },
      { found: null },
      { found: { range: "'Results'!A6:B6" } },
      { found: null },
    ]);
    await send(missing);
    expect(deliveries().slice(3)).toEqual(idsOf([...there, ...missing]));
  });

  test('says that it could not ask', async () => {
    const requests = many(2, (index) => ({ tab: index === 0 ? 'A' : 'B' }));
    await send(requests);
    sandbox.faults.only = ['values.batchGet'];
    sandbox.faults.once({ kind: 'status', status: 503 });
    expect(await sink.findMany!(requests)).toMatchObject([{ found: 'failed' }, { found: 'failed' }]);
    expect(await sink.findMany!(requests)).toMatchObject([
      { found: { range: "'A'!A2:B2" } },
      { found: { range: "'B'!A2:B2" } },
    ]);
  });
});
