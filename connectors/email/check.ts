import type { LiveCheck } from '../../src/connector.ts';
import { explain, isLoginFault } from './faults.ts';
import type { SmtpError } from './faults.ts';
import type { MailServer } from './server.ts';

/** Asks for all that a mail server answers without a mail: connection, TLS and login. `verify` goes through them and leaves. */
export async function checkMailServer(
  verify: () => Promise<unknown>,
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

async function errorOf(verify: () => Promise<unknown>, signal: AbortSignal): Promise<SmtpError | null> {
  const stopped = Promise.withResolvers<SmtpError>();
  const stop = () => stopped.resolve(Object.assign(new Error('stopped'), { code: 'ETIMEDOUT' }));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const verified = verify().then(
    () => null,
    (error: SmtpError) => error,
  );
  const first = await Promise.race([verified, stopped.promise]);
  signal.removeEventListener('abort', stop);
  return first;
}
