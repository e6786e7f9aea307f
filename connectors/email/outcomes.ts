import { perhapsSinkWide, rejected, retry, sinkWide, unknown } from '../../src/connector.ts';
import type { Delivered, Outcome, Reason, Rejected } from '../../src/model/outcomes.ts';
import { checkHost, detailWithAdvice, explain } from './advice.ts';
import type { SmtpError } from './client.ts';
import {
  comparable,
  isAboutTheMail,
  isAboutTheSender,
  isAboutTheSystem,
  isFullAtTheRecipient,
  isFull,
  isLoginFault,
  isPermanent,
  isPolicy,
  isRate,
  isReply,
  isTooLarge,
  isUnexplained,
} from './replies.ts';

type Failed = Exclude<Outcome, Delivered>;

interface Attempt {
  readonly aborted: boolean;
  readonly isProbe: boolean;
  /** Whether the mails before were refused, too: one in the same words, or two in others. */
  readonly isRepeated: (words: string) => boolean;
}

/** The outcome of an attempt that failed. `wentOut`: the whole mail was sent, so the server may have taken it. */
export function outcomeOf(error: SmtpError, wentOut: boolean, attempt: Attempt): Failed {
  if (isReply(error)) return outcomeOfReply(error, attempt);
  const { aborted } = attempt;
  const reason = aborted || error.code === 'ETIMEDOUT' ? 'timeout' : 'network';
  if (wentOut) {
    const missing =
      reason === 'timeout'
        ? "did not confirm it in time. If it is only slow, raise the sink's timeout: it may get the mail with each attempt."
        : 'closed the connection without confirming it.';
    return unknown(reason, `The mail went out, but the mail server ${missing}`);
  }
  if (aborted)
    return sinkWide(
      reason,
      `Time ran out before the mail went out. ${checkHost} If the server is only slow, raise the sink's timeout.`,
    );
  if (buildErrors.has(error.code ?? '')) {
    return rejected(
      'invalid',
      `The mail could not be built: ${error.message}.`,
      'Check its addresses and headers.',
    );
  }
  return sinkWide(isLoginFault(error) ? 'auth' : reason, detailWithAdvice(error));
}

/** nodemailer's codes for mails that it does not begin to send. */
const buildErrors = new Set([
  'EENVELOPE',
  'EMESSAGE',
  'ESTREAM',
  'EMAXRECIPIENTS',
  'EFILEACCESS',
  'EURLACCESS',
]);

function outcomeOfReply(error: SmtpError, { isProbe, isRepeated }: Attempt): Failed {
  if (isLoginFault(error)) return sinkWide('auth', detailWithAdvice(error));
  const detail = isRate(error) ? detailWithAdvice(error) : explain(error).detail;
  if (isAboutTheMail(error) && !isAboutTheSender(error)) {
    if (!isPermanent(error)) return retryFor(error)(temporaryReason(error), detail);
    if (isUnexplained(error)) return perhapsSinkWide('auth', `${detail} ${checkAccount}`);
    if (isTooLarge(error)) return refusal(error, detail);
    if (isRepeated(comparable(error))) return sinkWide('auth', `${detail} ${ofAllMails}`);
    // A probe comes after a pause, perhaps of an earlier process: the mails before it may have been refused in these words.
    return isProbe ? perhapsSinkWide('auth', `${detail} ${checkAccount}`) : refusal(error, detail);
  }
  // Every mail of this sink would get the same reply.
  if (isPermanent(error)) {
    const reason = isPolicy(error) || isAboutTheSender(error) ? 'auth' : 'invalid';
    return sinkWide(reason, detailWithAdvice(error));
  }
  return sinkWide(temporaryReason(error), detail);
}

const checkAccount =
  "It may object to the account, to the sink's `from` or to this mail; its administrator can tell why.";

const ofAllMails =
  'Other mails were refused like this one, so it may object to all: to the account, to the sender, or to what the mails have in common. Its administrator can tell why.';

/** The outcome of a permanent reply about the mail. */
function refusal(error: SmtpError, detail: string): Rejected {
  if (isTooLarge(error))
    return rejected('invalid', detail, 'Shorten the message, or have the limit there raised.');
  const advice = isFull(error)
    ? 'A mailbox is full there, or a quota is used up: have room made, then replay.'
    : 'The server objects to what the mail says or where it comes from; its administrator can tell why.';
  return rejected('invalid', detail, advice);
}

/** The kind of retry for a reply to one mail, by whether other mails would get the same reply. */
export function retryFor(error: SmtpError): typeof retry {
  // After the text, a quota is the sender's: the recipients have been taken.
  const isQuota = error.command === 'DATA' && isRate(error) && !isFullAtTheRecipient(error);
  if (error.responseCode === 421 || isQuota) return sinkWide;
  return isAboutTheSystem(error) ? perhapsSinkWide : retry;
}

export const temporaryReason = (error: SmtpError): Reason => (isRate(error) ? 'rate_limited' : 'server');
