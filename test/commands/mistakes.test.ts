import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run, workplace } from './tools.ts';

/** What a hiring coordinator gets wrong: a config that is well-formed, or nearly, and says something else. */
const above = `catalog:
  7: { name: 'Backend Engineer, TypeScript', owner: dana@example.com, channel: '#backend' }
  8: { name: Design, owner: robin@example.com, channel: '#design' }
sinks:
  slack: { connector: slack, token: '\${SLACK}' }
  mail: { connector: email, url: '\${SMTP}', from: Hiring <hiring@example.com> }
unmatched: silent
`;

const env = { SLACK: 'xoxb-1', SMTP: 'smtp://localhost', TEAM: 'team' };

/** `line:column: severity: message` of everything that is found; line 1 is the first below what stands above. */
async function foundIn(text: string): Promise<string[]> {
  const { write } = await workplace();
  const whole = text.startsWith('catalog:') ? above.slice(above.indexOf('sinks:')) : above;
  const { out } = await run(['check', await write('config.yaml', whole + text)], env);
  const lines = whole.split('\n').length - 1;
  return [...out.matchAll(/config\.yaml:(\d+):(.*)$/gm)]
    .map(([, line, rest]) => `${Number(line) - lines}:${rest}`)
    .filter((found) => !found.includes('no action uses'));
}

const rule = (when: string, then = "{ sink: slack, channel: '#a', text: t }") =>
  `rules: [{ name: a, when: ${when}, then: [${then}] }]\n`;

const posting = (action: string) =>
  `rules:\n  - name: a\n    when: {}\n    then:\n      - sink: slack\n${action}`;

describe('check has words for', () => {
  test.each([
    [
      'an unclosed quote before a template',
      posting(`        channel: "{{ test.channel | default: '#hiring' }}\n        text: x\n`),
      '6:18: error: the text that begins with " has no " at its end',
    ],
    [
      'an unclosed quote with another one behind it',
      posting(
        `        channel: '#a'\n        text: '{{ event.candidateId }} done\n      - sink: slack\n        channel: 'b'\n`,
      ),
      "7:15: error: the text that begins with ' has no ' at its end",
    ],
    [
      'smart quotes in Liquid',
      posting(`        channel: '{{ test.channel | default: “#hiring” }}'\n        text: x\n`),
      `6:46: error: “ is no quote here: write ' or "`,
    ],
    [
      'two statuses with or',
      rule('{ status: DidNotTake or Canceled }'),
      '1:36: error: expected a status: Completed, DidNotTake or Canceled (write [DidNotTake, Canceled]), got "DidNotTake or Canceled"',
    ],
    [
      'days as a range',
      `hours: { office: { timezone: UTC, days: mon-fri, from: '08:00', to: '18:00' } }\n${rule('{}', "{ sink: slack, channel: '#a', text: t, hours: office }")}`,
      '1:41: error: expected a list of days (write [mon, tue, wed, thu, fri]), got "mon-fri"',
    ],
    [
      'days as a range in a list',
      `hours: { office: { timezone: UTC, days: [sat-mon], from: '08:00', to: '18:00' } }\n${rule('{}', "{ sink: slack, channel: '#a', text: t, hours: office }")}`,
      '1:42: error: expected mon, tue, wed, thu, fri, sat or sun (write [sat, sun, mon]), got "sat-mon"',
    ],
    [
      'a missing space after a colon, in a map',
      rule('{ status:Completed }'),
      '1:28: error: unknown key "status:Completed": a space is missing after its ":"',
    ],
    [
      'a missing space after a colon, on a line of its own',
      'rules:\n  - name: a\n    when:\n      status:Completed\n    then: []\n    silent: true\n',
      '4:7: error: expected conditions: a map such as { status: Completed }, got "status:Completed"; a space is missing after its ":"',
    ],
    [
      'a missing space after the first key of an action',
      "rules:\n  - name: a\n    when: {}\n    then:\n      - sink:slack\n        channel: '#a'\n",
      '5:9: error: a space is missing after the ":"',
    ],
    [
      'then as a map',
      "rules: [{ name: a, when: {}, then: { sink: slack, channel: '#a', text: t } }]\n",
      '1:36: error: expected a list of actions: put "- " before each, got a map',
    ],
    [
      'a test by its name',
      rule('{ test: Backend Engineer }'),
      '1:28: error: unknown key "test": name the test by its id, as testId: 1234567, or by a key of its catalog entry, as test.name: Backend',
    ],
    [
      "a candidate's name",
      rule('{}', "{ sink: slack, channel: '#a', text: '{{ event.candidateName }}' }"),
      '1:77: error: unknown variable `event.candidateName`; the service sends no names or addresses of candidates, only `event.candidateId` and, not always, `event.candidateNumericalId`',
    ],
    [
      'statuses where conditions are expected',
      rule('{ any: [Completed] }'),
      '1:34: error: expected conditions: a map such as { status: Completed } (for any of several statuses write status: [Completed, Canceled]), got "Completed"',
    ],
    [
      'a section that is commented out',
      'rules:\n#  - name: a\n#    when: {}\n',
      '1:1: error: "rules" is empty: expected a list of rules; what stands under it is commented out: remove the # before each line',
    ],
    [
      'actions that are commented out',
      'rules:\n  - name: a\n    when: {}\n    then:\n    # - sink: slack\n',
      '4:5: error: expected a list, got nothing; what stands under it is commented out: remove the # before each line',
    ],
    [
      'conditions that contradict each other',
      rule('{ status: Completed, not: { status: Completed } }'),
      '1:26: error: no event can match this: its conditions on status and testId exclude each other',
    ],
  ])('%s', async (_, text, expected) => {
    expect(await foundIn(text)).toEqual([expected]);
  });
});

