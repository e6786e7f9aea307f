import { connectors } from '../../../connectors/index.ts';
import { loadToShow } from '../../config/load.ts';
import type { ConfigPolicy } from '../../config/policies/policies.ts';
import { brokenBy, flow, lineOf } from '../../config/policies/problems.ts';
import { policyFields, routeFields } from '../../printed/json.ts';
import type { Action } from '../../rules/plan.ts';
import { type Proof, prove } from '../../rules/policies/prove.ts';
import { type Route, routesOf } from '../../rules/routes.ts';
import { jsonLine, printable } from '../../support/text.ts';
import { command, configFile, flag } from '../command.ts';
import { exit, type Io, paint } from '../output.ts';

export const routes = command({
  name: 'routes',
  description: 'show who hears of which events: each test and status, with nobody and twice marked',
  examples: ['routes config.yaml', 'routes --json'],
  options: { json: flag('--json', 'print one JSON object') },
  argument: configFile,
  async run({ config, json }, io) {
    const { plan, mask, policies, at } = await loadToShow(config, { env: io.env, connectors });
    const all = [...routesOf(plan)];
    const proofs = prove(plan, policies);
    if (json) {
      const told = policies.map(({ written }, index) => policyFields(written, proofs[index]!));
      io.out(mask(jsonLine({ routes: all.map((route) => routeFields(route)), policies: told })));
    } else {
      const byTest = Map.groupBy(all, ({ cell }) => cell.testId);
      const others = byTest.size > 1 ? 'any other test' : 'any test';
      for (const test of byTest.values()) io.out(mask(testText(test, others, io)));
      if (policies.length > 0) io.out(paint(io, 'bold', 'policies'));
      for (const [index, policy] of policies.entries())
        io.out(mask(policyText(policy, proofs[index]!, lineOf(plan, at), io)));
    }
    return exit.ok;
  },
});

function policyText(
  policy: ConfigPolicy,
  { holds, example, why }: Proof,
  ruleOf: (action: Action) => string,
  io: Io,
): string {
  const words = `  ${printable(flow(policy.written))}`;
  if (holds) return `${words}: ${paint(io, 'green', 'holds')}`;
  if (!example) return `${words}: ${paint(io, 'yellow', `nobody knows, as ${why}`)}`;
  return `${words}: ${paint(io, 'red', `broken: ${printable(brokenBy(policy, example, ruleOf))}`)}`;
}

/** The routes of one test, or of the `others`. Statuses with the same recipients stand together. */
function testText(ofTest: readonly Route[], others: string, io: Io): string {
  const [
    {
      cell: { testId, test },
    },
  ] = ofTest as [Route];
  const name = typeof test['name'] === 'string' ? `  ${printable(test['name'])}` : '';
  const title = testId === null ? others : `${testId}${name}`;
  const alike = Map.groupBy(ofTest, (route) => linesOf(route, io).join('\n'));
  const rows = [...alike].map(([lines, same]) => {
    const named = same.map(({ cell }) => cell.status).join(', ');
    return `  ${named}\n${lines}`;
  });
  return [paint(io, 'bold', title), ...rows].join('\n');
}

function linesOf({ heardBy, twice, nobody, otherwiseNobody, nobodyIf, unheard }: Route, io: Io): string[] {
  const isTwice = new Set(twice.flatMap(({ first, second }) => [first, second]));
  const meant = unheard === null ? ', as the config says' : '';
  const none = (text: string) => `    ${unheard === null ? text : paint(io, 'red', text)}${meant}`;
  if (nobody) return [none('nobody')];
  const heard = heardBy.map(({ action, audience, rest }) => {
    const { sink, rule, hours, digest } = action;
    const { place } = audience();
    const details = [
      `rule ${printable(rule)}`,
      ...(digest ? ['digest'] : []),
      ...(hours ? [`hours ${printable(hours.name)}`] : []),
      ...(rest ? [`if ${printable(rest.words)}`] : []),
    ].join(', ');
    const where = place === '' ? sink : `${sink} ${printable(place)}`;
    const mark = isTwice.has(action) ? paint(io, 'yellow', '  twice') : '';
    return `    ${paint(io, 'cyan', where)}  (${details})${mark}`;
  });
  const otherwise = nobodyIf === null ? 'otherwise nobody' : `nobody if ${printable(nobodyIf)}`;
  return otherwiseNobody ? [...heard, none(otherwise)] : heard;
}
