import { html, printableLines, textAt } from '../../src/connector.ts';
import type { Description } from '../../src/connector.ts';
import { contentTypeOf, isJson } from './message.ts';

export const describe: Description<unknown> = {
  starter: {
    sink: 'ats',
    options: [
      'url: ${ATS_URL} # https://…, the system that gets every event',
      '# Signs every call, as standardwebhooks.com says:',
      '# secret: ${ATS_SECRET}',
    ],
    env: { ATS_URL: 'https://ats.example.com/hooks' },
    tells: 'program',
  },
  unit: 'call',
  preview(message) {
    const { body } = message;
    const where = `${textAt(message, 'method') || 'POST'} ${textAt(message, 'path')}`.trim();
    // What a backtest compares is an action's keys, and the usual body is none of them.
    if (body === undefined)
      return { where, body: html`<p>The usual body: what came, as data, with its type and time.</p>` };
    const text = typeof body === 'string' ? body : JSON.stringify(body, null, 2);
    const type = contentTypeOf(Object(message['headers']) as Record<string, string>);
    const bytes = Buffer.byteLength(typeof body === 'string' ? body : JSON.stringify(body));
    return {
      where,
      folded: `${isJson(type) ? 'JSON' : type} of ${bytes} bytes`,
      body: html`<pre tabindex="0">${printableLines(text)}</pre>`,
    };
  },
  trace: (_, deliveryId) => `the call with the webhook-id ${deliveryId}`,
};
