import { html } from './html.ts';
import type { Page } from './page.ts';

export const eventPage: Page = {
  path: '/events/:id',
  async show({ params }, { reads }) {
    const story = await reads.event(params['id'] ?? '');
    if (story === null) return null;
    return {
      title: `Event ${story.event.id}`,
      body: html`<pre>${JSON.stringify(story.event.raw, null, 2)}</pre>`,
    };
  },
};
