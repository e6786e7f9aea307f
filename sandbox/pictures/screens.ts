import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { postEvent } from '../../src/commands/config/send.ts';
import { launchBrowser, type ShowcaseOptions, startShowcase } from '../showcase.ts';

/**
 * `npm run screens -- FOLDER`, or some states by name as in `npm run screens -- FOLDER failing`: every page in its states, on
 * a desktop in light and on a phone in dark (some in all four), each whole, to be looked at. It also prints what axe finds on
 * them, what moved while they loaded and what is too wide, and ends with 1 if there is any.
 */

type Showcase = Awaited<ReturnType<typeof startShowcase>>;

/** A page, by its path. */
interface Shot {
  readonly path: string;
  /** What somebody does there before the picture is taken. */
  readonly act?: (page: Page) => Promise<unknown>;
  /** Default: a session of this state. */
  readonly as?: 'nobody' | 'somebody without scripts';
  /** In light and in dark, each on a desktop and a phone. */
  readonly inAllLooks?: true;
}

interface State extends ShowcaseOptions {
  readonly name: string;
  readonly password?: string;
  /** Brings it into the state, and says which pages are of interest there, by the names of their pictures. */
  prepare(show: Showcase, page: Page): Promise<Readonly<Record<string, string | Shot>>>;
}

const password = 'correct horse battery';
const viewerPassword = 'only to look';
const asViewer = (text: string) => text.replace(/^admin:$/m, `$&\n  viewer: ${viewerPassword}`);

const eventPage = async ({ store }: Showcase, asked: Parameters<Showcase['store']['search']>[0]) =>
  `/events/${(await store.search({ ...asked, limit: 1 })).stories[0]!.event.id}`;

const click = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();

/** Tries the config in force with some of it replaced, and without what it has to come to. */
const tryConfig =
  (...replaced: readonly (readonly [string | RegExp, string])[]) =>
  async (page: Page) => {
    const editor = page.getByLabel('A whole config');
    const text = await editor.inputValue();
    await editor.fill(
      replaced.reduce((sum, [from, to]) => sum.replace(from, to), text.replace(/^scenarios:[^]*/m, '')),
    );
    await click('Check it')(page);
    await page.waitForURL('**/rules/try*');
  };

async function openDialog(page: Page): Promise<void> {
  await page.locator('summary', { hasText: 'Which' }).first().click();
  for (const box of (await page.getByRole('checkbox').all()).slice(0, 2)) await box.check();
  await click('Replay selected')(page);
}

const states: readonly State[] = [
  {
    name: 'empty',
    isFirstDay: true,
    prepare: async () => ({
      login: { path: '/login', as: 'nobody' },
      'login-wrong': {
        path: '/login',
        as: 'nobody',
        act: async (page) => {
          await page.getByLabel('Password').fill('wrong');
          await click('Log in')(page);
        },
      },
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
    prepare: async (show) => {
      const event = await eventPage(show, { candidates: { ids: ['6f1c2d3e4b5a69788796a5b4c3d2e1f0'] } });
      return {
        today: { path: '/', inAllLooks: true },
        keys: { path: '/events', act: (page) => page.keyboard.press('?') },
        events: '/events',
        older: '/events?status=Completed&sink=ats',
        event: { path: event, inAllLooks: true },
        'event-without-scripts': { path: event, as: 'somebody without scripts' },
        'event-canceled': await eventPage(show, { status: 'Canceled' }),
        find: '/find?q=4003',
        attention: '/attention',
        rules: '/rules',
        'rules-explained': '/rules?candidate=4711&test=1234567&status=Completed',
        'rules-backtest': {
          path: '/rules',
          act: tryConfig(
            ["default: '#hiring'", "default: '#talent'"],
            ["channel: '#hiring-backend'", "channel: '#backend'"],
            ['tab: Results', 'tab: Everything'],
          ),
        },
        'rules-errors': {
          path: '/rules',
          act: tryConfig(['sink: sheet', 'sink: sheets'], ['status: Completed', 'status: Compleated']),
        },
        sink: '/sinks/slack',
        missing: '/sinks/nobody',
      };
    },
  },
  {
    name: 'viewer',
    password: viewerPassword,
    configure: asViewer,
    prepare: async (show) => ({
      today: '/',
      events: '/events',
      event: await eventPage(show, { status: 'Canceled' }),
      attention: '/attention',
      rules: '/rules',
      sink: '/sinks/slack',
    }),
  },
  {
    name: 'looked-up',
    configure: (text) => `${text}
lookups:
  person:
    url: http://127.0.0.1:${portOf(api)}/{{ event.candidateId }}
    allowPrivate: true
    waitFor: 2m
    fields:
      name: { at: /name, personal: true }
      score: { at: /score, type: number }
      report: { at: /report, type: url }
`,
    prepare: async (show) => {
      for (const n of [1, 2, 3, 4]) await post(show, n);
      const pageOf = (n: number) => eventPage(show, { candidates: { ids: [idOf(n)] } });
      await until(async () => (await show.store.search({ limit: 4 })).stories.filter(isDecided).length === 3);
      return {
        today: '/',
        events: '/events',
        event: await pageOf(1),
        unknown: await pageOf(2),
        partly: await pageOf(3),
        waiting: await pageOf(4),
      };
    },
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
        'attention-asked': { path: '/attention', act: openDialog },
        'attention-of-sink': '/attention?sink=ats',
        sink: '/sinks/ats',
        'sink-paused': '/sinks/slack',
      };
    },
  },
  {
    name: 'paused',
    prepare: async (show, page) => {
      const sink = '/sinks/slack';
      await page.goto(show.app.adminUrl + sink);
      await click('Pause')(page);
      await page.getByLabel('Why').fill('Slack is being moved to another workspace');
      await page.locator('dialog').getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Paused by').waitFor();
      for (let n = 0; n < 3; n += 1) await post(show, n);
      return {
        today: '/',
        sink,
        'sink-asked': { path: sink, act: click('Resume') },
        event: await eventPage(show, {}),
      };
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

const isDecided = ({ decided }: { readonly decided: boolean }) => decided;

/** What look-ups ask: it refuses the second candidate, knows too little of the third, and lets the last one wait. */
const api = createServer(({ url = '' }, answer) => {
  const n = Number(url[2]);
  answer.writeHead(n === 2 ? 400 : n === 4 ? 503 : 200, { 'content-type': 'application/json' });
  answer.end(
    JSON.stringify({
      name: 'Ana-Marija Kovačević Horvat',
      score: n === 3 ? 'not graded yet' : 87.5,
      report: 'https://tests.example.com/reports/77d0c4b2a19e4f35b6c8d7e9f0a1b2c3?of=candidate&lang=hr',
    }),
  );
});
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await isSo()) && Date.now() < end;) await sleep(100);
}

