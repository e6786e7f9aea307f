import { z } from 'zod';
import { isMap, type Json } from '../model.ts';
import { orList } from '../support/text.ts';

/** The schema of the facts that a look-up takes from an answer. */

const typeNames = ['text', 'number', 'boolean', 'time', 'url'] as const;
type FactType = (typeof typeNames)[number];

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

/** The type that is meant by what other languages call it; undefined where nobody knows. */
const typeMeant = (written: unknown): FactType | undefined =>
  typeNames.find((name) => name === written || otherNames[name].includes(String(written).toLowerCase()));

const otherNames: Readonly<Record<FactType, readonly string[]>> = {
  text: ['string', 'str'],
  number: ['integer', 'int', 'float', 'double', 'decimal', 'numeric', 'percent'],
  boolean: ['bool', 'yes/no'],
  time: ['date', 'datetime', 'timestamp'],
  url: ['uri', 'link', 'address'],
};

const type = z.enum(typeNames, {
  error: ({ input }) => {
    const meant = typeMeant(input);
    return `expected ${orList(typeNames)}${meant === undefined ? '' : ` (write ${meant})`}`;
  },
});

const pointers = z
  .union([pointer, z.array(pointer).min(1)], {
    error: ({ input }) =>
      Array.isArray(input) ? undefined : pointer.safeParse(input).error?.issues[0]?.message,
  })
  .describe(
    'Where it is in the answer: a JSON Pointer such as /result/score. For text also a list of them, as [/firstName, /lastName]: what is there is joined with spaces.',
  );

const factField = z
  .strictObject(
    {
      at: pointers,
      type: type.default('text').describe('What it has to be; anything else is unknown.'),
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
  )
  .superRefine(({ at, type: typed }, context) => {
    if (Array.isArray(at) && typed !== 'text')
      context.addIssue({
        code: 'custom',
        path: ['at'],
        message: `expected one JSON Pointer, as this is no text: it has \`type: ${typed}\``,
      });
  });

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

/** The fields that are meant by what may have faults, so that nobody says of what uses them that they are not there. */
export function fieldsMeant(written: Json | undefined): Record<string, FactField> {
  const named = Array.isArray(written)
    ? written.map((name): [string, Json] => [String(name), null])
    : Object.entries(isMap(written) ? written : {});
  return Object.fromEntries(
    named.map(([name, field]) => {
      const { type: typed, personal } = isMap(field) ? field : {};
      return [name, { at: '', type: typeMeant(typed) ?? 'text', personal: personal === true }];
    }),
  );
}
