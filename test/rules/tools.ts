import type { CandidateEvent } from '../../src/model.ts';
import type { Hours } from '../../src/rules/calendar.ts';
import type { Subject } from '../../src/rules/fields.ts';
import { eventWith } from '../fixtures/event.ts';

export const subject = (event: Partial<CandidateEvent> = {}, test: Subject['test'] = {}): Subject => ({
  event: eventWith(event),
  test: { id: event.testId ?? 1234567, ...test },
});

export const office: Hours = {
  name: 'office',
  timeZone: 'Europe/Zagreb',
  days: new Set([1, 2, 3, 4, 5]),
  fromMinute: 8 * 60,
  toMinute: 18 * 60,
  closed: new Set(['2026-12-25']),
};
