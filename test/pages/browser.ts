import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { launchBrowser } from '../../sandbox/showcase.ts';
import { password } from './tools.ts';

/** A real browser for tests. */

let launched: Promise<Browser> | null = null;

/** One for all tests of a process, with which it ends. */
function theBrowser(): Promise<Browser> {
  if (launched) return launched;
  // It is unpacked once for all runs, and not into the memory that stores of tests are in.
  const { TMPDIR } = process.env;
  delete process.env.TMPDIR;
  launched = launchBrowser();
  if (TMPDIR !== undefined) launched = launched.finally(() => (process.env.TMPDIR = TMPDIR));
  return launched;
}

/** One in light colours, the other in dark ones: which colours, depends on no width, and what stands where, on no colours. */
const desktop = { viewport: { width: 1280, height: 800 }, colorScheme: 'light' } as const;
const phone = { viewport: { width: 375, height: 700 }, colorScheme: 'dark' } as const;

/** A tab with a session of its own. At the end of the test, nothing may have gone wrong in it. */
export async function openTab(): Promise<Page> {
  const browser = await theBrowser();
  const context = await browser.newContext({ locale: 'en-GB', ...desktop });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (said) => {
    if (['error', 'warning'].includes(said.type())) faults.push(said.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  onTestFinished(async () => {
    await context.close();
    expect(faults).toEqual([]);
  });
  return page;
}

export async function logIn(page: Page, name = ''): Promise<void> {
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Your name').fill(name);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** A tab in which somebody has logged in, and looks at this address. */
export async function openLoggedIn(url: string, name?: string): Promise<Page> {
  const page = await openTab();
  await page.goto(url);
  await logIn(page, name);
  return page;
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What keeps people from using the page as it is, on a desktop and on a phone: a disability, by axe, or a narrow screen. */
export async function barriersOf(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const { viewport, colorScheme } of [phone, desktop]) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    found.push(...(await barriersInThisLook(page)));
  }
  return found;
}

async function barriersInThisLook(page: Page): Promise<string[]> {
  // The page's policy lets no script in from a page.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  const [violations, isTooWide] = await page.evaluate<[Violation[], boolean]>(
    `axe.run(document, { iframes: false, resultTypes: ['violations'] }).then(({ violations }) => [
      violations, document.documentElement.scrollWidth > document.documentElement.clientWidth ])`,
  );
  const found = violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) => `${page.url()}: ${impact} ${id}: ${help}\n${html}\n${failureSummary}`,
    ),
  );
  return isTooWide ? [...found, `${page.url()} scrolls sideways`] : found;
}
