import type { TemplateData } from './data.ts';
import type { Vocabulary } from './shapes.ts';

/** The poorest event that there can be: whatever may be absent is. */
export function sampleData({ test: keys, digest }: Vocabulary): TemplateData {
  const test = Object.fromEntries([...keys].map((key) => [key, null]));
  const event = {
    id: 'evt_sample',
    candidateId: '0123456789abcdef0123456789abcdef',
    candidateNumericalId: null,
    testId: 1234567,
    status: 'Completed',
    receivedAt: '2026-01-01T00:00:00.000Z',
    correlationId: null,
    raw: {},
  };
  const data = {
    event,
    test: { ...test, id: event.testId },
    rule: { name: 'sample' },
    now: event.receivedAt,
  };
  return digest ? { ...data, events: [{ ...event, test: data.test }] } : data;
}
