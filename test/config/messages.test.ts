import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { compilePlan } from '../../src/config/live/stored-plans.ts';
import { prepare } from '../../src/deliveries/prepare.ts';
import type { Event, Json } from '../../src/model.ts';
import type { Action } from '../../src/rules/plan.ts';
import { windowEnd } from '../../src/rules/calendar.ts';
import { eventWith } from '../fixtures/event.ts';
import { load, pagers, problems, warnings } from './tools.ts';

const now = Date.parse('2026-11-20T12:05:00Z');
const event = eventWith({ candidateId: '6f1c2d3e4b5a69788796a5b4c3d2e1f0', receivedAt: now });

/** The texts that the actions of a config send about these events. */
function texts({ plan, sinks }: Config, events: readonly Event[] = [event]): Json[] {
  return plan.then.flat().map((action) => {
    const sink = sinks.get(action.sink)!;
    const prepared = prepare(action, { events, notice: null }, 'dlv_1', plan, sink, now);
    if (!('message' in prepared)) throw new Error(JSON.stringify(prepared));
    return (prepared.message as { text: Json }).text;
  });
}

const saying = (top: string, text: string, more = ''): string =>
  `${top}\nrules: [ { name: all, when: {}, then: [ { sink: page, text: ${JSON.stringify(text)}${more} } ] } ]`;

const office =
  'hours: { office: { timezone: America/New_York, from: "00:00", to: "24:00", days: [mon, tue, wed, thu, fri, sat, sun] } }';
const shown =
  '{{ event.receivedAt | date: "%A %-d %B %H:%M" }}, {{ 12345 | number }}, {{ event.receivedAt | date }}';

describe('`timezone` and `locale`', () => {
  test.each([
    ['', 'Friday 20 November 12:05, 12,345, Fri, 20 Nov 2026, 12:05 UTC'],
    ['timezone: Europe/Zagreb', 'Friday 20 November 13:05, 12,345, Fri, 20 Nov 2026, 13:05 CET'],
    [
      'timezone: Europe/Zagreb\nlocale: en-GB',
      'Friday 20 November 13:05, 12,345, Fri, 20 Nov 2026, 13:05 CET',
    ],
    ['timezone: Europe/Zagreb\nlocale: hr', 'petak 20 studenoga 13:05, 12.345, pet, 20. stu 2026. 13:05 CET'],
  ])('%j shows %s', (top, expected) => {
    expect(texts(load(saying(top, shown)))).toEqual([expected]);
  });

  test('the hours of an action have the last word, and a zone in the template the very last', () => {
    const text = '{{ event.receivedAt | date: "%H:%M" }} {{ now | date: "%H:%M", "Asia/Tokyo" }}';
    const config = load(saying(`timezone: Europe/Zagreb\n${office}`, text, ', hours: office'));
    expect(texts(config)).toEqual(['07:05 21:05']);
  });

  test('a digest goes by the clock of `timezone`, unless its hours or itself name another', () => {
    const ends = (top: string, more: string) => {
      const { digest } = load(saying(top, 'x', more)).plan.then[0]![0] as Action;
      return new Date(windowEnd(digest!.windows, now)).toISOString().slice(11, 16);
    };
    const at = ', digest: { at: "15:00" }';
    expect(ends('', at)).toBe('15:00');
    expect(ends('timezone: Europe/Zagreb', at)).toBe('14:00');
    expect(ends(`timezone: Europe/Zagreb\n${office}`, `${at}, hours: office`)).toBe('20:00');
    expect(ends('timezone: Europe/Zagreb', ', digest: { at: "15:00", timezone: Asia/Tokyo }')).toBe('06:00');
  });

  test.each([
    [
      'timezone: Zagreb',
      '1:11 expected a time zone such as Europe/Zagreb, got "Zagreb"; did you mean "Europe/Zagreb"?',
    ],
    [
      'timezone: "+01:00"',
      '1:11 expected a time zone such as Europe/Zagreb: an offset has no summer time, got "+01:00"',
    ],
    ['locale: hr_HR', '1:9 expected a language such as en, en-GB or hr, got "hr_HR"; did you mean "hr-HR"?'],
    ['locale: klingon', '1:9 expected a language such as en, en-GB or hr, got "klingon"'],
  ])('%s is refused', (top, expected) => {
    expect(problems(top)).toEqual([expected]);
  });
});

