import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { endpoint, post, serving, settled, tellAll } from '../commands/tools.ts';
import { openStore } from '../../src/store/open.ts';
import { arrival, configId, notice, planned, t0 } from '../contract/store-fixtures.ts';
import { openLoggedIn } from './browser.ts';
import { asBrowser, basic, startPages, wordsOf } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const guid = '6f1c2d3e4a5b4c6d8e7f0a1b2c3d4e5f';

test('the box finds what a number, an id or a correlation id is of, and says what it looked for', async () => {
  const { app, login, send, page } = await startPages();
  await login();
  const sent = { candidateId: guid, candidateNumericalId: 4711 };
  const { eventId } = await post(app, { ...sent, status: 'Completed' }, 'cor-first');
  await post(app, { ...sent, status: 'Canceled' }, 'cor-both');
  await post(app, { candidateId: 'other' }, 'cor-both');
  const found = async (text: string) =>
    (await send(`/find?q=${encodeURIComponent(text)}`)).headers.get('location');
  for (const text of ['4711', '#4711', guid, guid.toUpperCase(), '6f1c2d3e…', 'other'])
    expect(await found(text)).toBe(`/events?${new URLSearchParams({ candidate: text }).toString()}`);
  expect(await found(` ${eventId.toUpperCase()}`)).toBe(`/events/${eventId}`);
  expect(await found('cor-first')).toBe(`/events/${eventId}`);
  expect(await found('cor-both')).toBe('/events?correlation=cor-both');
  expect(await found('')).toBe('/events');
  for (const nothing of ['4712', 'evt_nothing', 'dlv_nothing_1', '"><b>'])
    expect(await page(`/find?q=${encodeURIComponent(nothing)}`)).toContain('Names cannot be searched for.');
});

test('who looks for a candidate hears of what was refused about it, and of requests that were not valid events', async () => {
  const { app, file, text, login, send, page } = await startPages();
  await login();
  const about = { candidateId: guid, candidateNumericalId: 4711 };
  await post(app, { candidateId: 'other' });
  const answers = (status: number) =>
    eventually(async () => expect((await post(app, { candidateId: 'other' })).status).toBe(status));
  await post(app, { ...about, status: 'Passed' });
  // No answer waits for it to be kept.
  const rejected = await eventually(async () => {
    const found = await page('/find?q=4711');
    expect(found).toMatch(/1 request about this candidate\s+was not a valid event<\/b/);
    return found;
  });
  expect(rejected).toMatch(/<a href="\/rejected">/);
  expect(rejected).not.toMatch(/Nothing found|refused/);
  expect(await page('/rejected')).toContain('>candidate 4711, answered 422');
  expect(await page('/find?q=47')).toContain('Nothing found');
  await writeFile(file, text.replace('allowFrom: any', 'allowFrom: [192.0.2.1]'));
  await answers(403);
  await post(app, { ...about, testId: 7 });
  for (const meant of ['4711', '#4711', guid, '6f1c2d3e…'])
    expect(await page(`/find?q=${encodeURIComponent(meant)}`)).toMatch(
      /<b[^>]*>1 event of this candidate was refused<\/b>:\s+Completed, Test 7,.*See what helps/s,
    );
  expect(await page('/find?q=4712')).toContain('Nothing found');
  await writeFile(file, text);
  await answers(200);
  await post(app, { ...about, testId: 8 });
  expect((await send('/find?q=4711')).headers.get('location')).toBe('/events?candidate=4711');
  expect(await page('/events?candidate=4711')).toContain('1 event of this candidate was refused');
  expect(await page('/events')).not.toContain('of this candidate was refused');
});

