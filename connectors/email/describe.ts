import { html, listAt, printableLines, textAt } from '../../src/connector.ts';
import type { Description } from '../../src/connector.ts';
import type { JsonMap } from '../../src/model.ts';
import type { MailServer } from './client.ts';
import { textOf } from './message.ts';

/** The addresses under a key of an action, a message or a receipt. */
const people = (map: JsonMap, key: string): string =>
  textAt(map, key) ||
  listAt(map, key)
    .map((one) => (typeof one === 'string' ? one : textAt(one, 'address') || textAt(one, 'name')))
    .join(', ');

export const describe: Description<{ readonly url: MailServer }> = {
  starter: {
    sink: 'mail',
    aliases: ['mail'],
    options: [
      'url: ${SMTP_URL} # smtp://user:pw@host:587 or smtps://…:465',
      'from: ${MAIL_FROM} # as in hiring@example.com',
    ],
    env: { SMTP_URL: 'smtp://localhost', MAIL_FROM: 'hiring@example.com' },
    tells: 'people',
    asks: {
      key: 'to',
      takes: 'address',
      meaning: 'to whom mails go',
      question: 'To which address do mails go?',
      example: 'hiring@example.com',
    },
  },
  unit: 'mail',
  preview(message) {
    const attached = listAt(message, 'attachments').map((one) => textAt(one, 'filename'));
    // Of the keys of an action it is not known yet.
    const files = attached.join(', ') || (textAt(message, 'attach') && 'the list as CSV');
    return {
      where: `To ${people(message, 'to') || people(message, 'cc') || people(message, 'bcc')}`,
      title: textAt(message, 'subject'),
      ...(files !== '' && { attached: files }),
      body: html`<pre tabindex="0">${printableLines(textAt(message, 'text'))}</pre>`,
      document: textAt(message, 'html'),
    };
  },
  readable: ({ html: markup, ...fields }) => ({
    ...fields,
    ...(fields['text'] === undefined && typeof markup === 'string' && { text: textOf(markup) }),
  }),
  trace: (receipt) => `the mail ${textAt(receipt, 'messageId')} to ${people(receipt, 'accepted')}`,
  server: ({ url }) => url && `the mail server ${url.host.toLowerCase()}`,
};
