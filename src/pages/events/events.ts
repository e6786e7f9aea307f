import { program } from '../../support/invocation.ts';
import { deliveryStates, isStuck, statuses } from '../../model.ts';
import type { EventSearch, EventStory } from '../../store/store.ts';
import {
  amount,
  copiedId,
  counted,
  deliveryLine,
  knownOf,
  shortId,
  stateNames,
  statusNames,
  testName,
  testsOf,
} from '../frame/fragments.ts';
import { html, type Html, pathWith } from '../../support/html.ts';
import { printable } from '../../support/text.ts';
import { refusedNotice } from '../refused/of-candidate.ts';
import type { PageRequest, Page, Parts } from '../page.ts';
import type { Times } from '../frame/times.ts';

const pageSize = 50;
/** Matches are counted up to here: to count a million takes a second. */
const mostCounted = 1000;

export const eventsPage: Page = {
  path: '/events',
  menu: 'Events',
  async show(asked, parts) {
    const wanted = await searchOf(asked, parts);
    const { after: last, at } = asked.query;
    const { stories, after } = await parts.reads.search({ ...wanted, after: last, limit: pageSize });
    const matches = stories.length > 0 && (await parts.reads.matches(wanted, mostCounted));
    const isFirst = last === undefined;
    if (isFirst && stories.length === 0 && !isSearch(asked.query))
      return { title: 'Events', body: html`<section class="card">${noEvents(parts)}</section>` };
    const { candidate = '' } = asked.query;
    const refused =
      isFirst && wanted.candidates && (await refusedNotice(candidate, wanted.candidates, parts, asked));
    const before = isFirst ? 0 : Math.max(0, Math.trunc(Number(at)) || 0);
    const rows = stories.map((story) => eventRow(story, asked, parts));
    const odd = oddIn(asked);
    const further = pathWith('/events', { ...searched(asked.query), after, at: before + rows.length });
    return {
      title: 'Events',
      body: html`${filters(asked, parts)}
        ${odd !== '' && html`<p class="notice wait break">${odd}: this cannot be understood, and was left out.</p>`}
        ${refused}
        <section class="card list" aria-label="Events found">
          ${isFirst && html`<p class="live" role="status"></p>`}
          <div id="found" ${isFirst && html`data-refresh="2000" data-rows`}>
            <p class="shown">
              ${matches && html`<span>${shownOf(before, rows.length, matches)}</span>`}
              <a href="${pathWith('/events.csv', searched(asked.query))}">Download (CSV)</a>
            </p>
            ${rows.length === 0 ? none(asked) : table(rows)}
            ${
              after !== null &&
              html`<p class="actions">
                <a class="button quiet" rel="next" href="${further}"
                  >${rows.length === 0 ? 'Search further back' : 'Older events'}</a
                >
              </p>`
            }
          </div>
        </section>`,
    };
  },
};

/** `51 to 100 of 1,000+`. */
function shownOf(before: number, rows: number, { count, isAll }: { count: number; isAll: boolean }): string {
  const end = before + rows;
  if (isAll && end <= count && before === 0 && rows === count) return counted(count, 'event');
  const range = `${amount(before + 1)} to ${amount(end)}`;
  return isAll
    ? `${range} of ${counted(Math.max(count, end), 'event')}`
    : `${range} of ${amount(Math.max(count, end))}+ events`;
}

