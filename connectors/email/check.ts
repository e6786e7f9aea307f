import type { LiveCheck } from '../../src/connector.ts';
import { explain, isLoginFault } from './faults.ts';
import type { SmtpError } from './faults.ts';
import type { MailServer } from './server.ts';

/** Asks for all that a mail server answers without a mail. `verify` goes through connection, TLS and login, and gives the fault. */
export async function checkMailServer(
  verify: () => Promise<SmtpError | null>,
  { host, port, login }: MailServer,
  signal: AbortSignal,
): Promise<LiveCheck[]> {
  const reached: LiveCheck = {
    ok: true,
    what: 'mail server answers',
    detail: `${host}:${port} is ready for mail.`,
  };
  const who = login === null ? 'without a login, as configured' : `for ${login.user}`;
  const entered: LiveCheck = { ok: true, what: 'login accepted', detail: `The mail server is open ${who}.` };
  const error = await errorOf(verify, signal);
  if (error === null) return [reached, entered];
  const fault = { ok: false, ...explain(error) };
  return isLoginFault(error) ? [reached, { ...entered, ...fault }] : [{ ...reached, ...fault }];
}

async function errorOf(
  verify: () => Promise<SmtpError | null>,
  signal: AbortSignal,
): Promise<SmtpError | null> {
  const stopped = Promise.withResolvers<SmtpError>();
  const stop = () => stopped.resolve(Object.assign(new Error('stopped'), { code: 'ETIMEDOUT' }));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const first = await Promise.race([verify(), stopped.promise]);
  signal.removeEventListener('abort', stop);
  return first;
}
