import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startApp } from '../src/app.ts';
import { base, endpoint, jsonLines, post, run, serving, settled, workplace } from './commands/tools.ts';
import { slowDown } from './contract/store-fixtures.ts';
import { startTools, type Tools } from '../sandbox/tools.ts';
import { eventually } from './fixtures/eventually.ts';

/** The specification's sample request. */
const sample = {
  candidateId: '0123456789abcdef0123456789abcdef',
  candidateNumericalId: 4711,
  testId: 1234567,
  status: 'Completed',
};

const often = 'retry: { minDelay: 40ms, maxDelay: 80ms, giveUpAfter: 1h }, timeout: 2s, rate: 1000/s';

const configText = (folder: string, more = '') => `${base(folder)}
sinks:
  slack: { connector: slack, token: '\${SLACK_BOT_TOKEN}', apiUrl: '\${SLACK_API_URL}', ${often} }
  sheet: { connector: google-sheets, spreadsheetId: '\${SHEET_ID}', credentials: '\${GOOGLE_CREDENTIALS}', apiUrl: '\${SHEETS_API_URL}', ${often} }
  mail: { connector: email, url: '\${SMTP_URL}', from: hiring@example.com, ${often} }
  ats: { connector: webhook, url: '\${ATS_URL}', secret: '\${ATS_SECRET}', allowPrivate: true, ${often} }
rules:
  - name: all
    when: {}
    then:
      - { sink: slack, channel: '#hiring', text: '{{ event.candidateId }} {{ event.status }}' }
      - { sink: sheet, tab: Results, row: { Candidate: '{{ event.candidateId }}', Status: '{{ event.status }}' } }
      - { sink: mail, to: hr@example.com, subject: '{{ event.status }}', text: '{{ event.candidateId }}' }
      - { sink: ats }
${more}`;

/** A config with the four sandboxes, and what it takes to run it. */
async function prepared(timeout = '2s') {
  const { folder, write } = await workplace();
  const tools = await startTools();
  onTestFinished(async () => void (await tools.close()));
  const file = await write(
    'config.yaml',
    configText(folder).replaceAll('timeout: 2s', `timeout: ${timeout}`),
  );
  return { folder, tools, file, env: tools.env, done: () => settled(file) };
}

const everything = ({ received }: Tools) => ({
  slack: received.slack(),
  sheet: received.sheet(),
  mail: received.mail(),
  ats: received.webhook(),
});

/** The ids of the deliveries of these events, as each tool should have them. */
function expected(eventIds: readonly string[]) {
  const ids = (n: number) => eventIds.map((id) => `dlv_${id.slice(4)}_${n}`);
  return { slack: ids(1), sheet: ids(2), mail: ids(3), ats: ids(4) };
}

const sorted = (ids: Record<string, string[]>) =>
  Object.fromEntries(Object.entries(ids).map(([sink, list]) => [sink, list.toSorted()]));

test("the specification's sample request reaches all four tools, once, and the call is signed as Standard Webhooks say", async () => {
  // The first test loads the tools' libraries, which may take seconds on a busy machine.
  const { tools, file, env, done } = await prepared('20s');
  const app = await serving(file, env);
  const { status, eventId, duplicate } = await post(app, sample, 'cor-1');
  expect({ status, duplicate }).toEqual({ status: 202, duplicate: false });
  await done();
  const text = `${sample.candidateId} Completed`;
  expect(tools.slack.messages).toMatchObject([{ channelName: 'hiring', text }]);
  expect(tools.sheets.rows('Results')).toMatchObject([
    { Candidate: sample.candidateId, Status: 'Completed' },
  ]);
  expect(tools.smtp.mails).toMatchObject([
    { envelope: { to: ['hr@example.com'] }, parsed: { subject: 'Completed' } },
  ]);
  const [call] = tools.http.calls;
  const payload = new Webhook(env.ATS_SECRET).verify(call!.body, call!.headers as Record<string, string>);
  expect(payload).toMatchObject({
    type: 'candidate.completed',
    data: { ...sample, id: eventId, correlationId: 'cor-1' },
  });
  expect(everything(tools)).toEqual(expected([eventId]));
});