test('a search says what of it cannot be understood, and a download is refused for it', async () => {
  const { app, login, send, page } = await startPages();
  await login();
  await post(app, { candidateId: 'Dana' });
  const odd = '/events?from=2026-02-31&state=gone&test=<b>&lookups=x&to=2026-01-01';
  const text = await page(odd);
  expect(text).toContain('cannot be understood, and was left out');
  for (const part of ['From day 2026-02-31', 'Delivery gone', 'Test &lt;b&gt;', 'Look-ups x'])
    expect(text).toContain(part);
  expect(text).not.toContain('To day 2026-01-01,');
  expect(await page('/events?from=2026-02-28&state=dead&test=7&lookups=unanswered')).not.toContain(
    'left out',
  );
  const file = await send(odd.replace('/events', '/events.csv'));
  expect(file.status).toBe(400);
  expect(await file.json()).toMatchObject({ detail: expect.stringContaining('From day 2026-02-31') });
});

test("the box finds a delivery at its event, and says of a notice's what it is", async () => {
  const { folder, login, send, page } = await startPages();
  await login();
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const came = arrival({}, { deliveries: [planned(), planned()] });
  await store.accept(came);
  const told = notice();
  // Not due: the config has no such sink, so the worker would give it up.
  const waiting = planned({ sink: 'ops', dueAt: Date.now() + 3_600_000 });
  await store.raise({ notice: told, configId, deliveries: [waiting], quietMs: 1 });
  await store.close();
  const { id } = came.event;
  const second = `dlv_${id.slice(4)}_2`;
  expect((await send(`/find?q=${second}`)).headers.get('location')).toBe(`/events/${id}#${second}`);
  expect(await page(`/find?q=dlv_${told.id.slice(4)}_1`)).toMatch(/It goes to ops, and is\s+waiting\./);
});

test('a message whose time has not come says when that is, quietly: a digest that collects is no cause for concern', async () => {
  const sink = "{ connector: webhook, url: 'http://127.0.0.1:9/', allowPrivate: true }";
  const { app, login, page } = await startPages(
    `sinks: { ats: ${sink}, later: ${sink} }\nrules: [{ name: all, when: {}, then: [{ sink: ats }, { sink: later, digest: { every: 24h } }] }]\n`,
  );
  await login();
  const { eventId } = await post(app, { candidateId: 'Dana' });
  await eventually(async () => expect(await page(`/events/${eventId}`)).toContain('did not work'));
  const line = /<td class="told">.*?<\/td>/s.exec(await page('/events'))![0];
  expect(line).toMatch(/chip wait[^>]*>ats: waiting</);
  expect(line).toMatch(/chip idle[^>]*>later: due <time/);
  expect(await page(`/events/${eventId}`)).toMatch(/chip wait[^>]*>waiting<.*chip idle[^>]*>waiting</s);
});

test('the page of an event says when each message arrived, without a click', async () => {
  const http = await endpoint();
  const { app, file, login, page } = await startPages(
    `timezone: UTC\nsinks: { ats: { connector: webhook, url: '${http.url}', allowPrivate: true } }\n${tellAll}`,
  );
  await login();
  const { eventId } = await post(app, { candidateId: 'Dana' });
  await settled(file);
  const heading = /<h3>.*?<\/h3>/s.exec(await page(`/events/${eventId}`))![0];
  expect(wordsOf(heading)).toMatch(/\d{1,2} \w{3}, \d\d:\d\d:\d\d\s+delivered/);
});

