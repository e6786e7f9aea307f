import type { Clock } from '../support/clock.ts';
import type { SinkConfig } from '../config/config.ts';
import type { AttemptRequest, Finding, Sink } from '../connector.ts';
import type { Delivered, Json, Outcome, Receipt, Retry } from '../model.ts';
import { type Attempted, messageOf, type Ready } from './prepare.ts';
import type { Ending } from './settle.ts';
import { type ConnectedSinks, withDeadline } from './sinks.ts';

export interface AttemptParts {
  readonly sinks: ConnectedSinks;
  readonly clock: Clock;
}

/** One attempt at each delivery of a call, within the sink's time-out. Never throws. */
export async function attemptAll(
  parts: AttemptParts,
  ready: readonly Ready[],
  config: SinkConfig,
  shutdown: AbortSignal,
): Promise<Attempted[]> {
  if (ready.length === 0) return [];
  const endings = await endingsOf(parts, ready, config, shutdown);
  return ready.map(({ claimed, prepared }, index) => ({
    claimed,
    prepared,
    ending: noted(endings[index]!, prepared.note),
  }));
}

/** An ending for each, in their order. */
async function endingsOf(
  parts: AttemptParts,
  ready: readonly Ready[],
  config: SinkConfig,
  shutdown: AbortSignal,
): Promise<Ending[]> {
  try {
    const deadline = {
      clock: parts.clock,
      timeoutMs: config.timeoutMs,
      shutdown,
      writtenOff: (ending: Ending) => ready.map(() => ending),
    };
    return await withDeadline(deadline, (signal) =>
      parts.sinks.use(config, (sink) => attempt(sink, asParts(ready, config, signal))),
    );
  } catch (error) {
    return ready.map(() => ({ outcome: cannotConnect(error), askedAbsent: false, hold: false }));
  }
}

function asParts(ready: readonly Ready[], { onUnknown }: SinkConfig, signal: AbortSignal): Part[] {
  return ready.map(({ claimed: { delivery }, request }) => ({
    request: { ...request, signal },
    uncertain: delivery.uncertain,
    // Who replayed it was told that it may have arrived: where the tool cannot be asked, their word is enough.
    onUnknown: delivery.replayed ? 'resend' : onUnknown,
  }));
}

function cannotConnect(error: unknown): Outcome {
  const detail = `The sink could not be connected: ${messageOf(error)}`;
  return { outcome: 'retry', reason: 'unexpected', detail, sinkWide: true };
}

function noted(ending: Ending, note: string | undefined): Ending {
  if (note === undefined || ending.outcome.outcome !== 'delivered') return ending;
  const both = [note, ending.outcome.note].filter(Boolean).join(' ');
  return { ...ending, outcome: { ...ending.outcome, note: both } };
}

/** A delivery's part in a call. */
export interface Part {
  readonly request: AttemptRequest<Json>;
  /** An earlier attempt may have arrived. */
  readonly uncertain: boolean;
  /** What to do where nobody can tell. */
  readonly onUnknown: SinkConfig['onUnknown'];
}

/**
 * One attempt at each delivery of a call: asks the tool first where an earlier attempt may have arrived, then sends the
 * others, once. Endings come in the order of the parts. Never throws: a throw is a bug of ours, kept as `unknown` where
 * something may have been sent.
 */
async function attempt(sink: Sink<Json>, parts: readonly Part[]): Promise<Ending[]> {
  try {
    return await askAndSend(sink, parts);
  } catch (error) {
    return parts.map((part) => sent(sink, part, failed(String(error)), { kind: 'unsure', detail: '' }));
  }
}

async function askAndSend(sink: Sink<Json>, parts: readonly Part[]): Promise<Ending[]> {
  const answers = await ask(
    sink,
    parts.filter(({ uncertain }) => uncertain),
  );
  const answerFor = (part: Part): Answer => answers.get(part) ?? absent;
  const outcomes = await send(
    sink,
    parts.filter((part) => shouldSend(part, answerFor(part))),
  );
  return parts.map((part) => {
    const outcome = outcomes.get(part);
    return outcome ? sent(sink, part, outcome, answerFor(part)) : notSent(answerFor(part));
  });
}

