import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import {
  endpoint,
  jsonLines,
  base,
  post,
  type Ran,
  run,
  serving,
  tellAll,
  telling,
  workplace,
} from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const columns = ['--candidate', 'Id', '--test', 'Test', '--status', 'State'];
const mine = [...columns, '--at', 'When'];

/** A time some minutes ago, as spreadsheets write it. */
const recently = new Date(Date.now() - 600_000).toISOString().slice(0, 19).replace('T', ' ');

const missingIn = (ran: Ran) => jsonLines<{ candidateId: string }>(ran).map(({ candidateId }) => candidateId);

/** A connector, and functions that run `reconcile` on an export; `answering` answers its question. `given`: as for `telling`. */
async function withExport(...given: Parameters<typeof telling>) {
  const connector = await telling(...given);
  const { write, file } = connector;
  return {
    ...connector,
    reconcile: async (text: string, ...argv: string[]) =>
      run(['reconcile', await write('export.csv', text), '--config', file, ...argv]),
    answering: async (answer: string, text: string, ...argv: string[]) => {
      const questions: string[] = [];
      const ask = async (question: string) => (questions.push(question), answer);
      const argvOf = ['reconcile', await write('export.csv', text), '--config', file, ...argv];
      return { ...(await run(argvOf, {}, false, ask)), questions };
    },
  };
}

test('of 520 events of which 26 were dropped, tells these 26 once, and none twice, beside a connector that serves', async () => {
  const { folder, write } = await workplace();
  const http = await endpoint();
  const text = `${base(folder)}
sinks: { ats: { connector: webhook, url: '${http.url}', allowPrivate: true, rate: 1000/s, concurrency: 50 } }
rules: [ { name: told, when: {}, then: [ { sink: ats, body: { who: '{{ event.candidateId }}' } } ] } ]
`;
  const file = await write('config.yaml', text);
  const app = await serving(file);
  const candidates = Array.from({ length: 520 }, (_, n) => `candidate-${n}`);
  const dropped = candidates.filter((_, n) => n % 20 === 7);
  const arrived = candidates.filter((one) => !dropped.includes(one));
  for (let from = 0; from < arrived.length; from += 50)
    await Promise.all(arrived.slice(from, from + 50).map((candidateId) => post(app, { candidateId })));
  // Each twice: more than are read at once.
  const rows = candidates.map((id) => `"${id}";1234567;Finished;${recently}`);
  const table = `\uFEFFId;Test;State;When\r\n${[...rows, ...rows].join('\r\n')}\r\n`;
  const reconcile = ['reconcile', await write('export.csv', table), '--config', file];
  const ofMine = [...reconcile, ...mine, '--map', 'Finished=Completed'];

  const shown = await run([...ofMine, '--json']);
  expect({ code: shown.code, missing: missingIn(shown) }).toEqual({ code: 3, missing: dropped });
  expect(jsonLines(shown)[0]).toEqual({
    line: 9,
    candidateId: 'candidate-7',
    testId: 1234567,
    status: 'Completed',
  });

  expect(await run([...ofMine, '--accept', '--yes'])).toMatchObject({
    code: 0,
    out: expect.stringContaining('Rules ask for 26 to ats.\nTaken in: 26 events.'),
  });
  expect(await run([...ofMine, '--accept', '--yes'])).toMatchObject({
    code: 0,
    out: expect.stringContaining('none is missing'),
  });
  const told = () => http.calls.map(({ body }) => (JSON.parse(body) as { who: string }).who);
  await eventually(() => expect(new Set(told()).size).toBe(520), { timeout: 60_000, interval: 50 });
  expect(told()).toHaveLength(520);
});

