import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { postEvent } from '../../src/commands/config/send.ts';
import type { ShowcaseOptions, startShowcase } from '../showcase.ts';

/** The states that screens.ts shows the pages in. */

type Showcase = Awaited<ReturnType<typeof startShowcase>>;

/** A page, by its path. */
export interface Shot {
  readonly path: string;
  /** The action before the picture is taken. */
  readonly act?: (page: Page) => Promise<unknown>;
  /** Who looks at the page. Default: somebody with a session. */
  readonly as?: 'nobody' | 'somebody without scripts';
  /** Take it in light and in dark, each on a desktop and a phone. */
  readonly inAllLooks?: true;
}

export interface State extends ShowcaseOptions {
  readonly name: string;
  readonly password?: string;
  /** Brings the connector into the state. Resolves to the pages to show, by the names of their pictures. */
  prepare(show: Showcase, page: Page): Promise<Readonly<Record<string, string | Shot>>>;
}

/** Loaded when a state is prepared: their names are needed without. */
const send = async (posted: Parameters<typeof postEvent>[0]) =>
  (await import('../../src/commands/config/send.ts')).postEvent(posted);

export const password = 'correct horse battery';
const viewerPassword = 'only to look';
const asViewer = (text: string) => text.replace(/^admin:$/m, `$&\n  viewer: ${viewerPassword}`);

const eventPage = async ({ store }: Showcase, asked: Parameters<Showcase['store']['search']>[0]) =>
  `/events/${(await store.search({ ...asked, limit: 1 })).stories[0]!.event.id}`;

export const click = (name: string | RegExp) => (page: Page) =>
  page.getByRole('button', { name }).first().click();

/** Tries the config in force, with replacements and without its scenarios. */
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
  await page.locator('summary', { hasText: 'Which ones' }).first().click();
  for (const box of (await page.getByRole('checkbox').all()).slice(0, 2)) await box.check();
  await click('Replay selected')(page);
}

export const states: readonly State[] = [
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
  candidate:
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
        sink: '/sinks/ats',
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
      await until(async () => (await show.store.pauses()).length > 0);
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
      for (let n = 0; n < 14; n += 1) await post(show, n, n < 12 ? '127.0.0.5' : '127.0.0.6');
      for (const [path, status] of [
        ['/old', 'Completed'],
        ['', 'Passed'],
      ] as const)
        await send({
          url: show.app.receiverUrl + path,
          body: eventOf(5, status),
          timeoutMs: 10_000,
          correlationId: 'cor-5',
        });
      await sleep(1500);
      return {
        today: '/',
        attention: '/attention',
        events: '/events',
        rejected: '/rejected',
        find: '/find?q=4805',
      };
    },
  },
];

const isDecided = ({ decided }: { readonly decided: boolean }) => decided;

/** The API of look-ups: it refuses the second candidate, knows too little of the third, and lets the last one wait. */
export const api = createServer(({ url = '' }, answer) => {
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

const eventOf = (n: number, status = 'Completed') =>
  JSON.stringify({
    candidateId: idOf(n),
    candidateNumericalId: 4800 + n,
    testId: 1234567,
    status,
  });

/** Posts an event, from an address of this machine that is allowed or not. */
async function post({ app }: Showcase, n: number, localAddress?: string): Promise<void> {
  if (localAddress === undefined) {
    await send({ url: app.receiverUrl, body: eventOf(n), timeoutMs: 10_000, correlationId: `cor-${n}` });
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