const idOf = (n: number) => `0${n}b8c7d6e5f403122132435465768790`;

const eventOf = (n: number) =>
  JSON.stringify({
    candidateId: idOf(n),
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

const devices = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true },
} as const;
const looks = [
  { look: 'desktop', device: 'desktop', colorScheme: 'light', isUsual: true },
  { look: 'phone', device: 'phone', colorScheme: 'dark', isUsual: true },
  { look: 'desktop-dark', device: 'desktop', colorScheme: 'dark', isUsual: false },
  { look: 'phone-light', device: 'phone', colorScheme: 'light', isUsual: false },
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
  const show = await startShowcase({ ...state, env: { ADMIN_PASSWORD: password, ...state.env } });
  const pages = new Map<string, Page>();
  const pageOf = async (
    device: keyof typeof devices,
    options: Parameters<Browser['newContext']>[0] = {},
  ): Promise<Page> => {
    const key = JSON.stringify([device, options]);
    const opened = pages.get(key);
    if (opened) return opened;
    const context = await browser.newContext({ locale: 'en-GB', ...devices[device], ...options });
    const page = await context.newPage();
    await page.addInitScript(watchShifts);
    pages.set(key, page);
    return page;
  };
  let faults = 0;
  try {
    const page = await pageOf('desktop');
    await page.goto(show.app.adminUrl);
    await page.getByLabel('Password').fill(state.password ?? password);
    await click('Log in')(page);
    await page.waitForURL(`${show.app.adminUrl}/`);
    const storageState = await page.context().storageState();
    const sessions = {
      nobody: {},
      somebody: { storageState },
      'somebody without scripts': { storageState, javaScriptEnabled: false },
    };
    for (const [name, shot] of Object.entries(await state.prepare(show, page))) {
      const {
        path,
        act,
        as = 'somebody',
        inAllLooks,
      } = typeof shot === 'string' ? ({ path: shot } as Shot) : shot;
      for (const { look, device, colorScheme, isUsual } of looks) {
        if (!isUsual && !inAllLooks) continue;
        const file = `${state.name}-${name}-${look}.png`;
        const shown = await pageOf(device, sessions[as]);
        await shown.goto('about:blank');
        await shown.emulateMedia({ colorScheme });
        await shown.goto(show.app.adminUrl + path);
        await act?.(shown);
        // A picture of the whole page moves what is on it. Without scripts nothing can be asked there.
        const found = as === 'somebody without scripts' ? [] : await faultsOf(shown);
        const fullPage = (await shown.locator('dialog[open]').count()) === 0;
        await writeFile(join(folder, file), await shown.screenshot({ fullPage }));
        faults += found.length;
        console.log([file, ...found].join('\n    '));
      }
    }
  } finally {
    for (const page of pages.values()) await page.context().close();
    await show.close();
  }
  return faults;
}

const [folder, ...named] = process.argv.slice(2);
if (folder === undefined) throw new Error('Say into which folder: npm run screens -- FOLDER [STATE…]');
await mkdir(folder, { recursive: true });
const browser = await launchBrowser(['--disable-lcd-text']);
await once(api.listen(0, '127.0.0.1'), 'listening');
let faults = 0;
try {
  for (const state of states)
    if (named.length === 0 || named.includes(state.name)) faults += await take(browser, folder, state);
} finally {
  await browser.close();
  api.close();
}
process.exitCode = faults === 0 ? 0 : 1;
