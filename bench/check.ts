import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connectors } from '../connectors/index.ts';
import { parseConfig } from '../src/config/load.ts';
import { statuses } from '../src/model.ts';
import { prove } from '../src/rules/policies/prove.ts';
import { processEnv } from './child.ts';
import { atMost, median, type BenchResult } from './result.ts';

/** Rules, and the seconds that `check` may take for them. */
const limits = [
  [1000, 1],
  [10_000, 6],
] as const;
const policiesWithinMs = 2000;

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');

/** `check` of large configs, routes and all, from its start to its end; and the proofs of their policies. */
export async function benchCheck(rounds = 5): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-check-'));
  try {
    const results: BenchResult[] = [];
    for (const [rules, withinS] of limits) results.push(await benchCheckOf(folder, rules, withinS, rounds));
    return [...results, benchPolicies()];
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function benchCheckOf(
  folder: string,
  rules: number,
  withinS: number,
  rounds: number,
): Promise<BenchResult> {
  const file = join(folder, `${rules}.yaml`);
  await writeFile(file, largeConfig(rules));
  const parse = `require('yaml').parseDocument(require('fs').readFileSync('${file}', 'utf8'), { uniqueKeys: false })`;
  const times = { check: [] as number[], parse: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    times.parse.push(await secondsOf(['-e', parse]));
    times.check.push(await secondsOf(['src/main.ts', 'check', '--config', file]));
  }
  const [check, plain] = [median(times.check), median(times.parse)];
  return {
    name: `check of ${rules} rules, against the limit`,
    ...atMost(check / withinS, 1, `${withinS} s`),
    detail: `${check.toFixed(2)} s; a process that only parses their YAML takes ${plain.toFixed(2)} s`,
  };
}

/** The proofs of twenty policies about a thousand rules that all ask for a score, each with a channel of its own by test. */
function benchPolicies(): BenchResult {
  const tests = Array.from({ length: 300 }, (_, index) => [index + 1, { channel: `#team-${index % 50}` }]);
  const config = {
    sinks: { slack: { connector: 'slack', token: 'xoxb-for-the-benchmark' } },
    lookups: {
      candidate: { url: 'https://x.example.com', fields: { score: { at: '/score', type: 'number' } } },
    },
    catalog: Object.fromEntries(tests),
    rules: Array.from({ length: 1000 }, (_, index) => ({
      name: `rule ${index}`,
      when: { 'candidate.score': { gte: index % 97 } },
      ['then']: [{ sink: 'slack', channel: '{{ test.channel }}', text: 'x' }],
    })),
    policies: Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0
        ? { never: { sink: 'slack', channel: `#nobody-${index}`, when: {} } }
        : { atMost: { messages: 1000 - index, when: { 'candidate.score': { lt: 90 } } } },
    ),
  };
  const { plan, policies } = parseConfig(JSON.stringify(config), 'config.yaml', { env: {}, connectors });
  const started = performance.now();
  const held = prove(plan, policies).filter(({ holds }) => holds).length;
  const ms = performance.now() - started;
  return {
    name: 'proofs of 20 policies about 1000 rules',
    ...atMost(ms / policiesWithinMs, 1, `${policiesWithinMs} ms`),
    detail: `${ms.toFixed(0)} ms, ${held} hold`,
  };
}

async function secondsOf(args: readonly string[]): Promise<number> {
  const started = performance.now();
  const env = { ...process.env, ...processEnv, SLACK_TOKEN: 'xoxb-for-the-benchmark' };
  await run(process.execPath, [...args], { cwd: root, env });
  return (performance.now() - started) / 1000;
}

/** A rule for each status of each test, as a program would write it from a list of open positions. */
function largeConfig(rules: number): string {
  const tests = Array.from({ length: Math.ceil(rules / statuses.length) }, (_, index) => 1_000_000 + index);
  const named = tests.flatMap((testId) => statuses.map((status) => ({ testId, status }))).slice(0, rules);
  return [
    sinks,
    'catalog:',
    ...tests.map((testId) => `  ${testId}: { name: "Position ${testId}", channel: "#team-${testId % 50}" }`),
    'rules:',
    ...named.map(({ testId, status }, index) => ruleOf(testId, status, index)),
  ].join('\n');
}

const sinks = `
sinks:
  slack: { connector: slack, token: "\${SLACK_TOKEN}" }
  mail: { connector: email, url: "smtp://127.0.0.1:25", from: hiring@example.com }`;

/** Half of the texts are the same in many rules, half are of one rule. */
function ruleOf(testId: number, status: string, index: number): string {
  const text = index % 2 === 0 ? '' : `For the ${status} list of position ${testId}: `;
  const candidate = '{{ event.candidateNumericalId | default: event.candidateId }}';
  const then =
    index % 5 === 4
      ? `
      - sink: mail
        to: team-${testId % 50}@example.com
        subject: "{{ test.name }}: {{ event.status }}"
        text: |
          ${text}the candidate ${candidate} has {{ event.status | words }} in {{ test.name }}.
          {% if test.owner %}Ask {{ test.owner }}.{% endif %}`
      : `
      - sink: slack
        channel: "{{ test.channel | default: '#hiring' }}"
        text: "${text}*{{ test.name | default: event.testId }}*: ${candidate} {{ event.status | words }}"`;
  return `  - name: ${status} of ${testId}
    when: { testId: ${testId}, status: ${status} }
    then:${then}`;
}
