import { isIP } from 'node:net';
import { isInternal } from '../http/addresses.ts';
import { isKeptFor, type NotTakenIn } from '../model/notices.ts';
import { program } from '../support/invocation.ts';
import { count } from '../support/text.ts';
import { english } from '../words/wording.ts';
import { totalOf } from '../support/lists.ts';

/** What was not taken in for one reason, in words. */
export interface Refusals<Reason> extends NotTakenIn<Reason> {
  readonly words: string;
  /** Why, as the end of a sentence. */
  readonly why: string;
  /** A sentence without its full stop. */
  readonly what: string;
  /** What to put right. */
  readonly fix: string;
  /** The fix, and what to do about the events that are kept. */
  readonly advice: string;
  /** The command with which that ends: it puts the events away, or finds those that nobody could read. */
  readonly command: string;
}

const refusalTexts = {
  store: { short: 'not stored', why: 'whyStore', advice: 'adviceStore' },
  connections: {
    short: 'refused, as too many connections were open',
    why: 'whyConnections',
    advice: 'adviceConnections',
  },
  address: { short: 'refused for the address', why: 'whyAddress', advice: 'adviceAddress' },
  token: { short: 'refused for the token', why: 'whyToken', advice: 'adviceToken' },
  path: { short: 'sent to another path or port', why: 'whyPath', advice: 'advicePath' },
  content: { short: 'not valid', why: 'whyContent', advice: 'adviceContent' },
} as const satisfies { readonly [reason in NotTakenIn['reason']]: object };

const namedSources = 3;
/** The command that lists what never arrived, with placeholders for what has to be given. */
export const reconcileCommand = (): string =>
  `${program} reconcile export.csv --candidate COLUMN --test COLUMN --status COLUMN --at COLUMN`;

/** The caution before all events from a source are taken in; null where its address is on the internet. */
export const cautionOf = (from: string): string | null =>
  isInternal(from)
    ? `${from} looks like a proxy of yours, and anybody may be behind it: take in only what the testing service knows of.`
    : null;

/** One for each reason. */
export function refusals<Reason extends NotTakenIn['reason']>(
  all: readonly NotTakenIn<Reason>[],
  wording = english,
): Refusals<Reason>[] {
  return Array.from(
    Map.groupBy(all, ({ reason }) => reason),
    ([reason, alike]) => {
      const sources = alike.toSorted((a, b) => b.count - a.count).map(({ from }) => from);
      const list = sources.slice(0, namedSources).join(', ');
      const more = sources.length - namedSources;
      const from = more > 0 ? wording.say('andMore', { list, count: more }) : list;
      const total = totalOf(alike);
      const { short, why: whyText, advice } = refusalTexts[reason];
      const why = wording.say(whyText);
      const isKept = isKeptFor(reason);
      const proxies = isKept ? sources.filter(isInternal) : [];
      const fix = [
        ...(proxies.length > 0
          ? [wording.say('adviceProxy', { from: proxies.slice(0, namedSources).join(', ') })]
          : []),
        ...(proxies.length > 0 && reason === 'address' && proxies.length === sources.length
          ? []
          : [wording.say(advice, { command: reconcileCommand(), list: `${program} events --rejected` })]),
      ].join(' ');
      // The service sends nothing a third time.
      const takeIn = wording.say(proxies.length > 0 ? 'takeInById' : 'takeIn', {
        list: `${program} events --refused`,
        accept: `${program} accept ${proxies.length > 0 ? 'ID' : `--from ${isIP(from) ? from : 'ADDRESS'}`}`,
        ignore: `${program} ignore`,
      });
      return {
        reason,
        from,
        count: total,
        first: Math.min(...alike.map(({ first }) => first)),
        last: Math.max(...alike.map(({ last }) => last)),
        words: `${count(total, 'event')} ${total === 1 ? 'was' : 'were'} ${short}`,
        why,
        what: wording.say('refusedDetail', { count: total, from, why }),
        fix,
        advice: [
          fix,
          ...(isKept ? [takeIn] : []),
          ...(total === 1 ? [] : [wording.say('requestsCount')]),
        ].join(' '),
        command: reason === 'content' ? reconcileCommand() : `${program} ignore --reason ${reason}`,
      };
    },
  );
}
