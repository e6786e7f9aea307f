import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { postEvent } from '../../src/commands/config/send.ts';
import { launchBrowser, startShowcase } from '../showcase.ts';

/**
 * `npm run screens -- FOLDER`, or some states by name as in `npm run screens -- FOLDER failing`: every page in its states, on
 * a desktop in light and on a phone in dark, each whole, to be looked at. It also prints what axe finds on them, what moved
 * while they loaded and what is too wide, and ends with 1 if there is any.
 */

type Showcase = Awaited<ReturnType<typeof startShowcase>>;

interface State {
  readonly name: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly isFirstDay?: true;
  /** Brings it into the state, and says which pages are of interest there, by the names of their pictures. */
  prepare(show: Showcase, page: Page): Promise<Readonly<Record<string, string>>>;
}

const password = 'correct horse battery';
const eventPage = async ({ store }: Showcase, asked: Parameters<Showcase['store']['search']>[0]) =>
  `/events/${(await store.search({ ...asked, limit: 1 })).stories[0]!.event.id}`;

const states: readonly State[] = [
  {
    name: 'empty',
    isFirstDay: true,
    prepare: async () => ({
      today: '/',
      events: '/events',
      attention: '/attention',
      rules: '/rules',
      sink: '/sinks/slack',
      nothing: '/find?q=nobody',
    }),
  },
  {
    name: 'busy',
    prepare: async (show) => ({
      today: '/',
      events: '/events',
      older: '/events?status=Completed&sink=ats',
      event: await eventPage(show, { candidates: { ids: ['6f1c2d3e4b5a69788796a5b4c3d2e1f0'] } }),
      'event-canceled': await eventPage(show, { status: 'Canceled' }),
      find: '/find?q=4003',
      attention: '/attention',
      rules: '/rules',
      'rules-explained': '/rules?candidate=4711&test=1234567&status=Completed',
      sink: '/sinks/slack',
      missing: '/sinks/nobody',
    }),
  },
  {
    name: 'failing',
    prepare: async (show) => {
      show.tools.slack.faults.decide = () => ({ kind: 'status', status: 503, body: 'upstream reset' });
      show.tools.http.faults.decide = () => ({ kind: 'status', status: 410, body: '<h1>Gone</h1>' });
      for (let n = 0; n < 6; n += 1) await post(show, n);
      await until(async () => (await show.store.deliveries({ states: ['dead'] })).length > 5);
      return {
        today: '/',
        events: '/events',
        event: await eventPage(show, { states: ['dead'] }),
        attention: '/attention',
        sink: '/sinks/ats',
        'sink-paused': '/sinks/slack',
      };
    },
  },
  {
    name: 'paused',
    prepare: async (show, page) => {
      await page.goto(`${show.app.adminUrl}/sinks/slack`);
      page.once('dialog', (dialog) => void dialog.accept());
      await page
        .getByRole('button', { name: /^pause/i })
        .first()
        .click();
      await page
        .locator('dialog[open] button')
        .first()
        .click({ timeout: 2000 })
        .catch(() => undefined);
      for (let n = 0; n < 3; n += 1) await post(show, n);
      return { today: '/', sink: '/sinks/slack', event: await eventPage(show, {}) };
    },
  },
  {
    name: 'refused',
    env: { ALLOW_FROM: '127.0.0.1' },
    prepare: async (show) => {
      for (let n = 0; n < 4; n += 1) await post(show, n, '127.0.0.5');
      await sleep(1500);
      return { today: '/', attention: '/attention', events: '/events' };
    },
  },
];

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await isSo()) && Date.now() < end;) await sleep(100);
}

const eventOf = (n: number) =>
  JSON.stringify({
    candidateId: `0${n}b8c7d6e5f40312213243546576879`,
    candidateNumericalId: 4800 + n,
    testId: 1234567,
    status: 'Completed',
  });

/** From an address of this machine, as one that is allowed or not. */
async function post({ app }: Showcase, n: number, localAddress?: string): Promise<void> {
  if (localAddress === undefined) {
    await postEvent({ url: app.receiverUrl, body: eventOf(n), timeoutMs: 10_000, correlationId: `cor-${n}` });
    return;
  }
  const headers = { 'content-type': 'application/json' };
  await new Promise<void>((resolve, reject) => {
    request(app.receiverUrl, { method: 'POST', localAddress, headers }, (answer) =>
      answer.resume().on('end', resolve),
    )
      .on('error', reject)
      .end(eventOf(n));
  });
}

const looks = [
  { look: 'desktop', viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  { look: 'phone', viewport: { width: 390, height: 800 }, colorScheme: 'dark' },
] as const;

const watchShifts = `
  window.shifted = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifted += one.value; })
    .observe({ type: 'layout-shift', buffered: true });`;

async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate<string[]>(`axe.run(document, { iframes: false, resultTypes: ['violations'] }).then(
    ({ violations }) => [
      ...violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => id + ': ' + help + ' ' + html)),
      ...(window.shifted > 0 ? ['moved while it loaded by ' + window.shifted] : []),
      ...(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['scrolls sideways'] : []),
    ])`);
}

/** Takes the pictures of a state. Returns how many faults it printed. */
async function take(browser: Browser, folder: string, state: State): Promise<number> {
  const show = await startShowcase({ ADMIN_PASSWORD: password, ...state.env }, state.isFirstDay);
  const context = await browser.newContext({ locale: 'en-GB' });
  let faults = 0;
  try {
    const page = await context.newPage();
    await page.addInitScript(watchShifts);
    await page.goto(show.app.adminUrl);
    const login = { login: '/login' };
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Log in' }).click();
    const paths = { ...(state.isFirstDay && login), ...(await state.prepare(show, page)) };
    for (const [name, path] of Object.entries(paths)) {
      for (const { look, viewport, colorScheme } of looks) {
        await page.goto('about:blank');
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        await page.goto(show.app.adminUrl + path);
        const file = `${state.name}-${name}-${look}.png`;
        // A picture of the whole page moves what is on it.
        const found = await faultsOf(page);
        await writeFile(join(folder, file), await page.screenshot({ fullPage: true }));
        faults += found.length;
        console.log([file, ...found].join('\n    '));
      }
    }
  } finally {
    await context.close();
    await show.close();
  }
  return faults;
}

const [folder, ...named] = process.argv.slice(2);
if (folder === undefined) throw new Error('Say into which folder: npm run screens -- FOLDER [STATE…]');
await mkdir(folder, { recursive: true });
const browser = await launchBrowser(['--disable-lcd-text']);
let faults = 0;
try {
  for (const state of states)
    if (named.length === 0 || named.includes(state.name)) faults += await take(browser, folder, state);
} finally {
  await browser.close();
}
process.exitCode = faults === 0 ? 0 : 1;
