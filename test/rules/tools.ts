import type { CandidateEvent } from '../../src/model.ts';
import type { Subject } from '../../src/rules/fields.ts';

export const subject = (event: Partial<CandidateEvent> = {}, test: Subject['test'] = {}): Subject => ({
  event: { candidateId: 'abc', candidateNumericalId: null, testId: 1234567, status: 'Completed', ...event },
  test: { id: event.testId ?? 1234567, ...test },
});
