import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';
import { noticesFor } from '../../src/ops/alerts/conditions.ts';
import { type About, prepare } from '../../src/deliveries/prepare.ts';
import type { Event, Json, Status } from '../../src/model.ts';
import type { Action } from '../../src/rules/plan.ts';
import { sampleEvent } from '../../src/templates/data.ts';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser, startShowcase } from '../showcase.ts';
import { pageOf } from '../slack/preview.ts';

/**
 * `npm run pictures`, or some by name as in `npm run pictures -- today event`: makes the pictures in docs/pictures. They show
 * default messages, the mail as it is sent and Slack's blocks as preview.ts has them; and the operations page after two weeks.
 * The fonts are installed when they are first needed.
 */

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'docs/pictures');
const cache = join(root, 'node_modules/.cache/pictures');
const packages = [
  '@fontsource/arimo@5.3.0',
  '@fontsource/lato@5.3.0',
  '@fontsource/noto-color-emoji@5.3.2',
  'sharp@0.35.5',
];

/** The function of sharp that makes a picture smaller. */
type Shrink = (picture: Buffer) => {
  png(options: object): { toFile(path: string): Promise<{ size: number }> };
};

const config = parseConfig(
  `timezone: Europe/Zagreb
locale: en-GB
links: { candidate: "https://tests.example.com/candidates/{{ event.candidateId }}" }
catalog:
  1234567: { name: "Backend Engineer, TypeScript" }
  2345678: { name: Product Designer }
sinks:
  slack: { connector: slack, token: "\${TOKEN}" }
  mail: { connector: email, url: smtp://mail.example.com, from: Hiring <hiring@example.com> }
rules:
  - name: completed
    when: {}
    then: [ { sink: slack, channel: "#hiring" }, { sink: mail, to: dana@example.com } ]
  - name: every-morning
    when: {}
    then:
      - { sink: slack, channel: "#hiring", digest: { at: "09:00" } }
      - { sink: mail, to: dana@example.com, digest: { at: "09:00" } }
alerts:
  paused: { then: [ { sink: mail, to: dana@example.com } ] }
`,
  'pictures.yaml',
  { env: { TOKEN: 'xoxb-1' }, connectors },
);

const receivedAt = Date.parse('2026-11-20T12:05:00Z');
const eventOf = (candidateNumericalId: number, status: Status, testId: number, minute = 0): Event =>
  sampleEvent(
    {
      candidateId: `6f1c2d3e4b5a69788796a5b4c3d2${candidateNumericalId}`,
      candidateNumericalId,
      status,
      testId,
    },
    receivedAt + minute * 60_000,
  );

/** The message of these events, by the action of the `rule`-th rule to the sink. */
function messageOf(rule: number, sink: 'slack' | 'mail', events: readonly Event[]): Json {
  const action = config.plan.then[rule]!.find((one) => one.sink === sink)!;
  return composed(action, { events, notice: null });
}

function composed(action: Action, about: About): Json {
  const { sink } = action;
  const prepared = prepare(action, about, 'dlv_1', config.plan, config.sinks.get(sink)!, receivedAt);
  if (!('message' in prepared)) throw new Error(JSON.stringify(prepared));
  return prepared.message;
}

const completed = eventOf(4711, 'Completed', 1_234_567);
const several = [
  completed,
  eventOf(4712, 'DidNotTake', 1_234_567, 35),
  eventOf(4698, 'Completed', 1_234_567, 110),
  eventOf(4720, 'Canceled', 2_345_678, 140),
];

const mailOf = (rule: number, events: readonly Event[]): string =>
  (messageOf(rule, 'mail', events) as { readonly html: string }).html;
const slackOf = (rule: number, events: readonly Event[]) =>
  messageOf(rule, 'slack', events) as { readonly text: string; readonly blocks: readonly Json[] };
const inSlack = several.slice(0, 2).map((event) => slackOf(0, [event]));
const mail = mailOf(0, [completed]);
const digest = mailOf(1, several);

/** The mail of a notice: Slack has refused the token for a quarter of an hour. */
function noticeMail(): string {
  const because = {
    reason: 'auth',
    detail:
      "Slack refused it: the token is not valid (invalid_auth). Put the app's current bot token (xoxb-…) into the sink's token.",
  } as const;
  const [notice] = noticesFor('paused', 0, {
    now: receivedAt,
    paused: [
      {
        kind: 'paused',
        sink: 'slack',
        since: receivedAt - 15 * 60_000,
        because,
        count: 3,
        lastSuccessAt: null,
      },
    ],
    dead: [],
    held: [],
    refused: null,
    loadedAt: 0,
    refusedEvents: [],
    lastEventAt: receivedAt,
  });
  const [action] = config.plan.alerts.find(({ kind }) => kind === 'paused')!.actions;
  const raised = { ...notice!, id: 'ntc_1', raisedAt: receivedAt };
  return (composed(action!, { events: [], notice: raised }) as { readonly html: string }).html;
}