function eventRow(story: EventStory, { query, times, person }: PageRequest, parts: Parts): Html {
  const { event, duplicates, deliveries, lookups } = story;
  const { candidateId, candidateNumericalId } = event;
  const isBad = deliveries.some(({ state }) => isStuck(state));
  const { name, score } = knownOf(lookups, person, event.status);
  const number = candidateNumericalId === null ? name : String(candidateNumericalId);
  const link = (text: string) =>
    html`<a href="${pathWith(`/events/${event.id}`, searched(query))}">${text}</a>`;
  const test = testName(parts.config(), event.testId);
  return html`<tr id="${event.id}" ${isBad && html`class="bad"`}>
    <td class="${name === '' ? 'to' : 'to named'}">
      ${number === '' ? html`<span class="muted" title="no number">–</span>` : link(number)}
      ${name !== number && name !== '' && html`<span class="name" title="${name}">${name}</span>`}
    </td>
    <td class="of">
      ${copiedId(candidateId, 'candidate id', number === '' ? link(shortId(candidateId)) : undefined)}
    </td>
    <td>${statusNames[event.status]}${score !== '' && html` <span class="score">${score}</span>`}</td>
    <td class="test" title="${test}">${test}</td>
    <td class="told">
      <div>
        ${deliveryLine(story, times)}
        ${duplicates > 0 && html`<span class="muted repeated" title="The service sent it ${duplicates + 1} times">repeated ${amount(duplicates)}×</span>`}
      </div>
    </td>
    <td class="when">${times.ago(event.receivedAt)}</td>
  </tr>`;
}

/** A field of the filters: what its value asks the store for, or null where nobody can understand the value. */
interface Filter {
  readonly label: string;
  readonly read: (value: string, times: Times) => Partial<EventSearch> | null;
}

const filterFields = {
  state: {
    label: 'Delivery',
    read(value) {
      const state = deliveryStates.find((one) => one === value);
      return state ? { states: [state] } : null;
    },
  },
  sink: { label: 'Sink', read: (sink) => ({ sink }) },
  test: {
    label: 'Test',
    read: (test) => (/^-?\d{1,16}$/.test(test) ? { testId: Number(test) } : null),
  },
  rule: { label: 'Rule', read: (rule) => ({ rule }) },
  status: { label: 'Status', read: (status) => ({ status }) },
  lookups: { label: 'Look-ups', read: (value) => (value === 'unanswered' ? { unanswered: true } : null) },
  from: { label: 'From day', read: (day, times) => ofDay(day, times, (since) => ({ since })) },
  to: {
    label: 'To day',
    read: (day, times) => ofDay(day, times, (last) => ({ until: times.daysBefore(last, -1) })),
  },
} satisfies { readonly [key: string]: Filter };
type FilterKey = keyof typeof filterFields;

/** The filters that the address has, each with its value and what that asks for. */
function filtersIn({ query, times }: Pick<PageRequest, 'query' | 'times'>) {
  return Object.entries<Filter>(filterFields).flatMap(([key, { label, read }]) => {
    const value = query[key];
    return value === undefined ? [] : [{ label, value, wanted: read(value, times) }];
  });
}

/** The search that the address asks for, without what nobody can understand of it. */
export async function searchOf(asked: PageRequest, { reads }: Parts): Promise<EventSearch> {
  const { candidate, correlation } = asked.query;
  return {
    ...(candidate !== undefined && { candidates: await reads.candidatesMeant(candidate) }),
    ...(correlation !== undefined && { correlation: correlation.trim() }),
    ...Object.assign({}, ...filtersIn(asked).map(({ wanted }) => wanted)),
  };
}

/** The filters that nobody can understand, as `Test abc, From day 2026-13-01`; empty if there are none. */
export const oddIn = (asked: Pick<PageRequest, 'query' | 'times'>): string =>
  filtersIn(asked)
    .filter(({ wanted }) => wanted === null)
    .map(({ label, value }) => `${label} ${printable(value)}`)
    .join(', ');

/** What the beginning of a day (ms) asks for; null where the day is none. */
function ofDay(
  day: string,
  times: Times,
  wanted: (start: number) => Partial<EventSearch>,
): Partial<EventSearch> | null {
  try {
    return /^2\d{3}-\d\d-\d\d$/.test(day) ? wanted(times.dayStart(day)) : null;
  } catch {
    return null;
  }
}

