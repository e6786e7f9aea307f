import { connectors } from '../../connectors/index.ts';
import { timeExpected, timeMeant } from '../config/scenarios.ts';
import { loadToShow } from '../config/load.ts';
import { type Explained, type ExplainedDelivery, explained } from '../explained.ts';
import { eventFields } from '../json.ts';
import type { Status } from '../model.ts';
import { jsonLine, printable } from '../support/text.ts';
import { verdictText } from './event.ts';
import { CommandError, dueText, exit, type Io, messageLines, paint, when } from './output.ts';
import type { ConfigOption } from './with-store.ts';

interface ExplainOptions extends ConfigOption {
  readonly status: Status;
  readonly test: number;
  readonly candidate?: string;
  readonly numerical?: number;
  readonly at?: string;
  readonly json?: boolean;
}

export async function explain(options: ExplainOptions, io: Io): Promise<number> {
  // Said before anything of the config is.
  timeOf(options.at, 'UTC');
  const config = await loadToShow(options.config, { env: io.env, connectors });
  const now = timeOf(options.at, config.plan.timeZone);
  const { status, test: testId, candidate, numerical } = options;
  const fields = {
    status,
    testId,
    candidateNumericalId: numerical ?? null,
    ...(candidate !== undefined && { candidateId: candidate }),
  };
  const found = explained(config, fields, now);
  const { event, rules } = found;
  if (options.json)
    io.out(jsonLine({ event: eventFields(event), rules, deliveries: found.deliveries.map(deliveryFields) }));
  else io.out(text(found, io));
  return exit.ok;
}

function timeOf(written: string | undefined, timeZone: string): number {
  const at = written === undefined ? Date.now() : timeMeant(written, timeZone, Date.now());
  if (at !== null) return at;
  throw new CommandError(`--at: ${timeExpected}, or 2026-11-21T22:00:00Z`, exit.usage);
}

function deliveryFields({ planned, action: _, ...said }: ExplainedDelivery) {
  const { rule, action, sink, connector, dueAt, group } = planned;
  return { rule, action, sink, connector, dueAt: new Date(dueAt).toISOString(), group, ...said };
}

function text({ event, rules, deliveries }: Explained, io: Io): string {
  const shown = deliveries.flatMap((one) => shownText(one, event.receivedAt, io));
  const heading = (title: string) => paint(io, 'bold', title);
  return [
    `${heading(event.status)}  test ${event.testId}  candidate ${printable(event.candidateId)}  at ${when(event.receivedAt)}`,
    heading('Rules'),
    ...rules.map((verdict) => verdictText(verdict, io)),
    heading('Would be sent'),
    ...(shown.length === 0 ? ['  nothing'] : shown),
  ].join('\n');
}

function shownText({ action, planned, message, problem }: ExplainedDelivery, now: number, io: Io): string {
  const { rule, sink, connector, dueAt } = planned;
  const head = `  ${paint(io, 'cyan', sink)} (${connector}, rule ${printable(rule)}) ${dueText(action, dueAt, now)}`;
  if (problem !== undefined) return `${head}\n    ${paint(io, 'red', printable(problem))}`;
  return [head, ...messageLines(message)].join('\n');
}
