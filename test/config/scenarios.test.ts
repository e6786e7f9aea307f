import { expect, test } from 'vitest';
import { formatProblem } from '../../src/config/problems.ts';
import { runScenarios } from '../../src/config/scenarios.ts';
import { load, problems } from './tools.ts';

const rules = `
catalog: { 7: { channel: "#seven" } }
sinks:
  page: { connector: pager, token: "\${PAGER_TOKEN}" }
  copy: { connector: pager, token: "\${PAGER_TOKEN}" }
rules:
  - name: completed
    when: { status: Completed }
    then:
      - { sink: page, channel: "{{ test.channel }}", text: "{{ event.candidateId }}", fields: { n: "{{ event.testId }}", s: x } }
      - { sink: copy, text: hello }
  - name: broken
    when: { status: Canceled }
    then: [ { sink: page, text: "{{ event.raw.a.b | date: 'x' }}{{ 1 | divided_by: 0 }}" } ]
scenarios:
`;

const lines = rules.split('\n').length - 1;

function messages(...scenarios: string[]): string[] {
  const config = load(rules + scenarios.map((scenario) => `  - ${scenario}\n`).join(''));
  return runScenarios(config).map(({ line, column, message }) => `${line - lines}:${column} ${message}`);
}

test('a scenario that comes out as expected is no problem', () => {
  expect(
    messages(
      '{ event: { status: Completed, testId: 7 }, expect: [ { sink: page, channel: "#seven", fields: { n: 7 } }, { sink: copy } ] }',
      '{ event: { status: Completed, testId: 7, candidateId: abc }, expect: [ { sink: page, text: abc }, { sink: copy, text: hello } ] }',
      '{ event: { status: DidNotTake, testId: 7 }, expect: [] }',
    ),
  ).toEqual([]);
});

test("a scenario's candidate id is read as the receiver reads it", () => {
  expect(
    messages(
      '{ event: { status: Completed, testId: 7, candidateId: " urn:uuid:0A12CD34-AB12-CD34-AB12-CD34AB12CD34" }, expect: [ { sink: page, text: 0a12cd34ab12cd34ab12cd34ab12cd34 }, { sink: copy } ] }',
      `{ event: { status: Completed, testId: 7, candidateId: ${'😀'.repeat(256)} }, expect: [ { sink: page }, { sink: copy } ] }`,
    ),
  ).toEqual([]);
  const refused = '{ event: { status: Completed, testId: 7, candidateId: "a\\tb" }, expect: [] }';
  expect(problems(`${rules}  - ${refused}`)).toEqual([
    expect.stringMatching(/expected a candidate id: no control characters, got "a\\tb"$/),
  ]);
});

test('another sink, order or number of actions is a problem that says what would be sent', () => {
  expect(
    messages(
      '{ event: { status: Completed, testId: 7 }, expect: [ { sink: copy }, { sink: page } ] }',
      '{ event: { status: Completed, testId: 7 }, expect: [] }',
      '{ event: { status: DidNotTake, testId: 7 }, expect: [ { sink: page } ] }',
    ),
  ).toEqual([
    '1:5 Completed of test 7: expected copy, page, but page, copy would be sent',
    '2:5 Completed of test 7: expected nothing, but page, copy would be sent',
    '3:5 DidNotTake of test 7: expected page, but nothing would be sent',
  ]);
});

test('another text is a problem that shows both', () => {
  expect(
    messages(
      '{ event: { status: Completed, testId: 8 }, expect: [ { sink: page, channel: "#x", fields: { n: 9 } }, { sink: copy, to: me } ] }',
    ),
  ).toEqual([
    '1:5 Completed of test 8: action 1 (page): expected channel "#x", but "" would be sent; action 1 (page): expected fields {"n":9}, but {"n":"8","s":"x"} would be sent; action 2 (copy): expected to "me", but nothing would be sent',
  ]);
});

test('a template that fails for the event is a problem', () => {
  expect(messages('{ event: { status: Canceled, testId: 8 }, expect: [ { sink: page } ] }')[0]).toMatch(
    /^1:5 Canceled of test 8: a message to page cannot be made: /,
  );
});

test('a problem shows the line of its scenario', () => {
  const config = load(
    `${rules}  - event: { status: DidNotTake, testId: 1 }\n    expect: [ { sink: page } ]\n`,
  );
  const [problem] = runScenarios(config);
  expect(problem && formatProblem(config.file, problem)).toContain(
    '16 |   - event: { status: DidNotTake, testId: 1 }',
  );
});
