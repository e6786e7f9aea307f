import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import about from '../../package.json' with { type: 'json' };
import { chartFigure, countsOfDays } from '../../src/pages/frame/charts.ts';
import { Times } from '../../src/pages/frame/times.ts';
import { nextTry } from '../../src/pages/frame/troubles.ts';
import { openStore } from '../../src/store/open.ts';
import { arrival, configId, notice, t0 } from '../contract/store-fixtures.ts';
import { endpoint, post, run, settled, tellAll, workplace } from '../commands/tools.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startPages, wordsOf } from './tools.ts';

test('a sink whose next try is due is tried now, not again just now', () => {
  const next = (inMs: number) =>
    nextTry({ sink: 'ats', nextTryAt: t0 + inMs, pending: 1, sending: 0, pause: null }, new Times(t0, 'UTC'))
      .text;
  expect(next(-200)).toMatch(/^It is tried again now; /);
  expect(next(0)).toMatch(/^It is tried again now; /);
  expect(next(5000)).toMatch(/^It is tried again <time[^>]*>in 5 seconds<\/time>; /);
});

const hostile = '<img src=x onerror=alert(1)>';

test('the days are those of the config, also where the clocks change', async () => {
  const { folder } = await workplace();
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: true });
  onTestFinished(() => store.close());
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const times = new Times(Date.parse('2026-10-27T12:00:00Z'), 'Europe/Zagreb');
  const starts = [3, 2, 1, 0, -1].map((before) => times.daysBefore(times.now, before));
  // Sunday, the 25th of October, has 25 hours.
  for (const [hour, day] of [
    ['2026-10-24T21:00Z', 0],
    ['2026-10-24T22:00Z', 1],
    ['2026-10-25T22:00Z', 1],
    ['2026-10-25T23:00Z', 2],
    ['2026-10-26T22:00Z', 2],
    ['2026-10-26T23:00Z', 3],
  ] as const)
    for (let n = 0; n <= day; n += 1) await store.accept(arrival({ receivedAt: Date.parse(hour) }));
  const found = await countsOfDays(store, starts);
  expect(found.map(({ day, count }) => [day, count])).toEqual([
    [0, 1],
    [1, 2],
    [1, 2],
    [2, 6],
    [3, 4],
  ]);
});

test('a notice of several lines, such as a summary, is read in one, on the page and by the commands', async () => {
  const { file, folder, login, page } = await startPages();
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false, mustExist: true });
  const told = notice({ raisedAt: Date.now(), detail: '8 events: 8 completed\nTest 1: 8 completed\n\u001b' });
  const { id: configInForce } = (await store.latestConfig())!;
  await store.raise({ notice: told, configId: configInForce, deliveries: [], quietMs: 0 });
  await store.close();
  await login();
  const read = [await page('/')];
  for (const command of [['status'], ['events', '--notices'], ['event', told.id]])
    read.push((await run([...command, '--config', file])).out);
  for (const text of read) expect(text).toContain('8 events: 8 completed; Test 1: 8 completed; \\u{1b}');
});

test('times are written as in messages, where those are English', () => {
  const at = Date.parse('2026-11-23T06:05:58Z');
  const text = (locale?: string) =>
    new Times(at + 172_800_000, 'UTC', locale).short(at).text.replaceAll(/<[^>]*>/g, '');
  expect([text(), text('hr'), text('en-GB'), text('en-US')]).toEqual([
    '23 Nov, 06:05',
    '23 Nov, 06:05',
    '23 Nov, 06:05',
    'Nov 23, 6:05 AM',
  ]);
});

test('a day is never named that it is not, and what is due later than in an hour has its time', () => {
  // A Saturday. A message with office hours is due on Monday at 8, in less than two days.
  const times = new Times(Date.parse('2026-11-28T08:30:00Z'), 'Europe/Zagreb');
  const text = (shown: { text: string }) => shown.text.replaceAll(/<[^>]*>/g, '');
  const due = (at: string) => text(times.ahead(Date.parse(at)));
  expect([due('2026-11-30T07:00Z'), due('2026-11-28T17:00Z'), due('2026-11-28T08:52Z')]).toEqual([
    '30 Nov, 08:00',
    '18:00',
    'in 22 minutes',
  ]);
  const relative = (at: string) => text(times.relative(Date.parse(at)));
  expect(relative('2026-11-26T10:00Z')).toBe('1 day ago');
  expect(relative('2026-11-28T08:30:00.400Z')).toBe('in 1 second');
  expect(relative('2026-11-28T08:29:59.600Z')).toBe('just now');
});

