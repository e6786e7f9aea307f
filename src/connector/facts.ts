import { z } from 'zod';

/** The schema of the facts that a look-up takes from an answer. */

const typeNames = ['text', 'number', 'boolean', 'time', 'url'] as const;

const pointerExpected = 'expected a JSON Pointer such as /result/score';

/** A JSON Pointer (RFC 6901). An empty one is the whole answer. */
const pointer = z.string({ error: pointerExpected }).superRefine((text, context) => {
  if (/^(?:\/(?:[^~/]|~[01])*)*$/.test(text)) return;
  const meant = pointerMeant(text);
  context.addIssue(pointerExpected + (meant === null ? '' : ` (write ${meant})`));
});

/** The pointer that was meant by `result.score` or `$.result.score`; null where it is neither. */
function pointerMeant(text: string): string | null {
  const pointed = text.replace(/^\$\.?/, '').replaceAll(/\.|\[(\d+)\]/g, (_, index = '') => `/${index}`);
  return /^[\w.[\]$-]+$/.test(text) ? `/${pointed}`.replaceAll('//', '/') : null;
}

const factField = z.strictObject(
  {
    at: pointer.describe('Where it is in the answer: a JSON Pointer such as /result/score.'),
    type: z.enum(typeNames).default('text').describe('What it has to be; anything else is unknown.'),
    personal: z
      .boolean()
      .default(false)
      .describe(
        'It says who the candidate is: it stays out of logs, metrics, CSV and what commands and the API list, viewers do not see it, and it ends with `keep`.',
      ),
  },
  {
    error: ({ code, input }) => {
      if (code !== 'invalid_type') return undefined;
      const meant = typeof input === 'string' ? pointerMeant(input) : null;
      return `expected a map such as { at: ${meant ?? '/result/score'} }`;
    },
  },
);

export type FactField = Readonly<z.output<typeof factField>>;

/** The `fields` option of look-ups. */
export const factFields = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z]\w{0,63}$/, { error: 'expected a name of letters, digits and "_", such as score' }),
    factField,
  )
  .refine((fields) => Object.keys(fields).length > 0, { error: 'expected at least one field' });
