import type { SinkConfig } from '../config/config.ts';
import {
  type AttemptRequest,
  delivered,
  type Finding,
  retry,
  type Sink,
  sinkWide,
  unknown,
} from '../connector.ts';
import { type Json, lookupConnector } from '../model.ts';
import { those } from '../support/lists.ts';
import { type Delivered, mayHaveArrived, type Outcome, outcomeKinds, type Retry } from '../model/outcomes.ts';
import type { Holding } from './leases.ts';
import {
  type AttemptEnd,
  messageOf,
  type PreparedMessage,
  type PrepareParts,
  type ReadyDelivery,
  requestFor,
} from './prepare.ts';
import type { Ending } from './settle.ts';
import type { Ticket } from './traffic.ts';
import type { ConnectedSinks } from './sinks/connected-sinks.ts';
import type { Deadlines } from './limits/deadlines.ts';

export interface AttemptParts extends PrepareParts {
  readonly sinks: ConnectedSinks;
  readonly deadlines: Deadlines;
}

/** What a call needs to begin: the holding of its sink, and its ticket. */
export interface Permission {
  readonly holding: Pick<Holding, 'until'>;
  readonly ticket: Pick<Ticket, 'probe'>;
}

/** One delivery of a call. */
interface CallItem {
  readonly request: AttemptRequest<Json>;
  /** See ReadyDelivery. */
  readonly asksOnly: boolean;
  /** What to do if nobody can tell whether an earlier attempt arrived. */
  readonly onUnknown: SinkConfig['onUnknown'];
  readonly knowledge: Knowledge;
}

/** Makes one attempt at each delivery of a call, within the sink's time-out. Never rejects. */
export function attemptAll(
  parts: AttemptParts,
  ready: readonly ReadyDelivery[],
  config: SinkConfig,
  { holding, ticket: { probe: isProbe } }: Permission,
  now: number,
): Promise<AttemptEnd[]> {
  const { sinks, deadlines } = parts;
  const attempted = (signal: AbortSignal) => {
    const items = ready.map((one) => itemOf(parts, one, config, { now, isProbe, signal }));
    return attempt(sinks, config, items);
  };
  const abandoned = (ending: Ending) => ready.map(() => ending);
  const endOf = ({ claimed, prepared }: ReadyDelivery, given: Ending): AttemptEnd => {
    const outcome = withNotes(prepared, sinks.newSecrets.judged(config.name, given.outcome));
    return { claimed, prepared, ending: outcome === given.outcome ? given : { ...given, outcome } };
  };
  return deadlines.run({ timeoutMs: config.timeoutMs, holding }, attempted, abandoned).then(
    (endings) => ready.map((one, index) => endOf(one, endings[index]!)),
    (error: unknown) => {
      const outcome = sinkWide('unexpected', `The sink could not be connected: ${messageOf(error)}`);
      return ready.map((one) => endOf(one, { outcome }));
    },
  );
}

function itemOf(
  parts: PrepareParts,
  ready: ReadyDelivery,
  config: SinkConfig,
  call: Pick<AttemptRequest<Json>, 'now' | 'isProbe' | 'signal'>,
): CallItem {
  const { delivery } = ready.claimed;
  // A look-up is simply asked twice.
  const isUncertain = delivery.uncertain && delivery.connector !== lookupConnector;
  return {
    request: requestFor(parts, ready, call),
    asksOnly: ready.asksOnly,
    // The person who replayed it knew that it may have arrived.
    onUnknown: delivery.replayed ? 'resend' : config.onUnknown,
    knowledge: isUncertain ? notAsked : absent,
  };
}

/** Adds to a success what the message lacks. */
function withNotes({ note, missed }: PreparedMessage, outcome: Outcome): Outcome {
  if (note === undefined || outcome.outcome !== 'delivered') return outcome;
  return { ...outcome, note: sentences(note, outcome.note), ...(missed && { missed }) };
}

const sentences = (...texts: (string | undefined)[]): string => texts.filter(Boolean).join(' ');

/** What is known about an earlier attempt. */
type Knowledge =
  | { readonly kind: 'absent' }
  /** The tool cannot tell. */
  | { readonly kind: 'unsure'; readonly detail: string }
  /** It has arrived, or asking failed and has to be tried again. */
  | { readonly kind: 'known'; readonly outcome: Delivered | Retry }
  | { readonly kind: 'not asked' };

const absent: Knowledge = { kind: 'absent' };
/** An earlier attempt may have arrived: the tool has to be asked first. */
const notAsked: Knowledge = { kind: 'not asked' };

/**
 * Asks the tool about deliveries that an earlier attempt may have sent, then sends those that have not arrived, once.
 * Resolves to endings in the order of the items. After a bug, they are `unknown`, because something may have been sent.
 * Rejects only if the sink cannot be connected.
 */
