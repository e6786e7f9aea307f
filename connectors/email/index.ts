import { z } from 'zod';
import { defineConnector, plain } from '../../src/connector.ts';
import type { Escape, Medium } from '../../src/connector.ts';
import { oneLine, parseAddresses } from './addresses.ts';
import type { Address } from './addresses.ts';
import { compose } from './compose.ts';
import { mailServer } from './server.ts';

const sender = z
  .string()
  .transform((text, context): Address => {
    const { addresses, invalid } = parseAddresses(text);
    const [address] = addresses;
    if (address !== undefined && addresses.length === 1 && invalid.length === 0) return address;
    context.addIssue({
      code: 'custom',
      message: 'expected one email address, as in "Hiring <hiring@example.com>"',
    });
    return z.NEVER;
  })
  .meta({ description: 'The address that mails come from, as in "Hiring <hiring@example.com>"' });

const options = z.object({
  url: mailServer,
  from: sender,
  requireTls: z
    .boolean()
    .optional()
    .meta({
      description:
        'Refuse to send unencrypted or to a server whose certificate is not trusted. ' +
        'By default where the url has a login and the host is not this machine.',
    }),
});

/** Headers that other keys, or the connector itself, give a value. */
const ownHeaders =
  /^(from|sender|to|cc|bcc|reply-to|subject|date|message-id|mime-version|content-.*|return-path|received|dkim-.*)$/i;

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'expected the name of a header: letters, digits and hyphens')
  .refine((name) => !ownHeaders.test(name), 'this header is set by the connector or has a key of its own');

const addressList = z.union([z.string(), z.array(z.string())]);

const action = z.object({
  to: addressList.meta({ description: 'Recipients: one address, several with commas, or a list' }),
  cc: addressList.optional(),
  bcc: addressList.optional(),
  replyTo: addressList.optional(),
  subject: z.string(),
  text: z
    .string()
    .optional()
    .meta({ description: 'The mail as plain text; text, html or both have to be given' }),
  html: z.string().optional().meta({ description: 'The mail as HTML; printed values are escaped' }),
  headers: z.record(headerName, z.string()).optional(),
});

const entities: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeHtml: Escape = (value) =>
  value.replace(/[&<>"']/g, (character) => entities[character] ?? character);

const header: Medium = { escape: oneLine };

/** Mail over SMTP. It cannot be asked what arrived: the Message-ID, the same on every attempt, lets mail systems drop a repeat. */
export const email = defineConnector({
  name: 'email',
  options,
  action,
  templates: {
    to: header,
    cc: header,
    bcc: header,
    replyTo: header,
    subject: header,
    text: plain,
    html: { escape: escapeHtml },
    headers: header,
  },
  defaults: { concurrency: 5, timeoutMs: 60_000 },
  compose: (fields, context, { from }) => compose(fields, context.deliveryId, from),
  connect: async (given) => {
    const { connectMail } = await import('./sink.ts');
    return connectMail(given);
  },
});
