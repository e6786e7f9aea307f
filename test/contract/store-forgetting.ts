import { expect, test } from 'vitest';
import type { PlannedDelivery } from '../../src/model.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { mentionsOf } from '../../src/support/candidate-traces.ts';
import { home, store } from './store-bench.ts';
import {
  arrival,
  claimDue,
  day,
  delivered,
  notice,
  person,
  planned,
  rejected,
  resultOf,
  retry,
  t0,
} from './store-fixtures.ts';

const gone = 'gone-0123456789';
const spellings = [gone, 'GONE%2D0123456789'];
const kept = 'kept-0123456789';
const inDigest = (changes: Partial<PlannedDelivery> = {}) =>
  planned({ group: 'g', groupMax: 10, lane: 'mail', ...changes });

export function forgetting(): void {
  const accept = (candidateId: string, deliveries: PlannedDelivery[], changes: object = {}) =>
    store.accept(arrival({ candidateId, ...changes }, { deliveries }));
  const eventIdsOf = async () =>
    (await store.events({ candidates: { ids: [gone] } })).map(({ event }) => event.id);
  const forget = async (eventIds?: string[]) =>
    store.forget(
      { candidateId: gone, eventIds: eventIds ?? (await eventIdsOf()), mentions: mentionsOf(gone, [20970]) },
      t0 + day,
      { ...person, note: 'they asked for it' },
    );
  /** Carries out what is due in a lane, with everything that a tool may say about the candidate. */
  const carryOut = async (lane: string, outcome: Outcome = delivered) => {
    const claimed = await claimDue(store, t0, lane);
    const said = { ...outcome, ...('detail' in outcome && { detail: `No ${gone}.` }) };
    const results = claimed.map((one) => {
      const text = one.events.map(({ candidateId }) => candidateId).join(' and ') || gone;
      const lastError = 'detail' in said ? said.detail : null;
      return resultOf(one, said, { message: JSON.stringify({ text }), thread: text, lastError });
    });
    await store.record(results);
    return claimed.map(({ delivery }) => delivery.id);
  };

  test('erases all that is about a candidate, and keeps what is about others', async () => {
    await accept(gone, [planned(), inDigest(), inDigest({ lane: 'dead' })], {
      correlationId: `first of ${gone}`,
    });
    await accept(gone, [], { correlationId: `repeat for ${gone}` });
    const other = await accept(kept, [planned(), inDigest(), inDigest({ lane: 'dead' })]);
    await carryOut('slack #hiring');
    await carryOut('mail');
    await carryOut('dead', rejected);
    await accept(gone, [planned({ dueAt: t0 + 2 * day })], { status: 'Canceled' });
    await accept(gone, [planned({ lane: 'tried' })], { status: 'DidNotTake' });
    await carryOut('tried', retry);
    const raised = notice({ detail: `It refused ${gone}.`, advice: `Look at gone%2D0123456789.` });
    await store.raise({
      notice: raised,
      configId: 'cfg_first',
      deliveries: [planned({ lane: 'ops' })],
      quietMs: 0,
    });
    await carryOut('ops', rejected);
    await store.discard([`dlv_${raised.id.slice(4)}_1`], t0, {
      ...person,
      note: `about ${gone.toUpperCase()}`,
    });
    const refused = {
      receivedAt: t0,
      address: '192.0.2.1',
      correlationId: null,
      status: 422,
      faults: ['status'],
    };
    await store.keepRejected({ ...refused, body: `{"candidateId":"${gone.toUpperCase()}"}` }, 10);
    await store.keepRejected({ ...refused, body: `{"candidateId":"${kept}"}` }, 10);
    const because = { reason: 'auth', detail: `It refused ${gone}.` } as const;
    await store.keepPause({ sink: 'slack', since: t0, probeAt: t0 + day, probes: 1, because });
    expect((await home.content()).toLowerCase()).toContain(gone);

    expect(await forget()).toMatchObject({ done: true, events: 3, rejected: 1, deliveries: { length: 5 } });
    await store.traces(spellings, false);
    const content = (await home.content()).toLowerCase();
    for (const text of spellings) expect(content).not.toContain(text.toLowerCase());
    expect(content).toContain(kept);
    const detail = await store.event(other.eventId);
    expect(detail?.deliveries.map(({ state, message, history }) => [state, message, history.length])).toEqual(
      [
        ['delivered', { text: kept }, 1],
        ['delivered', null, 1],
        ['dead', null, 1],
      ],
    );
    expect((await store.audit({}))[0]).toMatchObject({
      action: 'forget',
      note: 'they asked for it',
      deliveries: [],
    });
    expect((await store.notice(raised.id))?.notice.detail).toBe('It refused (erased).');
    expect((await store.pauses())[0]?.because?.detail).toBe('It refused (erased).');
    expect((await store.sinkFigures(t0))[0]?.because?.detail).toBe('No (erased).');
  });

  const refuse = (body: string) =>
    store.keepRejected(
      { receivedAt: t0, address: '192.0.2.1', correlationId: null, status: 422, faults: [], body },
      20,
    );

  test('finds the candidate in refused requests however it is written, and keeps those of others', async () => {
    const bodies = [
      `{"candidateId":"${gone}"}`,
      `<candidateId>gone&#45;0123456789</candidateId>`,
      String.raw`{"candidateId":"\u0067\u006f\u006e\u0065\u002d0123456789"}`,
      `{"candidateNumericalId" : 20970}`,
      'candidateNumericalId=20970&status=x',
      String.raw`"{\"candidateNumericalId\":\"20970\"}"`,
      '&quot;candidateNumericalId&quot;:20970',
    ];
    const others = [
      `{"candidateId":"${gone}0"}`,
      '{"candidateNumericalId":209701}',
      '{"candidateNumericalId":7,"testId":20970}',
    ];
    for (const body of [...bodies, ...others]) await refuse(body);
    const event = { at: t0, from: '192.0.2.1', reason: 'address', testId: 1, status: 'Canceled' } as const;
    const whole = { ...event, candidateNumericalId: null, correlationId: null, attempts: 1, raw: '{}' };
    await store.keepRefusedEvents([
      { ...whole, id: 'rej_a', candidateId: gone },
      { ...whole, id: 'rej_b', candidateId: 'b', raw: '{"candidateNumericalId":20970}' },
      { ...whole, id: 'rej_c', candidateId: 'c', raw: '{"candidateNumericalId":209701}' },
    ]);
    expect(await store.requestsNaming(mentionsOf(gone, [20970]))).toBe(bodies.length + 2);
    expect(await forget()).toMatchObject({ done: true, rejected: bodies.length + 2 });
    expect(await store.refusedEvents({})).toMatchObject([{ id: 'rej_c' }]);
    expect((await store.rejectedRequests({})).map(({ body }) => body).toReversed()).toEqual(others);
  });

  test("takes the candidate out of what tools answered to others' deliveries", async () => {
    const other = await accept(kept, [planned()]);
    const [claimed] = await claimDue(store);
    const message = { candidateNumericalId: 20970, text: 'Candidate 20970' };
    const detail = `It knows ${gone.toUpperCase()} (candidate 20970), #20970, and test 20970, #209701, &#20970;.`;
    await store.record([
      resultOf(claimed!, { ...rejected, detail }, { lastError: detail, message: JSON.stringify(message) }),
    ]);
    expect(await forget()).toMatchObject({ done: true });
    const said = 'It knows (erased) (candidate (erased)), #(erased), and test 20970, #209701, &#20970;.';
    const [delivery] = (await store.event(other.eventId))!.deliveries;
    expect([delivery?.lastError, delivery?.history[0]?.outcome]).toMatchObject([said, { detail: said }]);
    // Its own message is about another candidate, who may have the same number.
    expect(delivery?.message).toEqual(message);
  });

  test('leaves nothing that a repeat of an erased event would be counted by', async () => {
    await accept(gone, [planned()], { correlationId: 'same' });
    await forget();
    expect(await accept(gone, [planned()], { correlationId: 'same' })).toMatchObject({ duplicate: false });
    expect(await store.counts()).toMatchObject([{ planned: 1 }]);
  });

  test('waits for what is being sent, and for events that the caller has not seen', async () => {
    const { eventId } = await accept(gone, [planned()]);
    const [claimed] = await claimDue(store);
    expect(await forget()).toEqual({ done: false, unexpected: null, underWay: [claimed!.delivery.id] });
    await store.record([resultOf(claimed!, delivered)]);
    expect(await forget([])).toEqual({ done: false, unexpected: eventId, underWay: [] });
    expect(await eventIdsOf()).toEqual([eventId]);
    expect(await store.audit({})).toEqual([]);
    expect(await forget()).toMatchObject({ done: true });
  });

  test('waits for a digest that is tried again with others in it, so that these get nothing twice', async () => {
    await accept(gone, [inDigest()]);
    await accept(kept, [inDigest()]);
    const [claimed] = await claimDue(store, t0, 'mail');
    const outcome = { outcome: 'retry', reason: 'server', detail: 'It answered 503.' } as const;
    await store.record([resultOf(claimed!, outcome)]);
    expect(await forget()).toMatchObject({ done: false, underWay: [claimed!.delivery.id] });
  });

  test('waits for no digest with nobody else in it, of one event or of several', async () => {
    await accept(gone, [inDigest()]);
    await accept(gone, [inDigest()], { status: 'Canceled' });
    const [claimed] = await claimDue(store, t0, 'mail');
    await store.record([resultOf(claimed!, retry)]);
    expect(await forget()).toMatchObject({ done: true, events: 2 });
  });

  test('discards what is pending before it waits, which else went out meanwhile, and nothing of others', async () => {
    const { eventId } = await accept(gone, [
      planned(),
      inDigest(),
      planned({ dueAt: t0 + day }),
      inDigest({ lane: 'shared' }),
    ]);
    const tried = await claimDue(store, t0, 'mail');
    const other = await accept(kept, [inDigest({ lane: 'shared' }), inDigest()]);
    tried.push(...(await claimDue(store, t0, 'shared')));
    await store.record(tried.map((one) => resultOf(one, retry)));
    await claimDue(store);
    expect(await forget()).toMatchObject({ done: false, underWay: { length: 2 } });
    const statesOf = async (id: string) => (await store.event(id))!.deliveries.map(({ state }) => state);
    expect(await statesOf(eventId)).toEqual(['sending', 'discarded', 'discarded', 'pending']);
    expect(await statesOf(other.eventId)).toEqual(['pending', 'pending']);
  });

  test('waits for a person with a digest that may have arrived: without its carrier it would go again under another id', async () => {
    await accept(gone, [inDigest()]);
    await accept(kept, [inDigest()]);
    const [claimed] = await claimDue(store, t0, 'mail');
    const outcome = { outcome: 'unknown', reason: 'network', detail: 'No answer came.' } as const;
    await store.record([resultOf(claimed!, outcome, { state: 'held', uncertain: true })]);
    expect(await forget()).toMatchObject({ done: false, underWay: [claimed!.delivery.id] });
    await store.discard([claimed!.delivery.id], t0 + 1, person);
    expect(await forget()).toMatchObject({ done: true });
  });
}
