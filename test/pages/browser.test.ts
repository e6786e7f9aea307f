import { describe, expect, test } from 'vitest';
import { barriersOf, desktop, openTab, phone } from './browser.ts';
import { password, startPages } from './tools.ts';

const screens = { desktop, phone };
const paths = ['/', '/events', '/attention', '/rules'];

describe.each(Object.entries(screens))('on a %s', (_, screen) => {
  test.each(['light', 'dark'] as const)('everybody can use each page, in %s colours', async (colorScheme) => {
    const { app } = await startPages();
    const page = await openTab({ ...screen, colorScheme });
    await page.goto(app.adminUrl);
    expect(await barriersOf(page)).toEqual([]);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Log in' }).click();
    for (const path of paths) {
      await page.goto(app.adminUrl + path);
      expect(await barriersOf(page)).toEqual([]);
      const widths: number[] = await page.evaluate(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      );
      expect(widths[0], `${path} does not scroll sideways`).toBeLessThanOrEqual(widths[1]!);
    }
  });
});
