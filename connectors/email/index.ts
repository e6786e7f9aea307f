import { z } from 'zod';
import {
  defineConnector,
  digestInShort,
  eventInShort,
  noticeInShort,
  oneLine,
  visible,
} from '../../src/connector.ts';
import type { Escape, Medium } from '../../src/connector.ts';
import { joinList, parseAddresses } from './addresses.ts';
import type { Address } from './addresses.ts';
import { compose } from './compose.ts';
import { clientName, mailServer } from './server.ts';

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
  .describe('The address that mails come from, as in "Hiring <hiring@example.com>".');

const options = z.object({
  url: mailServer,
  from: sender,
  name: clientName.optional(),
  requireTls: z
    .boolean()
    .optional()
    .describe(
      'Send nothing in the clear, nor to a server without a trusted certificate. By default so where the url has a login and leads to another machine.',
    ),
});

/** Headers that other keys, or the connector itself, give a value. */
const ownHeaders =
  /^(from|sender|to|cc|bcc|reply-to|subject|date|message-id|mime-version|content-.*|return-path|received|dkim-.*)$/i;

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, { error: 'expected the name of a header: letters, digits and hyphens' })
  .refine((name) => !ownHeaders.test(name), {
    error: 'this header is set by the connector or has a key of its own',
  });

const addressList = z.union([z.string(), z.array(z.string())]);

const action = z
  .object({
    to: addressList.describe('Who gets it: an address, several with commas between them, or a list.'),
    cc: addressList.optional(),
    bcc: addressList.optional(),
    replyTo: addressList.optional(),
    subject: z.string(),
    text: z.string().optional().describe('The mail as plain text.'),
    html: z.string().optional().describe('The mail as HTML; what templates print is escaped.'),
    headers: z.record(headerName, z.string()).optional(),
  })
  .refine(({ text, html }) => text !== undefined || html !== undefined, {
    error: 'expected "text", "html" or both',
    // Also where another key is faulty, so that all faults are told at once.
    when: ({ value }) => typeof value === 'object' && value !== null,
  });

const entities: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeHtml: Escape = (value) =>
  visible(value).replace(/[&<>"']/g, (character) => entities[character] ?? character);

const header: Medium = { escape: oneLine };
const recipients: Medium = { escape: oneLine, join: joinList };

const digestText = `{% for event in events %}${eventInShort}
{% endfor %}`;

const noticeText = `{{ notice.detail }}

{{ notice.advice }}
`;

/** Mail over SMTP. It cannot be asked what arrived: the Message-ID, the same on every attempt, lets mail systems drop a repeat. */
export const email = defineConnector({
  name: 'email',
  options,
  action,
  templates: {
    to: recipients,
    cc: recipients,
    bcc: recipients,
    replyTo: recipients,
    subject: { escape: (value) => visible(oneLine(value)) },
    text: { escape: visible },
    html: { escape: escapeHtml },
    headers: header,
  },
  defaults: { concurrency: 5, timeoutMs: 60_000 },
  defaultFields: {
    digest: { subject: digestInShort, text: digestText },
    notice: { subject: `Candidate Connector: ${noticeInShort}`, text: noticeText },
  },
  placeKeys: ['to', 'cc', 'bcc', 'replyTo'],
  compose: (fields, context, { from }) => compose(fields, context.deliveryId, from),
  connect: async (given) => {
    const { connectMail } = await import('./sink.ts');
    return connectMail(given);
  },
});
