import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { routeWarnings } from '../../src/commands/config/check-routes.ts';
import { loadConfig } from '../../src/config/load.ts';
import { jsonLines, run, workplace } from './tools.ts';

const root = join(import.meta.dirname, '../..');

const catalog = `catalog:
  7: { name: Backend, channel: '#backend', owner: dana@example.com }
  8: { name: Design }
`;
const sinks = `sinks:
  slack: { connector: slack, token: '\${SLACK}' }
  mail: { connector: email, url: '\${SMTP}', from: a@example.com }
`;
const env = { SLACK: 'xoxb-1', SMTP: 'smtp://localhost' };

const post = (channel: string) => `{ sink: slack, channel: '${channel}', text: x }`;
const rule = (name: string, when: string, then: string, more = '') =>
  `  - { name: ${name}, when: ${when}, then: [${then}]${more} }\n`;

async function fileOf(rules: string, more = ''): Promise<string> {
  const { write } = await workplace();
  return write('config.yaml', `${catalog}${sinks}rules:\n${rules}${more}`);
}

describe('routes', () => {
  test('shows for each test and status who hears, and marks nobody and twice, without credentials', async () => {
    const rules = [
      rule(
        'done',
        '{ status: Completed }',
        `${post("{{ test.channel | default: ''#hiring'' }}")}, { sink: mail, to: "{{ test.owner }}", cc: b@x.example, subject: s, text: t, digest: { every: 1h } }`,
      ),
      rule('vip', '{ status: Completed, candidateId: { matches: ^vip } }', post('#backend')),
      rule('practice', '{ testId: 9 }', '', ', silent: true'),
      rule('month', '{ status: Canceled, testId: [7] }', post('{{ now | date: "%m" }}')),
    ].join('');
    const file = await fileOf(rules);
    const [json] = jsonLines<{ routes: { twice: boolean }[] }>(await run(['routes', '--json', file]));
    expect(json?.routes.map(({ twice }) => twice).indexOf(true)).toBe(0);
    const { code, out, err } = await run(['routes', file]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(`7  Backend
  Completed
    slack #backend  (rule done)  twice
    mail dana@example.com, b@x.example  (rule done, digest)
    slack #backend  (rule vip, if candidateId matches ^vip)  twice
  DidNotTake
    nobody
  Canceled
    slack {{ now | date: "%m" }}  (rule month)
8  Design
  Completed
    slack #hiring  (rule done)
    mail b@x.example  (rule done, digest)
    slack #backend  (rule vip, if candidateId matches ^vip)
  DidNotTake, Canceled
    nobody
9
  Completed
    slack #hiring  (rule done)
    mail b@x.example  (rule done, digest)
    slack #backend  (rule vip, if candidateId matches ^vip)
  DidNotTake, Canceled
    nobody, as the config says
any other test
  Completed
    slack #hiring  (rule done)
    mail b@x.example  (rule done, digest)
    slack #backend  (rule vip, if candidateId matches ^vip)
  DidNotTake, Canceled
    nobody
`);
  });

  test('calls tests other ones only where some are named', async () => {
    const { write } = await workplace();
    const file = await write('config.yaml', `${sinks}rules:\n${rule('all', '{}', post('#a'))}`);
    expect((await run(['routes', file])).out).toMatch(/^any test\n/);
  });

  test('names three conditions of many', async () => {
    const any = ['a', 'b', 'c', 'd'].map((letter) => `{ candidateId: { matches: ^${letter} } }`);
    const { out } = await run(['routes', await fileOf(rule('some', `{ any: [${any.join()}] }`, post('#a')))]);
    expect(out).toContain(
      '(rule some, if (candidateId matches ^a or candidateId matches ^b or candidateId matches ^c or 1 more))',
    );
  });

  test('prints the same as one JSON object', async () => {
    const rules = rule(
      'vip',
      '{ status: Completed, testId: 7, candidateNumericalId: { exists: true } }',
      post('#a'),
    );
    const [{ routes } = { routes: [] }, ...more] = jsonLines<{ routes: object[] }>(
      await run(['routes', '--json', '--config', await fileOf(rules, `unmatched: [${post('#b')}]\n`)]),
    );
    expect(more).toEqual([]);
    expect(routes).toHaveLength(9);
    const heard = { action: 0, sink: 'slack', connector: 'slack', hours: null, digest: false };
    expect(routes[0]).toEqual({
      testId: 7,
      test: 'Backend',
      status: 'Completed',
      heardBy: [
        { ...heard, rule: 'vip', place: '#a', condition: 'candidateNumericalId is set' },
        { ...heard, rule: 'unmatched', place: '#b', condition: 'rule "vip" does not apply' },
      ],
      nobody: false,
      otherwiseNobody: false,
      nobodyIf: null,
      meant: false,
      twice: false,
    });
    expect(routes[8]).toMatchObject({ testId: null, test: null, status: 'Canceled', nobody: false });
  });

  test('of the example has nobody only where that is said', async () => {
    const [{ routes } = { routes: [] }] = jsonLines<{
      routes: { testId: number; nobody: boolean; meant: boolean; twice: boolean }[];
    }>(await run(['routes', '--json', '--config', join(root, 'config.example.yaml')]));
    const silent = routes.filter(({ nobody }) => nobody);
    expect(silent.map(({ testId, meant }) => `${testId} ${meant}`)).toEqual(Array(3).fill('7654321 true'));
    expect(routes.filter(({ twice }) => twice)).toEqual([]);
    expect(await readFile(join(root, 'config.example.yaml'), 'utf8')).toContain('silent: true');
  });
});

const all = rule('all', '{}', post('#a'));
const many = Array.from({ length: 40 }, (_, index) => index + 100).join(', ');

/** Rules, and the warnings of `check`. */
const warned = {
  'where no rule takes a status': rule('done', '{ status: Completed }', post('#a')),
  'where a test is left out, at its line':
    rule('done', '{ testId: { not: 7 } }', post('#a')) +
    rule('seven', '{ testId: 7, status: [Completed, DidNotTake] }', post('#a')),
  'where a test that only a rule names is left out': rule('others', '{ testId: { not: [9] } }', post('#a')),
  'where a condition on the candidate leaves some out': rule(
    'some',
    '{ candidateId: { matches: ^a } }',
    post('#a'),
  ),
  'where a rule has no actions': rule('practice', '{ testId: 8 }', '', ', final: true') + all,
  'where two rules post to one place': all + rule('again', '{ testId: 7, status: Completed }', post('a')),
  'where two rules mail one person':
    rule('one', '{}', '{ sink: mail, to: [b@x.example, c@x.example], subject: s, text: t }') +
    rule('two', '{ status: Canceled }', '{ sink: mail, to: Dana <C@x.example>, subject: s, text: t }'),
  'where a rule comes after a final one that takes all of its events':
    rule('early', '{ testId: [7, 8] }', post('#a'), ', final: true') +
    rule('late', '{ test.name: Design }', post('#b')) +
    all,
  'where no event can meet a rule':
    rule('none', '{ test.name: Desing, status: Completed }', post('#b')) + all,
  'once for many tests': rule('rest', `{ testId: { not: [${many}] } }`, post('#a')),
  'where somebody hears, though the rule is said to be silent': rule(
    'all',
    '{}',
    post('#a'),
    ', silent: true',
  ),
  'not where nobody is meant': `${rule('practice', '{ testId: 8 }', '', ', silent: true')}${rule('done', '{ status: Completed, testId: 7 }', post('#a'))}unmatched: silent\n`,
  'not where a digest comes besides':
    all + rule('daily', '{}', "{ sink: slack, channel: '#a', digest: { at: '09:00' } }"),
  'not where one of two conditions is met':
    rule('exists', '{ candidateNumericalId: { exists: true } }', post('#a')) +
    rule('misses', '{ candidateNumericalId: { exists: false } }', post('#a')),
};

test('check warns of who hears nothing, or twice', async () => {
  const found = Object.entries(warned).map(async ([where, rules]) => {
    const { out } = await run(['check', '--config', await fileOf(rules)], env);
    const warnings = out.matchAll(/yaml:(\d+:\d+): \w+: (?!no action uses|the catalog has no test)(.*)$/gm);
    return [where, ...Array.from(warnings, ([, place, message]) => `  ${place} ${message}`)].join('\n');
  });
  expect((await Promise.all(found)).join('\n')).toMatchInlineSnapshot(`
    "where no rule takes a status
      7:1 DidNotTake and Canceled reach nobody: no rule takes them; if that is meant, write "unmatched: silent"
    where a test is left out, at its line
      2:3 Canceled for test 7 reaches nobody; if that is meant, write "unmatched: silent"
    where a test that only a rule names is left out
      8:45 Completed, DidNotTake and Canceled for test 9 reach nobody; if that is meant, write "unmatched: silent"
    where a condition on the candidate leaves some out
      7:1 Completed, DidNotTake and Canceled reach nobody unless candidateId matches ^a: no rule takes them; if that is meant, write "unmatched: silent"
    where a rule has no actions
      8:44 Completed, DidNotTake and Canceled for test 8 reach nobody: the rule "practice" takes them and has no actions; if that is meant, write "silent: true" in it
    where two rules post to one place
      9:67 rules "all" and "again" both post to a for Completed of test 7
    where two rules mail one person
      9:53 rules "one" and "two" both post to c@x.example for Canceled
    where a rule comes after a final one that takes all of its events
      9:5 rule "late" never applies: rule "early" is final and takes all it would
    where no event can meet a rule
      8:5 rule "none" never applies: no event of any test meets its conditions
      8:38 no test has name "Desing"; did you mean "Design"?
    once for many tests
      8:43 Completed, DidNotTake and Canceled for tests 100, 101, 102 and 37 more reach nobody; if that is meant, write "unmatched: silent"
    where somebody hears, though the rule is said to be silent
      8:85 the rule has actions, so somebody is told: take these away, or leave "silent" out
    not where nobody is meant
    not where a digest comes besides
    not where one of two conditions is met"
  `);
});

describe('rules that ask what is looked up', () => {
  const others = rule('others', '{ status: [DidNotTake, Canceled] }', post('#a'));
  const strong = rule('strong', '{ status: Completed, candidate.score: { gte: 80 } }', post('#hiring'));
  const weak = rule(
    'weak',
    '{ status: Completed, candidate.score: { lt: 80 } }',
    post("{{ candidate.recruiter | default: ''#a'' }}"),
  );
  const lookups = `lookups:
  candidate:
    url: "https://tests.example.com/api/{{ event.candidateId }}"
    fields: { score: { at: /score, type: number }, recruiter: { at: /recruiter } }
`;
  const told = async (rules: string) => {
    const file = await fileOf(rules, lookups);
    const { out } = await run(['check', '--config', file], env);
    return Array.from(out.matchAll(/yaml:\d+:\d+: \w+: (.*reach.*)$/gm), ([, message]) => message);
  };

  test('check finds who reaches nobody among many facts, too: a strong one from another region', async () => {
    const facts = ['score', 'region', 'passed'].map((one) => `candidate.${one}`);
    const strongIn = (region: string) =>
      rule(
        region,
        `{ candidate.score: { gte: 80 }, candidate.region: ${region}, candidate.passed: true }`,
        post('#a'),
      );
    const missing = facts.map((fact) => `{ ${fact}: [unknown, absent] }`).join(', ');
    const rules = [
      others,
      strongIn('EU'),
      strongIn('US'),
      rule('weak', '{ candidate.score: { lt: 80 } }', post('#b')),
      rule('failed', '{ candidate.passed: false }', post('#c')),
    ];
    const fields = `fields: { score: { at: /score, type: number }, region: { at: /region }, passed: { at: /passed, type: boolean } }`;
    const asked = `lookups:
  candidate: { url: "https://tests.example.com/api/{{ event.candidateId }}", ${fields} }
`;
    const known = rule('not-known', `{ any: [ ${missing} ] }`, post('#d'));
    const warnings = async (written: string) => {
      const { out } = await run(['check', '--config', await fileOf(written, asked)], env);
      return Array.from(out.matchAll(/warning: (\w+ reaches nobody)/g), ([, message]) => message);
    };
    expect(await warnings(rules.join('') + known)).toEqual(['Completed reaches nobody']);
    const elsewhere = rule('elsewhere', '{ candidate.region: { not: [EU, US] } }', post('#e'));
    expect(await warnings(rules.join('') + elsewhere + known)).toEqual([]);
  });

  test('routes says for which facts somebody hears, and that nobody does of what is not known', async () => {
    const { out } = await run(['routes', await fileOf(others + strong + weak, lookups)]);
    expect(out).toContain(`any other test
  Completed
    slack #hiring  (rule strong, if candidate.score ≥ 80)
    slack {{ candidate.recruiter | default: '#a' }}  (rule weak, if candidate.score < 80)
    nobody if candidate.score is unknown, or candidate.score is absent
  DidNotTake, Canceled
    slack #a  (rule others)
`);
  });

  test('and check warns of that, unless a rule takes these', async () => {
    const rest = ': no rule takes it; if that is meant, write "unmatched: silent"';
    expect(await told(others + strong + weak)).toEqual([
      `Completed reaches nobody if candidate.score is unknown, or candidate.score is absent${rest}`,
    ]);
    const unknown = rule('ask', '{ candidate.score: unknown }', post('#ask'));
    expect(await told(others + strong + weak + unknown)).toEqual([
      `Completed reaches nobody if candidate.score is absent${rest}`,
    ]);
    const either = rule('ask', '{ candidate.score: [unknown, absent] }', post('#ask'));
    expect(await told(others + strong + weak + either)).toEqual([]);
    expect(await told(others + strong)).toEqual([
      `Completed reaches nobody unless candidate.score ≥ 80${rest}`,
    ]);
  });
});

test('what has not been looked at is not taken for looked at', async () => {
  const { write } = await workplace();
  const file = await write(
    'config.yaml',
    `
sinks: { slack: { connector: slack, token: x } }
rules: [ { name: all, when: { status: Completed }, then: [ { sink: slack, channel: '#a', text: x } ] } ]
`,
  );
  const config = await loadConfig(file, { env: {}, connectors });
  expect(routeWarnings(config).isAll).toBe(true);
  expect(routeWarnings(config).warnings).not.toEqual([]);
  expect(routeWarnings(config, 0)).toEqual({ warnings: [], notes: [], isAll: false });
});