describe('`words`, `short` and `number`', () => {
  test.each([
    ['{{ event.status | words }}', 'completed the test'],
    ['{{ "DidNotTake" | words }}, {{ "Canceled" | words }}', 'did not take the test, test canceled'],
    ['{{ "Something" | words }}{{ nil | words }}{{ 7 | words }}', 'Something7'],
    ['{{ event.candidateId | short }}', '6f1c2d3e…'],
    ['{{ "C-4711" | short }} {{ 4711 | short }}{{ nil | short }}', 'C-4711 4711'],
    ['{{ "1234567😀90123" | short }}', '1234567…'],
    ['{{ 1000 | number }} {{ "1000" | number }}', '1,000 1000'],
  ])('%s gives %s', (template, expected) => {
    expect(texts(load(saying('', template)))).toEqual([expected]);
  });
});

describe('`links`', () => {
  const top =
    'links: { candidate: "https://tests.example.com/c/{{ event.candidateId }}?test={{ event.testId }}" }';

  test('are addresses, with percent-encoded values', () => {
    const hostile = eventWith({ candidateId: '../x?<y>&"z" ü', testId: 7 });
    expect(texts(load(saying(top, '{{ links.candidate }}')), [hostile])).toEqual([
      'https://tests.example.com/c/..%2Fx%3F%3Cy%3E%26%22z%22%20%C3%BC?test=7',
    ]);
  });

  test('are those of each event in a digest', () => {
    const text = '{% for event in events %}{{ event.links.candidate }} {% endfor %}';
    const events = ['a', 'b'].map((candidateId) => eventWith({ candidateId, testId: 7 }));
    const config = load(saying(top, text, ', digest: { every: 1h }'));
    expect(texts(config, events)).toEqual([
      'https://tests.example.com/c/a?test=7 https://tests.example.com/c/b?test=7 ',
    ]);
    expect(warnings(saying(top, '{{ links.candidate }}', ', digest: { every: 1h }'))).toEqual([
      expect.stringContaining('this is of the first event of the digest'),
    ]);
  });

  test('may have a base from outside', () => {
    const config = load(
      saying('links: { candidate: "${BASE}/{{ event.testId }}" }', '{{ links.candidate }}'),
      {
        BASE: 'http://intranet/{{x}}',
      },
    );
    expect(texts(config, [eventWith({ testId: 7 })])).toEqual(['http://intranet/{{x}}/7']);
  });

  test.each([
    [
      'javascript:alert({{ event.testId }})',
      '1:21 expected an address that begins with https:// or http:// and a host',
    ],
    ['{{ event.candidateId }}', '1:21 expected an address that begins with https://'],
    ['https://{{ event.candidateId }}.example.com/', '1:21 expected an address that begins with https://'],
    ['https://tests.example.com/the candidate/{{ event.testId }}', '1:21 expected an address that begins'],
    ['https://x.example/{{ event.candidate }}', '1:43 unknown variable `event.candidate`'],
    ['https://x.example/{{ event.candidateId | url_encode }}', '1:63 leave out `url_encode`'],
  ])('%s is refused', (address, expected) => {
    expect(problems(`links: { candidate: ${JSON.stringify(address)} }`)).toEqual([
      expect.stringContaining(expected),
    ]);
  });

  test('that a template names, but the config does not have, are a fault', () => {
    const [fault] = problems(saying('', '{{ links.candidate }}'));
    expect(fault).toContain('unknown variable `links`; it needs `links` at the top of the config');
    expect(problems('links: { candidat: "https://x.example" }')).toEqual([
      '1:10 unknown key "candidat"; did you mean "candidate"?',
    ]);
  });

  test('that are the same for everybody are probably a mistake', () => {
    expect(warnings('links: { candidate: https://tests.example.com/ }')).toEqual([
      '1:21 this is the same for every candidate; write {{ event.candidateId }} into it',
    ]);
  });
});

