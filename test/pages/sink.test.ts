import { writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { endpoint, post, run, settled, tellAll } from '../commands/tools.ts';
import { barriersOf, openLoggedIn } from './browser.ts';
import { startPages, wordsOf } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const sinkOf = (url: string) =>
  `sinks: { ats: { connector: webhook, url: '${url}', allowPrivate: true } }\n${tellAll}`;

test('a sink is paused on its page, and what comes for it waits there until somebody resumes it', async () => {
  const http = await endpoint();
  const { app, file } = await startPages(sinkOf(http.url));
  const page = await openLoggedIn(app.adminUrl, 'ana');
  await page.getByRole('link', { name: 'ats', exact: true }).click();
  await page.getByText('not used yet').waitFor();
  expect(await barriersOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Pause' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('For how long').selectOption('a day');
  await dialog.getByLabel('Why').fill('it is being moved');
  expect(await barriersOf(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('paused', { exact: true }).waitFor();
  await page.getByText(/Paused by ana \(since .*, until .*\): “it is being moved”/).waitFor();
  const { eventId } = await post(app, { candidateId: 'Dana', candidateNumericalId: 20970 });
  const end = await page.getByText('Paused by ana').innerText();
  await page.getByRole('button', { name: 'Change the pause' }).click();
  await dialog.getByText('Keep ats paused, counted from now?').waitFor();
  await dialog.getByLabel('For how long').selectOption('3 days');
  await dialog.getByRole('button', { name: 'Change the pause' }).click();
  await page.getByText(/Paused by ana .*: “it is being moved”/).waitFor();
  await expect.poll(() => page.getByText('Paused by ana').innerText()).not.toBe(end);
  await page.getByRole('link', { name: '20970' }).waitFor();
  await page.getByText(/Completed, Test 1234567,\s+\S+\s+waits until the pause ends/).waitFor();
  expect(await barriersOf(page)).toEqual([]);
  await page.goto(`${app.adminUrl}/events/${eventId}`);
  await page.getByText(/It waits: ats is paused by ana \(since/).waitFor();
  await page.getByText('This goes out then:').waitFor();
  await page.locator('.preview', { hasText: '"candidateNumericalId": 20970' }).waitFor();
  await page.locator('summary', { hasText: 'Not tried yet' }).waitFor();
  expect(http.calls).toEqual([]);
  await page.getByRole('link', { name: 'ats', exact: true }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await dialog.getByLabel('Why').fill('moved');
  await dialog.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('working').or(page.getByText('not used yet')).waitFor();
  await settled(file);
  expect(http.calls).toHaveLength(1);
  await page.reload();
  await page.getByText('delivered', { exact: true }).waitFor();
  expect(await barriersOf(page)).toEqual([]);
  await page.goto(`${app.adminUrl}/attention`);
  await page.getByText('“moved”').waitFor();
});

test("without scripts, the page asks first, and a failing sink's shows what the tool answered; nobody else may", async () => {
  const http = await endpoint();
  const { app, file, send, page, login, csrf } = await startPages(sinkOf(http.url));
  expect((await send('/sinks/ats/pause', { form: {} })).status).toBe(303);
  await login();
  http.faults.decide = () => ({ kind: 'status', status: 410 });
  await post(app, { candidateId: 'Dana <b>' });
  await settled(file);
  const shown = await page('/sinks/ats');
  expect(shown).toMatch(/refused.*Dana &lt;b&gt;.*410/s);
  expect(shown).toContain('1 needs a person');
  await post(app, { candidateId: 'again' });
  await settled(file);
  expect(await page('/sinks/ats')).toMatch(/refused.*again.*410.*refused.*Dana &lt;b&gt;.*, the same/s);
  const token = await csrf();
  const asked = await (await send('/sinks/ats/pause', { form: { csrf: token } })).text();
  expect(asked).toMatch(/Pause ats\?.*<select name="for">.*name="note".*name="confirmed"/s);
  expect(await page('/sinks/ats')).not.toContain('paused by');
  const done = await send('/sinks/ats/pause', {
    form: { csrf: token, for: '', note: '<i>', confirmed: 'yes' },
  });
  expect(done.headers.get('location')).toBe('/sinks/ats');
  expect(await page('/sinks/ats')).toMatch(/“&lt;i&gt;”.*It waits until somebody resumes it\./s);
  expect((await send('/sinks/ats/retry', { form: { csrf: token } })).status).toBe(200);
  const asksToResume = async () => (await send('/sinks/ats/resume', { form: { csrf: token } })).text();
  expect(await asksToResume()).toContain('<p>Let ats go on? Nothing waits for it.</p>');
  await post(app, { candidateId: 'while paused' });
  expect(await asksToResume()).toContain(
    '<p>Let ats go on? 1 message waits for it: what is due is sent now.</p>',
  );
  expect(await page('/sinks/ats')).toContain('data-confirm="Let ats go on? 1 message waits for it: ');
  for (const path of ['/sinks/nobody', '/sinks/lookup:candidate'])
    expect((await send(path)).status).toBe(404);
  expect((await send('/sinks/nobody/pause', { form: { csrf: token, confirmed: 'yes' } })).status).toBe(404);
});

test('a tool that asked to wait: until when, what waits behind it, and what trying it now may cost', async () => {
  const http = await endpoint();
  const { app, folder, page, login } = await startPages(sinkOf(http.url));
  await login();
  http.faults.decide = () => ({ kind: 'rate-limit', retryAfterS: 3600 });
  const waiting = 'as the tool asked: The other system answered 429';
  await post(app, { candidateId: 'Dana' });
  await eventually(async () => expect(await page('/sinks/ats')).toContain(waiting));
  await post(app, { candidateId: 'Ana' });
  expect(await page('/sinks/ats')).toMatch(/Ana<.*due, and waits behind what the tool put off/s);
  expect(await page('/sinks/ats')).not.toContain('Try now');
  using store = new DatabaseSync(`${folder}/connector.db`);
  store.exec('update sink_figures set failures = 9, first_failed_at = 1');
  expect(await page('/sinks/ats')).toMatch(
    /Try ats now\? [^"<]* But its tool asked to wait until [^"<]* UTC, and may ask for longer/,
  );
  expect(await page('/attention')).toContain(waiting);
  // Where the connector paused the sink, nothing goes out before its next try, though it may be due earlier.
  store.exec(`insert into pauses (sink, since, probe_at, probes, reason, detail)
    select sink, 1, ${Date.now() + 36e5 * 5}, 1, 'server', last_error from deliveries where last_error is not null`);
  expect(await page('/sinks/ats')).not.toMatch(/>due /);
  // Why it is paused is said once.
  expect(await page('/sinks/ats')).not.toContain('waits until the sink works:');
});

test('a forgotten pause of a sink that left the config needs a person, everywhere alike; its page resumes it, and offers nothing else', async () => {
  const http = await endpoint();
  const { app, file, folder, text, page, login } = await startPages(sinkOf(http.url));
  await login();
  await run(['pause', 'ats', '--config', file]);
  await post(app, { candidateId: 'Dana' });
  await writeFile(file, text.replaceAll(/\bats\b/g, 'other'));
  const status = async (...more: string[]) => (await run(['status', ...more, '--config', file])).out;
  await eventually(async () => expect(await status()).toContain('ats  not in the config any more'));
  expect(await page('/')).toContain('is paused by');
  using store = new DatabaseSync(`${folder}/connector.db`);
  store.exec('update person_pauses set since = since - 2 * 86400000');
  expect(await status()).toMatch(/^A person is needed: ats is still paused by a person\.\n.*resume ats;/s);
  expect(JSON.parse(await status('--json'))).toMatchObject({
    needsPerson: true,
    needs: ['ats is still paused by a person'],
  });
  for (const path of ['/', '/attention'])
    expect(wordsOf(await page(path))).toMatch(
      /1 cause.*ats is still paused.*Put the sink back under this name/s,
    );
  const shown = await page('/sinks/ats');
  expect(shown).toContain('action="/sinks/ats/resume"');
  expect(shown).not.toContain('action="/sinks/ats/pause"');
});
