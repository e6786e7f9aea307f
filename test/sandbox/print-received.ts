import type { Tools } from './tools.ts';

/** Shows what each of the four tools has. */
export function printReceived({ slack, sheets, smtp, http }: Tools): void {
  heading('Slack', slack.messages.length, 'message');
  for (const { channelName, text } of slack.messages) console.log(`  #${channelName}: ${text}`);

  const rows = sheets.rows('Results');
  heading('Google Sheets', rows.length, 'row');
  for (const row of rows) console.log(`  ${Object.values(row).join(' | ')}`);

  heading('Email', smtp.mails.length, 'mail');
  for (const { envelope, parsed } of smtp.mails) {
    console.log(`  to ${envelope.to.join(', ')}: ${parsed.subject}`);
    console.log(`    ${parsed.text?.trim().split('\n')[0] ?? ''}`);
  }

  heading('Webhook', http.calls.length, 'call');
  for (const { method, path, deliveryId, body } of http.calls) {
    console.log(`  ${method} ${path}  webhook-id ${deliveryId}`);
    console.log(`    ${body}`);
  }
}

function heading(tool: string, count: number, what: string): void {
  console.log(`\n${tool} has ${count} ${what}${count === 1 ? '' : 's'}`);
}