const pictures = [
  { name: 'slack', html: pageOf(inSlack, ['13:05', '13:40']) },
  { name: 'slack-digest', html: pageOf([slackOf(1, several)], ['09:00']) },
  { name: 'mail', html: mail, colorScheme: 'light' as const },
  { name: 'mail-dark', html: mail, colorScheme: 'dark' as const },
  { name: 'mail-digest', html: digest, colorScheme: 'light' as const },
  { name: 'mail-notice', html: noticeMail(), colorScheme: 'light' as const },
];

/** The pictures named on the command line; without any, all are made. */
const named = process.argv.slice(2);
const isWanted = ({ name }: { readonly name: string }): boolean => named.length === 0 || named.includes(name);

async function main(): Promise<void> {
  await mkdir(cache, { recursive: true });
  await mkdir(folder, { recursive: true });
  const install = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', cache, ...packages];
  await promisify(execFile)('npm', install, { cwd: cache });
  const installed = createRequire(join(cache, 'package.json'));
  const shrink = installed('sharp') as Shrink;
  const browser = await launchBrowser(['--disable-lcd-text']);
  const save = async (name: string, picture: Buffer) => {
    const path = join(folder, `${name}.png`);
    const { size } = await shrink(picture).png({ palette: true, colours: 64, effort: 10 }).toFile(path);
    console.log(`${path}: ${Math.ceil(size / 1024)} kB`);
  };
  try {
    for (const { name, ...shown } of pictures.filter(isWanted)) await save(name, await take(browser, shown));
    for await (const { name, picture } of takePages(browser)) await save(name, picture);
  } finally {
    await browser.close();
  }
}

/** Fonts that look like those of people's machines, which this one may lack. */
const fonts = `
  @import url('/@fontsource/lato/latin-400.css'); @import url('/@fontsource/lato/latin-700.css'); @import url('/@fontsource/lato/latin-900.css');
  @import url('/@fontsource/noto-color-emoji/emoji.css');
  @font-face { font-family: 'Segoe UI'; src: url('/@fontsource/arimo/files/arimo-latin-400-normal.woff2') }
  @font-face { font-family: 'Segoe UI'; font-weight: 700; src: url('/@fontsource/arimo/files/arimo-latin-700-normal.woff2') }`;

async function take(
  browser: Browser,
  { html, colorScheme = 'light' }: { readonly html: string; readonly colorScheme?: 'light' | 'dark' },
): Promise<Buffer> {
  const page = await browser.newPage({
    viewport: { width: 720, height: 300 },
    deviceScaleFactor: 1.75,
    colorScheme,
  });
  await page.route('**/*', async (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === '/') await route.fulfill({ body: html, contentType: 'text/html; charset=utf-8' });
    else await route.fulfill({ path: join(cache, 'node_modules', pathname) });
  });
  await page.goto('http://pictures/');
  await page.addStyleTag({ content: fonts });
  await page.evaluate('document.fonts.ready.then(() => undefined)');
  const picture = await page.locator('body').screenshot();
  await page.close();
  return picture;
}

/** Takes the pictures of the operations page. */
async function* takePages(browser: Browser): AsyncGenerator<{ name: string; picture: Buffer }> {
  const show = await startShowcase();
  try {
    const { stories } = await show.store.search({
      candidates: { ids: ['6f1c2d3e4b5a69788796a5b4c3d2e1f0'] },
      limit: 1,
    });
    const shots = [
      { name: 'today', path: '/', colorScheme: 'light', height: 1160 },
      { name: 'today-dark', path: '/', colorScheme: 'dark', height: 1160 },
      { name: 'event', path: `/events/${stories[0]!.event.id}`, colorScheme: 'light', height: 740 },
    ] as const;
    for (const { name, path, colorScheme, height } of shots.filter(isWanted)) {
      const page = await browser.newPage({
        viewport: { width: 1280, height },
        colorScheme,
        locale: 'en-GB',
        // The policy of the pages allows no fonts.
        bypassCSP: true,
      });
      await addFonts(page);
      await page.goto(show.app.adminUrl + path);
      await page.addStyleTag({ content: `${fonts} :root { font-family: 'Segoe UI', 'Noto Color Emoji' }` });
      await page.evaluate('document.fonts.ready.then(() => undefined)');
      yield { name, picture: await page.screenshot() };
      await page.close();
    }
  } finally {
    await show.close();
  }
}

const addFonts = (page: Page): Promise<unknown> =>
  page.route('**/@fontsource/**', (route) =>
    route.fulfill({ path: join(cache, 'node_modules', new URL(route.request().url()).pathname) }),
  );

await main();
