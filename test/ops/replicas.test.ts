import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { post as postTo } from '../activated.ts';
import { base, endpoint, post as postEvent, run, serving, workplace } from '../commands/tools.ts';
import { ConnectorProcess } from '../faults/connector-process.ts';
import { freshSchema, PostgresProxy, sql } from '../fixtures/postgres.ts';
import { Replicas } from '../../src/ops/replicas.ts';
import type { LeaseStore } from '../../src/store/store.ts';
import { systemClock } from '../../src/support/clock.ts';
import type { HttpSandbox } from '../../sandbox/http.ts';
import { startTools } from '../../sandbox/tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const longer = 50_000;

/** `delay`: how long a replica goes on answering at a stop. */
function twoWebhooks(tool: HttpSandbox, delay: string, timeout = '1s'): string {
  const sinks = ['one', 'two'].map(
    (name) =>
      `  ${name}: { connector: webhook, url: "${tool.url}", allowPrivate: true, timeout: ${timeout} }\n`,
  );
  return (
    `shutdown: { delay: ${delay} }\nsinks:\n${sinks.join('')}` +
    'rules: [{ name: all, when: {}, then: [{ sink: one }, { sink: two }] }]\n'
  );
}

/** Starts a replica that runs until the test ends. */
async function started(
  url: string | null,
  config: string,
  env: Record<string, string> = {},
  clockAheadMs = 0,
) {
  const { folder, write } = await workplace();
  const store = url === null ? base(folder) : base(folder).replace(/"sqlite:.*"/, `"${url}"`);
  const adopt = (text: string) => write('config.yaml', store.replace('fatal', 'info') + text);
  const file = await adopt(config);
  const replica = new ConnectorProcess(file, env);
  replica.clockAheadMs = clockAheadMs;
  onTestFinished(() => replica.kill());
  const address = await replica.start();
  const ready = replica.lines.find((line) => line.includes('"msg":"ready"'))!;
  const { admin } = JSON.parse(ready) as { admin: string };
  const metric = async (name: string) => {
    const text = await (await fetch(new URL('/metrics', admin))).text();
    return text.match(new RegExp(`(?<=^candidate_connector_${name}) ?[{\\d].*`, 'gm'));
  };
  return {
    replica,
    file,
    adopt,
    metric,
    status: async () => (await fetch(new URL('/api/status', admin))).json(),
    page: async () => (await fetch(admin, { headers: { accept: 'text/html' } })).text(),
    replicas: () => metric('copies'),
    post: () => postTo({ host: '127.0.0.1', port: Number(new URL(address).port) }),
    readiness: async () => {
      const response = await fetch(new URL('/readyz', address));
      return { status: response.status, body: await response.json() };
    },
    logs: (text: string, times: number) =>
      eventually(
        () =>
          expect(replica.lines.filter((line) => line.includes(text)).length).toBeGreaterThanOrEqual(times),
        longer,
      ),
  };
}

test('replicas that run different configs say so, until they run the same; one is unready before it stops, and answers on, while another takes over', async () => {
  const tool = await endpoint();
  const url = await freshSchema();
  const first = await started(url, twoWebhooks(tool, '8s'));
  const second = await started(url, twoWebhooks(tool, '10m').replace('name: all', 'name: others'));
  const different = {
    part: 'copy',
    ok: true,
    detail: 'Not all replicas run the same config; the log names them.',
  };
  for (const replica of [first, second]) {
    await eventually(async () => {
      expect((await replica.readiness()).body).toMatchObject({
        status: 'ready',
        parts: expect.arrayContaining([different]),
      });
      expect(await replica.replicas()).toEqual(['{config="same"} 1', '{config="other"} 1']);
    }, longer);
  }
  await second.adopt(twoWebhooks(tool, '10m'));
  for (const replica of [first, second]) {
    await eventually(async () => {
      expect((await replica.readiness()).body).toMatchObject({
        parts: expect.not.arrayContaining([different]),
      });
      expect(await replica.replicas()).toEqual(['{config="same"} 2', '{config="other"} 0']);
    }, longer);
  }

  await second.logs('"msg":"taken', 2);
  const stopped = first.replica.stop();
  await eventually(async () => expect((await first.readiness()).status).toBe(503), longer);
  expect((await first.readiness()).body).toMatchObject({
    parts: expect.arrayContaining([
      { part: 'copy', ok: false, detail: 'It is stopping. Other replicas go on.' },
    ]),
  });
  await second.logs('"msg":"taken', 4);
  expect(await first.post()).toBe(202);
  await eventually(() => expect(tool.calls).toHaveLength(2), longer);
  expect((await second.readiness()).status).toBe(200);
  expect(await stopped).toBe(0);
  // It is alone from then on, and waits for nobody.
  await second.logs('"copies":1,', 1);
  expect(await second.replica.stop()).toBe(0);
}, 120_000);

