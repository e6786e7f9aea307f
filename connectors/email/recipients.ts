import { delivered, rejected, retry, sinkWide } from '../../src/connector.ts';
import type { Json, Outcome } from '../../src/model.ts';
import { bare } from './addresses.ts';
import type { Mail } from './compose.ts';
import { isPermanent, replyText, temporaryReason } from './faults.ts';
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

/** The outcome of an attempt that reached a verdict on each recipient. Who was refused for now is tried again alone. */
export function settled(mail: Mail, earlier: Progress, answer: Answer): Outcome {
  const errors = answer.rejectedErrors ?? [];
  const forNow = errors.filter((error) => !isPermanent(error));
  const forGood = errors
    .filter(isPermanent)
    .map((error) => ({ address: error.recipient ?? '', reply: replyText(error.response) }));
  const progress: Progress = {
    accepted: [...earlier.accepted, ...answer.accepted],
    refused: [...earlier.refused, ...forGood],
    reply: answer.response ?? earlier.reply,
  };
  const [first] = forNow;
  if (first === undefined) return concluded(mail, progress);
  const waiting = forNow.map((error) => `${error.recipient} (${replyText(error.response)})`).join(', ');
  const again = first.responseCode === 421 ? sinkWide : retry;
  const detail = `The mail server does not take the mail just now for ${waiting}`;
  return { ...again(temporaryReason(first), detail), progress };
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