test('a time zone from outside counts on the pages and by the API, too', async () => {
  // Twelve hours ahead of UTC.
  const env = { ZONE: 'Etc/GMT-12' };
  const { folder, login, page } = await startPages(
    "timezone: '${ZONE}'\nlocale: en-US\nsinks: {}\nrules: []\n",
    env,
  );
  await login();
  expect(await page('/')).toContain('<h1>Today</h1>');
  const [now, day] = [Date.now(), 86_400_000];
  const [ofUtc, begin] = [now - (now % day), now - ((now + day / 2) % day)];
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  await store.accept(arrival({ receivedAt: Math.max(ofUtc, begin) - 1 }));
  await store.close();
  expect(await page('/events')).toMatch(/ title="[A-Z][a-z]{2} \d+, 20\d\d, [\d:]+ [AP]M Etc\/GMT-12"/);
  const { receiver } = JSON.parse(await page('/api/status'));
  expect(receiver.eventsToday).toBe(begin < ofUtc ? 1 : 0);
});

test('the events of today are those since midnight, also where that is at half past of an hour of UTC', async () => {
  const { folder, login, page } = await startPages('timezone: Asia/Kolkata\nsinks: {}\nrules: []\n');
  await login();
  const midnight = Temporal.Now.zonedDateTimeISO('Asia/Kolkata').startOfDay().epochMilliseconds;
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  for (const receivedAt of [midnight - 1, midnight - 2, midnight])
    await store.accept(arrival({ receivedAt }, { deliveries: [] }));
  await store.close();
  expect(await page('/')).toMatch(/<dt>Events today<\/dt>\s*<dd>1<small>/);
});

