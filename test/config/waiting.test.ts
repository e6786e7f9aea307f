import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { timeOfWeek } from '../../src/config/hours.ts';
import { timeMeant } from '../../src/config/scenarios.ts';
import { actionOf } from '../../src/deliveries/prepare.ts';
import { noFacts } from '../../src/model.ts';
import { decide, planNotice } from '../../src/rules/decide.ts';
import type { Action } from '../../src/rules/plan.ts';
import { digestData, noticeData } from '../../src/templates/data.ts';
import { load, problems, warnings } from './tools.ts';
import { eventWith } from '../fixtures/event.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

const event = eventWith({ receivedAt: now });

const hours = `hours:
  office: { timezone: Europe/Zagreb, days: [sun, mon], from: "08:00", to: "24:00", closed: [2026-12-25] }
  night: { timezone: UTC, from: "22:00", to: "06:30" }
`;
const inHours =
  'rules: [ { name: a, when: {}, then: [ { sink: page, text: x, hours: office }, { sink: page, text: x, hours: night } ] } ]';

const actionFrom = (written: string, more = ''): Action => {
  const { plan } = load(`${more}rules: [ { name: a, when: {}, then: [ { sink: page, ${written} } ] } ]`);
  return plan.then[0]![0]!;
};

describe('the hours of an action', () => {
  test('are those that it names, compiled', () => {
    const [office, night] = load(hours + inHours).plan.then[0]!;
    expect(office?.hours).toEqual({
      name: 'office',
      timeZone: 'Europe/Zagreb',
      days: new Set([7, 1]),
      fromMinute: 480,
      toMinute: 1440,
      closed: new Set(['2026-12-25']),
    });
    expect(night?.hours).toMatchObject({ days: new Set([1, 2, 3, 4, 5]), fromMinute: 1320, toMinute: 390 });
    expect(actionFrom('text: x').hours).toBeNull();
  });

  test('hold back what comes outside of them', () => {
    const [held, also] = decide(load(hours + inHours).plan, event, noFacts, now);
    expect(held).toMatchObject({ dueAt: Date.parse('2026-11-22T07:00:00Z'), group: null });
    expect(also).toMatchObject({ dueAt: Date.parse('2026-11-23T22:00:00Z') });
  });

  const closedFor = (days: number, first: Temporal.PlainDate) =>
    Array.from({ length: days }, (_, day) => first.add({ days: day }).toString());
  const closed = (dates: readonly string[]) =>
    `hours: { always: { timezone: UTC, days: [mon, tue, wed, thu, fri, sat, sun], from: "00:00", to: "24:00", closed: [2026-01-01, ${dates.join(', ')}] } }
rules: [ { name: a, when: {}, then: [ { sink: page, text: x, hours: always } ] } ]`;

  test('are refused where dates close them for more than a year', () => {
    const first = Temporal.Now.plainDateISO('UTC').add({ months: 1 });
    expect(problems(closed(closedFor(401, first)))).toEqual([
      `1:114 it does not open for more than a year from ${first.toString()} on; messages would wait for ever`,
    ]);
    expect(load(closed(closedFor(399, first))).plan.then[0]![0]!.hours?.closed.size).toBe(400);
  });

  test('are not judged by dates that are over', () => {
    const dates = closedFor(500, Temporal.PlainDate.from('2020-01-01'));
    expect(load(closed(dates)).plan.then[0]![0]!.hours?.closed.size).toBe(501);
  });
});

