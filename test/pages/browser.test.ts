import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { post } from '../commands/tools.ts';
import { postEvent } from '../../src/commands/config/send.ts';
import { meanConfig } from '../../src/support/invocation.ts';
import { startShowcase } from '../../sandbox/showcase.ts';
import { barriersOf, logIn, openLoggedIn, openTab } from './browser.ts';
import { basic, password } from './tools.ts';

let show: Awaited<ReturnType<typeof startShowcase>>;
let paths: string[];

beforeAll(async () => {
  show = await startShowcase({ env: { ADMIN_PASSWORD: password } });
  const idOf = async (asked: Parameters<typeof show.store.search>[0]) =>
    (await show.store.search({ ...asked, limit: 1 })).stories[0]!.event.id;
  const ids = await Promise.all([
    idOf({ states: ['dead'] }),
    idOf({ sink: 'mail' }),
    idOf({ sink: 'sheet' }),
  ]);
  paths = [
    '/',
    '/events',
    '/events?state=held',
    '/find?q=nobody',
    ...ids.map((id) => `/events/${id}`),
    '/attention',
    '/rules',
    '/sinks/slack',
  ];
});
afterAll(() => show.close());

/** Nothing of these may be run, or seen as markup. */
const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>'&amp;<!channel>{{7*7}}`;

test('this browser keeps sites apart, as those of people do', async () => {
  const page = await openTab();
  await page.route('**/*', (route) => {
    const body =
      route.request().url() === 'http://one.example/' ? '<iframe src="http://two.example/"></iframe>' : '';
    return route.fulfill({ contentType: 'text/html', body });
  });
  await page.goto('http://one.example/');
  expect(await page.evaluate('document.querySelector("iframe").contentDocument')).toBeNull();
});

test('everybody can use each page, in light on a desktop and in dark on a phone', async () => {
  const page = await openTab();
  await page.goto(show.app.adminUrl);
  expect(await barriersOf(page)).toEqual([]);
  await logIn(page);
  // The other pages have a test of their own.
  for (const path of paths.filter((one) => /^\/(events(\/.*)?|find.*|sinks\/.*)?$/.test(one))) {
    await page.goto(show.app.adminUrl + path);
    expect(await barriersOf(page)).toEqual([]);
  }
}, 180_000);

test('no page is large, shifts while it loads, or loads anything from elsewhere', async () => {
  const page = await openTab();
  const foreign: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(show.app.adminUrl)) foreign.push(request.url());
  });
  await page.addInitScript(`
    window.shifted = 0;
    new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifted += one.value; })
      .observe({ type: 'layout-shift', buffered: true });`);
  await page.goto(show.app.adminUrl);
  await logIn(page);
  // A page comes in pieces then.
  const network = await page.context().newCDPSession(page);
  const slow = { offline: false, latency: 0, downloadThroughput: 60_000, uploadThroughput: 60_000 };
  await network.send('Network.emulateNetworkConditions', slow);
  for (const path of paths) {
    await page.goto(show.app.adminUrl + path, { waitUntil: 'load' });
    const html = await page.content();
    // Else a phone shows it as if it were as wide as a desktop.
    expect(html).toContain('content="width=device-width');
    const parts = [
      path,
      ...Array.from(html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g), ([, url = '']) => url),
    ];
    const answers = await Promise.all(parts.map((part) => page.request.get(show.app.adminUrl + part)));
    const bodies = await Promise.all(answers.map((answer) => answer.body()));
    const bytes = bodies.reduce((sum, { length }) => sum + length, 0);
    const shifted: number = await page.evaluate('window.shifted');
    const measured = { path, isWhole: bytes > 20_000, isSmall: bytes < 150_000, shifted };
    expect(measured).toEqual({ path, isWhole: true, isSmall: true, shifted: 0 });
  }
  expect(foreign).toEqual([]);
});

test('what comes from outside is text, wherever it stands', async () => {
  const { app, tools, store } = show;
  tools.http.faults.decide = () => ({ kind: 'status', status: 410, body: hostile });
  const { eventId } = await post(
    app,
    { candidateId: hostile, testId: 1234567, extra: hostile },
    hostile.slice(0, 60),
  );
  await expect
    .poll(async () => (await store.event(eventId))?.deliveries.map(({ state }) => state))
    .toContain('dead');
  tools.http.faults.decide = () => null;
  const page = await openLoggedIn(app.adminUrl);
  const search = `/events?candidate=${encodeURIComponent(hostile)}`;
  for (const path of [
    `/events/${eventId}`,
    '/events',
    search,
    '/attention',
    '/',
    `/rules?candidate=${encodeURIComponent(hostile)}`,
  ]) {
    await page.goto(app.adminUrl + path);
    const foreign = await page.locator('img:not([src^="/assets/"]), script:not([src^="/assets/"])').count();
    expect({ path, foreign }).toEqual({ path, foreign: 0 });
  }
  await page.goto(app.adminUrl + search);
  await page.locator('.events a').click();
  expect(await page.locator('.facts').first().textContent()).toContain(hostile);
  const missing = await page.request.get(`${app.adminUrl}/events/${encodeURIComponent(hostile)}`);
  expect([missing.status(), await missing.text()]).toEqual([404, expect.not.stringContaining('<img src=x')]);
});

