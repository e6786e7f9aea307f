import type { Clock } from '../support/clock.ts';
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
import {
  type Delivered,
  type Json,
  mayHaveArrived,
  type Outcome,
  outcomeKinds,
  type Retry,
} from '../model.ts';
import type { Holding } from './leases.ts';
import { type AttemptEnd, messageOf, type PreparedMessage, type ReadyDelivery } from './prepare.ts';
import type { Ending } from './settle.ts';
import { type ConnectedSinks, withDeadline } from './sinks.ts';

export interface AttemptParts {
  readonly sinks: ConnectedSinks;
  readonly clock: Clock;
  /** Of the sink, while this replica has it. */
  readonly holding: Pick<Holding, 'until'>;
}

/** Makes one attempt at each delivery of a call, within the sink's time-out. Never throws. */
export async function attemptAll(
  parts: AttemptParts,
  ready: readonly ReadyDelivery[],
  config: SinkConfig,
  shutdown: AbortSignal,
): Promise<AttemptEnd[]> {
  if (ready.length === 0) return [];
  const endings = await endingsOf(parts, ready, config, shutdown);
  return ready.map(({ claimed, prepared }, index) => ({
    claimed,
    prepared,
    ending: withNote(endings[index]!, prepared),
  }));
}

/** Endings in the order of `ready`. */
async function endingsOf(
  parts: AttemptParts,
  ready: readonly ReadyDelivery[],
  config: SinkConfig,
  shutdown: AbortSignal,
): Promise<Ending[]> {
  try {
    const deadline = {
      ...parts,
      timeoutMs: config.timeoutMs,
      shutdown,
      abandoned: (ending: Ending) => ready.map(() => ending),
    };
    return await withDeadline(deadline, (signal) =>
      parts.sinks.use(config, (sink) => attempt(sink, asParts(ready, config, signal))),
    );
  } catch (error) {
    const outcome = sinkWide('unexpected', `The sink could not be connected: ${messageOf(error)}`);
    return ready.map(() => ({ outcome }));
  }
}

function asParts(
  ready: readonly ReadyDelivery[],
  { onUnknown }: SinkConfig,
  signal: AbortSignal,
): CallItem[] {
  return ready.map(({ claimed: { delivery }, request }) => ({
    request: { ...request, signal },
    uncertain: delivery.uncertain,
    // Whoever replayed it knew that it may have arrived.
    onUnknown: delivery.replayed ? 'resend' : onUnknown,
  }));
}

function withNote(ending: Ending, { note, missed }: PreparedMessage): Ending {
  if (note === undefined || ending.outcome.outcome !== 'delivered') return ending;
  const outcome = { ...ending.outcome, note: sentences(note, ending.outcome.note) };
  return { ...ending, outcome: missed ? { ...outcome, missed } : outcome };
}

const sentences = (...texts: (string | undefined)[]): string => texts.filter(Boolean).join(' ');

/** One delivery of a call. */
interface CallItem {
  readonly request: AttemptRequest<Json>;
  /** An earlier attempt may have arrived. */
  readonly uncertain: boolean;
  /** What to do if it cannot be known. */
  readonly onUnknown: SinkConfig['onUnknown'];
}

/**
 * Asks the tool about deliveries that an earlier attempt may have sent, then sends those that have not arrived, once.
 * Endings come in the order of the parts. Never throws: after a bug the outcome is `unknown`, because something may have
 * been sent.
 */
async function attempt(sink: Sink<Json>, parts: readonly CallItem[]): Promise<Ending[]> {
  try {
    return await askAndSend(sink, parts);
  } catch (error) {
    return parts.map((part) => sent(sink, part, failed(String(error)), { kind: 'unsure', detail: '' }));
  }
}

async function askAndSend(sink: Sink<Json>, parts: readonly CallItem[]): Promise<Ending[]> {
  const answers = await ask(
    sink,
    parts.filter(({ uncertain }) => uncertain),
  );
  const answerFor = (part: CallItem): Knowledge => answers.get(part) ?? absent;
  const toSend = parts.filter((part) => shouldSend(part, answerFor(part)));
  const isOver = toSend[0]?.request.signal.aborted;
  const outcomes = isOver ? new Map(toSend.map((part) => [part, tooLate])) : await send(sink, toSend);
  return parts.map((part) => {
    const outcome = outcomes.get(part);
    return outcome ? sent(sink, part, outcome, answerFor(part)) : notSent(answerFor(part));
  });
}

