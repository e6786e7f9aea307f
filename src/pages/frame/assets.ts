import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';
import { type Html, html, pathWith } from '../../support/html.ts';

/** The styles, scripts and icon of the pages. Nothing is loaded from another site. */

const types = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' } as const;

function asset(name: string, type: keyof typeof types, ...paths: readonly URL[]) {
  const content = Buffer.concat(paths.map((path) => readFileSync(path)));
  return { name, type: types[type], content, version: hash('sha256', content).slice(0, 12) };
}

const assets = {
  style: asset(
    'page.css',
    'css',
    new URL('./assets/frame.css', import.meta.url),
    new URL('./assets/parts.css', import.meta.url),
    new URL('./assets/preview.css', import.meta.url),
    new URL('./assets/pages.css', import.meta.url),
    new URL('./assets/lists.css', import.meta.url),
    new URL('./assets/charts.css', import.meta.url),
    new URL('./assets/editor.css', import.meta.url),
  ),
  script: asset(
    'page.js',
    'js',
    new URL('./assets/page.js', import.meta.url),
    new URL('./assets/live.js', import.meta.url),
    new URL('./assets/keys.js', import.meta.url),
    new URL('./assets/editor.js', import.meta.url),
  ),
  icon: asset('icon.svg', 'svg', new URL('./assets/icon.svg', import.meta.url)),
};
const byName = new Map(Object.values(assets).map((one) => [one.name, one]));

/** The URL of an asset. It has the asset's version, so that browsers may keep it for ever. */
const urlOf = (key: keyof typeof assets) =>
  pathWith(`/assets/${assets[key].name}`, { v: assets[key].version });

export const iconUrl = urlOf('icon');

/** The links of a page's head. */
export const assetLinks = (): Html =>
  html`<link rel="icon" href="${urlOf('icon')}" type="image/svg+xml" />
    <link rel="stylesheet" href="${urlOf('style')}" />
    <script src="${urlOf('script')}" defer></script>`;

/** The text of the styles, for a page that is a file of its own. */
export const styles = (): string => assets.style.content.toString();

const year = 'public, max-age=31536000, immutable';

export const sendAsset: RequestHandler<{ file: string }> = (req, res, next) => {
  const found = byName.get(req.params.file);
  if (found === undefined) return next();
  const isKept = req.query['v'] === found.version;
  res.set('cache-control', isKept ? year : 'no-cache').set('etag', `"${found.version}"`);
  res.type(found.type).send(found.content);
};
