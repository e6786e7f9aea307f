import { expect, test } from 'vitest';
import { lookupConnector, lookupSink } from '../../src/model.ts';
import { type Claim, isFound, unansweredOf } from '../../src/store/store.ts';
import { home, store } from './store-bench.ts';
import {
  claimDue,
  configId,
  day,
  decider,
  delivered,
  idsOf,
  lookupLane as lane,
  minute,
  person,
  planned,
  rejected,
  resultOf,
  t0,
  undecided,
} from './store-fixtures.ts';

const answer = async (claimed: Claim, name: string) =>
  store.record([resultOf(claimed, delivered, { progress: { name } })]);

const mentions = { without: (text: string) => text, hints: [], spellings: [] };

const due = async (now = t0) => (await store.dueEvents(now, 100)).map(({ event }) => event.candidateId);

export function deciding(): void {
  test('keeps an event undecided until its look-ups have ended, and stores its deliveries once', async () => {
    const accepted = await store.accept(undecided('ana', [lane, lookupSink('test')]));
    expect(accepted).toMatchObject({ duplicate: false, undecided: true });
    const of = async () => (await store.event(accepted.eventId))!;
    expect(await of()).toMatchObject({ decided: false, deliveries: [], lookups: [{ sink: lane }, {}] });
    expect(await store.deliveries({ states: ['pending'] })).toEqual([]);

    for (const sink of [lookupSink('test'), lane]) {
      expect(await due()).toEqual([]);
      const [claimed] = await claimDue(store, t0, sink);
      expect(await store.decide(accepted.eventId, decider(), t0)).toBe('waits');
      await answer(claimed!, sink);
    }
    expect(await due()).toEqual(['ana']);

    const other = await home.open();
    const both = [store, other].map((one) => one.decide(accepted.eventId, decider(), t0));
    expect((await Promise.all(both)).toSorted()).toEqual(['decided', 'gone']);
    const { decided, deliveries } = await of();
    expect(decided).toBe(true);
    expect(deliveries.map(({ id, rule }) => [id, rule])).toEqual([
      [idsOf(accepted, 3)[2], `delivered {"name":"${lane}"},delivered {"name":"lookup:test"}`],
    ]);
    expect([await due(), await store.eventCounts()]).toEqual([[], { decided: 1, undecided: 0 }]);
    // Look-ups are no messages.
    expect(await store.daily(t0, t0 + day)).toMatchObject([{ what: 'Completed', count: 1 }]);
  });

  test('counts a look-up that was rejected, or whose answer could not be read, as a failure, since nobody is told of it otherwise', async () => {
    const note = 'score: expected a number, got text.';
    const results = [
      [rejected, { state: 'discarded', dueAt: null, progress: { state: 'unknown' } }],
      [{ ...delivered, note }, { progress: { state: 'answered' } }],
    ] as const;
    for (const [outcome, change] of results) {
      await store.accept(undecided(outcome.outcome));
      const [claimed] = await claimDue(store, t0, lane);
      await store.record([resultOf(claimed!, outcome, change)]);
    }
    expect(await store.sinkFigures(t0)).toMatchObject([
      { sink: lane, failures: 2, lastSuccessAt: null, because: { reason: 'invalid', detail: note } },
    ]);
  });

  test('decides the events of one candidate in the order they came, and nobody else waits', async () => {
    const ids: string[] = [];
    for (const sinks of [[lane], [], [lane]]) ids.push((await store.accept(undecided('ana', sinks))).eventId);
    const alone = await store.accept(undecided('ben', []));
    expect(alone.undecided).toBeUndefined();
    expect(await store.event(alone.eventId)).toMatchObject({
      decided: true,
      deliveries: [{ rule: 'completed' }],
    });

    const [first, last] = await claimDue(store, t0, lane);
    await answer(last!, 'last');
    expect(await due()).toEqual([]);
    await answer(first!, 'first');
    for (const id of ids) {
      expect((await store.dueEvents(t0, 9)).map(({ event }) => event.id)).toEqual([id]);
      expect(await store.decide(id, decider(), t0)).toBe('decided');
    }
  });

  test('gives up the look-ups whose time is over, those under way as well', async () => {
    const sinks = [lane, lookupSink('test'), lookupSink('score')];
    const accepted = await store.accept(undecided('ana', sinks));
    const [claimed] = await claimDue(store, t0, lane);
    expect(await due(t0 + minute - 1)).toEqual([]);
    expect(await due(t0 + minute)).toEqual(['ana']);

    const untilOf = decider({ until: ({ sink }) => t0 + (sinks.indexOf(sink) + 1) * minute });
    expect(await store.decide(accepted.eventId, untilOf, t0 + minute)).toBe('waits');
    expect(await due(t0 + 2 * minute - 1)).toEqual([]);
    expect(await due(t0 + 2 * minute)).toEqual(['ana']);
    await answer(claimed!, 'too late');
    expect(await store.decide(accepted.eventId, untilOf, t0 + 3 * minute)).toBe('decided');
    expect(await store.event(accepted.eventId)).toMatchObject({
      lookups: [{ state: 'discarded', progress: { state: 'unknown' } }, { state: 'discarded' }, {}],
      deliveries: [{ rule: expect.stringContaining('discarded') }],
    });
  });

  test('gives up the look-ups of an event that waits for an earlier one as well, and has it wait for that alone', async () => {
    const [first, second] = [await store.accept(undecided('ana')), await store.accept(undecided('ana'))];
    const [claimed] = await claimDue(store, t0, lane);
    const later = t0 + minute;
    expect(await store.decide(second.eventId, decider(), later)).toBe('waits');
    await answer(claimed!, 'in time');
    expect(await store.decide(first.eventId, decider(), later)).toBe('decided');
    expect(await due(later)).toEqual(['ana']);
    expect(await store.decide(second.eventId, decider(), later)).toBe('decided');
  });

  test('gives up a look-up that a clock put off which was far ahead', async () => {
    const { eventId } = await store.accept(undecided('ana', [lane], t0 + 365 * 24 * 60 * minute));
    expect(await due()).toEqual(['ana']);
    expect(await store.decide(eventId, decider(), t0)).toBe('decided');
  });

  test('decides by another config, which the event then refers to', async () => {
    const { eventId } = await store.accept(undecided('ana'));
    await store.saveConfig({ id: 'cfg_second', source: {}, savedAt: t0 });
    const later = t0 + minute;
    expect(await store.decide(eventId, decider({ configId: 'cfg_second' }), later)).toBe('decided');
    expect(await store.event(eventId)).toMatchObject({
      configId: 'cfg_second',
      deliveries: [{ configId: 'cfg_second' }],
    });
  });

  test('erases what says who a candidate is once it is kept for long enough, and what was told of it', async () => {
    const { eventId } = await store.accept(undecided('ana'));
    const [look] = await claimDue(store, t0, lane);
    const fields = { name: 'Ana Kovač', first: 'Ana', phone: 5550100, score: 87 };
    const progress = { state: 'answered', fields, personal: ['name', 'first', 'phone'] };
    await store.record([resultOf(look!, delivered, { progress, personalUntil: t0 + minute })]);
    // A digest is one for each recipient, and a person who is written to has a lane.
    const toHer = planned({ lane: 'slack Ana Kovač', group: '["r",0,{"to":"Ana Kovač"}]', groupMax: 9 });
    const waiting = { ...toHer, lane: 'mail', action: 1, dueAt: t0 + 9 * minute };
    await store.decide(eventId, decider({ decide: () => [toHer, waiting] }), t0);
    const [told] = await claimDue(store, t0, toHer.lane);
    const outcome = { ...delivered, receipt: { to: 'Ana Kovač', quoted: 'Ana 5550100', ts: '1' } };
    await store.record([resultOf(told!, outcome, { message: JSON.stringify({ text: 'Ana Kovač: 87 %' }) })]);

    expect(await store.forgetPersonal(t0 + minute - 1)).toBe(0);
    expect(await store.forgetPersonal(t0 + minute)).toBe(1);
    expect(await store.forgetPersonal(t0 + minute)).toBe(0);
    expect(await store.event(eventId)).toMatchObject({
      lookups: [{ progress: { state: 'answered', fields: { score: 87 }, personal: [] } }],
      deliveries: [
        { message: null, receipt: { to: '(erased)', quoted: '(erased) (erased)', ts: '1' }, history: [{}] },
        { state: 'pending' },
      ],
    });
    await store.traces(['Ana Kovač'], false);
    expect(await home.content()).not.toContain('Ana Kova');
  });

  test('finds what was decided without an answer, until one comes and something is sent after it', async () => {
    const giveUp = async (candidateId: string) => {
      const { eventId } = await store.accept(undecided(candidateId));
      await store.decide(eventId, decider(), t0 + minute);
      return eventId;
    };
    const [ana, ben] = [await giveUp('ana'), await giveUp('ben')];
    await claimDue(store, t0, lane);
    const answered = await store.accept(undecided('cy'));
    const [claimed] = await claimDue(store, t0, lane);
    await answer(claimed!, 'Cy');
    await store.decide(answered.eventId, decider(), t0);
    await store.accept(undecided('dan'));
    const found = async () => {
      const { stories } = await store.search({ unanswered: true });
      expect(stories).toEqual(
        (await store.events({})).filter((story) => isFound({ unanswered: true }, story)),
      );
      expect(await store.matches({ unanswered: true }, 10)).toEqual({ count: stories.length, isAll: true });
      return stories.map(({ event }) => event.id);
    };
    expect(await found()).toEqual([ben, ana]);
    // A field of an answer may be named as what is kept of each.
    const fields = { state: 'unknown' };
    const progress = { state: 'answered', at: t0, reason: null, fields, personal: [] };
    const eva = await store.accept(undecided('eva'));
    for (const one of await claimDue(store, t0, lane))
      if (one.events.some(({ candidateId }) => candidateId === 'eva'))
        await store.record([resultOf(one, rejected, { state: 'discarded', progress })]);
    await store.decide(eva.eventId, decider(), t0);
    expect(await found()).toEqual([ben, ana]);
    const again = { rule: lane, sink: lane, connector: lookupConnector, lane };
    await store.lookUp([{ eventId: ana, configId, deliveries: [planned(again)] }], t0, person);
    expect(await found()).toEqual([ben, ana]);
    const [asked] = await claimDue(store, t0, lane);
    await store.record([resultOf(asked!, delivered, { progress })]);
    expect(await found()).toEqual([ben, ana]);
    const states = (await store.events({})).map((story) => unansweredOf(story));
    expect(states).toEqual(['no', 'no', 'no', 'unknown', 'late']);
    const unknown = await store.search({ unanswered: 'unknown' });
    expect(unknown.stories.map(({ event }) => event.id)).toEqual([ben]);
    expect(unknown.stories).toEqual(
      (await store.events({})).filter((story) => isFound({ unanswered: 'unknown' }, story)),
    );
    expect(await store.matches({ unanswered: 'unknown' }, 10)).toEqual({ count: 1, isAll: true });
    await store.apply([{ eventId: ana, configId, deliveries: [planned({ rule: 'late' })] }], t0, person);
    expect(await found()).toEqual([ben]);
    // Of one look-up only its own count.
    const both = await store.accept(undecided('eve', [lane, lookupSink('test')]));
    const [first] = await claimDue(store, t0, lane);
    await answer(first!, 'Eve');
    await store.decide(both.eventId, decider(), t0 + minute);
    const ofLookup = async (lookup: string) => {
      const search = { unanswered: true, lookup };
      const { stories } = await store.search(search);
      expect(stories).toEqual((await store.events({})).filter((story) => isFound(search, story)));
      expect(await store.matches(search, 10)).toMatchObject({ count: stories.length });
      return stories.map(({ event }) => event.id);
    };
    expect(await ofLookup(lookupSink('test'))).toEqual([both.eventId]);
    expect(await ofLookup(lane)).toEqual([ben]);
    // Asked once more, in vain.
    await store.lookUp([{ eventId: answered.eventId, configId, deliveries: [planned(again)] }], t0, person);
    const [inVain] = await claimDue(store, t0, lane);
    await store.record([resultOf(inVain!, rejected, { state: 'discarded', progress: { state: 'unknown' } })]);
    expect(await found()).toEqual([both.eventId, ben]);
  });

  test('forgets a candidate whose look-up is under way, and keeps nothing of its answer', async () => {
    const one = undecided('ana');
    await store.accept(one);
    const [look] = await claimDue(store, t0, lane);
    const forgotten = await store.forget(
      { candidateId: 'ana', eventIds: [one.event.id], mentions },
      t0,
      person,
    );
    expect(forgotten).toMatchObject({ done: true, events: 1, deliveries: [] });
    await answer(look!, 'Ana');
    expect(await store.counts()).toMatchObject([{ sink: lane, planned: 0 }]);
  });

  test('forgets a candidate with undecided events, and lets nobody else wait for them', async () => {
    const arrivals = [undecided('ana'), undecided('ana', [])];
    for (const one of arrivals) await store.accept(one);
    const eventIds = arrivals.map(({ event }) => event.id);
    const forgotten = await store.forget({ candidateId: 'ana', eventIds, mentions }, t0, person);
    expect(forgotten).toMatchObject({ done: true, events: 2 });
    expect(await store.eventCounts()).toEqual({ decided: 0, undecided: 0 });
    expect((await store.accept(undecided('ana', []))).undecided).toBeUndefined();
  });
}
