import { describe, expect, test } from 'vitest';
import { connectors } from '../connectors/index.ts';
import { parseConfig } from '../src/config/load.ts';
import { runScenarios } from '../src/scenarios/run.ts';
import { failure } from './config/tools.ts';

const load = (...scenarios: string[]) =>
  parseConfig(
    `scenarios:
${scenarios.map((one) => `  - ${one}\n`).join('')}sinks: { slack: { connector: slack, token: "\${TOKEN}" } }
lookups:
  candidate:
    url: "https://tests.example.com/api/{{ event.candidateId }}"
    when: { status: [Completed, DidNotTake] }
    waitFor: 5m
    fields:
      name: { at: /name, personal: true }
      score: { at: /score, type: number }
      endedAt: { at: /endedAt, type: time }
      report: { at: /report, type: url }
    until: [score]
rules:
  - name: strong
    when: { candidate.score: { gte: 80 } }
    then: [ { sink: slack, channel: "#hiring", text: "{{ candidate.name | default: 'Somebody' }}: {{ candidate.score }} %" } ]
  - name: not-known
    when: { status: Completed, candidate.score: unknown }
    then: [ { sink: slack, channel: "#ask", text: "ask" } ]
  - name: ended
    when: { candidate.endedAt: { lt: "2026-02-01" } }
    then: [ { sink: slack, channel: "#ended", text: "{{ candidate.endedAt }}" } ]
  - name: reported
    when: { candidate.report: { exists: true } }
    then: [ { sink: slack, channel: "#reports", text: "{{ candidate.report }}" } ]
  - name: none
    when: { candidate.score: absent }
    then: [ { sink: slack, channel: "#none", text: "none" } ]
`,
    'config.yaml',
    { env: { TOKEN: 'xoxb-12345' }, connectors },
  );

async function messages(...scenarios: string[]): Promise<string[]> {
  const tried = await runScenarios(load(...scenarios));
  return tried.problems.map(({ line, message }) => `${line} ${message}`);
}

const scenario = (candidate: string, expected: string, status = 'Completed') =>
  `{ event: { status: ${status}, testId: 1${candidate && `, candidate: ${candidate}`} }, expect: [ ${expected} ] }`;
const sent = (channel: string, text: string) => `{ sink: slack, channel: "#${channel}", text: "${text}" }`;

describe('a scenario says what is found out', () => {
  test('known, unknown or absent, as a whole or by field; too late is unknown, and so is all of which it says nothing', async () => {
    const ask = sent('ask', 'ask');
    expect(
      await messages(
        scenario('{ name: Ana, score: 87 }', sent('hiring', 'Ana: 87 %')),
        scenario('{ name: absent, score: 87 }', sent('hiring', 'Somebody: 87 %')),
        scenario('{ name: Ana }', ask),
        scenario('{ name: Ana, score: unknown }', ask),
        scenario('{ score: 79 }', ''),
        scenario('unknown', ask),
        scenario('', ask),
        scenario('absent', sent('none', 'none')),
        scenario(
          '{ score: 79, endedAt: "2026-01-31T10:00:00+01:00" }',
          sent('ended', '2026-01-31T09:00:00.000Z'),
        ),
        scenario(
          '{ score: 79, report: "https://Tests.example.com/Ana Kovač" }',
          sent('reports', 'https://tests.example.com/Ana%20Kova%C4%8D'),
        ),
        scenario('{ after: 5m, score: 87 }', sent('hiring', 'Somebody: 87 %')),
        scenario('{ after: 6m, score: 87 }', ask),
        // It is not looked up then.
        scenario('{ score: 87 }', '', 'Canceled'),
      ),
    ).toEqual([]);
  });

  test('and what comes out otherwise is told', async () => {
    expect(await messages(scenario('{ score: 79 }', sent('hiring', '79 %')))).toEqual([
      '2 Completed of test 1: expected slack, but nothing would be sent',
    ]);
  });

  test.each([
    ['{ scor: 87 }', '2:59 unknown key "scor"; did you mean "score"?'],
    ['{ score: "87" }', '2:66 expected a number, or unknown or absent, got "87"'],
    ['{ endedAt: yesterday }', '2:68 expected a time such as "2026-01-31T10:00:00Z", got "yesterday"'],
    [
      'unkown',
      '2:57 expected a map of fields such as { score: 87 }, or unknown or absent, got "unkown"; did you mean "unknown"?',
    ],
    ['{ after: 8d, score: 87 }', '2:66 expected a duration of at most 7d, got "8d"'],
  ])('%s is refused at its place', (candidate, fault) => {
    const { problems } = failure(() => load(scenario(candidate, '')));
    expect(
      problems
        .filter(({ severity }) => severity === 'error')
        .map(({ line, column, message }) => `${line}:${column} ${message}`),
    ).toEqual([fault]);
  });

  test('a look-up that the config does not have is an unknown key', () => {
    const one = scenario('{ score: 87 }', '').replace('candidate:', 'candidat:');
    expect(failure(() => load(one)).problems.map(({ message }) => message)).toContain(
      'unknown key "candidat"; did you mean "candidate"?',
    );
  });
});

describe('over time', () => {
  const timed = (events: string[], ...expected: string[]) =>
    `{ events: [ ${events.join(', ')} ], expect: [ ${expected.join(', ')} ] }`;
  const event = (at: string, id: string, candidate = '', more = 'testId: 1, status: Completed') =>
    `{ at: "${at}", candidateId: ${id}, ${more}${candidate && `, candidate: ${candidate}`} }`;
  const at = (time: string, id: string, channel: string) =>
    `{ at: "${time}", sink: slack, channel: "#${channel}", events: [${id}] }`;

  test('an event is decided when its facts come, or when `waitFor` is over; later ones of that candidate wait, others do not', async () => {
    expect(
      await messages(
        timed(
          [
            event('Mon 10:00', 'a', '{ after: 4m, score: 87 }'),
            event('10:01', 'a', '{ score: 90 }', 'testId: 2, status: Completed'),
            event('10:01', 'b', '{ score: 90 }'),
            event('10:02', 'c', '{ after: 6m, score: 90 }'),
            event('10:02', 'd'),
            event('10:02', 'e', 'absent'),
            event('10:02', 'f', '{ after: 30s, score: unknown }'),
            // It is asked again for what `until` names.
            event('10:02', 'g', '{ name: Ana, score: absent }'),
          ],
          at('10:01', 'b', 'hiring'),
          at('10:02:30', 'f', 'ask'),
          at('10:04', 'a', 'hiring'),
          at('10:04', 'a', 'hiring'),
          at('10:07', 'c', 'ask'),
          at('10:07', 'd', 'ask'),
          at('10:07', 'e', 'none'),
          at('10:07', 'g', 'none'),
        ),
      ),
    ).toEqual([]);
  });

  test('and what comes at another time is told', async () => {
    expect(
      await messages(
        timed([event('Mon 10:00', 'a', '{ after: 4m, score: 87 }')], at('10:03', 'a', 'hiring')),
      ),
    ).toEqual(['2 expected at "10:03", but it would be sent at "Mon 10:04"']);
  });
});
