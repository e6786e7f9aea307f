import { html } from './html.ts';
import type { Page } from './page.ts';

export const attentionPage: Page = {
  path: '/attention',
  show: async () => ({ title: 'Needs a person', body: html`<p class="card">Nothing here yet.</p>` }),
};
