import { count } from '../../src/support/text.ts';
import type { Tools } from './tools.ts';

/** Shows what each of the four tools has. */
export function printReceived(tools: Tools): void {
  for (const { tool, thing, texts } of received(tools)) {
    console.log(`\n${tool} has ${count(texts.length, thing)}`);
    for (const text of texts) console.log(indented(text));
  }
}

/** Returns what shows each thing that a tool got since it was last called. */
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

/** What each tool has, as a person reads it. */
function received({ slack, sheets, smtp, http }: Tools) {
  return [
    {
      tool: 'Slack',
      thing: 'message',
      texts: slack.messages.map(({ channelName, text }) => `#${channelName}: ${text}`),
    },
    {
      tool: 'Google Sheets',
      thing: 'row',
      texts: sheets.rows('Results').map((row) => Object.values(row).join(' | ')),
    },
    {
      tool: 'Email',
      thing: 'mail',
      texts: smtp.mails.map(
        ({ envelope, parsed }) =>
          `to ${envelope.to.join(', ')}: ${parsed.subject}\n${indented(parsed.text?.trim() ?? '')}`,
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

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');
