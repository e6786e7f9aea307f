import { expect, test } from 'vitest';
import { run, workplace } from './tools.ts';

/** Mistakes of a hiring coordinator: configs that are well-formed, or nearly, and do not say what was meant. */
const above = `catalog:
  7: { name: 'Backend Engineer, TypeScript', owner: dana@example.com, channel: '#backend' }
  8: { name: Design, owner: robin@example.com, channel: '#design' }
sinks:
  slack: { connector: slack, token: '\${SLACK}' }
  mail: { connector: email, url: '\${SMTP}', from: Hiring <hiring@example.com> }
unmatched: silent
`;

const env = { SLACK: 'xoxb-1', SMTP: 'smtp://localhost', TEAM: 'team' };

/** All problems as `line:column: severity: message`. Line 1 is the first below `above`. */
async function foundIn(text: string): Promise<string[]> {
  const { write } = await workplace();
  const whole = text.startsWith('sinks:')
    ? ''
    : text.startsWith('catalog:')
      ? above.slice(above.indexOf('sinks:'))
      : above;
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

/** Two actions, the first of them behind this sign in place of its "- ". */
const listed = (sign: string) =>
  `rules:\n  - name: a\n    when: {}\n    then:\n      ${sign}sink: slack\n        channel: '#a'\n      - sink: mail\n        to: a@example.com\n`;

const posts = (more: string) => rule('{}', `{ sink: slack, channel: '#a', ${more} }`);
const mail = (to: string, subject = 's') =>
  rule('{}', `{ sink: mail, to: ${to}, subject: '${subject}', text: t }`);

const mailing = (text: string) =>
  rule('{}', `{ sink: mail, to: a@example.com, subject: s, text: '${text}' }`);
const says = (text: string) => rule('{}', `{ sink: slack, channel: '#a', text: '${text}' }`);
/** A message about a catalog with values of several types. */
const ofTests = (text: string) =>
  `catalog:\n  7: { name: Backend Engineer, level: senior, floor: '3', remote: 'yes', seats: 2, room: '\${TEAM}' }\n  8: { name: UX designer, level: junior, tags: [UX, web] }\n${says(text)}`;
const named =
  "text: '{% for event in events %}{{ event.api.name | default: event.candidateId }}{% endfor %}'";
/** Digests with names that are kept for so long, and one without. */
const namesKept = (keep: string) =>
  `rules:\n  - name: a\n    when: {}\n    then:\n${[
    `digest: { every: 7d }, ${named}`,
    `digest: { at: '09:00' }, ${named}`,
    `digest: { at: ['21:00', '09:00'] }, ${named}`,
    'digest: { every: 7d, by: api.office }, text: t',
  ]
    .map((more) => `      - { sink: slack, channel: '#a', ${more} }\n`)
    .join(
      '',
    )}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', keep: ${keep}, fields: { name: { at: /name, personal: true }, office: { at: /office } } } }\n`;
const typed =
  "lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { score: { at: /score, type: number }, passed: { at: /passed, type: boolean }, stage: { at: /stage } } } }\n";
const hours = (days: string) =>
  `hours: { office: { timezone: UTC, days: ${days}, from: '08:00', to: '18:00' } }\n`;
const scored = (when: string) =>
  `${rule(when)}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { score: { at: /score, type: number }, stage: { at: /stage } } } }\n`;
const lacks = (connector: string, value: string) =>
  `sinks:\n  it:\n    connector: ${connector}\n    ${value}\nrules: []\n`;

const mistakes = {
  'a variable without braces': posts('text: event.candidateId, threadBy: testId'),
  'a variable without braces, by which later messages take the place of earlier ones': posts(
    'updateBy: event.candidateId',
  ),
  'the same as a recipient': mail('test.owner'),
  'the name of a field in one brace': says('{candidateId} is done'),
  'a variable with the sign of a shell, as a channel': rule('{}', '{ sink: slack, channel: $test.channel }'),
  'a star in the address of a policy': `${mail('a@example.com')}policies: [{ never: { sink: mail, to: '*@rival.example', when: {} } }]\n`,
  'places in an answer with brackets, and with a slash at the end': `${posts("text: '{{ api.score | default: 0 }} {{ api.name | default: 0 }}'")}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { score: { at: '/results[0]/score' }, name: { at: /name/ } } } }\n`,
  'a place in an answer with dots, and no second fault of what uses it': `${rule('{ api.score: { gte: 80 } }')}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { score: { at: result.score, type: number } } } }\n`,
  'types of other languages in a look-up, and no second fault of what uses it': `${rule('{ api.score: { gte: 80 } }', "{ sink: slack, channel: '#a', text: '{{ api.name | default: 0 }}' }")}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { score: { at: /score, type: integer }, name: { at: /name, type: string } } } }\n`,
  'fields of a look-up without their keys, and no second fault of what uses it': `${posts("text: '{{ api.score | default: 0 }}'")}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { score: /score } } }\n`,
  'fields of a look-up as a list, and no second fault of what uses it': `${posts("text: '{{ api.score | default: 0 }}'")}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: [score] } }\n`,
  'a score without its type': `${rule('{ api.score: { gte: 80 }, api.done: true }')}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { score: { at: /score }, done: { at: /done } } } }\n`,
  'the same with quotes, which compares text': `${rule("{ any: [{ api.score: { gte: '80' } }, { api.score: { not: { lt: '12.5' } } }], api.level: { gt: '3' } }")}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { score: { at: /score }, level: { at: /level, type: number } } } }\n`,
  'text of look-ups that is compared as text': `${rule("{ api.grade: { gte: B }, api.at: { gte: '2026-01-31' }, api.code: '80' }")}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { grade: { at: /grade }, at: { at: /at, type: time }, code: { at: /code } } } }\n`,
  'how long personal fields are kept, of which there are none': `${posts("text: '{{ api.name | default: 0 }}'")}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', keep: 30d, fields: { name: { at: /name } } } }\n`,
  'a summary of a week where events are kept for less': `store: { retention: 3d }\n${posts('text: t')}summary: { at: Mon 09:00, then: [{ sink: slack, channel: '#a' }] }`,
  'digests that outlast the names of candidates that they tell': namesKept('12h'),
  'a header that names nobody who logged in': `${posts('text: t')}admin: { proxy: { from: [10.0.3.7], header: X-Forwarded-For } }\n`,
  'the whole internet as proxies': `${posts('text: t')}receiver: { trustProxy: [0.0.0.0/0] }\n`,
  'two owners of a test as a list': `catalog: { 7: { owner: [dana@example.com, robin@example.com] } }\n${posts('text: t')}`,
  'the name of a test in place of its entry': `catalog: { 7: Backend Engineer }\n${posts('text: t')}`,
  'the name of a table as the catalog': `catalog: tests.csv\n${posts('text: t')}`,
  'actions of an alert without dashes': `${posts('text: t')}alerts: { dead: { then: { sink: slack, channel: '#ops' } } }\n`,
  'an unclosed quote before a template': posting(
    `        channel: "{{ test.channel | default: '#hiring' }}\n        text: x\n`,
  ),
  'an unclosed quote with another one behind it': posting(
    `        channel: '#a'\n        text: '{{ event.candidateId }} done\n      - sink: slack\n        channel: 'b'\n`,
  ),
  'smart quotes in Liquid': posting(
    `        channel: '{{ test.channel | default: “#hiring” }}'\n        text: x\n`,
  ),
  'a new line as programs write it': says('{{ event.testId }} is done\\nLook at it'),
  'the same in a mail': mailing('Done\\nLook'),
  'HTML in a message to Slack': says('<p>{{ event.testId }}</p><br>done'),
  'HTML in the plain text of a mail': mailing('<b>{{ event.testId }}</b> is done'),
  'a link as Slack has it in a mail': mailing('See <https://a.example/{{ event.testId }}|the page>'),
  'minutes for the month, and the month for minutes': says(
    '{{ now | date: "%d.%M.%Y" }} {{ now | date: "%H:%m" }}',
  ),
  'two statuses with or': rule('{ status: DidNotTake or Canceled }'),
  'days as a range': hours('mon-fri') + posts('text: t, hours: office'),
  'days as a range in a list': hours('[sat-mon]') + posts('text: t, hours: office'),
  'a missing colon': `rules\n  - name: a\n    when: {}\n    then: [{ sink: slack }]\n`,
  'a full-width colon': `rules\uFF1A\n  - name: a\n    when: {}\n    then: [{ sink: slack }]\n`,
  'a comment of another language': `// of the team\n${rule('{}')}`,
  'such a comment behind a value': rule('{}').replace(']', '] // tells it'),
  'a name of a test with an underscore': rule('{ test_name: Backend }'),
  'the same in camel case': rule('{ testTeam: platform }'),
  'true in quotes': rule('{}').replace('when', 'final: "true", when'),
  'an action without then': `rules:\n  - name: a\n    when: {}\n    sink: slack\n    text: t\n`,
  'the same as a list': `rules:\n  - name: a\n    when: {}\n    - sink: slack\n`,
  'the address of a store in the place of its map': 'store: sqlite:./data/connector.db\nrules: []\n',
  'a missing space after a colon, in a map': rule('{ status:Completed }'),
  'a missing space after a colon, on a line of its own':
    'rules:\n  - name: a\n    when:\n      status:Completed\n    then: []\n    silent: true\n',
  'a missing space after the first key of an action':
    "rules:\n  - name: a\n    when: {}\n    then:\n      - sink:slack\n        channel: '#a'\n",
  'conditions beside when':
    'rules:\n  - name: a\n    when:\n    status: Completed\n    test.team: core\n    then: []\n    silent: true\n',
  'a key indented less than the first one of its entry':
    'rules:\n  - name: a\n   when: {}\n    then: []\n    silent: true\n',
  'then as a map': "rules: [{ name: a, when: {}, then: { sink: slack, channel: '#a', text: t } }]\n",
  'a test by its name': rule('{ test: Backend Engineer }'),
  'several conditions with and': rule('{ and: [{ status: Completed }, { testId: 7 }] }'),
  'the same with or, in a policy': `${posts('text: t')}policies: [{ never: { sink: slack, channel: '#b', when: { or: [{ testId: 7 }, { testId: 8 }] } } }]\n`,
  'comparisons as other programs have them': scored(
    '{ any: [{ api.score: { between: [70, 80] } }, { api.score: { above: 80 } }, { api.stage: { contains: Offer } }, { status: { eq: Completed } }, { status: { notIn: [Canceled] } }] }',
  ),
  'a number that something must reach': rule('{ test.level: { min: 80 }, testId: { max: 9 } }'),
  "a candidate's name": rule('{}', "{ sink: slack, channel: '#a', text: '{{ event.candidateName }}' }"),
  'statuses where conditions are expected': rule('{ any: [Completed] }'),
  'a section that is commented out': 'rules:\n#  - name: a\n#    when: {}\n',
  'actions that are commented out': 'rules:\n  - name: a\n    when: {}\n    then:\n    # - sink: slack\n',
  'conditions that contradict each other': rule('{ status: Completed, not: { status: Completed } }'),
  'a status that it must not be, in words': rule('{ status: not Completed }'),
  'a status that it must not be, by a sign': rule("{ status: '!Completed' }"),
  'every event, in words': rule('always'),
  'working days in words': hours('weekdays') + posts('text: t, hours: office'),
  'several sinks in one action': rule('{}', "{ sink: 'slack, mail', text: t }"),
  'a list of sinks': rule('{}', '{ sink: [slack, mail], text: t }'),
  'the name of a candidate, who is looked up nowhere': says('{{ candidate.name }}'),
  'a text that begins with >': posting("        channel: '#a'\n        text: > please look\n"),
  'a text that begins with |': posting("        channel: '#a'\n        text: | please look\n"),
  'a text that begins with !': posting("        channel: '#a'\n        text: !important look\n"),
  'a text that begins with &': posting("        channel: '#a'\n        text: &look\n"),
  'a text that is bold': posting("        channel: '#a'\n        text: *Done*\n"),
  'a comma that is missing in brackets': 'catalog:\n  7: { name: Design team: internal }\nrules: []\n',
  'a comma that is missing after quotes': "catalog:\n  7: { name: 'Design' team: internal }\nrules: []\n",
  'a space that is missing before brackets': 'catalog:\n  7:{ name: Design, team: core }\nrules: []\n',
  'a dash that is missing before a further rule':
    'rules:\n  - name: a\n    when: {}\n    then: []\n    name: b\n    when: {}\n    then: []\n',
  'a dash of a word processor': 'rules:\n  - name: a\n    when: {}\n    then: []\n  \u2013 name: b\n',
  'a channel without quotes in brackets, before a further rule':
    'rules:\n  - name: a\n    when: {}\n    then: [{ sink: slack, channel: #hiring, text: t }]\n  - name: b\n    when: {}\n    then: []\n',
  'a brace that is not closed, before a further rule':
    'rules:\n  - name: a\n    when: { status: Completed\n  - name: b\n    when: {}\n    then: []\n',
  'a dash on the line of its key':
    'rules:\n  - name: a\n    when: {}\n    then: - sink: slack\n            channel: general\n',
  'no space after the dash of an entry': 'rules:\n  - name: a\n    when: {}\n    then: []\n  -name: b\n',
  'no space after the dashes of a list': rule(
    '{}',
    '{ sink: mail, to: -robin@example.com, subject: s, text: t }',
  ),
  'a variable without its $': "sinks:\n  s: { connector: slack, token: '{SLACK}' }\nrules: []\n",
  'an indentation of non-breaking spaces': posting(
    "\u00A0\u00A0\u00A0\u00A0    channel: '#a'\n        text: x\n",
  ),
  'some of them in an indentation': 'rules:\n  - name: a\n  \u00A0 when: {}\n    then: []\n',
  'them before a key': 'rules:\n  - name: a\n    when:\n    \u00A0 status: Completed\n',
  'what cannot be seen before a key': 'rules:\n  - name: a\n    when:\n    \u200B status: Completed\n',
  'a non-breaking space behind a colon': posting("        channel:\u00A0'#a'\n        text: t\n"),
  'the same behind each colon':
    "receiver:\n  allowFrom:\u00A0any\nrules:\n  - name:\u00A0a\n    when:\u00A0{}\n    then:\n      - sink:\u00A0slack\n        channel:\u00A0'#a'\n",
  'a non-breaking space behind a colon in braces': rule('{}', "{ sink: slack, channel:\u00A0'#a', text: t }"),
  'the same behind the first dash of a list': listed('-\u00A0'),
  'the same behind the only dash of a list':
    'rules:\n  - name: a\n    when: {}\n    then:\n      -\u00A0sink: slack\n',
  'a dash of a word processor before the first entry': listed('– '),
  'such dashes in two lists': `${listed('– ')}  - name: b\n    when: {}\n    then:\n      – sink: slack\n        channel: '#b'\n`,
  'a bullet before the only entry': 'rules:\n  - name: a\n    when: {}\n    then:\n      • sink: slack\n',
  'no space behind the first dash of a list': listed('-'),
  'a dash that is missing before deeper lines':
    'rules:\n  name: a\n    when: {}\n    then:\n      - sink: slack\n',
  'a dash that is missing before an action':
    "rules:\n  - name: a\n    when: {}\n    then:\n      sink: slack\n        channel: '#a'\n",
  'a dash that is missing before a further entry': `${posting("        channel: '#a'\n")}  name: b\n    when: {}\n    then: []\n`,
  'rules without their dashes': "rules:\n  name: a\n  when: {}\n  then: [{ sink: slack, channel: '#a' }]\n",
  'rules by their names': "rules:\n  a:\n    when: {}\n    then: [{ sink: slack, channel: '#a' }]\n",
  'the id of a test in quotes': rule("{ testId: { not: ['7'] } }"),
  "a test's name as its id": rule('{ testId: Design }'),
  'several values without brackets': rule('{ testId: 7, 8 }'),
  'several addresses without quotes': mail('dana@example.com, robin@example.com'),
  'a name with a comma without quotes': `catalog:\n  7: { name: Backend, TypeScript, owner: dana@example.com, robin@example.com }\n${posts('text: t')}`,
  'an apostrophe in single quotes': posting("        channel: '#a'\n        text: 'Don't panic'\n"),
  'an apostrophe and a colon in single quotes': posting(
    "        channel: '#a'\n        text: 'We couldn't assess: {{ test.name }}'\n",
  ),
  'an apostrophe before a letter with an accent': posting(
    "        channel: '#a'\n        text: 'Résultat de l'équipe : {{ test.name }}'\n",
  ),
  'an apostrophe and a colon in braces': posting(
    "        channel: '#a'\n      - { sink: slack, channel: '#b', text: 'We couldn't assess: it' }\n",
  ),
  'double quotes within double quotes': posting(
    '        channel: "{{ test.channel | default: "#a" }}"\n        text: t\n',
  ),
  'the same around a word, and in brackets': posts('text: "He said "done" to us"'),
  'an apostrophe in the name of a rule': "rules:\n  - name: 'Don't'\n    when: {}\n",
  'an edit in a digest': posts("digest: { at: '09:00' }, updateBy: '{{ event.candidateId }}'"),
  'how often, as a word': posts('digest: daily'),
  'how often, with a space': posts('digest: { every: 2 hours }'),
  'a time of day as people say it': posts('digest: { at: 9am }'),
  'the letters of a time zone': `timezone: CEST\n${posts('text: t')}`,
  'the name of a language': `locale: german\n${posts('text: t')}`,
  'the same in the language itself': `locale: Hrvatski\n${posts('text: t')}`,
  'a fence of Markdown': `${posts('text: t')}\`\`\`\n`,
  'a merge of Git with conflicts': `<<<<<<< HEAD\n${posts('text: t')}=======\n${posts('text: u')}>>>>>>> theirs\n`,
  'a tab, and of nothing that follows from it':
    'rules:\n  - name: a\n\twhen: {}\n    then:\n      - sink: slack\n',

  'blocks from the builder of Slack, indented by tabs': posting(
    `        channel: '#a'\n        blocks: [\n\t\t{\n\t\t\t"type": "section",\n\t\t\t"text": { "type": "mrkdwn", "text": "done" }\n\t\t}\n\t]\n`,
  ),
  'the same below their key, with brackets at the margin': posting(
    `        channel: '#a'\n        blocks:\n[\n  {\n    "type": "section",\n    "text": { "type": "mrkdwn", "text": "done" }\n  }\n]\n`,
  ),
  'a closing bracket at the margin': posting(
    `        channel: '#a'\n        blocks: [\n          { type: section, text: { type: mrkdwn, text: done } }\n]\n`,
  ),
  'a brace and a bracket in the wrong order': `rules:\n  - name: a\n    when: {}\n    then: [ { sink: s, body: { text: done } ] }\n`,
  'the JSON of a service account below its key, as it was downloaded': lacks(
    'google-sheets',
    `spreadsheetId: abc\n    credentials:\n      {\n  "type": "service_account",\n  "project_id": "b",\n  "client_email": "a@b.iam.gserviceaccount.com"\n}`,
  ),
  'a mail server in the parts that a provider lists': lacks(
    'email',
    'from: a@example.com\n    host: smtp.example.com\n    port: 587',
  ),
  'capitals and spaces in the name of a channel': posts('text: t').replace("'#a'", "'#Hiring Team'"),
  'a capital alone': posts('text: t').replace("'#a'", "'#Hiring'"),
  'the link of a channel': posts('text: t').replace("'#a'", "'https://x.slack.com/archives/C0123456789'"),
  'a person by a name': posts('text: t').replace("'#a'", "'@dana'"),
  'two number signs before a channel': posts('text: t').replace("'#a'", "'##hiring'"),
  'a wide number sign': posts('text: t').replace("'#a'", "'＃hiring'"),
  'a dot in the name of a channel': posts('text: t').replace("'#a'", "'#hiring.backend'"),
  'letters of other languages in it': posts('text: t').replace("'#a'", "'#新規採用-für_alle'"),
  'two channels': posts('text: t').replace("'#a'", "'#hiring, {{ test.channel }}'"),
  'a recipient without an address': mail("'dana@example.com, robin'"),
  'a name as Slack has it for an address': mail("'@robin'"),
  'a comma in an address': mail("'robin@example,com'"),
  'a recipient of a list without an address': mail("['{{ test.owner }}', robin]"),
  'a status that no event has, in a template': says(
    '{% if event.status == "Cancelled" %}c{% elsif event.status != "completed" %}d{% else %}e{% endif %}',
  ),
  'the same of the events of a digest': posts(
    'digest: { every: 1h }, text: \'{% for one in events %}{% if one.status == "Passed" %}x{% endif %}y{% endfor %}\'',
  ),
  'a test id in quotes, in a template': says(
    '{% if event.testId == "7" %}a{% else %}b{% endif %}{% if test.id == "7" %}c{% endif %}',
  ),
  'a part that no status has, and one of a number, in a template': says(
    '{% if event.status contains "cancel" %}a{% elsif event.status contains "Passed" %}b{% elsif event.testId contains 7 %}c{% else %}d{% endif %}',
  ),
  'a value that no test has, in a template': ofTests(
    '{% if test.level == "Senior" %}a{% elsif test.level != "middle" or "Lead" == test.level %}b{% else %}c{% endif %}{% case test.level %}{% when "Junior", "senior" %}d{% else %}e{% endcase %}',
  ),
  'a part that no test has, in a template': ofTests(
    '{% if test.name contains "Designer" %}a{% elsif test.name contains "engineer" %}b{% elsif test.tags contains "ux" %}c{% else %}d{% endif %}',
  ),
  'a test that the catalog lacks, in a template': ofTests(
    '{% if event.testId == 77 %}a{% elsif test.id != 9 %}b{% else %}c{% endif %}{% case event.testId %}{% when 7, 80 %}d{% else %}e{% endcase %}',
  ),
  'a number and a word that the catalog has as text, and the other way round': ofTests(
    '{% if test.floor == 3 %}a{% elsif test.remote == true %}b{% elsif test.seats == "2" %}c{% else %}d{% endif %}',
  ),
  'the same of the events of a digest, and in a place': rule(
    '{}',
    '{ sink: slack, channel: "{% if test.name == \'design\' %}#design{% else %}#a{% endif %}", digest: { every: 1h, by: testId }, text: \'{% for one in events %}{% if one.test.name == "Desing" %}x{% endif %}y{% endfor %}{% if events.first.testId == 9 %}z{% endif %}\' }',
  ),
  'what tests have, in templates': ofTests(
    '{% if test.level == "senior" or test.tags contains "UX" or test.name contains "Eng" or "senior,lead" contains test.level %}a{% elsif test.level == "" or test.owner == nil or test.level == blank or test.remote == "yes" %}b{% elsif event.testId == 8 and test.id != 7 %}c{% elsif test.level == "${TEAM}" or test.room == "x" or test.seats > 7 %}d{% else %}e{% endif %}{% case test.level | upcase %}{% when "SENIOR" %}f{% else %}g{% endcase %}{% for event in test.tags %}{% if event.status == "x" %}h{% endif %}{% endfor %}',
  ),
  'the same without a catalog, and of what a look-up finds of tests': `catalog: {}\n${says('{% if test.level == "Senior" or event.testId == 9 or test.name contains "x" %}a{% elsif test.level == nil or test.name == nil %}b{% else %}c{% endif %}')}lookups: { test: { url: 'https://a.example/{{ event.testId }}', fields: { name: { at: /name }, level: { at: /level } } } }\n`,
  'the same with a catalog': `catalog: { 7: { name: A, level: senior } }\n${says('{% if test.level == nil %}a{% elsif test.level == "Senior" %}b{% else %}c{% endif %}')}lookups: { test: { url: 'https://a.example/{{ event.testId }}', fields: { level: { at: /level } } } }\n`,
  'days that are added to a time, and seconds, which is right': says(
    'by {{ now | plus: 3 | date: "%d.%m.%Y" }} or {{ event.receivedAt | minus: 1 | date: "short" }}, {{ now | date: "%s" | plus: 259200 | date: "%d.%m.%Y" }}',
  ),
  'events of a digest that are chosen by a value which none has': posts(
    `digest: { every: 1h }, text: "{% assign done = events | where: 'status', 'completed' %}{{ done.size }} of {{ events | reject: 'testId', '7' | size }} {% assign d = events | where: 'test.name', 'Designer' %}{{ d.size }}{% for one in done %}{% if one.status == 'Cancelled' %}x{% endif %}{% endfor %}"`,
  ),
  'events of a digest that are chosen by what they have': posts(
    `digest: { every: 1h }, text: "{% assign done = events | where: 'status', 'Completed' | where: 'testId', 7 %}{{ done.size }} {{ events | where: 'candidateNumericalId' | size }} {{ events | where: 'test.name', 'Design' | size }} {{ events | map: 'status' | uniq | join: ', ' }}{% assign s = 'Completed' %}{{ events | where: 'status', s | size }}"`,
  ),
  'comparisons that together always hold, or never': says(
    '{% if event.status != "Completed" or event.status != "Canceled" %}a{% elsif test.name == "Design" and test.name == "Backend Engineer, TypeScript" %}b{% elsif event.testId == 7 and event.testId == 8 %}c{% else %}d{% endif %}{% unless event.testId != 7 or event.testId != 8 or event.testId != 9 %}e{% endunless %}',
  ),
  'comparisons that look like that and are right': says(
    '{% if event.status != "Completed" and event.status != "Canceled" %}a{% elsif event.status == "Completed" or event.status == "Canceled" %}b{% elsif event.testId == 7 and event.testId == 7 %}c{% elsif event.testId != 7 or test.name != "Design" %}d{% elsif event.testId != 7 or event.testId != 8 and test.name %}e{% elsif test.name != blank or test.name != nil %}f{% elsif test.name contains "Back" and test.name contains "Type" %}g{% else %}h{% endif %}',
  ),
  'two bounds in one comparison': `${says('{% if api.score == nil %}?{% elsif 70 <= api.score < 80 %}a{% elsif event.status == "Completed" == true %}b{% else %}c{% endif %}')}${typed}`,
  'facts beside values of another type, in a template': `${says('{% if api.passed == nil or api.score == nil or api.stage == nil %}?{% elsif api.passed == "true" %}a{% elsif api.passed != 1 %}b{% elsif api.score == "80" %}c{% elsif api.stage == 3 %}d{% elsif api.passed contains "x" %}e{% elsif event.candidateId == 20970 %}f{% else %}g{% endif %}{% case api.passed %}{% when "yes" %}h{% endcase %}')}${typed}`,
  'the same of the events of a digest, and right ones': `${posts(`digest: { every: 1h }, text: "{% for one in events %}{% if one.api.passed == nil %}?{% elsif one.api.passed == 'true' %}a{% elsif one.api.passed == true and one.candidateId == '20970' %}b{% else %}c{% endif %}{% unless one.api.score == nil %}{% if one.api.score == 80 or one.api.score >= 90 %}d{% endif %}{% endunless %}{% if one.api.stage == '3' or one.api.stage contains 3 %}e{% endif %}{% endfor %}{% for api in events %}{{ api.candidateId }}{% endfor %}"`)}${typed}`,
  'the number of a candidate, which not every event has': rule(
    '{}',
    "{ sink: mail, to: a@example.com, subject: 'No {{ event.candidateNumericalId }}', text: 'No {{ event.candidateNumericalId }}: {{ event.candidateId }}' }",
  ),
  'the same where something else is said then': says(
    '{{ event.candidateNumericalId | default: event.testId }}{% if event.candidateNumericalId %} {{ event.candidateNumericalId }}{% endif %}',
  ),
  'else if in two words': says('{% if event.testId == 7 %}a{% else if event.testId == 8 %}b{% endif %}'),
  'elseif in one word': says('{% if event.testId == 7 %}a{% elseif event.testId == 8 %}b{% endif %}'),
  'a second value without its comparison': says(
    '{% if event.status == "DidNotTake" or "Canceled" %}a{% elsif event.testId == 7 or 8 %}b{% else %}c{% endif %}',
  ),
  'values with or between them, in an output': says(
    '{{ event.candidateNumericalId or "one or none" or event.candidateId | upcase }} {{ test.name and test.owner }}',
  ),
  'the same as a channel': rule('{}', `{ sink: slack, channel: "{{ test.channel or '#hiring' }}", text: t }`),
  'the same as programs write it': says('{{ test.name || event.testId }}'),
  'comparisons that are printed': says(
    '{{ event.status == "Completed" or event.testId == 7 }} {{ "this or that" }}',
  ),
  'all of a variable in place of a part': `${says('{{ api }} completed {{test}}: {{ event }}')}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { name: { at: /name } } } }\n`,
  'a variable of that name': says(
    '{% assign test = "x" %}{{ test }} {{ event.raw }}{% for rule in (1..2) %}{{ rule }}{% endfor %}',
  ),
  'a status that no event has, in a case': says(
    '{% case event.status %}{% when "completed" %}a{% when "Cancelled", "DidNotTake" %}b{% else %}c{% endcase %}{% case event.testId %}{% when 7 or "8" %}a{% else %}c{% endcase %}',
  ),
  'the same before the sign': says('{% if "Cancelled" == event.status %}c{% else %}d{% endif %}'),
  'the same in a comment, and as text': says(
    '{% comment %}{% if event.status == "Done" %}c{% endif %}{% endcomment %}{% raw %}{{ event.status == "Done" }}{% endraw %}',
  ),
  'a case that is right': says(
    '{% case event.status %}{% when "Completed" or "Canceled" %}a{% else %}c{% endcase %}{% case test.name %}{% when "Design" %}b{% else %}c{% endcase %}{% case event.status | downcase %}{% when "completed" %}b{% else %}c{% endcase %}{% if event.candidateId contains "or" or event.testId == 8 or event.candidateId == "5 or 6 and up" %}d{% endif %}',
  ),
  'what stands beside the event, as a part of it': says(
    '{{ event.test.name }} {{ event.testName }} {{ event.test_owner }} {{ event.channel }} {{ event.date }} {{ event.created_at }} {{ test.status }}',
  ),
  'what a look-up found, as a part of the event': `${says(
    '{{ event.api.score }}',
  )}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { score: { at: /score, type: number } } } }\n`,
  'another spelling of a field of the event, and parts that nothing has': `${says(
    '{{ event.candidate_id }} {{ event.testID }} {{ event.candidate.email }} {{ event.test.score }} {{ event.test[0] }}',
  )}lookups: { candidate: { url: 'https://a.example/{{ event.candidateId }}', fields: { id: { at: /id } } } }\n`,
  'filters of Jinja and JavaScript': says(
    '{{ test.name | upper }} {{ test.name | toLowerCase }} {{ test.name | length }} {{ now | strftime: "%d" }}',
  ),
  'conditions of other languages in an output': says(
    '{{ test.name if test.name else "x" }} {{ test.name ?? "x" }}',
  ),
  'brackets around a condition': says('{% if (event.testId == 7) %}a{% endif %}'),
  'a block of Handlebars': says('{{#if test.name}}a{{/if}}'),
  'a template as JavaScript writes it': says('${event.candidateId} and ${candidateId}'),
  'fields as mail programs merge them': mailing(
    '«candidateId» [candidateId] %testId% <%= event.testId %> <<candidateId>> <testId> [x]',
  ),
  'what an action has, in an alert': `${mail('a@example.com')}alerts: { dead: { sink: slack, channel: '#ops' } }\n`,
  'the channel of a sink': `sinks:\n  s: { connector: slack, token: '\${SLACK}', channel: '#a' }\nunmatched: silent\n${rule('{}', "{ sink: s, channel: '#a' }")}`,
  'what a rule has, in an action': posts('final: true'),
  'what a rule has, in an action of an alert': `${mail('a@example.com')}alerts: { dead: { then: [{ sink: slack, channel: '#ops', when: {} }, { sink: mail, to: a@example.com, text: t }] } }\n`,
  'a list of channels': rule('{}', "{ sink: slack, channel: ['#a', '#b'] }"),
  'a pattern as JavaScript writes it': scored(
    "{ any: [{ api.stage: { matches: '/senior/i' } }, { test.name: { not: { matches: /design/ } } }] }",
  ),
  'a mention in place of a channel': rule('{}', "{ sink: slack, channel: '<@U012AB3CD>' }"),
  'a date format of another language': says('on {{ now | date: "DD.MM.YYYY" }}'),
  'comparisons and dates that are right': says(
    '{% if event.status == "Canceled" or event.testId == 7 %}{{ now | date: "%d.%m.%Y" }}{% else %}{{ now | date: "short" }}{% endif %}',
  ),
  'what to say of nothing behind a filter that makes something of it': `${says(
    '{{ api.score | round: 1 | default: "no score" }}{% assign s = api.score | append: "%" | upcase | default: "none" %}{{ s }}',
  )}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { score: { at: /score, type: number } } } }\n`,
  'what is no such filter': says('{{ test.name | append: test.owner | append: "" | default: "round" }}'),
  'a template in one brace': says('candidate { event.candidateId } is done'),
  'a score with a sign before it, as a range, and as a percentage': scored(
    "{ any: [{ api.score: '>= 80' }, { api.score: 70-80 }, { api.score: { lt: 50% } }] }",
  ),
  'a text with a sign before it, or a star': scored(
    "{ any: [{ api.stage: '!Hired' }, { api.stage: ['Offer*'] }, { api.stage: '*' }, { api.stage: '>= 80' }] }",
  ),
  'a text that only looks like that': scored("{ api.stage: [A*, '- > -', C!, '<none>'] }"),
  'what is looked up, as a map': scored('{ api: { score: { gte: 80 } } }'),
  'a number sign in a text without quotes': posting(
    "        channel: '#a'\n        text: Candidate #4711 is done\n",
  ),
  'a number sign before a template in such a text': posting(
    "        channel: '#a'\n        text: Candidate # {{ event.candidateNumericalId }} is done\n",
  ),
  'a comment after a text': posting("        channel: '#a'\n        text: Candidate # 4711 is done\n"),
  'bold as Markdown has it': says('**done** by {{ event.candidateId }}'),
  'a link as Markdown has it': says('see [the test]({{ event.testId }}) or [it](https://a.example/x)'),
  'a mention that is none': says('@here: done'),
  'a person who is mentioned by a name': posts("text: 'cc @dana, and @robin.b'"),
  'mentions in brackets without an id': posts(
    "text: 'cc <@dana>, <@Robin.b|Robin>, <@Ana Kovač>, <@dana@example.com> and <@here>'",
  ),
  'what only looks like that': posts(
    "text: 'a@example.com, @dana@example.social, @scope/name, https://x.example/@dana, <@U0123ABCD>, <@W0123ABCD|dana>, <@{{ event.testId }}>'",
  ),
  'the same in a block of mrkdwn, and in no other': posting(
    "        channel: '#a'\n        text: x\n        blocks:\n          - { type: section, text: { type: mrkdwn, text: '**x**' } }\n          - { type: markdown, text: '**x**' }\n",
  ),
  'the sign of an offset, which such names have the other way round': `timezone: Etc/GMT-1\n${posts('text: t')}`,
  'the same to the west, of office hours': `hours: { office: { timezone: Etc/GMT+5, from: '08:00', to: '18:00' } }\n${posts('hours: office')}`,
  'no offset at all': `timezone: Etc/GMT+0\n${posts('text: t')}`,
  'a time zone without summer time': `timezone: EST\n${posts('text: t')}`,
  'the same of office hours': `hours: { office: { timezone: MST, from: '08:00', to: '18:00' } }\n${posts('hours: office')}`,
  'the same of a digest, in small letters': posts("digest: { at: '09:00', timezone: est }"),
  'a field of that name in what a webhook is sent':
    "sinks: { it: { connector: webhook, url: 'https://a.example' } }\nrules: [{ name: a, when: {}, then: [{ sink: it, body: { timezone: EST, digest: { timezone: EST } } }] }]\n",
  'a colon in a text without quotes, and of nothing that follows from it':
    'rules:\n  - name: a\n    when: {}\n    then:\n      - sink: mail\n        subject: Result: {{ test.name }}\n        to: a@example.com\n',
  'conditions on the line of their key': `rules:\n  - name: a\n    when: status: Completed\n    then: []\n    silent: true\n`,
  'keys of an action on one line': `rules:\n  - name: a\n    when: {}\n    then:\n      - sink: slack, channel: '#a'\n`,
  'a key of an action that is indented less than the first':
    "rules:\n  - name: a\n    when: {}\n    then:\n      - sink: slack\n      channel: '#a'\n",
  'a text that is not indented below its sign': `rules:\n  - name: a\n    when: {}\n    then:\n      - sink: slack\n        channel: '#a'\n        text: |\n        Candidate {{ event.candidateId }}\n        is done\n`,
  'commas at the ends of lines, as JSON has them': `rules:\n  - name: "a",\n    when: {},\n    then: []\n`,
  'a comma behind a template without quotes': `rules:\n  - name: a\n    when: {}\n    then:\n      - sink: mail\n        to: {{ test.owner }}, a@example.com\n`,
  'a comma between texts, each in quotes': `rules:\n  - name: a\n    when: { status: Completed }\n    then:\n      - sink: mail\n        to: 'a@example.com', 'b@example.com'\n`,
  'a comment as style sheets have it': `/* of the team */\n${rule('{}')}`,
  'several tests in one text, as people write them': rule(
    "{ any: [{ testId: '7, 8' }, { testId: 7 or 8 }, { testId: 7-9 }, { testId: '1.234.567' }, { testId: '>= 7' }, { testId: all }, { testId: '*' }] }",
  ),
  'a sign in place of a colon': rule('{ status = Completed }'),
  'numbers and true where people read text': `admin: { password: 123456789012 }\n${posts('text: 5, threadBy: true')}`,
  'a sink in place of its action': `rules:\n  - name: a\n    when: {}\n    then: [slack]\n  - name: b\n    when: {}\n    then: slack\n  - name: c\n    when: {}\n    then:\n      - slack: '#hiring'\n`,
  'the keys of a sink on the level of its name':
    "sinks:\n  slack:\n  connector: slack\n  token: '${SLACK}'\nrules: [{ name: a, when: {}, then: [{ sink: slack, channel: '#a' }] }]\n",
  'opening hours without a name': `hours: { from: '08:00', to: '18:00' }\n${posts('text: t')}`,
  'a look-up without a name': `lookups:\n  url: 'https://a.example/{{ event.candidateId }}'\n  fields: { name: { at: /name } }\n${posts('text: t')}`,
  'the actions of an alert in the place of the alert': `alerts: { dead: [{ sink: mail, to: a@example.com }] }\n${posts('text: t')}`,
  'the sender of a mail in its action': rule('{}', '{ sink: mail, to: a@example.com, from: b@example.com }'),
  'operators of other languages in a condition': posting(
    `        channel: '#a'\n        text: "{% if event.status in ['Completed', 'Canceled'] %}a{% endif %}{% if event.status is 'Completed' %}b{% endif %}{% if test.name is defined %}c{% endif %}{% if test.name startswith 'B' %}d{% endif %}{% if event.status eq 'Completed' %}e{% endif %}"\n`,
  ),
  'a password that keeps its line break': `admin:\n  password: |\n    a-\${TEAM}-of-words\n${posts('text: t')}`,
  'a whole address as the path of a call':
    "sinks: { it: { connector: webhook, url: 'https://a.example' } }\nrules: [{ name: a, when: {}, then: [{ sink: it, path: 'https://b.example/x' }] }]\n",
  'curly quotes around a whole value': rule('{}', '{ sink: slack, channel: “#a”, text: t }'),
  'a non-breaking space in a name': rule('{}', `{ sink: slack, channel: '#a\u00A0b', text: "10\u00A0%" }`),
  'a non-breaking space in a key': rule('{\u00A0status: Completed }'),
  'what a paste brings along, in a channel, two addresses, a status, what an API says, a test and a token': `catalog:\n  7: { name: A, owner: '\u202Adana@example.com', team: Platform }\n${rule('{ status: Completed\u200E, test.team: "Plat\u00ADform", api.stage: "Final\u2060" }', `{ sink: slack, channel: "#a\u3000", text: t }, { sink: mail, to: '\u2068dana@example.com', subject: s, text: t }`)}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', auth: { bearer: '\${SLACK}\u200B' }, fields: { stage: { at: /stage } } } }\n`,
  'addresses as mail programs and HTML have them':
    "sinks:\n  a: { connector: webhook, url: 'https://a.example/c <https://a.example/c>' }\n  b: { connector: webhook, url: 'https://a.example/c?a=1&amp;b=2' }\n  c:\n    connector: webhook\n    url: >\n      https://a.example/c?a=1&b=2\nrules: []\nlookups: { api: { url: 'https://a.example/{{ event.candidateId | default: \"a b\" }} ', fields: { x: { at: /x } } } }\n",
  'emoji and scripts that need such characters': `catalog:\n  7: { name: A, channel: '👩‍💻 می‌خواهم 1️⃣ 🏴\u{E0067}\u{E0062}\u{E007F}', owner: '渡邉\u{E0102}\u3000太郎 <taro@example.com>' }\n${posts('text: t')}`,
  'a mailbox at gmial.com': mail('dana@gmial.com'),
  'half a domain': mail('hiring@exmaple'),
  "a domain that differs from the file's other ones": mail('hiring@exmaple.com'),
  'a domain with letters beyond English': mail("'hr@müller-bau.de, jobs@kovač.hr, hr@müllerbau'"),
  "a domain with such letters that differs from the file's other ones": mail(
    "'a@müller.de, b@müller.de, c@müler.de'",
  ),
  'a value that no test has': rule("{ test.name: 'Backend Engineer' }"),
  'a value that no test has, as an exception': rule('{ test.name: { not: [Desing] } }'),
  'a number where the catalog has text': `catalog:\n  7: { name: A, level: '3' }\n${rule('{ test.level: { not: [3] } }')}`,
  'text where the catalog has a number': `catalog:\n  7: { name: A, level: 3 }\n${rule("{ test.level: { not: ['3'] } }")}`,
  'a subject that lacks a value for a test which is not in the catalog': mail(
    'dana@example.com',
    '{{ event.status }}: {{ test.name }}',
  ),
  'a text that lacks a value for a test of the catalog': `catalog:\n  7: { name: A, note: x }\n  8: { name: B }\n${rule('{ testId: [7, 8] }', "{ sink: slack, channel: '#a', text: 'Note: {{ test.note }}' }")}`,
  'two recipients where there is none': mail(
    `"{{ test.owner | default: 'hiring@example.com', 'robin@example.com', allow_false: true }}"`,
  ),
  'a recipient behind a comma': mail(
    `"{{ test.owner, 'robin@example.com' | default: 'hiring@example.com' }}"`,
  ),
  'values with commas between them, and in their tags': says(
    '{{ event.candidateId, event.status }} {{ event.status | upcase , "x" }} {% assign a = event.status, 5 %}{{ a }}',
  ),
  'two statuses with a comma': says(
    '{% if event.status == "Completed", "Canceled" %}x{% elsif event.testId == 7 , 8 %}y{% endif %} done',
  ),
  'commas that are right': says(
    '{% case event.status %}{% when "Completed", "Canceled" %}x{% endcase %}{% cycle "a", "b" %} {{ event.status | replace: "C", "K" }}, {{ now | date: "%d.%m.%Y", "UTC" }}, {% if event.status == "Completed" %}, done{% endif %}',
  ),
  'a text that goes on below its key': posting(
    "        channel: '#a'\n        text: Hello team,\n        please look\n",
  ),
  'the same with a variable': posting(
    "        channel: '#a'\n        text: Hello team,\n\n        {{ event.testId }} is done.\n        Next: call them\n",
  ),
  'a block with an empty text': posting(
    "        channel: '#a'\n        text: x\n        blocks:\n          - { type: section, text: { type: mrkdwn, text: '' } }\n",
  ),

  'a key of the catalog that looks misspelt': `catalog:\n  7: { name: Backend, ownr: dana@example.com, tea: a }\n  8: { name: Design, team: b }\n  9: { nmae: X, team: c, level: 3 }\n${rule('{ test.team: { not: x } }')}`,
  'a variable as a shell writes it': `admin: { password: '$ADMIN_PASSWORD' }\n${posts('text: t')}`,
  'variables as other programs write them': `admin: { password: '\${{ secrets.ADMIN_PASSWORD }}', viewer: '\${env:VIEWER}', metrics: '\${ SCRAPE }' }\n${posts('text: t')}`,
  'a sign of a shell before a template': says('Candidate ${{ event.candidateId }} is done'),
  'curly quotes around a variable': `admin: { password: “\${ADMIN_PASSWORD}” }\n${posts('text: t')}`,
  'a variable as Windows writes it': `admin: { password: '%ADMIN_PASSWORD%' }\n${posts('text: t')}`,
  'a variable as Liquid writes it': `admin: { password: '{{ ADMIN_PASSWORD }}' }\n${posts('text: t')}`,
  'no token for Slack': lacks('slack', 'token:'),
  'no credentials for a sheet': lacks('google-sheets', 'credentials:'),
  'a login to a mail server as Nodemailer has it': lacks(
    'email',
    "url: 'smtp://mail.example.com:587'\n    from: a@example.com\n    auth: { user: a@example.com, pass: secret }",
  ),
  'an address of a mail server that is commented out': lacks('email', 'url: # smtp://localhost'),
  'no address for a webhook': lacks('webhook', 'url:'),
  'no value for a header': lacks('webhook', `url: https://a.example\n    headers: { X-Api-Key: '' }`),
};

test('check has words for each mistake', async () => {
  const found = Object.entries(mistakes).map(
    async ([mistake, text]) => `# ${mistake}\n${(await foundIn(text)).join('\n')}`,
  );
  await expect(`${(await Promise.all(found)).join('\n')}\n`).toMatchFileSnapshot('mistakes.txt');
});

test('check says of hours that they stand open over midnight, perhaps the wrong way round', async () => {
  const { write } = await workplace();
  const said = async (from: string, to: string) => {
    const more = `hours: { office: { timezone: UTC, from: '${from}', to: '${to}' } }\n`;
    return (
      await run(['check', await write('config.yaml', above + posts('text: t, hours: office') + more)], env)
    ).out;
  };
  expect(await said('18:00', '09:00')).toContain(
    'The hours office are open over midnight: from 18:00 to 09:00 on the next day.',
  );
  expect(await said('09:00', '24:00')).not.toContain('midnight');
});

test.each([
  [
    'a silent rule that stops no other one',
    `rules:\n  - { name: practice, when: { testId: 8 }, silent: true, then: [] }\n  - { name: done, when: { status: Completed }, then: [{ sink: slack, channel: '#a' }] }\n`,
    'The rule "practice" is silent, but others ("done") tell of events that it takes.',
    ['silent: true', 'silent: true, final: true'],
  ],
  [
    'times without a time zone',
    `hours: { office: { from: '08:00', to: '18:00' } }\n${posts("digest: { at: '09:00' }")}summary: { at: 'Mon 09:00', then: [{ sink: slack, channel: '#a' }] }\n`,
    'No timezone is given, so these are by UTC: the hours office, the time of a digest, the time of the summary.',
    ['hours:', 'timezone: Europe/Zagreb\nhours:'],
  ],
  [
    'senders without those of the service',
    `receiver: { allowFrom: [10.0.0.0/8] }\n${posts('text: t')}`,
    "None of the testing service's own addresses is in receiver.allowFrom: its events are answered 403",
    ['[10', '[published, 10'],
  ],
] as const)('check notes %s', async (_, text, note, [wrong, right]) => {
  const { write } = await workplace();
  const said = async (changed: string) =>
    (await run(['check', await write('config.yaml', above + changed)], env)).out;
  expect(await said(text)).toContain(note);
  expect(await said(text.replace(wrong, right))).not.toContain(note);
});

const channel = (name: string) => posts('text: t').replace("'#a'", name);

test.each(
  Object.entries({
    'digests that names outlast': namesKept('7d'),
    'addresses of several forms': mail(
      `'"Doe, Jane" <jane@mail.example.org>; {{ test.owner | default: ''a@b.example, c@d.example'' }}, {% if test.name %}x@y.example{% endif %}'`,
    ),
    'an address of a reference': mail("'${TEAM}@example.com, dana@gmail.com'"),
    'hosts of one organization, and of this machine': mail(
      '[a@hr1.example.com, b@hr2.example.com, c@hr2.example.com, root@localhost]',
    ),
    'one name in two countries': mail('[a@example.de, b@example.dk, c@example.dk]'),
    'mrkdwn, mail addresses and code': says(
      '*done* 2 ** 3 by a@here.example <!here> <https://a.example|it> [1] (x) {a: 1}',
    ),
    'a path of Windows, other brackets, and dates': says(
      'C:\\news, <not set>, a < b > c {{ now | date: "%d.%m.%Y %H:%M" }} {{ now | date: "%Y-%m-%dT%H:%M" }} {{ now | date: "%M:%S" }}',
    ),
    'a time of day before the date': says(
      '{{ now | date: "%H:%M %d.%m.%Y" }} {{ now | date: "%-k:%M, %e %B" }}',
    ),
    'quotes within a text': says('“Design” is done, and ‘more’ too.'),
    'quotes at both ends of a text': says('“Design” is done, and so is “Research”'),
    'signs of a word processor in the lines of a text': posting(
      "        channel: '#a'\n        text: |\n          – Test:\u00A0{{ event.testId }}\n          • Status:\u00A0{{ event.status }}\n",
    ),
    'such signs in a text of several lines without quotes': posting(
      "        channel: '#a'\n        text:\n          – Test {{ event.testId }}\n          • Status {{ event.status }}\n",
    ),
    'a space of French typography in names that people read': `catalog: { 7: { name: "Développeur\u00A0: Node" } }\n${rule('{}').replace('name: a,', 'name: "Terminé\u202F!",')}`,
    'a key of the catalog that a template uses': says(
      '{{ test.name | default: event.testId }} {{ test.owner | default: "" }}',
    ),

    'parameters of an address in brackets, quotes and percents': mailing(
      'https://a.example/jobs?filter[testId]={{ event.testId }}&of[test][candidateId]=1 «цитата» »Zitat« [optional] 100%',
    ),
    'patterns of addresses and paths': `catalog: { 7: { name: a, path: hr/eng/7 } }\n${rule(
      '{ any: [{ api.link: { matches: /jobs/ } }, { api.stage: { matches: /jobs/backend } }, { api.stage: { matches: Seniors* } }, { test.path: { not: { matches: /eng/ } } }] }',
    )}lookups: { api: { url: 'https://a.example/{{ event.candidateId }}', fields: { link: { at: /link, type: url }, stage: { at: /stage } } } }\n`,
    'a channel by the id of a test': channel("'#team-{{ test.id }}'"),
    'a channel with other letters': channel("'#größe-1'"),
    'a channel by its id': channel('C0123ABCD'),
    'a person by the address': channel('Dana@example.com'),
    'a channel of a reference': channel("'${TEAM}'"),
  }),
)('check takes no offence at %s', async (_, text) => {
  expect(await foundIn(text)).toEqual([]);
});
