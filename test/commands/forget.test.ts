import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { arrival, claimDue, configId, planned, resultOf, t0 } from '../contract/store-fixtures.ts';
import {
  base,
  endpoint,
  jsonLines,
  nothing,
  post,
  run,
  serving,
  settled,
  telling,
  workplace,
} from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';
import { freshSchema, PostgresProxy } from '../fixtures/postgres.ts';

const guid = '0123456789abcdef0123456789abcdef';
const dashed = '01234567-89AB-CDEF-0123-456789ABCDEF';

/** A busy machine may take longer than a short `timeout`, and the next attempt is an hour later. */
async function startServing(timeout = '30s') {
  const { folder, write } = await workplace();
  const [ats, crm] = [await endpoint(), await endpoint()];
  const file = await write(
    'config.yaml',
    `${base(folder)}
sinks:
  ats: { connector: webhook, url: '${ats.url}', allowPrivate: true, timeout: ${timeout}, retry: { minDelay: 1h, maxDelay: 1h } }
  crm: { connector: webhook, url: '${crm.url}', allowPrivate: true, retry: { minDelay: 1h, maxDelay: 1h } }
rules: [ { name: told, when: {}, then: [ { sink: ats }, { sink: crm } ] } ]
`,
  );
  const app = await serving(file);
  return {
    app,
    folder,
    ats,
    crm,
    file,
    command: (...argv: string[]) => run([...argv, '--config', file]),
    /** All bytes of the store's files. */
    files: async () => {
      const names = (await readdir(folder)).filter((name) => name.startsWith('connector.db'));
      return (await Promise.all(names.map((name) => readFile(join(folder, name), 'latin1')))).join('\n');
    },
  };
}

test('erases a candidate beside a connector that serves, and names what the tools have', async () => {
  const { app, ats, crm, file, command, files } = await startServing();
  crm.faults.decide = () => ({ kind: 'status', status: 503 });
  const { eventId } = await post(app, { candidateId: dashed, extra: 'what they wrote' }, 'c-1');
  await post(app, { candidateId: 'Robin' });
  await post(app, { candidateId: dashed, testId: 'none' });

  const looked = await eventually(async () => {
    const ran = await command('forget', dashed, '--dry-run');
    expect(ran.out).toContain(`  ats: the call with the webhook-id dlv_${eventId.slice(4)}_1\n`);
    return ran;
  });
  expect(looked.code).toBe(0);
  expect(looked.out).toContain(`The store has 1 event of candidate ${guid}, with 2 deliveries:`);
  expect(looked.out).toContain('Nothing was erased');
  const refused = await command('forget', guid);
  expect(refused).toMatchObject({
    code: 2,
    err: expect.stringContaining('nobody can be asked here: give --dry-run to look, or --yes'),
  });
  // Nothing of this candidate is pending.
  expect(await command('forget', 'Robin')).toMatchObject({ code: 2, out: '' });
  expect(await command('forget', guid, '--yes', '--note', `bye ${dashed}`)).toMatchObject({ code: 2 });
  expect((await files()).toLowerCase()).toContain(guid);

  const forgotten = await command('forget', guid, '--yes', '--note', 'they asked for it');
  expect(forgotten).toMatchObject({ code: 0, err: '' });
  expect(forgotten.out).toContain('Erased: 1 event, and 1 refused request.\n');
  expect(forgotten.out).toContain('Nothing is left of it in the store');
  const left = (await files()).toLowerCase();
  for (const text of [guid, dashed.toLowerCase(), 'what they wrote']) expect(left).not.toContain(text);
  expect(left).toContain('robin');
  const [line] = jsonLines(await command('events', '--audit', '--json'));
  expect(line).toMatchObject({ action: 'forget', note: 'they asked for it', deliveries: [] });

  expect(await post(app, { candidateId: dashed }, 'c-1')).toMatchObject({ status: 202, duplicate: false });
  await settled(file, /^(delivered|pending)$/);
  expect(ats.calls).toHaveLength(3);
  expect((await command('forget', 'nobody-7', '--yes')).out).toMatch(
    /^The store has no event of candidate nobody-7\.\n/,
  );
});

