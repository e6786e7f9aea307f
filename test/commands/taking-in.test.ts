import { expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { AskedFor } from '../../src/commands/by-hand/taking-in.ts';
import { parseConfig } from '../../src/config/load.ts';
import { sampleEvent } from '../../src/templates/data.ts';

const config = parseConfig(
  `
lookups:
  candidate:
    url: https://tests.example.com/{{ event.candidateId }}
    when: { status: Completed }
    fields: { score: { at: /score, type: number } }
sinks: { ats: { connector: webhook, url: https://ats.example.com } }
rules: [{ name: all, when: {}, then: [{ sink: ats }] }]
`,
  'config.yaml',
  { env: {}, connectors },
);

test('events that are looked up first are not said to lead to nothing', () => {
  const wordsOf = (isOvertaken: boolean, ...statuses: ('Completed' | 'Canceled')[]) => {
    const asked = new AskedFor(config.plan);
    for (const status of statuses) {
      const { candidateId, candidateNumericalId, testId, receivedAt, raw, correlationId, traceparent } =
        sampleEvent({ status }, 0);
      const event = { candidateId, candidateNumericalId, testId, status };
      asked.add({ event, receivedAt, raw, correlationId, traceparent }, isOvertaken);
    }
    return asked.words;
  };
  const later = '1 event will be looked up first: what rules ask for is known then.';
  expect(wordsOf(false, 'Completed')).toBe(later);
  expect(wordsOf(false, 'Canceled', 'Completed')).toBe(`Rules ask for 1 to ats.\n${later}`);
  expect(wordsOf(false, 'Canceled')).toBe('Rules ask for 1 to ats.');
  expect(wordsOf(true, 'Canceled')).toMatch(/^Rules ask for 1 to ats\.\n1 event is older than /);
  expect(wordsOf(false)).toBe('Rules ask for no deliveries.');
});