const mail = (to: string, subject = 's') =>
  rule('{}', `{ sink: mail, to: ${to}, subject: '${subject}', text: t }`);
const says = (text: string) => rule('{}', `{ sink: slack, channel: '#a', text: '${text}' }`);

describe('check finds what is well-formed and wrong', () => {
  test.each([
    [
      'a recipient without an address',
      mail("'dana@example.com, robin'"),
      ['1:74: error: "robin" is no email address'],
    ],
    [
      'a comma in an address',
      mail("'robin@example,com'"),
      [
        '1:62: warning: "example" is no whole domain, as example.com is; did you mean "example.com"?',
        '1:70: error: "com" is no email address',
      ],
    ],
    [
      'a recipient of a list without an address',
      mail("['{{ test.owner }}', robin]"),
      ['1:76: error: "robin" is no email address'],
    ],
    [
      'a template in one brace',
      says('candidate { event.candidateId } is done'),
      ['1:84: warning: one brace is only text: write {{ event.candidateId }}'],
    ],
    [
      'bold as Markdown has it',
      says('**done** by {{ event.candidateId }}'),
      ['1:74: warning: Slack shows the asterisks: bold has one on each side, as in *bold*'],
    ],
    [
      'a link as Markdown has it',
      says('see [the test]({{ event.testId }}) or [it](https://a.example/x)'),
      [
        '1:78: warning: Slack shows the brackets: a link is <https://example.com|text>',
        '1:112: warning: Slack shows the brackets: a link is <https://example.com|text>',
      ],
    ],
    [
      'a mention that is none',
      says('@here: done'),
      ['1:74: warning: this notifies nobody: a mention is <!here>, <!channel> or <!everyone>'],
    ],
    [
      'the same in a block of mrkdwn, and in no other',
      posting(
        "        channel: '#a'\n        text: x\n        blocks:\n          - { type: section, text: { type: mrkdwn, text: '**x**' } }\n          - { type: markdown, text: '**x**' }\n",
      ),
      ['9:59: warning: Slack shows the asterisks: bold has one on each side, as in *bold*'],
    ],
    [
      'curly quotes around a whole value',
      rule('{}', '{ sink: slack, channel: “#a”, text: t }'),
      [`1:61: warning: these quotes are a part of the value: YAML knows only ' and "`],
    ],
    [
      'a non-breaking space in a name',
      rule('{}', `{ sink: slack, channel: '#a\u00A0b', text: "10\u00A0%" }`),
      ['1:64: warning: a non-breaking space (U+00A0) is in this name; type a plain space, or nothing'],
    ],
    [
      'a non-breaking space in a key',
      rule('{\u00A0status: Completed }'),
      [
        '1:27: error: unknown key "\u00A0status"; did you mean "status"?',
        '1:27: warning: a non-breaking space (U+00A0) is in this name; type a plain space, or nothing',
      ],
    ],
    [
      'a mailbox at gmial.com',
      mail('dana@gmial.com'),
      ['1:60: warning: "gmial.com" looks like a slip; did you mean "gmail.com"?'],
    ],
    [
      'half a domain',
      mail('hiring@exmaple'),
      ['1:62: warning: "exmaple" is no whole domain, as example.com is; did you mean "example.com"?'],
    ],
    [
      "a domain that differs from the file's other ones",
      mail('hiring@exmaple.com'),
      ['1:62: warning: "exmaple.com" looks like a slip; did you mean "example.com"?'],
    ],
    [
      'a value that no test has',
      rule("{ test.name: 'Backend Engineer' }"),
      [
        '1:9: warning: rule "a" never applies: no event of any test meets its conditions',
        '1:39: warning: no test has name "Backend Engineer"; did you mean "Backend Engineer, TypeScript"?',
      ],
    ],
    [
      'a value that no test has, as an exception',
      rule('{ test.name: { not: [Desing] } }'),
      ['1:47: warning: no test has name "Desing"; did you mean "Design"?'],
    ],
    [
      'a number where the catalog has text',
      `catalog:\n  7: { name: A, level: '3' }\n${rule('{ test.level: { not: [3] } }')}`,
      ['3:48: warning: no test has level "3" as a number; in the catalog it is text'],
    ],
    [
      'text where the catalog has a number',
      `catalog:\n  7: { name: A, level: 3 }\n${rule("{ test.level: { not: ['3'] } }")}`,
      ['3:48: warning: no test has level "3" as text; in the catalog it is a number'],
    ],
    [
      'a subject that lacks a value for a test which is not in the catalog',
      mail('dana@example.com', '{{ event.status }}: {{ test.name }}'),
      [
        '1:82: warning: for a test that is not in the catalog: a {{ … }} prints nothing; say what to print then, as in {{ test.name | default: event.testId }}, or {{ … | default: "" }} for nothing',
      ],
    ],
    [
      'a text that lacks a value for a test of the catalog',
      `catalog:\n  7: { name: A, note: x }\n  8: { name: B }\n${rule('{ testId: [7, 8] }', "{ sink: slack, channel: '#a', text: 'Note: {{ test.note }}' }")}`,
      [
        '4:89: warning: for test 8: a {{ … }} prints nothing; say what to print then, as in {{ test.name | default: event.testId }}, or {{ … | default: "" }} for nothing',
      ],
    ],
    [
      'a block with an empty text',
      posting(
        "        channel: '#a'\n        text: x\n        blocks:\n          - { type: section, text: { type: mrkdwn, text: '' } }\n",
      ),
      [
        '5:9: warning: for test 7, test 8, a test that is not in the catalog: Blocks without a text or an address were left out.',
      ],
    ],
  ])('%s', async (_, text, expected) => {
    expect(await foundIn(text)).toEqual(expected);
  });

  test('a key of the catalog that looks misspelt', async () => {
    const catalog =
      '  7: { name: Backend, ownr: dana@example.com, tea: a }\n  8: { name: Design, team: b }\n  9: { nmae: X, team: c, level: 3 }\n';
    const { write } = await workplace();
    const file = await write(
      'config.yaml',
      above.replace(/ {2}7: .*\n {2}8: .*\n/, catalog) + rule('{ test.team: { not: x } }'),
    );
    const { out } = await run(['check', file], env);
    expect(
      [...out.matchAll(/yaml:(\d+:\d+): warning: (nothing .*)$/gm)].map(([, at, what]) => `${at} ${what}`),
    ).toEqual([
      '2:23 nothing uses "ownr"; did you mean "owner"?',
      '2:47 nothing uses "tea"; did you mean "team"?',
      '4:8 nothing uses "nmae"; did you mean "name"?',
    ]);
  });
});

