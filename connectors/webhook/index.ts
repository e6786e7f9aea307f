import { z } from 'zod';
import { defineConnector, oneLine, Secret, secret } from '../../src/connector.ts';
import type { Escape } from '../../src/connector.ts';
import { isMap } from '../../src/model.ts';
import type { Endpoint } from './client.ts';
import { compose, contentTypeOf, escapeFor } from './message.ts';
import { isPrivateLiteral } from './public-addresses.ts';

/** The `url` option. A login in it goes out as Basic authorization. */
const endpoint = z
  .string()
  .transform((text, context): Endpoint => {
    const url = URL.parse(text);
    if (url && /^https?:$/.test(url.protocol)) return endpointOf(url);
    context.addIssue({ code: 'custom', message: 'expected a URL such as https://ats.example.com/hooks' });
    return z.NEVER;
  })
  .describe('Where to call, as in https://ats.example.com/hooks.');

/** A secret of Standard Webhooks: base64, with or without `whsec_` in front. */
const signingSecret = z
  .string()
  .refine((text) => isSigningSecret(text), {
    error: 'expected whsec_ and base64 after it; make one with: echo "whsec_$(openssl rand -base64 32)"',
  })
  .transform((text) => new Secret(text))
  .meta({ secret: true });

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

const isJsonOrOtherHeader = ([name, value]: [string, Secret]): boolean =>
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
      .refine((headers) => Object.entries(headers).every(isJsonOrOtherHeader), {
        error:
          "a Content-Type that is not JSON goes into the action's headers, beside the body that it describes",
      })
      .optional()
      .describe('Sent with each call, such as an API key.'),
    allowPrivate: z
      .boolean()
      .default(false)
      .describe('Allow a url that leads to this machine or into a private network.'),
  })
  .refine(({ url, allowPrivate }) => allowPrivate || !isPrivateLiteral(url.hostname), {
    path: ['url'],
    error: 'this address is not on the internet; say allowPrivate: true if that is meant',
    // Also where another key is faulty, so that all faults are reported at once.
    when: ({ value }) => (value as { url?: { hostname?: string } } | null)?.url?.hostname !== undefined,
  });

const action = z.object({
  method: z.enum(['POST', 'PUT', 'PATCH', 'DELETE']).optional().describe('Default: POST.'),
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

/**
 * Calls to any system over HTTP. It cannot be asked what arrived; it can drop a repeat by the webhook-id, which is the
 * same on every attempt.
 */
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
    const { connectWebhook } = await import('./deliver.ts');
    return connectWebhook(given);
  },
});

function endpointOf({ origin, hostname, pathname, search, username, password }: URL): Endpoint {
  return {
    origin,
    hostname: hostname.replace(/^\[|\]$/g, ''),
    path: pathname.replace(/\/$/, ''),
    query: search,
    login: username === '' ? null : { user: decoded(username), password: new Secret(decoded(password)) },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isSigningSecret(text: string): boolean {
  const base64 = text.replace(/^whsec_/, '');
  return base64.length > 0 && base64.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(base64);
}
