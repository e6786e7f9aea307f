import { wordsOf } from './client.ts';
import type { SmtpError } from './client.ts';

/** Whether the server replied with a refusal. */
export const isReply = (error: SmtpError): boolean => (error.responseCode ?? 0) >= 400;

/** The words of a reply without addresses, ids and times, which differ from mail to mail and say nothing of the cause. */
const causeIn = (error: SmtpError): string => wordsOf(error).replace(/\S*[\d@]\S*/g, '');

/** By what two replies are alike, whatever mails they are about. */
export const comparable = (error: SmtpError): string =>
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
export const isAboutTheSystem = (error: SmtpError): boolean =>
  /^[34]\./.test(enhancedCode(error)) && !isTooLarge(error) && !namesTheRecipient(error);

/** The replies by which a server asks for a login or refuses the one given (RFC 4954). Its 454 is one at a login only. */
const loginReplies = new Set([530, 534, 535, 538]);

/** Whether the login failed, or there is none and the server wants one. */
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

/** Whether a reply says that too much was sent, for now. */
export const isRate = (error: SmtpError): boolean => rateWords.test(wordsOf(error)) && !isBlocked(error);

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
export function isPolicy(error: SmtpError): boolean {
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
export const isAboutTheAddress = (error: SmtpError): boolean =>
  /^(1\.[78]|2\.252|7\.60)$/.test(enhancedCode(error)) ||
  /\bsender ((address )?(rejected|denied)|verify failed|identity)|bad (outbound )?sender|SendAsDenied/i.test(
    wordsOf(error),
  );

/**
 * Whether a reply objects to the sink's account, tenant, machine or domain: x.7.2x (RFC 7372), Gmail's x.7.3x and x.7.40 of
 * DKIM and DMARC, Microsoft's x.7.5x to x.7.7xx (but three of a recipient) and x.7.23x, and Postfix' words where a block list
 * has the machine. Where a recipient's mailbox is full, RCPT is refused, or the words name the recipient; else it is the sender's.
 */
export const isBlocked = (error: SmtpError): boolean =>
  (/^7\.(2(?!8$)\d{1,2}|3\d|40|(?!50[45]$|703$)[5-7]\d{1,2})$/.test(enhancedCode(error)) &&
    !isRelayRefused(error)) ||
  (enhancedCode(error) === '2.2' && error.command !== 'RCPT TO' && !isFullAtTheRecipient(error)) ||
  /OutboundSpam|\b(client host|helo command|sender address) \[.*\] blocked using/i.test(wordsOf(error));

/**
 * Whether this sender may not send to the recipient's domain. Postfix defers that by default with 454, and Exchange's codes are
 * 5.7.54 and 5.7.64.
 */
export const isRelayRefused = (error: SmtpError): boolean =>
  error.command === 'RCPT TO' && /^(7|$)/.test(enhancedCode(error)) && relaying.test(wordsOf(error));

/** Whether the mailbox that is full, or the quota that is used up, is the recipient's, in the words of Gmail and Dovecot. */
export const isFullAtTheRecipient = (error: SmtpError): boolean =>
  /\brecipient'?s?\b|\btr(ied|ying) to (reach|contact)\b|\bmailbox for user\b/i.test(wordsOf(error));

/** Whether a reply objects to who sends, so that other mails of the sink would get it as well. */
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
export const isTooLarge = (error: SmtpError): boolean => {
  const code = enhancedCode(error);
  return code === '' ? error.responseCode === 552 && !isFull(error) : /^(2\.3|3\.4)$/.test(code);
};

/** Whether a reply names a full mailbox, or a quota that is used up. */
export const isFull = (error: SmtpError): boolean => /\b(quota|full|over ?limit)\b/i.test(wordsOf(error));

/**
 * Whether a reply is about this one mail. Of the commands before its text, MAIL FROM names the sink's own `from`; what
 * each recipient is told is read in deliver.
 */
export const isAboutTheMail = (error: SmtpError): boolean =>
  error.command === 'DATA' || (error.command === 'MAIL FROM' && isTooLarge(error));

/**
 * Whether a refusal of the mail's text says neither by a code nor in words that it is about what the mail says. Amazon SES
 * answers so for a paused account and for a sender that is not verified.
 */
export const isUnexplained = (error: SmtpError): boolean =>
  error.responseCode === 554 &&
  enhancedCode(error) === '' &&
  !/spam|virus|malware|phish|content|attachment|header|too (big|large)/i.test(causeIn(error));

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
