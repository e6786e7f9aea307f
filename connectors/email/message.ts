import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { z } from 'zod';
import {
  type ComposeResult,
  type DeliveryContext,
  firstListed,
  oneLine,
  rejected,
} from '../../src/connector.ts';
import type { Rejected } from '../../src/model/outcomes.ts';
import { type Address, domainOf, parseAddresses } from './addresses.ts';

/** Headers that other keys of the action, or the connector itself, set. */
const ownHeaders =
  /^(from|sender|to|cc|bcc|reply-to|subject|date|message-id|mime-version|content-.*|return-path|received|dkim-.*)$/i;

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, { error: 'expected the name of a header: letters, digits and hyphens' })
  .refine((name) => !ownHeaders.test(name), {
    error: 'this header is set by the connector or has a key of its own',
  });

const addressList = z.union([z.string(), z.array(z.string())]);

export const action = z
  .object({
    to: addressList.describe('Who gets it: an address, several with commas between them, or a list.'),
    cc: addressList.optional(),
    bcc: addressList.optional(),
    replyTo: addressList.optional(),
    subject: z.string(),
    text: z.string().optional().describe('The mail as plain text.'),
    html: z
      .string()
      .optional()
      .describe(
        'The mail as HTML; what templates print is escaped. Without `text`, the text is made from it.',
      ),
    threadBy: z.string().optional().describe('Mails with the same key are shown as one conversation.'),
    headers: z.record(headerName, z.string()).optional(),
    attach: z
      .enum(['csv'])
      .optional()
      .describe('With `digest`. `csv`: its events are attached as a table, too.'),
  })
  .refine(({ text, html }) => text !== undefined || html !== undefined, {
    error: 'expected "text", "html" or both',
    // Also where another key is faulty, so that all faults are reported at once.
    when: ({ value }) => typeof value === 'object' && value !== null,
  });

/** An action's keys, rendered. */
export type MailFields = z.output<typeof action>;

/** A mail, without its date and the recipients that are left, which each attempt adds. */
export interface Mail {
  readonly messageId: string;
  readonly from: Address;
  readonly to: readonly Address[];
  readonly cc?: readonly Address[];
  readonly bcc?: readonly Address[];
  readonly replyTo?: readonly Address[];
  readonly subject: string;
  readonly text?: string;
  readonly html?: string;
  /** The mail that a thread begins with. There is none: mail programs go by what mails refer to in common. */
  readonly references?: string;
  readonly inReplyTo?: string;
  readonly headers: { readonly [name: string]: string };
  readonly attachments?: readonly Attachment[];
}

/** An attachment as nodemailer takes it. A type, as it has to be Json. */
type Attachment = {
  readonly filename: string;
  readonly contentType: string;
  readonly content: string;
};

/** Builds the mail. A bad address is left out, so that it does not block the others, and the note says so. Pure. */
export function compose(
  fields: MailFields,
  { deliveryId, subject: about }: DeliveryContext,
  from: Address,
): ComposeResult<Mail> {
  const invalid: string[] = [];
  const read = (list: MailFields['to'] = []): readonly Address[] => {
    const parsed = parseAddresses(list);
    invalid.push(...parsed.invalid);
    return parsed.addresses.map((one) =>
      typeof one === 'string' ? one : { address: one.address, name: headerText(one.name) },
    );
  };
  const [to, cc, bcc, replyTo] = [read(fields.to), read(fields.cc), read(fields.bcc), read(fields.replyTo)];
  const { html } = fields;
  const text = fields.text ?? (html === undefined ? undefined : textOf(html));
  if (to.length + cc.length + bcc.length === 0) return { rejected: noRecipient(invalid) };
  if (text === undefined && html === undefined) return { rejected: noBody };
  const given = Object.entries(fields.headers ?? {}).map(([name, value]) => [name, headerText(value)]);
  // What the action says of it takes its place, in whatever case: a helpdesk may open no tickets from such mails.
  const isSaid = given.some(([name]) => name!.toLowerCase() === 'auto-submitted');
  const threadBy = fields.threadBy?.trim() ?? '';
  // A hash, as the key may have a secret in it, or what no Message-ID may have.
  const thread = createHash('sha256').update(threadBy).digest('hex').slice(0, 32);
  const root = `<thread-${thread}@${domainOf(from)}>`;
  const table = fields.attach && about.kind === 'digest' ? about.csv() : null;
  const message: Mail = {
    messageId: `<${deliveryId}@${domainOf(from)}>`,
    from,
    to,
    ...(cc.length > 0 && { cc }),
    ...(bcc.length > 0 && { bcc }),
    ...(replyTo.length > 0 && { replyTo }),
    subject: headerText(fields.subject),
    ...(text !== undefined && { text }),
    ...(html !== undefined && { html }),
    ...(threadBy !== '' && { references: root, inReplyTo: root }),
    headers: { ...(!isSaid && { 'Auto-Submitted': 'auto-generated' }), ...Object.fromEntries(given) },
    ...(table && {
      attachments: [
        {
          filename: table.name,
          contentType: 'text/csv; charset=utf-8; header=present',
          content: table.text,
        },
      ],
    }),
  };
  if (invalid.length === 0) return { message };
  return { message, missed: true, note: `Left out, as they are no email addresses: ${quote(invalid)}.` };
}

/** So much HTML (characters) is turned into text: more would hold up other mails. */
const longestTurned = 100_000;

/** Loads html-to-text when a mail needs it: most have a text of their own. */
const require = createRequire(import.meta.url);

const asText = {
  wordwrap: false,
  limits: { maxDepth: 100 },
  selectors: [
    ...['h1', 'h2', 'h3', 'h4'].map((selector) => ({ selector, options: { uppercase: false } })),
    { selector: 'table', format: 'dataTable', options: { uppercaseHeaderCells: false } },
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, linkBrackets: ['(', ')'] } },
    { selector: 'img', format: 'skip' },
  ],
};

/** The text part of a mail that has only HTML: for those who read text, and since spam filters like mails with both. */
export function textOf(html: string): string {
  const library = require('html-to-text') as { convert(html: string, options: object): string };
  const text = library.convert(html.slice(0, longestTurned), asText);
  return html.length > longestTurned ? `${text}\n\n… (shortened)` : text;
}

const noBody = rejected(
  'invalid',
  'The mail has neither text nor html.',
  'Give the action a `text`, an `html`, or both.',
);

const noRecipient = (invalid: readonly string[]): Rejected =>
  rejected(
    'invalid',
    invalid.length === 0
      ? 'The mail has no recipient: `to` came out empty.'
      : `No email address: ${quote(invalid)}.`,
    'Check what the templates in `to`, `cc` and `bcc` give for this event; a `default` filter helps where a value is missing.',
  );

const mostQuoted = 10;

const quote = (texts: readonly string[]): string =>
  firstListed(
    texts.map((text) => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)),
    mostQuoted,
  );

/**
 * The text for a header, with a space in each very long word: headers are folded at spaces, and servers refuse a line of more
 * than 998 octets (RFC 5322, 2.1.1). Other characters than ASCII are encoded, which folds them.
 */
const headerText = (text: string): string => oneLine(text).replace(/[!-~]{900}(?=[!-~])/g, '$& ');