async function attempt(
  sinks: ConnectedSinks,
  config: SinkConfig,
  items: readonly CallItem[],
): Promise<Ending[]> {
  const connection = sinks.take(config);
  try {
    const sink: Sink<Json> = connection.sink ?? (await connection.connecting);
    try {
      const known = items.some(isUncertain) ? await ask(sink, items) : items;
      const toSend = those(known, isToSend);
      let outcomes: readonly (Outcome | undefined)[];
      try {
        outcomes = await send(sink, toSend);
      } catch (error) {
        outcomes = toSend.map(() => failed(String(error)));
      }
      let place = 0;
      return known.map((item) => (isToSend(item) ? sent(sink, item, outcomes[place++]) : notSent(item)));
    } catch (error) {
      const unsure: Knowledge = { kind: 'unsure', detail: '' };
      return items.map((item) => sent(sink, { ...item, knowledge: unsure }, failed(String(error))));
    }
  } finally {
    sinks.giveBack(connection);
  }
}

const isUncertain = ({ knowledge }: CallItem): boolean => knowledge === notAsked;

const isToSend = ({ knowledge: { kind }, asksOnly, onUnknown }: CallItem): boolean =>
  (kind === 'absent' && !asksOnly) || (kind === 'unsure' && onUnknown === 'resend');

function notSent({ knowledge }: CallItem): Ending {
  if (knowledge.kind === 'known') return { outcome: knowledge.outcome };
  if (knowledge.kind === 'unsure')
    return { outcome: unknown('unexpected', knowledge.detail), hold: true, unsent: true };
  return { outcome: anotherMayHaveArrived, confirmedAbsent: true, unsent: true };
}

const anotherMayHaveArrived = retry(
  'unexpected',
  'No earlier attempt had arrived. Nothing was sent: another message may have taken its place, which is asked for first.',
);

/** Asks the tool what became of uncertain deliveries. Returns all items, in the same order, with what is known. */
async function ask(sink: Sink<Json>, items: readonly CallItem[]): Promise<CallItem[]> {
  const requests = items.filter(isUncertain).map(({ request }) => request);
  let known: readonly Knowledge[];
  try {
    const findings = sink.findMany
      ? await sink.findMany(requests)
      : sink.find
        ? [await sink.find(requests[0]!)]
        : [];
    known = requests.map((_, index) => knowledgeBy(findings[index]));
  } catch (error) {
    const detail = `The connector failed while asking for an earlier attempt: ${String(error)}`;
    known = requests.map(() => ({ kind: 'known', outcome: retry('unexpected', detail) }));
  }
  let place = 0;
  return items.map((item) => (isUncertain(item) ? { ...item, knowledge: known[place++]! } : item));
}

function knowledgeBy(finding: Finding | undefined): Knowledge {
  const earlier = 'An earlier attempt may have arrived';
  if (finding === undefined) return { kind: 'unsure', detail: `${earlier}, and this tool cannot be asked.` };
  if (finding.found === null) return absent;
  if (finding.found === 'failed') return { kind: 'known', outcome: finding.failure };
  if (finding.found === 'impossible') return { kind: 'unsure', detail: `${earlier}. ${finding.detail}` };
  const note = sentences('An earlier attempt had arrived; nothing was sent again.', finding.note);
  return { kind: 'known', outcome: delivered(finding.found, note) };
}

const failed = (error: string): Outcome => unknown('unexpected', `The connector failed: ${error}`);

/**
 * Sends messages, in one call. Returns the connector's outcomes, in the order of the items. Not an async function, as it runs
 * for each attempt.
 */
function send(
  sink: Sink<Json>,
  items: readonly CallItem[],
): readonly Outcome[] | Promise<readonly (Outcome | undefined)[]> {
  const [first] = items;
  if (!first) return [];
  if (first.request.signal.aborted)
    return items.map(() => retry('timeout', 'Nothing was sent: the time for this attempt was up.'));
  if (sink.deliverMany) return sink.deliverMany(items.map(({ request }) => request));
  return sink.deliver(first.request).then((outcome) => [outcome]);
}

function sent(sink: Sink<Json>, { onUnknown, knowledge }: CallItem, given: Outcome | undefined): Ending {
  const outcome = given && outcomeKinds.includes(given.outcome) ? given : failed('it gave no outcome');
  if (outcome.outcome === 'delivered' && knowledge.kind === 'unsure') {
    const receipt = { ...outcome.receipt, mayBeRepeat: true };
    const note = sentences(outcome.note, `This may be a repeat. ${knowledge.detail}`);
    return { outcome: delivered(receipt, note) };
  }
  const hold = mayHaveArrived(outcome) && !sink.find && onUnknown === 'hold';
  const held = hold && outcome.outcome === 'retry' ? unknown(outcome.reason, outcome.detail) : outcome;
  return { outcome: held, confirmedAbsent: knowledge.kind === 'absent', hold };
}