test('a keyed row is updated by what comes after a restart with the clock set back', async () => {
  onTestFinished(() => void vi.useRealTimers());
  const { folder, tools, file, env, done } = await prepared();
  const action =
    "sink: sheet, tab: Board, key: Candidate, row: { Candidate: '{{ event.candidateId }}', Status: '{{ event.status }}' }";
  await writeFile(file, configText(folder, `  - { name: board, when: {}, then: [ { ${action} } ] }`));
  const now = Date.now();
  for (const [status, time] of [
    ['DidNotTake', now],
    ['Completed', now - 86_400_000],
  ] as const) {
    vi.useFakeTimers({ toFake: ['Date'], now: time });
    const app = await serving(file, env);
    await post(app, { ...sample, status });
    await done();
    await app.stop();
  }
  expect(tools.sheets.rows('Board')).toMatchObject([{ Status: 'Completed' }]);
});

test('after an answer that may come after the work was done, Slack and the sheet are asked: message and row are there once', async () => {
  const { tools, file, env, done } = await prepared();
  const app = await serving(file, env);
  const statuses = [302, 408, 503];
  const calls = [
    [tools.slack, 'chat.postMessage'],
    [tools.sheets, 'spreadsheets.batchUpdate'],
  ] as const;
  for (const [{ faults }, call] of calls) {
    faults.only = [call];
    for (const status of statuses) faults.once({ kind: 'status', status, commit: true });
  }
  for (const status of statuses) await post(app, { candidateId: `candidate-${status}` });
  await done();
  expect([tools.received.slack().length, tools.received.sheet().length]).toEqual([3, 3]);
});

describe('nothing is lost', () => {
  test('while all four tools are down: everything arrives once they are back, and the sender saw only 2xx', async () => {
    const { tools, file, env, done } = await prepared();
    const all = [tools.slack, tools.sheets, tools.smtp, tools.http];
    const app = await serving(file, env);
    await Promise.all(all.map((tool) => tool.stop()));
    const candidates = Array.from({ length: 5 }, (__, index) => `candidate-${index}`);
    const answers = await Promise.all(candidates.map((candidateId) => post(app, { candidateId })));
    expect(answers.map(({ status }) => status)).toEqual(candidates.map(() => 202));
    await eventually(async () => {
      const events = jsonLines<Story>(await run(['events', '--json', '--config', file], env));
      const tried = events.flatMap(({ deliveries }) => deliveries).filter(({ attempts }) => attempts > 0);
      expect(new Set(tried.map(({ sink }) => sink)).size).toBe(4);
    });
    await Promise.all(all.map((tool) => tool.start()));
    await done();
    expect(sorted(everything(tools))).toEqual(sorted(expected(answers.map(({ eventId }) => eventId))));
  });

  test('by a restart: what was pending goes out after it, and what came before is still known', async () => {
    const { tools, file, env, done } = await prepared();
    const first = await startApp(file, env);
    const delivered = await post(first, sample);
    await done();
    await tools.slack.stop();
    await tools.http.stop();
    const pending = await post(first, { ...sample, status: 'Canceled' });
    await settled(file, /delivered|pending/);
    await first.stop();
    await Promise.all([tools.slack.start(), tools.http.start()]);
    const second = await serving(file, env);
    await done();
    expect(everything(tools)).toEqual(expected([delivered.eventId, pending.eventId]));
    expect(await post(second, sample)).toMatchObject({ status: 200, eventId: delivered.eventId });
    const [story] = jsonLines(await run(['event', delivered.eventId, '--json', '--config', file], env));
    expect(story).toMatchObject({ duplicates: 1, rules: [{ rule: 'all', matched: true }] });
  });

  test('by a stop that waits for a slow tool: it goes on accepting, and is ready, until its attempts have ended', async () => {
    const { tools, file, env, done } = await prepared();
    tools.http.faults.decide = () => ({ kind: 'hang', commit: false });
    const first = await startApp(file, env);
    const before = await post(first, { candidateId: 'Before' });
    await settled(file, /delivered|sending/);
    const stopped = first.stop();
    const ready = await fetch(new URL('/readyz', first.receiverUrl));
    expect([ready.status, ready.headers.get('connection')]).toEqual([200, 'close']);
    const meanwhile = await post(first, { candidateId: 'Meanwhile' });
    expect(meanwhile).toMatchObject({ status: 202 });
    await tools.http.stop();
    await stopped;
    tools.http.faults.clear();
    await tools.http.start();
    await serving(file, env);
    await done();
    expect(sorted(everything(tools))).toEqual(sorted(expected([before.eventId, meanwhile.eventId])));
  });

  test('by a stop while somebody looks at what takes long to read: it goes on accepting until that is read', async () => {
    const { folder, write } = await workplace();
    const app = await startApp(await write('config.yaml', `${base(folder)}sinks: {}\nrules: []\n`), {});
    const look = async () =>
      void (await fetch(new URL('/events', app.adminUrl), { headers: { accept: 'text/html' } }).catch(
        () => {},
      ));
    const [[reading]] = (await Promise.all([once(process, 'worker'), look()])) as [[Worker], void];
    const send = async () => (await post(app, { candidateId: randomUUID() }).catch(() => null))?.status;
    await send();
    slowDown(join(folder, 'connector.db'), 1_000_000);
    const looked = look();
    for (let round = 0; round < 10; round += 1) await send();
    const read = new AbortController();
    reading.once('exit', () => read.abort());
    const stopped = app.stop();
    const answers = new Set<number | undefined>();
    while (!read.signal.aborted) answers.add(await send());
    await Promise.all([stopped, looked]);
    expect(answers).toEqual(new Set([202]));
  });
});

