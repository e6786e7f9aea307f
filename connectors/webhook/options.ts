import { z } from 'zod';
import { Secret, secret } from '../../src/connector.ts';
import {
  type Endpoint,
  endpointOf,
  headerName,
  headerValue,
  httpOptions,
  withRules,
} from './http-options.ts';
import { contentTypeOf, isJson, isUtf8, notUtf8 } from './message.ts';

/** The `url` option. */
const endpoint = z
  .string()
  .transform((text, context): Endpoint => {
    const url = endpointOf(text);
    if (url) return url;
    context.addIssue({ code: 'custom', message: 'expected a URL such as https://ats.example.com/hooks' });
    return z.NEVER;
  })
  .describe('Where to call, as in https://ats.example.com/hooks.');

/** For what does not understand Standard Webhooks. */
const signature = z.strictObject({
  header: headerName.describe('The header that carries it, as in X-Hub-Signature-256.'),
  algorithm: z.enum(['sha256', 'sha512', 'sha1']).default('sha256').describe('The hash of the HMAC.'),
  encoding: z.enum(['hex', 'base64']).default('hex').describe('How its bytes are written.'),
  prefix: z.string().default('').describe('What stands before it, as in `sha256=`.'),
});

const statuses = (from: number, to: number) => z.array(z.int().min(from).max(to));

const success = z
  .strictObject({
    status: statuses(200, 499)
      .min(1)
      .optional()
      .describe('The statuses that mean success. Default: all of 2xx.'),
    body: z
      .record(z.string(), z.json())
      .optional()
      .describe('Values that the JSON of the answer must have, as in { success: true }.'),
  })
  .refine(({ status, body }) => status ?? body, { error: 'expected status or body' });

const contentTypeIn = (headers: { readonly [name: string]: Secret }): string =>
  contentTypeOf(Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])));

export const options = withRules(
  z
    .object({
      url: endpoint,
      secret: z
        .union([secret(), z.array(secret()).min(1)])
        .optional()
        .describe(
          'Signs each call as Standard Webhooks say; list the new and the old one while you change it.',
        ),
      signature: signature
        .optional()
        .describe(
          'Signs the body with `secret` in a header of its own, for what does not know Standard Webhooks.',
        ),
      success: success.optional().describe('What counts as success, for APIs whose status does not tell.'),
      dead: statuses(400, 599)
        .optional()
        .describe('Statuses after which a delivery is dead at once. 410 is one of them; with `[]` none is.'),
      headers: z
        .record(headerName, headerValue)
        .refine((headers) => isJson(contentTypeIn(headers)), {
          error:
            "a Content-Type that is not JSON goes into the action's headers, beside the body that it describes",
        })
        .refine((headers) => isUtf8(contentTypeIn(headers)), { error: notUtf8 })
        .optional()
        .describe('Sent with each call, such as an API key.'),
      ...httpOptions,
    })
    .refine(
      ({ secret: given, signature: own }) =>
        own !== undefined ||
        [given ?? []].flat().every((one) => {
          // Of Standard Webhooks: base64, with or without `whsec_` in front.
          const base64 = one.reveal().replace(/^whsec_/, '');
          return base64.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(base64);
        }),
      {
        path: ['secret'],
        error: 'expected whsec_ and base64 after it; make one with: echo "whsec_$(openssl rand -base64 32)"',
        // They are as they were written where another key is faulty.
        when: ({ value }) =>
          [(value as { secret?: unknown } | null)?.secret ?? []].flat().every((one) => one instanceof Secret),
      },
    )
    .refine(({ secret: given, signature: own }) => own === undefined || given !== undefined, {
      path: ['signature'],
      error: 'secret is missing, by which the signature is made',
    }),
);

export type WebhookOptions = z.output<typeof options>;
