import { html } from './html.ts';
import type { Page } from './page.ts';

export const eventsPage: Page = {
  path: '/events',
  async show({ times }, { reads }) {
    const stories = await reads.events({ limit: 50 });
    const rows = stories.map(
      ({ event }) =>
        html`<tr>
          <td>${times.short(event.receivedAt)}</td>
          <td><a href="/events/${event.id}">${event.candidateId}</a></td>
          <td>${event.status}</td>
        </tr>`,
    );
    return {
      title: 'Events',
      body: html`<table class="card">
        <tbody>
          ${rows}
        </tbody>
      </table>`,
    };
  },
};
