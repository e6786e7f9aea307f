import type { SinkConfig } from '../config/config.ts';
import type { AttemptRequest, Finding, Sink } from '../connector.ts';
import type { Delivered, Json, Outcome, Receipt, Retry } from '../model.ts';
import type { Ending } from './settle.ts';

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
 * others, once. Endings come in the order of the parts. Never throws: a throw of a connector is a bug of ours, kept as
 * `unknown` where something may have been sent.
 */
export async function attempt(sink: Sink<Json>, parts: readonly Part[]): Promise<Ending[]> {
  const asked = await askAll(sink, parts);
  const answered = parts.map((part, index) => ({ part, answer: asked[index] ?? absent }));
  const toSend = answered.filter(({ part, answer }) => shouldSend(answer, part.onUnknown));
  const outcomes = await send(
    sink,
    toSend.map(({ part }) => part.request),
  );
  return answered.map((one) => {
    const place = toSend.indexOf(one);
    if (place === -1) return notSent(one.answer);
    return afterSending(sink, outcomes[place], one.answer, one.part.onUnknown);
  });
}

/** What the tool says of an earlier attempt. */
type Asked =
  /** Certain: nothing of this delivery is in the tool. Uncertain: nobody can tell. */
  { readonly certain: true } | { readonly certain: false; readonly detail: string } | Delivered | Retry;

const absent = { certain: true } as const;

async function askAll(sink: Sink<Json>, parts: readonly Part[]): Promise<Asked[]> {
  const uncertain = parts.filter((part) => part.uncertain).map(({ request }) => request);
  const findings = uncertain.length === 0 ? [] : await find(sink, uncertain);
  let next = 0;
  return parts.map((part) => (part.uncertain ? understand(findings[next++]) : absent));
}

function understand(finding: Finding | undefined): Asked {
  if (finding === undefined) {
    return { certain: false, detail: 'An earlier attempt may have arrived, and this tool cannot be asked.' };
  }
  if (finding.found === null) return absent;
  if (finding.found === 'failed') return finding.failure;
  if (finding.found === 'impossible') {
    return { certain: false, detail: `An earlier attempt may have arrived. ${finding.detail}` };
  }
  return {
    outcome: 'delivered',
    receipt: finding.found,
    note: 'An earlier attempt had arrived; nothing was sent again.',
  };
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

async function send(sink: Sink<Json>, requests: readonly AttemptRequest<Json>[]): Promise<Outcome[]> {
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

function shouldSend(asked: Asked, onUnknown: SinkConfig['onUnknown']): boolean {
  return 'certain' in asked && (asked.certain || onUnknown === 'resend');
}

function notSent(asked: Asked): Ending {
  if ('outcome' in asked) return { outcome: asked, askedAbsent: false, hold: false };
  const detail = asked.certain ? '' : asked.detail;
  const outcome: Outcome = { outcome: 'unknown', reason: 'unexpected', detail };
  return { outcome, askedAbsent: false, hold: true, unsent: true };
}

function afterSending(
  sink: Sink<Json>,
  outcome: Outcome = failed('it gave no outcome'),
  asked: Asked,
  onUnknown: SinkConfig['onUnknown'],
): Ending {
  const certain = 'certain' in asked && asked.certain;
  if (outcome.outcome === 'delivered' && 'certain' in asked && !asked.certain) {
    return { outcome: maybeRepeated(outcome, asked.detail), askedAbsent: false, hold: false };
  }
  const hold = outcome.outcome === 'unknown' && !sink.find && onUnknown === 'hold';
  return { outcome, askedAbsent: certain, hold };
}

function maybeRepeated(outcome: Delivered, detail: string): Delivered {
  const receipt: Receipt = { ...outcome.receipt, mayBeRepeat: true };
  const note = [outcome.note, `This may be a repeat. ${detail}`].filter(Boolean).join(' ');
  return { outcome: 'delivered', receipt, note };
}
