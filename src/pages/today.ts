import { html, type Html } from './html.ts';
import type { Page } from './page.ts';
import { needsOf, readStatus } from '../status.ts';

export const todayPage: Page = {
  path: '/',
  async show({ now }, { reads }) {
    const status = await readStatus(reads, now);
    return { title: 'Today', body: html`<div class="stack">${needsNotice(needsOf(status))}</div>` };
  },
};

function needsNotice(needs: readonly string[]): Html {
  if (needs.length === 0) return html`<p class="notice good">Nothing needs a person.</p>`;
  return html`<p class="notice bad">A person is needed: ${needs.join(', ')}.</p>`;
}
