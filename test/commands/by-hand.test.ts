import { rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { RaisedNotice } from '../../src/model/notices.ts';
import { TestingService } from '../../sandbox/testing-service.ts';
import { openStore } from '../../src/store/open.ts';
import type { StuckCount } from '../../src/store/store.ts';
import { notice, planned } from '../contract/store-fixtures.ts';
import { base, endpoint, jsonLines, post, run, serving, settled, telling, workplace } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const gone = { kind: 'status', status: 410 } as const;
const down = { kind: 'status', status: 503 } as const;

const onItsWay = /pending|sending|delivered/;

/** A connector with two broken endpoints: all deliveries are dead. */
async function withDead(candidates: readonly string[], action: object = { sink: 'ats' }) {
  const { folder, write } = await workplace();
  const [ats, crm] = [await endpoint(), await endpoint()];
  const config = (ats_: object = action) => `${base(folder)}
sinks:
  ats: { connector: webhook, url: '${ats.url}', allowPrivate: true }
  crm: { connector: webhook, url: '${crm.url}', allowPrivate: true, retry: { minDelay: 1h, maxDelay: 1h } }
rules:
  - name: told
    when: {}
    then: [ ${JSON.stringify(ats_)}, { sink: crm } ]
`;
  const file = await write('config.yaml', config());
  const app = await serving(file);
  for (const { faults } of [ats, crm]) faults.decide = () => gone;
  // Both events of a digest come in one of its windows.
  if ('digest' in action) await vi.waitUntil(() => Date.now() % 5000 < 2000, { timeout: 5000, interval: 20 });
  const events: Awaited<ReturnType<typeof post>>[] = [];
  for (const candidateId of candidates) events.push(await post(app, { candidateId }));
  await settled(file);
  for (const { faults } of [ats, crm]) faults.clear();
  const received = ats.calls.length;
  expect(received).toBe(0);
  return {
    app,
    ats,
    crm,
    file,
    folder,
    config,
    /** The id of the n-th delivery of the event at this index. */
    delivery: (index: number, n = 1) => `dlv_${events[index]?.eventId.slice(4)}_${n}`,
    command: (...argv: string[]) => run([...argv, '--config', file]),
    states: async () => {
      const lines = jsonLines<{ deliveries: { id: string; state: string }[] }>(
        await run(['events', '--json', '--config', file]),
      );
      return Object.fromEntries(
        lines.flatMap(({ deliveries }) => deliveries.map(({ id, state }) => [id, state])),
      );
    },
  };
}

describe('replay', () => {
  test('sends one delivery again, under its old id, beside a connector that serves; none of those beside one that never was', async () => {
    const { command, delivery, ats, file, states } = await withDead(['Dana', 'Robin']);
    expect(await command('replay', delivery(0), 'dlv_nobody_1', 'nonsense\u001B[2J')).toEqual({
      code: 1,
      out: '',
      err: 'candidate-connector: there is no delivery dlv_nobody_1 and no delivery nonsense\\u{1b}[2J; nothing was done\n',
    });
    expect(await states()).toMatchObject({ [delivery(0)]: 'dead' });
    const { code, out, err } = await command('replay', delivery(0), delivery(0));
    expect({ code, out, err }).toEqual({ code: 0, out: `${delivery(0)} goes out again\n`, err: '' });
    await settled(file);
    expect(ats.calls.map(({ deliveryId }) => deliveryId)).toEqual([delivery(0)]);
    expect(await states()).toEqual({
      [delivery(0)]: 'delivered',
      [delivery(0, 2)]: 'dead',
      [delivery(1)]: 'dead',
      [delivery(1, 2)]: 'dead',
    });
  });

  test('sends all that is dead, or what is dead of a sink or since a time', async () => {
    const { command, delivery, ats, crm, file } = await withDead(['Dana', 'Robin']);
    expect((await command('replay', '--dead', '--since', '0s')).out).toBe('There are no dead deliveries.\n');
    const ofCrm = await command('replay', '--dead', '--sink', 'crm', '--since', '1h');
    expect(ofCrm.out.split('\n').slice(0, 2)).toEqual([
      `${delivery(0, 2)} goes out again`,
      `${delivery(1, 2)} goes out again`,
    ]);
    await settled(file);
    expect({ ats: ats.calls.length, crm: crm.calls.length }).toEqual({ ats: 0, crm: 2 });
    expect(await command('replay', '--dead')).toMatchObject({ code: 0 });
    await settled(file);
    expect({ ats: ats.calls.length, crm: crm.calls.length }).toEqual({ ats: 2, crm: 2 });
    expect((await command('replay', '--dead')).out).toBe('There are no dead deliveries.\n');
    expect((await command('replay', '--dead', '--sink', 'crm')).out).toBe(
      'Sink crm has no dead deliveries.\n',
    );
  });

  test("refuses what today's config has no place for, and sends the others", async () => {
    const { command, delivery, states, file, config } = await withDead(['Dana']);
    const other = '  - { name: other, when: {}, then: [ { sink: ats } ] }\n';
    await writeFile(file, config({ sink: 'crm' }) + other);
    const { code, out, err } = await command('replay', '--dead');
    expect(code).toBe(1);
    expect(err).toContain(`${delivery(0)}: today's config has no rule told with an action for ats`);
    expect(out).toBe(`${delivery(0, 2)} goes out again\n`);
    expect(await states()).toEqual({
      [delivery(0)]: 'dead',
      [delivery(0, 2)]: expect.stringMatching(onItsWay),
    });
  });
});

describe('a dead notice', () => {
  test('of what is over goes out by its id alone, and says when it was; one of what is still so goes with all', async () => {
    const [ats, ops] = [await endpoint(), await endpoint()];
    const { folder, write } = await workplace();
    const hook = (url: string) => `{ connector: webhook, url: '${url}', allowPrivate: true }`;
    const file = await write(
      'config.yaml',
      `${base(folder)}timezone: Europe/Zagreb
sinks: { ats: ${hook(ats.url)}, ops: ${hook(ops.url)} }
rules: [ { name: told, when: {}, then: [ { sink: ats } ] } ]
alerts: { dead: { after: 1d, then: [ { sink: ops } ] }, silence: { then: [ { sink: ops } ] }, paused: { then: [ { sink: ops } ] } }
`,
    );
    const app = await serving(file);
    await post(app, { candidateId: 'Robin' });
    await settled(file);
    for (const { faults } of [ats, ops]) faults.decide = () => gone;
    await post(app, { candidateId: 'Dana' });
    await settled(file);
    const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
    onTestFinished(() => store.close());
    const [{ cause }] = (await store.deadSince(-1)) as [StuckCount];
    const { id: configId } = (await store.latestConfig())!;
    const raisedAt = Date.parse('2026-11-20T13:05:00Z');
    const raise = async (raised: RaisedNotice) => {
      const rule = `alerts.${raised.alert}`;
      const deliveries = [planned({ rule, sink: 'ops', connector: 'webhook', lane: 'ops' })];
      await store.raise({ notice: raised, configId, deliveries, quietMs: 1 });
      const id = `dlv_${raised.id.slice(4)}_1`;
      await eventually(async () => expect((await store.delivery(id))?.state).toBe('dead'));
      return id;
    };
    const still = await raise(notice({ cause: `dead ats: ${cause}`, sink: 'ats', raisedAt }));
    const began = { since: raisedAt, raisedAt };
    const over = [
      await raise(notice({ alert: 'silence', sink: null, ...began })),
      await raise(notice({ alert: 'paused', sink: 'ats', ...began })),
    ];
    for (const { faults } of [ats, ops]) faults.clear();
    const command = (...argv: string[]) => run([...argv, '--config', file]);

    expect((await command('events', '--state', 'dead')).out).toContain(
      '\nAlso dead: 3 notices, which `candidate-connector events --notices` lists.\n',
    );
    const { out: seen } = await command('status');
    // Not all that is dead of the sink, which may have other causes.
    expect(seen).toMatch(
      new RegExp(
        String.raw`\n {2}1 notice to ops, the first of 2026-11-20 14:05:00 \+01:00: .*410.*\n {4}fix the cause, then: candidate-connector replay ${still}; .* events --notices lists them\n`,
      ),
    );
    expect(seen).toMatch(
      /\n {2}2 notices to ops of what is over, the first of .*410.*\n {4}nobody has to be told any more: candidate-connector discard --over; /,
    );
    const leftOut =
      '2 notices of what is over left out: candidate-connector discard --over ends what nobody has to be told any more.\n';
    const all = ['replay', '--dead', '--sink', 'ops'];
    expect(await command(...all, '--dry-run')).toMatchObject({
      code: 0,
      out: expect.stringMatching(new RegExp(`^${still} would go out again.*\n${leftOut}$`)),
    });
    expect(await command(...all)).toEqual({ code: 0, out: `${still} goes out again\n${leftOut}`, err: '' });
    const delivered = async (id: string) => expect((await store.delivery(id))?.state).toBe('delivered');
    await eventually(() => delivered(still));
    expect(ops.calls).toHaveLength(1);
    expect(JSON.parse(ops.calls[0]!.body)).toMatchObject({
      data: {
        late: true,
        detail: 'Told late: this was so on Fri, 20 Nov 2026, 14:05 CET.\nThree deliveries were given up.',
      },
    });
    expect(await command('replay', over[0]!)).toMatchObject({ code: 0 });
    await eventually(() => delivered(over[0]!));
    expect(await command('discard', '--over')).toMatchObject({ code: 0, out: `${over[1]} is discarded\n` });
    expect((await command('discard', '--over')).out).toBe(
      'There are no dead or held notices of what is over.\n',
    );
    expect((await command('status')).out).not.toContain('notice to ops');
  });
});

describe('while the file is broken, and the connector goes on with the config before', () => {
  const brokenYaml = 'rules: [ {';

  test('replay follows the config in force, and says so', async () => {
    const { command, delivery, ats, file, config } = await withDead(['Dana']);
    await writeFile(file, config({ sink: 'ats', path: '/today', bdy: {} }));
    const { code, out, err } = await command('replay', delivery(0));
    expect({ code, out }).toEqual({ code: 0, out: `${delivery(0)} goes out again\n` });
    expect(err).toMatch(
      /^.*config\.yaml cannot be used; `candidate-connector check` says why\.\nThis follows the config that came into force at 2\d{3}-.*\.\n$/,
    );
    await settled(file);
    expect(ats.calls).toMatchObject([{ path: '/hooks', deliveryId: delivery(0) }]);
  });

  test('replay, discard and events find the store by --store where the file does not say it', async () => {
    const { command, delivery, ats, file, folder } = await withDead(['Dana', 'Robin']);
    const store = ['--store', `sqlite:${folder}/connector.db`];
    await writeFile(file, brokenYaml);
    for (const argv of [
      ['replay', delivery(0)],
      ['discard', delivery(0)],
      ['events'],
      ['event', delivery(0)],
    ]) {
      const { code, out, err } = await command(...argv);
      expect({ argv, code, out }).toEqual({ argv, code: 1, out: '' });
      expect(err).toContain("is `store` in the log's line `ready`, as in --store sqlite:./data/connector.db");
    }
    expect(await command('replay', delivery(0), ...store)).toMatchObject({ code: 0 });
    await eventually(() => expect(ats.calls).toHaveLength(1));
    expect(await command('replay', '--dead', '--sink', 'crm', ...store)).toMatchObject({
      code: 0,
      out: expect.stringContaining(`${delivery(1, 2)} goes out again`),
    });
    expect(await command('discard', delivery(1), ...store)).toMatchObject({ code: 0, err: '' });
    expect((await command('event', delivery(1), ...store)).out).toContain('discarded');
    expect((await command('events', '--state', 'dead', '--sink', 'cmr', ...store)).err).toContain(
      'did you mean "crm"?',
    );
    await rm(file);
    expect(jsonLines(await command('events', '--json', ...store))).toHaveLength(2);
  });

  test('a store that keeps no config is said', async () => {
    const { folder } = await workplace();
    const store = `sqlite:${folder}/empty.db`;
    await (await openStore(store, { serve: true })).close();
    const { code, err } = await run(['replay', '--dead', '--store', store]);
    expect({ code, err }).toEqual({ code: 1, err: 'candidate-connector: the store keeps no config yet\n' });
  });
});

test('replay needs no credentials, which the connector that serves has, but what the rules say', async () => {
  const { folder, write } = await workplace();
  const ats = await endpoint();
  const file = await write(
    'config.yaml',
    `${base(folder)}
sinks: { ats: { connector: webhook, url: '\${ATS_URL}', allowPrivate: true } }
rules: [ { name: told, when: {}, then: [ { sink: ats, path: '/\${PLACE}' } ] } ]
`,
  );
  const env = { ATS_URL: ats.url, PLACE: 'here' };
  const app = await serving(file, env);
  ats.faults.decide = () => gone;
  const { eventId } = await post(app, { candidateId: 'Dana' });
  await settled(file);
  ats.faults.clear();
  const delivery = `dlv_${eventId.slice(4)}_1`;
  const lacking = await run(['replay', '--dead', '--config', file], {});
  expect(lacking).toMatchObject({ code: 1, out: '' });
  expect(lacking.err).toContain(`${delivery}: the config in force cannot be used for it here: `);
  expect(lacking.err).toContain('the environment variable PLACE is not set');
  const replayed = await run(['replay', '--dead', '--config', file], { PLACE: 'here' });
  expect(replayed).toEqual({ code: 0, out: `${delivery} goes out again\n`, err: '' });
  await settled(file);
  expect(ats.calls).toHaveLength(1);
});

test('whoever replays to a sink that is paused hears that it waits, why, and what ends that', async () => {
  const { command, delivery, ats } = await withDead(['Dana', 'Robin']);
  expect((await command('pause', 'ats')).code).toBe(0);
  const waits = /^Not yet: ats is paused by \S+; `candidate-connector resume ats` ends that\.$/m;
  expect(await command('replay', delivery(0))).toMatchObject({ code: 0, out: expect.stringMatching(waits) });
  expect((await command('replay', delivery(0, 2))).out).toBe(`${delivery(0, 2)} goes out again\n`);
  expect(ats.calls).toEqual([]);
  // Progress is reported after 5 s.
  await command('pause', 'ats', '--for', '8s');
  const { code, out, err } = await command('replay', delivery(1), '--wait');
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(waits) });
  // The cause of its earlier failure may be gone, so it is not shown.
  expect(err).toMatch(
    /^1 still on the way; dlv_\S+ waits: ats is paused by \S+; `candidate-connector resume ats` ends that\n/,
  );
}, 20_000);