test('figures have separators, and what there is none of leads nowhere', async () => {
  const sinks = 'sinks: { slack: { connector: slack, token: xoxb-1 } }\nrules: []\n';
  const { folder, login, page } = await startPages(sinks);
  await login();
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const came = Array.from({ length: 1001 }, () => arrival({ receivedAt: Date.now() }, { deliveries: [] }));
  await Promise.all(came.map((one) => store.accept(one)));
  await store.close();
  const today = await page('/');
  expect(today).toContain('<dd>1,001<small>');
  expect(today).toContain('<td class="number">0</td>');
  expect(today).not.toMatch(/href="\/(attention|events)\?sink=slack/);
});

test('a message that was given up is seen among many that arrived', async () => {
  const { text } = chartFigure({
    title: 'Messages that arrived',
    kind: 'rates',
    labels: ['Sun 22', 'Mon 23'],
    series: [{ name: 'sent', colour: 'good', values: [1, 0.9996] }],
  });
  expect(text).toMatch(/<span>99 %<\/span>.*<span>100 %<\/span>.*<td class="number">99.9 %<\/td>/s);

  const ats = await endpoint();
  const { app, file, login, page } = await startPages(
    `sinks: { ats: { connector: webhook, url: '${ats.url}', allowPrivate: true } }\n${tellAll}`,
    {},
    true,
    'title: Hiring EU',
  );
  await login();
  const come = async (candidateId: string) => {
    await post(app, { candidateId });
    await settled(file);
  };
  await come('Dana');
  await come('Robin');
  expect(await page('/')).toMatch(/2 of 2 ·<\/span\s*>\s*100 %/);
  ats.faults.decide = () => ({ kind: 'status', status: 410 });
  await come('Kim');
  const today = await page('/');
  expect(today).toMatch(
    /One message to ats<\/b\s*> about candidate <a href="\/events\/evt_\w+">Kim<\/a>\s+was given up/,
  );
  expect(today).toMatch(/2 of 3 ·<\/span\s*>\s*66\.7 %/);
  expect(today).toContain('href="/attention?sink=ats"');
  expect(today).toContain(`Hiring EU, Candidate Connector ${about.version}.`);
  await come('Alex');
  expect(await page('/')).toMatch(/2 messages to ats<\/b\s*>\s+were given up/);
});

test('nothing is called all right beside what was refused or waits', async () => {
  const ats = await endpoint();
  const { app, login, page, csrf, send } = await startPages(
    `sinks: { ats: { connector: webhook, url: '${ats.url}', allowPrivate: true } }\n${tellAll}`,
  );
  await login();
  const begin = await page('/');
  expect(begin).toContain('No events yet');
  expect(await page('/attention')).toContain('No event has come yet.');
  expect(begin).toContain('send --url');
  expect(begin).not.toMatch(/Nothing needs|delivered by the rules/);
  await post(app, { candidateId: 'Robin' });
  expect(await page('/')).toContain('Events are delivered by the rules.');
  await send('/sinks/ats/pause', {
    form: { csrf: await csrf(), confirmed: 'yes', for: '2h', note: 'They move <house>' },
  });
  const paused = await page('/');
  const atOnce =
    /<a href="\/sinks\/ats">ats<\/a>\s+is paused\s+by \w+[^“]+until[^“]+“They move &lt;house&gt;”\.\s+Nothing waits for it yet\.[^]*Events today/;
  expect(paused).toMatch(atOnce);
  expect(paused).toMatch(/Paused by \w+[^“]+since[^“]+, until[^“]+“They move &lt;house&gt;”/);
  expect(paused).not.toContain('Events are delivered');
  expect((await post(app, { candidateId: 'Dana', status: 'Lost' })).status).toBe(422);
  for (const [path, right] of [
    ['/', 'Nothing needs a person'],
    ['/attention', 'Nothing needs you'],
  ] as const) {
    const text = await page(path);
    expect(text).toContain('<b>1 request of the last 7 days was not a valid event</b>');
    expect(text).not.toContain(right);
    expect(text).toContain('<a href="/rejected">');
  }
  // Also beside what is worse.
  expect(await page('/')).toMatch(atOnce);
});

test('requests that were not valid events are listed with what was wrong and what came, newest first', async () => {
  const { app, page, send, login } = await startPages();
  expect((await send('/rejected')).status).toBe(303);
  await login();
  expect(await page('/rejected')).toContain('There are none');
  for (let n = 1; n <= 26; n += 1) await post(app, { candidateId: `R${n}`, status: 'Lost' });
  const headers = { 'content-type': 'application/json' };
  await fetch(app.receiverUrl, { method: 'POST', headers, body: `${hostile}\u202E` });
  // No answer waits for it to be kept.
  const text = await eventually(async () => {
    const shown = await page('/rejected');
    expect(shown).toMatch(/answered 400, from\s+127\.0\.0\.1/);
    return shown;
  });
  expect(wordsOf(text)).toMatch(
    /connector reconcile export\.csv --candidate COLUMN --test COLUMN --status COLUMN --at COLUMN\s+lists[^]*--accept/,
  );
  expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;\\u{202e}</pre>');
  // PostgreSQL would refuse them.
  for (const odd of ['0.5', '1e-400', 'x'])
    expect(await page(`/rejected?after=${odd}`)).toContain('\\u{202e}</pre>');
  expect(text).toMatch(
    /answered 422, from\s+127[^]*correlation-\d+[^]*<br \/>status: Expected one of[^]*R26[^]*R3\b/,
  );
  expect(text).not.toMatch(/<img src=x|R2&quot;/);
  const [, older = ''] = /rel="next"\s+href="([^"]+)"/.exec(text) ?? [];
  const rest = await page(older);
  expect(rest).toMatch(/R2&quot;[^]*R1&quot;/);
  expect(rest).not.toContain('rel="next"');
});

test('sinks stay on the pages while this process cannot say in the store that it runs', async () => {
  const ats = await endpoint();
  const sinks = `sinks: { ats: { connector: webhook, url: "${ats.url}", allowPrivate: true } }\n`;
  const { folder, login, page } = await startPages(`${sinks}rules: []\nunmatched: silent\n`);
  await login();
  // So it is half a minute after the disk is full.
  const db = new DatabaseSync(`${folder}/connector.db`);
  db.exec(`update copy_states set state = json_set(state, '$.saidAt', 0)`);
  db.close();
  const today = await page('/');
  expect(today).not.toContain('A person is needed');
  expect(today).toContain('href="/sinks/ats"');
  expect(await page('/sinks/ats')).toContain('<h1>ats</h1>');
});
