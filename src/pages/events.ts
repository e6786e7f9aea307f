import { program } from '../support/invocation.ts';
import { deliveryStates, statuses } from '../model.ts';
import type { EventSearch } from '../store/store.ts';
import { eventRow, testsOf } from './frame/fragments.ts';
import { html, type Html, pathWith } from '../support/html.ts';
import type { PageRequest, Page, Parts } from './page.ts';
import type { Times } from './frame/times.ts';

/** The list of events, with a search. Its first page is loaded again and again; see page.js. */

export const eventsPage: Page = {
  path: '/events',
  menu: 'Events',
  async show(asked, parts) {
    const wanted = await searchOf(asked, parts);
    const { stories, after } = await parts.reads.search({ ...wanted, after: asked.query['after'] });
    const config = parts.config();
    const rows = stories.map((story) => eventRow(story, config, asked.times));
    const isFirst = asked.query['after'] === undefined;
    return {
      title: 'Events',
      body: html`<div class="stack">
        ${searchForm(asked, parts)}
        <section class="card" aria-label="Events found">
          ${isFirst && html`<p class="live muted small" role="status"></p>`}
          <div id="found" ${isFirst && html`data-refresh="2000"`}>
            ${rows.length === 0 ? none(asked, parts) : table(rows)}
            ${
              after !== null &&
              html`<div class="actions">
                <a class="button quiet" href="${pathWith('/events', { ...searched(asked.query), after })}"
                  >${rows.length === 0 ? 'Search further back' : 'Older events'}</a
                >
              </div>`
            }
          </div>
        </section>
      </div>`,
    };
  },
};

const keys = ['candidate', 'correlation', 'test', 'status', 'rule', 'sink', 'state', 'from', 'to'] as const;

/** What is asked for in the address. What cannot be understood there is left out. */
export async function searchOf({ query, times }: PageRequest, { reads }: Parts): Promise<EventSearch> {
  const { candidate, correlation, test, status, rule, sink, from, to } = query;
  const state = deliveryStates.find((one) => one === query['state']);
  const testId = /^-?\d{1,16}$/.test(test ?? '') ? Number(test) : undefined;
  const lastDay = dayOf(to, times);
  return {
    candidates: candidate === undefined ? undefined : await reads.candidatesMeant(candidate),
    correlation: correlation?.trim(),
    testId,
    status,
    rule,
    sink,
    states: state && [state],
    since: dayOf(from, times),
    until: lastDay === undefined ? undefined : times.dayAfter(lastDay),
  };
}

/** Whoever writes an address may name a day that is none. */
function dayOf(day: string | undefined, times: Times): number | undefined {
  try {
    return /^2\d{3}-\d\d-\d\d$/.test(day ?? '') ? times.dayStart(day!) : undefined;
  } catch {
    return undefined;
  }
}

function searchForm({ query }: PageRequest, parts: Parts): Html {
  const { plan, sinks } = parts.config();
  const option = (key: string, value: string, name = value) =>
    html`<option value="${value}" ${query[key] === value && html`selected`}>${name}</option>`;
  const choice = (key: string, label: string, options: readonly Html[]) =>
    html`<label
      >${label}<select name="${key}">
        <option value="">any</option>
        ${options}
      </select></label
    >`;
  const text = (key: string, label: string, type: string) =>
    html`<label>${label}<input type="${type}" name="${key}" value="${query[key] ?? ''}" /></label>`;
  return html`<form class="card" method="get" action="/events" role="search">
    <div class="fields">
      ${text('candidate', 'Candidate', 'search')}
      ${choice(
        'test',
        'Test',
        [...testsOf(parts.config())].map(([id, name]) => option('test', id, name)),
      )}
      ${choice(
        'status',
        'Status',
        statuses.map((one) => option('status', one)),
      )}
      ${choice(
        'rule',
        'Rule',
        plan.rules.names.map((one) => option('rule', one)),
      )}
      ${choice(
        'sink',
        'Sink',
        [...sinks.keys()].map((one) => option('sink', one)),
      )}
      ${choice(
        'state',
        'Delivery',
        deliveryStates.map((one) => option('state', one)),
      )}
      ${text('from', 'From', 'date')} ${text('to', 'To', 'date')}
      ${text('correlation', 'Correlation id', 'search')}
    </div>
    <div class="actions">
      <button>Search</button>${isSearch(query) && html`<a href="/events">Show all</a>`}
      <a href="${pathWith('/events.csv', searched(query))}">Download as a table (CSV)</a>
    </div>
  </form>`;
}

/** What of the address is a part of the search. */
const searched = (query: PageRequest['query']): PageRequest['query'] =>
  Object.fromEntries(keys.map((key) => [key, query[key]]));

const isSearch = (query: PageRequest['query']): boolean => keys.some((key) => query[key] !== undefined);

const table = (rows: readonly Html[]): Html =>
  html`<div class="table" tabindex="0">
    <table class="events">
      <thead>
        <tr>
          <th scope="col">Received</th>
          <th scope="col">Event</th>
          <th scope="col">Candidate</th>
          <th scope="col">Deliveries</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;

function none({ query }: PageRequest, parts: Parts): Html {
  if (query['after'] !== undefined) return html`<p class="muted">There are none among these.</p>`;
  if (isSearch(query))
    return html`<div class="empty">
      <h2>No event is like that</h2>
      <p>Fewer conditions find more. <a href="/events">Show all events</a></p>
    </div>`;
  return noEvents(parts);
}

/** Where to begin. */
export function noEvents(parts: Parts): Html {
  return html`<div class="empty">
    <h2>No events yet</h2>
    <p>This sends one, as the testing service would:</p>
    <pre tabindex="0">${program} send --url ${parts.receiverUrl()}</pre>
  </div>`;
}
