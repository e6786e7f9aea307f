import type { SinkConfig } from '../config/config.ts';
import type { AttemptRequest, Finding, Sink } from '../connector.ts';
import { rejected } from '../connector.ts';
import type { Delivered, Json, Outcome, Receipt, Retry } from '../model.ts';
import type { Action } from '../rules/plan.ts';
import type { TemplateData } from '../templates/data.ts';
import type { Ending } from './settle.ts';

/** A delivery's message as its connector will send it. */
export interface Prepared {
  readonly message: Json;
  readonly thread: string | null;
  readonly note: string | undefined;
}

/** Renders an action for an event and lets the connector compose the message. Pure. */
export function prepare(
  action: Action,
  data: TemplateData,
  deliveryId: string,
  { connector, options }: Pick<SinkConfig, 'connector' | 'options'>,
): Prepared | Outcome {
  const rendered = action.render(data);
  if ('fault' in rendered) {
    return rejected('invalid', rendered.fault, 'Mend the template in the config, then replay this delivery.');
  }
  const composed = connector.compose(rendered.fields, { deliveryId, event: data.event }, options);
  if ('rejected' in composed) return composed.rejected;
  return {
    message: composed.message,
    thread: connector.thread?.(composed.message) ?? null,
    note: composed.note,
  };
}

/**
 * One attempt: asks the tool first if an earlier attempt may have arrived, then sends, once. Never throws: a throw
 * of a connector is a bug of ours, kept as `unknown` where something may have been sent.
 */
export async function attempt(
  sink: Sink<Json>,
  request: AttemptRequest<Json>,
  options: { readonly uncertain: boolean; readonly onUnknown: SinkConfig['onUnknown'] },
): Promise<Ending> {
  const asked = options.uncertain ? await ask(sink, request) : absent;
  if ('outcome' in asked) return ending(asked);
  if (!asked.certain && options.onUnknown === 'hold') {
    return { ...ending({ outcome: 'unknown', reason: 'unexpected', detail: asked.detail }), hold: true };
  }
  const outcome = await send(sink, request);
  const hold = outcome.outcome === 'unknown' && !sink.find && options.onUnknown === 'hold';
  if (outcome.outcome === 'delivered' && !asked.certain) {
    return ending(maybeRepeated(outcome, asked.detail));
  }
  return { outcome, askedAbsent: asked.certain, hold };
}

type Asked =
  /** Certain: nothing of this delivery is in the tool. Uncertain: nobody can tell. */
  { readonly certain: true } | { readonly certain: false; readonly detail: string } | Delivered | Retry;

const absent = { certain: true } as const;

async function ask(sink: Sink<Json>, request: AttemptRequest<Json>): Promise<Asked> {
  if (!sink.find) {
    return { certain: false, detail: 'An earlier attempt may have arrived, and this tool cannot be asked.' };
  }
  const finding = await find(sink.find.bind(sink), request);
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

async function find(tool: NonNullable<Sink<Json>['find']>, request: AttemptRequest<Json>): Promise<Finding> {
  try {
    return await tool(request);
  } catch (error) {
    const detail = `The connector failed while asking for an earlier attempt: ${String(error)}`;
    return { found: 'failed', failure: { outcome: 'retry', reason: 'unexpected', detail } };
  }
}

async function send(sink: Sink<Json>, request: AttemptRequest<Json>): Promise<Outcome> {
  try {
    return await sink.deliver(request);
  } catch (error) {
    return { outcome: 'unknown', reason: 'unexpected', detail: `The connector failed: ${String(error)}` };
  }
}

function maybeRepeated(outcome: Delivered, detail: string): Delivered {
  const receipt: Receipt = { ...outcome.receipt, mayBeRepeat: true };
  const note = [outcome.note, `This may be a repeat. ${detail}`].filter(Boolean).join(' ');
  return { outcome: 'delivered', receipt, note };
}

function ending(outcome: Outcome): Ending {
  return { outcome, askedAbsent: false, hold: false };
}
