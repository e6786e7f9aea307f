import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { freshSchema, sql } from '../fixtures/postgres.ts';
import {
  base,
  endpoint,
  jsonLines,
  loud,
  post,
  run,
  serve,
  serving,
  settled,
  tellAll,
  telling,
  workplace,
} from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const longer = { timeout: 40_000, interval: 50 };

/** A connector whose sink can be paused. `ats`: further options of that. */
async function startPausing(ats = '') {
  const told = await telling({ ats });
  const sink = async () => JSON.parse((await told.command('status', '--json')).out).sinks[0];
  const deliveries = async (eventId: string) =>
    JSON.parse((await told.command('event', eventId, '--json')).out).deliveries;
  return { ...told, sink, deliveries };
}

const isoTime = expect.stringMatching(/^20\d\d-.*Z$/);

describe('a sink that a person pauses', () => {
  test('gets nothing until it is resumed, and then all that came: nobody is needed, and who did it is kept', async () => {
    const { app, http, command, sink, file } = await startPausing();
    expect(await sink()).toMatchObject({ paused: false, by: null, until: null, note: null });
    const paused = await command('pause', 'ats', '--note', 'it is being moved');
    expect(paused).toMatchObject({
      code: 0,
      out: expect.stringContaining('`candidate-connector resume ats`'),
    });
    const { eventId } = await post(app, { candidateId: 'Dana' });
    expect(await sink()).toMatchObject({
      state: 'paused',
      paused: true,
      by: 'person',
      since: isoTime,
      until: null,
      note: 'it is being moved',
      reason: null,
      nextProbeAt: null,
      pending: 1,
    });
    const { code, out } = await command('status');
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(
        /^Nothing needs.*ats \(webhook\)  paused by \S+ \(since [^,]* UTC\): “it is being moved”, 1 waiting\n +to let it go on: candidate-connector resume ats\n/s,
      ),
    });
    const waits = /pending, waits: the sink is paused by \S+ \(since .* UTC\): “it is being moved”/;
    expect((await command('event', eventId)).out).toMatch(waits);
    const retried = await command('retry', 'ats');
    expect(retried).toMatchObject({
      code: 1,
      err: expect.stringMatching(/paused by .*`candidate-connector resume ats`/),
    });
    expect(http.calls).toEqual([]);
    const metrics = async () => (await fetch(`${app.adminUrl}/metrics`)).text();
    expect(await metrics()).toContain('sink_paused_by_person{sink="ats"} 1');
    expect((await command('resume', 'ats')).code).toBe(0);
    await settled(file);
    // Counted as one that had to wait, not as a late one.
    expect(await metrics()).toMatch(/delivery_delay_seconds_count\{sink="ats",waited="yes"\} 1/);
    expect(await metrics()).toContain('sink_paused_by_person{sink="ats"} 0');
    expect(http.calls).toHaveLength(1);
    expect(await sink()).toMatchObject({ state: 'working', by: null, note: null });
    // It is what was wanted.
    expect(await command('retry', 'ats')).toMatchObject({
      code: 0,
      out: expect.stringContaining('ats is neither paused nor failing'),
    });
    expect(jsonLines(await command('events', '--audit', '--json'))).toMatchObject([
      { action: 'resume', sink: 'ats' },
      { action: 'pause', sink: 'ats', note: 'it is being moved', deliveries: [] },
    ]);
    expect((await command('events', '--audit')).out).toMatch(/pause ats, by .*: it is being moved\n/);
  });

  test('goes on by itself when its time is over', async () => {
    const { app, http, command, sink, file } = await startPausing();
    expect((await command('pause', 'ats', '--for', '1h')).out).toMatch(
      /^ats is paused until \d{4}-.* UTC\. /,
    );
    expect((await command('pause', 'ats', '--for', '2s')).code).toBe(0);
    await post(app, { candidateId: 'Dana' });
    expect(await sink()).toMatchObject({ by: 'person', until: isoTime, pending: 1 });
    await settled(file);
    expect(http.calls).toHaveLength(1);
    expect(await sink()).toMatchObject({ state: 'working', until: null });
    expect((await command('resume', 'ats')).err).toContain('ats is not paused by a person');
  });

  test('finishes what is under way first', async () => {
    const { app, http, command, deliveries, sink } = await startPausing();
    http.faults.decide = () => ({ kind: 'slow', ms: 2000 });
    const { eventId } = await post(app, { candidateId: 'Dana' });
    await eventually(() => expect(http.calls).toHaveLength(1), longer);
    await command('pause', 'ats');
    await eventually(
      async () => expect(await deliveries(eventId)).toMatchObject([{ state: 'delivered' }]),
      longer,
    );
    expect(await sink()).toMatchObject({ by: 'person' });
  });

  test('needs a person again after a day without an end, and says who paused it', async () => {
    const { folder, command } = await startPausing();
    await command('pause', 'ats', '--for', '7d');
    using store = new DatabaseSync(`${folder}/connector.db`);
    const age = (ms: number) => store.exec(`update person_pauses set since = since - ${ms}`);
    age(25 * 3_600_000);
    expect((await command('status')).code).toBe(0);
    await command('pause', 'ats');
    const { code, out } = await command('status');
    expect(code).toBe(4);
    expect(out).toMatch(/^A person is needed: ats is still paused by a person\.\n/);
    expect(out).toMatch(/resume ats; to give the pause an end: candidate-connector pause ats --for 2d\n/);
  });

  test('that fails is not said to go on where the connector has paused it, too', async () => {
    const { app, http, command, sink } = await startPausing();
    http.faults.decide = () => ({ kind: 'status', status: 401 });
    for (const candidateId of ['Dana', 'Robin', 'Kim', 'Eve', 'Sam']) await post(app, { candidateId });
    await eventually(async () => expect(await sink()).toMatchObject({ by: 'connector' }), longer);
    await command('pause', 'ats');
    const { code, out } = await command('resume', 'ats');
    expect({ code, out }).toEqual({
      code: 0,
      out: 'ats goes on, but is still paused, as it fails: it is probed until it works, and `candidate-connector retry ats` tries it now.\n',
    });
  });

  test('does not use up giveUpAfter', async () => {
    const { app, folder, http, command, deliveries } = await startPausing(
      ', retry: { minDelay: 10ms, maxDelay: 20ms, giveUpAfter: 1h }',
    );
    http.faults.decide = () => ({ kind: 'status', status: 422 });
    const { eventId } = await post(app, { candidateId: 'Dana' });
    const attempts = async () => (await deliveries(eventId))[0].attempts;
    await eventually(async () => expect(await attempts()).toBeGreaterThan(0), longer);
    await command('pause', 'ats');
    await eventually(
      async () => expect(await deliveries(eventId)).toMatchObject([{ state: 'pending' }]),
      longer,
    );
    const before = await attempts();
    // Received two hours ago, and paused since the first minute.
    using store = new DatabaseSync(`${folder}/connector.db`);
    const ago = 2 * 3_600_000;
    store.exec(`update deliveries set since = since - ${ago}, first_attempt_at = first_attempt_at - ${ago};
      update person_pauses set since = since - ${ago - 60_000}`);
    await command('resume', 'ats');
    await eventually(async () => expect(await attempts()).toBeGreaterThan(before + 1), longer);
    expect(await deliveries(eventId)).toMatchObject([{ state: expect.stringMatching(/pending|sending/) }]);
    store.exec('delete from person_pauses');
    await eventually(
      async () => expect(await deliveries(eventId)).toMatchObject([{ state: 'dead' }]),
      longer,
    );
  });

  test('has to be one that there is, and no look-up', async () => {
    const { command } = await startPausing();
    expect(await command('pause', 'atz')).toMatchObject({ code: 2, err: expect.stringContaining('"ats"') });
    expect((await command('pause', 'lookup:candidate')).code).toBe(2);
    for (const length of ['0s', 'soon', '9999999999d']) {
      const { code, err } = await command('pause', 'ats', '--for', length);
      expect({ code, err }).toEqual({
        code: 2,
        err: expect.stringMatching(/expected a duration (such as|of at)/),
      });
    }
    expect((await command('resume', 'atz')).code).toBe(2);
  });

  test('stays paused over a crash', async () => {
    const { folder, write } = await workplace();
    const http = await endpoint();
    const file = await write(
      'config.yaml',
      `${loud(folder)}sinks: { ats: { connector: webhook, url: '${http.url}', allowPrivate: true } }\n${tellAll}`,
    );
    const { connector, app } = await serve(file);
    expect((await run(['pause', 'ats', '--config', file])).code).toBe(0);
    expect((await post(app, { candidateId: 'before' })).status).toBe(202);
    await connector.kill();
    const receiver = await connector.start();
    expect((await post({ receiverUrl: `${receiver}/hook` }, { candidateId: 'after' })).status).toBe(202);
    const { out } = await run(['status', '--json', '--config', file]);
    expect(JSON.parse(out)).toMatchObject({ sinks: [{ by: 'person', pending: 2 }] });
    expect(http.calls).toEqual([]);
    await run(['resume', 'ats', '--config', file]);
    await settled(file);
    expect(http.calls).toHaveLength(2);

    await connector.stop();
    const command = (...argv: string[]) => run([...argv, '--config', file]);
    await command('pause', 'ats');
    expect((await command('resume', 'ats')).out).toContain(
      'once a connector serves the store: none does now',
    );
    expect((await command('retry', 'ats')).err).toContain('no connector serves this store now');
    await command('pause', 'ats');
    await write('config.yaml', readFileSync(file, 'utf8').replaceAll(/\bats\b/g, 'other'));
    await connector.start();
    expect((await command('status')).out).toContain('what waits is given up when the pause ends');
    expect((await command('resume', 'ats')).out).toContain('not in the config any more');
    // A try would give up what waits for it.
    using store = new DatabaseSync(`${folder}/connector.db`);
    store.exec(
      `update sink_figures set failures = 9, first_failed_at = 1, last_failed_at = 99999 where sink = 'ats'`,
    );
    expect(await command('retry', 'ats')).toMatchObject({
      code: 1,
      err: expect.stringContaining('ats is not in the config any more. Put the sink back under this name'),
    });
    expect(jsonLines(await command('events', '--audit', '--json'))[0]).toMatchObject({ action: 'resume' });
  });

  test('keeps back a digest, too, and that is said before it is due', async () => {
    const { folder, write } = await workplace();
    const http = await endpoint();
    const file = await write(
      'config.yaml',
      `${base(folder)}sinks: { ats: { connector: webhook, url: '${http.url}', allowPrivate: true } }
rules: [ { name: told, when: {}, then: [ { sink: ats, digest: { every: 24h } } ] } ]
`,
    );
    const app = await serving(file);
    const command = (...argv: string[]) => run([...argv, '--config', file]);
    const { eventId } = await post(app, { candidateId: 'Dana' });
    const page = async (path: string) => (await fetch(new URL(path, app.adminUrl))).text();
    const seen = async () =>
      `${(await command('event', eventId)).out} ${await page(`/events/${eventId}`)} ${await page('/sinks/ats')}`;
    expect(await seen()).toMatch(/pending, due 20.*It waits: due .*>due </s);
    await command('pause', 'ats');
    expect(await seen()).toMatch(
      /pending, waits: the sink is paused by \S+ \(since [^)]*\); due 20.*It waits: ats is paused by .*; due .*waits until somebody resumes the sink/s,
    );
    // One that ends before the digest is due does not keep it.
    await command('pause', 'ats', '--for', '1s');
    expect((await command('event', eventId)).out).toMatch(/pending, due 20/);
  });

  test('stays paused when another replica takes it over', async () => {
    const { folder, write } = await workplace();
    const http = await endpoint();
    const url = await freshSchema();
    const file = await write(
      'config.yaml',
      `${loud(folder).replace(/"sqlite:.*"/, `"${url}"`)}sinks: { ats: { connector: webhook, url: '${http.url}', allowPrivate: true } }\n${tellAll}`,
    );
    const replicas = [await serve(file), await serve(file)];
    const command = (...argv: string[]) => run([...argv, '--config', file]);
    const taken = ({ lines }: (typeof replicas)[number]) => lines().some(({ lease }) => lease === 'sink ats');
    await eventually(() => expect(replicas.some(taken)).toBe(true), longer);
    const [holder, other] = taken(replicas[0]!) ? replicas : replicas.toReversed();
    expect((await command('pause', 'ats')).code).toBe(0);
    for (const { app } of [holder!, other!])
      expect((await post(app, { candidateId: app.receiverUrl })).status).toBe(202);
    await holder!.connector.kill();
    await sql(url, 'update leases set until = 0');
    await eventually(() => expect(taken(other!)).toBe(true), longer);
    expect((await post(other!.app, { candidateId: 'Eve' })).status).toBe(202);
    expect(JSON.parse((await command('status', '--json')).out)).toMatchObject({ sinks: [{ by: 'person' }] });
    expect(http.calls).toEqual([]);
    await command('resume', 'ats');
    await eventually(async () => {
      const { sinks } = JSON.parse((await command('status', '--json')).out);
      expect(sinks).toMatchObject([{ state: 'working', pending: 0 }]);
    }, longer);
    expect(http.calls).toHaveLength(3);
  }, 90_000);
});

test('retry knows a look-up that nothing was asked of yet, by the name that the notice of its new secrets has, and without the config the sinks that are served', async () => {
  const { folder, write } = await workplace();
  const file = await write(
    'config.yaml',
    `${base(folder)}sinks: { ats: { connector: webhook, url: 'https://ats.example' } }
lookups: { candidate: { url: 'https://api.example/{{ event.candidateId }}', fields: { name: { at: /name } } } }
${tellAll}`,
  );
  const app = await serving(file);
  const toStore = ['--store', `sqlite:${folder}/connector.db`];
  const errors = async (sink: string) => [
    (await run(['retry', sink, '--config', file])).err,
    (await run(['retry', sink, ...toStore])).err,
  ];
  const unused = expect.stringContaining('is not used yet: there is nothing to try');
  expect(await errors('lookup:candidate')).toEqual([unused, unused]);
  expect(await errors('ats')).toEqual([unused, unused]);
  await app.stop();
  expect((await errors('lookup:candidate'))[0]).toEqual(unused);
});
