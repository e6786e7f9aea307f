import { perhapsSinkWide, rejected, retry, sinkWide, unknown } from '../../src/connector.ts';
import type { Delivered, Outcome, Reason, Rejected } from '../../src/model/outcomes.ts';
import { tokenCommand, wordsOf } from './client.ts';
import type { SmtpError } from './client.ts';

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

function detailWithAdvice(error: SmtpError): string {
  const { detail, advice } = explain(error);
  return `${detail} ${advice}`;
}

/** Whether the server replied with a refusal. */
const isReply = (error: SmtpError): boolean => (error.responseCode ?? 0) >= 400;

/** The words of a reply without addresses, ids and times, which differ from mail to mail and say nothing of the cause. */
const causeIn = (error: SmtpError): string => wordsOf(error).replace(/\S*[\d@]\S*/g, '');

const comparable = (error: SmtpError): string =>
  `${error.responseCode} ${enhancedCode(error)} ${causeIn(error)}`;

/** Whether no later attempt would get this recipient, or this mail, accepted. */
export function isPermanent(error: SmtpError): boolean {
  const { responseCode = 0, response = '' } = error;
  // 503 is about the order of commands, Exchange's 5.1.90 about a quota, so neither is about this mail.
  return (
    responseCode >= 500 &&
    responseCode !== 503 &&
    !isOfTooMany(error) &&
    !isAboutTheSystem(error) &&
    !isRate(error) &&
    !/^\d+[ -]5\.1\.90\b/.test(response)
  );
}

/** Whether a mail has more recipients than the server takes at once. For 452 some say 552, for now all the same (RFC 5321, 4.5.3.1.10). */
const isOfTooMany = (error: SmtpError): boolean =>
  error.responseCode === 552 && /\btoo many recipients\b/i.test(wordsOf(error));

/** Whether a reply is about the mail server, or the way from there (x.3.x and x.4.x in RFC 3463). */
const isAboutTheSystem = (error: SmtpError): boolean =>
  /^[34]\./.test(enhancedCode(error)) && !isTooLarge(error) && !namesTheRecipient(error);

/** The kind of retry for a reply to one mail, by whether other mails would get the same reply. */
export function retryFor(error: SmtpError): typeof retry {
  if (error.responseCode === 421) return sinkWide;
  return isAboutTheSystem(error) ? perhapsSinkWide : retry;
}

/** The replies by which a server asks for a login or refuses the one given (RFC 4954). Its 454 is one at a login only. */
const loginReplies = new Set([530, 534, 535, 538]);

export const isLoginFault = (error: SmtpError): boolean => {
  const { code, command, responseCode = 0, response = '' } = error;
  // Amazon SES says 454 of too many mails, too, and Google of too many logins.
  if (responseCode < 500 && isRate(error)) return false;
  if (code === 'EAUTH') return true;
  // Gmail says 5.7.30 of a missing DKIM.
  const isWithoutPasswords = /^550[ -]5\.7\.30 Basic auth/i.test(response);
  return command !== 'STARTTLS' && (loginReplies.has(responseCode) || isWithoutPasswords);
};

/** The words for an exceeded rate, for which SMTP has no code. Microsoft's code is 432. */
const rateWords =
  /too (many(?! recipients(?! from))|much mail|fast|quickly)|rate.?limit|throttl|slow down|\b(send|sending|sender|submission|daily|hourly|monthly|message|relay)( e-?mail)? ?(rate|limit|quota)|credits exceeded|\bper (minute|hour|day)|\b([45]\.(1\.90|7\.28)|5\.4\.5)\b|^432[ -](?!4\.7)/i;

export const isRate = (error: SmtpError): boolean => rateWords.test(wordsOf(error)) && !isBlocked(error);

export const temporaryReason = (error: SmtpError): Reason => (isRate(error) ? 'rate_limited' : 'server');

/**
 * The subject and detail of an enhanced status code (RFC 3463): `7.1` of `550 5.7.1 Access denied`, or of `(#5.7.1)` as qmail
 * ends a reply. 0 says nothing.
 */
