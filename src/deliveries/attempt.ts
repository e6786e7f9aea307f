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
import { type Delivered, mayHaveArrived, type Outcome, outcomeKinds, type Retry } from '../model/outcomes.ts';
import type { Holding } from './leases.ts';
import { type AttemptEnd, messageOf, type ReadyDelivery } from './prepare.ts';
import type { Ending } from './settle.ts';
import type { Ticket } from './traffic.ts';
import type { ConnectedSinks } from './connected-sinks.ts';
import type { Deadlines } from './limits/deadlines.ts';

export interface AttemptParts {
  readonly sinks: ConnectedSinks;
  readonly deadlines: Deadlines;
}

/** What a call is made by. `holding`: of the sink, while this replica has it. */
export interface Permission {
  readonly holding: Pick<Holding, 'until'>;
  readonly ticket: Pick<Ticket, 'probe'>;
}

/** One delivery of a call. */
interface CallItem {
  readonly request: AttemptRequest<Json>;
  /** An earlier attempt may have arrived. */
  readonly uncertain: boolean;
  /** See ReadyDelivery. */
  readonly asksOnly: boolean;
  /** What to do if it cannot be known. */
  readonly onUnknown: SinkConfig['onUnknown'];
}

/** Makes one attempt at each delivery of a call, within the sink's time-out. Never throws. */
export async function attemptAll(
  { sinks, deadlines }: AttemptParts,
  ready: readonly ReadyDelivery[],
  config: SinkConfig,
  { holding, ticket }: Permission,
): Promise<AttemptEnd[]> {
  if (ready.length === 0) return [];
  const abandoned = (ending: Ending) => ready.map(() => ending);
  let endings: Ending[];
  try {
    const attempted = (signal: AbortSignal) => {
      const items = ready.map(({ claimed: { delivery }, request, asksOnly }) => ({
        asksOnly,
        request: { ...request, isProbe: ticket.probe, signal },
        // Asking twice does no harm.
        uncertain: delivery.uncertain && delivery.connector !== lookupConnector,
        // Whoever replayed it knew that it may have arrived.
        onUnknown: delivery.replayed ? 'resend' : config.onUnknown,
      }));
      return sinks.use(config, (sink) => attempt(sink, items));
    };
    endings = await deadlines.run({ timeoutMs: config.timeoutMs, holding }, attempted, abandoned);
  } catch (error) {
    endings = abandoned({
      outcome: sinkWide('unexpected', `The sink could not be connected: ${messageOf(error)}`),
    });
  }
  return ready.map(({ claimed, prepared }, index) => {
    const outcome = sinks.judged(config.name, endings[index]!.outcome);
    const ending = { ...endings[index]!, outcome };
    if (prepared.note === undefined || outcome.outcome !== 'delivered') return { claimed, prepared, ending };
    const noted = { ...outcome, note: sentences(prepared.note, outcome.note) };
    const missed = prepared.missed && { missed: prepared.missed };
    return { claimed, prepared, ending: { ...ending, outcome: { ...noted, ...missed } } };
  });
}

const sentences = (...texts: (string | undefined)[]): string => texts.filter(Boolean).join(' ');

/** What is known about an earlier attempt. */
type Knowledge =
  | { readonly kind: 'absent' }
  /** The tool cannot say. */
  | { readonly kind: 'unsure'; readonly detail: string }
  /** It has arrived, or asking has to be tried again. */
  | { readonly kind: 'known'; readonly outcome: Delivered | Retry };

/**
 * Asks the tool about deliveries that an earlier attempt may have sent, then sends those that have not arrived, once.
 * Endings come in the order of the items. Never throws: after a bug the outcome is `unknown`, because something may have
 * been sent.
 */
async function attempt(sink: Sink<Json>, items: readonly CallItem[]): Promise<Ending[]> {
  try {
    const uncertain = items.filter((item) => item.uncertain);
    const answers = await ask(sink, uncertain);
    const known = new Map(uncertain.map((item, index) => [item, answers[index]!]));
    const knowledgeOf = (item: CallItem): Knowledge => known.get(item) ?? { kind: 'absent' };
    const toSend = items.filter((item) => {
      const { kind } = knowledgeOf(item);
      return (kind === 'absent' && !item.asksOnly) || (kind === 'unsure' && item.onUnknown === 'resend');
    });
    const outcomes = await send(
      sink,
      toSend.map(({ request }) => request),
    );
    const sentItems = new Map(toSend.map((item, index) => [item, outcomes[index]]));
    return items.map((item): Ending => {
      const knowledge = knowledgeOf(item);
      if (sentItems.has(item)) return sent(sink, item, sentItems.get(item), knowledge);
      if (knowledge.kind === 'known') return { outcome: knowledge.outcome };
      if (knowledge.kind === 'absent')
        return { outcome: anotherMayHaveArrived, confirmedAbsent: true, unsent: true };
      return { outcome: unknown('unexpected', knowledge.detail), hold: true, unsent: true };
    });
  } catch (error) {
    return items.map((item) => sent(sink, item, failed(String(error)), { kind: 'unsure', detail: '' }));
  }
}

const anotherMayHaveArrived = retry(
  'unexpected',
  'No earlier attempt had arrived. Nothing was sent: another message may have taken its place, which is asked for first.',
);

/** Asks the tool what has become of earlier attempts, in the order of the items. */
async function ask(sink: Sink<Json>, items: readonly CallItem[]): Promise<Knowledge[]> {
  const [first] = items;
  if (!first) return [];
  const earlier = 'An earlier attempt may have arrived';
  let findings: readonly Finding[];
  try {
    const requests = items.map(({ request }) => request);
    if (sink.findMany) findings = await sink.findMany(requests);
    else findings = sink.find ? [await sink.find(first.request)] : [];
  } catch (error) {
    const detail = `The connector failed while asking for an earlier attempt: ${String(error)}`;
    return items.map(() => ({ kind: 'known', outcome: retry('unexpected', detail) }));
  }
  return items.map((_, index): Knowledge => {
    const finding = findings[index];
    if (finding === undefined)
      return { kind: 'unsure', detail: `${earlier}, and this tool cannot be asked.` };
    if (finding.found === null) return { kind: 'absent' };
    if (finding.found === 'failed') return { kind: 'known', outcome: finding.failure };
    if (finding.found === 'impossible') return { kind: 'unsure', detail: `${earlier}. ${finding.detail}` };
    const note = sentences('An earlier attempt had arrived; nothing was sent again.', finding.note);
    return { kind: 'known', outcome: delivered(finding.found, note) };
  });
}

const failed = (error: string): Outcome => unknown('unexpected', `The connector failed: ${error}`);

/** Outcomes in the order of the requests, as the connector gave them. */
async function send(
  sink: Sink<Json>,
  requests: readonly AttemptRequest<Json>[],
): Promise<readonly (Outcome | undefined)[]> {
  const [first] = requests;
  if (!first) return [];
  if (first.signal.aborted)
    return requests.map(() => retry('timeout', 'Nothing was sent: the time for this attempt was up.'));
  try {
    return sink.deliverMany ? await sink.deliverMany(requests) : [await sink.deliver(first)];
  } catch (error) {
    return requests.map(() => failed(String(error)));
  }
}

function sent(
  sink: Sink<Json>,
  { onUnknown }: CallItem,
  given: Outcome | undefined,
  knowledge: Knowledge,
): Ending {
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
