import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import {
  type ComposeResult,
  type DeliveryContext,
  firstListed,
  oneLine,
  rejected,
} from '../../src/connector.ts';
import type { Rejected } from '../../src/model/outcomes.ts';
import { type Address, domainOf, parseAddresses } from './addresses.ts';

/** A mail without what only an attempt knows: its date, and who is still to get it. */
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
  /** The mail that a thread would begin with. Nobody has it: mail programs go by what mails have in common. */
  readonly references?: string;
  readonly inReplyTo?: string;
  readonly headers: { readonly [name: string]: string };
  readonly attachments?: readonly Attachment[];
}

/** As nodemailer takes it. A type, as it has to be Json. */
type Attachment = {
  readonly filename: string;
  readonly contentType: string;
  readonly content: string;
};

type AddressList = string | string[];

/** The action's keys, rendered. */
export interface MailFields {
  readonly to: AddressList;
  readonly cc?: AddressList | undefined;
  readonly bcc?: AddressList | undefined;
  readonly replyTo?: AddressList | undefined;
  readonly subject: string;
  readonly text?: string | undefined;
  readonly html?: string | undefined;
  readonly threadBy?: string | undefined;
  readonly headers?: { readonly [name: string]: string } | undefined;
  readonly attach?: 'csv' | undefined;
}

/** Pure. One bad address must not block the others: it is left out, and the note says so. */
export function compose(
  fields: MailFields,
  { deliveryId, subject: about }: DeliveryContext,
  from: Address,
): ComposeResult<Mail> {
  const invalid: string[] = [];
  const read = (list: AddressList = []): readonly Address[] => {
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
  const headers = Object.entries(fields.headers ?? {}).map(([name, value]) => [name, headerText(value)]);
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
    headers: { 'Auto-Submitted': 'auto-generated', ...Object.fromEntries(headers) },
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

/** Mail programs that show HTML need no more of it, and turning more into text would hold up others. */
const longestTurned = 100_000;

/** Loaded when a mail needs it: most have a text of their own. */
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
 * A header is folded at its spaces, and no line may have more than 998 octets (RFC 5322, 2.1.1): servers refuse the mail. So
 * a longer word gets a space. Other characters than ASCII are encoded, which folds them.
 */
const headerText = (text: string): string => oneLine(text).replace(/[!-~]{900}(?=[!-~])/g, '$& ');
