import { html } from './html.ts';
import type { Page } from './page.ts';

export const rulesPage: Page = {
  path: '/rules',
  show: async () => ({ title: 'Rules', body: html`<p class="card">Nothing here yet.</p>` }),
};