const tooLate = retry('timeout', 'Nothing was sent: the time for this attempt was up.');

/** What is known about an earlier attempt. */
type Knowledge =
  | { readonly kind: 'absent' }
  /** The tool cannot say. */
  | { readonly kind: 'unsure'; readonly detail: string }
  /** It has arrived, or asking has to be tried again. */
  | { readonly kind: 'known'; readonly outcome: Delivered | Retry };

const absent = { kind: 'absent' } as const;

async function ask(sink: Sink<Json>, parts: readonly CallItem[]): Promise<Map<CallItem, Knowledge>> {
  if (parts.length === 0) return new Map();
  const findings = await find(
    sink,
    parts.map(({ request }) => request),
  );
  return new Map(parts.map((part, index) => [part, answerOf(findings[index])]));
}

function answerOf(finding: Finding | undefined): Knowledge {
  if (finding === undefined) {
    return { kind: 'unsure', detail: 'An earlier attempt may have arrived, and this tool cannot be asked.' };
  }
  if (finding.found === null) return absent;
  if (finding.found === 'failed') return { kind: 'known', outcome: finding.failure };
  if (finding.found === 'impossible') {
    return { kind: 'unsure', detail: `An earlier attempt may have arrived. ${finding.detail}` };
  }
  const note = sentences('An earlier attempt had arrived; nothing was sent again.', finding.note);
  return { kind: 'known', outcome: delivered(finding.found, note) };
}

/** Findings in the order of the requests; none if the tool cannot be asked. */
async function find(sink: Sink<Json>, requests: readonly AttemptRequest<Json>[]): Promise<Finding[]> {
  try {
    if (sink.findMany) return await sink.findMany(requests);
    const [first] = requests;
    return sink.find && first ? [await sink.find(first)] : [];
  } catch (error) {
    const detail = `The connector failed while asking for an earlier attempt: ${String(error)}`;
    return requests.map(() => ({ found: 'failed', failure: retry('unexpected', detail) }));
  }
}

function shouldSend({ onUnknown }: CallItem, { kind }: Knowledge): boolean {
  return kind === 'absent' || (kind === 'unsure' && onUnknown === 'resend');
}

async function send(sink: Sink<Json>, parts: readonly CallItem[]): Promise<Map<CallItem, Outcome>> {
  const outcomes = await deliver(
    sink,
    parts.map(({ request }) => request),
  );
  return new Map(parts.map((part, index) => [part, orFailed(outcomes[index])]));
}

function orFailed(outcome: Outcome | undefined): Outcome {
  return outcome && outcomeKinds.includes(outcome.outcome) ? outcome : failed('it gave no outcome');
}

async function deliver(sink: Sink<Json>, requests: readonly AttemptRequest<Json>[]): Promise<Outcome[]> {
  const [first] = requests;
  if (!first) return [];
  try {
    return sink.deliverMany ? await sink.deliverMany(requests) : [await sink.deliver(first)];
  } catch (error) {
    return requests.map(() => failed(String(error)));
  }
}

const failed = (error: string): Outcome => unknown('unexpected', `The connector failed: ${error}`);

function notSent(answer: Knowledge): Ending {
  if (answer.kind === 'known') return { outcome: answer.outcome };
  const detail = answer.kind === 'unsure' ? answer.detail : '';
  return { outcome: unknown('unexpected', detail), hold: true, unsent: true };
}

function sent(sink: Sink<Json>, { onUnknown }: CallItem, outcome: Outcome, answer: Knowledge): Ending {
  if (outcome.outcome === 'delivered' && answer.kind === 'unsure') {
    const receipt = { ...outcome.receipt, mayBeRepeat: true };
    const note = sentences(outcome.note, `This may be a repeat. ${answer.detail}`);
    return { outcome: delivered(receipt, note) };
  }
  const hold = mayHaveArrived(outcome) && !sink.find && onUnknown === 'hold';
  const held = hold && outcome.outcome === 'retry' ? unknown(outcome.reason, outcome.detail) : outcome;
  return { outcome: held, confirmedAbsent: answer.kind === 'absent', hold };
}
