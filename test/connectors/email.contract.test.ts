import { email } from '../../connectors/email/index.ts';
import { visible } from '../../src/connector.ts';
import { connectorContract } from '../contract/connector.ts';
import { SmtpSandbox } from '../../sandbox/smtp.ts';

const password = 'p/ss word:with@everything';

connectorContract('email', async () => {
  const sandbox = await new SmtpSandbox({ login: { user: 'hiring', password } }).start();
  return {
    connector: email,
    sandbox,
    options: (authority = `127.0.0.1:${sandbox.port}`) => ({
      url: `smtp://hiring:${encodeURIComponent(password)}@${authority}`,
      from: 'Hiring <hiring@example.com>',
    }),
    secrets: [password, encodeURIComponent(password)],
    fields: { to: 'dana@example.com', subject: 'Completed', text: 'A candidate completed the test.' },
    place: ['text'],
    calls: ['CONNECT', 'AUTH', 'MAIL', 'RCPT', 'DATA'],
    meanings: {
      421: { outcome: 'retry', reason: 'server', sinkWide: true },
      450: { outcome: 'retry' },
      451: { outcome: 'retry' },
      452: { outcome: 'retry' },
      503: { outcome: 'retry' },
      535: { outcome: 'retry', reason: 'auth', sinkWide: true },
      550: { outcome: 'rejected', reason: 'invalid' },
      552: { outcome: 'rejected', reason: 'invalid' },
      554: { outcome: 'retry', reason: 'auth', sinkWide: 'perhaps' },
    },
    trace: /^the mail <.+@.+> to \S+@\S+$/,
    statesDelay: false,
    finds: false,
    proxied: false,
    received: async () => sandbox.mails.map((mail) => mail.deliveryId),
    shown: async (id) =>
      sandbox.mails.find((mail) => mail.deliveryId === id)?.parsed.text?.replace(/\n$/, ''),
    asShown: (text) => visible(text.replaceAll('\r\n', '\n')),
  };
});
