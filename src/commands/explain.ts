import { connectors } from '../../connectors/index.ts';
import type { SinkConfig } from '../config/config.ts';
import { loadToShow } from '../config/load.ts';
import { maskTexts } from '../support/secret.ts';
import { prepare } from '../deliveries/prepare.ts';
import { deliveryId } from '../support/ids.ts';
import type { Event, Json, PlannedDelivery, Status } from '../model.ts';
import { explain as explainEvent } from '../rules/decide.ts';
import type { Action, Explanation } from '../rules/plan.ts';
import { sampleEvent } from '../templates/data.ts';
import { jsonLine, printable } from '../support/text.ts';
import { dueText, exit, type Io, messageLines, paint, when } from './output.ts';
import { eventFields } from '../json.ts';
import { verdictText } from './event.ts';
import type { ConfigOption } from './with-store.ts';

interface ExplainOptions extends ConfigOption {
  readonly status: Status;
  readonly test: number;
  readonly candidate?: string;
  readonly numerical?: number;
  readonly at?: number;
  readonly json?: boolean;
}

export async function explain(options: ExplainOptions, io: Io): Promise<number> {
  const config = await loadToShow(options.config, { env: io.env, connectors });
  const now = options.at ?? Date.now();
  const { status, test: testId, candidate, numerical } = options;
  const candidateNumericalId = numerical ?? null;
  const fields = {
    status,
    testId,
    candidateNumericalId,
    ...(candidate !== undefined && { candidateId: candidate }),
  };
  const event = sampleEvent(fields, now);
  const explanation = explainEvent(config.plan, event, now);
  const messages = explanation.actions.map(({ action, planned }, index) => ({
    ...pick(planned),
    ...messageOf(config, action, event, index, now),
  }));
  if (options.json)
    io.out(jsonLine({ event: eventFields(event), rules: explanation.rules, deliveries: messages }));
  else io.out(text(event, explanation, messages, io));
  return exit.ok;
}

function pick({ rule, action, sink, connector, dueAt, group }: PlannedDelivery) {
  return { rule, action, sink, connector, dueAt: new Date(dueAt).toISOString(), group };
}

type Shows = Awaited<ReturnType<typeof loadToShow>>;

/** The message as the connector would send it, or the reason why there is none. */
function messageOf(
  config: Shows,
  action: Action,
  event: Event,
  index: number,
  now: number,
): { message: Json; problem?: string } {
  const sink = config.sinks.get(action.sink);
  if (!sink) return { message: null, problem: `There is no sink ${action.sink}.` };
  const about = { events: [event], notice: null };
  const prepared = attempt(sink, () =>
    prepare(action, about, deliveryId(event.id, index + 1), config.plan, sink, now),
  );
  if (prepared === null) return { message: null, problem: lacking(action.sink) };
  const mask = (said: string) => config.mask(said);
  if (!('outcome' in prepared)) return { message: maskTexts(prepared.message, mask) };
  const problem = 'detail' in prepared ? prepared.detail : 'There is no message.';
  return { message: null, problem: mask(problem) };
}

/** Null where the message needs an option that has no value: which ones it needs is known to its connector only. */
function attempt<T>(sink: SinkConfig, make: () => T): T | null {
  try {
    return make();
  } catch (error) {
    if (sink.isPartial) return null;
    throw error;
  }
}

const lacking = (sink: string) =>
  `This message cannot be made, as the sink ${sink} lacks a value from outside; \`check\` says which.`;

type Shown = ReturnType<typeof pick> & ReturnType<typeof messageOf>;

function text(event: Event, { rules, actions }: Explanation, messages: readonly Shown[], io: Io): string {
  const shown = actions.flatMap(({ action, planned }, index) => {
    const message = messages[index];
    return message ? shownText(message, dueText(action, planned.dueAt, event.receivedAt), io) : [];
  });
  const heading = (title: string) => paint(io, 'bold', title);
  return [
    `${heading(event.status)}  test ${event.testId}  candidate ${printable(event.candidateId)}  at ${when(event.receivedAt)}`,
    heading('Rules'),
    ...rules.map((verdict) => verdictText(verdict, io)),
    heading('Would be sent'),
    ...(shown.length === 0 ? ['  nothing'] : shown),
  ].join('\n');
}

function shownText({ rule, sink, connector, message, problem }: Shown, due: string, io: Io): string {
  const head = `  ${paint(io, 'cyan', sink)} (${connector}, rule ${printable(rule)}) ${due}`;
  if (problem !== undefined) return `${head}\n    ${paint(io, 'red', printable(problem))}`;
  return [head, ...messageLines(message)].join('\n');
}