test('an event is seen as it arrives, and what became of it', async () => {
  const { app } = show;
  const page = await openLoggedIn(`${app.adminUrl}/events?status=Canceled`);
  expect(new URL(page.url()).search).toBe('?status=Canceled');
  await page.locator('.live[data-is=live]').waitFor();
  // What is the same is left as it is: it may have the focus, and a text that is set anew is read out anew.
  const changes = await page.evaluateHandle(`(() => {
    const seen = [];
    const look = (all) => seen.push(...all.map(({ target }) => target.outerHTML));
    for (const part of document.querySelectorAll('.live, #found'))
      new MutationObserver(look).observe(part, { childList: true });
    return seen;
  })()`);
  for (let load = 0; load < 2; load += 1)
    await page.waitForResponse((answer) => answer.url().includes('/events?'));
  expect(await changes.jsonValue()).toEqual([]);
  const { eventId } = await post(app, { candidateId: 'candidate-live', status: 'Canceled' });
  await post(app, { candidateId: 'candidate-other' });
  const row = page.locator(`#${eventId}`);
  await row.getByTitle('delivered: mail, ats').waitFor();
  expect(await page.getByText('candidate-other').count()).toBe(0);
  await row.getByRole('link').click();
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
    'Candidate candidate-live: Canceled, Backend Engineer, TypeScript',
  );
  const mail = page.frameLocator('iframe');
  await mail.getByText('canceled', { exact: false }).first().waitFor();
  await page.getByText('status is Canceled').waitFor();
  await page.goto(`${app.adminUrl}/events`);
  await page.context().clearCookies();
  await page.getByText('Not live just now.').waitFor();
  await page.setViewportSize({ width: 360, height: 700 });
  const isCut = `(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector('.live'))`;
  expect(await page.evaluate<boolean>(isCut)).toBe(false);
});

test('Today follows what happens while it is open, and says when it does not', async () => {
  const { app } = show;
  const page = await openLoggedIn(app.adminUrl);
  await page.locator('.live[data-is=live]').waitFor();
  const figure = page.locator('.figure', { hasText: 'Events today' }).locator('dd');
  const before = Number.parseInt((await figure.textContent())!, 10);
  const table = page.locator('details', { hasText: 'As a table' }).first();
  await table.locator('summary').click();
  await post(app, { candidateId: 'candidate-today', status: 'Canceled' });
  await figure.filter({ hasText: new RegExp(`^${before + 1}the last came`) }).waitFor();
  // What somebody has opened stays open.
  expect(await table.getAttribute('open')).toBe('');
  const coloured = () =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('[data-refresh]')).filter`);
  expect(await coloured()).toBe('none');
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  await page.getByText('Not live just now.').waitFor();
  // In a tab that was left open, what was right then is not to look as if it were right now.
  expect(await coloured()).toBe('grayscale(1)');
  await page.context().addCookies(cookies);
  await page.locator('.live[data-is=live]').waitFor();
  expect(await coloured()).toBe('none');
  // A connector that hangs answers nothing, and refuses nothing.
  await page.route(page.url(), () => {});
  await page.getByText('Not live just now.').waitFor({ timeout: 30_000 });
  expect(await coloured()).toBe('grayscale(1)');
  await page.unroute(page.url());
  await page.locator('.live[data-is=live]').waitFor();
});

test('the list and an event speak as people do, and keep ids and receipts for whoever opens them', async () => {
  const { app } = show;
  const page = await openLoggedIn(`${app.adminUrl}/events?state=dead&sink=slack`);
  const row = page.locator('.events tr.bad').first();
  await row.getByText('slack: given up').waitFor();
  await page.emulateMedia({ media: 'print' });
  // On paper nobody knows since when.
  await row.locator('.at').waitFor();
  await row.locator('.ago').waitFor({ state: 'hidden' });
  await page.emulateMedia({ media: 'screen' });
  await row.getByRole('link').click();
  const facts = page.locator('.facts').first();
  expect(await facts.textContent()).toMatch(/Test\s+Product Designer \(2345678\)/);
  const sheet = page.locator('.delivery', { hasText: 'google-sheets' });
  await sheet.getByText(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$/).waitFor();
  expect(await sheet.getByText('Receipt:').isVisible()).toBe(false);
  await sheet.getByText('1 attempt').click();
  await sheet.getByText('Receipt:').waitFor();
  // People ask for it where somebody has deleted a message.
  await sheet.getByText(/ resend dlv_\w+$/).waitFor();
  expect(await page.getByText('Trace id').isVisible()).toBe(false);
  // Waiting ones and those that were given up stand there, too.
  await page.getByRole('heading', { name: 'Messages' }).waitFor();
  // As programs that read aloud say it.
  await page.getByRole('button', { name: 'Replay to slack', exact: true }).waitFor();
  expect(await page.getByTitle('rejected').textContent()).toBe('refused');
  const call = page.locator('.delivery', { hasText: 'webhook' });
  expect(await call.locator('pre').isVisible()).toBe(false);
  await call.getByText(/^POST, JSON of \d+ bytes$/).click();
  await call.getByText('"candidate.completed"').waitFor();
  await page.goto(`${app.adminUrl}/events?status=DidNotTake`);
  expect(await page.locator('.events tbody tr td').nth(2).textContent()).toBe('Did not take');
});

test('charts are drawn in a browser of any locale, and have their numbers as tables', async () => {
  const page = await openTab();
  // As a browser that was started with the locale POSIX calls itself; no API of the language takes it.
  await page.addInitScript(`Object.defineProperty(navigator, 'language', { value: 'en-US@posix' })`);
  await page.goto(show.app.adminUrl);
  await logIn(page);
  expect(await page.locator('.plot svg .key').count()).toBeGreaterThan(14);
  const [events] = await page.locator('figure.chart').all();
  await events!.getByText('As a table').click();
  const today = events!.locator('tbody tr').last();
  const sum = (await today.locator('td').allTextContents()).reduce((total, text) => total + Number(text), 0);
  const figure = await page.locator('.figure dd').first().textContent();
  expect(String(figure)).toMatch(new RegExp(`^\\s*${sum}\\D`));
});

test('with colours of its own, a system still shows where one is, and which colour in a chart means what', async () => {
  const page = await openLoggedIn(show.app.adminUrl);
  await page.emulateMedia({ forcedColors: 'active' });
  const coloursOf = (selector: string, part = '') =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll('${selector}')].map((one) => getComputedStyle(one, '${part}').backgroundColor)`,
    );
  const keys = await coloursOf('.chart:first-of-type .keys .key', '::before');
  expect(new Set(keys).size).toBe(3);
  const [here] = await coloursOf('header nav a[aria-current]');
  expect(await coloursOf('header nav a:not([aria-current])')).not.toContain(here);
});

