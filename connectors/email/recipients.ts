import { delivered, rejected, retry, sinkWide } from '../../src/connector.ts';
import type { Json, Outcome } from '../../src/model.ts';
import { bare } from './addresses.ts';
import type { Mail } from './compose.ts';
import { explain, isLoginFault, isPermanent, isPolicy, replyText, temporaryReason } from './faults.ts';
import type { SmtpError } from './faults.ts';

/** What became of the recipients so far. A type, as it has to be Json. */
export type Progress = {
  readonly accepted: readonly string[];
  /** For good; each with what the server said. */
  readonly refused: readonly { readonly address: string; readonly reply: string }[];
  /** The server's answer to the mail itself, once it took it for anyone. */
  readonly reply: string | null;
};

const nothingYet: Progress = { accepted: [], refused: [], reply: null };

/** The progress as the store kept it: always one that `settled` gave. */
export const progressOf = (kept: Json | null): Progress => (kept === null ? nothingYet : (kept as never));

/** Who is still to get the mail, each once. */
export function recipientsLeft({ to, cc = [], bcc = [] }: Mail, { accepted, refused }: Progress): string[] {
  const done = new Set([...accepted, ...refused.map(({ address }) => address)]);
  const all = new Set([...to, ...cc, ...bcc].map(bare));
  return [...all.difference(done)];
}

/** What the server said to the recipients of one attempt. */
export interface Answer {
  readonly accepted: readonly string[];
  readonly rejectedErrors?: readonly SmtpError[] | undefined;
  readonly response?: string;
}

/**
 * Tells a server that lets nobody through from one that has something against a recipient: a refusal by policy looks
 * the same. Different recipients that fail, while none passes, are the sink's fault.
 */
export class PolicyRefusals {
  readonly #refused = new Set<string>();

  /** Takes in what recipients were told; true where policy has refused several since one passed. */
  areTheSinks({ accepted, rejectedErrors = [] }: Answer): boolean {
    if (accepted.length > 0) this.passed();
    else for (const error of rejectedErrors.filter(isRefusedByPolicy)) this.#add(error.recipient ?? '');
    return this.#refused.size > 1;
  }

  passed(): void {
    this.#refused.clear();
  }

  #add(recipient: string): void {
    if (this.#refused.size < 2) this.#refused.add(recipient);
  }
}

/** By policy, or for want of a login: it may be this recipient as well as the whole sink. */
const isRefusedByPolicy = (error: SmtpError): boolean =>
  isPermanent(error) && (isPolicy(error) || isLoginFault(error));

/**
 * The outcome of an attempt that reached a verdict on each recipient. Who was refused for now, or by policy, is tried
 * again alone. `sinksFault`: see PolicyRefusals.
 */
export function settled(mail: Mail, earlier: Progress, answer: Answer, sinksFault: boolean): Outcome {
  const errors = answer.rejectedErrors ?? [];
  const isFinal = (error: SmtpError) => isPermanent(error) && !isRefusedByPolicy(error);
  const forNow = errors.filter((error) => !isFinal(error));
  const forGood = errors
    .filter(isFinal)
    .map((error) => ({ address: error.recipient ?? '', reply: replyText(error.response) }));
  const progress: Progress = {
    accepted: [...earlier.accepted, ...answer.accepted],
    refused: [...earlier.refused, ...forGood],
    reply: answer.response ?? earlier.reply,
  };
  const [first] = forNow;
  if (first === undefined) return concluded(mail, progress);
  const waiting = forNow.map((error) => `${error.recipient} (${replyText(error.response)})`).join(', ');
  const byPolicy = forNow.find(isRefusedByPolicy);
  const isSinks = byPolicy === undefined ? first.responseCode === 421 : sinksFault || isLoginFault(byPolicy);
  const again = isSinks ? sinkWide : retry;
  const advice = byPolicy === undefined ? '' : ` ${explain(byPolicy).advice}`;
  const detail = `The mail server does not take the mail just now for ${waiting}${advice}`;
  return { ...again(byPolicy ? 'auth' : temporaryReason(first), detail), progress };
}

/** The outcome once nobody is left to try. */
export function concluded(mail: Mail, { accepted, refused, reply }: Progress): Outcome {
  const no = refused.map(({ address, reply: said }) => `${address} (${said})`).join(', ');
  if (accepted.length === 0) {
    return rejected('not_found', `The mail server refuses every recipient: ${no}`, 'Check the addresses.');
  }
  const receipt = {
    reply,
    messageId: mail.messageId,
    accepted,
    refused: refused.map(({ address }) => address),
  };
  return delivered(
    receipt,
    refused.length === 0 ? undefined : `The mail server refuses ${no}; the others got the mail.`,
  );
}
