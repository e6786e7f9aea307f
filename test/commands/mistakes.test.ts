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

const posts = (more: string) => rule('{}', `{ sink: slack, channel: '#a', ${more} }`);
const mail = (to: string, subject = 's') =>
  rule('{}', `{ sink: mail, to: ${to}, subject: '${subject}', text: t }`);

const oddSpace = 'a non-breaking space (U+00A0) stands before this; type plain spaces';
const deeper =
  'the line below is indented deeper, as if it belonged to this one: a "- " is missing before this key, or there are too many spaces below';
const comma =
  'a comma ends the value before it; text with a comma has to be in quotes, and several values in [ ]';
const quote =
  "this ' ends the text; within '…' it is written twice, as in 'Don''t', or the text stands in double quotes";

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
    [
      'an indentation of non-breaking spaces',
      posting("\u00A0\u00A0\u00A0\u00A0    channel: '#a'\n        text: x\n"),
      `6:1: error: ${oddSpace}`,
    ],
    [
      'some of them in an indentation',
      'rules:\n  - name: a\n  \u00A0 when: {}\n    then: []\n',
      `3:3: error: ${oddSpace}`,
    ],
    [
      'them before a key',
      'rules:\n  - name: a\n    when:\n    \u00A0 status: Completed\n',
      `4:5: error: ${oddSpace}`,
    ],
    [
      'what cannot be seen before a key',
      'rules:\n  - name: a\n    when:\n    \u200B status: Completed\n',
      '4:5: error: an invisible character (U+200B) stands before this; type plain spaces',
    ],
    [
      'a dash that is missing before deeper lines',
      'rules:\n  name: a\n    when: {}\n    then:\n      - sink: slack\n',
      `2:9: error: ${deeper}`,
    ],
    [
      'a dash that is missing before an action',
      "rules:\n  - name: a\n    when: {}\n    then:\n      sink: slack\n        channel: '#a'\n",
      `5:13: error: ${deeper}`,
    ],
    [
      'a dash that is missing before a further entry',
      `${posting("        channel: '#a'\n")}  name: b\n    when: {}\n    then: []\n`,
      '7:1: error: every entry of this list begins with "- ", and here it is missing',
    ],
    [
      'rules without their dashes',
      "rules:\n  name: a\n  when: {}\n  then: [{ sink: slack, channel: '#a' }]\n",
      '2:3: error: expected a list of rules: put "- " before each, got a map',
    ],
    [
      'rules by their names',
      "rules:\n  a:\n    when: {}\n    then: [{ sink: slack, channel: '#a' }]\n",
      '2:3: error: expected a list of rules: write "- name: a" for "a:", got a map',
    ],
    [
      'the id of a test in quotes',
      rule("{ testId: { not: ['7'] } }"),
      '1:44: error: expected a test id: a whole number (write 7, without quotes), got "7"',
    ],
    [
      "a test's name as its id",
      rule('{ testId: Design }'),
      '1:36: error: expected a test id: a whole number (for the name of the catalog, write test.name instead of testId), got "Design"',
    ],
    ['several values without brackets', rule('{ testId: 7, 8 }'), `1:39: error: unknown key "8": ${comma}`],
    [
      'several addresses without quotes',
      mail('dana@example.com, robin@example.com'),
      `1:73: error: unknown key "robin@example.com": ${comma}`,
    ],
    [
      'an apostrophe in single quotes',
      posting("        channel: '#a'\n        text: 'Don't panic'\n"),
      `7:19: error: ${quote}`,
    ],
    [
      'an apostrophe in the name of a rule',
      "rules:\n  - name: 'Don't'\n    when: {}\n",
      `2:15: error: ${quote}`,
    ],
    [
      'how often, as a word',
      posts('digest: daily'),
      '1:75: error: expected a map such as { every: 24h } or { at: "08:00" }, got "daily"',
    ],
    [
      'how often, with a space',
      posts('digest: { every: 2 hours }'),
      '1:84: error: expected a duration such as 30s, 10m, 24h or 30d (write 2h), got "2 hours"',
    ],
    [
      'a time of day as people say it',
      posts('digest: { at: 9am }'),
      '1:81: error: expected a time of day such as "08:00" (write "09:00"), got "9am"',
    ],
    [
      'the letters of a time zone',
      `timezone: CEST\n${posts('text: t')}`,
      '1:11: error: expected a time zone such as Europe/Zagreb: a place, since such letters are not the same all year or everywhere, got "CEST"',
    ],
    [
      'the name of a language',
      `locale: german\n${posts('text: t')}`,
      '1:9: error: expected a language such as en, en-GB or hr (write de), got "german"',
    ],
    [
      'the same in the language itself',
      `locale: Hrvatski\n${posts('text: t')}`,
      '1:9: error: expected a language such as en, en-GB or hr (write hr), got "Hrvatski"',
    ],
    [
      'a fence of Markdown',
      `${posts('text: t')}\`\`\`\n`,
      '2:1: error: this line is of Markdown, around a block of code; leave it out',
    ],
    [
      'a tab, and of nothing that follows from it',
      'rules:\n  - name: a\n\twhen: {}\n    then:\n      - sink: slack\n',
      '3:1: error: a tab is used as indentation; YAML needs spaces',
    ],
  ])('%s', async (_, text, expected) => {
    expect(await foundIn(text)).toEqual([expected]);
  });
});