test('takes the number that messages show, and asks where several candidates had it', async () => {
  const { app, file, command } = await startServing();
  const dana = { candidateId: 'Dana Example', candidateNumericalId: 4711 };
  await post(app, dana);
  await post(app, { candidateId: 'Dana Example', status: 'Canceled' });
  await post(app, { candidateId: '4712', candidateNumericalId: 4713 });
  await post(app, { candidateId: 'Robin Example', candidateNumericalId: 4712 });
  await settled(file);
  // An id takes precedence over a number.
  expect((await command('forget', '4712', '--dry-run')).out).toMatch(
    /1 event of candidate 4712[^]*Nothing was/,
  );
  // The beginning of an id is not enough, and is said to be too little.
  for (const how of ['--yes', '--dry-run']) {
    const beginning = await command('forget', 'Robin Exam', how);
    expect(beginning).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining(
        'nothing was erased. These ids begin so: "Robin Example". Give the whole id',
      ),
    });
    expect(beginning.out).not.toContain('rewrite');
  }
  expect((await command('forget', '4711', '--yes')).out).toContain('Erased: 2 events');

  await post(app, { candidateId: 'Robin Example', candidateNumericalId: 4714, status: 'Canceled' });
  await post(app, { candidateId: 'Robin Second', candidateNumericalId: 4714 });
  await settled(file);
  const refused = await command('forget', '4714', '--yes');
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringContaining('2 candidates had the number 4714'),
  });
  const asked: string[] = [];
  const ask = async (question: string) => {
    asked.push(question);
    return '4714';
  };
  const { out } = await run(['forget', '4714', '--config', file], {}, false, ask);
  expect(asked).toEqual([expect.stringContaining('all 2 of them')]);
  expect(out).toContain('Erased: 3 events');
  expect(jsonLines(await command('events', '--json')).map(({ candidateId }) => candidateId)).toEqual([
    '4712',
  ]);
});

test('says before it erases which refused requests name the candidate, also where there is no event', async () => {
  const { app, command } = await startServing();
  await post(app, { candidateId: dashed, candidateNumericalId: 4711, status: 'Passed' });
  await post(app, { candidateId: 'Robin', status: 'Passed' });
  for (const named of [guid, '4711']) {
    const { code, out } = await command('forget', named, '--dry-run');
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^The store has no event of candidate \w+\.\n1 refused request names the candidate, and would be erased\.\n/,
      ),
    });
  }
  expect((await command('forget', 'nobody-7', '--dry-run')).out).not.toContain('refused request');
  const { out } = await command('forget', 'nobody-7', '--yes');
  expect(out).toContain('Nothing was erased: no event in the store is of nobody-7.');
  expect((await command('forget', guid, '--yes')).out).toContain('Erased: 0 events, and 1 refused request.');
  expect((await command('forget', guid, '--dry-run')).out).not.toContain('refused request');
});

test('says what it takes out of texts about others, and takes nothing by a name, which several may have', async () => {
  const { app, command } = await startServing();
  await command('pause', 'ats', '--note', 'Ana Kovač and nobody-7 asked');
  await post(app, { candidateId: '', by: 'Ana Kovač' });
  const notes = async () => jsonLines(await command('events', '--audit', '--json')).map(({ note }) => note);
  for (const name of ['Ana Kovač', 'Kovač', 'ana@example.com'])
    for (const how of [['--yes'], ['--dry-run'], ['--yes', '--rewrite']])
      expect(await command('forget', name, ...how)).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining(`no event in the store is of ${name}, and names cannot be searched for`),
      });
  expect(await notes()).toEqual(['Ana Kovač and nobody-7 asked']);
  const { code, out } = await command('forget', 'nobody-7', '--yes', '--note', 'by letter');
  expect(code).toBe(0);
  expect(out).toContain('Erased: 0 events, 0 refused requests, and the candidate in 2 other texts.');
  expect(await notes()).toEqual(['by letter', 'Ana Kovač and (erased) asked']);
});