describe('the digest of an action', () => {
  test.each([
    ['hours: office, digest: { at: "20:00" }', 'office is closed at 20:00'],
    ['hours: office, digest: { at: ["09:00", "18:00", "17:59"] }', 'office is closed at 18:00'],
    ['hours: office, digest: { at: "07:00", timezone: Europe/Zagreb }', 'office is closed at 07:00'],
    ['hours: night, digest: { at: ["06:30", "22:00", "00:00"] }', 'night is closed at 06:30'],
  ])('is warned of where it would wait for the hours at once: %s', (written, expected) => {
    const text = `hours:
  office: { timezone: Europe/Zagreb, from: "08:00", to: "18:00" }
  night: { timezone: UTC, from: "22:00", to: "06:30" }
  always: { timezone: UTC, from: "00:00", to: "24:00" }
unmatched: [ { sink: page, text: x, hours: office }, { sink: page, text: x, hours: night }, { sink: page, hours: always, digest: { at: ["00:00", "23:59"] } } ]
rules: [ { name: a, when: {}, then: [ { sink: page, ${written} } ] } ]`;
    const name = expected.split(' ')[0];
    expect(warnings(text)).toEqual([
      expect.stringMatching(`^6:\\d+ ${expected}; the message goes when ${name} opens$`),
    ]);
  });

  test('is not judged by the hours of another time zone', () => {
    const written = 'hours: office, digest: { at: "07:30", timezone: Europe/London }';
    const text = `hours: { office: { timezone: Europe/Zagreb, from: "08:00", to: "18:00" } }
rules: [ { name: a, when: {}, then: [ { sink: page, ${written} } ] } ]`;
    expect(warnings(text)).toEqual([]);
  });

  test('is warned of where there is no catalog to tell events apart', () => {
    const text = (by: string, more = '') =>
      `${more}rules: [ { name: a, when: {}, then: [ { sink: page, digest: { every: 1h, by: ${by} } } ] } ]`;
    expect(warnings(text('test.team'))).toEqual(['1:78 there is no catalog, so "test.team" has no values']);
    expect(warnings(text('[testId, test.id]'))).toEqual([]);
    expect(warnings(text('test.team', 'catalog: { 7: { team: core } }\n'))).toEqual([]);
  });

  test.each<[string, object]>([
    ['every: 1h', { everyMs: 3_600_000, timeZone: 'UTC' }],
    ['at: "09:30", timezone: Asia/Kolkata', { atMinutes: [570], timeZone: 'Asia/Kolkata' }],
    ['at: ["09:00", "16:00"]', { atMinutes: [540, 960], timeZone: 'UTC' }],
  ])('closes as it says: %s', (digest, windows) => {
    expect(actionFrom(`digest: { ${digest} }`).digest).toMatchObject({ windows, max: 100, by: [] });
  });

  test('goes by one field or several', () => {
    const fields = (by: string) =>
      actionFrom(`digest: { every: 1h, by: ${by}, max: 3 }`).digest?.by.map(({ name }) => name);
    expect(fields('testId')).toEqual(['testId']);
    expect(fields('[status, test.owner]')).toEqual(['status', 'test.owner']);
  });

  test('says something by default, and what it says may go through the events', () => {
    const data = digestData(
      [event, { ...event, candidateId: 'def' }].map((one) => ({ event: one, facts: noFacts })),
      (id) => ({ id, name: null }),
      'a',
      now,
    );
    expect(actionFrom('digest: { every: 1h }').render(data)).toEqual({
      fields: { text: '2 events', urgency: 'low' },
    });
    const own = actionFrom(
      'digest: { every: 1h }, text: "{% for one in events %}{{ one.candidateId }} {% endfor %}"',
    );
    expect(own.render(data)).toMatchObject({ fields: { text: 'abc def ' } });
  });

  test('keeps apart what goes elsewhere', () => {
    const catalog = 'catalog: { 7: { owner: dana@example.com }, 8: { owner: robin@example.com } }\n';
    const written = 'digest: { every: 1h }, to: "{{ test.owner }}"';
    const { plan } = load(`${catalog}rules: [ { name: a, when: {}, then: [ { sink: page, ${written} } ] } ]`);
    const groupOf = (testId: number) => decide(plan, { ...event, testId }, noFacts, now)[0]?.group;
    expect(new Set([groupOf(7), groupOf(8), groupOf(7)]).size).toBe(2);
  });

  test.each([
    ['a change of the action', 'urgency: high', ''],
    ['a change of the catalog', 'urgency: low', 'catalog: { 7: { name: Seven } }\n'],
  ])('starts again after %s, and not after other changes', (_, written, catalog) => {
    const idOf = (...given: Parameters<typeof actionFrom>) => actionFrom(...given).digest?.contentId;
    const before = idOf('digest: { every: 1h }, urgency: low');
    expect(idOf('digest: { every: 1h }, urgency: low', 'unmatched: [ { sink: page, text: y } ]\n')).toBe(
      before,
    );
    expect(idOf(`digest: { every: 1h }, ${written}`, catalog)).not.toBe(before);
  });

  test('is refused where a template would go too far for as many events as there may be', () => {
    const nested = '{% for a in events %}{% for b in events %}{{ b.id }}{% endfor %}{% endfor %}';
    const text = (max: number) =>
      `rules:\n  - { name: a, when: {}, then: [ { sink: page, digest: { every: 1h, max: ${max} }, text: "${nested}" } ] }`;
    expect(load(text(100)).warnings).toEqual([]);
    expect(problems(text(1000))).toEqual([
      expect.stringMatching(/^2:\d+ the loops take more than 40,000 steps/),
    ]);
  });
});

