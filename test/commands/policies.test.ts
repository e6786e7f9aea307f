import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { jsonLines, logging, loud, run, workplace } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const config = `sinks:
  slack: { connector: slack, token: '\${SLACK}' }
  mail: { connector: email, url: '\${SMTP}', from: a@example.com }
catalog:
  7: { name: Backend, team: internal }
  8: { name: Design, team: design }
rules:
  - { name: all, when: {}, then: [ { sink: slack, channel: '#hiring', text: x } ] }
  - name: canceled
    when: { status: Canceled }
    then: [ { sink: mail, to: 'Legal@example.com, b@example.com', subject: s, text: t } ]
  - { name: own, when: { testId: 8 }, then: [ { sink: slack, channel: '{{ event.candidateId }}', text: x } ] }
policies:
`;
const env = { SLACK: 'xoxb-1', SMTP: 'smtp://localhost' };

async function fileOf(...policies: string[]) {
  const { write } = await workplace();
  return write('config.yaml', config + policies.map((one) => `  - ${one}\n`).join(''));
}

interface Found {
  readonly errors: { line: number; column: number; message: string }[];
  readonly warnings: Found['errors'];
}

async function checked(...policies: string[]) {
  const ran = await run(['check', '--json', await fileOf(...policies)], env);
  return { code: ran.code, ...jsonLines<Found>(ran)[0]! };
}

test('check fails at a policy that does not hold, with an event, the rule and its line', async () => {
  const { code, errors } = await checked(
    "never: { sink: slack, channel: '#hiring', when: { test.team: internal } }",
    'always: { sink: mail, to: legal@example.com, when: { status: Canceled } }',
    'always: { sink: mail, to: b@example.com, when: { test.team: design } }',
    'atMost: { messages: 1, place: same, when: { testId: 7 } }',
    "never: { sink: slack, channel: '#design', when: { test.team: internal } }",
  );
  expect(code).toBe(1);
  const event = (testId: number) =>
    `{ status: Completed, testId: ${testId}, candidateId: "0123456789abcdef0123456789abcdef" }`;
  expect(errors.map(({ line, column, message }) => [line, column, message])).toEqual([
    [14, 5, `this does not hold: slack #hiring hears of ${event(7)}, by rule "all" (line 8)`],
    [
      16,
      5,
      `this does not hold: mail b@example.com does not hear of ${event(8)}; what goes out is by rules "all" (line 8), "own" (line 12)`,
    ],
  ]);
});

test('what nobody can tell is a warning, and fails with --strict', async () => {
  const policy = "never: { sink: slack, channel: '#boss', when: {} }";
  const { code, errors, warnings } = await checked(
    policy,
    'never: { sink: mail, when: { test.team: intern } }',
  );
  expect({ code, errors }).toEqual({ code: 0, errors: [] });
  expect(warnings.map(({ line, message }) => `${line}: ${message}`)).toEqual([
    '14: nobody knows whether this holds: only an event shows where rule "own" sends it to',
    '15: no event meets its "when", so nothing is promised',
    '15: no test has team "intern"; did you mean "internal"?',
  ]);
  expect((await run(['check', '--strict', await fileOf(policy)], env)).code).toBe(1);
});