describe('discard', () => {
  test('gives up what is dead or pending, for good; refuses the rest, and says why', async () => {
    const { app, command, crm, delivery, file, states } = await withDead(['Dana']);
    crm.faults.decide = () => down;
    const robin = await post(app, { candidateId: 'Robin' });
    await settled(file, /^(delivered|dead|pending)$/);
    const pending = `dlv_${robin.eventId.slice(4)}_2`;
    const { code, out } = await command('discard', delivery(0), pending);
    expect({ code, out }).toEqual({
      code: 0,
      out: `${delivery(0)} is discarded\n${pending} is discarded\n`,
    });
    expect(await states()).toMatchObject({ [delivery(0)]: 'discarded', [pending]: 'discarded' });
    expect((await command('replay', delivery(0))).err).toContain(
      'it is discarded, and only dead or held deliveries can be chosen',
    );
    expect(await command('discard', delivery(0), delivery(0, 2))).toEqual({
      code: 1,
      out: `${delivery(0, 2)} is discarded\n`,
      err: `${delivery(0)}: it is discarded, and only pending, dead or held deliveries can be chosen\n`,
    });
    expect(await command('discard', delivery(0), 'dlv_nobody_1')).toMatchObject({
      code: 1,
      err: 'candidate-connector: there is no delivery dlv_nobody_1; nothing was done\n',
    });
  });
});