test('takes no beginning of an id, also where a refused request has the id', async () => {
  const { app, command } = await startServing();
  await post(app, { candidateId: dashed });
  await post(app, { candidateId: guid, testId: 'none' });
  const beginning = guid.slice(0, 12);
  for (const how of [['--yes'], ['--dry-run'], ['--yes', '--rewrite']])
    expect(await command('forget', beginning, ...how)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`These ids begin so: "${guid}". Give the whole id`),
    });
});

test('says beforehand that a digest which was tried with others has to end first', async () => {
  const { http, app, command } = await telling({
    ats: ', retry: { minDelay: 1h, maxDelay: 1h }',
    rules: 'rules: [{ name: told, when: {}, then: [{ sink: ats, digest: { every: 1s } }] }]\n',
  });
  http.faults.decide = () => ({ kind: 'status', status: 503 });
  await post(app, { candidateId: 'Dana' });
  await eventually(async () =>
    expect((await command('forget', 'Dana', '--dry-run')).out).toContain(
      'Of these, 1 pending: they would not be sent any more. 1 of them in a digest that was tried: where that tells of others, too, nothing is erased until it has ended, or you `',
    ),
  );
});

test('waits for what is being sent, and says that it may have arrived', async () => {
  const { app, ats, command, files } = await startServing('1s');
  ats.faults.decide = () => ({ kind: 'hang', commit: true });
  const { eventId } = await post(app, { candidateId: 'Dana' });
  await eventually(async () =>
    expect((await command('events', '--state', 'sending')).out).toContain(eventId),
  );
  const { code, out } = await command('forget', 'Dana', '--yes');
  expect(code).toBe(0);
  expect(out).toContain(`  ats: may have got it, as dlv_${eventId.slice(4)}_1\n`);
  expect(out).toContain('run this again then');
  expect(await files()).not.toContain('Dana');
});

test('ends what is pending before it waits for what is being sent: it would go out meanwhile', async () => {
  const { app, ats, crm, command } = await startServing();
  ats.faults.decide = () => ({ kind: 'hang', commit: true });
  await command('pause', 'crm');
  const { eventId } = await post(app, { candidateId: 'Dana' });
  const listed = async (state: string) => (await command('events', '--state', state)).out;
  await eventually(async () => expect(await listed('sending')).toContain(eventId));
  const erased = command('forget', 'Dana', '--yes');
  await eventually(async () => expect(await listed('discarded')).toContain(eventId));
  await command('resume', 'crm');
  await ats.stop();
  expect(await erased).toMatchObject({ code: 0 });
  expect(crm.calls).toEqual([]);
});

test('erases beside a reader, and lets go of the old pages when that has ended', async () => {
  const { app, folder, command, files } = await startServing();
  await post(app, { candidateId: 'Dana-1' });
  const reader = new DatabaseSync(`${folder}/connector.db`, { readOnly: true });
  reader.exec('begin; select count(*) from events');
  const { code, out } = await command('forget', 'Dana-1', '--yes');
  expect({ code, out }).toEqual({
    code: 0,
    out: expect.stringMatching(/Erased: 1 event[^]*keeps the old pages/),
  });
  expect(await files()).toContain('Dana-1');
  reader.close();
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  await store.prune({ before: 0, limit: 1 });
  await store.prune({ before: 0, limit: 1, after: { of: 'notices', at: 0, seq: 0 } });
  await store.close();
  expect(await files()).not.toContain('Dana-1');
  expect((await command('forget', 'Dana-1', '--yes')).out).toContain('Nothing is left');
});