describe('check takes no offence at', () => {
  test.each([
    [
      'addresses of several forms',
      mail(
        `'"Doe, Jane" <jane@mail.example.org>; {{ test.owner | default: ''a@b.example, c@d.example'' }}, {% if test.name %}x@y.example{% endif %}'`,
      ),
    ],
    ['an address of a reference', mail("'${TEAM}@example.com, dana@gmail.com'")],
    [
      'hosts of one organization, and of this machine',
      mail('[a@hr1.example.com, b@hr2.example.com, c@hr2.example.com, root@localhost]'),
    ],
    ['one name in two countries', mail('[a@example.de, b@example.dk, c@example.dk]')],
    [
      'mrkdwn, mail addresses and code',
      says('*done* 2 ** 3 by a@here.example <!here> <https://a.example|it> [1] (x) {a: 1}'),
    ],
    ['quotes within a text', says('“Design” is done, and ‘more’ too.')],
    ['quotes at both ends of a text', says('“Design” is done, and so is “Research”')],
    [
      'a space of French typography in names that people read',
      `catalog: { 7: { name: "Développeur\u00A0: Node" } }\n${rule('{}').replace('name: a,', 'name: "Terminé\u202F!",')}`,
    ],
    [
      'a key of the catalog that a template uses',
      says('{{ test.name | default: event.testId }} {{ test.owner | default: "" }}'),
    ],
  ])('%s', async (_, text) => {
    expect(await foundIn(text)).toEqual([]);
  });
});

const root = join(import.meta.dirname, '../..');

/** Every config of a page that is whole. */
async function configsIn(page: string): Promise<string[]> {
  const text = await readFile(join(root, page), 'utf8');
  const blocks = page.endsWith('.md')
    ? [...text.matchAll(/```yaml\n([^]*?)```/g)].map(([, yaml = '']) => yaml)
    : [text];
  return blocks.filter((yaml) => /^sinks:/m.test(yaml) && /^rules:/m.test(yaml));
}

test.each(['config.example.yaml', 'README.md', 'docs/recipes.md', 'docs/messages.md'])(
  'check warns of nothing in %s',
  async (page) => {
    const configs = await configsIn(page);
    expect(configs).not.toEqual([]);
    for (const yaml of configs) {
      const { write } = await workplace();
      const names = [...yaml.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = '']) => name);
      const value = (name: string) =>
        /SMTP/.test(name)
          ? 'smtp://localhost'
          : /URL/.test(name)
            ? 'https://a.example.com/x'
            : 'whsec_c2VjcmV0';
      const file = await write('config.yaml', yaml.replaceAll(/\$\{file:[^}]*\}/g, 'adc'));
      const { out } = await run(
        ['check', file, '--json'],
        Object.fromEntries(names.map((name) => [name, value(name)])),
      );
      expect(JSON.parse(out)).toMatchObject({ warnings: [] });
    }
  },
);