test('what is done to one event of a digest is done to all of it, as it is one message; and that is said', async () => {
  const digest = { sink: 'ats', digest: { every: '5s' } };
  const { ats, command, delivery, file, states } = await withDead(['Dana', 'Robin'], digest);
  const [carrier = ''] = [delivery(0), delivery(1)].toSorted();
  const all = `, with all of its digest ${carrier}`;
  expect((await command('replay', delivery(1), '--dry-run')).out).toBe(
    `${delivery(1)} would go out again${all}: ats, rule told; it has not arrived\n`,
  );
  ats.faults.decide = () => gone;
  expect((await command('replay', delivery(1))).out).toBe(`${delivery(1)} goes out again${all}\n`);
  await settled(file, /^dead$/);
  expect((await command('discard', delivery(1))).out).toBe(`${delivery(1)} is discarded${all}\n`);
  expect(await states()).toMatchObject({ [delivery(0)]: 'discarded', [delivery(1)]: 'discarded' });
});

test('a digest is not replayed by an action that tells of one event: the others would count as told, and nobody had heard of them', async () => {
  const digest = { sink: 'ats', digest: { every: '5s' } };
  const { ats, command, config, delivery, file, states } = await withDead(['Dana', 'Robin'], digest);
  await writeFile(file, config({ sink: 'ats' }));
  const parted = async () => {
    const foretold = await command('replay', '--dead', '--sink', 'ats', '--dry-run');
    expect(await command('replay', '--dead', '--sink', 'ats')).toEqual(foretold);
    return foretold;
  };
  const fault = (why: string) =>
    [delivery(0), delivery(1)].map((id) => `${id}: its message is about 2 events, and ${why}\n`).join('');
  expect(await parted()).toEqual({
    code: 1,
    out: '',
    err: fault('its action has no digest any more: give it a digest again, then replay this'),
  });
  await writeFile(file, config({ ...digest, path: '/{{ event.candidateId }}' }));
  expect((await parted()).err).toBe(
    fault(
      'by its action they go to different places today: name one place for all of them, then replay this',
    ),
  );
  expect(ats.calls).toEqual([]);
  await writeFile(file, config(digest));
  await command('replay', '--dead', '--sink', 'ats');
  await settled(file);
  expect(await states()).toMatchObject({ [delivery(0)]: 'delivered', [delivery(1)]: 'delivered' });
  expect(ats.calls.map(({ body }) => body.match(/Dana|Robin/g)?.length)).toEqual([2]);
});

