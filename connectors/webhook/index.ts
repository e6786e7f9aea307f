import { z } from 'zod';
import { defineConnector, oneLine, secret } from '../../src/connector.ts';
import type { Escape, Secret } from '../../src/connector.ts';
import { compose, contentTypeOf, escapeFor } from './compose.ts';
import { endpoint } from './endpoint.ts';
import { isMap } from '../../src/model.ts';
import { isPrivateLiteral } from './public-addresses.ts';
import { signingSecret } from './sign.ts';

/** Headers that belong to the connection, or that the connector itself sets. */
const ownHeaders =
  /^(host|content-length|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|webhook-.*)$/i;

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, { error: 'expected the name of a header' })
  .refine((name) => !ownHeaders.test(name), { error: 'this header is set by the connector' });

const headerValue = secret().refine((value) => oneLine(value.reveal()) === value.reveal(), {
  error: 'expected one line, without control characters',
});

const saysNoOtherType = ([name, value]: [string, Secret]): boolean =>
  name.toLowerCase() !== 'content-type' || /^application\/json\b/i.test(value.reveal());

const options = z
  .object({
    url: endpoint,
    secret: z
      .union([signingSecret, z.array(signingSecret).min(1)])
      .optional()
      .describe(
        'Signs each call as Standard Webhooks say; list the new and the old one while you change it.',
      ),
    headers: z
      .record(headerName, headerValue)
      .refine((headers) => Object.entries(headers).every(saysNoOtherType), {
        error:
          "a Content-Type that is not JSON goes into the action's headers, beside the body that it is of",
      })
      .optional()
      .describe('Sent with each call, as for an API key.'),
    allowPrivate: z
      .boolean()
      .default(false)
      .describe('Allow a url that leads to this machine or into a private network.'),
  })
  .refine(({ url, allowPrivate }) => allowPrivate || !isPrivateLiteral(url.hostname), {
    path: ['url'],
    error: 'this address is not on the internet; say allowPrivate: true if that is meant',
    // Also where another key is faulty, so that all faults are told at once.
    when: ({ value }) => (value as { url?: { hostname?: string } } | null)?.url?.hostname !== undefined,
  });

const action = z.object({
  method: z.enum(['POST', 'PUT', 'PATCH', 'DELETE']).optional().describe('POST unless said.'),
  path: z
    .string()
    .optional()
    .describe("What follows the sink's url, as in /candidates/{{ event.candidateId }}."),
  headers: z
    .record(headerName, z.string())
    .refine((headers) => !/\{[{%]/.test(contentTypeOf(headers)), {
      error: 'expected a Content-Type without a template: what the body prints is escaped for it',
    })
    .optional()
    .describe("Besides the sink's; these win."),
  body: z
    .json()
    .optional()
    .describe(
      'A YAML map or list, sent as JSON, or text. Without it: type, timestamp and the event as data.',
    ),
});

/** In text the values are escaped for its content type; in a YAML tree they become data and need nothing. */
const escapeBody: Escape = (value, path, { headers }) =>
  path.length === 0 ? escapeFor(contentTypeOf(isMap(headers) ? headers : {}), value) : value;

/** Calls to any system over HTTP. It cannot be asked what arrived: the webhook-id, the same on every attempt, lets it drop a repeat. */
export const webhook = defineConnector({
  name: 'webhook',
  options,
  action,
  templates: {
    path: { escape: (value) => encodeURIComponent(value.toWellFormed()) },
    headers: { escape: oneLine },
    body: { escape: escapeBody, data: true },
  },
  defaults: { concurrency: 16, timeoutMs: 30_000 },
  placeKeys: ['path'],
  compose: (fields, context) => compose(fields, context),
  connect: async (given) => {
    const { connectWebhook } = await import('./sink.ts');
    return connectWebhook(given);
  },
});