test('replicas whose environment has them call a sink otherwise say so, though their file is the same', async () => {
  const [tool, staging] = [await endpoint(), await endpoint()];
  const url = await freshSchema();
  const config = twoWebhooks(tool, '1s').replace(tool.url, '${ATS_URL}');
  const first = await started(url, config, { ATS_URL: tool.url });
  const second = await started(url, config, { ATS_URL: staging.url });
  for (const replica of [first, second]) {
    await replica.logs('the copies call a sink by different settings or secrets', 1);
    await eventually(async () => {
      expect(await replica.replicas()).toEqual(['{config="same"} 1', '{config="other"} 1']);
    }, longer);
  }
  expect((await run(['status', '--store', url])).out).toContain('The replicas run different configs');
  await second.replica.stop();
  await eventually(
    async () =>
      expect((await run(['status', '--store', url])).out).not.toContain('The replicas run different configs'),
    longer,
  );
}, 120_000);

test.each(['SQLite', 'PostgreSQL'])(
  'a single replica on %s stays ready until it stops, and does not wait',
  async (kind) => {
    const tool = await endpoint();
    const { replica, post, readiness } = await started(
      kind === 'SQLite' ? null : await freshSchema(),
      twoWebhooks(tool, '10m', '60s'),
    );
    tool.faults.decide = () => ({ kind: 'hang', commit: true });
    expect(await post()).toBe(202);
    await eventually(() => expect(tool.calls).toHaveLength(2), longer);
    const logged = replica.logs('"msg":"stopping"');
    const stopped = replica.stop();
    await logged;
    expect((await readiness()).status).toBe(200);
    // What is under way ends, and with it the stop.
    await tool.stop();
    expect(await stopped).toBe(0);
  },
);

test('a replica whose config a standby lacks stores it again, and accepts events', async () => {
  const url = await freshSchema();
  const { post } = await started(url, 'sinks: {}\nrules: []\n');
  await sql(url, 'delete from configs');
  await eventually(async () => expect(await post()).toBe(202), longer);
});

test("a replica whose clock is ahead goes by PostgreSQL's before the first event can come, as do its pages, metrics and commands", async () => {
  const tool = await endpoint();
  const url = await freshSchema();
  const aheadMs = 600_000;
  const one = await started(url, twoWebhooks(tool, '0s'), {}, aheadMs);
  const [row] = await sql(url, 'select saved_at, id from configs');
  expect(Number(row!['saved_at'])).toBeLessThan(Date.now() + 60_000);

  expect(await one.post()).toBe(202);
  const delivered = () => sql(url, `select 1 from deliveries where state = 'delivered'`);
  await eventually(async () => expect(await delivered()).toHaveLength(2), longer);
  const [{ id }] = (await sql(url, 'select id from events')) as [{ id: string }];
  const { now } = Date;
  vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const of = ['--config', one.file];
  const resent = await run(['resend', '--wait', ...of, `${id.replace('evt', 'dlv')}_1`]);
  expect(resent).toMatchObject({ code: 0, err: '' });
  expect(await delivered()).toHaveLength(3);
  expect(await run(['status', ...of])).toMatchObject({ code: 0 });
  expect(await one.page()).toMatch(/the last came <time[^>]*>(?:just now|\d+ seconds? ago)</);
  const { write } = await workplace();
  const text = await readFile(one.file, 'utf8');
  const later = await write(
    'config.yaml',
    text.replace(', { sink: two }', '').replace('name: all', 'name: late'),
  );
  expect(await run(['apply', '--rule', 'late', '--since', '1d', '--yes', '--config', later])).toMatchObject({
    code: 0,
  });
  await eventually(async () => expect(await delivered()).toHaveLength(4), longer);
  await sql(url, `insert into refused values ('store', 'a', 1, 1, 1)`);
  expect(await run(['ignore', '--all', ...of])).toMatchObject({ code: 0 });
  const [{ candidate_id }] = (await sql(url, 'select candidate_id from events')) as [Record<string, string>];
  expect(await run(['forget', candidate_id!, '--yes', ...of])).toMatchObject({ code: 0 });
  const told = await sql(url, 'select action, changed_at from audit order by seq');
  expect(told.map(({ action }) => action)).toEqual(['resend', 'apply', 'ignore', 'forget']);
  const [saved] = await sql(url, 'select max(saved_at) as latest from configs');
  for (const time of [...told.map(({ changed_at }) => changed_at), saved!['latest']])
    expect(Number(time)).toBeLessThan(now() + 60_000);

  tool.faults.decide = () => ({ kind: 'rate-limit', retryAfterS: 600 });
  expect(await one.post()).toBe(202);
  const ageS = async () => Number((await one.metric('oldest_pending_age_seconds'))![0]);
  await eventually(async () => expect(await ageS()).toBeGreaterThan(0), longer);
  expect(await ageS()).toBeLessThan(60);
  expect(await one.status()).toMatchObject({ running: true, needs: [] });
}, 60_000);

