import { connectors } from '../../../connectors/index.ts';
import { timeExpected, timeMeant } from '../../config/scenarios.ts';
import { loadToShow } from '../../config/load.ts';
import { factsWritten } from '../../config/lookups/given.ts';
import { type Foresight, type ExplainedDelivery, explained } from '../../deliveries/explained.ts';
import { toldFacts } from '../../model.ts';
import { eventFields } from '../../printed/json.ts';
import type { Lookup } from '../../rules/plan.ts';
import { jsonLine, printable } from '../../support/text.ts';
import {
  readCandidateId,
  command,
  configFile,
  flag,
  integer,
  readOption,
  required,
  statusOption,
  textOption,
} from '../command.ts';
import { CommandError, dueText, exit, type Io, messageLines, paint, verdictText, when } from '../output.ts';

export const explain = command({
  name: 'explain',
  description: 'show what the rules make of an event, and each message as it would be sent; sends nothing',
  examples: [
    'explain --status Completed --test 1234567',
    'explain --status DidNotTake --test 1234567 --at "Sat 22:00" --json',
  ],
  options: {
    status: required(statusOption()),
    test: required(readOption('--test <id>', 'the test id', integer)),
    candidate: readOption('--candidate <id>', 'the candidate id', readCandidateId),
    numerical: readOption('--numerical <id>', 'the numerical candidate id', integer),
    at: textOption(
      '--at <time>',
      'when it comes, as in a scenario ("Mon 10:00", by the clock of `timezone`) or ISO 8601; now if not given',
    ),
    fact: readOption(
      '--fact <name.field=value>',
      'a fact that is looked up, as in candidate.score=87; or =unknown (which others are), or =absent; may be repeated',
      (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
    ),
    json: flag('--json', 'print one JSON object'),
  },
  argument: configFile,
  async run({ config: file, status, test: testId, candidate, numerical, at, fact = [], json }, io) {
    // Reports a wrong time before faults of the config.
    timeOf(at, 'UTC');
    const config = await loadToShow(file, { env: io.env, connectors });
    const fields = {
      status,
      testId,
      candidateNumericalId: numerical ?? null,
      ...(candidate !== undefined && { candidateId: candidate }),
    };
    const now = timeOf(at, config.plan.timeZone);
    const given = factsWritten(fact, config.plan.lookups, now);
    if ('fault' in given) throw new CommandError(`--fact: ${printable(given.fault)}`, exit.usage);
    const found = explained(config, fields, now, given.facts);
    const said = new Set(fact.map((one) => one.split('.', 1)[0]!));
    for (const name of said)
      if (!found.facts[name]) io.err(`${name} is not looked up for this event, so its facts are unknown`);
    const { event, facts, rules, deliveries } = found;
    const unsaid = [...config.plan.lookups.values()].filter(
      ({ name }) => found.facts[name] && !said.has(name),
    );
    io.out(
      json
        ? jsonLine({
            event: { ...eventFields(event), decided: true, facts: toldFacts(facts) },
            rules,
            deliveries: deliveries.map(deliveryFields),
          })
        : explainedText(found, unsaid, io),
    );
    return exit.ok;
  },
});

function timeOf(written: string | undefined, timeZone: string): number {
  const at = written === undefined ? Date.now() : timeMeant(written, timeZone, Date.now());
  if (at !== null) return at;
  throw new CommandError(`--at: ${timeExpected}, or 2026-11-21T22:00:00Z`, exit.usage);
}

function deliveryFields({ planned, action: _, ...said }: ExplainedDelivery) {
  const { rule, action, sink, connector, dueAt, group } = planned;
  return { rule, action, sink, connector, dueAt: new Date(dueAt).toISOString(), group, ...said };
}

function explainedText({ event, rules, deliveries }: Foresight, unsaid: readonly Lookup[], io: Io): string {
  const shown = deliveries.flatMap(({ action, planned, message, problem }) => {
    const { rule, sink, connector, dueAt } = planned;
    const due = dueText(action, dueAt, event.receivedAt);
    const head = `  ${paint(io, 'cyan', sink)} (${connector}, rule ${printable(rule)}) ${due}`;
    if (problem !== undefined) return [head, `    ${paint(io, 'red', printable(problem))}`];
    return [head].concat(messageLines(message));
  });
  const heading = (title: string) => paint(io, 'bold', title);
  return [
    `${heading(event.status)}  test ${event.testId}  candidate ${printable(event.candidateId)}  at ${when(event.receivedAt, {})}`,
    ...(unsaid.length === 0 ? [] : [heading('Look-ups')]),
    ...unsaid.map(({ name, fields }) => {
      const [field = ''] = fields.keys();
      return `  ${name}: not asked here, so its facts are unknown; give some, as in --fact ${name}.${field}=…`;
    }),
    heading('Rules'),
    ...rules.map((verdict) => verdictText(verdict, io)),
    heading('Would be sent'),
    ...(shown.length === 0 ? ['  nothing'] : shown),
  ].join('\n');
}
