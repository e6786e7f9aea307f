import { delivered, rejected, retry, sinkWide } from '../../src/connector.ts';
import type { AttemptRequest, Sink } from '../../src/connector.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { bare } from './addresses.ts';
import { explain } from './advice.ts';
import { checkMailServer } from './check.ts';
import { loginMasker, SmtpClient, smtpSettings, tokenCommand, TokenLogin } from './client.ts';
import type { MailOptions, SmtpError } from './client.ts';
import type { Mail } from './message.ts';
import { outcomeOf, retryFor, temporaryReason } from './outcomes.ts';
import {
  isAboutTheRecipient,
  isAboutTheSender,
  isLoginFault,
  isPermanent,
  isRate,
  isRelayRefused,
  replyText,
} from './replies.ts';

export function connectMail(options: MailOptions): Sink<Mail> {
  const { url, oauth2 } = options;
  const tokens = oauth2 && url.login ? new TokenLogin(url.login.user, oauth2, options) : null;
  const settings = smtpSettings(options, tokens);
  const client = new SmtpClient(settings);
  const mask = loginMasker(url, tokens);
  const connection = {
    client,
    policyRefusals: new Refusals(),
    mailRefusals: new Refusals(),
    mask,
    tokens,
  };
  return {
    deliver: async (request) => (await tokens?.fault(request.signal)) ?? deliver(connection, request),
    check: (messages, signal) => checkMailServer({ ...options, settings, mask, tokens }, messages, signal),
    close: async () => {
      client.close();
      await options.proxy?.dispatcher.destroy();
    },
  };
}

interface Connection {
  readonly client: SmtpClient;
  /** Refused recipients. They tell a server that accepts nobody from one that objects to a recipient, in the same words. */
  readonly policyRefusals: Refusals;
  /** Refused mails. They tell an objection to one mail from one to the sender, for which servers have words without end. */
  readonly mailRefusals: Refusals;
  readonly mask: (error: SmtpError) => SmtpError;
  readonly tokens: TokenLogin | null;
}

async function deliver(
  { client, policyRefusals, mailRefusals, mask, tokens }: Connection,
  { message, progress, now, isProbe, signal }: AttemptRequest<Mail>,
): Promise<Outcome> {
  // The store gives back what `outcomeOfRecipients` made.
  const earlier = progress === null ? noProgress : (progress as never as Progress);
  const done = new Set([...earlier.accepted, ...earlier.refused.map(({ address }) => address)]);
  const all = new Set([...message.to, ...(message.cc ?? []), ...(message.bcc ?? [])].map(bare));
  const to = [...all.difference(done)];
  if (to.length === 0) return finished(message, earlier);
  try {
    const envelope = { from: bare(message.from), to };
    // nodemailer takes no read-only lists.
    const mail = () => structuredClone(message as Writable<Mail>);
    const sent = await client.send(() => ({ ...mail(), date: new Date(now), envelope, signal }));
    mailRefusals.clear();
    return outcomeOfRecipients(message, earlier, sent, policyRefusals);
  } catch (thrown) {
    const error = mask(thrown as SmtpError);
    const { rejectedErrors } = error;
    if (error.command === tokenCommand) tokens?.refused();
    if (rejectedErrors) {
      return outcomeOfRecipients(message, earlier, { accepted: [], rejectedErrors }, policyRefusals);
    }
    // The server asks for the mail's text only after it accepted a recipient.
    if (error.command === 'DATA') policyRefusals.clear();
    const isRepeated = (words: string) => mailRefusals.isRepeated(message.messageId, words);
    const outcome = outcomeOf(error, client.wentOut(message), {
      aborted: signal.aborted,
      isProbe,
      isRepeated,
    });
    if (earlier.accepted.length === 0) return outcome;
    // Who looks whether the mail has arrived, or finds it dead, has to know of whom that is said.
    const only = ` This is about ${to.join(', ')}. The server took it for ${earlier.accepted.join(', ')} before.`;
    return { ...outcome, detail: outcome.detail + only };
  } finally {
    client.forget(message);
  }
}

type Writable<T> = { -readonly [K in keyof T]: Writable<T[K]> };

/** The recipients that are done. A type, as it has to be Json. */
type Progress = {
  readonly accepted: readonly string[];
  /** The recipients that were refused for good, each with the server's reply. */
  readonly refused: readonly { readonly address: string; readonly reply: string }[];
  /** The server's reply to the mail itself, once it took it for anyone. */
  readonly reply: string | null;
};