test("a replica whose clock is set ahead while it serves soon goes by PostgreSQL's again", async () => {
  const [tool, url, { folder, write }] = [await endpoint(), await freshSchema(), await workplace()];
  const config = base(folder).replace(/url: "[^"]*"/, `url: "${url}"`) + twoWebhooks(tool, '0s');
  const app = await serving(await write('config.yaml', config));
  vi.spyOn(systemClock, 'now').mockImplementation(() => Date.now() + 600_000);
  onTestFinished(() => void vi.restoreAllMocks());
  await eventually(async () => {
    const { eventId } = await postEvent(app, { candidateId: `at ${performance.now()}` });
    const [row] = await sql(url, `select received_at from events where id = '${eventId}'`);
    expect(Math.abs(Number(row!['received_at']) - Date.now())).toBeLessThan(60_000);
  }, longer);
}, 60_000);

test('a stop does not wait for a PostgreSQL that is away', async () => {
  const proxy = await PostgresProxy.start(await freshSchema());
  onTestFinished(() => proxy.close());
  const { replica, logs } = await started(proxy.url, twoWebhooks(await endpoint(), '0s'));
  proxy.close();
  expect(await replica.stop()).toBe(0);
  await logs('PostgreSQL did not answer in time', 1);
}, 60_000);

/** With the default time-outs (ms). */
const timeoutsMs = { slack: 20_000, sheet: 30_000, mail: 60_000, ats: 30_000 };

const fourSinks = `
sinks:
  slack: { connector: slack, token: "\${SLACK_BOT_TOKEN}", apiUrl: "\${SLACK_API_URL}" }
  sheet: { connector: google-sheets, spreadsheetId: "\${SHEET_ID}", credentials: "\${GOOGLE_CREDENTIALS}", apiUrl: "\${SHEETS_API_URL}" }
  mail: { connector: email, url: "\${SMTP_URL}", from: hiring@example.com }
  ats: { connector: webhook, url: "\${ATS_URL}", secret: "\${ATS_SECRET}", allowPrivate: true }
rules:
  - name: all
    when: {}
    then:
      - { sink: slack, channel: "#hiring", text: Hello }
      - { sink: sheet, tab: Results, row: { Candidate: "{{ event.candidateId }}" } }
      - { sink: mail, to: hiring@example.com, subject: Hello, text: Hello }
      - { sink: ats }
alerts: { dead: { then: [{ sink: mail, to: ops@example.com }] } }
`;

test('a replica that is killed with everything under way is followed by another one, whatever the time-outs and its clock are', async () => {
  const tools = await startTools();
  onTestFinished(() => tools.close().then(() => undefined));
  const url = await freshSchema();
  const first = await started(url, fourSinks, tools.env, -600_000);
  await first.logs('"msg":"taken', 6);
  const begunAt = Date.now();
  const sending = new Set(['chat.postMessage', 'spreadsheets.batchUpdate', 'DATA', 'POST']);
  const reached = new Set<string>();
  for (const faults of tools.faults) {
    faults.decide = ({ name }) => {
      if (!sending.has(name)) return null;
      reached.add(name);
      return { kind: 'hang', commit: false };
    };
  }
  expect(await first.post()).toBe(202);
  await eventually(() => expect(reached.size).toBe(4), longer);
  const longestLease = `select max(until) - (extract(epoch from clock_timestamp()) * 1000)::bigint as ms from leases`;
  expect(Number((await sql(url, longestLease))[0]!['ms'])).toBeLessThanOrEqual(12_000);
  await first.replica.kill();
  for (const faults of tools.faults) faults.clear();

  const second = await started(url, fourSinks, tools.env);
  tools.http.faults.once({ kind: 'status', status: 410 });
  expect(await second.post()).toBe(202);
  const deliveries = (then: string) =>
    sql(url, `select sink, state, uncertain, last_error from deliveries d where ${then}`);
  await eventually(async () => {
    expect(await deliveries(`state = 'delivered' and rule = 'all'`)).toHaveLength(3);
    expect(await deliveries(`state = 'dead'`)).toHaveLength(1);
  }, longer);
  // What was under way waits until the attempt must be over, and is asked for then, on a busy machine before this.
  const under = `select d.sink, coalesce(again.started_at, d.due_at) - ${begunAt} as ms from deliveries d
    left join attempts again on again.delivery_seq = d.seq and again.number = 2
    where d.seq in (select seq from deliveries where rule = 'all' order by seq limit 4)`;
  const waits = await sql(url, under);
  expect(new Set(waits.map(({ sink }) => sink))).toEqual(new Set(Object.keys(timeoutsMs)));
  for (const { sink, ms } of waits)
    expect(Number(ms)).toBeGreaterThanOrEqual(timeoutsMs[sink as keyof typeof timeoutsMs]);
  // Its alerts and its retention are done as well.
  await second.logs('"lease":"retention"', 1);
  await eventually(
    () => expect(tools.smtp.mails.map(({ envelope }) => envelope.to)).toContainEqual(['ops@example.com']),
    longer,
  );
}, 180_000);

