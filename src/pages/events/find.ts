import type { DeliveryState } from '../../model.ts';
import { program } from '../../support/invocation.ts';
import { html, type Html, pathWith } from '../../support/html.ts';
import { printable } from '../../support/text.ts';
import { parseDeliveryId } from '../../support/ids.ts';
import { commandLine, stateNames } from '../frame/fragments.ts';
import { refusedNotice, rejectedNoticeAbout } from '../refused/of-candidate.ts';
import type { Page, PageContent } from '../page.ts';

/** The target of every page's search box. Redirects to the event, or the list, that a number or an id means. */
export const findPage: Page = {
  path: '/find',
  async show(asked, parts) {
    const { query } = asked;
    const { reads } = parts;
    const text = (query['q'] ?? '').trim();
    if (text === '') return '/events';
    const id = text.toLowerCase();
    if (id.startsWith('evt_') && (await reads.event(id))) return `/events/${encodeURIComponent(id)}`;
    const place = parseDeliveryId(id);
    const delivery = place && (await reads.delivery(id));
    if (delivery)
      return delivery.eventId === null
        ? ofNotice(id, delivery.sink, delivery.state)
        : `/events/${encodeURIComponent(delivery.eventId)}#${encodeURIComponent(id)}`;
    // The look-ups before have an index each. Numbers and beginnings of ids are looked for among all events, so they come last.
    const correlated = await reads.search({ correlation: text, limit: 2 });
    const [only, other] = correlated.stories;
    if (only) return other ? pathWith('/events', { correlation: text }).text : `/events/${only.event.id}`;
    const candidates = await reads.candidatesMeant(text);
    const { stories } = await reads.search({ candidates, limit: 1 });
    if (stories.length > 0) return pathWith('/events', { candidate: text }).text;
    const refused = await refusedNotice(text, candidates, parts, asked);
    const rejected = await rejectedNoticeAbout(text, parts);
    return refused || rejected
      ? noEvent(text, html`<div class="stack">${refused} ${rejected}</div>`)
      : nothing(text);
  },
};

const ofNotice = (id: string, sink: string, state: DeliveryState): PageContent => ({
  title: 'A message about the connector itself',
  body: html`<section class="card">
    <p class="break"><span class="id">${id}</span> is no event's. It tells people how the connector is.</p>
    <p>
      It goes to ${printable(sink)}, and is ${stateNames[state]}.
      ${commandLine(`${program} events --notices`)} says what is in it.
    </p>
  </section>`,
});

const noEvent = (text: string, what: Html): PageContent => ({
  title: `No event of ${printable(text)}`,
  body: what,
});

const nothing = (text: string): PageContent => ({
  title: 'Nothing found',
  body: html`<section class="card empty">
    <h2 class="break">Nothing here has “${printable(text)}”</h2>
    <p>
      Looked for: a candidate's number or id, the beginning of that id (6 characters or more), a correlation
      id, and the id of an event or a delivery. Names cannot be searched for.
    </p>
    <p><a href="/events">All events</a></p>
  </section>`,
});
