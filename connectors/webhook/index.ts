import { z } from 'zod';
import { defineConnector, oneLine } from '../../src/connector.ts';
import { isMap } from '../../src/model.ts';
import { describe } from './describe.ts';
import { headerName } from './http-options.ts';
import { lookup } from './lookup/index.ts';
import { canCarry, compose, contentTypeOf, escapeFor, isUtf8 } from './message.ts';
import { notUtf8, options } from './options.ts';

const action = z
  .object({
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
      .refine((headers) => isUtf8(contentTypeOf(headers)), { error: notUtf8 })
      .optional()
      .describe("Besides the sink's; these win."),
    body: z
      .json()
      .optional()
      .describe(
        'A YAML map or list, sent as JSON (a map also as a form), or text. Without it: type, timestamp and the event as data, with the facts that were looked up.',
      ),
  })
  .refine(({ body, headers = {} }) => typeof body !== 'object' || canCarry(contentTypeOf(headers), body), {
    path: ['body'],
    error:
      'only JSON is made of a map or list, or a form of a map; for this Content-Type write the body as text',
  });

/**
 * Calls to any system over HTTP. It cannot be asked what arrived; it can drop a repeat by the webhook-id, which is the
 * same on every attempt.
 */
export const webhook = defineConnector({
  name: 'webhook',
  describe,
  options,
  action,
  templates: {
    path: { escape: (value) => encodeURIComponent(value.toWellFormed()) },
    headers: { escape: oneLine },
    // In text the values are escaped for its content type; in a YAML tree they become data and need nothing.
    body: {
      escape: (value, path, { headers }) =>
        path.length === 0 ? escapeFor(contentTypeOf(isMap(headers) ? headers : {}), value) : value,
      data: true,
    },
  },
  defaults: { concurrency: 16, timeoutMs: 30_000 },
  lookup,
  placeKeys: ['path'],
  // Calls of one address that say different things are for different purposes.
  audience: {
    keys: ['path', 'headers', 'body'],
    of(fields) {
      const place = fields.path ?? '';
      return { place, members: [JSON.stringify(fields)], places: [{ id: place }] };
    },
  },
  hasFacts: ({ body }) => body === undefined,
  compose: (fields, context) => compose(fields, context),
  connect: async (given, refreshTokens) => {
    const { connectWebhook } = await import('./deliver.ts');
    return connectWebhook(given, refreshTokens);
  },
});
