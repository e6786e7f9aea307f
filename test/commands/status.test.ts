import { spawnSync } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needsOf } from '../../src/ops/needs.ts';
import { statusJson } from '../../src/ops/status/json.ts';
import { onlyStore, readStatus } from '../../src/ops/status/status.ts';
import { rejectedWords } from '../../src/ops/status/words.ts';
import { openStore } from '../../src/store/open.ts';
import type { ReplicaState } from '../../src/store/store.ts';
import {
  arrival,
  claimDue,
  configId,
  delivered,
  planned,
  resultOf,
  retry,
  t0,
} from '../contract/store-fixtures.ts';
import { freshSchema } from '../fixtures/postgres.ts';
import { basic } from '../pages/tools.ts';
import { theProgram } from '../fixtures/program.ts';
import { agedBy, jsonLines, loud, nothing, post, run, serve, settled, telling, workplace } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const time = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d UTC';
const isoTime = expect.stringMatching(/^20\d\d-.*Z$/);

async function startServing(admin?: string, minDelay = '1m') {
  const told = await telling({
    ats: `, retry: { minDelay: ${minDelay} }`,
    sinks: `, mail: { connector: email, url: 'smtp://\${NOBODY:-127.0.0.1}:1', from: a@example.com }`,
    admin,
  });
  const json = async () => JSON.parse((await told.command('status', '--json')).out);
  return { ...told, json };
}