test('names the place of each tool, and what may have arrived', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', base(folder) + nothing);
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const receipts = {
    slack: { channel: 'C0123', ts: '1764000000.000100' },
    'google-sheets': { spreadsheetId: 'sheet-1', range: "'Results'!A7:F7" },
    email: {
      reply: '250 OK',
      messageId: '<dlv_1@example.com>',
      accepted: ['a@example.com', 'b@example.com'],
      refused: [],
    },
  };
  const deliveries = [...Object.keys(receipts), 'webhook'].map((connector) =>
    planned({ connector, sink: connector, lane: connector }),
  );
  const { eventId } = await store.accept(arrival({ candidateId: 'Dana' }, { deliveries }));
  for (const [lane, receipt] of Object.entries(receipts)) {
    const [claimed] = await claimDue(store, t0, lane);
    await store.record([resultOf(claimed!, { outcome: 'delivered', receipt })]);
  }
  const [claimed] = await claimDue(store, t0, 'webhook');
  await store.record([resultOf(claimed!, { outcome: 'unknown', reason: 'timeout', detail: 'No answer.' })]);
  await store.close();
  const { out } = await run(['forget', 'Dana', '--dry-run', '--config', file]);
  expect(out.split('\n').slice(2, -2)).toEqual([
    'The tools keep what they were told. Erase it there:',
    '  slack: the message 1764000000.000100 in C0123: https://slack.com/archives/C0123/p1764000000000100',
    `  google-sheets: the row with dlv_${eventId.slice(4)}_2 in its column Delivery, written to 'Results'!A7:F7 in https://docs.google.com/spreadsheets/d/sheet-1`,
    '  email: the mail <dlv_1@example.com> to a@example.com, b@example.com',
    `  webhook: may have got it, as dlv_${eventId.slice(4)}_4`,
  ]);
});

test('has named what the tools have where the connection is lost as it erases: nobody knows it after that', async () => {
  const url = await freshSchema();
  const store = await openStore(url, { serve: true });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const told = planned({ connector: 'webhook', sink: 'ats', lane: 'ats' });
  const { eventId } = await store.accept(arrival({ candidateId: 'Dana' }, { deliveries: [told] }));
  const [claimed] = await claimDue(store, t0, 'ats');
  await store.record([resultOf(claimed!, { outcome: 'delivered', receipt: { status: 200 } })]);
  await store.close();
  const proxy = await PostgresProxy.start(url);
  onTestFinished(() => proxy.close());
  let erases = false;
  proxy.breakAfter = (data) => {
    erases ||= data.includes('delete from events');
    return erases && data.includes('\0commit\0');
  };
  const cut = await run(['forget', 'Dana', '--yes', '--store', proxy.url]);
  expect([cut.code, cut.err]).toEqual([1, expect.stringContaining('writes were stored is not known')]);
  expect(cut.out).toContain(`  ats: the call with the webhook-id dlv_${eventId.slice(4)}_1\n`);
  expect((await run(['forget', 'Dana', '--yes', '--store', url])).err).toContain(
    'no event in the store is of Dana',
  );
});

test('names the call of a digest, which is that of its carrier, and once for all of a candidate', async () => {
  const { app, http, command, done } = await telling({
    rules: `rules: [{ name: told, when: {}, then: [{ sink: ats, digest: { every: 1s }, body: { of: '{{ events | map: "candidateId" | join }}' } }] }]\n`,
  });
  for (const [candidateId, testId] of [
    ['Dana', 7],
    ['Robin', 7],
    ['Robin', 8],
  ])
    await post(app, { candidateId, testId });
  await done();
  const { out } = await command('forget', 'Robin', '--dry-run');
  // On a busy machine they may be of two digests.
  const calls = http.calls.filter(({ body }) => body.includes('Robin'));
  expect(out.match(/webhook-id .*/g)?.toSorted()).toEqual(
    calls.map(({ deliveryId }) => `webhook-id ${deliveryId}`).toSorted(),
  );
});