test('the plan carries them: a delivery is carried out as its day said, or not at all', async () => {
  const yaml = saying(
    'timezone: ${ZONE}\nlinks: { candidate: "https://x.example/{{ event.testId }}" }',
    '{{ event.receivedAt | date: "%H:%M" }} {{ links.candidate }}',
  );
  const config = load(yaml, { ZONE: 'Europe/Zagreb' });
  const options = (env: { [name: string]: string }) => ({ env, connectors: pagers });
  const plan = await compilePlan(config.planSource, options({ ZONE: 'Europe/Zagreb' }));
  expect(texts({ ...config, plan }, [{ ...event, testId: 7 }])).toEqual(['13:05 https://x.example/7']);
  await expect(compilePlan(config.planSource, options({}))).rejects.toThrow(
    'the environment variable ZONE is not set',
  );
});

test('a config without them keeps the identity of its plan', () => {
  const id = (yaml: string) => load(yaml).plan.id;
  expect(new Set([id(''), id('timezone: Europe/Zagreb'), id('locale: hr')]).size).toBe(3);
});

test('a key that namesakes, or candidates without a number, would share gets a warning', () => {
  const keyed = (key: string) =>
    parseConfig(
      `lookups: { person: { url: 'https://a.example.com/{{ event.candidateId }}', fields: { name: { at: /name }, lastName: { at: /last }, email: { at: /mail }, username: { at: /user }, recruiterName: { at: /by } } }, job: { url: 'https://a.example.com/{{ event.candidateId }}/job', fields: { name: { at: /name } } } }
sinks:
  slack: { connector: slack, token: '\${TOKEN}' }
  mail: { connector: email, url: 'smtp://127.0.0.1', from: a@example.com }
  sheet: { connector: google-sheets, spreadsheetId: a, credentials: '\${TOKEN}' }
rules:
  - name: all
    when: {}
    then:
      - { sink: slack, channel: '#a', updateBy: '${key}' }
      - { sink: slack, channel: '#b', threadBy: '${key}', text: '{{ event.candidateNumericalId | default: 0 }}' }
      - { sink: mail, to: b@example.com, threadBy: '${key}' }
      - { sink: sheet, tab: A, key: Id, row: { Id: '${key}', Number: '{{ event.candidateNumericalId }}' } }
`,
      'config.yaml',
      { env: { TOKEN: 'xoxb-1' }, connectors },
    )
      // Of a look-up that no key uses.
      .warnings.filter(({ line }) => line > 1)
      .map(({ line, message }) => [line, message]);
  const shared = expect.stringContaining('candidates without a number');
  for (const key of [
    '{{ event.candidateNumericalId }}-{{ event.testId }}',
    'c{{event.candidateNumericalId | abs}}',
  ])
    expect(keyed(key)).toEqual([10, 11, 12, 13].map((line) => [line, shared]));
  const named = expect.stringContaining('candidates of the same name');
  for (const key of [
    '{{ person.name | default: event.candidateId }}',
    '{{ event.testId }} {{ person.lastName | default: "none" }}',
  ])
    expect(keyed(key)).toEqual([10, 11, 12, 13].map((line) => [line, named]));
  const standIn = expect.stringContaining('where this text stands in');
  for (const key of [
    '{{ person.email | default: "not known" }}',
    '{{ event.testId }} {{ person.email | downcase | default: "-" }}{{ person.name | default: "" }}',
  ])
    expect(keyed(key)).toEqual([10, 11, 12, 13].map((line) => [line, standIn]));
  for (const key of [
    '{{ event.candidateId }}',
    '{{ event.candidateNumericalId | default: event.candidateId }}',
    '{{ event.candidateNumericalId }} {{ event.candidateId }}',
    '{{ person.name | default: "" }} {{ event.candidateId }}',
    '{{ person.name | default: "" | append: event.candidateId }}',
    '{{ test.name | default: event.testId }}',
    // One for each job or recruiter, as is meant.
    '{{ job.name | default: "none" }}',
    '{{ person.recruiterName | default: "none" }}',
    '{{ person.email | default: event.candidateId }} {{ person.name | default: "" }}',
    '{{ person.username | default: event.candidateId }}',
    '{{ person.email | default: event.candidateId }}',
    '{{ person.email | default: "-" }} {{ event.candidateId }}',
    '{{ person.email | default: "-" }} {{ person.recruiterName | default: "-" }}',
  ])
    expect(keyed(key)).toEqual([]);
});