/** The form of the filters. It keeps the candidate or correlation id that somebody searched for. */
function filters({ query, times }: PageRequest, parts: Parts): Html {
  const { plan, sinks } = parts.config();
  const choice = (key: FilterKey, values: readonly string[], nameOf = printable) => {
    const given = query[key];
    // What the config has no more may still be searched for.
    const all = given === undefined || values.includes(given) ? values : [...values, given];
    return html`<label ${key === 'sink' && html`title="Where messages go"`}
      >${filterFields[key].label}<select name="${key}">
        <option value="">any</option>
        ${all.map((value) => html`<option value="${value}" ${given === value && html`selected`}>${nameOf(value)}</option>`)}
      </select></label
    >`;
  };
  const day = (key: FilterKey) =>
    html`<label
      >${filterFields[key].label}<input type="date" name="${key}" value="${query[key] ?? ''}"
    /></label>`;
  const tests = new Map(testsOf(parts.config()));
  const chosen = filtersIn({ query, times }).length;
  return html`<form class="filters" method="get" action="/events">
    ${(['candidate', 'correlation'] as const).map(
      (key) =>
        query[key] !== undefined &&
        html`<input type="hidden" name="${key}" value="${query[key]}" />
          <p class="sought">
            ${key === 'candidate' ? 'Candidate' : 'Correlation id'}
            <b class="break">${printable(query[key])}</b>
            <a class="button quiet" href="${pathWith('/events', { ...searched(query), [key]: undefined })}"
              ><span aria-hidden="true">×</span><span class="hidden">Of all, not only of this ${key}</span></a
            >
          </p>`,
    )}
    <details>
      <summary>Filters${chosen > 0 && ` (${chosen})`}</summary>
      <div class="fields">
        ${choice('state', deliveryStates, (state) => nameIn(stateNames, state))}
        ${choice('sink', [...sinks.keys()])} ${choice('test', [...tests.keys()], (id) => tests.get(id) ?? id)}
        ${choice('rule', plan.rules.names)}
        ${choice('status', statuses, (status) => nameIn(statusNames, status))}
        ${plan.lookups.size > 0 && choice('lookups', ['unanswered'], () => 'no answer')} ${day('from')}
        ${day('to')}
        <div class="go">
          <button>Filter</button
          >${isSearch(query) && html`<a class="button quiet" href="/events">Show all</a>`}
        </div>
      </div>
    </details>
  </form>`;
}

/** A name by its key; the key itself where the address has one that does not exist. */
const nameIn = (names: { readonly [key: string]: string }, key: string): string =>
  Object.hasOwn(names, key) ? names[key]! : printable(key);

const keys = ['candidate', 'correlation', ...Object.keys(filterFields)];

/** The part of the address that is a search. */
export const searched = (query: PageRequest['query']): PageRequest['query'] =>
  Object.fromEntries(keys.map((key) => [key, query[key]]));

export const isSearch = (query: PageRequest['query']): boolean =>
  keys.some((key) => query[key] !== undefined);

const table = (rows: readonly Html[]): Html =>
  html`<div class="table" tabindex="0">
    <table class="events">
      <thead>
        <tr>
          <th scope="col">Candidate</th>
          <th scope="col">Id</th>
          <th scope="col">Status</th>
          <th scope="col">Test</th>
          <th scope="col">Deliveries</th>
          <th scope="col" class="when">Received</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;

function none({ query }: PageRequest): Html {
  if (query['after'] !== undefined) return html`<p class="muted">There are none among these.</p>`;
  return html`<div class="empty">
    <h2>No event is like that</h2>
    <p>Fewer conditions find more. <a href="/events">Show all events</a></p>
  </div>`;
}

/** What is shown before the first event: how to get one. */
export function noEvents(parts: Parts): Html {
  return html`<div class="empty">
    <h2>No events yet</h2>
    <p>
      They come once the testing service's account has the Webhook URL of this connector. This sends one to
      try it, as the service would:
    </p>
    <pre tabindex="0">${program} send --url ${parts.receiverUrl()}</pre>
  </div>`;
}