test('what waits is discarded together by its rule or sink, as after an apply by mistake, and no more than that', async () => {
  const { app, command, delivery, file, states } = await withDead(['Dana']);
  await command('pause', 'ats');
  const { eventId } = await post(app, { candidateId: 'Robin' });
  await settled(file, /^(delivered|dead|pending)$/);
  const pending = `dlv_${eventId.slice(4)}_1`;
  const all = ['discard', '--pending'];
  expect((await command(...all)).err).toContain('--pending wants --rule or --sink');
  expect((await command(...all, '--rule', 'tld')).out).toContain('no pending deliveries of rule tld');
  expect((await command(...all, '--rule', 'told', '--sink', 'ats', '--dry-run')).out).toBe(
    `${pending} would be discarded: ats, rule told\n`,
  );
  expect((await command(...all, '--sink', 'ats')).out).toBe(`${pending} is discarded\n`);
  expect(await states()).toMatchObject({ [pending]: 'discarded', [delivery(0)]: 'dead' });
});

describe('what is chosen', () => {
  test('by event, rule and state goes out again, and nothing else; first it is shown', async () => {
    const { command, delivery, ats, crm, file, folder, states } = await withDead(['Dana', 'Robin', 'Kim']);
    const event = delivery(0).replace(/^dlv_(.*)_1$/, 'evt_$1');
    using store = new DatabaseSync(`${folder}/connector.db`);
    store.exec(`update deliveries set uncertain = 1 where sink = 'crm'`);
    const rehearsed = await command('replay', event, '--dry-run');
    expect(rehearsed).toEqual({
      code: 0,
      out: `${delivery(0)} would go out again: ats, rule told; it has not arrived\n${delivery(0, 2)} would go out again: crm, rule told; it may have arrived, and may come twice\n`,
      err: '',
    });
    expect((await command('discard', event, '--dry-run')).out).toContain('would be discarded: ats');
    expect(await states()).toMatchObject({ [delivery(0)]: 'dead', [delivery(0, 2)]: 'dead' });
    expect(await command('replay', event)).toEqual({
      code: 0,
      out: `${delivery(0)} goes out again\n${delivery(0, 2)} goes out again; it may have arrived, and may come twice\n`,
      err: '',
    });
    await settled(file);
    expect({ ats: ats.calls.length, crm: crm.calls.length }).toEqual({ ats: 1, crm: 1 });
    expect((await command('replay', event)).out).toBe(`${event} has no dead or held deliveries.\n`);
    const other = delivery(1).replace(/^dlv_(.*)_1$/, 'evt_$1');
    await command('discard', '--event', other, '--sink', 'crm', '--rule', 'told');
    expect(await states()).toMatchObject({ [delivery(1)]: 'dead', [delivery(1, 2)]: 'discarded' });
    expect((await command('replay', '--held')).out).toBe('There are no held deliveries.\n');
    expect((await command('discard', '--dead', '--rule', 'tld')).out).toBe(
      'There are no dead deliveries of rule tld.\n',
    );
    expect(await command('replay', '--dead', '--rule', 'tld')).toMatchObject({
      code: 2,
      err: 'candidate-connector: there is no rule "tld"; did you mean "told"?\n',
    });
    expect((await command('replay', '--dead', '--sink', 'cmr')).err).toContain('did you mean "crm"?');
    expect((await command('replay', 'evt_nobody')).err).toContain('there is no event evt_nobody');
    expect((await command('replay', '--dead', '--held', '--dry-run')).out.split('\n')).toHaveLength(4);
  });

  test('is waited for, and how it ended is said', async () => {
    const { command, delivery, ats, app } = await withDead(['Dana', 'Robin']);
    expect(await command('replay', delivery(0), '--wait')).toEqual({
      code: 0,
      out: `${delivery(0)} goes out again\n${delivery(0)} is delivered\n`,
      err: '',
    });
    ats.faults.decide = () => gone;
    const dead = await command('replay', delivery(1), '--wait');
    expect(dead).toMatchObject({ code: 1, out: expect.stringContaining(`${delivery(1)} is dead: `) });
    await app.stop();
    const without = await command('replay', delivery(1), '--wait');
    expect(without).toMatchObject({ code: 1, out: '' });
    expect(without.err).toContain('--wait needs a connector that serves this store, and none does');
    const story = await command('event', delivery(1), '--json');
    expect(jsonLines(story)).toMatchObject([{ changes: [{ action: 'replay', deliveries: [delivery(1)] }] }]);
  });

  test('stands with who did it, from where and why in the story of its event, and in the audit', async () => {
    const { file, delivery, command } = await withDead(['Dana', 'Robin']);
    const note = 'the path is there \u001B[2Jnow';
    await run(['replay', delivery(0), '--note', note, '--config', file], { USER: 'dana' });
    await run(['discard', delivery(0, 2), delivery(1), '--config', file], { USER: 'kim' });
    const { out } = await command('event', delivery(0));
    expect(out).toMatch(
      new RegExp(
        `By hand\\n  2.* UTC  replay ${delivery(0)}, by dana from a command on .*: the path is there \\\\u\\{1b\\}\\[2Jnow\\n` +
          `  2.* UTC  discard ${delivery(0, 2)}, by kim from a command on `,
      ),
    );
    const audit = await command('events', '--audit', '--json');
    expect(jsonLines(audit)).toMatchObject([
      { who: 'kim', action: 'discard', note: null, deliveries: [delivery(0, 2), delivery(1)] },
      { at: expect.stringMatching(/Z$/), who: 'dana', action: 'replay', note, deliveries: [delivery(0)] },
    ]);
    expect((await command('events', '--audit')).out).toContain(
      `discard ${delivery(0, 2)} and 1 more, by kim`,
    );
    expect((await command('event', delivery(1))).out).toContain(`discard ${delivery(1)}, by kim`);
  });
});