const says = (text: string) => rule('{}', `{ sink: slack, channel: '#a', text: '${text}' }`);

describe('check finds what is well-formed and wrong', () => {
  test.each([
    [
      'capitals and spaces in the name of a channel',
      posts('text: t').replace("'#a'", "'#Hiring Team'"),
      ['1:62: warning: names of channels have no capitals and no spaces; did you mean "#hiring-team"?'],
    ],
    [
      'a capital alone',
      posts('text: t').replace("'#a'", "'#Hiring'"),
      ['1:62: warning: names of channels have no capitals and no spaces; did you mean "#hiring"?'],
    ],
    [
      'a person by a name',
      posts('text: t').replace("'#a'", "'@dana'"),
      [
        '1:62: warning: Slack finds nobody by such a name: write the id of the person (U…) or the email address',
      ],
    ],
    [
      'two channels',
      posts('text: t').replace("'#a'", "'#hiring, {{ test.channel }}'"),
      ['1:62: warning: one action posts to one place: write an action for each'],
    ],
    [
      'a recipient without an address',
      mail("'dana@example.com, robin'"),
      ['1:74: error: "robin" is no email address'],
    ],
    [
      'a comma in an address',
      mail("'robin@example,com'"),
      ['1:70: error: "com" is no email address; did you mean "robin@example.com"?'],
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
      ['1:27: error: a non-breaking space (U+00A0) stands before this; type plain spaces'],
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

  test('hours that may stand the wrong way round, which a night shift does not', async () => {
    const { write } = await workplace();
    const hours = (from: string, to: string) =>
      `hours: { office: { timezone: UTC, from: '${from}', to: '${to}' } }\n`;
    const text = above + posts('text: t, hours: office');
    const said = async (more: string) =>
      (await run(['check', await write('config.yaml', text + more)], env)).out;
    expect(await said(hours('18:00', '09:00'))).toContain(
      'The hours office are open over midnight: from 18:00 to 09:00 on the next day.',
    );
    expect(await said(hours('09:00', '24:00'))).not.toContain('midnight');
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

test.each([
  ['slack', 'token:'],
  ['google-sheets', 'credentials:'],
  ['email', 'url: # smtp://localhost'],
  ['webhook', 'url:'],
])('check says of a sink of %s that a value is missing: %s', async (connector, written) => {
  const { write } = await workplace();
  const text = `sinks:\n  it:\n    connector: ${connector}\n    ${written}\nrules: []\n`;
  const { code, out } = await run(['check', await write('config.yaml', text)]);
  expect(code).toBe(1);
  expect(out).toMatch(/config\.yaml:4:\d+: error: .*expected/);
});

test.each(['$ADMIN_PASSWORD', '%ADMIN_PASSWORD%', '{{ ADMIN_PASSWORD }}'])(
  'check says how a variable is written, where one is written as %s',
  async (written) => {
    expect(await foundIn(`admin: { password: '${written}' }\n${posts('text: t')}`)).toEqual([
      '1:20: warning: this is taken as it stands here; a variable is written as ${NAME}',
    ]);
  },
);

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
    ...["'#Team {{ test.name }}'", "'#größe-1'", 'C0123ABCD', 'Dana@example.com', "'${TEAM}'"].map(
      (channel): [string, string] => [`the channel ${channel}`, posts('text: t').replace("'#a'", channel)],
    ),
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
