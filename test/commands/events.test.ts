import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text as wholeText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { printer } from '../../src/commands/output.ts';
import { run as runProgram } from '../../src/commands/program.ts';
import { openStore } from '../../src/store/open.ts';
import { arrival, configId, notice, t0 } from '../contract/store-fixtures.ts';
import { theProgram } from '../fixtures/program.ts';
import {
  base,
  jsonLines,
  nothing,
  post,
  run,
  screen,
  serving,
  settled,
  tellAll,
  telling,
  workplace,
} from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const startServing = () => telling({ rules: tellAll.replace('when: {}', 'when: { testId: { not: 99 } }') });

const gone = { kind: 'status', status: 410 } as const;

const csvHeader =
  'id,receivedAt,candidateId,candidateNumericalId,testId,test,status,correlationId,duplicates,deliveries';

/** Rows of CSV, read as RFC 4180 has it. */
function csvRows(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, bare = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? bare);
    if (end !== ',') rows.push([]);
  }
  return rows.slice(0, -1);
}

describe('events', () => {
  test('are found by candidate, test, status, rule, sink, states and time', async () => {
    const { app, http, command, done } = await telling({
      rules: `catalog: { 7: { name: Backend } }
rules:
  - { name: told, when: { testId: 7 }, then: [ { sink: ats } ] }
  - { name: also, when: { candidateId: robin-from-split }, then: [ { sink: ats, path: /also } ] }
`,
    });
    http.faults.once(gone);
    const dana = { candidateId: 'dana-from-zagreb', candidateNumericalId: 20970, testId: 7 };
    const first = await post(app, dana, 'quoted-by-support');
    await done();
    await post(app, { candidateId: 'robin-from-split', candidateNumericalId: 20971, testId: 7 }, 'shared');
    await post(app, { candidateId: '0F1C2D3E-4B5A-6978-8796-A5B4C3D2E1F0', testId: 8 });
    await post(app, { candidateId: 'dana-from-zagreb', testId: 8, status: 'Canceled' }, 'shared');
    await done();
    const found = async (argv: string) => {
      const ran = await command('events', '--json', ...argv.split(' '));
      const lines = jsonLines<{ candidateId: string; status: string }>(ran);
      return [
        argv,
        lines.map(({ candidateId, status }) => `${candidateId.slice(0, 4)} ${status}`).join(', '),
      ] as const;
    };
    const searches = {
      '--limit 9': 'dana Canceled, 0f1c Completed, robi Completed, dana Completed',
      '--candidate 20970': 'dana Canceled, dana Completed',
      '--candidate dana-from-zagreb': 'dana Canceled, dana Completed',
      '--correlation quoted-by-support': 'dana Completed',
      '--correlation shared': 'dana Canceled, robi Completed',
      '--correlation shared --test 8': 'dana Canceled',
      '--candidate dana-f': 'dana Canceled, dana Completed',
      '--candidate dana-f --state dead': 'dana Completed',
      '--candidate dana-from-zagreb --status Canceled': 'dana Canceled',
      '--candidate {0f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0}': '0f1c Completed',
      '--status Canceled': 'dana Canceled',
      '--since 1h --limit 1': 'dana Canceled',
      '--since 0s': '',
      '--test 7': 'robi Completed, dana Completed',
      '--rule also': 'robi Completed',
      '--state dead,held': 'dana Completed',
      '--state dead,delivered': 'robi Completed, dana Completed',
      '--state dead --sink ats --since 1h': 'dana Completed',
      '--state dead --sink other': '',
      '--state dead --status Canceled': '',
      '--state dead --rule also': '',
      '--state delivered --rule also': 'robi Completed',
    };
    expect(Object.fromEntries(await Promise.all(Object.keys(searches).map(found)))).toEqual(searches);
    const { out } = await command('events', '--candidate', 'dana');
    expect(out).toContain('No events of candidate dana:');
    expect(out).toContain('names cannot be searched for');
    expect((await command('events', '--state', 'dead,lost')).err).toContain(
      'pending, sending, delivered, dead, held, discarded',
    );
    const byDelivery = await command('event', `dlv_${first.eventId.slice(4)}_1`);
    expect(byDelivery).toEqual(await command('event', first.eventId));
    expect(byDelivery).toEqual(await command('event', 'quoted-by-support'));
    expect(jsonLines(await command('event', 'shared', '--json'))).toHaveLength(2);
    expect((await command('event', 'shared')).out).toMatch(/Canceled[^]*Completed/);
    expect((await command('event', 'of-nobody')).err).toContain('there is no event of-nobody');
    expect((await command('event', '4711')).err).toContain(
      'there is no event 4711; `candidate-connector events --candidate 4711` lists what came about a candidate',
    );
    expect((await command('event', 'dlv_nobody_1')).err).toContain('there is no delivery dlv_nobody_1');
  });

  test('of an empty store are none', async () => {
    const { command } = await startServing();
    expect(await command('events')).toEqual({ code: 0, out: 'No events.\n', err: '' });
    expect(await command('events', '--json')).toEqual({ code: 0, out: '', err: '' });
    expect((await command('events', '--rejected')).out).toBe('No requests that were not valid events.\n');
  });

  test('of a sink that nobody knows says which one is near, and that it is used wrongly', async () => {
    const { command, file } = await startServing();
    const dead = ['events', '--state', 'dead', '--sink'];
    expect(await command(...dead, 'ast')).toEqual({
      code: 2,
      out: '',
      err: 'candidate-connector: there is no sink "ast"; did you mean "ats"?\n',
    });
    expect((await command(...dead, 'ast', '--json')).code).toBe(2);
    expect(await command(...dead, 'ats')).toMatchObject({ code: 0, out: 'No events.\n' });
    // A file that cannot be used still says which sinks there are.
    await writeFile(file, (await readFile(file, 'utf8')).replace('then: [', 'than: ['));
    expect(await command(...dead, 'ats')).toMatchObject({ code: 0, out: 'No events.\n' });
    expect((await command(...dead, 'ast')).err).toContain('did you mean "ats"?');
  });

  test('shows what came and what became of it, newest first, and a reason once that many deliveries have', async () => {
    const { app, http, command, done } = await startServing();
    await post(app, { candidateId: 'Dana' }, 'one');
    await post(app, { candidateId: 'Dana' }, 'two');
    await done();
    http.faults.once(gone, gone);
    for (const candidateId of ['Robin', 'Kim']) {
      await post(app, { candidateId, candidateNumericalId: 7, status: 'Canceled' });
      await done();
    }
    await post(app, { candidateId: 'Lee', testId: 99 });
    const { code, out } = await command('events');
    expect(code).toBe(0);
    expect(screen(out)).toMatchInlineSnapshot(`
      "TIME UTC  Completed  test 99  candidate Lee
          evt_1
          no rule asked for anything
      TIME UTC  Canceled  test 1234567  candidate 7  Kim
          evt_2
          ats  dead  dlv_2_1: The other system answered 410: status 410. Check the sink's url and the action's path.
      TIME UTC  Canceled  test 1234567  candidate 7  Robin
          evt_3
          ats  dead  dlv_3_1: as dlv_2_1
      TIME UTC  Completed  test 1234567  candidate Dana  (repeated 1×)
          evt_4
          ats  delivered  dlv_4_1
      2 deliveries: The other system answered 410: status 410. Check the sink's url and the action's path.
      "
    `);
  });

  test('says times by the clock of the config, or else by that of the environment', async () => {
    const { folder, write } = await workplace();
    const file = await write('config.yaml', `${base(folder)}timezone: Europe/Zagreb\nsinks: {}\nrules: []\n`);
    const plain = await write('plain.yaml', base(folder).replace('connector.db', 'plain.db') + nothing);
    const local = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0[12]:00 {2}Completed/;
    const came = await post(await serving(file), { candidateId: 'Dana' });
    expect((await run(['events', '--config', file])).out).toMatch(local);
    expect((await run(['event', came.eventId, '--config', file])).out).toMatch(/received .* \+0[12]:00,/);
    expect((await run(['status', '--config', file])).out).toMatch(/last event .* \+0[12]:00,/);
    expect(jsonLines(await run(['events', '--json', '--config', file]))[0]?.['receivedAt']).toMatch(/Z$/);
    await post(await serving(plain), { candidateId: 'Dana' });
    expect((await run(['events', '--config', plain], { TZ: 'Asia/Tokyo' })).out).toContain(
      ' +09:00  Completed',
    );
    expect((await run(['events', '--config', plain])).out).toContain(' UTC  Completed');
  });

  test('--follow prints what comes and what changes, until it is interrupted', async () => {
    const { app, http, file, done } = await startServing();
    await post(app, { candidateId: 'Before' });
    await done();
    const child = spawn(process.execPath, [await theProgram(), 'events', '--follow', '--config', file]);
    onTestFinished(() => void child.kill('SIGKILL'));
    let out = '';
    child.stdout.on('data', (data: Buffer) => (out += String(data)));
    const printed = (text: RegExp) => eventually(() => expect(out).toMatch(text));
    await printed(/candidate Before\n[^]*ats {2}delivered/);
    http.faults.once(gone);
    const { eventId } = await post(app, { candidateId: 'After' });
    await printed(/candidate After\n[^]*ats {2}dead {2}dlv_\w+: .*410/);
    await run(['replay', eventId, '--config', file]);
    await printed(/candidate After\n[^]*ats {2}dead[^]*candidate After\n[^]*ats {2}delivered/);
    expect(out.match(/candidate Before/g)).toHaveLength(1);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('--json prints a line for each event, of exactly the documented shape', async () => {
    const { app, http, command, done } = await startServing();
    const dana = await post(app, { candidateId: 'Dana', candidateNumericalId: 4711 }, 'one');
    await post(app, { candidateId: 'Dana' }, 'two');
    await done();
    http.faults.once(gone);
    await post(app, { candidateId: 'Robin' }, 'three');
    await done();
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const [robin, ...others] = jsonLines(await command('events', '--json'));
    const dead = { state: 'dead', receipt: null, lastError: expect.stringContaining('410') };
    expect(robin).toMatchObject({ candidateNumericalId: null, duplicates: 0, deliveries: [dead] });
    expect(others).toStrictEqual([
      {
        id: dana.eventId,
        candidateId: 'Dana',
        candidateNumericalId: 4711,
        testId: 1234567,
        status: 'Completed',
        receivedAt: time,
        correlationId: 'one',
        traceId: expect.stringMatching(/^[\da-f]{32}$/),
        duplicates: 1,
        decided: true,
        facts: {},
        deliveries: [
          {
            id: `dlv_${dana.eventId.slice(4)}_1`,
            rule: 'told',
            action: 0,
            sink: 'ats',
            connector: 'webhook',
            state: 'delivered',
            dueAt: time,
            attempts: 1,
            receipt: expect.objectContaining({ status: 200 }),
            lastError: null,
          },
        ],
      },
    ]);
  });

  test('--csv prints a line for each event, quoted where needed, and nothing that a table takes for a formula', async () => {
    const { app, command, file } = await startServing();
    expect((await command('events', '--csv')).out).toBe(`${csvHeader}\r\n`);
    const shown = {
      '=1+1': "'=1+1",
      '+1': "'+1",
      '-1': "'-1",
      '@SUM(A1)': "'@SUM(A1)",
      'a "quoted", one': 'a "quoted", one',
      "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
      'Zoë ; 1': 'Zoë ; 1',
      'x;=1+1': "x;'=1+1",
      'x; ""=1+1': `x; ""'=1+1`,
      '"=1+1"': `"'=1+1"`,
      '＝1+1': "'＝1+1",
      'x;＠A1': "x;'＠A1",
    };
    for (const candidateId of Object.keys(shown)) await post(app, { candidateId, testId: -99 }, 'c-1');
    await post(app, { candidateId: 'Dana', candidateNumericalId: 42 }, '=c-2');
    await settled(file);
    const { out } = await command('events', '--csv');
    const [header, newest, ...rest] = csvRows(out);
    expect(header?.join()).toBe(csvHeader);
    expect(newest?.slice(2)).toEqual([
      'Dana',
      '42',
      '1234567',
      '',
      'Completed',
      "'=c-2",
      '0',
      'ats: delivered',
    ]);
    expect(rest.map((row) => row.slice(2, 5))).toEqual(
      Object.values(shown)
        .toReversed()
        .map((id) => [id, '', "'-99"]),
    );
    expect(csvRows((await command('events', '--csv', '--candidate', 'Dana', '--limit', '1')).out)).toEqual([
      header,
      newest,
    ]);
    await post(app, { candidateId: 'Kim\u202e' });
    const kim = ['events', '--csv', '--limit', '1', '--config', file];
    expect((await run(kim)).out).toContain(',Kim\u202e,');
    expect((await run(kim, {}, false, async () => '')).out, 'on a terminal').toContain(',Kim\\u{202e},');
    expect((await command('events', '--csv', '--json')).code).toBe(2);
  });

  test('are there to look at while the rest of the config is at fault', async () => {
    const { app, file, command, done } = await startServing();
    const { eventId } = await post(app, { candidateId: 'Dana' });
    await done();
    const text = await readFile(file, 'utf8');
    await writeFile(
      file,
      text.replace('sinks: {', 'sinks: { slack: { connector: slack, token: "${UNSET}" },'),
    );
    expect((await command('check')).code).toBe(1);
    for (const fault of ['', 'timezone: nowhere\n', 'polices: []\n']) {
      await writeFile(file, (await readFile(file, 'utf8')) + fault);
      expect((await command('events')).out).toContain(eventId);
      expect((await command('event', eventId)).out).toContain('candidate Dana');
      expect((await command('status')).out).toContain('Nothing needs a person.');
    }
    for (const [broken, said] of [
      [text.replace('store: {', 'store: { uri: x,'), 'unknown key "uri"'],
      [text.replace('store: {', 'stor: {'), 'unknown key "stor"; did you mean "store"?'],
      [`${text}store: {}\n`, 'store'],
      ['', 'the file is empty'],
    ] as const) {
      await writeFile(file, broken);
      expect(await command('events')).toMatchObject({ code: 1, err: expect.stringContaining(said) });
    }
  });

  test('of a store that is not there are refused, and none is made', async () => {
    const { folder, write } = await workplace();
    const file = await write('config.yaml', `${base(folder)}sinks: {}\nrules: []\n`);
    const path = join(folder, 'connector.db');
    const { code, err } = await run(['events', '--config', file]);
    expect(code).toBe(1);
    expect(err).toContain(`There is no store at ${path}.`);
    expect(existsSync(path)).toBe(false);
  });

  test('are not too many for a person, who is told of the others; a program gets all', async () => {
    const { app, command } = await startServing();
    const ids = Array.from({ length: 520 }, (_, index) => `candidate-${index}`);
    await Promise.all(ids.map((candidateId) => post(app, { candidateId, testId: 99 })));
    const { out } = await command('events');
    expect(out.match(/^ {4}evt_/gm)).toHaveLength(100);
    expect(out).toContain('Older ones are not shown: --limit 1000 shows more.');
    expect((await command('events', '--limit', '520')).out).not.toContain('Older ones');
    const all = jsonLines(await command('events', '--json'));
    expect(all.map(({ candidateId }) => String(candidateId)).toSorted()).toEqual(ids.toSorted());
  });

  test('of a damaged store are listed up to the first that cannot be read', async () => {
    const { folder, write } = await workplace();
    const file = await write('config.yaml', `${base(folder)}sinks: {}\nrules: []\n`);
    const path = join(folder, 'connector.db');
    const store = await openStore(`sqlite:${path}`, { serve: true });
    await store.saveConfig({ id: configId, source: { rules: [] }, savedAt: t0 });
    const ids = Array.from({ length: 60 }, (_, index) => `candidate-${String(index).padStart(3, '0')}`);
    for (const candidateId of ids)
      await store.accept(arrival({ candidateId, raw: { candidateId, note: 'x'.repeat(500) } }));
    await store.close();
    // Overwrites the page with the 21st event, as a broken disk does.
    const bytes = await readFile(path);
    const at = bytes.indexOf(`"candidateId":"${ids[20]}"`);
    const page = bytes.subarray(at - (at % 4096), at - (at % 4096) + 4096);
    const lost = ids.findLastIndex((id) => page.includes(id));
    page.fill(0xff);
    await writeFile(path, bytes);

    const { code, out, err } = await run(['events', '--config', file]);
    expect(out.match(/candidate-\d+/g)).toEqual(ids.slice(lost + 1).toReversed());
    expect(err).toContain(`${path} is damaged`);
    expect(code).toBe(1);
  });

  test('cannot act on the terminal, whatever a candidate is called', async () => {
    const { app, command } = await startServing();
    const candidateId =
      '\u202Egnp.exe\u2066\u200F<!channel>=1+1\u200B\u2060\uFEFF\u00AD\u3164\u{E0041}\uFE0F.';
    const { eventId } = await post(
      app,
      { candidateId, testId: 99, note: '\u009B2J\u001B[2J' },
      'cor\u0080\u009Bre',
    );
    const unsafe = /[^\P{Cc}\n]|\p{Default_Ignorable_Code_Point}/u;
    for (const argv of [['events'], ['events', '--json'], ['event', eventId], ['event', eventId, '--json']]) {
      const { code, out } = await command(...argv);
      expect(code).toBe(0);
      expect(out).not.toMatch(unsafe);
      expect(out).toContain('gnp.exe');
    }
    expect(jsonLines(await command('events', '--json'))[0]).toMatchObject({ candidateId });
  });

  test('--rejected shows what was refused for its content, and why', async () => {
    const { app, command } = await startServing();
    expect((await post(app, { candidateId: 'Dana', status: 'InProgress' }, 'refused')).status).toBe(422);
    // The request is kept after the answer.
    const { out } = await eventually(async () => {
      const listed = await command('events', '--rejected');
      expect(listed.out).not.toContain('No requests that were not valid events');
      return listed;
    });
    expect(out).toMatch(
      /UTC {2}422 {2}from 127\.0\.0\.1 {2}correlation id refused\n {4}status: .*InProgress/,
    );
    expect(out).toContain('body: {"testId":1234567,"status":"InProgress","candidateId":"Dana"}');
    expect(jsonLines(await command('events', '--rejected', '--json'))).toEqual([
      {
        receivedAt: expect.stringMatching(/Z$/),
        address: '127.0.0.1',
        correlationId: 'refused',
        status: 422,
        faults: [expect.stringMatching(/^status: /)],
        body: expect.stringContaining('InProgress'),
      },
    ]);
  });
});

describe('event', () => {
  test('shows the whole story', async () => {
    const { app, http, command, done } = await startServing();
    http.faults.once(gone);
    const { eventId } = await post(app, { candidateId: 'Dana', extra: { kept: true } }, 'one');
    await post(app, { candidateId: 'Dana' }, 'two');
    await done();
    const { code, out } = await command('event', eventId);
    expect(code).toBe(0);
    expect(screen(out)).toMatchInlineSnapshot(`
      "evt_1  Completed  test 1234567  candidate Dana
        received TIME UTC, correlation id one, trace id TRACE
        payload {"testId":1234567,"status":"Completed","candidateId":"Dana","extra":{"kept":true}}
        repeated TIME UTC, correlation id two
      Rules, by the config of when it came
        ✓ told: test 1234567 is not 99
      Deliveries
        ats  dead  dlv_1_1  (rule told, action 1)
          method: POST
          path: ""
          headers: {}
          body:
            type: candidate.completed
            timestamp: TIME
            data:
              id: evt_1
              candidateId: Dana
              candidateNumericalId: null
              testId: 1234567
              status: Completed
              receivedAt: TIME
              correlationId: one
          attempt 1  TIME UTC  rejected (not_found): The other system answered 410: status 410.
          The other system answered 410: status 410. Check the sink's url and the action's path.
      "
    `);
  });

  test('--json prints the story as one object', async () => {
    const { app, command, done } = await startServing();
    const { eventId } = await post(app, { candidateId: 'Dana' }, 'one');
    await post(app, { candidateId: 'Dana' }, 'two');
    await done();
    const [story, ...more] = jsonLines(await command('event', eventId, '--json'));
    expect(more).toEqual([]);
    const listed = jsonLines<{ deliveries: object[] }>(await command('events', '--json'))[0];
    expect(story).toMatchObject({ ...listed, deliveries: [listed?.deliveries[0]] });
    expect(story).toMatchObject({
      duplicates: 1,
      repeats: [{ receivedAt: expect.stringMatching(/Z$/), correlationId: 'two' }],
      raw: { candidateId: 'Dana', testId: 1234567, status: 'Completed' },
      rules: [{ rule: 'told', matched: true, because: expect.any(String) }],
      deliveries: [
        {
          uncertain: false,
          message: { method: 'POST', body: { type: 'candidate.completed' } },
          history: [
            {
              number: 1,
              startedAt: expect.stringMatching(/Z$/),
              endedAt: expect.stringMatching(/Z$/),
              outcome: 'delivered',
              receipt: { status: 200 },
            },
          ],
        },
      ],
    });
  });

  test('that never was exits 1 and says where to look', async () => {
    const { command } = await startServing();
    const { code, out, err } = await command('event', 'evt_nobody\u001B[2J');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toBe(
      'candidate-connector: there is no event evt_nobody\\u{1b}[2J; `candidate-connector events` lists what came\n',
    );
    expect((await command('event', 'ntc_nobody')).err).toBe(
      'candidate-connector: there is no notice ntc_nobody; `candidate-connector events --notices` lists what people were told\n',
    );
  });

  test('explains itself by the config that was in force, however the file was changed since', async () => {
    const { folder, write } = await workplace();
    const config = (name: string) =>
      `${base(folder)}\nsinks: {}\nrules: [ { name: ${name}, when: {}, then: [] } ]\n`;
    const file = await write('config.yaml', config('old'));
    const app = await serving(file);
    const { eventId } = await post(app, { candidateId: 'Dana' });
    const changed = await write('changed.yaml', config('new'));
    expect((await run(['event', eventId, '--config', changed])).out).toContain('✓ old: ');
  });

  test('says why its rules cannot be explained any more', async () => {
    const { folder, write } = await workplace();
    const text = `${base(folder)}\nsinks: {}\nrules: [ { name: one, when: { candidateId: '\${WHO}' }, then: [] } ]\n`;
    const file = await write('config.yaml', text);
    const app = await serving(file, { WHO: 'Dana' });
    const { eventId } = await post(app, { candidateId: 'Dana' });
    const later = await write('later.yaml', text.replace('${WHO}', 'Robin'));
    const { code, out } = await run(['event', eventId, '--config', later]);
    expect(code).toBe(0);
    expect(out).toMatch(/cannot be used any more: .*WHO/);
    const [story] = jsonLines(await run(['event', eventId, '--json', '--config', later]));
    expect(story).toMatchObject({ rules: null, rulesLost: expect.stringContaining('WHO') });
  });
});

describe('a list that is longer than its reader takes', () => {
  const count = 2000;
  const long = 'x'.repeat(500);

  let folder = '';
  let file = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'events-'));
    file = join(folder, 'config.yaml');
    await writeFile(file, base(folder) + nothing);
    const store = await openStore(`sqlite:${folder}/connector.db`, { serve: true });
    await store.saveConfig({ id: configId, source: '{}', savedAt: t0 });
    const each = Array.from({ length: count }, (_, n) => n);
    await Promise.all(each.map(() => store.accept(arrival())));
    const refused = {
      receivedAt: t0,
      address: '::1',
      correlationId: null,
      status: 422,
      faults: [],
      body: long,
    };
    await Promise.all(each.map((n) => store.keepRejected({ ...refused, receivedAt: t0 + n }, count)));
    const raise = (cause: string) =>
      store.raise({ notice: notice({ cause, detail: long }), configId, deliveries: [], quietMs: 1 });
    await Promise.all(each.map((n) => raise(`cause ${n}`)));
    await store.close();
  });
  afterAll(() => rm(folder, { recursive: true }));

  test.each([
    ['events', '--json'],
    ['events', '--json', '--notices'],
    ['events', '--json', '--rejected'],
  ])('waits for it, so that no more than a little is held in memory: %s %s %s', async (...argv) => {
    const reader = new PassThrough();
    const { out, drained } = printer(reader);
    let mostHeld = 0;
    const io = {
      out(line: string) {
        out(line);
        mostHeld = Math.max(mostHeld, reader.writableLength + reader.readableLength);
      },
      drained,
      err: () => {},
      env: { CONNECTOR_CONFIG: file },
      color: false,
    };
    const ended = runProgram(argv.filter(Boolean), io).finally(() => reader.end());
    await eventually(() => expect(reader.writableNeedDrain).toBe(true));
    const printed = await wholeText(reader);
    expect(printed.trim().split('\n')).toHaveLength(count);
    expect(mostHeld).toBeLessThan(printed.length / 5);
    expect(await ended).toBe(0);
  });

  test.each([
    ['events', '--json'],
    ['events', '--limit', String(count)],
  ])('ends quietly when that goes away: %s %s', async (...argv) => {
    const child = spawn(process.execPath, [await theProgram(), ...argv, '--config', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    const err = wholeText(child.stderr);
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect(await ended).toEqual([0, null]);
    expect(await err).toBe('');
  });

  test('says that not all could be printed where a disk is full', async () => {
    const full = openSync('/dev/full', 'w');
    const argv = [await theProgram(), 'events', '--json', '--config', file, '--limit=1'];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', full, 'pipe'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    closeSync(full);
    const [err, ended] = await Promise.all([wholeText(child.stderr!), once(child, 'exit')]);
    expect(ended).toEqual([1, null]);
    expect(err).toMatch(/^candidate-connector: not all output could be written: ENOSPC.*\n$/);
  });
});
