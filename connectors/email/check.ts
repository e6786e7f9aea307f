import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { LiveCheck } from '../../src/connector.ts';
import { bare, domainOf } from './addresses.ts';
import type { Address } from './addresses.ts';
import type { Mail } from './compose.ts';
import { explain, isLoginFault, replyText } from './faults.ts';
import type { SmtpError } from './faults.ts';
import type { MailServer } from './server.ts';
import type { MailSettings } from './sink.ts';

interface Checked {
  readonly settings: MailSettings;
  readonly url: MailServer;
  readonly from: Address;
  readonly mask: (error: SmtpError) => SmtpError;
}

/** Servers end connections in which too many recipients come to nothing. */
const mostDomains = 20;

/** Says a command and gives the server's reply. */
type Say = (command: string) => Promise<string>;

/**
 * Goes as far as a mail server lets one without sending: connection, TLS, login, the sender, one recipient for each
 * domain that the rules write to. Then it takes all of that back (RSET).
 */
export async function checkMailServer(
  { settings, url, from, mask }: Checked,
  messages: readonly Mail[],
  signal: AbortSignal,
): Promise<LiveCheck[]> {
  const { host, port, login } = url;
  const reached: LiveCheck = {
    ok: true,
    what: 'mail server answers',
    detail: `${host}:${port} is ready for mail.`,
  };
  const who = login === null ? 'without a login, as configured' : `for ${login.user}`;
  const entered: LiveCheck = { ok: true, what: 'login accepted', detail: `The mail server is open ${who}.` };
  const answers: LiveCheck[] = [];
  let isOpen = false;
  const ask = async (say: Say): Promise<void> => {
    isOpen = true;
    for await (const answer of questions(say, from, recipients(messages), mask)) answers.push(answer);
  };
  const error = await inSession(settings, ask, signal);
  if (error === null) return [reached, entered, ...answers];
  if (isOpen) return [reached, entered, ...answers, understood('stays connected', mask(error))];
  const fault = { ok: false, ...explain(mask(error)) };
  return isLoginFault(error) ? [reached, { ...entered, ...fault }] : [{ ...reached, ...fault }];
}

/** The first of each domain. */
function recipients(messages: readonly Mail[]): string[] {
  const all = messages.flatMap(({ to, cc = [], bcc = [] }) => [...to, ...cc, ...bcc]);
  const byDomain = Map.groupBy(all, domainOf);
  return [...byDomain.values()].flatMap(([first]) => (first ? [bare(first)] : [])).slice(0, mostDomains);
}

async function* questions(
  say: Say,
  from: Address,
  to: readonly string[],
  mask: Checked['mask'],
): AsyncGenerator<LiveCheck> {
  const ask = async (command: string, address: string): Promise<SmtpError> =>
    mask(errorOf(await say(`${command}:<${address}>`), command));
  const sender = await ask('MAIL FROM', bare(from));
  yield understood(`may send from ${bare(from)}`, sender);
  if (isRefusal(sender)) return;
  for (const address of to) {
    const answer = await ask('RCPT TO', address);
    yield understood(`takes mail for ${address}`, answer);
    // With 421 the server hangs up.
    if (answer.responseCode === 421) return;
  }
  await say('RSET');
}

const errorOf = (response: string, command: string): SmtpError =>
  Object.assign(new Error(response), { response, command, responseCode: Number(response.slice(0, 3)) });

const isRefusal = ({ responseCode = 0 }: SmtpError): boolean => !(responseCode > 0 && responseCode < 400);

function understood(what: string, error: SmtpError): LiveCheck {
  const { response = '', responseCode = 0 } = error;
  if (!isRefusal(error)) return { ok: true, what, detail: 'The mail server would take it.' };
  const said = replyText(response);
  if (responseCode >= 400 && responseCode < 500)
    return { ok: true, what, detail: `The mail server cannot tell just now: ${said}` };
  return { ok: false, what, ...explain(error) };
}

/** Opens a connection as for a mail, and closes it. Gives the fault that ended it early. */
async function inSession(
  settings: MailSettings,
  talk: (say: Say) => Promise<void>,
  signal: AbortSignal,
): Promise<SmtpError | null> {
  const { promise: broken, reject: breakOff } = Promise.withResolvers<never>();
  const stop = () => breakOff(Object.assign(new Error('stopped'), { code: 'ETIMEDOUT' }));
  const connection = new SMTPConnection({
    ...settings,
    // The library says commands of one's own only inside of a login of one's own.
    customAuth: {
      QUESTIONS: (session) => talk(async (command) => (await session.sendCommand(command)).response),
    },
  });
  connection.on('error', breakOff);
  // Later than the reply with which a server ends it.
  connection.once('end', () =>
    setImmediate(breakOff, Object.assign(new Error('closed'), { code: 'ECONNECTION' })),
  );
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    await Promise.race([converse(connection, settings), broken]);
    connection.quit();
    return null;
  } catch (error) {
    connection.close();
    return error as SmtpError;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function converse(connection: SMTPConnection, { auth }: MailSettings): Promise<void> {
  await called((done) => connection.connect(done));
  if (auth !== undefined && connection.allowsAuth) await called((done) => connection.login(auth, done));
  await called((done) => connection.login({ method: 'QUESTIONS' }, done));
}

function called(call: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error ? reject(error) : resolve()));
  });
}
