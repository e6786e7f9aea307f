import { rm, writeFile } from 'node:fs/promises';
import { describe, expect, test, vi } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { base, endpoint, jsonLines, post, run, serving, settled, workplace } from './tools.ts';

const gone = { kind: 'status', status: 410 } as const;
const down = { kind: 'status', status: 503 } as const;

const onItsWay = /pending|sending|delivered/;

/** A connector that serves, whose two endpoints are broken: what came is dead. */
async function withDead(candidates: readonly string[]) {
  const { folder, write } = await workplace();
  const [ats, crm] = [await endpoint(), await endpoint()];
  const config = (ats_: object = { sink: 'ats' }) => `${base(folder)}
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
    /** The n-th delivery of the event that came as the index-th. */
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
  test('sends one delivery again, under its old id, beside a connector that serves', async () => {
    const { command, delivery, ats, file, states } = await withDead(['Dana', 'Robin']);
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

  test('of a sink that nobody knows says which one is near, and that it is used wrongly', async () => {
    const { command, file, config } = await withDead(['Dana']);
    expect(await command('replay', '--dead', '--sink', 'cmr')).toEqual({
      code: 2,
      out: '',
      err: 'candidate-connector: there is no sink "cmr"; did you mean "crm"?\n',
    });
    // The store knows a sink that has left the config.
    await writeFile(file, config().replaceAll('ats', 'ats2'));
    const { code, err } = await command('replay', '--dead', '--sink', 'ats');
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining("today's config has no") });
  });

  test("follows today's config: what the action says now", async () => {
    const { command, delivery, ats, file, config } = await withDead(['Dana']);
    await writeFile(file, config({ sink: 'ats', path: '/today', body: { who: '{{ event.candidateId }}' } }));
    expect(await command('replay', delivery(0))).toMatchObject({ code: 0 });
    await settled(file);
    expect(ats.calls).toMatchObject([{ path: '/hooks/today', body: '{"who":"Dana"}' }]);
  });

  test("refuses what today's config has no place for, and sends the others", async () => {
    const { command, delivery, states, file, config } = await withDead(['Dana']);
    await writeFile(file, config({ sink: 'crm' }));
    const { code, out, err } = await command('replay', '--dead');
    expect(code).toBe(1);
    expect(err).toContain(`${delivery(0)}: today's config has no rule told with an action for ats`);
    expect(out).toBe(`${delivery(0, 2)} goes out again\n`);
    expect(await states()).toEqual({
      [delivery(0)]: 'dead',
      [delivery(0, 2)]: expect.stringMatching(onItsWay),
    });
  });

  test('refuses what is not dead or held, and says what it is', async () => {
    const { command, delivery } = await withDead(['Dana']);
    await command('replay', delivery(0));
    const { code, out, err } = await command('replay', delivery(0), delivery(0));
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(onItsWay);
    expect(err).toContain(`${delivery(0)}: it is `);
    expect(err).toContain(', and only dead or held deliveries can be chosen\n');
  });

  test('of a delivery that never was sends nothing, the others neither', async () => {
    const { command, delivery, states } = await withDead(['Dana']);
    const { code, out, err } = await command('replay', delivery(0), 'dlv_nobody_1', 'nonsense\u001B[2J');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toBe(
      'candidate-connector: there is no delivery dlv_nobody_1, nonsense\\u{1b}[2J; nothing was sent again\n',
    );
    expect(await states()).toMatchObject({ [delivery(0)]: 'dead' });
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
      /^.*config\.yaml cannot be used; `check` says why\.\nThis follows the config that came into force at 2\d{3}-.*\.\n$/,
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
      expect(err).toContain('--store sqlite:./data/connector.db');
    }
    expect(await command('replay', delivery(0), ...store)).toMatchObject({ code: 0 });
    await vi.waitFor(() => expect(ats.calls).toHaveLength(1), { timeout: 5000 });
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

describe('discard', () => {
  test('gives up what is dead or pending, for good', async () => {
    const { app, command, crm, delivery, file, states } = await withDead(['Dana']);
    crm.faults.decide = () => down;
    const robin = await post(app, { candidateId: 'Robin' });
    await settled(file, {}, /^(delivered|dead|pending)$/);
    const pending = `dlv_${robin.eventId.slice(4)}_2`;
    const { code, out } = await command('discard', delivery(0), pending);
    expect({ code, out }).toEqual({
      code: 0,
      out: `${delivery(0)} is discarded\n${pending} is discarded\n`,
    });
    expect(await states()).toMatchObject({ [delivery(0)]: 'discarded', [pending]: 'discarded' });
    expect((await command('replay', delivery(0))).err).toContain('it is discarded');
  });

  test('refuses the rest, and says why', async () => {
    const { command, delivery } = await withDead(['Dana']);
    await command('discard', delivery(0));
    const { code, out, err } = await command('discard', delivery(0), 'dlv_nobody_1', delivery(0, 2));
    expect(code).toBe(1);
    expect(out).toBe(`${delivery(0, 2)} is discarded\n`);
    expect(err).toBe(
      `${delivery(0)}: it is discarded, and only pending, dead or held deliveries can be chosen\n` +
        'dlv_nobody_1: there is no such delivery; `events` lists them\n',
    );
  });
});
