import { z } from 'zod';
import { factFields } from '../../../src/connector.ts';
import { endpointOf, headerName, headerValue, httpOptions, withRules } from '../http-options.ts';
import { isPrivateLiteral } from '../public-addresses.ts';

/** A question: the path that follows the host in the url. */
export interface Question {
  readonly path: string;
}

const urlExpected =
  'expected an address whose host no event can change: https://, a host and a "/", as in https://tests.example.com/api/candidates/{{ event.candidateId }}, and no "#"';

/** A template. What stands before its first tag is the host, with a slash or a question mark after it. */
const url = z
  .string()
  .transform((template, context) => {
    const [fixed = ''] = template.split(/\{[{%]/, 1);
    const isFixed =
      /^https?:\/\/[^\s/?#\\]+[/?][^#]*$/i.test(fixed) || (fixed === template && !/[\s#]/.test(fixed));
    const endpoint = isFixed ? endpointOf(fixed) : null;
    if (endpoint) return { ...endpoint, template };
    context.addIssue({ code: 'custom', message: urlExpected });
    return z.NEVER;
  })
  .describe('What to ask: a template whose values are percent-encoded.');

const isPlain = (address: string): boolean => /^http:/i.test(address);
/** Whether the rule about private addresses refuses it already, with the same advice. */
const isPrivate = (address: string): boolean => isPrivateLiteral(URL.parse(address)?.hostname ?? '');
const notEncrypted =
  'expected https://, because answers are about people; with allowPrivate: true it may be http://';

export const options = withRules(
  z.object({
    url,
    fields: factFields,
    until: z.array(z.string()).default([]),
    headers: z
      .record(headerName, headerValue)
      .optional()
      .describe('Sent with each call, such as an API key.'),
    ...httpOptions,
  }),
)
  .refine(({ url: { origin }, allowPrivate }) => allowPrivate || !isPlain(origin) || isPrivate(origin), {
    path: ['url'],
    error: notEncrypted,
  })
  .refine(
    ({ auth, allowPrivate }) => {
      const tokenUrl = auth?.oauth2?.tokenUrl ?? '';
      return allowPrivate || !isPlain(tokenUrl) || isPrivate(tokenUrl);
    },
    {
      path: ['auth', 'oauth2', 'tokenUrl'],
      error: notEncrypted,
    },
  );

export type LookupOptions = z.output<typeof options>;