test('the credentials of an earlier config stay hidden after a restart, before its messages are sent and then', async () => {
  const sinks = "sinks: { ats: { connector: webhook, url: 'http://127.0.0.1:9/', allowPrivate: true } }\n";
  const rules = (body: string) => `rules: [{ name: all, when: {}, then: [{ sink: ats, body: ${body} }] }]\n`;
  const before = rules("{ k: '${OLD_TOKEN}', api_key: written-credential-1 }");
  const env = { OLD_TOKEN: 'token-from-outside' };
  const { app, file, text } = await startPages(sinks + before, env);
  const change = (url: string, what: string) =>
    fetch(`${url}/api/sinks/ats/${what}`, { method: 'POST', headers: basic() });
  expect((await change(app.adminUrl, 'pause')).status).toBe(200);
  const { eventId } = await post(app, { candidateId: 'c' });
  await app.stop();
  await writeFile(file, text.replace(before, rules('{ k: none }')));
  const next = await serving(file, env);
  const { login, page } = asBrowser(next);
  await login();
  const shown = async () => wordsOf(await page(`/events/${eventId}`));
  const hidden = /token-from-outside|written-credential-1/;
  expect(await shown()).toContain('api_key');
  expect(await shown()).not.toMatch(hidden);
  await change(next.adminUrl, 'resume');
  await eventually(async () => expect(await shown()).toContain('ECONNREFUSED'));
  expect(await shown()).toContain('api_key');
  expect(await shown()).not.toMatch(hidden);
});

test('an event leads to those beside it in the list somebody came from', async () => {
  const { app, login, page } = await startPages();
  await login();
  const ids: string[] = [];
  for (const testId of [1, 2, 1])
    ids.push((await post(app, { candidateId: `of ${testId} ${ids.length}`, testId })).eventId);
  const [, row = ''] = /href="([^"]+)">of 1 2</.exec(await page('/events?test=1')) ?? [];
  expect(row).toBe(`/events/${ids[2]}?test=1`);
  const beside = (text: string) =>
    Array.from(text.matchAll(/rel="(prev|next)"[^>]*\shref="([^"]+)"/g), ([, rel, path]) => [rel, path]);
  expect(beside(await page(row))).toEqual([['next', `/events/${ids[0]}?test=1`]]);
  expect(beside(await page(`/events/${ids[1]}`))).toEqual([
    ['prev', `/events/${ids[2]}`],
    ['next', `/events/${ids[0]}`],
  ]);
});

test('the list says how many there are, as far as they are counted, and which are shown', async () => {
  const { folder, login, page } = await startPages();
  await login();
  expect(await page('/events')).toContain('No events yet');
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const take = (many: number, testId: number) =>
    Promise.all(Array.from({ length: many }, () => store.accept(arrival({ testId }, { deliveries: [] }))));
  await take(60, 1);
  expect(await page('/events')).toContain('1 to 50 of 60 events');
  const [, older = ''] = /rel="next" href="([^"]+)"/.exec(await page('/events')) ?? [];
  expect(await page(older.replaceAll('&amp;', '&'))).toContain('51 to 60 of 60 events');
  expect(await page('/events?test=2')).toContain('No event is like that');
  await take(1000, 2);
  await store.close();
  expect(await page('/events')).toContain('1 to 50 of 1,000+ events');
  expect(await page('/events?test=2')).toContain('1 to 50 of 1,000 events');
});

test('while somebody reads, rows stay where they are; what became of them is seen all the same', async () => {
  const { app } = await startPages();
  const { eventId } = await post(app, { candidateId: guid, candidateNumericalId: 4711 });
  const page = await openLoggedIn(`${app.adminUrl}/events`);
  const row = page.locator(`#${eventId}`);
  await row.hover();
  const { y } = (await row.boundingBox())!;
  const later = await post(app, { candidateId: 'later' });
  await post(app, { candidateId: guid, candidateNumericalId: 4711 });
  await page.getByText('Paused while you read: 1 new').waitFor();
  await row.getByText('repeated 1×').waitFor();
  expect([(await row.boundingBox())!.y, await page.locator(`#${later.eventId}`).count()]).toEqual([y, 0]);
  await page.getByRole('button', { name: 'Show' }).click();
  await page.locator(`#${later.eventId}`).waitFor();
  await page.locator('.live[data-is=live]').waitFor();
  await row.getByRole('button', { name: 'Copy the candidate id' }).click();
  await page.locator('.copy.done').waitFor();
  await page.locator('#find').focus();
  await page.keyboard.press('Control+V');
  expect(await page.locator('#find').inputValue()).toBe(guid);
});