describe('what is missing', () => {
  test('is not said to be completed where the file has other words: what is advised can be pasted', async () => {
    const { answering } = await withExport();
    const table = `Id,Test,State,When\n${['Cancelled', 'Invited', 'did not take it', 'Complete'].map((state) => `Dana,1,${state},${recently}`).join('\n')}\n`;
    const { out } = await answering('n', table, ...mine);
    expect(out).toContain(
      'say so: --map "Cancelled=Canceled" --map "Invited=…" --map "did not take it=DidNotTake" --map "Complete=Completed"',
    );
    expect(await answering('n', table, ...mine, '--map', 'Invited=…')).toMatchObject({ code: 2 });
  });

  test('is shown, and told to nobody before somebody has said so; the audit says who did', async () => {
    const { answering, command, app, done, http } = await withExport();
    const table = `Id,Test,State,When\nDana,1,Completed,${recently}\nRobin,1,Invited,${recently}\n`;
    const no = await answering('n', table, ...mine, '--accept');
    expect(no).toMatchObject({ code: 3, questions: ['Take in 1 event? [y/N] '] });
    expect(no.out).toBe(
      `  line 2  Completed  test 1  candidate Dana
Of 1 row, 1 never came.
1 row left out, as the status is none of Completed, DidNotTake or Canceled: "Invited" (1). Where one means one of these, say so: --map "Invited=…"
Rules ask for 1 to ats.
Nothing was taken in.
`,
    );
    expect(jsonLines(await command('events', '--json'))).toEqual([]);
    expect(await answering('y', table, ...mine, '--accept')).toMatchObject({ code: 0 });
    await done();
    expect(http.calls).toHaveLength(1);
    const [event] = jsonLines<{ id: string }>(await command('events', '--json'));
    expect((await command('event', event!.id)).out).toMatch(/reconcile dlv_\S+_1, by \S+ from a command on/);
    expect(await post(app, { candidateId: 'Dana', testId: 1 })).toMatchObject({
      status: 200,
      duplicate: true,
    });
  });

  test('is taken in in the order in which it happened, and what is older than what came is told before', async () => {
    const { reconcile, command, app } = await withExport();
    await post(app, { candidateId: 'Kim', testId: 1, status: 'Completed' });
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    const table = `Id,Test,State,When
Dana,1,Completed,${daysAgo(1)}
Kim,1,Canceled,${daysAgo(1)}
Dana,1,DidNotTake,${daysAgo(2)}
Dana,1,Canceled,${daysAgo(3)}
`;
    const taken = await reconcile(table, ...mine, '--accept', '--yes');
    expect(taken.out).toContain('1 event is older than what came of the same candidate and test: ');
    expect(taken.out).toContain('Taken in: 4 events.');
    const events = jsonLines<{ status: string }>(await command('events', '--candidate', 'Dana', '--json'));
    // Newest first.
    expect(events.map(({ status }) => status)).toEqual(['Completed', 'DidNotTake', 'Canceled']);
  });

  test('is nothing that came within the retention, however short the window against repeats is', async () => {
    const { reconcile, app, done, http, folder } = await withExport({
      rules: `idempotency: { window: 1s }\n${tellAll}`,
    });
    await post(app, { candidateId: 'Dana' });
    await done();
    using store = new DatabaseSync(join(folder, 'connector.db'));
    store.exec('update events set received_at = received_at - 86400000');
    const table = `Id,Test,State,When\nDana,1234567,Completed,${recently}\n`;
    expect(await reconcile(table, ...mine, '--accept', '--yes')).toMatchObject({ code: 0 });
    await done();
    expect(http.calls).toHaveLength(1);
  });

  test('of a row with only a number is that of the one candidate known by it', async () => {
    const { reconcile, app, command } = await withExport();
    for (const [candidateId, candidateNumericalId] of [
      ['Dana', 11],
      ['Robin', 12],
      ['Kim', 12],
    ])
      await post(app, { candidateId, candidateNumericalId });
    const table = `Id,Test,State,When\n${[11, 12, 13].map((n) => `${n},2,Completed,${recently}`).join('\n')}`;
    const ran = await reconcile(table, ...mine, '--accept', '--yes');
    expect(ran.code).toBe(3);
    expect(ran.out).toContain('line 3  Completed  test 2  candidate 12  (only a number');
    expect(ran.out).toContain('2 rows of these cannot be taken in');
    expect(jsonLines(await command('events', '--json', '--test', '2'))).toMatchObject([
      { candidateId: 'Dana', candidateNumericalId: 11 },
    ]);
  });

  test('is not told of whom --except names, nor without a word of those whom `forget` erased', async () => {
    const { answering, app, command, write, done, http } = await withExport();
    await post(app, { candidateId: 'Dana' });
    await done();
    expect(await command('forget', 'Dana', '--yes')).toMatchObject({ code: 0 });
    const table = `Id,Test,State,When\n${['Dana', 'Robin'].map((id) => `${id},1234567,Completed,${recently}`).join('\n')}`;
    const no = await answering('n', table, ...mine, '--accept');
    expect(no.out).toMatch(
      /Candidates were erased by `candidate-connector forget` at \d{4}-\S+ \S+ UTC; nobody knows here who/,
    );
    const except = await write('except.csv', '\uFEFF"Dana"\r\n');
    const yes = await answering('y', table, ...mine, '--accept', '--except', except, '--json');
    expect(missingIn(yes)).toEqual(['Robin']);
    await done();
    expect(jsonLines(await command('events', '--json'))).toMatchObject([{ candidateId: 'Robin' }]);
    expect(http.calls).toHaveLength(2);
  });
});