test('a replica whose clock was set ahead knows that it may be off until PostgreSQL tells the time', async () => {
  const replicas = new Replicas({ leases: {} as LeaseStore }, pino({ level: 'silent' }));
  let behindMs = 600_000;
  vi.spyOn(systemClock, 'now').mockImplementation(() => Date.now() - behindMs);
  const lookAtClock = () => replicas.lookAtClock({ now: async () => Date.now() });
  await lookAtClock();
  expect(replicas.isClockUnsure).toBe(false);
  behindMs = 0;
  expect(replicas.clock.now()).toBeGreaterThan(Date.now() + 500_000);
  expect(replicas.isClockUnsure).toBe(true);
  await lookAtClock();
  expect(replicas.isClockUnsure).toBe(false);
  expect(Math.abs(replicas.clock.now() - Date.now())).toBeLessThan(2000);
});

test('a replica whose clock was set back goes on by the time that has passed until PostgreSQL tells the time', async () => {
  const replicas = new Replicas({ leases: {} as LeaseStore }, pino({ level: 'silent' }));
  let behindMs = 0;
  vi.spyOn(systemClock, 'now').mockImplementation(() => Date.now() - behindMs);
  const lookAtClock = () => replicas.lookAtClock({ now: async () => Date.now() });
  const isRight = () => Math.abs(replicas.clock.now() - Date.now()) < 2000;
  await lookAtClock();
  behindMs = 600_000;
  expect(isRight()).toBe(true);
  expect(Number.isInteger(replicas.clock.now())).toBe(true);
  await lookAtClock();
  expect(isRight()).toBe(true);
  expect(replicas.isClockUnsure).toBe(false);
});

test('what waits and cannot be sent needs a person, though events are stored', async () => {
  const tool = await endpoint();
  const url = await freshSchema();
  const { post, status, page, readiness, file } = await started(url, twoWebhooks(tool, '0s'));
  await sql(
    url,
    `create function refuse() returns trigger language plpgsql as
       $$ begin raise exception 'permission denied for table deliveries' using errcode = '42501'; end $$;
     create trigger refuse before update on deliveries for each statement execute function refuse()`,
  );
  // Those of the event itself are begun with it.
  await eventually(async () => {
    expect(await post()).toBe(202);
    expect(await status()).toMatchObject({
      needsPerson: true,
      needs: ['what waits cannot be sent'],
      storeProblem: expect.stringContaining('permission denied for table deliveries'),
    });
  }, longer);
  expect(await page()).toContain('<b>What waits cannot be sent</b>: The user postgres lacks a right');
  expect((await readiness()).body).toMatchObject({ parts: [{ part: 'store', ok: false }, { ok: true }] });
  await eventually(async () => {
    const { code, out } = await run(['status', '--config', file]);
    expect([code, out]).toEqual([
      4,
      expect.stringMatching(/^A person is needed: what waits cannot be sent\./),
    ]);
    expect(out).toContain('What waits cannot be sent: The user postgres lacks a right');
  }, longer);
  await sql(url, 'drop trigger refuse on deliveries');
  await eventually(async () => {
    const { code, out } = await run(['status', '--config', file]);
    expect([code, out]).toEqual([0, expect.stringContaining('Waiting\n  nothing')]);
  }, longer);
}, 150_000);
