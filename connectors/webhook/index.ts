import { defineConnector, oneLine, type Slip } from '../../src/connector.ts';
import { isMap } from '../../src/model.ts';
import { describe } from './describe.ts';
import { lookup } from './lookup/index.ts';
import { action, compose, contentTypeOf, escapeFor } from './message.ts';
import { options } from './options.ts';

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
    path: { escape: (value) => encodeURIComponent(value.toWellFormed()), slips: pathSlips },
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

/** A whole address, where what follows the sink's own belongs. */
function pathSlips(text: string): Slip[] {
  const [found] = /^\s*https?:\/\//i.exec(text) ?? [];
  const message = "this is put behind the sink's url; for another address, name another sink";
  return found === undefined ? [] : [{ index: 0, length: text.length, message }];
}
