import { z } from 'zod';
import { defineConnector, rejected } from '../../../src/connector.ts';
import { pathOf } from '../message.ts';
import { options } from './options.ts';

/** Asks an API about an event: one GET. An answer is `delivered`, with the facts in its receipt; see outcomeOf. */
export const lookup = defineConnector({
  name: 'lookup',
  options,
  action: z.object({ url: z.string() }),
  templates: { url: { escape: (value) => encodeURIComponent(value.toWellFormed()) } },
  defaults: { concurrency: 16, timeoutMs: 10_000 },
  compose({ url: rendered }, _context, { url: { origin } }) {
    const [, rest = ''] = /^https?:\/\/[^/?#\\]*(.*)$/is.exec(rendered) ?? [];
    const path = pathOf(rest);
    if (path === null || URL.parse(rendered)?.origin !== origin)
      return {
        rejected: rejected(
          'invalid',
          'The url leads elsewhere than the look-up says: a part of it is "." or "..".',
          'Check what its template yields.',
        ),
      };
    return { message: { path: path === '' || path.startsWith('?') ? `/${path}` : path } };
  },
  connect: async (given, refreshTokens) => {
    const { connectLookup } = await import('./ask.ts');
    return connectLookup(given, refreshTokens);
  },
});
