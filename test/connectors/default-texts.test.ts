import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { prepare, type About } from '../../src/deliveries/prepare.ts';
import type { Event, Json, Notice, RaisedNotice, Status } from '../../src/model.ts';
import type { Action } from '../../src/rules/plan.ts';
import { eventWith } from '../fixtures/event.ts';

const now = Date.parse('2026-11-20T13:00:00Z');

const config = parseConfig(
  `catalog: { 7: { name: "Backend <Engineer>" } }
sinks:
  slack: { connector: slack, token: "\${TOKEN}" }
  sheet: { connector: google-sheets, spreadsheetId: s1, credentials: /run/google.json }
  mail: { connector: email, url: smtp://mail.example.com, from: hiring@example.com }
  ats: { connector: webhook, url: https://ats.example.com }
rules:
  - name: all
    when: {}
    then:
      - { sink: slack, channel: "#hiring", digest: { every: 1h, max: 1000 } }
      - { sink: sheet, tab: Digests, digest: { every: 1h, max: 1000 } }
      - { sink: mail, to: dana@example.com, digest: { every: 1h, max: 1000 } }
      - { sink: ats, digest: { every: 1h, max: 1000 } }
alerts:
  dead: { then: &all [ { sink: slack, channel: "#ops" }, { sink: sheet }, { sink: mail, to: ops@example.com }, { sink: ats } ] }
  held: { then: *all }
  paused: { then: *all }
  silence: { then: *all }`,
  'config.yaml',
  { env: { TOKEN: 'xoxb-1' }, connectors },
);

const noon = Date.parse('2026-11-20T12:05:00Z');
const eventOf = (candidateId: string, status: Status, testId = 7): Event =>
  eventWith({ id: `evt_${candidateId}`, candidateId, status, testId, receivedAt: noon });

function messageOf(
  { plan, sinks }: Config,
  action: Action | undefined,
  about: About,
): { [key: string]: Json } {
  const sink = sinks.get(action?.sink ?? '');
  if (!action || !sink) throw new Error('no such action');
  const prepared = prepare(action, about, 'dlv_1', plan, sink, now);
  if (!('message' in prepared)) throw new Error(JSON.stringify(prepared));
  return prepared.message as { [key: string]: Json };
}

describe('what a digest says where its action says nothing', () => {
  const [slack, sheet, mail, ats] = config.plan.then[0]!;
  const some = [eventOf('a', 'Completed'), eventOf('<!here>', 'DidNotTake', 8), eventOf('c', 'Completed')];
  const tell = (action: Action | undefined, events: readonly Event[] = some) =>
    messageOf(config, action, { events, notice: null });

  test('Slack lists the events under their counts, escaped', () => {
    expect(tell(slack)['text']).toBe(`*Candidates: 2 completed, 1 did not take it*
• Backend &lt;Engineer&gt;: a completed, 2026-11-20 12:05 UTC
• test 8: &lt;!here&gt; did not take it, 2026-11-20 12:05 UTC
• Backend &lt;Engineer&gt;: c completed, 2026-11-20 12:05 UTC
`);
  });

  test('Slack says how many more there are than it lists', () => {
    const many = Array.from({ length: 1000 }, (_, index) =>
      eventOf(`${index}`.padStart(32, '0'), 'Canceled'),
    );
    const text = tell(slack, many)['text'] as string;
    expect(text).toMatch(/^\*Candidates: 1000 canceled\*\n/);
    expect(text.match(/•/g)).toHaveLength(30);
    expect(text).toMatch(/… and 970 more$/);
  });

  test('a mail has the counts in its subject and every event in its text', () => {
    expect(tell(mail, some.slice(0, 1))).toMatchObject({
      subject: 'Candidates: 1 completed',
      text: 'Backend <Engineer>: a completed, 2026-11-20 12:05 UTC\n',
    });
    const many = Array.from({ length: 1000 }, (_, index) => eventOf(`${index}`, 'Canceled'));
    expect((tell(mail, many)['text'] as string).split('\n')).toHaveLength(1001);
  });

  test('a sheet gets one row with the counts and the candidates', () => {
    expect(tell(sheet)).toEqual({
      tab: 'Digests',
      row: {
        Sent: '2026-11-20T13:00:00.000Z',
        Events: 3,
        Summary: 'Candidates: 2 completed, 1 did not take it',
        Candidates: 'a, <!here>, c',
        Delivery: 'dlv_1',
      },
    });
  });

  test('a webhook gets the events, without what the service sent besides', () => {
    const { raw: _, receivedAt, ...first } = some[0]!;
    expect(tell(ats, some.slice(0, 1))['body']).toEqual({
      type: 'candidate.digest',
      timestamp: '2026-11-20T12:05:00.000Z',
      data: { events: [{ ...first, receivedAt: new Date(receivedAt).toISOString() }] },
    });
  });
});

describe('what a notice says where its action says nothing', () => {
  const noticeOf = (alert: Notice['alert'], over: Partial<RaisedNotice> = {}): RaisedNotice => ({
    id: 'ntc_1',
    alert,
    cause: alert,
    sink: alert === 'silence' ? null : 'ats & co',
    count: alert === 'dead' ? 2 : 0,
    since: now - 3_600_000,
    raisedAt: now,
    detail: 'Something is wrong.',
    advice: 'Fix it.',
    ...over,
  });
  const tell = (kind: Notice['alert'], index: number, over?: Partial<RaisedNotice>) =>
    messageOf(config, config.plan.alerts.find((alert) => alert.kind === kind)?.actions[index], {
      events: [],
      notice: noticeOf(kind, over),
    });

  test.each([
    ['dead', {}, '2 deliveries to ats & co given up'],
    ['dead', { count: 1 }, '1 delivery to ats & co given up'],
    ['held', { count: 2 }, '2 deliveries to ats & co held for a person to decide'],
    ['paused', {}, 'ats & co is down'],
    ['silence', {}, 'no event since 2026-11-20 12:00 UTC'],
  ] as const)('%s %j: in short, in detail, and what to do', (kind, over, short) => {
    const escaped = short.replace('&', '&amp;');
    expect(tell(kind, 0, over)).toMatchObject({
      channel: '#ops',
      text: `:warning: *Candidate Connector: ${escaped}*\nSomething is wrong.\nFix it.`,
    });
    expect(tell(kind, 2, over)).toMatchObject({
      subject: `Candidate Connector: ${short}`,
      text: 'Something is wrong.\n\nFix it.\n',
    });
    expect(tell(kind, 1, over)).toEqual({
      tab: 'Alerts',
      row: {
        Sent: '2026-11-20T13:00:00.000Z',
        Alert: short,
        Since: '2026-11-20T12:00:00.000Z',
        Detail: 'Something is wrong.',
        'To do': 'Fix it.',
        Delivery: 'dlv_1',
      },
    });
  });

  test('a webhook gets the notice', () => {
    expect(tell('dead', 3)['body']).toEqual({
      type: 'connector.alert',
      timestamp: '2026-11-20T12:00:00.000Z',
      data: {
        alert: 'dead',
        sink: 'ats & co',
        count: 2,
        since: '2026-11-20T12:00:00.000Z',
        detail: 'Something is wrong.',
        advice: 'Fix it.',
      },
    });
  });
});