test('commands wrap at their blanks, not after a hyphen, and fit on a phone', async () => {
  meanConfig('/etc/connector/eu.yaml');
  onTestFinished(() => meanConfig(null));
  const body = JSON.stringify({ candidateId: 'Dana', testId: 1, status: 'Passed' });
  await postEvent({ url: show.app.receiverUrl, body, correlationId: 'cor-passed', timeoutMs: 10_000 });
  const page = await openLoggedIn(show.app.adminUrl);
  const commands = new Set<string>();
  // What people wrote into the config is not ours.
  for (const path of ['/rejected', ...paths.filter((one) => one !== '/rules')]) {
    await page.goto(show.app.adminUrl + path);
    for (const width of [360, 375, 390, 405, 420]) {
      await page.setViewportSize({ width, height: 800 });
      const { words, broken, isWide } = await page.evaluate<{
        words: string[];
        broken: string[];
        isWide: boolean;
      }>(`(() => {
      const [words, broken] = [[], []];
      const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
      for (let text; (text = texts.nextNode());)
        for (const { 0: word, index } of text.data.matchAll(/candidate-connector|--[a-z]+/g)) {
          const range = document.createRange();
          range.setStart(text, index);
          range.setEnd(text, index + word.length);
          words.push(word);
          if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word);
        }
      const { scrollWidth, clientWidth } = document.documentElement;
      return { words, broken, isWide: scrollWidth > clientWidth };
    })()`);
      for (const word of words) commands.add(word);
      expect({ path, width, broken, isWide }).toEqual({ path, width, broken: [], isWide: false });
    }
  }
  expect([...commands]).toEqual(expect.arrayContaining(['candidate-connector', '--config', '--candidate']));
});

test('an address in what a person or a tool has said is broken on a phone, wherever it stands', async () => {
  const change = (what: string, data = {}) =>
    fetch(`${show.app.adminUrl}/api/sinks/ats/${what}`, {
      method: 'POST',
      headers: { ...basic(), 'content-type': 'application/json' },
      body: JSON.stringify(data),
    });
  const paused = await change('pause', { note: `see https://example.com/${'long'.repeat(20)}` });
  expect(paused.status).toBe(200);
  onTestFinished(async () => void (await change('resume')));
  const page = await openLoggedIn(show.app.adminUrl);
  await page.setViewportSize({ width: 375, height: 700 });
  for (const path of ['/', '/sinks/ats', '/attention']) {
    await page.goto(show.app.adminUrl + path);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect({ path, width }).toEqual({ path, width: 375 });
  }
});
