import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { passed, tokenCheck } from '../../src/connector.ts';
import type { LiveCheck } from '../../src/connector.ts';
import { bare, domainOf } from './addresses.ts';
import { explain } from './advice.ts';
import type { MailOptions, SmtpError, SmtpSettings, TokenLogin } from './client.ts';
import type { Mail } from './message.ts';
import { isLoginFault, isRelayRefused, replyText } from './replies.ts';

interface CheckedSink extends MailOptions {
  readonly settings: SmtpSettings;
  readonly mask: (error: SmtpError) => SmtpError;
  readonly tokens: TokenLogin | null;
}

/** So many domains are asked about: servers close connections with too many recipients that get no mail. */
const maxDomains = 20;

/** Sends a command and gives the server's reply. */
type SendCommand = (command: string) => Promise<string>;

export async function checkMailServer(
  sink: CheckedSink,
  messages: readonly Mail[],
  signal: AbortSignal,
): Promise<LiveCheck[]> {
  if (sink.tokens === null) return await checkSession(sink, messages, signal);
  const outcome = await sink.tokens.fault(signal);
  const way = sink.proxy ? `, through the proxy ${sink.proxy.host}; mail itself goes past it` : '';
  const check = tokenCheck(outcome ? { outcome } : {}, way);
  return outcome ? [check] : [check, ...(await checkSession(sink, messages, signal))];
}

/**
 * Goes as far as is possible without sending: connection, TLS, login, the sender, one recipient for each
 * domain that the rules write to. Then it takes all of that back (RSET).
 */
async function checkSession(
  { settings, url, from, mask }: CheckedSink,
  messages: readonly Mail[],
  signal: AbortSignal,
): Promise<LiveCheck[]> {
  const { host, port, login } = url;
  const reached: LiveCheck = {
    ok: true,
    what: 'mail server answers',
    detail: `${host}:${port} is ready for mail.`,
  };
  const answers: LiveCheck[] = [];
  let loggedIn = passed('login accepted', 'The mail server is open without a login, as configured.');
  let isOpen = false;
  const ask = async (send: SendCommand, hasLogin: boolean): Promise<void> => {
    isOpen = true;
    const open = hasLogin ? 'is open' : 'offers no login, so mails go without the one';
    if (login) loggedIn = passed(loggedIn.what, `The mail server ${open} for ${login.user}.`);
    const question = async (what: string, command: string, address: string): Promise<SmtpError> => {
      const response = await send(`${command}:<${address}>`);
      const responseCode = Number(response.slice(0, 3));
      const answer = mask(Object.assign(new Error(response), { response, command, responseCode }));
      answers.push(checkOf(what, answer));
      return answer;
    };
    if (isRefusal(await question(`may send from ${bare(from)}`, 'MAIL FROM', bare(from)))) return;
    const all = messages.flatMap(({ to, cc = [], bcc = [] }) => [...to, ...cc, ...bcc]);
    // One of each domain.
    const places = [...Map.groupBy(all, domainOf).values()].flatMap(([first]) =>
      first ? [bare(first)] : [],
    );
    for (const address of places.slice(0, maxDomains)) {
      // With 421 the server hangs up.
      if ((await question(`takes mail for ${address}`, 'RCPT TO', address)).responseCode === 421) return;
    }
    await send('RSET');
  };
  const error = await inSession(settings, ask, signal);
  if (error === null) return [reached, loggedIn, ...answers];
  const fault = (what: string) => checkOf(what, mask(error));
  if (isOpen) return [reached, loggedIn, ...answers, fault('stays connected')];
  return isLoginFault(error) ? [reached, fault(loggedIn.what)] : [fault(reached.what)];
}

const isRefusal = ({ responseCode = 0 }: SmtpError): boolean => !(responseCode > 0 && responseCode < 400);

function checkOf(what: string, error: SmtpError): LiveCheck {
  const { response = '', responseCode = 0 } = error;
  if (!isRefusal(error)) return { ok: true, what, detail: 'The mail server would take it.' };
  const said = replyText(response);
  if (responseCode >= 400 && responseCode < 500 && !isRelayRefused(error))
    return { ok: true, what, detail: `The mail server cannot tell just now: ${said}` };
  return { ok: false, what, ...explain(error) };
}

/** Opens a connection as for a mail, lets `ask` use it, and closes it. Resolves to the error that ended it early, or to null. */
async function inSession(
  settings: SmtpSettings,
  ask: (send: SendCommand, hasLogin: boolean) => Promise<void>,
  signal: AbortSignal,
): Promise<SmtpError | null> {
  const { promise: broken, reject: breakOff } = Promise.withResolvers<never>();
  const stop = () => breakOff(Object.assign(new Error('stopped'), { code: 'ETIMEDOUT' }));
  const connection = new SMTPConnection({
    ...settings,
    // The library sends custom commands only within a custom login.
    customAuth: {
      ...settings.customAuth,
      QUESTIONS: (session) =>
        ask(async (command) => (await session.sendCommand(command)).response, session.authMethods.length > 0),
    },
  });
  connection.on('error', breakOff);
  // After the reply with which the server closes it has been read.
  connection.once('end', () =>
    setImmediate(breakOff, Object.assign(new Error('closed'), { code: 'ECONNECTION' })),
  );
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const { auth } = settings;
  const talk = async (): Promise<void> => {
    await untilDone((done) => connection.connect(done));
    if (auth !== undefined && connection.allowsAuth) await untilDone((done) => connection.login(auth, done));
    await untilDone((done) => connection.login({ method: 'QUESTIONS' }, done));
  };
  try {
    await Promise.race([talk(), broken]);
    connection.quit();
    return null;
  } catch (error) {
    connection.close();
    return error as SmtpError;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function untilDone(call: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error ? reject(error) : resolve()));
  });
}
