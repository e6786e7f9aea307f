import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Event, type Json, noFacts } from '../../src/model.ts';
import { fieldOf } from '../../src/rules/fields.ts';
import { nextOpen } from '../../src/rules/calendar.ts';
import type { Action, Digest } from '../../src/rules/plan.ts';
import { schedule } from '../../src/rules/decide.ts';
import { eventWith } from '../fixtures/event.ts';
import { office } from './tools.ts';
import { runs } from '../fixtures/runs.ts';

const hourMs = 3_600_000;
const now = Date.parse('2026-11-20T12:34:56Z');

const event = eventWith({ receivedAt: now });
const catalogEntry = { id: 7, team: 'core' };

const hourly: Digest = {
  windows: { timeZone: 'UTC', everyMs: hourMs },
  max: 100,
  by: [],
  place: ({ event: told }) => told.status,
  contentId: 'abc',
  conceal: (group) => group,
};

function actionWith(over: Partial<Action>): Action {
  const plain = { rule: 'r', action: 0, sink: 's', connector: 'c', hours: null, digest: null };
  return { ...plain, lane: () => 's', render: () => ({ fields: {} }), audience: () => null, ...over };
}

const scheduled = (
  over: Partial<Action>,
  time = now,
  change: Partial<Event> = {},
  entry: { [key: string]: Json } = catalogEntry,
) => {
  const changed = { ...event, ...change, receivedAt: time };
  return schedule(actionWith(over), changed, { event: changed, test: entry, facts: noFacts }, time);
};

const by = (...names: string[]): Digest => ({ ...hourly, by: names.map((name) => fieldOf(name)) });

describe('a delivery', () => {
  test('is due at once and alone', () => {
    expect(scheduled({})).toEqual({ dueAt: now, group: null, groupMax: null });
  });

  test('waits for its hours, and does not where they are open', () => {
    expect(scheduled({ hours: office }).dueAt).toBe(now);
    const evening = Date.parse('2026-11-20T19:00:00Z');
    expect(scheduled({ hours: office }, evening).dueAt).toBe(Date.parse('2026-11-23T07:00:00Z'));
  });

  test('of a digest is due when its window closes, with as many as the digest may have', () => {
    expect(scheduled({ digest: { ...hourly, max: 5 } })).toEqual({
      dueAt: Date.parse('2026-11-20T13:00:00Z'),
      group: expect.any(String),
      groupMax: 5,
    });
  });

  test('of a digest with hours waits for these when its window has closed', () => {
    const before = Date.parse('2026-11-20T16:30:00Z');
    expect(scheduled({ digest: hourly, hours: office }, before).dueAt).toBe(
      Date.parse('2026-11-23T07:00:00Z'),
    );
  });

  test('is sent anyway if the hours of a stored config never open', () => {
    expect(scheduled({ hours: { ...office, days: new Set() } }).dueAt).toBe(now);
  });
});

describe('events share one message', () => {
  const groupOf = (...given: Parameters<typeof scheduled>) => scheduled(...given).group;
  const group = groupOf({ digest: hourly });

  test('of one window, whatever else they are', () => {
    const other = { id: 'evt_2', candidateId: 'def', testId: 8 };
    expect(groupOf({ digest: hourly }, now + 60_000, other, { id: 8, team: 'design' })).toBe(group);
  });

  test('of all windows that closed before the hours opened', () => {
    const parts = { digest: hourly, hours: office };
    const saturday = Date.parse('2026-11-21T12:00:00Z');
    expect(groupOf(parts, saturday)).toBe(groupOf(parts, saturday + 20 * hourMs));
  });

  test.each<[string, Partial<Action>, Partial<Event>?]>([
    ['that came in the same window', { digest: { ...hourly, windows: { timeZone: 'UTC', everyMs: 2000 } } }],
    ['that go to the same place', { digest: hourly }, { status: 'Canceled' }],
    ['of one rule', { digest: hourly, rule: 'other' }],
    ['of one action of it', { digest: hourly, action: 1 }],
    ['for which it says the same', { digest: { ...hourly, contentId: 'def' } }],
  ])('only %s', (_, action, change) => {
    expect(groupOf(action, now, change)).not.toBe(group);
  });

  test.each<[string, Digest, Partial<Event>, { [key: string]: Json }]>([
    ['testId', by('testId'), { testId: 8 }, { id: 8, team: 'core' }],
    ['candidateNumericalId', by('candidateNumericalId'), { candidateNumericalId: 5 }, catalogEntry],
    ['a key of the catalog', by('test.team'), {}, { id: 7, team: 'design' }],
    ['one of two fields', by('testId', 'test.team'), {}, { id: 7, team: 'design' }],
    ['a key that is missing', by('test.team'), {}, { id: 7 }],
  ])('that agree in what it goes by: %s', (_, digest, change, entry) => {
    expect(groupOf({ digest })).toBe(groupOf({ digest }, now + 1, { candidateId: 'x' }));
    expect(groupOf({ digest }, now, change, entry)).not.toBe(groupOf({ digest }));
  });

  test('and values of different fields cannot be taken for each other', () => {
    const digest = by('candidateId', 'test.team');
    const one = groupOf({ digest }, now, { candidateId: 'a","b' }, { id: 7, team: 'c' });
    expect(groupOf({ digest }, now, { candidateId: 'a' }, { id: 7, team: 'b","c' })).not.toBe(one);
  });
});

test('what comes in any order at any time is due at the end of its window, and what is due together goes together', () => {
  const zone = fc.constantFrom('Europe/Zagreb', 'America/Sao_Paulo', 'UTC');
  const time = fc.date({ min: new Date('2026-01-01'), max: new Date('2027-12-31'), noInvalidDate: true });
  const everyMs = fc.integer({ min: 1000, max: 3 * 24 * hourMs });
  const property = fc.property(
    zone,
    everyMs,
    fc.option(fc.constant(office)),
    fc.array(time, { minLength: 1 }),
    (timeZone, every, hours, times) => {
      const digest = { ...hourly, windows: { timeZone, everyMs: every } };
      const dueAtOf = new Map<string, number>();
      for (const at of times.map((date) => date.getTime())) {
        const closing = scheduled({ digest }, at).dueAt;
        expect(closing).toBeGreaterThan(at);
        // A day on which the clock goes back has an hour more.
        expect(closing - at).toBeLessThanOrEqual(every + hourMs);
        const { dueAt, group } = scheduled({ digest, hours }, at);
        expect(dueAt).toBe(hours ? nextOpen(hours, closing) : closing);
        expect(dueAtOf.getOrInsert(group ?? '', dueAt)).toBe(dueAt);
      }
      expect(new Set(dueAtOf.values()).size).toBe(dueAtOf.size);
    },
  );
  fc.assert(property, runs(100));
});
