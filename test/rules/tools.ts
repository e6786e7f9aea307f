import type { CandidateEvent } from '../../src/model.ts';
import type { Subject } from '../../src/rules/fields.ts';
import { eventWith } from '../fixtures/event.ts';

export const subject = (event: Partial<CandidateEvent> = {}, test: Subject['test'] = {}): Subject => ({
  event: eventWith(event),
  test: { id: event.testId ?? 1234567, ...test },
});
