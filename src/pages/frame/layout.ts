import about from '../../../package.json' with { type: 'json' };
import { assetLinks, iconUrl } from './assets.ts';
import { unnamed } from '../../admin/access.ts';
import { html, type Html, pathWith } from '../../support/html.ts';
import { csrfField, type PageRequest, type Page, type PageContent } from '../page.ts';

/** A whole page, with menu and foot. `causes`: how many causes need a person. */
export function wholePage(
  shown: PageContent,
  asked: PageRequest,
  causes: number,
  pages: readonly Page[],
): Html {
  const isHere = (path: string) => asked.path === path || (path !== '/' && asked.path.startsWith(`${path}/`));
  const links = pages.map(
    ({ path, menu }) =>
      menu !== undefined &&
      html`<a
        href="${pathWith(path, {})}"
        data-key="g ${menu[0]?.toLowerCase()}"
        data-does="${menu}"
        ${isHere(path) && html`aria-current="page"`}
        >${menu}${path === '/attention' && causes > 0 && html`<span class="badge">${causes}</span>`}</a
      >`,
  );
  return documentOf(
    `${causes > 0 ? `(${causes}) ` : ''}${shown.title} · ${asked.site}`,
    html`<header class="top">
        <div class="bar">
          <a class="brand" href="/"><img src="${iconUrl}" alt="" width="28" height="28" />${asked.site}</a>
          <nav aria-label="Pages">${links}</nav>
          <form class="find" action="/find" role="search">
            <label class="hidden" for="find">Search for a candidate's number or an id</label>
            <input
              id="find"
              type="search"
              name="q"
              maxlength="500"
              placeholder="Candidate's number or id"
              data-key="/"
              data-does="Search"
              value="${asked.path === '/find' && asked.query['q']}"
            />
          </form>
          ${
            asked.person.hasSession &&
            html`<form class="who" method="post" action="/logout">
              ${csrfField(asked)}${asked.person.who !== unnamed && html`<span>${asked.person.who}</span>`}<button
                class="quiet"
              >
                Log out
              </button>
            </form>`
          }
        </div>
      </header>
      <main id="content" tabindex="-1">
        <div class="heading">
          <h1>${shown.title}</h1>
          ${shown.beside}
        </div>
        ${shown.body}
      </main>
      <footer>
        ${asked.site !== product && html`${asked.site}, `}${product} ${about.version}. Times are those of
        ${asked.times.timeZone}.
        ${
          asked.person.role === 'open' &&
          html`To change something here, set <code>admin.password</code>: without one, these pages only show.`
        }
        ${asked.person.role === 'viewer' && html`You are a viewer here: you can look, and change nothing.`}
        <button type="button" class="link" data-keys>Keyboard</button>
      </footer>`,
  );
}

/** A page for somebody who is not logged in. It shows nothing of this connector. */
export function lonePage(shown: PageContent): Html {
  return documentOf(
    `${shown.title} · ${product}`,
    html`<main id="content" class="lone" tabindex="-1">
      <p class="brand"><img src="${iconUrl}" alt="" width="44" height="44" />${product}</p>
      <h1>${shown.title}</h1>
      ${shown.body}
    </main>`,
  );
}

/** The name where the config has no `admin.title`. */
export const product = 'Candidate Connector';

/** An HTML document. Browsers show it once all of it is there: tables would change their columns while they load. */
const documentOf = (title: string, body: Html): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="expect" href="#end" blocking="render" />
        ${assetLinks()}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        ${body}
        <span id="end" hidden></span>
      </body>
    </html>`;
