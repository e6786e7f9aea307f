import { z } from 'zod';
import { maxCandidateIdLength, readCandidateId } from '../../candidate-id.ts';
import { statuses } from '../../model.ts';

const event = z.strictObject({
  status: z.enum(statuses).describe('The status of the event.'),
  testId: z.int().describe('The test id of the event.'),
  candidateId: z
    .string()
    .transform((text, context) => {
      const id = readCandidateId(text);
      if ('value' in id) return id.value;
      context.addIssue(`expected a candidate id: ${id.fault}`);
      return z.NEVER;
    })
    .meta({ minLength: 1, maxLength: maxCandidateIdLength })
    .prefault('00000000000000000000000000000001')
    .describe('The candidate id of the event.'),
  candidateNumericalId: z.int().nullable().default(null).describe('The numerical candidate id of the event.'),
});

const expected = z
  .object({ sink: z.string().min(1).describe('The sink that is expected to get a message.') })
  .catchall(z.json());

/** An event to decide and what is to become of it; `check` compares. */
export const scenarioSchema = z.strictObject({
  event: event.describe('The event to decide.'),
  expect: z
    .array(expected)
    .describe('The actions that have to follow, in order, each with any of its rendered keys. Empty: none.'),
});

export type ReadScenario = z.output<typeof scenarioSchema>;