test('two people who replay the same at the same time send it once', async () => {
  const { command, delivery, ats, file } = await withDead(['Dana', 'Robin']);
  const both = await Promise.all([command('replay', '--dead'), command('replay', '--dead')]);
  await settled(file);
  expect(ats.calls.map(({ deliveryId }) => deliveryId).toSorted()).toEqual([delivery(0), delivery(1)]);
  const lines = both
    .map(({ out }) => out)
    .join('')
    .split('\n')
    .filter((line) => line.endsWith('goes out again'));
  expect(lines).toHaveLength(4);
});

describe('resend', () => {
  test('is rehearsed with where it would go, but for secrets and what a look-up says of the candidate', async () => {
    const api = await new TestingService().start();
    onTestFinished(() => api.close());
    const { app, command, done } = await telling({
      rules: `lookups:
  candidate:
    url: "${api.url}/candidates/{{ event.candidateId }}"
    auth: { oauth2: { tokenUrl: "${api.url}/token", grant: password, username: ${api.username}, password: ${api.password} } }
    fields: { name: { at: /name, personal: true } }
    allowPrivate: true
rules: [{ name: told, when: {}, then: [{ sink: ats, path: "/people/{{ candidate.name | slice: 0, 3 }}?api_key=Winter2026x9" }] }]
`,
    });
    const { eventId } = await post(app, { candidateId: 'ana' });
    await done();
    const [, delivery] = /(dlv_\w+)/.exec((await command('event', eventId)).out)!;
    expect((await command('resend', delivery!, '--dry-run')).out).toMatch(
      / would go out again: ats \/people\/\(personal\)\?api_key=\*+, rule told; who has it gets it twice\n$/,
    );
  });

  test('sends a delivered message again as a new delivery, by the config of today', async () => {
    const { command, delivery, ats, file, config } = await withDead(['Dana']);
    await command('replay', delivery(0), '--wait');
    await writeFile(file, config({ sink: 'ats', path: '/today' }));
    const again = delivery(0, 3);
    expect(await command('resend', delivery(0), '--dry-run')).toMatchObject({
      code: 0,
      out: `${delivery(0)} would go out again: ats /today, rule told; who has it gets it twice\n`,
    });
    expect(await command('resend', delivery(0), '--wait', '--note', 'deleted there')).toEqual({
      code: 0,
      out: `${delivery(0)} goes out again as ${again}\n${again} is delivered\n`,
      err: '',
    });
    expect(ats.calls.map(({ deliveryId, path }) => [deliveryId, path])).toEqual([
      [delivery(0), '/hooks'],
      [again, '/hooks/today'],
    ]);
    const { out } = await command('event', delivery(0));
    expect(out).toContain(`sent again by hand, as ${delivery(0)} was before`);
    expect(out).toMatch(new RegExp(`resend ${again}, by .*: deleted there`));
    const refuses = async (action: string, id: string, why: string) => {
      const refused = { code: 1, out: '', err: `${id}: ${why}\n` };
      expect(await command(action, id, '--dry-run')).toEqual(refused);
      expect(await command(action, id)).toEqual(refused);
    };
    await refuses('resend', delivery(0), `it was sent again less than a minute ago, as ${again}`);
    await refuses('resend', again, 'it was sent again less than a minute ago, as this one');
    const dead =
      'it is dead, and only delivered deliveries can be chosen; `candidate-connector replay` sends it';
    await refuses('resend', delivery(0, 2), dead);
    await writeFile(file, config().replaceAll('told', 'other'));
    await refuses('resend', delivery(0, 2), dead);
    await refuses('replay', again, 'it is delivered, and only dead or held deliveries can be chosen');
    await refuses(
      'resend',
      again,
      "today's config has no rule told with an action for ats: put the config back that had it, then try again",
    );
  });
});