/** What the tool says of an earlier attempt. */
type Answer =
  | { readonly kind: 'absent' }
  /** Nobody can tell. */
  | { readonly kind: 'unsure'; readonly detail: string }
  /** It is there; or asking failed for now. */
  | { readonly kind: 'known'; readonly outcome: Delivered | Retry };

const absent = { kind: 'absent' } as const;

async function ask(sink: Sink<Json>, parts: readonly Part[]): Promise<Map<Part, Answer>> {
  if (parts.length === 0) return new Map();
  const findings = await find(
    sink,
    parts.map(({ request }) => request),
  );
  return new Map(parts.map((part, index) => [part, understand(findings[index])]));
}

function understand(finding: Finding | undefined): Answer {
  if (finding === undefined) {
    return { kind: 'unsure', detail: 'An earlier attempt may have arrived, and this tool cannot be asked.' };
  }
  if (finding.found === null) return absent;
  if (finding.found === 'failed') return { kind: 'known', outcome: finding.failure };
  if (finding.found === 'impossible') {
    return { kind: 'unsure', detail: `An earlier attempt may have arrived. ${finding.detail}` };
  }
  const note = 'An earlier attempt had arrived; nothing was sent again.';
  const all = [note, finding.note].filter(Boolean).join(' ');
  return { kind: 'known', outcome: { outcome: 'delivered', receipt: finding.found, note: all } };
}

/** Findings in the order of the requests; none where the tool cannot be asked. */
async function find(sink: Sink<Json>, requests: readonly AttemptRequest<Json>[]): Promise<Finding[]> {
  try {
    if (sink.findMany) return await sink.findMany(requests);
    const [first] = requests;
    return sink.find && first ? [await sink.find(first)] : [];
  } catch (error) {
    const detail = `The connector failed while asking for an earlier attempt: ${String(error)}`;
    return requests.map(() => ({
      found: 'failed',
      failure: { outcome: 'retry', reason: 'unexpected', detail },
    }));
  }
}

function shouldSend({ onUnknown }: Part, { kind }: Answer): boolean {
  return kind === 'absent' || (kind === 'unsure' && onUnknown === 'resend');
}

async function send(sink: Sink<Json>, parts: readonly Part[]): Promise<Map<Part, Outcome>> {
  const outcomes = await deliver(
    sink,
    parts.map(({ request }) => request),
  );
  return new Map(parts.map((part, index) => [part, orFailed(outcomes[index])]));
}

const words: ReadonlySet<unknown> = new Set<Outcome['outcome']>([
  'delivered',
  'retry',
  'rejected',
  'unknown',
]);

function orFailed(outcome: Outcome | undefined): Outcome {
  return outcome && words.has(outcome.outcome) ? outcome : failed('it gave no outcome');
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

function failed(error: string): Outcome {
  return { outcome: 'unknown', reason: 'unexpected', detail: `The connector failed: ${error}` };
}

function notSent(answer: Answer): Ending {
  if (answer.kind === 'known') return { outcome: answer.outcome, askedAbsent: false, hold: false };
  const detail = answer.kind === 'unsure' ? answer.detail : '';
  const outcome: Outcome = { outcome: 'unknown', reason: 'unexpected', detail };
  return { outcome, askedAbsent: false, hold: true, unsent: true };
}

function sent(sink: Sink<Json>, { onUnknown }: Part, outcome: Outcome, answer: Answer): Ending {
  if (outcome.outcome === 'delivered' && answer.kind === 'unsure') {
    return { outcome: maybeRepeated(outcome, answer.detail), askedAbsent: false, hold: false };
  }
  const hold = outcome.outcome === 'unknown' && !sink.find && onUnknown === 'hold';
  return { outcome, askedAbsent: answer.kind === 'absent', hold };
}

function maybeRepeated(outcome: Delivered, detail: string): Delivered {
  const receipt: Receipt = { ...outcome.receipt, mayBeRepeat: true };
  const note = [outcome.note, `This may be a repeat. ${detail}`].filter(Boolean).join(' ');
  return { outcome: 'delivered', receipt, note };
}