describe('the summary', () => {
  const summary = (at: string) =>
    `summary: { at: ${at}, then: [ { sink: page, text: "{{ notice.detail }}" } ] }`;

  test.each([
    ['"Mon 09:00"', 1, 540],
    ['sun 23:59', 7, 1439],
    ["'FRI 00:00'", 5, 0],
  ])('goes each week: %s', (at, weekday, minute) => {
    const { plan } = load(`timezone: Europe/Zagreb\n${summary(at)}`);
    expect(plan.summary).toMatchObject({
      week: { timeZone: 'Europe/Zagreb', weekday, minute },
      actions: [{ rule: 'alerts.summary', action: 0, sink: 'page', digest: null }],
    });
    expect(actionOf(plan, { rule: 'alerts.summary', action: 0 })).toBe(plan.summary?.actions[0]);
  });

  test('has a weekday in any case, and editors and scenarios take it, too', () => {
    const { pattern = '' } = z.toJSONSchema(timeOfWeek, { io: 'input' });
    for (const text of ['Mon 09:00', 'mon 09:00', 'MON 09:00']) {
      expect(text).toMatch(new RegExp(pattern));
      expect(timeMeant(text, 'UTC', 0)).toBe(Date.UTC(1970, 0, 5, 9));
    }
  });

  test.each([
    ['"Monday 9:00"', ' (write Mon 09:00)'],
    ['"tue, 4pm"', ' (write Tue 16:00)'],
    ['"Mon 25:00"', ''],
    ['"09:00"', ''],
    ['"Montag 09:00"', ' (write Mon 09:00)'],
    ['9', ''],
  ])('is refused with what would be right: %s', (at, meant) => {
    expect(problems(summary(at))).toEqual([
      expect.stringContaining(`1:16 expected a day and a time such as "Mon 09:00"${meant}`),
    ]);
  });

  test('is not collected, and has actions', () => {
    const [digest] = problems(
      'summary: { at: "Mon 09:00", then: [ { sink: page, digest: { every: 1h } } ] }',
    );
    expect(digest).toContain('unknown key "digest": alerts are not collected');
    expect(problems('summary: { at: "Mon 09:00", then: [] }')).toHaveLength(1);
    expect(load('').plan.summary).toBeNull();
  });
});

describe('an alert', () => {
  const text = `alerts:
  dead: { then: [ { sink: page, channel: "#ops" }, { sink: spare, text: "{{ rule.name }}: {{ notice.advice }}" } ] }
  paused: { after: 5m, then: [ { sink: spare, hours: office } ] }
  silence: { then: [ { sink: page } ] }
hours: { office: { timezone: UTC, from: "08:00", to: "18:00" } }
sinks:
  page: { connector: pager, token: "\${PAGER_TOKEN}" }
  spare: { connector: pager, token: "\${PAGER_TOKEN}" }
`;
  const { plan } = load(text);
  const notice = {
    id: 'ntc_1',
    alert: 'dead' as const,
    cause: 'dead page',
    sink: 'page',
    count: 2,
    since: now - 60_000,
    raisedAt: now,
    detail: 'Two were given up.',
    advice: 'Replay them.',
    recovered: false,
  };

  test('is compiled with its actions, under a name of its own', () => {
    expect(plan.alerts.map(({ kind, afterMs, actions }) => [kind, afterMs, actions.length])).toEqual([
      ['dead', 0, 2],
      ['paused', 300_000, 1],
      ['silence', 7 * 86_400_000, 1],
    ]);
    const [first, second] = plan.alerts[0]!.actions;
    expect(first).toMatchObject({ rule: 'alerts.dead', action: 0, sink: 'page', digest: null });
    expect(second).toMatchObject({ rule: 'alerts.dead', action: 1, sink: 'spare' });
    expect(actionOf(plan, { rule: 'alerts.paused', action: 0 })).toBe(plan.alerts[1]!.actions[0]);
  });

  test('says something by default, and templates know the notice', () => {
    const [first, second] = plan.alerts[0]!.actions;
    const data = noticeData(notice, 'alerts.dead', now);
    expect(first?.render(data)).toMatchObject({ fields: { channel: '#ops', text: 'Two were given up.' } });
    expect(second?.render(data)).toMatchObject({ fields: { text: 'alerts.dead: Replay them.' } });
  });

  test('has deliveries in lanes like any other, which wait for their hours', () => {
    const [first, held] = [plan.alerts[0]!.actions[0]!, plan.alerts[1]!.actions[0]!];
    expect(planNotice(first, notice, now)).toEqual({
      rule: 'alerts.dead',
      action: 0,
      sink: 'page',
      connector: 'pager',
      lane: 'page #ops',
      dueAt: now,
      group: null,
      groupMax: null,
    });
    expect(planNotice(held, notice, now).dueAt).toBe(Date.parse('2026-11-23T08:00:00Z'));
  });

  test('may go through a sink that no rule uses, and has a way around each', () => {
    expect(load(text).warnings).toEqual([]);
  });
});