describe('apply', () => {
  const late = (folder: string, url: string, then: string) => `${base(folder)}
sinks: { ats: { connector: webhook, url: '${url}', allowPrivate: true } }
rules:
  - { name: told, when: { status: Completed }, then: [ { sink: ats } ] }
  - { name: late, when: { status: [Canceled, Completed] }, then: ${then} }
`;
  const action = "[ { sink: ats, path: '/late', body: { who: '{{ event.candidateId }}' } } ]";

  /** Events from before the rule had actions, and the config since. */
  async function withLateRule() {
    const { folder, write } = await workplace();
    const ats = await endpoint();
    const file = await write(
      'config.yaml',
      late(folder, ats.url, '[]').replace('then: []', 'silent: true, then: []'),
    );
    const app = await serving(file);
    for (const [candidateId, status] of [
      ['Dana', 'Completed'],
      ['Robin', 'Canceled'],
      ['Kim', 'DidNotTake'],
    ] as const)
      await post(app, { candidateId, status });
    await settled(file);
    ats.calls.splice(0);
    await writeFile(file, late(folder, ats.url, action));
    const command = (ask: ((question: string) => Promise<string>) | null, ...argv: string[]) =>
      run(['apply', ...argv, '--config', file], {}, false, ask ?? undefined);
    return { file, ats, command };
  }

  test('shows what it would send, asks, and sends it once, in the order in which the events came', async () => {
    const { file, ats, command } = await withLateRule();
    const shown = await command(null, '--rule', 'late', '--dry-run');
    expect(shown).toMatchObject({ code: 0, err: '' });
    expect(shown.out).toMatch(
      /^Rule late asks for 2 deliveries, for 2 of 3 events\n {2}2 to ats, 1 of them about an event that another rule has told of there\nThe newest of them\n {2}evt_.* candidate Robin\n {2}ats {2}at once\n/,
    );
    expect(shown.out).toContain('who: Robin');
    const asked: string[] = [];
    const no = await command(async (question) => (asked.push(question), ''), '--rule', 'late');
    expect(asked).toEqual(['Send 2 deliveries? [y/N] ']);
    expect(no.out).toContain('Nothing was sent.\n');
    expect(ats.calls).toHaveLength(0);
    const yes = await command(async () => 'y', '--rule', 'late', '--wait');
    expect(yes).toMatchObject({ code: 0, out: expect.stringContaining('2 deliveries planned.\n') });
    expect(ats.calls.map(({ body }) => body).toSorted()).toEqual(['{"who":"Dana"}', '{"who":"Robin"}']);
    const again = await command(null, '--rule', 'late', '--yes');
    expect(again.out).toBe(
      'Rule late asks for 0 deliveries, for 0 of 3 events\n  2 of them have deliveries of this rule already and are left out\n',
    );
    expect(ats.calls).toHaveLength(2);
    const audit = jsonLines(await run(['events', '--audit', '--json', '--config', file]));
    expect(audit).toMatchObject([{ action: 'apply', deliveries: [expect.any(String), expect.any(String)] }]);

    // An unknown rule, and no events.
    expect(await command(null, '--rule', 'lte', '--yes')).toMatchObject({
      code: 2,
      err: 'candidate-connector: there is no rule "lte"; did you mean "late"?\n',
    });
    const none = await command(null, '--rule', 'late', '--since', '0s', '--yes');
    expect(none).toMatchObject({ code: 0, out: 'Rule late asks for 0 deliveries, for 0 of 0 events\n' });
  });
});
