import { describe, expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { type About, prepare } from '../../src/deliveries/prepare.ts';
import { type Event, statuses } from '../../src/model.ts';
import { inWords } from '../../src/ops/alerts/conditions.ts';
import { alertKinds, type RaisedNotice } from '../../src/model/notices.ts';
import { allActions } from '../../src/rules/plan.ts';
import {
  isPlural,
  languages,
  placeholder,
  placeholdersOf,
  textNames,
  Wording,
} from '../../src/words/wording.ts';
import { inLocale } from '../../src/templates/people.ts';
import { startSlack } from '../../sandbox/slack.ts';
import { linesOf } from '../../sandbox/slack/preview.ts';
import { base, post, run, serving, workplace } from '../commands/tools.ts';
import { failure } from '../config/tools.ts';
import { eventWith } from '../fixtures/event.ts';
import { eventually } from '../fixtures/eventually.ts';

const codes = Object.keys(languages) as (keyof typeof languages)[];
const counts = [0, 1, 2, 3, 5, 11, 12, 21, 22, 25, 100, 1000, 1_000_000, 1.5];

const now = Date.parse('2026-11-20T13:00:00Z');
const then = Temporal.Instant.fromEpochMilliseconds(now - 3_600_000).toZonedDateTimeISO('Europe/Zagreb');

const configIn = (top: string): Config =>
  parseConfig(
    `${top}
timezone: Europe/Zagreb
catalog: { 7: { name: "Backend <Engineer>" } }
links: { candidate: "https://tests.example.com/c/{{ event.candidateId }}" }
sinks:
  slack: { connector: slack, token: xoxb-1 }
  full: { connector: slack, token: xoxb-1, style: full }
  sheet: { connector: google-sheets, spreadsheetId: s1, credentials: /run/google.json }
  mail: { connector: email, url: smtp://mail.example.com, from: hiring@example.com }
  ats: { connector: webhook, url: https://ats.example.com }
rules:
  - name: all
    when: {}
    then: &all
      - { sink: slack, channel: "#hiring" }
      - { sink: full, channel: "#hiring" }
      - { sink: sheet, tab: Results }
      - { sink: mail, to: dana@example.com }
      - { sink: ats, body: { said: "{{ event.status | words }}" } }
  - name: digests
    when: {}
    then:
      - { sink: slack, channel: "#hiring", digest: { every: 1h } }
      - { sink: full, channel: "#hiring", digest: { every: 1h } }
      - { sink: sheet, tab: Digests, digest: { every: 1h } }
      - { sink: mail, to: dana@example.com, digest: { every: 1h } }
alerts:
  dead: { then: &told [ { sink: slack, channel: "#ops" }, { sink: sheet }, { sink: mail, to: ops@example.com }, { sink: ats } ] }
  silence: { then: *told }
summary: { at: Mon 09:00, then: *told }`,
    'config.yaml',
    { env: {}, connectors },
  );

const eventOf = (testId: number, status: Event['status'], index: number): Event =>
  eventWith({ id: `evt_${index}`, candidateId: `<${index}>`, testId, status, receivedAt: now - 7_200_000 });

const noticeOf = (alert: RaisedNotice['alert'], over: Partial<RaisedNotice> = {}): RaisedNotice => ({
  id: 'ntc_1',
  alert,
  cause: alert,
  sink: 'ats',
  from: '203.0.113.7',
  count: 2,
  since: now - 3_600_000,
  raisedAt: now,
  detail: 'DETAIL',
  advice: 'ADVICE',
  recovered: false,
  ...over,
});

/** All texts that a config's actions can send. */
function* messagesOf({ plan, sinks }: Config): Generator<string> {
  const some = statuses.map((status, index) => eventOf(7 + (index % 2), status, index));
  const notices = [...alertKinds, 'summary' as const].flatMap((alert) => [
    noticeOf(alert),
    noticeOf(alert, { count: 1 }),
    noticeOf(alert, { raisedAt: now - 3_600_000 }),
    noticeOf(alert, { recovered: true }),
    noticeOf(alert, { recovered: true, sink: null }),
    noticeOf(alert, { cause: `${alert} ats: missed in all 0` }),
  ]);
  for (const action of allActions(plan)) {
    const abouts: About[] = action.rule.startsWith('alerts.')
      ? notices.map((notice) => ({ events: [], notice }))
      : action.digest
        ? [some, some.slice(0, 1), some.slice(1, 2), [some[0]!, some[0]!]].map((events) => ({
            events,
            notice: null,
          }))
        : some.map((event) => ({ events: [event], notice: null }));
    for (const about of abouts) {
      const prepared = prepare(action, about, 'dlv_1', plan, sinks.get(action.sink)!, now);
      if (!('message' in prepared)) throw new Error(JSON.stringify(prepared));
      yield JSON.stringify(prepared.message);
    }
  }
}

describe.each(codes)('%s', (code) => {
  const wording = new Wording(code);
  const texts = languages[code] as { readonly [name: string]: string | { readonly [form: string]: string } };
  const formsOf = (name: string) =>
    typeof texts[name] === 'string' ? [texts[name]] : Object.values(texts[name]!);

  test('says every text, with all that it has to name and nothing else, for every count', () => {
    for (const name of textNames) {
      const values = Object.fromEntries(placeholdersOf(name).map((key) => [key, `<${key}>`]));
      for (const count of isPlural(name) ? counts : [1]) {
        const said = (wording.say as (name: string, values: object) => string).call(wording, name, {
          ...values,
          ...('count' in values && { count }),
        });
        expect(said, `${name} ${count}`).not.toMatch(/\{|\}|undefined|\bnull\b/);
        expect(said.trim()).toBe(said);
      }
      for (const form of formsOf(name)) {
        const keys = Array.from(form.matchAll(placeholder), ([, key]) => key!);
        // The form for one thing may lack the number.
        const needed = placeholdersOf(name).filter((key) => key !== 'count' || keys.includes('count'));
        // A sentence in another language may do without the status.
        expect(keys.filter((key) => key !== 'status').toSorted(), `${name}: ${form}`).toEqual(
          needed.filter((key) => key !== 'status').toSorted(),
        );
      }
    }
  });

  test('names the keys of the config, and what to set them to, where English does', () => {
    for (const name of textNames) {
      const english = JSON.stringify(languages.en[name]);
      const named = english.match(/receiver\.\w+|waitFor|\bpublished\b|\b\d+\b/g) ?? [];
      for (const one of named) expect(`${name}: ${JSON.stringify(texts[name])}`).toContain(one);
    }
  });

  test('keeps a score and its percent sign on one line', () => {
    expect(languages[code].withPercent).toMatch(/\{score\}\u00a0?%$/);
  });

  test('has a form for each class of plural that the language has', () => {
    const { pluralCategories } = new Intl.PluralRules(code).resolvedOptions();
    // These have a form `many` for whole millions, which may be left out where it equals `other`.
    const rare = ['es', 'fr', 'it', 'pt'].includes(code) ? ['many'] : [];
    const counted = textNames.flatMap((name) => (typeof texts[name] === 'string' ? [] : [texts[name]!]));
    expect(counted.length).toBeGreaterThan(10);
    for (const forms of counted)
      expect([...Object.keys(forms), ...rare].toSorted()).toEqual(pluralCategories.toSorted());
  });

  test('makes every message of every tool, with nothing English in it', () => {
    const messages = [...messagesOf(configIn(`language: ${code}`))];
    expect(messages.length).toBeGreaterThan(100);
    const left = /undefined|\{\{|\{%|\{(?:candidate|status|test|count|sink|time|name)\}|<Engineer>[^"]*<html/;
    const english = /What next|\bcompleted\b|Received \w|deliver(?:y|ies) to|given up|\bmore\b|[Tt]old late/;
    const found = messages.flatMap((one) => [
      ...(left.exec(one) ?? []),
      ...(code === 'en' ? [] : (english.exec(one) ?? [])),
    ]);
    expect(found).toEqual([]);
    // A notice is told late: in its title, and in its first line.
    const late = wording.say('toldLate', { time: inLocale(then, wording.locale) });
    for (const said of [wording.say('noticeTitleLate', { notice: '' }).trim(), `${late}\\nDETAIL`])
      expect(messages.filter((one) => one.includes(said)).length).toBeGreaterThan(10);
    expect(messages.filter((one) => one.includes(`<html lang=\\"${code}\\">`)).length).toBeGreaterThan(30);
  });
});

// In these languages, a comma or a colon between subject and verb is a mistake.
test.each([
  ['de', 'Test 7: Kandidat/in 4711 hat den Test abgeschlossen'],
  ['fr', 'Test 7 : candidat(e) 4711 a terminé le test'],
  ['es', 'Test 7: candidato/a 4711 completó la prueba'],
  ['it', 'Test 7: candidato/a 4711 ha completato il test'],
  ['pt', 'Test 7: candidato(a) 4711 concluiu o teste'],
] as const)('%s says who did what in one sentence', (code, sentence) => {
  const wording = new Wording(code);
  const status = wording.say('completed');
  expect(wording.say('shortCompleted', { test: 'Test 7', candidate: '4711', status })).toBe(sentence);
});

test('German speaks German, with dates and numbers as they are written there', () => {
  const { plan, sinks } = configIn('language: de');
  const of = (action: number, rule: number, events: readonly Event[]) => {
    const one = plan.then[rule]![action]!;
    const prepared = prepare(one, { events, notice: null }, 'dlv_1', plan, sinks.get(one.sink)!, now);
    return ('message' in prepared ? prepared.message : {}) as { readonly [key: string]: string };
  };
  const some = [eventOf(7, 'Completed', 4711), eventOf(8, 'DidNotTake', 2)];
  expect(of(0, 0, some)['text']).toBe(
    ':checkered_flag: Backend &lt;Engineer&gt;: Kandidat/in &lt;4711&gt; hat den Test abgeschlossen',
  );
  expect(of(3, 1, some)['subject']).toBe('2 Personen, 2 Tests: 1 abgeschlossen, 1 nicht angetreten');
  expect(of(3, 1, some)['text']).toContain(
    '- Kandidat/in <2> ist nicht zum Test angetreten, 20. Nov., 12:00 https://tests.example.com/c/%3C2%3E\n',
  );
  expect(of(3, 1, some)['text']).toContain('\nEingegangen: Fr., 20. Nov. 2026, 12:00 MEZ\n');
  // An existing sheet keeps its columns.
  expect(of(2, 0, some)).toMatchObject({ row: { Status: 'Abgeschlossen', Received: expect.any(String) } });
});

test('a digest and a notice of the running program are German, and its commands stay English', async () => {
  const slack = await startSlack({ channels: ['hiring', 'ops'] });
  onTestFinished(() => slack.close());
  const { folder, write } = await workplace();
  const env = { TOKEN: slack.token };
  const file = await write(
    'deutsch.yaml',
    `${base(folder)}language: de
sinks:
  slack: { connector: slack, token: "\${TOKEN}", apiUrl: "${slack.url}" }
  ops: { connector: slack, token: "\${TOKEN}", apiUrl: "${slack.url}" }
rules:
  - { name: gone, when: { status: Canceled }, then: [ { sink: slack, channel: "#gone" } ] }
  - { name: all, when: {}, then: [ { sink: slack, channel: "#hiring", digest: { every: 1s } } ] }
alerts: { dead: { then: [ { sink: ops, channel: "#ops" } ] } }`,
  );
  const app = await serving(file, env);
  await post(app, { candidateId: 'ana', testId: 7, status: 'Completed' });
  await post(app, { candidateId: 'ben', testId: 8, status: 'Canceled' });
  const said = (channel: string) =>
    slack.messages.filter(({ channelName }) => channelName === channel).map((one) => linesOf(one));
  await eventually(() => {
    expect(said('hiring').join('\n')).toMatch(/hat den Test abgeschlossen/);
    expect(said('hiring').join('\n')).toMatch(/Test abgesagt/);
    expect(said('hiring').join('\n')).toMatch(/Eingegangen: .*Nächster Schritt: /);
    expect(said('ops')).toEqual([
      expect.stringMatching(
        /1 Zustellung an slack aufgegeben\nEine Zustellung an slack musste aufgegeben werden\. .*\nNächster Schritt: Die Ursache beheben.* replay --dead --sink slack .*\nSeit /,
      ),
    ]);
  });
  expect((await run(['status', '--config', file], env)).out).toContain('1 dead');
});

test('a Croatian duration fits into the sentences that it is in', () => {
  const { wording } = configIn('language: hr').plan;
  const time = inWords(21 * 86_400_000, wording);
  expect(wording.say('worksDetail', { sink: 'ats', time })).toContain('nakon 21 dana.');
  expect(wording.say('silenceDetail', { time })).toContain('duže od 21 dana.');
});

describe('words', () => {
  const allOf = (top: string) => [...messagesOf(configIn(top))];

  test('replaces a default text by its name, also what the filter of that name prints', () => {
    const top = 'words: { completed: finished <it> & left, nextDidNotTake: Ask Dana. }';
    const all = allOf(top);
    expect(all[0]).toContain(
      'candidate <https://tests.example.com/c/%3C0%3E|&lt;0&gt;> finished &lt;it&gt; &amp; left',
    );
    expect(all[1]).toContain('_What next:_ Ask Dana."');
    expect(all.find((one) => one.includes('"said"'))).toContain('"said":"finished <it> & left"');
    expect(all.find((one) => one.includes('<html'))).toContain('finished &lt;it&gt; &amp; left');
  });

  test('fills what a text has to fill in, and has forms for the plural', () => {
    const top =
      'language: de\nlocale: en-GB\nwords: { shortCompleted: "{candidate} | {test}", digest: "{tests}!", tests: { one: ein Test, other: "{count} Prüfungen" } }';
    const all = allOf(top);
    expect(all[0]).toContain('":checkered_flag: &lt;0&gt; | Backend &lt;Engineer&gt;"');
    expect(all.join('\n')).toContain('"2 Prüfungen!"');
    expect(all.join('\n')).toContain('Eingegangen: Fri, 20 Nov 2026, 12:00 CET');
  });

  test.each([
    [
      'language: German',
      'config.yaml:1:11',
      'expected en, de, fr, es, it, hr, pl, nl or pt (write de), got "German"',
    ],
    ['language: ja', 'config.yaml:1:11', 'expected en, de, fr, es, it, hr, pl, nl or pt, got "ja"'],
    ['words: { complete: done }', 'config.yaml:1:10', 'unknown key "complete"; did you mean "completed"?'],
    [
      'words: { openReport: "Open {report}" }',
      'config.yaml:1:22',
      'there is no {report} here: what can be filled in is nothing',
    ],
    [
      'words: { received: "At {tiem}" }',
      'config.yaml:1:20',
      'there is no {tiem} here: what can be filled in is {time}',
    ],
    [
      'words: { received: "{{ now }}" }',
      'config.yaml:1:20',
      'this is no template: what can be filled in here is {time}',
    ],
    [
      'words: { tests: { one: a test, other: "{n} tests" } }',
      'config.yaml:1:39',
      'there is no {n} here: what can be filled in is {count}',
    ],
    ['words: { received: "" }', 'config.yaml:1:20', 'expected text that is not empty'],
  ])('%s is refused at its place', (top, place, message) => {
    const text = failure(() => configIn(top)).message;
    expect(text).toContain(message);
    expect(text).toContain(`${place}: error`);
    expect(text).toMatch(/\n1 error(?:,|$)/);
  });
});
