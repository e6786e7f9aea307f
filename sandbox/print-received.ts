import { count } from '../src/support/text.ts';
import { linesOf } from './slack/preview.ts';
import type { Tools } from './tools.ts';

/** Prints what each of the four tools has received. */
export function printReceived(tools: Tools): void {
  for (const { tool, thing, texts } of received(tools)) {
    console.log(`\n${tool} has ${count(texts.length, thing)}`);
    for (const text of texts) console.log(indented(text));
  }
}

/** Returns a function that prints what the tools have received since it was last called. */
export function arrivals(tools: Tools): () => void {
  const shown = new Map(received(tools).map(({ tool, texts }) => [tool, texts.length]));
  return () => {
    for (const { tool, thing, texts } of received(tools)) {
      for (const text of texts.slice(shown.get(tool))) {
        console.log(`\n${tool} has one more ${thing}\n${indented(text)}`);
      }
      shown.set(tool, texts.length);
    }
  };
}

/** The things that each tool has received, as text. */
function received({ slack, sheets, smtp, http }: Tools) {
  return [
    {
      tool: 'Slack',
      thing: 'message',
      texts: slack.messages.map((message) => `#${message.channelName}\n${indented(linesOf(message))}`),
    },
    {
      tool: 'Google Sheets',
      thing: 'row',
      texts: sheets.rows('Results').map(rowText),
    },
    {
      tool: 'Email',
      thing: 'mail',
      texts: smtp.mails.map(
        ({ envelope, parsed }) =>
          `to ${envelope.to.join(', ')}: ${parsed.subject}${parsed.html ? ' (in HTML, and as text)' : ''}\n${indented(parsed.text?.trim() ?? '')}`,
      ),
    },
    {
      tool: 'Webhook',
      thing: 'call',
      texts: http.calls.map(
        ({ method, path, deliveryId, body }) =>
          `${method} ${path}  webhook-id ${deliveryId}\n${indented(body)}`,
      ),
    },
  ];
}

/** A row as text. A time in a sheet is a number: the days since the end of 1899. */
const rowText = ({ Received: days, ...row }: { readonly [header: string]: unknown }): string =>
  [new Date((Number(days) - 25_569) * 86_400_000).toISOString(), ...Object.values(row)].join(' | ');

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');
