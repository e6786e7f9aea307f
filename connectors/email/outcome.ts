import { rejected, retry, sinkWide, unknown } from '../../src/connector.ts';
import type { Delivered, Outcome } from '../../src/model.ts';
import {
  explain,
  isAboutTheMail,
  isLoginFault,
  isPermanent,
  isPolicy,
  isReply,
  refusal,
  temporaryReason,
} from './faults.ts';
import type { SmtpError } from './faults.ts';

type Failed = Exclude<Outcome, Delivered>;

/** How an attempt ended that threw. `wentOut`: the mail was sent whole, so the server may have taken it. */
export function outcomeOf(error: SmtpError, wentOut: boolean, aborted: boolean): Failed {
  if (isReply(error)) return outcomeOfReply(error);
  const reason = aborted || error.code === 'ETIMEDOUT' ? 'timeout' : 'network';
  if (wentOut) {
    const what =
      reason === 'timeout' ? 'did not confirm it in time' : 'closed the connection without confirming it';
    return unknown(reason, `The mail went out, but the mail server ${what}.`);
  }
  if (aborted) return sinkWide(reason, 'Time ran out before the mail went out.');
  if (localFaults.has(error.code ?? '')) {
    return rejected(
      'invalid',
      `The mail could not be built: ${error.message}.`,
      'Check its addresses and headers.',
    );
  }
  return sinkWide(isLoginFault(error) ? 'auth' : reason, joined(error));
}

/** nodemailer's codes for mails that it would not even start to send. */
const localFaults = new Set([
  'EENVELOPE',
  'EMESSAGE',
  'ESTREAM',
  'EMAXRECIPIENTS',
  'EFILEACCESS',
  'EURLACCESS',
]);

function outcomeOfReply(error: SmtpError): Failed {
  if (isLoginFault(error)) return sinkWide('auth', joined(error));
  const { detail } = explain(error);
  if (isAboutTheMail(error)) {
    if (isPermanent(error)) return refusal(error, detail);
    return error.responseCode === 421
      ? sinkWide(temporaryReason(error), detail)
      : retry(temporaryReason(error), detail);
  }
  // It would be the same for every mail of this sink.
  if (isPermanent(error)) return sinkWide(isPolicy(error) ? 'auth' : 'invalid', joined(error));
  return sinkWide(temporaryReason(error), detail);
}

function joined(error: SmtpError): string {
  const { detail, advice } = explain(error);
  return `${detail} ${advice}`;
}
