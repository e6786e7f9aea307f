import { tokenCommand, wordsOf } from './client.ts';
import type { SmtpError } from './client.ts';
import {
  isAboutTheAddress,
  isAboutTheSender,
  isBlocked,
  isLoginFault,
  isPermanent,
  isRate,
  isReply,
  replyText,
} from './replies.ts';

/** A fault, with the fix to try. */
interface Explanation {
  readonly detail: string;
  readonly advice: string;
}

const explanation = (detail: string, advice: string): Explanation => ({ detail, advice });

const checkLogin = "Check the user and password in the sink's url.";

/** The fix to try for a login; the words of Microsoft and Google where they take no password any more. */
function loginAdvice(error: SmtpError): string {
  const words = wordsOf(error);
  // What Microsoft says of a tenant or mailbox for which SMTP is off, also to an access token.
  if (/SmtpClientAuthentication is disabled/i.test(words))
    return 'Let the mailbox use Authenticated SMTP: in the Microsoft 365 admin center under Active users, Mail, Manage email apps. It takes no access tokens without that, either.';
  if (isReply(error) && !isPermanent(error))
    return `It may be that it cannot check logins just now; mails wait until it can. If that goes on: ${checkLogin}`;
  // RFC 4954, section 4.
  if (error.responseCode === 504)
    return 'The server has none of the logins that the connector knows (PLAIN, LOGIN, CRAM-MD5 and XOAUTH2): have one of them allowed there.';
  if (error.command === tokenCommand)
    return 'The server did not take the access token: check auth.user and scope, and let the application send for that mailbox.';
  if (/\bunauthori[sz]ed IP\b/i.test(words))
    return "The server takes no login from this machine: have this machine's address allowed there.";
  // Gmail's words (support.google.com/a/answer/3726730), and those of others that have app passwords.
  if (/\bapp(lication)?-specific password|\busername and password not accepted/i.test(words))
    return "Check the user and password in the sink's url. Google takes an app password there, and not the one of the account: with 2-Step Verification on, make one at https://myaccount.google.com/apppasswords, or use auth.oauth2.";
  // Microsoft's 5.7.139 may be about the password, too.
  if (/\b5\.7\.(30|9)\b|basic auth|authentication is disabled/i.test(words))
    return 'The server takes no password here: use auth.oauth2.';
  return /^535[ -]5\.7\./.test(error.response ?? '')
    ? `${checkLogin} Microsoft 365 and Google may want auth.oauth2 instead.`
    : checkLogin;
}

export const checkHost = "Check host and port in the sink's url, and firewalls.";
const untrusted = explanation(
  "The mail server's certificate is not trusted.",
  'Have the server get one of a known authority, or give Node the authority in NODE_EXTRA_CA_CERTS and restart: the file is read at the start.',
);
const plainPort = explanation(
  'The mail server does not start with TLS on this port.',
  'Use smtp://, or port 465 with smtps://.',
);
const noCommonTls = (code: string): Explanation =>
  explanation(
    `The mail server and this machine find no TLS that both know (${code}).`,
    'Have the server updated to TLS 1.2 or later, or send through another one; it may also want a certificate, which the connector has none of.',
  );
const closed = explanation('The mail server closed the connection before the mail went out.', checkHost);

const rateAdvice =
  'The mail service takes fewer mails than that: set `rate` and `concurrency` of the sink to what it allows, or have the limit there raised.';
const blockedAdvice =
  'The mail service blocks or limits this account, tenant, domain or machine: its administrator can tell why, and lift it.';

/** The fix to try, by the command that was refused. */
const adviceFor: ReadonlyMap<string, string> = new Map([
  ['CONN', 'The server takes no mail from this machine: ask its administrator to allow it.'],
  ['EHLO', "Give the sink a `name`: this machine's full name, or your mail domain."],
  ['HELO', "Give the sink a `name`: this machine's full name, or your mail domain."],
  ['STARTTLS', 'It cannot encrypt just now; mails wait until it does.'],
  [
    'MAIL FROM',
    "Check the sink's `from` and the login in its url: the server has to let this login send from that address.",
  ],
  [
    'RCPT TO',
    "The server may want a login in the sink's url, or lets it send to some addresses only; else check the address.",
  ],
]);

const connectionFaults: ReadonlyMap<string, Explanation> = new Map(
  Object.entries({
    ECONNREFUSED: explanation('The mail server refuses connections.', checkHost),
    ENOTFOUND: explanation("The mail server's name does not resolve.", "Check the host in the sink's url."),
    EDNS: explanation(
      "The mail server's name could not be resolved just now.",
      "Check the host in the sink's url.",
    ),
    ETIMEDOUT: explanation('The mail server did not answer in time.', checkHost),
    ECONNECTION: closed,
    ECONNRESET: closed,
    DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
    SELF_SIGNED_CERT_IN_CHAIN: untrusted,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
    CERT_HAS_EXPIRED: explanation("The mail server's certificate has expired.", 'Have it renewed there.'),
    CERT_NOT_YET_VALID: explanation(
      "The mail server's certificate is not valid yet.",
      "Check this machine's clock; if that is right, have another certificate taken there.",
    ),
    ERR_TLS_CERT_ALTNAME_INVALID: explanation(
      "The mail server's certificate is for another name.",
      "Name the host in the sink's url as the certificate does.",
    ),
    ERR_SSL_WRONG_VERSION_NUMBER: plainPort,
    ERR_SSL_PACKET_LENGTH_TOO_LONG: plainPort,
    ETLS: explanation(
      'The mail server does not encrypt (STARTTLS).',
      'Use smtps://, or say requireTls: false if that is all right.',
    ),
  }),
);

/** Why no mail could be handed over, in plain words. For errors about the connection or the login. */
export function explain(error: SmtpError): Explanation {
  const { code = '', originalCode = '', message, response } = error;
  const isWithoutTls = code === 'ETLS' && isPermanent(error);
  const known =
    connectionFaults.get(originalCode) ??
    (/^ERR_SSL_|^EPROTO$/.test(originalCode) ? noCommonTls(originalCode) : undefined) ??
    (isWithoutTls || !isReply(error) ? connectionFaults.get(code) : undefined);
  if (known !== undefined) return known;
  // Postfix may refuse a client name that is not a full name, or the sender, only later: at a recipient.
  const later = isAboutTheSender(error) ? 'MAIL FROM' : error.command;
  const command = /\b(helo|ehlo)\b/i.test(wordsOf(error)) ? 'EHLO' : later;
  const byCommand = adviceFor.get(command ?? '') ?? checkHost;
  const ofSender = isBlocked(error) && !isAboutTheAddress(error) ? blockedAdvice : byCommand;
  const ofReply = isRate(error) ? rateAdvice : ofSender;
  const advice = isLoginFault(error) ? loginAdvice(error) : ofReply;
  if (isReply(error)) return explanation(`The mail server answered: ${replyText(response)}`, advice);
  // Without a reply it is not known what the server takes.
  return explanation(
    `The mail server cannot be used: ${replyText(message)}`,
    isLoginFault(error) ? advice : checkHost,
  );
}

/** The same as one text. */
export function detailWithAdvice(error: SmtpError): string {
  const { detail, advice } = explain(error);
  return `${detail} ${advice}`;
}