const noProgress: Progress = { accepted: [], refused: [], reply: null };

/** What the server replied for the recipients of one attempt. */
interface RecipientAnswer {
  readonly accepted: readonly string[];
  readonly rejectedErrors?: readonly SmtpError[] | undefined;
  readonly response?: string;
}

/**
 * Counts refusals. Where two are refused in the same words, or three in any, and nothing is taken in between, the fault is the
 * sink's.
 */
class Refusals {
  #words = '';
  readonly #inTheseWords = new Set<string>();
  /** Gateways name themselves in their words, or quote the mail, so that no two refusals may read alike. */
  readonly #inAny = new Set<string>();

  isRepeated(refused: string, words = ''): boolean {
    if (words !== this.#words) this.#inTheseWords.clear();
    this.#words = words;
    if (this.#inTheseWords.size < 2) this.#inTheseWords.add(refused);
    if (this.#inAny.size < 3) this.#inAny.add(refused);
    return this.#inTheseWords.size > 1 || this.#inAny.size > 2;
  }

  clear(): void {
    this.#inTheseWords.clear();
    this.#inAny.clear();
  }
}

/** Whether a refusal may be the sink's fault: by policy, for want of a login, or without a word on the recipient. */
const mayBeTheSinks = (error: SmtpError): boolean =>
  isAboutTheSender(error) || isRelayRefused(error) || (isPermanent(error) && !isAboutTheRecipient(error));

const isCertainlyTheSinks = (error: SmtpError): boolean => isLoginFault(error) || isAboutTheSender(error);

/**
 * The outcome of an attempt in which the server answered for each recipient. Only those who were refused for now, or by
 * policy, are tried again.
 */
function outcomeOfRecipients(
  mail: Mail,
  earlier: Progress,
  answer: RecipientAnswer,
  policyRefusals: Refusals,
): Outcome {
  const errors = answer.rejectedErrors ?? [];
  if (answer.accepted.length > 0) policyRefusals.clear();
  const repeated = errors.map((error) => {
    return (
      answer.accepted.length === 0 && mayBeTheSinks(error) && policyRefusals.isRepeated(error.recipient ?? '')
    );
  });
  const isFinal = (error: SmtpError) => isPermanent(error) && !mayBeTheSinks(error);
  const refused = errors
    .filter(isFinal)
    .map((error) => ({ address: error.recipient ?? '', reply: replyText(error.response) }));
  const progress: Progress = {
    accepted: [...earlier.accepted, ...answer.accepted],
    refused: [...earlier.refused, ...refused],
    reply: answer.response ?? earlier.reply,
  };
  const waiting = errors.filter((error) => !isFinal(error));
  return waiting.length === 0
    ? finished(mail, progress)
    : { ...retryRecipients(waiting, repeated.includes(true)), progress };
}

function retryRecipients(waiting: readonly SmtpError[], isSinksFault: boolean) {
  const first = waiting[0]!;
  const who = waiting.map((error) => `${error.recipient} (${replyText(error.response)})`).join(', ');
  const unclear = waiting.find(isCertainlyTheSinks) ?? waiting.find(mayBeTheSinks);
  const advice = unclear === undefined ? '' : ` ${explain(unclear).advice}`;
  const detail = `The mail server does not take the mail just now for ${who}${advice}`;
  if (unclear === undefined && isRate(first))
    return retryFor(first)('rate_limited', `${detail} ${explain(first).advice}`);
  if (unclear === undefined) return retryFor(first)(temporaryReason(first), detail);
  return (isSinksFault || isCertainlyTheSinks(unclear) ? sinkWide : retry)('auth', detail);
}

/** The outcome once no recipient is left to try. */
function finished(mail: Mail, { accepted, refused, reply }: Progress): Outcome {
  const refusals = refused.map(({ address, reply: why }) => `${address} (${why})`).join(', ');
  if (accepted.length === 0) {
    const detail = `The mail server refuses every recipient: ${refusals}`;
    return rejected('not_found', detail, 'Check the addresses.');
  }
  const addresses = refused.map(({ address }) => address);
  const receipt = { reply, messageId: mail.messageId, accepted, refused: addresses };
  if (refused.length === 0) return delivered(receipt);
  const note = `The mail server refuses ${refusals}; the others got the mail.`;
  return { ...delivered(receipt, note), missed: true };
}