test('a message that edits the one before counts for its own event, and only for that', async () => {
  const { write } = await workplace();
  const [once, twice] = [1, 2].map((count) => ({
    sinks: { slack: { connector: 'slack', token: 'x' } },
    rules: Array.from({ length: count }, (_, at) => ({
      name: `r${at}`,
      when: {},
      ['then']: [{ sink: 'slack', channel: '#hiring', text: 'x', updateBy: '{{ event.candidateId }}' }],
    })),
    policies: [{ atMost: { messages: 1, when: {} } }],
  }));
  const errors = [once, twice].map(async (one, at) => {
    const ran = await run(['check', '--json', await write(`${at}.yaml`, JSON.stringify(one))], env);
    return jsonLines<Found>(ran)[0]!.errors.map(({ message }) => message);
  });
  const [held, broken] = await Promise.all(errors);
  expect(held).toEqual([]);
  expect(broken).toEqual([expect.stringMatching(/^this does not hold: slack #?hiring hears 2 times/)]);
});

test('routes says of each policy whether it holds, also without credentials', async () => {
  const file = await fileOf(
    'always: { sink: mail, to: legal@example.com, when: { status: Canceled } }',
    'never: { sink: mail, when: { status: Canceled, testId: 9 } }',
    "never: { sink: slack, channel: '#boss', when: {} }",
    "never: { sink: slack, channel: '#boss', when: { test.team: '${TEAM}' } }",
  );
  const [json] = jsonLines<{ policies: { holds: boolean | null }[] }>(await run(['routes', '--json', file]));
  expect(json?.policies.map(({ holds }) => holds)).toEqual([true, false, null, null]);
  expect(json?.policies[1]).toEqual({
    policy: { never: { sink: 'mail', when: { status: 'Canceled', testId: 9 } } },
    holds: false,
    example: {
      at: '2026-01-05T10:00:00.000Z',
      event: { status: 'Canceled', testId: 9, candidateId: '0123456789abcdef0123456789abcdef' },
      messages: [{ rule: 'canceled', action: 0, sink: 'mail' }],
    },
    why: null,
  });
  const { out } = await run(['routes', file]);
  expect(out).toMatch(/^ {2}\{ always: .*: holds$/m);
  expect(out).toMatch(/^ {2}\{ never: .*: broken: mail hears of .*, by rule "canceled" \(line 9\)$/m);
  expect(out).toMatch(/: nobody knows, as only an event shows where rule "own" sends it to$/m);
});

test.each([
  ['never: { sink: slck, when: {} }', 20, 'there is no sink "slck"; did you mean "slack"?'],
  ['nevr: { sink: slack, when: {} }', 5, 'unknown key "nevr"; did you mean "never"?'],
  ['never: { sink: slack, chanel: "#a", when: {} }', 27, 'unknown key "chanel"; did you mean "channel"?'],
  [
    'never: { sink: mail, channel: "#a", when: {} }',
    26,
    'a sink of email has no "channel"; did you mean "to"?',
  ],
  ['always: { sink: mail, to: nobody, when: {} }', 31, 'expected one email address'],
  ['always: { sink: slack, channel: "{{ test.channel }}", when: {} }', 37, /^expected a channel as it is/],
  ['always: { sink: slack, channel: "#Hiring", when: {} }', 37, /did you mean "#hiring"/],
  ['never: { sink: slack }', 5, '"when" is missing'],
  ['never: { sink: slack, when: { status: Complete } }', 43, /did you mean "Completed"/],
  ['atMost: { messages: 0, when: {} }', 25, 'expected'],
  ['{}', 5, 'expected one of never, always or atMost'],
])('%s is refused at its place', async (policy, column, message) => {
  const { errors } = await checked(policy);
  expect(errors).toEqual([
    expect.objectContaining({ line: 14, column, message: expect.stringMatching(message) }),
  ]);
});

test('a config that a start took although a policy does not hold needs a person, until it holds; changed secrets are taken meanwhile', async () => {
  const { folder, write } = await workplace();
  const token = await write('token', 'xoxb-1');
  const text = (channel: string) =>
    `${loud(folder)}sinks: { ats: { connector: slack, token: '\${file:${token}}' } }
rules: [ { name: all, when: {}, then: [ { sink: ats, channel: '${channel}', text: x } ] } ]
policies: [ { never: { sink: ats, channel: '#hiring', when: {} } } ]\n`;
  const file = await write('config.yaml', text('#hiring'));
  const { app, lines } = await logging(file);
  const breaks = 'this does not hold: ats #hiring hears of { status: ';
  const warned = () => lines().filter(({ msg }) => msg.startsWith('the config in force breaks a policy'));
  await eventually(() => expect(warned()).toHaveLength(1));
  expect(warned()[0]).toMatchObject({ file, line: 8, msg: expect.stringContaining(breaks) });
  const status = () => run(['status', '--config', file]);
  await eventually(async () => expect((await status()).code).toBe(4));
  const { out } = await status();
  expect(out).toMatch(/^A person is needed: the config in force breaks a policy\.\n/);
  expect(out).toContain(`The config in force breaks a policy: ${file}:8:13: ${breaks}`);
  const read = async (path: string) => (await fetch(`${app.adminUrl}${path}`)).text();
  expect(JSON.parse(await read('/api/status'))).toMatchObject({
    needs: ['the config in force breaks a policy'],
    config: { refused: { inForce: true, problem: expect.stringContaining(breaks), others: 0 } },
  });
  for (const path of ['/', '/attention'])
    expect(await read(path)).toMatch(
      /The config in force breaks a policy<\/b>:\s+\S+:8:13: this does not hold/,
    );
  expect(await read('/metrics')).toMatch(/config_reload_failed 1$/m);
  await writeFile(token, 'xoxb-2');
  const reloaded = () => lines().filter(({ msg }) => msg === 'config reloaded');
  await eventually(() => expect(reloaded()).toMatchObject([{ changedFiles: [token] }]));
  expect((await status()).out).toContain(breaks);
  expect(await read('/metrics')).toMatch(/config_reload_failed 1$/m);
  // The same config with another comment is still in force.
  await writeFile(file, `${text('#hiring')}# \n`);
  const refused = () => lines().filter(({ msg }) => msg.startsWith('config not reloaded'));
  await eventually(() => expect(refused()).toHaveLength(1));
  expect((await status()).out).toMatch(/^A person is needed: .*the config in force breaks a policy/);
  await writeFile(file, text('#other'));
  await eventually(async () => expect((await status()).out).not.toContain('breaks a policy'));
  expect(warned()).toHaveLength(1);
});
