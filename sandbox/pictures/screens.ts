import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { scriptOptions } from '../script-options.ts';
import { api, click, password, type Shot, type State, states } from './states.ts';

const usage = `Usage: npm run screens -- FOLDER [STATE…]

Every page in its states (${states.map(({ name }) => name).join(', ')}), on a desktop in light and on a phone in dark, some in
all four, each whole, to be looked at. Also prints what axe finds on them, what moved while they loaded and what is too wide,
and ends with 1 if there is any.`;

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
  const { default: axe } = await import('axe-core');
  await page.evaluate(axe.source);
  return page.evaluate<string[]>(`axe.run(document, { iframes: false, resultTypes: ['violations'] }).then(
    ({ violations }) => [
      ...violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => id + ': ' + help + ' ' + html)),
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
        const moved = await shown.evaluate<number>('window.shifted ?? 0');
        await act?.(shown);
        // Before the picture is taken, which moves what is on the page. Without scripts, axe cannot run.
        const found = as === 'somebody without scripts' ? [] : await faultsOf(shown);
        if (moved > 0) found.push(`moved while it loaded by ${moved}`);
        // In a window as high as the page: a picture of more than the window has no phone's styles, as for what cannot hover.
        const { viewport } = devices[device];
        const isWhole = (await shown.locator('dialog[open]').count()) === 0;
        const height = isWhole
          ? await shown.evaluate<number>('document.documentElement.scrollHeight')
          : viewport.height;
        await shown.setViewportSize({ ...viewport, height });
        await writeFile(join(folder, file), await shown.screenshot());
        await shown.setViewportSize(viewport);
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

const { positionals, refuse } = scriptOptions(usage, { allowPositionals: true });
const [folder = refuse('Say into which folder.'), ...named] = positionals;
const unknown = named.filter((name) => !states.some((state) => state.name === name));
if (unknown.length > 0) refuse(`There is no state ${unknown.join(', ')}.`);
await mkdir(folder, { recursive: true });
// Loaded here, so that who mistypes an argument need not wait.
const { launchBrowser, startShowcase } = await import('../showcase.ts');
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