test('what could not start leaves nothing behind: it can be started again', async () => {
  const { folder, file, env } = await prepared();
  const app = await serving(file, env);
  const taken = await workplace();
  const elsewhere = base(taken.folder).replace('port: 0,', `port: ${new URL(app.receiverUrl).port},`);
  const second = await taken.write('config.yaml', configText(folder).replace(base(folder), elsewhere));
  await expect(startApp(second, env)).rejects.toThrow(/^cannot listen on 127\.0\.0\.1:\d+: another program/);
  await app.stop();
  await serving(second, env);
});

interface Story {
  readonly id: string;
  readonly deliveries: readonly {
    readonly sink: string;
    readonly state: string;
    readonly attempts: number;
  }[];
}

test('a sink that hangs holds up no other', async () => {
  const { tools, file, env } = await prepared();
  tools.http.faults.decide = () => ({ kind: 'hang', commit: false });
  const app = await serving(file, env);
  const posted = [await post(app, sample), await post(app, { ...sample, status: 'Canceled' })];
  await eventually(() => {
    const { slack, sheet, mail } = expected(posted.map(({ eventId }) => eventId));
    expect(everything(tools)).toMatchObject({ slack, sheet, mail, ats: [] });
  });
  const stories = jsonLines<Story>(await run(['events', '--json', '--config', file], env));
  const states = stories.flatMap(({ deliveries }) => deliveries.filter(({ sink }) => sink === 'ats'));
  expect(states.map(({ state }) => state)).toEqual(['sending', 'sending']);
  await tools.http.stop();
});