test('filters stand in one row on a desktop, also with one for look-ups and a search', async () => {
  const { app } = await startPages(
    `lookups: { candidate: { url: 'https://x.example.com/{{ event.candidateId }}', when: { status: Canceled }, fields: { score: { at: /s } } } }
sinks: {}
rules: [{ name: low, when: { candidate.score: low }, then: [], silent: true }]
`,
  );
  await post(app, {});
  const page = await openLoggedIn(app.adminUrl);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`${app.adminUrl}/events?status=Completed`);
  const fields = await page.locator('.filters .fields :is(select, input, button, a)').all();
  expect(fields).toHaveLength(10);
  const boxes = await Promise.all(fields.map((one) => one.boundingBox()));
  const middles = boxes.map((box) => box!.y + box!.height / 2);
  expect(Math.max(...middles) - Math.min(...middles)).toBeLessThan(4);
  // A date and the button beside it can be read.
  expect(
    await page.evaluate<boolean>(
      'document.documentElement.scrollWidth > document.documentElement.clientWidth',
    ),
  ).toBe(false);
  expect(Math.min(...boxes.slice(0, -2).map((box) => box!.width))).toBeGreaterThan(100);
});

test('the list shows every delivery of an event, however many there are', async () => {
  const sinks = ['mailing-list', 'hiring-managers', 'applicant-tracking', 'people-operations', 'archive'];
  const { app } = await startPages(
    `sinks:\n${sinks.map((name) => `  ${name}: { connector: webhook, url: https://x.example.com }\n`).join('')}
rules: [{ name: all, when: {}, then: [${sinks.map((sink) => `{ sink: ${sink}, digest: { every: 7d } }`).join(', ')}] }]
`,
  );
  await post(app, { candidateId: guid });
  const page = await openLoggedIn(app.adminUrl);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`${app.adminUrl}/events`);
  const cell = (await page.locator('.told').first().boundingBox())!;
  const chips = await page.locator('.told .chip').all();
  const ends = await Promise.all(chips.map(async (one) => (await one.boundingBox())!));
  expect(ends).toHaveLength(5);
  expect(Math.max(...ends.map(({ x, width }) => x + width))).toBeLessThan(cell.x + cell.width);
  expect(Math.max(...ends.map(({ y, height }) => y + height))).toBeLessThan(cell.y + cell.height);
});

test('where nothing can hover, as on a phone, the list says when an event came, and not how long ago', async () => {
  const { app } = await startPages();
  await post(app, { candidateId: 'Dana' });
  const page = await openLoggedIn(`${app.adminUrl}/events`);
  await expect.poll(() => page.locator('.events td.when').innerText()).toMatch(/ ago$|^now$/);
  const storageState = await page.context().storageState();
  const context = await page
    .context()
    .browser()!
    .newContext({ isMobile: true, hasTouch: true, storageState });
  const phone = await context.newPage();
  await phone.goto(page.url());
  await expect.poll(() => phone.locator('.events td.when').innerText()).toMatch(/^\d\d:\d\d$/);
  await context.close();
});

test('keys lead through the pages, are shown by "?", and can be switched off', async () => {
  const { app } = await startPages();
  const { eventId } = await post(app, { candidateId: guid, candidateNumericalId: 4711 });
  const page = await openLoggedIn(app.adminUrl);
  await page.waitForLoadState();
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('g then e').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.type('ge');
  await page.waitForURL('**/events');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/events/${eventId}`);
  await page.keyboard.press('/');
  await page.keyboard.type('4711?\n');
  await page.getByText('Nothing here has “4711?”').waitFor();
  await page.getByRole('button', { name: 'Keyboard' }).click();
  await page.getByLabel('Use these keys').uncheck();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.keyboard.type('ge/gr');
  expect(await page.locator('#find').inputValue()).toBe('4711?');
});
