import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { post } from '../commands/tools.ts';
import { eventually } from '../fixtures/eventually.ts';
import { asking } from './asking.ts';

test('a look-up that no longer finds a field that it nearly always found needs a person', async () => {
  const { app, api, about, command } = await asking();
  for (let each = 0; each < 10; each += 1) await about(`early-${each}`);
  expect(await command('status')).toMatchObject({ code: 0 });
  api.version = ({ name: _, ...rest }) => rest;
  for (let each = 0; each < 5; each += 1) await about(`late-${each}`);
  expect(await command('status')).toEqual({
    code: 4,
    err: '',
    out: expect.stringMatching(
      /^A person is needed: the look-up candidate finds no name any more\.\n[^]*None of the last 5 answers of candidate had name, .*; earlier ones did\n/,
    ),
  });
  expect(JSON.parse((await command('status', '--json')).out)).toMatchObject({
    needs: ['the look-up candidate finds no name any more'],
    lookups: [{ empty: { calls: 5, fields: ['name'], didFind: true } }],
  });
  expect(await (await fetch(app.adminUrl)).text()).toMatch(
    /A person is needed[^]*None of the last 5 answers/,
  );
  api.version = (answer) => answer;
  await about('right');
  expect(await command('status')).toMatchObject({ code: 0 });
});

test('a look-up that no longer finds anybody needs a person once it has given up on several, not while it asks', async () => {
  const { app, api, about, told, command } = await asking({ waitFor: '6s', maxDelay: '1s' });
  for (let each = 0; each < 10; each += 1) await about(`early-${each}`);
  const before = api.calls.length;
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => post(app, { candidateId: `missing-${id}` })));
  await eventually(() => expect(api.calls.length).toBeGreaterThanOrEqual(before + 5));
  expect(await command('status')).toMatchObject({ code: 0 });
  await eventually(() => expect(told()).toHaveLength(15));
  const status = await command('status');
  expect(status.out).toMatch(/^A person is needed: the look-up candidate finds nothing any more\.\n/);
  expect(status.out).toMatch(
    /None of the last 5 calls of candidate found .*nothing about this yet.*; earlier ones did\n/,
  );
});

test('nobody is needed for what was never there of such events: of those who did not take the test, or of a test without it', async () => {
  const { api, about, command } = await asking();
  const whole = api.version;
  const withoutReport: typeof whole = ({ reportUrl: _, ...rest }) => rest;
  api.version = withoutReport;
  for (let each = 0; each < 2; each += 1) await about(`first-${each}`, 1234567, 'DidNotTake');
  api.version = whole;
  for (let each = 0; each < 10; each += 1) await about(`early-${each}`);
  api.version = withoutReport;
  for (let each = 0; each < 5; each += 1) await about(`absent-${each}`, 1234567, 'DidNotTake');
  expect(await command('status')).toMatchObject({ code: 0 });
  for (let each = 0; each < 5; each += 1) await about(`of-another-${each}`, 2345678);
  expect(await command('status')).toMatchObject({ code: 0 });
  for (let each = 0; each < 5; each += 1) await about(`late-${each}`);
  expect((await command('status')).out).toMatch(/^A person is needed: .* finds no report any more\.\n/);
});

test('nobody is needed for what such events rarely have, where many of them come at once', async () => {
  const { api, about, command } = await asking();
  for (let each = 0; each < 10; each += 1) await about(`early-${each}`);
  await about('began', 1234567, 'DidNotTake');
  api.version = ({ reportUrl: _, ...rest }) => rest;
  for (let each = 0; each < 5; each += 1) await about(`expired-${each}`, 1234567, 'DidNotTake');
  expect(await command('status')).toMatchObject({ code: 0 });
});

test('nobody is needed for one candidate of whom something is not there, in however many tests', async () => {
  const { api, about, command } = await asking();
  const testIds = [1, 2, 3, 4, 5, 6];
  for (const each of ['a', 'b']) for (const testId of testIds) await about(`early-${each}`, testId);
  api.version = ({ reportUrl: _, ...rest }) => rest;
  for (const testId of testIds) await about('without', testId);
  expect(await command('status')).toMatchObject({ code: 0 });
});

test('nobody is needed for a field that was added and is rarely there', async () => {
  const { about, command, file } = await asking();
  for (let each = 0; each < 10; each += 1) await about(`early-${each}`);
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('    fields:\n', '    fields:\n      agency: { at: /agency }\n'));
  let asked = 0;
  await eventually(async () => {
    const { facts } = await about(`late-${(asked += 1)}`);
    expect(facts).toMatchObject({ candidate: { fields: { agency: null } } });
  });
  for (let each = 0; each < 5; each += 1) await about(`later-${each}`);
  expect(await command('status')).toMatchObject({ code: 0 });
});