describe('status', () => {
  test("counts the events of today by the config's clock", async () => {
    const { folder } = await workplace();
    const store = await openStore(`sqlite:${folder}/connector.db`, { serve: true });
    await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
    const now = Date.parse('2026-11-21T16:00:00Z');
    // In Tokyo, the next day began at 15:00.
    for (const hour of ['14:59', '15:00', '15:59'])
      await store.accept(arrival({ receivedAt: Date.parse(`2026-11-21T${hour}:00Z`) }));
    expect((await readStatus(onlyStore(store), now, 'Asia/Tokyo')).eventsToday).toBe(2);
    expect((await readStatus(onlyStore(store), now, 'UTC')).eventsToday).toBe(3);
    // The last event came by a clock that was ahead.
    const { lastEventAt } = await readStatus(onlyStore(store), now - 1_800_000, 'UTC');
    expect(lastEventAt).toBe(Date.parse('2026-11-21T15:00:00Z'));
    await store.saveConfig({ id: 'tokyo', source: { timezone: 'Asia/Tokyo' }, savedAt: now });
    await store.close();
    const { out } = await run(['status', '--store', `sqlite:${folder}/connector.db`]);
    expect(out).toContain('today (Asia/Tokyo)');
  });

  test('names what has failed for an hour in a sink that works for others', async () => {
    const { folder } = await workplace();
    const store = await openStore(`sqlite:${folder}/connector.db`, { serve: true });
    onTestFinished(() => store.close());
    await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
    await store.accept(arrival());
    for (let at = t0, attempts = 0; attempts < 5; at += 1_000_000, attempts += 1) {
      const [claimed] = await claimDue(store, at);
      await store.record([resultOf(claimed!, retry, { settledAt: at, dueAt: at })]);
    }
    const sending = arrival(
      { receivedAt: t0 + 4_500_000 },
      { deliveries: [planned({ lane: 'slack #other' })] },
    );
    await store.accept(sending);
    const [other] = await claimDue(store, t0 + 4_500_000, 'slack #other');
    await store.record([resultOf(other!, delivered)]);
    const at = (now: number) => readStatus(onlyStore(store), now, 'UTC');
    const found = await at(t0 + 3_600_000);
    expect(needsOf(found)).toMatchObject([{}, { words: '1 to slack failing for an hour' }]);
    expect(statusJson(found).failing).toEqual([
      { sink: 'slack', count: 1, reason: 'It answered 503.', since: new Date(t0).toISOString() },
    ]);
    expect((await at(t0 + 3_599_999)).failing).toEqual([]);
  });

  test('says that nothing needs a person, and exits 0', async () => {
    const { app, file, command, json } = await startServing();
    expect((await command('status')).out).toContain('Receiver\n  no event yet');
    await post(app, { candidateId: 'a' });
    await settled(file);
    const { code, out, err } = await command('status');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(
      new RegExp(
        `^Nothing needs a person\\.\nConfig\n  .*config\\.yaml, in force since ${time}\n` +
          `Receiver\n  last event ${time}, 1 event today \\(UTC\\)\n` +
          `Sinks\n  ats \\(webhook\\)  working, last success ${time}, 1 attempt in the last hour\n` +
          '  mail \\(email\\)  not used yet\nWaiting\n  nothing\n$',
      ),
    );
    const sink = {
      paused: false,
      since: null,
      reason: null,
      nextProbeAt: null,
      pending: 0,
      dead: 0,
      held: 0,
      failures: 0,
    };
    expect(await json()).toMatchObject({
      needsPerson: false,
      running: true,
      config: { file, since: isoTime, refused: null },
      receiver: { lastEventAt: isoTime, eventsToday: 1 },
      sinks: [
        { sink: 'ats', connector: 'webhook', ...sink, state: 'working', lastSuccessAt: isoTime, attempts: 1 },
        { sink: 'mail', connector: 'email', ...sink, state: 'unused', lastSuccessAt: null, attempts: 0 },
      ],
      oldestPendingAt: null,
      notices: [],
    });
  });

  test('says how many requests of the last week were not valid events', async () => {
    const { app, command, json } = await startServing();
    await post(app, { candidateId: '' });
    await eventually(async () => expect(await json()).toMatchObject({ receiver: { rejectedToday: 1 } }));
    const { code, out } = await command('status');
    expect(code).toBe(0);
    expect(out).toContain(
      '1 request of the last 7 days was not a valid event: `candidate-connector events --rejected` says why',
    );
    expect(await (await fetch(app.adminUrl)).text()).toContain(
      '1 request of the last 7 days was not a valid event',
    );
    // At most 1000 are kept.
    expect(rejectedWords({ rejectedThisWeek: 1000 })).toBe(
      '1000 requests or more of the last 7 days were not valid events',
    );
  });

  test('says that a person is needed where the last three events could not be read, until one can be', async () => {
    const { app, command, json } = await startServing();
    const rejected = async (n: number, correlationId: string) => {
      expect((await post(app, { candidateId: `C${n}`, status: 'Passed' }, correlationId)).status).toBe(422);
      await eventually(async () => expect(await json()).toMatchObject({ receiver: { rejectedToday: n } }));
    };
    // The service sends it twice, and a scan sends no correlation id.
    for (const [index, id] of ['c-1', 'c-1', 'c-2', ''].entries()) await rejected(index + 1, id);
    expect(await json()).toMatchObject({ needsPerson: false, receiver: { unreadInARow: 0 } });
    await rejected(5, 'c-3');
    expect(await json()).toMatchObject({
      needs: ['the last 3 events could not be read'],
      receiver: { unreadInARow: 3 },
    });
    const { code, out } = await command('status');
    expect(code).toBe(4);
    expect(out).toMatch(/^A person is needed: the last 3 events could not be read\./);
    expect(out).toContain('The service may have changed what it sends, or something on the way changes it.');
    for (const path of ['/', '/attention']) {
      const page = await (await fetch(app.adminUrl + path)).text();
      expect(page).toContain('<b>The last 3 events could not be read</b>: nobody was told of them');
      expect(page).not.toContain('of the last 7 days were not valid events');
    }
    expect((await post(app, { candidateId: 'Dana' }, 'c-4')).status).toBe(202);
    expect((await command('status')).code).toBe(0);
  });

  test('answers on the admin port with the same, for those with the password', async () => {
    const { app, json } = await startServing('{ port: 0, password: secret }');
    const url = new URL('/api/status', app.adminUrl);
    expect((await fetch(url)).status).toBe(401);
    const response = await fetch(url, { headers: basic('ops', 'secret') });
    const answer = (await response.json()) as { lastSignAt: string };
    expect(answer).toEqual({ ...(await json()), lastSignAt: answer.lastSignAt });
  });

  test('says that a password too short closes the admin port: events go on, and `check` fails', async () => {
    // This host is loopback, but is not recognized as such.
    const { app, file, command, json } = await startServing('{ host: "127.1", port: 0, password: short }');
    expect((await post(app, { candidateId: 'a' })).status).toBe(202);
    await settled(file);
    expect((await fetch(new URL('/api/status', app.adminUrl))).status).toBe(403);
    const { code, out } = await command('status');
    expect(code).toBe(4);
    expect(out).toContain('The admin port lets nobody in: admin.password needs 12 characters or more');
    const needs = ['the admin port lets nobody in'];
    expect(await json()).toMatchObject({
      needs,
      config: { adminClosed: expect.stringContaining('12 char') },
    });
    const checked = await command('check');
    expect(checked.code).toBe(1);
    expect(checked.out + checked.err).toMatch(/:4:\d+: error: admin\.password needs 12 characters/);
  });

  test('names a paused sink with its reason and next try, and what waits for it', async () => {
    const { app, file, http, command, json } = await startServing();
    http.faults.decide = () => ({ kind: 'status', status: 401 });
    for (let n = 0; n < 8; n += 1) await post(app, { candidateId: `c${n}` });
    await eventually(async () => expect((await json()).sinks[0]).toMatchObject({ paused: true }));
    const { code, out } = await command('status');
    expect(code).toBe(4);
    expect(out).toMatch(/^A person is needed: ats is paused\.\n/);
    expect(out).toMatch(
      new RegExp(`ats \\(webhook\\)  paused \\(since ${time}\\): .*401.*; next try ${time}, 8 waiting`),
    );
    expect(out).toMatch(new RegExp(`Waiting\n  8 deliveries, the oldest for an event received at ${time}`));
    const waits = new RegExp(
      `pending, waits: the sink is paused as it fails \\(since ${time}\\); next try ${time}  (dlv_\\w+)`,
    );
    const { out: list } = await command('events');
    const [, waiting = ''] = waits.exec(list) ?? [];
    expect((await command('event', waiting)).out).toMatch(waits);
    expect(await json()).toMatchObject({
      needsPerson: true,
      sinks: [
        { since: isoTime, reason: expect.stringContaining('401'), nextProbeAt: isoTime, pending: 8 },
        {},
      ],
      oldestPendingAt: isoTime,
    });
    http.faults.clear();
    expect(await command('retry', 'mail')).toMatchObject({
      code: 1,
      err: expect.stringContaining('not used yet'),
    });
    expect((await command('retry', 'atz')).code).toBe(2);
    expect(await command('retry', 'ats')).toMatchObject({
      code: 0,
      out: expect.stringContaining('is tried now'),
    });
    await settled(file);
    expect((await json()).sinks[0]).toMatchObject({ state: 'working', pending: 0 });
  });

  test('says until when a tool asked to wait, why and how many do; and `retry` leaves a sink that works alone', async () => {
    const { folder, file, app, http, command, json } = await startServing();
    await post(app, { candidateId: 'first' });
    await settled(file);
    http.faults.decide = () => ({ kind: 'rate-limit', retryAfterS: 3600 });
    await post(app, { candidateId: 'a' });
    await eventually(async () => expect((await json()).sinks[0].askedToWait).toHaveLength(1));
    // Only the refused message is held back for so long, so the next one is tried and refused, too.
    const [asked] = (await json()).sinks[0].askedToWait;
    expect(asked).toEqual({
      place: null,
      until: isoTime,
      reason: expect.stringContaining('answered 429'),
      refused: 1,
      behind: 0,
    });
    await post(app, { candidateId: 'b' });
    const until = asked.until.replace('T', ' ').replace(/\..*/, '') + ' UTC';
    await eventually(async () =>
      expect((await command('status')).out).toMatch(
        new RegExp(
          `ats \\(webhook\\)  .*2 waiting.*\n +1 message waits until ${until}, as the tool asked: The other system answered 429.*; 1 more is due behind it\n`,
        ),
      ),
    );
    // The story of the message behind it says the same.
    const { id: behind } = JSON.parse((await command('events', '--json', '--candidate', 'b')).out);
    const why = new RegExp(
      `pending, waits until ${until}, as the tool asked \\(The other system answered 429`,
    );
    for (const args of [
      ['events', '--state', 'pending'],
      ['event', behind],
    ])
      expect((await command(...args)).out).toMatch(why);
    expect(await (await fetch(new URL(`/events/${behind}`, app.adminUrl))).text()).toMatch(
      /It waits: until <time[^>]*>[^<]*<\/time>, as the tool asked\s+\(The other system answered 429/,
    );
    const calls = http.calls.length;
    expect(await command('retry', 'ats')).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        `ats is not tried now: its tool asked to wait until ${until}, and may ask for longer where it is called before`,
      ),
    });
    expect(http.calls).toHaveLength(calls);
    const page = async (path: string) => (await fetch(new URL(path, app.adminUrl))).text();
    for (const path of ['/', '/sinks/ats'])
      expect(await page(path)).toMatch(
        /1 message waits until <time datetime="20\d\d-[^>]*UTC">[^<]*<\/time>, as the tool asked: The other system answered 429[^<]*; 1 more is due behind it\./,
      );
    const { id: arrived } = JSON.parse((await command('events', '--json', '--candidate', 'first')).out);
    expect(await command('resend', arrived.replace('evt_', 'dlv_') + '_1')).toMatchObject({
      code: 0,
      out: expect.stringContaining(
        `\nNot yet: ats is not called now: its tool asked to wait until ${until}, and may ask for longer`,
      ),
    });
    // One that has got nothing done for a quarter of an hour needs a person, however few its attempts, and is tried on request.
    using store = new DatabaseSync(`${folder}/connector.db`);
    const since = (minutes: number) =>
      store.exec(`update sink_figures set first_failed_at = ${Date.now() - minutes * 60_000}`);
    since(14);
    expect(await command('status')).toMatchObject({ code: 0 });
    since(15);
    expect(await command('status')).toMatchObject({
      code: 4,
      out: expect.stringMatching(/^A person is needed: ats is failing\.\n/),
    });
    expect(await command('retry', 'ats')).toMatchObject({
      code: 0,
      out: expect.stringContaining(`ats is failing, and is tried now; its tool asked to wait until ${until}`),
    });
    await command('pause', 'ats');
    expect((await command('resume', 'ats')).out).toMatch(
      /waits for it goes out; its tool asked to wait until /,
    );
  });

  test('says how what waits for a sink that was renamed still goes out, and that is so', async () => {
    const { app, file, http, command, json, write } = await startServing();
    await command('pause', 'ats');
    for (const candidateId of ['a', 'b', 'c']) await post(app, { candidateId });
    const before = await readFile(file, 'utf8');
    const after = before.replaceAll(/\bats\b/g, 'other');
    const [, block = ''] = /sinks: \{ (ats: \{.*?\} \}), mail/.exec(before) ?? [];
    const isGone = (wanted: boolean) =>
      eventually(async () => {
        const { sinks } = await json();
        expect(sinks.find(({ sink }: { sink: string }) => sink === 'ats').connector === null).toBe(wanted);
      });
    await write('config.yaml', after);
    await isGone(true);
    const advice = 'Put the sink back under this name, beside the new one where it was renamed';
    expect((await command('status')).out).toContain(advice);
    for (const path of ['/', '/sinks/ats'])
      expect(await (await fetch(new URL(path, app.adminUrl))).text()).toContain(advice);
    // Only the sink comes back; the rules still have the new name.
    await write('config.yaml', after.replace('sinks: { ', `sinks: { ${block}, `));
    await isGone(false);
    expect((await command('status')).out).not.toContain(advice);
    await command('resume', 'ats');
    await settled(file, /^delivered$/);
    expect(http.calls).toHaveLength(3);
  });

  test('says that a person is needed where a digest waits for a sink that left the config, until it is back or a person has seen to it', async () => {
    const rules = `rules:
  - name: all
    when: {}
    then: [{ sink: ats, path: /told, body: { ids: '{{ events.size }}' }, digest: { every: 1h } }]`;
    const { app, file, command, write } = await telling({ rules });
    for (const candidateId of ['a', 'b']) await post(app, { candidateId });
    const before = await readFile(file, 'utf8');
    const told = /^A person is needed: 2 to ats waiting for a sink that is not in the config any more\.\n/;
    const saysGone = (wanted: boolean) =>
      eventually(async () => {
        const { code, out } = await command('status');
        expect({ code, isTold: told.test(out) }).toEqual({ code: wanted ? 4 : 0, isTold: wanted });
      });
    const page = async () => (await fetch(new URL('/attention', app.adminUrl))).text();
    const words =
      /2 messages to\s+<a href="\/sinks\/ats">ats<\/a>\s+wait<\/b\s*>, and it is not in the config any more/;
    await saysGone(false);
    expect(await page()).not.toMatch(words);
    await write('config.yaml', before.replaceAll(/\bats\b/g, 'other'));
    await saysGone(true);
    expect(await page()).toMatch(words);
    expect((await command('pause', 'ats')).code).toBe(0);
    await saysGone(false);
    expect((await command('pause', 'ats', '--for', '2h')).code).toBe(0);
    await saysGone(true);
    expect(await page()).toMatch(words);
    await command('resume', 'ats');
    await saysGone(true);
    await write('config.yaml', before);
    await saysGone(false);
  });

  test('says when a paused sink is tried again: when a delivery is due that waits for it, else with the next message', async () => {
    const { folder, app, http, command, json } = await startServing();
    http.faults.decide = () => ({ kind: 'status', status: 401 });
    for (let n = 0; n < 8; n += 1) await post(app, { candidateId: `c${n}` });
    await eventually(async () => expect((await json()).sinks[0]).toMatchObject({ paused: true }));
    using store = new DatabaseSync(`${folder}/connector.db`);
    const dueAt = Date.UTC(2100, 0, 1);
    store.exec(`update pauses set probe_at = 1; update deliveries set due_at = ${dueAt}`);
    expect((await json()).sinks[0]).toMatchObject({ nextProbeAt: new Date(dueAt).toISOString(), pending: 8 });
    expect((await command('status')).out).toMatch(
      /; next try 2100-01-01.*, 8 waiting.*\n +fix that, then: candidate-connector retry ats\n +A changed environment variable takes a restart of each replica\. Make a container anew: one that is restarted keeps the old variables\.\n/,
    );
    expect((await command('check', '--live')).out).toMatch(
      /✗ messages go out: .* When that is put right, candidate-connector retry ats tries it\. A changed environment variable takes a restart of each replica\. Make a container anew: one that is restarted keeps the old variables\./,
    );
    const page = async () => (await fetch(new URL('/attention', app.adminUrl))).text();
    expect(await page()).toMatch(
      /It is tried again <time[^>]*>in [\d,]+ days<[^.]*; if it works then, what waits goes out\.\s+A changed environment variable takes a restart of each replica\. Make a container anew: one that is restarted keeps the old variables\./,
    );
    const { out: list } = await command('events');
    await command('discard', ...(list.match(/dlv_\w+/g) ?? []));
    expect((await json()).sinks[0]).toMatchObject({ nextProbeAt: null, pending: 0 });
    // `retry` could send nothing, so it is not named, also where the pause has not ended yet.
    for (const probeAt of [1, dueAt]) {
      store.exec(`update pauses set probe_at = ${probeAt}`);
      expect((await command('status')).out).toMatch(
        /; next try with the next message, .*\n +fix that\. The next message shows whether it works: `candidate-connector replay` one/,
      );
      expect(await page()).toContain('Nothing waits for it: the next message shows whether it works.');
      expect(await page()).not.toContain('Try now');
      const live = (await command('check', '--live')).out;
      expect(live).toMatch(/✗ messages go out.* The next message shows whether it works/s);
      expect(live).not.toContain('retry ats');
    }
    store.exec('update pauses set probe_at = 1');
    // An answer to a check shows nothing.
    http.faults.clear();
    expect((await command('retry', 'ats')).out).toContain('ats is paused, and nothing waits for it.');
    const probeAt = () => store.prepare('select probe_at from pauses').get()?.['probe_at'];
    await eventually(() => expect(probeAt()).not.toBe(1));
    expect((await command('status')).code).toBe(4);
    expect((await command('check', '--live')).out).toMatch(/✓ url answers.*\n.*✗ messages go out/);
    await post(app, { candidateId: 'next' });
    await eventually(async () => expect((await json()).sinks[0]).toMatchObject({ state: 'working' }));
  });

  test('says that a sink is failing after five attempts over a minute, however few its messages, until one works', async () => {
    const { app, folder, http, file, command, json } = await startServing('{ port: 0 }', '10ms');
    http.faults.decide = () => ({ kind: 'status', status: 422 });
    await post(app, { candidateId: 'a' });
    await eventually(async () => expect((await json()).sinks[0].failures).toBeGreaterThan(4));
    expect((await json()).sinks[0]).toMatchObject({ state: 'working' });
    // A message that is being sent does not count as waiting.
    await eventually(async () =>
      expect(await command('status')).toMatchObject({
        code: 0,
        out: expect.stringMatching(/ats \(webhook\)  working, perhaps failing: .*422.*, 1 waiting/),
      }),
    );
    expect(await (await fetch(new URL('/', app.adminUrl))).text()).toContain('working, perhaps failing');
    expect(await command('retry', 'ats')).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /ats is working, perhaps failing; what waits for it is tried as usual: `candidate-connector events --state pending --sink ats` says when/,
      ),
    });
    using store = new DatabaseSync(`${folder}/connector.db`);
    store.exec('update sink_figures set first_failed_at = first_failed_at - 60000');
    const { code, out } = await command('status');
    expect(code).toBe(4);
    expect(out).toMatch(/^A person is needed: ats is failing\.\n/);
    expect(out).toMatch(
      new RegExp(`ats \\(webhook\\)  failing \\(since ${time}\\): .*422.*, \\d+ of \\d+ attempts failed`),
    );
    const failing = {
      state: 'failing',
      paused: false,
      since: isoTime,
      reason: expect.stringContaining('422'),
    };
    expect((await json()).sinks[0]).toMatchObject({ ...failing, lastSuccessAt: null });
    for (const path of ['/', '/attention'])
      expect(await (await fetch(new URL(path, app.adminUrl))).text()).toContain('ats is failing');
    const live = await command('check', '--live');
    expect(live).toMatchObject({
      code: 1,
      out: expect.stringMatching(/✓ url answers.*\n.*✗ messages go out: the sink is failing, .*422/),
    });
    http.faults.clear();
    await settled(file);
    expect((await json()).sinks[0]).toMatchObject({ state: 'working', since: null, lastSuccessAt: isoTime });
  });

  test('counts what a sink rejects as failed attempts, and does not call it failing: the messages are at fault', async () => {
    const { app, folder, http, file, command, json } = await startServing();
    http.faults.decide = () => ({ kind: 'status', status: 410 });
    for (const candidateId of ['a', 'b', 'c', 'd', 'e']) await post(app, { candidateId });
    await settled(file);
    using store = new DatabaseSync(`${folder}/connector.db`);
    store.exec('update sink_figures set first_failed_at = first_failed_at - 60000');
    expect((await json()).sinks[0]).toMatchObject({
      state: 'working',
      reason: null,
      attempts: 5,
      failures: 5,
    });
    const { code, out } = await command('status');
    expect(code).toBe(4);
    expect(out).toMatch(
      /^A person is needed: 5 dead\.\n[^]*ats \(webhook\)  working, perhaps failing: [^]*410[^]*5 of 5 attempts failed in the last hour/,
    );
    const metrics = await (await fetch(new URL('/metrics', app.adminUrl))).text();
    expect(metrics).toContain('candidate_connector_sink_failing{sink="ats"} 0');
  });

  test('says of a failing sink whose messages were all given up to replay them, as nothing is left to try', async () => {
    const { app, folder, http, file, command } = await startServing();
    http.faults.decide = () => ({ kind: 'status', status: 410 });
    await post(app, { candidateId: 'a' });
    await settled(file);
    using store = new DatabaseSync(`${folder}/connector.db`);
    store.exec('update sink_figures set failures = 5, first_failed_at = 0, last_failed_at = 60000');
    const { out } = await command('status');
    expect(out).toMatch(
      /ats \(webhook\)  failing \(since .*\n    fix that, then: .* replay --dead --sink ats\n/,
    );
    const asked = await (await fetch(new URL('/attention', app.adminUrl))).text();
    expect(asked).toMatch(/ats is failing[^]*When that is put right, replay what was given up\./);
    expect(asked).not.toContain('Try now');
  });

  test('lists what is dead by its cause, with the command that helps', async () => {
    const { app, http, file, command, json } = await startServing();
    http.faults.decide = () => ({ kind: 'status', status: 410 });
    for (const candidateId of ['a', 'b']) await post(app, { candidateId });
    await settled(file);
    const { code, out } = await command('status');
    expect(code).toBe(4);
    expect(out).toMatch(/^A person is needed: 2 dead\.\n/);
    expect(out).toMatch(new RegExp(`Dead\n  2 to ats, the first at ${time}: .*410.*\n`));
    expect(out).toContain('fix the cause, then: candidate-connector replay --dead --sink ats --cause ');
    const [dead] = (await json()).dead;
    expect(dead).toMatchObject({ sink: 'ats', count: 2, reason: expect.stringContaining('410') });
  });

  test('offers to replay what one cause has stopped, and nothing else of its sink', async () => {
    const { app, http, file } = await telling({
      rules: `rules:
  - { name: "Dana's rule", when: { testId: 1 }, then: [{ sink: ats }] }
  - { name: other, when: { testId: 2 }, then: [{ sink: ats }] }
`,
      admin: '{ port: 0, password: secret }',
    });
    http.faults.decide = () => ({ kind: 'status', status: 410 });
    for (const testId of [1, 2]) await post(app, { candidateId: 'a', testId });
    await settled(file);
    http.faults.clear();
    const { out } = await run(['status', '--config', file]);
    // Reads the offered command as a shell would.
    const offered = out.split('\n').find((line) => line.includes('rule 0')) ?? '';
    const cause = /--cause '(.*)'$/.exec(offered)?.[1]?.replaceAll(String.raw`'\''`, "'") ?? '';
    const argv = offered
      .replace(/^.*candidate-connector /, '')
      .replace(/ --cause .*/, '')
      .split(' ');
    const replayed = await run([...argv, '--cause', cause, '--config', file]);
    expect(replayed.out).toMatch(/^dlv_\S+ goes out again\n$/);
    await settled(file);
    expect(http.calls.map(({ body }) => JSON.parse(body).data.testId)).toEqual([1]);
    const api = (body: object) =>
      fetch(`${app.adminUrl}/api/deliveries/discard`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...basic('ops', 'secret') },
        body: JSON.stringify(body),
      });
    expect((await api({ state: 'held', cause })).status).toBe(422);
    expect(await (await api({ state: 'dead', cause })).json()).toEqual({ changed: [], refused: [] });
    expect(await run(['replay', '--held', '--cause', cause, '--config', file])).toMatchObject({ code: 2 });
  });

  test('says where a changed file was refused, until it is in order', async () => {
    const { file, command, json } = await startServing();
    const good = await readFile(file, 'utf8');
    await writeFile(file, good.replace('sink: ats', 'sink: nobody'));
    await eventually(async () => expect((await json()).config.refused).not.toBeNull());
    const { code, out } = await command('status');
    expect(code).toBe(4);
    expect(out).toMatch(/^A person is needed: the changed config was refused\.\n/);
    expect(out).toMatch(new RegExp(`refused at ${time}: .*config\\.yaml:\\d+:\\d+: .*nobody`));
    expect(await json()).toMatchObject({
      config: { file, since: isoTime, refused: { since: isoTime, problem: expect.stringContaining(file) } },
    });
    // Who has corrected one fault sees when the file with the next one was refused.
    const before = Date.now();
    await writeFile(file, good.replace('sink: ats', 'sink: nobody-else'));
    const refused = new RegExp(`refused at (${time}): .*nobody-else`);
    await eventually(async () => expect((await command('status')).out).toMatch(refused));
    const [, last = ''] = refused.exec((await command('status')).out) ?? [];
    expect(Date.parse(last)).toBeGreaterThanOrEqual(before - 1000);
    expect(Date.parse((await json()).config.refused.since)).toBeLessThan(before);
    await writeFile(file, good.replace('port: 0 }', 'port: 1 }'));
    await eventually(async () => expect((await json()).config.refused).toBeNull());
    expect((await command('status')).out).toContain('These changed keys wait for a restart: admin.port\n');
  });

  test('does not pretend where nothing serves the store: it was stopped, or died', async () => {
    const { folder, write } = await workplace();
    const file = await write('config.yaml', loud(folder) + nothing);
    const store = ['--store', `sqlite:${folder}/connector.db`];
    const { connector } = await serve(file);
    expect((await run(['status', ...store])).code).toBe(0);
    await connector.kill();
    await agedBy(60_000, store[1]!);
    const killed = await run(['status', ...store]);
    expect(killed.code).toBe(4);
    expect(killed.out).toMatch(/^A person is needed: no connector serves the store\.\n/);
    expect(killed.out).toMatch(
      new RegExp(`the last sign of life was at ${time}\n {4}It was killed, stands still, or runs and cannot`),
    );
    expect(killed.out).not.toMatch(/working|in force/);
    const other = await openStore(store[1]!, { serve: false });
    const unwritable = (await onFullDisk('status', ...store)).stdout;
    await other.close();
    expect(unwritable).toMatch(
      /No connector is known to serve .*\n.* stands still, or could note neither its stop nor that it runs\./,
    );
    expect(unwritable).toMatch(/Store\n.*\n    Put that right, .* then start the connector/);
    expect(unwritable).not.toMatch(/start it;|without a restart/);
    expect(JSON.parse((await run(['status', '--json', ...store])).out)).toMatchObject({
      running: false,
      config: { file: null, since: null, refused: null },
      sinks: [],
    });
    await connector.start();
    expect((await run(['status', ...store])).code).toBe(0);
    expect(await connector.stop()).toBe(0);
    expect((await run(['status', ...store])).out).toMatch(
      new RegExp(
        `No connector serves this store; the last one was stopped at ${time}\n {4}Events that come now may be lost: start it;`,
      ),
    );
  });

  test('of a PostgreSQL that is away says what becomes of events', async () => {
    expect(await run(['status', '--store', 'postgres://someone@127.0.0.1:1/none'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /No PostgreSQL listens at .*\. While the .* events are refused; once it can,/,
      ),
    });
  });

  test('of a store that nothing has served yet says so', async () => {
    const { folder } = await workplace();
    const url = `sqlite:${folder}/new.db`;
    await (await openStore(url, { serve: false })).close();
    expect(await run(['status', '--store', url])).toMatchObject({
      code: 4,
      out: expect.stringContaining(
        'No connector has served this store yet\n    `candidate-connector serve` starts one.\n',
      ),
    });
  });

  test('tells apart what was delivered and left somebody out: no replay helps there', async () => {
    const { folder, command, json } = await startServing();
    const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
    await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
    await store.accept(arrival());
    const [claimed] = await claimDue(store);
    const outcome = { ...delivered, note: 'a@b was left out.', missed: true } as const;
    await store.record([resultOf(claimed!, outcome, { settledAt: Date.now() })]);
    await store.close();
    const { code, out } = await command('status');
    expect(code).toBe(0);
    expect(out).toMatch(
      /Delivered, but not as meant \(last 7 days\)\n  1 to slack, .*: a@b was left out\.\n/,
    );
    expect(await json()).toMatchObject({ dead: [], missed: [{ sink: 'slack', count: 1 }] });
    expect((await command('events')).out).toMatch(/slack  delivered  dlv_\w+: a@b was left out\.\n/);
    const [event] = jsonLines(await command('events', '--json'));
    expect(event).toMatchObject({ deliveries: [{ state: 'delivered', lastError: 'a@b was left out.' }] });
  });

  test('tries a write of its own, and says that the store cannot be written', async () => {
    const { file } = await startServing();
    const { status: code, stdout: out } = await onFullDisk('status', '--config', file);
    expect(code).toBe(4);
    expect(out).toMatch(/^A person is needed: the store cannot be written\.\n/);
    expect(out).toMatch(
      /Store\n  The store cannot be written: .*connector\.db.*\n    Until it can, events are refused, .* without a restart\.\n/,
    );
    // Events refused meanwhile are not in the store either.
    expect(await onFullDisk('ignore', '--all', '--config', file)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('the store cannot be used: '),
    });
  });

  test('says which events were refused, why and from where, until somebody puts that away', async () => {
    const { app, file, command, json } = await startServing();
    await writeFile(file, (await readFile(file, 'utf8')).replace('allowFrom: any', 'allowFrom: [192.0.2.1]'));
    await eventually(async () => expect((await post(app, { candidateId: 'a' })).status).toBe(403));
    await eventually(async () => expect((await json()).refused).toHaveLength(1));
    const [refused] = (await json()).refused;
    expect(refused).toMatchObject({ reason: 'address', from: '127.0.0.1', first: isoTime, last: isoTime });
    const { code, out } = await command('status');
    expect(code).toBe(4);
    expect(out).toMatch(/^A person is needed: 1 event was refused for the address\.\n/);
    expect(out).toMatch(
      new RegExp(`Refused\n  1 event from 127.0.0.1 was refused: .*; the first at ${time}`),
    );
    expect(out).toContain(
      'candidate-connector ignore throws away what was not taken in. When that is done: candidate-connector ignore --reason address\n',
    );

    for (const other of [
      ['--from', '::ffff:1'],
      ['--reason', 'store'],
    ])
      expect((await command('ignore', ...other)).out).toContain('Nothing of this was refused');
    expect(await command('ignore', '--from', '127.0.0.1', '--note', 'a test')).toEqual({
      code: 0,
      out: `Put away: 1 event from 127.0.0.1 was refused: the config allows no events from there.
1 event that was kept of it cannot be taken in any more.
`,
      err: '',
    });
    expect(await json()).toMatchObject({ needsPerson: false, refused: [] });
    expect((await command('events', '--audit')).out).toMatch(/ignore, by .* from a command on .*: a test\n/);
  });

  test('a store that was put in place of one in use needs a person, as long as the file of that one lies beside it', async () => {
    const { folder, command, app, done } = await telling();
    const { eventId } = await post(app, { candidateId: 'ana' });
    await done();
    const rescued = join(folder, 'connector.db.rescued-20261128T101500Z');
    expect(await command('backup', rescued)).toMatchObject({ code: 0 });
    expect(await command('status')).toMatchObject({
      code: 4,
      out: expect.stringMatching(
        new RegExp(
          `^A person is needed: the store was replaced while it was in use\\.\n[^]*alone\n.* events --store sqlite:${RegExp.escape(rescued)}\` lists it\\. `,
        ),
      ),
    });
    expect(JSON.parse((await command('status', '--json')).out)).toMatchObject({ storeRescued: rescued });
    const page = await (await fetch(app.adminUrl)).text();
    expect(page).toMatch(/The store was replaced while it was in use[^]*rescued-20261128T101500Z/);
    const listed = await run(['events', '--store', `sqlite:${rescued}`, '--json']);
    expect(jsonLines(listed)).toMatchObject([{ id: eventId }]);
    await writeFile(`${rescued}.serving-by`, '');
    expect(JSON.parse((await command('status', '--json')).out)).toMatchObject({ storeRescued: rescued });
    await rm(rescued);
    expect(await command('status')).toMatchObject({ code: 0 });
  });

  test('what is said of a store that was put in place of one in use loses nothing that either has', async () => {
    const { folder, write, command, app, done } = await telling();
    await post(app, { candidateId: 'before' });
    await done();
    const [path, rescued] = ['', '.rescued-20261128T101500Z'].map((end) =>
      join(folder, `connector.db${end}`),
    );
    await command('backup', rescued!);
    await post(app, { candidateId: 'since' });
    await done();
    const { out } = await command('status');
    await app.stop();
    const moved = join(folder, 'elsewhere', 'connector.db');
    await mkdir(join(folder, 'elsewhere'));
    await rename(path!, moved);
    await rename(rescued!, path!);
    const [, list = ''] = /(events [^`]*MOVED[^`]*)`/.exec(out) ?? [];
    const { out: table } = await run(list.replace('MOVED', moved).split(' '));
    const [, takeIn = ''] = /(reconcile [^`]*)`/.exec(out) ?? [];
    const file = await write('moved.csv', table);
    expect(await command(...takeIn.replace('moved.csv', file).split(' '), '--yes')).toMatchObject({
      code: 0,
    });
    expect(jsonLines(await command('events', '--json'))).toMatchObject([
      { candidateId: 'since' },
      { candidateId: 'before' },
    ]);
  });

  test('of several replicas names those that run another config, and says what one has refused', async () => {
    const url = await freshSchema();
    const store = await openStore(url, { serve: false });
    const said = (id: string, refused: ReplicaState['config']['refused'] = null): ReplicaState => ({
      id,
      saidAt: Date.now(),
      stopped: false,
      config: { id: 'same', file: 'a.yaml', since: 1_000, refused, waiting: [] },
      sinks: [{ name: 'ats', connector: 'webhook' }],
    });
    await store.keepReplicaState(said('one'));
    await store.keepReplicaState(said('two'));
    expect((await run(['status', '--store', url])).out).toContain('2 replicas');
    const newer = said('two');
    await store.keepReplicaState({ ...newer, config: { ...newer.config, callsBy: '0a1b' } });
    expect((await run(['status', '--store', url])).out).not.toContain('different configs');
    const other = said('two');
    const differing = (since: number) =>
      store.keepReplicaState({ ...other, config: { ...other.config, id: 'other', since } });
    // A change of all replicas takes some minutes.
    await differing(Date.now() - 14 * 60_000);
    expect(await run(['status', '--store', url])).toMatchObject({
      code: 0,
      out: expect.stringContaining('The replicas run different configs: a.yaml on two, a.yaml on one\n'),
    });
    await differing(Date.now() - 16 * 60_000);
    expect(await run(['status', '--store', url])).toMatchObject({
      code: 4,
      out: expect.stringMatching(/^A person is needed: the replicas run different configs\.\n/),
    });
    expect((await run(['status', '--store', url])).out).toMatch(
      / {2}on two\n[^]* {2}The replicas run different configs: /,
    );
    await store.keepReplicaState(said('two', { since: 2_000, problem: 'a.yaml:1:1: wrong', others: 1 }));
    const { code, out } = await run(['status', '--store', url]);
    expect(code).toBe(4);
    expect(out).toMatch(/refused at 1970.* on two: a\.yaml:1:1: wrong \(and 1 more problem\)\n/);
    expect(out).toContain('  2 replicas, all by this config\n');
    expect(out).toContain('`candidate-connector check --config a.yaml` there shows all that is wrong.');
    const two = said('two');
    const config = { ...two.config, waiting: ['admin.port'], closed: 'too short' };
    await store.keepReplicaState({ ...two, config });
    const { out: ofTwo } = await run(['status', '--store', url]);
    expect(ofTwo).toContain('  These changed keys wait for a restart on two: admin.port\n');
    expect(ofTwo).toContain('  The admin port lets nobody in on two: too short\n');
    const refused = { since: 2_000, problem: 'a.yaml:1:1: wrong', others: 0 };
    for (const id of ['one', 'two']) await store.keepReplicaState(said(id, refused));
    const { out: ofBoth } = await run(['status', '--store', url]);
    expect(ofBoth).toMatch(/refused at 1970[^b]*: a\.yaml:1:1: wrong\n/);
    expect(ofBoth).toContain('`candidate-connector check --config a.yaml` shows all that is wrong.');
    await store.close();
  });
});

/** Runs a command as on a full disk. */
const onFullDisk = async (...argv: readonly string[]) =>
  spawnSync('sh', ['-c', 'ulimit -f 0 && exec "$@"', 'sh', process.execPath, await theProgram(), ...argv], {
    encoding: 'utf8',
  });
