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

const env = { SLACK: 'xoxb-1', SMTP: 'smtp://localhost' };

/** `line:column: severity: message` of everything that is found; line 1 is the first below what stands above. */
async function foundIn(text: string, catalog = ''): Promise<string[]> {
  const { write } = await workplace();
  const whole = catalog === '' ? above : above.replace(/ {2}7: .*\n {2}8: .*\n/, catalog);
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