describe('a file', () => {
  test('without a column is refused with the columns that it has; one that is not there or no text, with why', async () => {
    const { reconcile, command } = await withExport();
    expect(await reconcile('Ident;Test;State\n', ...columns)).toMatchObject({
      code: 1,
      err: expect.stringContaining('has no column "Id"; it has "Ident", "Test" or "State"'),
    });
    expect(await command('reconcile', '/nowhere.csv', ...columns)).toMatchObject({
      code: 1,
      err: expect.stringContaining('/nowhere.csv cannot be read: ENOENT'),
    });
    expect(await reconcile('Id;Test;State\n"Dana;1;Completed\n', ...columns)).toMatchObject({
      code: 1,
      err: expect.stringContaining('export.csv:2:1 the quote that begins here does not end'),
    });
  });

  test('has ids that a spreadsheet has made numbers of: nobody is taken in under these', async () => {
    const { reconcile, command } = await withExport();
    const ids = ['1.23457E+31', '"4,7E+10"', 'e+5', '1e7'];
    const rows = ids.map((id) => `${id},1,Completed,${recently}`);
    const { err } = await reconcile(`Id,Test,State,When\n${rows.join('\n')}`, ...mine, '--accept', '--yes');
    const why = 'a program for tables has made a number of this id, and lost its digits; export it anew';
    expect(err).toContain(`:2 Id: ${why}, got "1.23457E+31"`);
    expect(err).toContain(`:3 Id: ${why}, got "4,7E+10"`);
    expect(missingIn(await command('events', '--json')).toSorted()).toEqual(['1e7', 'e+5']);
  });

  test('has columns with spaces that do not break', async () => {
    const { reconcile } = await withExport();
    const table = 'Candidate\u00A0Id,Test,State\nDana,1,Completed\n';
    const ran = await reconcile(table, '--candidate', 'Candidate Id', ...columns.slice(2));
    expect(ran.out).toContain('candidate Dana');
  });

  test('has rows that cannot be read, which are named, and those that are too old, which are left out', async () => {
    const { reconcile } = await withExport();
    const rows = [
      `Dana,x,Completed,${recently}`,
      'Robin,1,Completed,yesterday',
      'Kim,1,Completed,21.11.2020 9:05',
      `"",1,DidNotTake,${recently}`,
      `"Two""x"y,1,Completed,${recently}`,
    ];
    const { code, out, err } = await reconcile(`Id,Test,State,When\n${rows.join('\n')}`, ...mine);
    expect({ code, out }).toEqual({
      code: 1,
      out: 'Of 0 rows, none is missing.\n1 row older than 365d left out.\n4 rows cannot be read.\n',
    });
    expect(err.split('\n').map((line) => line.replace(/^.*csv:/, ''))).toEqual([
      expect.stringMatching(/^2 Test: Expected an integer .*"x"/),
      '3 When: expected a time such as 2026-11-21 14:05, got "yesterday"',
      expect.stringMatching(/^5 Id: Expected at least one character/),
      expect.stringMatching(/^6 this cell goes on after its quotes/),
      '',
    ]);
  });
});

test('takes in only what is known to be younger than events are kept', async () => {
  const { reconcile, answering } = await withExport();
  const table = 'Id,Test,State\nDana,1,Completed\n';
  expect(await reconcile(table, ...columns, '--accept', '--yes')).toMatchObject({ code: 2, out: '' });
  expect(await reconcile(table, ...columns, '--accept', '--since', '7d')).toMatchObject({ code: 2, out: '' });
  expect(await reconcile(table, ...columns, '--accept', '--since', '366d', '--yes')).toMatchObject({
    code: 2,
    out: '',
  });
  const asked = await answering('n', table, ...columns, '--accept', '--since', '7d');
  expect(asked.questions).toEqual(['All rows are younger than 7d, and it takes in 1 event? [y/N] ']);
  expect(await reconcile(table, ...columns, '--accept', '--since', '7d', '--yes')).toMatchObject({ code: 0 });
});