test('no secret gets into the store or out of a command, whoever says it', async () => {
  const { folder, write } = await workplace();
  const http = await endpoint();
  const [token, word, other] = ['receiver-token-0123', 'rule-token-4567', 'key/of 89&ats'];
  const file = await write(
    'config.yaml',
    `${base(folder).replace('receiver: {', `receiver: { token: "\${RECEIVER_TOKEN}",`)}
catalog: { 1234567: { name: Seven, team: "\${RULE_TOKEN}" } }
sinks: { ats: { connector: webhook, url: "${http.url}", headers: { X-Api-Key: "\${ATS}" }, allowPrivate: true } }
rules:
  - name: all
    when: { test.team: "\${RULE_TOKEN}" }
    then: [ { sink: ats, digest: { every: 1s, by: test.team }, body: { team: "{{ test.team }}" } } ]
`,
  );
  const env = { RECEIVER_TOKEN: token, RULE_TOKEN: word, ATS: other };
  http.faults.once({
    kind: 'status',
    status: 410,
    body: { said: other.replace('/', '\\/'), cut: `padded${`${word} `.repeat(40)}` },
  });
  const app = await serving(file, env);
  const url = { receiverUrl: `${app.receiverUrl}?token=${token}` };
  const { eventId } = await post(url, { candidateId: 'Dana' }, `cor ${token}`);
  await post(url, { candidateId: '', padding: 'x'.repeat(1_960), said: token }, token);
  await settled(file);
  const ran = await Promise.all(
    [
      ['event', eventId],
      ['event', eventId, '--json'],
      ['events', '--json'],
      ['events', '--rejected'],
      ['explain', '--status', 'Completed', '--test', '1234567'],
    ].map((argv) => run([...argv, '--config', file], env)),
  );
  const files = (await readdir(folder)).filter((name) => name.startsWith('connector.db'));
  const stored = await Promise.all(files.map((name) => readFile(`${folder}/${name}`, 'latin1')));
  const shown = [...ran.map(({ out }) => out), ...stored].join('\n');
  expect(shown).toContain('cor ***');
  expect(ran[0]?.out).toContain("the test's team is ***");
  expect(ran[2]?.out).toContain('"state":"dead"');
  for (const secret of [token, token.slice(0, 12), word, word.slice(0, 8), other, 'key\\/of'])
    expect(shown).not.toContain(secret);
});

describe('a changed config', () => {
  const metric = async (adminUrl: string, name: string) => {
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    return Number(new RegExp(`^candidate_connector_${name} (.*)$`, 'm').exec(text)?.[1]);
  };
  const readiness = async (receiverUrl: string) => {
    const response = await fetch(new URL('/readyz', receiverUrl));
    return { status: response.status, body: await response.json() };
  };

  test('takes effect for new events; one with problems does not, and that is seen', async () => {
    const { folder, tools, file, env, done } = await prepared();
    const app = await serving(file, env);
    await post(app, { candidateId: 'Before' });
    await done();

    const louder = configText(folder).replace(
      "text: '{{ event.candidateId }} ",
      "text: 'Look: {{ event.candidateId }} ",
    );
    const loadedAt = await metric(app.adminUrl, 'config_loaded_timestamp_seconds');
    await writeFile(file, louder);
    await expect
      .poll(() => metric(app.adminUrl, 'config_loaded_timestamp_seconds'))
      .toBeGreaterThan(loadedAt);
    await post(app, { candidateId: 'After' });
    await done();

    await writeFile(file, louder.replace('Look:', 'Never: {{ evnt.id }}'));
    await expect.poll(() => metric(app.adminUrl, 'config_reload_failed')).toBe(1);
    expect(await readiness(app.receiverUrl)).toEqual({
      status: 200,
      body: {
        status: 'ready',
        parts: [
          { part: 'store', ok: true },
          {
            part: 'config',
            ok: true,
            detail: expect.stringContaining('the config before it stays in force'),
          },
        ],
      },
    });
    await post(app, { candidateId: 'Still' });
    await writeFile(file, louder);
    await expect.poll(() => metric(app.adminUrl, 'config_reload_failed')).toBe(0);
    await done();
    expect(tools.slack.messages.map(({ text }) => text)).toEqual([
      'Before Completed',
      'Look: After Completed',
      'Look: Still Completed',
    ]);
  });

  test('does not change what was decided before: a delivery goes out as its event was decided', async () => {
    const { folder, tools, file, env, done } = await prepared();
    await tools.slack.stop();
    const app = await serving(file, env);
    const { eventId } = await post(app, { candidateId: 'Dana' });
    await settled(file, /delivered|pending/);
    const loadedAt = await metric(app.adminUrl, 'config_loaded_timestamp_seconds');
    await writeFile(file, configText(folder).replace('#hiring', '#general'));
    await expect
      .poll(() => metric(app.adminUrl, 'config_loaded_timestamp_seconds'))
      .toBeGreaterThan(loadedAt);
    await tools.slack.start();
    await done();
    expect(tools.slack.messages).toMatchObject([{ channelName: 'hiring' }]);
    expect(everything(tools)).toEqual(expected([eventId]));
  });

  test('that takes a variable away costs what waits for it, and no other delivery', async () => {
    const { folder, tools, file, env } = await prepared();
    const greeting = configText(folder).replace(
      '{ sink: ats }',
      "{ sink: ats, body: { say: '${GREETING}' } }\n      - { sink: ats, body: { say: hello } }",
    );
    await writeFile(file, greeting);
    await tools.http.stop();
    const first = await startApp(file, { ...env, GREETING: 'good day' });
    const { eventId } = await post(first, { candidateId: 'Dana' });
    await settled(file, /delivered|pending/);
    await first.stop();
    await writeFile(file, configText(folder));
    await tools.http.start();
    await serving(file, env);
    await settled(file);
    const [story] = jsonLines<{ deliveries: { state: string; lastError: string | null }[]; rules: object[] }>(
      await run(['event', eventId, '--json', '--config', file], env),
    );
    expect(story?.deliveries.slice(3)).toMatchObject([
      { state: 'dead', lastError: expect.stringContaining('GREETING is not set') },
      { state: 'delivered' },
    ]);
    expect(story?.rules).toMatchObject([{ rule: 'all', matched: true }]);
    expect(tools.http.calls.map(({ body }) => body)).toEqual(['{"say":"hello"}']);
  });
});