const enhancedCode = ({ response = '' }: SmtpError): string =>
  /^\d{3}[ -](?:.*\(#)?[245]\.([1-9]\d{0,2}\.\d{1,3})\b/.exec(response)?.[1] ?? '';

/** The word, unless it is part of an address or of a host's name. A reply of several lines has `550-` before each. */
const relaying = /(?<![\w.@]|[a-z]-)relay(?:ing|ed)?\b(?![.@-]\w)/i;

/**
 * Whether a reply is about policy (x.7.x in RFC 3463): who may send from where, to whom, without a login. Servers without
 * such codes say it in words.
 */
function isPolicy(error: SmtpError): boolean {
  const code = enhancedCode(error);
  if (code !== '') return code.startsWith('7.');
  const words = wordsOf(error);
  return (
    relaying.test(words) ||
    /denied|not (permitted|allowed|authori[sz]ed)|polic(y|ies)|blocked|block ?list|blacklist|authenticat/i.test(
      words,
    )
  );
}

/**
 * Whether a reply objects to the sink's own address, which servers may say only at a recipient or after the text: x.1.7,
 * x.1.8, Exchange's for sending as somebody else, or in the words of Postfix (whose code may be 5.1.0), Exim, Exchange and
 * SendGrid.
 */
const isAboutTheAddress = (error: SmtpError): boolean =>
  /^(1\.[78]|2\.252|7\.60)$/.test(enhancedCode(error)) ||
  /\bsender ((address )?(rejected|denied)|verify failed|identity)|bad (outbound )?sender|SendAsDenied/i.test(
    wordsOf(error),
  );

/**
 * Whether a reply objects to the sink's account, tenant, machine or domain: x.7.2x (RFC 7372), Gmail's x.7.3x and x.7.40 of
 * DKIM and DMARC, Microsoft's x.7.5x to x.7.7xx and x.7.23x, and Postfix' words where a block list has the machine. Where a
 * recipient's mailbox is full, RCPT is refused, or the words name the recipient; else it is the sender's.
 */
const isBlocked = (error: SmtpError): boolean =>
  (/^7\.(2(?!8$)\d{1,2}|3\d|40|[5-7]\d{1,2})$/.test(enhancedCode(error)) && !isRelayRefused(error)) ||
  (enhancedCode(error) === '2.2' && error.command !== 'RCPT TO' && !isFullAtTheRecipient(error)) ||
  /OutboundSpam|\b(client host|helo command|sender address) \[.*\] blocked using/i.test(wordsOf(error));

/**
 * Whether this sender may not send to the recipient's domain. Postfix defers that by default with 454, and Exchange's codes are
 * 5.7.54 and 5.7.64.
 */
export const isRelayRefused = (error: SmtpError): boolean =>
  error.command === 'RCPT TO' && /^(7|$)/.test(enhancedCode(error)) && relaying.test(wordsOf(error));

/** Whether the mailbox that is full is the recipient's, in the words of Gmail and Dovecot. */
const isFullAtTheRecipient = (error: SmtpError): boolean =>
  /\brecipient'?s?\b|\btried to reach\b|\bmailbox for user\b/i.test(wordsOf(error));

export const isAboutTheSender = (error: SmtpError): boolean => isAboutTheAddress(error) || isBlocked(error);

/** The codes by which a server refuses a mailbox (RFC 5321), its domain (RFC 7504) or the spelling of an address. */
const recipientReplies = new Set([501, 550, 551, 552, 553, 556]);

/** Whether a permanent reply at RCPT says that this recipient gets no mail. Others may be about the sink. */
export function isAboutTheRecipient(error: SmtpError): boolean {
  if (isLoginFault(error) || isPolicy(error) || isAboutTheSender(error)) return false;
  const code = enhancedCode(error);
  const isOfAnyRule = error.responseCode === 550 && !ofAMailbox.test(causeIn(error));
  if (code === '' && (namesTheSender(error) || isOfAnyRule)) return false;
  // Of x.5.x (the protocol) only the spelling of this recipient.
  const isKnown = code !== '' && !code.startsWith('5.');
  if (isKnown || namesTheRecipient(error)) return true;
  return recipientReplies.has(error.responseCode ?? 0) && !code.endsWith('5.3');
}

/** Words of a 550 without a code that is about an address or a mailbox; servers say 550 for any rule of theirs, too. */
const ofAMailbox =
  /user|recipient|(?<!\b(ip|your) )(address|account|mailbox)|no such|not? (found|exist|here)|unknown|unrout|invalid|inactive|disabled|gone/i;

/** Words of a reply without a code that name the sender, or the machine that sends; as a part of an address or host name none do. */
const ofTheSender =
  /(?<![\w.@-])(sender|from address|outgoing|smtp auth|rbl|helo|ehlo|reverse (dns|lookup)|rdns|ptr|your host(name)?)\b(?![.@-]\w)/i;
const namesTheSender = (error: SmtpError): boolean => ofTheSender.test(wordsOf(error));

/** Whether a reply names the recipient, in words that Postfix and Exchange use with codes of any subject. */
const namesTheRecipient = (error: SmtpError): boolean => /\brecipient address rejected/i.test(wordsOf(error));

/** Whether the mail itself is too large, which a server may say before it has seen it. */
const isTooLarge = (error: SmtpError): boolean => {
  const code = enhancedCode(error);
  return code === '' ? error.responseCode === 552 && !isFull(error) : /^(2\.3|3\.4)$/.test(code);
};

const isFull = (error: SmtpError): boolean => /\b(quota|full|over ?limit)\b/i.test(wordsOf(error));

/**
 * Whether a reply is about this one mail. Of the commands before its text, MAIL FROM names the sink's own `from`; what
 * each recipient is told is read in deliver.
 */
const isAboutTheMail = (error: SmtpError): boolean =>
  error.command === 'DATA' || (error.command === 'MAIL FROM' && isTooLarge(error));

/**
 * Whether a refusal of the mail's text says neither by a code nor in words that it is about what the mail says. Amazon SES
 * answers so for a paused account and for a sender that is not verified.
 */
const isUnexplained = (error: SmtpError): boolean =>
  error.responseCode === 554 &&
  enhancedCode(error) === '' &&
  !/spam|virus|malware|phish|content|attachment|header|too (big|large)/i.test(causeIn(error));

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

/** A reply on one line, without the codes that its further lines repeat. */
export function replyText(response = ''): string {
  const [first = '', ...more] = response.split('\n');
  const lines = [first, ...more.map((line) => line.replace(/^\d{3}[ -](\d\.\d+\.\d+ )?/, ''))];
  const text = lines
    .join(' ')
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
  return text.length > 300 ? `${text.slice(0, 300)}…` : text.replace(/[^.!?]$/, '$&.');
}

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

const checkHost = "Check host and port in the sink's url, and firewalls.";
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
